// The keys of the stepper: their actions, their descriptions, and the icons of the buttons.
/** @import { Bindings } from "./model.js" */
export const STEPS = /** @type {Record<string, string>} */ ({
  first: "M4 3v10M13 3L7 8l6 5z",
  back: "M8 3L3 8l5 5zM13 3L8 8l5 5z",
  before: "M11 3L5 8l6 5z",
  after: "M5 3l6 5-6 5z",
  over: "M2.5 9a5.5 5 0 0 1 10.5 0M13.5 5v4h-4M8 12.5h.01",
  out: "M8 10V2.5M4.8 5.5L8 2.4l3.2 3.1M8 13h.01",
  on: "M3 3l5 5-5 5zM8 3l5 5-5 5z",
  last: "M12 3v10M3 3l6 5-6 5z",
});

/** The action of each key of a stepper. @param {import("./stepper.js").Stepper} view @returns {Bindings} */
export function actions(view) {
  const counted = (/** @type {(direction: number) => void} */ run, /** @type {number} */ direction) => () =>
    run(direction);
  const step = (/** @type {number} */ direction) => view.move("step", direction),
    digits = /** @type {Bindings} */ ({});
  for (const digit of "0123456789")
    digits[digit] = () => {
      view.count = (view.count + digit).slice(0, 9);
      view.setStatus(view.count);
    };
  return {
    ...digits,
    ...view.finder.keys(),
    s: counted(step, 1),
    S: counted(step, -1),
    j: () => view.stepSize.advance(1),
    k: () => view.stepSize.advance(-1),
    i: () => view.stepSize.cycle(),
    z: () => view.stepSize.fold(),
    Z: () => view.timeline.zoom(0, 0),
    m: () => view.move("kernel", 1),
    M: () => view.move("kernel", -1),
    l: () => view.move("line", 1),
    L: () => view.move("line", -1),
    n: () => view.move("next", 1),
    N: () => view.move("next", -1),
    f: () => view.move("finish", 1),
    F: () => view.move("finish", -1),
    c: () => view.proceed(1),
    C: () => view.proceed(-1),
    g: () => {
      const to = view.count ? Number(view.count) - view.branchStart : 0;
      view.count = "";
      view.go(to, true);
    },
    G: () => view.go(view.run.length, true),
    b: () => view.toggle(view.run.pointAt(view.at)),
    "/": () => view.find.focus(),
    w: () => view.watch(),
    o: () => view.origin(),
    u: () => {
      const to = view.visited.pop();
      if (to !== undefined) view.go(to);
    },
    t: () => view.source.cycle(),
    e: () => view.edit(),
    x: () => view.export(),
    "[": () => view.frame(view.up + 1),
    "]": () => view.frame(Math.max(0, view.up - 1)),
    ArrowDown: () => view.select(view.registers.neighbour(1)),
    ArrowUp: () => view.select(view.registers.neighbour(-1)),
    Escape: () => {
      view.count = view.find.value = "";
      view.finder.clear();
      view.selection.set([]);
      view.root.focus();
    },
    Enter: () => false,
  };
}
