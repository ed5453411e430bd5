/**
 * Relay text cut into coloured tokens, line by line, for CodeMirror's stream parser.
 *
 * It mirrors passlab/display/text/lexer.py, and tests hold the two to the same answers. It imports nothing, so that they can run
 * it in any page. What is no Relay is passed through without a colour.
 */

/** The words of the language. JSON between the braces: the tests read it. */
export const WORDS = {
  "keyword": ["def", "else", "extern", "fn", "free_var", "if", "let", "match", "ref", "ref_read", "ref_write", "type"],
  "bool": ["False", "True"],
  "type": ["Ref", "Tensor", "bfloat16", "bool", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "handle",
    "int1", "int16", "int32", "int4", "int64", "int8", "uint1", "uint16", "uint32", "uint4", "uint64", "uint8"]
};

const KIND = new Map(Object.entries(WORDS).flatMap(([kind, words]) => words.map(word => [word, kind])));
const PLAIN = "[A-Za-z_]\\w*(?:/(?![/*])\\w*)*";
const NAME = new RegExp(`${PLAIN}(?:\\.${PLAIN})*`);
const VARIABLE = new RegExp(`%${PLAIN}`);
const GLOBAL = new RegExp(`@${PLAIN}`);
const WHOLE = "-?\\d+(?:[iu](?:8|16|32|64))?(?![\\w.])";
const FLOAT = "-?\\d+(?:\\.\\d*)?(?:[eE][+-]?\\d+)?(?:bf16|f(?:16|32|64)?)?(?!\\w)";
const NUMBER = new RegExp(`-?(?:inf|nan)(?:bf16|f(?:16|32|64)?)(?![\\w/])|${WHOLE}|${FLOAT}`);
const META = /meta\[[^[\]]+\]\s*\[\s*\d+\s*\]/;
const LANES = /x[1-9]\d*$/;
const DEEPEST = 200; // brackets further in are indented like these, so that a state stays small

/** Where the reader stands at the start of a line. With `magic` the first line that is not blank is the magic's. */
export function startState(magic = false) {
  return { magic, begun: false, comment: 0, quote: null, metadata: false, open: [], deeper: 0 };
}

/** Read one token; returns its kind (a key of the colours in relay.js), or null for what has none. */
export function token(stream, state) {
  if (stream.sol()) {
    state.magic = state.magic && !state.begun;
    state.begun = true;
  }
  if (state.comment) return inComment(stream, state);
  if (state.quote) return inQuote(stream, state);
  if (stream.eatSpace()) return null;
  if (state.magic) return inMagic(stream);
  if (stream.match('"')) return startQuote(stream, state, "string");
  if (state.metadata) return inMetadata(stream);
  return inProgram(stream, state);
}

function inProgram(stream, state) {
  if (stream.match("//")) return rest(stream, "comment");
  if (stream.match("/*")) {
    state.comment = 1;
    return inComment(stream, state);
  }
  if (stream.match("#[metadata]")) {
    state.metadata = true;
    return "pragma";
  }
  if (stream.match(/#\[version[^\]]*\]?/)) return "pragma";
  if (stream.match('%"')) return startQuote(stream, state, "variable");
  if (stream.match('@"')) return startQuote(stream, state, "global");
  if (stream.match(/%\d+/)) return "temporary";
  if (stream.match(VARIABLE)) return "variable";
  if (stream.match(GLOBAL)) return "global";
  if (stream.match(META)) return "meta";
  if (stream.match(NUMBER)) return "number";
  const name = stream.match(NAME);
  if (name) return named(name[0], stream);
  if (stream.match(/->|=>|[=+*/<>!-]/)) return "operator";
  bracket(stream.next(), stream, state);
  return null;
}

function named(text, stream) {
  const kind = KIND.get(text) ?? KIND.get(text.replace(LANES, ""));
  if (text === "match") stream.eat("?");
  if (kind) return kind;
  if (stream.match(/\s*=(?![=>])/, false)) return "attribute";
  if (/^[A-Z]/.test(text)) return "constructor";
  if (stream.match(/\s*\(/, false)) return "op";
  stream.eat("."); // a name that is being typed is one token, which what is offered for it starts with
  return "name";
}

function inMagic(stream) {
  if (stream.match(/%%\w+/)) return "magic";
  if (stream.match(/--?[A-Za-z][\w-]*/)) return "option";
  stream.match(/[^\s]+/);
  return null;
}

function inMetadata(stream) {
  stream.match(/[^"]+/);
  return "comment";
}

function inComment(stream, state) {
  while (state.comment && !stream.eol()) {
    if (stream.match("/*")) state.comment += 1;
    else if (stream.match("*/")) state.comment -= 1;
    else if (!stream.match(/[^*/]+/)) stream.next();
  }
  return "comment";
}

function startQuote(stream, state, kind) {
  state.quote = kind;
  return inQuote(stream, state);
}

function inQuote(stream, state) {
  const kind = state.quote;
  stream.match(/(?:[^"\\]|\\.)*/);
  if (stream.eat('"')) state.quote = null;
  else stream.skipToEnd(); // a backslash at the end of the line
  return kind;
}

function rest(stream, kind) {
  stream.skipToEnd();
  return kind;
}

/** Keep the indentation of the lines whose brackets are open. */
function bracket(character, stream, state) {
  if ("([{".includes(character)) {
    if (state.open.length < DEEPEST) state.open.push(stream.indentation());
    else state.deeper += 1;
  } else if (")]}".includes(character)) {
    if (state.deeper) state.deeper -= 1;
    else state.open.pop();
  }
}

/** The column at which a line that begins with `after` starts; null leaves it where it is. */
export function indent(state, after, context) {
  if (state.comment || state.quote || state.metadata) return null;
  if (!state.open.length) return 0;
  const outer = state.open[state.open.length - 1];
  return /^[)\]}]/.test(after) ? outer : outer + context.unit;
}
