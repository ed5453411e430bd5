"""`topi.utils` and `topi.nn.utils`: shapes and paddings in a uniform form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Padding = int | str | Sequence[int]


def get_const_int(expr: Any) -> int:
    """Return a number as Python's."""
    return int(expr)


def get_const_float(expr: Any) -> float:
    """Return a number as Python's."""
    return float(expr)


def get_const_tuple(in_tuple: Sequence[Any]) -> tuple[Any, ...]:
    """Return a shape as a tuple; unknown dimensions stay as they are."""
    return tuple(int(dim) if hasattr(dim, "__index__") else dim for dim in in_tuple)


def sides(padding: Padding, kernel: Sequence[int]) -> tuple[int, ...]:
    """Return the padding of each axis, first before all axes and then after them."""
    rank = len(kernel)
    if isinstance(padding, str):
        whole = [size - 1 if padding == "SAME" else 0 for size in kernel]
        before = [(size + 1) // 2 for size in whole]
        return (*before, *(size - first for size, first in zip(whole, before, strict=True)))
    values = (padding,) if isinstance(padding, int) else tuple(padding)
    return values if len(values) == 2 * rank else (values * (rank // len(values))) * 2


def get_pad_tuple1d(padding: Padding, kernel: Any) -> tuple[int, ...]:
    """Return the padding (left, right)."""
    return sides(padding, (kernel,) if isinstance(kernel, int) else kernel)


def get_pad_tuple(padding: Padding, kernel: Sequence[int]) -> tuple[int, ...]:
    """Return the padding (top, left, bottom, right)."""
    return sides(padding, kernel)


def get_pad_tuple3d(padding: Padding, kernel: Sequence[int]) -> tuple[int, ...]:
    """Return the padding (front, top, left, back, bottom, right)."""
    return sides(padding, kernel)


def simplify(expr: Any) -> Any:
    """Return a dimension as it is: dimensions are always simplified."""
    return expr


def equal_const_int(expr: Any, value: int) -> bool:
    """Whether a dimension equals a number."""
    return bool(expr == value)


def nchw_pack_layout(layout_info: str) -> bool:
    """Whether a layout is NCHW with parts of batch and channel split off: `NCHW4n8c`."""
    return layout_info[:4] == "NCHW" and "c" in layout_info and "n" in layout_info and layout_info[4:5].isdigit()


def nchw_xc_layout(layout_info: str) -> bool:
    """Whether a layout is NCHW with a part of the channel split off: `NCHW8c`."""
    return layout_info[:4] == "NCHW" and layout_info[-1] == "c" and layout_info[4:-1].isdigit()
