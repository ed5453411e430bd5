// The widget of a recorded pipeline: every pass at the left; the program, what changed, the graph and numbers at the right.
import { button, el, fresh, help, keys, many, svg } from "./dom.js";
import { CodePane } from "./codepane.js";
import { DiffPane } from "./diffpane.js";
import { chips, DIFF_KEYS } from "./diff.js";
import { GraphPane } from "./graphpane.js";

const OUTCOMES = ["changed", "unchanged", "skipped", "failed"];
const TABS = ["IR", "Diff", "Graph", "Table"];
const KEYS = /** @type {[string, string][]} */ ([
  ["j k", "next and previous pass"], ["g G", "first and last"], ["/", "search the passes, by name or by an operator they touched"], ["c", "only passes that changed something"],
  ["i", "passes inside passes"], ["1 2 3 4", "program, diff, graph, table"], ["t f", "types beside lines; fold all"], ["b", "which pass made each line"], ...DIFF_KEYS.slice(0, 4), ["● ○", "the pass changed something, nothing"], ["– ✕", "it was skipped, it failed"],
  ...DIFF_KEYS.slice(5),
]);
const SHAPES = /** @type {Record<string, () => SVGElement>} */ ({
  changed: () => svg("circle", { cx: 6, cy: 6, r: 4.2, fill: "currentColor" }),
  unchanged: () => svg("circle", { cx: 6, cy: 6, r: 3.6, fill: "none", stroke: "currentColor", "stroke-width": 1.3 }),
  skipped: () => svg("path", { d: "M2.5 6h7", stroke: "currentColor", "stroke-width": 1.6, "stroke-linecap": "round" }),
  failed: () => svg("path", { d: "M2.5 2.5l7 7M9.5 2.5l-7 7", stroke: "currentColor", "stroke-width": 1.8, "stroke-linecap": "round" }),
  input: () => svg("path", { d: "M3 2.2L9.6 6 3 9.8z", fill: "currentColor" }),
  running: () => svg("path", { d: "M6 2v4l3 2", fill: "none", stroke: "currentColor", "stroke-width": 1.4 }),
});

const MOST = 600, PASS = 30, LINE = 20, WIDTH = 56; // pixels, and characters of a line in one half of a diff

/** How many lines the longest program or diff takes, if that is not too many. @param {any} data */
function longest(data) {
  const high = (/** @type {number[]} */ lines) => (lines.length > 30 ? 30 : lines.reduce((sum, line) => sum + Math.ceil(data.lines[line][0].length / WIDTH), 1));
  return Math.max(...data.modules.map(high), ...data.diffs.map((/** @type {any} */ diff) => diff.kinds.length / 2));
}

/** The mark of an outcome: a shape as well as a colour. @param {string} outcome */
function mark(outcome) {
  const known = Object.prototype.hasOwnProperty.call(SHAPES, outcome) ? outcome : "running";
  return svg("svg", { class: `pl-mark pl-mark-${known}`, viewBox: "0 0 12 12", width: 12, height: 12, role: "img", "aria-label": known }, SHAPES[known]());
}

/** A time as people read it. @param {number} ms */
const time = (ms) => (ms >= 1000 ? `${(ms / 1000).toFixed(2)} s` : ms >= 100 ? `${ms.toFixed(0)} ms` : ms >= 0.1 ? `${ms.toFixed(1)} ms` : "<0.1 ms");

/** The list of passes. */
class Passes {
  /** @param {(at: number) => void} chosen hears which step was chosen */
  constructor(chosen) {
    this.chosen = chosen;
    this.steps = /** @type {any[]} */ ([]);
    this.hidden = new Set(); // outcomes that are filtered out
    this.inner = false;
    this.at = -1;
    this.search = /** @type {HTMLInputElement} */ (el("input", "pl-find"));
    this.search.placeholder = "a pass, or an operator it touched";
    this.search.setAttribute("aria-label", "search the passes: by name, or by an operator that there was more or less of afterwards");
    this.search.addEventListener("input", () => this.draw());
    this.filters = el("div", "pl-filters");
    this.list = el("div", "pl-list");
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", "passes");
    this.list.tabIndex = -1;
    this.name = fresh();
    this.element = el("div", "pl-passes", el("div", "pl-search", this.search), this.filters, this.list);
    this.list.addEventListener("click", (event) => {
      const item = /** @type {Element} */ (event.target).closest(".pl-pass");
      if (item) this.choose(this.shown[Array.prototype.indexOf.call(this.list.children, item)]);
    });
  }

  /** @param {any[]} steps */
  show(steps) {
    this.steps = steps;
    this.longest = Math.max(0.001, ...steps.map((step) => step.ms));
    this.draw();
  }

