// Relay text as coloured pieces, line by line.
import { LineStream } from "./linestream.js";
import { startState, token } from "./relaytokens.js";

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
