// A pipeline that is edited in place: passes are switched off, moved, repeated, rewritten and inserted.
import { button, el, ICONS, options, uniqueId } from "./dom.js";
import { mark } from "./passlist.js";

/** @import { ComparisonData, StepRow } from "./protocol.js" */

const DELAY = 350; // milliseconds after the last key before a pipeline runs

/** @typedef {{number: number | null, text: string, recorded: string, on: boolean}} Entry a pass: its number in the recording, null for a new one */

export class PipelineEditor {
  /**
   * @param {(passes: (number | string)[]) => void} onChange called with the pipeline
   * @param {(entry: number) => void} onSelect called with the selected pass
   */
  constructor(onChange, onSelect) {
    this.onChange = onChange;
    this.onSelect = onSelect;
    this.entries = /** @type {Entry[]} */ ([]);
    this.steps = /** @type {StepRow[]} */ ([]); // of the recording
    this.at = 0;
    this.timer = 0;
    this.dragged = -1;
    this.edited = false; // whether the pipeline differs from the recorded one
    this.outcomes = /** @type {Record<number, {outcome: string, same: boolean}>} */ ({});
    this.datalist = el("datalist", "");
    this.datalist.id = uniqueId();
    this.list = el("div", "pl-list pl-edits");
    this.list.setAttribute("role", "list");
    this.list.setAttribute("aria-label", "the pipeline, to be edited");
    this.problem = el("div", "pl-error pl-edit-problem");
    this.problem.setAttribute("role", "status");
    const head = el(
      "div",
      "pl-aligned-head",
      el("span", "", "what if"),
      el("span", "pl-grow"),
      button("reset", () => this.reset()),
    );
    this.element = el("div", "pl-passes pl-editor", head, this.list, this.problem, this.datalist);
  }

  /** Start from the steps of a recording. @param {StepRow[]} steps */
  load(steps) {
    this.steps = steps;
    const own = steps.filter((step) => !step.depth && step.outcome !== "input" && step.role !== "required");
    this.entries = own.map((step, at) => ({ number: at + 1, text: step.name, recorded: step.name, on: true }));
    this.outcomes = {};
    this.problem.textContent = "";
    this.draw();
  }

  /** Set the names that may be written. @param {string[]} names of passes */
  setNames(names) {
    this.datalist.replaceChildren(...options(names));
  }

  reset() {
    this.load(this.steps);
    this.submit();
  }

  draw() {
    const rows = this.entries.map((entry, at) => this.row(entry, at));
    const add = button("insert a pass", () => this.insert(this.entries.length), ICONS.plus);
    add.append(" insert a pass");
    this.list.replaceChildren(...rows, el("div", "pl-edit-add", add));
    this.mark();
  }

