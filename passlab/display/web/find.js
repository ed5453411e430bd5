// Find: in one pane, a field with the number of hits; in a recording, a list of the hits in all steps.
import { button, el, formatCount, ICONS, plural, searchField } from "./dom.js";
import { occurrences } from "./lines.js";
import { ask, hasKernel } from "./requests.js";
import { Rows } from "./rows.js";

/** @import { Model } from "./model.js" */
/** @import { FoundLine, RecordingAnswer, RecordingData, RecordingRequest, RecordingState } from "./protocol.js" */

/** What can be searched. @typedef {{search(text: string): void, nextHit(step: number): unknown, hitPosition(): [number, number]}} Searched */

/** A field that searches one pane, and says how many lines have the text. */
export class FindField {
  /** @param {Searched} pane @param {string} label */
  constructor(pane, label) {
    this.pane = pane;
    this.field = searchField("find", label);
    this.count = el("span", "pl-found");
    this.count.setAttribute("role", "status");
    this.field.addEventListener("input", () => this.search());
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      this.pane.search(this.field.value);
      this.go(event.shiftKey ? -1 : 1);
    });
  }

  search() {
    this.pane.search(this.field.value);
    this.update();
  }

  /** Show the number of hits, as when the pane shows something else. */
  update() {
    const [at, all] = this.pane.hitPosition();
    this.count.textContent = !this.field.value.trim() ? "" : all ? `${at} of ${all}` : "not there";
  }

  /** @param {number} step 1 or -1 */
  go(step) {
    const moved = this.pane.nextHit(step);
    this.update();
    return moved;
  }

  /** Clear the field; whether there was something in it. */
  clear() {
    if (!this.field.value) return false;
    this.field.value = "";
    this.search();
    return true;
  }

  /** The actions of its keys. @returns {import("./model.js").Bindings} */
  keys() {
    return {
      "Ctrl+f": () => {
        this.field.focus();
        this.field.select();
      },
      F3: () => this.go(1),
      "Shift+F3": () => this.go(-1),
    };
  }
}

/**
 * The hits in the program after a step, which is also that after the steps up to `through`: the numbers of lines in the
 * program, and those lines. The line -1 is the sentence about the pass. `fresh` says which lines the step made.
 * @typedef {{step: number, through: number, lines: number[], texts: string[], fresh: boolean[]}} StepHits
 */

/**
 * The hits in all steps of a recording, as far as its programs are here.
 * @param {RecordingData} data @param {string} query in lower case @param {boolean} nested whether passes inside others are searched
 * @returns {StepHits[]}
 */
export function hitsIn(data, query, nested) {
  const has = data.lines.map(([text]) => occurrences(text, query).length > 0),
    groups = /** @type {StepHits[]} */ ([]);
  let last = -1, // the program of the group before
    before = /** @type {Set<number>} */ (new Set());
  data.steps.forEach((step, at) => {
    if (step.depth && !nested && step.outcome !== "failed") return;
    const said = `${step.name}: ${step.error || step.sentence}`,
      isSaid = occurrences(said, query).length > 0,
      program = step.after === last ? null : data.modules[step.after];
    const group = /** @type {StepHits} */ ({ step: at, through: at, lines: [], texts: [], fresh: [] });
    if (isSaid) add(group, -1, said, false);
    program?.forEach((number, line) => {
      if (has[number]) add(group, line, data.lines[number][0].trim(), before.size > 0 && !before.has(number));
    });
    if (group.lines.length) groups.push(group);
    else if (step.after === last && groups.length && data.steps[groups[groups.length - 1].step].after === last)
      groups[groups.length - 1].through = at;
    if (program) before = new Set(program);
    last = step.after;
  });
  return groups;
}

/** @param {StepHits} group @param {number} line @param {string} text @param {boolean} fresh */
function add(group, line, text, fresh) {
  group.lines.push(line);
  group.texts.push(text);
  group.fresh.push(fresh);
}

