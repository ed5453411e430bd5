// The panes of the stepper: bytecode with its gutter, registers, frames, and the source at the program counter.
import { el, formatCount, setTab, svg, tabBar } from "./dom.js";
import { breakLine, hangingIndent } from "./lines.js";
import { code, Rows } from "./rows.js";

/** @typedef {import("./steprun.js").Run} Run */
/** @typedef {import("./steprun.js").Place} Place */

// The access to a register, by shape as well as colour: about to be written, being read, just written.
const MARKS = /** @type {Record<string, [string, string]>} */ ({
  writes: ["M2 10L6 2l4 8z", "about to be written"],
  reads: ["M6 2.2a3.8 3.8 0 1 0 .01 0z", "read by the next instruction"],
  wrote: ["M2.6 2.6h6.8v6.8H2.6z", "just written"],
});

const MARK_WORDS = /** @type {Record<string, string>} */ ({ writes: "to write", reads: "read", wrote: "written" });

/** @param {string} kind */
export function mark(kind) {
  const [d, name] = MARKS[kind];
  return svg(
    "svg",
    { class: `pl-reg-mark pl-${kind}`, viewBox: "0 0 12 12", width: 11, height: 11, role: "img", "aria-label": name },
    svg("title", {}, name),
    svg("path", { d }),
  );
}

/** A function's name; a long one is shortened in the middle. @param {string} name */
export const shortName = (name) => `@${name.length > 26 ? `${name.slice(0, 16)}…${name.slice(-6)}` : name}`;

// Instructions that compute nothing: they move values, or allocate and free memory.
const BOOKKEEPING = new Set([
  "move",
  "load_const",
  "load_consti",
  "alloc_storage",
  "alloc_tensor",
  "alloc_tensor_reg",
  "kill_register",
  "device_copy",
]);

/** The instructions of one function. */
export class BytecodePane {
  /**
   * @param {(point: number) => void} onToggleBreakpoint a breakpoint
   * @param {(point: number) => void} onRunTo to run to an instruction
   * @param {import("./selection.js").Selection} selection
   */
  constructor(onToggleBreakpoint, onRunTo, selection) {
    this.selection = selection;
    this.run = /** @type {Run | null} */ (null);
    this.func = -1;
    this.base = 0; // the first instruction of the function, and how many it has
    this.count = 0;
    this.current = { point: -1, before: -1, accesses: /** @type {Map<number, string>} */ (new Map()) };
    this.stops = /** @type {(point: number) => boolean} */ (() => false);
    this.isFolding = true; // whether runs of such instructions are folded
    this.openedFolds = new Set(); // folds that were opened, by their first instruction
    this.visualRows = /** @type {[number, number][]} */ ([]); // rows: the instructions of each, from and to
    this.query = "";
    this.hits = /** @type {number[]} */ ([]); // the instructions with the text
    this.hit = -1; // the one that is shown
    this.rows = new Rows(
      (i) => this.item(i),
      () => {},
    );
    this.rows.onResize = () => this.reveal(); // the current instruction stays visible when the pane changes its size
    this.box = this.rows.box;
    this.box.classList.add("pl-code", "pl-bytecode");
    this.title = el("div", "pl-pane-title");
    this.element = el("div", "pl-step-pane pl-code-pane", this.title, this.box);
    this.box.addEventListener("click", (event) => {
      const target = /** @type {Element} */ (event.target),
        row = target.closest(".pl-inst"),
        fold = target.closest(".pl-bookkeeping");
      if (fold) {
        this.openedFolds.add(Number(fold.getAttribute("data-from")));
        // the row is removed, and the focus with it
        /** @type {HTMLElement | null} */ (this.box.closest("[tabindex='0'].passlab"))?.focus();
        return this.arrange();
      }
      if (!row || !this.run) return;
      const point = Number(row.getAttribute("data-point"));
      if (target.closest(".pl-gutter")) return onToggleBreakpoint(point);
      if (String(window.getSelection())) return;
      selection.set((this.run.code.nodes[point] || []).slice(0, 1));
      onRunTo(point);
    });
  }

  /** Scroll to the current instruction. */
  reveal() {
    const { point, before } = this.current;
    if (this.run && (point >= 0 || before >= 0)) this.rows.reveal(this.rowOf(point < 0 ? before : point));
  }

