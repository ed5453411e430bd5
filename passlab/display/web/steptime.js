// The run from left to right: kernels as bars, the depth of calls, marks, and below it the live memory.
import { el, formatCount, svg } from "./dom.js";
import { bytesText } from "./steptensor.js";

const HEIGHT = 44,
  MEMORY_HEIGHT = 62,
  MAX_MARKS = 400; // pixels; a run can stop at every instant, and each mark costs a path
const SHAPES = /** @type {Record<string, string>} */ ({
  "pl-stop-marks": "M1 2h8l-4 6z",
  "pl-nonfinite-marks": "M2 2l6 6m0 -6l-6 6",
  "pl-peak-mark": "M5 0.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z",
  "": "M1 1h8v8h-8z",
});

/** @typedef {import("./steprun.js").Run} Run */
/** @typedef {import("./steprun.js").Break} Break */

export class Timeline {
  /** @param {(at: number) => void} go called with the instant to go to */
  constructor(go) {
    this.go = go;
    this.run = /** @type {Run | null} */ (null);
    this.breaks = /** @type {Break[]} */ ([]);
    this.from = 0; // the shown range of the run
    this.to = 0;
    this.branchStart = 0; // the instant at which a branch left its original
    this.width = 0;
    this.bars = /** @type {Element[]} */ ([]);
    this.isScheduled = false;
    this.drawing = svg("svg", {
      class: "pl-time-drawing",
      height: HEIGHT,
      role: "img",
      "aria-label": "timeline: kernels, calls and marks",
    });
    this.memory = svg("svg", {
      class: "pl-time-drawing",
      height: MEMORY_HEIGHT,
      role: "img",
      "aria-label": "live memory and its reuse",
    });
    this.cursor = el("div", "pl-cursor");
    this.tooltip = el("div", "pl-tooltip");
    this.tooltip.hidden = true;
    this.facts = el("span", "");
    this.legend = el("span", "pl-time-legend");
    this.at = 0;
    this.rangeMark = el("div", "pl-time-range");
    this.rangeMark.hidden = true;
    this.resetButton = el("button", "pl-link");
    this.resetButton.hidden = true;
    this.resetButton.addEventListener("click", () => this.zoom(0, 0));
    this.track = el("div", "pl-track", this.drawing, this.memory, this.cursor, this.rangeMark, this.tooltip);
    this.track.setAttribute("role", "slider");
    this.track.setAttribute("aria-label", "instant");
    this.track.setAttribute("aria-valuemin", "0");
    this.track.tabIndex = 0; // the arrow keys step
    this.element = el(
      "div",
      "pl-timeline",
      this.track,
      el("div", "pl-memory-facts", this.facts, this.resetButton, this.legend),
    );
    this.addListeners();
    this.resizeObserver = new ResizeObserver(() => {
      if (this.track.clientWidth !== this.width) this.schedule();
    });
    this.resizeObserver.observe(this.track);
  }

