"""Constants and attributes of a program as Python text: small ones in the source, large ones in a file beside it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from passlab.ir.expr import Expr
from passlab.op.dtypes import is_extended
from passlab.vm.kernels.python_text import Names, keyword_argument, literal

Array = np.ndarray[Any, Any]
WRITTEN = 16  # elements; constants with more stand in the file


class Constants:
    """The constants of one module. `lines` define them; `arrays` belong into the file.

    `attributes` is the name of the class of records of attributes.
    """

    def __init__(self, names: Names, attributes: str) -> None:
        self.names = names
        self.attributes = attributes
        self.lines: list[str] = []
        self.arrays: dict[str, Array] = {}
        self.known: dict[Any, str] = {}
        self.records: dict[str, str] = {}
        self.foreign = False  # whether ml_dtypes is needed

    def scalar(self, dtype: str, value: Any) -> str:
        """Return the name of a number of a standard dtype."""
        return self.array(np.asarray(value, dtype))

    def array(self, value: Array) -> str:
        """Return the name of an array. Equal arrays are one."""
        key = (value.dtype.name, value.shape, value.tobytes() if value.size <= WRITTEN else id(value))
        if key not in self.known:
            self.known[key] = self._define(value)
        return self.known[key]

    def _define(self, value: Array) -> str:
        standard = not is_extended(value.dtype)
        kind = value.dtype.type.__name__ if standard else f"ml_dtypes.{value.dtype.name}"
        kind = f"np.{kind}" if standard else kind
        self.foreign |= not standard
        if value.ndim == 0:
            number = value.item() if standard else float(value)
            name = self.names.make(f"{value.dtype.name}_{_spoken(repr(number))}")
            self.lines.append(f"{name} = {kind}({_number(number)})")
        elif value.size <= WRITTEN and standard:
            name = self.names.make(f"table_{len(self.known)}")
            text = f"[{', '.join(map(_number, value.reshape(-1).tolist()))}]"
            shape = "" if value.ndim == 1 else f".reshape({', '.join(map(str, value.shape))})"
            self.lines.append(f"{name} = np.array({text}, {kind}){shape}")
            self.lines.append(f"{name}.flags.writeable = False")
        else:
            name = self.names.make(f"p{len(self.arrays)}")
            self.arrays[name] = value if standard else value.view(f"u{value.dtype.itemsize}")
            self.lines.append(f'{name} = constants["{name}"]' + ("" if standard else f".view({kind})"))
        return name

    def record(self, attrs: Any, hint: str) -> str:
        """Return the name of a record of attributes; None for a call that has none."""
        if attrs is None:
            return "None"
        fields = ", ".join(keyword_argument(k, self._value(v)) for k, v in attrs.items())
        text = f"{self.attributes}({fields})"
        if text not in self.records:
            self.records[text] = self.names.make(f"{hint}_attrs")
        return self.records[text]

    def _value(self, value: Any) -> str:
        """Return an attribute; expressions also are inputs of their operator, and kernels read them there."""
        return "None" if isinstance(value, Expr) else literal(value)


def _number(value: Any) -> str:
    """Return an element of an array as Python text."""
    if isinstance(value, complex):
        return f"complex({literal(value.real)}, {literal(value.imag)})"
    return literal(value)


def _spoken(text: str) -> str:
    return re.sub(r"[^0-9A-Za-z]+", "_", text.replace("-", "minus_").replace("+", "")).strip("_").removesuffix("_0")
