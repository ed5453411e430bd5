"""Activation functions, `nn.bias_add`, the softmax family and `nn.dropout`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr
from passlab.ir.op import Op, OpCall, OpPattern, Precision, Relation, Reporter, Trait
from passlab.ir.tuple_wrapper import TupleWrapper
from passlab.ir.types import TensorType, TupleType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import attrs, integer, number
from passlab.op.autodiff import Gradient
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array, as_array, is_float
from passlab.op.edge_cases import on_one
from passlab.op.nn import gradients
from passlab.op.nn.accumulation import BLAS, cast_result, result_array
from passlab.op.relations import identity, identity_along_axis, normal_axis, on_tensors, tensor

_ROW = 8192  # elements; NumPy's buffer size, so that it iterates over such rows without copying


@operator(
    "nn.relu",
    ("data",),
    relation=identity,
    pattern=OpPattern.ELEMWISE,
    level=1,
    silenced=True,
    gradient=gradients.relu,
    source="Nair and Hinton (2010)",
    layout=layout_rules.elementwise,
    precision=Precision.FOLLOW,
    traits=Trait.IN_PLACE | Trait.KEEPS_WHOLE | Trait.HOMOGENEOUS | Trait.CLAMPS,
)
def relu(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """Replace negative elements by zero."""
    result = np.empty_like(data) if out is None else out
    if data.size < _ROW or result.dtype != data.dtype or not (data.flags.c_contiguous and result.flags.c_contiguous):
        return as_array(np.maximum(data, data.dtype.type(0), out=result))
    source, target, zeros = data.reshape(-1), result.reshape(-1), _zeros(data.dtype)
    end = source.size // _ROW * _ROW
    np.maximum(source[:end].reshape(-1, _ROW), zeros, out=target[:end].reshape(-1, _ROW))
    np.maximum(source[end:], zeros[: source.size - end], out=target[end:])
    return result


@cache
def _zeros(dtype: np.dtype[Any]) -> Array:
    """Return a row of zeros to compare with. NumPy compares two rows four times faster than a row and a number."""
    zeros = np.zeros(_ROW, dtype)
    zeros.flags.writeable = False
    return zeros


@operator(
    "nn.leaky_relu",
    ("data",),
    attrs=attrs("LeakyReluAttrs", number("alpha", 0.25, "factor of negative elements")),
    relation=identity,
    pattern=OpPattern.ELEMWISE,
    level=3,
    silenced=True,
    python=Python("data, alpha=0.01"),
    gradient=gradients.leaky_relu,
    source="Maas et al. (2013)",
    edge_cases=on_one("nn.leaky_relu", "alpha=0.1f"),
    layout=layout_rules.elementwise,
    precision=Precision.FOLLOW,
    traits=Trait.HOMOGENEOUS,
)
def leaky_relu(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """Multiply negative elements by `alpha`."""
    return _scale_negatives(data, np.asarray(attrs.alpha).astype(data.dtype), out)


def _scale_negatives(data: Array, slope: Any, out: Array | None) -> Array:
    result = as_array(np.multiply(data, slope, out=out if out is not data else None))
    if is_float(data.dtype) and np.all((slope > 0) & (slope <= 1)):  # max(x * slope, x) is faster than a selection
        np.maximum(result, data, out=result)
    else:
        np.copyto(result, data, where=data > 0)
    if out is data:
        out[...] = result
        return out
    return result


def channel_vector(name: str, inputs: Sequence[str]) -> Relation:
    """Return the relation of an operator on data and vectors along its `axis`, with a result of the data's type."""

    def relation(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
        data = tensor(types, 0, "data")
        if data is None:
            return None
        check_vectors(types, data, normal_axis(attrs.axis, len(data.shape), f"{name}: axis"), inputs, reporter)
        return data

    return relation


def check_vectors(
    types: Sequence[Type], data: TensorType, axis: int, inputs: Sequence[str], reporter: Reporter
) -> TensorType:
    """Require that the inputs after the first are vectors as long as `axis` of the data; return their type."""
    vector = TensorType((data.shape[axis],), data.dtype)
    for i, name in enumerate(inputs, 1):
        if tensor(types, i, name) is not vector:
            reporter.assign(i, vector)
    return vector


def along(vector: Array, axis: int, rank: int) -> Array:
    """Return a vector shaped to broadcast along `axis` of a tensor of `rank` dimensions."""
    return vector.reshape([-1 if i == axis % rank else 1 for i in range(rank)])


@operator(
    "nn.bias_add",
    ("data", "bias"),
    attrs=attrs("BiasAddAttrs", integer("axis", 1, "the axis of the data the bias runs along")),
    relation=channel_vector("nn.bias_add", ("bias",)),
    pattern=OpPattern.BROADCAST,
    level=1,
    silenced=True,
    gradient=gradients.bias_add,
    shapes="data S, bias (S[axis]) -> S",
    source="np.add",
    edge_cases=(
        "nn.bias_add(%x: (2, 3, 2), %b: (3))",
        "nn.bias_add(%x: (2, 3), %b: (3), axis=-1)",
        "nn.bias_add(%x: (0, 3), %b: (3))",
    ),
    layout=layout_rules.along(),
    precision=Precision.FOLLOW,
)
def bias_add(attrs: Attrs, data: Array, bias: Array, *, out: Array | None = None) -> Array:
    """Add a vector along one axis."""
    return np.add(data, along(bias, attrs.axis, data.ndim), out=out)


@operator(
    "nn.prelu",
    ("data", "alpha"),
    attrs=attrs("PReluAttrs", integer("axis", 1, "the axis of the data alpha runs along")),
    relation=channel_vector("nn.prelu", ("alpha",)),
    pattern=OpPattern.BROADCAST,
    level=3,
    silenced=True,
    gradient=gradients.prelu,
    shapes="data S, alpha (S[axis]) -> S",
    source="He et al., Delving deep into rectifiers (2015)",
    edge_cases=(
        "nn.prelu(%x: (2, 3, 2), %a: (3))",
        "nn.prelu(%x: (2, 3), %a: (3), axis=-1)",
        "nn.prelu(%x: (0, 3), %a: (3))",
    ),
    layout=layout_rules.along(),
    precision=Precision.FOLLOW,
)
def prelu(attrs: Attrs, data: Array, alpha: Array, *, out: Array | None = None) -> Array:
    """Multiply negative elements by the `alpha` of their channel."""
    return _scale_negatives(data, along(alpha, attrs.axis, data.ndim), out)


def _to_sum_dtype(data: Array) -> Array:
    """Return the data in the dtype in which exponentials are summed: integers, which would wrap, in float64."""
    if data.dtype in BLAS:
        return data
    if not is_float(data.dtype):
        return data.astype(np.float64)
    return data if data.dtype.itemsize >= 4 else data.astype(np.float32)


_BLOCK = 256 << 10  # bytes of samples whose exponentials stay in cache between summing and dividing


def _softmax(attrs: Attrs, data: Array, out: Array | None) -> Array:
    work = _to_sum_dtype(data)
    if not data.size:
        return data.copy() if out is None else out
    result = result_array(out, data.shape, work.dtype)
    if work.nbytes <= _BLOCK:
        _write_softmax(result, work, attrs.axis)
        return cast_result(result, data.dtype, out)
    axis = attrs.axis % data.ndim
    shape = (-1, data.shape[axis], *data.shape[axis + 1 :])
    samples, targets = work.reshape(shape), result.reshape(shape)
    step = max(1, _BLOCK * len(samples) // work.nbytes)
    for i in range(0, len(samples), step):
        _write_softmax(targets[i : i + step], samples[i : i + step], 1)
    return cast_result(result, data.dtype, out)


def _write_softmax(target: Array, sample: Array, axis: int) -> None:
    np.subtract(sample, np.maximum.reduce(sample, axis=axis, keepdims=True), out=target)
    np.exp(target, out=target)
    np.divide(target, np.add.reduce(target, axis=axis, keepdims=True), out=target)


SOFTMAX = attrs("SoftmaxAttrs", integer("axis", -1, "the axis that sums to one"))


def _softmax_operator(name: str, gradient: Gradient) -> Callable[[Callable[..., Array]], Op]:
    """Return the decorator that declares an operator of the softmax family."""
    return operator(
        name,
        ("data",),
        attrs=SOFTMAX,
        relation=identity_along_axis,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        precision=Precision.NEVER,
        level=1,
        silenced=True,
        gradient=gradient,
        shapes="S -> S",
        source="exponentials after subtracting the maximum, so that exp does not overflow",
        edge_cases=(
            f"{name}(%x: (2, 3), axis=-1)",
            f"{name}(%x: (3, 2), axis=0)",
            f"{name}(%x: (0, 3), axis=1)",
            f"{name}(%x: (1), axis=0)",
        ),
        layout=layout_rules.along(),
    )


@_softmax_operator("nn.softmax", gradients.softmax)
def softmax(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """exp(x) / sum(exp(x)) along one axis, computed from x minus its maximum."""
    return _softmax(attrs, data, out)


@_softmax_operator("nn.fast_softmax", gradients.softmax)
def fast_softmax(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """The softmax that FastMath inserts: here the exact one, since NumPy's `exp` is as fast as the approximation."""
    return _softmax(attrs, data, out)


@_softmax_operator("nn.log_softmax", gradients.log_softmax)
def log_softmax(attrs: Attrs, data: Array, *, out: Array | None = None) -> Array:
    """`x - log(sum(exp(x)))` along one axis, computed from x minus its maximum."""
    work = _to_sum_dtype(data)
    if not data.size:
        return data.copy() if out is None else out
    shifted = work - work.max(axis=attrs.axis, keepdims=True)
    result = shifted - np.log(np.exp(shifted).sum(axis=attrs.axis, keepdims=True))
    return cast_result(result, data.dtype, out)


@on_tensors
def _dropout_type(attrs: Attrs, data: TensorType) -> Type:
    return TupleType((data, data))


def _kept(dropout: OpCall) -> Expr:
    return TupleWrapper(dropout, 2)[0]


@operator(
    "nn.dropout",
    ("data",),
    attrs=attrs("DropoutAttrs", number("rate", 0.5, "the share of elements dropped in training")),
    relation=_dropout_type,
    stateful=True,
    level=1,
    silenced=True,
    python=Python(finish=_kept),
    gradient=gradients.dropout,
    shapes="S -> S, mask S",
    source="Srivastava et al. (2014), at inference",
    edge_cases=("nn.dropout(%x: (2, 3), rate=0.5f)", "nn.dropout(%x: ())", "nn.dropout(%x: (0, 3))"),
    layout=layout_rules.drop_axes,
    precision=Precision.FOLLOW,
)
def dropout(attrs: Attrs, data: Array) -> tuple[Array, Array]:
    """The data unchanged, as at inference, with a mask of ones."""
    return data.copy(), np.ones_like(data)
