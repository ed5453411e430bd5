// The view of one step of a recording: a summary of the pass, its program, diff, graph, numbers and error.
import { Biography } from "./biography.js";
import { CodePane } from "./codepane.js";
import { DefinitionChoice } from "./columns.js";
import { tip } from "./commands.js";
import { chips } from "./diff.js";
import { DiffPane } from "./diffpane.js";
import { button, copyText, el, plural, prose, setTab, tabBar } from "./dom.js";
import { GraphPair } from "./graphpair.js";
import { GraphPane } from "./graphpane.js";
import { fitExcerpts } from "./lines.js";
import { passName, time } from "./passlist.js";
import { ask, hasKernel } from "./requests.js";
import { RewritePane } from "./rewritepane.js";
/** @import { Model } from "./model.js" */
/** @import { RecordingAnswer, RecordingData, RecordingRequest, RecordingState, StepDiff, StepRow } from "./protocol.js" */

export const TABS = ["IR", "Diff", "Graph", "Table", "Error", "Rewrites"];
const LETTER = 7.3; // pixels of a letter of code
const UNTYPED = "This program has no types yet: InferType finds them.";

export class Step {
  /**
   * @param {Model<RecordingState, RecordingRequest, RecordingAnswer>} model
   * @param {HTMLElement} root @param {import("./selection.js").Selection} selection
   * @param {(event: number) => void} go shows another step
   */
  constructor(model, root, selection, go) {
    this.model = model;
    this.selection = selection;
    this.tab = "Diff";
    this.onChoose = (/** @type {string} */ _tab) => {};
    this.step = /** @type {StepRow | null} */ (null);
    this.paired = false; // whether two graphs are shown
    this.showBlame = true; // whether the program names the pass that created each line
    this.query = ""; // a text that is searched in all steps
    this.code = new CodePane(root, selection);
    this.diff = new DiffPane(root, () => this.updateButtons(), selection);
    this.graph = new GraphPane(undefined, selection);
    this.graphs = new GraphPair(this.graph, selection);
    this.pairButton = button("before | after", () => {
      this.paired = !this.paired;
      this.updateButtons();
      this.show(this.step);
    });
    this.pairButton.title = tip("pipeline", "v");
    this.functions = new DefinitionChoice("one function of the program, or all (@)", () => this.showFunction());
    this.code.onLeaveOnly = () => this.functions.clear();
    this.biography = new Biography(selection, go);
    this.rewrites = new RewritePane(model, root, selection);
    this.title = el("span", "pl-step-name");
    this.facts = el("span", "pl-facts");
    this.sentence = el("div", "pl-step-summary");
    this.chips = el("div");
    this.note = el("div", "pl-empty");
    this.above = el("div", "pl-above");
    this.table = el("div", "pl-numbers");
    this.error = el("div", "pl-numbers pl-error-pane");
    this.tabs = tabBar(TABS, (name) => this.choose(name), true);
    const tabs = /** @type {HTMLElement[]} */ ([...this.tabs.children]);
    this.errorTab = tabs[TABS.indexOf("Error")]; // only for a failed pass
    this.rewritesTab = tabs[TABS.indexOf("Rewrites")]; // only for a pass with rewrites, if a kernel or the page can list them
    this.unified = button("unified", () => this.diff.toggleUnified());
    this.unified.title = tip("pipeline", "u");
    this.all = button("all lines", () => this.diff.toggleAll());
    this.all.title = tip("pipeline", "a");
    this.blame = button("passes next to lines", () => {
      this.showBlame = !this.showBlame;
      this.updateButtons();
      this.show(this.step);
    });
    this.blame.title = `${tip("pipeline", "b")}; a click goes to it`;
    this.body = el(
      "div",
      "pl-body",
      this.above,
      this.code.element,
      this.diff.element,
      this.graphs.element,
      this.table,
      this.error,
      this.rewrites.element,
      this.note,
    );
    const head = el(
      "div",
      "pl-step-head",
      el("div", "pl-step-line", this.title, this.facts),
      this.sentence,
      this.chips,
    );
    const bar = el(
      "div",
      "pl-bar pl-tab-bar",
      this.tabs,
      el("span", "pl-grow"),
      this.functions.element,
      this.blame,
      this.pairButton,
      this.unified,
      this.all,
    );
    this.element = el("div", "pl-step", head, bar, this.biography.element, this.body);
    this.updateButtons();
    selection.listen(() => this.showSelection());
  }

