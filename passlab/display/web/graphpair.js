// The graph before a pass beside the one after it: they scroll together, and corresponding boxes are at the same height.
import { el } from "./dom.js";
import { GraphPane } from "./graphpane.js";

export class GraphPair {
  /** @param {GraphPane} after the pane that is always there @param {import("./selection.js").Selection} selection */
  constructor(after, selection) {
    this.after = after;
    this.before = new GraphPane(undefined, selection);
    this.isShown = false;
    this.busy = false; // while one follows the other
    this.element = el("div", "pl-graph-pair", el("div", "pl-graph-side", el("div", "pl-graph-caption", "before"), this.before.element), el("div", "pl-graph-side", el("div", "pl-graph-caption", "after"), after.element));
    this.join(this.before, after);
    this.join(after, this.before);
    selection.listen(() => this.isShown && this.align());
  }

  /** Move one pane when the other is moved. @param {GraphPane} one @param {GraphPane} other */
  join(one, other) {
    const { place } = one;
    one.place = (x, y, scale) => {
      const [dx, dy, by] = [x - one.x, y - one.y, scale / one.scale];
      place.call(one, x, y, scale);
      if (!this.isShown || this.busy || !other.sheet || one.sheet === null || !one.fitted || !other.fitted) return;
      this.busy = true;
      if (by === 1) other.place(other.x + dx, other.y + dy, other.scale);
      else other.place(x + (other.x - (x - dx)) * by, y + (other.y - (y - dy)) * by, other.scale * by);
      this.busy = false;
    };
  }

  /** Show both graphs, or the one after alone. @param {any} before its data, null for none */
  show(before) {
    this.isShown = before !== null;
    this.element.classList.toggle("pl-paired", this.isShown);
    if (before) this.before.show(before);
  }

  /** Align the selected boxes of both graphs. */
  align() {
    const { before, after } = this, offset = after.selectedOffset(), box = before.selectedBox(), at = box < 0 ? undefined : before.places.get(box);
    this.busy = true;
    if (offset && at) before.place(offset[0] - at[0] * after.scale, offset[1] - at[1] * after.scale, after.scale);
    this.busy = false;
  }

  close() {
    this.before.close();
  }
}
