// A pipeline that is edited in place: passes are switched off, moved, repeated, rewritten and inserted.
import { tip } from "./commands.js";
import { button, el, ICONS, options, uniqueId } from "./dom.js";
import { mark } from "./passlist.js";

/** @import { ComparisonData, PassOption, StepRow } from "./protocol.js" */

const DELAY = 350; // milliseconds after the last key before a pipeline runs

/** @typedef {{number: number | null, text: string, recorded: string, on: boolean}} Entry a pass: its number in the recording, null for a new one */

/** The passes of a recorded pipeline, with their options. @param {StepRow[]} steps */
export const recordedPasses = (steps) =>
  steps.filter((step) => !step.depth && step.outcome !== "input" && step.role !== "required").map((step) => step.name);

/**
 * The name and the options of a pass that is written as a call; null for what is none, such as a name that is being typed.
 * @param {string} text @returns {[string, Map<string, string>] | null}
 */
export function parsePass(text) {
  const found = /^\s*([\w.]+)\s*(?:\((.*)\))?\s*$/s.exec(text);
  if (!found) return null;
  const given = new Map(),
    parts = [""];
  let depth = 0,
    quote = "";
  for (const char of found[2] ?? "") {
    if (quote) quote = char === quote ? "" : quote;
    else if (char === "'" || char === '"') quote = char;
    else if ("([{".includes(char)) depth++;
    else if (")]}".includes(char)) depth--;
    if (char === "," && !depth && !quote) parts.push("");
    else parts[parts.length - 1] += char;
  }
  for (const part of parts.filter((one) => one.trim())) {
    const named = /^\s*(\w+)\s*=(?!=)(.*)$/s.exec(part);
    if (!named) return null; // by position: it stays as it is written
    given.set(named[1], named[2].trim());
  }
  return [found[1], given];
}

/** A pass as it is written. @param {string} name @param {Map<string, string>} given options that are not empty */
export const passText = (name, given) => {
  const shown = [...given].filter(([, value]) => value.trim()).map(([option, value]) => `${option}=${value.trim()}`);
  return shown.length ? `${name}(${shown.join(", ")})` : name;
};

/** A pipeline as a line of a notebook. @param {{program: string, options: string}} recording @param {string[]} passes */
export const passesLine = ({ program, options }, passes) => `%passes ${program} ${passes.join(", ")} ${options}`;

/**
 * The edited pipeline that a text means, null for none: it may come from an address, or belong to another recording.
 * @param {string} text @param {string[]} passes of the recording @returns {Entry[] | null}
 */
export function entriesOf(text, passes) {
  try {
    const entries = /** @type {Entry[]} */ (JSON.parse(text || "null"));
    return entries?.length &&
      entries.every(
        ({ number, text: pass, recorded, on }) =>
          typeof pass === "string" &&
          typeof on === "boolean" &&
          (number === null ? true : passes[number - 1] === recorded),
      )
      ? entries
      : null;
  } catch {
    return null;
  }
}

