// Reads the data of a stepper; writes for each instant what `Run` finds there: point, stack, registers, writes, moves, breakpoints.

import { text as textOf } from "node:stream/consumers";
import { Run } from "../../passlab/display/web/steprun.js";

const { data, words } = JSON.parse(await textOf(process.stdin));
const run = new Run(data),
  most = data.length + 1;
const breaks = words.map((/** @type {string} */ word) => run.parseBreakpoint(word));
const instants = Array.from({ length: most }, (_, at) => {
  const place = run.place(at),
    { values } = place ? run.registers(place.frame, at) : { values: new Int32Array() };
  return {
    point: run.pointAt(at),
    stack: run.stack(at, most).map(({ frame, pc, depth }) => [frame, pc, depth]),
    registers: [...values.keys()].filter((register) => values[register] > 0),
    written: place ? run.writtenBy(at - 1, place.frame) : [],
    moves: ["step", "next", "finish"].flatMap((how) => [1, -1].map((by) => run[/** @type {"step"} */ (how)](at, by))),
    stops: breaks.map(
      (/** @type {import("../../passlab/display/web/steprun.js").Break | null} */ one) =>
        one !== null && run.stops(one, at),
    ),
  };
});
process.stdout.write(JSON.stringify(instants));
