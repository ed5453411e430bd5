// Two programs side by side, or one below the other: changes are marked, unchanged parts are folded.
import { alignedRows, shownRows, startsChange } from "./diffrows.js";
import { el, HoverCard, plural } from "./dom.js";
import { breakLine, definitions, hangingIndent, joinPieces, occurrences } from "./lines.js";
import { code, copyAsCode, nameAt, Rows } from "./rows.js";

/** @import { Row } from "./diffrows.js" */
/** @import { LineTableData, RowChanges } from "./protocol.js" */

const GUTTER = 8; // characters of a side: number, sign and a margin before the divider
const NARROW = 88; // characters of both sides: narrower panes show one program below the other
const SIGNS = /** @type {Record<string, string>} */ ({ "-": "−", "+": "+", "*": "±", "~": "~", "<": "<", ">": ">" });
const ROW_CLASSES = /** @type {Record<string, string>} */ ({
  "=": "same",
  "~": "moved",
  "*": "changed",
  "-": "removed",
  "+": "added",
  "<": "moved-from",
  ">": "moved-to",
  " ": "none",
});

/**
 * A visual row: rows that are folded; one part of both sides of a row; or one part of one side.
 * @typedef {{from: number, to: number}} FoldedRows
 * @typedef {{row: Row, part: number, left: number[], right: number[]}} BothSides
 * @typedef {{row: Row, part: number, side: "left" | "right", parts: number[]}} OneSide
 * @typedef {FoldedRows | BothSides | OneSide} VisualRow
 */

export class DiffPane {
  /**
   * @param {HTMLElement} root where cards may hover
   * @param {() => void} onLayout called after every layout
   * @param {import("./selection.js").Selection} [selection]
   */
  constructor(root, onLayout, selection) {
    this.selection = selection;
    this.nodes = /** @type {[number[], number[]]} */ ([[], []]); // the node of each line, of both programs
    this.onLayout = onLayout;
    this.userUnified = /** @type {boolean | null} */ (null); // whether the user chose the unified layout; null before any choice
    this.all = false; // whether unchanged lines are shown too
    this.openedFolds = /** @type {Set<number>} */ (new Set());
    this.table = /** @type {LineTableData} */ ({ lines: [], texts: [] });
    this.whole = /** @type {Row[]} */ ([]);
    this.data = /** @type {Row[]} */ ([]); // the rows of what is shown
    this.visualRows = /** @type {VisualRow[]} */ ([]);
    this.changeStarts = /** @type {number[]} */ ([]); // visual rows at which changes start
    this.sides = /** @type {[number[], number[]]} */ ([[], []]); // the lines of both programs
    this.only = ["", ""]; // the definition that is shown of each program, "" for all
    this.definitions = /** @type {import("./lines.js").Definition[][]} */ ([[], []]);
    this.copySide = 1; // the program that is copied from: the one in which the pointer went down last
    this.followedName = "";
    this.query = ""; // the searched text, in lower case
    this.hits = /** @type {number[]} */ ([]); // rows with it
    this.hit = -1; // the current one of these
    this.width = 120;
    this.sideWidth = 40; // characters of a side
    this.at = -1; // the current change
    this.difference = /** @type {RowChanges | null} */ (null);
    this.mapFrame = 0; // a requested animation frame
    this.hovers = new WeakMap();
    this.card = new HoverCard(root);
    this.rows = new Rows(
      (i) => this.row(i),
      (columns) => {
        this.width = columns;
        this.arrange();
      },
    );
    this.rows.onResize = () => this.scheduleMap();
    this.box = this.rows.box;
    this.box.classList.add("pl-code", "pl-diff");
    this.map = el("canvas", "pl-map");
    this.map.title = "Overview of the changes";
    this.element = el("div", "pl-pane", this.box, this.map);
    this.listen();
  }

