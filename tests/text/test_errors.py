"""Malformed text: what is wrong, where (line and column), and what to try."""

from __future__ import annotations

import numpy as np
import pytest

from passlab import limits, relay
from passlab.errors import LimitError, ParseError
from passlab.text.parser import parse, parse_expr
from passlab.text.printer import astext
from passlab.text.program_json import save_json
from tests.each import each

EXPRESSIONS = [
    # each with its message, the line and column, and a part of the hint
    ("", "expected an expression, found the end of the text", (1, 1), None),
    ("1 2", "expected the end of the text, found `2`", (1, 3), None),
    ("def @f() { 1 }", "expected an expression, found `def`", (1, 1), None),
    ("(1, 2", "expected `)`, found the end of the text", (1, 6), None),
    ("%x", "this local variable has not been previously declared: `%x`", (1, 1), "bind it"),
    ("let %value = 1;\n%valeu", "this local variable has not been previously declared: `%valeu`", (2, 1), "did you mean `%value`?"),
    ("fn (%x) { 1 }; %x", "this local variable has not been previously declared: `%x`", (1, 16), None),
    ("free_var %x; (%x/ 2)", "this local variable has not been previously declared: `%x/`", (1, 15), None),
    ("%3", "the temporary `%3` has not yet been defined", (1, 1), "%3 = ...;"),
    ("%x = 1; 2", "`%x` is bound without `let`", (1, 1), "let %x"),
    ("nn.rleu(1f)", "operator `nn.rleu` not found, perhaps you forgot to register it?", (1, 1), "did you mean `nn.relu`"),
    ("true", "operator `true` not found, perhaps you forgot to register it?", (1, 1), None),
    ("x", "operator `x` not found, perhaps you forgot to register it?", (1, 1), "`%x`"),
    ('"text"', "a string can only be the value of an attribute", (1, 1), None),
    ("1.0", "invalid integer number `1.0`", (1, 1), "`1.0f`"),
    ("1e3", "invalid integer number `1e3`", (1, 1), None),
    ("1x", "invalid number `1x`", (1, 1), None),
    ("1i7", "invalid numeric suffix `i7`", (1, 1), "i8"),
    ("300u8", "integer number `300u8` unrepresentable in width 8", (1, 1), "0 to 255"),
    ("-1u8", "integer number `-1u8` unrepresentable in width 8", (1, 1), None),
    ("9223372036854775808", "integer number `9223372036854775808` unrepresentable in width 64", (1, 1), None),
    ("1e39f", "floating point number `1e39f` unrepresentable in width 32", (1, 1), None),
    ("70000f16", "floating point number `70000f16` unrepresentable in width 16", (1, 1), None),
    ("-exp(1f)", "expected an expression, found `-`", (1, 1), "negative"),
    (".5f", "expected an expression, found `.`", (1, 1), None),
    ("% x", "`%` must touch the name behind it", (1, 1), None),
    ("1 /* never", "this comment never ends", (1, 3), "*/"),
    ("/* a /* b */", "this comment never ends", (1, 1), "nest"),
    ('fn (a="x) { 1 }', "this string never ends", (1, 7), None),
    ("1 $ 2", "unexpected character '$'", (1, 3), None),
    ("1 \u00e9", "unexpected character '\u00e9'", (1, 3), None),
    ("1\r2", "a carriage return without a line feed", (1, 2), None),
    ("if (True) { 1 }", "expected `else`, found the end of the text", (1, 16), "two branches"),
    ("if True { 1 } else { 2 }", "expected `(`, found `True`", (1, 4), None),
    ("fn <A>(%x: A) { %x }", "expected `(`, found `<`", (1, 4), None),
    ("let x = 1; 2", "expected a variable `%x`, found `x`", (1, 5), None),
    ("let %x = 1", "expected `;`, found the end of the text", (1, 11), None),
    ("match (1) { Conz(%a) => 1 }", "undefined constructor name `Conz`", (1, 13), "%Conz"),
    ("fn (%x: Tensor[(1, a), int8]) { 1 }", "expected a dimension, found `a`", (1, 20), None),
    ("fn (%x: Tensor[(1), flaot32]) { 1 }", "unknown dtype `flaot32`", (1, 9), "did you mean `float32`"),
    ("fn (%x: 3) { 1 }", "expected a type, found `3`", (1, 9), None),
    ("fn (%x, %y %z) { 1 }", "expected `)`, found `%z`", (1, 12), None),
    ("free_var %t; %t.x", "expected the number of a tuple element, found `x`", (1, 17), None),
    ("fn (a=(1, 2)) { 1 }", "parentheses hold one value", None, "[1, 2]"),
    ("fn (a=" + "[" * 65, "attribute values nest at most 64 deep", None, None),
    ("free_var %x; cast(%x, dtpye=\"int8\")", "relay.attrs.CastAttrs has no attribute `dtpye`", (1, 23), "did you mean `dtype`?"),
    ("free_var %x; cast(%x, dtype=\"int7\")", "relay.attrs.CastAttrs: bad value for the attribute `dtype`", (1, 23), None),
    ("free_var %x; cast(%x)", "relay.attrs.CastAttrs: the attribute `dtype` is required", (1, 14), None),
    ("free_var %x; nn.dense(%x, %x, out_dtype=\"\", units=\"a\")", None, (1, 45), None),
    ("free_var %x; add(%x, %x, axis=1)", "unable to determine the 'attrs_type_key'", (1, 26), "takes no attributes"),
    ("free_var %f; %f(1, axis=1)", "unable to determine the 'attrs_type_key'", (1, 20), "attrs_type_key"),
    ("free_var %x; exp(%x, 1", "expected `)`, found the end of the text", (1, 23), None),
    ("meta[relay.Constant][0]", "no entry in the meta table for `relay.Constant`", (1, 1), None),
]  # fmt: skip


