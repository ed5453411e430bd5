// The sheet of a program: its functions as cards, each with frames inside one another. Nothing here draws.
// A frame comes laid out as if everything in it were open. Where something in it is folded, the room is taken out that
// nothing else needs, along the height and along the width: all other boxes keep their order and their neighbours.
import { pack, repeatOf, repeats } from "./graphsheet.js";

/** @import { Frame, Sheet } from "./graphsheet.js" */
/** @import { CardRow, FrameRow, GraphData, PieceLayout } from "./protocol.js" */

// pixels; between cards; a folded card, and how far those of the call graph stand apart; areas of windows that may be open
const BETWEEN = 14,
  FOLDED = /** @type {[number, number]} */ ([268, 66]),
  COLUMN_GAP = 48,
  ROW_GAP = 18,
  SCREENS = 3,
  HEADER = 38,
  PAD = 12; // of a card, and around the blocks in it

/** @typedef {(value: number) => number} Mapping @typedef {[number, number, number, number]} Rect left, top, width, height */
/**
 * What the reader has folded and opened, by the keys of frames and the names of cards; all else is as it begins.
 * @typedef {Map<string, boolean>} Folds
 * @typedef {{number: number, row: FrameRow, x: number, y: number, width: number, height: number, folded: boolean}} PlacedFrame
 * @typedef {{number: number, row: CardRow, x: number, y: number, width: number, height: number, open: boolean}} PlacedCard
 * @typedef {{x: number, y: number, effect: number}} EffectMark
 * @typedef {{layout: PieceLayout, boxes: number[], groups: number[], x: number, y: number, ends: [number, number][]}} ProgramPiece
 * @typedef {{cards: PlacedCard[], frames: PlacedFrame[], marks: EffectMark[], rails: [number, number, number][], results: [number, number][],
 *   texts: [string, number, number][], lines: number[][], visible: Map<number, number>, repeats: Frame[], joints: number[][]}} ProgramParts
 */

/** Whether a frame can be folded. @param {FrameRow} frame */
export const canFold = (frame) => frame.parent >= 0 && frame.kind !== "arm";

/** Whether a frame is folded. @param {FrameRow} frame @param {Folds} folds */
export const isFolded = (frame, folds) => canFold(frame) && (folds.get(frame.key) ?? frame.folded);

/**
 * A mapping of a coordinate that takes out the parts of a range that nothing needs.
 * @param {[number, number][]} needed ranges @param {[number, number][]} spare ranges that are needed no longer
 * @returns {Mapping}
 */
export function squeeze(needed, spare) {
  const sorted = (/** @type {[number, number][]} */ ranges) => [...ranges].sort((a, b) => a[0] - b[0]);
  const gone = /** @type {[number, number][]} */ ([]);
  const kept = sorted(needed);
  for (const [from, to] of sorted(spare)) {
    let start = Math.max(from, gone.at(-1)?.[1] ?? -Infinity);
    for (const [a, b] of kept) {
      if (b <= start || a >= to) continue;
      if (a > start) gone.push([start, a]);
      start = Math.max(start, b);
    }
    if (start < to) gone.push([start, to]);
  }
  return (value) => gone.reduce((left, [a, b]) => left - Math.max(0, Math.min(value, b) - a), value);
}

/** @typedef {{size: [number, number], mapX: Mapping, mapY: Mapping, changed: boolean, sheet?: Sheet}} Measured */

/** The key of a repeat in a card. @param {CardRow} card @param {string} path */
const repeatKey = (card, path) => `${card.name} ${path}`;

/** The keys of all repeats of a card. @param {CardRow} card */
export const repeatKeys = (card) => repeats(card.sheet).map((path) => repeatKey(card, path));

/** The key of the repeat around a box, "" for none. @param {CardRow} card @param {number} box */
export function repeatAround(card, box) {
  const path = repeatOf(card.sheet, box);
  return path && repeatKey(card, path);
}

