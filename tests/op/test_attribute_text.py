"""The law of attributes in text: a record with any legal value in any field prints, and parses back equal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from passlab.ir.attrs import REQUIRED, Attrs, DictAttrs, Field
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Call, Constant, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import ANY
from passlab.text.parser import parse
from tests.each import each

NAMES = [
    name
    for name in Op.list_op_names()
    if Op.get(name).spec.attrs not in (None, DictAttrs) and Op.get(name).spec.attrs.schema  # type: ignore[union-attr]
]
BY_KIND: dict[str, tuple[Any, ...]] = {
    "int": (3, -7, 0, 2**40),
    "float": (0.1, -1e-30, 3.0, math.inf, -0.0, 2.0**-1074),
    "bool": (True, False),
    "str": ("NCHW16c", 'a "quoted" \\ word', "", "naïve ∑\n\tline"),
    "dtype": ("float16", "bfloat16", "int8", "bool", "uint64"),
    "list of int": ((), (1,), (-2, 0, 7)),
    "int or list of int": (4, (1, 3), ()),
    "list of float": ((), (0.5, -2.0), (1.0, math.inf)),
    "shape": ((), (2, ANY, 0), (ANY,)),
    "list of lists of int": ((), ((1, 2), (-3, 4)), ((0, 0),)),
    "expression": (Constant(np.array(2, "int64")), Constant(np.array(0.5, "float32"))),
    "value": (5, "cpu", (1, (2.5, True))),
}


def values(field: Field) -> list[Any]:
    """Legal values of a field, as they are stored, other than its default."""
    kind = field.kind.removesuffix(" or None")
    if kind.startswith("'"):
        results: list[Any] = [choice.strip("'") for choice in kind.split(" | ")]
    else:
        results = list(BY_KIND[kind])
    if field.kind.endswith("or None"):
        results.append(None)
    items = []
    for value in results:
        stored = field.convert(value)
        if type(stored) is not type(field.default) or stored != field.default or str(stored) != str(field.default):
            items.append(stored)
    return items


def records(record: type[Attrs]) -> Iterator[Attrs]:
    """Records with each value in each field, and with every field away from its default."""
    every = {field.name: values(field) for field in record.schema}
    every = {name: choices for name, choices in every.items() if choices}  # one choice may be all there is
    assert all(field.name in every or " | " not in field.kind for field in record.schema)
    needed = {f.name: every[f.name][0] for f in record.schema if f.default is REQUIRED and f.fallback is REQUIRED}
    for name, choices in every.items():
        for value in choices:
            yield record(**{**needed, name: value})
    for turn in range(max(map(len, every.values()))):
        yield record(**{name: choices[turn % len(choices)] for name, choices in every.items()})


@each("name", NAMES)
def test_attributes_are_read_back_as_they_were_printed(name: str) -> None:
    op = Op.get(name)
    assert op.spec.attrs is not None
    params = [Var(label) for label in op.spec.inputs]
    for attrs in records(op.spec.attrs):
        mod = IRModule.from_expr(Function(params, Call(op, params, attrs)))
        text = mod.astext()
        call = parse(text)["main"].body
        assert isinstance(call, Call), text
        assert call.op is op
        assert type(call.attrs) is type(attrs), text
        assert structural_equal(call.attrs, attrs) if _holds_expressions(attrs) else call.attrs == attrs, text


def _holds_expressions(attrs: Attrs) -> bool:
    return any(field.kind.startswith("expression") for field in attrs.schema)
