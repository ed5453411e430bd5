"""The tokens of the scripts are those of the Pygments lexer, and their words those of the grammar."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import pytest
from pygments.token import Comment, Keyword, Name, Number, Operator, String

import passlab
from passlab.display.text.lexer import RelayLexer
from passlab.errors import DiagnosticError
from passlab.ir.dtypes import DTYPES, dtype_name
from passlab.testing import lstm, mlp, resnet
from passlab.text.literals import KEYWORDS
from tests.display.programs import NETWORK
from tests.scripts.node import run

# What Pygments calls the kinds of the scripts; both leave punctuation and plain names without a colour.
KIND_OF = {
    Keyword: "keyword", Keyword.Constant: "bool", Keyword.Type: "type", Name.Function: "global", Name.Class: "constructor",
    Name.Builtin: "op", Name.Attribute: "attribute", Name.Constant: "meta", Number.Float: "number", Number.Integer: "number",
    String.Double: "string", Comment.Single: "comment", Comment.Multiline: "comment", Comment.Preproc: "pragma", Operator: "operator",
}  # fmt: skip

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


@cache
def read(text: str, magic: bool = False) -> Any:
    """What the lexer of the scripts reads: tokens, indentations, and the words that it knows."""
    return run("read_tokens.mjs", [text, magic])


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


def by_script(text: str) -> list[tuple[str | None, str]]:
    plain = {"temporary": "variable", "name": None}  # what is one kind to Pygments, and what has none
    return joined([(plain.get(kind, kind), it) for kind, it in read(text)["tokens"]])


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
def test_both_read_the_same_tokens(text):
    assert by_script(text) == by_pygments(text)


def test_the_line_of_the_magic_is_no_relay():
    value = read("\n%%relay net --const w,b\nlet %x = 1;", True)["tokens"]
    assert [token for token in value if token[0]] == [
        ["magic", "%%relay"], ["option", "--const"], ["keyword", "let"], ["variable", "%x"], ["operator", "="], ["number", "1"],
    ]  # fmt: skip


@pytest.mark.parametrize("typed", ["nn.re", "nn.", "ad"])
def test_a_name_that_is_being_typed_is_one_token(typed):
    value = read(f"let %x = {typed}")["tokens"]
    assert value[-1] == ["name", typed]


def test_lines_are_indented_by_the_brackets_around_them():
    text = "def @main(\n  %x: int32\n) {\n  if (%x) {\n    f(%x,\n      { // }\n      }\n    )\n  } else {\n  }\n}"
    lines = text.split("\n")
    assert read(text)["indents"] == [len(line) - len(line.lstrip()) for line in lines]


def test_its_keywords_are_those_of_the_grammar():
    words = read("")["words"]
    assert {*words["keyword"], *words["bool"]} == KEYWORDS - {"_"}  # `_` stands for any value: a pattern, not a word


def test_its_dtypes_are_those_of_relay():
    bits = ("", "1", "4", "8", "16", "32", "64", "8_e4m3fn", "8_e5m2")
    candidates = ["bool", "handle", *("".join(pair) for pair in product(("int", "uint", "float", "bfloat"), bits))]
    assert set(read("")["words"]["type"]) - {"Ref", "Tensor"} == {name for name in candidates if is_dtype(name)} | set(
        DTYPES
    )


def is_dtype(name: str) -> bool:
    """Whether it is a dtype under its own name; `uint1` is one, spoken as `bool`."""
    try:
        return dtype_name(name) == name or name == "uint1"
    except DiagnosticError:
        return False
