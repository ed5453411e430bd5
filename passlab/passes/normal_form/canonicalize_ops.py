"""Rewrite `nn.bias_add` as an addition.

before:
    def @main(%x: Tensor[(1, 4, 8, 8), float32], %b: Tensor[(4), float32]) { nn.bias_add(%x, %b) }
after:
    def @main(%x: Tensor[(1, 4, 8, 8), float32], %b: Tensor[(4), float32]) {
      add(%x, expand_dims(%b, axis=1, num_newaxis=2))
    }

before:
    def @main(%x: Tensor[(1, 4), float32], %b: Tensor[(4), float32]) { nn.bias_add(%x, %b, axis=-1) }
after:
    def @main(%x: Tensor[(1, 4), float32], %b: Tensor[(4), float32]) { add(%x, %b) }

keep:
    def @main(%x: Tensor[(1, 4), float32], %b: Tensor[(4), float32]) { add(%x, %b) }
"""

from __future__ import annotations

from passlab.ir.expr import Call, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import is_call_of
from passlab.ir.types import TensorType
from passlab.ir.walk import rewrite
from passlab.op import make
from passlab.rewriting.dimensions import expand_to_axis
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=3, required=("InferType",), contract=EXACT, acts_on=("nn.bias_add",))
class CanonicalizeOps(FunctionPass):
    """Rewrite `nn.bias_add` as `expand_dims` and `add`, so that other passes handle only one form."""

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        def canonical(pre: Expr, post: Expr) -> Expr:
            if not is_call_of(post, "nn.bias_add"):
                return post
            assert isinstance(pre, Call)
            ty = pre.args[0].checked_type
            if type(ty) is not TensorType:
                return post
            rank, axis = len(ty.shape), post.attrs.axis
            data, bias = post.args
            return make("add", data, expand_to_axis(bias, rank, axis % rank))

        return rewrite(func, canonical, only=(Call,), name="bias_add as add")
