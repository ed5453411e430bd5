// A recorded run: its log, the state at any instant, and the targets of steps. Nothing here draws.

/** @import { StepperData } from "./protocol.js" */
const PLAIN = 0,
  CALL = 1,
  RETURN = 2,
  KERNEL = 3;
const NONFINITE = /** @type {Record<string, number>} */ ({ nan: 1, inf: 2, "not finite": 3 });

const TIME_STEPS = 2000,
  VARIES = -2;
export const WAITING = 1; // the number of a value that is sent later

/** @param {string} text base64 @returns {Uint8Array} */
function bytesOf(text) {
  const Bytes = /** @type {{fromBase64?: (text: string) => Uint8Array}} */ (/** @type {unknown} */ (Uint8Array)); // newer than TypeScript's library
  if (Bytes.fromBase64) return Bytes.fromBase64(text);
  const raw = atob(text),
    bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

/** Decode integers of at least -1. @param {string} text the width in bytes, then base64 of each integer plus one @returns {Int32Array} */
function ints(text) {
  const { buffer } = bytesOf(text.slice(1)),
    stored =
      text[0] === "1" ? new Uint8Array(buffer) : text[0] === "2" ? new Uint16Array(buffer) : new Uint32Array(buffer);
  const numbers = new Int32Array(stored.length);
  for (let i = 0; i < numbers.length; i++) numbers[i] = stored[i] - 1;
  return numbers;
}

/** The start of each part. @param {Int32Array} counts @returns {Int32Array} */
function prefixSums(counts) {
  const starts = new Int32Array(counts.length + 1);
  for (let i = 0; i < counts.length; i++) starts[i + 1] = starts[i] + counts[i];
  return starts;
}

/** @param {Int32Array} steps @returns {Float32Array} microseconds */
function times(steps) {
  const micros = new Float32Array(steps.length);
  for (let i = 0; i < micros.length; i++) micros[i] = Math.expm1(steps[i] / TIME_STEPS);
  return micros;
}

/**
 * Repeat numbers by counts, each time increased by `by`.
 * @param {Int32Array} counts for how long @param {Int32Array} from @param {number} length @param {number} by
 * @returns {Int32Array}
 */
function expandRuns(counts, from, length, by) {
  const numbers = new Int32Array(length);
  for (let i = 0, e = 0; i < counts.length; i++)
    for (let end = e + counts[i], n = from[i]; e < end; e++, n += by) numbers[e] = n;
  return numbers;
}

/**
 * @typedef {{text: string, mask: Uint8Array | null, nonfinite: number, on: boolean}} Break a breakpoint: program points, or kinds of non-finite numbers
 * @typedef {{frame: number, pc: number, func: number, depth: number}} Place
 */

export class Run {
  /** @param {StepperData} data */
  constructor(data) {
    this.data = data;
    this.length = data.length;
    this.code = data.code;
    this.texts = data.values.texts;
    this.nonfinite = data.values.nonfinite;
    this.point = expandRuns(ints(data.runs), ints(data.runPoints), this.length, 1);
    this.latePictures = new Set(data.values.late);
    this.parameters = ints(data.given);
    this.parametersAt = prefixSums(ints(data.givenCount));
    this.parent = ints(data.parent);
    this.func = ints(data.function);
    this.created = ints(data.created);
    this.result = ints(data.result);
    this.depth = ints(data.depth);
    const to = ints(data.switchedTo);
    this.last = to.length ? to[to.length - 1] : -1;
    this.frameOf = expandRuns(ints(data.switches), to, this.length, 0);
    this.writes = /** @type {{value: Int32Array, micros: Float32Array} | null} */ (null);
    this.indexed =
      /** @type {{toFrame: Int32Array, toRegister: Int32Array, events: Int32Array, starts: Int32Array} | null} */ (
        null
      );
  }

  /** The writes of each instruction, and the times of kernels. The first paint, at the start of a run, needs neither. */
  get columns() {
    if (this.writes) return this.writes;
    const { length, point, data } = this,
      { roles } = this.code,
      { always } = data,
      other = ints(data.value),
      took = times(ints(data.micros));
    const value = new Int32Array(length),
      micros = new Float32Array(length);
    for (let e = 0, v = 0, k = 0; e < length; e++) {
      const s = point[e],
        number = always[s];
      value[e] = number === VARIES ? other[v++] : number;
      if (roles[s] === KERNEL) micros[e] = took[k++];
    }
    this.writes = { value, micros };
    return this.writes;
  }

  /** Sort the writes by frame, so that those of one frame are found directly. */
  get index() {
    if (this.indexed) return this.indexed;
    const { length, point, frameOf, parent, result } = this,
      { roles, written, results } = this.code;
    const toFrame = new Int32Array(length),
      toRegister = new Int32Array(length),
      starts = new Int32Array(parent.length + 1);
    const own = Int32Array.from(roles, (role, s) =>
      results[s].length ? results[s][0] : role === CALL ? -1 : written[s],
    );
    for (let e = 0; e < length; e++) {
      const s = point[e],
        frame = frameOf[e],
        back = roles[s] === RETURN,
        to = back ? parent[frame] : frame;
      const register = to < 0 ? -1 : back ? result[frame] : own[s];
      toFrame[e] = to;
      toRegister[e] = register;
      if (register >= 0) starts[to + 1]++;
    }
    for (let f = 0; f < parent.length; f++) starts[f + 1] += starts[f];
    const fill = starts.slice(),
      events = new Int32Array(starts[parent.length]);
    for (let e = 0; e < length; e++) if (toRegister[e] >= 0) events[fill[toFrame[e]]++] = e;
    this.indexed = { toFrame, toRegister, events, starts };
    return this.indexed;
  }

  /** The frame that runs at an instant, and its instruction; null after the end. @param {number} at @returns {Place | null} */
  place(at) {
    if (at < this.length) {
      const frame = this.frameOf[at],
        func = this.func[frame];
      return { frame, func, pc: this.point[at] - this.data.functions[func].base, depth: this.depth[frame] };
    }
    if (this.data.end.pc === undefined || this.last < 0) return null;
    return { frame: this.last, func: this.func[this.last], pc: this.data.end.pc, depth: this.depth[this.last] };
  }

  /** The next instruction, -1 at the end. @param {number} at */
  pointAt(at) {
    const place = this.place(at);
    return place ? this.data.functions[place.func].base + place.pc : -1;
  }

  /**
   * The registers of a frame at an instant: numbers of values (0: empty), and the events that wrote them (-1: none).
   * @param {number} frame @param {number} at
   */
  registers(frame, at) {
    const size = this.data.functions[this.func[frame]].size,
      values = new Int32Array(size),
      by = new Int32Array(size).fill(-1);
    const parameters = this.parameters.subarray(this.parametersAt[frame], this.parametersAt[frame + 1]);
    for (let i = 0; i < parameters.length && i < size; i++)
      [values[i], by[i]] = [parameters[i], parameters[i] ? this.created[frame] : -1];
    if (at <= this.created[frame] + 1) return { values, by };
    const { events, starts, toRegister } = this.index,
      { value } = this.columns;
    for (let i = starts[frame]; i < starts[frame + 1]; i++) {
      const e = events[i];
      if (e >= at) break;
      values[toRegister[e]] = value[e];
      by[toRegister[e]] = e;
      const more = this.data.more[e];
      if (more) for (let m = 0; m < more.length; m += 2) [values[more[m]], by[more[m]]] = [more[m + 1], e];
    }
    return { values, by };
  }

  /** The registers of `frame` that event `e` wrote. @param {number} e @param {number} frame @returns {number[]} */
  writtenBy(e, frame) {
    if (e < 0 || this.index.toRegister[e] < 0 || this.index.toFrame[e] !== frame) return [];
    const more = this.data.more[e] || [];
    return [this.index.toRegister[e], ...more.filter((_, i) => i % 2 === 0)];
  }

  /** The frames at an instant, innermost first, `most` of them. @param {number} at @param {number} most @returns {Place[]} */
  stack(at, most) {
    const frames = [],
      top = this.place(at);
    let place = top;
    while (place && frames.length < most) {
      frames.push(place);
      const frame = this.parent[place.frame];
      place =
        frame < 0
          ? null
          : {
              frame,
              func: this.func[frame],
              pc: this.resumePoint(frame, this.created[place.frame]),
              depth: this.depth[frame],
            };
    }
    return frames;
  }

  /** The point where the caller of a frame created by an event continues. @param {number} frame @param {number} event */
  resumePoint(frame, event) {
    while (event >= 0 && this.frameOf[event] !== frame) event = this.created[this.frameOf[event]];
    return event < 0 ? this.data.waits[frame] || 0 : this.point[event] - this.data.functions[this.func[frame]].base + 1;
  }

  /**
   * The operands from which a register's value was computed, as [frame, register].
   * @param {number} e @param {number} frame @param {number} register @returns {[number, number][]}
   */
  inputs(e, frame, register) {
    const point = this.point[e],
      from = this.frameOf[e],
      { reads, calls, roles } = this.code;
    if (roles[point] === CALL && this.created[frame] === e) {
      const captured = this.data.functions[this.func[frame]].params.length - calls[point].length,
        operand = calls[point][register - captured];
      return register < captured ? [[from, reads[point][0]]] : operand >= 0 ? [[from, operand]] : [];
    }
    return [...new Set(reads[point])].map((r) => [from, r]);
  }

  // ---- moving
  /** @param {number} at @param {number} direction 1 or -1 */
  step(at, direction) {
    return Math.max(0, Math.min(this.length, at + direction));
  }

  /** Step over calls. @param {number} at @param {number} direction */
  next(at, direction) {
    const to = this.step(at, direction);
    if (at >= this.length) return to;
    const frame = this.frameOf[at],
      depth = this.depth[frame];
    for (let i = to; i >= 0 && i < this.length; i += direction)
      if (this.frameOf[i] === frame || this.depth[this.frameOf[i]] < depth) return i;
    return direction > 0 ? this.length : 0;
  }

  /** Step out of this frame: to its return, or back to its call. @param {number} at @param {number} direction */
  finish(at, direction) {
    const place = this.place(at);
    if (!place) return this.step(at, direction);
    if (direction < 0) return Math.max(0, this.created[place.frame]);
    for (let i = at; i < this.length; i++) if (this.depth[this.frameOf[i]] < place.depth) return i;
    return this.length;
  }

  /** To the next or the previous kernel. @param {number} at @param {number} direction */
  kernel(at, direction) {
    for (let i = at + direction; i >= 0 && i < this.length; i += direction)
      if (this.code.roles[this.point[i]] === KERNEL) return i;
    return direction > 0 ? this.length : 0;
  }

  /** To an instruction of another source line, if lines are known. @param {number} at @param {number} direction */
  line(at, direction) {
    const { source } = this.code,
      lines = (/** @type {number} */ i) => (i < this.length ? source[this.point[i]].join() : ""),
      here = lines(at);
    for (let i = at + direction; i >= 0 && i < this.length; i += direction) if (lines(i) && lines(i) !== here) return i;
    return direction > 0 ? this.length : 0;
  }

  /** To a breakpoint. @param {number} at @param {number} direction @param {Break[]} breaks @param {[number, number][]} watches frame, register */
  proceed(at, direction, breaks, watches) {
    const on = breaks.filter((b) => b.on);
    for (let i = at + direction; i >= 0 && i <= this.length; i += direction) {
      for (const b of on) if (this.stops(b, i)) return i;
      for (const [frame, register] of watches) if (i > 0 && this.writtenBy(i - 1, frame).includes(register)) return i;
    }
    return direction > 0 ? this.length : 0;
  }

  /** Whether a breakpoint holds at an instant. @param {Break} b @param {number} i */
  stops(b, i) {
    if (b.mask) return i < this.length && b.mask[this.point[i]] === 1;
    return i > 0 && (this.nonfiniteAt(i - 1) & b.nonfinite) !== 0;
  }

  /** The non-finite numbers (1 NaN, 2 infinite) in the value of an event that computed it; copies count as none. @param {number} e */
  nonfiniteAt(e) {
    const number = this.columns.value[e],
      role = this.code.roles[this.point[e]];
    const makes =
      role === KERNEL ||
      (role === PLAIN && (this.code.kinds[this.point[e]] === "load_const" || this.data.executor !== "vm"));
    return makes && number > 0 ? this.nonfinite[number] || 0 : 0;
  }

  /**
   * The breakpoint that a text describes, as the debugger reads it; null for what is not there.
   * @param {string} text @returns {Break | null}
   */
  parseBreakpoint(text) {
    const word = text.trim(),
      nonfinite = NONFINITE[word.toLowerCase().replace(/^first /, "")];
    if (nonfinite) return { text: word, mask: null, nonfinite, on: true };
    const points = this.pointsOf(word);
    return points.length ? this.breakpointAt(word, points) : null;
  }

  /** A breakpoint at some instructions. @param {string} text @param {number[]} points @returns {Break} */
  breakpointAt(text, points) {
    const mask = new Uint8Array(this.code.texts.length + 1);
    for (const point of points) mask[point] = 1;
    return { text, mask, nonfinite: 0, on: true };
  }

  /** @param {string} word @returns {number[]} */
  pointsOf(word) {
    const { operators, kinds, texts, source, roles } = this.code,
      all = [...texts.keys()];
    const named = (/** @type {string} */ name) => this.data.functions.find((f) => f.name === name);
    const place = /^(?:@?([\w.]*):)?(\d+)$/.exec(word),
      func = place ? (place[1] ? named(place[1]) : this.data.functions[this.func[0]]) : null;
    if (place && func) return [func.base + Number(place[2])].filter((s) => s < texts.length);
    const callee = word.startsWith("@") ? named(word.slice(1)) : undefined;
    if (callee) return [callee.base];
    const line = /^line (\d+)$/.exec(word);
    if (line) {
      const on = all.filter((s) => source[s].includes(Number(line[1]) - 1));
      const main = on.filter((s) => roles[s] === KERNEL || roles[s] === CALL || this.data.executor !== "vm");
      return main.length ? main : on.slice(0, 1);
    }
    const by = all.filter((s) => operators[s].includes(word));
    return by.length ? by : all.filter((s) => kinds[s] === word);
  }

  /** All words that set a breakpoint: operators, opcodes, functions. @returns {string[]} */
  datalist() {
    const words = new Set([
      ...this.code.operators.flat(),
      ...this.code.kinds,
      ...this.data.functions.map((f) => `@${f.name}`),
    ]);
    return [...words, "nan", "inf"].sort();
  }
}
