"""What floats become as integers: one rule for every size of array, folded, and on every executor."""

from __future__ import annotations

import math

import numpy as np
import pytest

from passlab import relay, transform
from passlab.ir import IRModule
from passlab.op.dtypes import array_dtype, convert
from tests.each import each

VALUES = (
    0.0, -0.0, 5.9, -5.9, 127.5, 128.0, -128.9, -129.0, 255.0, 256.0, 300.0, -1.0, 32768.0, 65535.5, 3e9, -3e9,
    2.0**31, -(2.0**31), 2.0**32, 2.0**62, 2.0**63, -(2.0**63), 1e19, 2.0**64, 1e30, -1e30,
    math.nan, math.inf, -math.inf,
)  # fmt: skip
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def wrapped(value: float, dtype: str) -> int:
    """The rule, on Python's unbounded integers."""
    bits, signed = int(dtype.lstrip("uint")), not dtype.startswith("u")
    if not math.isfinite(value):
        return 0
    whole = int(value)
    if not -(2**63) <= whole < (2**64 if dtype == "uint64" else 2**63):
        return 0
    low = whole % 2**bits
    return low - 2**bits if signed and low >= 2 ** (bits - 1) else low


@each("source", ["float16", "float32", "float64", "bfloat16"])
@each("dtype", INTEGERS)
def test_a_cast_does_not_depend_on_the_size_of_the_array(source: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        data = np.array(VALUES).astype(array_dtype(source))
    expected = [wrapped(float(v), dtype) for v in data]
    for count in (1, 2, 7, 100):
        assert convert(np.tile(data, count), array_dtype(dtype)).tolist() == expected * count
    assert [convert(v.reshape(()), array_dtype(dtype)).item() for v in data.reshape(-1, 1)] == expected


@pytest.mark.parametrize("kind", ["debug", "graph", "vm", "aot"])
@pytest.mark.parametrize("dtype", ["int8", "uint32", "int64"])
def test_every_executor_and_folding_cast_by_the_one_rule(kind: str, dtype: str) -> None:
    data = np.array(VALUES, "float32")
    expected = [wrapped(float(v), dtype) for v in data]
    x = relay.var("x", shape=data.shape)
    mod = IRModule.from_expr(relay.Function([x], relay.cast(x, dtype)))
    assert relay.create_executor(kind, mod).evaluate()(data).tolist() == expected
    steady = np.nan_to_num(data[:16])
    y = relay.var("x", shape=steady.shape)
    chain = IRModule.from_expr(relay.Function([y], relay.cast(relay.negative(relay.negative(y)), dtype)))
    assert relay.create_executor(kind, chain).evaluate()(steady).tolist() == expected[:16]
    folded = transform.FoldConstant()(transform.InferType()(IRModule.from_expr(relay.cast(relay.const(data), dtype))))
    assert folded["main"].body.data.tolist() == expected
