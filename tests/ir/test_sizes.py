"""Arithmetic of symbolic dimensions: normal form, numbers, equality, text, types inferred with them."""

from __future__ import annotations

import random
from typing import Any

import pytest

import passlab
from passlab import relay, transform
from passlab.infer import infer_module
from passlab.ir import (
    ANY,
    Function,
    IRModule,
    SizeVar,
    TensorType,
    load_json,
    save_json,
    structural_equal,
    structural_hash,
)
from passlab.ir.types import SizeExpr, is_computed
from tests.each import each

N, M, K = SizeVar("n"), SizeVar("m"), SizeVar("k")
VALUES = {N: 12, M: 7, K: 5}


def random_size(depth: int, rng: random.Random) -> tuple[Any, int]:
    """A random expression of sizes, and its number by Python's own arithmetic."""
    if depth == 0:
        size = rng.choice([N, M, K, rng.randint(0, 9)])
        return size, VALUES.get(size, size)
    (a, x), (b, y) = random_size(depth - 1, rng), random_size(depth - 1, rng)
    how = rng.randint(0, 4)
    by = rng.randint(1, 6)
    if how < 3:
        return [(a + b, x + y), (a - b, x - y), (a * b, x * y)][how]
    return (a // by, x // by) if how == 3 else (a % by, x % by)


@each("seed", range(300))
def test_an_expression_is_the_number_that_it_says(seed: int) -> None:
    size, number = random_size(3, random.Random(seed))
    assert (size.at(VALUES) if isinstance(size, SizeVar) else size) == number


def test_two_ways_to_one_size_are_equal() -> None:
    pairs = [
        (N + N, N * 2),
        (N + M, M + N),
        ((N + 1) * (N - 1), N * N - 1),
        (2 * N * M // 2, M * N),
        ((N * 4 + 8) // 4, N + 2),
        (N - M + M, N),
        (N % 3 + N // 3 * 3, N),
    ]
    for a, b in pairs:
        assert a == b
        assert hash(a) == hash(b)
        assert TensorType((a,)) is TensorType((b,))
    assert (N - N, N * 0 + 3, type(N * 1)) == (0, 3, SizeVar)
    assert N * 2 != M * 2
    assert N // 2 != N // 3
    assert not is_computed(N)
    assert isinstance(N + 1, SizeExpr)


def test_nothing_is_known_of_what_is_computed_of_the_unknown() -> None:
    assert all(size is ANY for size in (ANY + 1, 2 * ANY, N + ANY, ANY - N, ANY // 2, 7 - ANY))


def test_what_is_no_size_is_refused() -> None:
    for compute in (lambda: N + "m", lambda: N // 0, lambda: N // M, lambda: N * 1.5, lambda: N * None):
        with pytest.raises(TypeError):
            compute()


def function(*shapes: tuple[Any, ...]) -> Function:
    return Function([relay.var(f"x{i}", relay.TensorType(shape)) for i, shape in enumerate(shapes)], relay.const(1))


SHAPES = [((N * 2 + M, N // 3), (M * N, (N + 1) // 2)), ((N - 1,), (N % 4, 3)), ((N, M, N * M * M * 5 + 2),)]


@pytest.mark.parametrize("shapes", SHAPES)
def test_text_and_json_are_read_back(shapes: Any) -> None:
    mod = infer_module(IRModule.from_expr(function(*shapes)))
    text = mod.astext()
    back = passlab.parse(text)
    assert structural_equal(mod, back)
    assert structural_hash(mod) == structural_hash(back)
    assert back.astext() == text
    assert structural_equal(load_json(save_json(mod)), mod)


def test_programs_are_equal_where_their_sizes_are_computed_alike() -> None:
    one = function((N, N * 2))
    assert structural_equal(one, function((M, M * 2)), map_free_vars=True)
    assert not structural_equal(one, function((M, K * 2)), map_free_vars=True)
    assert not structural_equal(one, function((M, M * 3)), map_free_vars=True)


def test_bad_sums_in_the_metadata_are_errors() -> None:
    text = infer_module(IRModule.from_expr(function((N + 1,)))).astext()
    for old, new in (
        ('"a": "', '"a": "9'),
        ('"b": "', '"c": "'),
        ('"IntImm"', '"Op"'),
    ):
        with pytest.raises(passlab.PasslabError):
            passlab.parse(text.replace(old, new))
    quotient = infer_module(IRModule.from_expr(function((N // 4,)))).astext()
    with pytest.raises(passlab.PasslabError):
        passlab.parse(quotient.replace('"value": "4"', '"value": "0"'))


X = relay.var("x", relay.TensorType((N, M, K, K)))
Y = relay.var("y", relay.TensorType((N, 3, K, K)))
TYPES = [
    (relay.concatenate((X, X), 1), (N, M * 2, K, K)),
    (relay.concatenate((X, Y), 1), (N, M + 3, K, K)),
    (relay.nn.upsampling(X, 2, 3), (N, M, K * 2, K * 3)),
    (relay.nn.batch_flatten(X), (N, M * K * K)),
    (relay.nn.pad(X, ((1, 1), (0, 0), (2, 0), (0, 0))), (N + 2, M, K + 2, K)),
    (relay.repeat(X, 3, 1), (N, M * 3, K, K)),
    (relay.tile(X, (1, 2, 1, 1)), (N, M * 2, K, K)),
    (relay.split(X, 4, 1)[0], (N, M // 4, K, K)),
    (relay.split(X, (2, 7), 1)[2], (N, M - 7, K, K)),
    (relay.vision.yolo_reorg(X, 2), (N, M * 4, K // 2, K // 2)),
    (relay.nn.depth_to_space(X, 2), (N, M // 4, K * 2, K * 2)),
    (relay.nn.space_to_depth(X, 2), (N, M * 4, K // 2, K // 2)),
    (relay.reshape(X, (0, -3, -2)), (N, M * K, K)),
]


@pytest.mark.parametrize(("expr", "shape"), TYPES)
def test_types_have_sizes_that_are_computed(expr: Any, shape: tuple[Any, ...]) -> None:
    assert relay.testing.run_infer_type(expr).checked_type == TensorType(shape)


def test_a_computed_size_counts_as_unknown_where_it_meets_another() -> None:
    both = relay.concatenate((X, X), 1)
    other = relay.var("z", relay.TensorType((N, 10, K, K)))
    assert relay.testing.run_infer_type(relay.add(both, other)).checked_type == TensorType((N, 10, K, K))
    assert relay.testing.run_infer_type(relay.add(both, both)).checked_type == TensorType((N, M * 2, K, K))
    named = relay.var("z", relay.TensorType((N, SizeVar("total"), K, K)))
    relay.testing.run_infer_type(relay.add(both, named))  # the run will tell
    declared = Function([X, Y], relay.concatenate((X, Y), 1), TensorType((N, ANY, K, K)))
    assert infer_module(IRModule.from_expr(declared))["main"].ret_type == TensorType((N, ANY, K, K))


def test_programs_with_computed_sizes_run() -> None:
    import numpy as np

    body = relay.nn.relu(relay.nn.pad(relay.concatenate((X, Y), 1), ((0, 0), (1, 0), (0, 0), (0, 0))))
    mod = IRModule.from_expr(Function([X, Y], body))
    x, y = np.full((2, 4, 3, 3), -1, "float32"), np.ones((2, 3, 3, 3), "float32")
    expected = np.maximum(np.pad(np.concatenate([x, y], 1), ((0, 0), (1, 0), (0, 0), (0, 0))), 0)
    for kind in ("debug", "vm", "aot"):
        np.testing.assert_array_equal(relay.create_executor(kind, mod).evaluate()(x, y), expected)
    with transform.PassContext(opt_level=3):
        assert transform.FuseOps()(infer_module(mod))["main"].ret_type == TensorType((N, M + 4, K, K))
