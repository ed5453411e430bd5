// The gutter of a program: beside each line the pass that created it, named at the first of its lines.
import { el } from "./dom.js";

/** @import { BlameData } from "./protocol.js" */

const REPEAT = 20; // lines after which the name is repeated, so that one is always visible
const WIDE = 100,
  NAME = 20; // characters of a pane in which there is room for names, and of a name
const BAR = 3; // characters for the bar and the space beside both
const BLANK = -2; // the origin of a line that defines nothing

export class Gutter {
  /** @param {WeakMap<Element, number>} hovers the place of each element's text, shown where the pointer rests */
  constructor(hovers) {
    this.hovers = hovers;
    this.blame = /** @type {BlameData | null} */ (null);
    this.lines = /** @type {number[] | null} */ (null);
    this.named = /** @type {boolean[]} */ ([]); // for each line, whether it names its pass
    this.labelWidth = 0; // characters of the longest label, 0 if no pass created a line
    this.idWidth = 0; // and of the number it begins with
    this.currentEvent = -1; // the event whose lines are highlighted
  }

  /**
   * Show the origins of lines.
   * @param {BlameData | null} blame
   * @param {number[] | null} lines the origin of each, -1 for the input, -2 for nothing; null for no gutter
   */
  show(blame, lines) {
    [this.blame, this.lines, this.named, this.labelWidth] = [blame, lines, [], 0];
    if (!blame || !lines) return;
    let last = -1,
      since = 0;
    lines.forEach((origin, at) => {
      const pass = origin < 0 ? -1 : blame.origins[origin][0];
      if (origin !== BLANK && pass !== last) [last, since] = [pass, at];
      this.named.push(pass >= 0 && (at - since) % REPEAT === 0);
    });
    const labels = [...new Set(lines)].flatMap((origin) =>
      origin < 0 ? [] : [blame.passes[blame.origins[origin][0]][0]],
    );
    this.labelWidth = Math.min(NAME, Math.max(0, ...labels.map((label) => label.length)));
    this.idWidth = Math.max(0, ...labels.map((label) => label.indexOf(" ")));
  }

  /** The width of the gutter in characters. @param {number} columns @param {HTMLElement} box of the pane */
  fit(columns, box) {
    const isWide = columns >= WIDE,
      room = !this.labelWidth ? 0 : BAR + (isWide ? this.labelWidth : this.idWidth);
    box.classList.toggle("pl-blame-narrow", !isWide);
    box.style.setProperty("--pl-blame-width", `${room}ch`);
    return room;
  }

  /** The event that created a line, -1 for none. @param {number} at */
  event(at) {
    const origin = this.blame && this.lines ? this.lines[at] : -1;
    return this.blame && origin >= 0 ? this.blame.passes[this.blame.origins[origin][0]][2] : -1;
  }

  /** The gutter of a row. @param {number} at @param {boolean} first whether the line begins in this row */
  cell(at, first) {
    const origin = this.blame && this.lines ? this.lines[at] : -1;
    if (!this.blame || origin < 0) return el("span", "pl-blame");
    const [pass, text] = this.blame.origins[origin],
      [label, colour, event] = this.blame.passes[pass],
      space = label.indexOf(" ");
    const classes = `${first && this.named[at] ? "" : " pl-repeated"}${event === this.currentEvent ? " pl-blame-current" : ""}`;
    const element = el(
      "span",
      `pl-blame pl-blame-${colour}${classes}`,
      label.slice(0, space),
      el("span", "pl-blame-name", label.slice(space)),
    );
    this.hovers.set(element, text);
    return element;
  }
}
