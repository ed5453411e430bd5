// The widget of the output of a printing instrument: a line for each pass, which opens to its diff, its program or its error.

import { CodePane } from "./codepane.js";
import { Commands, tip } from "./commands.js";
import { chips } from "./diff.js";
import { DiffPane } from "./diffpane.js";
import { button, el, ICONS, icon, plural, reveal, searchField, uniqueId } from "./dom.js";
import { mark, passName } from "./passlist.js";
import { mountPane, Selection } from "./selection.js";

/** @import { Context } from "./model.js" */
/** @import { PrinterData } from "./protocol.js" */

/** The contents of an opened line. @typedef {{element: HTMLElement, show: () => void, updateSelection: () => void, close: () => void, next: (way: number) => unknown}} Inside */

class PassOutput {
  /** @param {HTMLElement} root @param {Selection} selection */
  constructor(root, selection) {
    this.root = root;
    this.selection = selection;
    this.data = /** @type {PrinterData} */ ({ kind: "", title: "", steps: [], lines: [], texts: [] });
    this.at = 0;
    this.changedOnly = false; // whether unchanged passes are hidden
    this.query = "";
    this.items = /** @type {{item: HTMLElement, head: HTMLElement, body: HTMLElement, pane: Inside | null}[]} */ ([]);
    this.element = el("div", "pl-printed-list");
    this.name = uniqueId();
    this.element.addEventListener("click", (event) => {
      const head = /** @type {Element} */ (event.target).closest(".pl-printed-head");
      const at = head ? this.items.findIndex((one) => one.head === head) : -1;
      if (at < 0) return;
      this.at = at;
      this.toggle(at);
      this.updateCurrent();
    });
  }

  /** Show passes; existing rows stay, since an instrument only adds passes. @param {PrinterData} data */
  show(data) {
    const isExtended =
      data.steps.length >= this.data.steps.length &&
      this.data.steps.every(
        (step, at) => step.name === data.steps[at].name && step.sentence === data.steps[at].sentence,
      );
    if (!isExtended) {
      this.close();
      this.items = [];
      this.element.replaceChildren();
      this.at = 0;
    }
    this.data = data;
    for (let at = this.items.length; at < data.steps.length; at++) this.add(at);
    if (data.steps.length === 1) this.toggle(0, true);
    this.filter();
  }

  /** @param {number} at */
  add(at) {
    const step = this.data.steps[at],
      opens = "rows" in step || ("kinds" in step && step.kinds !== "") || step.body !== "";
    const caret = el("span", `pl-fold${opens ? "" : " pl-none"}`, opens ? icon(ICONS.right) : null);
    const name = el("span", "pl-pass-name", el("span", "pl-dim", `${step.when} `), ...passName(step.name));
    const head = el(
        "button",
        "pl-printed-head",
        caret,
        mark(step.outcome),
        name,
        el("span", "pl-printed-summary", step.sentence),
      ),
      body = el("div", "pl-printed-body");
    head.setAttribute("type", "button");
    head.title = step.sentence;
    head.tabIndex = -1;
    body.hidden = true;
    body.id = `${this.name}-${at}`;
    if (opens) {
      head.setAttribute("aria-expanded", "false");
      head.setAttribute("aria-controls", body.id);
    }
    const item = el("div", `pl-printed pl-printed-${step.outcome}`, head, body);
    this.items.push({ item, head, body, pane: null });
    this.element.append(item);
  }

  /** The contents of an opened step. @param {number} at @returns {Inside | null} */
  createBody(at) {
    const step = this.data.steps[at],
      { data } = this;
    if ("kinds" in step && step.kinds) {
      const pane = new DiffPane(this.root, () => {}, this.selection);
      const element = el("div", "", ...(step.operators.length ? [chips(step.operators)] : []), pane.element);
      const show = () => pane.show(data, step.before, step.after, step, ...step.nodes);
      return {
        element,
        show,
        updateSelection: () => pane.updateSelection(),
        close: () => pane.close(),
        next: (direction) => pane.next(direction),
      };
    }
    if ("rows" in step) {
      const pane = new CodePane(this.root, this.selection),
        left = step.left_out ? [el("div", "pl-empty", `⋯ ${plural(step.left_out, "more line")}`)] : [];
      const show = () => pane.show(data, step.rows, null, null, step.nodes);
      return {
        element: el("div", "", pane.element, ...left),
        show,
        updateSelection: () => pane.updateSelection(),
        close: () => pane.close(),
        next: () => false,
      };
    }
    return step.body
      ? {
          element: el("pre", "pl-printed-error", step.body),
          show: () => {},
          updateSelection: () => {},
          close: () => {},
          next: () => false,
        }
      : null;
  }

