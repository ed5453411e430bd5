import assert from "node:assert/strict";
import { test } from "node:test";
import { Bookmark } from "../../passlab/display/web/place.js";

/** A model that notes what is saved. */
function noted() {
  const saved = /** @type {import("../../passlab/display/web/protocol.js").Place[]} */ ([]);
  let place = /** @type {import("../../passlab/display/web/protocol.js").Place} */ ({});
  const model = {
    get: () => place,
    set: (/** @type {string} */ _, /** @type {typeof place} */ value) => {
      place = value;
    },
    save_changes: () => saved.push(place),
  };
  return { model, saved };
}

test("a view that closes at any moment of a walk keeps its last place, once", () => {
  const browser = /** @type {any} */ (globalThis);
  browser.window = browser;
  for (let length = 0; length < 4; length++) {
    const { model, saved } = noted(),
      bookmark = new Bookmark(/** @type {any} */ (model));
    bookmark.isOpen = true;
    for (let step = 1; step <= length; step++) bookmark.keep({ step: String(step) });
    bookmark.keep({ tab: "diff" });
    bookmark.close();
    bookmark.close();
    assert.deepEqual(saved, [length ? { step: String(length), tab: "diff" } : { tab: "diff" }]);
  }
});
