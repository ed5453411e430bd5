// Elements, keys, hovering and help: the building blocks of all views. Text is inserted as text, never as markup.
/** @import { Bindings } from "./model.js" */

/**
 * Create an element. Children are elements or text; null stands for none.
 * @template {string} Name
 * @param {Name} name @param {string} [className] class names @param {...(Node | string | number | null)} children
 * @returns {Name extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[Name] : HTMLElement}
 */
export function el(name, className, ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  for (const kid of children) if (kid !== null) element.append(typeof kid === "number" ? String(kid) : kid);
  // TypeScript knows the class of an element only where its name is written.
  return /** @type {Name extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[Name] : HTMLElement} */ (element);
}

/**
 * Create an SVG element.
 * @param {string} name @param {Record<string, string | number>} [attrs] @param {...(Node | string)} children
 * @returns {SVGElement}
 */
export function svg(name, attrs = {}, ...children) {
  const element = /** @type {SVGElement} */ (document.createElementNS("http://www.w3.org/2000/svg", name));
  for (const key in attrs) element.setAttribute(key, String(attrs[key]));
  element.append(...children);
  return element;
}

/** A small picture drawn with one line. @param {string} d @param {string} [className] */
export function icon(d, className = "") {
  return svg(
    "svg",
    { viewBox: "0 0 16 16", width: 14, height: 14, class: `pl-icon ${className}`, "aria-hidden": "true" },
    svg("path", {
      d,
      fill: "none",
      stroke: "currentColor",
      "stroke-width": 1.6,
      "stroke-linecap": "round",
      "stroke-linejoin": "round",
    }),
  );
}

export const ICONS = {
  right: "M6 4l4 4-4 4",
  down: "M4 6l4 4 4-4",
  up: "M4 10l4-4 4 4",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fit: "M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3",
  copy: "M6 6h7v7H6zM3 10V3h7",
  fold: "M4 3h8M4 13h8M8 5v6M6 9l2 2 2-2M6 7l2-2 2 2",
  save: "M8 2v8M5 7l3 3 3-3M3 13h10",
  close: "M4 4l8 8M12 4l-8 8",
  find: "M7 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM10 10l3 3",
};

/**
 * Create a button.
 * @param {string} label its text or, with a picture, its accessible name @param {() => void} run @param {string} [picture]
 */
export function button(label, run, picture) {
  const element = el("button", "pl-button", picture ? icon(picture) : label);
  element.setAttribute("type", "button");
  element.title = label;
  if (picture) element.setAttribute("aria-label", label);
  element.addEventListener("click", run);
  return element;
}

const OF_FIELDS = ["Ctrl+a"]; // which a field has for itself
const OF_VIEWS = /^(?:Escape|Enter|ArrowDown|ArrowUp|(?:Shift\+)?F\d+)$/; // which are the view's in a field, too

/**
 * The name of a key in a table of commands: `j`, `J`, `Ctrl+f` (also with the command key of a Mac), `Shift+F3`.
 * @param {KeyboardEvent} event
 */
export function keyName({ key, ctrlKey, metaKey, altKey, shiftKey }) {
  const held = ctrlKey || metaKey;
  if (altKey) return `Alt+${key}`;
  if (!held) return shiftKey && /^F\d+$/.test(key) ? `Shift+${key}` : key;
  return `Ctrl+${shiftKey ? "Shift+" : ""}${key.length === 1 ? key.toLowerCase() : key}`;
}

/**
 * Bind keys while `root` has the focus. The page receives no key that was handled, and no plain letter: in a notebook
 * an unbound `x` would cut the cell. A handler that returns false has not handled its key. Fields receive all letters.
 * @param {HTMLElement} root @param {Bindings} bindings
 * @param {() => Bindings} [currentBindings] the present bindings, where they change with the mode
 */
export function bindKeys(root, bindings, currentBindings = () => bindings) {
  keepFromNotebook(root, currentBindings);
  root.addEventListener("keydown", (event) => {
    const target = /** @type {HTMLInputElement} */ (event.composedPath()[0]),
      table = currentBindings(),
      key = keyName(event),
      held = /^(?:Ctrl|Alt)\+/.test(key);
    const field =
      ["TEXTAREA", "SELECT"].includes(target.tagName) ||
      (target.tagName === "INPUT" && target.type !== "checkbox") ||
      target.isContentEditable;
    if (held && (!Object.hasOwn(table, key) || (field && OF_FIELDS.includes(key)))) return;
    if (target.type === "checkbox" && key === " ") return event.stopPropagation();
    if (field && !held && !OF_VIEWS.test(key)) return event.stopPropagation();
    const run = Object.hasOwn(table, key) ? table[key] : null;
    if (run && run(event) !== false) {
      // What had the focus may be hidden now: the next key is still meant for this view.
      if (
        target !== root &&
        !target.checkVisibility() &&
        [target, document.body].includes(/** @type {HTMLInputElement} */ (document.activeElement))
      )
        root.focus({ preventScroll: true });
      event.preventDefault();
      event.stopPropagation();
    } else if (!held && key.length === 1 && key !== " ") event.stopPropagation();
  });
}

/**
 * Keep keys from the commands of Notebook 7, which handles them before any view does: while the focus is in `root`, an
 * attribute that its commands check marks the keys of the view. JupyterLab handles keys after the view.
 * @param {HTMLElement} root @param {() => Record<string, unknown>} currentBindings the keys of the view
 */
function keepFromNotebook(root, currentBindings) {
  const onKeydown = (/** @type {KeyboardEvent} */ event) => {
    const key = keyName(event),
      runs = event.shiftKey && event.key === "Enter"; // runs the cell
    root.toggleAttribute("data-lm-suppress-shortcuts", !runs && (key.length === 1 || key in currentBindings()));
  };
  root.addEventListener("focusin", () => window.addEventListener("keydown", onKeydown, true));
  root.addEventListener("focusout", () => window.removeEventListener("keydown", onKeydown, true));
}

