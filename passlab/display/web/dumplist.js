// The list of passes of a dump: names, units and verdicts, with a search and filters.
import { el, plural } from "./dom.js";
import { ASSUMED, COUNTED, NAME, PARENT, PHASE, REMARKS, SECONDS, UNIT, VERDICT } from "./dumpfields.js";
import { StepList } from "./steplist.js";

/** @import { DumpStepRow } from "./protocol.js" */

const SIGNS = /** @type {Record<string, [string, string]>} */ ({
  changed: ["●", "pl-increase"],
  unchanged: ["○", ""],
  unknown: ["◌", "pl-attribute"],
  invalidated: ["⊘", "pl-decrease"],
  filtered: ["–", ""],
  ignored: ["–", ""],
  failed: ["✕", "pl-decrease"],
});

/** The list of passes. @extends {StepList<DumpStepRow>} */
export class DumpList extends StepList {
  /** @param {(at: number) => void} onSelect */
  constructor(onSelect) {
    const quiet = ["unchanged", "unknown", "filtered", "ignored"];
    super(onSelect, "a pass, or what it ran on", "search the passes by name or unit", quiet);
    this.space = el("div", "pl-dump-space"); // as high as all rows
    this.marked = new Set(); // the steps that changed what comes from the picked line of the source
    this.list.addEventListener("scroll", () => this.paint());
  }

  /** @param {DumpStepRow[]} steps */
  show(steps) {
    this.steps = steps;
    if (steps.length > 12 && steps.some((step) => step[VERDICT] === "changed"))
      this.hidden = new Set(["unchanged", "filtered", "ignored"]);
    this.draw();
  }

  /** @override */
  draw() {
    const word = this.search.value.trim().toLowerCase();
    this.shown = this.steps.flatMap((step, at) =>
      this.hidden.has(step[VERDICT]) ||
      (word && !`${at + 1} ${step[NAME]} ${step[UNIT]} ${step[PHASE]}`.toLowerCase().includes(word))
        ? []
        : [at],
    );
    const counts = new Map();
    for (const step of this.steps) counts.set(step[VERDICT], (counts.get(step[VERDICT]) || 0) + 1);
    this.filters.replaceChildren(
      ...Object.keys(SIGNS)
        .filter((name) => counts.has(name))
        .map((name) =>
          this.filter(name, counts.get(name), el("span", `pl-dump-sign ${SIGNS[name][1]}`, SIGNS[name][0])),
        ),
    );
    this.space.style.height = `${this.shown.length * 30}px`;
    this.list.replaceChildren(this.space);
    if (!this.shown.length) this.list.append(el("div", "pl-empty", "no pass matches"));
    this.paint();
  }

  /** Draw the visible rows: a dump may have thousands. */
  paint() {
    const first = Math.max(0, Math.floor(this.list.scrollTop / 30) - 5),
      visibleCount = (this.list.clientHeight || 600) / 30;
    const rows = this.shown.slice(first, first + visibleCount + 12).map((at, place) => {
      const step = this.steps[at],
        [sign, className] = SIGNS[step[VERDICT]] || ["?", ""];
      const row = el(
        "div",
        `pl-pass pl-pass-${step[VERDICT] === "failed" ? "failed" : step[VERDICT] === "unchanged" ? "unchanged" : "changed"}`,
        el("span", `pl-dump-sign ${className}`, sign, step[ASSUMED] ? "?" : ""),
        el("span", "pl-pass-id", String(at + 1)),
        el("span", "pl-pass-name", step[PARENT] ? "· " : "", step[NAME].replace(/^(?:\w+::)+/, "")),
        el("span", "pl-time pl-dump-unit", step[UNIT]),
      );
      if (step[REMARKS]) row.append(el("span", "pl-dump-said", `¶${step[REMARKS]}`));
      if (step[SECONDS] !== null) row.append(el("span", "pl-time pl-dump-seconds", step[SECONDS]));
      row.dataset.at = String(at);
      row.title = [
        `${step[NAME]} on ${step[UNIT]}: ${step[VERDICT]}${step[ASSUMED] ? " (assumed)" : ""}`,
        step[REMARKS] ? plural(step[REMARKS], "remark") : "",
        step[SECONDS] ?? "",
        ...step[COUNTED].split("; "),
      ]
        .filter(Boolean)
        .join("\n");
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", String(at === this.at));
      row.classList.toggle("pl-pass-assumed", Boolean(step[ASSUMED])); // the verdict is not in the dump itself
      row.classList.toggle("pl-active", at === this.at);
      row.classList.toggle("pl-of-source", this.marked.has(at));
      row.style.top = `${(first + place) * 30}px`;
      return row;
    });
    this.space.replaceChildren(...rows);
  }

  /** Mark steps. @param {Iterable<number>} steps */
  mark(steps) {
    this.marked = new Set(steps);
    this.paint();
  }

  /** @override @param {number} at */
  choose(at) {
    if (!this.steps[at]) return;
    if (!this.shown.includes(at)) {
      this.hidden.delete(this.steps[at][VERDICT]);
      this.search.value = "";
      this.draw();
    }
    super.choose(at);
  }

  /** @override */
  showChoice() {
    const top = this.shown.indexOf(this.at) * 30;
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    else if (top + 30 > this.list.scrollTop + this.list.clientHeight)
      this.list.scrollTop = top + 30 - this.list.clientHeight;
    this.paint();
  }
}
