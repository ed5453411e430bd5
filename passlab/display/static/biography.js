// The history of the selected node: a strip with a mark for each pass, and the effect of each pass on the node as a sentence.
import { button, el, svg } from "./dom.js";

const HEIGHT = 22, LEAST = 9, MOST = 34; // pixels
const WORDS = /** @type {Record<string, string>} */ ({
  absent: "not in the program", same: "unchanged", rewritten: "rewritten", rebuilt: "operand changed", born: "created", deleted: "removed", moved: "moved",
});

/**
 * What each pass did to the selected node, from the programs' node numbers.
 * @param {any} data of the recording @param {import("./selection.js").Selection} selection
 * @returns {{event: number, what: string, rule: string, name: string}[]} one for each pass that is not inside another
 */
export function chapters(data, selection) {
  let before = /** @type {string | null} */ (null);
  const entries = [];
  data.steps.forEach((/** @type {any} */ step, /** @type {number} */ event) => {
    if (step.depth) return;
    const here = (data.nodes[step.after] || []).filter((/** @type {number} */ node) => selection.has(node));
    const links = here.map((/** @type {number} */ node) => selection.lineage.links.get(node)).filter(Boolean);
    const mine = links.filter((/** @type {any} */ link) => insideOf(data, link.event, event));
    const key = here.join(), rewrite = mine.find((/** @type {any} */ link) => !link.rebuilt);
    let what = "same";
    if (!here.length) what = before ? "deleted" : "absent";
    else if (!before) what = "born";
    else if (key !== before) what = rewrite ? "rewritten" : mine.length ? "rebuilt" : "moved";
    const rule = rewrite && rewrite.rule >= 0 ? data.texts[rewrite.rule] : "";
    entries.push({ event, what, rule, name: step.name });
    before = key;
  });
  return entries;
}

/** Whether an event is a step, or a pass inside it. @param {any} data @param {number} event @param {number} step */
function insideOf(data, event, step) {
  if (event === step) return true;
  const id = data.steps[event] ? data.steps[event].id : "";
  return id.startsWith(`${data.steps[step].id}.`);
}

/**
 * The first line of a program of the recording that is the selected node.
 * @param {any} data @param {import("./selection.js").Selection} selection @returns {string}
 */
function firstName(data, selection) {
  for (const step of data.steps) {
    const line = (data.nodes[step.after] || []).findIndex((/** @type {number} */ node) => selection.has(node)), lines = data.modules[step.after];
    if (line >= 0 && lines) return data.lines[lines[line]][0].trim();
  }
  return "";
}

export class Biography {
  /** @param {import("./selection.js").Selection} selection @param {(event: number) => void} go hears which pass was clicked */
  constructor(selection, go) {
    this.selection = selection;
    this.go = go;
    this.data = /** @type {any} */ (null); // of the strip that is drawn
    this.nodes = /** @type {number[]} */ ([]);
    this.chapters = /** @type {ReturnType<typeof chapters>} */ ([]);
    this.latest = ""; // the last text of the node
    this.name = el("span", "pl-life-name");
    this.words = el("span", "pl-life-words");
    this.words.setAttribute("role", "status");
    this.track = svg("svg", { class: "pl-life-track", height: HEIGHT, role: "img", "aria-label": "what each pass did to the selected node" });
    const clear = button("clear the selection (Esc)", () => selection.set([]));
    clear.textContent = "×";
    this.element = el("div", "pl-life-strip", this.name, /** @type {any} */ (this.track), this.words, clear);
    this.element.hidden = true;
    this.track.addEventListener("click", (event) => {
      const mark = /** @type {Element} */ (event.target).closest("[data-event]");
      if (mark) this.go(Number(mark.getAttribute("data-event")));
    });
  }

  /** @param {any} data @param {number} here the event that is shown @param {string} name of the node there */
  show(data, here, name) {
    this.element.hidden = this.selection.empty || !data.nodes;
    if (this.element.hidden) return;
    if (this.data !== data || this.nodes !== this.selection.nodes) this.draw(data);
    this.element.hidden = this.chapters.every(({ what }) => what === "absent"); // it is a node of another recording
    if (this.element.hidden) return;
    for (const mark of this.track.children) mark.classList.toggle("pl-life-here", mark.getAttribute("data-event") === String(here));
    const now = this.chapters.find((chapter) => chapter.event === here);
    this.latest = name || this.latest; // a removed node keeps its last name
    this.name.textContent = this.latest;
    this.name.title = this.latest;
    this.words.textContent = now ? `${now.event === 0 && now.what === "born" ? "in the input" : WORDS[now.what]}${now.rule ? ` by ${now.rule}` : ""}` : "";
  }

  /** Draw the strip of the current selection. @param {any} data */
  draw(data) {
    [this.data, this.nodes] = [data, this.selection.nodes];
    this.chapters = chapters(data, this.selection);
    this.latest = firstName(data, this.selection);
    const wide = Math.max(LEAST, Math.min(MOST, 520 / Math.max(1, this.chapters.length)));
    this.track.setAttribute("width", String(wide * this.chapters.length));
    this.track.replaceChildren(...this.chapters.map((chapter, at) => this.mark(chapter, at, wide)));
  }

  /** @param {{event: number, what: string, rule: string, name: string}} chapter @param {number} at @param {number} wide */
  mark({ event, what, rule, name }, at, wide) {
    const x = wide * (at + 0.5), middle = HEIGHT / 2, alive = what !== "absent" && what !== "deleted";
    const group = svg("g", { class: `pl-life-mark pl-life-${what}`, "data-event": event },
      svg("rect", { x: wide * at, y: 0, width: wide, height: HEIGHT, class: "pl-life-room" }));
    if (alive) group.append(svg("path", { d: `M${what === "born" ? x : wide * at} ${middle}H${wide * (at + 1)}`, class: "pl-life-line" }));
    if (what === "deleted") group.append(svg("path", { d: `M${x - 3} ${middle - 3}l6 6m0 -6l-6 6`, class: "pl-life-cross" }));
    else if (what === "rewritten" || what === "born") group.append(svg("circle", { cx: x, cy: middle, r: 4.5 }));
    else if (what === "moved") group.append(svg("path", { d: `M${x} ${middle - 5}l5 5l-5 5l-5 -5z` }));
    else if (what === "rebuilt") group.append(svg("circle", { cx: x, cy: middle, r: 3, class: "pl-life-hollow" }));
    group.append(svg("title", {}, `${name}: ${event === 0 && what === "born" ? "in the input" : WORDS[what]}${rule ? ` by ${rule}` : ""}`));
    return group;
  }

  /** The next or the previous pass that changed the selected node. @param {number} here @param {number} way 1 or -1 */
  next(here, way) {
    const marked = this.chapters.filter(({ what }) => what !== "same" && what !== "absent").map(({ event }) => event);
    return way > 0 ? marked.find((event) => event > here) : marked.filter((event) => event < here).pop();
  }
}