  draw() {
    const wanted = this.search.value.trim().toLowerCase();
    this.shown = this.steps.flatMap((step, at) => {
      const deep = step.depth > 0 && !this.inner && step.outcome !== "failed";
      const found = !wanted || `${step.id} ${step.name} ${step.touched.join(" ")}`.toLowerCase().includes(wanted);
      return deep || !found || this.hidden.has(step.outcome) ? [] : [at];
    });
    this.list.replaceChildren(...this.shown.map((at) => this.item(this.steps[at], at)));
    if (!this.shown.length) this.list.append(el("div", "pl-empty", "no pass matches"));
    this.drawFilters();
    this.dress();
  }

  drawFilters() {
    const counted = (/** @type {string} */ outcome) => this.steps.filter((s) => s.outcome === outcome && (this.inner || !s.depth)).length;
    const made = OUTCOMES.filter((outcome) => counted(outcome)).map((outcome) => {
      const one = button(outcome, () => {
        if (!this.hidden.delete(outcome)) this.hidden.add(outcome);
        this.draw();
      });
      one.replaceChildren(mark(outcome), `${counted(outcome)} ${outcome}`);
      one.title = `${outcome} (show or hide)`;
      one.setAttribute("aria-label", `${counted(outcome)} ${outcome}`);
      one.setAttribute("aria-pressed", String(!this.hidden.has(outcome)));
      return one;
    });
    if (this.steps.some((step) => step.depth)) {
      const nested = button("inner", () => this.toggleInner());
      nested.classList.add("pl-inner");
      nested.title = "passes that ran inside others (i)";
      nested.setAttribute("aria-pressed", String(this.inner));
      made.push(nested);
    }
    this.filters.replaceChildren(...made);
  }

  /** @param {any} step @param {number} at */
  item(step, at) {
    const bar = el("span", "pl-time-bar"), part = step.ms / (this.longest || 1);
    bar.style.width = part < 0.02 ? "0" : `calc(${part} * (100% - 24px))`;
    const name = el("span", "pl-pass-name", step.name);
    name.style.paddingLeft = `${14 * step.depth}px`;
    const timed = step.outcome !== "input" && step.outcome !== "skipped";
    const made = el("div", `pl-pass pl-pass-${OUTCOMES.includes(step.outcome) ? step.outcome : "other"}`, mark(step.outcome),
      el("span", "pl-pass-id", step.depth ? "" : step.id), name, el("span", "pl-time", timed ? time(step.ms) : ""), timed ? bar : null);
    made.id = `${this.name}-${at}`;
    made.title = step.name;
    made.setAttribute("role", "option");
    return made;
  }

  /** Choose a step that may be out of sight: one inside another, or filtered out. @param {number} at */
  go(at) {
    if (!this.shown.includes(at)) {
      if (this.steps[at].depth) this.inner = true;
      this.hidden.delete(this.steps[at].outcome);
      this.search.value = "";
      this.draw();
    }
    this.choose(at);
  }

  /** @param {number} at */
  choose(at) {
    if (at === undefined || at === this.at) return;
    this.at = at;
    this.dress();
    this.chosen(at);
  }

  dress() {
    this.shown.forEach((at, place) => {
      const item = /** @type {HTMLElement} */ (this.list.children[place]), here = at === this.at;
      item.classList.toggle("pl-chosen", here);
      item.setAttribute("aria-selected", String(here));
      if (here) {
        this.list.setAttribute("aria-activedescendant", item.id);
        const top = item.offsetTop - this.list.offsetTop, { scrollTop, clientHeight } = this.list;
        if (top < scrollTop) this.list.scrollTop = top;
        else if (top + item.offsetHeight > scrollTop + clientHeight) this.list.scrollTop = top + item.offsetHeight - clientHeight;
      }
    });
  }

  /** Go on by some passes among those shown. @param {number} by */
  step(by) {
    const place = this.shown.indexOf(this.at);
    const next = place < 0 ? (by > 0 ? this.shown.findIndex((at) => at > this.at) : this.shown.filter((at) => at < this.at).length - 1) : place + by;
    if (this.shown[next] === undefined) return;
    this.choose(this.shown[next]);
  }

  toggleInner() {
    this.inner = !this.inner;
    this.draw();
  }

  toggleChanged() {
    this.hidden = this.hidden.size ? new Set() : new Set(["unchanged", "skipped"]);
    this.draw();
  }
}