  /** @param {string} tab */
  choose(tab) {
    if (tab === "Error" && !this.step?.error) return;
    if (tab === "Rewrites" && !(this.step && this.hasRewrites(this.step))) return;
    this.tab = tab;
    this.onChoose(tab);
    this.show(this.step);
  }

  /** Whether a pass has rewrites that the kernel or the page can list. @param {StepRow} step */
  hasRewrites(step) {
    return step.rewrites > 0 && (hasKernel(this.model) || step.id in (this.model.get("rewrites") || {}));
  }

  /** The tab to show for a step: the error for one that failed without a diff. @param {StepRow} step */
  tabOf(step) {
    if ((this.tab === "Error" && !step.error) || (this.tab === "Rewrites" && !this.hasRewrites(step))) return "Diff";
    return this.tab === "Diff" && step.outcome === "failed" && step.diff === undefined ? "Error" : this.tab;
  }

  /** @param {StepRow | null} step */
  show(step) {
    const isOther = step !== this.step;
    this.step = step;
    if (!step) return;
    const data = this.model.get("data"),
      diff = step.diff === undefined ? null : data.diffs[step.diff],
      tab = this.tabOf(step);
    if (isOther) this.showHead(data, step, diff);
    this.errorTab.hidden = !step.error;
    this.rewritesTab.hidden = !this.hasRewrites(step);
    setTab(this.tabs, tab);
    this.sentence.hidden = tab === "Error"; // its pane tells it, with the lines at fault
    const { pane, note, above } = this.contents(data, step, diff, tab);
    for (const element of [
      this.code.element,
      this.diff.element,
      this.graphs.element,
      this.table,
      this.error,
      this.rewrites.element,
    ])
      element.hidden = element !== pane || note !== "";
    this.above.hidden = !above;
    this.above.textContent = above;
    this.note.hidden = !note;
    this.note.textContent = note;
    this.unified.hidden = this.all.hidden = pane !== this.diff.element;
    this.pairButton.hidden = pane !== this.graphs.element || (!step.diff && step.diff !== 0);
    this.blame.hidden = this.code.element.hidden || !data.blame;
    this.showFunction();
    if (pane === this.diff.element) this.diff.scheduleMap();
    this.showBiography(data);
  }

  /** @param {RecordingData} data @param {StepRow} step @param {StepDiff | null} diff */
  showHead(data, step, diff) {
    this.element.dataset.step = String(data.steps.indexOf(step));
    this.title.replaceChildren(...passName(step.name));
    this.title.title = step.name;
    const duration = step.outcome === "input" || step.outcome === "skipped" ? "" : time(step.ms);
    const facts = [
      duration,
      plural(step.calls, "operator"),
      plural(step.nodes, "node"),
      step.rewrites ? plural(step.rewrites, "rewrite") : "",
    ];
    this.facts.textContent = facts.filter(Boolean).join("  ·  ");
    this.sentence.replaceChildren(...prose(step.sentence));
    this.sentence.classList.toggle("pl-error", step.outcome === "failed");
    this.chips.replaceChildren(...(diff?.operators.length ? [chips(diff.operators)] : []));
  }

  /**
   * Fill the pane of a tab.
   * @param {RecordingData} data @param {StepRow} step @param {StepDiff | null} diff @param {string} tab
   * @returns {{pane: HTMLElement, note: string, above: string}}
   */
  contents(data, step, diff, tab) {
    const isProgram = tab === "IR" || (tab === "Diff" && step.diff === undefined); // the program is shown, not a diff
    let note = "",
      above = "";
    if (isProgram ? !data.modules[step.after] : tab === "Diff" && !diff) {
      if (data.by_step) ask(this.model, { step: data.steps.indexOf(step) }, this.body);
      return { pane: this.code.element, note: "Loading ...", above };
    }
    if (step.left_out && (isProgram || tab === "Diff")) above = `${plural(step.left_out, "more line")} not shown`;
    if (isProgram) {
      if (tab === "Diff" && !above)
        above =
          { input: "The program the pipeline starts with:", skipped: "The pass did not run. The program is still:" }[
            /** @type {string} */ (step.outcome)
          ] || "Nothing changed. The program is still:";
      if (step.untyped) above = above ? `${above}  (${UNTYPED})` : UNTYPED;
      this.program(data, step);
      return { pane: this.code.element, note, above };
    }
    if (tab === "Diff" && diff) {
      const before = diff.before ?? data.modules[step.before] ?? [],
        after = diff.after ?? data.modules[step.after] ?? [];
      this.diff.show(data, before, after, diff, ...(diff.nodes || [data.nodes[step.before], data.nodes[step.after]]));
      return { pane: this.diff.element, note, above };
    }
    if (tab === "Graph") return { pane: this.graphs.element, note: this.showGraph(step), above };
    if (tab === "Rewrites") {
      this.rewrites.show(step);
      return { pane: this.rewrites.element, note, above };
    }
    if (tab === "Error") {
      this.showError(step);
      return { pane: this.error, note, above };
    }
    this.showNumbers(step, diff);
    return { pane: this.table, note, above };
  }