  /** @param {Entry} entry @param {number} at */
  row(entry, at) {
    const on = el("input", "pl-edit-on");
    on.type = "checkbox";
    on.checked = entry.on;
    on.setAttribute("aria-label", `run ${entry.text}`);
    on.addEventListener("change", () => {
      entry.on = on.checked;
      this.submit();
      this.draw();
    });
    const name = el("input", "pl-edit-name");
    name.value = entry.text;
    name.spellcheck = false;
    name.placeholder = "a pass";
    name.setAttribute("list", this.datalist.id);
    name.setAttribute("aria-label", `pass ${at + 1} with its options`);
    name.title = entry.text;
    name.addEventListener("input", () => {
      entry.text = name.value;
      this.submit(DELAY);
    });
    name.addEventListener("focus", () => this.choose(at));
    name.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.submit();
    });
    const tools = el(
      "span",
      "pl-edit-tools",
      this.tool("move up (Alt+Up)", ICONS.up, () => this.move(at, at - 1)),
      this.tool("move down (Alt+Down)", ICONS.down, () => this.move(at, at + 1)),
      this.tool("repeat", ICONS.copy, () => this.repeat(at)),
      this.tool("insert a pass here", ICONS.plus, () => this.insert(at)),
      ...(entry.number === null ? [this.tool("remove", ICONS.minus, () => this.remove(at))] : []),
    );
    const grip = el("span", "pl-edit-handle", "⋮⋮");
    grip.title = "drag";
    const row = el(
      "div",
      `pl-pass pl-edit-row${entry.on ? "" : " pl-edit-off"}${entry.number === null || entry.text !== entry.recorded ? " pl-edit-new" : ""}`,
      grip,
      on,
      el("span", "pl-edit-mark"),
      name,
      tools,
      el("span", "pl-same"),
    );
    row.setAttribute("role", "listitem");
    row.draggable = true;
    row.addEventListener("click", () => this.choose(at));
    row.addEventListener("dragstart", (event) => {
      this.dragged = at;
      if (event.dataTransfer) event.dataTransfer.effectAllowed = "move";
    });
    row.addEventListener("dragover", (event) => event.preventDefault());
    row.addEventListener("drop", (event) => {
      event.preventDefault();
      if (this.dragged >= 0) this.move(this.dragged, at);
      this.dragged = -1;
    });
    row.addEventListener("keydown", (event) => {
      if (!event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
      event.preventDefault();
      event.stopPropagation();
      this.move(at, event.key === "ArrowUp" ? at - 1 : at + 1, true);
    });
    return row;
  }

  /** @param {string} label @param {string} picture @param {() => void} run */
  tool(label, picture, run) {
    const control = button(label, run, picture);
    control.addEventListener("click", (event) => event.stopPropagation());
    return control;
  }

  /** @param {number} from @param {number} to @param {boolean} [focus] */
  move(from, to, focus = false) {
    if (to < 0 || to >= this.entries.length || from === to) return;
    const [entry] = this.entries.splice(from, 1);
    this.entries.splice(to, 0, entry);
    this.at = to;
    this.draw();
    this.submit();
    if (focus) this.focus(to);
  }

  /** @param {number} at */
  repeat(at) {
    const { number, text, recorded } = this.entries[at];
    this.entries.splice(at + 1, 0, { number: text === recorded ? number : null, text, recorded, on: true });
    this.at = at + 1;
    this.draw();
    this.submit();
  }

  /** @param {number} at */
  insert(at) {
    this.entries.splice(at, 0, { number: null, text: "", recorded: "", on: true });
    this.at = at;
    this.draw();
    this.focus(at);
  }

  /** @param {number} at */
  remove(at) {
    this.entries.splice(at, 1);
    this.draw();
    this.submit();
  }

  /** @param {number} at */
  focus(at) {
    const row = this.list.children[at],
      name = row && /** @type {HTMLElement | null} */ (row.querySelector(".pl-edit-name"));
    if (name) name.focus();
  }

  /** @param {number} at */
  choose(at) {
    this.at = at;
    this.mark();
    this.onSelect(at);
  }

  /** The indices in `entries` of the passes that run. */
  running() {
    return this.entries.flatMap((entry, at) => (entry.on && entry.text.trim() ? [at] : []));
  }

  /** Report the pipeline. @param {number} [pause] */
  submit(pause = 0) {
    clearTimeout(this.timer);
    this.edited = this.entries.some(
      ({ number, text, recorded, on }, at) => !on || text !== recorded || number !== at + 1,
    );
    this.timer = window.setTimeout(() => {
      const { entries } = this;
      this.onChange(
        this.running().map((at) =>
          entries[at].number !== null && entries[at].text === entries[at].recorded
            ? /** @type {number} */ (entries[at].number)
            : entries[at].text,
        ),
      );
    }, pause);
  }

  /** Show the outcomes of the passes. @param {ComparisonData} comparison */
  showOutcomes(comparison) {
    this.problem.textContent = "";
    this.outcomes = {};
    const places = this.running(),
      steps = comparison.sides[1].steps;
    let next = 0;
    for (const row of comparison.rows) {
      if (!row.b || row.at[1] === 0 || steps[row.at[1]].role === "required") continue;
      const at = places[next++];
      if (at !== undefined) this.outcomes[at] = { outcome: steps[row.at[1]].outcome.split(":")[0], same: row.same };
    }
    this.mark();
  }

  mark() {
    this.entries.forEach((_, at) => {
      const row = /** @type {HTMLElement} */ (this.list.children[at]),
        outcome = this.outcomes[at];
      row.classList.toggle("pl-active", at === this.at);
      row.classList.toggle("pl-differs", !!outcome && !outcome.same);
      /** @type {Element} */ (row.querySelector(".pl-edit-mark")).replaceChildren(
        ...(outcome ? [mark(outcome.outcome)] : []),
      );
      /** @type {Element} */ (row.querySelector(".pl-same")).textContent = outcome ? (outcome.same ? "=" : "≠") : "";
    });
  }

  /** The row of a pass in a comparison, -1 for none. @param {ComparisonData} comparison @param {number} at */
  rowOf(comparison, at) {
    const entry = this.entries[at];
    if (!entry) return -1;
    const side = entry.on ? 1 : 0,
      count = entry.on ? this.running().indexOf(at) + 1 : entry.number || 0;
    let seen = 0;
    return comparison.rows.findIndex((row) => {
      const isPresent = side ? row.b : row.a,
        number = row.at[side];
      if (!isPresent || number === 0 || comparison.sides[side].steps[number].role === "required") return false;
      return ++seen === count;
    });
  }
}