  addListeners() {
    const at = (/** @type {MouseEvent} */ event) => {
      const box = this.track.getBoundingClientRect();
      return Math.round(
        this.from + Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * (this.to - this.from),
      );
    };
    let start = -1; // the start of the range drawn with Shift
    this.track.addEventListener("pointerdown", (event) => {
      this.track.setPointerCapture(event.pointerId);
      if (event.shiftKey) start = at(event);
      else this.go(at(event));
    });
    this.track.addEventListener("pointermove", (event) => {
      if (start >= 0) this.showRange(start, at(event));
      else if (this.track.hasPointerCapture(event.pointerId)) this.go(at(event));
      this.hover(at(event));
    });
    this.track.addEventListener("pointerup", (event) => {
      const end = at(event);
      if (start >= 0 && Math.abs(end - start) > 1) this.zoom(Math.min(start, end), Math.max(start, end));
      start = -1;
      this.rangeMark.hidden = true;
    });
    this.track.addEventListener("dblclick", () => this.zoom(0, 0));
    this.track.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return; // unmodified scrolling scrolls the page
        event.preventDefault();
        const middle = at(event),
          span = this.to - this.from,
          delta = event.deltaY || event.deltaX;
        if (event.shiftKey) return this.zoom(...this.within(this.from + (Math.sign(delta) * span) / 8, span));
        const newSpan = span * (delta < 0 ? 0.75 : 1 / 0.75),
          fraction = (middle - this.from) / Math.max(1, span);
        this.zoom(...this.within(middle - fraction * newSpan, newSpan));
      },
      { passive: false },
    );
    this.track.addEventListener("pointerleave", () => {
      this.tooltip.hidden = true;
    });
  }

  /** A range of some length inside the run. @param {number} from @param {number} span @returns {[number, number]} */
  within(from, span) {
    const length = this.run ? this.run.length : 0,
      newSpan = Math.max(8, Math.min(length, span)),
      start = Math.max(0, Math.min(length - newSpan, from));
    return [Math.round(start), Math.round(start + newSpan)];
  }

  /** Show a range of the run; an empty range shows all. @param {number} from @param {number} to */
  zoom(from, to) {
    const length = this.run ? this.run.length : 0;
    [this.from, this.to] = to - from < 2 ? [0, length] : this.within(from, to - from);
    this.resetButton.hidden = this.from === 0 && this.to >= length;
    this.resetButton.textContent = `${formatCount(this.branchStart + this.from)} … ${formatCount(this.branchStart + this.to)}: show the whole run`;
    [this.width, this.bars] = [0, []];
    this.draw();
    this.move(this.at);
  }

  /** Mark the range being drawn. @param {number} a @param {number} b */
  showRange(a, b) {
    this.rangeMark.hidden = false;
    this.rangeMark.style.left = `${100 * this.fraction(Math.min(a, b))}%`;
    this.rangeMark.style.width = `${100 * Math.abs(this.fraction(b) - this.fraction(a))}%`;
  }

  /** The position of an instant, from 0 at the left to 1 at the right. @param {number} at */
  fraction(at) {
    return (at - this.from) / Math.max(1, this.to - this.from);
  }

  /** @param {number} at */
  hover(at) {
    const run = this.run;
    if (!run) return;
    const point = run.pointAt(at),
      fraction = this.fraction(at);
    const name = point < 0 ? run.data.end.text : run.code.names[point];
    const durations =
      at < run.length && run.code.roles[run.point[at]] === 3 ? ` · ${micros(run.columns.micros[at])}` : "";
    this.tooltip.textContent = `${formatCount(this.branchStart + at)}  ${name}${durations}`;
    this.tooltip.hidden = false;
    this.tooltip.style.left = `${100 * fraction}%`;
    this.tooltip.style.transform = `translateX(${fraction > 0.5 ? "-105%" : "5%"})`;
  }

  /** @param {Run} run @param {Break[]} breaks */
  show(run, breaks) {
    const other = this.run !== run;
    this.run = run;
    this.breaks = breaks;
    if (other) [this.width, this.bars, this.from, this.to] = [0, [], 0, run.length];
    this.schedule();
  }

  /** Draw after the next paint, since other panes are more urgent. */
  schedule() {
    if (this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() =>
      setTimeout(() => {
        this.isScheduled = false;
        this.draw();
      }),
    );
  }

  /** @param {number} at */
  move(at) {
    const run = this.run;
    if (!run) return;
    const span = this.to - this.from;
    if (span < run.length && (at < this.from || at > this.to) && at !== this.at) return this.scrollTo(at);
    this.at = at;
    this.cursor.style.left = `${100 * this.fraction(at)}%`;
    this.cursor.hidden = at < this.from || at > this.to;
    this.track.setAttribute("aria-valuenow", String(at));
    this.track.setAttribute("aria-valuemax", String(run.length));
    const { live, peak, peakAt, total, count } = run.data.storage;
    if (!count) return this.facts.replaceChildren();
    let low = 0,
      high = live.length;
    while (low < high)
      [low, high] = live[(low + high) >> 1][0] <= at ? [((low + high) >> 1) + 1, high] : [low, (low + high) >> 1];
    const now = low ? live[low - 1][1] : 0,
      jump = el("button", "pl-link", `peak ${bytesText(peak)}`);
    jump.addEventListener("click", () => this.go(peakAt));
    this.facts.replaceChildren(
      el("b", "", bytesText(now)),
      " live of ",
      bytesText(total),
      " in ",
      formatCount(count),
      count === 1 ? " storage · " : " storages · ",
      jump,
    );
  }

  /** Move the shown range so that it contains an instant. @param {number} at */
  scrollTo(at) {
    const span = this.to - this.from;
    this.at = at;
    this.zoom(...this.within(at - span / 2, span));
  }

  draw() {
    const run = this.run,
      width = this.track.clientWidth;
    if (!run || !width) return;
    this.drawLegend(run);
    const unchanged = width === this.width && this.bars.length > 0;
    if (!unchanged) this.bars = this.kernels(run, width);
    this.drawing.replaceChildren(...this.bars, ...this.marks(run, width));
    if (unchanged) return;
    this.width = width;
    for (const drawing of [this.drawing, this.memory])
      drawing.setAttribute("viewBox", `0 0 ${width} ${drawing === this.drawing ? HEIGHT : MEMORY_HEIGHT}`);
    this.memory.replaceChildren(...this.storages(run, width));
    this.memory.style.display = run.data.storage.count ? "" : "none";
  }

  /** Show the legend of the marks in use. @param {Run} run */
  drawLegend(run) {
    const { count, blocks } = run.data.storage,
      has = (/** @type {number} */ role) => run.code.roles.includes(role);
    const entries = /** @type {[string, string, unknown][]} */ ([
      ["pl-kernel-bars", "kernels (height: time)", has(3)],
      ["pl-call-depth", "depth of calls", run.depth.some((depth) => depth > 0)],
      ["pl-stop-marks", "breakpoints", this.breaks.some((b) => b.on)],
      ["pl-nonfinite-marks", "NaN, infinities", Object.keys(run.nonfinite).length],
      ["pl-live-memory", "live memory", count],
      ["pl-peak-mark", "peak", count],
      ["pl-block-new", "storages", count],
      ["pl-block-reused", "reused", blocks.some(([, , , reused]) => reused)],
    ]);
    this.legend.replaceChildren(
      ...entries
        .filter(([, , is]) => is)
        .map(([className, meaning]) =>
          el(
            "span",
            "pl-key",
            svg(
              "svg",
              { viewBox: "0 0 10 10", width: 9, height: 9, "aria-hidden": "true" },
              svg("path", { d: SHAPES[className] || SHAPES[""], class: className }),
            ),
            meaning,
          ),
        ),
    );
  }

  /** @param {Run} run @param {number} width @returns {Element[]} */
  kernels(run, width) {
    const span = Math.max(1, this.to - this.from),
      buckets = Math.max(1, Math.min(width / 2, span)),
      step = width / buckets;
    const maxTimes = new Float32Array(Math.ceil(buckets)),
      maxDepths = new Int32Array(Math.ceil(buckets));
    let longest = 1,
      deepest = 1;
    const { roles } = run.code,
      { point, depth, frameOf } = run,
      durations = run.columns.micros,
      fraction = buckets / span;
    for (let e = this.from; e < this.to; e++) {
      const b = Math.min(maxTimes.length - 1, Math.floor((e - this.from) * fraction)),
        down = depth[frameOf[e]];
      if (durations[e] > maxTimes[b] && roles[point[e]] === 3) maxTimes[b] = durations[e];
      if (down > maxDepths[b]) maxDepths[b] = down;
    }
    for (let b = 0; b < maxTimes.length; b++)
      [longest, deepest] = [Math.max(longest, maxTimes[b]), Math.max(deepest, maxDepths[b])];
    const base = HEIGHT - 8;
    let bars = "",
      calls = "";
    for (let b = 0; b < maxTimes.length; b++) {
      const barHeight = maxTimes[b] ? 3 + (base - 8) * (Math.log1p(maxTimes[b]) / Math.log1p(longest)) : 0;
      if (barHeight)
        bars += `M${(b * step).toFixed(1)} ${base}v${(-barHeight).toFixed(1)}h${Math.max(1, step - 0.6).toFixed(1)}v${barHeight.toFixed(1)}z`;
      if (maxDepths[b])
        calls += `M${(b * step).toFixed(1)} ${HEIGHT - 1}v${(-1 - (5 * maxDepths[b]) / deepest).toFixed(1)}h${step.toFixed(1)}v${(1 + (5 * maxDepths[b]) / deepest).toFixed(1)}z`;
    }
    return [
      svg("path", { d: bars, class: "pl-kernel-bars" }),
      svg("path", { d: calls, class: "pl-call-depth" }),
      svg("path", { d: `M0 ${base + 0.5}h${width}`, class: "pl-axis" }),
    ];
  }

  /**
   * Breakpoints are triangles, NaN and infinities crosses, the peak of memory a diamond.
   * @param {Run} run @param {number} width @returns {Element[]}
   */
  marks(run, width) {
    const x = (/** @type {number} */ at) => width * this.fraction(at),
      on = this.breaks.filter((b) => b.on),
      markedAt = new Set();
    const plain = Object.keys(run.nonfinite).length === 0;
    let stops = "",
      nonfinite = "",
      left = on.length || !plain ? MAX_MARKS : 0;
    for (let at = this.from; at <= this.to && left > 0; at++) {
      if (on.some((b) => run.stops(b, at)) && !markedAt.has(Math.round(x(at)))) {
        markedAt.add(Math.round(x(at)));
        stops += `M${(x(at) - 4).toFixed(1)} 0h8l-4 6z`;
        left--;
      }
      if (!plain && at > 0 && run.nonfiniteAt(at - 1) && !markedAt.has(`nonfinite${Math.round(x(at) / 4)}`)) {
        markedAt.add(`nonfinite${Math.round(x(at) / 4)}`);
        nonfinite += `M${(x(at) - 3).toFixed(1)} 9l6 6m0 -6l-6 6`;
        left--;
      }
    }
    const marks = [
      svg("path", { d: nonfinite, class: "pl-nonfinite-marks" }),
      svg("path", { d: stops, class: "pl-stop-marks" }),
    ];
    const { peakAt, count } = run.data.storage;
    if (count)
      marks.push(svg("path", { d: `M${x(peakAt).toFixed(1)} ${HEIGHT - 8}l4 -4l-4 -4l-4 4z`, class: "pl-peak-mark" }));
    return marks;
  }

  /** @param {Run} run @param {number} width @returns {Element[]} */
  storages(run, width) {
    const { live, peak, blocks, lanes } = run.data.storage,
      x = (/** @type {number} */ at) => Math.max(-2, Math.min(width + 2, width * this.fraction(at)));
    const half = 24;
    let area = `M0 ${half}`,
      lastBytes = 0;
    for (const [at, bytes] of live) {
      area += `H${x(at).toFixed(1)}V${(half - (half - 3) * (bytes / Math.max(1, peak))).toFixed(1)}`;
      lastBytes = bytes;
    }
    area += `H${width}${lastBytes ? `V${half}` : ""}V${half}z`;
    const room = MEMORY_HEIGHT - half - 3,
      rowHeight = Math.max(2, Math.min(6, room / Math.max(1, lanes)));
    let created = "",
      reusing = "";
    for (const [start, freed, lane, reused] of blocks) {
      const top = half + 3 + ((lane * rowHeight) % Math.max(rowHeight, room - rowHeight));
      const piece = `M${x(start).toFixed(1)} ${top.toFixed(1)}H${Math.max(x(start) + 0.8, x(freed) - 0.5).toFixed(1)}v${Math.max(0.5, rowHeight - 0.7).toFixed(1)}H${x(start).toFixed(1)}z`;
      if (reused) reusing += piece;
      else created += piece;
    }
    return [
      svg("path", { d: area, class: "pl-live-memory" }),
      svg("path", { d: created, class: "pl-block-new" }),
      svg("path", { d: reusing, class: "pl-block-reused" }),
    ];
  }

  close() {
    this.resizeObserver.disconnect();
  }
}

/** @param {number} us */
export const micros = (us) =>
  us >= 1e6
    ? `${(us / 1e6).toFixed(2)} s`
    : us >= 1000
      ? `${(us / 1000).toFixed(us >= 1e5 ? 0 : 1)} ms`
      : `${us >= 10 ? us.toFixed(0) : us.toFixed(1)} µs`;