@each(("text", "message", "place", "hint"), EXPRESSIONS, ids=[e[0][:40] for e in EXPRESSIONS])
def test_malformed_expression(text: str, message: str | None, place: tuple[int, int] | None, hint: str | None) -> None:
    with pytest.raises(ParseError) as caught:
        parse_expr(text)
    finding = caught.value.diagnostics[0]
    assert message is None or finding.message.startswith(message)
    assert finding.place is not None
    assert place is None or (finding.place.line, finding.place.column) == place
    assert hint is None or hint in (finding.hint or "")


MODULES = [
    ("1", "expected a definition, found `1`", (1, 1), "parse_expr"),
    ('#[version = "0.0.4"]\ndef @f() { 1 }', 'invalid semantic version `"0.0.4"`', (1, 1), "0.0.5"),
    ("#[other]", "unsupported attribute #[other]", (1, 1), None),
    ("def f() { 1 }", "expected a global name `@f`, found `f`", (1, 5), None),
    ("def @a.1() { 1 }", "expected `(`, found `.`", (1, 7), None),
    ("def @f() { 1 ", "expected `}`, found the end of the text", (1, 14), None),
    ("def @f(%l: Lst) { 1 }\ntype List { Nil }", "the type `Lst` is undefined", (1, 12), "did you mean `List`"),
    ("def @f(%l: flaot32) { 1 }", "the type `flaot32` is undefined", (1, 12), "did you mean `float32`"),
    ("def @f() { 1 }\ndef @f() { 2 }", "the function `@f` is defined twice", (2, 5), None),
    ("type T { A }\ntype T { B }", "the type `T` is defined twice", (2, 6), None),
    ("type T { A }\ntype U { A }", "a constructor with the name `A` was previously defined", (2, 10), None),
    ("extern type T { A }", "an external type may not have any constructors", None, None),
    ("def @f() { type T { A } }", "expected an expression, found `type`", (1, 12), None),
    ("def @f() { free_var %x; %x }", "@f has free variables: %x", (1, 21), None),
    ("def @f(%x: int32) { %0 = exp(%x); %0 }\ndef @g() { %0 }", "@g has free variables: %x", (1, 8), None),
    ("def @f() { 1 }\n#[metadata]\n{", "malformed metadata section", (3, 2), None),
    ("def @f() { 1 }\n#[metadata]\n{}", "malformed metadata section", (2, 1), None),
    ("def @f() { 1 }\n#[metadata]\n[[[]]]", "malformed metadata section", (2, 1), None),
]


@pytest.mark.parametrize(("text", "message", "place", "hint"), MODULES, ids=[m[0][:40] for m in MODULES])
def test_malformed_module(text: str, message: str, place: tuple[int, int] | None, hint: str | None) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    finding = caught.value.diagnostics[0]
    assert finding.message.startswith(message)
    assert finding.place is not None
    assert place is None or (finding.place.line, finding.place.column) == place
    assert hint is None or hint in (finding.hint or "")


