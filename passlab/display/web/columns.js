// Columns that are dragged, and the choice of one function of many.
import { el, options } from "./dom.js";

const STEP = 24, // pixels that a key moves a border
  LEAST = 140; // pixels of a column

/**
 * A border between two columns, which is dragged, or moved by the arrow keys; a double click gives the width back.
 * @param {HTMLElement} root that has the width as a property @param {string} property of the style
 * @param {(width: number) => void} [keep] called with the new width, 0 for that of the contents
 */
export function columnBorder(root, property, keep = () => {}) {
  const border = el("div", "pl-border");
  border.tabIndex = 0;
  border.setAttribute("role", "separator");
  border.setAttribute("aria-orientation", "vertical");
  border.setAttribute("aria-label", "the width of the column to the left");
  border.title = "drag, or use the arrow keys; a double click fits the contents";
  const left = () => {
    let column = border.previousElementSibling;
    while (column && !column.clientWidth) column = column.previousElementSibling; // one of two may be hidden
    return /** @type {HTMLElement | null} */ (column);
  };
  const set = (/** @type {number} */ width) => {
    const to = width && Math.round(Math.max(LEAST, Math.min(width, most())));
    if (to) root.style.setProperty(property, `${to}px`);
    else root.style.removeProperty(property);
    tell();
    return to;
  };
  const most = () => (border.parentElement?.clientWidth ?? 0) - LEAST;
  const tell = () => {
    border.setAttribute("aria-valuemin", String(LEAST));
    border.setAttribute("aria-valuemax", String(Math.max(LEAST, most())));
    border.setAttribute("aria-valuenow", String(left()?.clientWidth ?? LEAST));
  };
  tell();
  new ResizeObserver(tell).observe(border); // as soon as it stands between its columns
  border.addEventListener("focus", tell);
  border.addEventListener("pointerdown", (event) => {
    const column = left();
    if (!column || event.button) return;
    event.preventDefault();
    border.setPointerCapture(event.pointerId);
    const start = column.getBoundingClientRect().width - event.clientX,
      move = (/** @type {PointerEvent} */ { clientX }) => set(start + clientX);
    border.addEventListener("pointermove", move);
    border.addEventListener(
      "lostpointercapture",
      () => {
        border.removeEventListener("pointermove", move);
        keep(column.getBoundingClientRect().width);
      },
      { once: true },
    );
  });
  border.addEventListener("dblclick", () => keep(set(0)));
  border.addEventListener("keydown", (event) => {
    const by = /** @type {Record<string, number>} */ ({ ArrowLeft: -STEP, ArrowRight: STEP })[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    keep(set((left()?.getBoundingClientRect().width ?? 0) + by));
  });
  return border;
}

/** The choice of one function or data type of a program. It is hidden where there is only one. */
export class DefinitionChoice {
  /** @param {string} label @param {(name: string) => void} onChoose called with the name, "" for all */
  constructor(label, onChoose) {
    this.element = el("select", "pl-choice pl-definition");
    this.element.setAttribute("aria-label", label);
    this.element.title = label;
    this.element.hidden = true;
    this.wanted = ""; // what was chosen last: a program without it shows all
    this.element.addEventListener("change", () => {
      this.wanted = this.element.value;
      onChoose(this.wanted);
    });
  }

  /** Offer the definitions of a program. @param {import("./lines.js").Definition[]} definitions @returns {string} what is chosen */
  offer(definitions) {
    const names = definitions.map(({ name }) => name),
      now = names.includes(this.wanted) ? this.wanted : "";
    this.element.hidden = names.length < 2;
    this.element.replaceChildren(...options(["", ...names], (name) => name || "all functions"));
    this.element.value = now;
    return now;
  }

  /** Show all again. */
  clear() {
    this.wanted = this.element.value = "";
  }

  /** Let the reader choose. */
  open() {
    if (this.element.hidden) return false;
    this.element.focus();
    try {
      this.element.showPicker();
    } catch {
      // the focus is enough
    }
    return true;
  }
}
