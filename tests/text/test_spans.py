"""Every node that was read knows its exact place: from the first character of its construct to the last."""

from __future__ import annotations

from typing import Any

import pytest

from passlab.ir.adt import pattern_nodes
from passlab.ir.expr import Expr, Function, If, Let, Match, Var
from passlab.ir.op import Op
from passlab.ir.span import Source
from passlab.ir.walk import post_order
from passlab.text.parser import parse, parse_expr
from passlab.text.printer import astext

TEXTS = {
    # text: the stretches of the nodes, in post-order
    "exp(1f) + 2": ["1f", "exp(1f)", "2", "exp(1f) + 2"],
    "(1 + 2) * 3": ["1", "2", "1 + 2", "3", "(1 + 2) * 3"],
    "1 - 2 -3": ["1", "2", "1 - 2", "3", "1 - 2 -3"],
    "( exp(1f) , )": ["1f", "exp(1f)", "( exp(1f) , )"],
    "exp( /* c */ 1f ) // d": ["1f", "exp( /* c */ 1f )"],
    "let %x : int32 = 1; %0 = exp(%x); (%0, %0)": ["%x", "1", "exp(%x)", "(%0, %0)", "let %x : int32 = 1; %0 = exp(%x); (%0, %0)"],
    "1; { 2 }": ["1", "1", "2", "1; { 2 }"],
    "if (True) { 1 } else { exp(2f) }": ["True", "1", "2f", "exp(2f)", "if (True) { 1 } else { exp(2f) }"],
    "fn (%a, %b: int32) -> int32 { %a }(1)": ["%a", "%b", "fn (%a, %b: int32) -> int32 { %a }", "1", "fn (%a, %b: int32) -> int32 { %a }(1)"],
    "ref_write(ref(1), ref_read(2))": ["1", "ref(1)", "2", "ref_read(2)", "ref_write(ref(1), ref_read(2))"],
    "match ((1, 2)) { (%a, _) => %a }": ["1", "2", "(1, 2)", "%a", "match ((1, 2)) { (%a, _) => %a }"],
    "(((1,),),).0.0": ["1", "(1,)", "((1,),)", "(((1,),),)", "(((1,),),).0", "(((1,),),).0.0"],
    'free_var %x; cast(%x, dtype="int8")': ["%x", 'cast(%x, dtype="int8")'],
    "free_var %x; %x.0": ["%x", "%x.0"],
    '%0 = nn . relu(1f); fn () { %0 }': ["1f", "nn . relu(1f)", "fn () { %0 }"],
    "let %x = let %y = 1; (%y,); 2": ["%x", "%y", "1", "(%y,)", "let %y = 1; (%y,)", "2", "let %x = let %y = 1; (%y,); 2"],
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_every_node_has_its_exact_stretch(text: str) -> None:
    nodes = [n for n in post_order(parse_expr(text)) if not isinstance(n, Op)]
    assert [n.span.text for n in nodes if n.span] == TEXTS[text]


def test_no_node_of_a_module_is_without_a_place() -> None:
    mod = parse(
        """
        type List[A] { Cons(A, List[A]), Nil }
        def @f[A](%l: List[A]) -> (int32, A) {
          match? (%l) { Cons(%h, Cons(_, %t)) => { let %n = 1 + @g(%h); (%n, %h) }, Nil => (2, @f(Nil).1) }
        }
        """
    )
    for node in post_order(mod["f"]):
        assert isinstance(node, Op) or node.span is not None, node


def test_functions_patterns_clauses_and_constructors_have_places() -> None:
    text = "type T { A(int32, T), B }\ndef @f(%t: T) { match (%t) { A(_, %r) => 1, B => 2, (%x: int32, _) => 3 } }"
    mod = parse(text)
    assert [c.span.text for c in mod.type_data("T").constructors] == ["A(int32, T)", "B"]
    function = mod["f"]
    assert function.span.text == text.split("\n")[1]
    clauses = function.body.clauses
    assert [c.span.text for c in clauses] == ["A(_, %r) => 1", "B => 2", "(%x: int32, _) => 3"]
    assert [p.span.text for p in pattern_nodes(clauses[0].lhs)] == ["A(_, %r)", "_", "%r"]
    assert [p.span.text for p in pattern_nodes(clauses[2].lhs)] == ["(%x: int32, _)", "%x: int32", "_"]
    assert clauses[2].lhs.patterns[0].var.span.text == "%x"


def test_lines_and_columns_count_from_one() -> None:
    expr = parse_expr("let %x =\n  exp(1f);\n\n%x", "file.relay")
    assert isinstance(expr, Let)
    span = expr.value.span
    assert (span.source_name, span.line, span.column, span.end_line, span.end_column) == ("file.relay", 2, 3, 2, 10)
    assert str(expr.span) == "file.relay:1:1"
    assert (expr.span.end_line, expr.span.end_column) == (4, 3)


def test_the_module_keeps_its_source() -> None:
    mod = parse("def @f() { 1 }", "here")
    assert isinstance(mod.source, Source)
    assert (mod.source.name, mod.source.text) == ("here", "def @f() { 1 }")


def test_places_can_be_printed() -> None:
    assert astext(parse_expr("exp(1f)"), spans=True).endswith("exp(1f /* span=string:1:5 */) /* span=string:1:1 */")


def test_deep_constructs_span_to_their_end() -> None:
    text = "if (True) { let %x = 1; match (%x) { _ => fn () { %x } } } else { 2 }"
    nodes: list[Any] = post_order(parse_expr(text))
    kinds: dict[type[Expr], str] = {type(n): n.span.text for n in nodes}
    assert kinds[If] == text
    assert kinds[Let] == "let %x = 1; match (%x) { _ => fn () { %x } }"
    assert kinds[Match] == "match (%x) { _ => fn () { %x } }"
    assert kinds[Function] == "fn () { %x }"
    assert kinds[Var] == "%x"
