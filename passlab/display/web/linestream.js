// A line of text as a stream of characters, as CodeMirror gives it to a parser.

/** What a reader of tokens asks of a stream; CodeMirror's `StringStream` has it. */
export class LineStream {
  /** @param {string} line */
  constructor(line) {
    this.line = line;
    this.at = 0;
  }

  sol() {
    return this.at === 0;
  }

  eol() {
    return this.at >= this.line.length;
  }

  /** @returns {string | void} */
  next() {
    if (this.at < this.line.length) return this.line[this.at++];
  }

  /** Read a character if it comes next. @param {string} character @returns {string | void} */
  eat(character) {
    if (this.line[this.at] === character) return this.next();
  }

  eatSpace() {
    return this.match(/\s+/) !== null;
  }

  skipToEnd() {
    this.at = this.line.length;
  }

  /** How many blanks the line begins with. */
  indentation() {
    return this.line.length - this.line.trimStart().length;
  }

  /**
   * Whether a text or an expression comes next; it is read unless `consume` is false.
   * @param {string | RegExp} pattern @param {boolean} [consume] @returns {string[] | null} the text, and that of each group
   */
  match(pattern, consume = true) {
    const rest = this.line.slice(this.at);
    const match =
      typeof pattern === "string"
        ? rest.startsWith(pattern)
          ? [pattern]
          : null
        : new RegExp(`^(?:${pattern.source})`).exec(rest);
    if (match && consume) this.at += match[0].length;
    return match;
  }
}
