// A program: highlighted, foldable, with types beside the lines; a click on a name shows where it is defined and used.
import { el, HoverCard, ICONS, icon, plural } from "./dom.js";
import { Gutter } from "./gutter.js";
import { blockEnds, breakLine, definitions, hangingIndent, hasName, joinPieces, occurrences } from "./lines.js";
import { code, copyAsCode, nameAt, ROW, Rows } from "./rows.js";

/** @import { BlameData, LineTableData } from "./protocol.js" */

const GUTTER = 7; // characters
const MAX_PARAMETERS = 8; // of a function, above which they start folded

export class CodePane {
  /** @param {HTMLElement} root where cards may hover @param {import("./selection.js").Selection} [selection] of the nodes of lines */
  constructor(root, selection) {
    this.selection = selection;
    this.nodes = /** @type {(number | number[])[]} */ ([]); // the node of each line, or several; -1 for none
    this.clickNodes = this.nodes; // what a click on each line selects
    this.cursor = -1; // the line selected by a key: several lines may have its nodes
    this.table = /** @type {LineTableData} */ ({ lines: [], texts: [] });
    this.lines = /** @type {number[]} */ ([]);
    this.blockEnds = /** @type {number[]} */ ([]); // for each line that can be folded, the last line it hides; else -1
    this.only = ""; // the definition that is shown, "" for all
    this.definitions = /** @type {import("./lines.js").Definition[]} */ ([]);
    this.folded = new Set();
    this.visualRows = /** @type {number[]} */ ([]); // visual rows: line, start, end, line, start, end, ...
    this.types = true;
    this.typeWidth = 0;
    this.followedName = "";
    this.query = ""; // the searched text, in lower case
    this.hits = /** @type {number[]} */ ([]); // lines with the followed name, or with the text
    this.annotate = /** @type {((line: number) => HTMLElement | null) | null} */ (null); // shown beside a line in place of its type
    this.annotationWidth = 0;
    this.onLeaveOnly = () => {}; // called when a line outside of the shown definition had to be shown
    this.onBlameClick = /** @type {((event: number) => void) | null} */ (null); // called with the clicked pass
    this.width = 100;
    this.hovers = new WeakMap();
    this.gutter = new Gutter(this.hovers);
    this.card = new HoverCard(root);
    this.rows = new Rows(
      (i) => this.row(i),
      (columns) => {
        this.width = columns - GUTTER;
        this.arrange();
      },
    );
    this.box = this.rows.box;
    this.box.classList.add("pl-code");
    this.ticks = el("div", "pl-ticks");
    this.element = el("div", "pl-pane", this.box, this.ticks);
    this.listen();
  }

  listen() {
    this.box.addEventListener("click", ({ target: clicked }) => {
      const target = /** @type {Element} */ (clicked),
        fold = target.closest(".pl-fold, .pl-more");
      if (fold) return this.toggle(this.lineAt(fold));
      const origin = target.closest(".pl-blame"),
        event = origin ? this.gutter.event(this.lineAt(origin)) : -1;
      if (origin) return event >= 0 && this.onBlameClick && this.onBlameClick(event);
      if (String(window.getSelection())) return;
      const row = target.closest(".pl-row"),
        nodes = [(row ? this.clickNodes[this.lineAt(row)] : undefined) ?? []].flat().filter((node) => node >= 0);
      if (nameAt(target) || this.followedName) this.followName(nameAt(target));
      if (this.selection && nodes.length) this.selection.toggle(nodes);
    });
    this.box.addEventListener("mouseover", (event) => {
      const span = /** @type {Element} */ (event.target),
        number = this.hovers.get(span);
      if (number === undefined) return this.card.hide();
      const text = this.table.texts[number],
        name = span.textContent || "",
        isLink = this.onBlameClick && span.classList.contains("pl-blame");
      const lines = [...text.split("\n"), isLink ? "click to go there" : ""].filter(Boolean);
      this.card.show(span, () => [el("div", "pl-card-name", name), ...lines.map((line) => el("div", "", line))]);
    });
    this.box.addEventListener("mouseleave", () => this.card.hide());
    this.box.addEventListener("scroll", () => this.card.hide(), { passive: true });
    copyAsCode(this.box, () => this.selectedText());
  }

