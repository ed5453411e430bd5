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
    this.join(this.before, after);
    this.join(after, this.before);
    selection.listen(() => this.isShown && this.align());
  }

  /** Move one pane when the other is moved. @param {GraphPane} one @param {GraphPane} other */
  join(one, other) {
    const { place } = one;
    one.place = (camera) => {
      const before = one.camera;
      place.call(one, camera);
      if (!this.isShown || this.busy || !other.sheet || one.sheet === null || !one.fitted || !other.fitted) return;
      this.busy = true;
      other.place(other.camera.following(before, camera));
      this.busy = false;
    };
  }

  /** Show both graphs, or the one after alone. @param {GraphData | null} before its data, null for none */
  show(before) {
    this.isShown = before !== null;
    this.element.classList.toggle("pl-paired", this.isShown);
    if (before) this.before.show(before);
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
