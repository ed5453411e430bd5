"""Names of variables in text: every name comes back as it was, and names with dots stand bare."""

from __future__ import annotations

import numpy as np
import pytest

from passlab import parse, relay
from passlab.errors import ParseError
from passlab.ir import IRModule, TensorType
from passlab.text.program_json import load_json, save_json

NAMES = (
    "",
    "1",
    "007",
    "_",
    "let",
    "def",
    "x",
    "layer1.0.weight",
    "conv.1",
    "a.b",
    "x/y",
    "x/y.z",
    "a b",
    "a:0",
    "é",
    "%",
    "x.0.1",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_survives_text_and_json(name: str) -> None:
    x = relay.var(name, TensorType((2,), "float32"))
    mod = IRModule.from_expr(relay.Function([x], relay.exp(x)))
    back = parse(mod.astext())
    assert back["main"].params[0].name_hint == name
    assert parse(back.astext()).astext() == back.astext()
    assert load_json(save_json(mod))["main"].params[0].name_hint == name


@pytest.mark.parametrize("name", NAMES)
def test_a_name_binds_a_parameter_of_a_build(name: str) -> None:
    x, w = relay.var("data", shape=(2,)), relay.var(name, shape=(2,))
    mod = parse(IRModule.from_expr(relay.Function([x, w], x + w)).astext())
    built = relay.create_executor("graph", mod, params={name: np.ones(2, "float32")})
    assert built.evaluate()(np.ones(2, "float32")).tolist() == [2, 2]


def test_dotted_names_and_projections_are_told_apart() -> None:
    mod = parse("def @main(%x: (int8, int8), %x.0.w: (int8, int8)) { (%x.0, %x.0.w.1) }")
    first, second = mod["main"].body.fields
    assert (first.tuple_value.name_hint, first.index) == ("x", 0)
    assert (second.tuple_value.name_hint, second.index) == ("x.0.w", 1)


def test_a_field_that_is_no_number_is_pointed_at() -> None:
    with pytest.raises(ParseError, match="expected the number of a tuple element, found `y`"):
        parse("def @main(%x: (int8, int8)) { %x.y }")
