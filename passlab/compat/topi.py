"""`tvm.topi.testing` and `tvm.topi.utils`: reference implementations of operators, for tests; shapes and paddings.

The references take NumPy arrays. Names and parameters are TVM's; every value comes from the definitions of passlab's
operators (`passlab.definitions`), which are independent of the kernels.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from passlab import relay
from passlab.definitions import MEANING
from passlab.errors import Diagnostic, NodeValueError
from passlab.ir.expr import Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.types import TensorType
from passlab.op.dtypes import Array, as_array
from passlab.relay import create_executor, image, nn, vision


def by_definition(count: int, build: Callable[..., Expr]) -> Callable[..., Array]:
    """Return the function of arrays that evaluates the expression of `build` by definition.

    The first `count` parameters of `build` are variables there, and arrays here.
    """
    signature = inspect.signature(build)

    def reference(*args: Any, **options: Any) -> Array:
        bound = signature.bind(*args, **options)
        bound.apply_defaults()
        values = [np.asarray(value) for value in list(bound.arguments.values())[:count]]
        variables = [Var(f"x{at}", TensorType(value.shape, value.dtype.name)) for at, value in enumerate(values)]
        mod = IRModule.from_expr(Function(variables, build(*variables, *list(bound.arguments.values())[count:])))
        return np.asarray(create_executor("definition", mod).evaluate()(*values))

    return reference


# ---------------------------------------------------------------- convolutions
def _each(sizes: Any, rank: int) -> tuple[int, ...]:
    return (sizes,) * rank if isinstance(sizes, int) else tuple(int(size) for size in sizes)


def _convolve(operator: str, data: Any, weight: Any, layouts: str, stride: Any, padding: Any, **options: Any) -> Array:
    """Return a convolution in the wider dtype of data and weight; `layouts` are theirs: "NCHW OIHW"."""
    data_layout, kernel_layout = layouts.split()
    taps = [weight.shape[at] for at, axis in enumerate(kernel_layout) if axis in "DHW"]
    dilation = _each(options.pop("dilation", 1), len(taps))
    extents = [(size - 1) * factor + 1 for size, factor in zip(taps, dilation, strict=True)]
    attrs = {"groups": 1, "out_layout": "", **options, "dilation": dilation}
    attrs["output_padding"] = _each(options.get("output_padding", 0), len(taps))
    attrs |= {"strides": _each(stride, len(taps)), "padding": sides(padding, extents)}
    attrs |= {"data_layout": data_layout, "kernel_layout": kernel_layout}
    wide = [x if x.dtype.kind in "iu" else x.astype("float64") for x in (np.asarray(data), np.asarray(weight))]
    result = MEANING[operator](SimpleNamespace(**attrs), *wide)
    return as_array(result.astype(np.result_type(data, weight)))


def _convolution(operator: str, layouts: str, *options: str) -> Callable[..., Array]:
    """Return the function of data, weight, stride, padding and `options`, with data and weight in these layouts."""

    def reference(data: Any, weight: Any, stride: Any, padding: Any, *more: Any, **named: Any) -> Array:
        named |= dict(zip(options, more, strict=False))
        return _convolve(operator, data, weight, layouts, stride, padding, **named)

    return reference


conv1d_ncw_python = _convolution("nn.conv1d", "NCW OIW", "dilation")
group_conv1d_ncw_python = _convolution("nn.conv1d", "NCW OIW", "dilation", "groups")
conv2d_nchw_python = _convolution("nn.conv2d", "NCHW OIHW", "groups")
conv2d_nhwc_python = _convolution("nn.conv2d", "NHWC HWIO", "groups")
conv2d_hwcn_python = _convolution("nn.conv2d", "HWCN HWIO")
conv3d_ncdhw_python = _convolution("nn.conv3d", "NCDHW OIDHW", "groups")
conv3d_ndhwc_python = _convolution("nn.conv3d", "NDHWC DHWIO", "groups")
conv1d_transpose_ncw_python = _convolution("nn.conv1d_transpose", "NCW IOW", "output_padding")
group_conv1d_transpose_ncw_python = _convolution("nn.conv1d_transpose", "NCW IOW", "output_padding", "groups")
conv2d_transpose_nchw_python = _convolution("nn.conv2d_transpose", "NCHW IOHW", "output_padding")
conv3d_transpose_ncdhw_python = _convolution("nn.conv3d_transpose", "NCDHW IODHW", "output_padding")


def conv2d_transpose_nhwc_python(
    a_nhwc: Any, weight: Any, weight_format: str, stride: Any, padding: Any, output_padding: Any = (0, 0)
) -> Array:
    """Return the transposed convolution of (N, H, W, C) with a weight whose axes `weight_format` names."""
    reference = _convolution("nn.conv2d_transpose", f"NHWC {weight_format}", "output_padding")
    return reference(a_nhwc, weight, stride, padding, output_padding)


def depthwise_conv2d_python_nchw(input_np: Any, filter_np: Any, stride: Any, padding: Any) -> Array:
    """Return the convolution of each channel of (N, C, H, W) with its filters (C, multiplier, KH, KW)."""
    return conv2d_nchw_python(input_np, filter_np, stride, padding, len(filter_np))


def depthwise_conv2d_python_nhwc(input_np: Any, filter_np: Any, stride: Any, padding: Any) -> Array:
    """Return the convolution of each channel of (N, H, W, C) with its filters (KH, KW, C, multiplier)."""
    return _convolution("nn.conv2d", "NHWC HWOI", "groups")(input_np, filter_np, stride, padding, filter_np.shape[2])


def conv2d_backward_weight_python(
    dy_np: Any,
    x_np: Any,
    kernel_size: Sequence[int],
    stride: Any,
    padding: Any,
    layout: str = "NCHW",
    groups: int = 1,
    channels: int | None = None,
) -> Array:
    """Return the gradient of a convolution's weight, in OIHW, or in OHWI if the data are NHWC."""
    places = {"strides": _each(stride, 2), "padding": sides(padding, kernel_size), "dilation": (1, 1), "groups": groups}
    layouts = {"data_layout": layout, "kernel_layout": layout, "out_layout": "OIHW" if layout == "NCHW" else "OHWI"}
    attrs = SimpleNamespace(kernel_size=kernel_size, **places, **layouts)
    result = MEANING["nn.conv2d_backward_weight"](attrs, dy_np, x_np)
    return as_array(result.astype(np.result_type(dy_np, x_np)))


