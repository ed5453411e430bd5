// A list of rows of equal height, of which only the visible ones exist, and lines of code broken to the width of the pane.
import { el } from "./dom.js";
import { NAMES } from "./lines.js";
/** @import { LineRow } from "./protocol.js" */

export const ROW = 20; // pixels
const FIRST_MARGIN = 4,
  LATER_MARGIN = 40; // rows that exist above and below the visible ones: at once, and a moment later
const DELAY = 120; // milliseconds
const MARGINS = 12; // above and below all rows

/** A scrolling list. `paint(i)` makes row `i`; `onColumns(columns)` is called with the number of characters that fit. */
export class Rows {
  /** @param {(i: number) => HTMLElement} paint @param {(columns: number) => void} onColumns */
  constructor(paint, onColumns) {
    this.paint = paint;
    this.count = 0;
    this.first = 0;
    this.last = 0;
    this.columns = 0;
    this.top = 0; // the scroll position and the visible height: reading them from the browser would lay out the whole page
    this.height = 0;
    this.widening = 0;
    this.pending = /** @type {[number, boolean] | null} */ (null); // a row to show as soon as the list has a height
    this.onResize = () => {}; // called when the box changes its size
    this.body = el("div", "pl-rows");
    this.space = el("div", "pl-space", this.body);
    this.probe = el("span", "pl-probe", "0".repeat(100));
    this.box = el("div", "pl-scroll", this.space, this.probe);
    this.box.tabIndex = 0; // the keys of the browser scroll it
    this.box.addEventListener(
      "scroll",
      () => {
        if (!this.box.clientHeight) return; // hidden for a moment, as by a change of theme: its state stays
        this.top = this.box.scrollTop;
        this.update(false);
      },
      { passive: true },
    );
    this.resizeObserver = new ResizeObserver(() => {
      const char = this.probe.getBoundingClientRect().width / 100;
      const { clientHeight } = this.box;
      // What was hidden, or moved to another place of the page, is where it was.
      if (clientHeight && !this.height) this.box.scrollTop = this.top;
      if (clientHeight) this.top = this.box.scrollTop;
      this.height = clientHeight;
      const columns = char ? Math.floor(this.box.clientWidth / char) : 0;
      if (columns && columns !== this.columns) {
        this.columns = columns;
        onColumns(columns);
      }
      if (this.height && this.pending) this.reveal(...this.pending);
      this.update(false);
      this.onResize();
    });
    this.resizeObserver.observe(this.box);
  }

  /** Show `count` new rows, from a height on. @param {number} count @param {number} [from] */
  set(count, from = this.top) {
    this.count = count;
    this.space.style.height = `${count * ROW}px`;
    const to = Math.min(from, this.maxScroll());
    if (to !== this.top) this.box.scrollTop = this.top = to;
    this.update(true);
  }

  /** The largest scroll position. */
  maxScroll() {
    return Math.max(0, this.count * ROW + MARGINS - this.height);
  }

  /** Scroll to a height. @param {number} y */
  scroll(y) {
    const to = Math.max(0, Math.min(y, this.maxScroll()));
    if (to === this.top) return;
    this.box.scrollTop = this.top = to;
    this.update(false);
  }

  /** Create the visible rows. @param {boolean} always even if they exist already */
  update(always) {
    if (!this.height) return this.clearStale(always); // the watch calls again as soon as there is a height
    const top = Math.floor(this.top / ROW),
      visibleCount = Math.ceil(this.height / ROW);
    if (!always && top >= this.first && Math.min(top + visibleCount, this.count) <= this.last) return;
    const around = always ? FIRST_MARGIN : LATER_MARGIN; // visible rows have priority
    const first = Math.max(0, top - around),
      last = Math.min(this.count, top + visibleCount + around);
    // What is selected stays while one drags on: rows are added, none is replaced.
    if (!always && this.last > this.first && selectionIn(this.body)) return this.extend(first, last);
    [this.first, this.last] = [first, last];
    const fragment = document.createDocumentFragment();
    for (let i = this.first; i < this.last; i++) fragment.append(this.paint(i));
    this.body.style.transform = `translateY(${this.first * ROW}px)`;
    this.body.replaceChildren(fragment);
    clearTimeout(this.widening);
    if (always) this.widening = window.setTimeout(() => this.widen(), DELAY);
  }

  /** Drop outdated rows while the list is hidden: the next update paints all. @param {boolean} stale */
  clearStale(stale) {
    if (!stale) return;
    clearTimeout(this.widening);
    this.first = this.last = 0;
    this.body.replaceChildren();
  }

  /** Create the rows around the existing ones, which stay: one may just be clicked. */
  widen() {
    this.extend(Math.max(0, this.first - LATER_MARGIN), Math.min(this.count, this.last + LATER_MARGIN));
  }

  /** Create more rows, if the existing ones do not reach so far. @param {number} from @param {number} to */
  extend(from, to) {
    const first = Math.min(from, this.first),
      last = Math.max(to, this.last);
    const above = [],
      below = [];
    for (let i = first; i < this.first; i++) above.push(this.paint(i));
    for (let i = this.last; i < last; i++) below.push(this.paint(i));
    [this.first, this.last] = [first, last];
    this.body.style.transform = `translateY(${first * ROW}px)`;
    this.body.prepend(...above);
    this.body.append(...below);
  }

