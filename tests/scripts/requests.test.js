import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, hasKernel } from "../../passlab/display/web/requests.js";
import { FakeModel } from "./fake_model.js";

test("a request reaches the kernel", () => {
  const model = new FakeModel({});
  assert.equal(hasKernel(model), true);
  assert.equal(ask(model, { pair: [0, 1] }), true);
  assert.deepEqual(model.sent, [{ pair: [0, 1] }]);
});

test("a page has no kernel", () => {
  assert.equal(hasKernel({}), false);
  assert.equal(ask({}, { rest: true }), false);
});

test("a kernel that was shut down answers nothing, and the view goes on", () => {
  const send = () => {
    throw new Error("the comm is closed");
  };
  assert.equal(hasKernel({ send }), true);
  assert.equal(ask({ send }, { rest: true }), false);
});
