"""Equal types are one object, in all threads; those that are gone leave the table; no interrupt is lost on the way."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from passlab.errors import LimitError
from passlab.ir import TensorType, TupleType, types
from passlab.ir.types import fold_tuple, tensor_types


def test_threads_that_make_equal_types_at_once_get_one_object():
    start = Barrier(8)

    def make(number: int) -> list[TensorType]:
        start.wait()
        return [TensorType((i, 77), "float32") for i in range(2000)]

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(make, range(8)))
    assert all(same is first for other in results for same, first in zip(other, results[0], strict=True))


def test_types_that_are_gone_leave_the_table():
    alive = sum(ref() is not None for ref in list(types._table.values()))
    most = max(types._sweep_at[0], 2 * alive + 2)
    for i in range(2 * most):
        TensorType((i, 78), "float32")
    assert len(types._table) <= most


def test_nothing_runs_when_a_type_goes():
    """Python prints what interrupts a callback of a weak reference, and goes on."""
    held = TensorType((5, 79), "float32")
    assert held is not None
    assert all(ref.__callback__ is None for ref in types._table.values())


@pytest.mark.parametrize("leaf", [TensorType((1,)), TupleType(())], ids=["tensor", "empty tuple"])
def test_a_shared_tuple_ends_at_the_limit_whatever_is_in_it(leaf: TensorType | TupleType):
    ty: TensorType | TupleType = leaf
    for _ in range(60):
        ty = TupleType((ty, ty))
    for walk in (tensor_types, lambda whole: fold_tuple(whole, lambda leaf: 0, tuple)):
        with pytest.raises(LimitError, match="tuple_fields"):
            walk(ty)
