"""The tokens of the JupyterLab extension are those of the Pygments lexer, and its words those of the grammar.

extension/src/tokens.js imports nothing, so an empty page can run it, without JupyterLab and without Node.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Page
from pygments.token import Comment, Keyword, Name, Number, Operator, String

import passlab
from passlab.display.text.lexer import RelayLexer
from passlab.errors import DiagnosticError
from passlab.ir.dtypes import DTYPES, dtype_name
from passlab.testing import lstm, mlp, resnet
from passlab.text.literals import KEYWORDS
from tests.browser.lab_page import browser
from tests.display.programs import NETWORK

TOKENS = (Path(__file__).resolve().parents[2] / "extension/src/tokens.js").read_text(encoding="utf-8")
WORDS = json.loads(re.search(r"WORDS = (\{.*?\});", TOKENS, re.DOTALL)[1])

# What Pygments calls the kinds of the extension; both leave punctuation and plain names without a colour.
KIND_OF = {
    Keyword: "keyword", Keyword.Constant: "bool", Keyword.Type: "type", Name.Function: "global", Name.Class: "constructor",
    Name.Builtin: "op", Name.Attribute: "attribute", Name.Constant: "meta", Number.Float: "number", Number.Integer: "number",
    String.Double: "string", Comment.Single: "comment", Comment.Multiline: "comment", Comment.Preproc: "pragma", Operator: "operator",
}  # fmt: skip

# A stream of one line, as CodeMirror's has it: only what the reader of tokens asks of it.
READ = """([text, magic]) => import(`data:text/javascript,${encodeURIComponent(window.tokens)}`).then(({startState, token, indent}) => {
  const found = [], indents = [], state = startState(magic);
  for (const line of text.split("\\n")) {
    indents.push(indent(state, line.trim(), {unit: 2}));
    const stream = {
      at: 0,
      sol() { return this.at === 0; },
      eol() { return this.at >= line.length; },
      next() { return line[this.at++]; },
      eat(what) { return line[this.at] === what ? line[this.at++] : undefined; },
      eatSpace() { const from = this.at; while (/\\s/.test(line[this.at] ?? "")) this.at++; return this.at > from; },
      skipToEnd() { this.at = line.length; },
      indentation() { return line.length - line.trimStart().length; },
      match(what, consume = true) {
        const rest = line.slice(this.at);
        const length = typeof what === "string" ? (rest.startsWith(what) ? what.length : -1)
                     : rest.search(what) === 0 ? rest.match(what)[0].length : -1;
        if (length < 0) return null;
        const text = rest.slice(0, length);
        if (consume) this.at += length;
        return [text];
      },
    };
    while (!stream.eol()) {
      const from = stream.at, kind = token(stream, state);
      if (stream.at === from) throw new Error(`nothing read at ${from} of ${line}`);
      found.push([kind, line.slice(from, stream.at)]);
    }
  }
  return {found, indents};
})"""

ODD = r"""#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil, } // a comment
extern type Handle
def @"odd name"(%"a b": Tensor[(1, ?), float32x4], %f: fn (int8) -> bool) -> (uint16,) {
  /* one /* inside */ another
     over lines */ let %x/y = meta[relay.Constant][0];
  free_var %z: ref(float8_e5m2);
  %0 = "a \"string\" // no comment";
  %1 = %x.0 - -1.5e-3f + 2i64 * 3f16 / -inff32 == nanbf16;
  match? (%1) { Cons(%h, _) => ref_read(%h), _ => @main(), _ => True }
  if (%y) { letter(%x, axis=[1, -1], data_layout="NCHW", T.shape=4u8) } else { ref_write(%r, nn.dense (%a, %b)) }
}
#[metadata]
{ "root": 1, "let": [2, "if"] }"""


@pytest.fixture(scope="module")
def page(chromium: Path) -> Iterator[Page]:
    with browser(chromium) as chrome:
        opened = chrome.new_page()
        opened.evaluate("tokens => { window.tokens = tokens }", TOKENS)
        yield opened


def joined(tokens: list[tuple[str | None, str]]) -> list[tuple[str | None, str]]:
    """Tokens without white space, neighbours of one kind as one."""
    out: list[tuple[str | None, str]] = []
    for kind, text in tokens:
        solid = "".join(text.split())
        if out and out[-1][0] == kind:
            out[-1] = kind, out[-1][1] + solid
        elif solid:
            out.append((kind, solid))
    return out


def by_pygments(text: str) -> list[tuple[str | None, str]]:
    lexer = RelayLexer(stripnl=False, ensurenl=False)
    return joined([(KIND_OF.get(kind, "variable" if kind is Name.Variable else None), it) for kind, it in lexer.get_tokens(text)])  # fmt: skip


def by_extension(page: Page, text: str) -> list[tuple[str | None, str]]:
    plain = {"temporary": "variable", "name": None}  # what is one kind to Pygments, and what has none
    return joined([(plain.get(kind, kind), it) for kind, it in page.evaluate(READ, [text, False])["found"]])


@pytest.mark.browser
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ODD, id="odd"),
        pytest.param(NETWORK, id="dense"),
        pytest.param(mlp.get_workload(1)[0].astext(), id="mlp"),
        pytest.param(resnet.get_workload(1)[0].astext(), id="resnet"),
        pytest.param(lstm.get_workload(2, 4)[0].astext(), id="lstm"),
        pytest.param(passlab.relay.Prelude().mod.astext(), id="prelude"),
    ],
)
def test_both_read_the_same_tokens(page, text):
    assert by_extension(page, text) == by_pygments(text)


@pytest.mark.browser
def test_the_line_of_the_magic_is_no_relay(page):
    value = page.evaluate(READ, ["\n%%relay net --const w,b\nlet %x = 1;", True])["found"]
    assert [token for token in value if token[0]] == [
        ["magic", "%%relay"], ["option", "--const"], ["keyword", "let"], ["variable", "%x"], ["operator", "="], ["number", "1"],
    ]  # fmt: skip


@pytest.mark.browser
@pytest.mark.parametrize("typed", ["nn.re", "nn.", "ad"])
def test_a_name_that_is_being_typed_is_one_token(page, typed):
    value = page.evaluate(READ, [f"let %x = {typed}", False])["found"]
    assert value[-1] == ["name", typed]


@pytest.mark.browser
def test_lines_are_indented_by_the_brackets_around_them(page):
    text = "def @main(\n  %x: int32\n) {\n  if (%x) {\n    f(%x,\n      { // }\n      }\n    )\n  } else {\n  }\n}"
    lines = text.split("\n")
    assert page.evaluate(READ, [text, False])["indents"] == [len(line) - len(line.lstrip()) for line in lines]


def test_its_keywords_are_those_of_the_grammar():
    assert {*WORDS["keyword"], *WORDS["bool"]} == KEYWORDS - {"_"}  # `_` stands for any value: a pattern, not a word


def test_its_dtypes_are_those_of_relay():
    bits = ("", "1", "4", "8", "16", "32", "64", "8_e4m3fn", "8_e5m2")
    candidates = ["bool", "handle", *("".join(pair) for pair in product(("int", "uint", "float", "bfloat"), bits))]
    assert set(WORDS["type"]) - {"Ref", "Tensor"} == {name for name in candidates if is_dtype(name)} | set(DTYPES)


def is_dtype(name: str) -> bool:
    """Whether it is a dtype under its own name; `uint1` is one, spoken as `bool`."""
    try:
        return dtype_name(name) == name or name == "uint1"
    except DiagnosticError:
        return False
