"""Short texts of values in a trace, and `Unwritten`: a tensor that no kernel has written yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.evaluate.values import ADTValue, Closure, RefValue, value_text
from passlab.vm.objects import Storage, VMClosure


@dataclass(frozen=True)
class Unwritten:
    """An allocated tensor before its first write: it has a shape and a dtype, and no value."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __repr__(self) -> str:
        return f"{kind_text(self)}, not written yet"


def kind_text(value: Any) -> str:
    """Return the kind of a value: `float32[2, 8]`, `tuple of 2`, `Cons`, `storage of 64 bytes`."""
    match value:
        case None:
            return ""
        case np.ndarray() | Unwritten():
            return f"{value.dtype.name}[{', '.join(map(str, value.shape))}]" if value.shape else value.dtype.name
        case tuple():
            return f"tuple of {len(value)}"
        case ADTValue(constructor=constructor):
            return constructor.name_hint
        case Storage(buffer=buffer):
            return f"storage of {buffer.size:,} bytes"
        case VMClosure():
            return "closure"
        case Closure():
            return "function"
        case RefValue():
            return "cell"
        case _:
            return type(value).__name__


def short_text(value: Any, most: int = 60) -> str:
    """Return a value as one short line: scalars as numbers, tensors by kind and range."""
    if value is None:
        return "-"
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return f"{value} {value.dtype.name}"  # `str` prints the fewest digits that identify it in its dtype
        return f"{kind_text(value)} {range_text(value)}".rstrip()
    if isinstance(value, tuple):
        inner = ", ".join(kind_text(v) or repr(v) for v in value[:4])
        return f"({inner}{', ...' if len(value) > 4 else ''})"
    if isinstance(value, ADTValue):
        text = value_text(value, 12)
        return text if len(text) <= most else f"{text[: most - 3]}..."
    return repr(value) if isinstance(value, (int, Unwritten)) else kind_text(value)


def range_text(tensor: np.ndarray[Any, Any]) -> str:
    """Return the range of the finite elements of a tensor, and how many are NaN or infinite."""
    if tensor.size == 0:
        return "empty"
    if tensor.dtype.kind not in "fiubV" and tensor.dtype.name != "bfloat16":
        return ""
    numbers = tensor.astype(np.float64, copy=False).reshape(-1)
    finite = np.isfinite(numbers)
    non_finite = numbers.size - int(finite.sum())
    if non_finite == 0:
        return f"{numbers.min():.4g} .. {numbers.max():.4g}"
    nan = int(np.isnan(numbers).sum())
    parts = [f"{nan:,} NaN"] if nan else []
    parts += [f"{non_finite - nan:,} inf"] if non_finite > nan else []
    if finite.any():
        parts.insert(0, f"{numbers[finite].min():.4g} .. {numbers[finite].max():.4g}")
    return ", ".join(parts)
