// The graph of one unit of a dump: lines as boxes, arrows from where a value is defined to each use, laid out here in layers.
import { el, plural, svg } from "./dom.js";
import { drawBox, drawLines } from "./graphdraw.js";

/** @import { DumpLine, LiveGraph } from "./protocol.js" */

const MAX_BOXES = 300,
  BOX_CHARACTERS = 44,
  BOX_HEIGHT = 42,
  GAP = 14,
  LAYER_GAP = 34,
  ROW_WIDTH = 1100; // boxes; characters of a box; pixels
const CHANGES = /** @type {Record<string, string>} */ ({ "+": "added", "!": "changed", "~": "changed", ">": "moved" });

/** @typedef {{x: number, width: number, layer: number, above: number[], below: number[]}} Place */

/**
 * A graph of lines or of a compiler's nodes; `signs` are the changes of its boxes, where the lines do not say them.
 * @typedef {{noun: string, count: [number, number], boxes: {at: number, name: string, text: string, input: boolean, names: string[]}[], arrows: [number, number][], signs: Map<number, string> | null}} DumpGraph
 */

/**
 * The boxes and arrows of a text: as `TextRecording.graph` has them.
 * @param {DumpLine[]} lines of the data @param {number[]} numbers of the lines of the text
 * @returns {DumpGraph}
 */
export function graphOf(lines, numbers) {
  const boxes = /** @type {DumpGraph["boxes"]} */ ([]),
    defined = new Map();
  const uses = /** @type {[number, number, string][]} */ ([]),
    arrows = /** @type {Map<string, [number, number]>} */ (new Map());
  numbers.forEach((number, at) => {
    const parsed = lines[number][3];
    if (!parsed) return;
    const [operation, results, operands] = parsed,
      box = boxes.length;
    boxes.push({
      at,
      name: operation || "parameters",
      text: lines[number][0].trim(),
      input: !operands.length && results.length > 0,
      names: results,
    });
    for (const name of operands) uses.push([defined.has(name) ? defined.get(name) : -1, box, name]);
    for (const name of results) defined.set(name, box);
  });
  for (const [above, target, name] of uses) {
    // a value carried by a loop is defined below its use
    const source = above >= 0 ? above : defined.has(name) ? defined.get(name) : target;
    if (source !== target) arrows.set(`${source} ${target}`, [source, target]);
  }
  return { noun: "line", count: [boxes.length, arrows.size], boxes, arrows: [...arrows.values()], signs: null };
}

/**
 * The graph that the host of a live recording has of the program after a step; null for a step without.
 * @param {(LiveGraph | number | null)[]} graphs of the data: a graph, or the number of an earlier step that has the same @param {number} step
 * @returns {DumpGraph | null}
 */
export function liveGraphOf(graphs, step) {
  const entry = graphs[step],
    isRepeat = typeof entry === "number",
    graph = isRepeat ? graphs[entry] : entry;
  if (!graph || typeof graph === "number") return null;
  const boxes = graph.boxes.map(([name, text, input, , key], at) => ({ at, name, text, input: !!input, names: [key] }));
  const changes = graph.boxes.flatMap(([, , , change], at) =>
    isRepeat || !change ? [] : [/** @type {[number, string]} */ ([at, change])],
  );
  return { noun: "node", count: graph.count, boxes, arrows: graph.arrows, signs: new Map(changes) };
}

/** Assign places to layers, order each layer by the mean position of its neighbours, and set each x. @param {Place[]} places */
function arrange(places) {
  const layers = /** @type {number[][]} */ ([]);
  places.forEach(({ layer }, at) => {
    layers[layer] ||= [];
    layers[layer].push(at);
  });
  const positions = places.map(() => 0),
    mean = (/** @type {number[]} */ of, /** @type {number[]} */ by, /** @type {number} */ other) =>
      of.length ? of.reduce((sum, one) => sum + by[one], 0) / of.length : other;
  const number = (/** @type {number[]} */ layer) =>
    layer.forEach((at, order) => {
      positions[at] = order;
    });
  layers.forEach(number);
  for (let turn = 0; turn < 6; turn++) {
    for (const layer of turn % 2 ? [...layers].reverse() : layers) {
      const key = new Map(
        layer.map((at) => [at, mean(turn % 2 ? places[at].below : places[at].above, positions, positions[at])]),
      );
      number(layer.sort((a, b) => (key.get(a) || 0) - (key.get(b) || 0)));
    }
  }
  const xs = places.map(() => 0);
  for (const layer of layers) {
    let free = -Infinity,
      moved = 0;
    for (const at of layer) {
      const { width, above } = places[at],
        ideal = mean(above, xs, free === -Infinity ? 0 : free + width / 2);
      xs[at] = Math.max(free + width / 2, ideal);
      moved += xs[at] - ideal;
      free = xs[at] + width / 2 + GAP;
    }
    for (const at of layer) xs[at] -= moved / layer.length;
  }
  places.forEach((place, at) => {
    place.x = xs[at];
  });
}

/**
 * The picture of a graph.
 * @param {DumpGraph} graph @param {Map<number, string>} signs the change of each line
 * @param {(names: string[]) => void} onSelect
 */