  /** Create some existing rows again. @param {Iterable<number>} rows */
  repaint(rows) {
    for (const i of new Set(rows)) {
      const old = i >= this.first && i < this.last ? this.body.children[i - this.first] : null;
      if (old) old.replaceWith(this.paint(i));
    }
  }

  /** Scroll so that a row is visible, or a third from the top, with a whole row at the top. @param {number} i @param {boolean} [always] */
  reveal(i, always = false) {
    this.pending = this.height ? null : /** @type {[number, boolean]} */ ([i, always]);
    const y = i * ROW,
      { top, height } = this;
    if (height && (always || y < top || y + ROW > top + height))
      this.scroll(Math.floor((y - height / 3) / ROW) * ROW + MARGINS / 2);
  }

  /** Select the whole list for copying, rows that do not exist yet included. */
  selectAll() {
    const range = document.createRange();
    range.selectNodeContents(this.space);
    const selection = window.getSelection();
    selection?.removeAllRanges();
    selection?.addRange(range);
    return true;
  }

  /**
   * The rows that the browser's selection covers: their numbers and, in the text of each, the characters. Null for all rows.
   * @param {(row: Element) => Element | null} textOf the element of a row that holds its text
   * @returns {{row: number, from: number, to: number}[] | null}
   */
  selected(textOf) {
    const range = selectionIn(this.box);
    if (!range) return [];
    if (range.startContainer === this.space && range.endContainer === this.space) return null;
    return [...this.body.children].flatMap((row, at) => {
      const text = range.intersectsNode(row) ? textOf(row) : null;
      if (!text) return [];
      const part = document.createRange(),
        before = document.createRange();
      part.selectNodeContents(text);
      before.selectNodeContents(text);
      if (range.compareBoundaryPoints(Range.START_TO_START, part) > 0)
        part.setStart(range.startContainer, range.startOffset);
      if (range.compareBoundaryPoints(Range.END_TO_END, part) < 0) part.setEnd(range.endContainer, range.endOffset);
      if (part.collapsed && text.textContent) return [];
      before.setEnd(part.startContainer, part.startOffset);
      const from = String(before).length;
      return [{ row: this.first + at, from, to: from + String(part).length }];
    });
  }

  close() {
    clearTimeout(this.widening);
    this.resizeObserver.disconnect();
  }
}

/** What the browser has selected, if it begins or ends in an element. @param {Element} element */
function selectionIn(element) {
  const selection = window.getSelection();
  if (!selection?.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  return element.contains(range.startContainer) || element.contains(range.endContainer) ? range : null;
}

/** Let an element be copied as code. @param {HTMLElement} box @param {() => string} text what is selected in it, "" for nothing */
export function copyAsCode(box, text) {
  box.addEventListener("copy", (event) => {
    const code = text();
    if (!code || !event.clipboardData) return;
    event.clipboardData.setData("text/plain", code);
    event.preventDefault();
    event.stopPropagation();
  });
}

const KINDS = [
  "keyword",
  "binder",
  "use",
  "temporary",
  "call",
  "op",
  "global",
  "constructor",
  "attribute",
  "constant",
  "type",
  "function",
  "branch",
  "comment",
];

/**
 * Make the characters `from` to `to` of a line.
 * @param {LineRow} line @param {number} from @param {number} to @param {string} followedName the name that is followed
 * @param {number[]} [words] spans to mark, two numbers each @param {WeakMap<Element, number>} [hovers]
 * @param {number[]} [found] spans that a search has found
 */
export function code(line, from, to, followedName, words = [], hovers = undefined, found = []) {
  const [text, marks] = line,
    fragment = document.createDocumentFragment();
  const addSpan = (
    /** @type {number} */ a,
    /** @type {number} */ b,
    /** @type {string} */ className,
    /** @type {number} */ hover,
  ) => {
    a = Math.max(a, from);
    b = Math.min(b, to);
    for (let at = a; at < b; ) {
      let end = b,
        word = "";
      for (const [spans, mark] of /** @type {const} */ ([
        [words, " pl-word"],
        [found, " pl-found-word"],
      ]))
        for (let w = 0; w < spans.length; w += 2) {
          if (spans[w] > at) {
            end = Math.min(end, spans[w]);
            break;
          }
          if (spans[w + 1] > at) {
            end = Math.min(end, spans[w + 1]);
            word += mark;
            break;
          }
        }
      const shown = text.slice(at, end);
      if (className || word) {
        const span = el("span", (className + word).trim(), shown);
        if (hovers && hover >= 0) hovers.set(span, hover);
        fragment.append(span);
      } else fragment.append(shown);
      at = end;
    }
  };
  let at = 0;
  for (let m = 0; m < marks.length; m += 4) {
    const start = marks[m],
      end = marks[m + 1],
      kind = marks[m + 2];
    addSpan(at, start, "", -1);
    const hit = followedName && NAMES.has(kind) && text.slice(start, end) === followedName;
    addSpan(start, end, `pl-t pl-${KINDS[kind]}${hit ? " pl-hit" : ""}`, marks[m + 3]);
    at = end;
  }
  addSpan(at, text.length, "", -1);
  return fragment;
}

/** The name under an element that can be followed, or "". @param {EventTarget | null} target */
export function nameAt(target) {
  const span = target instanceof Element ? target.closest(".pl-binder, .pl-use, .pl-temporary, .pl-global") : null;
  return span ? span.textContent || "" : "";
}
