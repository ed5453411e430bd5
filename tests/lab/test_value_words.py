"""Literals of values: the value of each form; everything else is refused."""

from __future__ import annotations

import numpy as np
import pytest

from passlab.debugger.debugger import value_of
from passlab.debugger.values import Unwritten
from passlab.errors import RunError
from tests.each import each

OLD = np.zeros((2, 3), "float32")
COUNTS = np.zeros(3, "int8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", [[3, 3, 3], [3, 3, 3]]), ("-1.5e1", [[-15] * 3] * 2), ("zeros", [[0] * 3] * 2), ("ones()", [[1] * 3] * 2),
        ("full 2", [[2] * 3] * 2), ("full(2)", [[2] * 3] * 2), ("arange", [[0, 1, 2], [3, 4, 5]]),
        ("arange 10", [[10, 11, 12], [13, 14, 15]]), ("[1, 2, 3]", [[1, 2, 3]] * 2), ("[[1], [2]]", [[1] * 3, [2] * 3]),
        ("eye", [[1, 0, 0], [0, 1, 0]]), ("x", [[7, 8, 9]] * 2), ("%x", [[7, 8, 9]] * 2), (" 4 ", [[4] * 3] * 2),
    ],
)  # fmt: skip
def test_a_text_fills_a_tensor_in_its_shape_and_dtype(text, expected):
    result = value_of(text, OLD, {"x": np.array([7, 8, 9])})
    assert result.dtype == OLD.dtype
    assert result.tolist() == expected
    assert value_of(text, Unwritten(OLD.shape, OLD.dtype), {"x": [7, 8, 9]}).tolist() == expected


def test_random_numbers_are_those_of_a_seed():
    assert value_of("random 7", OLD).tolist() == value_of("random(7)", OLD).tolist() != value_of("random", OLD).tolist()


def test_odd_numbers_are_numbers():
    assert np.isnan(value_of("nan", OLD)).all()
    assert (value_of("-inf", OLD) == -np.inf).all()
    assert np.isnan(value_of("[NaN, 1, Infinity]", OLD)[:, 0]).all()
    assert value_of("true", np.zeros(2, bool)).all()


def test_a_variable_may_be_anything_where_no_tensor_is_replaced():
    data = object()
    assert value_of("tree", (OLD,), {"tree": data}) is data
    assert value_of("5", 3) == 5


@each(
    ("text", "old"),
    [
        ("", OLD), ("y", OLD), ("__import__('os')", OLD), ("x.T", OLD), ("[1, 2]", OLD), ("[1, [2]]", OLD), ("[", OLD),
        ("['a', 'b', 'c']", OLD), ("full x", OLD), ("random -1", OLD), ("zeros 3", OLD), ("zeros", 3), ("[1]", 3), ("2.5", (OLD,)),
        ("nan", COUNTS), ("300", COUNTS), ("[" * 5000, OLD), ("nan", 3), ("lambda: 0", OLD), ("1; 2", OLD), ("1e999999", COUNTS),
        ("9" * 400, COUNTS),
    ],
)  # fmt: skip
def test_everything_else_is_refused(text, old):
    with pytest.raises(RunError):
        value_of(text, old, {"x": OLD})
