"""Convolutions, including transposed ones."""

from __future__ import annotations

from typing import Any

from passlab.frontend.pooling import split_padding
from passlab.frontend.pytorch.entries import aten
from passlab.frontend.pytorch.node import TorchNode
from passlab.ir.expr import Expr


@aten("convolution", "_convolution")
def convolution(
    n: TorchNode,
    x: Expr,
    weight: Expr,
    bias: Expr | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    *_: Any,
) -> Expr:
    """`nn.conv1d` to `nn.conv3d`, or a transposed convolution, and `nn.bias_add`."""
    rank = n.rank(weight) - 2
    if not 1 <= rank <= 3:
        n.refuse("takes images with one to three spatial axes", found=f"{rank}")
    is_unbatched = n.rank(x) == rank + 1
    x = n("expand_dims", x, axis=0) if is_unbatched else x
    strides, dilations = n.static_ints(stride, rank), n.static_ints(dilation, rank)
    pads: Any = padding if isinstance(padding, str) else n.static_ints(padding, rank)
    first, second, *kernel = n.static_shape(weight)
    windows: dict[str, Any] = {"strides": strides, "dilation": dilations, "groups": groups, "kernel_size": kernel}
    # The weight of a convolution begins with the channels of the result, that of a transposed one with those of `x`.
    if transposed:
        windows |= {"channels": second * groups, "padding": [*pads, *pads]}
        windows["output_padding"] = n.static_ints(output_padding, rank)
    else:
        windows |= {"channels": first, "padding": _pads(n, weight, pads, dilations)}
    result = n(f"nn.conv{rank}d_transpose" if transposed else f"nn.conv{rank}d", x, weight, **windows)
    result = result if bias is None else n("nn.bias_add", result, bias, axis=1)
    return n("squeeze", result, axis=[0]) if is_unbatched else result


def _pads(n: TorchNode, weight: Expr, pads: Any, dilations: list[int]) -> list[int]:
    """Return the padding before and after each axis; `same` puts more after."""
    if pads == "valid":
        return [0] * 2 * len(dilations)
    if pads == "same":
        total = [step * (size - 1) for step, size in zip(dilations, n.static_shape(weight)[2:], strict=True)]
        return split_padding(total)
    return [*pads, *pads]


@aten("conv1d", "conv2d", "conv3d")
def conv(
    n: TorchNode,
    x: Expr,
    weight: Expr,
    bias: Expr | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Expr:
    """`nn.conv1d`, `nn.conv2d` or `nn.conv3d`, and `nn.bias_add`."""
    return convolution(n, x, weight, bias, stride, padding, dilation, False, 0, groups)


@aten("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def conv_transpose(
    n: TorchNode,
    x: Expr,
    weight: Expr,
    bias: Expr | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Expr:
    """`nn.conv1d_transpose` to `nn.conv3d_transpose`, and `nn.bias_add`."""
    return convolution(n, x, weight, bias, stride, padding, dilation, True, output_padding, groups)
