"""The geometry of sliding windows: kernels, strides and padding, from ONNX's attributes."""

from __future__ import annotations

from collections.abc import Sequence

from passlab.frontend.onnx.node import OnnxNode
from passlab.frontend.pooling import Windows, split_padding
from passlab.frontend.sizes import Size, as_vector, size_of
from passlab.ir.expr import Expr

AUTO = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


def spatial_rank(n: OnnxNode, x: Expr) -> int:
    """Return the number of spatial axes of an image: 1, 2 or 3. Raises `ModelError` for others."""
    rank = n.rank(x) - 2
    if not 1 <= rank <= 3:
        n.refuse("takes images with one to three spatial axes", found=f"{n.rank(x)} dimensions in all")
    return rank


def windows_of(n: OnnxNode, x: Expr, kernel: Sequence[int], fill: Expr | None = None) -> tuple[Expr, Windows]:
    """Return an image and the windows over it that the attributes of a node describe.

    The image is `x`, unless its size decides the padding and is not known: then it is padded with `fill`, or 0.
    """
    rank = spatial_rank(n, x)
    strides, dilations = n.integers("strides", None) or [1] * rank, n.integers("dilations", None) or [1] * rank
    if not len(kernel) == len(strides) == len(dilations) == rank:
        n.refuse(
            "has windows of another rank than its image", f"{rank} sizes, strides and dilations", f"{list(kernel)}"
        )
    if min(*kernel, *strides, *dilations) < 1:
        n.refuse("has windows, strides or dilations below 1")
    auto = n.choice("auto_pad", "NOTSET", AUTO)
    pads = n.integers("pads", None) or [0] * 2 * rank
    if auto.startswith("SAME"):
        totals = _same_padding(n, x, list(kernel), strides, dilations)
        lengths = [total for total in totals if isinstance(total, int)]
        if len(lengths) < rank:
            x, pads = _pad_by_size(n, x, totals, fill, auto == "SAME_UPPER"), [0] * 2 * rank
        else:
            pads = split_padding(lengths, auto == "SAME_UPPER")
    elif auto == "VALID":
        pads = [0] * 2 * rank
    if len(pads) != 2 * rank:
        n.refuse("needs padding before and after each spatial axis", f"{2 * rank} numbers", str(pads))
    return x, Windows(list(kernel), strides, dilations, pads)


def _same_padding(n: OnnxNode, x: Expr, kernel: list[int], strides: list[int], dilations: list[int]) -> list[Size]:
    """Return the padding of each axis for which the result has the size of the image over the stride, rounded up."""
    totals: list[Size] = []
    for at, (size, step, dilation) in enumerate(zip(kernel, strides, dilations, strict=True)):
        extent = (size - 1) * dilation + 1
        if step == 1:
            totals.append(extent - 1)  # the same for every image, so its size may be unknown
            continue
        length = size_of(n, x, 2 + at)
        if isinstance(length, int):
            totals.append(max((-(-length // step) - 1) * step + extent - length, 0))
        else:
            last = n("floor_divide", n("subtract", length, 1), step)  # the number of the last window
            totals.append(n("maximum", n("subtract", n("add", n("multiply", last, step), extent), length), 0))
    return totals


def _pad_by_size(n: OnnxNode, x: Expr, totals: list[Size], fill: Expr | None, upper: bool) -> Expr:
    """Return `x` with `totals` elements more along its spatial axes, an odd one after them with `upper`."""
    widths: list[Size] = [0] * 4  # before and after the axes of the batch and the channels
    for total in totals:
        smaller = total // 2 if isinstance(total, int) else n("floor_divide", total, 2)
        rest = total - total // 2 if isinstance(total, int) else n("subtract", total, smaller)
        widths += [smaller, rest] if upper else [rest, smaller]
    pairs = n("reshape", as_vector(n, widths), newshape=[n.rank(x), 2])
    return n("nn.pad", x, pad_width=pairs, pad_value=n.constant(0, x) if fill is None else fill)


DATA = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
KERNEL = {1: "OIW", 2: "OIHW", 3: "OIDHW"}
