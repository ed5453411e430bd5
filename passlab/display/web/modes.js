// The modes of an explorer beside its steps: the comparison with another recording, and the effect of another pipeline.
import { tip } from "./commands.js";
import { ComparePane } from "./comparepane.js";
import { button, copyText, el, options, prose } from "./dom.js";
import { ask, hasKernel } from "./requests.js";
import { subscribe } from "./selection.js";
import { PipelineEditor, passesLine } from "./whatif.js";

/** @import { Bindings, Model } from "./model.js" */
/** @import { Done, RecordingAnswer, RecordingRequest, RecordingState } from "./protocol.js" */

const THIS_RECORDING = "this recording";

export class Modes {
  /**
   * @param {Model<RecordingState, RecordingRequest, RecordingAnswer>} model
   * @param {HTMLElement} root @param {import("./selection.js").Selection} selection
   * @param {HTMLElement} columns of the explorer @param {() => number} currentStep the step that is shown
   */
  constructor(model, root, selection, columns, currentStep) {
    this.model = model;
    this.root = root;
    this.columns = columns;
    this.currentStep = currentStep;
    this.onToggle = (/** @type {string} */ _mode) => {};
    this.run = (/** @type {string} */ _command) => {};
    this.mode = /** @type {"" | "compare" | "what if"} */ ("");
    this.pane = new ComparePane(model, root, selection);
    this.editor = new PipelineEditor(
      (passes) => this.send({ what_if: passes }),
      (at) => this.goto(at),
      (name) => ask(model, { options: name }, this.root),
      (command) => this.run(command),
    );
    this.otherSelect = el("select", "pl-choice");
    this.otherSelect.setAttribute("aria-label", "the recording to compare with");
    this.otherSelect.addEventListener("change", () => this.send({ compare: this.otherSelect.value }));
    this.compare = button("compare", () => this.toggle("compare"));
    this.compare.title = tip("pipeline", "x");
    this.whatIf = button("what if", () => this.toggle("what if"));
    this.whatIf.title = `${tip("pipeline", "w")}: switch passes off, move, repeat, change and insert them`;
    this.withLabel = el("label", "pl-compare-with", "with ", this.otherSelect);
    this.hasKernel = hasKernel(model); // only a kernel can run pipelines and has other recordings
    this.buttons = this.hasKernel ? [this.withLabel, this.compare, this.whatIf] : this.comparison ? [this.compare] : [];
    this.pane.element.hidden = this.withLabel.hidden = true;
    this.pane.element.prepend(this.editor.element);
    this.leaveModel = subscribe(model, {
      "msg:custom": (message) => this.onMessage(message),
      "change:comparison": () => this.showComparison(),
    });
  }

  /** What the recording is compared with, null for nothing. */
  get comparison() {
    const data = this.model.get("comparison");
    return data && "rows" in data ? data : null;
  }

  /** @param {RecordingRequest} message */
  send(message) {
    if (!this.hasKernel) return this.showComparison();
    this.root.classList.add("pl-loading");
    ask(this.model, message, this.root);
  }

  /** @param {RecordingAnswer | Done} message */
  onMessage(message) {
    if (!message) return;
    if ("others" in message) {
      this.otherSelect.replaceChildren(...options(message.others));
      this.editor.setNames(message.passes);
    }
    if ("options" in message) this.editor.setOptions(message.options, message.fields);
    if ("bound" in message)
      this.say(message.problem ?? `The recording of this pipeline is \`${message.bound}\` now.`, !message.problem);
    if ("refused" in message && message.refused !== undefined) this.editor.problem.textContent = message.refused;
    this.root.classList.remove("pl-loading");
    // After a reload the model has this comparison already, so that it does not change.
    if ("done" in message && this.mode && this.comparison !== this.pane.data) this.showComparison();
  }

  /** Say something below the edited pipeline. @param {string} text @param {boolean} good */
  say(text, good) {
    this.editor.problem.replaceChildren(...prose(text));
    this.editor.problem.classList.toggle("pl-error", !good);
  }

