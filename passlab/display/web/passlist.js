// The list of the passes of a recording: each with a mark of its outcome and its time; with filters and a search.
import { tip } from "./commands.js";
import { button, el, reveal, setActive, svg, uniqueId } from "./dom.js";
import { StepList } from "./steplist.js";
/** @import { StepRow } from "./protocol.js" */

export const OUTCOMES = ["changed", "unchanged", "skipped", "failed"];
const LINE = { fill: "none", stroke: "currentColor" };
const SHAPES = /** @type {Record<string, () => SVGElement>} */ ({
  changed: () => svg("circle", { cx: 6, cy: 6, r: 4.2, fill: "currentColor" }),
  unchanged: () => svg("circle", { cx: 6, cy: 6, r: 3.6, ...LINE, "stroke-width": 1.3 }),
  skipped: () => svg("path", { d: "M2.5 6h7", ...LINE, "stroke-width": 1.6, "stroke-linecap": "round" }),
  failed: () =>
    svg("path", { d: "M2.5 2.5l7 7M9.5 2.5l-7 7", ...LINE, "stroke-width": 1.8, "stroke-linecap": "round" }),
  input: () => svg("path", { d: "M3 2.2L9.6 6 3 9.8z", fill: "currentColor" }),
  running: () => svg("path", { d: "M6 2v4l3 2", ...LINE, "stroke-width": 1.4 }),
});

/** The mark of an outcome: a shape as well as a colour. @param {string} outcome */
export function mark(outcome) {
  const kind = Object.hasOwn(SHAPES, outcome) ? outcome : "running";
  const frame = {
    class: `pl-mark pl-mark-${kind}`,
    viewBox: "0 0 12 12",
    width: 12,
    height: 12,
    role: "img",
    "aria-label": kind,
  };
  return svg("svg", frame, SHAPES[kind]());
}

/** A time as text. @param {number} ms */
export function time(ms) {
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  return ms >= 100 ? `${ms.toFixed(0)} ms` : ms >= 0.1 ? `${ms.toFixed(1)} ms` : "<0.1 ms";
}

/** The name of a pass and, in grey, its options. @param {string} text @returns {Node[]} */
export function passName(text) {
  const at = text.indexOf("(");
  return at < 0 ? [el("b", "", text)] : [el("b", "", text.slice(0, at)), el("span", "pl-pass-options", text.slice(at))];
}

/** The verdict of a search on a step. @param {[boolean, string]} verdict @returns {HTMLElement} */
function stepVerdict([good, why]) {
  const sign = el("span", `pl-step-verdict ${good ? "pl-verdict-good" : "pl-verdict-bad"}`, good ? "✓" : "✗");
  sign.setAttribute("role", "img");
  sign.setAttribute("aria-label", good ? "the program is good after it" : "it broke the program");
  sign.title = `${good ? "the program is good after it" : "it broke the program"}${why ? `: ${why}` : ""}`;
  return sign;
}

/** The list of passes. @extends {StepList<StepRow>} */
export class Passes extends StepList {
  /** @param {(at: number) => void} onSelect called with the selected step */
  constructor(onSelect) {
    const purpose = "search the passes by name, or by an operator whose calls they changed";
    super(onSelect, "a pass, or an operator it changed", purpose, ["unchanged", "skipped"]);
    this.showNested = false;
    this.sortByTime = false; // whether the list is sorted by time
    this.longest = 0.001; // milliseconds
    this.list.tabIndex = -1;
    this.name = uniqueId();
    this.resizeObserver = new ResizeObserver(() => this.reveal()); // the selected pass stays visible when the list changes its size
    this.resizeObserver.observe(this.list);
  }

  /** @param {StepRow[]} steps */
  show(steps) {
    this.steps = steps;
    this.longest = Math.max(0.001, ...steps.map((step) => step.ms));
    this.draw();
  }

  /** Whether a step passes the search and the filters. @param {StepRow} step */
  matches(step) {
    const word = this.search.value.trim().toLowerCase();
    if (step.depth > 0 && !this.showNested && step.outcome !== "failed") return false;
    return (
      !this.hidden.has(step.outcome) &&
      (!word || `${step.id} ${step.name} ${step.operators.join(" ")}`.toLowerCase().includes(word))
    );
  }

