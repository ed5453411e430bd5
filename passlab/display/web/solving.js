// The widget of an analysis at work: the program with the state of each line, one decision after another, and back.

import { CodePane } from "./codepane.js";
import { Commands } from "./commands.js";
import { button, el } from "./dom.js";
import { FindField } from "./find.js";
import { mountPane, Selection } from "./selection.js";

/** @import { Context } from "./model.js" */

const COLOURS = 6;

/**
 * The state beside a line, coloured by its number; highlighted if the decision changed it.
 * @param {string} text @param {boolean} changed
 */
function badge(text, changed) {
  const number = /(?:group |storage |\?)(\d+)/.exec(text);
  return el(
    "span",
    `pl-state${number ? ` pl-state-${Number(number[1]) % COLOURS}` : ""}${changed ? " pl-state-fresh" : ""}`,
    text,
  );
}

/** @param {Context<"solving">} context */
function render({ model, el: host }) {
  const root = el("div", "passlab pl-module pl-solving");
  root.tabIndex = 0;
  const title = el("span", "pl-title"),
    selection = new Selection(),
    pane = new CodePane(root, selection),
    commands = new Commands(root, "solving"),
    find = new FindField(pane, "find in the program");
  const range = el("input", "pl-solving-range"),
    where = el("span", "pl-solving-where"),
    message = el("div", "pl-solving-message");
  range.type = "range";
  range.setAttribute("aria-label", "decision");
  message.setAttribute("aria-live", "polite");
  let at = 0,
    state = /** @type {(string | null)[]} */ ([]),
    changed = new Set();
  const steps = () => model.get("data").steps;
  const go = (/** @type {number} */ to) => {
    const data = model.get("data"),
      step = data.steps[to - 1];
    if (to < 0 || to > data.steps.length) return false;
    at = to;
    state = [...data.start];
    for (const one of data.steps.slice(0, at)) for (const [line, text] of one.changed) state[line] = text;
    changed = new Set(step ? step.changed.map(([line]) => line) : []);
    range.value = String(at);
    where.textContent = `${at} of ${data.steps.length}`;
    message.replaceChildren(
      el("span", "pl-dim", step ? step.phase : "before the first decision"),
      el("div", step?.changed.length ? "pl-solving-effect" : "", step ? step.sentence : "\u00a0"),
    );
    selection.set(step ? [step.node] : []);
    if (step && step.line >= 0) pane.goto(step.line, false);
    pane.rows.update(true);
    return true;
  };
  const goToChange = (/** @type {number} */ direction) => {
    let to = at + direction;
    while (to > 0 && to < steps().length && !steps()[to - 1].changed.length) to += direction;
    return go(to);
  };
  range.addEventListener("input", () => go(Number(range.value)));
  root.prepend(
    el("div", "pl-bar", title, el("span", "pl-grow"), find.count, find.field, ...commands.buttons),
    el(
      "div",
      "pl-bar pl-solving-bar",
      button("back", () => go(at - 1)),
      range,
      button("forward", () => go(at + 1)),
      where,
    ),
    message,
    pane.element,
  );
  commands.bind({
    ...find.keys(),
    j: () => go(at + 1),
    k: () => go(at - 1),
    n: () => goToChange(1),
    N: () => goToChange(-1),
    g: () => go(0),
    G: () => go(steps().length),
    f: () => pane.toggleAll(),
    "Ctrl+a": () => pane.rows.selectAll(),
    Escape: () => {
      selection.set([]);
      find.clear();
      root.focus();
    },
  });
  const update = () => {
    const data = model.get("data");
    title.textContent = title.title = data.title;
    range.max = String(data.steps.length);
    pane.annotate = (line) => (state[line] ? badge(/** @type {string} */ (state[line]), changed.has(line)) : null);
    pane.annotationWidth = Math.min(
      40,
      4 +
        Math.max(
          0,
          ...data.start.map((text) => (text || "").length),
          ...data.steps.flatMap((step) => step.changed.map(([, text]) => text.length)),
        ),
    );
    pane.show(data, data.rows, null, null, data.nodes);
    go(0);
  };
  return mountPane({ model, el: host }, root, selection, pane, update);
}

export default { render };
