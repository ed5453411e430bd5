// The graph before a pass beside the one after it: they scroll together, and corresponding boxes are at the same height.
import { Camera } from "./camera.js";
import { el } from "./dom.js";
import { GraphPane } from "./graphpane.js";
/** @import { GraphData } from "./protocol.js" */

export class GraphPair {
  /** @param {GraphPane} after the pane that is always there @param {import("./selection.js").Selection} selection */
  constructor(after, selection) {
    this.after = after;
    this.before = new GraphPane(undefined, selection);
    this.isShown = false;
    this.busy = false; // while one follows the other
    this.element = el(
      "div",
      "pl-graph-pair",
      el("div", "pl-graph-side", el("div", "pl-graph-caption", "before"), this.before.element),
      el("div", "pl-graph-side", el("div", "pl-graph-caption", "after"), after.element),
    );
    this.join(this.before, after, true);
    this.join(after, this.before, false);
    after.program.folds = this.before.program.folds; // what is folded in one is folded in the other
    selection.listen(() => this.isShown && this.align());
  }

  /** Give one pane the camera of the other, whenever that moves. @param {GraphPane} one @param {GraphPane} other @param {boolean} isLeft */
  join(one, other, isLeft) {
    const pair = this,
      { place } = one;
    one.partner = {
      pane: other,
      isLeft,
      get isShown() {
        return pair.isShown && other.data !== null;
      },
    };
    one.place = (camera) => {
      const before = one.camera;
      place.call(one, camera);
      if (!this.isShown || this.busy || !other.sheet || one.sheet === null) return;
      this.busy = true;
      // One camera, but for what `align` has moved.
      const { x, y, scale } = other.camera,
        isAligned = scale === before.scale && (x !== before.x || y !== before.y);
      other.place(isAligned ? other.camera.following(before, camera) : camera);
      this.busy = false;
    };
    const { fit, showInitial } = one;
    one.fit = () => this.together(other, () => fit.call(one), one);
    one.showInitial = () => this.together(other, () => showInitial.call(one), one);
  }

  /** Show a new part of both graphs: what stood apart comes together again. @param {GraphPane} other @param {() => void} run @param {GraphPane} one */
  together(other, run, one) {
    if (this.isShown && !this.busy && other.sheet) {
      this.busy = true;
      other.place(one.camera);
      this.busy = false;
    }
    run();
    other.isInitial = one.isInitial;
  }

  /** Show both graphs, or the one after alone. @param {GraphData | null} before its data, null for none @param {GraphData} after */
  show(before, after) {
    this.isShown = before !== null;
    this.element.classList.toggle("pl-paired", this.isShown);
    this.after.show(after);
    if (!before) return;
    this.before.show(before);
    if (this.after.program.isShown) this.after.arrange(); // a card of both stands at the same place in both
  }

  /** Align the selected boxes of both graphs. */
  align() {
    const { before, after } = this,
      offset = after.selectedOffset(),
      box = before.selectedBox(),
      at = box < 0 ? undefined : before.places.get(box);
    this.busy = true;
    if (offset && at) before.place(Camera.showing(at, offset, after.camera.scale));
    this.busy = false;
  }

  close() {
    this.before.close();
  }
}
