import assert from "node:assert/strict";
import { test } from "node:test";
import { measure, skyline, squeeze } from "../../passlab/display/web/graphprogram.js";

/** @import { FrameRow } from "../../passlab/display/web/protocol.js" */

test("only what nothing needs is taken out, and what follows moves up", () => {
  const map = squeeze(
    [
      [0, 10],
      [40, 50],
    ],
    [[5, 30]],
  );
  assert.deepEqual([0, 10, 20, 30, 40, 50].map(map), [0, 10, 10, 10, 20, 30]);
});

test("spare ranges that overlap are taken out once", () => {
  const map = squeeze(
    [[0, 10]],
    [
      [10, 30],
      [20, 40],
      [20, 25],
    ],
  );
  assert.equal(map(100), 70);
});

test("a mapping keeps the order of all points", () => {
  const map = squeeze(
    [
      [3, 8],
      [20, 22],
      [21, 40],
    ],
    [
      [0, 5],
      [10, 25],
      [39, 60],
    ],
  );
  for (let value = 0; value < 70; value++) assert.ok(map(value) <= map(value + 1) && map(value + 1) - map(value) <= 1);
});

test("a card is put as high as it fits, then as far to the left", () => {
  const sizes = /** @type {[number, number][]} */ ([
    [300, 400],
    [300, 100],
    [300, 100],
  ]);
  assert.deepEqual(skyline(sizes, 700), [
    [0, 0],
    [314, 0],
    [314, 114],
  ]);
});

/** @param {Partial<FrameRow>} some @returns {FrameRow} */
const frame = (some) => ({
  key: "",
  kind: "choice",
  title: "",
  note: "",
  text: "",
  parent: 0,
  box: -1,
  size: [100, 100],
  folded_size: [80, 40],
  folded: false,
  items: [],
  arrows: [],
  rail: [],
  results: [],
  hidden: [],
  ...some,
});

test("a folded frame makes the frame around it lower, but not narrower than what else is in it", () => {
  const outer = frame({
      key: "outer",
      kind: "definition",
      parent: -1,
      size: [220, 300],
      items: [
        [-2, 10, 20, 200, 150],
        [0, 10, 200, 200, 50],
      ],
    }),
    inner = frame({ key: "inner", size: [200, 150] });
  const open = measure([outer, inner], new Map()),
    folded = measure([outer, inner], new Map([["inner", true]]));
  assert.deepEqual(
    open.map(({ size }) => size),
    [
      [220, 300],
      [200, 150],
    ],
  );
  assert.deepEqual(
    folded.map(({ size }) => size),
    [
      [220, 190],
      [80, 40],
    ],
  );
});
