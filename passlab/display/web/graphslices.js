// Draws the pieces of a graph: a large one slice by slice, so that the page stays responsive, and at first without
// details, which are drawn where the view is close.
import { svg } from "./dom.js";
import { drawArrow, drawBox, drawCover, drawFrameOfBox, drawGroup, drawLines, roomsOf } from "./graphdraw.js";
import { edgesAround } from "./graphsheet.js";

const SLICE = 400,
  LIGHT = 6; // boxes drawn in one go; how many that are drawn without details cost as much as one
const MAX_DETAILED = 1000; // boxes above which a graph is drawn without details where the view is far away

/** @typedef {import("./graphsheet.js").Placed & {element: SVGElement, simplified: boolean}} Drawn a piece, and whether its details are left out */

export class Slices {
  /** @param {import("./graphpane.js").GraphPane} pane */
  constructor(pane) {
    this.pane = pane;
    this.pieces = /** @type {Drawn[]} */ ([]);
    this.queue = /** @type {Drawn[]} */ ([]); // pieces to be drawn
    this.frame = 0;
  }

  /** Replace the pieces; return the elements in which they will be drawn. @param {import("./graphsheet.js").Placed[]} pieces */
  setPieces(pieces) {
    this.stop();
    const simplified = pieces.reduce((sum, piece) => sum + piece.boxes.length, 0) > MAX_DETAILED;
    this.pieces = pieces.map((piece) => ({
      ...piece,
      element: svg("g", { transform: `translate(${piece.x} ${piece.y})` }),
      simplified,
    }));
    return this.pieces.map((piece) => piece.element);
  }

  /** Draw some pieces at once, the others in later frames. */
  showInitial() {
    this.queue = [...this.pieces];
    this.drawSome(SLICE);
  }

  /** @param {number} room boxes */
  drawSome(room) {
    let left = room;
    while (this.queue.length && left > 0) {
      const piece = /** @type {Drawn} */ (this.queue.shift());
      this.draw(piece);
      left -= piece.simplified ? piece.boxes.length / LIGHT : piece.boxes.length;
    }
    this.pane.updateDrawing();
    this.frame = 0;
    if (this.queue.length) this.schedule();
  }

  schedule() {
    if (!this.frame)
      this.frame = requestAnimationFrame(() => {
        if (this.pane.isNear()) this.addDetails((piece) => this.isVisible(piece));
        this.drawSome(SLICE);
      });
  }

  /** Draw the details of newly visible pieces soon, after the graph has moved. */
  drawVisible() {
    if (this.pane.isNear() && this.pieces.some((piece) => piece.simplified && this.isVisible(piece))) this.schedule();
  }

  /** Redraw some pieces with their details. @param {(piece: Drawn) => boolean} which */
  addDetails(which) {
    const pieces = this.pieces.filter((piece) => piece.simplified && which(piece));
    for (const piece of pieces) {
      piece.simplified = false;
      piece.element.replaceChildren();
    }
    this.queue = [...pieces, ...this.queue.filter((piece) => !pieces.includes(piece))];
  }

  /** Draw all pieces at once, with all details. */
  drawAll() {
    this.addDetails(() => true);
    cancelAnimationFrame(this.frame);
    this.drawSome(Infinity);
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

  /** @param {Drawn} piece */
  draw({ layout, boxes, groups, x, y, element, simplified, ends }) {
    const { pane } = this,
      { data } = pane;
    const covers = groups.map((number, at) => {
      const group = data.groups[number],
        inside = boxes.filter((box) => pane.within(data.boxes[box][4], number));
      element.append(drawGroup(group, layout.groups[at]));
      return drawCover(
        group,
        layout.groups[at],
        inside.map((box) => data.boxes[box][5][0]),
      );
    });
    const occupied = boxes.map((number, at) => {
      const [width, height] = data.boxes[number],
        [left, top] = [layout.at[2 * at] - width / 2, layout.at[2 * at + 1] - height / 2];
      return [left, top, left + width, top + height];
    });
    if (!simplified) {
      const [low, high] = edgesAround(pane.sheet, x, y, layout.size[0]);
      roomsOf(occupied, low - x, high - x).forEach((room, at) => pane.rooms.set(boxes[at], room));
    }
    const lines = simplified
      ? [drawLines(layout.arrows.map((arrow) => arrow[3]))]
      : layout.arrows.map(([source, target, label, points], at) => {
          const arrowElement = drawArrow(points, label, occupied),
            [origin, user] = ends?.[at] ?? [source < 0 ? -1 : boxes[source], boxes[target]];
          pane.arrows.push([arrowElement, origin, user]);
          return arrowElement;
        });
    const shapes = boxes.map((number, at) => {
      const box = (simplified ? drawFrameOfBox : drawBox)(data.boxes[number], layout.at[2 * at], layout.at[2 * at + 1]);
      box.setAttribute("data-box", String(number));
      pane.boxes.set(number, box);
      return box;
    });
    element.append(...lines, ...shapes, ...covers);
  }

  stop() {
    cancelAnimationFrame(this.frame);
    [this.queue, this.frame] = [[], 0];
  }
}
