"""Operators that reorder the elements of a tensor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr
from passlab.ir.op import OpCall, OpPattern, Precision, Reporter, Trait
from passlab.ir.types import TensorType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, integer, integers
from passlab.op.autodiff import zero_gradient
from passlab.op.declare import Python, call, operator
from passlab.op.dtypes import Array
from passlab.op.relations import identity, join_dim, normal_axes, normal_axis, on_tensors, refuse


# ---------------------------------------------------------------- transpose
@on_tensors
def _transpose_type(attrs: Attrs, data: TensorType) -> Type:
    rank = len(data.shape)
    if attrs.axes is None:
        return TensorType(data.shape[::-1], data.dtype)
    axes = normal_axes(attrs.axes, rank, "axes")
    if len(axes) != rank:
        refuse(f"axes must name all {rank} dimensions", 0, found=list(attrs.axes))
    return TensorType(tuple([data.shape[axis] for axis in axes]), data.dtype)


def _transpose_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    axes = orig.attrs.axes
    inverse = None if axes is None else np.argsort([axis % len(axes) for axis in axes]).tolist()
    return [call("transpose", grad, axes=inverse)]


@operator(
    "transpose",
    ("data",),
    attrs=attrs(
        "TransposeAttrs", integers("axes", optional=True, doc="the new order of the dimensions, None to reverse them")
    ),
    relation=_transpose_type,
    pattern=OpPattern.INJECTIVE,
    level=3,
    gradient=_transpose_grad,
    shapes="(d0, ..., dn) -> (d[axes[0]], ..., d[axes[n]])",
    source="np.transpose",
    edge_cases=(
        "transpose(%x: (2, 3, 4), axes=[-1, 0, 1])",
        "transpose(%x: (2, 3), axes=None)",
        "transpose(%x: (), axes=None)",
        "transpose(%x: (0, 3), axes=[1, 0])",
    ),
    layout=layout_rules.transpose_to,
    precision=Precision.FOLLOW,
    traits=Trait.MOVES,
)
def transpose(attrs: Attrs, data: Array) -> Array:
    """Permute the dimensions."""
    return np.transpose(data, attrs.axes)


# ---------------------------------------------------------------- reverse
@on_tensors
def _reverse_type(attrs: Attrs, data: TensorType) -> Type:
    normal_axis(_axis_or_zero(attrs), len(data.shape))
    return data


def _axis_or_zero(attrs: Attrs) -> int:
    return attrs.axis if attrs.axis is not None else 0


def _reverse_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    return [call("reverse", grad, axis=orig.attrs.axis)]


@operator(
    "reverse",
    ("data",),
    attrs=attrs("ReverseAttrs", integer("axis", None, doc="the dimension to reverse (0 if None)")),
    relation=_reverse_type,
    pattern=OpPattern.INJECTIVE,
    level=3,
    gradient=_reverse_grad,
    python=Python("data, axis"),
    shapes="S -> S",
    source="np.flip",
    edge_cases=("reverse(%x: (2, 3), axis=-1)", "reverse(%x: (3), axis=0)", "reverse(%x: (0, 3), axis=0)"),
    layout=layout_rules.along(),
    traits=Trait.MOVES,
)
def reverse(attrs: Attrs, data: Array) -> Array:
    """Reverse the elements along one dimension."""
    return np.flip(data, _axis_or_zero(attrs))


# ---------------------------------------------------------------- reverse_sequence
@on_tensors
def _reverse_sequence_type(attrs: Attrs, data: TensorType, seq_lengths: TensorType) -> Type:
    rank = len(data.shape)
    batch = normal_axis(attrs.batch_axis, rank, "batch_axis")
    normal_axis(attrs.seq_axis, rank, "seq_axis")
    if len(seq_lengths.shape) != 1 or "int" not in seq_lengths.dtype:
        refuse("seq_lengths must be a vector of integers", 1, found=seq_lengths)
    if join_dim(seq_lengths.shape[0], data.shape[batch]) is None:
        refuse(f"seq_lengths has {seq_lengths.shape[0]} elements for {data.shape[batch]} batches", 1)
    return data


def _reverse_sequence_grad(orig: OpCall, grad: Expr) -> list[Expr]:
    lengths, attrs = orig.args[1], orig.attrs
    reversed_grad = call("reverse_sequence", grad, lengths, seq_axis=attrs["seq_axis"], batch_axis=attrs["batch_axis"])
    return [reversed_grad, call("zeros_like", lengths)]


@operator(
    "reverse_sequence",
    ("data", "seq_lengths"),
    attrs=attrs(
        "ReverseSequenceAttrs",
        integer("seq_axis", 1, doc="the dimension to reverse"),
        integer("batch_axis", 0, doc="the dimension of batches"),
    ),
    relation=_reverse_sequence_type,
    pattern=OpPattern.INJECTIVE,
    level=3,
    gradient=_reverse_sequence_grad,
    shapes="data S, seq_lengths (S[batch_axis]) -> S",
    source="TensorFlow's reverse_sequence",
    edge_cases=(
        "reverse_sequence(%x: (2, 4), %lengths: (2) int32 = [2, 9], seq_axis=1, batch_axis=0)",
        "reverse_sequence(%x: (3, 2), %n: (2) int64 = [0, 3], seq_axis=0, batch_axis=-1)",
        "reverse_sequence(%x: (0, 3), %n: (0) int32)",
    ),
)
def reverse_sequence(attrs: Attrs, data: Array, seq_lengths: Array) -> Array:
    """Reverse the first `seq_lengths[b]` elements of each batch b along one dimension; longer lengths mean all."""
    extent = data.shape[attrs.seq_axis]
    lengths = np.minimum(seq_lengths, extent).astype(np.int64)[:, None]
    steps = np.arange(extent)[None, :]
    source = np.where(steps < lengths, lengths - 1 - steps, steps)  # (batches, extent)
    sequence, batch = attrs.seq_axis % data.ndim, attrs.batch_axis % data.ndim
    if sequence == batch:  # element b is reversed by the length of batch b: the diagonal of `source`
        return np.take(data, np.diagonal(source), axis=sequence)
    index = source if batch < sequence else source.T
    shape = [extent if dim == sequence else data.shape[batch] if dim == batch else 1 for dim in range(data.ndim)]
    return np.take_along_axis(data, index.reshape(shape), axis=sequence)


# ---------------------------------------------------------------- invert_permutation
def _permutation_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = identity(types, attrs, reporter)
    if isinstance(data, TensorType) and (len(data.shape) != 1 or "int" not in data.dtype):
        refuse("a permutation is a vector of integers", 0, found=data)
    return data


@operator(
    "invert_permutation",
    ("data",),
    relation=_permutation_type,
    pattern=OpPattern.INJECTIVE,
    level=1,
    gradient=zero_gradient,
    shapes="(n) -> (n)",
    source="the inverse of a permutation",
    edge_cases=(
        "invert_permutation(%p: (4) int32 = [2, 0, 3, 1])",
        "invert_permutation(%p: (0) int64)",
        "invert_permutation(%p: (1) int64 = [0])",
    ),
)
def invert_permutation(attrs: Attrs, data: Array) -> Array:
    """The inverse of a permutation of 0..n-1. Raises `RunError` if `data` is not a permutation."""
    if not np.array_equal(np.sort(data), np.arange(data.size)):
        raise RunError(
            Diagnostic(
                "the data is not a permutation",
                expected=f"each of 0..{data.size - 1} once",
                found=np.array2string(data, threshold=20),
            )
        )
    result = np.empty_like(data)
    result[data] = np.arange(data.size, dtype=data.dtype)
    return result
