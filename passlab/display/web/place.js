// Where the reader is in a view: it survives a reload of the page, in the model of the kernel or in the address of a page.

import { Delayed } from "./dom.js";

/** @import { Place } from "./protocol.js" */

const DELAY = 300; // milliseconds after the last change

/** The number in a place: one from an address is text. @param {number | string | undefined} value */
export const numberOf = (value) => (value === undefined || value === "" ? Number.NaN : Number(value));

export class Bookmark {
  /** @param {{get(key: "place"): Place | undefined, set(key: "place", value: Place): void, save_changes(): void}} model */
  constructor(model) {
    this.model = model;
    this.waiting = /** @type {Place} */ ({});
    this.saving = new Delayed(() => {
      model.set("place", { ...model.get("place"), ...this.waiting });
      this.waiting = {};
      model.save_changes();
    }, DELAY);
    this.start = model.get("place") ?? {};
    this.isOpen = false; // once what was kept is shown again
  }

  /** Note where the reader is now. @param {Place} place what of it has changed */
  keep(place) {
    if (!this.isOpen) return;
    Object.assign(this.waiting, place);
    this.saving.ask();
  }

  /** Show a graph as it was looked at, and keep how the reader looks at it. @param {import("./graphpane.js").GraphPane} pane */
  follow(pane) {
    let last = String(this.start.graph ?? "");
    pane.wanted = last;
    pane.onLook = (camera) => {
      if (camera === last || pane.wanted) return;
      last = camera;
      this.keep({ graph: camera });
    };
  }

  close() {
    this.saving.flush();
  }
}

/** The box of an element that scrolls and is shown, null if there is none. @param {HTMLElement} element */
export const scrolled = (element) =>
  [.../** @type {NodeListOf<HTMLElement>} */ (element.querySelectorAll(".pl-scroll"))].find(
    (box) => box.clientHeight,
  ) ?? null;
