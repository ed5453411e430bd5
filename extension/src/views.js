/**
 * The outputs of passlab: live while the kernel knows their widget, else the static form that the same output holds.
 *
 * JupyterLab asks the renderer of widgets before that of HTML, whether the kernel still knows the widget or not, so that
 * a notebook of yesterday would show "model not found". Outputs of passlab have a type of their own beside both, which is
 * asked first. Hosts without this extension ignore it.
 */

import { Panel, Widget } from "@lumino/widgets";

/** @import { IRenderMime } from "@jupyterlab/rendermime-interfaces" */
/** @import { Kernel } from "@jupyterlab/services" */

/**
 * What is used of the rendermime of a document, of its session, and of a cell in its notebook.
 * @typedef {{createRenderer(type: string): IRenderMime.IRenderer}} Renderers
 * @typedef {{connect(slot: (sender: unknown, args: never) => void, self: unknown): void, disconnect(slot: (sender: unknown, args: never) => void, self: unknown): void}} Signal
 * @typedef {{session: {kernel: Kernel.IKernelConnection | null} | null, statusChanged: Signal, kernelChanged: Signal}} Session
 * @typedef {{widgets: readonly Widget[], activeCellIndex: number}} Cells
 * @typedef {{mode?: string, currentWidget: Widget | null, add(widget: Widget, area: string, options?: object): void, activateById(id: string): void}} Shell
 * @typedef {{commands: import("@lumino/commands").CommandRegistry, shell: Shell}} Application
 */

export const VIEW = "application/vnd.passlab.view+json";
const LIVE = "application/vnd.jupyter.widget-view+json",
  TARGET = "jupyter.widget",
  PATIENCE = 400, // milliseconds for which nothing is shown while the widget is looked for
  PAUSE = 2000, // milliseconds between two tries to show a widget that the kernel knows
  TRIES = 30,
  RUN = "Run the cell",
  BESIDE = "passlab:beside", // a view asks to be put beside the notebook: see `workbench.js` of the views
  ENDED = ["restarting", "autorestarting", "terminating", "dead"]; // the states of a kernel that ends

/** What the line says above an output. @typedef {"live" | "left" | "saved" | "asking"} State @type {Record<State, string>} */
const WORDS = {
  live: "",
  left: "The kernel of this view has ended. Run the cell to make it live.",
  saved: "Run the cell to make it live.",
  asking: "Asking the kernel for the live view …",
};

/** @type {Application | null} */
let application = null;

/** The application, whose commands run cells, and whose shell may have a dock. @param {Application} app */
export function setApplication(app) {
  application = app;
}

let panels = 0;

/** A view beside its notebook. It closes by going back to its cell. */
class Beside extends Panel {
  /** @param {() => void} takeBack @param {string} label */
  constructor(takeBack, label) {
    super();
    this.takeBack = takeBack;
    this.id = `passlab-beside-${++panels}`;
    this.title.label = label;
    this.title.closable = true;
    this.addClass("passlab-beside");
  }

  /** @override */
  onCloseRequest() {
    this.takeBack();
  }
}

/** The nearest widget around one that has a property. @param {Widget} widget @param {string} name @returns {any} */
function around(widget, name) {
  let at = widget.parent;
  while (at && !(name in at)) at = at.parent;
  return at;
}

const known = /** @type {WeakMap<Kernel.IKernelConnection, Promise<Set<string>>>} */ (new WeakMap());

/** The ids of the widgets that a kernel knows: one question for all outputs that ask at once. @param {Kernel.IKernelConnection} kernel */
function widgetsOf(kernel) {
  const asked = known.get(kernel);
  if (asked) return asked;
  const answer = kernel
    .requestCommInfo({ target_name: TARGET })
    .then(({ content }) => new Set(content.status === "ok" ? Object.keys(content.comms) : []))
    .finally(() => known.delete(kernel));
  known.set(kernel, answer);
  return answer;
}

/**
 * The static form of an output for a notebook that is not trusted, where JupyterLab drops style sheets and keeps the
 * styles of elements: each class of the form becomes the style that it stands for, before the HTML is cleaned.
 * @param {IRenderMime.IMimeModel} model
 * @returns {IRenderMime.IMimeModel}
 */