  listen() {
    this.box.addEventListener("pointerdown", ({ target }) => {
      const side = /** @type {HTMLElement | null} */ (/** @type {Element} */ (target).closest(".pl-side"));
      if (side) this.setCopySide(Number(side.dataset.side));
    });
    copyAsCode(this.box, () => this.selectedText());
    this.box.addEventListener("click", (event) => {
      const target = /** @type {Element} */ (event.target),
        fold = target.closest(".pl-gap");
      if (fold) {
        const index = Array.prototype.indexOf.call(this.rows.body.children, fold);
        const item = this.visualRows[this.rows.first + index];
        if ("from" in item) this.openedFolds.add(item.from);
        return this.arrange();
      }
      if (String(window.getSelection())) return;
      const name = nameAt(target);
      this.followedName = name === this.followedName ? "" : name;
      this.rows.update(true);
      this.selectAt(target);
    });
    this.box.addEventListener("mouseover", (event) => {
      const span = /** @type {Element} */ (event.target),
        number = this.hovers.get(span);
      if (number === undefined) return this.card.hide();
      this.card.show(span, () => [
        el("div", "pl-card-name", span.textContent || ""),
        ...this.table.texts[number].split("\n").map((line) => el("div", "", line)),
      ]);
    });
    this.box.addEventListener("mouseleave", () => this.card.hide());
    this.box.addEventListener("scroll", () => this.card.hide(), { passive: true });
    this.map.addEventListener("click", (event) => {
      const frame = this.map.getBoundingClientRect();
      this.box.scrollTop =
        ((event.clientY - frame.top) / frame.height) * this.box.scrollHeight - this.box.clientHeight / 2;
    });
  }

  /** Only one of the two programs can be selected and copied at a time. @param {number} side 0 for before, 1 for after */
  setCopySide(side) {
    this.copySide = side;
    this.box.dataset.copies = this.unified ? "" : String(side);
  }

  /** The program before or after, as far as it is shown or folded, as text. @param {number} [side] */
  text(side = this.copySide) {
    return this.sides[side].map((number) => this.table.lines[number][0]).join("\n");
  }

  /** What the browser has selected of one of the programs, as code. */
  selectedText() {
    const side = this.copySide,
      selected = this.rows.selected((row) => row.querySelector(`.pl-side[data-side="${side}"] .pl-text`));
    if (!selected) return this.text();
    const pieces = selected.flatMap(({ row, from, to }) => {
      const item = this.visualRows[row];
      if (!("row" in item)) return [];
      const [number, line] = side ? [item.row.j, item.row.b] : [item.row.i, item.row.a],
        parts = "side" in item ? item.parts : side ? item.right : item.left;
      if (number < 0 || item.part >= parts.length) return [];
      const text = this.table.lines[number][0],
        start = parts[item.part],
        end = item.part + 1 < parts.length ? parts[item.part + 1] : text.length,
        hang = item.part ? hangingIndent(text, this.sideWidth) : 0,
        place = (/** @type {number} */ offset) => Math.min(end, start + Math.max(0, offset - hang));
      return [{ at: line - 1, from: place(from), to: place(to) }];
    });
    return joinPieces(pieces, (at) => this.table.lines[this.sides[side][at]][0]);
  }

  /** Select the node of the line under an element. @param {Element} target */
  selectAt(target) {
    const side = target.closest(".pl-side");
    const node = side ? Number(/** @type {HTMLElement} */ (side).dataset.node ?? -1) : -1;
    if (this.selection && node >= 0) this.selection.toggle([node]);
  }

  /** Highlight the lines of the new selection, and scroll to the first if none is visible. */
  updateSelection() {
    this.rows.update(true);
    this.revealSelected();
  }

  /** Scroll to the first selected line, opening the fold that hides it. */
  revealSelected() {
    const { selection } = this;
    if (!selection || selection.empty) return;
    this.revealRow((row) => selection.has(this.node(row, 1)) || selection.has(this.node(row, 0)));
  }

  /** Scroll to the first row of a kind, opening the fold that hides it. @param {(row: Row) => boolean} is @param {boolean} [always] even if it is visible */
  revealRow(is, always = false) {
    const find = () => this.visualRows.findIndex((item) => "row" in item && is(item.row));
    let at = find();
    if (at < 0) {
      const fold = this.visualRows
        .flatMap((item) => ("from" in item ? [item] : []))
        .find(({ from, to }) => this.data.slice(from, to).some(is));
      if (!fold) return false;
      this.openedFolds.add(fold.from);
      this.arrange();
      at = find();
    }
    if (at >= 0) this.rows.reveal(at, always);
    return at >= 0;
  }

