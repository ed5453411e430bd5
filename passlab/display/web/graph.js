// The widget of a dataflow graph.
import { Commands } from "./commands.js";
import { button, el, formatCount, searchField } from "./dom.js";
import { GraphPane } from "./graphpane.js";
import { Bookmark } from "./place.js";
import { ask, hasKernel } from "./requests.js";
import { mountPane, Selection } from "./selection.js";

/** @import { Context } from "./model.js" */

const MIN_HEIGHT = 160,
  MAX_HEIGHT = 475,
  SHEET_HEIGHT = 620,
  MARGINS = 56; // pixels: a picture of one piece, a sheet, and the margin around it

/** @param {number} count */
const boxes = (count) => `${formatCount(count)} box${count === 1 ? "" : "es"}`;

/** @param {Context<"graph">} context */
function render({ model, el: host }) {
  const root = el("div", "passlab pl-graph-view");
  root.tabIndex = 0;
  const title = el("span", "pl-title"),
    find = searchField("find", "find in the graph"),
    hitCount = el("span", "pl-found");
  hitCount.setAttribute("role", "status");
  const selection = new Selection(),
    pane = new GraphPane(undefined, selection);
  const bookmark = new Bookmark(model),
    commands = new Commands(root, "graph");
  const fold = button("fused functions", () => ask(model, { fold: !model.get("data").folded }, root));
  fold.title = "each fused function as one box, or all its operators (needs the running kernel)";
  root.prepend(
    el("div", "pl-bar", title, el("span", "pl-grow"), fold, hitCount, find, ...commands.buttons),
    pane.element,
  );
  const count = () => {
    hitCount.textContent = find.value.trim() ? boxes(pane.count(find.value)) : "";
  };
  find.addEventListener("input", count);
  find.addEventListener("keydown", (event) => event.key === "Enter" && pane.find(find.value, event.shiftKey ? -1 : 1));
  commands.bind({
    ...pane.keys(),
    "Ctrl+f": () => find.focus(),
    F3: () => pane.find(find.value),
    "Shift+F3": () => pane.find(find.value, -1),
  });
  const update = () => {
    const data = model.get("data");
    title.textContent = data.title;
    fold.hidden = !data.fused || !hasKernel(model);
    fold.textContent = data.folded ? "open fused functions" : "fold fused functions";
    const height = data.cards.length
      ? SHEET_HEIGHT
      : data.items.length === 1 && Array.isArray(data.items[0])
        ? data.layouts[0].size[1]
        : SHEET_HEIGHT;
    root.style.setProperty(
      "--pl-graph-height",
      `${Math.max(MIN_HEIGHT, Math.min(data.items.length > 1 || data.cards.length ? SHEET_HEIGHT : MAX_HEIGHT, height + MARGINS))}px`,
    );
    pane.isInitial = true;
    pane.show(data);
  };
  bookmark.follow(pane);
  bookmark.isOpen = true;
  const close = mountPane({ model, el: host }, root, selection, pane, update);
  return () => {
    bookmark.close();
    close();
  };
}

export default { render };
