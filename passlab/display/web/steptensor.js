// One value in full: its line, statistics, histogram and heat map. NaN and infinities have marks of their own.
import { el, formatCount, svg } from "./dom.js";

/** @import { TensorPicture } from "./protocol.js" */

const ZERO = 125,
  NAN = 255,
  PLUS = 254,
  MINUS = 253;

/** A number as a short text. @param {number} x */
export function shortNumber(x) {
  if (x === 0 || (Number.isInteger(x) && Math.abs(x) < 1e6)) return String(x);
  return Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5 ? String(Number(x.toPrecision(4))) : x.toExponential(2);
}

/** @param {number} bytes */
export function bytesText(bytes) {
  const units = ["B", "KB", "MB", "GB"];
  let unit = 0;
  while (bytes >= 1000 && unit < 3) [bytes, unit] = [bytes / 1000, unit + 1];
  return `${unit && bytes < 100 ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
}

/** The heading of a value: its name, and the value in one line. @param {string} name @param {string} text @param {string} [className] of the name */
export const valueHead = (name, text, className = "") =>
  el("div", "pl-value-head", el("b", className, name), el("span", "pl-value-text", text));

/**
 * The statistics, histogram and heat map of a tensor. @param {TensorPicture} picture @returns {HTMLElement}
 */
export function tensorCard(picture) {
  const { mean, std, nan, inf, ninf, zero, size } = picture;
  const facts = /** @type {[string, string, string][]} */ ([
    ["min", picture.min === undefined ? "–" : shortNumber(picture.min), ""],
    ["max", picture.max === undefined ? "–" : shortNumber(picture.max), ""],
    ["mean", mean === undefined ? "–" : shortNumber(mean), ""],
    ["std", std === undefined ? "–" : shortNumber(std), ""],
    ["zeros", size ? `${Math.round((1000 * zero) / size) / 10}%` : "–", ""],
    ["bytes", bytesText(picture.bytes), ""],
    ...(nan ? [["NaN", formatCount(nan), "pl-nonfinite"]] : []),
    ...(inf ? [["+inf", formatCount(inf), "pl-nonfinite"]] : []),
    ...(ninf ? [["−inf", formatCount(ninf), "pl-nonfinite"]] : []),
  ]);
  const table = el(
    "div",
    "pl-stats",
    ...facts.map(([name, value, className]) =>
      el("div", `pl-stat ${className}`, el("span", "", name), el("b", "", value)),
    ),
  );
  return el(
    "div",
    "pl-tensor",
    table,
    picture.bins && picture.min !== undefined && picture.max !== undefined
      ? histogram(picture.bins, picture.min, picture.max)
      : null,
    heatMap(picture),
  );
}

/** @param {number[]} bins @param {number} low @param {number} high of the numbers */
function histogram(bins, low, high) {
  const max = Math.max(...bins, 1),
    width = 280,
    height = 46,
    step = width / bins.length;
  const path = bins
    .map((n, i) => {
      const barHeight = n ? Math.max(1.5, (n / max) * height) : 0;
      return `M${(i * step + 0.5).toFixed(1)} ${height}v${(-barHeight).toFixed(1)}h${(step - 1).toFixed(1)}v${barHeight.toFixed(1)}z`;
    })
    .join("");
  const parts = [
    svg("path", { d: path, class: "pl-bars" }),
    svg("path", { d: `M0 ${height + 0.5}h${width}`, class: "pl-axis" }),
  ];
  if (low < 0 && high > 0) {
    const x = ((-low / (high - low)) * width).toFixed(1);
    parts.push(svg("path", { d: `M${x} 0v${height}`, class: "pl-zero" }));
  }
  const drawing = svg(
    "svg",
    {
      viewBox: `0 0 ${width} ${height + 2}`,
      class: "pl-histogram",
      role: "img",
      "aria-label": "histogram",
      preserveAspectRatio: "none",
    },
    ...parts,
  );
  return el(
    "div",
    "pl-plot",
    drawing,
    el("div", "pl-histogram-ends", el("span", "", shortNumber(low)), el("span", "", shortNumber(high))),
  );
}

/** @param {TensorPicture} picture */
function heatMap(picture) {
  const { rows, columns, grid, scale } = picture,
    raw = atob(picture.cells);
  const canvas = document.createElement("canvas");
  const size = Math.max(1, Math.floor(Math.min(280 / columns, 220 / rows))),
    big = Math.max(size, 2);
  canvas.className = "pl-tensor-cells";
  [canvas.width, canvas.height] = [columns * big, rows * big];
  canvas.style.width = `${Math.min(280, columns * Math.min(size, 18))}px`;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `heat map, ${rows} by ${columns}`);
  const paint = canvas.getContext("2d");
  if (paint)
    for (let i = 0; i < raw.length; i++)
      cell(paint, raw.charCodeAt(i), (i % columns) * big, Math.floor(i / columns) * big, big, picture);
  if (paint && grid[1] > 1) lines(paint, grid, big, canvas);
  const slices = grid[0] > 1 ? `the first ${grid[0]} slices, ` : "";
  const legend = el(
    "div",
    "pl-legend",
    scale || picture.nan || picture.inf || picture.ninf ? null : "all zero",
    ...(scale ? [el("i", "pl-minus"), `−${shortNumber(scale)}`, el("i", "pl-plus"), `+${shortNumber(scale)}`] : []),
    ...(picture.nan ? [el("i", "pl-nan", "×"), "NaN"] : []),
    ...(picture.inf || picture.ninf ? [el("i", "pl-inf", "∞"), "inf"] : []),
  );
  return el(
    "div",
    "pl-plot pl-tensor-plot",
    canvas,
    legend,
    el("div", "pl-dim", `${slices}${grid[2]} × ${grid[3]} cells${grid[0] > 1 ? " each" : ""}`),
  );
}

/**
 * @param {CanvasRenderingContext2D} paint @param {number} code @param {number} x @param {number} y @param {number} size @param {TensorPicture} picture
 */
function cell(paint, code, x, y, size, picture) {
  if (code >= MINUS) {
    paint.fillStyle = code === NAN ? "#d63384" : "#e0a100";
    paint.fillRect(x, y, size, size);
    if (size < 5) return;
    paint.strokeStyle = "#fff";
    paint.lineWidth = Math.max(1, size / 8);
    paint.beginPath();
    const a = size * 0.28,
      b = size * 0.72,
      m = size / 2;
    if (code === NAN)
      for (const [p, q] of [
        [a, b],
        [b, a],
      ]) {
        paint.moveTo(x + a, y + p);
        paint.lineTo(x + b, y + q);
      }
    else {
      paint.moveTo(x + a, y + m);
      paint.lineTo(x + b, y + m);
      if (code === PLUS) {
        paint.moveTo(x + m, y + a);
        paint.lineTo(x + m, y + b);
      }
    }
    paint.stroke();
    return;
  }
  const part = (code - ZERO) / ZERO,
    strength = Math.sqrt(Math.abs(part));
  // Translucent colours, so that zero has the colour of the page in every theme.
  paint.fillStyle = part >= 0 ? `rgba(37, 119, 212, ${strength})` : `rgba(214, 69, 60, ${strength})`;
  if (picture.scale) paint.fillRect(x, y, size, size);
}

/** @param {CanvasRenderingContext2D} paint @param {number[]} grid @param {number} size @param {HTMLCanvasElement} canvas */
function lines(paint, [, across, rows, columns], size, canvas) {
  paint.fillStyle = "rgba(128, 128, 128, .45)";
  for (let i = 1; i < across; i++) paint.fillRect(i * columns * size - 0.5, 0, 1, canvas.height);
  for (let y = rows * size; y < canvas.height; y += rows * size) paint.fillRect(0, y - 0.5, canvas.width, 1);
}
