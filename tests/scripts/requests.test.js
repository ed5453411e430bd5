import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { ask, hasKernel, LIMIT, SOON, WORDS } from "../../passlab/display/web/requests.js";
import { FakeModel } from "./fake_model.js";

// The few parts of elements that a line in a place needs.
class FakeElement {
  constructor() {
    this.kids = /** @type {FakeElement[]} */ ([]);
    this.classList = { add() {}, remove() {} };
    this.textContent = "";
    this.hidden = false;
    this.left = false; // whether the kernel of the view around it has gone
    this.parentNode = /** @type {FakeElement | null} */ (null);
    this.run = () => {};
  }
  /** @param {...FakeElement} kids */
  append(...kids) {
    for (const kid of kids) if (kid instanceof FakeElement) kid.parentNode = this;
    this.kids.push(...kids);
  }
  setAttribute() {}
  /** @param {string} _ @param {() => void} run */
  addEventListener(_, run) {
    this.run = run;
  }
  closest() {
    return this.left ? this : null;
  }
  remove() {
    const place = this.parentNode;
    if (place) place.kids = place.kids.filter((kid) => kid !== this);
    this.parentNode = null;
  }
  /** What it says, "" for nothing. */
  get said() {
    return this.kids.length ? this.kids[0].kids[0].textContent : "";
  }
  /** The button that asks again, null if it is not shown. @returns {FakeElement | null} */
  get again() {
    const button = this.kids[0]?.kids[1];
    return button && !button.hidden ? button : null;
  }
}
const newPlace = () => /** @type {HTMLElement & FakeElement} */ (/** @type {unknown} */ (new FakeElement()));
Object.assign(globalThis, { document: { createElement: () => new FakeElement() } });

/** @typedef {{pair?: number[], rest?: boolean, ticket?: string}} Request */
const newModel = () => /** @type {FakeModel<object, Request, object>} */ (new FakeModel({}));
beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
});

test("a request reaches the kernel with a ticket of its own", () => {
  const model = newModel();
  assert.equal(hasKernel(model), true);
  assert.equal(ask(model, { pair: [0, 1] }, newPlace()), true);
  assert.equal(ask(model, { pair: [0, 2] }, newPlace()), true);
  assert.deepEqual(
    model.sent.map((one) => one.pair),
    [
      [0, 1],
      [0, 2],
    ],
  );
  assert.notEqual(model.sent[0].ticket, model.sent[1].ticket);
});

test("a page has no kernel", () => {
  assert.equal(hasKernel({}), false);
  assert.equal(ask({}, { rest: true }, newPlace()), false);
});

test("an answer in good time is shown without a word", () => {
  const model = newModel(),
    place = newPlace();
  ask(model, { rest: true }, place);
  mock.timers.tick(SOON - 1);
  model.answer({ done: model.sent[0].ticket });
  mock.timers.tick(10 * LIMIT);
  assert.equal(place.said, "");
  assert.equal(model.sent.length, 1);
});

test("a busy kernel is named until it answers, and asked once more with the same ticket", () => {
  const model = newModel(),
    place = newPlace();
  ask(model, { rest: true }, place);
  mock.timers.tick(SOON);
  assert.equal(place.said, WORDS.busy);
  assert.equal(place.again, null);
  mock.timers.tick(LIMIT - SOON);
  assert.equal(place.said, WORDS.silent);
  assert.equal(model.sent.length, 2);
  assert.deepEqual(model.sent[0], model.sent[1]);
  mock.timers.tick(10 * LIMIT);
  assert.equal(model.sent.length, 2);
  model.answer({ done: model.sent[0].ticket });
  assert.equal(place.said, "");
});

test("a reader asks again, which is a new question", () => {
  const model = newModel(),
    place = newPlace();
  ask(model, { rest: true }, place);
  mock.timers.tick(LIMIT);
  place.again?.run();
  assert.equal(model.sent.length, 3);
  assert.notEqual(model.sent[2].ticket, model.sent[0].ticket);
  model.answer({ done: model.sent[2].ticket });
  assert.equal(place.said, "");
});

test("a question that waits already is not sent twice", () => {
  const model = newModel(),
    place = newPlace();
  for (let time = 0; time < 3; time++) ask(model, { pair: [1, 2] }, place);
  assert.equal(model.sent.length, 1);
  model.answer({ done: model.sent[0].ticket });
  ask(model, { pair: [1, 2] }, place);
  assert.equal(model.sent.length, 2);
});

test("a place waits for the last of its questions", () => {
  const model = newModel(),
    place = newPlace();
  ask(model, { pair: [1, 2] }, place);
  ask(model, { pair: [2, 3] }, place);
  mock.timers.tick(SOON);
  model.answer({ done: model.sent[1].ticket });
  assert.equal(place.said, WORDS.busy);
  model.answer({ done: model.sent[0].ticket });
  assert.equal(place.said, "");
});

test("what the kernel could not answer is said", () => {
  const model = newModel(),
    place = newPlace();
  ask(model, { rest: true }, place);
  model.answer({ done: model.sent[0].ticket, problem: "The kernel was interrupted." });
  assert.equal(place.said, "The kernel was interrupted.");
  ask(model, { rest: true }, place);
  model.answer({ done: model.sent[1].ticket });
  assert.equal(place.said, "");
});

test("a kernel that has ended is named at once, or when it ends", () => {
  const send = () => {
    throw new Error("the comm is closed");
  };
  const place = newPlace();
  assert.equal(ask({ send }, { rest: true }, place), true);
  assert.equal(place.said, WORDS.ended);

  const model = newModel(),
    other = newPlace();
  ask(model, { rest: true }, other);
  other.left = true;
  mock.timers.tick(SOON);
  assert.equal(other.said, WORDS.ended);
  ask(model, { pair: [0, 1] }, other);
  assert.equal(other.said, WORDS.ended);
  assert.equal(model.sent.length, 1);
});
