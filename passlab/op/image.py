"""Operators on images: resizing, cropping, morphological dilation, and sampling along grids."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import Op, OpPattern, Precision, Reporter
from passlab.ir.types import ANY, Dim, TensorType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, boolean, dims, dtype, integer, integers, number, numbers, text
from passlab.op.declare import Dynamic, Python, operator
from passlab.op.dtypes import Array, is_float
from passlab.op.layout_names import DATA_LAYOUTS, conversion, forward_shape, layout_axes
from passlab.op.nn import resize_gradients, sampling, sampling_gradients, window_gradients
from passlab.op.nn.accumulation import cast_result, result_dtype
from passlab.op.nn.pool_kernels import lowest
from passlab.op.nn.resample import COORDINATES, METHODS, ROUNDINGS, ResizePlan, Scheme, resample
from passlab.op.nn.window_arrays import pad_spatial
from passlab.op.nn.window_sizes import check_lengths, check_positive, on_axes, pad, split_padding, window_size
from passlab.op.no_gradient import DYNAMIC_SIZE
from passlab.op.relations import join_dim, on_tensors, refuse, tensor


# ---------------------------------------------------------------- resize
def _resize_attrs(rank: int) -> type[Attrs]:
    return attrs(
        f"Resize{rank}DAttrs",
        dims("size", None, "size of the result along the spatial axes"),
        numbers("roi", None, "region to resize (all starts, then all ends), for tf_crop_and_resize"),
        text("layout", DATA_LAYOUTS[rank], "layout of data and result"),
        text("method", "linear", "how elements are mixed", choices=METHODS),
        text("coordinate_transformation_mode", "half_pixel", "where new elements lie", choices=COORDINATES),
        text("rounding_method", "round", "which element is nearest", choices=ROUNDINGS),
        number("cubic_alpha", -0.5, "coefficient of the cubic"),
        integer("cubic_exclude", 0, "whether cubic interpolation ignores pixels beyond the border"),
        number("extrapolation_value", 0.0, "the value of elements outside the data, for tf_crop_and_resize"),
        dtype("out_dtype", "", "dtype of the result"),
    )


RESIZE = {rank: _resize_attrs(rank) for rank in DATA_LAYOUTS}


def _resize_type(rank: int, types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    if data is None:
        return None
    if attrs.size is None:
        refuse(f"image.resize{rank}d needs a size")
    check_lengths(rank, size=attrs.size)
    shape = list(data.shape)
    if attrs.roi is not None and len(attrs.roi) != 2 * rank:
        refuse(f"image.resize{rank}d: roi is all starts, then all ends", expected=2 * rank, found=list(attrs.roi))
    for axis, size in zip(layout_axes(attrs.layout, shape, rank, f"image.resize{rank}d"), attrs.size, strict=True):
        check_resize(f"image.resize{rank}d", shape[axis], size)
        shape[axis] = size
    return TensorType(tuple(shape), attrs.out_dtype or data.dtype)


def check_resize(name: str, length: Dim, size: Dim) -> None:
    """Raise `RelationError` unless an axis of `length` elements can be resized to `size`."""
    if isinstance(size, int) and size < 1:
        refuse(f"{name}: the size must be positive", found=size)
    if length == 0:
        refuse(f"{name}: an image without pixels cannot be resized", 0)


def scheme_of(attrs: Attrs) -> Scheme:
    """Return the interpolation scheme of a resize operator."""
    mode, rounding = attrs.coordinate_transformation_mode, attrs.rounding_method
    return Scheme(attrs.method, mode, rounding, attrs.cubic_alpha, bool(attrs.cubic_exclude), attrs.extrapolation_value)


def resize(
    rank: int, attrs: Attrs, data: Array, sizes: Sequence[int], roi: Sequence[float] | None, out: Array | None
) -> Array:
    """Resize `data` along the spatial axes of its layout to `sizes`."""
    axes = layout_axes(attrs.layout, data.shape, rank, f"image.resize{rank}d")
    dtype = result_dtype(attrs.out_dtype, data.dtype)
    # Relay gives the region of resize3d last axis first, against its own documentation; ONNX's order is kept here.
    result = resample(data, axes, tuple(sizes), scheme_of(attrs), roi, dtype)
    return cast_result(np.ascontiguousarray(result), dtype, out)


def _resize_plan(rank: int, attrs: Attrs, shape: Any) -> ResizePlan:
    """Return the axes, sizes, interpolation scheme and region of a resize."""
    return layout_axes(attrs.layout, shape, rank, f"image.resize{rank}d"), attrs.size, scheme_of(attrs), attrs.roi


def _resize_kernel(rank: int, attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    return resize(rank, attrs, data, attrs.size, attrs.roi, out)


def _resize_python(rank: int) -> Python:
    return Python(
        f"data, size, roi=None, layout={DATA_LAYOUTS[rank]!r}, method='linear', "
        "coordinate_transformation_mode='half_pixel', rounding_method='', cubic_alpha=-0.5, cubic_exclude=0, "
        "extrapolation_value=0.0, out_dtype=None",
        dynamic=Dynamic("dyn.image.resize2d", size="int32", roi="float32") if rank == 2 else None,
        size=on_axes(rank),
        roi=lambda roi: (0.0,) * (2 * rank) if roi is None else roi,
        out_dtype=lambda dtype: dtype or "",
    )


def _resize_edge_cases(name: str, rank: int) -> tuple[str, ...]:
    dims, larger, smaller = ", ".join("345"[:rank]), [6, 7, 4][:rank], [2] * rank
    nearest = 'method="nearest_neighbor", coordinate_transformation_mode="asymmetric", rounding_method="floor"'
    channels_last = f'layout="{"NCDHW"[0] + "DHW"[3 - rank :] + "C"}", coordinate_transformation_mode="align_corners"'
    cubic = (f'{name}(%x: (1, 1, {dims}), size={larger}, roi=None, method="cubic")',) if rank < 3 else ()
    return (
        f"{name}(%x: (1, 2, {dims}), size={larger}, roi=None)",
        f"{name}(%x: (0, 2, {dims}), size={larger}, roi=None)",
        f"{name}(%x: (1, 2, {dims}), size={smaller}, roi=None, {nearest})",
        f"{name}(%x: (1, {dims}, 2), size={larger}, roi=None, {channels_last})",
        *cubic,
    )


def _declare_resize(rank: int) -> Op:
    name, spatial = f"image.resize{rank}d", ", ".join("DHW"[3 - rank :])
    return operator(
        name,
        ("data",),
        attrs=RESIZE[rank],
        relation=partial(_resize_type, rank),
        pattern=OpPattern.INJECTIVE,
        layout=layout_rules.OneLayout(ends=True),
        precision=Precision.FOLLOW if rank == 2 else None,
        level=5,
        silenced=True,
        python=_resize_python(rank),
        gradient=resize_gradients.resampling(name, partial(_resize_plan, rank)),
        shapes=f"(N, C, {spatial}) -> (N, C, size)",
        source="ONNX's Resize; Keys (1981) for cubic",
        edge_cases=_resize_edge_cases(name, rank),
        doc=f"Resize along {rank} spatial ax{'e' if rank > 1 else 'i'}s, by the coordinates of ONNX's Resize.",
    )(partial(_resize_kernel, rank))


resize1d, resize2d, resize3d = (_declare_resize(rank) for rank in (1, 2, 3))


# ---------------------------------------------------------------- dilation2d
@on_tensors
def _dilation_type(attrs: Attrs, data: TensorType, weight: TensorType) -> Type:
    check_lengths(2, spare=True, strides=attrs.strides, dilations=attrs.dilations)
    check_positive(strides=attrs.strides, dilations=attrs.dilations)
    nchw = conversion(attrs.data_layout, "NCHW", "data_layout")
    shape = forward_shape(nchw, data.shape, "data", 0)
    kernel = forward_shape(conversion(attrs.kernel_layout, "IHW", "kernel_layout"), weight.shape, "weight", 1)
    if isinstance(shape[1], int) and isinstance(kernel[0], int) and shape[1] != kernel[0]:
        refuse(
            "image.dilation2d: the weight does not fit the channels of the data", 1, expected=shape[1], found=kernel[0]
        )
    before, after = split_padding(attrs.padding, 2)
    size = [
        window_size(shape[2 + i], kernel[1 + i], attrs.strides[i], before[i], after[i], attrs.dilations[i], axis=i)
        for i in range(2)
    ]
    return TensorType(nchw.backward_shape((*shape[:2], *size)), attrs.out_dtype or data.dtype)


@operator(
    "image.dilation2d",
    ("data", "weight"),
    attrs=attrs(
        "Dilation2DAttrs",
        integers("strides", (1, 1), "steps of the window"),
        integers("padding", (0, 0), "zeros around the data"),
        integers("dilations", (1, 1), "distance between the taps of the window"),
        text("data_layout", "NCHW", "layout of data and result"),
        text("kernel_layout", "IHW", "layout of the weight"),
        dtype("out_dtype", "", "dtype of the result"),
    ),
    relation=_dilation_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    level=2,
    silenced=True,
    python=Python(
        strides=on_axes(2),
        padding=pad(2),
        dilations=on_axes(2),
    ),
    gradient=window_gradients.dilation2d,
    shapes="data (N, C, H, W), weight (C, KH, KW) -> (N, C, OH, OW)",
    source="TensorFlow's dilation2d",
    edge_cases=(
        "image.dilation2d(%x: (1, 2, 4, 4), %w: (2, 2, 2))",
        (
            'image.dilation2d(%x: (1, 4, 4, 2), %w: (2, 2, 2), strides=[2, 1], padding=[1, 1], data_layout="NHWC", '
            'kernel_layout="HWI")'
        ),
    ),
)
def dilation2d(attrs: Attrs, data: Array, weight: Array, *, out: Array | None = None) -> Array:
    """Greyscale dilation: the maximum over a window of data plus weight, channel by channel."""
    nchw = conversion(attrs.data_layout, "NCHW", "data_layout")
    dtype = result_dtype(attrs.out_dtype, data.dtype)
    w = conversion(attrs.kernel_layout, "IHW", "kernel_layout").forward(weight)
    before, after = split_padding(attrs.padding, 2)
    x = pad_spatial(nchw.forward(data), before, after, False)
    strides, dilations = attrs.strides[:2], attrs.dilations[:2]
    extent = [(k - 1) * d + 1 for k, d in zip(w.shape[1:], dilations, strict=True)]
    size = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], extent, strides, strict=True)]
    result = np.full((*x.shape[:2], *size), lowest(x.dtype), x.dtype)
    for tap in itertools.product(range(w.shape[1]), range(w.shape[2])):
        steps = zip(tap, dilations, size, strides, strict=True)
        position = tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in steps)
        term = x[(slice(None), slice(None), *position)] + w[(slice(None), *tap)][:, None, None]
        np.maximum(result, term, out=result)
    return cast_result(np.ascontiguousarray(nchw.backward(result)), dtype, out)


# ---------------------------------------------------------------- grids
@on_tensors
def _affine_type(attrs: Attrs, data: TensorType) -> Type:
    if len(data.shape) != 3 or data.shape[1] not in (2, ANY) or data.shape[2] not in (3, ANY):
        refuse("image.affine_grid takes affine matrices", 0, expected="(batch, 2, 3)", found=data)
    if len(attrs.target_shape) != 2 or min(attrs.target_shape) < 1:
        refuse("image.affine_grid: target_shape is a height and a width", found=list(attrs.target_shape))
    return TensorType((data.shape[0], 2, *attrs.target_shape), data.dtype)


@operator(
    "image.affine_grid",
    ("data",),
    attrs=attrs("AffineGridAttrs", integers("target_shape", doc="height and width of the grid")),
    relation=_affine_type,
    pattern=OpPattern.INJECTIVE,
    level=5,
    silenced=True,
    python=Python("data, target_shape=None"),
    gradient=resize_gradients.affine_grid,
    shapes="(N, 2, 3) -> (N, 2, H, W)",
    source="Jaderberg et al., Spatial transformer networks (2015)",
    edge_cases=(
        "image.affine_grid(%theta: (2, 2, 3), target_shape=[2, 3])",
        "image.affine_grid(%x: (0, 2, 3), target_shape=[2, 3])",
    ),
)
def affine_grid(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """The positions (x, y) in -1..1 to which affine matrices map the corner-aligned pixels of an image."""
    height, width = attrs.target_shape
    dtype = data.dtype if is_float(data.dtype) else np.dtype(np.float64)
    y, x = (np.arange(n).astype(dtype) * dtype.type(2) / dtype.type(n - 1) - 1 for n in (height, width))
    grid = np.stack(
        [np.broadcast_to(x, (height, width)), np.broadcast_to(y[:, None], (height, width)), np.ones((height, width))]
    )
    result = data.astype(dtype, copy=False) @ grid.reshape(3, -1).astype(dtype)
    return cast_result(result.reshape(len(data), 2, height, width), data.dtype, out)


_GRID_RANKS = {"NCHW": 2, "NCDHW": 3}


@on_tensors
def _grid_type(attrs: Attrs, data: TensorType, grid: TensorType) -> Type:
    rank = _GRID_RANKS[attrs.layout]
    for i, ty in enumerate((data, grid)):
        if len(ty.shape) != rank + 2:
            refuse(f"image.grid_sample: {('data', 'grid')[i]} does not have the rank of {attrs.layout}", i, found=ty)
    if grid.shape[1] not in (rank, ANY):
        refuse(
            "image.grid_sample: a position of the grid has one number for each spatial axis",
            1,
            expected=rank,
            found=grid,
        )
    if join_dim(data.shape[0], grid.shape[0]) is None:
        refuse("image.grid_sample: data and grid have different batch sizes", 1, expected=data.shape[0], found=grid)
    if 0 in data.shape[2:]:
        refuse("image.grid_sample: an image without pixels cannot be sampled", 0, found=data)
    if attrs.method == "bicubic" and rank == 3:
        refuse("image.grid_sample: bicubic samples are taken from images of two axes")
    return TensorType((*data.shape[:2], *grid.shape[2:]), data.dtype)


@operator(
    "image.grid_sample",
    ("data", "grid"),
    attrs=attrs(
        "GridSampleAttrs",
        text("method", "bilinear", "how pixels are mixed", choices=("bilinear", "nearest", "bicubic")),
        text("layout", "NCHW", "layout of the data", choices=tuple(_GRID_RANKS)),
        text("padding_mode", "zeros", "the values beyond the border", choices=("zeros", "border", "reflection")),
        boolean("align_corners", True, "whether -1 and 1 are the centres of the outer pixels, or their edges"),
    ),
    relation=_grid_type,
    pattern=OpPattern.INJECTIVE,
    level=5,
    silenced=True,
    gradient=sampling_gradients.grid_sample,
    shapes="data (N, C, H, W), grid (N, 2, OH, OW) -> (N, C, OH, OW)",
    source="Jaderberg et al., Spatial transformer networks (2015)",
    edge_cases=(
        "image.grid_sample(%x: (1, 2, 3, 4), %grid: (1, 2, 2, 2) T = [[[[-1, 0.3], [0.9, 1]], [[0, 0.25], [-2, 1]]]])",
        (
            "image.grid_sample(%x: (1, 2, 3, 4), %g: (1, 2, 1, 2) T = [[[[-1, 0.3]], [[0.25, -2]]]], "
            'method="nearest", padding_mode="border", '
            "align_corners=False)"
        ),
    ),
)
def grid_sample(attrs: Attrs, data: Array, grid: Array, *, out: Array | None = None) -> Array:
    """Samples of images at positions (x, y[, z]) in -1..1, as in PyTorch's grid_sample."""
    dtype = data.dtype if data.dtype.itemsize >= 4 and data.dtype.kind == "f" else np.dtype("float32")
    result = np.empty((*data.shape[:2], *grid.shape[2:]), dtype)
    lengths, aligned, mode = data.shape[2:], attrs.align_corners, attrs.padding_mode
    for i in range(len(data)):
        positions = []
        for coordinate, length in zip(grid[i][::-1].astype(dtype), lengths, strict=True):
            point = (
                (coordinate + 1) * dtype.type(length - 1) / 2
                if aligned
                else (coordinate + 1) * dtype.type(length) / 2 - dtype.type(0.5)
            )
            if attrs.method != "bicubic" and mode == "reflection":
                point = sampling.reflect(point, length, aligned)
            positions.append(np.clip(point, 0, length - 1) if attrs.method != "bicubic" and mode != "zeros" else point)
        if attrs.method == "bicubic":
            result[i] = sampling.cubic(data[i], positions, mode, aligned)
        else:
            result[i] = (sampling.nearest if attrs.method == "nearest" else sampling.linear)(
                data[i], positions, "zeros"
            )
    return cast_result(result, data.dtype, out)


