// The rewrites of a pass, played one by one, and the reasons why a node was not rewritten.
import { DiffPane } from "./diffpane.js";
import { button, el, ICONS, listbox, prose, setActive } from "./dom.js";
import { ask, hasKernel } from "./requests.js";
import { subscribe } from "./selection.js";

/** @import { Model } from "./model.js" */
/** @import { DiffData, Misses, RecordingAnswer, RecordingRequest, RecordingState, RewriteRow, StepRow } from "./protocol.js" */

const INTERVAL = 1200; // milliseconds for each rewrite while they play

export class RewritePane {
  /** @param {Model<RecordingState, RecordingRequest, RecordingAnswer>} model @param {HTMLElement} root @param {import("./selection.js").Selection} selection */
  constructor(model, root, selection) {
    this.model = model;
    this.selection = selection;
    this.event = ""; // the id of the pass
    this.at = -1;
    this.steps = /** @type {RewriteRow[]} */ ([]);
    this.loaded = /** @type {Record<string, RewriteRow[]>} */ ({});
    this.diffs = /** @type {Record<string, DiffData>} */ ({});
    this.timer = 0;
    this.diff = new DiffPane(root, () => {}, undefined);
    this.diff.all = true;
    this.diff.element.hidden = true;
    this.list = listbox("rewrites", (at) => this.choose(at), "pl-list pl-rewrites");
    this.count = el("span", "pl-facts");
    this.rule = el("span", "pl-rewrite-rule");
    this.reason = el("div", "pl-step-summary");
    this.misses = el("div", "pl-misses");
    this.play = button("play", () => this.toggle());
    this.play.title = "play the rewrites one by one (space)";
    this.whyButton = button("why was the selected node not rewritten?", () => this.askWhy());
    this.whyButton.hidden = !hasKernel(model);
    const bar = el(
      "div",
      "pl-rewrite-bar",
      button("the one before ([)", () => this.go(-1), ICONS.up),
      button("the next one (])", () => this.go(1), ICONS.down),
      this.play,
      this.rule,
      this.count,
      this.whyButton,
    );
    this.element = el(
      "div",
      "pl-rewrite-pane",
      this.list,
      el("div", "pl-rewrite", bar, this.reason, this.misses, this.diff.element),
    );
    this.leaveModel = subscribe(model, { "msg:custom": (message) => this.onMessage(message) });
  }

  /** Show the rewrites of a pass. @param {StepRow} step */
  show(step) {
    if (this.event === step.id && this.steps.length) return;
    this.stop();
    this.event = step.id;
    this.misses.replaceChildren();
    if (this.loaded[step.id]) return this.setSteps(this.loaded[step.id]);
    const stored = this.model.get("rewrites")?.[step.id];
    if (stored) {
      stored.parts.forEach((parts, at) => {
        this.diffs[`${step.id}:${at}`] = parts;
      });
      this.loaded[step.id] = stored.steps;
      this.setSteps(stored.steps);
      if (stored.left) this.misses.replaceChildren(el("div", "pl-dim", `${stored.left} more are not in this page`));
      return;
    }
    this.setSteps([]);
    this.count.textContent = "waiting for the kernel ...";
    ask(this.model, { rewrites: step.id }, this.element);
  }

  /** @param {RecordingAnswer} message */
  onMessage(message) {
    if (!message) return;
    if ("rewrites" in message) {
      this.loaded[message.rewrites] = message.steps;
      if (message.rewrites === this.event) this.setSteps(message.steps);
    }
    if ("parts" in message) {
      this.diffs[message.parts] = message.data;
      this.update();
    }
    if ("misses" in message) this.showWhy(message.misses);
  }

  /** @param {RewriteRow[]} steps */
  setSteps(steps) {
    this.steps = steps;
    this.at = -1;
    this.list.replaceChildren(
      ...steps.map((step, at) => {
        const item = el(
          "div",
          "pl-pass pl-rewrite-row",
          el("span", "pl-pass-id", at + 1),
          el("span", "pl-pass-name", el("b", "", step.rule || step.pass_name), ` ${step.title}`),
        );
        item.dataset.at = String(at);
        item.title = `${step.rule || step.pass_name}: ${step.title}`;
        item.setAttribute("role", "option");
        return item;
      }),
    );
    if (steps.length) return this.choose(0, false);
    this.update();
    this.count.textContent = "this pass replaced no node";
  }

  /** @param {number} at @param {boolean} [highlight] */
  choose(at, highlight = true) {
    if (!this.steps[at]) return false;
    this.at = at;
    if (highlight) this.selection.set(this.steps[at].nodes);
    this.update();
    return true;
  }

  /** @param {number} by */
  go(by) {
    return this.choose(this.at + by);
  }

  toggle() {
    if (this.timer) return this.stop();
    if (this.at === this.steps.length - 1) this.choose(0);
    else this.choose(Math.max(0, this.at));
    this.timer = window.setInterval(() => {
      if (!this.go(1)) this.stop();
    }, INTERVAL);
    this.updateButton();
    return true;
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    this.updateButton();
    return true;
  }

  updateButton() {
    this.play.textContent = this.timer ? "pause" : "play";
    this.play.setAttribute("aria-pressed", String(this.timer > 0));
  }

  update() {
    const step = this.steps[this.at],
      key = `${this.event}:${this.at}`,
      parts = step && this.diffs[key];
    this.rule.textContent = step ? step.rule || step.pass_name : "";
    this.count.textContent = step ? `${this.at + 1} of ${this.steps.length}` : "";
    this.reason.replaceChildren(...(step ? prose(step.why) : []));
    this.diff.element.hidden = !parts;
    [...this.list.children].forEach((item, at) => item.classList.toggle("pl-done", at < this.at));
    setActive(this.list, this.at);
    if (parts) this.diff.show(parts, parts.before, parts.after, parts, ...parts.nodes);
    else if (step) ask(this.model, { parts: [this.event, this.at] }, this.element);
  }

  askWhy() {
    const node = this.selection.roots[0];
    if (node === undefined) return this.misses.replaceChildren(el("div", "pl-dim", "Select a line or a box first."));
    ask(this.model, { why_not: [this.event, node] }, this.element);
  }

  /** @param {Misses} misses */
  showWhy({ node, rows }) {
    const head = el("tr", "", ...["rule", "fits", "pattern", "fails because"].map((name) => el("th", "", name)));
    const heading = rows.length
      ? `${node} was not rewritten; the nearest rules:`
      : `No declared rule of this pass starts with a node like ${node}.`;
    const table = el("table", "", head, ...rows.map((row) => el("tr", "", ...row.map((cell) => el("td", "", cell)))));
    this.misses.replaceChildren(el("div", "", heading), ...(rows.length ? [table] : []));
  }

  close() {
    this.stop();
    this.leaveModel();
    this.diff.close();
  }
}
