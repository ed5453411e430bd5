"""Names that Relay's examples import from the places of Relay's sources, and what they do there."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import passlab
from passlab import relay, transform
from passlab.errors import AttrsError, NodeValueError
from passlab.ir import DictAttrs, IRModule
from passlab.ir.op import Op


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("passlab.ir.instrument", "PassTimingInstrument"),
        ("passlab.ir.transform", "PassContext"),
        ("passlab.ir", "load_json"),
        ("passlab.relay.backend.interpreter", "RefValue"),
        ("passlab.relay.base", "SourceName"),
        ("passlab.relay.data_dep_optimization.bsr_dense", "convert"),
        ("passlab.relay.expr", "pretty_print"),
        ("passlab.relay.function", "Function"),
        ("passlab.relay.op.op", "register_legalize"),
        ("passlab.relay.prelude", "Prelude"),
        ("passlab.relay.testing.resnet", "get_workload"),
        ("passlab.relay.testing.temp_op_attr", "TempOpAttr"),
        ("passlab.relay.type_functor", "TypeVisitor"),
    ],
)
def test_a_name_is_found_there(address: str, name: str):
    assert callable(getattr(importlib.import_module(address), name))


@pytest.mark.parametrize("room", ["function", "prelude", "type_functor"])
def test_rooms_are_loaded_on_first_use(room: str):
    assert getattr(relay, room).__name__ == f"passlab.relay.{room}"


def test_an_attribute_of_an_operator_holds_for_a_while():
    from passlab.relay.testing.temp_op_attr import TempOpAttr

    x = relay.var("x", shape=(2,))
    mod = IRModule.from_expr(relay.exp(x))
    seen: list[str] = []
    relay.op.register_legalize("exp", lambda attrs, args, types: seen.append("before"))
    try:
        with TempOpAttr("exp", "FTVMLegalize", lambda attrs, args, types: relay.sqrt(args[0])):
            assert transform.Legalize()(mod)["main"].body.op.name == "sqrt"
        transform.Legalize()(mod)
    finally:
        relay.op.unregister_op_attr("exp", "FTVMLegalize")
    assert seen == ["before"]
    with TempOpAttr("exp", "FTVMLegalize", None):
        pass
    assert Op.get("exp").get_attr("FTVMLegalize") is None


def test_a_lower_level_does_not_replace_a_higher():
    op = Op.get("exp")
    op.set_attr("mine", 1, 20)
    op.set_attr("mine", 2, 10)
    assert op.get_attr("mine") == 1
    op.reset_attr("mine")
    assert op.get_attr("mine") is None

    @passlab.ir.register_op_attr("exp", "mine")
    def mine() -> None: ...

    assert op.get_attr("mine") is mine
    op.reset_attr("mine")


def test_records_are_made_by_the_name_of_their_type():
    attrs = passlab.ir.make_node("relay.attrs.SoftmaxAttrs", axis=1)
    assert attrs == relay.nn.softmax(relay.var("x"), axis=1).attrs
    assert passlab.ir.make_node("DictAttrs", Primitive=1) == DictAttrs({"Primitive": 1})
    assert passlab.ir.make_node("attrs.TestAttrs", name="a")["attrs_type_key"] == "attrs.TestAttrs"
    assert passlab.ir.make_node("Executor", name="graph").name == "graph"
    with pytest.raises(AttrsError, match="no attribute `axes`"):
        passlab.ir.make_node("relay.attrs.SoftmaxAttrs", axes=1)


def test_a_span_is_made_of_a_name_and_four_numbers():
    span = relay.Span(relay.SourceName("f.py"), 3, 4, 5, 6)
    assert (span.source_name, span.line, span.end_line, span.column, span.end_column) == ("f.py", 3, 4, 5, 6)
    assert relay.SourceName("f.py").name == "f.py"
    assert isinstance(span, relay.Span)
    assert isinstance(passlab.parse_expr("1").span, relay.Span)
    assert not isinstance("f.py:3:5", relay.Span)
    assert relay.var("x", span=span).span is span
    with pytest.raises(NodeValueError, match="a span has four places"):
        relay.Span(relay.SourceName("f.py"), 3)


def test_values_of_data_types_are_made_and_recognised_as_by_relays_interpreter():
    from passlab.relay.backend.interpreter import ConstructorValue

    p = relay.Prelude()
    none = ConstructorValue(p.Nil.tag, [], p.Nil)
    some = ConstructorValue(p.Cons.tag, [np.int32(3), none], p.Cons)
    length = relay.create_executor("vm", p.mod).evaluate(p.length)
    assert int(np.asarray(length(some))) == 1
    reverse = relay.create_executor("debug", p.mod).evaluate(p.rev)(some)
    assert isinstance(reverse, ConstructorValue)
    assert (reverse.tag, reverse.constructor.name_hint, int(reverse.fields[0])) == (p.Cons.tag, "Cons", 3)
    with pytest.raises(NodeValueError, match="the tag of its constructor"):
        ConstructorValue(p.Nil.tag + 1, [], p.Nil)
