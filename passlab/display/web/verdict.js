// The result of a search, above the searched recording: what is wrong, why, what was examined, and a program that shows it.
import { button, el, ICONS, prose } from "./dom.js";
import { mark } from "./passlist.js";
import { colouredLines } from "./relaytext.js";

/** @import { SearchVerdict } from "./protocol.js" */

const MAX_LENGTH = 180; // characters

/**
 * @param {SearchVerdict} verdict
 * @param {(nodes: number[]) => void} show the pass that it is about, with nodes selected there
 * @returns {Node[]}
 */
export function verdictStrip({ broken, sentences: [head, ...rest], folds, nodes }, show) {
  const sign = mark(broken ? "failed" : "changed"),
    links = [];
  sign.setAttribute("aria-label", broken ? "a fault was found" : "no fault was found");
  if (broken) links.push(button("show the pass", () => show([])));
  if (nodes.length) {
    const wrong = button("select the wrong node", () => show(nodes));
    wrong.title = "the first node whose value went wrong, in all views and passes";
    links.push(wrong);
  }
  const lines = rest.map((line, at) =>
    at === rest.length - 1 ? examined(capitalize(line)) : el("div", "", ...prose(capitalize(line))),
  );
  return [
    sign,
    el(
      "div",
      "pl-verdict-text",
      el("div", `pl-verdict-head ${broken ? "pl-error" : "pl-verdict-good"}`, ...prose(capitalize(head))),
      ...lines,
      ...folds.map(fold),
    ),
    el("span", "pl-verdict-links", ...links),
  ];
}

/** @param {string} text */
const capitalize = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

/** A long sentence about what was examined: its first clause, which unfolds to the others. @param {string} line */
function examined(line) {
  const [first, ...rest] = line.split("; ");
  if (line.length <= MAX_LENGTH || !rest.length) return el("div", "pl-dim", ...prose(line));
  return el(
    "details",
    "pl-dim",
    el("summary", "", ...prose(first)),
    ...rest.map((one) => el("div", "", ...prose(one))),
  );
}

/** A program, or behind it a script, that unfolds, with its lines numbered. @param {[string, string]} named @param {number} at */
function fold([name, text], at) {
  const lines = text.trimEnd().split("\n"),
    copy = button("copy", () => navigator.clipboard?.writeText(text), ICONS.copy);
  const pieces = at ? lines.map((line) => [[line, ""]]) : colouredLines(lines.join("\n"));
  const rows = pieces.map((line, number) =>
    el(
      "div",
      "pl-row",
      el("span", "pl-number", number + 1),
      el(
        "span",
        "pl-text",
        ...line.map(([piece, kind]) => (kind ? el("span", `pl-${kind}`, piece) : document.createTextNode(piece))),
      ),
    ),
  );
  return el("details", "", el("summary", "", name), el("div", "pl-verdict-code", el("div", "pl-code", ...rows), copy));
}
