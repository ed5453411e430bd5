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
const LONG_BODY = 24; // boxes of a body above which its pieces may stand in different columns

/** A piece of a graph, or a repeat. @typedef {PieceRow | RepeatItem} Item */

/**
 * A piece as it stands on the sheet: its layout, boxes and groups, and its top left corner; `ends` are the boxes of its
 * arrows where these lead to other pieces.
 * @typedef {{layout: PieceLayout, boxes: number[], groups: number[], x: number, y: number, ends?: [number, number][]}} Placed
 * A frame around bodies: of a repeat that is folded (`count` sheets), or of one body of it.
 * @typedef {{path: string, title: string, folded: boolean, count: number, x: number, y: number, width: number, height: number, boxes: number[], part?: string}} Frame
 * What stands around a unit; `boxes` are all that it stands for.
 * @typedef {{path: string, title: string, folded: boolean, count: number, boxes: number[], part?: string}} UnitFrame
 * What stands together in a column: pieces, their places from where values enter, how far they reach to the left and right
 * of that, where they leave, and the frame around them if there is one.
 * @typedef {{pieces: PieceRow[], frame: UnitFrame | null, first: boolean, at: number[], port: number, low: number, high: number, height: number}} Unit
 * @typedef {{width: number, height: number, pieces: Placed[], frames: Frame[], joints: number[][], columns: [number, number, number][]}} Sheet
 */

/** All pieces of items, in order. @param {Item[]} items @returns {PieceRow[]} */
function piecesOf(items) {
  return items.flatMap((item) => (Array.isArray(item) ? [item] : item.bodies.flatMap(piecesOf)));
}

/**
 * The units of items, with the repeats in `open` unfolded.
 * @param {Item[]} items @param {PieceLayout[]} layouts @param {Set<string>} open paths of repeats @param {string} [path] @returns {Unit[]}
 */
function unitsOf(items, layouts, open, path = "") {
  return items.flatMap((item, at) => {
    const here = path ? `${path}.${at}` : String(at);
    if (Array.isArray(item)) return [createUnit([item], layouts, null, true)];
    const { name, bodies, similar } = item,
      kind = similar ? "similar" : "identical";
    if (!open.has(here)) {
      const boxes = piecesOf([item]).flatMap((piece) => piece[1]);
      const title = `${name}${similar ? "  (similar)" : ""}`;
      const pieces = shownPieces(bodies[0]),
        frame = { path: here, title, folded: true, count: bodies.length, boxes };
      if (pieces.length < 2 || pieces.reduce((sum, piece) => sum + piece[1].length, 0) <= LONG_BODY)
        return [createUnit(pieces, layouts, frame, true)];
      return pieces.map((piece, part) =>
        createUnit(
          [piece],
          layouts,
          {
            ...frame,
            title: `${title}  part ${part + 1} of ${pieces.length}`,
            part: ` (${part + 1}/${pieces.length})`,
          },
          true,
        ),
      );
    }
    return bodies.flatMap((body, turn) => {
      const pieces = shownPieces(body),
        boxes = piecesOf(body).flatMap((piece) => piece[1]);
      const frame = {
        path: here,
        title: `${name}  ${turn + 1} of ${bodies.length} ${kind}`,
        folded: false,
        count: 1,
        boxes,
      };
      if (boxes.length <= LONG_BODY) return [createUnit(pieces, layouts, frame, true)];
      return pieces.map((piece, part) => createUnit([piece], layouts, frame, part === 0));
    });
  });
}

/** The pieces of a body, repeats inside it by their first body. @param {Item[]} body @returns {PieceRow[]} */
function shownPieces(body) {
  return body.flatMap((item) => (Array.isArray(item) ? [item] : shownPieces(item.bodies[0])));
}

/**
 * Pieces below one another, each entered where the one before is left: their places from the point where values enter.
 * @param {PieceRow[]} pieces @param {PieceLayout[]} layouts @param {UnitFrame | null} frame @param {boolean} first @returns {Unit}
 */
