"""`relay.var`, `relay.const`, `relay.bind`: Relay's rules of defaults."""

from __future__ import annotations

import numpy as np
import pytest

from passlab import IRModule, relay
from passlab.errors import DiagnosticError
from passlab.ir import structural_equal


def test_variables() -> None:
    assert relay.var("x").type_annotation is None
    assert relay.var("x", "int32").type_annotation is relay.TensorType((), "int32")
    assert relay.var("x", shape=(3, relay.Any())).type_annotation is relay.TensorType((3, relay.Any()), "float32")
    assert relay.var("x", shape=(3,), dtype="bool").type_annotation is relay.TensorType((3,), "bool")
    with pytest.raises(ValueError, match="not both"):
        relay.var("x", relay.TensorType(()), shape=(3,))


@pytest.mark.parametrize(
    ("value", "dtype", "case"),
    [
        (1, None, "int32"), (1.0, None, "float32"), (True, None, "bool"), (np.int64(3), None, "int32"),
        (np.float64(3), None, "float32"), (np.float16(3), None, "float16"), (np.uint8(3), None, "uint8"), (1, "int64", "int64"),
        (1, "float16", "float16"), ([[1, 2], [3, 4]], None, "int32"), (1.5, "bfloat16", "bfloat16"), (2**40, "int64", "int64"),
        (1, relay.TensorType((), "int8"), "int8"),
    ],
)  # fmt: skip
def test_constants(value: object, dtype: object, case: str) -> None:
    constant = relay.const(value, dtype)
    assert constant.tensor_type.dtype == case
    assert np.array_equal(constant.data.astype("float64"), np.asarray(value, "float64"))


@pytest.mark.parametrize("value", ["text", None, object(), 2**40, 1j, {}])
def test_what_is_no_constant(value: object) -> None:
    with pytest.raises(ValueError, match=r"constant|int64"):
        relay.const(value)


def test_bind_replaces_parameters_and_brings_new_ones() -> None:
    x, y, z = (relay.var(n, shape=(3,)) for n in "xyz")
    f = relay.Function([x, y], relay.add(x, y))
    one = relay.const(np.ones(3, "float32"))
    assert structural_equal(relay.bind(f, {y: one}), relay.Function([x], relay.add(x, one)))
    assert structural_equal(relay.bind(f, {y: z}), relay.Function([x, z], relay.add(x, z)))
    assert structural_equal(relay.bind(relay.add(x, y), {x: one}), relay.add(one, y))
    assert relay.bind(f, {}) is f
    assert relay.bind(f, {z: one}) is f


def test_bind_refuses_inner_variables() -> None:
    x, y = relay.var("x"), relay.var("y")
    with pytest.raises(DiagnosticError, match="%x is bound inside"):
        relay.bind(relay.Let(x, relay.const(1), x), {x: relay.const(2)})
    with pytest.raises(DiagnosticError, match="%y is bound inside"):
        relay.bind(relay.Function([x], relay.Function([y], y)), {y: x})


def test_a_wrapped_tuple_stands_where_a_node_is_made() -> None:
    x = relay.var("x", shape=(4,))
    halves = relay.split(x, 2)
    whole = halves.astuple()
    binder, flag = relay.var("t"), relay.var("c", "bool")
    assert relay.Function([x], halves).body is whole
    assert relay.TupleGetItem(halves, 1).tuple_value is whole
    assert relay.TupleWrapper(halves, 2).astuple() is whole
    assert relay.Tuple([x, halves]).fields[1] is whole
    assert relay.Call(binder, [halves]).args == binder(halves).args == (whole,)
    assert relay.Let(binder, halves, halves).value is relay.Let(binder, x, halves).body is whole
    assert relay.If(flag, halves, halves).true_branch is whole
    assert relay.RefCreate(halves).value is whole
    assert relay.analysis.free_vars(halves) == [x]
    assert IRModule.from_expr(halves)["main"].body is whole
    ends = relay.create_executor("debug").evaluate(halves, {x: np.arange(4, dtype="float32")})
    assert [list(part) for part in ends] == [[0, 1], [2, 3]]


def test_a_node_is_the_same_as_itself_only() -> None:
    x = relay.var("x", shape=(4,))
    assert x.same_as(x)
    assert not x.same_as(relay.var("x", shape=(4,)))
