// Reads the data of a graph, what is folded, and a width; writes the sheet that `packProgram` makes of it.

import { text as textOf } from "node:stream/consumers";
import { framesAround, packProgram } from "../../passlab/display/web/graphprogram.js";

const { data, folds, width, height, beside, boxes } = JSON.parse(await textOf(process.stdin));
const sheet = packProgram(data, new Map(Object.entries(folds)), width, height, beside ?? null, true),
  other = beside ? packProgram(beside, new Map(Object.entries(folds)), width, height, data, false) : null;
const plain = (/** @type {ReturnType<typeof packProgram>} */ one) => ({ ...one, visible: [...one.visible] });
const around = (boxes ?? []).map((/** @type {number} */ box) => framesAround(data, box));
process.stdout.write(JSON.stringify({ sheet: plain(sheet), other: other && plain(other), around }));
