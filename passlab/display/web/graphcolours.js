// What the colours of a graph's boxes mean: families of operators, kinds of boxes, or a series of numbers.
import { el, options } from "./dom.js";

/** @import { GraphData } from "./protocol.js" */

// By number, as in families.py; the kinds of boxes that a legend names, each by a class of the style sheet.
const FAMILIES = ["other", "heavy", "pooling", "normalisation", "activation", "arithmetic", "movement", "reduction"],
  KINDS = { op: "operator", call: "call", fused: "fused function", branch: "branch", ref: "reference" };
const FIXED = ["family", "kind"],
  CHANGES = /** @type {GraphData["boxes"][number][3][]} */ (["added", "changed"]), // drawn around a box
  STRONGEST = 48; // percent of the hue for the largest number, on which text can be read

export class Colours {
  /** @param {() => void} onChange called when another series is selected */
  constructor(onChange) {
    this.name = "family";
    this.values = /** @type {Record<string, (number | null)[]>} */ ({});
    this.element = el("select", "pl-colours");
    this.element.title = "Legend: what the colours mean";
    this.element.setAttribute("aria-label", "Legend: what the colours mean");
    this.element.addEventListener("change", () => {
      this.name = this.element.value;
      this.explain();
      onChange();
    });
    this.legend = el("div", "pl-colour-legend");
    this.boxes = /** @type {GraphData["boxes"]} */ ([]);
  }

  /** Set the selectable series of a graph. @param {GraphData} data */
  show({ boxes, values }) {
    this.values = values;
    this.boxes = boxes;
    const names = [...FIXED, ...Object.keys(values)];
    this.element.replaceChildren(...options(names, (name) => `colour: ${name}`));
    if (!names.includes(this.name)) this.name = FIXED[0];
    this.element.value = this.name;
    this.explain();
  }

  /** Name each colour of the boxes. */
  explain() {
    const present = new Set(this.boxes.flatMap((box) => [`is-${box[2]}`, `family-${box[8]}`]));
    const named =
      this.name === "kind"
        ? Object.entries(KINDS).map(([kind, name]) => [`is-${kind}`, name])
        : [...FAMILIES.map((name, number) => [`family-${number}`, name]).slice(1), ["is-call", "call"]];
    const shown = this.isScale ? [] : named.filter(([kind]) => present.has(kind));
    const changes = new Set(this.boxes.map((box) => box[3])),
      marks = CHANGES.filter((change) => changes.has(change)).map((change) => [`legend-${change}`, change]);
    this.legend.replaceChildren(
      ...[...shown, ...marks].map(([kind, name]) => el("span", "", el("i", `pl-${kind}`), name)),
    );
    this.legend.hidden = !shown.length && !marks.length;
  }

  /** Whether boxes are coloured by numbers. */
  get isScale() {
    return !FIXED.includes(this.name);
  }

  /** Colour boxes from light to strong by the selected series; without one the style sheet does it. @param {Map<number, SVGElement>} boxes */
  paint(boxes) {
    const values = this.isScale ? this.values[this.name] : undefined;
    const max = values ? Math.max(...values.map((value) => value ?? 0), 1e-30) : 0;
    for (const [number, box] of boxes) {
      const value = values?.[number] ?? null,
        rect = /** @type {SVGElement} */ (box.firstElementChild);
      const ink = value === null ? 0 : Math.round(STRONGEST * Math.sqrt(Math.max(0, value) / max));
      rect.style.fill = value === null ? "" : `color-mix(in srgb, var(--pl-rust) ${ink}%, var(--pl-bg))`;
    }
  }
}
