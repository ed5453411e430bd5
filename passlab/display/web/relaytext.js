// A field for Relay text: coloured as you type, with numbered lines, and each error shown in its line.
import { el } from "./dom.js";
import { LineStream } from "./linestream.js";
import { startState, token } from "./relaytokens.js";

/** @import { LiveProblem } from "./protocol.js" */

// How the views show a kind of token; other kinds have no colour.
const CLASSES = /** @type {Record<string, string>} */ ({
  keyword: "keyword",
  bool: "keyword",
  type: "type",
  variable: "use",
  temporary: "use",
  global: "global",
  constructor: "constructor",
  op: "op",
  attribute: "attribute",
  meta: "constant",
  number: "constant",
  string: "constant",
  comment: "comment",
  pragma: "comment",
});

/** The pieces of each line of a text, with the class of each, "" for none. @param {string} text @returns {[string, string][][]} */
export function colouredLines(text) {
  const state = startState();
  return text.split("\n").map((line) => {
    const stream = new LineStream(line),
      pieces = /** @type {[string, string][]} */ ([]);
    while (!stream.eol()) {
      const from = stream.at,
        kind = token(stream, state);
      pieces.push([line.slice(from, stream.at), CLASSES[kind ?? ""] || ""]);
    }
    return pieces;
  });
}

export class RelayField {
  /** @param {(text: string) => void} onInput called with the text after each input */
  constructor(onInput) {
    this.problems = /** @type {LiveProblem[]} */ ([]);
    this.field = el("textarea", "pl-relay-input");
    this.field.spellcheck = false;
    this.field.setAttribute("aria-label", "the program, in Relay");
    this.field.setAttribute("wrap", "off");
    this.highlighted = el("div", "pl-relay-highlight");
    this.highlighted.setAttribute("aria-hidden", "true");
    this.element = el("div", "pl-relay-field pl-code", this.highlighted, this.field);
    this.field.addEventListener("input", () => {
      this.draw();
      onInput(this.field.value);
    });
    this.field.addEventListener("scroll", () => {
      this.highlighted.style.transform = `translate(${-this.field.scrollLeft}px, ${-this.field.scrollTop}px)`;
    });
    this.field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key !== "Tab" || event.shiftKey) return;
      event.preventDefault();
      this.field.setRangeText("  ", this.field.selectionStart, this.field.selectionEnd, "end");
      this.field.dispatchEvent(new Event("input"));
    });
  }

  /** @param {string} text */
  set(text) {
    if (this.field.value === text) return;
    this.field.value = text;
    this.draw();
  }

  /** @param {LiveProblem[]} problems */
  show(problems) {
    this.problems = problems;
    this.draw();
  }

  /** Draw the coloured text behind the field, line by line. */
  draw() {
    const lines = this.field.value.split("\n"),
      pieces = colouredLines(this.field.value);
    this.field.rows = Math.max(3, Math.min(24, lines.length));
    const rows = pieces.map((line) => line.map(([text, kind]) => el("span", kind ? `pl-${kind}` : "", text)));
    this.highlighted.replaceChildren(...rows.map((row, at) => this.line(row, at, lines[at])));
  }

  /** @param {HTMLElement[]} pieces @param {number} at @param {string} text */
  line(pieces, at, text) {
    const lineProblems = this.problems.filter((problem) => problem.line === at),
      row = el("div", "pl-relay-line", el("span", "pl-relay-number", at + 1), ...pieces);
    for (const { start = 0, end = -1 } of lineProblems) {
      const underline = el("span", "pl-underline"),
        last = end < 0 ? text.length : Math.max(end, start + 1);
      underline.style.left = `calc(5ch + ${start}ch)`;
      underline.style.width = `${Math.max(1, last - start)}ch`;
      row.append(underline);
    }
    if (lineProblems.length) row.append(el("span", "pl-relay-problem", lineProblems[0].text));
    row.classList.toggle("pl-relay-wrong", lineProblems.length > 0);
    return row;
  }
}
