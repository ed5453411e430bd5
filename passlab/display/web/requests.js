// Requests to the kernel: each has a number, a time after which the place that waits says why, a second try, and an end.
// A page has no kernel; in a notebook it may be busy, or have been shut down. Answers come as messages or as changes of the
// model; `done`, which is sent after them, says that the kernel has dealt with a request.
import { button, el } from "./dom.js";

/** @import { Done } from "./protocol.js" */

export const SOON = 700, // milliseconds after which a place says that it waits
  LIMIT = 15_000; // after which the request is sent once more, and the reader can send it again

export const WORDS = {
  busy: "The kernel is busy. This is shown as soon as it answers.",
  silent: `The kernel has not answered for ${LIMIT / 1000} seconds. It may be running a long cell.`,
  ended: "The kernel of this view has ended. Run the cell again to ask it.",
};

// In hosts with widgets, and in passlab's own outputs, what marks a view whose kernel has gone.
const GONE = ".jupyter-widgets-disconnected, [data-kernel='gone']";

/**
 * What is used of a model. Messages have the types of the widget, and those of `Done`.
 * @template Request
 * @typedef {{send?(request: Request): void, on?(name: "msg:custom", run: (answer: any) => void): void}} Asked
 */
/** @typedef {{request: object, send(message: object): void, timers: ReturnType<typeof setTimeout>[]}} Entry */

/**
 * Whether a kernel was there when the view was opened.
 * @param {{send?: unknown}} model
 */
export const hasKernel = (model) => typeof model.send === "function";

/** The line in a place that waits, with the requests that it waits for. */
class Waiting {
  /** @param {HTMLElement} place */
  constructor(place) {
    this.place = place;
    this.entries = /** @type {Map<string, Entry>} */ (new Map());
    this.words = el("span", "");
    this.again = button("ask again", () => this.repeat());
    this.line = el("div", "pl-waiting", this.words, this.again);
    this.line.setAttribute("role", "status");
  }

  /** @param {string} words @param {boolean} again whether the reader can ask again */
  say(words, again) {
    this.words.textContent = words;
    this.again.hidden = !again;
    if (this.line.parentNode !== this.place) this.place.append(this.line);
    this.place.classList.add("pl-waits");
  }

  hide() {
    this.line.remove();
    this.place.classList.remove("pl-waits");
  }

  /** Whether the kernel of the view has gone. */
  get isLeft() {
    return this.place.closest(GONE) !== null;
  }

  /** Send a request, unless the place waits for its answer already. @param {object} request @param {(message: object) => void} send */
  ask(request, send) {
    const text = JSON.stringify(request);
    if ([...this.entries.values()].some((entry) => JSON.stringify(entry.request) === text)) return;
    const ticket = newTicket(),
      entry = /** @type {Entry} */ ({ request, send, timers: [] });
    this.entries.set(ticket, entry);
    if (!this.post(ticket, entry)) return;
    entry.timers.push(
      setTimeout(() => this.say(this.isLeft ? WORDS.ended : WORDS.busy, false), SOON),
      setTimeout(() => this.post(ticket, entry) && this.say(WORDS.silent, true), LIMIT),
    );
  }

  /** Send a request to the kernel, or say that there is none. @param {string} ticket @param {Entry} entry */
  post(ticket, entry) {
    if (!this.isLeft)
      try {
        entry.send({ ...entry.request, ticket });
        return true;
      } catch {
        // a comm that was closed
      }
    this.end(ticket);
    this.say(WORDS.ended, false);
    return false;
  }

  /** A request is done. @param {string} ticket @param {string} [problem] why it has no answer */
  end(ticket, problem) {
    const entry = this.entries.get(ticket);
    if (!entry) return;
    entry.timers.forEach(clearTimeout);
    this.entries.delete(ticket);
    if (problem) this.say(problem, false);
    else if (!this.entries.size) this.hide();
  }

  /** Ask all questions again, as new ones: an answer that was lost comes too. */
  repeat() {
    const waiting = [...this.entries];
    for (const [ticket] of waiting) this.end(ticket);
    for (const [, { request, send }] of waiting) this.ask(request, send);
  }
}

let count = 0;
/** A name for a request that no other page of the kernel uses. */
const newTicket = () => `${++count}-${Math.random().toString(36).slice(2, 10)}`;

const places = /** @type {WeakMap<HTMLElement, Waiting>} */ (new WeakMap());
const heard = /** @type {WeakMap<object, Set<Waiting>>} */ (new WeakMap()); // by model

/** The line of a place, which hears the answers of a model. @param {Asked<never>} model @param {HTMLElement} place */
function waitingIn(model, place) {
  const waiting = places.get(place) ?? new Waiting(place);
  places.set(place, waiting);
  const listeners = heard.get(model) ?? new Set();
  if (!heard.has(model)) {
    heard.set(model, listeners);
    model.on?.("msg:custom", (/** @type {Done} */ message) => {
      if (message && "done" in message) for (const one of listeners) one.end(message.done, message.problem);
    });
  }
  listeners.add(waiting);
  return waiting;
}

/**
 * Send a request; its answer comes as a message or as a change of the model. While there is none, `place` says why.
 * @template Request
 * @param {Asked<Request>} model @param {Request} request @param {HTMLElement} place the pane that waits for the answer
 * @returns {boolean} whether the view has, or had, a kernel; a page has none
 */
export function ask(model, request, place) {
  if (!model.send) return false;
  waitingIn(model, place).ask(/** @type {object} */ (request), (message) =>
    model.send?.(/** @type {Request} */ (message)),
  );
  return true;
}
