"""The grammar on the page of the language: each form that it lists is read, and each that it rules out is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import passlab
from passlab.errors import ParseError
from tests.each import each

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/language.md").read_text(encoding="utf-8")
GRAMMAR = re.findall(r"```text\n(module .*?)```", PAGE, re.DOTALL)[0]
LIST = "type List[A] { Nil, Cons(A, List[A]) }"
MAIN = "def @main(%x: float32, %c: bool) {{ {} }}"
# Programs by the word of the grammar whose forms they have.
FORMS = {
    "module": ["", f'#[version = "0.0.5"]\n{LIST}\n{MAIN.format("%x")}'],
    "data_type": [f"{LIST} type Shape {{ Circle(float32), Point }} {MAIN.format('%x')}"],
    "constructor": [f"{LIST} def @main() {{ (Nil, Cons(1, Nil)) }}"],
    "function": ["def @main[A, B](%x: A, %f: fn (A) -> B) -> B { %f(%x) }", "def @main() { 1 }"],
    "params": ["def @main(%x: float32, Primitive=1) { %x }", "def @main(%x: Tensor[(2, 3), float32], %b) { nn.bias_add(%x, %b) }"],
    "param": ["def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }"],
    "body": [MAIN.format(text) for text in ("%0 = exp(%x); let %y = %0; exp(%y); %0 + %y", "let %y: float32 = %x; %y")],
    "expr": [
        MAIN.format(text)
        for text in (
            "nn.relu(%x)", "cast(%x, dtype=\"int8\")", "(%x, %c).0", "()", "(%x)", "fn (%y: float32) -> float32 { %y }",
            "fn [A](%y: A) -> A { %y }", "if (%c) { %x } else { exp(%x) }", "match (%x) { _ => %x, }", "match? (%x) { %y => %y }",
            "let %r = ref(%x); let %done = ref_write(%r, 1f); ref_read(%r)", "%x + 1f * 2f - %x / 3f", "%x == 1f", "%x < 1f",
            "exp({ let %y = %x; %y })", "1f + ({ let %y = %x; %y })", "%x - -1f",
        )
    ],
    "pattern": [
        f"{LIST} def @main(%p: (List[int32], int32)) {{ match (%p) {{ (Nil, _) => 0, (Cons(%a, _), %b) => %a + %b }} }}"
    ],
    "attribute": [MAIN.format("sum(%x, axis=None, keepdims=True)")],
    "type": ["def @main(%a: Tensor[(2), int8], %b: (bool, ()), %f: fn (int32) -> ref(float32), %g: fn [A](A) -> A) { %f(1) }"],
    "size": ["def @main(%x: Tensor[(?, 2), float32]) { %x }"],
}  # fmt: skip
REFUSED = ("-%x", "{ %x } + 1f", "if (%c) { %x } else if (%c) { %x } else { %x }")
DTYPES = "float16 float32 float64 bfloat16 float8_e4m3fn float8_e5m2 int4 int8 int16 int32 int64 uint4 uint8 uint16 uint32 uint64 bool"


def test_each_word_of_the_grammar_has_programs() -> None:
    assert re.findall(r"^(\w+) +=", GRAMMAR, re.MULTILINE) == list(FORMS)


@each("text", [text for texts in FORMS.values() for text in texts])
def test_a_form_is_read_and_has_a_type(text: str) -> None:
    mod = passlab.parse(text)
    assert passlab.structural_equal(passlab.parse(mod.astext()), mod)


@pytest.mark.parametrize("text", REFUSED)
def test_what_the_page_rules_out_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        passlab.parse(MAIN.format(text))


@pytest.mark.parametrize("dtype", DTYPES.split())
def test_a_dtype_is_read(dtype: str) -> None:
    assert passlab.parse(f"def @main(%x: Tensor[(2), {dtype}]) {{ %x }}")["main"].ret_type == passlab.relay.TensorType(
        (2,), dtype
    )
