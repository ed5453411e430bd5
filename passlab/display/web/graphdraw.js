// Draws the pieces of a graph: boxes, arrows, groups, frames and stacks. Everything is drawn from numbers; names go in as text.
import { svg } from "./dom.js";

/** @import { BoxRow, GroupRow, Sides } from "./protocol.js" */

const KINDS = new Set([
  "op",
  "call",
  "input",
  "constant",
  "tuple",
  "function",
  "fused",
  "branch",
  "ref",
  "output",
  "definition",
]);
// The signs +, ± and ~, around a point.
const CHANGE_MARKS = /** @type {Record<string, string>} */ ({
  added: "M-3 0h6M0-3v6",
  changed: "M-3-1h6M0-4v6M-3 4h6",
  moved: "M-3.5 .5q1.75-3 3.5 0t3.5 0",
});
const LINE = 15,
  SHEETS = 5,
  CHAR = 0.61; // pixels; of a letter's height
const LABEL_PLACES = [0.5, 0.35, 0.65, 0.2, 0.8, 0.1, 0.9]; // of an arrow, where its label may stand
const MIN_LENGTH = 4; // characters of a name that is cut
export const FAR_SIZE = 10.1; // pixels of a letter on the screen

/** The class of a kind of box. @param {string} kind @param {string} other */
export const kindClass = (kind, other) => (KINDS.has(kind) ? kind : other);

