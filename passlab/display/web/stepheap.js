// A data value or a closure as a heap: a box for each object, arrows from its cells to the objects they refer to.
import { el, svg } from "./dom.js";

/** @import { HeapBox } from "./protocol.js" */

const ROW_HEIGHT = 20,
  CHAR = 6.7,
  PAD = 8,
  GAP = 34,
  BOX_GAP = 12; // pixels

/** @param {HeapBox[]} boxes @returns {HTMLElement} */
export function drawHeap(boxes) {
  const widthOf = (/** @type {HeapBox} */ [name, , , cells]) =>
    Math.max(name.length * CHAR + 2 * PAD, ...cells.map(([text]) => text.length * CHAR + 2 * PAD), 44);
  const heightOf = (/** @type {HeapBox} */ [, , , cells]) => ROW_HEIGHT * (1 + cells.length);
  const columns = Math.max(...boxes.map(([, , depth]) => depth)) + 1,
    lefts = /** @type {number[]} */ ([]),
    places = /** @type {[number, number][]} */ ([]);
  let x = 1,
    bottom = 0;
  for (let depth = 0; depth < columns; depth++) {
    const here = boxes.flatMap((box, at) => (box[2] === depth ? [at] : []));
    let y = 1;
    lefts.push(x);
    for (const at of here) {
      places[at] = [x, y];
      y += heightOf(boxes[at]) + BOX_GAP;
    }
    bottom = Math.max(bottom, y);
    x += Math.max(...here.map((at) => widthOf(boxes[at]))) + GAP;
  }
  const shapes = /** @type {SVGElement[]} */ ([]),
    arrows = /** @type {SVGElement[]} */ ([]);
  boxes.forEach((box, at) => {
    const [name, kind, , cells] = box,
      [left, top] = places[at],
      width = widthOf(box);
    shapes.push(
      svg("rect", {
        x: left,
        y: top,
        width,
        height: ROW_HEIGHT,
        rx: 3,
        class: `pl-heap-${kind === "closure" ? "closure" : "head"}`,
      }),
      svg("text", { x: left + PAD, y: top + 14, class: "pl-heap-name" }, name),
    );
    cells.forEach(([text, to], i) => {
      const y = top + ROW_HEIGHT * (i + 1);
      shapes.push(
        svg("rect", { x: left, y, width, height: ROW_HEIGHT }),
        svg("text", { x: left + PAD, y: y + 14 }, text),
      );
      if (to < 0) return;
      const [tx, ty] = places[to],
        from = left + width - PAD,
        middle = y + ROW_HEIGHT / 2,
        isBackward = tx <= left;
      shapes.push(svg("circle", { cx: from, cy: middle, r: 2.5 }));
      const end = isBackward ? tx + widthOf(boxes[to]) : tx;
      arrows.push(
        svg("path", {
          d: `M${from} ${middle}C${from + GAP} ${middle} ${end + (isBackward ? GAP : -GAP)} ${ty + ROW_HEIGHT / 2} ${end} ${ty + ROW_HEIGHT / 2}m${isBackward ? 6 : -6} -4l${isBackward ? -6 : 6} 4l${isBackward ? 6 : -6} 4`,
        }),
      );
    });
  });
  const label = `${boxes.length} object${boxes.length === 1 ? "" : "s"}, the first is ${boxes[0][0]}`;
  return el(
    "div",
    "pl-heap",
    svg("svg", { width: x, height: bottom, role: "img", "aria-label": label }, ...shapes, ...arrows),
  );
}