  /** Scroll to a line of the program after the change. @param {number} number of the line in the table @param {number} line its number in the program, from 0 */
  gotoLine(number, line) {
    const rows = this.data.filter((row) => row.j === number),
      [nearest] = rows.sort((one, other) => Math.abs(one.b - 1 - line) - Math.abs(other.b - 1 - line));
    if (!nearest) return false;
    this.hit = this.data.indexOf(nearest);
    const found = this.revealRow((row) => row === nearest, true);
    this.rows.update(true);
    return found;
  }

  /** Mark all occurrences of a text in both programs; "" clears the marks. @param {string} text @param {boolean} [scroll] to the first */
  search(text, scroll = true) {
    const query = text.trim().toLowerCase();
    if (query === this.query) return;
    [this.query, this.hit] = [query, -1];
    this.findHits();
    this.rows.update(true);
    if (scroll && this.hits.length) this.revealRow((row) => row === this.data[this.hits[0]]);
  }

  findHits() {
    const has = (/** @type {number} */ number) =>
      number >= 0 && occurrences(this.table.lines[number][0], this.query).length > 0;
    this.hits = this.query ? this.data.flatMap((row, at) => (has(row.i) || has(row.j) ? [at] : [])) : [];
  }

  /** Go to the next or the previous row with the searched text. @param {number} step 1 or -1 */
  nextHit(step) {
    const { hits, hit } = this;
    if (!hits.length) return false;
    this.hit =
      step > 0
        ? (hits.find((at) => at > hit) ?? hits[0])
        : (hits.filter((at) => at < hit).pop() ?? hits[hits.length - 1]);
    this.revealRow((row) => row === this.data[this.hit], true);
    this.rows.update(true);
    return true;
  }

  /** The number of the current row with the text, and the number of all such rows. @returns {[number, number]} */
  hitPosition() {
    return [this.hits.indexOf(this.hit) + 1, this.hits.length];
  }

  /** The node of a line of a row, -1 for none. @param {Row} row @param {number} side 0 for before, 1 for after */
  node(row, side) {
    const number = side ? row.b : row.a;
    return number ? (this.nodes[side][number - 1] ?? -1) : -1;
  }

  /** Whether the programs are shown one below the other: by choice, or in a narrow pane. */
  get unified() {
    return this.userUnified ?? this.width < NARROW;
  }

  /**
   * Show a diff.
   * @param {LineTableData} table @param {number[]} before @param {number[]} after @param {RowChanges} difference
   * @param {number[]} [nodesBefore] the node of each line @param {number[]} [nodesAfter]
   */
  show(table, before, after, difference, nodesBefore = [], nodesAfter = []) {
    this.nodes = /** @type {[number[], number[]]} */ ([nodesBefore, nodesAfter]);
    if (this.difference === difference) return;
    this.difference = difference;
    this.table = table;
    this.sides = /** @type {[number[], number[]]} */ ([before, after]);
    this.definitions = this.sides.map((lines) => definitions(lines.map((number) => table.lines[number][0])));
    this.openedFolds = new Set();
    this.whole = alignedRows(difference, before, after);
    this.data = this.chosenRows();
    this.hit = -1;
    this.findHits();
    this.arrange();
    this.rows.scroll(0);
    if (this.changeStarts.length) this.rows.reveal(Math.max(0, this.changeStarts[0] - 4), true);
    this.at = -1;
    this.revealSelected();
  }

  /** The rows of the definitions that are shown. */
  chosenRows() {
    const ranges = this.only.map((only, side) => this.definitions[side].find(({ name }) => name === only));
    if (!ranges[0] && !ranges[1]) return this.whole;
    const has = (/** @type {number} */ side, /** @type {number} */ line) => {
      const range = ranges[side];
      // A program that does not have the definition, while the other has, shows nothing of its own.
      return range ? line > range.from && line <= range.to : !this.only[side];
    };
    return this.whole.flatMap((row) => {
      const [a, b] = [row.a > 0 && has(0, row.a), row.b > 0 && has(1, row.b)];
      if (a && b) return [row];
      if (a) return [{ ...row, right: " ", j: -1, b: 0 }];
      return b ? [{ ...row, left: " ", i: -1, a: 0 }] : [];
    });
  }

