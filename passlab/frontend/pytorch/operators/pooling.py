"""Maxima and means over windows."""

from __future__ import annotations

import math
from typing import Any

from passlab.frontend.pooling import Windows, argmax_indices, pool
from passlab.frontend.pytorch.entries import aten
from passlab.frontend.pytorch.node import TorchNode
from passlab.ir.expr import Expr


def _spatial_rank(n: TorchNode) -> int:
    # The digit before the `d` in a name such as `aten.max_pool2d_with_indices.default`.
    return int(n.op_type.partition("d_")[0].partition("d.")[0][-1])


def _with_batch(n: TorchNode, x: Expr, rank: int) -> tuple[Expr, bool]:
    is_unbatched = n.rank(x) == rank + 1
    return (n("expand_dims", x, axis=0) if is_unbatched else x), is_unbatched


def _without_batch(n: TorchNode, x: Expr, is_unbatched: bool) -> Expr:
    return n("squeeze", x, axis=[0]) if is_unbatched else x


def _windows(n: TorchNode, rank: int, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Windows:
    # Without a stride, windows lie side by side.
    size = n.static_ints(kernel, rank)
    pads = n.static_ints(padding, rank)
    return Windows(size, n.static_ints(stride, rank) if stride else size, n.static_ints(dilation, rank), [*pads, *pads])


@aten("max_pool1d", "max_pool2d", "max_pool3d")
def max_pool(
    n: TorchNode,
    x: Expr,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Expr:
    """`nn.max_pool1d`, `nn.max_pool2d` or `nn.max_pool3d`."""
    rank = _spatial_rank(n)
    x, is_unbatched = _with_batch(n, x, rank)
    return _without_batch(
        n, pool(n, "max", x, _windows(n, rank, kernel_size, stride, padding, dilation), ceil_mode), is_unbatched
    )


@aten("max_pool1d_with_indices", "max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool_with_indices(
    n: TorchNode,
    x: Expr,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> list[Any]:
    """Maximum pooling of any rank; the indices of the maxima by `argmax`."""
    rank = _spatial_rank(n)
    x, is_unbatched = _with_batch(n, x, rank)
    windows = _windows(n, rank, kernel_size, stride, padding, dilation)
    result = _without_batch(n, pool(n, "max", x, windows, ceil_mode), is_unbatched)
    return [result, _without_batch(n, argmax_indices(n, x, windows, ceil_mode, whole=False), is_unbatched)]


@aten("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(
    n: TorchNode,
    x: Expr,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Expr:
    """`nn.avg_pool1d`, `nn.avg_pool2d` or `nn.avg_pool3d`."""
    rank = _spatial_rank(n)
    x, is_unbatched = _with_batch(n, x, rank)
    windows = _windows(n, rank, kernel_size, stride, padding, 1)
    if divisor_override is not None:
        if ceil_mode:
            n.refuse("has a divisor of its own and `ceil_mode`")
        # The mean with padding has the same divisor everywhere, the size of the window, so it can be exchanged.
        mean = pool(n, "avg", x, windows, False, count_include_pad=True)
        result = n("multiply", mean, math.prod(windows.kernel) / divisor_override)
    else:
        result = pool(n, "avg", x, windows, ceil_mode, count_include_pad=count_include_pad)
    return _without_batch(n, result, is_unbatched)


@aten(
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d"
)
def adaptive_avg_pool(n: TorchNode, x: Expr, output_size: Any) -> Expr:
    """`nn.adaptive_avg_pool1d` to `nn.adaptive_avg_pool3d`; `nn.global_avg_pool2d` to a single element."""
    return _adaptive(n, x, output_size, "avg")


@aten("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(n: TorchNode, x: Expr, output_size: Any) -> list[Any]:
    """`nn.adaptive_max_pool1d` to `nn.adaptive_max_pool3d`; the indices of the maxima are not available."""
    return [_adaptive(n, x, output_size, "max"), None]


def _adaptive(n: TorchNode, x: Expr, output_size: Any, kind: str) -> Expr:
    rank = _spatial_rank(n)
    x, is_unbatched = _with_batch(n, x, rank)
    target = output_size if isinstance(output_size, list) else [output_size] * rank
    own = n.shape(x)[2:]
    size = [n.static_int(w) if w is not None else n.static_shape(x, [2 + at])[0] for at, w in enumerate(target)]
    # Windows of an unknown size are those of a reduction where the result has one element.
    if rank == 2 and size == [1, 1]:
        result = n(f"nn.global_{kind}_pool2d", x)
    elif not all(isinstance(dim, int) for dim in own) and all(s == 1 for s in size):
        result = n("mean" if kind == "avg" else "max", x, axis=list(range(2, 2 + rank)), keepdims=True)
    else:
        result = n(f"nn.adaptive_{kind}_pool{rank}d", x, output_size=size)
    return _without_batch(n, result, is_unbatched)
