// The layout of a graph's pieces: in columns like those of a newspaper, with repeats folded or unfolded.
// Nothing here draws.
/** @import { PieceLayout, PieceRow, RepeatItem } from "./protocol.js" */

// pixels; SHEETS is the offset of stacked sheets, OVER how far above a frame ways run
const GAP = 18,
  GUTTER = 46,
  COLUMNS = 29,
  FRAME = 12,
  TITLE = 26,
  SHEETS = 5,
  OVER = 9;
const LONG = 24, // boxes of a piece above which it stands in the middle of its column
  WORTH = 1.2; // how much larger a graph is shown if bodies are broken into columns

/** A piece of a graph, or a repeat. @typedef {PieceRow | RepeatItem} Item */

/**
 * A piece as it stands on the sheet: its layout, boxes and groups, and its top left corner; `ends` are the boxes of its
 * arrows where these lead to other pieces.
 * @typedef {{layout: PieceLayout, boxes: number[], groups: number[], x: number, y: number, ends?: [number, number][]}} Placed
 * What has a frame: a repeat that is folded (`count` sheets), or one body of it; `boxes` are all that it stands for.
 * @typedef {{path: string, title: string, folded: boolean, count: number, boxes: number[]}} Body
 * A frame around a body, or around the `part` of it in one column.
 * @typedef {Body & {x: number, y: number, width: number, height: number, part?: string}} Frame
 * A piece with the body that it belongs to, if any: where a column may end. @typedef {{piece: PieceRow, body: Body | null}} Part
 * What stands together in a column: pieces, their places from where values enter, how far they reach to the left and right
 * of that, where they leave, and the body around them if there is one.
 * @typedef {{pieces: PieceRow[], body: Body | null, at: number[], port: number, low: number, high: number, height: number}} Unit
 * @typedef {{width: number, height: number, pieces: Placed[], frames: Frame[], joints: number[][], columns: [number, number, number][]}} Sheet
 */

/** All pieces of items, in order. @param {Item[]} items @returns {PieceRow[]} */
function piecesOf(items) {
  return items.flatMap((item) => (Array.isArray(item) ? [item] : item.bodies.flatMap(piecesOf)));
}

/**
 * The parts of items, with the repeats in `open` unfolded.
 * @param {Item[]} items @param {Set<string>} open paths of repeats @returns {Part[]}
 */
function partsOf(items, open) {
  return items.flatMap((item, at) => {
    if (Array.isArray(item)) return [/** @type {Part} */ ({ piece: item, body: null })];
    const { name, bodies, similar } = item,
      path = String(at),
      folded = !open.has(path),
      kind = similar ? "similar" : "identical";
    return (folded ? bodies.slice(0, 1) : bodies).flatMap((body, turn) => {
      const boxes = piecesOf(folded ? [item] : body).flatMap((piece) => piece[1]),
        title = folded ? `${name}${similar ? "  (similar)" : ""}` : `${name}  ${turn + 1} of ${bodies.length} ${kind}`,
        around = { path, title, folded, count: folded ? bodies.length : 1, boxes };
      return shownPieces(body).map((piece) => ({ piece, body: around }));
    });
  });
}

/** The pieces of a body, repeats inside it by their first body. @param {Item[]} body @returns {PieceRow[]} */
function shownPieces(body) {
  return body.flatMap((item) => (Array.isArray(item) ? [item] : shownPieces(item.bodies[0])));
}

/** How far the sheets of a folded repeat stand out. @param {Body | null} body */
export const sheetsOf = (body) => (body?.folded ? SHEETS * Math.min(3, body.count) : 0);

/** The height of a frame above and below what is in it. @param {Body | null} body */
const around = (body) => (body ? sheetsOf(body) + 2 * FRAME + TITLE : 0);

/**
 * Pieces below one another, each entered where the one before is left: their places from the point where values enter.
 * @param {PieceRow[]} pieces @param {PieceLayout[]} layouts @param {Body | null} body @returns {Unit}
 */
function createUnit(pieces, layouts, body) {
  const at = /** @type {number[]} */ ([]);
  let port = 0,
    low = 0,
    high = 0,
    height = 0,
    enter = 0;
  pieces.forEach(([number], place) => {
    const {
        size: [pieceWidth, pieceHeight],
        entry,
        exit,
      } = layouts[number],
      x = port - (entry >= 0 ? entry : exit >= 0 ? exit : pieceWidth / 2);
    if (!place) enter = x + (entry >= 0 ? entry : pieceWidth / 2);
    at.push(x);
    [low, high] = [Math.min(low, x), Math.max(high, x + pieceWidth)];
    height += pieceHeight + GAP;
    port = exit >= 0 ? x + exit : x + pieceWidth / 2;
  });
  // wide: in the middle of its column, wherever values enter and leave
  if (pieces.length === 1 && !body && pieces[0][1].length > LONG) {
    const half = layouts[pieces[0][0]].size[0] / 2;
    [at[0], low, high, enter, port] = [-half, -half, half, 0, 0];
  }
  return {
    pieces,
    body,
    at,
    port: port - enter,
    low: low - (body ? FRAME : 0),
    high: high + (body ? FRAME + sheetsOf(body) : 0),
    height: height + around(body),
  };
}