# ---------------------------------------------------------------- dyn.image.resize2d, whose size is an input
def _dynamic_resize_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    if data is None:
        return None
    size = tensor(types, 1, "size")
    if size is not None and (len(size.shape) != 1 or size.shape[0] not in (2, ANY) or size.dtype == "bool"):
        refuse("dyn.image.resize2d: size must be two numbers", 1, found=size)  # Relay takes floats here, and truncates
    shape: list[Any] = list(data.shape)
    for axis in layout_axes(attrs.layout, shape, 2, "dyn.image.resize2d"):
        shape[axis] = ANY
    return TensorType(tuple(shape), attrs.out_dtype or data.dtype)


def _dynamic_resize_shape(attrs: Attrs, data: Array, size: Array, roi: Array) -> Type:
    shape = list(data.shape)
    axes = layout_axes(attrs.layout, shape, 2, "dyn.image.resize2d")
    for axis, length in zip(axes, size.astype("int64").tolist(), strict=True):
        check_resize("dyn.image.resize2d", shape[axis], length)
        shape[axis] = int(length)
    return TensorType(tuple(shape), attrs.out_dtype or data.dtype.name)


@operator(
    "dyn.image.resize2d",
    ("data", "size", "roi"),
    attrs=RESIZE[2],
    relation=_dynamic_resize_type,
    shape_function=_dynamic_resize_shape,
    pattern=OpPattern.INJECTIVE,
    level=5,
    silenced=True,
    shapes="data (N, C, H, W), size (2), roi (4) -> (N, C, size)",
    source="ONNX's Resize; Keys (1981) for cubic",
    edge_cases=(
        (
            "dyn.image.resize2d(%x: (1, 2, 3, 4), %s: (2) int64 = [6, 7], %r: (4) float32 = [0, 0, 0, 0], "
            "size=None, roi=None)"
        ),
    ),
    no_gradient=DYNAMIC_SIZE,
)
def dynamic_resize2d(attrs: Attrs, data: Array, size: Array, roi: Array, *, out: Array | None = None) -> Array:
    """`image.resize2d` with size and region as inputs."""
    _dynamic_resize_shape(attrs, data, size, roi)  # raises for a bad size
    region = roi.tolist() if roi.size == 4 else None
    return resize(2, attrs, data, [int(n) for n in size.tolist()], region, out)