function inlined(model) {
  const { "text/html": html, ...others } = model.data;
  if (html === undefined) return model;
  const page = new DOMParser().parseFromString(Array.isArray(html) ? html.join("") : String(html), "text/html");
  for (const sheet of page.querySelectorAll("style")) {
    for (const [, name = "", look] of sheet.textContent.matchAll(/\.(p[0-9a-f]+):not\(#_\)\{([^}]*)\}/g)) {
      for (const element of page.getElementsByClassName(name))
        element.setAttribute("style", `${look};${element.getAttribute("style") ?? ""}`);
    }
    sheet.remove();
  }
  const data = { ...others, "text/html": new XMLSerializer().serializeToString(page.body) };
  return { data, metadata: model.metadata, trusted: false, setData: () => {} };
}

/** One output. */
class View extends Panel {
  constructor() {
    super();
    this.addClass("passlab-output");
    this.model = /** @type {IRenderMime.IMimeModel | null} */ (null);
    this.session = /** @type {Session | null} */ (null);
    this.live = /** @type {(Panel & IRenderMime.IRenderer) | null} */ (null);
    this.beside = /** @type {Beside | null} */ (null); // where the live view is, while it is not in the cell
    this.state = /** @type {State} */ ("asking");
    this.tries = 0;
    this.timer = 0;
    this.words = document.createElement("span");
    this.run = link(RUN, () => this.runCell());
    this.back = link("Take it back", () => this.takeBack());
    this.line = new Widget({ node: document.createElement("div") });
    this.line.addClass("passlab-line");
    this.line.node.setAttribute("role", "status");
    this.line.node.style.cssText =
      "padding:2px 10px;margin:2px 0;font:12px/20px var(--jp-ui-font-family,system-ui);color:var(--jp-ui-font-color1,inherit);border-left:3px solid var(--jp-warn-color1,#a46a12)";
    this.line.node.append(this.words);
    this.still = new Panel();
    this.still.addClass("passlab-static");
    this.observer = new MutationObserver(() => this.changed());
    this.addWidget(this.line);
    this.addWidget(this.still);
    this.line.hide();
    this.still.hide();
    this.onBeside = (/** @type {Event} */ event) => this.toggleBeside() && event.preventDefault();
  }

  /** Called by JupyterLab, before the output is part of the page, and again when the output changes. @param {IRenderMime.IMimeModel} model */
  async renderModel(model) {
    this.model = model;
    this.begin();
  }

  /**
   * @param {import("@lumino/messaging").Message} message
   * @override
   */
  onAfterAttach(message) {
    super.onAfterAttach(message);
    if (!this.session && !this.live && !this.still.widgets.length) this.begin();
  }

  /** @override */
  dispose() {
    if (this.isDisposed) return;
    clearTimeout(this.timer);
    this.observer.disconnect();
    this.live?.dispose();
    this.beside?.dispose();
    this.session?.statusChanged.disconnect(this.onStatus, this);
    this.session?.kernelChanged.disconnect(this.onKernel, this);
    super.dispose();
  }

  /** The rendermime of the document: it knows the widgets of the document's kernel. @returns {Renderers | null} */
  get renderers() {
    return around(this, "rendermime")?.rendermime ?? null;
  }

  get isLive() {
    return Boolean(this.live?.widgets.length);
  }

  /** Whether the kernel of a mounted widget has gone. */
  get isLeft() {
    return (
      Boolean(this.live?.widgets[0]?.hasClass("jupyter-widgets-disconnected")) || this.node.dataset.kernel === "gone"
    );
  }

  /** The id of the widget, "" if there is none. */
  get modelId() {
    const data = /** @type {{model_id?: string} | undefined} */ (this.model?.data[LIVE]);
    return data?.model_id ?? "";
  }

  begin() {
    if (!this.model || !this.renderers) return;
    clearTimeout(this.timer);
    this.live?.dispose();
    this.live = null;
    this.beside?.dispose();
    this.beside = null;
    for (const old of [...this.still.widgets]) old.dispose();
    if (!this.session) {
      this.session = /** @type {Session | null} */ (around(this, "sessionContext")?.sessionContext ?? null);
      this.session?.statusChanged.connect(this.onStatus, this);
      this.session?.kernelChanged.connect(this.onKernel, this);
    }
    this.tries = 0;
    delete this.node.dataset.kernel;
    this.state = /** @type {State} */ ("asking");
    this.timer = window.setTimeout(() => this.present(this.isLive ? "live" : "asking"), PATIENCE);
    // What a stranger's notebook holds may only be shown live if the kernel itself, and not the file, has the widget.
    if (this.model.trusted) this.mount();
    else this.seek();
  }

  /** Try to show the widget; if the page does not know it, ask the kernel. */
  async mount() {
    const { model, renderers } = this;
    if (!model || !renderers || !this.modelId) return this.present("saved");
    this.live?.dispose();
    const live = /** @type {Panel & IRenderMime.IRenderer} */ (renderers.createRenderer(LIVE));
    this.live = live;
    live.hide();
    live.node.addEventListener(BESIDE, this.onBeside);
    this.insertWidget(1, live);
    this.observer.disconnect();
    this.observer.observe(live.node, { childList: true });
    await live.renderModel(model).catch(() => {}); // it says why in its own place, where the static form is shown
    if (this.isDisposed || this.live !== live) return;
    if (live.widgets.length) this.changed();
    else this.seek();
  }

  /** Ask the kernel whether it knows the widget. */
  async seek() {
    const kernel = this.session?.session?.kernel;
    const knows = kernel && this.modelId ? await widgetsOf(kernel).catch(() => null) : null;
    if (this.isDisposed || this.isLive) return;
    if (!knows?.has(this.modelId) || this.tries >= TRIES) return this.present("saved");
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.isLive || this.mount(), this.tries++ ? PAUSE : 0);
    if (this.tries > 1) this.present("asking");
  }

  /** What the widget's renderer holds has changed: the widget came, its kernel ended, or it was closed. */
  changed() {
    const [shown] = this.live?.widgets ?? [];
    if (!shown) return this.state === "live" || this.state === "left" ? this.present("saved") : undefined;
    this.observer.observe(shown.node, { attributes: true, attributeFilter: ["class"] });
    this.present(this.isLeft ? "left" : "live");
  }

  /** Show the widget, or the static form under a line. @param {State} state */
  present(state) {
    if (this.isDisposed) return;
    clearTimeout(this.timer);
    this.state = state;
    const live = state === "live" || state === "left";
    this.live?.setHidden(!live);
    this.still.setHidden(live);
    this.line.setHidden(state === "live" || !this.modelId); // a view without a widget is never live
    this.words.replaceChildren(...WORDS[state].split(RUN).flatMap((part, at) => (at ? [this.run, part] : [part])));
    if (!live && !this.still.widgets.length) this.drawStill();
    if (state !== "live" || !this.beside) return;
    this.line.show();
    this.words.replaceChildren("This view is open beside the notebook. ", this.back);
  }

  drawStill() {
    const type = ["text/html", "text/plain"].find((name) => this.model?.data[name] !== undefined);
    if (!type || !this.model || !this.renderers) return;
    const still = this.renderers.createRenderer(type);
    this.still.addWidget(still);
    still.renderModel(this.model.trusted ? this.model : inlined(this.model)).catch((error) => console.error(error));
  }

  /** Put the live view beside the notebook, or take it back; whether there is a dock for it. */
  toggleBeside() {
    const { live } = this,
      shell = application?.shell;
    if (this.beside) return this.takeBack();
    if (!live || shell?.mode !== "multiple-document") return false;
    this.beside = new Beside(() => this.takeBack(), live.node.querySelector(".pl-title")?.textContent || "passlab");
    this.beside.addWidget(live);
    shell.add(this.beside, "main", { mode: "split-right", ref: shell.currentWidget?.id });
    this.present(this.state);
    return true;
  }

  takeBack() {
    const { beside, live } = this;
    this.beside = null;
    if (live) this.insertWidget(1, live);
    beside?.dispose();
    this.present(this.state);
    this.node.scrollIntoView({ block: "nearest" });
    return true;
  }

  /** @param {unknown} _ @param {string} status */
  onStatus(_, status) {
    if (ENDED.includes(status)) this.leave();
  }

  /** The notebook has another kernel, or none. */
  onKernel() {
    if (this.isLive) this.leave();
    else if (this.model) this.seek();
  }

  /** The kernel has ended. A widget that is mounted has its data, and stays. */
  leave() {
    if (this.isLive) this.node.dataset.kernel = "gone";
    if (this.isLive && this.live) this.live.node.dataset.kernel = "gone"; // also where it is beside the notebook
    if (this.model) this.present(this.isLive ? "left" : "saved");
  }

  /** Run the cell that this is the output of. */
  async runCell() {
    const notebook = /** @type {Cells | null} */ (around(this, "activeCellIndex"));
    const at = notebook ? notebook.widgets.findIndex((cell) => cell.node.contains(this.node)) : -1;
    if (!notebook || at < 0) return;
    notebook.activeCellIndex = at;
    await application?.commands.execute("notebook:run-cell");
  }
}

/** A link in a line. @param {string} text @param {() => unknown} run */
function link(text, run) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.style.cssText =
    "font:inherit;padding:0;border:0;background:none;color:var(--jp-content-link-color,#0b5cc4);text-decoration:underline;cursor:pointer";
  button.addEventListener("click", () => void run());
  return button;
}

/** For the rendermime of every document. Safe: static forms are cleaned as all HTML is, and see `View.begin`. */
export default {
  id: "passlab:views",
  description: "The outputs of passlab, live or static.",
  rendererFactory: { safe: true, mimeTypes: [VIEW], createRenderer: () => new View() },
  rank: -20, // before the widgets' own, -10
  dataType: "json",
};