# What people type who come from Python, and what they are told.
SLIPS = [
    ("def @f(%x: float32) { %x", "the `{` is here"),
    ("def @f(%x: float32) { exp(%x }", "the `(` is here"),
    ("def @f(%x: float32) { exp(%x)) }", "nothing is open that this `)` could close"),
    ("def @f(%x: float32) exp(%x)", "a body stands in braces"),
    ("def @f(%x: float32): return %x", "a body stands in braces"),
    ("def f(%x: float32) { %x }", "write `@f`"),
    ("def @f(x: float32) { %x }", "write `%x`"),
    ("def @f() { let y = 1; %y }", "write `%y`"),
    ("def @f(%x: float32) { return %x }", "the last expression of a block is its value"),
    ("def @f(%x: float32) { %0 = exp(%x); }", "no `;` behind it"),
    ("def @f(%x: Tensor[1, 8, float32]) { %x }", "`Tensor[(1, 8), float32]`"),
    ("def @f(%x: Tensor((1, 8), float32)) { %x }", "`Tensor[(1, 8), float32]`"),
    ("def @f(%x: tensor[(1, 8), float32]) { %x }", "`Tensor[(1, 8), float32]`"),
    ("def @f(%x: Tensor[(1, 8)]) { %x }", "`Tensor[(1, 8), float32]`"),
    ('def @f(%x: Tensor[(1, 8), "float32"]) { %x }', "without quotes"),
    ("def @f(%x: Tensor[(N, 8), float32]) { %x }", "or `?`"),
    ("def @f(%x: bool) { if %x { 1 } else { 2 } }", "`if (%c) { ... } else { ... }`"),
    ("def @f(%x: float32) { cast(%x, dtype=int32) }", '`"int32"`'),
    ("def @f(%x: float32) { sum(%x, keepdims=true) }", "write `True`"),
    ("def @f(%x: float32) { sum(%x, axis=[0] keepdims=True) }", "put a `,` before it"),
    ("def @f(%x: float32) { strided_slice(%x, [0], [1]) }", "given by name"),
    ("def @f(%x: (int32, int32)) { %x[0] }", "a field of a tuple is `.0`"),
    ("def @f(%x: float32) { %x ** 2f }", "`power(%x, %y)`"),
    ("def @f(%x: float32) { # the input\n %x }", "a comment is `// ...`"),
    ("net.relay", "not a file"),
]


@each(("text", "fix"), SLIPS, ids=[slip[0][:40] for slip in SLIPS])
def test_a_usual_slip_is_told_its_cure(text: str, fix: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert fix in str(caught.value)


def test_an_error_shows_its_line_with_carets() -> None:
    with pytest.raises(ParseError) as caught:
        parse("def @f() {\n  nn.rleu(1f)\n}", "model.relay")
    lines = str(caught.value).split("\n")
    assert lines[1] == " --> model.relay:2:3"
    assert lines[3:5] == ["2 |   nn.rleu(1f)", "  |   ^^^^^^^"]


@pytest.mark.parametrize("value", [None, b"def @f() { 1 }", 3])
def test_a_program_must_be_a_string(value: object) -> None:
    with pytest.raises(ParseError, match="must be a string"):
        parse(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "cap", "text"),
    [("text_bytes", 10, "1 + 2 + 3 + 4"), ("nesting", 50, "(" * 60), ("numeral_digits", 20, "1" * 30)],
)
def test_a_text_over_a_cap_ends_in_a_limit_error_that_names_it(name: str, cap: int, text: str) -> None:
    with limits.override(**{name: cap}), pytest.raises(LimitError, match=name):
        parse_expr(text)


@pytest.mark.parametrize(
    ("write", "part"),
    [(save_json, "passlab.text.program_json.ProgramGraph.json"), (astext, "passlab.text.printer.MetaWriter.section")],
    ids=["JSON", "text"],
)
def test_too_little_memory_for_the_weights_is_told(write, part, monkeypatch):
    def fail(*args):
        raise MemoryError

    monkeypatch.setattr(part, fail)
    with pytest.raises(LimitError, match=r"not enough memory for the (text|JSON) of this program"):
        write(relay.Function([], relay.const(np.zeros(99, "float32"))))
