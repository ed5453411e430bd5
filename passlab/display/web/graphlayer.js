// The cards and frames of a program in a graph pane: which are folded, and what of them is selected or named.
import { Camera } from "./camera.js";
import { drawProgram } from "./graphcards.js";
import { drawFrames, fitText } from "./graphdraw.js";
import { canFold, framesAround, isFolded, packProgram, repeatAround, repeatKeys } from "./graphprogram.js";

/** @import { Folds, PlacedCard, PlacedFrame } from "./graphprogram.js" */

const TITLE = 10,
  MARGIN = 16,
  BEYOND = 60; // pixels: from the top of a frame to the middle of its title, and free above and below what is opened

export class ProgramLayer {
  /** @param {import("./graphpane.js").GraphPane} pane */
  constructor(pane) {
    this.pane = pane;
    this.folds = /** @type {Folds} */ (new Map()); // kept from step to step: frames have the same keys in all of them
    this.cards = /** @type {PlacedCard[]} */ ([]);
    this.placed = /** @type {PlacedFrame[]} */ ([]);
    this.visible = /** @type {Map<number, number>} */ (new Map()); // boxes that a frame tells of, and the frame
    this.frames = /** @type {Map<number, SVGElement>} */ (new Map());
    this.far = /** @type {SVGElement[]} */ ([]); // names of cards
    this.selected = /** @type {number[]} */ ([]); // boxes
    this.marked = /** @type {Element[]} */ ([]); // what takes or gives values of the boxes in question
  }

  /** Whether the graph has cards and frames. */
  get isShown() {
    return (this.pane.data?.cards.length ?? 0) > 0;
  }

  /**
   * Lay out cards and frames; return a sheet, and what is drawn below and above its boxes.
   * @param {number} width @param {number} height
   */
  arrange(width, height) {
    const { pane } = this,
      other = pane.partner?.isShown ? pane.partner.pane.data : null;
    const sheet = packProgram(pane.data, this.folds, width, height, other, pane.partner?.isLeft ?? true);
    this.cards = sheet.cards;
    this.placed = sheet.frames;
    this.visible = sheet.visible;
    const drawn = drawProgram(pane.data, sheet);
    this.frames = drawn.frames;
    this.far = drawn.cards.flatMap((card) =>
      [...card.querySelectorAll(".pl-card-far")].map((name) => /** @type {SVGElement} */ (name)),
    );
    const rects = sheet.cards.map(({ x, y, width: w, height: h }) => ({ x, y, width: w, height: h }));
    return {
      sheet: {
        width: sheet.width,
        height: sheet.height,
        pieces: sheet.pieces,
        frames: [],
        joints: [],
        columns: /** @type {[number, number, number][]} */ ([]),
        cards: rects,
      },
      below: [...drawn.cards, ...drawn.frames.values(), ...drawFrames(sheet.repeats, sheet.joints)[1]],
      above: drawn.above,
    };
  }

  /** Where the frame of a box is that has no place of its own. @returns {Map<number, [number, number]>} */
  places() {
    const tops = new Map(
      this.placed.map(({ number, x, y, width }) => [
        number,
        /** @type {[number, number]} */ ([x + width / 2, y + TITLE]),
      ]),
    );
    for (const card of this.cards) if (card.open) tops.set(card.row.frame, [card.x + card.width / 2, card.y + TITLE]);
    const places = new Map();
    for (const [box, frame] of this.visible) if (tops.has(frame)) places.set(box, tops.get(frame));
    return places;
  }

  /** Fold or open what was clicked; false if it was nothing of this. @param {Element} target */
  click(target) {
    const repeat = target.closest(".pl-frame-of")?.getAttribute("data-path");
    if (repeat) {
      this.set(repeat, !this.folds.get(repeat), "repeat");
      return true;
    }
    const frame = target.closest(".pl-program-frame"),
      card = target.closest(".pl-card-of");
    if (frame && (target.matches(".pl-group-name") || frame.matches(".pl-folded-frame"))) {
      const { row } = /** @type {PlacedFrame} */ (
        this.placed.find(({ number }) => number === Number(frame.getAttribute("data-frame")))
      );
      if (canFold(row)) this.set(row.key, !isFolded(row, this.folds), `frame ${row.key}`);
      return canFold(row);
    }
    if (card && (target.matches(".pl-card-head, .pl-card-title, .pl-card-facts") || card.matches(".pl-card-folded"))) {
      const { row, open } = this.cards[Number(card.getAttribute("data-card"))];
      this.set(row.name, !open, `card ${row.name}`);
      return true;
    }
    return false;
  }

  /** Fold or open something, which keeps its place on the screen; what is opened moves up as far as it needs. @param {string} key @param {boolean} value @param {string} what */
  set(key, value, what) {
    const { pane } = this,
      isCard = what.startsWith("card"),
      corner = () => {
        const one = isCard
          ? this.cards.find(({ row }) => row.name === key)
          : this.placed.find(({ row }) => row.key === key);
        return one && /** @type {[number, number, number]} */ ([one.x, one.y, one.height]);
      };
    const before = corner(),
      screen = before && pane.camera.toScreen([before[0], before[1]]);
    this.folds.set(key, value);
    pane.partner?.pane.arrange();
    pane.arrange(() => {
      const after = corner();
      if (!screen || !after) return pane.place(pane.camera);
      const { scale } = pane.camera,
        top = Math.max(MARGIN, Math.min(screen[1], pane.canvas.clientHeight - BEYOND - after[2] * scale));
      pane.place(Camera.showing([after[0], after[1]], [screen[0], value === isCard ? top : screen[1]], scale));
    });
  }

