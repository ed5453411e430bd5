/**
 * The course in a sidebar: its lessons, what is solved, the points and minutes, and what comes next.
 *
 * `passlab course start` writes `lessons.json` into the folder of a learner, and checks keep what is solved in
 * `passlab-course.json`. Both are read through the server's contents; nothing is written, and no kernel is needed.
 */

import { Widget } from "@lumino/widgets";

/** @import { Contents } from "@jupyterlab/services" */
/** @import { App } from "./index.js" */

/**
 * @typedef {{title: string, points: number}} Exercise
 * @typedef {{label: string, title: string, notebook: string, minutes: number, project: number, exercises: Exercise[]}} Lesson
 * @typedef {Record<string, Record<string, {solved?: string}>>} Progress
 * @typedef {{currentWidget: {context?: {path: string}} | null, add(widget: Widget, area: string, options: object): void, activateById(id: string): void, currentChanged?: {connect(slot: () => void): void}}} Shell
 */

const INDEX = "lessons.json",
  PROGRESS = "passlab-course.json",
  PAUSE = 2000, // milliseconds between two looks at what is solved, while the panel is visible
  NONE = "There is no course in this folder. In a terminal, `passlab course start my-course` copies it.";

/** The folder of a path. @param {string} path */
const folderOf = (path) => path.split("/").slice(0, -1).join("/");

/** A path in a folder. @param {string} folder @param {string} name */
const inside = (folder, name) => (folder ? `${folder}/${name}` : name);

/** What a file of the server holds as JSON, null where there is none. @param {Contents.IManager} contents @param {string} path @returns {Promise<any>} */
async function read(contents, path) {
  try {
    return JSON.parse((await contents.get(path, { type: "file", format: "text", content: true })).content);
  } catch {
    return null;
  }
}

/** The lessons that a file lists; a file of another form lists none. @param {any} index @returns {Lesson[]} */
function lessonsOf(index) {
  const lessons = Array.isArray(index?.lessons) ? index.lessons : [];
  return lessons.filter((/** @type {any} */ one) => typeof one?.notebook === "string" && Array.isArray(one.exercises));
}

/** The names in a folder of the server, and the folders among them. @param {Contents.IManager} contents @param {string} folder */
async function listed(contents, folder) {
  const entries = await contents.get(folder).then(
    ({ content }) => /** @type {Contents.IModel[]} */ (content),
    () => [],
  );
  return {
    names: new Set(entries.map(({ name }) => name)),
    folders: entries.filter(({ type }) => type === "directory").map(({ path }) => path),
  };
}

/** Which exercises of a lesson are solved: a lesson may have been split, so all parts of its number count. @param {Lesson} lesson @param {Progress} progress */
function solvedOf(lesson, progress) {
  const parts = Object.keys(progress).filter((label) => label.slice(0, 2) === lesson.label.slice(0, 2));
  return lesson.exercises.filter(({ title }) => parts.some((label) => progress[label]?.[title]?.solved));
}

/** The points of some exercises. @param {Exercise[]} exercises */
const points = (exercises) => exercises.reduce((sum, one) => sum + one.points, 0);

/** An element with a class and a text. @param {string} name @param {string} className @param {string} [text] */
function element(name, className, text = "") {
  const node = document.createElement(name);
  node.className = className;
  node.textContent = text;
  return node;
}

const STYLE = `
.passlab-course { padding: 8px 12px; overflow: auto; font: var(--jp-ui-font-size1, 13px)/1.5 var(--jp-ui-font-family, system-ui); color: var(--jp-ui-font-color1); background: var(--jp-layout-color1); }
.passlab-course h2 { font-size: 1.1em; margin: 4px 0; }
.passlab-course p { margin: 4px 0; }
.passlab-course ol { list-style: none; margin: 8px 0; padding: 0; }
.passlab-course button { font: inherit; color: inherit; background: none; border: 0; padding: 3px 4px; width: 100%; text-align: left; cursor: pointer; display: grid; grid-template-columns: 1.4em 1fr auto; gap: 4px; border-radius: 3px; }
.passlab-course button:hover { background: var(--jp-layout-color2); }
.passlab-course button:focus-visible { outline: 2px solid var(--jp-brand-color1, #0b5cc4); }
.passlab-course button[aria-current] { background: var(--jp-layout-color2); font-weight: 600; }
.passlab-course small { color: var(--jp-ui-font-color2); }
.passlab-course progress { width: 100%; }
.passlab-course .passlab-next { border: 1px solid var(--jp-border-color1); }`;

class Course extends Widget {
  /** @param {App & {shell: Shell}} app */
  constructor(app) {
    super();
    this.id = "passlab-course";
    this.title.caption = "Course of passlab";
    this.title.label = "Course";
    this.addClass("passlab-course");
    this.node.setAttribute("aria-label", "Course of passlab");
    this.app = app;
    this.contents = app.serviceManager.contents;
    this.folder = /** @type {string | null} */ (null);
    this.shown = "";
    this.timer = 0;
    app.shell.currentChanged?.connect(() => this.isVisible && this.look());
  }

  /** @override */
  onAfterShow() {
    this.look();
  }

  /** @override */
  onAfterHide() {
    clearTimeout(this.timer);
  }