/** What is seen of one step. */
class Step {
  /** @param {any} model @param {HTMLElement} root */
  constructor(model, root) {
    this.model = model;
    this.tab = "Diff";
    this.code = new CodePane(root);
    this.blamed = true; // whether the program says which pass made each line
    this.diff = new DiffPane(root, () => this.press());
    this.graph = new GraphPane();
    this.title = el("span", "pl-step-name");
    this.facts = el("span", "pl-facts");
    this.said = el("div", "pl-step-said");
    this.chips = el("div");
    this.note = el("div", "pl-empty");
    this.above = el("div", "pl-above");
    this.table = el("div", "pl-numbers");
    this.tabs = el("div", "pl-tabs", ...TABS.map((name, number) => {
      const made = button(name, () => this.choose(name));
      made.title = `${name} (${number + 1})`;
      made.setAttribute("role", "tab");
      return made;
    }));
    this.tabs.setAttribute("role", "tablist");
    this.unified = button("unified", () => this.diff.toggleUnified());
    this.unified.title = "one below the other, or side by side (u)";
    this.all = button("all lines", () => this.diff.toggleAll());
    this.all.title = "unchanged lines too (a)";
    this.blame = button("made by", () => { this.blamed = !this.blamed; this.press(); this.show(this.step); });
    this.blame.title = "at the left the pass that made each line; a click goes there (b)";
    this.press();
    this.body = el("div", "pl-body", this.above, this.code.element, this.diff.element, this.graph.element, this.table, this.note);
    this.element = el("div", "pl-step", el("div", "pl-step-head", el("div", "pl-step-line", this.title, this.facts), this.said, this.chips),
      el("div", "pl-bar pl-tab-bar", this.tabs, el("span", "pl-grow"), this.blame, this.unified, this.all), this.body);
  }

  /** @param {string} tab */
  choose(tab) {
    this.tab = tab;
    this.show(this.step);
  }

  /** @param {any} step */
  show(step) {
    this.step = step;
    if (!step) return;
    const data = this.model.get("data"), diff = step.diff === undefined ? null : data.diffs[step.diff];
    this.title.textContent = step.name;
    this.facts.textContent = [step.outcome === "input" || step.outcome === "skipped" ? "" : time(step.ms), many(step.calls, "operator"),
      many(step.nodes, "node"), step.rewrites ? many(step.rewrites, "rewrite") : ""].filter(Boolean).join("  ·  ");
    this.said.textContent = step.said;
    this.said.classList.toggle("pl-error", step.outcome === "failed");
    this.chips.replaceChildren(...(diff && diff.operators.length ? [chips(diff.operators)] : []));
    [...this.tabs.children].forEach((tab, at) => tab.setAttribute("aria-selected", String(TABS[at] === this.tab)));
    const shows = { IR: this.code.element, Diff: this.diff.element, Graph: this.graph.element, Table: this.table };
    let note = "", above = "";
    const lines = data.modules[step.after];
    if (data.partial && (this.tab === "IR" || step.diff === undefined ? !lines && this.tab !== "Graph" && this.tab !== "Table" : this.tab === "Diff" && !diff)) note = "Loading ...";
    else if (this.tab === "IR") this.program(data, step);
    else if (this.tab === "Diff" && !diff && step.outcome !== "failed") {
      above = step.outcome === "input" ? "The program the pipeline starts with:" : step.outcome === "skipped" ? "The pass did not run. The program is still:" : "Nothing changed. The program is still:";
      this.program(data, step);
    } else if (this.tab === "Diff" && !diff) note = "";
    else if (this.tab === "Diff") this.diff.show(data, data.modules[step.before], data.modules[step.after], diff);
    else if (this.tab === "Graph") note = this.showGraph(step);
    else this.numbers(step, diff);
    const shown = above ? "IR" : this.tab;
    for (const [name, element] of Object.entries(shows)) element.hidden = name !== shown || note !== "" || (name === "Diff" && !diff);
    this.above.hidden = !above;
    this.above.textContent = above;
    this.note.hidden = !note && (above !== "" || this.tab !== "Diff" || diff !== null);
    this.note.replaceChildren(note || el("pre", "pl-code pl-error-text", step.error));
    this.unified.hidden = this.all.hidden = this.tab !== "Diff" || !diff;
    this.blame.hidden = this.code.element.hidden || !data.makers;
    if (this.tab === "Diff" && diff) this.diff.mapSoon();
  }

  press() {
    this.unified.setAttribute("aria-pressed", String(this.diff.unified));
    this.all.setAttribute("aria-pressed", String(this.diff.all));
    this.blame.setAttribute("aria-pressed", String(this.blamed));
  }

  /** The program of a step, with who made its lines. @param {any} data @param {any} step */
  program(data, step) {
    const { makers, steps } = data, origins = this.blamed && makers ? makers.programs[step.after] : null;
    this.code.gutter.here = steps.indexOf(step);
    this.code.show(data, data.modules[step.after], makers, origins);
    this.code.rows.update(true);
  }

