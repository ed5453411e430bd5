"""Resizing of images: `image.resize1d`, `2d` and `3d`, `image.crop_and_resize`, and the resize whose size is an input.

Where new elements lie and how they are mixed follows the ONNX operator Resize; see `passlab.op.nn.resample`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Call, Constant, Expr
from passlab.ir.op import Op, OpPattern, Reporter
from passlab.ir.types import ANY, Dim, TensorType, Type
from passlab.op.declare import call, operator
from passlab.op.dtypes import Array, array_dtype, guard_size
from passlab.op.fields import attrs, dims, dtype, integer, number, numbers, text
from passlab.op.gather import checked_indices, index_tensor
from passlab.op.nn.layouts import DATA_LAYOUTS, layout_axes
from passlab.op.nn.resample import COORDINATES, METHODS, ROUNDINGS, Scheme, mix, positions, resample
from passlab.op.relations import join_dim, refuse, tensor


def _record(name: str, rank: int) -> type[Attrs]:
    return attrs(
        name,
        dims("size", None, doc="the new size of each spatial axis"),
        numbers("roi", None, doc="the region of interest: its starts, then its ends, in units of the axes"),
        text("layout", DATA_LAYOUTS[rank], doc="the layout of data and result"),
        text("method", "linear", doc="how elements are mixed", choices=METHODS),
        text("coordinate_transformation_mode", "half_pixel", doc="where new elements lie", choices=COORDINATES),
        text(
            "rounding_method",
            "round",
            doc='which element is nearest; "" leaves the choice to the mode',
            choices=ROUNDINGS,
        ),
        number("cubic_alpha", -0.5, doc="the coefficient of cubic interpolation"),
        integer("cubic_exclude", 0, doc="whether elements outside the data are left out of cubic interpolation"),
        number("extrapolation_value", 0.0, doc="what stands outside the data"),
        dtype("out_dtype", "", doc="the dtype of the result, that of the data when left out"),
    )


def _scheme(attrs: Any) -> Scheme:
    return Scheme(
        attrs.method, attrs.coordinate_transformation_mode, attrs.rounding_method, attrs.cubic_alpha,
        bool(attrs.cubic_exclude), attrs.extrapolation_value,
    )  # fmt: skip


def _resized(data: TensorType, attrs: Any, sizes: Sequence[Dim], rank: int, name: str) -> Type:
    axes = layout_axes(attrs.layout, data.shape, rank, name)
    if len(sizes) != rank:
        refuse(
            f"{name}: size has {len(sizes)} numbers", expected=f"{rank}, one for each spatial axis", found=list(sizes)
        )
    shape = list(data.shape)
    for axis, size in zip(axes, sizes, strict=True):
        if type(size) is int and size < 1:
            refuse(f"{name}: the new size must be at least 1", found=list(sizes))
        shape[axis] = size
    return TensorType(tuple(shape), attrs.out_dtype or data.dtype)


def _shape_after(shape: Sequence[int], axes: Sequence[int], sizes: Sequence[int]) -> list[int]:
    made = list(shape)
    for axis, size in zip(axes, sizes, strict=True):
        made[axis] = size
    return made


def _resize(attrs: Any, data: Array, sizes: tuple[int, ...], roi: Sequence[float] | None, name: str) -> Array:
    axes = layout_axes(attrs.layout, data.shape, len(sizes), name)
    wanted = array_dtype(attrs.out_dtype) if attrs.out_dtype else data.dtype
    guard_size(_shape_after(data.shape, axes, sizes), wanted, name)
    made: Array = resample(data, axes, sizes, _scheme(attrs), roi, wanted)
    return made


def _declare(rank: int, names: Sequence[str]) -> Op:
    name = f"image.resize{rank}d"

    def relation(types: Sequence[Type], attrs: Any, reporter: Reporter) -> Type | None:
        data = tensor(types, 0, "data")
        if data is None:
            return None
        if attrs.size is None:
            refuse(f"{name}: the size is missing", hint="give `size=[...]`")
        return _resized(data, attrs, attrs.size, rank, name)

    def kernel(attrs: Any, data: Array) -> Array:
        return _resize(attrs, data, attrs.size, attrs.roi or None, name)

    size = ", ".join(str(2 + i) for i in range(rank))
    return operator(
        name, ("data",), attrs=_record(f"Resize{rank}DAttrs", rank), relation=relation, pattern=OpPattern.INJECTIVE,
        level=5,
        out=False, warns=True, face=_face(rank, name), example=f"{name}(%im{rank}, size=[{size}], roi=[])",
        doc=f"Resize data along its {' and '.join(names)}.",
    )(kernel)  # fmt: skip


def _face(rank: int, name: str) -> Callable[..., Call]:
    def face(
        data: Any, size: Any, roi: Any = None, layout: str = DATA_LAYOUTS[rank], method: str = "linear",
        coordinate_transformation_mode: str = "half_pixel", rounding_method: str = "", cubic_alpha: float = -0.5,
        cubic_exclude: int = 0, extrapolation_value: float = 0.0, out_dtype: Any = None,
    ) -> Call:  # fmt: skip
        facts = {
            "layout": layout, "method": method, "coordinate_transformation_mode": coordinate_transformation_mode,
            "rounding_method": rounding_method, "cubic_alpha": cubic_alpha, "cubic_exclude": cubic_exclude,
            "extrapolation_value": extrapolation_value, "out_dtype": out_dtype or "",
        }  # fmt: skip
        if (isinstance(size, Expr) and not isinstance(size, Constant)) or isinstance(roi, Expr):
            return _dynamic_call(data, size, roi, rank, facts)
        sizes = size.data.reshape(-1).tolist() if isinstance(size, Constant) else size
        sizes = [sizes] * rank if isinstance(sizes, int) else sizes
        return call(name, data, size=sizes, roi=roi if roi is not None else [0.0] * (2 * rank), **facts)

    face.__name__ = face.__qualname__ = name.rpartition(".")[2]
    face.__doc__ = f"`data` resized to `size` along its {rank} spatial axes."
    return face


def _dynamic_call(data: Any, size: Any, roi: Any, rank: int, facts: dict[str, Any]) -> Call:
    if rank != 2:
        refuse(f"image.resize{rank}d needs a known size", hint="only resize2d takes a size that is computed")
    ends = roi if isinstance(roi, Expr) else Constant(np.asarray([0.0] * 4 if roi is None else roi, np.float32))
    sizes = size if isinstance(size, Expr) else Constant(np.asarray(size, np.int64))
    return call("dyn.image.resize2d", data, sizes, ends, size=[], roi=[], **facts)


resize1d = _declare(1, ("width",))
resize2d = _declare(2, ("height", "width"))
resize3d = _declare(3, ("depth", "height", "width"))


# ---------------------------------------------------------------- a size that is an input
def _dynamic_type(types: Sequence[Type], attrs: Any, reporter: Reporter) -> Type | None:
    data, size = tensor(types, 0, "data"), index_tensor(types, 1, "size")
    if size is not None and len(size.shape) != 1:
        refuse("size must be a vector of two integers", 1, found=size)
    return None if data is None else _resized(data, attrs, (ANY, ANY), 2, "dyn.image.resize2d")


def _dynamic_shape(attrs: Any, data: Array, size: Array, roi: Array) -> Type:
    return _resized(TensorType(data.shape, data.dtype), attrs, size.tolist(), 2, "dyn.image.resize2d")


@operator(
    "dyn.image.resize2d", ("data", "size", "roi"), attrs=resize2d.spec.attrs, relation=_dynamic_type,
    shape_function=_dynamic_shape, pattern=OpPattern.INJECTIVE, level=5, out=False, warns=True,
    example="dyn.image.resize2d(%im2, %size, %roi, size=[], roi=[])",
)  # fmt: skip
def dynamic_resize2d(attrs: Any, data: Array, size: Array, roi: Array) -> Array:
    """Resize data along its height and width to a size that a vector holds."""
    return _resize(attrs, data, tuple(size.tolist()), roi.tolist() or None, "dyn.image.resize2d")


# ---------------------------------------------------------------- crop_and_resize
CROP_METHODS = {"bilinear": "linear", "nearest_neighbor": "nearest_neighbor"}


def _crop_type(types: Sequence[Type], attrs: Any, reporter: Reporter) -> Type | None:
    data, boxes, indices = tensor(types, 0, "data"), tensor(types, 1, "boxes"), index_tensor(types, 2, "box_indices")
    if data is None or boxes is None or indices is None:
        return None
    if len(boxes.shape) != 2 or join_dim(boxes.shape[1], 4) is None:
        refuse("boxes must be a matrix of four columns: y1, x1, y2, x2", 1, found=boxes)
    if len(indices.shape) != 1 or join_dim(indices.shape[0], boxes.shape[0]) is None:
        refuse("box_indices must be a vector, one for each box", 2, found=indices)
    if attrs.crop_size is None or len(attrs.crop_size) != 2:
        refuse("crop_size must be two numbers: height and width", found=attrs.crop_size)
    height, width = layout_axes(attrs.layout, data.shape, 2, "image.crop_and_resize")
    shape = list(data.shape)
    shape[_batch(attrs)] = boxes.shape[0]
    shape[height], shape[width] = attrs.crop_size
    return TensorType(tuple(shape), attrs.out_dtype or data.dtype)


def _batch(attrs: Any) -> int:
    found: int = attrs.layout.find("N")
    if found < 0:
        refuse("the layout must have the axis N", found=attrs.layout)
    return found


def _crop_face(
    data: Any, boxes: Any, box_indices: Any, crop_size: Any, layout: str, method: str = "bilinear",
    extrapolation_value: float = 0, out_dtype: Any = None,
) -> Call:  # fmt: skip
    """Boxes of the images of `data`, resized to `crop_size`."""
    return call(
        "image.crop_and_resize", data, boxes, box_indices, crop_size=crop_size, layout=layout, method=method,
        extrapolation_value=extrapolation_value, out_dtype=out_dtype or "",
    )  # fmt: skip


@operator(
    "image.crop_and_resize", ("data", "boxes", "box_indices"),
    attrs=attrs(
        "CropAndResizeAttrs",
        dims("crop_size", None, doc="height and width of the result"),
        text("layout", "NCHW", doc="the layout of data and result"),
        text("method", "bilinear", doc="how elements are mixed", choices=tuple(CROP_METHODS)),
        number("extrapolation_value", 0.0, doc="what stands outside the data"),
        dtype("out_dtype", "", doc="the dtype of the result, that of the data when left out"),
    ),
    relation=_crop_type, pattern=OpPattern.INJECTIVE, level=5, out=False, warns=True, face=_crop_face,
    example="image.crop_and_resize(%im2, %boxes, %k1, crop_size=[2, 2])",
)  # fmt: skip
def crop_and_resize(attrs: Any, data: Array, boxes: Array, box_indices: Array) -> Array:
    """Cut boxes (y1, x1, y2, x2 in units of height and width) out of images and resize them to one size."""
    batch, axes = _batch(attrs), layout_axes(attrs.layout, data.shape, 2, "image.crop_and_resize")
    scheme = Scheme(CROP_METHODS[attrs.method], "tf_crop_and_resize", "round")
    wanted = array_dtype(attrs.out_dtype) if attrs.out_dtype else data.dtype
    chosen = checked_indices(box_indices, data.shape[batch], "crop_and_resize")
    shape = list(data.shape)
    shape[batch] = len(boxes)
    shape[axes[0]], shape[axes[1]] = attrs.crop_size
    guard_size(shape, wanted, "crop_and_resize")
    made = np.empty(shape, wanted)
    for i, box in enumerate(boxes.tolist()):
        piece = np.take(data, [chosen[i]], axis=batch)
        outside = []
        for at, axis in enumerate(axes):
            places = positions(scheme, data.shape[axis], attrs.crop_size[at], box[at], box[at + 2])
            piece = mix(piece, axis, scheme, places)
            outside.append((axis, (places < 0) | (places > data.shape[axis] - 1)))
        for axis, beyond in outside:
            piece[(slice(None),) * axis + (beyond,)] = attrs.extrapolation_value
        made[(slice(None),) * batch + (slice(i, i + 1),)] = piece.astype(wanted, copy=False)
    return made
