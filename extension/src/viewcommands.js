/** The commands of passlab's views, which the views list in `commands.json`, in JupyterLab's palette and View menu. */

import table from "../../passlab/display/web/commands.json" with { type: "json" };
import { setApplication } from "./views.js";

/** @import { ICommandPalette } from "@jupyterlab/apputils" */
/** @import { Application } from "./views.js" */

/** A view on the page, with its commands: see `commands.js` of the views. @typedef {HTMLElement & {commands?: {current(): [string, unknown], list: {keys: string[]}[], run(key: string): unknown}}} Root */

/** The view that had the focus last. @type {Root | null} */
let lastView = null;

/** The name of a command for JupyterLab. @param {string} view @param {string} does */
const commandName = (view, does) =>
  `passlab:${view.replace(/\W+/g, "-")}:${does.toLowerCase().replace(/\W+/g, "-").replace(/^-|-$/g, "")}`;

/**
 * Add the commands of all views; each is there while the view that had the focus last has it.
 * @param {Application} app @param {ICommandPalette | null} palette
 */
export function addViewCommands(app, palette) {
  setApplication(app);
  document.addEventListener("focusin", ({ target }) => {
    const view = target instanceof Element ? target.closest(".passlab") : null;
    if (view && "commands" in view) lastView = /** @type {Root} */ (view);
  });
  for (const [view, { name, commands }] of Object.entries(table))
    for (const [keys, , does] of commands) {
      const named = /^(?:bind|copy|keep) /.test(keys), // a command without a key
        [first] = keys.split(" "),
        key = named ? keys : first.replace("Space", " "),
        command = commandName(view, does);
      const applies = () =>
        Boolean(lastView?.isConnected) &&
        (view === "every" || lastView?.commands?.current()[0] === view) &&
        Boolean(lastView?.commands?.list.some((one) => one.keys.includes(key)));
      app.commands.addCommand(command, {
        label: `${does[0].toUpperCase()}${does.slice(1)}${named ? "" : ` (${first})`}`,
        isVisible: applies,
        isEnabled: applies,
        execute: () => void lastView?.commands?.run(key),
      });
      palette?.addItem({ command, category: `passlab: ${name}` });
    }
}