/**
 * The extent of a column's units to the left and right of the point where values enter it.
 * @param {Unit[]} column @returns {[number, number]}
 */
function extent(column) {
  let port = 0,
    low = 0,
    high = 0;
  for (const one of column) {
    [low, high] = [Math.min(low, port + one.low), Math.max(high, port + one.high)];
    port += one.port;
  }
  return [low, high];
}

/**
 * The left and right edge of what is around a piece: its innermost frame, or its column with half of the gutters.
 * @param {Pick<Sheet, "frames" | "columns"> | null} sheet @param {number} x @param {number} y @param {number} width
 */
export function edgesAround(sheet, x, y, width) {
  const inside = (/** @type {number} */ left, /** @type {number} */ right) => left <= x && x + width <= right;
  const frame = sheet?.frames.findLast(
      (one) => inside(one.x, one.x + one.width) && one.y <= y && y < one.y + one.height,
    ),
    column = sheet?.columns.find(([left, across]) => inside(left - 1, left + across + 1));
  if (frame) return [frame.x + 4, frame.x + frame.width - 4];
  return column ? [column[0] - GUTTER / 2 + 2, column[0] + column[1] + GUTTER / 2 - 2] : [x, x + width];
}

/**
 * Distribute parts over columns no higher than `maxHeight`; a frame that goes on in the next column is drawn there again.
 * @param {Part[][]} groups parts that stay together @param {PieceLayout[]} layouts @param {number} maxHeight @returns {Part[][]}
 */
function columnsOf(groups, layouts, maxHeight) {
  const columns = /** @type {Part[][]} */ ([[]]);
  let used = 0;
  for (const group of groups) {
    const inside = heightOf(group, layouts),
      [{ body }] = group,
      frame = around(body),
      last = columns[columns.length - 1].at(-1);
    let height = inside + (body && last?.body === body ? 0 : frame);
    if (last && used + height > maxHeight) {
      columns.push([]);
      [used, height] = [0, inside + frame];
    }
    columns[columns.length - 1].push(...group);
    used += height;
  }
  return columns;
}

/** @param {Part[]} group @param {PieceLayout[]} layouts */
const heightOf = (group, layouts) => group.reduce((sum, { piece }) => sum + layouts[piece[0]].size[1] + GAP, 0);

/** Items of a list in runs whose neighbours belong together. @template T @param {T[]} list @param {(one: T, next: T) => boolean} together @returns {T[][]} */
function runsOf(list, together) {
  const runs = /** @type {T[][]} */ ([]);
  list.forEach((one, at) => {
    if (at && together(list[at - 1], one)) runs[runs.length - 1].push(one);
    else runs.push([one]);
  });
  return runs;
}

/** Whether two parts stand in one frame. @param {Part} one @param {Part} next */
const isOneBody = (one, next) => one.body !== null && one.body === next.body;

/** The units of a column. @param {Part[]} column @param {PieceLayout[]} layouts */
const unitsOf = (column, layouts) =>
  runsOf(column, isOneBody).map((run) =>
    createUnit(
      run.map(({ piece }) => piece),
      layouts,
      run[0].body,
    ),
  );

/** @param {Unit[][]} columns @returns {[number, number]} */
function sizeOf(columns) {
  const width = columns.map(extent).reduce((sum, [low, high]) => sum + high - low + GUTTER, -GUTTER);
  return [width, Math.max(...columns.map((column) => column.reduce((sum, one) => sum + one.height, OVER)))];
}

/**
 * The columns that let all parts fit a window at the largest scale, and this scale.
 * @param {Part[][]} groups parts that stay together @param {PieceLayout[]} layouts @param {number} width @param {number} height
 * @returns {[Unit[][], number]}
 */
function bestColumns(groups, layouts, width, height) {
  const total = groups.reduce((sum, group) => sum + heightOf(group, layouts), 0),
    whole = groups.map((group) => heightOf(group, layouts) + around(group[0].body)),
    tallest = Math.max(...whole),
    most = whole.reduce((sum, height) => sum + height, 0); // of one column
  let best = /** @type {Unit[][]} */ ([]),
    scale = -1;
  for (let count = 1; count <= Math.min(COLUMNS, groups.length); count++) {
    let low = Math.max(total / count, tallest),
      high = Math.max(low, most);
    while (high - low > 1) {
      const middle = (low + high) / 2;
      if (columnsOf(groups, layouts, middle).length > count) low = middle;
      else high = middle;
    }
    const units = columnsOf(groups, layouts, high).map((column) => unitsOf(column, layouts)),
      [w, h] = sizeOf(units),
      fits = Math.min(width / w, height / h, 1);
    if (fits > 1.005 * scale) [best, scale] = [units, fits]; // no more columns for next to nothing
  }
  return [best, scale];
}

