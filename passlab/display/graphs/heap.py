"""Data values and closures as a heap of boxes and arrows, as data: each object once, even if several refer to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.debugger.values import short_text
from passlab.errors import visible
from passlab.evaluate.values import ADTValue, Closure, RefValue, value_text
from passlab.vm.objects import VMClosure

MOST = 40  # boxes of one value
CELL = 22  # characters of a cell
DATA, CLOSURE = "data", "closure"
_OBJECTS = (ADTValue, VMClosure, Closure, RefValue)


def heap_of(value: Any) -> list[list[Any]] | None:
    """Return the boxes of a value, itself first: `[name, kind, depth, cells]`; None for values that need no drawing:
    tensors, and tuples of nothing else.

    A cell is `[text, box]`: a short text, and the number of the box that it points to or -1. Objects beyond `MOST`
    boxes become text.
    """
    if not isinstance(value, _OBJECTS) and not (
        isinstance(value, tuple) and any(isinstance(field, _OBJECTS) for field in value)
    ):
        return None
    numbers: dict[int, int] = {id(value): 0}
    boxes: list[list[Any]] = []
    waiting: list[tuple[Any, int]] = [(value, 0)]
    for held, depth in waiting:  # in breadth; the list grows while it is read
        name, kind, fields = _parts(held)
        cells = []
        for field in fields:
            if not isinstance(field, (*_OBJECTS, tuple)):
                cells.append([_word(field), -1])
                continue
            if id(field) not in numbers and len(numbers) < MOST:
                numbers[id(field)] = len(numbers)
                waiting.append((field, depth + 1))
            cells.append(["", numbers[id(field)]] if id(field) in numbers else ["…", -1])
        boxes.append([visible(name), kind, depth, cells])
    return boxes


def _parts(value: Any) -> tuple[str, str, list[Any]]:
    """The name of an object, its kind, and its fields."""
    if isinstance(value, ADTValue):
        return value.constructor.name_hint, DATA, list(value.fields)
    if isinstance(value, VMClosure):
        return f"closure @{value.func_index}", CLOSURE, list(value.captured)
    if isinstance(value, Closure):
        return f"function of {len(value.function.params)}", CLOSURE, []
    if isinstance(value, RefValue):
        return "ref", DATA, [value.value]
    return "tuple", DATA, list(value)


def _word(value: Any) -> str:
    if isinstance(value, (np.ndarray, np.generic)) and value.ndim == 0:
        text = str(np.asarray(value)[()])
    else:
        text = short_text(value, CELL) or value_text(value, 2)
    text = visible(text)
    return text if len(text) <= CELL else f"{text[: CELL - 1]}…"