/**
 * The sizes of all frames for a window; functions that are long chains are packed into columns.
 * @param {GraphData} data @param {Folds} folds @param {number} width @param {number} height
 */
function measureAll(data, folds, width, height) {
  const measured = measure(data.frames, folds);
  for (const card of data.cards) {
    if (!card.sheet.length) continue;
    const open = new Set(repeats(card.sheet).filter((path) => folds.get(repeatKey(card, path)))),
      sheet = pack({ items: card.sheet, layouts: data.layouts }, open, width - 2 * PAD, height - HEADER - 2 * PAD),
      size = /** @type {[number, number]} */ ([
        Math.max(sheet.width + 2 * PAD, data.frames[card.frame].folded_size[0]),
        sheet.height + HEADER + 2 * PAD,
      ]);
    measured[card.frame] = { size, mapX: same, mapY: same, changed: true, sheet };
  }
  return measured;
}

const same = (/** @type {number} */ value) => value;

/**
 * The sizes of all frames as they are folded, and how the coordinates inside them map.
 * @param {FrameRow[]} frames @param {Folds} folds @returns {Measured[]}
 */
export function measure(frames, folds) {
  const measured = /** @type {Measured[]} */ (new Array(frames.length));
  for (let number = frames.length - 1; number >= 0; number--) {
    const frame = frames[number];
    if (isFolded(frame, folds)) {
      measured[number] = { size: frame.folded_size, mapX: same, mapY: same, changed: true };
      continue;
    }
    if (!frame.items.some(([item]) => item < 0 && measured[-1 - item].changed)) {
      measured[number] = { size: frame.size, mapX: same, mapY: same, changed: false };
      continue;
    }
    const across = { needed: /** @type {[number, number][]} */ ([]), spare: /** @type {[number, number][]} */ ([]) },
      down = { needed: /** @type {[number, number][]} */ ([]), spare: /** @type {[number, number][]} */ ([]) };
    for (const [item, x, y, width, height] of frame.items) {
      const [w, h] = item < 0 ? measured[-1 - item].size : [width, height],
        left = x + (width - w) / 2;
      across.needed.push([left, left + w]);
      across.spare.push([x, left], [left + w, x + width]);
      down.needed.push([y, y + h]);
      down.spare.push([y + h, y + height]);
    }
    const mapX = squeeze(across.needed, across.spare),
      mapY = squeeze(down.needed, down.spare);
    const size = /** @type {[number, number]} */ ([
      Math.max(mapX(frame.size[0]), frame.folded_size[0]),
      mapY(frame.size[1]),
    ]);
    measured[number] = { size, mapX, mapY, changed: true };
  }
  return measured;
}

/**
 * The corners of cards: each as high as it fits, then as far to the left.
 * @param {[number, number][]} sizes @param {number} width @returns {[number, number][]}
 */
export function skyline(sizes, width) {
  const end = Math.max(width, ...sizes.map(([w]) => w));
  let line = [[0, end, 0]]; // left, right, height
  return sizes.map(([w, h]) => {
    let best = [Infinity, 0];
    for (const [left] of line) {
      if (left + w > end + 0.01) break;
      const reach = Math.max(...line.filter(([a, b]) => a < left + w && b > left).map(([, , y]) => y));
      if (reach < best[0]) best = [reach, left];
    }
    const [y, x] = best,
      stop = Math.min(x + w + BETWEEN, end);
    line = [
      ...line.filter(([a]) => a < x).map(([a, b, at]) => [a, Math.min(b, x), at]),
      [x, stop, y + h + BETWEEN],
      ...line.filter(([, b]) => b > stop).map(([a, b, at]) => [Math.max(a, stop), b, at]),
    ];
    return [x, y];
  });
}