/** Put a text on the clipboard; pages that may not use it have an older way. @param {string} text */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const sheet = el("textarea", "pl-copied"),
      focused = /** @type {HTMLElement | null} */ (document.activeElement);
    sheet.value = text;
    document.body.append(sheet);
    sheet.select();
    document.execCommand("copy");
    sheet.remove();
    focused?.focus({ preventScroll: true });
  }
}

/** A card beside the element under the pointer. */
export class HoverCard {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.card = el("div", "pl-card");
    this.card.setAttribute("role", "tooltip");
    this.card.hidden = true;
    this.timer = 0;
    root.append(this.card);
  }

  /** @param {Element} target @param {() => Node[]} contents created when the card is shown */
  show(target, contents) {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      const at = target.getBoundingClientRect(),
        frame = this.root.getBoundingClientRect();
      this.card.replaceChildren(...contents());
      this.card.hidden = false;
      const size = this.card.getBoundingClientRect();
      const below = at.bottom - frame.top + 6,
        above = at.top - frame.top - size.height - 6;
      this.card.style.left = `${Math.max(4, Math.min(at.left - frame.left, frame.width - size.width - 4))}px`;
      this.card.style.top = `${below + size.height > frame.height && above > 0 ? above : below}px`;
    }, 140);
  }

  hide() {
    clearTimeout(this.timer);
    this.card.hidden = true;
  }
}

/** What runs once, a while after it was last asked for, and at once when its view closes. */
export class Delayed {
  /** @param {() => void} run @param {number} delay in milliseconds */
  constructor(run, delay) {
    this.run = run;
    this.delay = delay;
    this.timer = 0;
  }

  ask() {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.flush(), this.delay);
  }

  /** Run now if it was asked for. */
  flush() {
    if (!this.timer) return;
    clearTimeout(this.timer);
    this.timer = 0;
    this.run();
  }
}

/** Scroll a list, but no element around it, so that an item is visible. @param {HTMLElement} list @param {HTMLElement} item */
export function reveal(list, item) {
  const frame = list.getBoundingClientRect(),
    at = item.getBoundingClientRect(),
    above = at.top - frame.top - list.clientTop;
  if (above < 0) list.scrollTop += above;
  else if (above + at.height > list.clientHeight)
    list.scrollTop += Math.min(above, above + at.height - list.clientHeight);
}

/** A sentence as elements; text in `backticks` is code. @param {string} text @returns {Node[]} */
export const prose = (text) =>
  text
    .split(/`([^`]+)`/)
    .map((part, at) => (at % 2 ? el("code", "pl-inline-code", part) : document.createTextNode(part)));

let ids = 0;
/** A unique id for an element. */
export const uniqueId = () => `pl-${++ids}-${Math.random().toString(36).slice(2, 8)}`;

/** An integer with thousands separators. The browser's own formatter takes 30 ms on its first call. @param {number} count */
export const formatCount = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");

/** `1 line`, `2 lines` @param {number} count @param {string} what */
export const plural = (count, what) => `${formatCount(count)} ${what}${count === 1 ? "" : "s"}`;

/** The choices of a `select` or a `datalist`. @param {string[]} values @param {(value: string) => string} [label] */
export const options = (values, label = (value) => value) =>
  values.map((value) => {
    const option = el("option", "", label(value));
    option.setAttribute("value", value);
    return option;
  });

/** A field to search with. @param {string} placeholder @param {string} label for screen readers */
export function searchField(placeholder, label) {
  const field = el("input", "pl-find");
  field.placeholder = placeholder;
  field.setAttribute("aria-label", label);
  return field;
}

/** A row of tabs. @param {string[]} names @param {(name: string) => void} onSelect @param {boolean} [numbered] whether keys choose them */
export function tabBar(names, onSelect, numbered = false) {
  const bar = el(
    "div",
    "pl-tabs",
    ...names.map((name, at) => {
      const tab = button(name, () => onSelect(name));
      tab.setAttribute("role", "tab");
      if (numbered) tab.title = `${name} (${at + 1})`;
      return tab;
    }),
  );
  bar.setAttribute("role", "tablist");
  return bar;
}

/** @param {HTMLElement} bar @param {string} name of the selected tab */
export function setTab(bar, name) {
  for (const tab of bar.children) tab.setAttribute("aria-selected", String(tab.textContent === name));
}

/**
 * A list with one active item, see `setActive`; a click selects the item with the attribute `data-at`.
 * @param {string} label for screen readers @param {(at: number) => void} onSelect @param {string} [className]
 */
export function listbox(label, onSelect, className = "pl-list") {
  const list = el("div", className);
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", label);
  list.tabIndex = 0;
  list.addEventListener("click", (event) => {
    const item = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-at]"));
    if (item) onSelect(Number(item.dataset.at));
  });
  return list;
}

/** Mark the active option of a list, and scroll to it. @param {HTMLElement} list @param {number} place */
export function setActive(list, place) {
  list.querySelectorAll("[role=option]").forEach((item, at) => {
    item.classList.toggle("pl-active", at === place);
    item.setAttribute("aria-selected", String(at === place));
    if (at !== place) return;
    if (item.id) list.setAttribute("aria-activedescendant", item.id);
    reveal(list, /** @type {HTMLElement} */ (item));
  });
}

/** A chip that is removed by a click. @param {string} text @param {string} className @param {() => void} remove */
export function removableChip(text, className, remove) {
  const element = el("button", className, text, el("span", "", "×"));
  element.title = `remove: ${text}`;
  element.addEventListener("click", remove);
  return element;
}
