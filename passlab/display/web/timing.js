// The widget of the times of passes: a zoomable flame chart, and a table with the sums by name of pass.
import { Commands } from "./commands.js";
import { button, el, formatCount } from "./dom.js";
import { time } from "./passlist.js";

/** @import { Context } from "./model.js" */
/** @import { TimeData } from "./protocol.js" */

const BAR_HEIGHT = 20,
  MIN_PERCENT = 0.1; // pixels of a bar; the percent below which none is drawn
/** @typedef {{depth: number, name: string, total: number, own: number, note: string, start: number}} Bar */

/** The bars of rows in order of their starts. @param {TimeData[]} rows @returns {Bar[]} */
function bars(rows) {
  const starts = [0];
  return rows.map(([depth, name, total, own, note]) => {
    starts.length = depth + 1;
    const bar = { depth, name, total, own, note, start: starts[depth] };
    starts[depth] += total;
    starts.push(bar.start);
    return bar;
  });
}

/**
 * A flame chart and its table. `focus` is called after zooming.
 * @param {HTMLElement} resetButton the button that shows all passes again @param {() => void} focus
 */
export function timingPane(resetButton, focus) {
  const chart = el("div", "pl-flame"),
    table = el("table", "pl-timing-table"),
    baseName = (/** @type {string} */ name) => name.split("(")[0];
  let all = /** @type {Bar[]} */ ([]),
    shown = /** @type {Bar | null} */ (null),
    marked = "";
  const draw = () => {
    const length = all.filter((bar) => !bar.depth).reduce((sum, bar) => sum + bar.total, 0) || 1,
      [from, span] = shown ? [shown.start, shown.total || 1] : [0, length];
    const visible = all.filter(
      (bar) => bar.start + bar.total > from && bar.start < from + span && (100 * bar.total) / span >= MIN_PERCENT,
    );
    chart.style.height = `${BAR_HEIGHT * (1 + Math.max(0, ...visible.map((bar) => bar.depth)))}px`;
    resetButton.hidden = !shown;
    chart.replaceChildren(
      ...visible.map((bar) => {
        const left = Math.max(0, (100 * (bar.start - from)) / span),
          right = Math.min(100, (100 * (bar.start + bar.total - from)) / span);
        const box = el(
          "button",
          `pl-flame-bar pl-flame-${bar.depth % 3}${bar.note === "failed" ? " pl-flame-failed" : ""}${marked && baseName(bar.name) === marked ? " pl-flame-marked" : ""}`,
          bar.name,
        );
        box.style.left = `${left}%`;
        box.style.width = `${right - left}%`;
        box.style.top = `${bar.depth * BAR_HEIGHT}px`;
        box.title = `${bar.name}${bar.note ? ` (${bar.note})` : ""}: ${time(bar.total)}, ${time(bar.own)} of its own, ${((100 * bar.total) / length).toFixed(1)}%`;
        box.addEventListener("click", () => zoom(bar === shown ? null : bar));
        return box;
      }),
    );
    const sums = /** @type {Map<string, {count: number, total: number, own: number}>} */ (new Map());
    for (const bar of all.filter((one) => one.start >= from && one.start + one.total <= from + span + 1e-6)) {
      const sum = sums.get(baseName(bar.name)) || { count: 0, total: 0, own: 0 };
      sums.set(baseName(bar.name), { count: sum.count + 1, total: sum.total + bar.total, own: sum.own + bar.own });
    }
    const max = Math.max(1e-9, ...[...sums.values()].map((sum) => sum.own));
    table.replaceChildren(
      el("tr", "", ...["pass", "runs", "own time", "total time", ""].map((name) => el("th", "", name))),
      ...[...sums]
        .sort((a, b) => b[1].own - a[1].own)
        .map(([name, sum]) => {
          const bar = el("span", "pl-timing-bar"),
            row = el(
              "tr",
              name === marked ? "pl-active" : "",
              el("td", "", name),
              el("td", "", formatCount(sum.count)),
              el("td", "", time(sum.own)),
              el("td", "", time(sum.total)),
              el("td", "pl-timing-share", bar),
            );
          bar.style.width = `${(100 * sum.own) / max}%`;
          row.addEventListener("click", () => {
            marked = marked === name ? "" : name;
            draw();
          });
          return row;
        }),
    );
  };
  const zoom = (/** @type {Bar | null} */ bar) => {
    shown = bar;
    draw();
    focus();
    return true;
  };
  return {
    chart,
    table,
    zoom,
    clear: () => {
      marked = "";
      return zoom(null);
    },
    /** @param {TimeData[]} rows @returns {string} how long all passes took together */
    show(rows) {
      all = bars(rows);
      shown = null;
      draw();
      return time(all.filter((bar) => !bar.depth).reduce((sum, bar) => sum + bar.total, 0));
    },
  };
}

/** @param {Context<"timing">} context */
function render({ model, el: host }) {
  const root = el("div", "passlab pl-timing");
  root.tabIndex = 0;
  const title = el("span", "pl-title"),
    resetButton = button("all passes", () => pane.zoom(null)),
    commands = new Commands(root, "timing");
  const pane = timingPane(resetButton, () => root.focus());
  root.prepend(
    el("div", "pl-bar", title, el("span", "pl-grow"), resetButton, ...commands.buttons),
    pane.chart,
    el("div", "pl-timing-rows", pane.table),
  );
  commands.bind({ Escape: () => pane.clear(), Enter: () => false });
  const update = () => {
    const data = model.get("data");
    title.textContent = `${data.title}, ${pane.show(data.rows)}`;
  };
  update();
  model.on("change:data", update);
  host.append(root);
  return () => model.off("change:data", update);
}

export default { render };
