// A dataflow graph with navigation: pan, zoom, fold, search, colours, a minimap, and one selection with all other views.
import { Camera } from "./camera.js";
import { button, el, ICONS, svg } from "./dom.js";
import { Colours } from "./graphcolours.js";
import { drawFrames, FAR_SIZE, fitText, widen } from "./graphdraw.js";
import { graphKeys, Radius } from "./graphkeys.js";
import { ProgramLayer } from "./graphlayer.js";
import { FAR, NEAR } from "./graphlevels.js";
import { Minimap } from "./graphmap.js";
import { saveDrawing } from "./graphsave.js";
import { pack, repeatOf, repeats, sheetsOf } from "./graphsheet.js";
import { Slices } from "./graphslices.js";

/** @import { Bindings } from "./model.js" */
/** @import { GraphData } from "./protocol.js" */

const MARGIN = 16,
  BEYOND = 60, // how far the end of a sheet is scrolled above the tools
  MAP_WIDTH = 640, // of a canvas below which a map would cover too much of it
  LEGIBLE = 0.42,
  READABLE = 0.6; // pixels; the scales below which names of boxes, and their details, are too small

export class GraphPane {
  /**
   * @param {(box: number) => void} [onSelect] called with the selected box, -1 for none
   * @param {import("./selection.js").Selection} [selection]
   */
  constructor(onSelect, selection) {
    this.onSelect = onSelect || (() => {});
    this.selection = selection;
    this.data = /** @type {GraphData} */ (/** @type {unknown} */ (null)); // from `show` on
    this.inputs = /** @type {number[][]} */ ([]); // by box: the boxes with arrows to it
    this.outputs = /** @type {number[][]} */ ([]);
    this.boxes = /** @type {Map<number, SVGElement>} */ (new Map()); // those that are drawn
    this.frames = /** @type {SVGElement[]} */ ([]);
    this.sheet = /** @type {import("./graphsheet.js").Sheet | null} */ (null);
    this.parents = /** @type {Map<number, number>} */ (new Map()); // of groups
    this.fittedSize = /** @type {[number, number] | null} */ (null); // of the canvas at the last layout
    this.width = 0; // of the canvas: asking it while boxes are drawn would lay them all out once more
    this.height = 0;
    this.shift = false; // whether a tool was clicked with Shift
    this.unfolded = /** @type {Set<string>} */ (new Set()); // repeats that are unfolded
    this.closedGroups = /** @type {Set<number>} */ (new Set()); // groups that are one box
    this.rooms = /** @type {Map<number, [number, number]>} */ (new Map()); // how far boxes can grow to both sides
    this.widened = /** @type {Set<number>} */ (new Set()); // boxes that are wider than they are near
    this.places = /** @type {Map<number, [number, number]>} */ (new Map()); // of boxes that are drawn
    this.selected = -1;
    this.highlighted = /** @type {Set<number>} */ (new Set()); // the drawn boxes of the selection
    this.path = /** @type {number[]} */ ([]); // the boxes visited along arrows
    this.camera = new Camera();
    this.isInitial = true; // whether the reader has not moved the graph: it is then shown whole, also after a step
    this.wanted = ""; // the camera that a bookmark has kept, until a graph is shown
    this.onLook = /** @type {(camera: string) => void} */ (() => {}); // told of the camera, "" for that of the first picture
    this.partner = /** @type {{pane: GraphPane, isShown: boolean, isLeft: boolean} | null} */ (null); // the graph beside this one
    this.program = new ProgramLayer(this);
    this.radius = new Radius(this);
    this.slices = new Slices(this);
    this.scene = svg("g");
    this.canvas = svg("svg", { class: "pl-canvas", tabindex: 0, role: "img" }, this.scene);
    this.details = el("div", "pl-details");
    this.details.hidden = true;
    this.map = new Minimap((x, y) => this.centreOn(x, y));
    this.colours = new Colours(() => this.paint());
    this.tools = el(
      "div",
      "pl-tools",
      this.colours.legend,
      el(
        "span",
        "pl-tool-row",
        this.colours.element,
        button("unfold every repeat (f)", () => this.toggleAll(), ICONS.fold),
        button("larger (+)", () => this.zoom(1.25), ICONS.plus),
        button("smaller (-)", () => this.zoom(0.8), ICONS.minus),
        button("everything (0)", () => this.showWhole(), ICONS.fit),
        button("save as SVG, with Shift as PNG", () => this.save(), ICONS.save),
      ),
    );
    this.tools.addEventListener(
      "click",
      (event) => {
        this.shift = event.shiftKey;
      },
      true,
    );
    this.element = el("div", "pl-pane pl-graph", this.canvas, this.map.element, this.tools, this.details);
    this.resizeObserver = new ResizeObserver(() => this.onResize());
    this.resizeObserver.observe(this.canvas);
    this.listen();
  }

