// Questions in an explorer: the comparison with another recording, and the effect of another pipeline.
import { ComparePane } from "./comparepane.js";
import { button, el } from "./dom.js";
import { listenTo } from "./selection.js";
import { PipelineEditor } from "./whatif.js";

const OWN = "this recording";

export class Asking {
  /**
   * @param {any} model
   * @param {HTMLElement} root @param {import("./selection.js").Selection} selection
   * @param {HTMLElement} columns of the explorer @param {() => number} here the step that is shown
   */
  constructor(model, root, selection, columns, here) {
    this.model = model;
    this.root = root;
    this.columns = columns;
    this.here = here;
    this.mode = ""; // "compare", "what if", or neither
    this.pane = new ComparePane(model, root, selection);
    this.editor = new PipelineEditor((passes) => this.send({ what_if: passes }), (at) => this.goto(at));
    this.other = /** @type {HTMLSelectElement} */ (el("select", "pl-choice"));
    this.other.setAttribute("aria-label", "the recording to compare with");
    this.other.addEventListener("change", () => this.send({ compare: this.other.value }));
    this.compare = button("compare", () => this.toggle("compare"));
    this.compare.title = "compare this recording with another, or any two of its steps (x)";
    this.whatIf = button("what if", () => this.toggle("what if"));
    this.whatIf.title = "switch passes off, move, repeat, change and insert them, and see what differs (w)";
    this.with = el("label", "pl-with", "with ", this.other);
    this.asks = typeof model.send === "function"; // only a kernel can run pipelines and has other recordings
    this.buttons = this.asks ? [this.with, this.compare, this.whatIf] : (model.get("comparison") || {}).rows ? [this.compare] : [];
    this.pane.element.hidden = this.with.hidden = true;
    this.pane.element.prepend(this.editor.element);
    this.leaveModel = listenTo(model, { "msg:custom": (message) => this.hear(message), "change:comparison": () => this.showAnswer() });
  }

  /** @param {any} message */
  send(message) {
    if (!this.asks) return this.showAnswer();
    this.root.classList.add("pl-waiting");
    this.model.send(message);
  }

  /** @param {any} message */
  hear(message) {
    if (!message) return;
    if (message.others) {
      this.other.replaceChildren(...message.others.map((/** @type {string} */ name) => {
        const option = el("option", "", name);
        option.setAttribute("value", name);
        return option;
      }));
      this.editor.offer(message.passes);
    }
    if (message.refused !== undefined) this.editor.problem.textContent = message.refused;
    this.root.classList.remove("pl-waiting");
  }

  /** Open a question, or close it. @param {string} mode */
  toggle(mode) {
    if (!this.buttons.includes(mode === "compare" ? this.compare : this.whatIf)) return false;
    this.mode = this.mode === mode ? "" : mode;
    const asked = this.mode !== "", focused = document.activeElement;
    // A hidden element loses the focus, and then keys would go to the notebook's commands.
    if (this.columns.contains(focused) || this.pane.element.contains(focused)) this.root.focus({ preventScroll: true });
    this.columns.hidden = asked;
    this.pane.element.hidden = !asked || (this.mode === "compare" && !this.pane.data);
    this.pane.step.hidden = !this.pane.data;
    this.with.hidden = this.mode !== "compare";
    this.editor.element.hidden = this.mode !== "what if";
    this.pane.passes.hidden = this.mode === "what if";
    this.compare.setAttribute("aria-pressed", String(this.mode === "compare"));
    this.whatIf.setAttribute("aria-pressed", String(this.mode === "what if"));
    if (!asked) {
      this.pane.element.remove();
      return true;
    }
    this.columns.after(this.pane.element);
    this.send({ others: true });
    if (this.mode === "compare") this.send({ compare: this.other.value || OWN });
    else {
      this.editor.begin(this.model.get("data").steps);
      this.editor.tell();
    }
    return true;
  }

  /** Show the comparison from the kernel. */
  showAnswer() {
    const data = this.model.get("comparison");
    this.root.classList.remove("pl-waiting");
    if (!this.mode || !data.rows) return;
    this.pane.element.hidden = this.pane.step.hidden = false;
    if (this.mode === "compare") {
      const last = data.sides[1].steps.length - 1, own = data.other === OWN;
      const step = this.model.get("data").steps[this.here()], number = Number((step ? step.id : "0").split(".")[0]);
      return this.pane.show(data, own ? [0, number || last] : undefined);
    }
    this.pane.show(data);
    this.editor.learn(data);
    if (this.editor.edited) this.goto(this.editor.at);
  }

  /** Show the programs after a pass of the edited pipeline. @param {number} at */
  goto(at) {
    if (!this.pane.data) return;
    const row = this.editor.rowOf(this.pane.data, at);
    if (row >= 0) this.pane.choose(row);
  }

  /** The actions of the keys while a question is open. @returns {Record<string, (event: KeyboardEvent) => unknown>} */
  keys() {
    const { pane, editor } = this, edits = this.mode === "what if";
    const go = (/** @type {number} */ by) => {
      editor.choose(Math.max(0, Math.min(editor.entries.length - 1, editor.at + by)));
      return true;
    };
    const change = (/** @type {() => void} */ run) => () => (edits && editor.entries[editor.at] ? (run(), true) : false);
    return {
      ...(pane.data ? pane.keys() : {}), ...(edits ? { g: () => go(-editor.at), G: () => go(editor.entries.length), j: () => go(1), k: () => go(-1), ArrowDown: () => go(1), ArrowUp: () => go(-1) } : {}),
      " ": change(() => { editor.entries[editor.at].on = !editor.entries[editor.at].on; editor.draw(); editor.tell(); }),
      J: change(() => editor.move(editor.at, editor.at + 1)), K: change(() => editor.move(editor.at, editor.at - 1)),
      r: change(() => editor.repeat(editor.at)), o: change(() => editor.insert(editor.at + 1)), e: change(() => editor.focus(editor.at)),
      x: () => this.toggle("compare"), w: () => this.toggle("what if"), Escape: () => this.toggle(this.mode),
    };
  }

  close() {
    this.leaveModel();
    this.pane.close();
  }
}
