/**
 * What JupyterLab loads: Relay in the cells of `%%relay` and in `.relay` and `.rly` files, the manual in the Help menu, and
 * what `views.js`, which shows the outputs, needs of the application.
 */

import { ICommandPalette } from "@jupyterlab/apputils";
import { EditorExtensionRegistry, IEditorExtensionRegistry, IEditorLanguageRegistry } from "@jupyterlab/codemirror";
import { course } from "./course.js";
import { relay, relayCell } from "./relay.js";
import { addViewCommands } from "./viewcommands.js";

/** @import { Contents, ServiceManager } from "@jupyterlab/services" */
/** @import { CommandRegistry } from "@lumino/commands" */

/**
 * What the plugins use of JupyterLab's application.
 * @typedef {{docRegistry: {addFileType(type: object): void}, commands: CommandRegistry, serviceManager: ServiceManager.IManager}} App
 */

const MIME = "text/x-relay";

const cells = {
  id: "passlab:cells",
  description: "Relay in the cells of %%relay.",
  autoStart: true,
  requires: [IEditorExtensionRegistry],
  activate: (/** @type {App} */ _app, /** @type {IEditorExtensionRegistry} */ extensions) =>
    extensions.addExtension({
      name: "passlab:relay",
      factory: ({ model }) =>
        "type" in model && model.type === "code"
          ? EditorExtensionRegistry.createImmutableExtension(relayCell(model.sharedModel.getSource()))
          : null,
    }),
};

const files = {
  id: "passlab:files",
  description: "Relay as a language, and the files that hold it.",
  autoStart: true,
  requires: [IEditorLanguageRegistry],
  activate: (/** @type {App} */ app, /** @type {IEditorLanguageRegistry} */ languages) => {
    languages.addLanguage({
      name: "relay",
      displayName: "Relay",
      mime: MIME,
      extensions: ["relay", "rly"],
      support: relay,
    });
    app.docRegistry.addFileType({
      name: "relay",
      displayName: "Relay",
      extensions: [".relay", ".rly"],
      mimeTypes: [MIME],
      contentType: "file",
      fileFormat: "text",
    });
  },
};

/** Where the manual is, seen from the folder of passlab: as `make docs` builds it, or else its source. */
const BUILT = "site/index.html";
const SOURCE = "docs/index.md";
const ELSEWHERE = "The manual is in the folder of passlab. Start JupyterLab there, as `make lab` does.";

/** Whether the server has a file. Folders are listed, because asking for a file that is not there logs an error. @param {Contents.IManager} contents @param {string} path */
async function exists(contents, path) {
  const [folder, name] = path.split("/");
  const names = async (/** @type {string} */ where) =>
    (await contents.get(where)).content.map((/** @type {Contents.IModel} */ entry) => entry.name);
  return (await names("")).includes(folder) && (await names(folder)).includes(name);
}

const manual = {
  id: "passlab:manual",
  description: "The manual of passlab in the Help menu.",
  autoStart: true,
  activate: (/** @type {App} */ app) => {
    app.commands.addCommand("passlab:manual", {
      label: "passlab Manual",
      caption: "Open the manual of passlab",
      execute: async () => {
        const { contents, serverSettings } = app.serviceManager;
        if (await exists(contents, BUILT)) {
          return void window.open(`${serverSettings.baseUrl}files/${BUILT}`, "_blank", "noopener");
        }
        if (await exists(contents, SOURCE)) {
          return app.commands.execute("docmanager:open", { path: SOURCE, factory: "Markdown Preview" });
        }
        return app.commands.execute("apputils:notify", {
          message: ELSEWHERE,
          type: "info",
          options: { autoClose: false },
        });
      },
    });
  },
};

const outputs = {
  id: "passlab:outputs",
  description: "The commands of views in the palette and the View menu; a place beside the notebook.",
  autoStart: true,
  optional: [ICommandPalette],
  activate: addViewCommands,
};

export default [cells, files, manual, outputs, course];
