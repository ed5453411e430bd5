"""Pad, and the pair of cropping and padding about the centre."""

from __future__ import annotations

from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.frontend.sizes import size_of
from passlab.ir.expr import Expr

_MODES = {"constant": "constant", "edge": "edge", "reflect": "reflect", "wrap": "wrap"}


@onnx_operator("Pad", 1, 2, 11, 13, 18, 19, 21, 23, 24, 25)
def pad(n: OnnxNode, x: Expr, pads: Expr | None = None, value: Expr | None = None, axes: Expr | None = None) -> Expr:
    """`nn.pad`, or `dyn.nn.pad` by computed widths; negative widths crop."""
    mode, rank = _MODES[n.choice("mode", "constant", tuple(_MODES))], n.rank(x)
    if n.version < 11:
        fill = n.constant(n.number("value", 0.0), x)
    else:
        fill = n.constant(0, x) if value is None else n.scalar(value)
    if n.version < 11:
        widths = n.integers("paddings" if n.version == 1 else "pads")
    elif pads is None:
        n.refuse("lacks the input `pads`")
    elif n.value(pads) is None:
        return _dynamic(n, x, pads, fill, mode, axes)
    else:
        widths = n.constant_ints(pads, "the widths")
    positions = list(range(rank)) if axes is None else [n.axis(a, rank) for a in n.constant_ints(axes, "the axes")]
    if len(widths) != 2 * len(positions):
        n.refuse("needs a width before and after each axis", str(2 * len(positions)), str(len(widths)))
    sides = [[0, 0] for _ in range(rank)]
    for at, axis in enumerate(positions):
        sides[axis] = [widths[at], widths[at + len(positions)]]
    return pad_sides(n, x, sides, fill, mode)


def pad_sides(n: OnnxNode, x: Expr, sides: list[list[int]], fill: Expr, mode: str) -> Expr:
    """Return `x` with widths added at the sides of each axis, or cropped if they are negative."""
    for axis, (before, after) in enumerate(sides):
        if before < 0 or after < 0:
            end = after if after < 0 else 2**63 - 1  # behind any end, so nothing is cropped there
            x = n("strided_slice", x, begin=[max(-before, 0)], end=[end], strides=[1], axes=[axis])
    sides = [[max(before, 0), max(after, 0)] for before, after in sides]
    if not any(map(any, sides)):
        return x
    if mode == "wrap":
        return _wrap(n, x, sides)
    if n.dtype(x) == "bool":  # `nn.pad` takes numbers only
        x, fill = n.cast(x, "uint8"), n.cast(fill, "uint8")
        return n.cast(n("nn.pad", x, pad_width=sides, pad_value=fill, pad_mode=mode), "bool")
    return n("nn.pad", x, pad_width=sides, pad_value=fill, pad_mode=mode)


def _wrap(n: OnnxNode, x: Expr, sides: list[list[int]]) -> Expr:
    """Return `x` padded periodically along each axis."""
    for axis, (before, after) in enumerate(sides):
        if not before and not after:
            continue
        length = n.shape(x)[axis]
        if isinstance(length, int):
            n.check_size(before + length + after)
            places = n.constant([position % length for position in range(-before, length + after)], "int64")
        else:
            places = _wrapped(n, x, axis, n.constant(before, "int64"), n.constant(after, "int64"))
        x = n("take", x, places, axis=axis)
    return x


def _wrapped(n: OnnxNode, x: Expr, axis: int, before: Expr, after: Expr) -> Expr:
    """Return the places along an axis of a periodic tensor, with so many before and after its own."""
    size = size_of(n, x, axis)
    length = n.constant(size, "int64") if isinstance(size, int) else n.scalar(size)
    end = n("add", length, after)
    return n("floor_mod", n("arange", n("negative", before), end, n.constant(1, "int64"), dtype="int64"), length)


def _dynamic(n: OnnxNode, x: Expr, pads: Expr, fill: Expr, mode: str, axes: Expr | None) -> Expr:
    rank = n.rank(x)
    if axes is not None:
        # All other axes have the width 0, which is the last element of `known`.
        positions = [n.axis(axis, rank) for axis in n.constant_ints(axes, "the axes")]
        known = n.concat([pads, n("zeros", shape=[1], dtype=n.dtype(pads))])
        places = [positions.index(axis) if axis in positions else 2 * len(positions) for axis in range(rank)]
        places += [at + len(positions) if at < len(positions) else at for at in places]
        pads = n("take", known, n.constant(places, "int64"), axis=0)
    if mode == "wrap":
        for axis in range(rank):
            before, after = (n.scalar(n("take", pads, n.constant([at], "int64"), axis=0)) for at in (axis, axis + rank))
            x = n("take", x, _wrapped(n, x, axis, n.cast(before, "int64"), n.cast(after, "int64")), axis=axis)
        return x
    # ONNX lists all widths before the axes, then all after; Relay has pairs.
    widths = n("transpose", n("reshape", pads, newshape=[2, n.rank(x)]), axes=[1, 0])
    return n("nn.pad", x, pad_width=widths, pad_value=fill, pad_mode=mode)
