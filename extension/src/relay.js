/** Relay for CodeMirror 6: the language, its colours, and the switch that turns it on in the cells of `%%relay`. */

import { HighlightStyle, indentUnit, LanguageSupport, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { indent, startState, token } from "../../passlab/display/web/relaytokens.js";

/** @import { Text } from "@codemirror/state" */
/** @import { Tag } from "@lezer/highlight" */

// For each kind of token what it is to editor themes, and its ink in light and dark: the inks of passlab's views. Names
// of kinds that CodeMirror 5 had (variable, type, attribute, header, ...) keep the meaning they had there, whatever stands here.
/** @type {Record<"violet" | "blue" | "teal" | "green" | "amber" | "dim" | "plain", [string, string]>} */
const INKS = {
  violet: ["#7a3ec8", "#c4a1ff"],
  blue: ["#0b5cc4", "#79b8ff"],
  teal: ["#0d7377", "#66c9c4"],
  green: ["#1a7f37", "#6fcf86"],
  amber: ["#8f5a00", "#e2b457"],
  dim: ["#656d76", "#939aa7"],
  plain: ["inherit", "inherit"],
};
const KINDS = /** @type {[string, Tag, [string, string]][]} */ ([
  ["keyword", tags.keyword, INKS.violet],
  ["bool", tags.bool, INKS.green],
  ["type", tags.typeName, INKS.dim],
  ["variable", tags.variableName, INKS.plain],
  ["temporary", tags.local(tags.variableName), INKS.dim],
  ["global", tags.function(tags.variableName), INKS.teal],
  ["constructor", tags.className, INKS.teal],
  ["name", tags.name, INKS.plain],
  ["op", tags.standard(tags.variableName), INKS.blue],
  ["attribute", tags.attributeName, INKS.amber],
  ["meta", tags.constant(tags.variableName), INKS.green],
  ["number", tags.number, INKS.green],
  ["string", tags.string, INKS.green],
  ["comment", tags.comment, INKS.dim],
  ["pragma", tags.meta, INKS.dim],
  ["operator", tags.operator, INKS.plain],
  ["magic", tags.processingInstruction, INKS.violet],
  ["option", tags.special(tags.attributeName), INKS.amber],
]);

/** The styles of all kinds in the light theme (0) or the dark one (1). @param {0 | 1} which @returns {[string, {color: string, fontWeight: string}][]} */
function inks(which) {
  return KINDS.map(([kind, , colours]) => [`.relay-${kind}`, { color: colours[which], fontWeight: "inherit" }]);
}

const styles = [
  syntaxHighlighting(HighlightStyle.define(KINDS.map(([kind, tag]) => ({ tag, class: `relay-${kind}` })))),
  EditorView.baseTheme(
    Object.fromEntries([...inks(0), ...inks(1).map(([name, ink]) => [`[data-jp-theme-light="false"] & ${name}`, ink])]),
  ),
];

/** The language; with `magic` the first line is that of `%%relay`. @param {boolean} magic */
function define(magic) {
  const language = StreamLanguage.define({
    name: "relay",
    startState: () => startState(magic),
    token,
    indent,
    tokenTable: Object.fromEntries(KINDS.map(([kind, tag]) => [kind, tag])),
    languageData: {
      commentTokens: { line: "//", block: { open: "/*", close: "*/" } },
      closeBrackets: { brackets: ["(", "[", "{", '"'] },
      indentOnInput: /^\s*[)\]}]$/,
    },
  });
  return new LanguageSupport(language, styles);
}

/** Files and fences. */
export const relay = define(false);

const MAGIC = /^\s*%%relay(?![\w?.-])/;
const isRelay = (/** @type {Text} */ doc) => MAGIC.test(doc.sliceString(0, 400));

// The magic's own line is commented out as Python does, after which the cell is Python.
const magicLine = EditorState.languageData.of((state, at) =>
  MAGIC.test(state.sliceDoc(0, state.doc.lineAt(at).to)) && !state.sliceDoc(0, state.doc.lineAt(at).from).trim()
    ? [{ commentTokens: { line: "#" } }]
    : [],
);
// Two spaces, as Relay is printed: the notebook's setting is for Python. Files follow the setting that their status bar shows.
const cell = Prec.highest([magicLine, indentUnit.of("  "), define(true)]);

/**
 * The extension of one code cell: Relay while its text starts with `%%relay`, else nothing.
 *
 * The first language of an editor wins, so the notebook's own stays in place underneath, and comes back.
 * @param {string} source
 */
export function relayCell(source) {
  const language = new Compartment();
  const follow = EditorState.transactionExtender.of((transaction) => {
    if (!transaction.docChanged) return null;
    const applies = isRelay(transaction.newDoc);
    if (applies === (language.get(transaction.startState) === cell)) return null;
    return { effects: language.reconfigure(applies ? cell : []) };
  });
  return [language.of(MAGIC.test(source) ? cell : []), follow];
}
