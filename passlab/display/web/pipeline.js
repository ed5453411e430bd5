// The widget of a recorded pipeline: every pass at the left; the program, changes, graph and numbers at the right.

import { columnBorder } from "./columns.js";
import { Commands } from "./commands.js";
import { button, copyText, el, ICONS } from "./dom.js";
import { FindPanel } from "./find.js";
import { Modes } from "./modes.js";
import { Passes } from "./passlist.js";
import { Step, TABS } from "./passpane.js";
import { Bookmark, numberOf, scrolled } from "./place.js";
import { ask, hasKernel } from "./requests.js";
import { Selection, subscribe, syncSelection } from "./selection.js";
import { verdictStrip } from "./verdict.js";
import { passesLine, recordedPasses } from "./whatif.js";

/** @import { Bindings, Context, Model } from "./model.js" */
/** @import { RecordingAnswer, RecordingData, RecordingRequest, RecordingState } from "./protocol.js" */

const MAX_HEIGHT = 600,
  PASS = 30,
  LINE = 20,
  VERDICT = 80,
  WIDTH = 56; // pixels, and characters of a line in one half of a diff

/** The number of lines of the longest program or diff, up to a limit. @param {RecordingData} data */
function maxLines(data) {
  const rows = (/** @type {number} */ line) => Math.ceil(data.lines[line][0].length / WIDTH);
  const height = (/** @type {number[]} */ lines) =>
    lines.length > 30 ? 30 : lines.reduce((sum, line) => sum + rows(line), 1);
  return Math.max(
    ...data.modules.map((lines) => height(lines ?? [])),
    ...data.diffs.map((diff) => (diff ? diff.kinds.length / 2 : 0)),
  );
}

/**
 * The actions of the keys.
 * @param {HTMLElement} root @param {Passes} passes @param {Step} step @param {Selection} selection
 * @returns {Bindings}
 */
function actions(root, passes, step, selection) {
  const inDiff = (/** @type {() => unknown} */ run) => () => (step.tab === "Diff" ? run() : false);
  const inGraph = () => step.tab === "Graph" && !step.graphs.element.hidden;
  const goAlongNode = (/** @type {number} */ direction) => {
    const event = step.biography.next(passes.at, direction);
    return event === undefined ? false : passes.go(event);
  };
  const arrow = (/** @type {string} */ key, /** @type {number} */ by) => (/** @type {KeyboardEvent} */ event) =>
    inGraph() ? step.graph.keys()[key](event) : by ? passes.step(by) : false;
  return {
    j: () => passes.step(1),
    k: () => passes.step(-1),
    J: () => goAlongNode(1),
    K: () => goAlongNode(-1),
    ArrowDown: arrow("ArrowDown", 1),
    ArrowUp: arrow("ArrowUp", -1),
    ArrowLeft: arrow("ArrowLeft", 0),
    ArrowRight: arrow("ArrowRight", 0),
    g: () => passes.choose(passes.shown[0]),
    G: () => passes.choose(passes.shown[passes.shown.length - 1]),
    s: () => step.selectNext(1),
    S: () => step.selectNext(-1),
    "/": () => passes.search.focus(),
    c: () => passes.toggleChanged(),
    i: () => passes.toggleNested(),
    1: () => step.choose("IR"),
    2: () => step.choose("Diff"),
    3: () => step.choose("Graph"),
    4: () => step.choose("Table"),
    5: () => step.choose("Error"),
    6: () => step.choose("Rewrites"),
    "[": () => (step.tab === "Rewrites" ? step.rewrites.go(-1) : false),
    "]": () => (step.tab === "Rewrites" ? step.rewrites.go(1) : false),
    " ": () => (step.tab === "Rewrites" ? step.rewrites.toggle() : false),
    n: inDiff(() => step.diff.next(1)),
    p: inDiff(() => step.diff.next(-1)),
    u: inDiff(() => step.unified.click()),
    a: inDiff(() => step.all.click()),
    "+": () => (inGraph() ? step.graph.zoom(1.25) : false),
    "-": () => (inGraph() ? step.graph.zoom(0.8) : false),
    0: () => (inGraph() ? step.graph.fit() : false),
    b: () => step.blame.click(),
    v: () => (inGraph() ? step.pairButton.click() : false),
    r: () => (inGraph() ? step.graph.radius.grow() : false),
    t: (event) => (step.tab === "IR" ? step.code.toggleTypes() : inGraph() ? step.graph.keys().t(event) : false),
    f: () =>
      step.tab === "IR"
        ? step.code.toggleAll()
        : step.tab === "Graph" && step.graph.data
          ? step.graph.toggleAll()
          : false,
    Enter: (event) => (inGraph() && step.graph.keys().Enter(event)) || root.focus(),
    Escape: () => {
      selection.set([]);
      step.code.followName("");
      root.focus();
    },
  };
}