/** A box without its text. @param {BoxRow} box of the data @param {number} x of its middle @param {number} y */
export function drawFrameOfBox([width, height, kind, change, , , , , family], x, y) {
  const kindName = kindClass(kind, "op"),
    round = kindName === "input" || kindName === "constant" || kindName === "output" ? Math.min(height / 2, 13) : 6;
  return svg(
    "g",
    { class: `pl-box pl-is-${kindName} pl-family-${family}${CHANGE_MARKS[change] ? ` pl-${change}` : ""}` },
    svg("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: round }),
  );
}

/** A box with its name as it is read from afar, and the sign of its change. @param {BoxRow} box of the data @param {number} x of its middle @param {number} y */
export function drawNamedBox(box, x, y) {
  const [width, height, , change, , [name]] = box,
    group = drawFrameOfBox(box, x, y),
    sign = CHANGE_MARKS[change];
  group.append(svg("text", { x, y, class: "pl-short", "data-name": name.replace(/^%\S+ = |^[\w.]*\./, "") }));
  if (sign)
    group.append(
      svg("path", {
        class: "pl-change-mark",
        d: `M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0${sign}`,
        transform: `translate(${x - width / 2} ${y - height / 2 + 1})`,
      }),
    );
  return group;
}

/** A box with all its text, and its name as it is read from afar. @param {BoxRow} box of the data @param {number} x of its middle @param {number} y */
export function drawBox(box, x, y) {
  const [, height, , , , lines] = box,
    group = drawNamedBox(box, x, y),
    top = y - height / 2;
  group.append(
    ...lines.map((line, row) =>
      svg("text", { x, y: top + 17 + LINE * row, class: row ? "pl-detail" : "pl-name" }, line),
    ),
  );
  return group;
}

/**
 * A name as it is read from afar: without its namespace, cut to what fits; all names are equally large on the screen.
 * Returns the width of what is shown.
 * @param {SVGElement} text @param {number} room for it @param {number} scale
 */
export function fitText(text, room, scale) {
  const name = text.getAttribute("data-name") || "",
    letters = Math.floor(((room - 6) * scale) / (CHAR * FAR_SIZE)),
    hide = letters < Math.min(MIN_LENGTH, name.length);
  text.classList.toggle("pl-hidden", hide);
  if (hide) return 0;
  text.textContent = name.length > letters ? `${name.slice(0, letters - 1)}…` : name;
  return 6 + (Math.min(name.length, letters) * CHAR * FAR_SIZE) / scale;
}

/**
 * How far each box of a piece can grow to the left and to the right: up to the middle between it and the next box of its
 * row, or the edge around all.
 * @param {number[][]} sides left, top, right and bottom of each @param {number} low @param {number} high the edges
 * @returns {[number, number][]}
 */
export function roomsOf(sides, low, high) {
  const rows = /** @type {Map<number, number[]>} */ (new Map());
  sides.forEach(([, top, , bottom], at) => {
    const y = Math.round(top + bottom),
      row = rows.get(y);
    if (row) row.push(at);
    else rows.set(y, [at]);
  });
  const rooms = sides.map(() => /** @type {[number, number]} */ ([0, 0]));
  for (const row of rows.values()) {
    row.sort((one, other) => sides[one][0] - sides[other][0]);
    row.forEach((at, place) => {
      const [left, , right] = sides[at],
        before = place ? (left - sides[row[place - 1]][2]) / 2 - 1 : left - low,
        after = place + 1 < row.length ? (sides[row[place + 1]][0] - right) / 2 - 1 : high - right;
      rooms[at] = [Math.max(0, before), Math.max(0, after)];
    });
  }
  return rooms;
}

/**
 * Draw a box wider than it is, to both sides alike as far as there is room.
 * @param {Element} box @param {number} width of the box @param {number} wider @param {[number, number]} room to the left and right
 */
export function widen(box, width, wider, [before, after]) {
  const rect = /** @type {Element} */ (box.firstElementChild),
    name = box.querySelector(".pl-short"),
    right = Math.min(after, Math.max(wider / 2, wider - before)),
    left = wider - right,
    now = Number(rect.getAttribute("data-left") ?? 0),
    x = Number(rect.getAttribute("x")) + now; // of the box itself
  if (Number(rect.getAttribute("width")) === width + wider && now === left) return;
  rect.setAttribute("x", String(x - left));
  rect.setAttribute("width", String(width + wider));
  rect.setAttribute("data-left", String(left));
  name?.setAttribute("x", String(x + width / 2 + (right - left) / 2));
}

/** The commands of a path. @param {number[]} points a start and three points for each curve */
const curve = (points) => (points.length < 8 ? "" : `M${points[0]} ${points[1]} C${points.slice(2).join(" ")}`);

/** Arrows that look alike, as one path, and their heads as another. @param {number[][]} arrows @param {string} classes @param {boolean} heads */
export function drawLines(arrows, classes, heads) {
  const group = svg("g", { class: `pl-arrow ${classes}` }, svg("path", { d: arrows.map(curve).join("") }));
  if (heads)
    group.append(svg("path", { class: "pl-heads", d: arrows.map((points) => `M${corners(points)}Z`).join("") }));
  return group;
}

/** The point of a curve at a part of its length, from 0 to 1. @param {number[]} points @param {number} fraction @returns {[number, number]} */
function pointAt(points, fraction) {
  const pieces = (points.length - 2) / 6,
    piece = Math.min(pieces - 1, Math.floor(fraction * pieces)),
    t = fraction * pieces - piece,
    u = 1 - t;
  const coordinate = (/** @type {number} */ at) =>
    u * u * u * points[at] +
    3 * u * u * t * points[at + 2] +
    3 * u * t * t * points[at + 4] +
    t * t * t * points[at + 6];
  return [coordinate(6 * piece), coordinate(6 * piece + 1)];
}

/**
 * The position of an arrow's label: beside its middle, or further along if that is occupied.
 * @param {number[]} points @param {number} width @param {number[][]} occupied
 */
function labelPlace(points, width, occupied) {
  const middles = LABEL_PLACES.map((fraction) => pointAt(points, fraction));
  const places = [5, -5 - width, 8 + width, -8 - 2 * width].flatMap((aside) =>
    middles.map(([x, y]) => [x + aside, y - 8, x + aside + width, y + 7]),
  );
  const free =
    places.find(([left, top, right, bottom]) =>
      occupied.every(([a, b, c, d]) => right < a || c < left || bottom < b || d < top),
    ) || places[0];
  occupied.push(free);
  return [free[0], free[1] + 11];
}

/** @param {number[]} points @param {string} label @param {number[][]} occupied what no label may cover, each left, top, right and bottom */
export function drawLabel(points, label, occupied) {
  const text = label.length > 24 ? `${label.slice(0, 23)}…` : label;
  const [x, y] = labelPlace(points, text.length * CHAR * 11, occupied);
  return svg("g", { class: "pl-arrow" }, svg("text", { x, y }, text), svg("title", {}, label));
}

/** The corners of an arrow's head. @param {number[]} points */
function corners(points) {
  const [x, y] = points.slice(-2);
  let dx = x - points[points.length - 4],
    dy = y - points[points.length - 3];
  if (!dx && !dy) [dx, dy] = [x - points[points.length - 8], y - points[points.length - 7]];
  const length = Math.hypot(dx, dy) || 1,
    ux = (6 * dx) / length,
    uy = (6 * dy) / length;
  return `${x},${y} ${x - ux - uy / 2},${y - uy + ux / 2} ${x - ux + uy / 2},${y - uy - ux / 2}`;
}

/** A path of straight lines from one piece to the next. @param {number[]} points */
function drawConnector(points) {
  const corners = [];
  for (let at = 0; at < points.length; at += 2) corners.push(`${points[at]} ${points[at + 1]}`);
  return svg("g", { class: "pl-arrow" }, svg("path", { d: `M${corners.join("L")}` }));
}

/**
 * Frames, the ways from piece to piece, and the titles of frames above those.
 * @param {import("./graphsheet.js").Frame[]} frames @param {number[][]} joints @returns {[SVGElement[], SVGElement[]]} the frames alone, and all
 */
export function drawFrames(frames, joints) {
  const drawn = frames.map(drawFrame);
  return [drawn, [...drawn, ...joints.map(drawConnector), ...frames.map(drawFrameTitle)]];
}

/** The frame of a body, or a stack of sheets for a repeat that is folded. @param {import("./graphsheet.js").Frame} frame */
function drawFrame({ path, x, y, width, height, title, folded, count }) {
  const sheets = folded ? Math.min(3, count) : 0,
    parts = [];
  for (let sheet = sheets - 1; sheet > 0; sheet--) {
    parts.push(svg("rect", { x: x + SHEETS * sheet, y: y + SHEETS * sheet, width, height, rx: 9, class: "pl-sheet" }));
  }
  parts.push(svg("rect", { x, y, width, height, rx: 9, class: folded ? "pl-sheet pl-sheet-top" : "pl-sheet-open" }));
  return svg(
    "g",
    { class: `pl-frame-of${folded ? " pl-stack" : ""}`, "data-path": path },
    ...parts,
    svg("title", {}, `${title}: a click ${folded ? "unfolds" : "folds"} it`),
  );
}

/** @param {import("./graphsheet.js").Frame} frame */
function drawFrameTitle({ x, y, width, title, folded, count, part = "" }) {
  const times = folded ? `×${count}${part}` : "",
    room = Math.floor((width - (folded ? 28 + 16 * times.length : 60)) / 6.6),
    shortName = title.length > room ? `${title.slice(0, room - 1)}…` : title;
  return svg(
    "g",
    { class: "pl-frame-title" },
    svg("text", { x: x + (folded ? 20 + 16 * times.length : 12), y: y + 22, class: "pl-frame-name" }, shortName),
    svg("text", { x: x + 10, y: y + 26, class: "pl-frame-times" }, times),
    svg("text", { x: x + width - 8, y: y + 4, class: "pl-far-name" }, times || title.split(" ")[0]),
  );
}

/** @param {GroupRow} group @param {Sides} sides */
export function drawGroup([number, , kind, name], [x0, y0, x1, y1]) {
  const room = Math.max(4, Math.floor((x1 - x0 - 14) / 6.7)),
    shortName = name.length > room ? `${name.slice(0, room - 1)}…` : name;
  return svg(
    "g",
    { class: `pl-group pl-is-${kindClass(kind, "function")}` },
    svg("rect", { x: x0, y: y0, width: x1 - x0, height: y1 - y0, rx: 8 }),
    svg("text", { x: x0 + 8, y: y0 + 13, class: "pl-group-name", "data-group": number }, shortName),
    svg("title", {}, name),
  );
}

/**
 * A group as one box, with the names of its contents.
 * @param {GroupRow} group @param {Sides} sides @param {string[]} names
 */
export function drawCover([number, , kind, name], [x0, y0, x1, y1], names) {
  const room = Math.max(8, Math.floor((x1 - x0 - 16) / 6.7)),
    text = names.join(" · "),
    x = (x0 + x1) / 2,
    middle = (y0 + y1) / 2;
  return svg(
    "g",
    { class: `pl-folded pl-hidden pl-is-${kindClass(kind, "function")}`, "data-group": number },
    svg("rect", { x: x0, y: y0, width: x1 - x0, height: y1 - y0, rx: 8 }),
    svg("text", { x, y: middle - 3, class: "pl-name" }, `${name}: ${names.length}`),
    svg("text", { x, y: middle + 13, class: "pl-detail" }, text.length > room ? `${text.slice(0, room - 1)}…` : text),
  );
}
