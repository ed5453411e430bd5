"""Operators that join several tensors, or split one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from passlab import limits
from passlab.errors import Diagnostic, RelationError, RunError
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr, Tuple, TupleGetItem, set_checked_type
from passlab.ir.op import OpCall, OpPattern, Precision, Reporter
from passlab.ir.tuple_wrapper import TupleWrapper
from passlab.ir.types import ANY, Dim, TensorType, TupleType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, integer, integer_or_integers, text
from passlab.op.autodiff import dtype_of, zero_gradient
from passlab.op.declare import Python, call, field_of, operator
from passlab.op.dtypes import Array, is_float_name
from passlab.op.relations import (
    check_one_dtype,
    divide_dim,
    join_dim,
    normal_axis,
    on_tensors,
    plus,
    refuse,
    tensor_fields,
    total,
)

CONCATENATE = attrs("ConcatenateAttrs", integer("axis", 0, doc="the dimension along which to join"))


def _check_fields(fields: list[TensorType]) -> None:
    """Raise `RelationError` unless there is at least one tensor and all have the same dtype and rank."""
    if not fields:
        refuse("there is nothing to join", 0, expected="a tuple of at least one tensor")
    check_one_dtype(fields)
    for i, field in enumerate(fields):
        if len(field.shape) != len(fields[0].shape):
            refuse(
                f"field {i} has {len(field.shape)} dimensions and field 0 has {len(fields[0].shape)}",
                0,
                expected=fields[0],
                found=field,
            )


def common_dim(dims: Sequence[Dim], axis: int) -> Dim:
    """Return the size of dimension `axis`, which all tensors share. Raises `RelationError` if they differ."""
    result = dims[0]
    for i, dim in enumerate(dims):
        common = join_dim(result, dim)
        if common is None:
            refuse(f"dimension {axis} of field {i} is {dim} and was {result} before", 0, expected=result, found=dim)
        result = common
    return result


def concatenate_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    """The tensors of a tuple, of one dtype and equal in all dimensions but `axis`, joined along that one."""
    fields = tensor_fields(types)
    if fields is None:
        return None
    _check_fields(fields)
    shapes = [field.shape for field in fields]
    axis = normal_axis(attrs.axis, len(shapes[0]))
    unknown = any(shape[axis] is ANY for shape in shapes)
    out: list[Dim] = []
    for dim_axis, dims in enumerate(zip(*shapes, strict=True)):
        dim = total(dims) if dim_axis == axis else dims[0] if len(set(dims)) == 1 else common_dim(dims, dim_axis)
        # Relay trusts known sizes of some fields only where the result is dynamic anyway.
        out.append(dim if dim_axis == axis or unknown or ANY not in dims else ANY)
    return TensorType(tuple(out), fields[0].dtype)


def tuple_parts(value: Expr) -> list[Expr]:
    """Return the fields of a typed tuple as typed expressions."""
    if isinstance(value, Tuple):
        return list(value.fields)
    ty = value.checked_type
    if not isinstance(ty, TupleType):
        raise RelationError(Diagnostic("a tuple is needed", value.span, expected="a tuple", found=str(ty)))
    parts: list[Expr] = [TupleGetItem(value, i) for i in range(len(ty.fields))]
    for part, kind in zip(parts, ty.fields, strict=True):
        set_checked_type(part, kind)
    return parts


def _extent(part: Expr, axis: int) -> int:
    """Return the size of a typed tensor along `axis`. Raises `RelationError` if it is unknown."""
    ty = part.checked_type
    dim = ty.shape[axis] if isinstance(ty, TensorType) else None
    if type(dim) is not int:
        raise RelationError(Diagnostic("the gradient of concatenate needs known sizes", part.span, found=str(ty)))
    return dim


def _concatenate_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    parts, axis = tuple_parts(orig.args[0]), orig.attrs.axis
    if not is_float_name(dtype_of(orig)):
        return zero_gradient(orig, grad)
    ends = np.cumsum([_extent(part, axis) for part in parts]).tolist()
    pieces = TupleWrapper(call("split", grad, indices_or_sections=ends[:-1], axis=axis), len(parts))
    return [Tuple(list(pieces))]


@operator(
    "concatenate",
    ("data",),
    attrs=CONCATENATE,
    relation=concatenate_type,
    pattern=OpPattern.INJECTIVE,
    level=1,
    python=Python("data, axis"),
    gradient=_concatenate_grad,
    shapes="((..., a, ...), (..., b, ...)) -> (..., a + b, ...)",
    source="np.concatenate",
    edge_cases=(
        "concatenate((%x: (2, 3), %y: (2, 1)), axis=-1)",
        "concatenate((%x: (0, 3), %y: (2, 3)))",
        "concatenate((%x: (3),))",
    ),
    layout=layout_rules.join,
    precision=Precision.FOLLOW,
)
def concatenate(attrs: Attrs, data: tuple[Array, ...], *, out: Array | None = None) -> Array:
    """Join the tensors of a tuple along one dimension; the other dimensions must agree."""
    return np.concatenate(data, axis=attrs.axis, out=out)


# ---------------------------------------------------------------- stack
def _stack_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    fields = tensor_fields(types)
    if fields is None:
        return None
    _check_fields(fields)
    shapes = [field.shape for field in fields]
    axis = normal_axis(attrs.axis, len(shapes[0]) + 1)
    shape = [common_dim(dims, i) for i, dims in enumerate(zip(*shapes, strict=True))]
    return TensorType((*shape[:axis], len(fields), *shape[axis:]), fields[0].dtype)


def _stack_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    parts, axis = tuple_parts(orig.args[0]), orig.attrs.axis
    pieces = TupleWrapper(call("split", grad, indices_or_sections=len(parts), axis=axis), len(parts))
    return [Tuple([call("squeeze", piece, axis=[axis]) for piece in pieces])]


@operator(
    "stack",
    ("data",),
    attrs=attrs("StackAttrs", integer("axis", 0, doc="the new dimension")),
    relation=_stack_type,
    pattern=OpPattern.INJECTIVE,
    level=3,
    python=Python("data, axis"),
    gradient=_stack_grad,
    shapes="n tensors S -> S with n inserted at axis",
    source="np.stack",
    edge_cases=(
        "stack((%x: (2, 3), %y: (2, 3)), axis=-1)",
        "stack((%x: (), %y: ()), axis=0)",
        "stack((%x: (0, 3),), axis=1)",
    ),
)
def stack(attrs: Attrs, data: tuple[Array, ...], *, out: Array | None = None) -> Array:
    """Join tensors of one shape along a new dimension."""
    return np.stack(data, axis=attrs.axis, out=out)


# ---------------------------------------------------------------- split
@on_tensors
def _split_type(attrs: Attrs, data: TensorType) -> Type:
    axis = normal_axis(attrs.axis, len(data.shape))
    sizes = _section_sizes(data.shape[axis], attrs.indices_or_sections)
    return TupleType([TensorType((*data.shape[:axis], size, *data.shape[axis + 1 :]), data.dtype) for size in sizes])


def _section_sizes(dim: Dim, sections: int | tuple[int, ...]) -> list[Dim]:
    if isinstance(sections, int):
        limits.check("tuple_fields", sections, "the result of split")
        if sections < 1:
            refuse(f"data cannot be split into {sections} sections", 0)
        if type(dim) is not int:
            return [divide_dim(dim, sections)] * sections
        if dim % sections:
            refuse(f"a dimension of {dim} cannot be split into {sections} equal sections", 0)
        return [dim // sections] * sections
    ends = [0, *sections]
    if any(a > b or b < 0 for a, b in pairwise(ends)):
        refuse("indices_or_sections must not decrease", 0, expected="an ascending list", found=list(sections))
    if type(dim) is not int:
        return [*(b - a for a, b in pairwise(ends)), plus(dim, -ends[-1])]
    if ends[-1] > dim:
        refuse(f"index {ends[-1]} is outside the dimension of {dim}", 0, found=list(sections))
    return [b - a for a, b in pairwise([*ends, dim])]


def _split_count(attrs: Attrs) -> int:
    parts = attrs.indices_or_sections
    return parts if isinstance(parts, int) else len(parts) + 1


def _split_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    return [call("concatenate", grad, axis=orig.attrs.axis)]


@operator(
    "split",
    ("data",),
    attrs=attrs(
        "SplitAttrs",
        integer_or_integers(
            "indices_or_sections", doc="a number of equal sections, or the indices before which to cut"
        ),
        integer("axis", 0, doc="the dimension to split"),
    ),
    relation=_split_type,
    pattern=OpPattern.INJECTIVE,
    level=3,
    results=_split_count,
    gradient=_split_grad,
    shapes="(..., n, ...) -> a tuple of (..., part, ...)",
    source="np.split",
    edge_cases=(
        "split(%x: (2, 6), indices_or_sections=3, axis=-1)",
        "split(%x: (5), indices_or_sections=[0, 2, 2])",
        "split(%x: (0, 4), indices_or_sections=2, axis=1)",
    ),
    layout=layout_rules.split,
    precision=Precision.FOLLOW,
)
def split(attrs: Attrs, data: Array) -> tuple[Array, ...]:
    """Split a tensor along one dimension; the result is a tuple."""
    sections, axis = attrs.indices_or_sections, attrs.axis % data.ndim
    length = data.shape[axis]
    if isinstance(sections, int):
        if length % sections:
            raise RunError(f"a dimension of {length} cannot be split into {sections} equal sections")
        sections = range(length // sections, length, length // sections) if length else (0,) * (sections - 1)
    head = (slice(None),) * axis
    return tuple([data[(*head, slice(*ends))] for ends in pairwise((0, *sections, length))])


# ---------------------------------------------------------------- meshgrid
def _meshgrid_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    fields = tensor_fields(types)
    if fields is None:
        return None
    if not fields:
        refuse("meshgrid needs at least one vector", 0, expected="a tuple of at least one tensor")
    check_one_dtype(fields)
    for i, field in enumerate(fields):
        if len(field.shape) > 1:
            refuse(f"field {i} must be a vector or a scalar", 0, found=field)
    shape: list[Dim] = [field.shape[0] if field.shape else 1 for field in fields]
    if attrs.indexing == "xy" and len(shape) > 1:
        shape[0], shape[1] = shape[1], shape[0]
    return TupleType([TensorType(tuple(shape), fields[0].dtype)] * len(fields))


def _meshgrid_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    """Each vector receives the sum of its grid's gradient over the dimensions of the others."""
    ty, attrs = orig.args[0].checked_type, orig.attrs
    assert isinstance(ty, TupleType)
    swapped = attrs["indexing"] == "xy" and len(ty.fields) > 1
    result: list[Expr] = []
    for index in range(len(ty.fields)):
        axis = 1 - index if swapped and index < 2 else index
        column_sum = call("sum", field_of(grad, index), axis=[axis], exclude=True)
        result.append(call("reshape_like", column_sum, field_of(orig.args[0], index)))
    return [Tuple(result)]


def _grids(grid: OpCall) -> TupleWrapper:
    return TupleWrapper(grid, len(tuple_parts(grid.args[0])))


@operator(
    "meshgrid",
    ("data",),
    attrs=attrs(
        "MeshgridAttrs",
        text("indexing", "ij", doc="the order of the dimensions: matrix or Cartesian", choices=("ij", "xy")),
    ),
    relation=_meshgrid_type,
    pattern=OpPattern.INJECTIVE,
    level=3,
    python=Python(finish=_grids),
    gradient=_meshgrid_grad,
    shapes="vectors (a), (b), ... -> as many tensors (a, b, ...)",
    source="np.meshgrid",
    edge_cases=(
        'meshgrid((%x: (2), %y: (3)), indexing="ij")',
        'meshgrid((%x: (2), %y: (3)), indexing="xy")',
        "meshgrid((%x: (), %y: (2)))",
        "meshgrid((%x: (0), %y: (2)))",
    ),
)
def meshgrid(attrs: Attrs, data: tuple[Array, ...]) -> tuple[Array, ...]:
    """Coordinate grids: one tensor for each vector of the tuple, each varying along its own dimension."""
    return tuple(np.meshgrid(*data, indexing=attrs.indexing))
