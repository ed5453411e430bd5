// The widget of a recording of text: the passes of a dump at the left; the changes of each, and the origin of each line, at the right.

import { Commands } from "./commands.js";
import { button, el, options, plural, reveal, searchField, setTab, tabBar } from "./dom.js";
import { comparedStep } from "./dumpcompare.js";
import {
  ASSUMED,
  COMMAND,
  DIFF,
  FIRST,
  FRAGMENT,
  LAST,
  LINES,
  NAME,
  OPTIONS,
  ORIGINS,
  PHASE,
  PLACE,
  REMARK,
  RENAMED,
  SINCE,
  SOURCES,
  STEP,
  UNIT,
  VERDICT,
  WRITTEN,
} from "./dumpfields.js";
import { graphOf, liveGraphOf, pictureOf } from "./dumpgraph.js";
import { dumpActions } from "./dumpkeys.js";
import { codeOf } from "./dumpline.js";
import { DumpList } from "./dumplist.js";
import { showHits } from "./dumpsearch.js";
import { SourcePane, sentence } from "./dumpsource.js";
import { subscribe } from "./selection.js";
import { timingPane } from "./timing.js";

/** @import { Context } from "./model.js" */
/** @import { DumpData, DumpRow, FollowedName, SaidRow, UnitVersion } from "./protocol.js" */

const ROWS = /** @type {Record<string, string>} */ ({
  "+": "added",
  "-": "removed",
  "!": "changed",
  "~": "moved",
  ">": "moved",
});
const TABS = ["changes", "text", "graph", "times", "compared"];
const CONTEXT = 3,
  MAX_ROWS = 1500,
  MAX_UNITS = 2000;

/** The view of one step. */
export class DumpStep {
  /**
   * @param {(at: number) => void} go
   * @param {() => void} onFollow called when another name is followed
   * @param {(set: number) => void} onLine called with the set of source lines of a line that is clicked
   */
  constructor(go, onFollow, onLine) {
    this.go = go;
    this.onFollow = onFollow;
    this.picked = -1; // the number of the picked line of the source
    this.said = /** @type {Map<number, SaidRow[]>} */ (new Map()); // the remarks of the step at each place
    this.tab = "changes";
    this.showAll = false;
    this.showBlame = true;
    this.followedName = "";
    this.followedUnit = -1; // the number of the unit in which the name was clicked
    this.activeFilters = new Set(); // the numbers of the active filters
    this.unit = -1;
    this.data = /** @type {DumpData} */ (/** @type {unknown} */ (null)); // from `load` on
    this.at = /** @type {number | undefined} */ (undefined); // the step
    this.title = el("span", "pl-step-name");
    this.facts = el("span", "pl-facts");
    this.sentence = el("div", "pl-step-summary");
    this.command = el("div", "pl-dump-command pl-code");
    this.units = el("select", "pl-find pl-dump-units");
    this.units.setAttribute("aria-label", "the function or operation that is shown");
    this.units.addEventListener("change", () => {
      this.unit = Number(this.units.value);
      this.draw();
    });
    this.tabs = tabBar(TABS, (name) => this.choose(name), true);
    this.wholeButton = button("all passes", () => this.times.zoom(null));
    this.times = timingPane(this.wholeButton, () => this.element.parentElement?.parentElement?.focus());
    this.allButton = button("all lines", () => {
      this.showAll = !this.showAll;
      this.draw();
    });
    this.blameButton = button("made by", () => {
      this.showBlame = !this.showBlame;
      this.draw();
    });
    this.filters = el("div", "pl-dump-filters");
    this.filters.setAttribute("role", "group");
    this.filters.setAttribute("aria-label", "noise to hide");
    this.scroll = el("div", "pl-scroll pl-dump-scroll");
    this.scroll.tabIndex = 0;
    this.scroll.setAttribute("role", "region");
    this.scroll.setAttribute("aria-label", "text of the program");
    this.element = el(
      "div",
      "pl-step",
      el("div", "pl-step-head", el("div", "pl-step-line", this.title, this.facts), this.sentence, this.command),
      el(
        "div",
        "pl-bar pl-tab-bar",
        this.tabs,
        this.units,
        el("span", "pl-grow"),
        this.wholeButton,
        this.blameButton,
        this.allButton,
      ),
      this.filters,
      el("div", "pl-body", this.scroll),
    );
    this.scroll.addEventListener("click", (event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      const origin = target.closest("[data-origin]");
      if (origin) return this.go(Number(/** @type {HTMLElement} */ (origin).dataset.origin) - 1);
      if (target.matches(".pl-temporary, .pl-global"))
        return this.followName(this.followedName === target.textContent ? "" : target.textContent || "");
      const line = target.closest("[data-places]");
      return line && onLine(Number(/** @type {HTMLElement} */ (line).dataset.places));
    });
  }