export class PipelineEditor {
  /**
   * @param {(passes: (number | string)[]) => void} onChange called with the pipeline
   * @param {(entry: number) => void} onSelect called with the selected pass
   * @param {(name: string) => void} askOptions asks which options a pass has
   * @param {(key: string) => void} run runs a command
   */
  constructor(onChange, onSelect, askOptions, run) {
    this.onChange = onChange;
    this.onSelect = onSelect;
    this.askOptions = askOptions;
    this.past = /** @type {string[]} */ ([]); // pipelines before each change, as text; the last is the newest
    this.future = /** @type {string[]} */ ([]); // those that were undone
    this.noted = "[]"; // the pipeline as it is known to the history
    this.typedAt = -1; // the pass whose text the last change has typed
    this.declared = /** @type {Map<string, PassOption[]>} */ (new Map()); // the options of passes, as far as they were asked for
    this.formAt = -1; // the pass whose options are shown
    this.entries = /** @type {Entry[]} */ ([]);
    this.steps = /** @type {StepRow[]} */ ([]); // of the recording
    this.at = 0;
    this.timer = 0;
    this.dragged = -1;
    this.edited = false; // whether the pipeline differs from the recorded one
    this.onEdit = /** @type {(edits: string) => void} */ (() => {}); // told of the pipeline as text, "" for the recorded one
    this.wanted = ""; // the edits that a bookmark has kept, until the recording is loaded
    this.outcomes = /** @type {Record<number, {outcome: string, same: boolean}>} */ ({});
    this.datalist = el("datalist", "");
    this.datalist.id = uniqueId();
    this.list = el("div", "pl-list pl-edits");
    this.list.setAttribute("role", "list");
    this.list.setAttribute("aria-label", "the pipeline, to be edited");
    this.problem = el("div", "pl-error pl-edit-problem");
    this.problem.setAttribute("role", "status");
    this.undoButton = button(tip("what if", "Ctrl+z"), () => this.undo(), "M5 3L2 6l3 3M2 6h7a4 4 0 0 1 0 8H6");
    this.redoButton = button(tip("what if", "Ctrl+y"), () => this.redo(), "M11 3l3 3-3 3M14 6H7a4 4 0 0 0 0 8h3");
    const head = el(
      "div",
      "pl-aligned-head",
      el("span", "", "what if"),
      el("span", "pl-grow"),
      this.undoButton,
      this.redoButton,
      button("reset", () => this.reset()),
    );
    const leave = (/** @type {string} */ label, /** @type {string} */ command) => {
      const control = button(label, () => run(command));
      control.title = tip("what if", command);
      return control;
    };
    this.name = el("input", "pl-find pl-edit-bound");
    this.name.value = "variant";
    this.name.setAttribute("aria-label", "the name in the notebook");
    this.name.hidden = true;
    const foot = el(
      "div",
      "pl-edit-foot",
      leave("copy as %passes", "copy the pipeline"),
      leave("bind as …", "bind the recording"),
      this.name,
      leave("keep", "keep the recording"),
    );
    this.element = el("div", "pl-passes pl-editor", head, this.list, this.problem, foot, this.datalist);
    this.updateHistory();
  }

  /** Start from the steps of a recording. @param {StepRow[]} steps */
  load(steps) {
    const passes = recordedPasses(steps);
    if (passes.join("\n") !== recordedPasses(this.steps).join("\n")) [this.past, this.future] = [[], []]; // of another recording
    this.steps = steps;
    this.entries = passes.map((name, at) => ({ number: at + 1, text: name, recorded: name, on: true }));
    this.outcomes = {};
    this.problem.textContent = "";
    this.formAt = -1;
    if (!this.past.length) this.noted = JSON.stringify(this.entries);
    const kept = entriesOf(this.wanted, passes);
    this.wanted = "";
    if (kept) {
      this.past = [this.noted]; // so that they can be taken back
      this.entries = kept;
      this.noted = JSON.stringify(kept);
    }
    this.draw();
    this.updateHistory();
  }

  /** Note the pipeline before a change, once for the words that are typed into one pass. @param {number} typedAt that pass, -1 for other changes */
  note(typedAt) {
    const now = JSON.stringify(this.entries);
    if (now === this.noted) return;
    if (typedAt < 0 || typedAt !== this.typedAt) this.past.push(this.noted);
    this.typedAt = typedAt;
    this.future = [];
    this.noted = now;
    this.updateHistory();
  }

  /** Take the last change back. */
  undo() {
    return this.goTo(this.past, this.future);
  }

  /** Make a change again that was taken back. */
  redo() {
    return this.goTo(this.future, this.past);
  }

  /** @param {string[]} from @param {string[]} to */
  goTo(from, to) {
    const state = from.pop();
    if (state === undefined) return false;
    to.push(this.noted);
    this.noted = state;
    this.entries = JSON.parse(state);
    [this.typedAt, this.formAt] = [-1, -1];
    this.at = Math.max(0, Math.min(this.at, this.entries.length - 1));
    this.draw();
    this.submit();
    this.updateHistory();
    return true;
  }

  updateHistory() {
    this.undoButton.disabled = !this.past.length;
    this.redoButton.disabled = !this.future.length;
  }

  /** The passes that run, with their options. */
  get passes() {
    return this.running().map((at) => this.entries[at].text.trim());
  }

  /** Let the reader write the name to bind the recording to. @param {(name: string) => void} bind */
  askName(bind) {
    this.name.hidden = false;
    this.name.focus();
    this.name.select();
    this.name.onkeydown = (event) => {
      event.stopPropagation();
      if (event.key === "Enter") bind(this.name.value.trim());
      if (event.key === "Enter" || event.key === "Escape") this.name.hidden = true;
    };
    return true;
  }

  /** Show the options of a pass, or hide them. @param {number} at */
  toggleOptions(at) {
    this.formAt = this.formAt === at ? -1 : at;
    const name = this.entries[at] && parsePass(this.entries[at].text)?.[0];
    if (this.formAt >= 0 && name && !this.declared.has(name)) this.askOptions(name);
    this.draw();
    if (this.formAt >= 0) /** @type {HTMLElement | null} */ (this.list.querySelector(".pl-edit-form input"))?.focus();
    return true;
  }

