"""`while_loop` writes loops; functions that build several calls mean what their definitions say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from passlab import IRModule, relay
from passlab.relay.loops import while_loop

KINDS = ("debug", "vm", "aot")


def value(kind: str, body: relay.Expr, *args: Any, order: str = "") -> Any:
    params = sorted(relay.analysis.free_vars(body), key=lambda v: order.index(v.name_hint) if order else 0)
    mod = IRModule.from_expr(relay.Function(params, body))
    return relay.create_executor(kind, mod=mod).evaluate()(*args)


@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_of_two_variables_sees_what_is_outside(kind: str) -> None:
    """Powers of %base below a limit, and how many there were."""
    base, at, count = (relay.var(name, "int32") for name in ("base", "at", "count"))
    loop = while_loop(
        lambda at, _: relay.less(at, relay.const(1000)),
        [at, count],
        lambda at, count: (relay.multiply(at, base), relay.add(count, relay.const(1))),
    )
    result = value(kind, loop(relay.const(1), relay.const(0)), 3)
    assert [int(field) for field in result] == [2187, 7]


@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_grows_a_tensor_of_unknown_length(kind: str) -> None:
    start = relay.var("start", shape=(relay.Any(),))
    loop = while_loop(
        lambda xs: relay.less(relay.ndarray_size(xs), relay.const(20)),
        [start],
        lambda xs: (relay.concatenate([xs, relay.exp(xs)], axis=0),),
    )
    xs = np.array([0.0, -1.0, 0.5], "float32")
    want = xs
    while want.size < 20:
        want = np.concatenate([want, np.exp(want)])
    first = relay.var("first", shape=(3,))
    np.testing.assert_allclose(value(kind, relay.TupleGetItem(loop(first), 0), xs), want, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("ids", "count"), [([1, 0, 3, 1], None), ([0, 2], 5)])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_segment_sum(kind: str, ids: list[int], count: int | None, dtype: str) -> None:
    data = np.arange(24).reshape(4, 3, 2).astype(dtype)
    want = np.zeros((count or max(ids) + 1, 3, 2), dtype)
    np.add.at(want, ids, data[: len(ids)])
    x = relay.var("x", shape=data.shape, dtype=dtype)
    places = relay.var("places", shape=(len(ids),), dtype="int32")
    got = value(kind, relay.segment_sum(x, places, count), data, np.array(ids, "int32"), order="x places")
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_reverse_reshape_reads_from_the_end() -> None:
    x = relay.var("x", shape=(2, 3, 4))
    data = np.arange(24, dtype="float32").reshape(2, 3, 4)
    assert value("vm", relay.reverse_reshape(x, [0, -1]), data).shape == (3, 8)
    assert value("vm", relay.reshape(x, [0, -1]), data).shape == (2, 12)


@pytest.mark.parametrize(("pair", "spread"), [(relay.mean_variance, np.var), (relay.mean_std, np.std)])
def test_means_come_with_their_spread_as_one_tuple(pair: Callable[..., Any], spread: Callable[..., Any]) -> None:
    data = np.linspace(-2, 3, 24, dtype="float32").reshape(2, 3, 4)
    both = pair(relay.var("x", shape=(2, 3, 4)), axis=[0, 2], keepdims=True)
    mean, around = both
    want = data.mean((0, 2), keepdims=True), spread(data, (0, 2), keepdims=True)
    for got in (value("graph", both.astuple(), data), (value("debug", mean, data), value("debug", around, data))):
        for result, exact in zip(got, want, strict=True):
            np.testing.assert_allclose(result, exact, rtol=1e-5, atol=1e-6)