  /** Fold all cards, or open all. */
  toggleAll() {
    const anyOpen = this.cards.some(({ open }) => open);
    for (const { row } of this.cards) {
      this.folds.set(row.name, !anyOpen);
      for (const key of repeatKeys(row)) this.folds.delete(key);
    }
    if (!anyOpen) for (const row of this.pane.data.frames) if (canFold(row)) this.folds.set(row.key, row.folded);
    this.pane.partner?.pane.arrange();
    this.pane.arrange(() => this.pane.showInitial());
  }

  /** Open all that hides a box. @param {number} box */
  reveal(box) {
    const { data } = this.pane;
    let opened = false;
    for (const number of framesAround(data, box)) {
      const row = data.frames[number],
        card = this.cards.find((one) => one.row.frame === number);
      if (card && !card.open) opened = Boolean(this.folds.set(card.row.name, true));
      const repeat = card && !this.pane.places.has(box) ? repeatAround(card.row, box) : "";
      if (repeat) opened = Boolean(this.folds.set(repeat, true));
      if (canFold(row) && isFolded(row, this.folds)) opened = Boolean(this.folds.set(row.key, false));
    }
    if (opened) this.pane.arrange();
  }

  /** Fold what is around a box, a frame that it stands for first; open what hides it. @param {number} box */
  toggleAround(box) {
    const { data, places } = this.pane;
    if (!this.isShown || box < 0) return false;
    if (!places.has(box)) {
      this.reveal(box);
      this.pane.centre(box, false);
      return true;
    }
    const own = data.frames.findIndex((frame) => frame.box === box),
      around = [...(own < 0 ? [] : [own]), ...framesAround(data, box)],
      inner = around.find((number) => canFold(data.frames[number])),
      card = this.cards.find((one) => one.row.frame === around.at(-1));
    if (inner !== undefined) {
      const { key } = data.frames[inner];
      this.set(key, !isFolded(data.frames[inner], this.folds), "frame");
    } else if (card) this.set(card.row.name, !card.open, "card");
    return true;
  }

  /** The card of the function that a box calls, -1 for none. @param {number} box */
  calledBy(box) {
    const [, , kind, , , lines] = this.pane.data.boxes[box],
      name = kind === "call" ? /@[^\s,]+/.exec(lines[0]) : null;
    return name ? this.cards.findIndex(({ row }) => row.name === name[0]) : -1;
  }

  /** Show a card, open. @param {number} number */
  showCard(number) {
    const { pane } = this,
      { name } = this.cards[number].row;
    this.folds.set(name, true);
    pane.arrange(() => {
      const { x, y } = this.cards[number];
      pane.place(Camera.showing([x, y], [16, 16], Math.max(1, pane.camera.scale)));
    });
    return true;
  }

  /** Highlight what gives boxes their values and what takes them, also by name, and the functions they call. @param {number[]} boxes */
  mark(boxes) {
    const { pane } = this;
    for (const element of this.marked) element.classList.remove("pl-giver", "pl-taker", "pl-card-called");
    this.marked = [];
    const add = (/** @type {Element | null | undefined} */ element, /** @type {string} */ name) => {
      if (!element) return;
      element.classList.add(name);
      this.marked.push(element);
    };
    const element = (/** @type {number} */ box) => pane.boxes.get(box) ?? this.frames.get(this.visible.get(box) ?? -1);
    for (const box of boxes) {
      for (const giver of pane.inputs[box]) add(element(giver), "pl-giver");
      for (const taker of pane.outputs[box]) add(element(taker), "pl-taker");
      const card = this.calledBy(box);
      if (card >= 0) add(pane.scene.querySelector(`.pl-card-of[data-card="${card}"]`), "pl-card-called");
    }
  }

  /** Highlight the frames of selected boxes, and those that hide one. @param {(box: number) => boolean} isSelected */
  updateSelection(isSelected) {
    this.selected = [...this.pane.data.boxes.keys()].filter(isSelected);
    this.mark(this.selected);
    const chosen = new Set([...this.visible].filter(([box]) => isSelected(box)).map(([, frame]) => frame));
    const hidden = new Set();
    this.pane.data.boxes.forEach((_, box) => {
      if (isSelected(box) && !this.pane.boxes.has(box) && !this.visible.has(box)) {
        const around = framesAround(this.pane.data, box);
        hidden.add(around.find((frame) => this.frames.has(frame)) ?? around.at(-1));
      }
    });
    for (const [number, element] of this.frames) {
      element.classList.toggle("pl-selected-frame", chosen.has(number));
      element.classList.toggle("pl-has-selected", hidden.has(number));
    }
    for (const element of this.pane.scene.querySelectorAll(".pl-card-of")) {
      const { row } = this.cards[Number(element.getAttribute("data-card"))];
      element.classList.toggle("pl-has-selected", hidden.has(row.frame) || chosen.has(row.frame));
    }
  }

  /** Show the names of cards that are readable at a scale. @param {number} scale */
  nameCards(scale) {
    for (const name of this.far) fitText(name, Number(name.getAttribute("data-width")), scale);
  }
}