/** How many calls away from the first function each one is, and where it stands in its column. @param {CardRow[]} cards */
function columnsOf(cards) {
  const depths = cards.map(() => -1),
    queue = [0];
  depths[0] = 0;
  for (let at = 0; at < queue.length; at++)
    for (const called of cards[queue[at]].calls)
      if (depths[called] < 0) {
        depths[called] = depths[queue[at]] + 1;
        queue.push(called);
      }
  const columns = /** @type {number[][]} */ ([]);
  depths.forEach((depth, card) => {
    columns[Math.max(0, depth)] = [...(columns[Math.max(0, depth)] ?? []), card];
  });
  return columns;
}

/**
 * The corners of folded cards: a column for each depth of calls. @param {CardRow[]} cards @param {number} width
 * @returns {[number, number][] | null} null if the columns do not fit
 */
function callGraph(cards, width) {
  const columns = columnsOf(cards),
    corners = /** @type {[number, number][]} */ (cards.map(() => [0, 0]));
  if (columns.length * (FOLDED[0] + COLUMN_GAP) - COLUMN_GAP > Math.max(width, FOLDED[0])) return null;
  const tallest = Math.max(...columns.map((column) => column.length)) * (FOLDED[1] + ROW_GAP);
  columns.forEach((column, depth) => {
    const top = (tallest - column.length * (FOLDED[1] + ROW_GAP)) / 2;
    column.forEach((card, row) => {
      corners[card] = [depth * (FOLDED[0] + COLUMN_GAP), top + row * (FOLDED[1] + ROW_GAP)];
    });
  });
  return corners;
}

/**
 * Which cards are open: as the reader wants it; otherwise all if they fit some windows, or the first alone.
 * @param {GraphData} data @param {Measured[]} measured @param {Folds} folds @param {number} room pixels of a window's area
 */
export function openCards(data, measured, folds, room) {
  const area = data.cards.reduce((sum, card) => {
    const [w, h] = measured[card.frame].size;
    return sum + w * h;
  }, 0);
  const all = area <= SCREENS * room;
  return data.cards.map((card, at) => folds.get(card.name) ?? (all || at === 0));
}

/**
 * Put a program on a sheet for a window. `other` is the program that is shown beside it, at the same scale: a card of
 * both stands at the same place in both. `first` is whether this is the left one.
 * @param {GraphData} data @param {Folds} folds @param {number} width @param {number} height
 * @param {GraphData | null} [other] @param {boolean} [first]
 */
export function packProgram(data, folds, width, height, other = null, first = true) {
  const measured = measureAll(data, folds, width, height),
    room = width * height,
    open = openCards(data, measured, folds, room);
  const sizeOf = (/** @type {GraphData} */ of, /** @type {Measured[]} */ sizes, /** @type {boolean[]} */ opened) =>
    new Map(of.cards.map((card, at) => [card.name, opened[at] ? sizes[card.frame].size : FOLDED]));
  const own = sizeOf(data, measured, open);
  let names = data.cards.map((card) => card.name),
    sizes = own;
  if (other?.cards.length) {
    const theirs = measureAll(other, folds, width, height),
      beside = sizeOf(other, theirs, openCards(other, theirs, folds, room)),
      [left, right] = first ? [own, beside] : [beside, own];
    names = [...left.keys(), ...[...right.keys()].filter((name) => !left.has(name))];
    sizes = new Map(
      names.map((name) => {
        const [a, b] = [left.get(name) ?? [0, 0], right.get(name) ?? [0, 0]];
        return [name, /** @type {[number, number]} */ ([Math.max(a[0], b[0]), Math.max(a[1], b[1])])];
      }),
    );
  }
  const graph = !other && open.every((one) => !one) ? callGraph(data.cards, width) : null;
  const at =
      graph ??
      skyline(
        names.map((name) => /** @type {[number, number]} */ (sizes.get(name))),
        Math.max(FOLDED[0], width),
      ),
    corners = new Map(names.map((name, number) => [name, at[number]]));
  const cards = data.cards.map((row, number) => {
    const [x, y] = corners.get(row.name) ?? [0, 0],
      [w, h] = own.get(row.name) ?? FOLDED;
    return { number, row, x, y, width: w, height: h, open: open[number] };
  });
  const parts = place(data, measured, folds, cards);
  if (graph) parts.lines = linesOf(cards);
  const all = names.map((name) => [...(corners.get(name) ?? [0, 0]), ...(sizes.get(name) ?? FOLDED)]);
  return {
    width: Math.max(0, ...all.map(([x, , w]) => x + w)),
    height: Math.max(0, ...all.map(([, y, , h]) => y + h)),
    ...parts,
  };
}

