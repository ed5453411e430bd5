"""Relay's dtypes by name, and Relay's names for NumPy's dtypes."""

from __future__ import annotations

import re
import reprlib
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, DiagnosticError, did_you_mean

_DTYPE = re.compile(
    r"(?:(?:int|uint)(?:1|4|8|16|32|64)|float(?:16|32|64)|bfloat16|float8_e4m3fn|float8_e5m2|bool|handle)(?:x[1-9]\d*)?\Z"
)
_DTYPE_ALIASES = {
    "float": "float32",
    "int": "int32",
    "uint": "uint32",
    "uint1": "bool",
    "double": "float64",
    "half": "float16",
}
_dtype_names: dict[Any, str] = {}


def dtype_name(dtype: Any) -> str:
    """Return Relay's name of a dtype given as a name, a NumPy dtype or a NumPy scalar type.

    Raises `DiagnosticError` for a dtype that Relay does not have.
    """
    try:
        return _dtype_names[dtype]
    except (KeyError, TypeError):
        pass
    name = _DTYPE_ALIASES.get(dtype, dtype) if isinstance(dtype, str) else _numpy_name(dtype)
    if name == "" and isinstance(dtype, str):
        return ""
    if not _DTYPE.match(name):
        raise DiagnosticError(Diagnostic(f"unknown dtype `{name}`", hint=did_you_mean(name, DTYPES)))
    _dtype_names[dtype] = name
    return name


def _numpy_name(dtype: Any) -> str:
    """Return NumPy's name of one of its dtypes or scalar types, or of a value that it converts to one."""
    try:
        if not isinstance(dtype, bytes):  # type codes, whose support shrinks with each version of NumPy
            return str(np.dtype(dtype).name)
    except (TypeError, ValueError, SyntaxError):
        pass
    raise DiagnosticError(Diagnostic("a dtype is a name, or a dtype of NumPy", found=reprlib.repr(dtype)))


DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "bfloat16",
)  # fmt: skip