  /** The row of an instruction. @param {number} point */
  rowOf(point) {
    const i = point - this.base;
    let low = 0,
      high = this.visualRows.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.visualRows[middle][0] <= i) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Whether an instruction only moves values or allocates memory. @param {number} point */
  isBookkeeping(point) {
    const run = /** @type {Run} */ (this.run);
    return (
      run.data.executor === "vm" &&
      BOOKKEEPING.has(run.code.kinds[point]) &&
      point !== this.current.point &&
      point !== this.current.before &&
      !this.hits.includes(point) &&
      !this.stops(point)
    );
  }

  /** Compute the rows; a folded run of instructions is one row. @param {number} [top] the height to show them from */
  arrange(top) {
    if (!this.run) return;
    const { base, count } = this,
      visualRows = /** @type {[number, number][]} */ ([]);
    for (let i = 0; i < count; i++) {
      let end = i;
      if (this.isFolding && !this.openedFolds.has(i)) while (end < count && this.isBookkeeping(base + end)) end++;
      if (end - i > 1) {
        visualRows.push([i, end]);
        i = end - 1;
      } else visualRows.push([i, i + 1]);
    }
    const same =
      visualRows.length === this.visualRows.length &&
      visualRows.every(([from, to], at) => from === this.visualRows[at][0] && to === this.visualRows[at][1]);
    if (same) return;
    this.visualRows = visualRows;
    this.rows.set(visualRows.length, top);
    this.reveal();
  }

  /** @param {number} row */
  item(row) {
    const [from, to] = this.visualRows[row] || [row, row + 1];
    if (to === from + 1) return this.row(from);
    const { kinds } = /** @type {Run} */ (this.run).code,
      { base } = this;
    const names = [...new Set(kinds.slice(base + from, base + to))].join(", ");
    const element = el("button", "pl-gap pl-bookkeeping", `⋯ ${to - from} instructions: ${names}`);
    element.setAttribute("data-from", String(from));
    element.title = `instructions ${from} to ${to - 1} move values or allocate memory; click to show them (z shows all)`;
    return element;
  }

  /**
   * @param {Run} run
   * @param {number} func @param {number} point the next instruction @param {number} before the last one
   * @param {Map<number, string>} accesses of registers @param {(point: number) => boolean} stops
   * @param {boolean} changed whether breakpoints did
   */
  show(run, func, point, before, accesses, stops, changed) {
    const other = this.run !== run || this.func !== func,
      old = this.current;
    [this.run, this.func, this.stops] = [run, func, stops];
    this.current = { point, before, accesses };
    const { name, params, base } = run.data.functions[func],
      next = run.data.functions[func + 1];
    if (other) {
      this.base = base;
      this.title.title = `@${name}(${params.join(", ")})`;
      this.title.replaceChildren(el("b", "", shortName(name)), el("span", "pl-dim", `(${params.join(", ")})`));
      this.count = (next ? next.base : run.code.texts.length) - base;
      this.openedFolds = new Set();
      this.visualRows = [];
      this.findHits();
      this.arrange(0);
    } else if (changed || this.isFolding) {
      const rows = this.visualRows;
      this.arrange();
      if (rows === this.visualRows) this.rows.repaint([old.point, old.before, point, before].map((s) => this.rowOf(s)));
      if (rows === this.visualRows && changed) this.rows.update(true);
    } else this.rows.repaint([old.point, old.before, point, before].map((s) => this.rowOf(s)));
    this.reveal();
  }

  findHits() {
    const { run, query, base, count } = this,
      texts = query && run ? run.code.texts.slice(base, base + count) : [];
    this.hits = texts.flatMap((text, i) => (text.toLowerCase().includes(query) ? [base + i] : []));
    this.hit = -1;
  }

  /** Find a text in the instructions of the function that is shown. @param {string} text */
  search(text) {
    const query = text.trim().toLowerCase();
    if (query === this.query) return;
    this.query = query;
    this.findHits();
    this.arrange();
    this.rows.update(true);
    this.nextHit(1);
  }

  /** @param {number} step 1 or -1 */
  nextHit(step) {
    if (!this.hits.length) return false;
    const at = this.hits.indexOf(this.hit) + (this.hit < 0 && step < 0 ? 0 : step);
    this.hit = this.hits[(at + this.hits.length) % this.hits.length];
    this.rows.update(true);
    this.rows.reveal(this.rowOf(this.hit));
    return true;
  }

  /** The number of the instruction that is shown, and of all with the text. @returns {[number, number]} */
  hitPosition() {
    return [this.hits.indexOf(this.hit) + 1, this.hits.length];
  }

