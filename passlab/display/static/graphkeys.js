// The keys of a graph, and the neighbourhood of a box: the boxes within a few arrows; all others are dimmed.
const LARGEST = 4; // arrows

export class Radius {
  /** @param {any} pane */
  constructor(pane) {
    this.pane = pane;
    this.arrows = 0; // the radius in arrows, 0 for everything
  }

  /** Increase the radius by one arrow; after the largest, show everything. */
  turn() {
    const { pane } = this;
    if (pane.selectedBox() < 0) pane.goto(0);
    this.arrows = (this.arrows + 1) % (LARGEST + 1);
    this.update();
    if (!this.arrows) return pane.fit();
    this.fit();
  }

  /** The boxes within the radius of the selected one. @returns {Set<number>} */
  near() {
    const { pane } = this, start = pane.selectedBox(), near = new Set(start < 0 ? [] : [start]);
    let edge = [...near];
    for (let i = 0; i < this.arrows; i++) {
      edge = edge.flatMap((box) => [...pane.into[box], ...pane.out[box]]).filter((box) => !near.has(box));
      for (const box of edge) near.add(box);
    }
    return near;
  }

  /** Dim the boxes outside. */
  update() {
    const { pane } = this, near = this.arrows ? this.near() : null, some = near !== null && near.size > 0;
    for (const [number, box] of pane.boxes || []) box.classList.toggle("pl-beyond", some && !near.has(number));
    for (const [arrow, source, target] of pane.arrows || []) arrow.classList.toggle("pl-beyond", some && !(near.has(source) && near.has(target)));
    pane.element.classList.toggle("pl-in-radius", some);
    pane.element.dataset.radius = String(some ? this.arrows : 0);
  }

  /** Zoom to the neighbourhood. */
  fit() {
    const { pane } = this, places = [...this.near()].flatMap((box) => (pane.places.has(box) ? [pane.places.get(box)] : []));
    if (!places.length) return;
    const xs = places.map(([x]) => x), ys = places.map(([, y]) => y), [left, right, top, bottom] = [Math.min(...xs) - 90, Math.max(...xs) + 90, Math.min(...ys) - 50, Math.max(...ys) + 50];
    const { clientWidth: w, clientHeight: h } = pane.canvas, scale = Math.min(1.2, w / (right - left), h / (bottom - top));
    pane.place(w / 2 - (scale * (left + right)) / 2, h / 2 - (scale * (top + bottom)) / 2, scale);
  }
}

/** The actions of the keys in a graph. @param {any} pane @returns {Record<string, (event: KeyboardEvent) => unknown>} */
export const graphKeys = (pane) => ({
  "+": () => pane.zoom(1.25), "=": () => pane.zoom(1.25), "-": () => pane.zoom(0.8), 0: () => pane.fit(), f: () => pane.toggleAll(), r: () => pane.radius.turn(),
  c: () => pane.centre(Math.max(0, pane.selectedBox()), true),
  ArrowDown: () => pane.walk("out"), ArrowUp: () => pane.walk("into"), ArrowLeft: () => pane.beside(-1), ArrowRight: () => pane.beside(1),
  Escape: () => pane.pick(-1),
});