  /** Show the function that is chosen, in the program or the difference. */
  showFunction() {
    const { code, diff, functions } = this;
    functions.element.hidden = code.element.hidden && diff.element.hidden;
    if (!code.element.hidden) code.showOnly(functions.offer(code.definitions));
    else if (!diff.element.hidden) {
      const both = new Map(diff.definitions.flat().map((one) => [one.name, one]));
      const name = functions.offer([...both.values()]);
      diff.showOnly(name, name);
    }
  }

  /** Mark a text in the programs; "" clears the marks. @param {string} query */
  search(query) {
    this.query = query;
    this.code.search(query, false);
    this.diff.search(query, false);
  }

  /** Show a line of the program after the step, in the difference if that is shown and has it. @param {number} line from 0 */
  goto(line) {
    const data = this.model.get("data"),
      number = (this.step && data.modules[this.step.after]?.[line]) ?? -1;
    if (line < 0) return;
    if (!this.diff.element.hidden && this.diff.only[1]) {
      this.functions.clear();
      this.showFunction();
    }
    if (!this.diff.element.hidden && this.diff.gotoLine(number, line)) return;
    if (this.code.element.hidden) this.choose("IR");
    this.code.goto(line);
  }

  /** Copy the program before or after the step: from the kernel, which has it whole, or what the page has of it. @param {"before" | "after"} which */
  copyProgram(which) {
    const { step, model } = this,
      { modules, lines } = model.get("data");
    if (!step) return false;
    if (!ask(model, { copy: which, id: step.id }, this.body))
      copyText((modules[step[which]] ?? []).map((line) => lines[line][0]).join("\n"));
    return true;
  }

  /** The code that is shown: a program, or one side of a difference; null where a pane has none. */
  get shownCode() {
    return [this.code, this.diff].find((pane) => !pane.element.hidden) ?? null;
  }

  updateButtons() {
    this.unified.setAttribute("aria-pressed", String(this.diff.unified));
    this.all.setAttribute("aria-pressed", String(this.diff.all));
    this.blame.setAttribute("aria-pressed", String(this.showBlame));
    this.pairButton.setAttribute("aria-pressed", String(this.paired));
  }

  /** The program of a step, with the passes that created its lines. @param {RecordingData} data @param {StepRow} step */
  program(data, step) {
    const { blame, steps } = data,
      origins = this.showBlame && blame ? blame.programs[step.after] : null;
    this.code.gutter.currentEvent = steps.indexOf(step);
    this.code.show(data, data.modules[step.after] ?? [], blame, origins, data.nodes[step.after]);
    if (this.query) this.code.search(this.query, false);
    this.code.rows.update(true);
  }

  /** @param {StepRow} step @returns {string} what to say in place of a graph */
  showGraph(step) {
    const { steps } = this.model.get("data"),
      at = steps.indexOf(step),
      // What a pass starts from is the result of a step before it, or of a pass that it runs first.
      candidates = [...steps.slice(0, at).reverse(), ...steps.slice(at + 1)],
      before = this.paired && step.diff !== undefined ? candidates.find((one) => one.after === step.before) : null;
    const graph = this.graphOf(step),
      graphBefore = before ? this.graphOf(before) : null;
    if (!graph || (before && !graphBefore))
      return hasKernel(this.model)
        ? "Drawing the graph (this needs the running kernel) ..."
        : "No graph of this step was drawn before the page was saved.";
    this.graphs.show(graphBefore, graph);
    return "";
  }

  /** The graph of a step, null if it is not loaded yet: it is then requested from the kernel. @param {StepRow} step */
  graphOf(step) {
    const key = graphKey(step),
      graph = this.model.get("graphs")?.[key];
    if (!graph) ask(this.model, { graph: key, id: step.id }, this.body);
    return graph || null;
  }

