// The widget of two recordings side by side.
import { Commands } from "./commands.js";
import { ComparePane } from "./comparepane.js";
import { el } from "./dom.js";
import { mountPane, Selection } from "./selection.js";

/** @import { Context } from "./model.js" */

/** @param {Context<"comparison">} context */
function render({ model, el: host }) {
  const root = el("div", "passlab pl-pipeline pl-comparison");
  root.tabIndex = 0;
  const title = el("span", "pl-title"),
    selection = new Selection(),
    commands = new Commands(root, "comparison"),
    pane = new ComparePane(model, root, selection);
  root.prepend(el("div", "pl-bar", title, el("span", "pl-grow"), ...commands.buttons), pane.element);
  commands.bind({
    ...pane.keys(),
    Enter: () => false,
    Escape: () => {
      pane.find.clear();
      selection.set([]);
      root.focus();
    },
  });
  const view = { updateSelection: () => pane.diff.updateSelection(), close: () => pane.close() };
  return mountPane({ model, el: host }, root, selection, view, () => {
    title.textContent = title.title = model.get("data").title;
    pane.show(model.get("data"));
  });
}

export default { render };
