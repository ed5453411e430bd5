// Two recordings side by side: their passes aligned at the left; at the right the programs after any two of their steps.
import { columnBorder, DefinitionChoice } from "./columns.js";
import { tip } from "./commands.js";
import { chips } from "./diff.js";
import { DiffPane } from "./diffpane.js";
import { button, el, formatCount, listbox, options, setActive } from "./dom.js";
import { FindField } from "./find.js";
import { mark, passName, time } from "./passlist.js";
import { ask } from "./requests.js";
import { subscribe } from "./selection.js";

/** @import { Model, Bindings } from "./model.js" */
/** @import { ComparedRow, ComparisonData, DiffData, HeatMapAnswer, OperatorCount, PairDiff, PairRequest, RecordingAnswer, SelectionState, SideStep } from "./protocol.js" */

const WAITING = "Comparing (this needs the running kernel) ...";
const NO_KERNEL = "These two steps were not compared before the page was saved.";

/** `4 → 6`, or one value where both are the same. @param {string} a @param {string} b */
const fromTo = (a, b) => (a === b ? a : `${a} → ${b}`);
/** @param {number | null} bytes */
const mebibytes = (bytes) => `${((bytes || 0) / 1048576).toFixed(1)} MiB`;

const MIRRORED = /** @type {Record<string, string>} */ ({ "-": "+", "+": "-", "<": ">", ">": "<" });

/** What is shown of a pair: its difference, why there is none, or that the programs are the same. @typedef {DiffData | {problem: string} | {title: string}} ShownPair */

/** A difference in the reverse direction, with the description `back`. @param {PairDiff} pair @returns {DiffData} */
export function mirrored({ back, before, after, nodes, operators, kinds, words, ...rest }) {
  const reversed = (/** @type {string} */ kind) => MIRRORED[kind] || kind;
  return {
    ...rest,
    title: back,
    before: after,
    after: before,
    nodes: [nodes[1], nodes[0]],
    operators: operators.map(([name, old, now]) => /** @type {OperatorCount} */ ([name, now, old])),
    kinds: kinds.replace(/../g, (sides) => reversed(sides[1]) + reversed(sides[0])),
    words: Object.fromEntries(
      Object.entries(words).map(([row, [left, right, ...more]]) => [row, [right, left, ...more]]),
    ),
  };
}

export class ComparePane {
  /** @param {Model<SelectionState, PairRequest, HeatMapAnswer | RecordingAnswer>} model answers for pairs of steps @param {HTMLElement} root @param {import("./selection.js").Selection} selection */
  constructor(model, root, selection) {
    this.model = model;
    this.at = -1; // the selected row
    this.pair = /** @type {[number, number]} */ ([0, 0]);
    this.pairs = /** @type {Record<string, DiffData | PairDiff | {problem: string}>} */ ({});
    this.data = /** @type {ComparisonData | null} */ (null);
    this.diff = new DiffPane(root, () => this.updateButtons(), selection);
    this.functions = ["A", "B"].map(
      (side) => new DefinitionChoice(`one function of program ${side}, or all`, () => this.showFunctions()),
    );
    this.find = new FindField(this.diff, "find in both programs");
    this.list = listbox("aligned passes", (at) => this.choose(at));
    this.passes = el(
      "div",
      "pl-passes",
      el(
        "div",
        "pl-aligned-head",
        el("span", "pl-side-mark", "A"),
        el("span", "pl-side-mark", "B"),
        el("span", "", "passes, aligned"),
      ),
      this.list,
    );
    this.selects = [0, 1].map((side) => this.createSelect(side));
    this.names = [0, 1].map(() => el("span", "pl-end-name"));
    this.facts = el("span", "pl-facts");
    this.sentence = el("div", "pl-step-summary");
    this.chips = el("div");
    this.note = el("div", "pl-empty");
    this.unified = button("unified", () => this.diff.toggleUnified());
    this.unified.title = tip("compare", "u");
    this.all = button("all lines", () => this.diff.toggleAll());
    this.all.title = tip("compare", "a");
    this.first = button("first divergence", () => this.goToFirst());
    this.first.title = tip("compare", "d");
    const end = (/** @type {number} */ at) =>
      el(
        "span",
        "pl-end",
        el("span", "pl-side-mark", "AB"[at]),
        this.names[at],
        this.selects[at],
        this.functions[at].element,
      );
    const head = el(
      "div",
      "pl-step-head",
      el("div", "pl-step-line pl-ends", end(0), end(1), this.facts),
      this.sentence,
      this.chips,
    );
    const bar = el(
      "div",
      "pl-bar",
      this.first,
      el("span", "pl-grow"),
      this.find.count,
      this.find.field,
      this.unified,
      this.all,
    );
    this.step = el("div", "pl-step", head, bar, el("div", "pl-body", this.diff.element, this.note));
    this.element = el("div", "pl-columns pl-compare", this.passes, columnBorder(root, "--pl-list"), this.step);
    this.diff.element.hidden = true; // until two steps are selected
    this.updateButtons();
    this.leaveModel = subscribe(model, {
      "msg:custom": (message) => {
        if (!message || !("pair" in message) || !message.pair) return;
        this.pairs[message.pair] = message.data || { problem: message.problem || "" };
        this.update();
      },
    });
  }

