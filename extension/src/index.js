/** What JupyterLab loads: Relay in the cells of `%%relay` and in `.relay` and `.rly` files, and the manual in the Help menu. */

import { EditorExtensionRegistry, IEditorExtensionRegistry, IEditorLanguageRegistry } from "@jupyterlab/codemirror";
import { relay, relayCell } from "./relay.js";

const MIME = "text/x-relay";

const cells = {
  id: "passlab:cells",
  description: "Relay in the cells of %%relay.",
  autoStart: true,
  requires: [IEditorExtensionRegistry],
  activate: (_app, extensions) =>
    extensions.addExtension({
      name: "passlab:relay",
      factory: ({ model }) =>
        model.type === "code"
          ? EditorExtensionRegistry.createImmutableExtension(relayCell(model.sharedModel.getSource()))
          : null
    })
};

const files = {
  id: "passlab:files",
  description: "Relay as a language, and the files that hold it.",
  autoStart: true,
  requires: [IEditorLanguageRegistry],
  activate: (app, languages) => {
    languages.addLanguage({ name: "relay", displayName: "Relay", mime: MIME, extensions: ["relay", "rly"], support: relay });
    app.docRegistry.addFileType({
      name: "relay", displayName: "Relay", extensions: [".relay", ".rly"], mimeTypes: [MIME],
      contentType: "file", fileFormat: "text"
    });
  }
};

/** Where the manual is, seen from the folder of passlab: as `make docs` builds it, or else its source. */
const BUILT = "site/index.html";
const SOURCE = "docs/index.md";
const ELSEWHERE = "The manual is in the folder of passlab. Start JupyterLab there, as `make lab` does.";

/** Whether the server has a file. Folders are listed, because asking for a file that is not there logs an error. */
async function exists(contents, path) {
  const [folder, name] = path.split("/");
  const names = async path => (await contents.get(path)).content.map(entry => entry.name);
  return (await names("")).includes(folder) && (await names(folder)).includes(name);
}

const manual = {
  id: "passlab:manual",
  description: "The manual of passlab in the Help menu.",
  autoStart: true,
  activate: app => {
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
        return app.commands.execute("apputils:notify", { message: ELSEWHERE, type: "info", options: { autoClose: false } });
      }
    });
  }
};

export default [cells, files, manual];