  /** @param {number} i */
  row(i) {
    const run = /** @type {Run} */ (this.run),
      point = this.base + i,
      here = point === this.current.point;
    const highlight = (run.code.nodes[point] || []).some((node) => this.selection.has(node)) ? " pl-selected" : "";
    const stop = this.stops(point),
      gutter = el("span", `pl-gutter${stop ? " pl-stop" : ""}`, el("i", "pl-dot"));
    gutter.title = stop ? "remove the breakpoint" : "set a breakpoint";
    gutter.setAttribute("role", "button");
    gutter.setAttribute("aria-label", `breakpoint at ${i}`);
    gutter.setAttribute("aria-pressed", String(stop));
    const element = el(
      "div",
      `pl-inst pl-role-${run.code.roles[point]}${here ? " pl-current" : ""}${point === this.current.before ? " pl-previous" : ""}${highlight}${point === this.hit ? " pl-row-found" : ""}`,
      gutter,
      el("span", "pl-counter"),
      el("span", "pl-number", i),
      this.text(run, point, here),
    );
    element.setAttribute("data-point", String(point));
    if (here) element.setAttribute("aria-current", "step");
    return element;
  }

  /** @param {Run} run @param {number} point @param {boolean} here */
  text(run, point, here) {
    const text = run.code.texts[point],
      element = el("span", "pl-inst-text"),
      accesses = here || point === this.current.before ? this.current.accesses : null;
    if (this.hits.includes(point)) element.classList.add("pl-hit");
    const first = /^[^\s$(]+/.exec(text),
      head = first ? first[0] : "";
    const name = el("span", run.code.roles[point] === 3 ? "pl-op" : "pl-keyword", head);
    name.style.minWidth = `${Math.min(head.length, 12)}ch`; // operands are cut before the opcode
    const rest = el("span", "pl-rest");
    for (const part of text.slice(head.length).split(/(\$\d+|@[\w.]+)/)) {
      if (part[0] === "$") {
        const access = accesses?.get(Number(part.slice(1)));
        rest.append(el("span", access && (here || access === "wrote") ? `pl-reg pl-reg-${access}` : "pl-reg", part));
      } else rest.append(part[0] === "@" ? el("span", "pl-global", part) : part);
    }
    element.append(name, rest);
    element.title = text;
    return element;
  }

  close() {
    this.rows.close();
  }
}

/**
 * A register that is shown: its parameter, the text of its value, NaN and infinities in it, and the access to it.
 * @typedef {{register: number, name: string, text: string, nonfinite: number, access: string, watched: boolean}} Register
 */

/** The registers of a frame, one per line. */
export class RegisterPane {
  /** @param {(register: number) => void} onSelect */
  constructor(onSelect) {
    this.list = /** @type {Register[]} */ ([]);
    this.selected = -1;
    this.rows = new Rows(
      (i) => this.row(this.list[i]),
      () => {},
    );
    this.rows.onResize = () => this.reveal(); // the selected register stays visible when the pane changes its size
    this.rows.box.classList.add("pl-code", "pl-registers");
    this.rows.box.setAttribute("role", "listbox");
    this.rows.box.setAttribute("aria-label", "registers");
    this.title = el(
      "div",
      "pl-pane-title",
      el("b", "", "Registers"),
      el("span", "pl-grow"),
      ...Object.keys(MARKS).map((kind) =>
        el("span", "pl-key", mark(kind), el("span", "pl-key-word", MARK_WORDS[kind])),
      ),
    );
    this.note = el("div", "pl-empty pl-pane-note", "No frame runs any more. S goes back into the run.");
    this.note.hidden = true;
    this.element = el("div", "pl-step-pane pl-register-pane", this.title, this.rows.box, this.note);
    this.rows.box.addEventListener("click", (event) => {
      const row = /** @type {Element} */ (event.target).closest(".pl-register");
      if (row) onSelect(Number(row.getAttribute("data-register")));
    });
  }

  /**
   * @param {Run} run
   * @param {number} frame @param {Int32Array} values @param {Map<number, string>} accesses @param {number} onSelect
   * @param {[number, number][]} watches
   */
  show(run, frame, values, accesses, onSelect, watches) {
    const params = run.data.functions[run.func[frame]].params;
    const watched = new Set(watches.filter(([f]) => f === frame).map(([, r]) => r));
    this.list = [];
    for (let r = 0; r < values.length; r++) {
      if (values[r] <= 0 && !accesses.has(r) && !watched.has(r)) continue;
      this.list.push({
        register: r,
        name: params[r] || "",
        text: run.texts[values[r]] || "",
        nonfinite: run.nonfinite[values[r]] || 0,
        access: accesses.get(r) || "",
        watched: watched.has(r),
      });
    }
    const longest = Math.max(0, ...this.list.map((item) => item.name.length + (item.watched ? 2 : 0)));
    this.rows.box.style.setProperty("--pl-name", `${Math.min(14, longest + 2)}ch`);
    this.note.hidden = true;
    this.selected = onSelect;
    if (this.rows.count === this.list.length) this.rows.update(true);
    else this.rows.set(this.list.length);
    this.reveal();
  }