function createUnit(pieces, layouts, frame, first) {
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
  if (pieces.length === 1 && !frame && pieces[0][1].length > LONG_BODY) {
    const half = layouts[pieces[0][0]].size[0] / 2;
    [at[0], low, high, enter, port] = [-half, -half, half, 0, 0];
  }
  const around = frame ? FRAME + (frame.folded ? SHEETS * Math.min(3, frame.count) : 0) : 0;
  return {
    pieces,
    frame,
    first,
    at,
    port: port - enter,
    low: low - (frame ? FRAME : 0),
    high: high + around,
    height: height + (frame ? around + FRAME + (first ? TITLE : 0) : 0),
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

/** Distribute units over columns no higher than `maxHeight`. @param {Unit[]} list @param {number} maxHeight @returns {Unit[][]} */
function columnsOf(list, maxHeight) {
  const columns = /** @type {Unit[][]} */ ([[]]);
  let used = 0;
  for (const one of list) {
    if (columns[columns.length - 1].length && used + one.height > maxHeight) {
      columns.push([]);
      used = 0;
    }
    columns[columns.length - 1].push(one);
    used += one.height;
  }
  return columns;
}

/** @param {Unit[][]} columns @returns {[number, number]} */
function sizeOf(columns) {
  const width = columns.map(extent).reduce((sum, [low, high]) => sum + high - low + GUTTER, -GUTTER);
  return [width, Math.max(...columns.map((column) => column.reduce((sum, one) => sum + one.height, OVER)))];
}

/**
 * The columns that let all units fit a window at the largest scale.
 * @param {Unit[]} list @param {number} width @param {number} height
 */
function bestColumns(list, width, height) {
  const total = list.reduce((sum, one) => sum + one.height, 0),
    tallest = Math.max(...list.map((one) => one.height));
  let bestSplit = columnsOf(list, Infinity),
    scale = -1;
  for (let count = 1; count <= Math.min(COLUMNS, list.length); count++) {
    let maxHeight = Math.max(total / count, tallest),
      columns = columnsOf(list, maxHeight);
    while (columns.length > count) {
      maxHeight *= 1.03;
      columns = columnsOf(list, maxHeight);
    }
    const [w, h] = sizeOf(columns);
    const fits = Math.min(width / w, height / h, 1);
    if (fits > scale + 1e-6) [bestSplit, scale] = [columns, fits];
  }
  return bestSplit;
}

/**
 * Put a graph on a sheet for a window.
 * @param {{items: Item[], layouts: PieceLayout[]}} data @param {Set<string>} open @param {number} width @param {number} height @returns {Sheet}
 */
export function pack(data, open, width, height) {
  const sheet = /** @type {Sheet} */ ({ width: 0, height: 0, pieces: [], frames: [], joints: [], columns: [] });
  const columns = bestColumns(unitsOf(data.items, data.layouts, open), Math.max(200, width), Math.max(200, height));
  let left = 0,
    last = /** @type {[number, number] | null} */ (null);
  for (const column of columns) {
    const [low, high] = extent(column);
    let port = left - low,
      y = OVER;
    for (const one of column) {
      const top = y;
      y += one.frame ? FRAME + (one.first ? TITLE : 0) : 0;
      one.pieces.forEach(([number, boxes, groups], place) => {
        const layout = data.layouts[number],
          x = port + one.at[place];
        if (last && layout.entry >= 0)
          sheet.joints.push(
            connector(
              last,
              [x + layout.entry, y + entryOf(layout)],
              left,
              one.frame && !place ? top - OVER + 1 : y - OVER,
            ),
          );
        sheet.pieces.push({ layout, boxes, groups, x, y });
        y += layout.size[1];
        last = layout.exit >= 0 ? [x + layout.exit, y] : null;
        y += GAP;
      });
      if (one.frame) {
        const around = one.frame.folded ? SHEETS * Math.min(3, one.frame.count) : 0;
        sheet.frames.push({
          ...one.frame,
          x: port + one.low,
          y: top,
          width: one.high - one.low - around,
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
