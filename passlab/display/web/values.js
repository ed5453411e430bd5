// The widget of a run on its program: the values of every line, and the same on the graph.

import { CodePane } from "./codepane.js";
import { Commands } from "./commands.js";
import { el, setTab, tabBar } from "./dom.js";
import { FindField } from "./find.js";
import { GraphPane } from "./graphpane.js";
import { mountPane, Selection } from "./selection.js";

/** @import { Context } from "./model.js" */
/** @import { FactCells } from "./protocol.js" */

/** Whether a value is not finite, or differs surely or likely. @param {FactCells} facts */
const isOdd = ([, , nonfinite, distance]) => !!nonfinite || distance.includes("≠");

/** The facts of a line, in columns. @param {FactCells} facts */
function cells([shape, range, nonfinite, distance, time, fraction, bytes, , first]) {
  const bar = el("span", "pl-fact-bar"),
    odd = distance.includes("≠") ? distance : nonfinite || distance,
    sure = odd === nonfinite || distance.startsWith("≠");
  bar.style.width = `${Math.round(fraction * 100)}%`;
  return el(
    "span",
    `pl-fact-cells${first ? " pl-fact-first" : ""}`,
    el("span", "pl-fact-shape", shape),
    el("span", "pl-fact-range", range),
    el("span", `pl-fact-nonfinite${sure ? "" : " pl-fact-unsure"}`, odd),
    el("span", "pl-fact-time", time, bar),
    el("span", "pl-fact-bytes", bytes),
  );
}

/** @param {Context<"values">} context */
function render({ model, el: host }) {
  const root = el("div", "passlab pl-module pl-values");
  root.tabIndex = 0;
  const title = el("span", "pl-title"),
    selection = new Selection(),
    pane = new CodePane(root, selection),
    commands = new Commands(root, "values"),
    find = new FindField(pane, "find in the program"),
    graph = new GraphPane(undefined, selection);
  const choose = (/** @type {string} */ tab) => {
    pane.element.hidden = tab !== "Program";
    graph.element.hidden = tab !== "Graph";
    setTab(tabs, tab);
    if (tab === "Graph") graph.show(model.get("data").graph);
  };
  const tabs = tabBar(["Program", "Graph"], choose, true);
  root.prepend(
    el("div", "pl-bar pl-values-title", title),
    el("div", "pl-bar pl-tab-bar", tabs, el("span", "pl-grow"), find.count, find.field, ...commands.buttons),
    pane.element,
    graph.element,
  );
  const next = (/** @type {number} */ direction) => {
    const facts = model.get("data").facts,
      lines = facts.flatMap((one, at) => (one && isOdd(one) ? [at] : []));
    const here = pane.current ?? -1,
      to =
        direction > 0
          ? (lines.find((at) => at > here) ?? lines[0])
          : (lines.filter((at) => at < here).pop() ?? lines[lines.length - 1]);
    if (to === undefined) return false;
    selection.set([model.get("data").nodes[to]].flat());
    pane.goto(to);
    return true;
  };
  const inGraph = () => !graph.element.hidden;
  const search = find.keys();
  commands.bind({
    ...search,
    "Ctrl+f": (event) => {
      choose("Program");
      search["Ctrl+f"](event);
    },
    1: () => choose("Program"),
    2: () => choose("Graph"),
    n: () => next(1),
    N: () => next(-1),
    f: () => (inGraph() ? graph.toggleAll() : pane.toggleAll()),
    g: () => pane.goto(0),
    G: () => pane.goto(pane.lines.length - 1),
    "+": () => inGraph() && graph.zoom(1.25),
    "-": () => inGraph() && graph.zoom(0.8),
    0: () => inGraph() && graph.fit(),
    "Ctrl+a": () => (inGraph() ? false : pane.rows.selectAll()),
    Escape: () => {
      selection.set([]);
      if (!find.clear()) pane.followName("");
      root.focus();
    },
  });
  const update = () => {
    const data = model.get("data");
    title.textContent = title.title = data.title;
    pane.annotate = (at) => {
      const facts = data.facts[at];
      return facts ? cells(facts) : null;
    };
    pane.annotationWidth = 81;
    pane.show(data, data.rows, null, null, data.nodes);
    choose("Program");
    const first = data.facts.findIndex((one) => one?.[8]);
    if (first >= 0) pane.goto(first, false);
  };
  const close = mountPane({ model, el: host }, root, selection, pane, update);
  return () => {
    close();
    graph.close();
  };
}

export default { render };