  /** What the browser has selected, as code: whole lines where they are broken, without numbers, passes and types. */
  selectedText() {
    const selected = this.rows.selected((row) => row.querySelector(".pl-text"));
    if (!selected) return this.text();
    const pieces = selected.map(({ row, from, to }) => {
      const [at, start, end] = this.visualRows.slice(3 * row, 3 * row + 3),
        hang = start ? hangingIndent(this.lineText(at), this.codeWidth || 0) : 0,
        place = (/** @type {number} */ offset) => Math.min(end, start + Math.max(0, offset - hang));
      return { at, from: place(from), to: place(to) };
    });
    return joinPieces(pieces, (at) => this.lineText(at));
  }

  /** @param {number} at */
  lineText(at) {
    return this.table.lines[this.lines[at]][0];
  }

  /**
   * Show a program. @param {LineTableData} table @param {number[]} lines numbers of lines of the table
   * @param {BlameData | null} [blame] @param {number[] | null} [origins] the origin of each line: see `Gutter`
   * @param {(number | number[])[]} [nodes] the node of each line, or several; -1 for none
   * @param {(number | number[])[]} [clickNodes] what a click on each line selects, where that is not its node
   */
  show(table, lines, blame = null, origins = null, nodes = [], clickNodes = nodes) {
    const same = this.table === table && this.lines === lines,
      sameOrigins = this.gutter.lines === origins;
    const offset = this.selectedOffset();
    [this.table, this.lines, this.nodes, this.clickNodes] = [table, lines, nodes, clickNodes];
    if (!same || !sameOrigins) this.gutter.show(blame, origins);
    if (same) return sameOrigins ? undefined : this.arrange();
    const texts = lines.map((number) => table.lines[number][0]);
    this.blockEnds = blockEnds(texts);
    this.definitions = definitions(texts);
    this.folded = new Set();
    [this.followedName, this.query, this.current] = ["", "", undefined];
    this.blockEnds.forEach((end, at) => {
      if (end - at > MAX_PARAMETERS && table.lines[lines[at]][0].endsWith("(")) this.folded.add(at);
    });
    let widest = 0;
    for (const number of lines) {
      const type = table.lines[number][2];
      if (type >= 0) widest = Math.max(widest, Math.min(34, table.texts[type].length));
    }
    this.typeWidth = widest;
    this.arrange();
    this.drawTicks();
    this.keepOffset(offset);
  }

  /** The position of the selected line in pixels from the top of the pane, null if it is not visible. */
  selectedOffset() {
    const row = this.selectedRow(),
      y = row * ROW - this.rows.top;
    return row >= 0 && y >= 0 && y <= this.rows.height - ROW ? y : null;
  }

  /** The first row of the first selected line, -1 for none. */
  selectedRow() {
    const { selection, nodes } = this;
    if (!selection || selection.empty) return -1;
    const at = nodes.findIndex((node) => selection.has(node));
    if (at < 0) return -1;
    for (let i = 0; i < this.visualRows.length; i += 3) if (this.visualRows[i] === at) return i / 3;
    return -1;
  }

  /** Scroll so that the selected line keeps its position on the screen. @param {number | null} offset */
  keepOffset(offset) {
    const row = this.selectedRow();
    if (row < 0) return;
    if (offset === null) this.rows.reveal(row);
    else this.rows.scroll(row * ROW - offset);
  }

  /** Highlight the lines of the new selection, and scroll to the first if none is visible. */
  updateSelection() {
    this.rows.update(true);
    this.drawTicks();
    const row = this.selectedRow();
    if (row >= 0 && !this.isSelectionVisible()) this.rows.reveal(row);
  }