  listen() {
    const canvas = this.canvas;
    let from = /** @type {{x: number, y: number} | null} */ (null),
      moved = false;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      from = { x: event.clientX - this.camera.x, y: event.clientY - this.camera.y };
      moved = false;
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!from || !(event.buttons & 1)) return;
      const x = event.clientX - from.x,
        y = event.clientY - from.y;
      if (!moved && Math.hypot(x - this.camera.x, y - this.camera.y) < 4) return;
      if (!moved) canvas.setPointerCapture(event.pointerId);
      moved = true;
      this.place(new Camera(x, y, this.camera.scale));
    });
    canvas.addEventListener("pointerup", () => {
      from = null;
    });
    canvas.addEventListener("click", (event) => {
      if (moved) return;
      const target = /** @type {Element} */ (event.target),
        box = target.closest(".pl-box"),
        frame = target.closest(".pl-frame-of");
      const group = target.closest(".pl-group-name, .pl-folded");
      if (box) return this.select(Number(box.getAttribute("data-box")));
      if (this.program.isShown && this.program.click(target)) return;
      if (group) return this.toggleGroup(Number(group.getAttribute("data-group")));
      if (frame) return this.toggle(/** @type {string} */ (frame.getAttribute("data-path")));
      this.select(-1);
    });
    canvas.addEventListener("pointerover", (event) => {
      const box = /** @type {Element} */ (event.target).closest(".pl-box");
      if (box && this.program.isShown) this.program.mark([Number(box.getAttribute("data-box"))]);
    });
    canvas.addEventListener("pointerout", (event) => {
      const isBox = /** @type {Element} */ (event.target).closest(".pl-box");
      if (isBox && this.program.isShown) this.program.mark(this.program.selected);
    });
    canvas.addEventListener("dblclick", (event) => {
      const box = /** @type {Element} */ (event.target).closest(".pl-box");
      if (box) this.showCalled(Number(box.getAttribute("data-box")));
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        // unmodified scrolling scrolls the page, unless the graph has been clicked and goes on
        if (!event.ctrlKey && !event.metaKey) return this.scroll(event);
        event.preventDefault();
        const frame = canvas.getBoundingClientRect();
        this.zoom(Math.exp(-event.deltaY / 300), event.clientX - frame.left, event.clientY - frame.top);
      },
      { passive: false },
    );
  }

  /** The canvas has another size, or is shown for the first time. */
  onResize() {
    const { clientWidth, clientHeight } = this.canvas;
    if (!clientWidth || !this.data) return;
    [this.width, this.height] = [clientWidth, clientHeight];
    this.element.style.setProperty("--pl-tools", `${this.tools.offsetHeight}px`);
    const [width, height] = this.fittedSize ?? [0, 0],
      isOther = Math.abs(width - clientWidth) > 60 || (this.isInitial && Math.abs(height - clientHeight) > 60);
    if (!this.sheet || isOther) return this.arrange(() => this.keep(null));
    this.keep(null);
  }

  /** Show a graph. @param {GraphData} data */
  show(data) {
    if (this.data === data) return;
    const offset = this.selectedOffset();
    this.data = data;
    this.selected = -1;
    this.path = [];
    this.closedGroups = new Set();
    this.details.hidden = true;
    this.sheet = null;
    this.canvas.setAttribute("aria-label", `dataflow graph: ${data.title}`);
    this.inputs = data.boxes.map(() => []);
    this.outputs = data.boxes.map(() => []);
    for (const [source, target] of data.arrows) {
      this.inputs[target].push(source);
      this.outputs[source].push(target);
    }
    this.parents = new Map(data.groups.map(([number, parent]) => [number, parent]));
    this.colours.show(data);
    if (!this.canvas.clientWidth) return; // `onResize` draws as soon as there is room
    this.arrange(() => this.keep(offset));
  }

  /** After a step: show all, or, where the reader has moved the graph, go on with the same part of it. @param {[number, number] | null} offset of the selected box */
  keep(offset) {
    if (this.isInitial) this.showInitial();
    else if (!this.keepOffset(offset)) this.place(this.camera);
  }

  /** The position of a selected box on the screen, null for none. @returns {[number, number] | null} */
  selectedOffset() {
    const box = this.selectedBox(),
      at = box < 0 ? undefined : this.places.get(box);
    return at ? this.camera.toScreen(at) : null;
  }

  /** The first box of the selection that is drawn, -1 for none. */
  selectedBox() {
    const { selection, data } = this;
    if (!data || !selection || selection.empty) return this.selected;
    return data.boxes.findIndex((box, number) => this.places.has(number) && selection.has(box[7][0] ?? -1));
  }

  /** Move the graph so that the selected box keeps its position on the screen. @param {[number, number] | null} offset */
  keepOffset(offset) {
    const box = this.selectedBox(),
      at = box < 0 ? undefined : this.places.get(box);
    if (!offset || !at) return false;
    this.place(Camera.showing(at, offset, this.camera.scale));
    return true;
  }

  /** Lay out all boxes for the size of the canvas, and draw them. @param {() => void} [show] moves the camera to what is drawn first */
  arrange(show = () => this.place(this.camera)) {
    const { clientWidth, clientHeight } = this.canvas,
      width = clientWidth - 2 * MARGIN,
      height = clientHeight - 2 * MARGIN;
    if (!this.data || !clientWidth) return;
    this.fittedSize = /** @type {[number, number]} */ ([clientWidth, clientHeight]);
    [this.width, this.height] = this.fittedSize;
    const program = this.program.isShown ? this.program.arrange(width, height) : null;
    this.sheet = program?.sheet ?? pack(this.data, this.unfolded, width, height);
    this.canvas.classList.toggle("pl-program", program !== null);
    const { pieces, frames, joints } = this.sheet;
    this.boxes = new Map();
    this.widened.clear();
    this.places = new Map();
    const [drawnFrames, below] = drawFrames(frames, joints);
    this.frames = drawnFrames;
    for (const { layout, boxes, x, y } of pieces)
      boxes.forEach((number, at) => {
        this.places.set(number, [x + layout.at[2 * at], y + layout.at[2 * at + 1]]);
      });
    if (program) for (const [box, at] of this.program.places()) this.places.set(box, at);
    const drawn = this.slices.setPieces(pieces);
    this.scene.replaceChildren(...(program?.below ?? below), ...drawn, ...(program?.above ?? []));
    this.map.show(program ? { ...this.sheet, frames: program.sheet.cards } : this.sheet);
    show();
    this.slices.showInitial();
  }

  /** Update the selection, groups, colours and names of newly drawn boxes. @param {number[]} boxes */
  updateDrawing(boxes) {
    this.updateSelection();
    if (this.data.groups.length) this.updateGroups();
    this.paint();
    this.nameBoxes(this.camera.scale, boxes);
  }

  /** Whether a group is another one, or inside it. @param {number} group @param {number} outer */
  within(group, outer) {
    for (let at = group, left = 1000; at >= 0 && left; at = this.parents.get(at) ?? -1, left--)
      if (at === outer) return true;
    return false;
  }

  /** Whether a box is in a closed group. @param {number} box */
  isHidden(box) {
    return box >= 0 && [...this.closedGroups].some((outer) => this.within(this.data.boxes[box][4], outer));
  }

  /** Draw arrows as the selection, the radius and closed groups ask for. */
  updateArrows() {
    const { highlighted, radius } = this;
    this.slices.updateArrows((source, target) => {
      if (this.isHidden(source) && this.isHidden(target)) return null;
      const classes = [highlighted.has(target) ? "pl-in" : "", highlighted.has(source) ? "pl-out" : ""];
      if (radius.isOutside(source) || radius.isOutside(target)) classes.push("pl-outside-radius");
      return classes.filter(Boolean).join(" ");
    });
  }

  /** Hide the contents of closed groups. */
  updateGroups() {
    for (const [number, box] of this.boxes) box.classList.toggle("pl-hidden", this.isHidden(number));
    this.updateArrows();
    for (const cover of this.scene.querySelectorAll(".pl-folded"))
      cover.classList.toggle("pl-hidden", !this.closedGroups.has(Number(cover.getAttribute("data-group"))));
  }

  /** Draw a group as one box, or open it. @param {number} group */
  toggleGroup(group) {
    if (!this.closedGroups.delete(group)) this.closedGroups.add(group);
    this.updateGroups();
    return true;
  }

  // ---- selection
  /** Highlight the selected boxes, their arrows, and the frames of identical bodies. */
  updateSelection() {
    if (!this.data || !this.boxes) return;
    const { selection } = this;
    const own = this.selected < 0 ? -1 : (this.data.boxes[this.selected][7][0] ?? -1);
    if (selection && own >= 0 && !selection.nodes.includes(own)) {
      // another view has changed the selection
      this.selected = -1;
      this.details.hidden = true;
    }
    const isSelected = (/** @type {number} */ number) =>
      number === this.selected || (!!selection && this.data.boxes[number][7].some((node) => selection.has(node)));
    const selectedBoxes = /** @type {Set<number>} */ (new Set());
    for (const [number, box] of this.boxes) {
      const isInSelection = isSelected(number);
      box.classList.toggle("pl-selected-box", isInSelection);
      if (isInSelection) selectedBoxes.add(number);
    }
    this.highlighted = selectedBoxes;
    this.radius.update();
    this.updateArrows();
    if (this.program.isShown) this.program.updateSelection(isSelected);
    const bodies = new Set(
      (this.sheet?.frames || [])
        .filter((frame) => frame.boxes.some((box) => selectedBoxes.has(box)))
        .map((frame) => frame.path),
    );
    this.frames.forEach((frame) =>
      frame.classList.toggle("pl-identical", bodies.has(frame.getAttribute("data-path") || "")),
    );
    for (const frame of this.sheet?.frames || [])
      if (frame.folded && frame.boxes.some((box) => isSelected(box))) bodies.add(frame.path);
    this.frames.forEach((frame) =>
      frame.classList.toggle(
        "pl-has-selected",
        bodies.has(frame.getAttribute("data-path") || "") && frame.classList.contains("pl-stack"),
      ),
    );
  }

  /** Select a box, -1 for none. @param {number} number */
  select(number) {
    this.selected = number;
    this.selection?.set(number < 0 ? [] : this.data.boxes[number][7].slice(0, 1));
    this.updateSelection();
    this.details.hidden = number < 0;
    if (number >= 0) {
      const [name, ...rest] = this.data.boxes[number][6].split("\n");
      this.details.replaceChildren(el("div", "pl-card-name", name), ...rest.map((line) => el("div", "", line)));
    }
    this.onSelect(number);
  }

  /** Select the next box along the arrows; backwards, the one visited before. @param {"inputs" | "outputs"} side */
  selectNeighbour(side) {
    if (this.selected < 0) return this.goto(Math.max(0, this.selectedBox()));
    const next = this[side][this.selected],
      onPath = this.path.find((box) => next.includes(box));
    if (!next.length) return false;
    this.path = [this.selected, ...this.path].slice(0, 200);
    this.goto(onPath ?? next[0]);
  }

  /** Select the box beside: another user of the same value. @param {number} step */
  selectSibling(step) {
    if (this.selected < 0) return this.goto(Math.max(0, this.selectedBox()));
    const source = this.inputs[this.selected][0],
      siblings = source === undefined ? [] : this.outputs[source];
    if (siblings.length < 2) return this.goto(Math.max(0, Math.min(this.data.boxes.length - 1, this.selected + step)));
    this.goto(siblings[(siblings.indexOf(this.selected) + step + siblings.length) % siblings.length]);
  }

  /** Select a box and scroll to it, unfolding what hides it. @param {number} number */
  goto(number) {
    if (!this.data.boxes[number]) return false;
    if (this.program.isShown) this.program.reveal(number);
    else if (!this.places.has(number)) {
      const path = repeatOf(this.data.items, number);
      if (path && !this.unfolded.has(path)) {
        this.unfolded.add(path);
        this.arrange();
      }
    }
    for (const outer of [...this.closedGroups])
      if (this.within(this.data.boxes[number][4], outer)) this.toggleGroup(outer);
    this.select(number);
    this.centre(number, false);
    return true;
  }

  /** Scroll to a box. @param {number} number @param {boolean} always even if it is visible */
  centre(number, always) {
    const at = this.places.get(number);
    if (!at) return;
    const { camera } = this,
      { width: w, height: h } = this,
      isFar = camera.scale < NEAR,
      [x, y] = camera.toScreen(at);
    if (always || isFar || x < 60 || x > w - 60 || y < 40 || y > h - 40)
      this.place(Camera.showing(at, [w / 2, h / 2], isFar ? NEAR : camera.scale));
  }

  // ---- folding
  /** Fold a repeat onto its first body, or unfold it, without moving it on the screen. @param {string} path */
  toggle(path) {
    const frame = this.sheet?.frames.find((one) => one.path === path);
    if (!frame) return false;
    const corner = this.camera.toScreen([frame.x, frame.y]);
    if (!this.unfolded.delete(path)) this.unfolded.add(path);
    this.arrange(() => {
      const after = this.sheet?.frames.find((one) => one.path === path);
      if (after) this.place(Camera.showing([after.x, after.y], corner, this.camera.scale));
    });
    return true;
  }

  /** Unfold every repeat, or fold all; without repeats, the groups. */
  toggleAll() {
    if (this.program.isShown) return this.program.toggleAll();
    const all = repeats(this.data.items);
    if (!all.length) {
      this.closedGroups = this.closedGroups.size ? new Set() : new Set(this.data.groups.map(([number]) => number));
      return this.updateGroups();
    }
    this.unfolded = this.unfolded.size ? new Set() : new Set(all);
    this.arrange(() => this.fit());
  }

  // ---- finding
  /** Find the next box with some text in it. @param {string} text @param {number} [step] */
  find(text, step = 1) {
    const word = text.trim().toLowerCase(),
      count = this.data.boxes.length;
    for (let k = 1; word && k <= count; k++) {
      const at = (((this.selected + step * k) % count) + count) % count;
      if (this.data.boxes[at][6].toLowerCase().includes(word)) return this.goto(at);
    }
    return false;
  }

  /** How many boxes have some text in them. @param {string} text */
  count(text) {
    const word = text.trim().toLowerCase();
    return word ? this.data.boxes.filter((box) => box[6].toLowerCase().includes(word)).length : 0;
  }

  paint() {
    this.element.classList.toggle("pl-by-kind", this.colours.name === "kind");
    this.element.classList.toggle("pl-by-value", this.colours.isScale);
    this.colours.paint(this.boxes);
  }

  // ---- the window
  /** Show all boxes as large as possible, above the tools if those would cover a box or a frame. */
  fit() {
    const { width, height } = this,
      { offsetLeft: left, offsetTop: top } = this.tools;
    if (!width || !this.sheet) return;
    const whole = this.extent();
    let camera = Camera.fitting(whole, { width, height }, MARGIN);
    const isCovered = (/** @type {number} */ x, /** @type {number} */ y) => {
      const [right, bottom] = camera.toScreen([x, y]);
      return right > left && bottom > top;
    };
    const isBoxCovered = (/** @type {[number, [number, number]]} */ [number, [x, y]]) => {
      const [boxWidth, boxHeight] = this.data.boxes[number];
      return isCovered(x + boxWidth / 2, y + boxHeight / 2);
    };
    const isFrameCovered = this.sheet.frames.some((frame) =>
      isCovered(frame.x + frame.width + sheetsOf(frame), frame.y + frame.height + sheetsOf(frame)),
    );
    if (top > height / 2 && (isFrameCovered || [...this.places].some(isBoxCovered)))
      camera = Camera.fitting(whole, { width, height: top }, MARGIN);
    this.place(camera);
    this.isInitial = true;
    this.drawView();
  }

  /** Show all boxes, laid out anew if the canvas has another size by now. */
  showWhole() {
    if (this.fittedSize?.[0] === this.width && this.fittedSize[1] === this.height) this.fit();
    else this.arrange(() => this.fit());
  }

  /** The size of the sheet, and of the one beside it. */
  extent() {
    const sheets = [this.sheet, this.partner?.isShown ? this.partner.pane.sheet : null].filter(
      (sheet) => sheet !== null,
    );
    return {
      width: Math.max(1, ...sheets.map((sheet) => sheet.width)),
      height: Math.max(1, ...sheets.map((sheet) => sheet.height)),
    };
  }

  /** Show all boxes if their names stay readable, else the top left corner; a program is read from its top, at full size. */
  showInitial() {
    const kept = Camera.fromText(this.wanted, this);
    this.wanted = "";
    if (kept) return this.place(kept);
    if (this.program.isShown) {
      const left = (this.width - this.extent().width) / 2;
      this.place(new Camera(Math.max(MARGIN, left), MARGIN, 1));
    } else {
      this.fit();
      if (this.radius.arrows) this.radius.fit();
      // blocks with names are more useful than a corner
      else if (this.sheet && this.camera.scale < LEGIBLE && this.data.boxes.length <= 60) {
        const highest = [...this.places.values()].reduce((a, b) => (b[1] < a[1] ? b : a));
        this.place(Camera.showing(highest, [this.width / 2, 48], READABLE));
      }
    }
    this.isInitial = true;
    this.drawView();
  }

  /** Scroll a graph that has the focus, as far as it goes. @param {WheelEvent} event */
  scroll(event) {
    if (!this.sheet || !this.canvas.contains(document.activeElement)) return;
    const { x, y, scale } = this.camera,
      along = (
        /** @type {number} */ at,
        /** @type {number} */ by,
        /** @type {number} */ size,
        /** @type {number} */ room,
      ) => {
        const least = Math.min(at, room - size * scale - BEYOND, MARGIN),
          most = Math.max(at, MARGIN);
        return Math.max(least, Math.min(most, at - by));
      };
    const to = new Camera(
      along(x, event.shiftKey ? event.deltaY : event.deltaX, this.sheet.width, this.width),
      along(y, event.shiftKey ? 0 : event.deltaY, this.sheet.height, this.height),
      scale,
    );
    if (to.x === x && to.y === y) return;
    event.preventDefault();
    this.place(to);
  }

  /** Show the function that a box calls. @param {number} box */
  showCalled(box) {
    const card = this.program.isShown ? this.program.calledBy(box) : -1;
    return card >= 0 && this.program.showCard(card);
  }

  /** @param {number} by @param {number} [x] @param {number} [y] what stays where it is */
  zoom(by, x = this.width / 2, y = this.height / 2) {
    this.place(this.camera.zoomed(by, [x, y]));
  }

  /** @param {Camera} camera */
  place(camera) {
    const { x, y, scale } = camera;
    if (camera !== this.camera) this.isInitial = false;
    if (scale !== this.camera.scale) this.nameBoxes(scale, this.boxes.keys());
    this.camera = camera;
    this.slices.drawVisible();
    this.scene.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
    this.canvas.classList.toggle("pl-far", scale < FAR);
    this.canvas.classList.toggle("pl-middle", scale < NEAR);
    this.canvas.style.setProperty("--pl-far-size", `${Math.min(90, 15 / scale)}px`);
    this.canvas.style.setProperty("--pl-short-size", `${FAR_SIZE / scale}px`);
    this.drawView();
  }

  /**
   * Show only the names that are readable at a scale; from afar a box is as wide as its name if there is room.
   * @param {number} scale @param {Iterable<number>} boxes
   */
  nameBoxes(scale, boxes) {
    this.program.nameCards(scale);
    const isMiddle = scale < NEAR && scale >= FAR;
    for (const number of isMiddle ? boxes : this.widened) {
      const box = this.boxes.get(number),
        name = /** @type {SVGElement | null} */ (box?.querySelector(".pl-short") ?? null),
        [width] = this.data.boxes[number];
      if (!box || !name) continue;
      const room = this.rooms.get(number) ?? [0, 0],
        needed = isMiddle ? fitText(name, width + room[0] + room[1], scale) : 0;
      widen(box, width, Math.max(0, needed - width), room);
      if (needed > width) this.widened.add(number);
      else this.widened.delete(number);
    }
  }

  drawView() {
    const { x, y, scale } = this.camera;
    // A map is for finding the way. At first it would only cover boxes, and on a small canvas it always would.
    this.map.element.classList.toggle("pl-hidden", this.isInitial || this.width < MAP_WIDTH);
    if (this.sheet) this.map.move(-x / scale, -y / scale, this.width / scale, this.height / scale);
    this.onLook(this.isInitial ? "" : this.camera.toText(this));
  }

  /** Centre a point of the sheet. @param {number} x @param {number} y */
  centreOn(x, y) {
    this.place(Camera.showing([x, y], [this.width / 2, this.height / 2], this.camera.scale));
  }

  /** Save the drawing for paper: at full size with all details, on white. */
  save() {
    if (!this.sheet) return;
    const { camera } = this,
      { style } = /** @type {HTMLElement} */ (this.element.closest(".passlab"));
    this.place(new Camera(camera.x, camera.y, 1));
    this.slices.drawAll();
    style.colorScheme = "light";
    style.setProperty("--pl-bg", "#ffffff");
    saveDrawing(this.scene, this.sheet.width, this.sheet.height, this.shift ? "png" : "svg");
    style.colorScheme = "";
    style.removeProperty("--pl-bg");
    this.place(camera);
  }

  /** The actions of the keys. @returns {Bindings} */
  keys() {
    return graphKeys(this);
  }

  close() {
    this.slices.stop();
    this.resizeObserver.disconnect();
  }
}
