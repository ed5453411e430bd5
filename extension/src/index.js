/** What JupyterLab loads: Relay in the cells of `%%relay`, and as the language of `.relay` and `.rly` files. */

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

export default [cells, files];
