"""Padding."""

from __future__ import annotations

from typing import Any

from passlab.frontend.pytorch.entries import aten
from passlab.frontend.pytorch.node import TorchNode
from passlab.ir.expr import Expr


def _pad_widths(n: TorchNode, x: Expr, pads: list[Any]) -> list[list[int]]:
    """Return padding by axis: PyTorch names the last axis first."""
    values = n.static_ints(pads)
    pairs = [values[at : at + 2] for at in range(0, len(values), 2)][::-1]
    return [[0, 0]] * (n.rank(x) - len(pairs)) + pairs


@aten("constant_pad_nd")
def constant_pad(n: TorchNode, x: Expr, pad: list[Any], value: Any = 0) -> Expr:
    """`nn.pad`; negative widths crop by `strided_slice`."""
    sides = _pad_widths(n, x, pad)
    # `nn.pad` takes no negative widths: such a side is cropped first.
    cut = [(axis, before, after) for axis, (before, after) in enumerate(sides) if before < 0 or after < 0]
    if cut:
        # A slice ends `after` elements before the end, or far beyond it.
        ends = [min(after, 0) or 2**63 - 1 for _, _, after in cut]
        begins = [max(-before, 0) for _, before, _ in cut]
        x = n("strided_slice", x, begin=begins, end=ends, strides=[1] * len(cut), axes=[axis for axis, _, _ in cut])
    widths = [[max(before, 0), max(after, 0)] for before, after in sides]
    if not any(map(any, widths)):
        return x
    return n("nn.pad", x, pad_width=widths, pad_value=n.tensor(value, n.dtype(x)))


@aten("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(n: TorchNode, x: Expr, padding: list[Any]) -> Expr:
    """`nn.mirror_pad`."""
    return n("nn.mirror_pad", x, pad_width=_pad_widths(n, x, padding), mode="REFLECT")


@aten("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication_pad(n: TorchNode, x: Expr, padding: list[Any]) -> Expr:
    """`nn.pad` by the elements at the edge."""
    return n("nn.pad", x, pad_width=_pad_widths(n, x, padding), pad_mode="edge")


def _around(n: TorchNode, x: Expr, axis: int, before: int, after: int) -> Expr:
    """Return a periodic tensor with more elements at the ends of an axis; a negative number takes some away."""
    if before < 0 or after < 0:
        n.refuse("takes elements away and adds some in turn", found=f"{before} and {after}")
    ends = [(-before, 2**63 - 1)] * (before > 0), [(0, after)] * (after > 0)
    first, last = (
        [n("strided_slice", x, begin=[a], end=[b], strides=[1], axes=[axis]) for a, b in end] for end in ends
    )
    return n.concat([*first, x, *last], axis)


@aten("pad")
def pad(n: TorchNode, x: Expr, pad: list[Any], mode: str = "constant", value: Any = None) -> Expr:
    """`nn.pad`, `nn.mirror_pad`, or `concatenate` of slices from the other end."""
    if mode == "reflect":
        return reflection_pad(n, x, pad)
    if mode == "replicate":
        return replication_pad(n, x, pad)
    if mode == "circular":
        for axis, (before, after) in enumerate(_pad_widths(n, x, pad)):
            if before or after:
                x = _around(n, x, axis, before, after)
        return x
    if mode != "constant":
        n.refuse("pads in a way that Relay does not have", found=mode)
    return constant_pad(n, x, pad, 0 if value is None else value)
