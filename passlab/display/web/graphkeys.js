// The keys of a graph, and the neighbourhood of a box: the boxes within a few arrows; all others are dimmed.
import { Camera } from "./camera.js";

/** @import { Bindings } from "./model.js" */
const MAX_RADIUS = 4; // arrows

export class Radius {
  /** @param {import("./graphpane.js").GraphPane} pane */
  constructor(pane) {
    this.pane = pane;
    this.arrows = 0; // the radius in arrows, 0 for everything
    this.isOutside = (/** @type {number} */ _box) => false;
  }

  /** Increase the radius by one arrow; after the largest, show everything. */
  grow() {
    const { pane } = this;
    if (pane.selectedBox() < 0) pane.goto(0);
    this.arrows = (this.arrows + 1) % (MAX_RADIUS + 1);
    pane.updateSelection();
    if (this.arrows) this.fit();
    else pane.fit();
  }

  /** The boxes within the radius of the selected one. @returns {Set<number>} */
  neighbourhood() {
    const { pane } = this,
      start = pane.selectedBox(),
      neighbourhood = new Set(start < 0 ? [] : [start]);
    let edge = [...neighbourhood];
    for (let i = 0; i < this.arrows; i++) {
      edge = edge
        .flatMap((box) => [...pane.inputs[box], ...pane.outputs[box]])
        .filter((box) => !neighbourhood.has(box));
      for (const box of edge) neighbourhood.add(box);
    }
    return neighbourhood;
  }

  /** Dim the boxes outside. */
  update() {
    const { pane } = this,
      neighbourhood = this.arrows ? this.neighbourhood() : new Set(),
      some = neighbourhood.size > 0;
    this.isOutside = (/** @type {number} */ box) => some && !neighbourhood.has(box);
    for (const [number, box] of pane.boxes) box.classList.toggle("pl-outside-radius", this.isOutside(number));
    pane.element.classList.toggle("pl-in-radius", some);
    pane.element.dataset.radius = String(some ? this.arrows : 0);
  }

  /** Zoom to the neighbourhood. */
  fit() {
    const { pane } = this,
      places = [...this.neighbourhood()].map((box) => pane.places.get(box)).filter((place) => place !== undefined);
    if (!places.length) return;
    const xs = places.map(([x]) => x),
      ys = places.map(([, y]) => y),
      [left, right, top, bottom] = [
        Math.min(...xs) - 90,
        Math.max(...xs) + 90,
        Math.min(...ys) - 50,
        Math.max(...ys) + 50,
      ];
    const { width: w, height: h } = pane,
      scale = Math.min(1.2, w / (right - left), h / (bottom - top));
    pane.place(Camera.showing([(left + right) / 2, (top + bottom) / 2], [w / 2, h / 2], scale));
  }
}

/** The actions of the keys in a graph. @param {import("./graphpane.js").GraphPane} pane @returns {Bindings} */
export const graphKeys = (pane) => ({
  "+": () => pane.zoom(1.25),
  "=": () => pane.zoom(1.25),
  "-": () => pane.zoom(0.8),
  0: () => pane.showWhole(),
  f: () => pane.toggleAll(),
  r: () => pane.radius.grow(),
  c: () => pane.centre(Math.max(0, pane.selectedBox()), true),
  ArrowDown: () => pane.selectNeighbour("outputs"),
  ArrowUp: () => pane.selectNeighbour("inputs"),
  ArrowLeft: () => pane.selectSibling(-1),
  ArrowRight: () => pane.selectSibling(1),
  t: () => pane.program.toggleAround(pane.selected < 0 ? pane.selectedBox() : pane.selected),
  Enter: () => pane.showCalled(Math.max(0, pane.selectedBox())),
  Escape: () => pane.select(-1),
});
