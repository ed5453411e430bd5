// The gutter of a program: beside each line the pass that created it, named at the first of its lines.
import { el } from "./dom.js";

const AGAIN = 20; // lines after which the name is repeated, so that one is always visible
const WIDE = 100, NAME = 20; // characters of a pane in which there is room for names, and of a name
const BAR = 3; // characters for the bar and the space beside both
const BLANK = -2; // the origin of a line that defines nothing

/**
 * Passes (label, colour, event), and where lines come from (pass, text of the line table).
 * @typedef {{passes: [string, number, number][], origins: [number, number][]}} Makers
 */

export class Gutter {
  /** @param {WeakMap<Element, number>} hovers the place of each element's text, shown where the pointer rests */
  constructor(hovers) {
    this.hovers = hovers;
    this.makers = /** @type {Makers | null} */ (null);
    this.lines = /** @type {number[] | null} */ (null);
    this.named = /** @type {boolean[]} */ ([]); // for each line, whether it names its pass
    this.widest = 0; // characters of the longest label, 0 if no pass created a line
    this.narrowest = 0; // and of the number it begins with
    this.here = -1; // the event whose lines are highlighted
  }

  /**
   * Show the origins of lines.
   * @param {Makers | null} makers
   * @param {number[] | null} lines the origin of each, -1 for the input, -2 for nothing; null for no gutter
   */
  show(makers, lines) {
    [this.makers, this.lines, this.named, this.widest] = [makers, lines, [], 0];
    if (!makers || !lines) return;
    let last = -1, since = 0;
    lines.forEach((origin, at) => {
      const pass = origin < 0 ? -1 : makers.origins[origin][0];
      if (origin !== BLANK && pass !== last) [last, since] = [pass, at];
      this.named.push(pass >= 0 && (at - since) % AGAIN === 0);
    });
    const seen = [...new Set(lines)].flatMap((origin) => (origin < 0 ? [] : [makers.passes[makers.origins[origin][0]][0]]));
    this.widest = Math.min(NAME, Math.max(0, ...seen.map((label) => label.length)));
    this.narrowest = Math.max(0, ...seen.map((label) => label.indexOf(" ")));
  }

  /** The width of the gutter in characters. @param {number} columns @param {HTMLElement} box of the pane */
  fit(columns, box) {
    const wide = columns >= WIDE, room = !this.widest ? 0 : BAR + (wide ? this.widest : this.narrowest);
    box.classList.toggle("pl-makers-narrow", !wide);
    box.style.setProperty("--pl-makers", `${room}ch`);
    return room;
  }

  /** The event that created a line, -1 for none. @param {number} at */
  event(at) {
    const origin = this.makers && this.lines ? this.lines[at] : -1;
    return this.makers && origin >= 0 ? this.makers.passes[this.makers.origins[origin][0]][2] : -1;
  }

  /** The gutter of a row. @param {number} at @param {boolean} first whether the line begins in this row */
  cell(at, first) {
    const origin = this.makers && this.lines ? this.lines[at] : -1;
    if (!this.makers || origin < 0) return el("span", "pl-maker");
    const [pass, text] = this.makers.origins[origin], [label, colour, event] = this.makers.passes[pass], space = label.indexOf(" ");
    const look = `${first && this.named[at] ? "" : " pl-again"}${event === this.here ? " pl-maker-here" : ""}`;
    const maker = el("span", `pl-maker pl-made-${colour}${look}`, label.slice(0, space), el("span", "pl-maker-name", label.slice(space)));
    this.hovers.set(maker, text);
    return maker;
  }
}
