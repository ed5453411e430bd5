import assert from "node:assert/strict";
import { test } from "node:test";
import { roomsOf } from "../../passlab/display/web/graphdraw.js";
import { edgesAround } from "../../passlab/display/web/graphsheet.js";

test("a box alone in its row can grow up to the edges around it", () => {
  assert.deepEqual(roomsOf([[40, 0, 60, 20]], 0, 100), [[40, 40]]);
  assert.deepEqual(roomsOf([[10, 0, 60, 20]], 0, 100), [[10, 40]]);
});

test("boxes of one row share the room between them, and never overlap when all are widened", () => {
  const sides = [
    [0, 0, 50, 20],
    [60, 0, 80, 20],
    [30, 30, 50, 60],
  ];
  const rooms = roomsOf(sides, 0, 200);
  assert.deepEqual(rooms, [
    [0, 4],
    [4, 120],
    [30, 150],
  ]);
  assert.ok(sides[0][2] + rooms[0][1] < sides[1][0] - rooms[1][0]);
});

test("around a piece is its frame, or its column with nearly half of the gutters", () => {
  const sheet = {
    frames: [{ path: "", title: "", folded: false, count: 1, boxes: [], x: 0, y: 100, width: 90, height: 50 }],
    columns: /** @type {[number, number, number][]} */ ([[0, 100, 200]]),
  };
  assert.deepEqual(edgesAround(sheet, 10, 110, 60), [4, 86]);
  assert.deepEqual(edgesAround(sheet, 10, 10, 60), [-21, 121]);
  assert.deepEqual(edgesAround(null, 10, 10, 60), [10, 70]);
});
