// The widget of an instrument: what it measured, as a table that is sorted by a click on a head and filtered by a word.
import { Commands } from "./commands.js";
import { el, formatCount, searchField } from "./dom.js";

/** @import { Context } from "./model.js" */

/** @typedef {string | number} Cell */

/** The text of a cell. @param {Cell} cell */
const text = (cell) =>
  typeof cell !== "number" ? String(cell) : Number.isInteger(cell) ? formatCount(cell) : cell.toFixed(2);

/** @param {Context<"instrument">} context */
function render({ model, el: host }) {
  const root = el("div", "passlab pl-timing pl-instrument"),
    title = el("span", "pl-title"),
    table = el("table", "pl-timing-table"),
    filter = searchField("find", "rows that contain a word");
  root.tabIndex = 0;
  const commands = new Commands(root, "instrument");
  root.prepend(
    el("div", "pl-bar", title, el("span", "pl-grow"), filter, ...commands.buttons),
    el("div", "pl-timing-rows", table),
  );
  let sortColumn = -1,
    descending = false;
  const compare = (/** @type {Cell} */ a, /** @type {Cell} */ b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  const draw = () => {
    const data = model.get("data"),
      word = filter.value.toLowerCase();
    const rows = data.rows.filter((row) => row.some((cell) => String(cell).toLowerCase().includes(word)));
    if (sortColumn >= 0) rows.sort((a, b) => compare(a[sortColumn], b[sortColumn]) * (descending ? -1 : 1));
    title.textContent = data.title;
    table.replaceChildren(
      el(
        "tr",
        "",
        ...data.columns.map((name, at) => {
          const head = el(
            "th",
            "",
            el(
              "button",
              "pl-button",
              `${name.replace(/_/g, " ")}${at === sortColumn ? (descending ? " ↓" : " ↑") : ""}`,
            ),
          );
          head.setAttribute("aria-sort", at === sortColumn ? (descending ? "descending" : "ascending") : "none");
          head.addEventListener("click", () => {
            [sortColumn, descending] = [at, at === sortColumn ? !descending : typeof data.rows[0]?.[at] === "number"];
            draw();
          });
          return head;
        }),
      ),
      ...rows.map((row) => el("tr", "", ...row.map((cell) => el("td", "", text(cell))))),
    );
  };
  filter.addEventListener("input", draw);
  commands.bind({
    "Ctrl+f": () => filter.focus(),
    Enter: () => false,
    Escape: () => {
      filter.value = "";
      draw();
      root.focus();
    },
  });
  draw();
  model.on("change:data", draw);
  host.append(root);
  return () => model.off("change:data", draw);
}

export default { render };
