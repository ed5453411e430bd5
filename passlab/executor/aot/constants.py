"""Constants and attributes of a program as Python text; large arrays go into a file next to the source."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

from passlab.ir.expr import Expr
from passlab.op.dtypes import is_extended, is_float
from passlab.vm.kernels.kernel_text import Names, keyword_argument, literal

Array = np.ndarray[Any, Any]
INLINE_ELEMENTS = 16  # constants with more elements go into the file


class Constants:
    """The constants of one module. `lines` define them; `arrays` go into the file.

    `attributes` is the name of the class `prelude.Attributes` in the module.
    """

    def __init__(self, names: Names, attributes: str) -> None:
        self.names = names
        self.attributes = attributes
        self.lines: list[str] = []
        self.arrays: dict[str, Array] = {}
        self.array_names: dict[Any, str] = {}
        self.records: dict[str, str] = {}
        self.needs_ml_dtypes = False

    def scalar(self, dtype: str, value: Any) -> str:
        """Return the name of a number of a standard dtype."""
        return self.array(np.asarray(value, dtype))

    def array(self, value: Array) -> str:
        """Return the name of an array. Equal small arrays share one; large ones are compared by identity for speed."""
        # An id identifies an array only while it lives; `arrays` keeps the large ones.
        key = (value.dtype, value.shape, value.tobytes() if value.size <= INLINE_ELEMENTS else id(value))
        if key not in self.array_names:
            self.array_names[key] = self._define(value)
        return self.array_names[key]

    def _define(self, value: Array) -> str:
        dtype, kind, standard = _kind_of(value.dtype)
        self.needs_ml_dtypes |= not standard
        if value.size <= INLINE_ELEMENTS and _holds_marked_nan(value):
            bits = f"u{value.dtype.itemsize}"
            name = self.names.make(f"table_{len(self.array_names)}")
            text = f"np.array({value.reshape(-1).view(bits).tolist()}, {bits!r}).view({kind}).reshape({value.shape})"
            self.lines.append(f"{name} = {text}" + ("" if value.ndim else "[()]"))
            if value.ndim:
                self.lines.append(f"{name}.flags.writeable = False")
        elif value.ndim == 0:
            number = value.item() if standard else float(value)
            name = self.names.make(f"{dtype}_{_identifier_of(repr(number))}")
            self.lines.append(f"{name} = {kind}({_element_text(number)})")
        elif value.size <= INLINE_ELEMENTS and standard:
            name = self.names.make(f"table_{len(self.array_names)}")
            text = f"[{', '.join(map(_element_text, value.reshape(-1).tolist()))}]"
            shape = "" if value.ndim == 1 else f".reshape({', '.join(map(str, value.shape))})"
            self.lines.append(f"{name} = np.array({text}, {kind}){shape}")
            self.lines.append(f"{name}.flags.writeable = False")
        else:
            name = self.names.make(f"p{len(self.arrays)}")
            # NumPy's file format has no dtypes of ml_dtypes: their bits are stored as unsigned integers.
            self.arrays[name] = value if standard else value.view(f"u{value.dtype.itemsize}")
            self.lines.append(f'{name} = constants["{name}"]' + ("" if standard else f".view({kind})"))
        return name

    def record(self, attrs: Any, hint: str) -> str:
        """Return the name of a record of attributes, the text "None" for a call without attributes."""
        if attrs is None:
            return "None"
        # An attribute that is an expression is an input of the operator too, and the kernel reads it there.
        fields = ", ".join(keyword_argument(k, "None" if isinstance(v, Expr) else literal(v)) for k, v in attrs.items())
        text = f"{self.attributes}({fields})"
        if text not in self.records:
            self.records[text] = self.names.make(f"{hint}_attrs")
        return self.records[text]


def _holds_marked_nan(value: Array) -> bool:
    """Whether a NaN in an array has a sign or a payload, which the text `nan` has not."""
    if not is_float(value.dtype):
        return False
    bits = f"u{value.dtype.itemsize}"
    nan = np.isnan(value)
    plain = np.asarray(np.nan, value.dtype).view(bits)
    return bool((nan & (value.view(bits) != plain)).any())


@cache
def _kind_of(dtype: np.dtype[Any]) -> tuple[str, str, bool]:
    """Return the name of a dtype, the text of its class, and whether it is NumPy's own."""
    if is_extended(dtype):
        return dtype.name, f"ml_dtypes.{dtype.name}", False
    return dtype.name, f"np.{dtype.type.__name__}", True


def _element_text(value: Any) -> str:
    """Return an element of an array as Python text."""
    if isinstance(value, complex):
        return f"complex({literal(value.real)}, {literal(value.imag)})"
    return literal(value)


def _identifier_of(text: str) -> str:
    """Return the text of a number as a part of an identifier: `-0.5` becomes `minus_0_5`."""
    return re.sub(r"[^0-9A-Za-z]+", "_", text.replace("-", "minus_").replace("+", "")).strip("_").removesuffix("_0")
