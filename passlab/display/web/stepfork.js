// The strip of a fork in the stepper: the field for a new value, and after the run the effects of the change.
import { el, formatCount, icon } from "./dom.js";
/** @import { Branch } from "./protocol.js" */

/** The field for a new value of a register.
 * @param {number} register @param {number} instant @param {(value: string) => void} onSubmit @param {() => void} onCancel */
export function valueField(register, instant, onSubmit, onCancel) {
  const field = el("input", "pl-find pl-edit");
  field.placeholder = "2   [[1, 2], [3, 4]]   zeros   random 7   a variable";
  field.setAttribute("aria-label", `new value of $${register}`);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") onCancel();
    if (event.key === "Enter") onSubmit(field.value.trim() || "0");
  });
  return { field, parts: [el("b", "", `$${register}`), " at instant ", formatCount(instant), " becomes ", field] };
}

/** The origin of a value that the branch did not write. @param {Branch} branch @param {number} register */
export const originInBranch = (branch, register) =>
  branch.changed.includes(register)
    ? `changed in this branch, at instant ${formatCount(branch.instant)}`
    : "from before the branch";

/** The description of a branch, and its differences from the original.
 * @param {Branch} branch @param {HTMLElement} back @param {(at: number) => void} go */
export function branchStrip(branch, back, go) {
  const mark = el("span", "pl-branch-mark", icon("M4.5 2.5v11M4.5 9.5c5 0 7-1.5 7-6M9.3 5.5l2.2-2.3 2.2 2.3"));
  const line = el("div", "pl-branch-line", mark, el("span", "", branch.text), el("span", "pl-grow"), back);
  return [line, branch.rows.length ? differences(branch, go) : ""];
}

/** The writes with different values, in order; a click goes to one.
 * @param {Branch} branch @param {(at: number) => void} go */
function differences(branch, go) {
  const first = branch.rows[0];
  const rows = branch.rows.slice(0, 50).map((row) => {
    const line = el("tr", "", ...row.map((cell) => el("td", "", cell)));
    line.title = "go there";
    line.addEventListener("click", () => go(Number(row[0]) - branch.instant + 1));
    return line;
  });
  const names = branch.head.map((name) => el("th", "", name));
  const table = el("table", "pl-branch-table", el("thead", "", el("tr", "", ...names)), el("tbody", "", ...rows));
  const where = `They first differ at instant ${formatCount(Number(first[0]))}: ${first[1]} was `;
  const sentence = el("div", "pl-branch-first", where, el("b", "", first[2]), " and is ", el("b", "", first[3]));
  return el("div", "", sentence, el("div", "pl-branch-rows", table));
}
