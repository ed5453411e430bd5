// The rows of a difference, and which of them are shown. Nothing here draws.

/** @import { ChangedWords, RowChanges } from "./protocol.js" */

const CONTEXT = 3; // unchanged rows shown around a change
const MIN_FOLD = 3; // unchanged rows that are worth a fold

/**
 * A row: the kinds of both sides, their lines in the table, their numbers in the programs (from 1, 0 for none).
 * @typedef {{left: string, i: number, a: number, right: string, j: number, b: number, words: ChangedWords | undefined}} Row
 */

/**
 * The rows of a difference; lines follow one another on each side.
 * @param {RowChanges} difference @param {number[]} before the lines of both programs @param {number[]} after
 * @returns {Row[]}
 */
export function alignedRows({ kinds, words }, before, after) {
  const rows = /** @type {Row[]} */ ([]);
  let a = 0,
    b = 0;
  for (let r = 0; r < kinds.length / 2; r++) {
    const left = kinds[2 * r],
      right = kinds[2 * r + 1],
      hasLeft = left !== " ",
      hasRight = right !== " ";
    if (hasLeft) a++;
    if (hasRight) b++;
    rows.push({
      left,
      i: hasLeft ? before[a - 1] : -1,
      a: hasLeft ? a : 0,
      right,
      j: hasRight ? after[b - 1] : -1,
      b: hasRight ? b : 0,
      words: words[r],
    });
  }
  return rows;
}

/** @param {Row} row */
const isSame = (row) => row.left === "=" && row.right === "=";

/** Whether a change begins in a row. @param {Row[]} rows @param {number} r */
export const startsChange = (rows, r) => !isSame(rows[r]) && (r === 0 || isSame(rows[r - 1]));

/**
 * Which rows are shown: those near a change, and those in opened folds; all rows if nothing changed.
 * @param {Row[]} rows @param {boolean} all @param {Set<number>} openedFolds by their first row
 */
export function shownRows(rows, all, openedFolds) {
  if (all || rows.every(isSame)) return rows.map(() => true);
  const shown = rows.map(() => false);
  rows.forEach((row, r) => {
    if (!isSame(row)) shown.fill(true, Math.max(0, r - CONTEXT), r + CONTEXT + 1);
  });
  for (let r = 0; r < shown.length; r++) {
    if (shown[r]) continue;
    let end = r;
    while (end < shown.length && !shown[end]) end++;
    if (end - r < MIN_FOLD || openedFolds.has(r)) shown.fill(true, r, end);
    r = end;
  }
  return shown;
}
