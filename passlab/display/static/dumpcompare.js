// A step of a dump beside the same step of another recording: its verdict there, and the differences between both programs.
import { el, many } from "./dom.js";

/**
 * @param {any} data of the recording @param {number} at the step @param {(row: any, left: number[], right: number[]) => HTMLElement[]} draw
 * @returns {HTMLElement[]}
 */
export function comparedStep(data, at, draw) {
  const { name, pairs, alone, diffs } = data.against, [other, verdict, same] = pairs[at] || [0, "", null];
  const out = [el("div", "pl-above", other ? `Step ${other} of ${name}: ${verdict} there.` : `This pass did not run in ${name}.`)];
  for (const [number, pass, unit, what, place] of alone[at] || []) out.push(el("div", "pl-above", `${place || "Before"} it, only in ${name}: step ${number} ${pass}${unit ? ` on ${unit}` : ""}, ${what}.`));
  if (!other) return out;
  const diff = diffs[at];
  if (same === null) out.push(el("div", "pl-empty", "one of them shows no program here"));
  else if (same) out.push(el("div", "pl-empty", "both left the same text"));
  else if (!diff) out.push(el("div", "pl-empty", "what they left differs; the difference is left out of this page for its size: comparison.diff(pair) has it"));
  else {
    const [rows, left, right, more] = diff;
    if (!rows.length) out.push(el("div", "pl-empty", "both left the same but for names"));
    for (const row of rows) out.push(...(row.length === 1 ? [el("div", "pl-gap", many(row[0], "line") + " alike")] : draw(row, left, right)));
    if (more) out.push(el("div", "pl-empty", many(more, "more row")));
  }
  return out;
}

/**
 * The next step at which two recordings differ.
 * @param {any} data @param {number} at @param {number} way 1 or -1 @returns {number} -1 for none
 */
export function nextApart(data, at, way) {
  const { pairs, alone, diffs } = data.against;
  for (let step = at + way; step >= 0 && step < data.steps.length; step += way) {
    const [other, verdict, same] = pairs[step] || [0, "", null];
    if (!other || (same === false && !(diffs[step] && !diffs[step][0].length)) || verdict !== data.steps[step][2] || alone[step]) return step;
  }
  return -1;
}
