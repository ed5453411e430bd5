"""Copies of transposed arrays, tile by tile, equal their sources."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from passlab.op import declare as copying
from passlab.op.declare import copy_into


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
def test_a_transposed_array_is_copied_as_numpy_copies_it(order, dtype, monkeypatch):
    monkeypatch.setattr(copying, "_MIN_BYTES", 0)
    monkeypatch.setattr(copying, "_MIN_LENGTH", 2)
    monkeypatch.setattr(copying, "_TILE", 3)
    source = np.arange(7 * 10 * 13).reshape(7, 10, 13).astype(dtype).transpose(order)
    target = np.zeros(source.shape, dtype)
    copy_into(target, source)
    np.testing.assert_array_equal(target, source)
    wide = np.zeros((*source.shape, 2), dtype)[..., 0]
    copy_into(wide, source)
    np.testing.assert_array_equal(wide, source)


@pytest.mark.parametrize("source", [np.float32(3), np.zeros((1, 4), np.float32), np.arange(4)])
def test_what_broadcasts_or_has_another_dtype_is_copied_too(source):
    target = np.ones((3, 4), np.float32)
    copy_into(target, source)
    np.testing.assert_array_equal(target, np.broadcast_to(source, (3, 4)))