conv2d_backcward_weight_nchw_python = conv2d_backward_weight_python


def _pair(value: Any) -> tuple[int, ...]:
    return _each(value, 2)


deformable_conv2d_nchw_python = by_definition(
    3,
    lambda a_np, offset_np, w_np, stride, padding, dilation, deformable_groups, groups: nn.deformable_conv2d(
        a_np, offset_np, w_np, _pair(stride), _pair(padding), _pair(dilation), deformable_groups, groups,
        w_np.type_annotation.shape[0], w_np.type_annotation.shape[2:],
    ),
)  # fmt: skip
deformable_conv2d_nhwc_python = by_definition(
    3,
    lambda a_np, offset_np, w_np, stride, padding, dilation, deformable_groups, groups: nn.deformable_conv2d(
        a_np, offset_np, w_np, _pair(stride), _pair(padding), _pair(dilation), deformable_groups, groups,
        w_np.type_annotation.shape[3], w_np.type_annotation.shape[:2], "NHWC", "HWIO",
    ),
)  # fmt: skip
correlation_nchw_python = by_definition(
    2,
    lambda data1, data2, kernel_size, max_displacement, stride1, stride2, padding, is_multiply: nn.correlation(
        data1, data2, kernel_size, max_displacement, stride1, stride2, padding, is_multiply, "NCHW"
    ),
)


# ---------------------------------------------------------------- pooling
def poolnd_python(
    np_data: Any,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    padding_before: Sequence[int],
    padding_after: Sequence[int],
    pool_type: str,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
    dtype: str = "float32",
    layout: str | None = None,
) -> Array:
    """Return the mean (`pool_type` "avg") or the maximum ("max") of each window of 1, 2 or 3 axes."""
    pool = getattr(nn, f"{pool_type}_pool{len(kernel)}d")
    counting = (count_include_pad,) if pool_type == "avg" else ()
    rest = (layout or {1: "NCW", 2: "NCHW", 3: "NCDHW"}[len(kernel)], "", ceil_mode, *counting)
    sizes = (tuple(kernel), tuple(strides), tuple(dilation), (*padding_before, *padding_after))
    return by_definition(1, lambda x: pool(x, *sizes, *rest))(np.asarray(np_data, dtype))


def pool1d_ncw_python(
    np_data: Any,
    kernel: Any,
    strides: Any,
    padding: Sequence[int],
    out_shape: Any,
    pool_type: str,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
    dtype: str = "float32",
) -> Array:
    """Return the mean or the maximum of each window of (N, C, W)."""
    sizes = (_each(kernel, 1), _each(strides, 1), (1,), padding[:1], padding[1:])
    return poolnd_python(np_data, *sizes, pool_type, count_include_pad, ceil_mode, dtype)


