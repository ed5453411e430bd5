// The keys of the view of a dump, as listed in its help.
import { nextDifference } from "./dumpcompare.js";
import { STEP } from "./dumpfields.js";
/** @import { Bindings, WidgetModel } from "./model.js" */

export const DUMP_KEYS = /** @type {[string, string][]} */ ([
  ["j k", "next and previous pass"],
  ["g G", "first and last"],
  ["/", "search the passes, by name or unit"],
  ["c", "only passes that changed something"],
  ["n p", "next and previous pass that wrote this unit, or at which two recordings differ"],
  ["1 2 3", "what changed, the text, its graph"],
  ["4 5", "times of a live recording, another recording beside it"],
  ["a", "show unchanged lines, too"],
  ["b", "which step created each line"],
  ["h", "hide noise, or show it"],
  ["t", "search the text of all steps"],
  ["s", "show the source of the program, or hide it"],
  ["click", "follow a name; on a line: its line of the source, and all lines that come from that"],
  ["Esc", "stop following it"],
  ["● ○", "changed something, nothing"],
  ["◌", "the dump does not prove it"],
  ["?", "after a sign: assumed, not proved by the dump"],
  ["⊘ ✕", "removed what it ran on, failed"],
]);

/**
 * The action of each key.
 * @param {{model: WidgetModel<"dump">, root: HTMLElement, step: import("./dump.js").DumpStep, list: import("./dumplist.js").DumpList, source: import("./dumpsource.js").SourcePane, search: HTMLElement, results: HTMLElement, showHelp: () => unknown}} view its parts
 * @returns {Bindings} */
export function dumpActions({ model, root, step, list, source, search, results, showHelp }) {
  const goAlongUnit = (/** @type {number} */ direction) => {
    const difference = step.tab === "compared" ? nextDifference(model.get("data"), list.at, direction) : -1;
    if (difference >= 0) list.choose(difference);
    if (step.unit < 0 || step.tab === "compared") return;
    const steps = model
      .get("data")
      .units[step.unit].versions.map((v) => v[STEP] - 1)
      .filter((at) => (at - list.at) * direction > 0);
    if (steps.length) list.choose(direction > 0 ? steps[0] : steps[steps.length - 1]);
  };
  return {
    "?": showHelp,
    j: () => list.step(1),
    k: () => list.step(-1),
    ArrowDown: () => list.step(1),
    ArrowUp: () => list.step(-1),
    g: () => list.choose(list.shown[0]),
    G: () => list.choose(list.shown[list.shown.length - 1]),
    "/": () => list.search.focus(),
    t: () => search.focus(),
    c: () => list.toggleChanged(),
    n: () => goAlongUnit(1),
    p: () => goAlongUnit(-1),
    1: () => step.choose("changes"),
    2: () => step.choose("text"),
    3: () => step.choose("graph"),
    4: () => step.choose("times"),
    5: () => step.choose("compared"),
    h: () => {
      step.toggleNoise();
      root.focus();
    },
    s: () => source.toggle(),
    a: () => step.allButton.click(),
    b: () => step.blameButton.click(),
    Enter: () => root.focus(),
    Escape: () => {
      if (step.tab === "times") step.times.clear();
      results.hidden = true;
      source.pick(-1);
      step.followName("");
      root.focus();
    },
  };
}
