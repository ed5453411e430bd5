// The history of the selected node: a strip with a mark for each pass, and the effect of each pass on the node as a sentence.
import { button, el, svg } from "./dom.js";

/** @import { RecordingData } from "./protocol.js" */

const HEIGHT = 22,
  MIN_WIDTH = 9,
  MAX_WIDTH = 34; // pixels
const EFFECTS = /** @type {Record<string, string>} */ ({
  absent: "not in the program",
  same: "unchanged",
  rewritten: "rewritten",
  rebuilt: "operand changed",
  created: "created",
  deleted: "removed",
  moved: "moved",
});

/** What a pass did to the selected node. @typedef {{event: number, what: string, rule: string, name: string}} Effect */

/**
 * What each pass did to the selected node, from the programs' node numbers.
 * @param {RecordingData} data of the recording @param {import("./selection.js").Selection} selection
 * @returns {Effect[]} one for each pass that is not inside another
 */
export function effectsOf(data, selection) {
  let before = /** @type {string | null} */ (null);
  const entries = /** @type {Effect[]} */ ([]);
  data.steps.forEach((step, event) => {
    if (step.depth) return;
    const shown = (data.nodes[step.after] || []).filter((node) => selection.has(node));
    const links = shown.flatMap((node) => selection.lineage.links.get(node) ?? []);
    const ownLinks = links.filter((link) => isStepOrNested(data, link.event, event));
    const key = shown.join(),
      rewrite = ownLinks.find((link) => !link.rebuilt);
    let what = "same";
    if (!shown.length) what = before ? "deleted" : "absent";
    else if (!before) what = "created";
    else if (key !== before) what = rewrite ? "rewritten" : ownLinks.length ? "rebuilt" : "moved";
    const rule = rewrite && rewrite.rule >= 0 ? data.texts[rewrite.rule] : "";
    entries.push({ event, what, rule, name: step.name });
    before = key;
  });
  return entries;
}

/** Whether an event is a step, or a pass inside it. @param {RecordingData} data @param {number} event @param {number} step */
function isStepOrNested(data, event, step) {
  if (event === step) return true;
  const id = data.steps[event] ? data.steps[event].id : "";
  return id.startsWith(`${data.steps[step].id}.`);
}

/**
 * The first line of a program of the recording that is the selected node.
 * @param {RecordingData} data @param {import("./selection.js").Selection} selection @returns {string}
 */
function firstName(data, selection) {
  for (const step of data.steps) {
    const line = (data.nodes[step.after] || []).findIndex((node) => selection.has(node)),
      lines = data.modules[step.after];
    if (line >= 0 && lines) return data.lines[lines[line]][0].trim();
  }
  return "";
}

export class Biography {
  /** @param {import("./selection.js").Selection} selection @param {(event: number) => void} onSelect called with the clicked pass */
  constructor(selection, onSelect) {
    this.selection = selection;
    this.onSelect = onSelect;
    this.data = /** @type {RecordingData | null} */ (null); // of the strip that is drawn
    this.nodes = /** @type {number[]} */ ([]);
    this.effects = /** @type {Effect[]} */ ([]);
    this.latest = ""; // the last text of the node
    this.name = el("span", "pl-biography-name");
    this.sentence = el("span", "pl-biography-sentence");
    this.sentence.setAttribute("role", "status");
    this.track = svg("svg", {
      class: "pl-biography-track",
      height: HEIGHT,
      role: "img",
      "aria-label": "what each pass did to the selected node",
    });
    const clear = button("clear the selection (Esc)", () => selection.set([]));
    clear.textContent = "×";
    this.element = el("div", "pl-biography-strip", this.name, this.track, this.sentence, clear);
    this.element.hidden = true;
    this.track.addEventListener("click", (event) => {
      const mark = /** @type {Element} */ (event.target).closest("[data-event]");
      if (mark) this.onSelect(Number(mark.getAttribute("data-event")));
    });
  }

  /** @param {RecordingData} data @param {number} shown the event that is shown @param {string} name of the node there */
  show(data, shown, name) {
    this.element.hidden = this.selection.empty || !data.nodes;
    if (this.element.hidden) return;
    if (this.data !== data || this.nodes !== this.selection.nodes) this.draw(data);
    this.element.hidden = this.effects.every(({ what }) => what === "absent"); // it is a node of another recording
    if (this.element.hidden) return;
    for (const mark of this.track.children)
      mark.classList.toggle("pl-biography-current", mark.getAttribute("data-event") === String(shown));
    const current = this.effects.find((chapter) => chapter.event === shown);
    this.latest = name || this.latest; // a removed node keeps its last name
    this.name.textContent = this.latest;
    this.name.title = this.latest;
    this.sentence.textContent = current
      ? `${current.event === 0 && current.what === "created" ? "in the input" : EFFECTS[current.what]}${current.rule ? ` by ${current.rule}` : ""}`
      : "";
  }

  /** Draw the strip of the current selection. @param {RecordingData} data */
  draw(data) {
    [this.data, this.nodes] = [data, this.selection.nodes];
    this.effects = effectsOf(data, this.selection);
    this.latest = firstName(data, this.selection);
    const width = Math.max(MIN_WIDTH, Math.min(MAX_WIDTH, 520 / Math.max(1, this.effects.length)));
    this.track.setAttribute("width", String(width * this.effects.length));
    this.track.replaceChildren(...this.effects.map((chapter, at) => this.mark(chapter, at, width)));
  }

  /** @param {Effect} chapter @param {number} at @param {number} width */
  mark({ event, what, rule, name }, at, width) {
    const x = width * (at + 0.5),
      middle = HEIGHT / 2,
      alive = what !== "absent" && what !== "deleted";
    const group = svg(
      "g",
      { class: `pl-biography-mark pl-biography-${what}`, "data-event": event },
      svg("rect", { x: width * at, y: 0, width: width, height: HEIGHT, class: "pl-biography-cell" }),
    );
    if (alive)
      group.append(
        svg("path", {
          d: `M${what === "created" ? x : width * at} ${middle}H${width * (at + 1)}`,
          class: "pl-biography-line",
        }),
      );
    if (what === "deleted")
      group.append(svg("path", { d: `M${x - 3} ${middle - 3}l6 6m0 -6l-6 6`, class: "pl-biography-cross" }));
    else if (what === "rewritten" || what === "created") group.append(svg("circle", { cx: x, cy: middle, r: 4.5 }));
    else if (what === "moved") group.append(svg("path", { d: `M${x} ${middle - 5}l5 5l-5 5l-5 -5z` }));
    else if (what === "rebuilt") group.append(svg("circle", { cx: x, cy: middle, r: 3, class: "pl-biography-hollow" }));
    group.append(
      svg(
        "title",
        {},
        `${name}: ${event === 0 && what === "created" ? "in the input" : EFFECTS[what]}${rule ? ` by ${rule}` : ""}`,
      ),
    );
    return group;
  }

  /** The next or the previous pass that changed the selected node. @param {number} shown @param {number} direction 1 or -1 */
  next(shown, direction) {
    const changes = this.effects.filter(({ what }) => what !== "same" && what !== "absent").map(({ event }) => event);
    return direction > 0 ? changes.find((event) => event > shown) : changes.filter((event) => event < shown).pop();
  }
}
