// What the lists of passes of both explorers share: a search, filters by outcome, and the passes that match.
import { button, el, formatCount, listbox, searchField } from "./dom.js";

/** A list of steps, one of which is chosen. @template Row */
export class StepList {
  /**
   * @param {(at: number) => void} onSelect called with the chosen step
   * @param {string} placeholder what the search takes, in a few words
   * @param {string} purpose what the search does
   * @param {string[]} quiet the outcomes of steps that changed nothing
   */
  constructor(onSelect, placeholder, purpose, quiet) {
    this.onSelect = onSelect;
    this.quiet = quiet;
    this.steps = /** @type {Row[]} */ ([]);
    this.shown = /** @type {number[]} */ ([]); // the steps that match, in the order of the list
    this.hidden = new Set(); // hidden outcomes
    this.at = -1;
    this.search = searchField(placeholder, purpose);
    this.search.addEventListener("input", () => this.draw());
    this.filters = el("div", "pl-filters");
    this.list = listbox("passes", (at) => this.choose(at));
    this.element = el("div", "pl-passes", el("div", "pl-search", this.search), this.filters, this.list);
  }

  /** Draw the filters and the steps that match. */
  draw() {}

  /** Choose a step. @param {number} at */
  choose(at) {
    this.at = at;
    this.showChoice();
    this.onSelect(at);
  }

  /** Draw which step is chosen. */
  showChoice() {}

  /** A button that shows or hides the steps of an outcome. @param {string} outcome @param {number} count @param {Element} sign */
  filter(outcome, count, sign) {
    const filter = button(outcome, () => {
      if (!this.hidden.delete(outcome)) this.hidden.add(outcome);
      this.draw();
    });
    filter.replaceChildren(sign, `${formatCount(count)} ${outcome}`);
    filter.title = `${outcome} (show or hide)`;
    filter.setAttribute("aria-label", `${formatCount(count)} ${outcome}`);
    filter.setAttribute("aria-pressed", String(!this.hidden.has(outcome)));
    return filter;
  }

  /** Move the choice by some of the shown steps; from one that is hidden to the nearest. @param {number} by */
  step(by) {
    const place = this.shown.indexOf(this.at);
    const next =
      place < 0
        ? by > 0
          ? this.shown.findIndex((at) => at > this.at)
          : this.shown.filter((at) => at < this.at).length - 1
        : place + by;
    if (this.shown[next] !== undefined) this.choose(this.shown[next]);
  }

  toggleChanged() {
    this.hidden = new Set(this.hidden.size ? [] : this.quiet);
    this.draw();
  }
}
