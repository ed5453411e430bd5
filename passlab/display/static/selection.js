// What is selected: nodes of the program, by number. A node has the same number in every view and every step; `Lineage`
// knows which node replaced which, so that a selection can be followed through the passes. Nothing here draws.

/**
 * Which node was made from which, as five numbers a link: child, parent, event, rule (a text), whether only its operands
 * changed. Every child has one parent.
 * @typedef {{parent: number, event: number, rule: number, rebuilt: boolean}} Link
 */
export class Lineage {
  /** @param {number[]} links */
  constructor(links = []) {
    this.links = /** @type {Map<number, Link>} */ (new Map());
    for (let at = 0; at < links.length; at += 5)
      this.links.set(links[at], { parent: links[at + 1], event: links[at + 2], rule: links[at + 3], rebuilt: links[at + 4] === 1 });
  }

  /** A node and all that it was before, the newest first. @param {number} node @returns {number[]} */
  ancestors(node) {
    const chain = [node];
    for (let at = this.links.get(node); at && at.parent >= 0 && !chain.includes(at.parent); at = this.links.get(at.parent)) chain.push(at.parent);
    return chain;
  }
}

/** The nodes that are selected, and those they came from or became. Views listen to it; it listens to nobody. */
export class Selection {
  constructor() {
    this.nodes = /** @type {number[]} */ ([]);
    this.lineage = new Lineage();
    this.listeners = /** @type {(() => void)[]} */ ([]);
    this.before = /** @type {Set<number>} */ (new Set()); // the selected nodes and their ancestors
    this.related = /** @type {Map<number, boolean>} */ (new Map());
  }

  /** Hear of every change. @param {() => void} run */
  listen(run) {
    this.listeners.push(run);
  }

  /** Know which node came from which. @param {number[]} links */
  learn(links) {
    this.lineage = new Lineage(links);
    this.index();
  }

  index() {
    this.before = new Set(this.nodes.flatMap((node) => this.lineage.ancestors(node)));
    this.related.clear();
  }

  /** Select nodes, none to let go. @param {number[]} nodes */
  set(nodes) {
    const chosen = nodes.filter((node) => node >= 0);
    if (chosen.length === this.nodes.length && chosen.every((node, at) => node === this.nodes[at])) return;
    this.nodes = chosen;
    this.index();
    for (const run of this.listeners) run();
  }

  /** Select a node, or let go of it where it is the one that is selected. @param {number[]} nodes */
  toggle(nodes) {
    this.set(this.nodes.length && nodes.length && nodes.every((node) => this.nodes.includes(node)) ? [] : nodes);
  }

  /** Whether a node is selected, was one that is, or came from one that is. @param {number} node */
  has(node) {
    if (node < 0 || !this.nodes.length) return false;
    if (this.before.has(node)) return true;
    let known = this.related.get(node);
    if (known === undefined) {
      known = this.lineage.ancestors(node).some((older) => this.nodes.includes(older));
      this.related.set(node, known);
    }
    return known;
  }

  get empty() {
    return this.nodes.length === 0;
  }
}

/**
 * Keep a selection and the nodes of a widget's model alike; what is selected elsewhere comes in through the model.
 * @param {any} model @param {Selection} selection @returns {() => void} ends it
 */
export function followSelection(model, selection) {
  selection.listen(() => {
    if (selection.nodes.join() === (model.get("nodes") || []).join()) return;
    model.set("nodes", selection.nodes);
    model.save_changes();
  });
  const changed = () => selection.set(model.get("nodes") || []);
  changed();
  model.on("change:nodes", changed);
  return () => model.off("change:nodes", changed);
}

/**
 * Draw a view that is one pane, put it into its place, and follow the data and the selection of the model.
 * @param {{model: any, el: HTMLElement}} context @param {HTMLElement} root @param {Selection} selection
 * @param {{updateSelection: () => void, close: () => void}} pane @param {() => void} update draws the data
 * @returns {() => void} takes the view down
 */
export function mountPane({ model, el: host }, root, selection, pane, update) {
  update();
  selection.listen(() => pane.updateSelection());
  const leaveSelection = followSelection(model, selection);
  model.on("change:data", update);
  host.append(root);
  return () => {
    leaveSelection();
    model.off("change:data", update);
    pane.close();
  };
}
