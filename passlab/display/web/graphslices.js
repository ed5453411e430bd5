// Draws the pieces of a graph: a large one slice by slice, so that the page stays responsive, and no more of each piece
// than can be read at the present scale; more is drawn where the view comes closer.
import { svg } from "./dom.js";
import { PieceArrows } from "./grapharrows.js";
import { drawBox, drawCover, drawFrameOfBox, drawGroup, drawNamedBox, roomsOf } from "./graphdraw.js";
import { DETAILS, levelOf, SHAPES } from "./graphlevels.js";
import { edgesAround } from "./graphsheet.js";

const SLICE = 400,
  COST = [6, 3, 1]; // boxes drawn in one go; how many of each level cost as much as one with all details
const DRAW = [drawFrameOfBox, drawNamedBox, drawBox];

/** @typedef {import("./graphsheet.js").Placed & {element: SVGElement, level: number, arrows: PieceArrows | null}} Drawn a piece, and how much of it is drawn, -1 for nothing */

export class Slices {
  /** @param {import("./graphpane.js").GraphPane} pane */
  constructor(pane) {
    this.pane = pane;
    this.pieces = /** @type {Drawn[]} */ ([]);
    this.queue = /** @type {Drawn[]} */ ([]); // pieces to be drawn
    this.frame = 0;
    this.isNew = false; // whether nothing of the pieces is drawn yet
  }

  /** Replace the pieces; return the elements in which they will be drawn. @param {import("./graphsheet.js").Placed[]} pieces */
  setPieces(pieces) {
    this.stop();
    this.isNew = true;
    this.pieces = pieces.map((piece) => ({
      ...piece,
      element: svg("g", { transform: `translate(${piece.x} ${piece.y})` }),
      level: -1,
      arrows: null,
    }));
    return this.pieces.map((piece) => piece.element);
  }

  /** Draw some pieces at once, those in view first, the others in later frames. */
  showInitial() {
    this.isNew = false;
    const visible = this.pieces.filter((piece) => this.isVisible(piece));
    this.queue = [...visible, ...this.pieces.filter((piece) => !visible.includes(piece))];
    this.drawSome(SLICE);
  }

  /** @param {number} room boxes */
  drawSome(room) {
    const { pane } = this,
      drawn = /** @type {number[]} */ ([]);
    let left = room;
    while (this.queue.length && left > 0) {
      const piece = /** @type {Drawn} */ (this.queue.shift()),
        level = this.isVisible(piece) ? levelOf(pane.camera.scale) : SHAPES;
      if (piece.level >= level) continue;
      this.draw(piece, level);
      drawn.push(...piece.boxes);
      left -= piece.boxes.length / COST[level];
    }
    this.frame = 0;
    if (drawn.length) pane.updateDrawing(drawn);
    if (this.queue.length) this.schedule();
  }

  schedule() {
    if (!this.frame)
      this.frame = requestAnimationFrame(() => {
        this.drawSome(SLICE);
      });
  }

  /** Draw what is in view and not drawn as the scale allows, after the graph has moved. */
  drawVisible() {
    const level = levelOf(this.pane.camera.scale),
      pieces = this.isNew ? [] : this.pieces.filter((piece) => piece.level < level && this.isVisible(piece));
    if (!pieces.length) return;
    this.queue = [...pieces, ...this.queue.filter((piece) => !pieces.includes(piece))];
    this.schedule();
  }

  /** Draw all pieces at once, with all details. */
  drawAll() {
    this.stop();
    for (const piece of this.pieces) if (piece.level < DETAILS) this.draw(piece, DETAILS);
    this.pane.updateDrawing([...this.pane.boxes.keys()]);
  }

  /** Whether a piece is visible, or nearly. @param {Drawn} piece */
  isVisible(piece) {
    const { width: w, height: h } = this.pane,
      { x, y, scale } = this.pane.camera;
    const left = piece.x * scale + x,
      top = piece.y * scale + y,
      [pieceWidth, pieceHeight] = piece.layout.size;
    return (
      left < 1.2 * w && top < 1.2 * h && left + pieceWidth * scale > -0.2 * w && top + pieceHeight * scale > -0.2 * h
    );
  }

  /** @param {Drawn} piece @param {number} level */
  draw(piece, level) {
    const { layout, boxes, groups, x, y, ends } = piece,
      { pane } = this,
      { data } = pane;
    const names = groups.map((number) => {
      const inside = boxes.filter((box) => pane.within(data.boxes[box][4], number));
      return inside.map((box) => data.boxes[box][5][0]);
    });
    const occupied = boxes.map((number, at) => {
      const [width, height] = data.boxes[number],
        [left, top] = [layout.at[2 * at] - width / 2, layout.at[2 * at + 1] - height / 2];
      return [left, top, left + width, top + height];
    });
    if (level > SHAPES) {
      const [low, high] = edgesAround(pane.sheet, x, y, layout.size[0]);
      roomsOf(occupied, low - x, high - x).forEach((room, at) => pane.rooms.set(boxes[at], room));
    }
    const arrows = layout.arrows.map(([source, target, label, points], at) => {
      const [origin, user] = ends?.[at] ?? [source < 0 ? -1 : boxes[source], boxes[target]];
      return /** @type {import("./grapharrows.js").Arrows[number]} */ ([origin, user, label, points]);
    });
    piece.level = level;
    piece.arrows = new PieceArrows(arrows, level, occupied);
    const shapes = boxes.map((number, at) => {
      const box = DRAW[level](data.boxes[number], layout.at[2 * at], layout.at[2 * at + 1]);
      box.setAttribute("data-box", String(number));
      pane.boxes.set(number, box);
      pane.widened.delete(number);
      return box;
    });
    piece.element.replaceChildren(
      ...groups.map((number, at) => drawGroup(data.groups[number], layout.groups[at])),
      piece.arrows.element,
      ...shapes,
      ...groups.map((number, at) => drawCover(data.groups[number], layout.groups[at], names[at])),
    );
  }

  /** @param {import("./grapharrows.js").Look} look of arrows */
  updateArrows(look) {
    for (const { arrows } of this.pieces) arrows?.update(look);
  }

  stop() {
    cancelAnimationFrame(this.frame);
    [this.queue, this.frame] = [[], 0];
  }
}
