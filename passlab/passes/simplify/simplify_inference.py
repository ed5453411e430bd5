"""Rewrite normalisations as the arithmetic that they do at inference time.

before:
    def @main(%x: Tensor[(1, 2, 4, 4), float32], %gamma: Tensor[(2), float32], %beta: Tensor[(2), float32],
              %mean: Tensor[(2), float32], %var: Tensor[(2), float32]) {
      %0 = nn.batch_norm(%x, %gamma, %beta, %mean, %var);
      %0.0
    }
after:
    def @main(%x: Tensor[(1, 2, 4, 4), float32], %gamma: Tensor[(2), float32], %beta: Tensor[(2), float32],
              %mean: Tensor[(2), float32], %var: Tensor[(2), float32]) {
      %0 = multiply(divide(1f, sqrt(add(%var, 1e-05f))), %gamma);
      %1 = add(multiply(negative(%mean), %0), %beta);
      add(multiply(%x, expand_dims(%0, axis=1, num_newaxis=2)), expand_dims(%1, axis=1, num_newaxis=2))
    }

before:
    def @main(%x: Tensor[(2), float32]) { %0 = nn.dropout(%x); %0.0 }
after:
    def @main(%x: Tensor[(2), float32]) { %x }

before:
    def @main(%x: Tensor[(2), float32]) { let %r = nn.dropout(%x); %r }
after:
    def @main(%x: Tensor[(2), float32]) { let %r = (%x, ones_like(%x)); %r }

keep:
    def @main(%x: Tensor[(2, 3), int32]) { nn.l2_normalize(%x, eps=0.001f, axis=[1]) }

keep:
    def @main(%x: Tensor[(1, 2), float32], %gamma: Tensor[(2), float32], %beta: Tensor[(2), float32],
              %mean: Tensor[(2), float32], %var: Tensor[(2), float32]) {
      nn.batch_norm(%x, %gamma, %beta, %mean, %var)
    }
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from passlab.analysis.state import Movability
from passlab.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem
from passlab.ir.module import IRModule
from passlab.ir.op import op_name
from passlab.ir.types import TensorType
from passlab.ir.walk import rewrite
from passlab.op import make
from passlab.op.dtypes import array_dtype, is_float_name
from passlab.rewriting.dimensions import expand_to_axis
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import Part, Rounds, standard_pass


@standard_pass(opt_level=0, required=("InferType",), contract=Rounds(4096))
class SimplifyInference(FunctionPass):
    """Expand normalisation operators into primitive arithmetic.

    `nn.batch_norm` becomes a scale and a shift if only its first result is used. `nn.dropout` becomes its input and a
    mask of ones (Relay keeps it unless its results are projected directly). `nn.layer_norm`, `nn.group_norm`,
    `nn.instance_norm` and `nn.l2_normalize` become means, variances and elementwise arithmetic. Constants have the
    dtype of the data (Relay's l2_normalize uses float32). Calls on integers, whose steps would round, and calls whose
    arguments after the data have effects stay as they are.
    """

    def acts_on(self) -> Iterable[Part]:
        return (*_CALLS, *_PROJECTED)

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        rule = partial(_simplify, Movability(mod))
        return rewrite(func, rule, only=(Call, TupleGetItem), name="inference form")


_WIDE = 4  # the dtypes, in bytes, in which squares are summed


def _simplify(is_movable: Movability, pre: Expr, post: Expr) -> Expr:
    call = pre.tuple_value if type(pre) is TupleGetItem else pre
    name = op_name(call)
    if type(call) is not Call or name not in (_CALLS if call is pre else _PROJECTED):
        return post
    if not all(map(is_movable, call.args[1:])):
        return post  # the new form evaluates the arguments after the data in another order, or not at all
    if type(post) is Call:
        return _CALLS[name](post, _float_tensor_type(call.args[0])) or post
    if type(post) is not TupleGetItem:
        return post
    if name == "nn.dropout" and type(post.tuple_value) is Tuple:
        return post.tuple_value.fields[post.index]
    if name == "nn.batch_norm" and post.index == 0 and type(post.tuple_value) is Call:
        return _batch_norm(post.tuple_value, _float_tensor_type(call.args[0])) or post
    return post


def _float_tensor_type(expr: Expr) -> TensorType | None:
    """Return the type of floating-point data; None for integers, which would round at each step."""
    ty = expr.checked_type
    return ty if type(ty) is TensorType and is_float_name(ty.dtype) else None


def _scalar(value: float, ty: TensorType) -> Constant:
    return Constant(np.asarray(value, dtype=array_dtype(ty.dtype)))


def _batch_norm(call: Call, ty: TensorType | None) -> Expr | None:
    if ty is None:
        return None
    data, gamma, beta, mean, var = call.args
    attrs: Any = call.attrs
    rank, axis = len(ty.shape), attrs.axis % len(ty.shape)
    scale: Expr = make("divide", _scalar(1, ty), make("sqrt", make("add", var, _scalar(attrs.epsilon, ty))))
    if attrs.scale:
        scale = make("multiply", scale, gamma)
    shift: Expr = make("multiply", make("negative", mean), scale)
    if attrs.center:
        shift = make("add", shift, beta)
    scaled = make("multiply", data, expand_to_axis(scale, rank, axis))
    return make("add", scaled, expand_to_axis(shift, rank, axis))


def _standardize(data: Expr, ty: TensorType, axes: Sequence[int], epsilon: float) -> Expr:
    """Return data with mean 0 and variance 1 over some axes."""
    data, wide = _widen(data, ty)
    mean = make("mean", data, axis=axes, keepdims=True)
    var = make("variance", data, mean, axis=axes, keepdims=True)
    deviation = make("sqrt", make("add", var, _scalar(epsilon, wide)))
    return _narrow(make("divide", make("subtract", data, mean), deviation), ty)


def _widen(data: Expr, ty: TensorType) -> tuple[Expr, TensorType]:
    """Return data in a dtype that holds its squares: squares of float16 above 255 overflow, which Relay ignores."""
    if array_dtype(ty.dtype).itemsize >= _WIDE:
        return data, ty
    return make("cast", data, dtype="float32"), TensorType(ty.shape, "float32")


def _narrow(data: Expr, ty: TensorType) -> Expr:
    return data if array_dtype(ty.dtype).itemsize >= _WIDE else make("cast", data, dtype=ty.dtype)


def _affine(data: Expr, call: Call, rank: int, axis: int) -> Expr:
    """Return data times gamma plus beta, each only if the attributes `scale` and `center` say so."""
    attrs: Any = call.attrs
    if attrs.scale:
        data = make("multiply", data, expand_to_axis(call.args[1], rank, axis))
    if attrs.center:
        data = make("add", data, expand_to_axis(call.args[2], rank, axis))
    return data


def _layer_norm(call: Call, ty: TensorType | None) -> Expr | None:
    if ty is None:
        return None
    attrs: Any = call.attrs
    rank, axis = len(ty.shape), attrs.axis % len(ty.shape)
    return _affine(_standardize(call.args[0], ty, [axis], attrs.epsilon), call, rank, axis)


def _instance_norm(call: Call, ty: TensorType | None) -> Expr | None:
    if ty is None:
        return None
    attrs: Any = call.attrs
    rank, axis = len(ty.shape), attrs.axis % len(ty.shape)
    axes = [i for i in range(1, rank) if i != axis]
    return _affine(_standardize(call.args[0], ty, axes, attrs.epsilon), call, rank, axis)


def _group_norm(call: Call, ty: TensorType | None) -> Expr | None:
    """Split the channel axis into groups, standardize over all axes but batch and group, and join the groups."""
    if ty is None or ty.dynamic:
        return None
    attrs: Any = call.attrs
    shape, groups = ty.concrete_shape, attrs.num_groups
    rank, axis = len(shape), attrs.axis % len(shape)
    split = [*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :]]
    axes = list(range(axis + 1, rank + 1))
    data = make("reshape", call.args[0], newshape=split)
    data = make("reshape", _standardize(data, ty, axes, attrs.epsilon), newshape=list(shape))
    return _affine(data, call, rank, axis)


def _l2_normalize(call: Call, ty: TensorType | None) -> Expr | None:
    if ty is None:
        return None
    attrs: Any = call.attrs
    data, wide = _widen(call.args[0], ty)
    total = make("sum", make("multiply", data, data), axis=attrs.axis, keepdims=True)
    return _narrow(make("divide", data, make("sqrt", make("maximum", total, _scalar(attrs.eps, wide)))), ty)


def _dropout(call: Call, ty: TensorType | None) -> Expr:
    return Tuple((call.args[0], make("ones_like", call.args[0])))


_CALLS: dict[str, Callable[[Call, TensorType | None], Expr | None]] = {
    "nn.layer_norm": _layer_norm,
    "nn.instance_norm": _instance_norm,
    "nn.group_norm": _group_norm,
    "nn.l2_normalize": _l2_normalize,
    "nn.dropout": _dropout,
}
_PROJECTED = ("nn.dropout", "nn.batch_norm")  # those of which a result is looked at if it is projected
