// One line of a dump as elements: its colours, the picked name, the words that differ.
import { el } from "./dom.js";

const KINDS = ["keyword", "op", "temporary", "global", "constant", "type", "comment", "attribute"];

/**
 * The text of a line as elements: colours, the picked name, words that differ.
 * @param {any[]} line @param {string} picked @param {number[][]} words
 */
export function codeOf(line, picked, words, cuts = /** @type {number[][]} */ ([])) {
  const [text, marks] = line, out = el("span", "pl-text pl-dump-text");
  let at = 0;
  const put = (/** @type {number} */ from, /** @type {number} */ to, /** @type {string} */ look) => {
    for (let start = from; start < to;) { // split at the ends of changed words and of noise
      const cut = cuts.find(([a, b]) => a <= start && start < b), cutting = cuts.find(([a]) => a > start && a < to);
      if (cut) {
        start = Math.min(to, cut[1]);
        continue;
      }
      const inside = words.find(([a, b]) => a <= start && start < b), next = words.find(([a]) => a > start);
      const end = Math.min(to, inside ? inside[1] : next ? next[0] : to, cutting ? cutting[0] : to);
      const piece = text.slice(start, end);
      const classes = [look, inside ? "pl-word" : "", picked && text.slice(from, to) === picked ? "pl-hit" : ""].filter(Boolean).join(" ");
      out.append(classes ? el("span", classes, piece) : piece);
      start = end;
    }
  };
  for (let i = 0; i < marks.length; i += 3) {
    if (marks[i] < at) continue;
    put(at, marks[i], "");
    put(marks[i], marks[i + 1], `pl-${KINDS[marks[i + 2]]}`);
    at = marks[i + 1];
  }
  put(at, text.length, "");
  return out;
}
