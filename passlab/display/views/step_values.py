"""The values of a trace as data for a browser: each once, in a line of text, tensors with a small picture.

Pictures are drawn as long as there is room; later tensors have only text, and a kernel draws them on request.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from passlab.debugger.values import Unwritten, short_text
from passlab.display.graphs.heap import heap_of
from passlab.display.views.tensors import nonfinite_code, picture
from passlab.errors import visible
from passlab.evaluate.values import value_text
from passlab.vm.objects import Storage

PICTURES = 700  # tensors drawn beforehand
HEAPS = 300  # data values and closures
# numbers of values: a register that was cleared, a value that is sent later, and no write at all
EMPTY, WAITING, NOTHING = 0, 1, -1


class StepValues:
    """Collects values; `add` returns the number of one."""

    def __init__(self, pictures: int = PICTURES) -> None:
        self.texts: list[str] = ["", "..."]
        self.nonfinite: list[int] = [0, 0]
        self.pictures: dict[int, Any] = {}
        self.heaps: dict[int, list[list[Any]]] = {}
        self.room = pictures
        self.tensors: dict[int, np.ndarray[Any, Any]] = {}  # those without a picture, by number
        self._by_text: dict[Any, int] = {}
        self._unwritten: dict[Any, int] = {}
        self._scalars: dict[Any, int] = {}
        self._storages: dict[int, int] = {}
        self._by_object: dict[
            tuple[int, bool], tuple[Any, int]
        ] = {}  # the object is kept, so that its id stays its own

    def add(self, value: Any, written: bool = True) -> int:
        """Return the number of a value; that of a tensor before anything was `written` into it is another one."""
        if value is None:
            return EMPTY
        if isinstance(value, int):
            return self._text(str(value), 0)
        key = (id(value), written)
        cached = self._by_object.get(key)
        if cached is not None:
            return cached[1]
        if isinstance(value, np.ndarray):
            number = self._tensor(value, written)
            if value.ndim == 0 or not written:
                return number  # found again by what it is
        elif type(value) is Storage:
            size = value.buffer.size
            if size not in self._storages:
                self._storages[size] = self._text(_line(value), 0)
            return self._storages[size]
        else:
            number = self._drawn(value)
        self._by_object[key] = (value, number)
        return number

    def _tensor(self, value: np.ndarray[Any, Any], written: bool) -> int:
        if not written:
            kind = value.shape, value.dtype
            if kind not in self._unwritten:
                self._unwritten[kind] = self._text(str(Unwritten(*kind)), 0)
            return self._unwritten[kind]
        if value.ndim == 0:
            key = value.dtype, value.tobytes()
            cached = self._scalars.get(key)
            if cached is None:
                text = f"{value.item()!r} {_name(value.dtype)}"
                cached = self._scalars[key] = self._text(text, nonfinite_code(value))
            return cached
        number = len(self.texts)
        self.texts.append(visible(short_text(value)))
        self.nonfinite.append(nonfinite_code(value))
        if self.room > 0:
            self.room -= 1
            drawn = picture(value)
            if drawn is not None:
                self.pictures[number] = drawn
        else:
            self.tensors[number] = value
        return number

    def _drawn(self, value: Any) -> int:
        """The number of a value that is shown as a line; objects that refer to others have a drawing as well."""
        boxes = heap_of(value) if len(self.heaps) < HEAPS else None
        if boxes is None:
            return self._text(_line(value), 0)
        number = len(self.texts)
        self.texts.append(visible(_line(value)))
        self.nonfinite.append(0)
        self.heaps[number] = boxes
        return number

    def _text(self, text: str, nonfinite: int) -> int:
        number = self._by_text.get(text)
        if number is None:
            number = self._by_text[text] = len(self.texts)
            self.texts.append(visible(text))
            self.nonfinite.append(nonfinite)
        return number

    def data(self) -> dict[str, Any]:
        """Return all of it as JSON-able data."""
        nonfinite = {number: kind for number, kind in enumerate(self.nonfinite) if kind}
        return {
            "texts": self.texts,
            "nonfinite": nonfinite,
            "pictures": self.pictures,
            "heaps": self.heaps,
            "late": sorted(self.tensors),
        }


@cache
def _name(dtype: np.dtype[Any]) -> str:
    """The name of a dtype; NumPy computes it each time, which is slow."""
    return dtype.name


def _line(value: Any) -> str:
    if isinstance(value, tuple):
        return short_text(value)
    text = short_text(value, 160)
    return text or value_text(value, 12)
