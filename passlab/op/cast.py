"""Operators that change the dtype of elements, by value or by bits."""

from __future__ import annotations

from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Precision, Trait
from passlab.ir.types import TensorType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, dtype
from passlab.op.autodiff import gradient_by
from passlab.op.declare import operator
from passlab.op.dtypes import Array, array_dtype, convert
from passlab.op.relations import on_tensors, refuse

CAST = attrs("CastAttrs", dtype("dtype", doc="the dtype to convert to"))


@on_tensors
def _cast_type(attrs: Attrs, data: TensorType) -> Type:
    return TensorType(data.shape, attrs.dtype)


@operator(
    "cast",
    ("data",),
    attrs=CAST,
    relation=_cast_type,
    pattern=OpPattern.ELEMWISE,
    level=3,
    silenced=True,
    gradient=gradient_by("cast_like"),
    shapes="S -> S",
    source="NumPy's casts; integers that do not fit wrap, NaN becomes 0",
    edge_cases=(
        'cast(%x: (2, 3), dtype="int32")',
        'cast(%x: (), dtype="float64")',
        'cast(%x: (0, 3), dtype="bool")',
        'cast(%x: (7), dtype="uint8")',
    ),
    layout=layout_rules.elementwise,
    precision=Precision.FOLLOW,
    traits=Trait.KEEPS_WHOLE,
)
def cast(attrs: Attrs, data: Array) -> Array:
    """Convert each element to another dtype: floats are truncated, integers wrap, and bools are true unless zero.

    A float that the integer type cannot hold wraps around as well; NaN and floats that do not fit 64 bits become 0.
    """
    return convert(data, array_dtype(attrs.dtype))


@on_tensors
def _cast_like_type(attrs: Attrs, data: TensorType, dtype_like: TensorType) -> Type:
    return TensorType(data.shape, dtype_like.dtype)


@operator(
    "cast_like",
    ("data", "dtype_like"),
    relation=_cast_like_type,
    pattern=OpPattern.ELEMWISE,
    level=3,
    silenced=True,
    gradient=gradient_by("cast_like"),
    shapes="data S, dtype_like any shape -> S",
    source="NumPy's casts; integers that do not fit wrap, NaN becomes 0",
    edge_cases=(
        "cast_like(%x: (2, 3), %y: () int64)",
        "cast_like(%x: (), %y: (2) float32)",
        "cast_like(%x: (0, 3), %y: (0) bool)",
    ),
    layout=layout_rules.elementwise,
    precision=Precision.FOLLOW,
)
def cast_like(attrs: Attrs, data: Array, dtype_like: Array) -> Array:
    """Convert each element of `data` to the dtype of `dtype_like`."""
    return convert(data, dtype_like.dtype)


@on_tensors
def _reinterpret_type(attrs: Attrs, data: TensorType) -> Type:
    size, target_size = array_dtype(data.dtype).itemsize, array_dtype(attrs.dtype).itemsize
    if size != target_size:
        refuse(
            f"{data.dtype} has {size} bytes an element and {attrs.dtype} has {target_size}",
            0,
            expected=f"a dtype of {target_size} bytes",
            found=data.dtype,
        )
    return TensorType(data.shape, attrs.dtype)


@operator(
    "reinterpret",
    ("data",),
    attrs=CAST,
    relation=_reinterpret_type,
    pattern=OpPattern.ELEMWISE,
    level=3,
    shapes="S -> S",
    precision=Precision.NEVER,  # the program fixes the dtype whose bits are read
    source="ndarray.view",
    edge_cases=(
        'reinterpret(%x: (2, 3) float32, dtype="int32")',
        'reinterpret(%x: () int64, dtype="float64")',
        'reinterpret(%x: (0, 3) int8, dtype="uint8")',
    ),
    layout=layout_rules.elementwise,
    no_gradient="it reads the bits of numbers as other numbers, which is not a differentiable function",
)
def reinterpret(attrs: Attrs, data: Array) -> Array:
    """Read the bits of each element as another dtype of the same size."""
    target = array_dtype(attrs.dtype)
    if target.kind == "b":  # a bool array must hold only 0 and 1, and any other bits are true
        return data.astype(target)
    return data.view(target)
