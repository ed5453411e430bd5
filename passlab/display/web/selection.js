// The selection: nodes of the program, by number. A node has the same number in every view and every step; `Lineage`
// records which node replaced which, so that a selection can be followed through the passes. Nothing here draws.
/** @import { Handlers, Model } from "./model.js" */
/** @import { Related, SelectionState } from "./protocol.js" */

/**
 * The origin of each node, as five numbers a link: child, parent, event, rule (a text), whether only its operands
 * changed. Every child has one parent.
 * @typedef {{parent: number, event: number, rule: number, rebuilt: boolean}} Link
 */
export class Lineage {
  /** @param {number[]} links */
  constructor(links = []) {
    this.links = /** @type {Map<number, Link>} */ (new Map());
    this.parents = new Set();
    for (let at = 0; at < links.length; at += 5) {
      this.links.set(links[at], {
        parent: links[at + 1],
        event: links[at + 2],
        rule: links[at + 3],
        rebuilt: links[at + 4] === 1,
      });
      this.parents.add(links[at + 1]);
    }
  }

  /** Whether a node has a known origin or successor. @param {number} node */
  has(node) {
    return this.links.has(node) || this.parents.has(node);
  }

  /** A node and its predecessors, the newest first. @param {number} node @returns {number[]} */
  ancestors(node) {
    const chain = [node];
    for (
      let at = this.links.get(node);
      at && at.parent >= 0 && !chain.includes(at.parent);
      at = this.links.get(at.parent)
    )
      chain.push(at.parent);
    return chain;
  }
}

/** The selected nodes, and those they came from or became. Views listen to it; it does not depend on any view. */
export class Selection {
  constructor() {
    this.nodes = /** @type {number[]} */ ([]);
    this.relatives = /** @type {Related} */ ({}); // relatives of the selected nodes in other views
    this.after = /** @type {Set<number>} */ (new Set()); // their successors in other views
    this.roots = /** @type {number[]} */ ([]); // each selected node, or its nearest predecessor that this view has
    this.lineage = new Lineage();
    this.listeners = /** @type {(() => void)[]} */ ([]);
    this.before = /** @type {Set<number>} */ (new Set()); // the selected nodes and their ancestors
    this.related = /** @type {Map<number, boolean>} */ (new Map());
  }

  /** Call a function after every change. @param {() => void} run */
  listen(run) {
    this.listeners.push(run);
  }

  /** Set which node came from which. @param {number[]} links */
  setLineage(links) {
    this.lineage = new Lineage(links);
    this.index();
  }

  index() {
    const { before = [], after = [] } = this.relatives,
      { lineage } = this;
    this.roots = this.nodes.map((node, at) =>
      lineage.has(node) ? node : ((before[at] || []).find((older) => lineage.has(older)) ?? node),
    );
    this.before = new Set([...this.nodes, ...before.flat(), ...this.roots].flatMap((node) => lineage.ancestors(node)));
    this.after = new Set(after);
    this.related.clear();
  }

  /**
   * Select nodes; an empty list clears the selection.
   * @param {number[]} nodes @param {Related} [relatives] their relatives in other views
   */
  set(nodes, relatives = {}) {
    const selectedNodes = nodes.filter((node) => node >= 0),
      isSame = (/** @type {number[]} */ others) =>
        selectedNodes.length === others.length && selectedNodes.every((node, at) => node === others[at]);
    const related = relatives.of && isSame(relatives.of) ? relatives : {},
      same = isSame(this.nodes);
    if (same && (related === this.relatives || !related.of)) return;
    this.nodes = selectedNodes;
    this.relatives = related;
    this.index();
    for (const run of this.listeners) run();
  }

  /** Select a node, or deselect it if it is selected. @param {number[]} nodes */
  toggle(nodes) {
    this.set(this.nodes.length && nodes.length && nodes.every((node) => this.nodes.includes(node)) ? [] : nodes);
  }

  /**
   * Whether a node (or one of several) is selected, or a predecessor or successor of a selected one.
   * @param {number | number[]} node @returns {boolean}
   */
  has(node) {
    if (!this.nodes.length) return false;
    if (Array.isArray(node)) return node.some((one) => this.has(one));
    if (node < 0) return false;
    if (this.before.has(node) || this.after.has(node)) return true;
    let related = this.related.get(node);
    if (related === undefined) {
      related = this.lineage.ancestors(node).some((older) => this.roots.includes(older));
      this.related.set(node, related);
    }
    return related;
  }

  get empty() {
    return this.nodes.length === 0;
  }
}

/**
 * Add handlers of the events of a widget's model.
 * @template State @template Request @template Answer
 * @param {Model<State, Request, Answer>} model @param {Handlers<State, Answer>} handlers
 * @returns {() => void} removes them
 */
export function subscribe(model, handlers) {
  const entries = /** @type {[keyof Handlers<State, Answer>, (answer: Answer) => void][]} */ (Object.entries(handlers));
  for (const [name, run] of entries) model.on(name, run);
  return () => {
    for (const [name, run] of entries) model.off(name, run);
  };
}

/**
 * Keep a selection and the nodes of a widget's model alike; what is selected elsewhere comes in through the model.
 * @param {Model<SelectionState, never, unknown>} model @param {Selection} selection @returns {() => void} ends it
 */
export function syncSelection(model, selection) {
  selection.listen(() => {
    if (selection.nodes.join() === (model.get("nodes") || []).join()) return;
    model.set("nodes", selection.nodes);
    model.save_changes();
  });
  const changed = () => selection.set(model.get("nodes") || [], model.get("related") || {});
  changed();
  return subscribe(model, { "change:nodes": changed, "change:related": changed });
}

/**
 * Draw a view that is one pane, put it into its place, and follow the data and the selection of the model.
 * @param {{model: Model<SelectionState & {data: unknown}, never, unknown>, el: HTMLElement}} context @param {HTMLElement} root @param {Selection} selection
 * @param {{updateSelection: () => void, close: () => void}} pane @param {() => void} update draws the data
 * @returns {() => void} removes the view
 */
export function mountPane({ model, el: host }, root, selection, pane, update) {
  update();
  selection.listen(() => pane.updateSelection());
  const leaveSelection = syncSelection(model, selection);
  const leaveModel = subscribe(model, { "change:data": update });
  host.append(root);
  return () => {
    leaveSelection();
    leaveModel();
    pane.close();
  };
}