def pool3d_ncdhw_python(
    np_data: Any,
    kernel: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    out_shape: Any,
    pool_type: str,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
    dtype: str = "float32",
) -> Array:
    """Return the mean or the maximum of each window of (N, C, D, H, W)."""
    sizes = (kernel, strides, (1, 1, 1), padding[:3], padding[3:])
    return poolnd_python(np_data, *sizes, pool_type, count_include_pad, ceil_mode, dtype)


adaptive_pool = by_definition(
    1,
    lambda np_data, out_size, pool_type, layout: getattr(
        nn, f"adaptive_{pool_type}_pool{len(np_data.type_annotation.shape) - 2}d"
    )(np_data, out_size, layout),
)


def pool_grad_nchw(
    a_np: Any,
    out_grad_np: Any,
    pool_size: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    pool_type: str,
    ceil_mode: bool,
    count_include_pad: bool = True,
) -> Array:
    """Return the gradient of pooling (N, C, H, W); the first of several maxima gets all of it."""
    counting = {"count_include_pad": count_include_pad} if pool_type == "avg" else {}
    gradient = getattr(nn, f"{pool_type}_pool2d_grad")
    return by_definition(
        2, lambda g, x: gradient(g, x, pool_size, strides, padding, "NCHW", "", ceil_mode=ceil_mode, **counting)
    )(np.asarray(out_grad_np).astype(a_np.dtype), a_np)


# ---------------------------------------------------------------- normalizations and losses
def _normalized(data: Array, axes: Any, epsilon: float) -> Array:
    wide = data.astype("float64")
    return as_array((wide - wide.mean(axes, keepdims=True)) / np.sqrt(wide.var(axes, keepdims=True) + epsilon))


def _scaled(result: Array, gamma: Any, beta: Any, axes: Any, dtype: Any) -> Array:
    """Return a result times `gamma` plus `beta`, which lie along some of its axes."""
    along = {axis % result.ndim for axis in _each(axes, 1)}
    shape = [size if at in along else 1 for at, size in enumerate(result.shape)]
    result = result if gamma is None else result * gamma.reshape(shape)
    return as_array((result if beta is None else result + beta.reshape(shape)).astype(dtype))


def layer_norm_python(data: Array, gamma: Array, beta: Array | None, axis: Any, epsilon: float = 1e-5) -> Array:
    """Return data with mean 0 and variance 1 on some axes, scaled and shifted."""
    return _scaled(_normalized(data, _each(axis, 1), epsilon), gamma, beta, axis, data.dtype)


def instance_norm_python(
    data: Array, gamma: Array, beta: Array | None, channel_axis: int, axis: Any, epsilon: float = 1e-5
) -> Array:
    """Return data with mean 0 and variance 1 on some axes of each channel, scaled and shifted by channel."""
    return _scaled(_normalized(data, tuple(axis), epsilon), gamma, beta, channel_axis, data.dtype)


def group_norm_python(
    data: Array, gamma: Any, beta: Any, num_groups: int, channel_axis: int, axes: Any, epsilon: float = 1e-5
) -> Array:
    """Return data with mean 0 and variance 1 in each group of channels, scaled and shifted by channel."""
    whole = (channel_axis, *(axis for axis in axes if axis != channel_axis))
    parts = [_normalized(part, whole, epsilon) for part in np.split(data, num_groups, channel_axis)]
    return _scaled(np.concatenate(parts, channel_axis), gamma, beta, channel_axis, data.dtype)


def rms_norm_python(data: Array, weight: Array, axis: Any, epsilon: float = 1e-5) -> Array:
    """Return data divided by the root of its mean square on some axes, scaled."""
    wide = data.astype("float64")
    root = np.sqrt((wide * wide).mean(_each(axis, 1), keepdims=True) + epsilon)
    return _scaled(as_array(wide / root), weight, None, axis, data.dtype)


def batch_norm(
    x: Array,
    gamma: Array,
    beta: Array,
    moving_mean: Any,
    moving_var: Any,
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
    training: bool = False,
    momentum: float = 0.1,
) -> list[Any]:
    """Return data normalized by channel, and the updated mean and variance."""
    others = tuple(at for at in range(x.ndim) if at != axis % x.ndim)
    mean, var = (x.mean(others), x.var(others)) if training else (moving_mean, moving_var)
    normalize = by_definition(5, lambda x, g, b, m, v: nn.batch_norm(x, g, b, m, v, axis, epsilon, center, scale)[0])
    if training:
        moving_mean = (1 - momentum) * moving_mean + momentum * mean
        moving_var = (1 - momentum) * moving_var + momentum * var
    return [normalize(x, gamma, beta, mean, var), moving_mean, moving_var]