  /** Follow a name, "" for none. @param {string} name */
  followName(name) {
    this.followedName = name;
    this.followedUnit = this.unit;
    this.draw();
    this.onFollow();
  }

  /** The name to highlight in the shown unit: names are local to a unit, except global ones. */
  get highlight() {
    return this.unit === this.followedUnit || /^[@!#]/.test(this.followedName) ? this.followedName : "";
  }

  /** Follow a name that another view follows: a name of a unit after a step. @param {FollowedName} one */
  setFollowed({ unit, name = "", step = 0 }) {
    const number = this.data.units.findIndex((entry) => entry.name === unit);
    this.followedName = number < 0 ? "" : name;
    this.followedUnit = number;
    this.renameFollowed(step - 1, this.at);
    this.draw();
  }

  /** Whether a line of a version comes from the picked line of the source. @param {UnitVersion} version @param {number} at */
  isPicked(version, at) {
    return this.picked >= 0 && (this.data.joins[version[SOURCES][at]] || []).includes(this.picked);
  }

  /** Show where a line of a version comes from. @param {HTMLElement} row @param {UnitVersion | null} version @param {number} at */
  markPlaces(row, version, at) {
    const set = version?.[SOURCES][at];
    if (!version || !set) return row;
    row.dataset.places = String(set);
    row.title = this.data.joins[set].map((number) => this.data.places[number].join(":")).join("\n");
    row.classList.toggle("pl-from-source", this.isPicked(version, at));
    return row;
  }

  /** A line, and below the first one from its place the remarks of the step. @param {HTMLElement} row */
  withRemarks(row) {
    const places = this.data.joins[Number(row.dataset.places || 0)];
    const said = places.flatMap((place) => this.said.get(place) || []);
    for (const one of said) this.said.delete(one[PLACE]);
    return [row, ...said.map((one) => el("div", "pl-dump-said-here", sentence(one)))];
  }

  /** Pick a line of the source, -1 for none. @param {number} place */
  pick(place) {
    this.picked = place;
    if (this.at !== undefined) this.chooseUnit(this.at, [...this.data.units.keys()]);
    if (this.unit >= 0) this.units.value = String(this.unit);
    this.draw();
    this.showPicked();
  }

  /** Choose the unit with the most lines from the picked place, if the shown one has none. @param {number} step @param {number[]} units */
  chooseUnit(step, units) {
    if (this.picked < 0) return;
    const count = (/** @type {number} */ unit) => {
      const version = this.version(step, unit)[0];
      return version ? version[SOURCES].filter((_, at) => this.isPicked(version, at)).length : 0;
    };
    if (this.unit >= 0 && count(this.unit)) return;
    const [best] = units.map((unit) => [count(unit), unit]).sort((a, b) => b[0] - a[0]);
    if (best?.[0]) this.unit = best[1];
  }

  /** Scroll to the first line from the picked place. */
  showPicked() {
    const hit = /** @type {HTMLElement | null} */ (this.scroll.querySelector(".pl-from-source"));
    if (hit) reveal(this.scroll, hit);
  }

  /** The spans of a line that the filters hide. @param {number} number @returns {[number, number][]} */
  noiseSpans(number) {
    const noise = this.data.lines[number][2],
      spans = /** @type {[number, number][]} */ ([]);
    for (let i = 0; i < noise.length; i += 3)
      if (this.activeFilters.has(noise[i])) spans.push([noise[i + 1], noise[i + 2]]);
    return spans.sort((a, b) => a[0] - b[0]);
  }

  /** Whether the filters hide a whole line. @param {number} number */
  isHidden(number) {
    const text = this.data.lines[number][0];
    return (
      this.activeFilters.size > 0 &&
      text.length > 0 &&
      this.noiseSpans(number).some(([a, b]) => a === 0 && b >= text.length)
    );
  }

  /** Whether all that differs in a line is noise. @param {[number, number][]} words @param {number} number */
  isNoise(words, number) {
    const spans = this.noiseSpans(number);
    return words.every(([a, b]) => spans.some(([from, to]) => from <= a && b <= to));
  }

  /** The rows of a difference after the filters. @param {DumpRow[]} rows @param {number[]} before @param {number[]} after @returns {DumpRow[]} */
  filtered(rows, before, after) {
    if (!this.activeFilters.size) return rows;
    return rows.flatMap((row) => this.filteredRow(row, before, after));
  }

  /** A row as the filters leave it, if they do. @param {DumpRow} row @param {number[]} before @param {number[]} after @returns {DumpRow[]} */
  filteredRow(row, before, after) {
    const [sign, left, right, beforeSpans, afterSpans] = row;
    if ((right >= 0 && this.isHidden(after[right])) || (right < 0 && this.isHidden(before[left]))) return [];
    const onlyNoise =
      (sign === "!" || sign === "~") &&
      this.isNoise(beforeSpans, before[left]) &&
      this.isNoise(afterSpans, after[right]);
    return [onlyNoise ? ["", left, right, [], []] : row];
  }

  drawFilters() {
    const names = this.data.filters;
    this.filters.hidden = !names.length;
    this.filters.replaceChildren(
      el("span", "", "hide"),
      ...names.map((name, number) => {
        const one = button(name, () => {
          if (!this.activeFilters.delete(number)) this.activeFilters.add(number);
          this.draw();
          /** @type {HTMLElement} */ (this.filters.children[number + 1]).focus();
        });
        one.title = `hide ${name} (h: hide all)`;
        one.setAttribute("aria-pressed", String(this.activeFilters.has(number)));
        return one;
      }),
    );
  }

  /** Switch all filters on, or off. */
  toggleNoise() {
    const all = this.data.filters.length;
    this.activeFilters = new Set(this.activeFilters.size < all ? Array(all).keys() : []);
    this.draw();
  }

  /** Whether a tab has contents. @param {string} tab */
  has(tab) {
    return tab === "times" ? this.data.times.length > 0 : tab !== "compared" || Boolean(this.data.against);
  }

  /** Show another recording. @param {DumpData} data */
  load(data) {
    this.data = data;
    this.at = undefined;
    this.activeFilters = new Set(data.hidden);
    this.tab = data.against ? "compared" : "changes";
    this.times.show(data.times);
  }

  /** @param {string} tab */
  choose(tab) {
    if (!this.has(tab)) return;
    this.tab = tab;
    if (tab === "times") this.times.zoom(null);
    this.draw();
  }

  /** @param {DumpData} data @param {number} at */
  show(data, at) {
    const before = this.at;
    this.data = data;
    this.at = at;
    const step = data.steps[at],
      written = step[WRITTEN];
    const live = written.find((unit) =>
      data.units[unit].versions.some((v) => v[STEP] === at + 1 && v[LINES] && v[LINES].length),
    );
    if (!written.includes(this.unit) || this.unit < 0)
      this.unit = live !== undefined ? live : written.length ? written[0] : step[FRAGMENT].length ? -1 : this.unit;
    const shownUnits = [...new Set([...written, ...data.units.keys()])].slice(0, MAX_UNITS);
    this.units.replaceChildren(
      ...options(
        shownUnits.map(String),
        (number) => `${written.includes(Number(number)) ? "● " : ""}${data.units[Number(number)].name}`,
      ),
    );
    this.chooseUnit(at, written.length ? written : shownUnits);
    if (this.unit >= 0) this.units.value = String(this.unit);
    this.renameFollowed(before, at);
    this.draw();
    this.showPicked();
  }

  /** Apply the renamings between two steps to the followed name. @param {number | undefined} from @param {number | undefined} to */
  renameFollowed(from, to = from) {
    if (!this.followedName || from === undefined || to === undefined || this.followedUnit < 0) return;
    const versions = this.data.units[this.followedUnit].versions;
    const inside = versions.filter((v) => v[STEP] > Math.min(from, to) + 1 && v[STEP] <= Math.max(from, to) + 1);
    const renamed = (/** @type {UnitVersion} */ v) =>
      to > from
        ? v[RENAMED][this.followedName]
        : (Object.entries(v[RENAMED]).find(([, now]) => now === this.followedName) || [])[0];
    for (const version of to > from ? inside : inside.reverse())
      this.followedName = renamed(version) || this.followedName;
  }

  /** The version of a unit after the step, and its number. @param {number} step @param {number} unit by default the shown one @returns {[UnitVersion | null, number]} */
  version(step, unit = this.unit) {
    if (unit < 0) return [null, -1];
    const versions = this.data.units[unit].versions;
    let index = -1;
    for (let at = 0; at < versions.length && versions[at][STEP] <= step + 1; at++) index = at;
    return [index < 0 ? null : versions[index], index];
  }

  draw() {
    const { at } = this;
    if (!this.data || at === undefined) return;
    const step = this.data.steps[at],
      [version, number] = this.version(at);
    const own = this.data.said.filter((one) => one[FIRST] === at + 1 && one[LAST] === at + 1);
    this.said = Map.groupBy(own, (one) => one[PLACE]);
    this.drawFilters();
    this.title.textContent = step[NAME];
    this.facts.textContent = [
      step[UNIT],
      step[PHASE],
      step[VERDICT] + (step[ASSUMED] ? " (assumed)" : ""),
      step[OPTIONS],
    ]
      .filter(Boolean)
      .join("  ·  ");
    this.sentence.textContent = step[REMARK];
    this.command.textContent = step[COMMAND];
    this.command.title = "the command that runs just this pass on its input";
    setTab(this.tabs, this.tab);
    TABS.forEach((tab, at) => {
      /** @type {HTMLElement} */ (this.tabs.children[at]).hidden = !this.has(tab);
    });
    this.allButton.setAttribute("aria-pressed", String(this.showAll));
    this.blameButton.setAttribute("aria-pressed", String(this.showBlame));
    this.allButton.hidden = this.tab !== "changes";
    this.blameButton.hidden = this.tab !== "text";
    this.wholeButton.hidden = this.tab !== "times" || this.wholeButton.hidden;
    this.units.hidden = this.tab === "times" || this.tab === "compared";
    this.filters.hidden = this.filters.hidden || this.tab === "times" || this.tab === "graph";
    if (this.tab === "times")
      return this.scroll.replaceChildren(el("div", "pl-timing pl-dump-times", this.times.chart, this.times.table));
    const code = el("div", "pl-code");
    if (this.tab === "compared")
      code.append(
        ...comparedStep(this.data, at, (row, left, right) =>
          this.filtered([row], left, right).flatMap((one) => this.row(one, left, right)),
        ),
      );
    else if (this.unit < 0 && this.tab === "graph")
      return this.scroll.replaceChildren(this.graph(at, step[FRAGMENT], new Map()));
    else if (this.unit < 0)
      code.append(
        ...this.fragmentRows(
          step[FRAGMENT],
          "A part of the program, shown as printed; it is not taken for the program.",
        ),
      );
    else if (!version) code.append(el("div", "pl-empty", "not part of the program yet, or not printed so far"));
    else if (version[LINES] && !version[LINES].length)
      code.append(el("div", "pl-empty", `no longer part of the program since step ${version[STEP]}`));
    else if (version[LINES] === null)
      code.append(el("div", "pl-empty", "left out of this page for its size; the recording in Python has it"));
    else if (this.tab === "graph")
      return this.scroll.replaceChildren(this.graph(at, version[LINES], this.lineChanges(version, number)));
    else if (this.tab === "text") code.append(...this.program(version, version[LINES]));
    else code.append(...this.changes(version, version[LINES], number));
    return this.scroll.replaceChildren(code);
  }

  /** The sign of each line of the unit that the step changed. @param {UnitVersion} version @param {number} number @returns {Map<number, string>} */
  lineChanges(version, number) {
    const here = version[STEP] - 1 === this.at && number > 0;
    return new Map(
      here ? version[DIFF].filter(([sign, , right]) => sign && right >= 0).map(([sign, , right]) => [right, sign]) : [],
    );
  }

  /**
   * The graph of the values, or of the host's nodes; boxes that the step changed are marked.
   * @param {number} at the step @param {number[]} lines @param {Map<number, string>} signs
   */
  graph(at, lines, signs) {
    const onSelect = (/** @type {string[]} */ names) => {
      this.choose("text");
      this.followName(names[0] || "");
      const hit = /** @type {HTMLElement | null} */ (this.scroll.querySelector(".pl-hit"));
      if (hit) reveal(this.scroll, hit);
    };
    return el(
      "div",
      "pl-graph pl-dump-graph",
      ...pictureOf(liveGraphOf(this.data.graphs, at) || graphOf(this.data.lines, lines), signs, onSelect),
    );
  }

  /** @param {number[]} lines @param {string} note */
  fragmentRows(lines, note) {
    return [
      el("div", "pl-above", note),
      ...lines
        .filter((line) => !this.isHidden(line))
        .slice(0, MAX_ROWS)
        .map((line) =>
          el("div", "pl-row pl-dump-row", codeOf(this.data.lines[line], this.highlight, [], this.noiseSpans(line))),
        ),
    ];
  }

  /** The text with the origin of each line. @param {UnitVersion} version @param {number[]} lines */
  program(version, lines) {
    let last = "";
    const rows = lines.slice(0, MAX_ROWS).flatMap((line, at) => {
      if (this.isHidden(line)) return [];
      const row = this.markPlaces(
        el("div", "pl-row pl-dump-row", el("span", "pl-number", String(at + 1))),
        version,
        at,
      );
      if (this.showBlame) {
        const [since, step] = version[ORIGINS][at],
          exact = since === step;
        const name =
          step === 0
            ? "input"
            : exact
              ? `${step} ${this.data.steps[step - 1] ? this.data.steps[step - 1][NAME] : ""}`
              : since
                ? `${since}-${step}`
                : `input-${step}`;
        const origin = el(
          "span",
          `pl-blame pl-dump-blame pl-blame-${step % 6}${name === last ? " pl-repeated" : ""}`,
          name,
        );
        origin.title =
          step === 0
            ? "from the input"
            : exact
              ? `created by step ${name}`
              : since
                ? `created between step ${since} and ${step}`
                : `from the input, or created by a step up to ${step}`;
        if (step) origin.dataset.origin = String(step);
        last = name;
        row.append(origin);
      }
      row.append(codeOf(this.data.lines[line], this.highlight, [], this.noiseSpans(line)));
      return this.withRemarks(row);
    });
    if (lines.length > MAX_ROWS) rows.push(el("div", "pl-empty", `${plural(lines.length - MAX_ROWS, "more line")}`));
    return rows;
  }

  /** The changes of the step in the unit. @param {UnitVersion} version @param {number[]} lines @param {number} number */
  changes(version, lines, number) {
    const here = version[STEP] - 1 === this.at,
      previous = number > 0 ? this.data.units[this.unit].versions[number - 1] : null,
      before = previous?.[LINES];
    if (!here || !before) {
      const reason = !here
        ? `Nothing changed here; this is the text after step ${version[STEP]}.`
        : "The text before is unknown; this is the text after:";
      return [el("div", "pl-above", reason), ...this.program(version, lines)];
    }
    const note =
      version[SINCE] < version[STEP]
        ? [el("div", "pl-above", `Changed between step ${version[SINCE]} and ${version[STEP]}; seen here first.`)]
        : [];
    const rows = this.filtered(version[DIFF], before, lines),
      near = new Uint8Array(rows.length),
      elements = /** @type {HTMLElement[]} */ ([...note]);
    rows.forEach((row, at) => {
      if (row[0]) near.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
      else if (this.isPicked(version, row[2])) near[at] = 1;
    });
    let folded = 0;
    rows.forEach((row, at) => {
      if (!near[at] && !this.showAll) return folded++;
      if (elements.length > MAX_ROWS) return 0;
      if (folded) elements.push(el("div", "pl-gap", plural(folded, "unchanged line")));
      folded = 0;
      const [sign, left, right] = row;
      this.row(row, before, lines).forEach((element, part) => {
        const isOld = right < 0 || (sign === "!" && part === 0);
        elements.push(...this.withRemarks(this.markPlaces(element, isOld ? previous : version, isOld ? left : right)));
      });
      return 0;
    });
    if (folded) elements.push(el("div", "pl-gap", plural(folded, "unchanged line")));
    return elements;
  }

  /** One row of a difference: two lines where a line changed. @param {DumpRow} row @param {number[]} before @param {number[]} after */
  row(row, before, after) {
    const [sign, left, right, beforeSpans, afterSpans] = row;
    const line = (
      /** @type {string} */ symbol,
      /** @type {string} */ kind,
      /** @type {number} */ number,
      /** @type {[number, number][]} */ words,
    ) =>
      el(
        "div",
        `pl-row pl-dump-row ${kind ? `pl-row-${kind}` : ""}`,
        el("span", "pl-sign", symbol),
        codeOf(this.data.lines[number], this.highlight, words, this.noiseSpans(number)),
      );
    if (sign === "!")
      return [line("−", "removed", before[left], beforeSpans), line("+", "added", after[right], afterSpans)];
    if (sign === "~") return [line("~", "changed", after[right], afterSpans)];
    return [line(sign === "-" ? "−" : sign || " ", ROWS[sign] || "", right < 0 ? before[left] : after[right], [])];
  }
}

/** @param {Context<"dump">} context */
function render({ model, el: host }) {
  const root = el("div", "passlab pl-pipeline pl-dump"),
    title = el("span", "pl-title"),
    commands = new Commands(root, "dump");
  root.tabIndex = 0;
  const search = searchField("search all steps", "search the text of all steps: a regular expression"),
    results = el("div", "pl-dump-results");
  results.hidden = true;
  const remarks = el("div", "pl-dump-remarks");
  const step = new DumpStep(
    (at) => list.choose(at),
    () => {
      const { units } = model.get("data");
      model.set(
        "picked",
        step.followedName && step.followedUnit >= 0
          ? { unit: units[step.followedUnit].name, name: step.followedName, step: list.at + 1 }
          : {},
      );
      model.save_changes();
    },
    (set) => source.pickSet(set),
  );
  const source = new SourcePane(
    (place) => {
      step.pick(place);
      source.show(list.at, step.version(list.at)[0]);
      list.mark(source.steps);
    },
    (at) => list.choose(at),
  );
  const list = new DumpList((at) => {
    step.show(model.get("data"), at);
    source.show(at, step.version(at)[0]);
    if (model.get("selected") === at) return;
    model.set("selected", at);
    model.save_changes();
  });
  root.prepend(
    el("div", "pl-bar", title, el("span", "pl-grow"), search, ...commands.buttons),
    remarks,
    results,
    el("div", "pl-columns", list.element, step.element, source.element),
  );
  search.addEventListener("change", () =>
    showHits(results, model.get("data"), search.value, (unit, at) => {
      step.unit = unit;
      list.choose(at);
      step.unit = unit;
      step.draw();
    }),
  );
  commands.bind(dumpActions({ model, root, step, list, source, search, results }));
  const update = () => {
    const data = model.get("data"),
      selected = model.get("selected");
    title.textContent = data.title;
    step.load(data);
    source.load(data);
    remarks.replaceChildren(...data.remarks.map((text) => el("div", "", text)));
    remarks.hidden = !data.remarks.length;
    root.style.setProperty("--pl-height", "600px");
    root.style.setProperty("--pl-names", `${Math.max(0, ...data.steps.map(([name]) => name.length))}ch`);
    list.show(data.steps);
    list.choose(data.steps[selected] ? selected : data.start);
  };
  update();
  if (model.get("picked")?.name) step.setFollowed(model.get("picked"));
  host.append(root);
  requestAnimationFrame(() => list.paint());
  const choose = () => {
    if (model.get("selected") !== list.at) list.choose(model.get("selected"));
  };
  return subscribe(model, {
    "change:data": update,
    "change:selected": choose,
    "change:picked": () => step.setFollowed(model.get("picked") || {}),
  });
}

export default { render };
