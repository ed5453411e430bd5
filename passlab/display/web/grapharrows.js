// The arrows of a piece of a graph. Those that look alike are one path, so that a graph of a thousand arrows has few elements.
import { svg } from "./dom.js";
import { drawLabel, drawLines } from "./graphdraw.js";
import { DETAILS, SHAPES } from "./graphlevels.js";

/** What an arrow looks like: classes, or null where it is not drawn. @typedef {(source: number, target: number) => string | null} Look */
/** The arrows of a piece: between boxes, -1 for one outside, with a label and the points of a curve. @typedef {[number, number, string, number[]][]} Arrows */

export class PieceArrows {
  /** @param {Arrows} arrows @param {number} level how much of them is drawn @param {number[][]} occupied what no label may cover */
  constructor(arrows, level, occupied) {
    this.arrows = arrows.filter(([, , , points]) => points.length >= 8);
    this.hasHeads = level > SHAPES;
    this.element = svg("g");
    this.labels = this.arrows.map(([, , label, points]) =>
      level === DETAILS && label ? drawLabel(points, label, occupied) : null,
    );
    this.drawn = /** @type {string | null} */ (null); // the looks of all arrows
  }

  /** @param {Look} look */
  update(look) {
    const looks = this.arrows.map(([source, target]) => look(source, target)),
      drawn = looks.join("|");
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const alike = /** @type {Map<string, number[][]>} */ (new Map());
    this.arrows.forEach(([, , , points], at) => {
      const classes = looks[at];
      if (classes !== null) alike.set(classes, [...(alike.get(classes) ?? []), points]);
    });
    const labels = this.labels.flatMap((label, at) => {
      label?.setAttribute("class", `pl-arrow ${looks[at]}`);
      return label && looks[at] !== null ? [label] : [];
    });
    // the plain ones first, so that no other is hidden
    const groups = [...alike].sort(([one], [other]) => one.length - other.length);
    this.element.replaceChildren(
      ...groups.map(([classes, points]) => drawLines(points, classes, this.hasHeads)),
      ...labels,
    );
  }
}
