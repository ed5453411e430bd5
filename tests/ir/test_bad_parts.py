"""What is no part of a program is refused with a diagnostic, wherever a node, a type or a module is made of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from passlab import ir, relay
from passlab.errors import PasslabError
from tests.each import each

VAR = relay.var("x", shape=(2,))
FUNCTION = relay.Function([VAR], VAR)
MODULE = ir.IRModule.from_expr(FUNCTION)
BAD = (3, None, 1.5, "a b", b"a", [1], (), {3: 1}, object(), float("nan"), [[1], [1, 2]], ..., print)
MAKERS: dict[str, Callable[[Any], Any]] = {
    "attribute of a function": lambda bad: FUNCTION.with_attr(bad, 1),
    "attributes of a function": lambda bad: FUNCTION.with_attrs({bad: 1}) if getattr(bad, "__hash__", None) else None,
    "attribute of a module": lambda bad: MODULE.with_attr(bad, 1),
    "value of an attribute": lambda bad: FUNCTION.with_attr("a", bad),
    "value of a module's attribute": lambda bad: MODULE.with_attr("a", bad),
    "index of a module": lambda bad: MODULE[bad],
    "function of a module": lambda bad: ir.IRModule({"f": bad}),
    "parameters": lambda bad: relay.Function(bad, VAR),
    "body": lambda bad: relay.Function([VAR], bad),
    "operator": lambda bad: relay.Call(bad, []),
    "argument": lambda bad: relay.Call(VAR, [bad]),
    "arguments": lambda bad: relay.Call(VAR, bad),
    "types of arguments": lambda bad: relay.Call(VAR, [VAR], None, bad),
    "fields": lambda bad: relay.Tuple(bad),
    "index of a field": lambda bad: relay.TupleGetItem(VAR, bad),
    "let": lambda bad: relay.Let(VAR, bad, VAR),
    "condition": lambda bad: relay.If(bad, VAR, VAR),
    "reference": lambda bad: relay.RefWrite(bad, bad),
    "clauses": lambda bad: relay.Match(VAR, bad),
    "patterns": lambda bad: relay.PatternTuple(bad),
    "shape": lambda bad: relay.TensorType(bad),
    "dtype": lambda bad: relay.TensorType((1,), bad),
    "types of fields": lambda bad: relay.TupleType(bad),
    "types of parameters": lambda bad: relay.FuncType(bad, relay.TensorType(())),
    "constant": lambda bad: relay.const(bad),
    "dtype of a constant": lambda bad: relay.const(1, bad),
    "replacements": lambda bad: relay.bind(VAR, bad),
    "record": lambda bad: ir.make_node(bad),
}  # fmt: skip


@each("place", MAKERS)
@each("bad", BAD, ids=lambda bad: f"{bad!r:.12}")
def test_only_diagnostics_refuse_what_is_no_part_of_a_program(place: str, bad: Any):
    with suppress(PasslabError):
        MAKERS[place](bad)


TYPE = relay.TensorType(())
PATTERN = relay.PatternWildcard()
CLAUSE = relay.Clause(PATTERN, VAR)
KINDS = {"expression": VAR, "type": TYPE, "pattern": PATTERN, "clause": CLAUSE}  # one object of each kind of part
PLACES: dict[str, tuple[str, Callable[[Any], Any]]] = {  # the kind that belongs there, and who puts a part there
    "clauses": ("clause", lambda part: relay.Match(VAR, [part])),
    "data": ("expression", lambda part: relay.Match(part, [CLAUSE])),
    "arm": ("expression", lambda part: relay.Clause(PATTERN, part)),
    "left side": ("pattern", lambda part: relay.Clause(part, VAR)),
    "patterns": ("pattern", lambda part: relay.PatternTuple([part])),
    "fields": ("expression", lambda part: relay.Tuple([part])),
    "argument": ("expression", lambda part: relay.Call(VAR, [part])),
    "type argument": ("type", lambda part: relay.Call(VAR, [VAR], None, [part])),
    "parameters": ("expression", lambda part: relay.Function([part], VAR)),
    "body": ("expression", lambda part: relay.Function([VAR], part)),
    "result": ("type", lambda part: relay.Function([VAR], VAR, part)),
    "fields of a type": ("type", lambda part: relay.TupleType([part])),
    "arguments of a type": ("type", lambda part: relay.FuncType([part], TYPE)),
    "value of a let": ("expression", lambda part: relay.Let(VAR, part, VAR)),
    "condition": ("expression", lambda part: relay.If(part, VAR, VAR)),
    "reference": ("expression", lambda part: relay.RefRead(part)),
}


@each("place", PLACES)
@each("kind", KINDS)
def test_each_place_takes_one_kind_of_part(place: str, kind: str):
    right, put = PLACES[place]
    if kind == right:
        put(KINDS[kind])
    else:
        with pytest.raises(PasslabError):
            put(KINDS[kind])


def test_an_attribute_has_any_name_that_is_a_string():
    names = ("self", "key", "a b", "")
    function = FUNCTION.with_attrs(dict.fromkeys(names, 1))
    assert tuple(function.attrs.keys()) == names
    module = MODULE.with_attr("self", 1).with_attrs({"a b": 2})
    assert (module.get_attr("self"), module.get_attr("a b")) == (1, 2)
    assert module.without_attr("self").get_attr("self") is None
    for bad in (3, None, [1]):
        with pytest.raises(TypeError, match="the name of an attribute is a string"):
            FUNCTION.with_attr(bad, 1)


def test_the_index_of_a_field_is_a_whole_number():
    assert relay.TupleGetItem(VAR, relay.const(1).data).index == 1
    for bad in ("1", 1.5, None):
        with pytest.raises(TypeError, match="a whole number"):
            relay.TupleGetItem(VAR, bad)