softmax_python = by_definition(1, lambda a_np, axis=1: nn.softmax(a_np, axis))
log_softmax_python = by_definition(1, lambda a_np, axis=1: nn.log_softmax(a_np, axis))
lrn_python = by_definition(1, nn.lrn)
l2_normalize_python = by_definition(
    1,
    lambda a_np, eps, axis=None: nn.l2_normalize(
        a_np, eps, range(len(a_np.type_annotation.shape)) if axis is None else axis
    ),
)
nll_loss = by_definition(
    3,
    lambda predictions, targets, weights, reduction="mean", ignore_index=-100: nn.nll_loss(
        predictions, targets, weights, reduction, ignore_index
    ),
)


# ---------------------------------------------------------------- images
def _resize(x: Any, scale: Sequence[float], layout: str, method: str, coordinates: str) -> Any:
    """Return a resize of a variable of 1, 2 or 3 spatial axes by factors."""
    sizes = [size for axis, size in zip(layout, x.type_annotation.shape, strict=True) if axis in "DHW"]
    size = [round(n * factor) for n, factor in zip(sizes, scale, strict=True)]
    rounding = "" if method != "nearest_neighbor" else "round" if coordinates == "align_corners" else "floor"
    return getattr(image, f"resize{len(size)}d")(x, size, None, layout, method, coordinates, rounding)


def _resized(default_layout: str) -> Callable[..., Array]:
    return by_definition(
        1,
        lambda data, scale, layout=default_layout, method="nearest_neighbor",
        coordinate_transformation_mode="align_corners": _resize(
            data, scale, layout, method, coordinate_transformation_mode
        ),
    )  # fmt: skip


resize1d_python, resize2d_python, resize3d_python = map(_resized, ("NCW", "NCHW", "NCDHW"))
upsampling_python = by_definition(
    1, lambda data, scale, layout="NCHW": _resize(data, scale, layout, "nearest_neighbor", "asymmetric")
)
upsampling3d_python = by_definition(
    1, lambda data, scale, layout="NCDHW": _resize(data, scale, layout, "nearest_neighbor", "asymmetric")
)
bilinear_resize_python = by_definition(
    1,
    lambda image, out_size, layout, coordinate_transformation_mode="align_corners": relay.image.resize2d(
        image, out_size, None, layout, "linear", coordinate_transformation_mode
    ),
)
trilinear_resize3d_python = by_definition(
    1,
    lambda data_in, out_size, layout, coordinate_transformation_mode="align_corners": image.resize3d(
        data_in, out_size, None, layout, "linear", coordinate_transformation_mode
    ),
)
affine_grid_python = by_definition(1, image.affine_grid)
grid_sample_python = by_definition(
    2,
    lambda data, grid, method="bilinear", layout="NCHW", padding_mode="zeros", align_corners=True: image.grid_sample(
        data, grid, method, layout, padding_mode, align_corners
    ),
)
grid_sample_nchw_python = grid_sample_python
crop_and_resize_python = by_definition(
    3,
    lambda image, boxes, box_indices, crop_size, layout, method="bilinear", extrapolation_value=0: (
        relay.image.crop_and_resize(
            image, boxes, box_indices, [int(n) for n in crop_size], layout, method, extrapolation_value
        )
    ),
)
_ALIGNED: dict[object, Any] = {b"avg": "avg", 0: "avg", "avg": "avg", b"max": "max", 1: "max", "max": "max"}


def _aligned(layout: Literal["NCHW", "NHWC"]) -> Callable[..., Array]:
    return by_definition(
        2,
        lambda a_np, rois_np, pooled_size, spatial_scale, sample_ratio, mode=b"avg": vision.roi_align(
            a_np,
            rois_np,
            pooled_size,
            spatial_scale,
            sample_ratio,
            layout,
            _ALIGNED[mode],
        ),
    )


roi_align_nchw_python, roi_align_nhwc_python = _aligned("NCHW"), _aligned("NHWC")
roi_pool_nchw_python = by_definition(2, vision.roi_pool)
reorg_python = by_definition(1, vision.yolo_reorg)
depth_to_space_python = by_definition(
    1, lambda data, block_size, mode="DCR": nn.depth_to_space(data, block_size, "NCHW", mode)
)
space_to_depth_python = by_definition(1, nn.space_to_depth)
space_to_batch_nd_python = by_definition(
    1,
    lambda data, block_shape, pad_before, pad_after, pad_value=0: nn.space_to_batch_nd(
        data, block_shape, list(zip(pad_before, pad_after, strict=True)), pad_value
    ),
)
batch_to_space_nd_python = by_definition(
    1,
    lambda data, block_shape, crop_begin_list, crop_end_list: nn.batch_to_space_nd(
        data, block_shape, list(zip(crop_begin_list, crop_end_list, strict=True))
    ),
)