  /** Open a pass, or close it. @param {number} at @param {boolean} [open] */
  toggle(at, open = !!this.items[at]?.body.hidden) {
    const one = this.items[at];
    if (!one || one.body.hidden === !open || !one.head.hasAttribute("aria-expanded")) return;
    if (open && !one.pane) {
      one.pane = this.createBody(at);
      if (one.pane) one.body.append(one.pane.element);
    }
    one.body.hidden = !open;
    one.head.setAttribute("aria-expanded", String(open));
    if (open && one.pane) one.pane.show();
  }

  toggleAll() {
    const open = this.items.some(({ head, item }) => !item.hidden && head.getAttribute("aria-expanded") === "false");
    this.items.forEach(({ item }, at) => item.hidden || this.toggle(at, open));
  }

  filter() {
    this.items.forEach(({ item }, at) => {
      const step = this.data.steps[at];
      item.hidden =
        (this.changedOnly && step.outcome === "unchanged") ||
        !`${step.when} ${step.name} ${step.sentence}`.toLowerCase().includes(this.query);
    });
    if (this.items[this.at]?.item.hidden) this.go(1) || this.go(-1);
    this.updateCurrent();
  }

  /** Go to another listed pass. @param {number} direction @param {number} [from] */
  go(direction, from = this.at) {
    let to = from + direction;
    while (this.items[to]?.item.hidden) to += direction;
    if (!this.items[to]) return false;
    this.at = to;
    this.updateCurrent();
    return true;
  }

  updateCurrent() {
    this.items.forEach(({ item, head }, at) => {
      item.classList.toggle("pl-active", at === this.at);
      if (at === this.at) reveal(this.element, head);
    });
  }

  /** @param {number} direction */
  next(direction) {
    const item = this.items[this.at];
    return item?.pane && !item.body.hidden ? item.pane.next(direction) : false;
  }

  updateSelection() {
    for (const { pane, body } of this.items) if (pane && !body.hidden) pane.updateSelection();
  }

  close() {
    for (const { pane } of this.items) if (pane) pane.close();
  }
}

/** @param {Context<"printer">} context */
function render({ model, el: host }) {
  const root = el("div", "passlab pl-printer");
  root.tabIndex = 0;
  const title = el("span", "pl-title"),
    selection = new Selection(),
    commands = new Commands(root, "printer"),
    list = new PassOutput(root, selection);
  const find = searchField("find", "passes that contain a word"),
    only = button("changed", () => {
      list.changedOnly = !list.changedOnly;
      only.setAttribute("aria-pressed", String(list.changedOnly));
      list.filter();
    });
  only.title = tip("printer", "c");
  only.setAttribute("aria-pressed", "false");
  find.addEventListener("input", () => {
    list.query = find.value.trim().toLowerCase();
    list.filter();
  });
  const all = button("open all", () => list.toggleAll());
  all.title = tip("printer", "f");
  root.prepend(el("div", "pl-bar", title, el("span", "pl-grow"), find, only, all, ...commands.buttons), list.element);
  commands.bind({
    j: () => list.go(1),
    k: () => list.go(-1),
    g: () => list.go(1, -1),
    G: () => list.go(-1, list.items.length),
    Enter: () => (document.activeElement === find ? root.focus() : list.toggle(list.at)),
    f: () => list.toggleAll(),
    c: () => only.click(),
    n: () => list.next(1),
    p: () => list.next(-1),
    "/": () => find.focus(),
    Escape: () => {
      selection.set([]);
      root.focus();
    },
  });
  const update = () => {
    const data = model.get("data");
    title.textContent = data.title;
    list.show(data);
  };
  return mountPane({ model, el: host }, root, selection, list, update);
}

export default { render };
