// A step of a dump beside the same step of another recording: its verdict there, and the differences between both programs.
import { el, plural } from "./dom.js";
import { VERDICT } from "./dumpfields.js";
/** @import { DumpData, DumpRow } from "./protocol.js" */

/**
 * @param {DumpData} data of the recording @param {number} at the step @param {(row: DumpRow, left: number[], right: number[]) => HTMLElement[]} draw
 * @returns {HTMLElement[]}
 */
export function comparedStep(data, at, draw) {
  if (!data.against) return [];
  const { name, pairs, alone, diffs } = data.against,
    [other, verdict, same] = pairs[at] || [0, "", null];
  const elements = /** @type {HTMLElement[]} */ ([
    el("div", "pl-above", other ? `Step ${other} of ${name}: ${verdict} there.` : `This pass did not run in ${name}.`),
  ]);
  for (const [number, pass, unit, what, place] of alone[at] || [])
    elements.push(
      el(
        "div",
        "pl-above",
        `${place || "Before"} it, only in ${name}: step ${number} ${pass}${unit ? ` on ${unit}` : ""}, ${what}.`,
      ),
    );
  if (!other) return elements;
  const diff = diffs[at];
  if (same === null) elements.push(el("div", "pl-empty", "one of them shows no program here"));
  else if (same) elements.push(el("div", "pl-empty", "both left the same text"));
  else if (!diff)
    elements.push(
      el(
        "div",
        "pl-empty",
        "what they left differs; the difference is left out of this page for its size: comparison.diff(pair) has it",
      ),
    );
  else {
    const [rows, left, right, more] = diff;
    if (!rows.length) elements.push(el("div", "pl-empty", "both left the same but for names"));
    for (const row of rows)
      elements.push(
        ...(row.length === 1 ? [el("div", "pl-gap", `${plural(row[0], "line")} alike`)] : draw(row, left, right)),
      );
    if (more) elements.push(el("div", "pl-empty", plural(more, "more row")));
  }
  return elements;
}

/**
 * The next step at which two recordings differ.
 * @param {DumpData} data @param {number} at @param {number} direction 1 or -1 @returns {number} -1 for none
 */
export function nextDifference(data, at, direction) {
  if (!data.against) return -1;
  const { pairs, alone, diffs } = data.against;
  for (let step = at + direction; step >= 0 && step < data.steps.length; step += direction) {
    const [other, verdict, same] = pairs[step] || [0, "", null];
    if (
      !other ||
      (same === false && !(diffs[step] && !diffs[step][0].length)) ||
      verdict !== data.steps[step][VERDICT] ||
      alone[step]
    )
      return step;
  }
  return -1;
}
