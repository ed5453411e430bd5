"""What docstrings cannot show of CapturePostDfsIndexInSpans and ChangeBatch: spans, variables as keys, refusals."""

from __future__ import annotations

import pytest

from passlab import relay, transform
from passlab.errors import DiagnosticError, PassValueError
from passlab.ir import Op
from passlab.ir.expr import Expr
from passlab.ir.walk import post_order
from passlab.text.parser import parse


def numbered(text: str) -> list[tuple[str, str]]:
    """The spans of all nodes of `main` but operators, with the node's class."""
    mod = transform.CapturePostDfsIndexInSpans()(parse(text))
    return [(type(n).__name__, str(n.span)) for n in post_order(mod["main"]) if type(n) is not Op]


def test_nodes_have_their_number_and_that_of_their_post_dominator() -> None:
    text = """
    def @main(%a: int32, %b: int32, %c: int32, %d: int32) { subtract(add(%a, %b), add(%c, %d)) }
    """  # the operators are 4 and 5; a function reads no parameter
    assert numbered(text) == [
        ("Var", "index:0:6"),
        ("Var", "index:1:6"),
        ("Var", "index:2:7"),
        ("Var", "index:3:7"),
        ("Call", "index:6:8"),
        ("Call", "index:7:8"),
        ("Call", "index:8:9"),
        ("Function", "index:9:-1"),
    ]


def test_what_is_used_twice_is_dominated_where_the_uses_meet() -> None:
    text = "def @main(%x: int32) { if (equal(%x, 0)) { %x } else { (%x, 1).0 } }"
    assert numbered(text) == [
        ("Var", "index:0:7"),
        ("Constant", "index:2:3"),
        ("Call", "index:3:7"),
        ("Constant", "index:4:5"),
        ("Tuple", "index:5:6"),
        ("TupleGetItem", "index:6:7"),
        ("If", "index:7:8"),
        ("Function", "index:8:-1"),
    ]


def test_a_parameter_that_nothing_reads_belongs_to_the_function() -> None:
    assert numbered("def @main(%a: int32, %b: int32) { negative(%b) }")[0] == ("Var", "index:0:4")


def test_every_function_counts_by_itself_and_the_input_keeps_its_places() -> None:
    mod = parse("def @f(%x: int32) { %x } def @main(%x: int32) { @f(%x) }")
    before = [str(n.span) for n in post_order(*mod.functions.values())]
    result = transform.CapturePostDfsIndexInSpans()(mod)
    assert [str(result[name].params[0].span) for name in ("f", "main")] == ["index:0:1", "index:0:2"]
    assert [str(n.span) for n in post_order(*mod.functions.values())] == before


def dense() -> tuple[Expr, relay.Function]:
    x, w = relay.var("x", shape=(1, 8)), relay.var("w", shape=(3, 8))
    return x, relay.Function([x, w], relay.nn.dense(x, w))


def test_a_batch_is_named_by_a_variable() -> None:
    x, func = dense()
    value = transform.ChangeBatch({x: 0}, 5)(relay.IRModule.from_expr(func))["main"]
    assert str(value.checked_type) == "fn (Tensor[(5, 8), float32], Tensor[(3, 8), float32]) -> Tensor[(5, 3), float32]"


def test_a_batch_that_is_written_into_attributes_is_an_error_of_types() -> None:
    x = relay.var("x", shape=(1, 8))
    mod = relay.IRModule.from_expr(relay.Function([x], relay.reshape(x, (1, 2, 4))))
    with pytest.raises(DiagnosticError):
        transform.ChangeBatch({x: 0}, 5)(mod)


def test_misuse_is_explained() -> None:
    x, func = dense()
    with pytest.raises(PassValueError, match="%x has no axis 2"):
        transform.ChangeBatch({x: 2})(relay.IRModule.from_expr(func))
    with pytest.raises(PassValueError, match="%x is not a tensor"):
        transform.ChangeBatch({"x": 0})(parse("def @main(%x: (int32,)) { %x }"))
    with pytest.raises(PassValueError, match="at least one element"):
        transform.ChangeBatch({x: 0}, 0)
    with pytest.raises(PassValueError, match="five lengths a name"):
        transform.DenseToSparse(["w"], [[1, 2]])
    with pytest.raises(PassValueError, match="five lengths a name"):
        transform.Conv2dToSparse(["w"], [[1, 2]])
