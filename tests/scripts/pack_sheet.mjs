// Reads the data of a graph, the paths of repeats that are unfolded, and a size; writes the sheet that `pack` makes of it.

import { text as textOf } from "node:stream/consumers";
import { pack } from "../../passlab/display/web/graphsheet.js";

const { data, open, width, height } = JSON.parse(await textOf(process.stdin));
process.stdout.write(JSON.stringify(pack(data, new Set(open), width, height)));
