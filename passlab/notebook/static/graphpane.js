// A dataflow graph: boxes and arrows with room to move. Everything is drawn from numbers; names go in as text.
import { button, el, ICONS, svg } from "./dom.js";

const LOOKS = new Set(["op", "call", "input", "constant", "tuple", "function", "fused", "branch", "ref", "output", "definition"]);
const FATES = /** @type {Record<string, string>} */ ({ added: "+", changed: "±", moved: "~" });
const LINE = 15, MARGIN = 16, READABLE = 0.85;

/**
 * @typedef {[number, number, number, number, string, string, number, string[], string]} Box x, y, width, height, kind, fate, group, lines, about
 * @typedef {[number, number, string, number[]]} Arrow from, to, label, points
 * @typedef {[number, number, string, string, number[]]} Group number, group around, kind, name, sides
 */

export class GraphPane {
  /** @param {(box: number) => void} [picks] hears which box was selected, -1 for none */
  constructor(picks) {
    this.picks = picks || (() => {});
    this.scene = svg("g");
    this.canvas = svg("svg", { class: "pl-canvas", tabindex: 0, role: "img" }, this.scene);
    this.about = el("div", "pl-about");
    this.about.hidden = true;
    this.note = el("div", "pl-note");
    const tools = el("div", "pl-tools", button("larger (+)", () => this.zoom(1.25), ICONS.plus),
      button("smaller (-)", () => this.zoom(0.8), ICONS.minus), button("everything (0)", () => this.fit(), ICONS.fit));
    this.element = el("div", "pl-pane pl-graph", this.canvas, tools, this.about, this.note);
    this.folded = new Set();
    this.picked = -1;
    this.x = 0;
    this.y = 0;
    this.scale = 1;
    this.listen();
  }