/** Lines from each folded card to those that it calls, in a later column. @param {PlacedCard[]} cards @returns {number[][]} */
function linesOf(cards) {
  return cards.flatMap(({ row, x, y, width, height }) =>
    row.calls
      .map((called) => cards[called])
      .filter((called) => called.x > x)
      .map((called) => {
        const [fromX, fromY, toX, toY] = [x + width, y + height / 2, called.x, called.y + called.height / 2],
          middle = toX - COLUMN_GAP / 2;
        return [fromX, fromY, middle, fromY, middle, toY, toX, toY];
      }),
  );
}

/**
 * Where everything stands: frames, outer ones first, and the boxes in them as pieces.
 * @param {GraphData} data @param {Measured[]} measured @param {Folds} folds @param {PlacedCard[]} cards
 */
function place(data, measured, folds, cards) {
  const parts = /** @type {ProgramParts & {pieces: ProgramPiece[]}} */ ({
    cards,
    frames: [],
    pieces: [],
    marks: [],
    rails: [],
    results: [],
    texts: [],
    lines: [],
    visible: new Map(),
    repeats: [],
    joints: [],
  });
  const corners = /** @type {([number, number] | undefined)[]} */ (new Array(data.frames.length));
  for (const card of cards) if (card.open) corners[card.row.frame] = [card.x, card.y];
  for (let number = 0; number < data.frames.length; number++) {
    const corner = corners[number];
    if (!corner) continue;
    const row = data.frames[number],
      [x, y] = corner,
      [width, height] = measured[number].size,
      folded = isFolded(row, folds);
    if (row.parent >= 0) parts.frames.push({ number, row, x, y, width, height, folded });
    if (row.box >= 0) parts.visible.set(row.box, number);
    for (const box of row.hidden) parts.visible.set(box, number);
    if (folded) continue;
    const { sheet } = measured[number];
    if (sheet) {
      const card = /** @type {PlacedCard} */ (cards.find((one) => one.row.frame === number));
      inBlocks(card, sheet, parts);
      continue;
    }
    const rects = placeItems(row, measured, number);
    row.items.forEach(([item], at) => {
      if (item < 0) corners[-1 - item] = [x + rects[at][0], y + rects[at][1]];
    });
    inside(row, measured[number], rects, x, y, height, parts);
  }
  return parts;
}

/** The blocks of a long chain, in its card. @param {PlacedCard} card @param {Sheet} sheet @param {ProgramParts & {pieces: ProgramPiece[]}} parts */
function inBlocks({ row, x, y, width }, sheet, parts) {
  const left = x + (width - sheet.width) / 2,
    top = y + HEADER + PAD;
  for (const piece of sheet.pieces) {
    const ends = piece.layout.arrows.map(
      ([source, target]) =>
        /** @type {[number, number]} */ ([source < 0 ? -1 : piece.boxes[source], piece.boxes[target]]),
    );
    parts.pieces.push({ ...piece, x: piece.x + left, y: piece.y + top, ends });
  }
  for (const frame of sheet.frames)
    parts.repeats.push({ ...frame, path: repeatKey(row, frame.path), x: frame.x + left, y: frame.y + top });
  parts.joints.push(...sheet.joints.map((points) => points.map((value, at) => value + (at % 2 ? top : left))));
}

