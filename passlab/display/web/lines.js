// Lines of programs as text: where they break, which names they have, and the blocks that they open. Nothing here draws.

/** @import { LineRow } from "./protocol.js" */

const MIN_WIDTH = 8; // the least characters of a line in a narrow pane
export const NAMES = new Set([1, 2, 3, 6]); // the kinds of names that can be followed: binder, use, temporary, global

/**
 * Break a line to a width, behind commas and blanks where possible; later parts are indented.
 * @param {string} text @param {number} width @returns {number[]} where its parts start
 */
export function breakLine(text, width) {
  const starts = [0];
  width = Math.max(MIN_WIDTH, width);
  if (text.length <= width) return starts;
  const hang = hangingIndent(text, width);
  let at = 0,
    room = width;
  while (text.length - at > room) {
    const cut = bestBreak(text, at, at + room);
    starts.push(cut);
    at = cut;
    room = Math.max(MIN_WIDTH, width - hang);
  }
  return starts;
}

/**
 * The best place to break a line before `end`: behind a blank, inside as few brackets as possible, as far right as
 * possible; without one behind the last bracket that opens, so that no `;` is left alone.
 * @param {string} text @param {number} start @param {number} end
 */
function bestBreak(text, start, end) {
  let depth = 0,
    cut = 0,
    bracket = end,
    lowestCost = Infinity;
  for (let at = start; at < end; at++) {
    const char = text[at];
    if (char === "(" || char === "[" || char === "{") {
      depth++;
      if (at > start + (end - start) / 3) bracket = at + 1;
    } else if (char === ")" || char === "]" || char === "}") depth--;
    else if (char === " " && at > start + (end - start) / 3) {
      const cost = depth + (text[at - 1] === "," ? 0 : text.startsWith("->", at + 1) ? 0.4 : 0.5);
      if (cost <= lowestCost) [cut, lowestCost] = [at + 1, cost];
    }
  }
  return cut || bracket;
}

/** The indentation of the later parts of a line. @param {string} text @param {number} width */
export function hangingIndent(text, width) {
  return Math.max(0, Math.min(text.length - text.trimStart().length + 4, Math.floor(width / 3)));
}

/**
 * The text of an error for a pane: of a line of source that is longer, the part that the carets below it point to.
 * @param {string} text @param {number} width of the pane, in letters
 */
export function fitExcerpts(text, width) {
  const lines = text.split("\n");
  for (let at = 1; at < lines.length; at++) {
    const [, head, source] = /^(\s*\d+ \| )(.*)$/.exec(lines[at - 1]) ?? [],
      [, gutter, blanks, carets] = /^(\s*\| )(\s*)(\^+)$/.exec(lines[at]) ?? [];
    if (!head || !carets || gutter.length !== head.length || lines[at - 1].length <= width) continue;
    const room = Math.max(MIN_WIDTH, width - head.length),
      left = Math.max(0, Math.min(blanks.length - Math.floor(room / 3), source.length - room)),
      shown = source.slice(left, left + room);
    lines[at - 1] =
      head +
      (left ? `…${shown.slice(1)}` : shown).slice(0, room - 1) +
      (left + room < source.length ? "…" : shown.slice(-1));
    lines[at] = gutter + " ".repeat(blanks.length - left) + carets.slice(0, room - blanks.length + left);
  }
  return lines.join("\n");
}

/** Whether a line has a name. @param {LineRow} line @param {string} name */
export function hasName(line, name) {
  const [text, marks] = line;
  for (let m = 0; m < marks.length; m += 4)
    if (NAMES.has(marks[m + 2]) && marks[m + 1] - marks[m] === name.length && text.startsWith(name, marks[m]))
      return true;
  return false;
}

const PATTERN = /^\/(.+)\/$/;
let lastPattern = /** @type {[string, RegExp | null]} */ (["", null]);

/** The regular expression that a query between slashes is, null for any other text. @param {string} query */
function patternOf(query) {
  if (lastPattern[0] === query) return lastPattern[1];
  let pattern = null;
  try {
    const source = PATTERN.exec(query)?.[1];
    pattern = source ? new RegExp(source, "gi") : null;
  } catch {
    // an expression that is not finished is a text
  }
  lastPattern = [query, pattern];
  return pattern;
}

/**
 * The start and end of each occurrence of a text, or of a regular expression between slashes, in a line.
 * @param {string} line @param {string} query in lower case @returns {number[]}
 */
export function occurrences(line, query) {
  const bounds = [],
    pattern = patternOf(query);
  if (pattern) {
    for (const match of line.matchAll(pattern)) if (match[0]) bounds.push(match.index, match.index + match[0].length);
    return bounds;
  }
  const text = line.toLowerCase();
  for (let at = text.indexOf(query); at >= 0; at = text.indexOf(query, at + query.length))
    bounds.push(at, at + query.length);
  return bounds;
}

/** A definition of a program: its name as it is written, its first line, and the line behind its last. @typedef {{name: string, from: number, to: number}} Definition */

/**
 * The functions and data types of a program, in their order.
 * @param {string[]} texts its lines @returns {Definition[]}
 */
export function definitions(texts) {
  const found = /** @type {Definition[]} */ ([]);
  texts.forEach((text, at) => {
    const name = /^(?:def (@(?:"(?:[^"\\]|\\.)*"|[^\s([]+))|(?:extern )?type ([^\s[{]+))/.exec(text);
    if (!name) return;
    if (found.length) found[found.length - 1].to = at;
    found.push({ name: name[1] ?? name[2], from: at, to: texts.length });
  });
  return found;
}

/** A part of a line, by the number of the line in its program. @typedef {{at: number, from: number, to: number}} Piece */

/**
 * The text of selected parts of a program: parts of one line follow each other; lines between two parts are folded, and whole.
 * @param {Piece[]} pieces in their order @param {(at: number) => string} text of a line
 */
export function joinPieces(pieces, text) {
  let joined = "",
    last = -1;
  for (const { at, from, to } of pieces) {
    if (last >= 0 && at !== last) {
      for (let hidden = last + 1; hidden < at; hidden++) joined += `\n${text(hidden)}`;
      joined += "\n";
    }
    joined += text(at).slice(from, to);
    last = at;
  }
  return joined;
}

/**
 * For each line the last line of the block it opens (those that are indented more), -1 where it opens none.
 * @param {string[]} texts @returns {number[]}
 */
export function blockEnds(texts) {
  const lastLines = texts.map(() => -1),
    open = /** @type {number[]} */ ([]);
  const depth = texts.map((text) => (text ? text.length - text.trimStart().length : -1));
  for (let at = 0; at <= texts.length; at++) {
    const here = at < texts.length ? depth[at] : 0;
    if (here < 0) continue;
    while (open.length && depth[open[open.length - 1]] >= here) {
      const start = /** @type {number} */ (open.pop());
      let last = at - 1;
      while (last > start && depth[last] < 0) last--;
      if (last > start) lastLines[start] = last;
    }
    open.push(at);
  }
  return lastLines;
}
