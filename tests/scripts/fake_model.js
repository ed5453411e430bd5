// A model of a widget as anywidget gives it to a script, for tests.

/** @template {object} State @template Request @template Answer */
export class FakeModel {
  /** @param {State} state */
  constructor(state) {
    this.state = state;
    this.saved = 0;
    this.sent = /** @type {Request[]} */ ([]);
    this.handlers = /** @type {Record<string, ((answer: Answer) => void)[]>} */ ({});
  }

  /** @template {keyof State} Key @param {Key} key */
  get(key) {
    return this.state[key];
  }

  /** @template {keyof State & string} Key @param {Key} key @param {State[Key]} value */
  set(key, value) {
    this.state[key] = value;
    this.fire(`change:${key}`, /** @type {Answer} */ (undefined));
  }

  save_changes() {
    this.saved++;
  }

  /** @param {Request} request */
  send(request) {
    this.sent.push(request);
  }

  /** @param {string} name @param {(answer: Answer) => void} run */
  on(name, run) {
    this.handlers[name] ||= [];
    this.handlers[name].push(run);
  }

  /** @param {string} name @param {(answer: Answer) => void} run */
  off(name, run) {
    this.handlers[name] = (this.handlers[name] || []).filter((one) => one !== run);
  }

  /** @param {Answer} answer of the kernel */
  answer(answer) {
    this.fire("msg:custom", answer);
  }

  /** @param {string} name @param {Answer} answer */
  fire(name, answer) {
    for (const run of this.handlers[name] || []) run(answer);
  }
}