  /** @override */
  dispose() {
    clearTimeout(this.timer);
    super.dispose();
  }

  /** Where the course is: with the notebook that is open, or where it was, at the top, or in a folder there. */
  async find() {
    const open = this.app.shell.currentWidget?.context?.path;
    const first = [open === undefined ? null : folderOf(open), this.folder, ""];
    const seen = new Set();
    for (const folder of first) {
      if (folder === null || seen.has(folder)) continue;
      seen.add(folder);
      if ((await listed(this.contents, folder)).names.has(INDEX)) return folder;
    }
    for (const folder of (await listed(this.contents, "")).folders)
      if ((await listed(this.contents, folder)).names.has(INDEX)) return folder;
    return null;
  }

  /** Read what there is, show it if it has changed, and look again later. */
  async look() {
    clearTimeout(this.timer);
    this.folder = await this.find();
    const { folder } = this;
    const names = folder === null ? new Set() : (await listed(this.contents, folder)).names;
    const lessons = folder === null ? [] : lessonsOf(await read(this.contents, inside(folder, INDEX)));
    const kept = folder !== null && names.has(PROGRESS) ? await read(this.contents, inside(folder, PROGRESS)) : {};
    const progress = /** @type {Progress} */ (kept && typeof kept === "object" ? kept : {});
    const open = this.app.shell.currentWidget?.context?.path ?? "";
    const state = JSON.stringify([folder, lessons, progress, open, [...names]]);
    if (!this.isDisposed && state !== this.shown) {
      this.shown = state;
      this.draw(
        lessons.filter(({ notebook }) => names.has(notebook)),
        progress,
        open,
      );
    }
    clearTimeout(this.timer);
    if (this.isVisible) this.timer = window.setTimeout(() => this.look(), PAUSE);
  }

  /** @param {Lesson[]} lessons @param {Progress} progress @param {string} open */
  draw(lessons, progress, open) {
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset?.lesson;
    const style = element("style", "", STYLE);
    if (!lessons.length) return this.node.replaceChildren(style, element("p", "", NONE));
    const solved = new Map(lessons.map((lesson) => [lesson, solvedOf(lesson, progress)]));
    const all = lessons.flatMap((lesson) => lesson.exercises);
    const got = points([...solved.values()].flat());
    const bar = /** @type {HTMLProgressElement} */ (element("progress", ""));
    bar.max = points(all);
    bar.value = got;
    bar.setAttribute("aria-label", "Points");
    const done = lessons.filter((lesson) => lesson.exercises.length === solved.get(lesson)?.length).length;
    const words = `${got} of ${points(all)} points, ${done} of ${lessons.length} lessons done`;
    const next = lessons.find((lesson) => lesson.exercises.length > (solved.get(lesson)?.length ?? 0));
    const list = element("ol", "");
    for (const lesson of lessons) {
      const item = element("li", "");
      item.append(this.row(lesson, solved.get(lesson) ?? [], open));
      list.append(item);
    }
    this.node.replaceChildren(style, element("h2", "", "Course"), element("p", "", words), bar);
    if (next) {
      const left = next.exercises.find((one) => !solved.get(next)?.includes(one));
      this.node.append(element("p", "", "Next:"), this.row(next, solved.get(next) ?? [], "", left?.title));
    }
    this.node.append(list);
    if (focused)
      /** @type {HTMLElement | null} */ (this.node.querySelector(`[data-lesson="${CSS.escape(focused)}"]`))?.focus();
  }

  /** The button of a lesson; with the title of an exercise, of the next step. @param {Lesson} lesson @param {Exercise[]} solved @param {string} open @param {string} [exercise] */
  row(lesson, solved, open, exercise) {
    const path = inside(this.folder ?? "", lesson.notebook);
    const button = /** @type {HTMLButtonElement} */ (element("button", exercise ? "passlab-next" : ""));
    const count = solved.length;
    const [mark, state] = !count
      ? ["○", "not begun"]
      : count < lesson.exercises.length
        ? ["◐", "begun"]
        : ["✓", "done"];
    const minutes = `${lesson.minutes} min${lesson.project ? ` + ${lesson.project}` : ""}`;
    const name = element("span", "", `${lesson.label} ${lesson.title}${exercise ? `: ${exercise}` : ""}`);
    button.append(element("span", "", mark), name);
    button.append(element("small", "", `${points(solved)}/${points(lesson.exercises)} · ${minutes}`));
    button.type = "button";
    button.dataset.lesson = `${exercise ? "next " : ""}${lesson.label}`;
    button.title = `${lesson.title}: ${state}, ${points(solved)} of ${points(lesson.exercises)} points, ${minutes}`;
    button.setAttribute("aria-label", exercise ? `Next: ${button.title}` : button.title);
    if (path === open) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => this.app.commands.execute("docmanager:open", { path }));
    return button;
  }
}

export const course = {
  id: "passlab:course",
  description: "The lessons of the course in a sidebar.",
  autoStart: true,
  activate: (/** @type {App & {shell: Shell}} */ app) => {
    const panel = new Course(app);
    app.shell.add(panel, "left", { rank: 950 });
    app.commands.addCommand("passlab:course", {
      label: "passlab Course",
      caption: "Show the lessons of the course",
      execute: () => app.shell.activateById(panel.id),
    });
  },
};
