// The widget of a dataflow graph.
import { button, el, grouped, help, keys } from "./dom.js";
import { GraphPane, GRAPH_KEYS } from "./graphpane.js";

const LEAST = 160, MOST = 475, MARGINS = 56; // pixels: of the picture, and what is left free around it

/** @param {number} count */
const boxes = (count) => `${grouped(count)} box${count === 1 ? "" : "es"}`;

/** @param {{model: any, el: HTMLElement}} context */
function render({ model, el: host }) {
  const root = el("div", "passlab pl-graph-view");
  root.tabIndex = 0;
  const title = el("span", "pl-title"), find = /** @type {HTMLInputElement} */ (el("input", "pl-find")), found = el("span", "pl-found");
  found.setAttribute("role", "status");
  find.placeholder = "find";
  find.setAttribute("aria-label", "find in the graph");
  const pane = new GraphPane((box) => {
    if (model.get("picked") === box) return;
    model.set("picked", box);
    model.save_changes();
  });
  const keyHelp = help(root, GRAPH_KEYS);
  const fold = button("fused functions", () => model.send({ fold: !model.get("data").folded }));
  fold.title = "each fused function as one box, or all its operators (needs the running kernel)";
  root.prepend(el("div", "pl-bar", title, el("span", "pl-grow"), fold, found, find, button("?", () => keyHelp())), pane.element);
  const count = () => { found.textContent = find.value.trim() ? boxes(pane.count(find.value)) : ""; };
  find.addEventListener("input", count);
  find.addEventListener("keydown", (event) => event.key === "Enter" && pane.find(find.value, event.shiftKey ? -1 : 1));
  keys(root, { ...pane.keys(), "?": () => keyHelp(), "/": () => find.focus(), Enter: () => false });
  const update = () => {
    const data = model.get("data");
    title.textContent = data.title;
    fold.hidden = !data.fused || typeof model.send !== "function";
    fold.textContent = data.folded ? "open fused functions" : "fold fused functions";
    if (data.size) root.style.setProperty("--pl-graph-height", `${Math.max(LEAST, Math.min(MOST, data.size[1] + MARGINS))}px`);
    pane.fitted = false;
    pane.show(data);
  };
  update();
  model.on("change:data", update);
  host.append(root);
  return () => {
    model.off("change:data", update);
    pane.close();
  };
}

export default { render };
