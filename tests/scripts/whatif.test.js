import assert from "node:assert/strict";
import { test } from "node:test";
import { entriesOf, parsePass, passesLine, passText, recordedPasses } from "../../passlab/display/web/whatif.js";

/** @import { StepRow } from "../../passlab/display/web/protocol.js" */

test("a pass with options is read and written alike", () => {
  for (const text of [
    "FuseOps",
    "FuseOps(fuse_opt_level=2)",
    "ConvertLayout(desired_layouts={'nn.conv2d': ['NHWC', \"a,b\"]}, other=f(1, 2))",
  ]) {
    const [name, given] = parsePass(text) ?? assert.fail();
    assert.equal(passText(name, given), text);
  }
  assert.deepEqual(parsePass("A()")?.[0], "A");
});

test("an option that is cleared is left out, and what is no call of options is not read", () => {
  assert.equal(
    passText(
      "A",
      new Map([
        ["x", " "],
        ["y", "1"],
      ]),
    ),
    "A(y=1)",
  );
  for (const text of ["", "A(", "A(1)", "A(x==1)", "A B"]) assert.equal(parsePass(text), null);
});

test("the pipeline of a recording is a line of a notebook", () => {
  const step = (/** @type {string} */ name, /** @type {object} */ more) => ({
    name,
    depth: 0,
    outcome: "changed",
    role: "",
    ...more,
  });
  const steps = /** @type {StepRow[]} */ (
    /** @type {unknown} */ ([
      step("input", { outcome: "input" }),
      step("InferType", { role: "required" }),
      step("FuseOps(fuse_opt_level=2)", {}),
      step("InferType", { depth: 1 }),
      step("FastMath", { outcome: "skipped" }),
    ])
  );
  const line = passesLine({ program: "net", options: "-O 3" }, recordedPasses(steps));
  assert.equal(line, "%passes net FuseOps(fuse_opt_level=2), FastMath -O 3");
});

test("edits of a pipeline are read back, unless they are of another recording or no edits", () => {
  const entry = { number: 1, text: "A", recorded: "A", on: false },
    added = { number: null, text: "B(x=1)", recorded: "", on: true };
  assert.deepEqual(entriesOf(JSON.stringify([entry, added]), ["A", "C"]), [entry, added]);
  for (const text of ["", "null", "[]", "{", "3", "{}", "[1]", "[null]", JSON.stringify([{ ...entry, recorded: "Z" }])])
    assert.equal(entriesOf(text, ["A", "C"]), null);
});
