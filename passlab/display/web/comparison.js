// The widget of two recordings side by side.
import { ComparePane } from "./comparepane.js";
import { DIFF_KEYS } from "./diff.js";
import { bindKeys, button, createHelp, el } from "./dom.js";
import { mountPane, Selection } from "./selection.js";
/** @import { Context } from "./model.js" */

export const COMPARE_KEYS = /** @type {[string, string][]} */ ([
  ["j k", "next and previous row"],
  ["g G", "first and last"],
  ["d", "the first divergence"],
  ["= ≠", "the programs are the same, differ"],
  ...DIFF_KEYS,
]);

/** @param {Context<"comparison">} context */
function render({ model, el: host }) {
  const root = el("div", "passlab pl-pipeline pl-comparison");
  root.tabIndex = 0;
  const title = el("span", "pl-title"),
    selection = new Selection(),
    keyHelp = createHelp(root, COMPARE_KEYS),
    pane = new ComparePane(model, root, selection);
  root.prepend(
    el(
      "div",
      "pl-bar",
      title,
      el("span", "pl-grow"),
      button("?", () => keyHelp()),
    ),
    pane.element,
  );
  bindKeys(root, { "?": () => keyHelp(), ...pane.keys(), Escape: () => selection.set([]) });
  const view = { updateSelection: () => pane.diff.updateSelection(), close: () => pane.close() };
  return mountPane({ model, el: host }, root, selection, view, () => {
    title.textContent = title.title = model.get("data").title;
    pane.show(model.get("data"));
  });
}

export default { render };
