// The minimap of a graph: its columns and frames, and its visible part.
import { svg } from "./dom.js";

const SIZE = 150,
  PAD = 8; // pixels: the map, and its margin

export class Minimap {
  /** @param {(x: number, y: number) => void} onJump called with the clicked point of the sheet */
  constructor(onJump) {
    this.onJump = onJump;
    this.width = 0;
    this.height = 0;
    this.view = svg("rect", { class: "pl-map-view", rx: 4 });
    this.element = svg("svg", { class: "pl-minimap", width: SIZE, height: SIZE, "aria-hidden": "true" });
    this.element.addEventListener("pointerdown", (event) => this.jump(event));
    this.element.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) this.jump(event);
    });
  }

  /** @param {Pick<import("./graphsheet.js").Sheet, "width" | "height" | "columns"> & {frames: {x: number, y: number, width: number, height: number}[]}} sheet */
  show({ width, height, columns, frames }) {
    [this.width, this.height] = [width, height];
    this.element.setAttribute("viewBox", `${-PAD} ${-PAD} ${width + 2 * PAD} ${height + 2 * PAD}`);
    const rect = (
      /** @type {number} */ x,
      /** @type {number} */ y,
      /** @type {number} */ w,
      /** @type {number} */ h,
      /** @type {string} */ className,
    ) => svg("rect", { x, y, width: w, height: h, class: className, rx: 6 });
    this.element.replaceChildren(
      ...columns.map(([x, w, h]) => rect(x, 0, w, h, "pl-map-column")),
      ...frames.map((frame) => rect(frame.x, frame.y, frame.width, frame.height, "pl-map-frame")),
      this.view,
    );
  }

  /**
   * Mark the visible part; the map is hidden if everything is visible.
   * @param {number} x @param {number} y @param {number} width @param {number} height
   */
  move(x, y, width, height) {
    this.element.style.display = width >= this.width && height >= this.height ? "none" : "";
    for (const [name, value] of Object.entries({ x, y, width, height })) this.view.setAttribute(name, String(value));
  }

  /** @param {PointerEvent} event */
  jump(event) {
    const frame = this.element.getBoundingClientRect(),
      [w, h] = [this.width + 2 * PAD, this.height + 2 * PAD];
    const scale = Math.min(frame.width / w, frame.height / h);
    this.onJump(
      (event.clientX - frame.left - (frame.width - w * scale) / 2) / scale - PAD,
      (event.clientY - frame.top - (frame.height - h * scale) / 2) / scale - PAD,
    );
  }
}
