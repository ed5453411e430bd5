// The source of a program beside its passes: a line of it selects what comes from it, in every step, and back.
import { button, el, options, plural, reveal } from "./dom.js";
import { DIFF, FIRST, KIND, LAST, LINES, PASS, PLACE, SOURCES, STEP, TEXT, VERDICT } from "./dumpfields.js";

/** @import { DumpData, SaidRow, UnitVersion } from "./protocol.js" */

const MAX_STEPS = 200; // buttons
const MAX_REMARKS = 50; // of one line
const SIGNS = /** @type {Record<string, string>} */ ({ passed: "✓", missed: "✕" });

/** The pane with the user's source. */
export class SourcePane {
  /** @param {(place: number) => void} onPick @param {(at: number) => void} go */
  constructor(onPick, go) {
    this.onPick = onPick;
    this.go = go;
    this.data = /** @type {DumpData} */ (/** @type {unknown} */ (null)); // from `load` on
    this.picked = -1; // the number of the picked place
    this.file = "";
    this.at = 0;
    this.said = /** @type {Map<number, SaidRow[]>} */ (new Map()); // the remarks at each place
    this.version = /** @type {UnitVersion | null} */ (null);
    this.steps = /** @type {number[]} */ ([]); // those that changed what comes from the picked place
    this.files = el("select", "pl-find");
    this.files.setAttribute("aria-label", "the source file that is shown");
    this.files.addEventListener("change", () => {
      this.file = this.files.value;
      this.draw();
    });
    this.facts = el("div", "pl-source-facts");
    this.rows = el("div", "pl-scroll pl-source-rows pl-code");
    this.rows.tabIndex = 0;
    this.rows.setAttribute("role", "region");
    this.rows.setAttribute("aria-label", "source of the program");
    this.element = el("div", "pl-source", el("div", "pl-source-head", this.files, this.facts), this.rows);
    this.rows.addEventListener("click", (event) => {
      const row = /** @type {HTMLElement} */ (event.target).closest("[data-place]");
      if (!row) return;
      const place = Number(/** @type {HTMLElement} */ (row).dataset.place);
      this.pick(place === this.picked ? -1 : place);
    });
  }

  /** Show another recording. @param {DumpData} data */
  load(data) {
    this.data = data;
    this.picked = -1;
    this.steps = [];
    this.element.hidden = !data.places.length;
    this.said = Map.groupBy(data.said, (one) => one[PLACE]);
    const counts = new Map();
    for (const [file] of data.places) counts.set(file, (counts.get(file) || 0) + 1);
    const weight = (/** @type {string} */ file) => (file in data.sources ? 1e6 : 0) + counts.get(file);
    const names = [...counts.keys()].sort((a, b) => weight(b) - weight(a));
    this.file = names[0] || "";
    this.files.replaceChildren(...options(names, (name) => name.replace(/^.*[/]/, "")));
  }

  toggle() {
    this.element.hidden = !this.element.hidden || !this.data.places.length;
  }

  /** Show the counts of a step. @param {number} at @param {UnitVersion | null} version */
  show(at, version) {
    this.at = at;
    this.version = version;
    this.draw();
  }

  /** Pick a place, -1 for none. @param {number} place */
  pick(place) {
    if (place < 0 && this.picked < 0) return;
    this.picked = place;
    this.steps = place < 0 ? [] : changes(this.data, place);
    if (place >= 0) this.file = this.data.places[place][0];
    this.draw();
    this.onPick(place);
  }

  /** Pick the first place of a set, one of the shown file if there is one. @param {number} set */
  pickSet(set) {
    const places = this.data.joins[set];
    const here = places.find((place) => this.data.places[place][0] === this.file);
    const next = here === undefined ? places[0] : here;
    this.pick(next === this.picked ? -1 : next);
    const row = /** @type {HTMLElement | null} */ (this.rows.querySelector(".pl-from-source"));
    if (row) reveal(this.rows, row);
  }

  /** How many lines of the shown unit come from each place. */
  counts() {
    const counts = new Map();
    for (const set of this.version?.[SOURCES] || [])
      for (const place of this.data.joins[set]) counts.set(place, (counts.get(place) || 0) + 1);
    return counts;
  }