  /** Show one definition of each program, or all. @param {string} before "" for all @param {string} after */
  showOnly(before, after) {
    if (this.only[0] === before && this.only[1] === after) return;
    this.only = [before, after];
    this.data = this.chosenRows();
    this.openedFolds = new Set();
    this.findHits();
    this.arrange();
    this.rows.scroll(0);
  }

  /** Compute the visual rows: folds and broken lines. */
  arrange() {
    this.sideWidth = this.unified ? this.width - GUTTER - 4 : Math.floor((this.width - 1) / 2) - GUTTER;
    this.visualRows = [];
    this.changeStarts = [];
    const shown = shownRows(this.data, this.all, this.openedFolds);
    for (let r = 0; r < this.data.length; ) {
      if (!shown[r]) {
        let end = r;
        while (end < this.data.length && !shown[end]) end++;
        this.visualRows.push({ from: r, to: end });
        r = end;
      } else if (this.unified) r = this.addUnified(r);
      else this.addSides(r++);
    }
    this.rows.set(this.visualRows.length);
    this.setCopySide(this.copySide);
    this.scheduleMap();
    this.onLayout();
  }

  /** @param {number} r */
  addSides(r) {
    const row = this.data[r];
    if (startsChange(this.data, r)) this.changeStarts.push(this.visualRows.length);
    const left = this.parts(row.i),
      right = this.parts(row.j);
    for (let part = 0; part < Math.max(left.length, right.length, 1); part++)
      this.visualRows.push({ row, part, left, right });
  }

  /** Add a group of changed rows: first the removed lines, then the added ones. @param {number} r */
  addUnified(r) {
    const isPair = (/** @type {Row} */ row) => row.left === row.right && row.left !== "*";
    if (isPair(this.data[r])) {
      if (startsChange(this.data, r)) this.changeStarts.push(this.visualRows.length);
      this.addLines(this.data[r], "right");
      return r + 1;
    }
    let end = r;
    while (end < this.data.length && !isPair(this.data[end])) end++;
    if (startsChange(this.data, r)) this.changeStarts.push(this.visualRows.length);
    for (let k = r; k < end; k++) if (this.data[k].i >= 0) this.addLines(this.data[k], "left");
    for (let k = r; k < end; k++) if (this.data[k].j >= 0) this.addLines(this.data[k], "right");
    return end;
  }

  /** @param {Row} row @param {"left" | "right"} side */
  addLines(row, side) {
    const parts = this.parts(side === "left" ? row.i : row.j);
    parts.forEach((_, part) => this.visualRows.push({ row, part, side, parts }));
  }

  /** @param {number} number of a line, or -1 */
  parts(number) {
    return number < 0 ? [] : breakLine(this.table.lines[number][0], this.sideWidth);
  }

  /** @param {number} at */
  row(at) {
    const item = this.visualRows[at];
    if ("from" in item) {
      const gap = el("button", "pl-gap", `⋯ ${plural(item.to - item.from, "unchanged line")}`);
      gap.setAttribute("type", "button");
      gap.title = "show them";
      return gap;
    }
    const { row, part } = item;
    if ("side" in item) {
      const [kind, line, number] =
        item.side === "left"
          ? /** @type {const} */ ([row.left, row.i, row.a])
          : /** @type {const} */ ([row.right, row.j, row.b]);
      const sign = kind === "*" ? (item.side === "left" ? "-" : "+") : kind;
      const side = item.side === "left" ? 0 : 1;
      return el(
        "div",
        "pl-row",
        this.sideElement(sign, row, side, ...this.cell(sign, line, number, part, item.parts, row.words?.[side], row)),
      );
    }
    return el(
      "div",
      "pl-row",
      this.sideElement(row.left, row, 0, ...this.cell(row.left, row.i, row.a, part, item.left, row.words?.[0], row)),
      this.sideElement(row.right, row, 1, ...this.cell(row.right, row.j, row.b, part, item.right, row.words?.[1], row)),
    );
  }

