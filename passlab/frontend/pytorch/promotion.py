"""PyTorch's rules for the common dtype of operands.

Tensors with dimensions decide; a scalar tensor counts only if its kind (bool < integer < float) is higher, a Python
number only if its kind is higher than those of both. Source: the manual page *Tensor Attributes*, section *Type
Promotion*.
"""

from __future__ import annotations

from collections.abc import Iterable

from passlab.op.dtypes import array_dtype

BOOL, INTEGER, FLOAT = range(3)
_DEFAULTS = ("bool", "int64", "float32")
Operand = tuple[str, int]  # a dtype, and its weight: 2 for a tensor with dimensions, 1 for one without, 0 for a number


def kind_of(dtype: str) -> int:
    """Return the kind of a dtype: bool, integer or floating-point."""
    return BOOL if dtype == "bool" else FLOAT if "float" in dtype else INTEGER


def number_dtype(value: bool | int | float) -> str:
    """Return the dtype of a Python number."""
    return _DEFAULTS[BOOL if isinstance(value, bool) else INTEGER if isinstance(value, int) else FLOAT]


def common_dtype(operands: Iterable[Operand]) -> str:
    """Return the common dtype of operands by PyTorch's rules."""
    best: dict[int, str] = {}
    for dtype, weight in operands:
        best[weight] = wider(best[weight], dtype) if weight in best else dtype
    dtypes = [best[weight] for weight in sorted(best, reverse=True)]
    result = dtypes[0]
    for dtype in dtypes[1:]:
        result = dtype if kind_of(dtype) > kind_of(result) else result
    return result


def wider(a: str, b: str) -> str:
    """Return the common dtype of two operands of the same weight."""
    if a == b:
        return a
    if kind_of(a) != kind_of(b):
        return a if kind_of(a) > kind_of(b) else b
    smaller, larger = sorted((a, b), key=lambda name: array_dtype(name).itemsize)
    sizes = array_dtype(smaller).itemsize, array_dtype(larger).itemsize
    if kind_of(a) == FLOAT:
        return larger if sizes[0] < sizes[1] else "float32"  # float16 and bfloat16
    if smaller.startswith("u") == larger.startswith("u") or (smaller.startswith("u") and sizes[0] < sizes[1]):
        return larger
    return f"int{min(64, 16 * sizes[1])}"  # an unsigned dtype of at least the same size needs another bit
