"""The geometry of sliding windows: kernels, strides and padding, from ONNX's attributes."""

from __future__ import annotations

from collections.abc import Sequence

from passlab.frontend.onnx.node import OnnxNode
from passlab.frontend.pooling import Windows, split_padding
from passlab.ir.expr import Expr

AUTO = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


def spatial_rank(n: OnnxNode, x: Expr) -> int:
    """Return the number of spatial axes of an image: 1, 2 or 3. Raises `ModelError` for others."""
    rank = n.rank(x) - 2
    if not 1 <= rank <= 3:
        n.refuse("takes images with one to three spatial axes", found=f"{n.rank(x)} dimensions in all")
    return rank


def windows_of(n: OnnxNode, x: Expr, kernel: Sequence[int]) -> Windows:
    """Return the windows that the attributes of a node describe over the image `x`."""
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
        pads = _same_padding(n, x, list(kernel), strides, dilations, auto == "SAME_UPPER")
    elif auto == "VALID":
        pads = [0] * 2 * rank
    if len(pads) != 2 * rank:
        n.refuse("needs padding before and after each spatial axis", f"{2 * rank} numbers", str(pads))
    return Windows(list(kernel), strides, dilations, pads)


def _same_padding(
    n: OnnxNode, x: Expr, kernel: list[int], strides: list[int], dilations: list[int], upper: bool
) -> list[int]:
    """Return the padding for which the result has the size of the image divided by the stride, rounded up."""
    totals = []
    for at, (size, step, dilation) in enumerate(zip(kernel, strides, dilations, strict=True)):
        extent = (size - 1) * dilation + 1
        if step == 1:
            totals.append(extent - 1)  # the same for every image, so its size may be unknown
        else:
            (length,) = n.static_shape(x, [2 + at])
            totals.append(max((-(-length // step) - 1) * step + extent - length, 0))
    return split_padding(totals, upper)


DATA = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
KERNEL = {1: "OIW", 2: "OIHW", 3: "OIDHW"}
