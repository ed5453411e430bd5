"""Combine batched matrix products of the same left operand.

before: min_num_branches=2
    def @main(%x: Tensor[(2, 3, 4), float32], %a: Tensor[(2, 5, 4), float32], %b: Tensor[(2, 6, 4), float32]) {
      (nn.batch_matmul(%x, %a, transpose_b=True), nn.batch_matmul(%x, %b, transpose_b=True))
    }
after:
    def @main(%x: Tensor[(2, 3, 4), float32], %a: Tensor[(2, 5, 4), float32], %b: Tensor[(2, 6, 4), float32]) {
      %0 = nn.batch_matmul(%x, concatenate((%a, %b), axis=1), transpose_b=True);
      (strided_slice(%0, begin=[0, 0, 0], end=[-1, -1, 5], strides=[1, 1, 1], slice_mode="size"),
       strided_slice(%0, begin=[0, 0, 5], end=[-1, -1, 6], strides=[1, 1, 1], slice_mode="size"))
    }

keep: min_num_branches=2
    def @main(%x: Tensor[(2, 3, 4), float32], %a: Tensor[(2, 4, 4), float32]) {
      %0 = nn.batch_matmul(%x, %a, transpose_b=True);
      (%0, nn.batch_matmul(%0, %a, transpose_b=True))
    }
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from passlab.ir.expr import Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import OpCall
from passlab.op import make
from passlab.op.autodiff import dtype_of, shape_of
from passlab.passes.fuse.combine_parallel import Combiner, combine_parallel, is_static, joined_along, slices
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import Rounds, standard_pass


@standard_pass(opt_level=4, required=("InferType",), contract=Rounds(1024), acts_on=("nn.batch_matmul",))
class CombineParallelBatchMatmul(FunctionPass):
    """Replace `min_num_branches` or more `nn.batch_matmul` of one left operand by one with concatenated right operands.

    Only products with transpose_a=False and transpose_b=True are combined. Elementwise and broadcasting operators that
    follow every branch are combined as well, if their arguments are as wide as the branch (Relay does not check this).
    """

    min_num_branches: int = 3

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return combine_parallel(func, mod, _BatchMatmul(), self.min_num_branches)


class _BatchMatmul(Combiner):
    op_name = "nn.batch_matmul"

    def supports(self, call: OpCall) -> bool:
        attrs: Any = call.attrs
        return is_static(call) and is_static(call.args[1]) and not attrs.transpose_a and attrs.transpose_b

    def compatible(self, a: OpCall, b: OpCall) -> bool:
        (batch_a, _, inner_a), (batch_b, _, inner_b) = shape_of(a.args[1]), shape_of(b.args[1])
        same = a.attrs.out_dtype == b.attrs.out_dtype and dtype_of(a.args[1]) == dtype_of(b.args[1])
        return same and (batch_a, inner_a) == (batch_b, inner_b)

    def combine(self, calls: Sequence[OpCall]) -> Expr:
        right = joined_along([c.args[1] for c in calls], 1)
        attrs: Any = calls[0].attrs
        return make("nn.batch_matmul", calls[0].args[0], right, out_dtype=attrs.out_dtype, transpose_b=True)

    def fits(self, calls: Sequence[OpCall], parent: int, index: int) -> bool:
        shapes = [shape_of(c.args[index]) for c in calls]
        if len({dtype_of(c.args[index]) for c in calls}) > 1 or len({(len(s), *s[:-1]) for s in shapes}) > 1:
            return False
        pairs = zip(calls, shapes, strict=True)
        return bool(shapes[0]) and all(
            s[-1] == shape_of(c)[-1] and shape_of(c) == shape_of(c.args[parent]) for c, s in pairs
        )

    def join_argument(self, calls: Sequence[OpCall], parent: int, index: int) -> Expr:
        return joined_along([c.args[index] for c in calls], -1)

    def parts(self, whole: Expr, calls: Sequence[OpCall]) -> Iterable[Expr]:
        return slices(whole, 3, 2, [shape_of(c)[-1] for c in calls])
