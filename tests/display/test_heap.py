"""Data values and closures as a heap: a box for each object, once, and what its cells hold."""

from __future__ import annotations

import numpy as np

import passlab
from passlab.display.graphs.heap import MOST, heap_of
from passlab.evaluate.values import ADTValue, RefValue

LIST = passlab.parse("type List[A] { Cons(A, List[A]), Nil } def @main() { 0 }")
_, CONS, NIL = LIST.get_type("List")


def test_shared_objects_are_drawn_once_and_cells_tell_what_they_hold():
    end = ADTValue(NIL, ())
    shared = ADTValue(CONS, (np.float32(2), end))
    value = ADTValue(CONS, (np.ones((2, 3), "float32"), ADTValue(CONS, (shared, shared))))
    boxes = heap_of(value)
    assert [name for name, *_ in boxes] == ["Cons", "Cons", "Cons", "Nil"]
    assert [depth for _, _, depth, _ in boxes] == [0, 1, 2, 3]
    assert boxes[0][3][1] == ["", 1]
    assert boxes[1][3] == [["", 2], ["", 2]]
    assert "float32[2, 3]" in boxes[0][3][0][0]


def test_a_cell_that_holds_itself_points_back_and_long_lists_end():
    cell = RefValue(None)
    cell.value = ADTValue(CONS, (np.float32(1), cell))
    assert heap_of(cell) == [["ref", "data", 0, [["", 1]]], ["Cons", "data", 1, [["1.0", -1], ["", 0]]]]
    long = ADTValue(NIL, ())
    for number in range(100_000):
        long = ADTValue(CONS, (np.float32(number), long))
    boxes = heap_of(long)
    assert len(boxes) == MOST
    assert boxes[-1][3][1] == ["…", -1]


def test_tensors_need_no_heap():
    assert heap_of(np.ones(3)) is None
    assert heap_of((np.ones(3),)) is None


def test_a_tuple_is_drawn_where_it_holds_an_object():
    assert heap_of((np.ones(3), np.float32(2))) is None
    assert heap_of((np.float32(2), ADTValue(NIL, ()))) == [
        ["tuple", "data", 0, [["2.0", -1], ["", 1]]],
        ["Nil", "data", 1, []],
    ]
