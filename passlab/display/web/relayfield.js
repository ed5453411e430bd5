// An editor for Relay: CodeMirror with the language that cells of JupyterLab have, completion from the kernel, and errors in
// their lines. Only the bundle of the live view has it.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentUnit } from "@codemirror/language";
import { lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, StateEffect, StateField, Transaction } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, keymap, lineNumbers, tooltips, WidgetType } from "@codemirror/view";
import { relay } from "../../../extension/src/relay.js";
import { el } from "./dom.js";

/** @import { CompletionContext, CompletionResult } from "@codemirror/autocomplete" */
/** @import { LiveProblem } from "./protocol.js" */

/** What may follow at a position: (name, kind) of each, and where the word starts. @typedef {(text: string, at: number) => Promise<{names: [string, string][], from: number}>} Complete */

const TYPES = /** @type {Record<string, string>} */ ({
  operator: "function",
  attribute: "property",
  keyword: "keyword",
});

/** The text of an error at the end of its line. */
class Message extends WidgetType {
  /** @param {string} text */
  constructor(text) {
    super();
    this.text = text;
  }

  /** @param {Message} other @override */
  eq(other) {
    return other.text === this.text;
  }

  /** @override */
  toDOM() {
    return el("span", "pl-relay-problem", this.text);
  }
}

const setMessages =
  /** @type {import("@codemirror/state").StateEffectType<import("@codemirror/view").DecorationSet>} */ (
    StateEffect.define()
  );
const messages = StateField.define({
  create: () => Decoration.none,
  update: (shown, transaction) =>
    transaction.effects.reduce(
      (now, effect) => (effect.is(setMessages) ? effect.value : now),
      shown.map(transaction.changes),
    ),
  provide: (field) => EditorView.decorations.from(field),
});

export class RelayField {
  /** @param {(text: string) => void} onInput called with the text after each input @param {Complete} complete */
  constructor(onInput, complete) {
    this.problems = /** @type {LiveProblem[]} */ ([]);
    this.isOwn = false; // whether a change is the program's, and not the reader's
    const extensions = [
      lineNumbers(),
      history(),
      drawSelection(),
      indentUnit.of("  "),
      bracketMatching(),
      closeBrackets(),
      autocompletion({ override: [(context) => this.offer(context, complete)] }),
      highlightSelectionMatches(),
      search({ top: true }),
      tooltips({ position: "absolute" }),
      relay,
      messages,
      keymap.of([
        ...closeBracketsKeymap,
        ...defaultKeymap,
        ...searchKeymap,
        ...historyKeymap,
        ...completionKeymap,
        ...lintKeymap,
        indentWithTab,
      ]),
      EditorView.contentAttributes.of({ "aria-label": "the program, in Relay", spellcheck: "false" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged && !this.isOwn) onInput(update.state.doc.toString());
      }),
    ];
    this.element = el("div", "pl-relay-field pl-code");
    this.view = new EditorView({ state: EditorState.create({ extensions }), parent: this.element });
    // The notebook has keys for all that is typed here.
    this.element.addEventListener("keydown", (event) => event.stopPropagation());
    this.element.toggleAttribute("data-lm-suppress-shortcuts", true);
  }

  get hasFocus() {
    return this.view.hasFocus;
  }

  /** @param {CompletionContext} context @param {Complete} complete @returns {Promise<CompletionResult | null>} */
  async offer(context, complete) {
    const word = context.matchBefore(/(?:%|@)?[\w.]+|[%@]/);
    if (!word && !context.explicit) return null;
    const { names, from } = await complete(context.state.doc.toString(), context.pos);
    return {
      from,
      options: names.map(([label, kind]) => ({ label, detail: kind, type: TYPES[kind] ?? "variable" })),
      validFor: /^[%@]?[\w.]*$/,
    };
  }

  /** @param {string} text */
  set(text) {
    const { doc } = this.view.state;
    if (doc.toString() === text) return;
    this.isOwn = true;
    this.view.dispatch({
      changes: { from: 0, to: doc.length, insert: text },
      annotations: Transaction.addToHistory.of(false), // undo never takes back what the reader has not typed
    });
    this.isOwn = false;
    this.show(this.problems);
  }

  /** Mark errors: a wave under the words, and the text at the end of the line. @param {LiveProblem[]} problems */
  show(problems) {
    this.problems = problems;
    const { state } = this.view;
    const placed = problems
      .filter(({ line }) => line >= 0 && line < state.doc.lines)
      .map((problem) => {
        const line = state.doc.line(problem.line + 1),
          start = Math.min(line.length, problem.start ?? 0),
          end = problem.end === undefined || problem.end < 0 ? line.length : Math.min(line.length, problem.end);
        return {
          line,
          text: problem.text,
          from: line.from + start,
          to: line.from + Math.max(end, Math.min(start + 1, line.length)),
        };
      });
    const first = placed.filter((one, at) => placed.findIndex(({ line }) => line.from === one.line.from) === at);
    const marks = first.flatMap(({ line, text }) => [
      Decoration.line({ class: "pl-relay-wrong" }).range(line.from),
      Decoration.widget({ widget: new Message(text), side: 1 }).range(line.to),
    ]);
    this.view.dispatch(
      { effects: setMessages.of(Decoration.set(marks, true)) },
      setDiagnostics(
        state,
        placed.map(({ from, to, text }) => ({ from, to, severity: /** @type {const} */ ("error"), message: text })),
      ),
    );
  }

  close() {
    this.view.destroy();
  }
}