  /** @override */
  draw() {
    const matching = this.steps.flatMap((step, at) => (this.matches(step) ? [at] : []));
    const isHidden = this.at >= 0 && this.steps[this.at] && !matching.includes(this.at);
    // The step that is shown stays in the list, so that it is always clear which one is shown.
    this.shown = isHidden ? [...matching, this.at].sort((a, b) => a - b) : matching;
    if (this.sortByTime) this.shown.sort((a, b) => this.steps[b].ms - this.steps[a].ms);
    this.list.replaceChildren(...this.shown.map((at) => this.item(this.steps[at], at, isHidden && at === this.at)));
    if (!matching.length) this.list.append(el("div", "pl-empty", "no pass matches"));
    this.drawFilters();
    this.updateSelection();
  }

  drawFilters() {
    const count = (/** @type {string} */ outcome) =>
      this.steps.filter((s) => s.outcome === outcome && (this.showNested || !s.depth)).length;
    const filters = OUTCOMES.filter(count).map((outcome) => this.filter(outcome, count(outcome), mark(outcome)));
    const sorted = button("by time", () => {
      this.sortByTime = !this.sortByTime;
      this.draw();
    });
    sorted.classList.add("pl-inner");
    sorted.title = "the slowest pass first, or in the order they ran";
    sorted.setAttribute("aria-pressed", String(this.sortByTime));
    const order = el("span", "pl-order", sorted);
    if (this.steps.some((step) => step.depth)) {
      const nested = button("nested", () => this.toggleNested());
      nested.classList.add("pl-inner");
      nested.title = tip("pipeline", "i");
      nested.setAttribute("aria-pressed", String(this.showNested));
      order.append(nested);
    }
    this.filters.replaceChildren(...filters, order);
  }

  /** @param {StepRow} step @param {number} at @param {boolean} isHidden the search and the filters, and shown all the same */
  item(step, at, isHidden) {
    const bar = el("span", "pl-time-bar"),
      part = step.ms / this.longest;
    bar.style.width = part < 0.02 ? "0" : `calc(${part} * (100% - 24px))`;
    const name = el("span", "pl-pass-name", ...passName(step.name));
    name.style.paddingLeft = `${14 * step.depth}px`;
    const timed = step.outcome !== "input" && step.outcome !== "skipped",
      outcome = OUTCOMES.includes(step.outcome) ? step.outcome : "other";
    const item = el(
      "div",
      `pl-pass pl-pass-${outcome}${isHidden ? " pl-outside" : ""}`,
      mark(step.outcome),
      el("span", "pl-pass-id", step.depth ? "" : step.id),
      name,
      step.verdict ? stepVerdict(step.verdict) : null,
      el("span", "pl-time", timed ? time(step.ms) : ""),
      timed ? bar : null,
    );
    item.id = `${this.name}-${at}`;
    item.dataset.at = String(at);
    item.title = isHidden
      ? `${step.name} (it is shown at the right, and hidden by the search or the filters)`
      : step.name;
    item.setAttribute("role", "option");
    return item;
  }

  /** Choose a step that may be hidden: one inside another, or filtered out. @param {number} at */
  go(at) {
    if (!this.steps[at]) return;
    if (!this.shown.includes(at)) {
      if (this.steps[at].depth) this.showNested = true;
      this.hidden.delete(this.steps[at].outcome);
      this.search.value = "";
      this.draw();
    }
    this.choose(at);
  }

  /** @override @param {number} at */
  choose(at) {
    if (at !== undefined && at !== this.at) super.choose(at);
  }

  /** @override */
  showChoice() {
    if (this.list.querySelector(".pl-outside")) this.draw();
    else this.updateSelection();
  }

  updateSelection() {
    setActive(this.list, this.shown.indexOf(this.at));
  }

  /** Scroll the list to the selected pass. */
  reveal() {
    const item = /** @type {HTMLElement | null} */ (this.list.querySelector(".pl-active"));
    if (item && this.list.clientHeight) reveal(this.list, item);
  }

  close() {
    this.resizeObserver.disconnect();
  }

  toggleNested() {
    this.showNested = !this.showNested;
    this.draw();
  }
}
