"""Draws reach what they are made for: sizes that differ, ties, and the numbers on both sides of a pass."""

from __future__ import annotations

import numpy as np
import pytest

from passlab import parse
from passlab.infer import infer_module
from passlab.oracle.drawn_inputs import INTRODUCED, draws, introduced_numbers, numbers_of
from passlab.oracle.trial import Trial


def typed(params: str, body: str):
    return infer_module(parse(f"def @main({params}) {{ {body} }}"))


def sizes_that_run(mod):
    trial = Trial()
    runs = [trial.run(mod, number) for number, _ in enumerate(trial.draws(mod))]
    assert all(run.error is None for run in runs), [str(run.error) for run in runs if run.error]
    return [[a.shape for a in draw.arguments] for draw in trial.draws(mod)]


def test_each_dynamic_side_gets_a_size_of_its_own():
    shapes = sizes_that_run(typed("%x: Tensor[(?, ?, ?), float32], %y: Tensor[(?), float32]", "(exp(%x), exp(%y))"))
    assert any(len({*x, *y}) == 4 for x, y in shapes)
    assert [(1, 1, 1), (1,)] in shapes
    assert [(0, 0, 0), (0,)] in shapes


@pytest.mark.parametrize(
    ("params", "body", "differ"),
    [
        ("%x: Tensor[(?, ?), float32], %y: Tensor[(?, ?), float32]", "add(%x, %y)", ((0, 0), (0, 1))),
        ("%x: Tensor[(?, ?), float32], %y: Tensor[(?, ?), float32]", "nn.dense(%x, %y)", ((0, 0), (1, 0))),
        ("%x: Tensor[(?, ?), float32], %y: Tensor[(?, ?), float32]", "concatenate((%x, %y), axis=1)", ((0, 1), (1, 1))),
        ("%x: Tensor[(?), float32], %y: Tensor[(?), float32]", "multiply(%x, %y)", None),
    ],
)
def test_sizes_are_equal_only_where_the_program_needs_it(params, body, differ):
    shapes = sizes_that_run(typed(params, body))
    if differ is not None:
        (a, i), (b, j) = differ
        assert any(arrays[a][i] != arrays[b][j] for arrays in shapes)


def test_the_numbers_of_a_program_are_all_drawn_where_there_is_room():
    body = "where(greater(%x, 37f), minimum(%x, -90f), clip(%x, a_min=-5f, a_max=12f))"
    mod = typed("%x: Tensor[(80), float32]", body)
    drawn = next(d for d in draws(mod) if d.kind == "the numbers of the program and their neighbours").arguments[0]
    assert {v + d for v in numbers_of(mod["main"]) for d in (-1, -0.5, 0, 0.5, 1)} <= set(drawn.tolist())


@pytest.mark.parametrize("size", [1, 3, 10])
def test_the_numbers_that_a_pass_introduced_are_drawn_too(size):
    before = typed(f"%x: Tensor[({size}), float32]", "nn.relu(%x)")
    after = typed(f"%x: Tensor[({size}), float32]", "where(equal(%x, 37f), tanh(%x), nn.relu(%x))")
    made = list(introduced_numbers(before, after))
    assert all(INTRODUCED in draw.kind for draw in made)
    assert 37.0 in np.concatenate([draw.arguments[0] for draw in made]).tolist()
    assert not list(introduced_numbers(after, before))


def test_a_large_number_of_a_program_is_drawn_twice_as_large_too():
    before = typed("%x: Tensor[(64), float32]", "sqrt(add(multiply(%x, %x), 1f))")
    after = typed("%x: Tensor[(64), float32]", "minimum(sqrt(add(multiply(%x, %x), 1f)), 1e4f)")
    drawn = [draw.arguments[0] for draw in introduced_numbers(before, after)]
    assert any(2e4 in values for values in drawn)


def test_halves_are_drawn():
    mod = typed("%x: Tensor[(10), float32]", "round(%x)")
    halves = next(draw for draw in draws(mod) if draw.kind == "halves").arguments[0]
    assert {0.5, -0.5, 1.5, -1.5, 2.5, -2.5} <= set(halves.tolist())


@pytest.mark.parametrize(
    ("params", "body"),
    [
        ("%x: Tensor[(1, 3), float32], %i: Tensor[(2, 1), int32]", "gather(%x, %i, axis=0)"),
        ("%x: Tensor[(1), float32], %i: Tensor[(1, 2), int64]", "gather_nd(%x, %i)"),
        (
            "%x: Tensor[(1, 2, 3, 3), float32], %b: Tensor[(9, 4), float32], %i: Tensor[(9), int32]",
            "image.crop_and_resize(%x, %b, %i, crop_size=[1, 3])",
        ),
        ("%x: Tensor[(1, 4), float32], %i: Tensor[(9, 3), int32]", "adv_index((%x, %i))"),
    ],
)
def test_a_batch_of_one_is_indexed_beside_typical_numbers(params, body):
    mod, trial = typed(params, body), Trial()
    kinds = [(draw.kind, trial.run(mod, number).error) for number, draw in enumerate(trial.draws(mod))]
    assert any(kind.startswith("typical") and error is None for kind, error in kinds), kinds


@pytest.mark.parametrize("number", [1e-30, -1e-20, 1e-10])
def test_a_tiny_factor_meets_numbers_whose_products_are_ordinary(number):
    mod = typed("%x: Tensor[(9), float32]", f"multiply(%x, {number}f)")
    products = [abs(value) for draw in draws(mod) for value in draw.arguments[0] * np.float32(number)]
    assert any(0.5 < product < 2 for product in products)
