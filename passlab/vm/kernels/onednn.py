"""Convolutions and products of float32 by oneDNN, which is part of PyTorch on CPUs.

oneDNN packs weights into its own layout. A weight that cannot change (a constant of the program) is packed once and
cached for as long as the array lives. The bias, sum and ReLU after a product are computed while the sums are in
registers. Images have their channels last in memory, so nothing is transposed between convolutions: NumPy only sees
other strides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as fn

from passlab.ir.expr import Call, Expr, Function
from passlab.ir.op import op_name
from passlab.ir.walk import post_order
from passlab.op.nn.windows import full_padding
from passlab.vm.kernels.fused_product import Array, FrozenCache, FusedProduct, fuse, is_product, shape_of, users_in

Compute = Callable[[torch.Tensor, Array, Array | None, torch.Tensor | None], torch.Tensor]
ops: Any = torch.ops.mkldnn
NEEDED = (
    "_convolution_pointwise",
    "_convolution_transpose_pointwise",
    "_reorder_convolution_transpose_weight",
    "_linear_pointwise",
    "_reorder_linear_weight",
)
AVAILABLE = torch.backends.mkldnn.is_available() and all(hasattr(ops, name) for name in NEEDED)


@dataclass(frozen=True)
class Product:
    """A fused convolution or product.

    `compute` takes the data and the summand as tensors, the weight and the bias as NumPy arrays.
    """

    fused: FusedProduct
    compute: Compute


def find_products(function: Function) -> dict[Expr, Product]:
    """Return the products of a primitive function that oneDNN computes, by their last calls."""
    if not AVAILABLE:
        return {}
    users = users_in(function)
    calls = [
        n for n in post_order(function.body) if isinstance(n, Call) and op_name(n) in MAKERS and is_product(n, users)
    ]
    products: dict[Expr, Product] = {}
    for call in calls:
        maker = MAKERS[op_name(call)](call)
        if maker is not None:
            fused = fuse(call, users, adds=maker.adds, relu_after_sum=maker.adds_and_ends)
            products[fused.last] = Product(fused, maker.finish(fused.relu))
    return products


# ---------------------------------------------------------------- what oneDNN computes
@dataclass(frozen=True)
class ProductMaker:
    """A kind of product: `finish` makes its function; `adds` a tensor, then `adds_and_ends` in a ReLU."""

    finish: Callable[[bool], Compute]
    adds: bool = False
    adds_and_ends: bool = False


def _flat(array: Array) -> torch.Tensor:
    return torch.from_numpy(array.reshape(-1).copy())  # a copy: a `FrozenCache` must not refer to the array


def _copy(array: Array) -> torch.Tensor:
    return torch.from_numpy(np.array(array, order="C"))


def _images(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous(memory_format=torch.channels_last)


def _sizes(value: Any) -> list[int]:
    return [int(v) for v in value]


def _convolution(call: Call) -> ProductMaker | None:
    attrs: Any = call.attrs
    if (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "NCHW") != ("NCHW", "OIHW", "NCHW"):
        return None
    data, weight, result = map(shape_of, (*call.args, call))
    groups = int(attrs.groups)
    if weight[:2] != (result[1], data[1] // groups):
        return None  # depthwise, with the weight's axes channel and multiplier
    top, left, bottom, right = (int(p) for p in full_padding(attrs.padding, 2))
    # oneDNN pads both sides of an axis alike, so other padding is computed before.
    even = top == bottom and left == right
    pads, size = (
        ([top, left], list(data)) if even else ([0, 0], [*data[:2], data[2] + top + bottom, data[3] + left + right])
    )
    where = (pads, _sizes(attrs.strides), _sizes(attrs.dilation), groups)
    convolve = ops._convolution_pointwise
    reorder: Any = torch._C._nn.mkldnn_reorder_conv2d_weight

    def finish(relu: bool) -> Compute:
        weights, biases = FrozenCache(lambda w: reorder(_copy(w).to_mkldnn(), *where, size)), FrozenCache(_flat)

        def compute(x: Any, w: Array, bias: Array | None, other: Any) -> Any:
            x = _images(x if even else fn.pad(x, (left, right, top, bottom)))
            b = None if bias is None else biases(bias)
            if other is None:
                return convolve(x, weights(w), b, *where, "relu" if relu else "none", [], "")
            end: Any = ("relu", [], "") if relu else (None, [], None)
            return convolve.binary(x, _images(other), weights(w), b, *where, "add", 1.0, *end)

        return compute

    return ProductMaker(finish, adds=True, adds_and_ends=True)


def _transposed_convolution(call: Call) -> ProductMaker | None:
    attrs: Any = call.attrs
    if (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "NCHW") != ("NCHW", "IOHW", "NCHW"):
        return None
    top, left, bottom, right = (int(p) for p in full_padding(attrs.padding, 2))
    data, groups, strides = shape_of(call.args[0]), int(attrs.groups), _sizes(attrs.strides)
    extra = _sizes(attrs.output_padding)[:2]
    # PyTorch requires an output padding below the stride.
    if (top, left) != (bottom, right) or groups != 1 or any(e >= s for e, s in zip(extra, strides, strict=True)):
        return None
    where = ([top, left], extra, strides, _sizes(attrs.dilation), groups)
    convolve, reorder = ops._convolution_transpose_pointwise, ops._reorder_convolution_transpose_weight

    def finish(relu: bool) -> Compute:
        weights, biases = FrozenCache(lambda w: reorder(_copy(w), *where, list(data))), FrozenCache(_flat)
        end = "relu" if relu else "none"

        def compute(x: Any, w: Array, bias: Array | None, other: Any) -> Any:
            return convolve(_images(x), weights(w), None if bias is None else biases(bias), *where, end, [], "")

        return compute

    return ProductMaker(finish)


def _dense(call: Call) -> ProductMaker | None:
    rows = shape_of(call.args[0])
    if len(rows) != 2 or len(call.args) != 2 or rows[0] < FEWEST_ROWS:
        return None
    multiply, reorder = ops._linear_pointwise, ops._reorder_linear_weight

    def finish(relu: bool) -> Compute:
        weights, biases = FrozenCache(lambda w: reorder(_copy(w), rows[0])), FrozenCache(_flat)

        def compute(x: Any, w: Array, bias: Array | None, other: Any) -> Any:
            b = None if bias is None else biases(bias)
            if other is None:
                return multiply(x, weights(w), b, "relu" if relu else "none", [], "")
            return multiply.binary(x, other, weights(w), b, "add")

        return compute

    return ProductMaker(finish, adds=True)


FEWEST_ROWS = 4  # a product of fewer rows reads its weight once, so packing does not pay
MAKERS: dict[str, Callable[[Call], ProductMaker | None]] = {
    "nn.conv2d": _convolution,
    "nn.conv2d_transpose": _transposed_convolution,
    "nn.dense": _dense,
}