  /** Scroll to the selected register. */
  reveal() {
    const at = this.list.findIndex((item) => item.register === this.selected);
    if (at >= 0) this.rows.reveal(at);
  }

  /** Show that no frame runs. */
  clear() {
    this.list = [];
    this.rows.set(0);
    this.note.hidden = false;
  }

  /** @param {Register} item */
  row(item) {
    const element = el(
      "div",
      `pl-register${item.register === this.selected ? " pl-active" : ""}${item.nonfinite ? " pl-has-nonfinite" : ""}${item.text ? "" : " pl-none"}`,
      el("span", "pl-reg-mark-cell", item.access ? mark(item.access) : null),
      el("span", `pl-reg-name${item.access ? ` pl-reg-${item.access}` : ""}`, `$${item.register}`),
      el("span", "pl-reg-param", item.watched ? el("i", "pl-watch-icon") : null, item.name),
      el("span", "pl-reg-value", item.text || "–"),
    );
    element.setAttribute("data-register", String(item.register));
    element.setAttribute("role", "option");
    element.setAttribute("aria-selected", String(item.register === this.selected));
    element.title = item.text;
    return element;
  }

  /** The register below or above the selected one. @param {number} by */
  neighbour(by) {
    const at = this.list.findIndex((item) => item.register === this.selected),
      next = this.list[Math.max(0, Math.min(this.list.length - 1, at + by))];
    return next ? next.register : -1;
  }

  close() {
    this.rows.close();
  }
}

const SHOWN_FRAMES = 60;

/** The frames of the stack. */
export class FramePane {
  /** @param {(place: number) => void} onSelect how many frames up */
  constructor(onSelect) {
    this.list = el("div", "pl-frames");
    this.element = el(
      "div",
      "pl-step-pane pl-frame-pane",
      el("div", "pl-pane-title", el("b", "", "Frames")),
      this.list,
    );
    this.list.addEventListener("click", (event) => {
      const row = /** @type {Element} */ (event.target).closest(".pl-frame");
      if (row) onSelect(Number(row.getAttribute("data-place")));
    });
  }

  /** @param {Run} run @param {number} at @param {number} onSelect */
  show(run, at, onSelect) {
    const stack = run.stack(at, SHOWN_FRAMES),
      rows = stack.map((place, i) => {
        const { name, base } = run.data.functions[place.func],
          row = el(
            "div",
            `pl-frame${i === onSelect ? " pl-active" : ""}`,
            el("span", "pl-pass-id", place.depth),
            el("b", "", shortName(name)),
            el("span", "pl-dim", place.pc - (i ? 1 : 0)),
            el("span", "pl-frame-text", run.code.names[base + place.pc - (i ? 1 : 0)] || ""),
          );
        row.setAttribute("data-place", String(i));
        return row;
      });
    const rest = stack.length ? stack[stack.length - 1].depth : 0;
    if (stack.length === SHOWN_FRAMES && rest)
      rows.push(el("div", "pl-frame pl-dim", `${formatCount(rest)} more below`));
    if (!stack.length) rows.push(el("div", "pl-frame pl-dim", run.data.end.text));
    this.list.replaceChildren(...rows);
  }
}

const TABS = ["Source", "Kernel", "History"];

/** The source of the program, the kernel that runs next, and the history of its nodes. */
export class SourcePane {
  /** @param {import("./selection.js").Selection} selection */
  constructor(selection) {
    this.selection = selection;
    this.run = /** @type {Run | null} */ (null);
    this.tab = "Source";
    this.point = -1;
    this.lines = /** @type {number[]} */ ([]);
    this.marked = new Set();
    this.visualRows = /** @type {number[]} */ ([]); // visual rows: line, start, end, line, start, end, ...
    this.starts = /** @type {number[]} */ ([]); // by line: its first row
    this.width = 60;
    this.rows = new Rows(
      (i) => this.row(i),
      (columns) => {
        this.width = columns - 6;
        this.arrange();
        this.reveal();
      },
    );
    this.rows.box.classList.add("pl-code");
    this.rows.box.addEventListener("click", (event) => {
      const row = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest(".pl-row"));
      if (row?.dataset.node && !String(window.getSelection())) selection.toggle([Number(row.dataset.node)]);
    });
    this.histories = el("div", "pl-histories");
    this.note = el("div", "pl-empty");
    this.tabs = tabBar(TABS, (name) => this.choose(name));
    this.place = el("span", "pl-source-place");
    this.element = el(
      "div",
      "pl-step-pane pl-source-pane",
      el("div", "pl-pane-title pl-source-title", this.tabs, el("span", "pl-grow"), this.place),
      this.rows.box,
      this.histories,
      this.note,
    );
  }

