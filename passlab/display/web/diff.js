// The widget of a difference between two programs.

import { DiffPane } from "./diffpane.js";
import { bindKeys, button, createHelp, el } from "./dom.js";
import { mountPane, Selection } from "./selection.js";
/** @import { Context } from "./model.js" */
/** @import { OperatorCount } from "./protocol.js" */

export const DIFF_KEYS = /** @type {[string, string][]} */ ([
  ["n p", "next and previous change"],
  ["u", "side by side or unified"],
  ["a", "all lines, or only changes"],
  ["click", "follow a name"],
  ["Esc", "clear it"],
  ["− +", "removed, added"],
  ["±", "some words changed"],
  ["~", "the same, in another function or binding"],
  ["< >", "moved from here, to here"],
]);

/** The added and removed operators, as chips. @param {OperatorCount[]} operators */
export function chips(operators) {
  return el(
    "div",
    "pl-chips",
    ...operators
      .slice(0, 24)
      .map(([name, before, after]) =>
        el(
          "span",
          "pl-chip",
          el("span", "pl-op", name),
          ` ${before} → `,
          el("b", after > before ? "pl-increase" : "pl-decrease", after),
        ),
      ),
  );
}

/** @param {Context<"diff">} context */
function render({ model, el: host }) {
  const root = el("div", "passlab pl-diff-view");
  root.tabIndex = 0;
  const title = el("div", "pl-summary"),
    counts = el("div"),
    keyHelp = createHelp(root, DIFF_KEYS);
  const unified = button("unified", () => pane.toggleUnified()),
    all = button("all lines", () => pane.toggleAll());
  unified.title = "unified or side by side (u)";
  all.title = "show unchanged lines, too (a)";
  const updateButtons = () => {
    unified.setAttribute("aria-pressed", String(pane.unified));
    all.setAttribute("aria-pressed", String(pane.all));
  };
  const selection = new Selection(),
    pane = new DiffPane(root, updateButtons, selection);
  root.prepend(
    el(
      "div",
      "pl-bar",
      title,
      el("span", "pl-grow"),
      unified,
      all,
      button("?", () => keyHelp()),
    ),
    counts,
    pane.element,
  );
  bindKeys(root, {
    "?": () => keyHelp(),
    n: () => pane.next(1),
    p: () => pane.next(-1),
    u: () => unified.click(),
    a: () => all.click(),
    Escape: () => {
      pane.followedName = "";
      selection.set([]);
      pane.rows.update(true);
    },
  });
  const update = () => {
    const data = model.get("data");
    title.textContent = data.title;
    counts.replaceChildren(...(data.operators.length ? [chips(data.operators)] : []));
    pane.element.hidden = !data.kinds;
    pane.show(data, data.before, data.after, data, ...data.nodes);
  };
  return mountPane({ model, el: host }, root, selection, pane, update);
}

export default { render };
