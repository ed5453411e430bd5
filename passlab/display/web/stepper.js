// The stepper: a recorded run, forwards and backwards, from its data alone; a kernel adds forks and large pictures.

import { columnBorder } from "./columns.js";
import { Commands } from "./commands.js";
import { button, Delayed, el, formatCount, options, removableChip, searchField, uniqueId } from "./dom.js";
import { download } from "./download.js";
import { FindField } from "./find.js";
import { ask } from "./requests.js";
import { Selection, subscribe, syncSelection } from "./selection.js";
import { branchStrip, originInBranch, valueField } from "./stepfork.js";
import { StepSize } from "./stepgrain.js";
import { drawHeap } from "./stepheap.js";
import { actions, STEPS } from "./stepkeys.js";
import { BytecodePane, FramePane, RegisterPane, SourcePane } from "./steppanes.js";
import { Run, WAITING } from "./steprun.js";
import { tensorCard, valueHead } from "./steptensor.js";
import { micros, Timeline } from "./steptime.js";
/** @import { Context, WidgetModel } from "./model.js" */
/** @import { StepperData, StepperRequest } from "./protocol.js" */

export class Stepper {
  /** @param {WidgetModel<"stepper">} model @param {HTMLElement} root */
  constructor(model, root) {
    this.model = model;
    this.root = root;
    this.selection = new Selection();
    this.run = /** @type {Run} */ (/** @type {unknown} */ (null));
    this.at = 0;
    this.up = 0; // frames above the one that runs
    this.register = -1;
    this.pinned = false; // the user selected the register
    this.count = "";
    this.breaks = /** @type {import("./steprun.js").Break[]} */ ([]);
    this.watches = /** @type {[number, number][]} */ ([]);
    this.visited = /** @type {number[]} */ ([]);
    this.requested = new Set();
    // of a branch that is shown
    this.original = /** @type {{run: Run, instant: number, divergedAt: number, watches: [number, number][]} | null} */ (
      null
    );
    this.stopsChanged = false;
    this.stepSize = new StepSize(this);
    this.saving = new Delayed(() => {
      model.set("at", this.at);
      model.save_changes();
    }, 120);
    this.code = new BytecodePane(
      (point) => this.toggle(point),
      (point) => this.goToNext(point),
      this.selection,
    );
    this.registers = new RegisterPane((register) => this.select(register));
    this.frames = new FramePane((place) => this.frame(place));
    this.source = new SourcePane(this.selection);
    this.timeline = new Timeline((at) => this.go(at));
    this.card = el("div", "pl-value");
    this.title = el("span", "pl-title");
    this.branch = el("div", "pl-branch");
    this.branch.hidden = true;
    this.position = el("input", "pl-find pl-position");
    this.position.setAttribute("aria-label", "instant");
    this.position.addEventListener("change", () =>
      this.go((Number(this.position.value.replace(/[^\d]/g, "")) || 0) - this.branchStart),
    );
    this.total = el("span", "pl-title");
    this.status = el("span", "pl-stepper-status");
    this.find = searchField("break on …", "set a breakpoint: an operator, an opcode, @function, line 6, nan");
    this.find.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && this.find.value.trim()) this.breakOn(this.find.value);
    });
    this.finder = new FindField(this.code, "find an instruction of the function");
    this.chips = el("div", "pl-stops");
    this.datalist = el("datalist", "");
    this.datalist.id = uniqueId();
    this.find.setAttribute("list", this.datalist.id);
    const tool = (/** @type {string} */ name, /** @type {string} */ label, /** @type {() => void} */ run) => {
      const control = button(name, run, STEPS[name]);
      control.title = label;
      if (STEPS[name]) control.setAttribute("aria-label", label);
      return control;
    };
    const tools = el(
      "span",
      "pl-steps",
      tool("first", "to the start (g)", () => this.go(0, true)),
      tool("back", "continue back (C)", () => this.proceed(-1)),
      tool("before", "one step back (←)", () => this.stepSize.advance(-1)),
      this.position,
      this.total,
      tool("after", "one step forwards (→)", () => this.stepSize.advance(1)),
      this.stepSize.element,
      tool("over", "next: over calls (n)", () => this.move("next", 1)),
      tool("out", "finish this frame (f)", () => this.move("finish", 1)),
      tool("on", "continue (c)", () => this.proceed(1)),
      tool("last", "to the end (G)", () => this.go(this.run.length, true)),
    );
    this.commands = new Commands(this.root, "stepper");
    const bar = el(
      "div",
      "pl-bar pl-step-bar",
      tools,
      this.find,
      this.datalist,
      this.chips,
      el("span", "pl-grow"),
      this.finder.count,
      this.finder.field,
      tool("export", "save as a page (x)", () => this.export()),
      ...this.commands.buttons,
    );
    const values = el("div", "pl-step-column pl-values", this.registers.element, this.card);
    const sides = el("div", "pl-step-column pl-sides", this.source.element, this.frames.element);
    this.selection.listen(() => {
      this.code.rows.update(true);
      this.source.rows.update(true);
    });
    this.root.prepend(
      el("div", "pl-bar pl-step-title", this.title, el("span", "pl-grow"), this.status),
      bar,
      this.branch,
      el(
        "div",
        "pl-step-columns",
        this.code.element,
        columnBorder(this.root, "--pl-step-code"),
        values,
        columnBorder(this.root, "--pl-step-values"),
        sides,
      ),
      this.timeline.element,
    );
  }

  /** The branch that the model holds, null for none. */
  get branchData() {
    const branch = this.model.get("branch");
    return branch && "data" in branch ? branch : null;
  }

  /** Where a branch left its original. */
  get branchStart() {
    return this.original ? this.original.instant : 0;
  }

  /** @param {StepperData} data @param {number} at @param {{text: string, points?: number[]}[]} [breaks] @param {[number, number][]} [watches] */
  load(data, at, breaks = data.breaks, watches = []) {
    this.run = new Run(data);
    this.title.textContent = data.title;
    this.total.textContent = `of ${formatCount(this.branchStart + this.run.length)}`;
    this.datalist.replaceChildren(...options(this.run.datalist()));
    this.breaks = breaks.flatMap(
      ({ text, points }) =>
        this.run.parseBreakpoint(text) || (points?.length ? this.run.breakpointAt(text, points) : []),
    );
    [this.watches, this.visited, this.up, this.register, this.pinned] = [watches, [], 0, -1, false];
    this.timeline.branchStart = this.branchStart;
    this.timeline.show(this.run, this.breaks);
    this.drawStops();
    this.go(at, false, true);
  }

  /** Add the values that were sent later. @param {StepperData} data */
  complete(data) {
    this.run = new Run(data);
    this.timeline.show(this.run, this.breaks);
    this.show();
  }

  // ---- moving
  /** @param {number} at @param {boolean} [jump] to be able to come back @param {boolean} [always] */
  go(at, jump = false, always = false) {
    const to = Math.max(0, Math.min(this.run.length, at));
    if (to === this.at && !always) return this.code.reveal();
    if (jump) this.visited.push(this.at);
    this.at = to;
    this.up = 0;
    this.show();
    this.saving.ask();
  }

  times() {
    const count = Math.max(1, Number(this.count) || 1);
    this.count = "";
    return Math.min(count, this.run.length + 1);
  }

  /** @param {"step" | "next" | "finish" | "kernel" | "line"} how @param {number} direction */
  move(how, direction) {
    let at = this.at;
    if (how === "step") at += direction * this.times();
    else for (let left = this.times(); left > 0; left--) at = this.run[how](at, direction);
    this.go(at, how === "finish");
  }

  /** @param {number} direction */
  proceed(direction) {
    if (this.run.data.partial && this.breaks.some((b) => b.nonfinite))
      return this.setStatus("the values are still loading: try again in a moment");
    let at = this.at;
    for (let left = this.times(); left > 0; left--) at = this.run.proceed(at, direction, this.breaks, this.watches);
    this.go(at, true);
  }

  /** To the next execution of an instruction; after the last, to the first. @param {number} point */
  goToNext(point) {
    for (let i = 1; i <= this.run.length; i++) {
      const at = (this.at + i) % (this.run.length + 1);
      if (at < this.run.length && this.run.point[at] === point) return this.go(at, true);
    }
    this.setStatus("this instruction is not executed");
  }

  // ---- breakpoints and watches
  /** @param {number} point */
  toggle(point) {
    if (point < 0) return;
    const { functions } = this.run.data,
      func = functions.filter((f) => f.base <= point).pop();
    if (!func) return;
    const text = `@${func.name}:${point - func.base}`,
      at = this.breaks.findIndex((b) => b.text === text);
    if (at >= 0) this.breaks.splice(at, 1);
    else this.breaks.push(this.run.breakpointAt(text, [point]));
    this.updateStops();
  }

  /** @param {string} text */
  breakOn(text) {
    const breakpoint = this.run.parseBreakpoint(text);
    if (!breakpoint) return this.setStatus(`nothing in the program is called ${text}`, true);
    if (!this.breaks.some((b) => b.text === breakpoint.text)) this.breaks.push(breakpoint);
    this.find.value = "";
    this.root.focus();
    this.updateStops();
  }

  updateStops() {
    this.stopsChanged = true;
    this.timeline.show(this.run, this.breaks);
    this.drawStops();
    this.show();
  }

  drawStops() {
    this.chips.replaceChildren(
      ...this.breaks.map((b) =>
        removableChip(b.text, "pl-stop-chip", () => {
          this.breaks = this.breaks.filter((other) => other !== b);
          this.updateStops();
        }),
      ),
      ...this.watches.map((w) =>
        removableChip(`$${w[1]}`, "pl-stop-chip pl-watch-chip", () => {
          this.watches = this.watches.filter((other) => other !== w);
          this.updateStops();
        }),
      ),
    );
  }

  watch() {
    const place = this.shownPlace();
    if (!place || this.register < 0) return;
    const at = this.watches.findIndex(([f, r]) => f === place.frame && r === this.register);
    if (at >= 0) this.watches.splice(at, 1);
    else this.watches.push([place.frame, this.register]);
    this.updateStops();
  }

  // ---- registers and frames
  /** The shown frame. */
  shownPlace() {
    return this.run.stack(this.at, this.up + 1)[this.up] || null;
  }

  /** @param {number} register */
  select(register) {
    if (register < 0) return;
    [this.register, this.pinned] = [register, true];
    this.show();
  }

  /** @param {number} up */
  frame(up) {
    if (!this.run.stack(this.at, up + 1)[up]) return;
    this.up = up;
    this.show();
  }

  origin() {
    const place = this.shownPlace();
    if (!place || this.register < 0) return;
    const e = this.run.registers(place.frame, this.at).by[this.register];
    if (e < 0) return this.setStatus(`$${this.register} is an argument of the program`);
    this.go(e, true);
    const from = this.run.inputs(e, place.frame, this.register),
      nonfinite = from.find(([f, r]) => this.run.nonfinite[this.run.registers(f, e).values[r]]);
    if (from.length) this.select((nonfinite || from[0])[1]);
  }

  // ---- drawing
  /** @param {string} text @param {boolean} [wrong] */
  setStatus(text, wrong = false) {
    this.status.textContent = text;
    this.status.title = text;
    this.status.classList.toggle("pl-error", wrong);
  }

  show() {
    const { run, at } = this,
      place = this.shownPlace(),
      top = this.up === 0;
    const point = place ? run.data.functions[place.func].base + place.pc : -1,
      before = at > 0 ? run.point[at - 1] : -1;
    const accesses = new Map();
    if (place) {
      for (const r of run.writtenBy(at - 1, place.frame)) accesses.set(r, "wrote");
      if (top && point >= 0) {
        for (const r of run.code.reads[point]) accesses.set(r, "reads");
        for (const r of run.code.changes[point]) accesses.set(r, "writes");
      }
    }
    this.position.value = formatCount(this.branchStart + at);
    this.timeline.move(at);
    this.frames.show(run, at, this.up);
    this.source.show(run, top ? point : run.code.roles[point - 1] === 1 ? point - 1 : point);
    const stops = (/** @type {number} */ s) => this.breaks.some((b) => b.on && b.mask !== null && b.mask[s] === 1);
    if (!place) return this.showEnd(stops);
    const failed = run.data.end.what === "failed" && at === run.length;
    this.setStatus(failed ? run.data.end.text : run.code.operators[point].join(" + "), failed);
    this.code.show(run, place.func, point, top ? before : -1, accesses, stops, this.stopsChanged);
    this.stopsChanged = false;
    const frameValues = run.registers(place.frame, at);
    if (!this.pinned || !(frameValues.values[this.register] > 0)) this.selectAccessed(accesses, frameValues.values);
    this.registers.show(run, place.frame, frameValues.values, accesses, this.register, this.watches);
    this.showValue(frameValues.values[this.register] || 0, frameValues.by[this.register]);
  }

  /** Show the result after the last instruction. @param {(point: number) => boolean} stops */
  showEnd(stops) {
    const run = this.run,
      last = run.length - 1;
    this.setStatus(run.data.end.text);
    this.registers.clear();
    if (last < 0) return;
    this.code.show(run, run.func[run.frameOf[last]], -1, run.point[last], new Map(), stops, true);
    const number = run.data.end.result || 0;
    const head = valueHead("result", run.texts[number] || "–");
    const drawing = run.data.values.pictures[number],
      heap = run.data.values.heaps?.[number];
    this.card.replaceChildren(head, drawing ? tensorCard(drawing) : "", heap ? drawHeap(heap) : "");
  }

  /** The register to show: just written, else read. @param {Map<number, string>} accesses @param {Int32Array} values */
  selectAccessed(accesses, values) {
    const by = (/** @type {string} */ access) =>
      [...accesses].filter(([r, l]) => l === access && values[r] > 0).map(([r]) => r)[0];
    const register = [by("wrote"), by("reads")].find((r) => r !== undefined);
    if (register !== undefined) this.register = register;
    else if (!(values[this.register] > 0)) this.register = values.findIndex((v) => v > 0);
    this.pinned = false;
  }

  /** @param {number} number of the value @param {number | undefined} by the event that wrote it */
  showValue(number, by) {
    const run = this.run;
    if (this.register < 0 || number <= 0) return this.card.replaceChildren(el("div", "pl-empty", "no value here"));
    if (number === WAITING) return this.card.replaceChildren(el("div", "pl-empty", "This value is on its way."));
    const head = valueHead(`$${this.register}`, run.texts[number], "pl-reg");
    const parts = /** @type {HTMLElement[]} */ ([head]);
    if (by !== undefined && by >= 0) {
      const jump = el("button", "pl-link", `written at ${formatCount(this.branchStart + by)}`);
      jump.title = "go to the instruction that wrote it (o)";
      jump.addEventListener("click", () => this.origin());
      const duration = run.code.roles[run.point[by]] === 3 ? `, ${micros(run.columns.micros[by])}` : "";
      parts.push(el("div", "pl-dim pl-written", jump, ` by ${run.code.names[run.point[by]]}${duration}`));
    } else
      parts.push(
        el(
          "div",
          "pl-dim pl-written",
          this.branchData ? originInBranch(this.branchData, this.register) : "an argument of the program",
        ),
      );
    const old = this.originalValue(),
      original = old > WAITING && this.original ? this.original.run : null;
    if (original && original.texts[old] !== run.texts[number]) {
      const drawing = original.data.values.pictures[old];
      parts.push(
        el("div", "pl-original", valueHead("original", original.texts[old]), drawing ? tensorCard(drawing) : null),
      );
    }
    const picture = run.data.values.pictures[number] || this.model.get("pictures")?.[number];
    const heap = run.data.values.heaps?.[number];
    if (picture) parts.splice(2, 0, tensorCard(picture));
    else if (run.latePictures.has(number)) parts.push(el("div", "pl-empty", this.requestPicture(number)));
    if (heap) parts.push(drawHeap(heap));
    this.card.replaceChildren(...parts);
  }

  /** @param {number} number */
  requestPicture(number) {
    if (this.requested.has(number)) return "Drawing it …";
    this.requested.add(number);
    return this.send({ draw: number })
      ? "Drawing it …"
      : "Its picture is not in this page; a running kernel can draw it.";
  }

  /** @param {StepperRequest} request @returns {boolean} whether a kernel receives it */
  send(request) {
    return ask(this.model, request, this.root);
  }

  // ---- with a kernel
  edit() {
    const place = this.run.place(this.at);
    if (this.branchData) return this.setStatus("this is a branch already: go back to the original first");
    if (!place || this.register < 0 || this.up) return this.setStatus("choose a register of the frame that runs");
    const done = (/** @type {string} */ value) => {
      const sent = this.send({ fork: { instant: this.at, register: this.register, value } });
      this.setStatus(sent ? "running …" : "a fork needs the running kernel");
      this.root.focus();
      this.branch.hidden = true;
    };
    const { field, parts } = valueField(this.register, this.at, done, () => {
      this.branch.hidden = true;
      this.root.focus();
    });
    this.branch.replaceChildren(...parts);
    this.branch.hidden = false;
    field.focus();
  }

  showBranch() {
    const state = this.model.get("branch"),
      branch = this.branchData;
    if (state && "error" in state) return this.setStatus(state.error, true);
    if (!branch) return;
    if (this.run.data.partial && this.run.data.fork >= 0 && !branch.data.partial) return this.complete(branch.data);
    if (this.run.data.fork < 0 || !this.original)
      this.original = { run: this.run, instant: branch.instant, divergedAt: branch.parted, watches: this.watches };
    const back = button("back to the original", () => {
      this.model.set("branch", {});
      this.model.save_changes();
      this.branch.hidden = true;
      const watches = this.original ? this.original.watches : [];
      this.original = null;
      this.load(this.model.get("data"), branch.instant, this.stops(), watches);
      this.root.focus();
    });
    const { register } = this;
    this.load(branch.data, 0, this.stops());
    this.select(register); // the value that was changed stays in view
    this.branch.replaceChildren(...branchStrip(branch, back, (at) => this.go(at, true)));
    this.branch.hidden = false;
    if (branch.data.partial) setTimeout(() => this.send({ rest: true }), 50);
  }

  /** The breakpoints, by name and, where a name alone does not say it, by instruction. */
  stops() {
    const { code } = this.run;
    return this.breaks.map(({ text, mask }) => ({
      text,
      points: mask ? [...code.texts.keys()].filter((point) => mask[point] === 1) : [],
    }));
  }

  /** The value of the original in this place, 0 for none. */
  originalValue() {
    if (!this.original) return 0;
    const { run, instant, divergedAt } = this.original;
    if (divergedAt >= 0 && this.at > divergedAt) return 0;
    const place = run.stack(this.at + instant, this.up + 1)[this.up];
    return place ? run.registers(place.frame, this.at + instant).values[this.register] || 0 : 0;
  }

  export() {
    if (!this.send({ export: true })) this.setStatus("this page is already the export");
  }

  download() {
    const text = this.model.get("page");
    if (text) download(text, "run.html");
  }

  close() {
    this.saving.flush();
    for (const pane of [this.code, this.registers, this.source, this.timeline]) pane.close();
  }
}

/** @param {Context<"stepper">} context */
function render({ model, el: host }) {
  const root = el("div", "passlab pl-stepper");
  root.tabIndex = 0;
  const view = new Stepper(model, root);
  view.commands.bind(actions(view));
  const update = () => {
    const data = model.get("data"),
      shown = view.run?.data;
    if (shown?.partial && !data.partial && shown.length === data.length) view.complete(data);
    else if (!shown || shown.fork < 0 || data.fork >= 0) view.load(data, model.get("at") ?? data.at);
    if (data.partial) setTimeout(() => view.send({ rest: true }), 50); // after the first paint
  };
  const go = () => {
    if (model.get("at") !== view.at) view.go(model.get("at"));
  };
  host.append(root);
  update();
  const leaveSelection = syncSelection(model, view.selection);
  const leaveModel = subscribe(model, {
    "change:data": update,
    "change:at": go,
    "change:pictures": () => view.show(),
    "change:branch": () => view.showBranch(),
    "change:page": () => view.download(),
  });
  return () => {
    leaveSelection();
    leaveModel();
    view.close();
  };
}

export default { render };
