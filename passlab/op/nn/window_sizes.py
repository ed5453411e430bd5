"""Arithmetic of sliding windows: strides, padding and dilation as numbers per axis, and the resulting sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from passlab.errors import AttrsError, Diagnostic, RelationError
from passlab.ir.types import ANY, Dim


def repeat_number(value: object, rank: int) -> Any:
    """Return one number as `rank` equal numbers, as Relay's Python interface does; other values unchanged."""
    return (value,) * rank if isinstance(value, int) else value


def on_axes(rank: int) -> Callable[[Any], Any]:
    """Return a function that repeats one number for each of `rank` axes, for the Python signature of an operator."""
    return lambda value: repeat_number(value, rank)


def as_list(value: object) -> Any:
    """Return one number as a list of one, for the Python signature of an operator."""
    return (value,) if isinstance(value, int) else value


def pad(rank: int) -> Callable[[Any], tuple[int, ...]]:
    """Return a function that converts padding to `2 * rank` numbers, for the Python signature of an operator."""
    return lambda value: full_padding(value, rank)


def window_parameters(rank: int) -> dict[str, Any]:
    """Return the conversions of the window's parameters in the Python signatures of convolutions."""
    per_axis = on_axes(rank)
    return {"strides": per_axis, "padding": pad(rank), "dilation": per_axis, "kernel_size": per_axis}


def full_padding(padding: Any, rank: int) -> tuple[int, ...]:
    """Return padding as `rank` numbers before and `rank` numbers after the axes.

    One number pads all sides; `rank` numbers pad both sides of each axis. Raises `AttrsError` for other counts.
    """
    if not isinstance(padding, Iterable):
        padding = (padding,)
    values = tuple(padding)
    if len(values) == 1:
        return values * (2 * rank)
    if len(values) == rank:
        return values * 2
    if len(values) == 2 * rank:
        return values
    raise AttrsError(
        Diagnostic(f"padding has {len(values)} numbers", expected=f"1, {rank} or {2 * rank}", found=str(list(values)))
    )


def check_lengths(rank: int, *, spare: bool = False, **lists: Sequence[int] | None) -> None:
    """Raise `RelationError` unless each list has one number for each of `rank` axes.

    With `spare` there may be more numbers if all are equal: Relay reads the first ones and ignores the rest, and
    programs that write 1 for every dimension rely on it.
    """
    for name, values in lists.items():
        if spare and values is not None and len(values) > rank and len(set(values)) == 1:
            continue
        if values is not None and len(values) != rank:
            raise RelationError(
                Diagnostic(
                    f"{name} has {len(values)} numbers",
                    expected=f"{rank}, one for each spatial axis",
                    found=str(list(values)),
                )
            )


def check_positive(**lists: Sequence[int] | None) -> None:
    """Raise `RelationError` unless all numbers are positive."""
    for name, values in lists.items():
        if values and min(values) < 1:
            raise RelationError(Diagnostic(f"{name} must be positive", found=str(list(values))))


def split_padding(padding: Sequence[int], rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the padding before and after each axis. Raises `RelationError` for an invalid number of values."""
    try:
        full = full_padding(padding, rank)
    except AttrsError as error:
        raise RelationError(error.diagnostics[0]) from None
    if min(full) < 0:
        raise RelationError(
            Diagnostic("padding must not be negative", found=str(list(padding)), hint="crop the data with nn.pad")
        )
    return full[:rank], full[rank:]


def window_size(
    size: Dim, window: Dim, stride: int, before: int, after: int, dilation: int, *, ceil: bool = False, axis: int = 0
) -> Dim:
    """Return the number of windows along one axis, symbolic if its size is.

    Raises `RelationError` if the window is larger than the padded axis.
    """
    if not isinstance(window, int):
        return ANY
    slack = size + (before + after - (window - 1) * dilation - 1)
    if isinstance(slack, int) and slack < 0:
        raise RelationError(
            Diagnostic(
                f"the window is larger than spatial axis {axis}",
                expected=f"at most {size + before + after} (the size {size} and its padding)",
                found=f"{(window - 1) * dilation + 1}",
                hint="pad the data or use a smaller window",
            ),
            0,
        )
    return (slack + stride - 1 if ceil else slack) // stride + 1