  /** @param {StepRow} step */
  showError(step) {
    const { frames, node, traceback, title } = step.failure || {
        frames: [],
        node: "",
        traceback: "",
        title: step.error,
      },
      columns = Math.floor((this.body.clientWidth || 640) / LETTER) - 7, // and what stands around the text
      parts = [];
    if (frames.length) {
      parts.push(el("div", "pl-error", ...prose(title)));
      for (const [place, source] of frames)
        parts.push(el("div", "pl-dim", place), el("pre", "pl-code pl-error-source", source));
      if (node) parts.push(el("div", "", el("span", "pl-dim", "working on  "), el("code", "pl-code", node)));
    } else {
      const raised = ["the pass ", el("code", "pl-inline-code", step.name), ` raised ${step.sentence.split(":")[0]}`];
      parts.push(
        el("div", "pl-error", ...raised),
        el("pre", "pl-code pl-error-text", fitExcerpts(step.error, columns)),
      );
    }
    if (traceback)
      parts.push(
        el(
          "details",
          "",
          el("summary", "pl-dim", "the full traceback"),
          el("pre", "pl-code pl-error-source", traceback),
        ),
      );
    this.error.replaceChildren(...parts);
  }

  /** @param {StepRow} step @param {StepDiff | null} diff */
  showNumbers(step, diff) {
    const facts = [
      ["pass", step.name],
      ["outcome", step.outcome],
      ["time", step.outcome === "input" ? "" : time(step.ms)],
      ["opt level", step.level || ""],
      ["operators", step.calls],
      ["nodes", step.nodes],
      ["rewrites", step.rewrites || ""],
      ["peak memory", step.peak ? `${(step.peak / 1048576).toFixed(1)} MiB` : ""],
    ];
    const rows = facts
      .filter(([, value]) => value !== "" && value !== 0)
      .map(([name, value]) => el("tr", "", el("th", "", name), el("td", "", String(value))));
    const parts = /** @type {HTMLElement[]} */ ([el("table", "pl-fact-table", el("tbody", "", ...rows))]);
    if (diff?.operators.length) {
      const head = el("tr", "", ...["operator", "before", "after", "change"].map((name) => el("th", "", name)));
      const body = diff.operators.map(([name, before, after]) =>
        el(
          "tr",
          "",
          el("td", "pl-op", name),
          el("td", "", before),
          el("td", "", after),
          el(
            "td",
            after > before ? "pl-increase" : "pl-decrease",
            `${after > before ? "+" : "−"}${Math.abs(after - before)}`,
          ),
        ),
      );
      parts.push(el("table", "pl-op-table", el("thead", "", head), el("tbody", "", ...body)));
    }
    if (step.log.length) parts.push(el("pre", "pl-code pl-log", step.log.join("\n")));
    this.table.replaceChildren(...parts);
  }

  // ---- selection
  /** Highlight the new selection in the shown pane. */
  showSelection() {
    const data = this.model.get("data");
    if (!this.step) return;
    this.code.updateSelection();
    this.diff.updateSelection();
    this.graph.updateSelection();
    this.graphs.before.updateSelection();
    this.showBiography(data);
  }

  /** @param {RecordingData} data */
  showBiography(data) {
    if (!this.step) return;
    const at = data.steps.indexOf(this.step),
      nodes = data.nodes[this.step.after] || [];
    const line = this.selection.empty ? -1 : nodes.findIndex((node) => this.selection.has(node));
    const lines = data.modules[this.step.after];
    this.biography.show(data, at, line >= 0 && lines ? data.lines[lines[line]][0].trim() : "");
  }

  /** Select the line after or before the selected one. @param {number} direction 1 or -1 */
  selectNext(direction) {
    const data = this.model.get("data"),
      nodes = (this.step && data.nodes[this.step.after]) || [];
    const visibleLines = this.code.element.hidden ? null : new Set(this.code.visualRows.filter((_, i) => i % 3 === 0)); // visible lines
    const here = nodes.findIndex((node) => this.selection.has(node));
    for (
      let at = here < 0 ? (direction > 0 ? 0 : nodes.length - 1) : here + direction;
      at >= 0 && at < nodes.length;
      at += direction
    ) {
      if (nodes[at] < 0 || this.selection.has(nodes[at]) || (visibleLines && !visibleLines.has(at))) continue;
      this.selection.set([nodes[at]]);
      if (!this.code.element.hidden) this.code.goto(at, false);
      return true;
    }
    return false;
  }

  close() {
    this.code.close();
    this.diff.close();
    this.graph.close();
    this.graphs.close();
    this.rewrites.close();
  }
}

/** The name of the graph of a step: of a program, and of what a pass changed in it. @param {StepRow} step */
export function graphKey(step) {
  return `${step.diff === undefined ? "" : step.diff}:${step.after}`;
}