  /** Select the next or the previous line with other nodes than the selected ones. @param {number} direction */
  selectNext(direction) {
    const { selection, clickNodes } = this,
      nodes = (/** @type {number} */ at) => [clickNodes[at] ?? []].flat().filter((node) => node >= 0);
    if (!selection) return false;
    const here = selection.nodes.join(),
      is = (/** @type {number} */ at) => nodes(at).join() === here;
    if (!here || !is(this.cursor)) this.cursor = here ? this.lines.findIndex((_, at) => is(at)) : -1;
    for (
      let at = this.cursor < 0 && direction < 0 ? this.lines.length - 1 : this.cursor + direction;
      at >= 0 && at < this.lines.length;
      at += direction
    ) {
      if (!nodes(at).length || is(at)) continue;
      this.cursor = at;
      selection.set(nodes(at));
      this.goto(at, false);
      return true;
    }
    return false;
  }

  /** Whether a selected line is visible. */
  isSelectionVisible() {
    const { top, height } = this.rows;
    for (let i = Math.ceil(top / ROW); (i + 1) * ROW <= top + height && 3 * i < this.visualRows.length; i++)
      if (this.selection?.has(this.nodes[this.visualRows[3 * i]] ?? -1)) return true;
    return false;
  }

  /** Compute the visual rows: folded blocks and broken lines. */
  arrange() {
    const width = this.width - this.gutter.fit(this.width, this.box),
      types = this.types && width >= 84 && this.typeWidth ? this.typeWidth + 5 : 0;
    const narrow = !!this.annotate && width < this.annotationWidth + 56,
      room = narrow ? 21 : this.annotationWidth;
    this.box.classList.toggle("pl-values-narrow", narrow);
    this.codeWidth = width - (this.annotate ? room : types);
    this.visualRows = [];
    const { from, to } = this.definitions.find(({ name }) => name === this.only) ?? { from: 0, to: this.lines.length };
    for (let at = from; at < to; at++) {
      const text = this.table.lines[this.lines[at]][0];
      const starts = breakLine(text, this.codeWidth);
      starts.forEach((start, part) =>
        this.visualRows.push(at, start, part + 1 < starts.length ? starts[part + 1] : text.length),
      );
      if (this.folded.has(at)) at = this.blockEnds[at];
    }
    this.showTypes = types > 0;
    this.rows.set(this.visualRows.length / 3);
  }

  /** @param {number} i */
  row(i) {
    const [at, from, to] = this.visualRows.slice(3 * i, 3 * i + 3),
      line = this.table.lines[this.lines[at]];
    const folds = this.blockEnds[at] >= 0,
      folded = this.folded.has(at),
      first = from === 0,
      last = to === line[0].length;
    const caret = el(
      "span",
      `pl-fold${folds ? "" : " pl-none"}`,
      first && folds ? icon(folded ? ICONS.right : ICONS.down) : null,
    );
    const text = el(
      "span",
      "pl-text",
      first ? null : " ".repeat(hangingIndent(line[0], this.codeWidth || 0)),
      code(line, from, to, this.followedName, this.query ? occurrences(line[0], this.query) : [], this.hovers),
    );
    if (folded && last)
      text.append(
        el("button", "pl-more", `⋯ ${plural(this.blockEnds[at] - at, line[0].endsWith("(") ? "parameter" : "line")}`),
      );
    const type = !last
      ? null
      : this.annotate
        ? this.annotate(at)
        : this.showTypes && line[2] >= 0
          ? el("span", "pl-line-type", this.table.texts[line[2]])
          : null;
    const highlight = this.selection?.has(this.nodes[at] ?? -1) ? " pl-selected" : "";
    const row = el(
      "div",
      `pl-row${this.query && at === this.current ? " pl-row-found" : ""}${highlight}`,
      el("span", "pl-number", first ? at + 1 : ""),
      caret,
      text,
      type,
    );
    if (this.gutter.labelWidth) row.prepend(this.gutter.cell(at, first));
    return row;
  }

  /** The line that an element of a row belongs to. @param {Element} element */
  lineAt(element) {
    const row = element.closest(".pl-row");
    const place = row ? Array.prototype.indexOf.call(this.rows.body.children, row) : -1;
    return this.visualRows[3 * (this.rows.first + place)];
  }

