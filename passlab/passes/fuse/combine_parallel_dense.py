"""Combine dense layers of the same input.

before: min_num_branches=2, to_batch=False
    def @main(%x: Tensor[(3, 4), float32], %w1: Tensor[(5, 4), float32], %w2: Tensor[(6, 4), float32]) {
      (nn.dense(%x, %w1), nn.dense(%x, %w2))
    }
after:
    def @main(%x: Tensor[(3, 4), float32], %w1: Tensor[(5, 4), float32], %w2: Tensor[(6, 4), float32]) {
      %0 = nn.dense(%x, concatenate((%w1, %w2)), units=11);
      (strided_slice(%0, begin=[0, 0], end=[-1, 5], strides=[1, 1], slice_mode="size"),
       strided_slice(%0, begin=[0, 5], end=[-1, 6], strides=[1, 1], slice_mode="size"))
    }

before: min_num_branches=2
    def @main(%x: Tensor[(3, 4), float32], %w1: Tensor[(5, 4), float32], %w2: Tensor[(5, 4), float32]) {
      (nn.dense(%x, %w1), nn.dense(%x, %w2))
    }
after:
    def @main(%x: Tensor[(3, 4), float32], %w1: Tensor[(5, 4), float32], %w2: Tensor[(5, 4), float32]) {
      %0 = split(nn.batch_matmul(stack((%x, %x)), stack((%w1, %w2)), transpose_b=True), indices_or_sections=2);
      (squeeze(%0.0, axis=[0]), squeeze(%0.1, axis=[0]))
    }

before: min_num_branches=2, to_batch=False
    def @main(%x: Tensor[(3, 4), float32], %w1: Tensor[(5, 4), float32], %w2: Tensor[(6, 4), float32]) {
      (expand_dims(nn.dense(%x, %w1), axis=2), expand_dims(nn.dense(%x, %w2), axis=2))
    }
after:
    def @main(%x: Tensor[(3, 4), float32], %w1: Tensor[(5, 4), float32], %w2: Tensor[(6, 4), float32]) {
      %0 = expand_dims(nn.dense(%x, concatenate((%w1, %w2)), units=11), axis=2);
      (strided_slice(%0, begin=[0, 0, 0], end=[-1, 5, -1], strides=[1, 1, 1], slice_mode="size"),
       strided_slice(%0, begin=[0, 5, 0], end=[-1, 6, -1], strides=[1, 1, 1], slice_mode="size"))
    }

keep: min_num_branches=2
    def @main(%x: Tensor[(3, 4), float32], %w1: Tensor[(5, 4), float32], %w2: Tensor[(6, 4), float32]) {
      (nn.dense(%x, %w1), nn.dense(%x, %w2))
    }
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from passlab.ir.expr import Expr, Function, Tuple, TupleGetItem
from passlab.ir.module import IRModule
from passlab.ir.op import Op, OpCall, is_op_call
from passlab.op import make
from passlab.op.autodiff import dtype_of, shape_of
from passlab.passes.fuse.combine_parallel import Combiner, combine_parallel, is_static, joined_along, slices
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import Rounds, standard_pass


@standard_pass(opt_level=4, required=("InferType",), contract=Rounds(1024), acts_on=("nn.dense",))
class CombineParallelDense(FunctionPass):
    """Replace `min_num_branches` or more dense layers of one input by one product.

    With `to_batch`, layers whose weights have the same shape become an `nn.batch_matmul` of the stacked weights;
    without it, the weights are concatenated along the units. Elementwise and broadcasting operators that follow every
    branch are combined as well. The accumulation dtype of the layers is kept (Relay drops it with `to_batch`).
    """

    min_num_branches: int = 3
    to_batch: bool = True

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return combine_parallel(func, mod, _ToBatch() if self.to_batch else _ToDense(), self.min_num_branches)


class _ToDense(Combiner):
    """Weights are concatenated along the units, results along the last axis."""

    op_name = "nn.dense"

    def supports(self, call: OpCall) -> bool:
        return is_static(call) and is_static(call.args[1])

    def compatible(self, a: OpCall, b: OpCall) -> bool:
        same = a.attrs.out_dtype == b.attrs.out_dtype
        return same and shape_of(a.args[1])[1] == shape_of(b.args[1])[1] and dtype_of(a.args[1]) == dtype_of(b.args[1])

    def combine(self, calls: Sequence[OpCall]) -> Expr:
        weight = joined_along([c.args[1] for c in calls], 0)
        units = sum(shape_of(c.args[1])[0] for c in calls)
        return make("nn.dense", calls[0].args[0], weight, units=units, out_dtype=calls[0].attrs.out_dtype)

    def fits(self, calls: Sequence[OpCall], parent: int, index: int) -> bool:
        """All axes but the last must agree; the last has the size of the branch, or 1 and is repeated."""
        if not _of_units(calls[0]):
            return False
        shapes = [shape_of(c.args[index]) for c in calls]
        if len({dtype_of(c.args[index]) for c in calls}) > 1 or len({(len(s), *s[:-1]) for s in shapes}) > 1:
            return False
        for call, shape in zip(calls, shapes, strict=True):
            units = shape_of(call.args[parent])[-1]
            if shape_of(call)[-1] != units or (shape and shape[-1] not in (1, units)):
                return False
        return True

    def join_argument(self, calls: Sequence[OpCall], parent: int, index: int) -> Expr:
        rank = len(shape_of(calls[0].args[index]))
        axis = max(rank - 1, 0)
        values = []
        for call in calls:
            value, units = call.args[index], shape_of(call.args[parent])[-1]
            narrow = not rank or (units > 1 and shape_of(value)[-1] == 1)
            if not rank:
                value = make("expand_dims", value, axis=-1)
            values.append(make("repeat", value, repeats=units, axis=axis) if narrow else value)
        return joined_along(values, axis)

    def may_reshape(self, call: OpCall) -> bool:
        return call.op is Op.get("expand_dims")

    def parts(self, whole: Expr, calls: Sequence[OpCall]) -> Iterable[Expr]:
        axis = _units_axis(calls[0])
        return slices(whole, len(shape_of(calls[0])), axis, [shape_of(c)[axis] for c in calls])


def _units_axis(call: OpCall) -> int:
    """Return the axis of the units: the last, not counting axes that were inserted behind it."""
    steps = []
    while len(call.args) == 1 and is_op_call(inner := call.args[0]):
        steps.append(call)
        call = inner
    axis = len(shape_of(call)) - 1
    for step in reversed(steps):
        if step.op.name == "expand_dims":
            attrs: Any = step.attrs
            place = attrs.axis % (len(shape_of(step.args[0])) + 1)
            axis += attrs.num_newaxis if place <= axis else 0
    return axis


class _ToBatch(Combiner):
    """Weights and results are stacked along a new first axis."""

    op_name = "nn.dense"

    def supports(self, call: OpCall) -> bool:
        return is_static(call) and is_static(call.args[1]) and len(shape_of(call)) == 2

    def compatible(self, a: OpCall, b: OpCall) -> bool:
        same = a.attrs.out_dtype == b.attrs.out_dtype
        return same and shape_of(a.args[1]) == shape_of(b.args[1]) and dtype_of(a.args[1]) == dtype_of(b.args[1])

    def combine(self, calls: Sequence[OpCall]) -> Expr:
        data, weight = ([c.args[i] for c in calls] for i in (0, 1))
        attrs: Any = calls[0].attrs
        return make("nn.batch_matmul", _stack(data), _stack(weight), out_dtype=attrs.out_dtype, transpose_b=True)

    def fits(self, calls: Sequence[OpCall], parent: int, index: int) -> bool:
        if not _of_units(calls[0]):
            return False
        kinds = {(shape_of(c.args[index]), dtype_of(c.args[index])) for c in calls}
        return len(kinds) == 1 and all(shape_of(c) == shape_of(c.args[parent]) for c in calls)

    def follow(self, call: OpCall, args: Sequence[Expr]) -> Expr:
        """The biases of a batch are matrices, so `bias_add` becomes `add`."""
        return make("add", *args) if _is_bias(call) else super().follow(call, args)

    def join_argument(self, calls: Sequence[OpCall], parent: int, index: int) -> Expr:
        """Each argument gets the two axes of a result, so that the stack broadcasts as each argument does."""
        missing = 2 - len(shape_of(calls[0].args[index]))
        values = [c.args[index] for c in calls]
        if missing:
            values = [make("expand_dims", v, axis=0, num_newaxis=missing) for v in values]
        return _stack(values)

    def parts(self, whole: Expr, calls: Sequence[OpCall]) -> Iterable[Expr]:
        pieces = make("split", whole, indices_or_sections=len(calls), axis=0)
        return [make("squeeze", TupleGetItem(pieces, i), axis=[0]) for i in range(len(calls))]


def _is_bias(call: OpCall) -> bool:
    return type(call.op) is Op and call.op.name == "nn.bias_add"


def _of_units(call: OpCall) -> bool:
    """Whether the call is anything but a `bias_add` on an axis other than the last."""
    attrs: Any = call.attrs
    return not _is_bias(call) or attrs.axis in (-1, len(shape_of(call)) - 1)


def _stack(values: Sequence[Expr]) -> Expr:
    return make("stack", Tuple(list(values)), axis=0)
