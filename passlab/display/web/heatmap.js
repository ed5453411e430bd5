// The widget of `lab.what_if`: a cell for each pass and change, warmer the larger the result; a click opens its pipeline.
import { Commands } from "./commands.js";
import { ComparePane } from "./comparepane.js";
import { el, reveal } from "./dom.js";
import { ask, hasKernel } from "./requests.js";
import { Selection, subscribe, syncSelection } from "./selection.js";

/** @import { Context } from "./model.js" */
/** @import { HeatCell, HeatMapAnswer } from "./protocol.js" */

/** The warmth of a cell in percent, relative to the largest difference. @param {HeatCell} cell @param {number} max */
function warmthOf(cell, max) {
  return cell.outcome === "differs" && max ? Math.round(8 + 34 * (Math.abs(cell.nodes) / max)) : 0;
}

/** @param {Context<"heatmap">} context */
function render({ model, el: host }) {
  const root = el("div", "passlab pl-heat-view");
  root.tabIndex = 0;
  const title = el("span", "pl-title"),
    selection = new Selection(),
    commands = new Commands(root, "heatmap"),
    pane = new ComparePane(model, root, selection);
  const grid = el("table", "pl-heat"),
    frame = el("div", "pl-heat-frame", grid),
    facts = el("div", "pl-heat-facts"),
    laws = el("ul", "pl-heat-laws"),
    note = el("div", "pl-error");
  laws.tabIndex = 0; // where it scrolls
  facts.setAttribute("aria-live", "polite");
  grid.setAttribute("role", "grid");
  let row = 0,
    column = 0,
    opened = "";
  pane.element.hidden = true;
  const cell = () => model.get("data").cells[row]?.[column];
  const showNote = (/** @type {string} */ text) => {
    note.textContent = text;
    note.hidden = !text;
  };
  const markCell = () => {
    const data = model.get("data"),
      one = cell();
    for (const box of grid.querySelectorAll("[data-row]")) {
      const here = Number(box.getAttribute("data-row")) === row && Number(box.getAttribute("data-column")) === column;
      box.classList.toggle("pl-active", here);
      box.setAttribute("aria-selected", String(here));
      if (here) reveal(frame, /** @type {HTMLElement} */ (box));
    }
    facts.replaceChildren(
      ...(one
        ? [el("b", "", `${data.passes[row]} ${data.columns[column]}`), ...one.facts.map((fact) => el("span", "", fact))]
        : []),
    );
  };
  const go = (/** @type {number} */ down, /** @type {number} */ right) => {
    const { cells } = model.get("data"),
      [r, c] = [row + down, column + right];
    if (!cells[r] || !(c in cells[r])) return false;
    [row, column] = [r, cells[r][c] ? c : Math.max(0, cells[r].filter((one) => one).length - 1)];
    markCell();
  };
  const open = () => {
    if (!cell()) return false;
    opened = `${row + 1} ${model.get("data").columns[column]}`;
    showNote("");
    if (!hasKernel(model)) return showNote("Opening a variant needs the running kernel.");
    root.classList.add("pl-loading");
    ask(model, { cell: [row + 1, model.get("data").columns[column]] }, root);
  };
  const closePipeline = () => {
    opened = "";
    pane.element.hidden = true;
    selection.set([]);
    root.focus({ preventScroll: true });
  };
  grid.addEventListener("click", (event) => {
    const box = /** @type {Element} */ (event.target).closest("[data-row]");
    if (!box) return;
    [row, column] = [Number(box.getAttribute("data-row")), Number(box.getAttribute("data-column"))];
    markCell();
    open();
  });
  const draw = () => {
    const data = model.get("data"),
      max = Math.max(0, ...data.cells.flat().map((one) => (one ? Math.abs(one.nodes) : 0)));
    title.textContent = data.title;
    grid.replaceChildren(
      el("tr", "", el("th", "", "pass"), ...data.columns.map((name) => el("th", "", name))),
      ...data.passes.map((name, r) =>
        el(
          "tr",
          "",
          el("th", "", el("span", "pl-pass-id", r + 1), ` ${name}`),
          ...data.cells[r].map((one, c) => {
            if (!one) return el("td", "pl-heat-none");
            const box = el(
              "td",
              `pl-heat-cell pl-heat-${one.outcome}${one.nodes < 0 ? " pl-heat-fewer" : ""}`,
              one.text,
            );
            box.style.setProperty("--pl-warmth", `${warmthOf(one, max)}%`);
            box.setAttribute("role", "gridcell");
            box.dataset.row = String(r);
            box.dataset.column = String(c);
            box.title = one.facts.join("\n");
            return box;
          }),
        ),
      ),
    );
    laws.replaceChildren(...data.laws.map((law) => el("li", "", law)));
    showNote(data.note);
    markCell();
  };
  const showComparison = () => {
    const data = model.get("comparison");
    root.classList.remove("pl-loading");
    if (!data || !("rows" in data) || data.other !== opened) return;
    pane.element.hidden = false;
    pane.show(data);
  };
  const receive = (/** @type {HeatMapAnswer} */ message) => {
    if (message?.opened) showComparison();
    if (message?.refused === undefined) return;
    root.classList.remove("pl-loading");
    showNote(message.refused);
  };
  const paneKeys = pane.keys(),
    whenOpen = (/** @type {(event: KeyboardEvent) => unknown} */ run) => (/** @type {KeyboardEvent} */ event) =>
      pane.element.hidden ? false : run(event);
  commands.bind({
    j: () => go(1, 0),
    k: () => go(-1, 0),
    h: () => go(0, -1),
    l: () => go(0, 1),
    Enter: () => open(),
    Escape: () => closePipeline(),
    J: whenOpen(() => pane.go(1)),
    K: whenOpen(() => pane.go(-1)),
    d: whenOpen(paneKeys.d),
    n: whenOpen(paneKeys.n),
    p: whenOpen(paneKeys.p),
    u: whenOpen(paneKeys.u),
    a: whenOpen(paneKeys.a),
    "Ctrl+f": whenOpen(paneKeys["Ctrl+f"]),
    F3: whenOpen(paneKeys.F3),
    "Shift+F3": whenOpen(paneKeys["Shift+F3"]),
    "Ctrl+a": whenOpen(paneKeys["Ctrl+a"]),
  });
  root.prepend(
    el("div", "pl-bar", title, el("span", "pl-grow"), ...commands.buttons),
    el(
      "div",
      "pl-heat-map",
      el("div", "", frame, el("div", "pl-heat-legend", "nodes more or fewer in the result; = the same program")),
      el("div", "pl-heat-side", facts, laws, note),
    ),
    pane.element,
  );
  draw();
  selection.listen(() => pane.diff.updateSelection());
  const leaveSelection = syncSelection(model, selection),
    leaveModel = subscribe(model, { "change:data": draw, "change:comparison": showComparison, "msg:custom": receive });
  host.append(root);
  return () => {
    leaveModel();
    leaveSelection();
    pane.close();
  };
}

export default { render };