  /** The choice of one of the two steps. @param {number} side */
  createSelect(side) {
    const select = el("select", "pl-choice");
    select.setAttribute("aria-label", `step of recording ${"AB"[side]}`);
    select.addEventListener("change", () => {
      this.pair[side] = Number(select.value);
      this.at = this.rowOf();
      this.update();
    });
    return select;
  }

  /** The row of the selected steps, -1 for none. */
  rowOf() {
    return this.data ? this.data.rows.findIndex((row) => row.at.join() === this.pair.join()) : -1;
  }

  /** Show a comparison. @param {ComparisonData} data @param {[number, number]} [pair] of steps to start with */
  show(data, pair) {
    if (this.data !== data) this.pairs = { ...data.pairs };
    this.data = data;
    data.sides.forEach((side, at) => {
      this.names[at].textContent = side.name;
      const label = (/** @type {SideStep} */ { id, name }) =>
        `${id} ${name.length > 44 ? `${name.slice(0, 42)} …` : name}`;
      this.selects[at].replaceChildren(
        ...options(Object.keys(side.steps), (number) => label(side.steps[Number(number)])),
      );
    });
    this.list.replaceChildren(...data.rows.map((row, at) => this.item(data, row, at)));
    this.first.disabled = data.first < 0;
    if (pair) {
      this.pair = pair;
      this.at = this.rowOf();
      this.update();
    } else this.choose(data.start);
  }

  /** @param {ComparisonData} data @param {ComparedRow} row @param {number} at */
  item({ sides, first }, row, at) {
    const [a, b] = row.at;
    const sideMark = (/** @type {boolean} */ isPresent, /** @type {SideStep} */ step) =>
      isPresent ? mark(step.outcome.split(":")[0]) : el("span", "pl-no-mark");
    const [ta, tb] = [row.a ? sides[0].steps[a].ms : 0, row.b ? sides[1].steps[b].ms : 0],
      delta = tb - ta;
    const shown = Math.abs(delta) < 0.05 || at === 0 ? "" : `${delta > 0 ? "+" : "−"}${time(Math.abs(delta))}`;
    const calls = row.calls
      ? `${row.calls > 0 ? "+" : "−"}${Math.abs(row.calls)} op${Math.abs(row.calls) === 1 ? "" : "s"}`
      : "";
    const item = el(
      "div",
      `pl-pass pl-aligned${row.same ? "" : " pl-differs"}${at === first ? " pl-first" : ""}`,
      sideMark(row.a, sides[0].steps[a]),
      sideMark(row.b, sides[1].steps[b]),
      el("span", "pl-pass-name", ...passName(row.name)),
      el("span", "pl-time", calls || shown),
      el("span", "pl-same", row.same ? "=" : "≠"),
    );
    item.dataset.at = String(at);
    item.title = `${row.name}\n${row.a && row.b ? "in both" : row.a ? "in A alone" : "in B alone"}; afterwards the programs ${row.same ? "are the same" : "differ"}${shown ? `\ntime: ${shown}` : ""}`;
    item.setAttribute("role", "option");
    return item;
  }

