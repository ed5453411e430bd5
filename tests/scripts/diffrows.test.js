import assert from "node:assert/strict";
import { test } from "node:test";
import { mirrored } from "../../passlab/display/web/comparepane.js";
import { alignedRows, shownRows, startsChange } from "../../passlab/display/web/diffrows.js";

/** @import { PairDiff } from "../../passlab/display/web/protocol.js" */

/** The rows of `kinds`, two characters each; line 10 is the first before, line 20 the first after. @param {string} kinds */
const rows = (kinds) => alignedRows({ kinds, words: {} }, [10, 11, 12, 13, 14, 15], [20, 21, 22, 23, 24, 25]);

test("lines follow one another on each side, and a side without a line has none", () => {
  const aligned = rows("==- **").map(({ i, a, j, b }) => [i, a, j, b]);
  assert.deepEqual(aligned, [
    [10, 1, 20, 1],
    [11, 2, -1, 0],
    [12, 3, 21, 2],
  ]);
  assert.deepEqual(
    rows(" + +").map(({ i, a, j, b }) => [i, a, j, b]),
    [
      [-1, 0, 20, 1],
      [-1, 0, 21, 2],
    ],
  );
});

test("the words that differ belong to their row", () => {
  const [first, second] = alignedRows({ kinds: "==**", words: { 1: [[0, 2], [0, 3], 1] } }, [1, 2], [3, 4]);
  assert.equal(first.words, undefined);
  assert.deepEqual(second.words, [[0, 2], [0, 3], 1]);
});

/** A word with a letter for each row: shown or folded. @param {string} kinds @param {boolean} [all] @param {number[]} [opened] */
const shown = (kinds, all = false, opened = []) =>
  shownRows(rows(kinds), all, new Set(opened))
    .map((is) => (is ? "s" : "f"))
    .join("");

test("rows far from every change are folded", () => {
  assert.equal(shown(`${"==".repeat(8)}**${"==".repeat(8)}`), "fffffsssssssfffff");
});

test("a fold that hides fewer than three rows is none", () => {
  assert.equal(shown(`${"==".repeat(5)}**`), "ssssss");
  assert.equal(shown(`${"==".repeat(6)}**`), "fffssss");
});

test("an opened fold shows its rows, and others stay folded", () => {
  const kinds = `${"==".repeat(7)}**${"==".repeat(10)}+ ${"==".repeat(7)}`;
  assert.equal(shown(kinds), "ffffsssssssffffsssssssffff");
  assert.equal(shown(kinds, false, [11]), "ffffssssssssssssssssssffff");
});

test("all rows are shown on request, and where nothing differs", () => {
  assert.equal(shown(`${"==".repeat(9)}**`, true), "s".repeat(10));
  assert.equal(shown("==".repeat(9)), "s".repeat(9));
});

test("a change begins where an unchanged row is before it", () => {
  const changes = rows("- **==== +==");
  assert.deepEqual(
    changes.map((_, r) => startsChange(changes, r)),
    [true, false, false, false, true, false],
  );
});

test("a difference read backwards exchanges its sides", () => {
  /** @type {PairDiff} */
  const pair = {
    kind: "diff",
    title: "one added",
    back: "one removed",
    lines: [],
    texts: [],
    kinds: " +==**><",
    words: { 2: [[1, 2], [3, 4], 1] },
    operators: [["add", 1, 2]],
    before: [1],
    after: [2],
    nodes: [[5], [6]],
  };
  const reversed = mirrored(pair);
  assert.equal(reversed.title, "one removed");
  assert.equal(reversed.kinds, "- ==**><");
  assert.deepEqual(reversed.words, { 2: [[3, 4], [1, 2], 1] });
  assert.deepEqual(reversed.operators, [["add", 2, 1]]);
  assert.deepEqual([reversed.before, reversed.after, reversed.nodes], [[2], [1], [[6], [5]]]);
});
