// The widget of one program.

import { CodePane } from "./codepane.js";
import { DefinitionChoice } from "./columns.js";
import { Commands } from "./commands.js";
import { button, copyText, el, ICONS } from "./dom.js";
import { FindField } from "./find.js";
import { mountPane, Selection } from "./selection.js";

/** @import { Context } from "./model.js" */

/** @param {Context<"module">} context */
function render({ model, el: host }) {
  const root = el("div", "passlab pl-module");
  root.tabIndex = 0;
  const title = el("span", "pl-title");
  const selection = new Selection(),
    pane = new CodePane(root, selection),
    commands = new Commands(root, "module"),
    find = new FindField(pane, "find in the program");
  const functions = new DefinitionChoice("one function of the program, or all (@)", (name) => pane.showOnly(name));
  pane.onLeaveOnly = () => functions.clear();
  const copy = button("copy the program", () => commands.run("copy the program"), ICONS.copy);
  root.prepend(
    el(
      "div",
      "pl-bar",
      title,
      el("span", "pl-grow"),
      functions.element,
      find.count,
      find.field,
      copy,
      ...commands.buttons,
    ),
    pane.element,
  );
  commands.bind({
    n: () => find.go(1),
    N: () => find.go(-1),
    ...find.keys(),
    "Ctrl+a": () => pane.rows.selectAll(),
    "@": () => functions.open(),
    "copy the program": () => copyText(pane.text()),
    s: () => pane.selectNext(1),
    S: () => pane.selectNext(-1),
    f: () => pane.toggleAll(),
    t: () => pane.toggleTypes(),
    g: () => pane.goto(0),
    G: () => pane.goto(pane.lines.length - 1),
    Enter: () => false,
    Escape: () => {
      selection.set([]);
      if (!find.clear()) pane.followName("");
      root.focus();
    },
  });
  const update = () => {
    const data = model.get("data");
    title.textContent = data.title;
    selection.setLineage(data.links || []);
    pane.show(data, data.rows, data.blame ?? null, data.blame?.rows ?? null, data.nodes, data.chosen);
    pane.showOnly(functions.offer(pane.definitions));
    find.update();
  };
  return mountPane({ model, el: host }, root, selection, pane, update);
}

export default { render };
