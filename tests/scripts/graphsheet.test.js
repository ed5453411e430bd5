import assert from "node:assert/strict";
import { test } from "node:test";
import { pack, repeatOf, repeats } from "../../passlab/display/web/graphsheet.js";

/** @import { Item } from "../../passlab/display/web/graphsheet.js" */
/** @import { PieceLayout } from "../../passlab/display/web/protocol.js" */

/** @param {number} width @param {number} height @returns {PieceLayout} a layout of one box, entered and left in its middle */
const layout = (width, height) => ({
  size: [width, height],
  at: [width / 2, height / 2],
  arrows: [],
  groups: [],
  entry: width / 2,
  exit: width / 2,
});
const LAYOUTS = [layout(100, 60), layout(200, 90)];
/** @param {number} box @returns {Item} */
const piece = (box) => [box % 2, [box], []];
const PIECES = Array.from({ length: 40 }, (_, box) => piece(box));
// box 0, then a repeat of three bodies (1 and 2, 3 and 4, 5 and 6), then box 7
const REPEAT = /** @type {Item[]} */ ([
  piece(0),
  {
    name: "block",
    similar: false,
    size: 2,
    bodies: [
      [piece(1), piece(2)],
      [piece(3), piece(4)],
      [piece(5), piece(6)],
    ],
  },
  piece(7),
]);

/** @param {Item[]} items @param {string[]} [open] @param {[number, number]} [size] */
const sheet = (items, open = [], [width, height] = [900, 600]) =>
  pack({ items, layouts: LAYOUTS }, new Set(open), width, height);

test("every piece is on the sheet, and none covers another", () => {
  for (const size of /** @type {[number, number][]} */ ([
    [900, 600],
    [300, 2000],
    [4000, 250],
  ])) {
    const { pieces, width, height } = sheet(PIECES, [], size);
    assert.deepEqual(
      pieces.map(({ boxes: [box] }) => box),
      PIECES.map((_, box) => box),
    );
    pieces.forEach((one, at) => {
      const [w, h] = one.layout.size;
      assert.ok(one.x >= -1e-6 && one.y >= 0 && one.x + w <= width + 1e-6 && one.y + h <= height + 1e-6);
      for (const other of pieces.slice(at + 1)) {
        const [otherWidth, otherHeight] = other.layout.size;
        assert.ok(
          one.x + w <= other.x ||
            other.x + otherWidth <= one.x ||
            one.y + h <= other.y ||
            other.y + otherHeight <= one.y,
        );
      }
    });
  }
});

test("a wide window gets more columns than a tall one", () => {
  assert.ok(sheet(PIECES, [], [2000, 300]).columns.length > sheet(PIECES, [], [300, 2000]).columns.length);
  assert.equal(sheet(PIECES.slice(0, 2), [], [300, 900]).columns.length, 1);
});

test("a piece that others enter is joined to the one before", () => {
  assert.equal(sheet(PIECES).joints.length, PIECES.length - 1);
});

test("a folded repeat is its first body, in a frame that counts the others", () => {
  const { pieces, frames } = sheet(REPEAT);
  assert.deepEqual(
    pieces.flatMap(({ boxes }) => boxes),
    [0, 1, 2, 7],
  );
  assert.deepEqual(
    frames.map(({ path, title, folded, count, boxes }) => [path, title, folded, count, boxes]),
    [["1", "block", true, 3, [1, 2, 3, 4, 5, 6]]],
  );
});

test("an unfolded repeat shows every body in a frame of its own", () => {
  const { pieces, frames } = sheet(REPEAT, ["1"]);
  assert.deepEqual(
    pieces.flatMap(({ boxes }) => boxes),
    [0, 1, 2, 3, 4, 5, 6, 7],
  );
  assert.deepEqual(
    frames.map(({ title }) => title),
    ["block  1 of 3 identical", "block  2 of 3 identical", "block  3 of 3 identical"],
  );
  for (const { x, y, width, height, boxes } of frames) {
    for (const one of pieces.filter(({ boxes: [box] }) => boxes.includes(box))) {
      assert.ok(
        x <= one.x && y <= one.y && one.x + one.layout.size[0] <= x + width && one.y + one.layout.size[1] <= y + height,
      );
    }
  }
});

test("a box is found in the repeat around it", () => {
  assert.deepEqual(repeats(REPEAT), ["1"]);
  assert.deepEqual(
    [0, 1, 6, 7].map((box) => repeatOf(REPEAT, box)),
    ["", "1", "1", ""],
  );
});
