// Saves a drawing in its present state: an SVG with inlined colours, or a PNG of it.
import { downloadBlob } from "./download.js";

const PROPERTIES = [
  "fill",
  "stroke",
  "stroke-width",
  "font-size",
  "font-weight",
  "font-family",
  "text-anchor",
  "opacity",
  "display",
  "stroke-dasharray",
];
const PAD = 16,
  PIXELS = 2,
  MAX_SIDE = 12000; // around the drawing; of a PNG for one of the drawing; of one side of a PNG

/** @param {SVGElement} scene @param {number} width @param {number} height @param {"svg" | "png"} kind */
export function saveDrawing(scene, width, height, kind) {
  const text = drawingText(scene, width, height);
  if (kind === "svg") return downloadBlob(new Blob([text], { type: "image/svg+xml" }), "graph.svg");
  const image = new Image(),
    scale = Math.min(PIXELS, MAX_SIDE / (width + 2 * PAD), MAX_SIDE / (height + 2 * PAD));
  image.onload = () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [(width + 2 * PAD) * scale, (height + 2 * PAD) * scale];
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => {
      if (blob) downloadBlob(blob, "graph.png");
    });
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

/** The drawing as a complete SVG text. @param {SVGElement} scene @param {number} width @param {number} height */
export function drawingText(scene, width, height) {
  const copy = /** @type {SVGElement} */ (scene.cloneNode(true)),
    old = [scene, ...scene.querySelectorAll("*")],
    copies = [copy, ...copy.querySelectorAll("*")];
  old.forEach((element, at) => {
    const style = getComputedStyle(element),
      target = copies[at];
    for (const name of PROPERTIES) {
      const value = style.getPropertyValue(name);
      if (value) target.setAttribute(name, value);
    }
    target.removeAttribute("class");
    target.removeAttribute("style");
  });
  copy.removeAttribute("transform");
  const background = getComputedStyle(/** @type {Element} */ (scene.closest(".passlab"))).backgroundColor;
  const frame = `${-PAD} ${-PAD} ${width + 2 * PAD} ${height + 2 * PAD}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${frame}" width="${width + 2 * PAD}" height="${height + 2 * PAD}" style="background:${background}">${new XMLSerializer().serializeToString(copy)}</svg>`;
}
