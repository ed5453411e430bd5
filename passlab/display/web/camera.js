// The camera of a graph: where its sheet begins on the screen, and its scale. Nothing here draws.

const MIN_SCALE = 0.02, // to which one can zoom out; a sheet that is shown whole may be smaller
  LEAST_SCALE = 1e-4,
  MAX_SCALE = 4,
  FIT_SCALE = 1.2; // the last of a graph that is shown whole

/** @typedef {[number, number]} Point x, y */
/** @typedef {{width: number, height: number}} Size */

export class Camera {
  /** @param {number} [x] of the sheet's corner on the screen @param {number} [y] @param {number} [scale] */
  constructor(x = 0, y = 0, scale = 1) {
    this.x = x;
    this.y = y;
    this.scale = scale;
  }

  /** A camera as text, as a bookmark keeps it: the point in the middle of the screen, and the scale. @param {Size} screen */
  toText({ width, height }) {
    const [x, y] = [(width / 2 - this.x) / this.scale, (height / 2 - this.y) / this.scale];
    return `${Math.round(x)},${Math.round(y)},${Number(this.scale.toPrecision(4))}`;
  }

  /** The camera that a text means, null for none: it may come from an address. @param {string | undefined} text @param {Size} screen */
  static fromText(text, { width, height }) {
    const [x, y, scale, ...rest] = String(text ?? "")
      .split(",")
      .map((part) => (part.trim() ? Number(part) : Number.NaN));
    if (rest.length || ![x, y, scale].every((number) => Math.abs(number) < 1e7)) return null;
    if (!(scale >= LEAST_SCALE && scale <= MAX_SCALE)) return null;
    return Camera.showing([x, y], [width / 2, height / 2], scale);
  }

  /** The point of the screen at which a point of the sheet is. @param {Point} point @returns {Point} */
  toScreen([x, y]) {
    return [x * this.scale + this.x, y * this.scale + this.y];
  }

  /** The camera that shows a point of the sheet at a point of the screen. @param {Point} point @param {Point} screen @param {number} [scale] */
  static showing([x, y], [screenX, screenY], scale = 1) {
    return new Camera(screenX - x * scale, screenY - y * scale, scale);
  }

  /** The camera with another scale, at which a point of the screen stays where it is. @param {number} by @param {Point} screen */
  zoomed(by, [x, y]) {
    const least = Math.min(MIN_SCALE, this.scale),
      scale = Math.max(least, Math.min(MAX_SCALE, this.scale * by)),
      real = scale / this.scale;
    return new Camera(x - (x - this.x) * real, y - (y - this.y) * real, scale);
  }

  /**
   * The camera that shows a whole sheet as large as possible, in the middle.
   * @param {Size} sheet @param {Size} screen @param {number} margin
   */
  static fitting(sheet, screen, margin) {
    const whole = Math.min((screen.width - 2 * margin) / sheet.width, (screen.height - 2 * margin) / sheet.height),
      scale = Math.max(LEAST_SCALE, Math.min(whole, FIT_SCALE)); // a pane may be smaller than its margins
    return new Camera(
      (screen.width - sheet.width * scale) / 2,
      Math.max(margin, (screen.height - sheet.height * scale) / 2),
      scale,
    );
  }

  /**
   * The camera that follows another one from an earlier view to a later: the same way, and by the same factor.
   * @param {Camera} before of the other @param {Camera} after
   */
  following(before, after) {
    const by = after.scale / before.scale;
    return new Camera(after.x + (this.x - before.x) * by, after.y + (this.y - before.y) * by, this.scale * by);
  }
}