/**
 * The units of all columns: bodies are whole, unless they show much smaller then.
 * @param {Part[]} parts @param {PieceLayout[]} layouts @param {number} width @param {number} height
 */
function arranged(parts, layouts, width, height) {
  const bodies = runsOf(parts, isOneBody),
    [whole, scale] = bestColumns(bodies, layouts, width, height);
  if (bodies.length === parts.length) return whole;
  const pieces = parts.map((part) => [part]),
    [broken, larger] = bestColumns(pieces, layouts, width, height);
  return larger > WORTH * scale ? broken : whole;
}

/**
 * Put a graph on a sheet for a window.
 * @param {{items: Item[], layouts: PieceLayout[]}} data @param {Set<string>} open @param {number} width @param {number} height @returns {Sheet}
 */
export function pack(data, open, width, height) {
  const sheet = /** @type {Sheet} */ ({ width: 0, height: 0, pieces: [], frames: [], joints: [], columns: [] });
  const parts = partsOf(data.items, open),
    columns = arranged(parts, data.layouts, Math.max(200, width), Math.max(200, height)),
    counts = /** @type {Map<Body, number>} */ (new Map()), // of the frames of each body
    turns = /** @type {Map<Body, number>} */ (new Map());
  for (const { body } of columns.flat()) if (body) counts.set(body, (counts.get(body) ?? 0) + 1);
  let left = 0,
    last = /** @type {[number, number] | null} */ (null);
  for (const column of columns) {
    const [low, high] = extent(column);
    let port = left - low,
      y = OVER;
    for (const one of column) {
      const top = y;
      y += one.body ? FRAME + TITLE : 0;
      one.pieces.forEach(([number, boxes, groups], place) => {
        const layout = data.layouts[number],
          x = port + one.at[place];
        if (last && layout.entry >= 0)
          sheet.joints.push(
            connector(
              last,
              [x + layout.entry, y + entryOf(layout)],
              left,
              one.body && !place ? top - OVER + 1 : y - OVER,
            ),
          );
        sheet.pieces.push({ layout, boxes, groups, x, y });
        y += layout.size[1];
        last = layout.exit >= 0 ? [x + layout.exit, y] : null;
        y += GAP;
      });
      if (one.body) {
        const { body } = one,
          count = counts.get(body) ?? 1,
          turn = (turns.get(body) ?? 0) + 1;
        turns.set(body, turn);
        sheet.frames.push({
          ...body,
          ...(count > 1 && { title: `${body.title}  part ${turn} of ${count}`, part: ` (${turn}/${count})` }),
          x: port + one.low,
          y: top,
          width: one.high - one.low - sheetsOf(body),
          height: y - GAP + FRAME - top,
        });
        y = top + one.height;
      }
      port += one.port;
    }
    sheet.columns.push([left, high - low, y]);
    sheet.height = Math.max(sheet.height, y);
    left += high - low + GUTTER;
  }
  sheet.width = Math.max(0, left - GUTTER);
  return sheet;
}

/** The distance from the top of a piece to the start of the arrows from outside. @param {PieceLayout} layout @returns {number} */
function entryOf(layout) {
  const starts = layout.arrows.flatMap(([source, , , points]) => (source < 0 && points.length ? [points[1]] : []));
  return starts.length ? Math.max(0, Math.min(...starts)) : 0;
}

/**
 * The points from one piece to the next: down, or down the column's gutter and over the top of the next one.
 * @param {[number, number]} from @param {[number, number]} to @param {number} left of the column of the second
 * @param {number} over the height above the second, and above the title of its frame, at which the way turns
 */
function connector([x0, y0], [x1, y1], left, over) {
  if (y1 > y0 && Math.abs(x1 - x0) < 1) return [x0, y0, x1, y1];
  if (y1 > y0) return [x0, y0, x0, over, x1, over, x1, y1];
  const gutter = left - GUTTER / 2;
  return [x0, y0, x0, y0 + 10, gutter, y0 + 10, gutter, over, x1, over, x1, y1];
}

/** The paths of all repeats. @param {Item[]} items @param {string} [path] @returns {string[]} */
export function repeats(items, path = "") {
  return items.flatMap((item, at) => (Array.isArray(item) ? [] : [path ? `${path}.${at}` : String(at)]));
}

/** The path of the repeat around a box, "" for none. @param {Item[]} items @param {number} box */
export function repeatOf(items, box) {
  const at = items.findIndex(
    (item) => !Array.isArray(item) && piecesOf([item]).some((piece) => piece[1].includes(box)),
  );
  return at < 0 ? "" : String(at);
}
