import assert from "node:assert/strict";
import { test } from "node:test";
import {
  blockEnds,
  breakLine,
  definitions,
  fitExcerpts,
  hangingIndent,
  hasName,
  occurrences,
} from "../../passlab/display/web/lines.js";

/** The parts of a line as it is broken to a width. @param {string} text @param {number} width */
const parts = (text, width) => breakLine(text, width).map((start, at, starts) => text.slice(start, starts[at + 1]));

test("a line that fits is not broken", () => {
  assert.deepEqual(breakLine("nn.relu(%x)", 11), [0]);
});

test("a line breaks behind a comma, outside of brackets where it can", () => {
  const text = "%0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=16)";
  assert.deepEqual(parts(text, 50), ["%0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], ", "channels=16)"]);
});

test("a result type breaks before any other blank", () => {
  assert.deepEqual(parts("fn (%x: int32 /* the first */) -> Tensor[(1, 2), int32]", 40)[1], "-> Tensor[(1, 2), int32]");
});

test("a call of one long name breaks behind its bracket, and leaves no semicolon alone", () => {
  assert.deepEqual(parts("  %4 = negative(%bn_data_moving_mean);", 35), ["  %4 = negative(", "%bn_data_moving_mean);"]);
});

test("a word that is longer than a line is cut, and no character is lost", () => {
  const text = `"${"x".repeat(100)}"`;
  assert.equal(parts(text, 30).join(""), text);
  assert.ok(parts(text, 30).every((part) => part.length <= 30));
});

test("in a pane of no width lines still have some characters", () => {
  assert.ok(parts("a b c d e f g h i j k l m n o p", 0).every((part) => part.length <= 8));
});

test("the later parts of a line are indented more than it is, but by no more than a third of the pane", () => {
  assert.equal(hangingIndent("  let %x = 1;", 100), 6);
  assert.equal(hangingIndent(`${" ".repeat(40)}1`, 90), 30);
  assert.equal(hangingIndent("x", 100), 4);
  assert.equal(hangingIndent("x", 9), 3);
});

test("blocks end with the last line that is indented more", () => {
  const texts = ["def @f() {", "  if (%c) {", "    1", "  } else {", "    2", "  }", "}", "", "def @g() {", "  3", "}"];
  assert.deepEqual(blockEnds(texts), [5, 2, -1, 4, -1, -1, -1, -1, 9, -1, -1]);
});

test("blank lines inside a block belong to it, and those behind it do not", () => {
  assert.deepEqual(blockEnds(["a", "  b", "", "  c", ""]), [3, -1, -1, -1, -1]);
});

test("a line has a name where a mark of a name says so, not inside of another name", () => {
  const line = /** @type {import("../../passlab/display/web/protocol.js").LineRow} */ ([
    "add(%x1, %x)",
    [0, 3, 5, -1, 4, 7, 2, -1, 9, 11, 2, -1],
    -1,
  ]);
  assert.equal(hasName(line, "%x"), true);
  assert.equal(hasName(line, "%x1"), true);
  assert.equal(hasName(line, "%"), false);
  assert.equal(hasName(line, "add"), false);
});

test("occurrences of a text are found in any case, and do not overlap", () => {
  assert.deepEqual(occurrences("nn.ReLU relu", "relu"), [3, 7, 8, 12]);
  assert.deepEqual(occurrences("aaa", "aa"), [0, 2]);
  assert.deepEqual(occurrences("abc", "x"), []);
});

test("the definitions of a program are its data types and functions, each up to the next", () => {
  const texts = [
    "type Shape[A] {",
    "  Circle(A),",
    "}",
    "",
    "def @main(",
    "    %x: int32",
    ") -> int32 {",
    "  %x",
    "}",
    "",
    'def @"a b"(%x) {',
    "  %x",
    "}",
  ];
  assert.deepEqual(definitions(texts), [
    { name: "Shape", from: 0, to: 4 },
    { name: "@main", from: 4, to: 10 },
    { name: '@"a b"', from: 10, to: 13 },
  ]);
  assert.deepEqual(definitions(["add(%x, %y)"]), []);
});

test("of a long line of source an error shows what its carets point to, at any width", () => {
  const source = `def @main(%x: Tensor[(4, 8), float32]) { ${"tanh(".repeat(20)}wrong(%x)${")".repeat(20)} }`,
    at = source.indexOf("wrong"),
    text = [
      "error: no operator",
      " --> a:12:9",
      "   |",
      `12 | ${source}`,
      `   | ${" ".repeat(at)}^^^^^`,
      "  help: try",
    ].join("\n");
  for (const width of [24, 40, 80, 120, 400]) {
    const lines = fitExcerpts(text, width).split("\n");
    assert.equal(lines[4].indexOf("^"), lines[3].indexOf("wrong"));
    assert.ok(lines[3].length <= Math.max(width, 13) || width > source.length);
    assert.deepEqual([...lines.slice(0, 3), lines[5]], [...text.split("\n").slice(0, 3), "  help: try"]);
    if (width === 400) assert.equal(lines.join("\n"), text);
    else assert.ok(lines[3].startsWith("12 | …"));
  }
});