  draw() {
    if (!this.data || this.element.hidden) return;
    this.files.value = this.file;
    this.files.title = this.file;
    const counts = this.counts(),
      numbers = new Map(); // line of the file -> number of its place
    this.data.places.forEach(([file, line], number) => {
      if (file === this.file) numbers.set(line, number);
    });
    const texts = this.data.sources[this.file],
      lines = [...numbers.keys()].sort((a, b) => a - b);
    const first = Math.max(1, lines[0] - 3),
      last = texts ? Math.min(texts.length, lines[lines.length - 1] + 3) : 0;
    const shown = texts ? Array.from({ length: last - first + 1 }, (_, at) => first + at) : lines;
    this.rows.replaceChildren(
      ...shown.map((line) => {
        const place = numbers.get(line),
          count = counts.get(place) || 0,
          said = (place !== undefined && this.said.get(place)) || [];
        const row = el(
          "div",
          "pl-row pl-source-row",
          el("span", "pl-number", String(line)),
          el("span", "pl-source-count", count ? String(count) : ""),
          ...(this.said.size ? [el("span", "pl-source-said", signsOf(said))] : []),
          el("span", "pl-text pl-dump-text", texts ? texts[line - 1] : ""),
        );
        if (place === undefined) return row;
        row.dataset.place = String(place);
        row.title = [`${plural(count, "line")} of what is shown from line ${line}`, ...said.map(sentence)].join("\n");
        row.classList.toggle("pl-from-source", place === this.picked);
        return row;
      }),
    );
    this.drawFacts(counts.get(this.picked) || 0);
  }

  /** A remark with the steps that may have made it. @param {SaidRow} one */
  remark(one) {
    const steps = [...new Set([one[FIRST], one[LAST]])]
      .filter(Boolean)
      .map((number) => button(String(number), () => this.go(number - 1)));
    return el("div", "pl-source-remark", el("span", "", sentence(one)), ...steps);
  }

  /** The facts about the picked line: its lines here, and the steps that changed them. @param {number} count */
  drawFacts(count) {
    if (this.picked < 0)
      return this.facts.replaceChildren("a click on a line selects what comes from it, in every step");
    const [, line] = this.data.places[this.picked];
    const steps = this.steps.slice(0, MAX_STEPS).map((at) => {
      const one = button(String(at + 1), () => this.go(at));
      one.title = this.data.steps[at][0];
      one.setAttribute("aria-pressed", String(at === this.at));
      return one;
    });
    return this.facts.replaceChildren(
      el("div", "", `line ${line}: ${plural(count, "line")} here, changed by ${plural(this.steps.length, "step")}`),
      el("div", "pl-source-steps", ...steps),
      ...(this.said.get(this.picked) || []).slice(0, MAX_REMARKS).map((one) => this.remark(one)),
    );
  }
}

/** The signs of remarks, each with its count: `✓2 ✕1`. @param {SaidRow[]} said */
function signsOf(said) {
  const counts = new Map();
  for (const one of said) counts.set(SIGNS[one[KIND]] || "·", (counts.get(SIGNS[one[KIND]] || "·") || 0) + 1);
  return [...counts].map(([sign, count]) => `${sign}${count > 1 ? count : ""}`).join("");
}

/** A remark in words. @param {SaidRow} one */
export function sentence(one) {
  return `${one[KIND]}${one[PASS] ? ` ${one[PASS]}` : ""}: ${one[TEXT]}`;
}

/** The steps that changed, added or removed a line that comes from a place. @param {DumpData} data @param {number} place */
export function changes(data, place) {
  const sets = data.joins.map((set) => set.includes(place)),
    found = new Set();
  for (const { versions } of data.units) {
    versions.forEach((version, at) => {
      const step = data.steps[version[STEP] - 1];
      if (!step || ["unchanged", "filtered", "ignored"].includes(step[VERDICT])) return;
      const before = at ? versions[at - 1][SOURCES] : [],
        here = version[SOURCES];
      const isHit = at
        ? version[DIFF].some(
            ([sign, left, right]) =>
              (sign === "+" || sign === "-" || sign === "!") && (sets[before[left]] || sets[here[right]]),
          )
        : (version[LINES] || []).some((_, line) => sets[here[line]]);
      if (isHit) found.add(version[STEP] - 1);
    });
  }
  return [...found].sort((a, b) => a - b);
}
