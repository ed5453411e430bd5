"""Integers of half a byte: every pair of them, on every executor, gives what whole numbers give, wrapped to four bits."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import passlab
from passlab import relay, transform
from passlab.errors import RunError
from passlab.ir import Constant, Function, IRModule
from passlab.ir.walk import rewrite
from passlab.op.dtypes import array_dtype
from tests.each import each

RANGES = {"int4": range(-8, 8), "uint4": range(16)}
EXECUTORS = ("debug", "vm", "aot", "graph", "folded")
Rule = Callable[[int, int], int]
RULES: dict[str, Rule] = {
    "add(%x, %y)": lambda x, y: x + y,
    "subtract(%x, %y)": lambda x, y: x - y,
    "multiply(%x, %y)": lambda x, y: x * y,
    "maximum(%x, %y)": max,
    "minimum(%x, %y)": min,
    "divide(%x, %y)": lambda x, y: int(x / y),
    "mod(%x, %y)": lambda x, y: int(math.fmod(x, y)),
    "trunc_divide(%x, %y)": lambda x, y: int(x / y),
    "trunc_mod(%x, %y)": lambda x, y: int(math.fmod(x, y)),
    "floor_divide(%x, %y)": lambda x, y: x // y,
    "floor_mod(%x, %y)": lambda x, y: x % y,
    "power(%x, %y)": lambda x, y: int(x**y),  # of a negative exponent, what is left of a fraction
    "left_shift(%x, %y)": lambda x, y: x << y,
    "right_shift(%x, %y)": lambda x, y: x >> y,
    "bitwise_and(%x, %y)": lambda x, y: x & y,
    "bitwise_or(%x, %y)": lambda x, y: x | y,
    "bitwise_xor(%x, %y)": lambda x, y: x ^ y,
    "negative(%x)": lambda x, y: -x,
    "abs(%x)": lambda x, y: abs(x),
    "bitwise_not(%x)": lambda x, y: ~x,
    "sign(%x)": lambda x, y: (x > 0) - (x < 0),
}
FUSED = {  # each operator wraps before the next one reads it
    "right_shift(left_shift(%x, %y), %y)": lambda x, y, wrap: wrap(x << y) >> y,
    "maximum(negative(%x), bitwise_not(%y))": lambda x, y, wrap: max(wrap(-x), wrap(~y)),
}


def wrapped(value: int, dtype: str) -> int:
    return (value + 8) % 16 - 8 if dtype == "int4" else value % 16


def expected(body: str, x: int, y: int, dtype: str) -> int:
    """The value by whole numbers."""
    if body in FUSED:
        return FUSED[body](x, y, lambda value: wrapped(value, dtype))
    return wrapped(RULES[body](x, y), dtype)


def value(mod: IRModule, kind: str, *args: np.ndarray) -> np.ndarray:
    if kind == "folded":
        main = mod["main"]
        constants = {p: Constant(a) for p, a in zip(main.params, args, strict=True)}
        closed = IRModule.from_expr(Function([], rewrite(main.body, replace=constants)))
        folded = transform.FoldConstant()(transform.InferType()(closed))["main"].body
        assert isinstance(folded, Constant)
        return folded.data
    return np.asarray(relay.create_executor(kind, mod).evaluate()(*args))


def divides_by_zero(body: str, x: int, y: int) -> bool:
    return (y == 0 and ("div" in body or "mod" in body)) or (x == 0 and y < 0 and "power" in body)


DTYPES = (*RANGES, "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


@each("kind", EXECUTORS[:-1])
@each("dtype", DTYPES)
def test_no_integer_is_divided_by_zero(dtype: str, kind: str) -> None:
    x, y = (np.array(side).astype(array_dtype(dtype)) for side in ([1, 2, 3], [1, 0, 2]))
    for name in ("divide", "mod", "trunc_divide", "trunc_mod", "floor_divide", "floor_mod"):
        mod = passlab.parse(f"def @main(%x: Tensor[(3), {dtype}], %y: Tensor[(3), {dtype}]) {{ {name}(%x, %y) }}")
        with pytest.raises(RunError, match=r"integer division by zero: the divisor is 0 at \[1\]"):
            value(mod, kind, x, y)


@pytest.mark.parametrize("kind", EXECUTORS)
@pytest.mark.parametrize("dtype", RANGES)
def test_every_pair_gives_what_whole_numbers_give(dtype: str, kind: str) -> None:
    for body in (*RULES, *FUSED):
        right = range(4) if "shift" in body else RANGES[dtype]
        pairs = [(x, y) for x in RANGES[dtype] for y in right if not divides_by_zero(body, x, y)]
        x, y = (np.array(side).astype(array_dtype(dtype)) for side in zip(*pairs, strict=True))
        params = ", ".join(f"%{name}: Tensor[({len(pairs)}), {dtype}]" for name in "xy")
        result = value(passlab.parse(f"def @main({params}) {{ {body} }}"), kind, x, y)
        assert result.dtype == array_dtype(dtype), body
        assert result.astype(int).tolist() == [expected(body, a, b, dtype) for a, b in pairs], body


REDUCTIONS = {  # by rows of two; sums wrap before they are divided, but pools add up whole numbers
    "sum(%x, axis=[2])": lambda row, wrap: wrap(sum(row)),
    "max(%x, axis=[2])": lambda row, wrap: max(row),
    "mean(%x, axis=[2])": lambda row, wrap: int(wrap(sum(row)) / len(row)),
    "nn.avg_pool1d(%x, pool_size=[2])": lambda row, wrap: int(sum(row) / len(row)),
    "nn.adaptive_avg_pool1d(%x, output_size=[1])": lambda row, wrap: int(sum(row) / len(row)),
    "nn.adaptive_max_pool1d(%x, output_size=[1])": lambda row, wrap: max(row),
}


@each("dtype", RANGES)
@each("body", REDUCTIONS)
@each("executor", ["debug", "vm", "definition"])
def test_rows_are_reduced_as_whole_numbers_are(body: str, dtype: str, executor: str) -> None:
    rows = [(x, y) for x in RANGES[dtype] for y in RANGES[dtype]]
    mod = passlab.parse(f"def @main(%x: Tensor[(1, {len(rows)}, 2), {dtype}]) {{ {body} }}")
    data = np.array([rows]).astype(array_dtype(dtype))
    result = relay.create_executor(executor, mod).evaluate()(data)
    expected_values = [REDUCTIONS[body](row, lambda value: wrapped(value, dtype)) for row in rows]
    assert np.asarray(result).astype(int).reshape(-1).tolist() == expected_values