  /** Fold a line's block, or open it. @param {number} at */
  toggle(at) {
    if (this.blockEnds[at] < 0) return;
    if (!this.folded.delete(at)) this.folded.add(at);
    this.arrange();
  }

  /** Show one function or data type, or all. @param {string} name "" for all */
  showOnly(name) {
    if (this.only === name) return;
    this.only = name;
    this.arrange();
    this.rows.scroll(0);
  }

  /** Fold every block inside functions, or open all. */
  toggleAll() {
    const open = this.folded.size > 0;
    this.folded = new Set(open ? [] : this.blockEnds.flatMap((end, at) => (end >= 0 ? [at] : [])));
    this.arrange();
  }

  /** Follow a name, "" for none. @param {string} name */
  followName(name) {
    [this.followedName, this.query] = [name === this.followedName ? "" : name, ""];
    this.rows.update(true);
    this.drawTicks();
  }

  /** Mark the occurrences of the followed name or the searched text beside the scroll bar. */
  drawTicks() {
    const { lines } = this.table,
      isHit = (/** @type {number} */ number) =>
        this.query ? occurrences(lines[number][0], this.query).length > 0 : hasName(lines[number], this.followedName);
    const hits = this.followedName || this.query ? this.lines.flatMap((number, at) => (isHit(number) ? [at] : [])) : [];
    this.hits = hits;
    const { selection } = this,
      selected =
        selection && !selection.empty
          ? this.lines.flatMap((_, at) => (selection.has(this.nodes[at] ?? -1) ? [at] : []))
          : [];
    this.ticks.replaceChildren(
      ...[...hits.slice(0, 400), ...selected.slice(0, 400)].map((at, place) => {
        const tick = el("span", place < Math.min(hits.length, 400) ? "pl-tick" : "pl-tick pl-tick-selected");
        tick.style.top = `${(100 * at) / this.lines.length}%`;
        return tick;
      }),
    );
  }

  /** Go to the next or the previous line with the followed name, or the searched text. @param {number} step 1 or -1 */
  nextHit(step) {
    const { hits } = this;
    if (!hits.length) return false;
    const here = this.current ?? -1;
    const line =
      step > 0
        ? (hits.find((at) => at > here) ?? hits[0])
        : (hits.filter((at) => at < here).pop() ?? hits[hits.length - 1]);
    this.goto(line);
    return true;
  }

  /** Scroll to a line, unfolding what hides it. @param {number} at @param {boolean} [always] even if it is visible */
  goto(at, always = true) {
    this.current = at;
    let opened = false;
    const shown = this.definitions.find(({ name }) => name === this.only);
    if (shown && (at < shown.from || at >= shown.to)) {
      this.showOnly("");
      this.onLeaveOnly();
    }
    for (const fold of this.folded) if (fold < at && at <= this.blockEnds[fold]) opened = this.folded.delete(fold);
    if (opened) this.arrange();
    else if (this.query) this.rows.update(true);
    for (let i = 0; i < this.visualRows.length; i += 3)
      if (this.visualRows[i] === at) return this.rows.reveal(i / 3, always);
  }

  /**
   * Mark all occurrences of a text, and scroll to the first line with it if none is visible; "" clears the marks.
   * @param {string} text @param {boolean} [scroll]
   */
  search(text, scroll = true) {
    const query = text.trim().toLowerCase();
    if (query === this.query) return;
    [this.query, this.followedName, this.current] = [query, "", undefined];
    this.drawTicks();
    this.rows.update(true);
    if (scroll && this.hits.length) this.goto(this.hits[0], false);
  }

  /** The number of the current line with the text or the name, and the number of all such lines. @returns {[number, number]} */
  hitPosition() {
    return [this.hits.indexOf(this.current ?? -1) + 1, this.hits.length];
  }

  /** The program as text. */
  text() {
    return this.lines.map((_, at) => this.lineText(at)).join("\n");
  }

  toggleTypes() {
    this.types = !this.types;
    this.arrange();
  }

  close() {
    this.rows.close();
  }
}
