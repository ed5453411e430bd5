// Draws the cards and frames of a program: what stands behind its boxes and arrows, and the marks of effects above them.
import { svg } from "./dom.js";
import { kindClass } from "./graphdraw.js";
import { canFold } from "./graphprogram.js";

/** @import { GraphData } from "./protocol.js" */
/** @import { PlacedCard, PlacedFrame, ProgramParts } from "./graphprogram.js" */

const PAD = 9,
  CHAR = 6.7,
  HEADER = 38; // pixels: of a text's distance to its frame, of a letter, of a card's header
const MINIATURE = [48, 50]; // pixels of the picture on a folded card

/** As much of a text as there is room for. @param {string} text @param {number} width */
const cut = (text, width) => {
  const room = Math.max(1, Math.floor(width / CHAR));
  return text.length > room ? `${text.slice(0, room - 1)}…` : text;
};

/** @param {number} x @param {number} y @param {number} width @param {number} height @param {string} className */
const rect = (x, y, width, height, className) => svg("rect", { x, y, width, height, rx: 7, class: className });

/**
 * All cards and frames, outer ones first.
 * @param {GraphData} data @param {ProgramParts} parts @returns {{cards: SVGElement[], frames: Map<number, SVGElement>, above: SVGElement[]}}
 */
export function drawProgram(data, parts) {
  const frames = new Map(parts.frames.map((frame) => [frame.number, drawProgramFrame(frame)]));
  const lines = parts.lines.map(([x0, y0, , , , , x1, y1]) =>
    svg("path", { class: "pl-call-line", d: `M${x0} ${y0}C${x0 + 24} ${y0} ${x1 - 24} ${y1} ${x1} ${y1}` }),
  );
  const cards = parts.cards.map((card) => (card.open ? openCard(data, card) : foldedCard(data, card)));
  return { cards: [...lines, ...cards], frames, above: drawMarks(parts) };
}

/** @param {GraphData} data @param {PlacedCard} card */
function openCard(data, { number, row, x, y, width, height }) {
  const title = data.frames[row.frame].title,
    callers = row.callers.map((at) => data.cards[at].name).join(" "),
    facts = [row.facts, callers && `called by ${callers}`].filter(Boolean).join(" · ");
  return svg(
    "g",
    { class: "pl-card-of", "data-card": number },
    rect(x, y, width, height, "pl-card-frame"),
    svg("path", {
      class: "pl-card-head",
      d: `M${x} ${y + HEADER}v${7 - HEADER}q0-7 7-7h${width - 14}q7 0 7 7v${HEADER - 7}z`,
    }),
    svg("text", { x: x + PAD, y: y + 16, class: "pl-card-title" }, cut(`▾ ${title}`, width - 2 * PAD)),
    svg("text", { x: x + PAD, y: y + 31, class: "pl-card-facts" }, cut(facts, width - 2 * PAD)),
    farName(row.name, x, y, width),
    svg("title", {}, `${title} → ${row.signature.split("→ ").at(-1)}\n${facts}\na click folds it`),
  );
}

/** @param {GraphData} data @param {PlacedCard} card */
function foldedCard(data, { number, row, x, y, width, height }) {
  const room = width - 2 * PAD - MINIATURE[0] - 6;
  return svg(
    "g",
    { class: "pl-card-of pl-card-folded", "data-card": number },
    rect(x, y, width, height, "pl-card-frame"),
    svg("text", { x: x + PAD, y: y + 18, class: "pl-card-title" }, cut(`▸ ${row.name}`, room)),
    svg("text", { x: x + PAD, y: y + 36, class: "pl-card-facts" }, cut(row.signature, room)),
    svg("text", { x: x + PAD, y: y + 53, class: "pl-card-facts" }, cut(row.facts, room)),
    miniature(data, row.frame, x + width - PAD - MINIATURE[0], y + (height - MINIATURE[1]) / 2),
    farName(row.name, x, y, width),
    svg("title", {}, `${row.name} ${row.signature}\n${row.facts}\na click opens it`),
  );
}

/** A small picture of a function. @param {GraphData} data @param {number} frame @param {number} left @param {number} top */
function miniature(data, frame, left, top) {
  const [width, height] = data.frames[frame].size,
    scale = Math.min(MINIATURE[0] / width, MINIATURE[1] / height),
    group = svg("g", {
      class: "pl-miniature",
      transform: `translate(${left + (MINIATURE[0] - width * scale) / 2} ${top}) scale(${scale})`,
    });
  const waiting = [[frame, 0, 0]];
  for (let drawn = 0; waiting.length && drawn < 60; drawn++) {
    const [number, x, y] = /** @type {number[]} */ (waiting.shift());
    for (const [item, dx, dy, w, h] of data.frames[number].items) {
      const kind = item < 0 ? data.frames[-1 - item].kind : data.boxes[item][2],
        family = item < 0 ? "" : ` pl-family-${data.boxes[item][8]}`;
      group.append(
        rect(
          x + dx,
          y + dy,
          w,
          h,
          `pl-is-${kindClass(kind, "function")}${family}${item < 0 ? " pl-mini-frame" : " pl-mini-box"}`,
        ),
      );
      if (item < 0) waiting.push([-1 - item, x + dx, y + dy]);
    }
  }
  return group;
}

/** The name of a card from afar, as large on the screen as all other text. @param {string} name @param {number} x @param {number} y @param {number} width */
const farName = (name, x, y, width) =>
  svg(
    "text",
    { x: x + PAD, y: y + HEADER / 2, class: "pl-card-far", "data-name": name, "data-width": width - PAD },
    name,
  );

/** @param {PlacedFrame} frame */
function drawProgramFrame({ number, row, x, y, width, height, folded }) {
  const foldable = canFold(row),
    mark = foldable ? (folded ? "▸ " : "▾ ") : "",
    title = cut(`${mark}${row.title}`, width - 2 * PAD + 4),
    name = svg("text", { x: x + PAD, y: y + 14, class: "pl-group-name" }, title);
  const group = svg(
    "g",
    {
      class: `pl-group pl-program-frame pl-is-${kindClass(row.kind, "branch")} pl-depth-${row.kind}${folded ? " pl-folded-frame" : ""}`,
      "data-frame": number,
    },
    rect(x, y, width, height, ""),
    name,
    svg("title", {}, foldable ? `${row.title}: ${row.note}\na click ${folded ? "opens" : "folds"} it` : row.title),
  );
  if (folded) group.append(svg("text", { x: x + PAD, y: y + 29, class: "pl-detail" }, row.note));
  return group;
}

/** Rails, numbers of effects, results, and results by name. @param {ProgramParts} parts */
function drawMarks({ rails, marks, results, texts }) {
  return [
    ...rails.map(([x, from, to]) => svg("path", { class: "pl-rail", d: `M${x} ${from}V${to}` })),
    ...marks.map(({ x, y, effect }) =>
      svg(
        "g",
        { class: "pl-effect" },
        svg("circle", { cx: x, cy: y, r: 8 }),
        svg("text", { x, y: y + 4 }, String(effect)),
        svg("title", {}, `effect ${effect} of this frame, in the order of evaluation`),
      ),
    ),
    ...results.map(([x, y]) =>
      svg("polygon", { class: "pl-result", points: `${x - 4},${y} ${x + 4},${y} ${x},${y + 5}` }),
    ),
    ...texts.map(([text, x, y]) => svg("text", { x, y, class: "pl-result-name" }, text)),
  ];
}
