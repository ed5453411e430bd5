// Draws the pieces of a graph: boxes, arrows, groups, frames and stacks. Everything is drawn from numbers; names go in as text.
import { svg } from "./dom.js";

const LOOKS = new Set(["op", "call", "input", "constant", "tuple", "function", "fused", "branch", "ref", "output", "definition"]);
const FATES = /** @type {Record<string, string>} */ ({ added: "+", changed: "±", moved: "~" });
const LINE = 15, SHEETS = 5, CHAR = 0.61; // pixels; of a letter's height
const PARTS = [0.5, 0.35, 0.65, 0.2, 0.8, 0.1, 0.9]; // of an arrow, where its label may stand
const LEAST = 6.2, LARGE = 10.5, SHORTEST = 4; // pixels of a letter on the screen; characters of a name

/** The class of a kind of box. @param {string} kind @param {string} other */
export const lookOf = (kind, other) => (LOOKS.has(kind) ? kind : other);

/** A box without its text. @param {any} box of the data @param {number} x of its middle @param {number} y */
export function drawFrameOfBox([width, height, kind, fate, , , , , family], x, y) {
  const look = lookOf(kind, "op"), round = look === "input" || look === "constant" || look === "output" ? Math.min(height / 2, 13) : 6;
  return svg("g", { class: `pl-box pl-is-${look} pl-family-${family}${FATES[fate] ? ` pl-${fate}` : ""}` }, svg("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: round }));
}

/** @param {any} box of the data @param {number} x of its middle @param {number} y */
export function drawBox(box, x, y) {
  const [width, height, , fate, , lines] = box, group = drawFrameOfBox(box, x, y), mark = FATES[fate], top = y - height / 2;
  group.append(...lines.map((/** @type {string} */ line, /** @type {number} */ row) => svg("text", { x, y: top + 17 + LINE * row, class: row ? "pl-detail" : "pl-name" }, line)));
  group.append(svg("text", { x, y, class: "pl-short", "data-name": lines[0].replace(/^[\w.]*\./, "") }));
  if (mark) group.append(svg("circle", { cx: x - width / 2, cy: top + 1, r: 6 }), svg("text", { x: x - width / 2, y: top + 5, class: "pl-fate" }, mark));
  return group;
}

/**
 * The name of a box as it is read from afar: without its namespace, cut to what fits, as large as the box allows.
 * @param {SVGElement} text @param {number} width of the box @param {number} scale
 */
export function fitName(text, width, scale) {
  const name = text.getAttribute("data-name") || "", room = Math.floor(((width - 6) * scale) / (CHAR * LEAST));
  const cut = name.length > room ? `${name.slice(0, room - 1)}…` : name;
  text.classList.toggle("pl-hidden", room < SHORTEST);
  if (room < SHORTEST) return;
  text.textContent = cut;
  text.style.fontSize = `${Math.min(LARGE / scale, (width - 6) / (CHAR * Math.max(1, cut.length)))}px`;
}

/** The commands of a path. @param {number[]} points a start and three points for each curve */
const curve = (points) => (points.length < 8 ? "" : `M${points[0]} ${points[1]} C${points.slice(2).join(" ")}`);

/** Many arrows as one path, without heads and labels. @param {number[][]} arrows */
export const drawLines = (arrows) => svg("g", { class: "pl-arrow" }, svg("path", { d: arrows.map(curve).join("") }));

/** The point of a curve at a part of its length, from 0 to 1. @param {number[]} points @param {number} part @returns {[number, number]} */
function pointAt(points, part) {
  const pieces = (points.length - 2) / 6, piece = Math.min(pieces - 1, Math.floor(part * pieces)), t = part * pieces - piece, u = 1 - t;
  const along = (/** @type {number} */ at) => u * u * u * points[at] + 3 * u * u * t * points[at + 2] + 3 * u * t * t * points[at + 4] + t * t * t * points[at + 6];
  return [along(6 * piece), along(6 * piece + 1)];
}

/**
 * The position of an arrow's label: beside its middle, or further along if that is occupied.
 * @param {number[]} points @param {number} width @param {number[][]} taken
 */
function labelPlace(points, width, taken) {
  const places = PARTS.map((part) => pointAt(points, part)).map(([x, y]) => [x + 5, y - 6, x + 5 + width, y + 5]);
  const free = places.find(([left, top, right, bottom]) => taken.every(([a, b, c, d]) => right < a || c < left || bottom < b || d < top)) || places[0];
  taken.push(free);
  return [free[0], free[1] + 9];
}

/** @param {number[]} points @param {string} label @param {number[][]} taken what no label may cover, each left, top, right and bottom */
export function drawArrow(points, label, taken = []) {
  if (points.length < 8) return svg("g");
  const arrow = svg("g", { class: "pl-arrow" }, svg("path", { d: curve(points) }), head(points));
  if (label) {
    const text = label.length > 24 ? `${label.slice(0, 23)}…` : label;
    const [x, y] = labelPlace(points, text.length * CHAR * 10, taken);
    arrow.append(svg("text", { x, y }, text), svg("title", {}, label));
  }
  return arrow;
}

/** @param {number[]} points */
function head(points) {
  const [x, y] = points.slice(-2);
  let dx = x - points[points.length - 4], dy = y - points[points.length - 3];
  if (!dx && !dy) [dx, dy] = [x - points[points.length - 8], y - points[points.length - 7]];
  const length = Math.hypot(dx, dy) || 1, ux = (6 * dx) / length, uy = (6 * dy) / length;
  return svg("polygon", { points: `${x},${y} ${x - ux - uy / 2},${y - uy + ux / 2} ${x - ux + uy / 2},${y - uy - ux / 2}` });
}

/** A path of straight lines from one piece to the next. @param {number[]} points */
export function drawJoint(points) {
  const corners = [];
  for (let at = 0; at < points.length; at += 2) corners.push(`${points[at]} ${points[at + 1]}`);
  return svg("g", { class: "pl-arrow" }, svg("path", { d: `M${corners.join("L")}` }));
}

/** The frame of a body, or a stack of sheets for a repeat that is folded. @param {import("./graphsheet.js").Frame} frame */
export function drawFrame({ x, y, width, height, title, folded, count }) {
  const sheets = folded ? Math.min(3, count) : 0, parts = [];
  for (let sheet = sheets - 1; sheet > 0; sheet--) {
    parts.push(svg("rect", { x: x + SHEETS * sheet, y: y + SHEETS * sheet, width, height, rx: 9, class: "pl-sheet" }));
  }
  parts.push(svg("rect", { x, y, width, height, rx: 9, class: folded ? "pl-sheet pl-sheet-top" : "pl-sheet-open" }));
  const times = folded ? `×${count}` : "", room = Math.floor((width - 60) / 6.6), cut = title.length > room ? `${title.slice(0, room - 1)}…` : title;
  const name = svg("text", { x: x + (folded ? 52 : 12), y: y + 22, class: "pl-frame-name" }, cut);
  const large = svg("text", { x: x + 10, y: y + 26, class: "pl-frame-times" }, times);
  const far = svg("text", { x: x + width / 2, y: y + height / 2, class: "pl-far-name" }, times || title.split(" ")[0]);
  return svg("g", { class: `pl-frame-of${folded ? " pl-stack" : ""}` }, ...parts, name, large, far, svg("title", {}, `${title}: a click ${folded ? "unfolds" : "folds"} it`));
}

/** @param {[number, number, string, string]} group @param {number[]} sides */
export function drawGroup([number, , kind, name], [x0, y0, x1, y1]) {
  const room = Math.max(4, Math.floor((x1 - x0 - 14) / 6.2)), cut = name.length > room ? `${name.slice(0, room - 1)}…` : name;
  return svg("g", { class: `pl-group pl-is-${lookOf(kind, "function")}` }, svg("rect", { x: x0, y: y0, width: x1 - x0, height: y1 - y0, rx: 8 }),
    svg("text", { x: x0 + 8, y: y0 + 13, class: "pl-group-name", "data-group": number }, cut), svg("title", {}, name));
}

/**
 * A group as one box, with the names of its contents.
 * @param {[number, number, string, string]} group @param {number[]} sides @param {string[]} names
 */
export function drawCover([number, , kind, name], [x0, y0, x1, y1], names) {
  const room = Math.max(8, Math.floor((x1 - x0 - 16) / 6.7)), text = names.join(" · "), x = (x0 + x1) / 2, middle = (y0 + y1) / 2;
  return svg("g", { class: `pl-folded pl-hidden pl-is-${lookOf(kind, "function")}`, "data-group": number },
    svg("rect", { x: x0, y: y0, width: x1 - x0, height: y1 - y0, rx: 8 }),
    svg("text", { x, y: middle - 3, class: "pl-name" }, `${name}: ${names.length}`),
    svg("text", { x, y: middle + 13, class: "pl-detail" }, text.length > room ? `${text.slice(0, room - 1)}…` : text));
}