export function pictureOf(graph, signs, onSelect) {
  const shown = graph.boxes.slice(0, MAX_BOXES),
    arrows = graph.arrows.filter(([a, b]) => a < MAX_BOXES && b < MAX_BOXES);
  const labels = shown.map((box) => [
    box.name,
    box.text.length > BOX_CHARACTERS ? `${box.text.slice(0, BOX_CHARACTERS - 1)}…` : box.text,
  ]);
  const width = labels.map(([name, text]) => Math.max(60, 20 + 6.7 * Math.max(name.length * 1.1, text.length)));
  const connected = new Set(arrows.flat()),
    layer = shown.map(() => 0);
  for (const [a, b] of [...arrows].sort((one, other) => one[1] - other[1]))
    if (a < b) layer[b] = Math.max(layer[b], layer[a] + 1);
  const places = /** @type {Place[]} */ ([]),
    at = new Map(),
    paths = /** @type {number[][]} */ ([]);
  const addPlace = (/** @type {number} */ boxWidth, /** @type {number} */ layerNumber) =>
    places.push({ x: 0, width: boxWidth, layer: layerNumber, above: [], below: [] }) - 1;
  shown.forEach((_, box) => {
    if (connected.has(box)) at.set(box, addPlace(width[box], layer[box]));
  });
  for (const [a, b] of arrows) {
    const path = [at.get(a)];
    // a free place for a long arrow between the boxes
    for (let layerNumber = layer[a] + 1; a < b && layerNumber < layer[b]; layerNumber++)
      path.push(addPlace(6, layerNumber));
    path.push(at.get(b));
    if (a < b)
      path.slice(1).forEach((place, step) => {
        places[path[step]].below.push(place);
        places[place].above.push(path[step]);
      });
    paths.push(path);
  }
  arrange(places);
  const left = Math.min(0, ...places.map((place) => place.x - place.width / 2)) - 30,
    right = Math.max(300, ...places.map((place) => place.x + place.width / 2)) + 30;
  const top = (/** @type {Place} */ place) => place.layer * (BOX_HEIGHT + LAYER_GAP) + 20;
  let y = places.length ? Math.max(...places.map((place) => top(place))) + BOX_HEIGHT + LAYER_GAP : 20,
    x = left + 30;
  const middle = new Map([...at].map(([box, place]) => [box, [places[place].x, top(places[place]) + BOX_HEIGHT / 2]]));
  const end = Math.max(right, left + ROW_WIDTH);
  let widest = right;
  shown.forEach((_, box) => {
    // lines without arrows are in rows below
    if (connected.has(box)) return;
    if (x + width[box] > end && x > left + 30) [x, y] = [left + 30, y + BOX_HEIGHT + GAP];
    middle.set(box, [x + width[box] / 2, y + BOX_HEIGHT / 2]);
    x += width[box] + GAP;
    widest = Math.max(widest, x);
  });
  const height = y + BOX_HEIGHT + 20,
    picture = svg("svg", {
      viewBox: `${left} 0 ${widest - left} ${height}`,
      width: widest - left,
      height: height,
      role: "img",
      "aria-label": `graph of ${plural(shown.length, graph.noun)}`,
    });
  const mark = (/** @type {number} */ box) => (graph.signs || signs).get(box) || "";
  for (const path of paths)
    picture.append(
      drawLines(
        [
          route(
            path.map((place) => places[place]),
            top,
          ),
        ],
        "",
        true,
      ),
    );
  shown.forEach((box, number) => {
    const [cx, cy] = middle.get(number) || [0, 0];
    const group = drawBox(
      [
        width[number],
        BOX_HEIGHT,
        box.input ? "input" : "op",
        CHANGES[mark(box.at)] || mark(box.at),
        -1,
        labels[number],
        "",
        [],
        -1,
      ],
      cx,
      cy,
    );
    group.append(svg("title", {}, box.text.slice(0, 600)));
    group.addEventListener("click", () => onSelect(box.names));
    picture.append(group);
  });
  const [boxes, arrowCount] = graph.count;
  return [
    el(
      "div",
      "pl-above",
      `${plural(boxes, graph.noun)}, ${plural(arrowCount, "arrow")}${boxes > shown.length ? `; the first ${MAX_BOXES} ${graph.noun}s are drawn` : ""}`,
    ),
    picture,
  ];
}

/**
 * The curve of an arrow along its places; an upward arrow bends around at the right.
 * @param {Place[]} path @param {(place: Place) => number} top
 */
function route(path, top) {
  const first = path[0],
    last = path[path.length - 1],
    start = top(first) + BOX_HEIGHT,
    end = top(last);
  const points = [first.x, start];
  if (end < start) {
    const side = Math.max(first.x + first.width / 2, last.x + last.width / 2) + 24;
    return [
      ...points,
      first.x,
      start + LAYER_GAP,
      side,
      start + LAYER_GAP,
      side,
      (start + end) / 2,
      side,
      end - LAYER_GAP,
      last.x,
      end - LAYER_GAP,
      last.x,
      end,
    ];
  }
  let [x, y] = points;
  for (const place of path.slice(1)) {
    const to = top(place),
      half = (y + to) / 2;
    points.push(x, half, place.x, half, place.x, to);
    if (place !== last)
      points.push(place.x, to + BOX_HEIGHT / 3, place.x, to + (2 * BOX_HEIGHT) / 3, place.x, to + BOX_HEIGHT);
    [x, y] = [place.x, to + BOX_HEIGHT];
  }
  return points;
}
