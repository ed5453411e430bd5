"""Pictures of tensors: what they count is what NumPy counts, and odd numbers are never lost in an average."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from passlab.display.views.tensors import MINUS, NAN, PLUS, ZERO, nonfinite_code, picture
from tests.each import each


def cells(drawn):
    return np.frombuffer(base64.b64decode(drawn["cells"]), np.uint8).reshape(drawn["rows"], drawn["columns"])


@each("shape", [(1,), (7,), (100,), (3, 4), (300, 5), (2, 3, 4), (1, 64, 56, 56), (2, 2, 2, 2, 2), ()])
@each("dtype", ["float32", "float64", "int32", "uint8", "bool", "float16"])
def test_statistics_are_those_of_numpy(shape, dtype, rng):
    tensor = np.asarray(rng.random(shape) * 100 - (0 if dtype in ("uint8", "bool") else 50)).astype(dtype)
    drawn = picture(tensor)
    assert drawn["size"] == tensor.size
    assert drawn["zero"] == tensor.size - np.count_nonzero(tensor)
    assert drawn["min"] == pytest.approx(float(tensor.min()))
    assert drawn["max"] == pytest.approx(float(tensor.max()))
    assert drawn["mean"] == pytest.approx(float(tensor.mean(dtype=np.float64)), abs=2)
    assert cells(drawn).size == drawn["rows"] * drawn["columns"] <= 60 * 60


def test_a_single_nan_marks_its_cell_however_large_the_tensor(rng):
    tensor = rng.random((500, 700)).astype("float32")
    tensor[123, 456] = np.nan
    tensor[0, 0], tensor[499, 699] = np.inf, -np.inf
    drawn = picture(tensor)
    assert (drawn["nan"], drawn["inf"], drawn["ninf"]) == (1, 1, 1)
    texts = cells(drawn)
    assert [int((texts == code).sum()) for code in (NAN, PLUS, MINUS)] == [1, 1, 1]
    assert nonfinite_code(tensor) == 3


def test_signs_stand_on_their_sides_of_zero():
    texts = cells(picture(np.array([[-1.0, 0.0], [0.5, 1.0]])))
    assert texts[0, 0] < ZERO == texts[0, 1] < texts[1, 0] < texts[1, 1]


def test_nothing_is_drawn_of_nothing():
    assert picture(np.zeros((0, 3))) is None
    assert picture(np.array(["a"])) is None
    all_odd = picture(np.full((2, 2), np.nan))
    assert "min" not in all_odd
    assert (cells(all_odd) == NAN).all()


def test_large_sums_are_no_infinities():
    assert nonfinite_code(np.full(1000, 3e38, "float32")) == 0
    assert nonfinite_code(np.full(1000, 1.7e308)) == 0