  /** @param {string} tab */
  choose(tab) {
    this.tab = tab;
    if (this.run) this.show(this.run, this.point);
  }

  cycle() {
    this.choose(TABS[(TABS.indexOf(this.tab) + 1) % TABS.length]);
  }

  /** @param {Run} run @param {number} point */
  show(run, point) {
    const { source, kernel, kernels, program, histories, biographies, places } = run.code;
    [this.run, this.point] = [run, point];
    setTab(this.tabs, this.tab);
    this.place.textContent = point < 0 ? "" : places[point];
    let note = "",
      lines = /** @type {number[]} */ ([]);
    const old = this.marked;
    this.marked = new Set(this.tab === "Source" && point >= 0 ? source[point] : []);
    if (this.tab === "Source")
      [lines, note] = [program, program.length ? "" : "The program was compiled elsewhere: its source is unknown."];
    else if (this.tab === "Kernel") {
      const number = point < 0 ? -1 : kernel[point];
      [lines, note] = number < 0 ? [[], "The next instruction is not a kernel."] : [kernels[number], ""];
    } else if (point < 0 || histories[point] < 0)
      note = "No pass created the next instruction's value: it only moves an existing one.";
    this.rows.box.hidden = !lines.length;
    this.histories.hidden = this.tab !== "History" || note !== "";
    this.note.hidden = !note;
    this.note.textContent = note;
    if (lines !== this.lines) {
      this.lines = lines;
      this.arrange(0);
    } else this.rows.repaint([...old, ...this.marked].flatMap((line) => this.rowsOf(line)));
    if (!this.histories.hidden)
      this.histories.replaceChildren(
        ...biographies[histories[point]].map((text) => el("pre", "pl-code pl-history", text)),
      );
    this.reveal();
  }

  /** Scroll to the marked lines. */
  reveal() {
    const first = Math.min(...this.marked);
    if (Number.isFinite(first)) this.rows.reveal(this.starts[first]);
  }

  /** Break the lines to the available width. @param {number} [from] the height to show them from */
  arrange(from) {
    this.visualRows = [];
    this.starts = [];
    this.lines.forEach((number, at) => {
      const text = /** @type {Run} */ (this.run).data.lines[number][0],
        starts = breakLine(text, this.width);
      this.starts.push(this.visualRows.length / 3);
      starts.forEach((start, part) =>
        this.visualRows.push(at, start, part + 1 < starts.length ? starts[part + 1] : text.length),
      );
    });
    this.rows.set(this.visualRows.length / 3, from);
  }

  /** @param {number} line */
  rowsOf(line) {
    const rows = [],
      end = line + 1 < this.starts.length ? this.starts[line + 1] : this.visualRows.length / 3;
    for (let row = this.starts[line]; row < end; row++) rows.push(row);
    return rows;
  }

  /** @param {number} i */
  row(i) {
    const run = /** @type {Run} */ (this.run),
      [at, from, to] = this.visualRows.slice(3 * i, 3 * i + 3),
      line = run.data.lines[this.lines[at]];
    const node = this.tab === "Source" ? (run.code.programNodes[at] ?? -1) : -1,
      highlight = this.selection.has(node) ? " pl-selected" : "";
    const element = el(
      "div",
      `pl-row${this.marked.has(at) ? " pl-current-line" : ""}${highlight}`,
      el("span", "pl-number", from ? "" : at + 1),
      el("span", "pl-text", from ? " ".repeat(hangingIndent(line[0], this.width)) : null, code(line, from, to, "")),
    );
    element.title = line[2] >= 0 ? run.data.texts[line[2]] : "";
    if (node >= 0) element.dataset.node = String(node);
    return element;
  }

  close() {
    this.rows.close();
  }
}
