/** Relay for CodeMirror 6: the language, its colours, and the switch that turns it on in the cells of `%%relay`. */

import { HighlightStyle, LanguageSupport, StreamLanguage, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { indent, startState, token } from "./tokens.js";

// For each kind of token what it is to editor themes, and its ink in light and dark: the inks of passlab's views. Names
// of kinds that CodeMirror 5 had (variable, type, attribute, header, ...) keep the meaning they had there, whatever stands here.
const VIOLET = ["#7a3ec8", "#c4a1ff"], BLUE = ["#0b5cc4", "#79b8ff"], TEAL = ["#0d7377", "#66c9c4"];
const GREEN = ["#1a7f37", "#6fcf86"], AMBER = ["#8f5a00", "#e2b457"], DIM = ["#656d76", "#939aa7"];
const PLAIN = ["inherit", "inherit"];
const KINDS = {
  keyword: [tags.keyword, VIOLET],
  bool: [tags.bool, GREEN],
  type: [tags.typeName, DIM],
  variable: [tags.variableName, PLAIN],
  temporary: [tags.local(tags.variableName), DIM],
  global: [tags.function(tags.variableName), TEAL],
  constructor: [tags.className, TEAL],
  name: [tags.name, PLAIN],
  op: [tags.standard(tags.variableName), BLUE],
  attribute: [tags.attributeName, AMBER],
  meta: [tags.constant(tags.variableName), GREEN],
  number: [tags.number, GREEN],
  string: [tags.string, GREEN],
  comment: [tags.comment, DIM],
  pragma: [tags.meta, DIM],
  operator: [tags.operator, PLAIN],
  magic: [tags.processingInstruction, VIOLET],
  option: [tags.special(tags.attributeName), AMBER]
};

function inks(which) {
  return Object.entries(KINDS).map(([kind, [, colours]]) => [`.relay-${kind}`, { color: colours[which], fontWeight: "inherit" }]);
}

const looks = [
  syntaxHighlighting(HighlightStyle.define(Object.entries(KINDS).map(([kind, [tag]]) => ({ tag, class: `relay-${kind}` })))),
  EditorView.baseTheme(
    Object.fromEntries([...inks(0), ...inks(1).map(([name, ink]) => [`[data-jp-theme-light="false"] & ${name}`, ink])])
  )
];

function define(magic) {
  const language = StreamLanguage.define({
    name: "relay",
    startState: () => startState(magic),
    token,
    indent,
    tokenTable: Object.fromEntries(Object.entries(KINDS).map(([kind, [tag]]) => [kind, tag])),
    languageData: {
      commentTokens: { line: "//", block: { open: "/*", close: "*/" } },
      closeBrackets: { brackets: ["(", "[", "{", '"'] },
      indentOnInput: /^\s*[)\]}]$/
    }
  });
  return new LanguageSupport(language, looks);
}

/** Files and fences. */
export const relay = define(false);

const MAGIC = /^\s*%%relay(?![\w?.-])/;
const isRelay = doc => MAGIC.test(doc.sliceString(0, 400));

// The magic's own line is commented out as Python does, after which the cell is Python.
const magicLine = EditorState.languageData.of((state, at) =>
  MAGIC.test(state.sliceDoc(0, state.doc.lineAt(at).to)) && !state.sliceDoc(0, state.doc.lineAt(at).from).trim()
    ? [{ commentTokens: { line: "#" } }]
    : []
);
// Two spaces, as Relay is printed: the notebook's setting is for Python. Files follow the setting that their status bar shows.
const cell = Prec.highest([magicLine, indentUnit.of("  "), define(true)]);

/**
 * The extension of one code cell: Relay while its text starts with `%%relay`, else nothing.
 *
 * The first language of an editor wins, so the notebook's own stays in place underneath, and comes back.
 */
export function relayCell(source) {
  const language = new Compartment();
  const follow = EditorState.transactionExtender.of(transaction => {
    if (!transaction.docChanged) return null;
    const applies = isRelay(transaction.newDoc);
    if (applies === (language.get(transaction.startState) === cell)) return null;
    return { effects: language.reconfigure(applies ? cell : []) };
  });
  return [language.of(MAGIC.test(source) ? cell : []), follow];
}
