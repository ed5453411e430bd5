import assert from "node:assert/strict";
import { test } from "node:test";
import { Camera } from "../../passlab/display/web/camera.js";

const SCREEN = { width: 800, height: 600 };

test("a point of the sheet is shown where it is asked for", () => {
  const camera = Camera.showing([50, 20], [400, 300], 0.5);
  assert.deepEqual(camera.toScreen([50, 20]), [400, 300]);
  assert.deepEqual(camera.toScreen([60, 20]), [405, 300]);
});

test("the point under the pointer stays there while the scale changes", () => {
  const camera = new Camera(13, 7, 0.8),
    pointer = /** @type {[number, number]} */ ([213, 107]);
  const point = /** @type {[number, number]} */ ([(213 - 13) / 0.8, (107 - 7) / 0.8]);
  for (const by of [0.5, 1.25, 3]) {
    const [x, y] = camera.zoomed(by, pointer).toScreen(point);
    assert.ok(Math.abs(x - 213) < 1e-9 && Math.abs(y - 107) < 1e-9);
  }
});

test("the scale has limits, at which nothing moves", () => {
  const far = new Camera(10, 10, 0.02),
    near = new Camera(10, 10, 4);
  assert.deepEqual({ ...far.zoomed(0.1, [99, 99]) }, { ...far });
  assert.deepEqual({ ...near.zoomed(9, [99, 99]) }, { ...near });
  assert.equal(new Camera(0, 0, 1).zoomed(100, [0, 0]).scale, 4);
});

test("a sheet is shown whole, inside its margins, in the middle", () => {
  for (const sheet of [
    { width: 5000, height: 100 },
    { width: 100, height: 5000 },
    { width: 768, height: 568 },
  ]) {
    const camera = Camera.fitting(sheet, SCREEN, 16),
      [right, bottom] = camera.toScreen([sheet.width, sheet.height]);
    assert.ok(camera.x >= 15.999 && camera.y >= 15.999 && right <= 784.001 && bottom <= 584.001);
    assert.ok(Math.abs(camera.x + right - 800) < 1e-9);
  }
});

test("a small sheet is enlarged a little", () => {
  assert.equal(Camera.fitting({ width: 10, height: 10 }, SCREEN, 16).scale, 1.2);
});

test("a second graph moves as far as the first, and zooms by the same factor around the same place", () => {
  const before = new Camera(0, 0, 1),
    other = new Camera(100, 50, 0.5);
  assert.deepEqual({ ...other.following(before, new Camera(30, -10, 1)) }, { x: 130, y: 40, scale: 0.5 });
  const zoomed = before.zoomed(2, [400, 300]),
    followed = other.following(before, zoomed);
  assert.deepEqual({ ...followed }, { ...other.zoomed(2, [400, 300]) });
});

test("any sheet on any screen has a camera that is kept, and out is never in", () => {
  for (const side of [1, 100, 3000, 100000, 2e6])
    for (const width of [0, 20, 40, 220, 1400]) {
      const screen = { width, height: 40 },
        camera = Camera.fitting({ width: side, height: 100 }, screen, 24);
      assert.ok(camera.scale > 0);
      assert.ok(camera.zoomed(0.8, [0, 0]).scale <= camera.scale);
      assert.ok(camera.zoomed(1.25, [0, 0]).scale >= camera.scale);
      assert.equal(Camera.fromText(camera.toText(screen), screen)?.scale, Number(camera.scale.toPrecision(4)));
    }
});