  /** One side of a row. @param {string} kind @param {Row} row @param {number} side 0 for before, 1 for after @param {...Node} cells */
  sideElement(kind, row, side, ...cells) {
    const node = this.node(row, side),
      highlight = this.selection?.has(node) ? " pl-selected" : "";
    const found = this.query && this.data[this.hit] === row ? " pl-row-found" : "",
      element = el("div", `pl-side pl-row-${ROW_CLASSES[kind]}${highlight}${found}`, ...cells);
    element.dataset.node = String(node);
    element.dataset.side = String(side);
    return element;
  }

  /**
   * @param {string} kind @param {number} number of the line in the table @param {number} shown its number in the program
   * @param {number} part @param {number[]} parts @param {number[] | undefined} words @param {Row} row
   */
  cell(kind, number, shown, part, parts, words, row) {
    if (number < 0 || part >= parts.length) return [];
    const line = this.table.lines[number],
      end = part + 1 < parts.length ? parts[part + 1] : line[0].length;
    const text = el(
      "span",
      "pl-text",
      part ? " ".repeat(hangingIndent(line[0], this.sideWidth)) : null,
      code(
        line,
        parts[part],
        end,
        this.followedName,
        words,
        this.hovers,
        this.query ? occurrences(line[0], this.query) : [],
      ),
    );
    if (row.words?.[2] && part + 1 === parts.length && line[2] >= 0)
      text.append("  ", el("span", "pl-type pl-word", this.table.texts[line[2]]));
    return [el("span", "pl-number", part ? "" : shown), el("span", "pl-sign", part ? "" : SIGNS[kind] || ""), text];
  }

  /** Go to the next or the previous change. @param {number} step 1 or -1 */
  next(step) {
    const { changeStarts: starts } = this;
    if (!starts.length) return false;
    const here = this.at >= 0 ? this.at : step > 0 ? -1 : starts.length;
    this.at = Math.max(0, Math.min(starts.length - 1, here + step));
    this.rows.reveal(starts[this.at], true);
    return true;
  }

  toggleUnified() {
    this.userUnified = !this.unified;
    this.arrange();
  }

  toggleAll() {
    this.all = !this.all;
    this.openedFolds = new Set();
    this.arrange();
  }

  /** Paint the map after the rows: it reads heights and colours, which would lay out the page twice. */
  scheduleMap() {
    this.mapFrame ||= requestAnimationFrame(() =>
      setTimeout(() => {
        this.mapFrame = 0;
        this.paintMap();
      }),
    );
  }

  /** Paint the positions of the changes beside the scroll bar, unless all rows are visible. */
  paintMap() {
    this.map.hidden = !this.rows.maxScroll();
    if (this.map.hidden) return;
    this.map.style.right = `${this.box.offsetWidth - this.box.clientWidth + 1}px`;
    const height = this.map.clientHeight || 300,
      map = this.map.getContext("2d");
    if (!map) return;
    this.map.width = 8;
    this.map.height = height;
    const step = height / Math.max(1, this.visualRows.length),
      colour = this.mapColours();
    this.visualRows.forEach((item, at) => {
      if (!("row" in item)) return;
      const kinds =
        "side" in item ? [item.side === "left" ? item.row.left : item.row.right] : [item.row.left, item.row.right];
      kinds.forEach((kind, side) => {
        if (!colour[kind]) return;
        map.fillStyle = colour[kind];
        map.fillRect(kinds.length > 1 ? 4 * side : 0, at * step, kinds.length > 1 ? 4 : 8, Math.max(1.5, step));
      });
    });
  }

  /** The colours of the map in the current theme. @returns {Record<string, string>} */
  mapColours() {
    const probe = el("span"),
      colors = /** @type {Record<string, string>} */ ({});
    this.element.append(probe);
    for (const kind in ROW_CLASSES) {
      if (kind === "=" || kind === " ") continue;
      probe.style.color = `var(--pl-map-${ROW_CLASSES[kind]})`;
      colors[kind] = getComputedStyle(probe).color;
    }
    probe.remove();
    return colors;
  }

  close() {
    this.rows.close();
  }
}
