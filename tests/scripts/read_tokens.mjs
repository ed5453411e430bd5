// Reads the tokens and the indentation of Relay text: [text, magic] in, {tokens, indents, words} out, as JSON.

import { text as textOf } from "node:stream/consumers";
import { LineStream } from "../../passlab/display/web/linestream.js";
import { indent, startState, token, WORDS } from "../../passlab/display/web/relaytokens.js";

const [text, magic] = JSON.parse(await textOf(process.stdin));
const state = startState(magic),
  tokens = [],
  indents = [];
for (const line of text.split("\n")) {
  indents.push(indent(state, line.trim(), { unit: 2 }));
  const stream = new LineStream(line);
  while (!stream.eol()) {
    const from = stream.at,
      kind = token(stream, state);
    if (stream.at === from) throw new Error(`nothing was read at ${from} of ${line}`);
    tokens.push([kind, line.slice(from, stream.at)]);
  }
}
process.stdout.write(JSON.stringify({ tokens, indents, words: WORDS }));
