// The model of a widget, as anywidget gives it to a script; a page without a kernel has one without `send`.
import type { Answers, Requests, States } from "./protocol.js";

export interface Model<State, Request = never, Answer = never> {
  get<Key extends keyof State>(key: Key): State[Key];
  set<Key extends keyof State>(key: Key, value: State[Key]): void;
  save_changes(): void;
  send?(request: Request): void;
  on(name: `change:${keyof State & string}` | "msg:custom", run: (answer: Answer) => void): void;
  off(name: `change:${keyof State & string}` | "msg:custom", run: (answer: Answer) => void): void;
}

/** What to call when a value of the model changes, and when the kernel answers. */
export type Handlers<State, Answer> = { [Key in keyof State & string as `change:${Key}`]?: () => void } & {
  "msg:custom"?: (answer: Answer) => void;
};

/** The model of the widget with a script. */
export type WidgetModel<Name extends keyof States> = Model<States[Name], Requests[Name], Answers[Name]>;

/** What `render` gets: the model, and the element to draw into. */
export interface Context<Name extends keyof States> {
  model: WidgetModel<Name>;
  el: HTMLElement;
}

/** What to do for each key; a handler that returns false has not handled it. */
export type Bindings = Record<string, (event: KeyboardEvent) => unknown>;
