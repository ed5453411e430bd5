import assert from "node:assert/strict";
import { test } from "node:test";
import { Lineage, Selection, subscribe, syncSelection } from "../../passlab/display/web/selection.js";
import { FakeModel } from "./fake_model.js";

/** @import { Model } from "../../passlab/display/web/model.js" */

// 3 replaced 2, which replaced 1 (the second only because its operand changed); 9 has no predecessor.
const LINKS = [2, 1, 0, -1, 0, 3, 2, 1, 7, 1, 9, -1, 1, -1, 0];

test("a lineage knows predecessors, the newest first", () => {
  const lineage = new Lineage(LINKS);
  assert.deepEqual(lineage.ancestors(3), [3, 2, 1]);
  assert.deepEqual(lineage.ancestors(9), [9]);
  assert.deepEqual(lineage.links.get(3), { parent: 2, event: 1, rule: 7, rebuilt: true });
});

test("it knows nodes that have replaced another or were replaced, and no others", () => {
  const lineage = new Lineage(LINKS);
  assert.deepEqual(
    [1, 2, 3, 9, 4].map((node) => lineage.has(node)),
    [true, true, true, true, false],
  );
});

test("links in a circle come to an end", () => {
  assert.deepEqual(new Lineage([1, 2, 0, -1, 0, 2, 1, 0, -1, 0]).ancestors(1), [1, 2]);
});

test("a selected node selects what it came from and what it became", () => {
  const selection = new Selection();
  selection.setLineage(LINKS);
  selection.set([2]);
  assert.deepEqual(
    [1, 2, 3, 9].map((node) => selection.has(node)),
    [true, true, true, false],
  );
  assert.equal(selection.has([9, 3]), true);
  assert.equal(selection.has(-1), false);
});

test("relatives of other views count, but only those of the selected nodes", () => {
  const selection = new Selection();
  selection.set([20], { of: [20], before: [[10]], after: [30] });
  assert.deepEqual(
    [10, 20, 30, 40].map((node) => selection.has(node)),
    [true, true, true, false],
  );
  selection.set([21], { of: [20], before: [[10]], after: [30] });
  assert.deepEqual(
    [10, 21, 30].map((node) => selection.has(node)),
    [false, true, false],
  );
});

test("a node of another view stands for its nearest predecessor that this view has", () => {
  const selection = new Selection();
  selection.setLineage(LINKS);
  selection.set([50], { of: [50], before: [[40, 2, 1]], after: [] });
  assert.deepEqual(selection.roots, [2]);
  assert.equal(selection.has(3), true);
});

test("listeners hear changes, and nothing else", () => {
  const selection = new Selection();
  let count = 0;
  selection.listen(() => count++);
  selection.set([1]);
  selection.set([1]);
  selection.set([1, -1]);
  assert.equal(count, 1);
  selection.set([]);
  assert.equal(count, 2);
  assert.equal(selection.empty, true);
});

test("selecting what is selected clears the selection", () => {
  const selection = new Selection();
  selection.toggle([1, 2]);
  assert.deepEqual(selection.nodes, [1, 2]);
  selection.toggle([2]);
  assert.deepEqual(selection.nodes, []);
});

test("a selection and its model are kept alike until the view is closed", () => {
  const model = new FakeModel({ nodes: [1], related: {} }),
    selection = new Selection();
  const leave = syncSelection(model, selection);
  assert.deepEqual(selection.nodes, [1]);
  selection.set([2]);
  assert.deepEqual(model.get("nodes"), [2]);
  assert.equal(model.saved, 1);
  model.set("nodes", [3]);
  assert.deepEqual(selection.nodes, [3]);
  assert.equal(model.saved, 1, "what comes from the model is not sent back");
  leave();
  model.set("nodes", [4]);
  assert.deepEqual(selection.nodes, [3]);
});

test("handlers are called until they are removed", () => {
  const fake = new FakeModel({ at: 0 }),
    heard = /** @type {unknown[]} */ ([]);
  const model = /** @type {Model<{at: number}, never, {text: string}> & {answer(answer: object): void}} */ (fake);
  const leave = subscribe(model, { "change:at": () => heard.push("at"), "msg:custom": (answer) => heard.push(answer) });
  model.set("at", 1);
  model.answer({ text: "yes" });
  leave();
  model.set("at", 2);
  model.answer({ text: "no" });
  assert.deepEqual(heard, ["at", { text: "yes" }]);
});