/** The sides of the items of a frame. @param {FrameRow} row @param {Measured[]} measured @param {number} number @returns {Rect[]} */
function placeItems(row, measured, number) {
  const { mapX, mapY } = measured[number];
  return row.items.map(([item, x, y, width, height]) => {
    const [w, h] = item < 0 ? measured[-1 - item].size : [width, height];
    return [mapX(x + width / 2) - w / 2, mapY(y), w, h];
  });
}

/**
 * The boxes, arrows, effects and results of a frame.
 * @param {FrameRow} row @param {Measured} measured @param {Rect[]} rects @param {number} x @param {number} y
 * @param {number} height @param {ProgramParts & {pieces: ProgramPiece[]}} parts
 */
function inside(row, { size, mapX, mapY }, rects, x, y, height, parts) {
  const boxes = /** @type {number[]} */ ([]),
    at = /** @type {number[]} */ ([]);
  row.items.forEach(([item], place) => {
    if (item < 0) return;
    const [left, top, w, h] = rects[place];
    boxes.push(item);
    at.push(left + w / 2, top + h / 2);
  });
  const arrows = row.arrows.map((arrow) => {
    const [source, target, label, , , points] = arrow;
    return /** @type {[number, number, string, number[]]} */ ([
      -1,
      -1,
      label,
      route(points, rects[source], rects[target], mapX, mapY),
    ]);
  });
  const ends = row.arrows.map(([, , , origin, user]) => /** @type {[number, number]} */ ([origin, user]));
  const layout = { size, at, arrows, groups: [], entry: -1, exit: -1 };
  if (boxes.length || arrows.length) parts.pieces.push({ layout, boxes, groups: [], x, y, ends });
  for (const result of row.results) {
    const [left, top, w, h] = rects[result];
    parts.results.push([x + left + w / 2, y + top + h + 3]);
  }
  if (row.text) parts.texts.push([`→ ${row.text}`, x + 9, y + height - 11]);
  row.rail.forEach((place, effect) => {
    const [left, top] = rects[place],
      [item] = row.items[place];
    parts.marks.push({ x: x + 18, y: y + top + 11, effect: effect + 1 });
    if (item >= 0) parts.marks.push({ x: x + left + 9, y: y + top + 11, effect: effect + 1 });
  });
  if (row.rail.length > 1) {
    const heights = row.rail.map((place) => y + rects[place][1] + 11);
    parts.rails.push([x + 18, heights[0], heights[heights.length - 1]]);
  }
}

/**
 * The points of an arrow after folding: it begins and ends where its items do now.
 * @param {number[]} points @param {Rect | undefined} source @param {Rect} target @param {Mapping} mapX @param {Mapping} mapY
 */
function route(points, source, target, mapX, mapY) {
  if (points.length < 8 || (mapX === same && mapY === same)) return points;
  const mapped = points.map((value, at) => (at % 2 ? mapY(value) : mapX(value)));
  const within = (/** @type {number} */ value, /** @type {Rect} */ [left, , width]) =>
    Math.max(left + 6, Math.min(left + width - 6, value));
  if (source) {
    mapped[0] = mapped[2] = within(mapped[0], source);
    mapped[1] = source[1] + source[3];
  }
  const end = within(mapped[mapped.length - 2], target);
  for (const back of [2, 4, 6, 8, 10]) if (mapped.length - back > 3) mapped[mapped.length - back] = end;
  return mapped;
}

/** The frames around a box that must be open for it to be seen, and its card. @param {GraphData} data @param {number} box */
export function framesAround(data, box) {
  let at = data.frames.findIndex(
    (frame) => frame.items.some(([item]) => item === box) || frame.hidden.includes(box) || frame.box === box,
  );
  const own = data.frames[at],
    around = /** @type {number[]} */ ([]);
  if (own && (own.hidden.includes(box) || own.box === box)) at = own.parent < 0 ? at : own.parent;
  for (; at >= 0; at = data.frames[at].parent) around.push(at);
  return around;
}