  /** @param {number} at */
  choose(at) {
    const row = this.data?.rows[at];
    if (!row) return false;
    this.at = at;
    this.pair = /** @type {[number, number]} */ ([...row.at]);
    this.update();
  }

  /** @param {number} by */
  go(by) {
    return this.data ? this.choose(Math.max(0, Math.min(this.data.rows.length - 1, this.at + by))) : false;
  }

  goToFirst() {
    return this.data ? this.choose(this.data.first) : false;
  }

  /** Show the two selected steps. */
  update() {
    if (!this.data) return;
    const [a, b] = this.pair,
      [first, second] = [this.data.sides[0].steps[a], this.data.sides[1].steps[b]],
      key = `${a}:${b}`;
    this.selects.forEach((select, side) => {
      select.value = String(this.pair[side]);
    });
    setActive(this.list, this.at);
    const nodes = fromTo(formatCount(first.nodes), formatCount(second.nodes)),
      times = fromTo(time(first.ms), time(second.ms));
    const memory = first.peak || second.peak ? `  ·  ${fromTo(mebibytes(first.peak), mebibytes(second.peak))}` : "";
    this.facts.textContent = `${nodes} nodes${first.outcome === "input" || second.outcome === "input" ? "" : `  ·  ${times}`}${memory}`;
    const row = this.data.rows[this.at],
      same = row?.same ? "The programs are the same." : "";
    const reversed = this.pairs[`${b}:${a}`];
    if (!this.pairs[key] && reversed && "back" in reversed) this.pairs[key] = mirrored(reversed);
    const pair = /** @type {ShownPair | null} */ (this.pairs[key] || (same ? { title: same } : null)),
      failed = first.error || second.error;
    const difference = pair && "kinds" in pair && pair.kinds ? pair : null;
    this.sentence.textContent = !pair ? "" : "problem" in pair ? pair.problem : pair.title;
    this.sentence.classList.toggle("pl-error", !!(pair && "problem" in pair && pair.problem) || !!failed);
    if (failed) this.sentence.textContent = `${failed} ${this.sentence.textContent}`;
    this.chips.replaceChildren(
      ...(pair && "operators" in pair && pair.operators.length ? [chips(pair.operators)] : []),
    );
    this.diff.element.hidden = !difference;
    this.note.hidden = !!difference || (!!pair && !same);
    if (same) this.note.textContent = "There is no line to show: choose a row with ≠, or two other steps above.";
    if (difference) this.diff.show(difference, difference.before, difference.after, difference, ...difference.nodes);
    this.showFunctions();
    this.find.update();
    if (!pair) this.requestPair(a, b);
  }

  /** Request the difference of two steps from the kernel. @param {number} a @param {number} b */
  requestPair(a, b) {
    this.note.textContent = WAITING;
    if (!ask(this.model, { pair: [a, b] }, this.step)) this.note.textContent = NO_KERNEL;
  }

  /** Show the function that each side has chosen. */
  showFunctions() {
    const [before, after] = this.functions.map((one, side) => one.offer(this.diff.definitions[side]));
    this.diff.showOnly(before, after);
    for (const one of this.functions) one.element.hidden ||= this.diff.element.hidden;
  }

  updateButtons() {
    this.unified.setAttribute("aria-pressed", String(this.diff.unified));
    this.all.setAttribute("aria-pressed", String(this.diff.all));
  }

  /** The actions of the keys. @returns {Bindings} */
  keys() {
    return {
      j: () => this.go(1),
      k: () => this.go(-1),
      g: () => this.choose(0),
      G: () => this.go(Infinity),
      d: () => this.goToFirst(),
      n: () => this.diff.next(1),
      p: () => this.diff.next(-1),
      u: () => this.unified.click(),
      a: () => this.all.click(),
      ...this.find.keys(),
      "Ctrl+a": () => this.diff.rows.selectAll(),
    };
  }

  close() {
    this.leaveModel();
    this.diff.close();
  }
}
