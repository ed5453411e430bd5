// A field for Relay text: coloured as you type, with numbered lines, and each error shown in its line.
import { el } from "./dom.js";

const WORD = "[A-Za-z_][\\w.]*";
const KEYWORDS = new Set(["def", "else", "extern", "fn", "free_var", "if", "let", "match", "ref", "ref_read", "ref_write", "type", "True", "False"]);
const TOKENS = new RegExp([
  "(?<comment>//[^\\n]*|/\\*[^]*?\\*/)", "(?<use>%(?:\"[^\"]*\"|[\\w/.]+))", "(?<global>@(?:\"[^\"]*\"|[\\w/.]+))", "(?<string>\"(?:[^\"\\\\\\n]|\\\\.)*\")",
  `(?<type>\\b(?:Tensor|Ref|u?int\\d+|float\\d+|bool)\\b)`, "(?<number>-?\\b\\d[\\w.]*)", `(?<attribute>${WORD}(?=\\s*=(?!=|>)))`, `(?<op>${WORD}(?=\\s*\\())`, `(?<word>${WORD})`,
].join("|"), "g");
const CLASSES = /** @type {Record<string, string>} */ ({ comment: "comment", use: "use", global: "global", string: "constant", type: "type", number: "constant", attribute: "attribute", op: "op" });

/** The pieces of a text with the kind of each. @param {string} text @returns {[string, string][]} */
export function tokens(text) {
  const pieces = /** @type {[string, string][]} */ ([]);
  let at = 0;
  for (const match of text.matchAll(TOKENS)) {
    if (match.index > at) pieces.push([text.slice(at, match.index), ""]);
    const kind = Object.keys(match.groups || {}).find((name) => (match.groups || {})[name] !== undefined) || "";
    pieces.push([match[0], KEYWORDS.has(match[0]) ? "keyword" : CLASSES[kind] || ""]);
    at = match.index + match[0].length;
  }
  if (at < text.length) pieces.push([text.slice(at), ""]);
  return pieces;
}

export class RelayField {
  /** @param {(text: string) => void} onInput called with the text after each input */
  constructor(onInput) {
    this.problems = /** @type {any[]} */ ([]);
    this.field = /** @type {HTMLTextAreaElement} */ (el("textarea", "pl-relay-input"));
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
    this.field.addEventListener("scroll", () => { this.highlighted.style.transform = `translate(${-this.field.scrollLeft}px, ${-this.field.scrollTop}px)`; });
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

  /** @param {any[]} problems */
  show(problems) {
    this.problems = problems;
    this.draw();
  }

  /** Draw the coloured text behind the field, line by line. */
  draw() {
    const lines = this.field.value.split("\n"), rows = lines.map(() => /** @type {HTMLElement[]} */ ([]));
    this.field.rows = Math.max(3, Math.min(24, lines.length));
    let line = 0;
    for (const [text, kind] of tokens(this.field.value)) {
      text.split("\n").forEach((part, at) => {
        if (at) line++;
        if (part) rows[line].push(el("span", kind ? `pl-${kind}` : "", part));
      });
    }
    this.highlighted.replaceChildren(...rows.map((row, at) => this.line(row, at, lines[at])));
  }

  /** @param {HTMLElement[]} pieces @param {number} at @param {string} text */
  line(pieces, at, text) {
    const lineProblems = this.problems.filter((problem) => problem.line === at), row = el("div", "pl-relay-line", el("span", "pl-relay-number", at + 1), ...pieces);
    for (const { start, end } of lineProblems) {
      const underline = el("span", "pl-underline"), last = end < 0 ? text.length : Math.max(end, start + 1);
      underline.style.left = `calc(5ch + ${start}ch)`;
      underline.style.width = `${Math.max(1, last - start)}ch`;
      row.append(underline);
    }
    if (lineProblems.length) row.append(el("span", "pl-relay-problem", lineProblems[0].text));
    row.classList.toggle("pl-relay-wrong", lineProblems.length > 0);
    return row;
  }
}