  /** @param {any} step @returns {string} what to say in place of a graph */
  showGraph(step) {
    const key = `${step.diff === undefined ? "" : step.diff}:${step.after}`, graph = (this.model.get("graphs") || {})[key];
    if (graph) {
      this.graph.show(graph);
      return "";
    }
    try {
      this.model.send({ graph: key, id: step.id });
    } catch {
      return "No graph of this step was drawn before the page was saved.";
    }
    return "Drawing the graph (this needs the running kernel) ...";
  }

  /** @param {any} step @param {any} diff */
  numbers(step, diff) {
    const facts = [["pass", step.name], ["outcome", step.outcome], ["time", step.outcome === "input" ? "" : time(step.ms)], ["opt level", step.level || ""],
      ["operators", step.calls], ["nodes", step.nodes], ["rewrites", step.rewrites || ""], ["peak memory", step.peak ? `${(step.peak / 1048576).toFixed(1)} MiB` : ""]];
    const rows = facts.filter(([, value]) => value !== "" && value !== 0)
      .map(([name, value]) => el("tr", "", el("th", "", name), el("td", "", String(value))));
    const made = [el("table", "pl-fact-table", el("tbody", "", ...rows))];
    if (diff && diff.operators.length) {
      const head = el("tr", "", ...["operator", "before", "after", "change"].map((name) => el("th", "", name)));
      const body = diff.operators.map((/** @type {[string, number, number]} */ [name, before, after]) => el("tr", "", el("td", "pl-op", name),
        el("td", "", before), el("td", "", after), el("td", after > before ? "pl-more-of" : "pl-less-of", `${after > before ? "+" : "−"}${Math.abs(after - before)}`)));
      made.push(el("table", "pl-op-table", el("thead", "", head), el("tbody", "", ...body)));
    }
    if (step.log.length) made.push(el("pre", "pl-code pl-log", step.log.join("\n")));
    if (step.error) made.push(el("pre", "pl-code pl-error-text", step.error));
    this.table.replaceChildren(...made);
  }

  close() {
    this.code.close();
    this.diff.close();
    this.graph.close();
  }
}

/** @param {{model: any, el: HTMLElement}} context */
function render({ model, el: host }) {
  const root = el("div", "passlab pl-pipeline");
  root.tabIndex = 0;
  const title = el("span", "pl-title"), step = new Step(model, root), keyHelp = help(root, KEYS);
  const passes = new Passes((at) => {
    step.show(passes.steps[at]);
    if (model.get("selected") === at) return;
    model.set("selected", at);
    model.save_changes();
  });
  root.prepend(el("div", "pl-bar", title, el("span", "pl-grow"), button("?", () => keyHelp())),
    el("div", "pl-columns", passes.element, step.element));
  step.code.asked = (at) => passes.go(at);
  const diff = (/** @type {() => unknown} */ run) => () => (step.tab === "Diff" ? run() : false);
  keys(root, {
    "?": () => keyHelp(), j: () => passes.step(1), k: () => passes.step(-1), ArrowDown: () => passes.step(1), ArrowUp: () => passes.step(-1),
    g: () => passes.choose(passes.shown[0]), G: () => passes.choose(passes.shown[passes.shown.length - 1]),
    "/": () => passes.search.focus(), c: () => passes.toggleChanged(), i: () => passes.toggleInner(),
    1: () => step.choose("IR"), 2: () => step.choose("Diff"), 3: () => step.choose("Graph"), 4: () => step.choose("Table"),
    n: diff(() => step.diff.next(1)), p: diff(() => step.diff.next(-1)), u: diff(() => step.unified.click()), a: diff(() => step.all.click()),
    b: () => step.blame.click(), t: () => (step.tab === "IR" ? step.code.toggleTypes() : false),
    f: () => (step.tab === "IR" ? step.code.toggleAll() : step.tab === "Graph" && step.graph.data ? step.graph.toggleAll() : false),
    Enter: () => root.focus(), Escape: () => root.focus(),
  });
  const update = () => {
    const data = model.get("data"), chosen = model.get("selected");
    title.textContent = data.title;
    if (!data.partial) root.style.setProperty("--pl-height", `${Math.min(MOST, 240 + Math.max(PASS * data.steps.filter((/** @type {any} */ s) => !s.depth).length, LINE * longest(data)))}px`);
    passes.at = -1;
    passes.show(data.steps);
    passes.choose(data.steps[chosen] ? chosen : data.start);
  };
  const select = () => passes.choose(model.get("selected"));
  const graphs = () => step.show(step.step);
  update();
  model.on("change:data", update);
  model.on("change:selected", select);
  model.on("change:graphs", graphs);
  host.append(root);
  requestAnimationFrame(() => {
    if (model.get("data").partial) setTimeout(() => model.send({ rest: true }), 50); // the other steps, once this one is seen
  });
  return () => {
    model.off("change:data", update);
    model.off("change:selected", select);
    model.off("change:graphs", graphs);
    step.close();
  };
}

export default { render };
