// The widget of one program.

import { CodePane } from "./codepane.js";
import { bindKeys, button, createHelp, el, ICONS, searchField } from "./dom.js";
import { mountPane, Selection } from "./selection.js";

/** @import { Context } from "./model.js" */

const KEYS = /** @type {[string, string][]} */ ([
  ["click", "select a line's node in all views; follow a name: where it is defined and used"],
  ["s S", "select the next line, the previous one"],
  ["n N", "next and previous use"],
  ["/", "find; Enter goes on, Shift Enter back"],
  ["f", "fold everything, or open it"],
  ["t", "types beside the lines"],
  ["g G", "start and end"],
  ["Esc", "clear both"],
]);

/** @param {Context<"module">} context */
function render({ model, el: host }) {
  const root = el("div", "passlab pl-module");
  root.tabIndex = 0;
  const title = el("span", "pl-title"),
    find = searchField("find", "find in the program"),
    hitCount = el("span", "pl-found");
  hitCount.setAttribute("role", "status");
  const selection = new Selection(),
    pane = new CodePane(root, selection),
    keyHelp = createHelp(root, KEYS);
  const copy = button("copy the program", () => navigator.clipboard?.writeText(pane.text()), ICONS.copy);
  root.prepend(
    el(
      "div",
      "pl-bar",
      title,
      el("span", "pl-grow"),
      hitCount,
      find,
      copy,
      button("?", () => keyHelp()),
    ),
    pane.element,
  );
  const count = () => {
    const [at, all] = pane.hitPosition();
    hitCount.textContent = !find.value.trim() ? "" : all ? `${at} of ${all}` : "not there";
  };
  find.addEventListener("input", () => {
    pane.search(find.value);
    count();
  });
  find.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    pane.search(find.value);
    go(event.shiftKey ? -1 : 1);
  });
  const go = (/** @type {number} */ step) => {
    const moved = pane.next(step);
    count();
    return moved;
  };
  const clearSearch = () => {
    find.value = "";
    pane.search("");
    count();
    root.focus();
  };
  bindKeys(root, {
    "?": () => keyHelp(),
    n: () => go(1),
    N: () => go(-1),
    s: () => pane.selectNext(1),
    S: () => pane.selectNext(-1),
    "/": () => find.focus(),
    f: () => pane.toggleAll(),
    t: () => pane.toggleTypes(),
    g: () => pane.goto(0),
    G: () => pane.goto(pane.lines.length - 1),
    Enter: () => false,
    Escape: () => {
      selection.set([]);
      return find.value ? clearSearch() : document.activeElement === find ? root.focus() : pane.followName("");
    },
  });
  const update = () => {
    const data = model.get("data");
    title.textContent = data.title;
    selection.setLineage(data.links || []);
    pane.show(data, data.rows, data.blame ?? null, data.blame?.rows ?? null, data.nodes, data.chosen);
    count();
  };
  return mountPane({ model, el: host }, root, selection, pane, update);
}

export default { render };