  /** The options that a pass has. @param {string} name @param {PassOption[]} fields */
  setOptions(name, fields) {
    this.declared.set(name, fields);
    if (this.formAt < 0) return;
    this.draw();
    /** @type {HTMLElement | null} */ (this.list.querySelector(".pl-edit-form input"))?.focus();
  }

  /** A form of the options of a pass, by its declaration. @param {Entry} entry @param {number} at */
  form(entry, at) {
    const parsed = parsePass(entry.text);
    if (!parsed) return el("div", "pl-edit-form pl-dim", "these options are written by position: edit them as text");
    const [name, given] = parsed,
      fields = this.declared.get(name);
    if (!fields) return el("div", "pl-edit-form pl-dim", "…");
    if (!fields.length) return el("div", "pl-edit-form pl-dim", `${name} has no options`);
    const change = (/** @type {string} */ option, /** @type {string} */ value, /** @type {boolean} */ typed) => {
      given.set(option, value);
      entry.text = passText(name, given);
      const line = /** @type {HTMLInputElement | null} */ (
        this.list.querySelector(`[data-entry="${at}"] .pl-edit-name`)
      );
      if (line) line.value = entry.text;
      this.submit(typed ? DELAY : 0, at);
    };
    const rows = fields.map(([option, type, preset, does]) => {
      const field = el("input", type === "bool" ? "" : "pl-find"),
        now = given.get(option);
      if (type === "bool") {
        field.type = "checkbox";
        field.checked = (now ?? preset) === "True";
        field.addEventListener("change", () => {
          const value = field.checked ? "True" : "False";
          change(option, value === preset ? "" : value, false);
        });
      } else {
        field.value = now ?? "";
        field.placeholder = preset || "needed";
        field.spellcheck = false;
        if (type === "int") field.inputMode = "numeric";
        field.addEventListener("input", () => change(option, field.value, true));
      }
      field.title = does;
      return el("label", "", el("span", "", option), field, el("span", "pl-dim", type));
    });
    const frame = el("div", "pl-edit-form", ...rows);
    frame.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.toggleOptions(at);
      this.focus(at);
    });
    return frame;
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
    const rows = this.entries.flatMap((entry, at) =>
      at === this.formAt ? [this.row(entry, at), this.form(entry, at)] : [this.row(entry, at)],
    );
    for (const row of rows) row.setAttribute("role", "listitem");
    const add = button("insert a pass", () => this.insert(this.entries.length), ICONS.plus);
    add.append(" insert a pass");
    const addRow = el("div", "pl-edit-add", add);
    addRow.setAttribute("role", "listitem");
    this.list.replaceChildren(...rows, addRow);
    this.mark();
  }

  /** @param {Entry} entry @param {number} at */
  row(entry, at) {
    const on = el("input", "pl-edit-on");
    on.type = "checkbox";
    on.checked = entry.on;
    on.setAttribute("aria-label", `run ${entry.text}`);
    on.addEventListener("change", () => this.toggle(at));
    const name = el("input", "pl-edit-name");
    name.value = entry.text;
    name.spellcheck = false;
    name.placeholder = "a pass";
    name.setAttribute("list", this.datalist.id);
    name.setAttribute("aria-label", `pass ${at + 1} with its options`);
    name.title = entry.text;
    name.addEventListener("input", () => {
      entry.text = name.value;
      this.submit(DELAY, at);
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
      this.tool(tip("what if", "m"), "M3 5h7M13 5h0M3 11h1M7 11h6M11 3.4v3.2M5.6 9.4v3.2", () =>
        this.toggleOptions(at),
      ),
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
    row.dataset.entry = String(at);
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

  /** Switch a pass on or off. @param {number} at */
  toggle(at) {
    this.entries[at].on = !this.entries[at].on;
    this.draw();
    this.submit();
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
    const row = this.list.querySelector(`[data-entry="${at}"]`),
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

  /** Report the pipeline. @param {number} [pause] @param {number} [typedAt] the pass whose text was typed */
  submit(pause = 0, typedAt = -1) {
    clearTimeout(this.timer);
    this.note(typedAt);
    this.edited = this.entries.some(
      ({ number, text, recorded, on }, at) => !on || text !== recorded || number !== at + 1,
    );
    this.onEdit(this.edited ? this.noted : "");
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
      const row = /** @type {HTMLElement} */ (this.list.querySelector(`[data-entry="${at}"]`)),
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
