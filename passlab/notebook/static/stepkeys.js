// What the keys of the stepper do, in words, and the pictures of its buttons.
export const KEYS = /** @type {[string, string][]} */ ([
  ["s S", "step, step back (also j and k)"], ["n N", "next: over calls; the same back"], ["f F", "finish this frame; back to its call"],
  ["c C", "continue to a breakpoint; back to one"], ["g G", "start and end; 120g goes to instant 120"], ["1 … 9", "before a key: so many times"],
  ["b", "breakpoint at the next instruction"], ["/", "breakpoint on an operator, @function, line 6, nan"], ["↑ ↓", "choose a register"], ["w", "watch it: continue stops when it changes"],
  ["o", "where its value came from: go there"], ["u", "back to where you were"], ["[ ]", "frame above, below"], ["t", "source, kernel, history"], ["e", "run on with another value in it (fork)"], ["x", "save as a page"],
]);
export const STEPS = /** @type {Record<string, string>} */ ({
  first: "M4 3v10M13 3L7 8l6 5z", back: "M8 3L3 8l5 5zM13 3L8 8l5 5z", before: "M11 3L5 8l6 5z", after: "M5 3l6 5-6 5z",
  over: "M2.5 9a5.5 5 0 0 1 10.5 0M13.5 5v4h-4M8 12.5h.01", out: "M8 10V2.5M4.8 5.5L8 2.4l3.2 3.1M8 13h.01", on: "M3 3l5 5-5 5zM8 3l5 5-5 5z", last: "M12 3v10M3 3l6 5-6 5z",
});
