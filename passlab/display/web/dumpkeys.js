// The keys of the view of a dump, as listed in its help.
import { nextDifference } from "./dumpcompare.js";
import { STEP } from "./dumpfields.js";
/** @import { Bindings, WidgetModel } from "./model.js" */

/**
 * The action of each key.
 * @param {{model: WidgetModel<"dump">, root: HTMLElement, step: import("./dump.js").DumpStep, list: import("./dumplist.js").DumpList, source: import("./dumpsource.js").SourcePane, search: HTMLElement, results: HTMLElement}} view its parts
 * @returns {Bindings} */
export function dumpActions({ model, root, step, list, source, search, results }) {
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
    j: () => list.step(1),
    k: () => list.step(-1),
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
