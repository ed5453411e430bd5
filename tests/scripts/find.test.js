import assert from "node:assert/strict";
import { test } from "node:test";
import { hitsIn, hitsOf } from "../../passlab/display/web/find.js";
import { joinPieces, occurrences } from "../../passlab/display/web/lines.js";

/** @import { RecordingData } from "../../passlab/display/web/protocol.js" */

/** A recording of steps: name, depth, lines of the program after it. @param {[string, number, string[]][]} steps */
function recording(steps) {
  const texts = [...new Set(steps.flatMap(([, , lines]) => lines))],
    programs = [...new Map(steps.map(([, , lines]) => [lines.join("\n"), lines])).values()];
  return /** @type {RecordingData} */ (
    /** @type {unknown} */ ({
      lines: texts.map((text) => [text, [], -1]),
      modules: programs.map((lines) => lines.map((text) => texts.indexOf(text))),
      steps: steps.map(([name, depth, lines]) => ({
        name,
        depth,
        error: "",
        sentence: "",
        outcome: "changed",
        after: programs.findIndex((one) => one.join() === lines.join()),
      })),
    })
  );
}

const DATA = recording([
  ["input", 0, ["exp(%x)", "tanh(%x)"]],
  ["InferType", 0, ["exp(%x)", "tanh(%x)"]],
  ["Inner", 1, ["exp(%x)", "tanh(%x)", "%hidden"]],
  ["FastMath", 0, ["fast_exp(%x)", "tanh(%x)"]],
]);

test("hits are given once for a program, however many steps have it, and say which lines are new", () => {
  assert.deepEqual(
    hitsIn(DATA, "exp", false).map(({ step, through, lines, fresh }) => ({ step, through, lines, fresh })),
    [
      { step: 0, through: 1, lines: [0], fresh: [false] },
      { step: 3, through: 3, lines: [0], fresh: [true] },
    ],
  );
});

test("names of passes are found, and nested passes only where they are shown", () => {
  assert.deepEqual(hitsIn(DATA, "fastmath", false)[0].lines, [-1]);
  assert.deepEqual(hitsIn(DATA, "%hidden", false), []);
  assert.deepEqual(hitsIn(DATA, "%hidden", true)[0].step, 2);
  assert.deepEqual(hitsIn(DATA, "nowhere", true), []);
});

test("the hits of a kernel are grouped by step", () => {
  const groups = hitsOf([
    [2, 5, "a"],
    [2, 7, "b"],
    [4, 0, "c"],
  ]);
  assert.deepEqual(
    groups.map(({ step, lines }) => [step, lines]),
    [
      [2, [5, 7]],
      [4, [0]],
    ],
  );
});

test("a query between slashes is a regular expression; one that is not finished is a text", () => {
  assert.deepEqual(occurrences("nn.conv2d nn.conv3d", "/conv[23]d/"), [3, 9, 13, 19]);
  assert.deepEqual(occurrences("a/(b/", "/(b/"), [1, 5]);
  assert.deepEqual(occurrences("abc", "/x*/"), []);
});

test("copied parts of a broken line are one line, and folded lines between two parts are copied whole", () => {
  const lines = ["def @f() {", "  add(%x, %y)", "}"];
  const text = (/** @type {number} */ at) => lines[at];
  assert.equal(
    joinPieces(
      [
        { at: 0, from: 4, to: 10 },
        { at: 2, from: 0, to: 1 },
      ],
      text,
    ),
    "@f() {\n  add(%x, %y)\n}",
  );
  assert.equal(
    joinPieces(
      [
        { at: 1, from: 2, to: 10 },
        { at: 1, from: 10, to: 13 },
      ],
      text,
    ),
    "add(%x, %y)",
  );
  assert.equal(joinPieces([], text), "");
});