  listen() {
    const canvas = this.canvas;
    let from = /** @type {{x: number, y: number} | null} */ (null), moved = false;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      from = { x: event.clientX - this.x, y: event.clientY - this.y };
      moved = false;
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!from || !(event.buttons & 1)) return;
      const x = event.clientX - from.x, y = event.clientY - from.y;
      if (!moved && Math.hypot(x - this.x, y - this.y) < 4) return;
      if (!moved) canvas.setPointerCapture(event.pointerId);
      moved = true;
      this.place(x, y, this.scale);
    });
    canvas.addEventListener("pointerup", () => { from = null; });
    canvas.addEventListener("click", (event) => {
      if (moved) return;
      const target = /** @type {Element} */ (event.target), box = target.closest(".pl-box"), group = target.closest(".pl-group-name, .pl-folded");
      if (group) return this.toggle(this.groupOf.get(group) ?? -1);
      this.pick(box ? this.numberOf.get(box) ?? -1 : -1);
    });
    canvas.addEventListener("wheel", (event) => { // plain scrolling belongs to the page
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const frame = canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 300), event.clientX - frame.left, event.clientY - frame.top);
    }, { passive: false });
    this.watch = new ResizeObserver(() => {
      if (!this.fitted && canvas.clientWidth) this.start();
    });
    this.watch.observe(canvas);
  }

  /** Show a graph. @param {any} data */
  show(data) {
    if (this.data === data) return;
    const before = this.data;
    this.data = data;
    this.picked = -1;
    this.about.hidden = true;
    this.folded = new Set();
    const problem = data.problem;
    this.note.hidden = !problem;
    this.canvas.style.display = problem ? "none" : "";
    if (problem) return this.note.replaceChildren(el("div", "pl-said", problem), el("pre", "pl-code", data.text));
    this.canvas.setAttribute("aria-label", `dataflow graph: ${data.title}`);
    this.into = data.boxes.map(() => /** @type {number[]} */ ([]));
    this.out = data.boxes.map(() => /** @type {number[]} */ ([]));
    data.arrows.forEach((/** @type {Arrow} */ [source, target]) => {
      this.into[target].push(source);
      this.out[source].push(target);
    });
    this.draw();
    if (!before || !this.fitted) this.start();
    else this.place(this.x, this.y, this.scale);
  }

  draw() {
    const { boxes, arrows, groups } = this.data;
    this.numberOf = new Map();
    this.groupOf = new Map();
    this.boxes = boxes.map((/** @type {Box} */ box, /** @type {number} */ number) => this.box(box, number));
    this.arrows = arrows.map((/** @type {Arrow} */ arrow) => this.arrow(arrow));
    this.frames = new Map(groups.map((/** @type {Group} */ group) => [group[0], this.frame(group)]));
    const covers = groups.map((/** @type {Group} */ group) => /** @type {any} */ (this.frames.get(group[0])).cover);
    this.scene.replaceChildren(...[...this.frames.values()].map((/** @type {any} */ f) => f.back), ...this.arrows, ...this.boxes, ...covers);
    this.dress();
  }

  /** @param {Box} box @param {number} number */
  box([x, y, width, height, kind, fate, , lines], number) {
    const look = LOOKS.has(kind) ? kind : "op", mark = FATES[fate];
    const round = look === "input" || look === "constant" || look === "output" ? Math.min(height / 2, 13) : 6;
    const made = svg("g", { class: `pl-box pl-is-${look}${mark ? ` pl-${fate}` : ""}` },
      svg("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: round }),
      ...lines.map((line, row) => svg("text", { x, y: y - height / 2 + 17 + LINE * row, class: row ? "pl-detail" : "pl-name" }, line)));
    if (mark) made.append(svg("circle", { cx: x - width / 2, cy: y - height / 2 + 1, r: 6 }),
      svg("text", { x: x - width / 2, y: y - height / 2 + 5, class: "pl-fate" }, mark));
    this.numberOf.set(made, number);
    return made;
  }

  /** @param {Arrow} arrow */
  arrow([, , label, points]) {
    if (points.length < 8) return svg("g");
    const [x, y] = points.slice(-2), d = `M${points[0]} ${points[1]} C${points.slice(2).join(" ")}`;
    let dx = x - points[points.length - 4], dy = y - points[points.length - 3];
    if (!dx && !dy) [dx, dy] = [x - points[points.length - 8], y - points[points.length - 7]];
    const length = Math.hypot(dx, dy) || 1, ux = (6 * dx) / length, uy = (6 * dy) / length;
    const head = `${x},${y} ${x - ux - uy / 2},${y - uy + ux / 2} ${x - ux + uy / 2},${y - uy - ux / 2}`;
    const made = svg("g", { class: "pl-arrow" }, svg("path", { d }), svg("polygon", { points: head }));
    if (label) {
      const half = 2 * Math.floor(points.length / 4);
      made.append(svg("text", { x: points[half] + 5, y: points[half + 1] + 3 }, label));
    }
    return made;
  }

  /** @param {Group} group */
  frame([number, , kind, name, [x0, y0, x1, y1]]) {
    const sides = { x: x0, y: y0, width: x1 - x0, height: y1 - y0, rx: 8 };
    const title = svg("text", { x: x0 + 8, y: y0 + 13, class: "pl-group-name" }, name);
    const inside = this.data.boxes.filter((/** @type {Box} */ box) => this.within(box[6], number));
    const names = inside.map((/** @type {Box} */ box) => box[7][0]);
    const room = Math.max(8, Math.floor((x1 - x0 - 16) / 6.7)), told = names.join(" · ");
    const middle = (y0 + y1) / 2;
    const cover = svg("g", { class: `pl-folded pl-is-${LOOKS.has(kind) ? kind : "function"}` }, svg("rect", sides),
      svg("text", { x: (x0 + x1) / 2, y: middle - 3, class: "pl-name" }, `${name}: ${inside.length}`),
      svg("text", { x: (x0 + x1) / 2, y: middle + 13, class: "pl-detail" }, told.length > room ? `${told.slice(0, room - 1)}…` : told));
    const back = svg("g", { class: `pl-group pl-is-${LOOKS.has(kind) ? kind : "function"}` }, svg("rect", sides), title);
    this.groupOf.set(title, number);
    this.groupOf.set(cover, number);
    return { back, cover };
  }

  /** Whether a group lies in another one, or is it. @param {number} group @param {number} outer */
  within(group, outer) {
    this.parents ??= new Map(this.data.groups.map((/** @type {Group} */ g) => [g[0], g[1]]));
    for (let at = group, left = 1000; at >= 0 && left; at = this.parents.get(at) ?? -1, left--) if (at === outer) return true;
    return false;
  }

  /** Show what is selected and what is folded. */
  dress() {
    const hidden = (/** @type {number} */ group) => [...this.folded].some((outer) => this.within(group, outer));
    const { boxes, arrows } = this.data;
    this.boxes.forEach((/** @type {Element} */ made, /** @type {number} */ number) => {
      made.classList.toggle("pl-picked", number === this.picked);
      made.classList.toggle("pl-hidden", hidden(boxes[number][6]));
    });
    this.arrows.forEach((/** @type {Element} */ made, /** @type {number} */ number) => {
      const [source, target] = arrows[number], a = boxes[source][6], b = boxes[target][6];
      made.classList.toggle("pl-in", target === this.picked);
      made.classList.toggle("pl-out", source === this.picked);
      made.classList.toggle("pl-hidden", [...this.folded].some((outer) => this.within(a, outer) && this.within(b, outer)));
    });
    for (const [number, { cover }] of /** @type {Map<number, any>} */ (this.frames)) cover.classList.toggle("pl-hidden", !this.folded.has(number));
  }

  /** Fold a group into one box, or open it. @param {number} group */
  toggle(group) {
    if (group < 0) return false;
    if (!this.folded.delete(group)) this.folded.add(group);
    this.dress();
    return true;
  }

  /** Fold every group, or open all. */
  toggleAll() {
    this.folded = this.folded.size ? new Set() : new Set(this.data.groups.map((/** @type {Group} */ g) => g[0]));
    this.dress();
  }

  /** Select a box, -1 for none. @param {number} number */
  pick(number) {
    this.picked = number;
    this.dress();
    this.about.hidden = number < 0;
    if (number >= 0) {
      const [name, ...rest] = this.data.boxes[number][8].split("\n");
      this.about.replaceChildren(el("div", "pl-card-name", name), ...rest.map((line) => el("div", "", line)));
    }
    this.picks(number);
  }

  /** Walk along the arrows. @param {"into" | "out"} way */
  walk(way) {
    if (this.picked < 0) return this.goto(0);
    const next = this[way][this.picked];
    if (!next.length) return false;
    this.goto(next[0]);
  }

  /** Go to the box beside: another taker of the same value. @param {number} step */
  beside(step) {
    if (this.picked < 0) return this.goto(0);
    const source = this.into[this.picked][0], kin = source === undefined ? [] : this.out[source];
    if (kin.length < 2) return this.goto(Math.max(0, Math.min(this.data.boxes.length - 1, this.picked + step)));
    this.goto(kin[(kin.indexOf(this.picked) + step + kin.length) % kin.length]);
  }

  /** Select a box and bring it into sight. @param {number} number */
  goto(number) {
    if (!this.data.boxes[number]) return false;
    for (const outer of [...this.folded]) if (this.within(this.data.boxes[number][6], outer)) this.folded.delete(outer);
    this.pick(number);
    const [x, y] = this.data.boxes[number], scale = Math.max(this.scale, 0.8);
    const sx = x * scale + this.x, sy = y * scale + this.y, { clientWidth: w, clientHeight: h } = this.canvas;
    if (scale !== this.scale || sx < 60 || sx > w - 60 || sy < 40 || sy > h - 40) this.place(w / 2 - x * scale, h / 2 - y * scale, scale);
    return true;
  }

  /** Find the next box with some text in it. @param {string} text @param {number} [step] */
  find(text, step = 1) {
    const wanted = text.trim().toLowerCase(), count = this.data.boxes.length;
    for (let k = 1; wanted && k <= count; k++) {
      const at = (((this.picked + step * k) % count) + count) % count;
      if (this.data.boxes[at][8].toLowerCase().includes(wanted)) return this.goto(at);
    }
    return false;
  }

  /** How many boxes have some text in them. @param {string} text */
  count(text) {
    const wanted = text.trim().toLowerCase();
    return wanted ? this.data.boxes.filter((/** @type {Box} */ box) => box[8].toLowerCase().includes(wanted)).length : 0;
  }

  fit() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !this.data || this.data.problem) return;
    const [w, h] = this.data.size, scale = Math.min((width - 2 * MARGIN) / w, (height - 2 * MARGIN) / h, 1);
    this.fitted = true;
    this.place((width - w * scale) / 2, (height - h * scale) / 2, scale);
  }

  /** Show everything if it can be read then, else the first box at the top. */
  start() {
    this.fit();
    if (!this.fitted || this.scale >= READABLE) return;
    const [x, y] = this.data.boxes.reduce((/** @type {Box} */ a, /** @type {Box} */ b) => (b[1] < a[1] ? b : a));
    this.place(this.canvas.clientWidth / 2 - x * READABLE, 48 - y * READABLE, READABLE);
  }

  /** @param {number} by @param {number} [x] @param {number} [y] what stays where it is */
  zoom(by, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = Math.max(0.02, Math.min(4, this.scale * by)), real = scale / this.scale;
    this.place(x - (x - this.x) * real, y - (y - this.y) * real, scale);
  }

  /** @param {number} x @param {number} y @param {number} scale */
  place(x, y, scale) {
    [this.x, this.y, this.scale] = [x, y, scale];
    this.scene.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  }

  /** What the keys do. @returns {Record<string, (event: KeyboardEvent) => unknown>} */
  keys() {
    return {
      "+": () => this.zoom(1.25), "=": () => this.zoom(1.25), "-": () => this.zoom(0.8), 0: () => this.fit(), f: () => this.toggleAll(),
      ArrowDown: () => this.walk("out"), ArrowUp: () => this.walk("into"), ArrowLeft: () => this.beside(-1), ArrowRight: () => this.beside(1),
      Escape: () => this.pick(-1),
    };
  }

  close() {
    this.watch?.disconnect();
  }
}

export const GRAPH_KEYS = /** @type {[string, string][]} */ ([
  ["drag", "move the graph"], ["+ −", "larger, smaller (or Ctrl and wheel)"], ["0", "see everything"], ["click", "select; on a group's name, fold it"],
  ["↑ ↓", "walk along the arrows"], ["← →", "the box beside"], ["/", "find"], ["f", "fold all groups, or open them"],
]);

