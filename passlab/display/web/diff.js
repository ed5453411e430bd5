// The widget of a difference between two programs.

import { Commands, tip } from "./commands.js";
import { DiffPane } from "./diffpane.js";
import { button, el } from "./dom.js";
import { FindField } from "./find.js";
import { mountPane, Selection } from "./selection.js";
/** @import { Context } from "./model.js" */
/** @import { OperatorCount } from "./protocol.js" */

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
    commands = new Commands(root, "diff");
  const unified = button("unified", () => pane.toggleUnified()),
    all = button("all lines", () => pane.toggleAll());
  unified.title = tip("diff", "u");
  all.title = tip("diff", "a");
  const updateButtons = () => {
    unified.setAttribute("aria-pressed", String(pane.unified));
    all.setAttribute("aria-pressed", String(pane.all));
  };
  const selection = new Selection(),
    pane = new DiffPane(root, updateButtons, selection),
    find = new FindField(pane, "find in both programs");
  root.prepend(
    el("div", "pl-bar", title, el("span", "pl-grow"), find.count, find.field, unified, all, ...commands.buttons),
    counts,
    pane.element,
  );
  commands.bind({
    n: () => pane.next(1),
    p: () => pane.next(-1),
    u: () => unified.click(),
    a: () => all.click(),
    ...find.keys(),
    "Ctrl+a": () => pane.rows.selectAll(),
    Enter: () => false,
    Escape: () => {
      find.clear();
      pane.followedName = "";
      selection.set([]);
      root.focus();
      pane.rows.update(true);
    },
  });
  const update = () => {
    const data = model.get("data");
    title.textContent = data.title;
    counts.replaceChildren(...(data.operators.length ? [chips(data.operators)] : []));
    pane.element.hidden = !data.kinds;
    pane.show(data, data.before, data.after, data, ...data.nodes);
    find.update();
  };
  return mountPane({ model, el: host }, root, selection, pane, update);
}

export default { render };
