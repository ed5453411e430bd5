// The widget of a program that is edited: the program and its pipeline above, the result of the pipeline below.
import { Delayed, el } from "./dom.js";
import { explorer } from "./pipeline.js";
import { RelayField } from "./relayfield.js";
import { ask } from "./requests.js";
import { subscribe } from "./selection.js";

/** @import { Context } from "./model.js" */

const DELAY = 250; // milliseconds after the last key before the program is read and run

/** @param {Context<"live">} context */
function render({ model, el: host }) {
  const root = el("div", "passlab pl-live");
  const saving = new Delayed(() => {
    model.save_changes();
    ask(model, {}, root); // asks nothing: while the program waits for the kernel, the editor says so
  }, DELAY);
  const scheduleSave = (/** @type {"source" | "pipeline"} */ name, /** @type {string} */ text) => {
    state.textContent = "…";
    model.set(name, text);
    saving.ask();
  };
  let answer = (/** @type {{names: [string, string][], from: number}} */ _) => {};
  const program = new RelayField(
    (text) => scheduleSave("source", text),
    (text, at) =>
      new Promise((done) => {
        answer({ names: [], from: at }); // whoever asked before no longer waits
        answer = done;
        if (!ask(model, { complete: text.slice(0, at), rest_of_text: text.slice(at) }, root))
          done({ names: [], from: at });
      }),
  );
  const pipeline = el("input", "pl-find pl-live-pipeline pl-code");
  pipeline.spellcheck = false;
  pipeline.setAttribute("aria-label", "the pipeline");
  pipeline.addEventListener("input", () => scheduleSave("pipeline", pipeline.value));
  pipeline.addEventListener("keydown", (event) => event.stopPropagation());
  const state = el("span", "pl-live-state"),
    message = el("div", "pl-live-problems");
  message.setAttribute("role", "status");
  root.append(
    program.element,
    el("div", "pl-bar pl-live-bar", el("span", "pl-dim", "passes"), pipeline, state),
    message,
  );
  host.append(root);
  const close = explorer({ model, el: host });
  const showProblems = () => {
    const problems = model.get("problems"),
      unplaced = problems.filter((one) => one.line < 0);
    program.show(problems);
    pipeline.classList.toggle(
      "pl-live-wrong",
      problems.some((one) => one.pipeline),
    );
    message.replaceChildren(...unplaced.map((one) => el("div", "pl-error", one.text)));
    state.textContent = problems.length ? "the last good result is shown" : model.get("followed");
    host.classList.toggle("pl-stale", problems.length > 0);
  };
  const updateFields = () => {
    if (!program.hasFocus) program.set(model.get("source"));
    if (document.activeElement !== pipeline) pipeline.value = model.get("pipeline");
  };
  updateFields();
  showProblems();
  const leaveModel = subscribe(model, {
    "msg:custom": (message) => {
      if (message && "completed" in message) answer({ names: message.completed, from: message.start });
    },
    "change:problems": showProblems,
    "change:data": showProblems,
    "change:followed": showProblems,
    "change:source": updateFields,
    "change:pipeline": updateFields,
  });
  return () => {
    saving.flush();
    leaveModel();
    program.close();
    close();
  };
}

export default { render };
