// Relay text cut into coloured tokens, line by line: for the fields of views, and for the editors of JupyterLab.
// It mirrors the Pygments lexer of passlab/display, and tests hold the two to the same answers. What is no Relay has no colour.

/**
 * The characters of a line, as `LineStream` and CodeMirror's `StringStream` have them.
 * @typedef {Object} Stream
 * @property {() => boolean} sol @property {() => boolean} eol @property {() => string | void} next
 * @property {(character: string) => string | void} eat @property {() => boolean} eatSpace @property {() => void} skipToEnd
 * @property {() => number} indentation
 * @property {(pattern: string | RegExp, consume?: boolean) => ArrayLike<string> | boolean | null} match
 * Where the reader stands: whether the magic's line is still to come, whether a line was read, how deep in comments it is,
 * the kind of an open quote, whether the metadata section has begun, the indentations of open brackets, and how many more there are.
 * @typedef {{magic: boolean, begun: boolean, comment: number, quote: string | null, metadata: boolean, open: number[], deeper: number}} State
 */

/** The words of the language. */
export const WORDS = {
  keyword: ["def", "else", "extern", "fn", "free_var", "if", "let", "match", "ref", "ref_read", "ref_write", "type"],
  bool: ["False", "True"],
  type: [
    "Ref",
    "Tensor",
    "bfloat16",
    "bool",
    "float16",
    "float32",
    "float64",
    "float8_e4m3fn",
    "float8_e5m2",
    "handle",
    "int1",
    "int16",
    "int32",
    "int4",
    "int64",
    "int8",
    "uint1",
    "uint16",
    "uint32",
    "uint4",
    "uint64",
    "uint8",
  ],
};

const KIND = new Map(Object.entries(WORDS).flatMap(([kind, words]) => words.map((word) => [word, kind])));
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

/** Where the reader stands at the start of a text; with `magic` its first line is that of the magic. @returns {State} */
export function startState(magic = false) {
  return { magic, begun: false, comment: 0, quote: null, metadata: false, open: [], deeper: 0 };
}

/** Read one token; return its kind, or null for what has none. @param {Stream} stream @param {State} state @returns {string | null} */
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

/** @param {Stream} stream @param {State} state @returns {string | null} */
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
  if (name && typeof name === "object") return named(name[0], stream);
  if (stream.match(/->|=>|[=+*/<>!-]/)) return "operator";
  bracket(stream.next() || "", stream, state);
  return null;
}

/** The kind of a name that was just read. @param {string} text @param {Stream} stream */
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

/** @param {Stream} stream */
function inMagic(stream) {
  if (stream.match(/%%\w+/)) return "magic";
  if (stream.match(/--?[A-Za-z][\w-]*/)) return "option";
  stream.match(/[^\s]+/);
  return null;
}

/** @param {Stream} stream */
function inMetadata(stream) {
  stream.match(/[^"]+/);
  return "comment";
}

/** @param {Stream} stream @param {State} state @returns {string | null} */
function inComment(stream, state) {
  while (state.comment && !stream.eol()) {
    if (stream.match("/*")) state.comment += 1;
    else if (stream.match("*/")) state.comment -= 1;
    else if (!stream.match(/[^*/]+/)) stream.next();
  }
  return "comment";
}

/** @param {Stream} stream @param {State} state @param {string} kind */
function startQuote(stream, state, kind) {
  state.quote = kind;
  return inQuote(stream, state);
}

/** @param {Stream} stream @param {State} state @returns {string | null} */
function inQuote(stream, state) {
  const kind = state.quote;
  stream.match(/(?:[^"\\]|\\.)*/);
  if (stream.eat('"')) state.quote = null;
  else stream.skipToEnd(); // a backslash at the end of the line
  return kind;
}

/** @param {Stream} stream @param {string} kind */
function rest(stream, kind) {
  stream.skipToEnd();
  return kind;
}

/** Keep the indentation of the lines whose brackets are open. @param {string} character @param {Stream} stream @param {State} state */
function bracket(character, stream, state) {
  if (character && "([{".includes(character)) {
    if (state.open.length < DEEPEST) state.open.push(stream.indentation());
    else state.deeper += 1;
  } else if (character && ")]}".includes(character)) {
    if (state.deeper) state.deeper -= 1;
    else state.open.pop();
  }
}

/** The column at which a line that begins with `after` starts; null leaves it where it is. @param {State} state @param {string} after @param {{unit: number}} context */
export function indent(state, after, context) {
  if (state.comment || state.quote || state.metadata) return null;
  if (!state.open.length) return 0;
  const outer = state.open[state.open.length - 1];
  return /^[)\]}]/.test(after) ? outer : outer + context.unit;
}