/** The hits that the kernel has found in a recording too large for the page. @param {FoundLine[]} found @returns {StepHits[]} */
export function hitsOf(found) {
  const groups = /** @type {StepHits[]} */ ([]);
  for (const [step, line, text] of found) {
    if (groups[groups.length - 1]?.step !== step) groups.push({ step, through: step, lines: [], texts: [], fresh: [] });
    add(groups[groups.length - 1], line, text, false);
  }
  return groups;
}

/** The text with its hits marked. @param {string} text @param {string} query */
function marked(text, query) {
  const bounds = occurrences(text, query),
    parts = /** @type {(string | Node)[]} */ ([]);
  // The first hit is shown even where a line is long.
  let at = Math.max(0, (bounds[0] ?? 0) - 24);
  if (at) parts.push("…");
  for (let i = 0; i < bounds.length; i += 2) {
    parts.push(text.slice(at, bounds[i]), el("span", "pl-found-word", text.slice(bounds[i], bounds[i + 1])));
    at = bounds[i + 1];
  }
  return [...parts, text.slice(at)];
}

/** The search of a recording, beside the step that is shown: it takes the place of the list of passes. */
export class FindPanel {
  /**
   * @param {Model<RecordingState, RecordingRequest, RecordingAnswer>} model
   * @param {(step: number, line: number) => void} show shows a line of the program after a step
   * @param {(query: string) => void} onQuery called with the text that is searched, "" for none
   * @param {import("./passlist.js").Passes} passes the list of passes, which it takes the place of
   */
  constructor(model, show, onQuery, passes) {
    this.model = model;
    this.show = show;
    this.onQuery = onQuery;
    this.passes = passes;
    this.query = "";
    this.groups = /** @type {StepHits[]} */ ([]);
    this.at = -1; // the row of the current hit
    this.list = /** @type {{group: StepHits, hit: number}[]} */ ([]); // rows: the heads of groups (hit -1), and hits
    this.field = searchField(
      "find in all steps",
      "find in the programs after all steps: a text, or a regular expression between slashes",
    );
    this.count = el("div", "pl-found pl-find-count");
    this.count.setAttribute("role", "status");
    this.rows = new Rows(
      (at) => this.row(at),
      () => {},
    );
    this.rows.box.classList.add("pl-find-list", "pl-code");
    this.rows.box.addEventListener("click", ({ target }) => {
      const row = /** @type {HTMLElement | null} */ (/** @type {Element} */ (target).closest(".pl-find-row"));
      if (row) this.choose(Number(row.dataset.at));
    });
    const tools = el(
      "div",
      "pl-search",
      this.field,
      button("previous hit (Shift+F3)", () => this.next(-1), ICONS.up),
      button("next hit (F3)", () => this.next(1), ICONS.down),
      button("close the search (Esc)", () => this.close(), ICONS.close),
    );
    this.element = el("div", "pl-passes pl-find-panel", tools, this.count, this.rows.box);
    this.element.hidden = true;
    this.onClose = () => {}; // called when the list of passes is there again
    this.field.addEventListener("input", () => this.search());
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.next(event.shiftKey ? -1 : 1);
      else if (event.key === "ArrowDown") this.next(1);
      else if (event.key === "ArrowUp") this.next(-1);
      else if (event.key === "Escape") this.close();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  get isOpen() {
    return !this.element.hidden;
  }

  /** Open the panel in the place of the list of passes, with what is selected in the page as the text to find. */
  open() {
    const selected = String(window.getSelection()).trim();
    if (selected && !selected.includes("\n") && selected.length < 80) this.field.value = selected;
    this.element.hidden = false;
    this.passes.element.hidden = true;
    this.field.focus();
    this.field.select();
    if (this.field.value.trim().toLowerCase() !== this.query) this.search();
    else this.onQuery(this.query);
  }

  close() {
    this.element.hidden = true;
    this.passes.element.hidden = false;
    this.onQuery("");
    this.onClose();
    return true;
  }

  /** Find what the field says; of a recording that is not all here, the kernel finds it. */
  search() {
    this.query = this.field.value.trim().toLowerCase();
    this.onQuery(this.query);
    const data = this.model.get("data");
    if (this.query && data.by_step && hasKernel(this.model)) {
      ask(this.model, { find: this.query }, this.element);
      this.count.textContent = "…";
    } else this.fill(this.query ? hitsIn(data, this.query, this.passes.showNested) : [], 0);
  }

  /** There are more programs: search them, too. The kernel has searched all, but could not show the hit yet. */
  onData() {
    if (!this.isOpen) return;
    const current = this.list[this.at];
    if (!this.model.get("data").by_step) this.search();
    else if (current) this.show(this.passes.at, current.group.lines[current.hit]);
  }

  /** What the kernel has found. @param {{found: string, lines: FoundLine[], left: number}} answer */
  onFound({ found, lines, left }) {
    if (found === this.query) this.fill(hitsOf(lines), left);
  }

  /** List hits. @param {StepHits[]} groups @param {number} left how many more there are */
  fill(groups, left) {
    this.groups = groups;
    this.list = groups.flatMap((group) => [{ group, hit: -1 }, ...group.lines.map((_, hit) => ({ group, hit }))]);
    const all = groups.reduce((sum, group) => sum + group.lines.length, left);
    this.count.textContent = !this.query
      ? ""
      : all
        ? `${plural(all, "line")} in ${plural(groups.length, "step")}${left ? `, ${formatCount(left)} of them not listed` : ""}`
        : "not there";
    this.at = -1;
    this.rows.set(this.list.length, 0);
    // What is shown stays where it has the text; else nothing moves until the reader goes on.
    const here = this.list.findIndex(({ group, hit }) => hit >= 0 && this.covers(group, this.passes.at));
    if (here >= 0) this.rows.reveal(here);
  }

  /** Whether a group is about the program after a step. @param {StepHits} group @param {number} step */
  covers(group, step) {
    return group.step <= step && step <= group.through;
  }

  /** @param {number} at */
  row(at) {
    const { group, hit } = this.list[at],
      { steps } = this.model.get("data"),
      active = at === this.at ? " pl-active" : "";
    const row =
      hit < 0
        ? el(
            "div",
            "pl-row pl-find-row pl-find-head",
            el(
              "span",
              "pl-find-id",
              steps[group.step].id + (group.through > group.step ? `–${steps[group.through].id}` : ""),
            ),
            el("span", "pl-find-step", steps[group.step].name),
            el("span", "pl-found", formatCount(group.lines.length)),
          )
        : el(
            "div",
            `pl-row pl-find-row${active}`,
            el("span", "pl-number", group.lines[hit] < 0 ? "" : group.lines[hit] + 1),
            el("span", "pl-sign", group.fresh[hit] ? "+" : ""),
            el("span", "pl-text", ...marked(group.texts[hit], this.query)),
          );
    row.dataset.at = String(at);
    row.title = hit < 0 ? steps[group.step].name : group.texts[hit];
    return row;
  }

  /** Show a hit; of a head, the first below it. @param {number} at */
  choose(at) {
    const row = this.list[at]?.hit < 0 ? at + 1 : at;
    if (!this.list[row]) return false;
    this.at = row;
    const { group, hit } = this.list[row];
    this.show(this.covers(group, this.passes.at) ? this.passes.at : group.step, group.lines[hit]);
    const hits = this.list.filter((one) => one.hit >= 0);
    this.count.textContent = `${hits.indexOf(this.list[row]) + 1} of ${plural(hits.length, "line")}`;
    this.rows.reveal(row);
    this.rows.update(true);
    return true;
  }

  /** Go to the next or the previous hit: at first, to that of the shown step. @param {number} by 1 or -1 */
  next(by) {
    if (!this.list.length) return false;
    let at = this.at + by;
    if (this.at < 0) {
      const here = this.list.findIndex(({ group, hit }) => hit >= 0 && group.through >= this.passes.at);
      at = here >= 0 ? here : 1;
    }
    const isHead = () => this.list[at] && this.list[at].hit < 0;
    if (isHead()) at += by;
    if (at < 0) at = this.list.length - 1;
    if (at >= this.list.length) at = 1;
    return this.choose(at);
  }

  end() {
    this.rows.close();
  }
}
