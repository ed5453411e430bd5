// One line of a dump as elements: its colours, the followed name, the words that differ.
import { el } from "./dom.js";

/** @import { DumpLine } from "./protocol.js" */

const MAX_INDENT = 24; // characters
const KINDS = ["keyword", "op", "temporary", "global", "constant", "type", "comment", "attribute"];

/**
 * The text of a line as elements: colours, the followed name, words that differ.
 * @param {DumpLine} line @param {string} followedName @param {[number, number][]} words @param {[number, number][]} hidden
 */
export function codeOf(line, followedName, words, hidden = []) {
  const [text, marks] = line,
    element = el("span", "pl-text pl-dump-text");
  // A wrapped line goes on below its own text; deep code would leave no room there.
  element.style.setProperty("--pl-indent", `${Math.min(MAX_INDENT, text.length - text.trimStart().length)}ch`);
  let at = 0;
  const addSpan = (/** @type {number} */ from, /** @type {number} */ to, /** @type {string} */ className) => {
    for (let start = from; start < to; ) {
      // split at the ends of changed words and of noise
      const hiddenSpan = hidden.find(([a, b]) => a <= start && start < b),
        nextHidden = hidden.find(([a]) => a > start && a < to);
      if (hiddenSpan) {
        start = Math.min(to, hiddenSpan[1]);
        continue;
      }
      const inside = words.find(([a, b]) => a <= start && start < b),
        next = words.find(([a]) => a > start);
      const end = Math.min(to, inside ? inside[1] : next ? next[0] : to, nextHidden ? nextHidden[0] : to);
      const piece = text.slice(start, end);
      const classes = [
        className,
        inside ? "pl-word" : "",
        followedName && text.slice(from, to) === followedName ? "pl-hit" : "",
      ]
        .filter(Boolean)
        .join(" ");
      element.append(classes ? el("span", classes, piece) : piece);
      start = end;
    }
  };
  for (let i = 0; i < marks.length; i += 3) {
    if (marks[i] < at) continue;
    addSpan(at, marks[i], "");
    addSpan(marks[i], marks[i + 1], `pl-${KINDS[marks[i + 2]]}`);
    at = marks[i + 1];
  }
  addSpan(at, text.length, "");
  return element;
}