  /** Enter a mode, or leave it. @param {"" | "compare" | "what if"} mode */
  toggle(mode) {
    if (!this.buttons.includes(mode === "compare" ? this.compare : this.whatIf)) return false;
    this.mode = this.mode === mode ? "" : mode;
    this.onToggle(this.mode);
    const isOpen = this.mode !== "",
      focused = document.activeElement;
    // A hidden element loses the focus, and then keys would go to the notebook's commands.
    if (this.columns.contains(focused) || this.pane.element.contains(focused)) this.root.focus({ preventScroll: true });
    this.columns.hidden = isOpen;
    this.pane.element.hidden = !isOpen || (this.mode === "compare" && !this.pane.data);
    this.pane.step.hidden = !this.pane.data;
    this.withLabel.hidden = this.mode !== "compare";
    this.editor.element.hidden = this.mode !== "what if";
    this.pane.passes.hidden = this.mode === "what if";
    this.compare.setAttribute("aria-pressed", String(this.mode === "compare"));
    this.whatIf.setAttribute("aria-pressed", String(this.mode === "what if"));
    if (!isOpen) {
      this.pane.element.remove();
      return true;
    }
    this.columns.after(this.pane.element);
    this.send({ others: true });
    if (this.mode === "compare") this.send({ compare: this.otherSelect.value || THIS_RECORDING });
    else {
      this.editor.load(this.model.get("data").steps);
      this.editor.submit();
    }
    return true;
  }

  /** Show the comparison from the kernel. */
  showComparison() {
    const data = this.comparison;
    this.root.classList.remove("pl-loading");
    if (!this.mode || !data) return;
    this.pane.element.hidden = this.pane.step.hidden = false;
    if (this.mode === "compare") {
      const last = data.sides[1].steps.length - 1,
        isItself = data.other === THIS_RECORDING;
      const step = this.model.get("data").steps[this.currentStep()],
        number = Number((step ? step.id : "0").split(".")[0]);
      return this.pane.show(data, isItself ? [0, number || last] : undefined);
    }
    this.pane.show(data);
    this.editor.showOutcomes(data);
    if (this.editor.edited) this.goto(this.editor.at);
  }

  /** Show the programs after a pass of the edited pipeline. @param {number} at */
  goto(at) {
    if (!this.pane.data) return;
    const row = this.editor.rowOf(this.pane.data, at);
    if (row >= 0) this.pane.choose(row);
  }

  /** The actions of the keys of the open mode. @returns {Bindings} */
  keys() {
    const { pane, editor } = this,
      isEditing = this.mode === "what if";
    const goBy = (/** @type {number} */ by) => {
      editor.choose(Math.max(0, Math.min(editor.entries.length - 1, editor.at + by)));
      return true;
    };
    const edit = (/** @type {() => void} */ run) => () => {
      if (!isEditing || !editor.entries[editor.at]) return false;
      run();
      return true;
    };
    return {
      ...(pane.data ? pane.keys() : {}),
      ...(isEditing
        ? {
            g: () => goBy(-editor.at),
            G: () => goBy(editor.entries.length),
            j: () => goBy(1),
            k: () => goBy(-1),
            " ": edit(() => editor.toggle(editor.at)),
            J: edit(() => editor.move(editor.at, editor.at + 1)),
            K: edit(() => editor.move(editor.at, editor.at - 1)),
            r: edit(() => editor.repeat(editor.at)),
            o: edit(() => editor.insert(editor.at + 1)),
            e: edit(() => editor.focus(editor.at)),
            m: edit(() => editor.toggleOptions(editor.at)),
            "Ctrl+z": () => editor.undo(),
            "Ctrl+Shift+z": () => editor.redo(),
            "copy the pipeline": () => {
              copyText(passesLine(this.model.get("data"), editor.passes));
              this.say("The pipeline is on the clipboard, as a line of a notebook.", true);
            },
            "bind the recording": () => editor.askName((name) => ask(this.model, { bind: name }, this.root)),
            "keep the recording": () => {
              this.toggle("what if");
              return ask(this.model, { keep: true }, this.root);
            },
          }
        : {}),
      x: () => this.toggle("compare"),
      w: () => this.toggle("what if"),
      Escape: () => (pane.find.clear() ? this.root.focus() : this.toggle(this.mode)),
    };
  }

  close() {
    this.leaveModel();
    this.pane.close();
  }
}