/**
 * Keep where the reader is, and show what was kept.
 * @param {Bookmark} bookmark @param {Step} step @param {Modes} modes @param {Selection} selection
 */
function followPlace(bookmark, step, modes, selection) {
  const { start } = bookmark,
    named = (/** @type {string | undefined} */ name, /** @type {string[]} */ names) =>
      names.find((one) => one.toLowerCase() === name?.toLowerCase()),
    tab = named(start.tab, TABS),
    mode = /** @type {const} */ (["compare", "what if"]).find((one) => one === start.mode?.toLowerCase());
  if (String(start.unified) === "true" && !step.diff.unified) step.diff.toggleUnified();
  if (String(start.all) === "true" && !step.diff.all) step.diff.toggleAll();
  if (tab) step.choose(tab);
  const line = numberOf(start.line) - 1,
    node = (step.step && step.model.get("data").nodes[step.step.after]?.[line]) ?? -1;
  if (line >= 0) step.code.goto(line);
  if (node >= 0 && selection.empty) selection.set([node]);
  modes.editor.wanted = String(start.edits ?? "");
  if (mode) modes.toggle(mode);
  const top = numberOf(start.top),
    watch = new ResizeObserver(() => {
      if (!step.body.clientHeight) return; // hidden by a mode
      watch.disconnect();
      requestAnimationFrame(() => scrolled(step.body)?.scrollTo(0, top));
    });
  if (top > 0) watch.observe(step.body);
  bookmark.follow(step.graphs.after);
  bookmark.isOpen = true;
  step.onChoose = (name) => bookmark.keep({ tab: name.toLowerCase(), top: 0 });
  modes.onToggle = (name) => bookmark.keep({ mode: name });
  modes.editor.onEdit = (edits) => bookmark.keep({ edits });
  step.body.addEventListener("scroll", () => bookmark.keep({ top: scrolled(step.body)?.scrollTop ?? 0 }), {
    capture: true,
    passive: true,
  });
  step.element.addEventListener("click", () =>
    bookmark.keep({ unified: step.diff.userUnified ?? "", all: step.diff.all }),
  );
  selection.listen(() => {
    const nodes = (step.step && step.model.get("data").nodes[step.step.after]) || [],
      at = selection.empty ? -1 : nodes.findIndex((one) => selection.has(one));
    bookmark.keep({ line: at < 0 ? "" : at + 1 });
  });
}