# ---------------------------------------------------------------- slices, gathers, products
dilate_python = by_definition(
    1,
    lambda input_np, strides, dilation_value=0.0, out_dtype=None: relay.cast(
        nn.dilate(input_np, strides, dilation_value), out_dtype or input_np.type_annotation.dtype
    ),
)


def batch_matmul(x: Array, y: Array, out_dtype: Any = None, trans_x: bool = False, trans_y: bool = True) -> Array:
    """Return the products of matrices; y's are transposed by default."""
    multiply = by_definition(2, lambda a, b: nn.batch_matmul(a, b, "", trans_x, trans_y))
    return multiply(x.astype(out_dtype or x.dtype), y.astype(out_dtype or x.dtype))


def dense(
    x: Array, y: Array, bias: Any = None, use_bias: bool = False, use_relu: bool = False, out_dtype: Any = None
) -> Array:
    """Return x times the transpose of y, optionally with a bias and a relu."""
    result = by_definition(2, nn.dense)(x.astype(out_dtype or x.dtype), y.astype(out_dtype or x.dtype))
    result = result + bias if use_bias else result
    return as_array(np.maximum(result, 0)) if use_relu else result


def gather_python(data: Array, axis: int, indices: Any) -> Array:
    """Return the elements at indices of the same rank along one axis."""
    return by_definition(2, lambda x, i: relay.gather(x, axis, i))(data, indices)


gather_nd_python = by_definition(2, relay.gather_nd)
one_hot = by_definition(
    1,
    lambda indices, on_value, off_value, depth, axis, dtype: relay.one_hot(
        indices, relay.const(on_value, dtype), relay.const(off_value, dtype), depth, axis, dtype
    ),
)
matrix_set_diag = by_definition(
    2, lambda input_np, diagonal, k=0, align="RIGHT_LEFT": relay.matrix_set_diag(input_np, diagonal, k, align)
)
searchsorted_ref = by_definition(2, relay.searchsorted)
sequence_mask = by_definition(2, relay.sequence_mask)


def slice_axis_python(data: Array, axis: int, begin: int, end: int | None = None) -> Array:
    """Return a slice on one axis."""
    return data[(slice(None),) * (axis % data.ndim) + (slice(begin, end),)]


def strided_slice_python(
    data: Array, begin: Any, end: Any, strides: Any, slice_mode: Literal["end", "size"] = "end", axes: Any = None
) -> Array:
    """Return a slice on the first axes, or on `axes`; with mode "size", `end` holds lengths, and -1 means all."""
    begin, end = [int(n) for n in begin], [int(n) for n in end]
    steps = None if strides is None else [int(n) for n in strides]
    return by_definition(1, lambda x: relay.strided_slice(x, begin, end, steps, axes, slice_mode))(data)


def strided_set_python(data: Array, v: Array, begin: Any, end: Any, strides: Any) -> Array:
    """Return an array with a slice of it replaced."""
    bounds: list[Any] = [
        None if bound is None else relay.const(np.asarray(bound, "int64")) for bound in (begin, end, strides)
    ]
    return by_definition(2, lambda x, part: relay.strided_set(x, part, *bounds))(data, v)


# ---------------------------------------------------------------- shapes and paddings in a uniform form
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


def random_bsr_matrix(m: int, n: int, bs_r: int, bs_c: int, density: float, dtype: str) -> Any:
    """Return an m x n matrix of SciPy with blocks of bs_r x bs_c, of which about `density` are random, the rest zero.

    It draws from NumPy's own generator, as TVM does. Raises `NodeValueError` for sizes that are not whole blocks.
    """
    from scipy.sparse import bsr_matrix

    if m % bs_r or n % bs_c:
        raise NodeValueError(
            Diagnostic("the matrix has no whole blocks", expected=f"multiples of {bs_r} and {bs_c}", found=f"{m}, {n}")
        )
    rows, columns = m // bs_r, n // bs_c
    count = int(int(density * m * n) / (bs_r * bs_c)) + 1
    chosen = np.random.choice(rows * columns, size=count, replace=False)  # noqa: NPY002
    dense = np.zeros((m, n), dtype)
    for row, column in zip(*np.divmod(chosen, columns), strict=True):
        top, left = row * bs_r, column * bs_c
        dense[top : top + bs_r, left : left + bs_c] = np.random.randn(bs_r, bs_c)  # noqa: NPY002
    return bsr_matrix(dense, blocksize=(bs_r, bs_c))