/** Show an explorer. @param {{model: Model<RecordingState, RecordingRequest, RecordingAnswer>, el: HTMLElement}} context @returns {() => void} ends it */
export function explorer({ model, el: host }) {
  const root = el("div", "passlab pl-pipeline");
  root.tabIndex = 0;
  const title = el("span", "pl-title"),
    selection = new Selection(),
    commands = new Commands(root, "pipeline");
  const step = new Step(model, root, selection, (at) => passes.go(at));
  const passes = new Passes((at) => {
    step.show(passes.steps[at]);
    if (model.get("selected") === at) return;
    bookmark.keep({ step: passes.steps[at].id, top: 0 });
    model.set("selected", at);
    model.save_changes();
  });
  const bookmark = new Bookmark(model),
    verdict = el("div", "pl-verdict");
  const find = new FindPanel(
    model,
    (at, line) => {
      passes.go(at);
      step.goto(line);
    },
    (query) => step.search(query),
    passes,
  );
  find.onClose = () => root.focus();
  const copy = button(
    "copy the program, the pipeline, or the selected node …",
    () => commands.palette("copy"),
    ICONS.copy,
  );
  const width = numberOf(bookmark.start.width),
    border = columnBorder(root, "--pl-list", (now) => bookmark.keep({ width: now || "" }));
  if (width > 0) root.style.setProperty("--pl-list", `${width}px`);
  const columns = el("div", "pl-columns", passes.element, find.element, border, step.element),
    modes = new Modes(model, root, selection, columns, () => passes.at);
  root.prepend(
    el("div", "pl-bar", title, el("span", "pl-grow"), ...modes.buttons, copy, ...commands.buttons),
    verdict,
    columns,
  );
  step.code.onBlameClick = (at) => passes.go(at);
  const goToFault = () => {
    const { verdict: result } = model.get("data");
    return result?.broken ? showFault(result.nodes) : false;
  };
  const basic = actions(root, passes, step, selection),
    bindings = /** @type {Bindings} */ ({
      ...basic,
      // A page has no kernel that could run another pipeline.
      ...(modes.buttons.includes(modes.compare) ? { x: () => modes.toggle("compare") } : {}),
      ...(modes.buttons.includes(modes.whatIf) ? { w: () => modes.toggle("what if") } : {}),
      e: () => goToFault(),
      "Ctrl+f": () => {
        passes.element.hidden = true;
        find.open();
      },
      F3: () => find.isOpen && find.next(1),
      "Shift+F3": () => find.isOpen && find.next(-1),
      "Ctrl+a": () => step.shownCode?.rows.selectAll() ?? false,
      "@": () => step.functions.open(),
      "copy the program": () => step.copyProgram("after"),
      "copy the program before": () => step.copyProgram("before"),
      "copy the pipeline": () => copyText(passesLine(model.get("data"), recordedPasses(model.get("data").steps))),
      ...(hasKernel(model)
        ? {
            "copy the node": () => {
              if (selection.empty) return false;
              ask(model, { copy: "node", node: selection.nodes[0] }, step.body);
              return true;
            },
          }
        : {}),
      Escape: (event) => (find.isOpen ? find.close() : basic.Escape(event)),
    });
  modes.run = (command) => void commands.run(command);
  commands.bind(bindings, () => (modes.mode ? [modes.mode, modes.keys()] : ["pipeline", bindings]));
  const showFault = (/** @type {number[]} */ nodes) => {
    passes.go(model.get("data").start);
    step.choose("Diff");
    if (nodes.length) selection.set(nodes);
  };
  const update = () => {
    const data = model.get("data"),
      selected = model.get("selected");
    title.textContent = data.title;
    verdict.hidden = !data.verdict;
    if (data.verdict) verdict.replaceChildren(...verdictStrip(data.verdict, showFault));
    selection.setLineage(data.links);
    if (!data.partial) {
      const listed = PASS * data.steps.filter((s) => !s.depth).length;
      root.style.setProperty(
        "--pl-height",
        `${Math.min(MAX_HEIGHT, 240 + Math.max(listed, LINE * maxLines(data))) + (data.verdict ? VERDICT : 0)}px`,
      );
    }
    passes.at = -1;
    passes.show(data.steps);
    const kept = data.steps.findIndex((one) => one.id === bookmark.start.step);
    passes.choose(data.steps[selected] ? selected : kept >= 0 ? kept : data.start);
  };
  const requestRest = () => {
    // the other steps, after this one is painted
    if (model.get("data").partial && !model.get("data").by_step)
      setTimeout(() => ask(model, { rest: true }, step.body), 50);
  };
  update();
  const leaveSelection = syncSelection(model, selection);
  const leaveModel = subscribe(model, {
    "change:data": () => {
      update();
      requestRest();
      find.onData();
    },
    "msg:custom": (message) => {
      if (message && "found" in message) find.onFound(message);
      if (message && "copied" in message) copyText(message.text);
    },
    "change:selected": () => passes.go(model.get("selected")),
    "change:graphs": () => step.show(step.step),
  });
  host.append(root);
  followPlace(bookmark, step, modes, selection);
  requestAnimationFrame(requestRest);
  return () => {
    leaveModel();
    leaveSelection();
    bookmark.close();
    modes.close();
    find.end();
    passes.close();
    step.close();
  };
}

/** @param {Context<"pipeline">} context */
function render(context) {
  return explorer(context);
}

export default { render };
