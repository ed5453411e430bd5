"""Give each kernel its own widening cast.

before:
    def @main(%x: Tensor[(2), int8], %a: Tensor[(2), int32], %b: Tensor[(2), int32]) {
      %0 = cast(%x, dtype="int32");
      (add(%0, %a), add(%0, %b))
    }
after:
    def @main(%x: Tensor[(2), int8], %a: Tensor[(2), int32], %b: Tensor[(2), int32]) {
      (add(cast(%x, dtype="int32"), %a), add(cast(%x, dtype="int32"), %b))
    }

keep:
    def @main(%x: Tensor[(2), int32], %a: Tensor[(2), int8], %b: Tensor[(2), int8]) {
      %0 = cast(%x, dtype="int8");
      (add(%0, %a), add(%0, %b))
    }
"""

from __future__ import annotations

from typing import Any

from passlab.ir.expr import Call, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import Op, OpPattern
from passlab.ir.types import TensorType
from passlab.ir.walk import rewrite
from passlab.op.dtypes import array_dtype
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=3, required=("InferType",), contract=EXACT, acts_on=("cast",))
class CanonicalizeCast(FunctionPass):
    """Copy a cast to a wider dtype that several elementwise or broadcasting operators use, one copy for each.

    Fused with its user, the cast costs nothing, and the narrow tensor is what goes through memory.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        met: set[Expr] = set()

        def own_casts(pre: Call, post: Call) -> Expr:
            if type(post.op) is not Op or post.op.spec.pattern > OpPattern.BROADCAST:
                return post
            args = list(post.args)
            for i, arg in enumerate(pre.args):
                if not _widens(arg):
                    continue
                if arg in met:
                    assert isinstance(args[i], Call)
                    args[i] = Call(args[i].op, args[i].args, args[i].attrs, args[i].type_args, args[i].span)  # type: ignore[attr-defined]
                met.add(arg)
            changed = any(a is not b for a, b in zip(args, post.args, strict=True))
            return post.with_fields(args=tuple(args)) if changed else post

        return rewrite(func, own_casts, only=(Call,), name="cast of its own")


def _widens(expr: Expr) -> bool:
    if type(expr) is not Call or type(expr.op) is not Op or expr.op.name != "cast":
        return False
    attrs: Any = expr.attrs
    ty = expr.args[0].checked_type
    return type(ty) is TensorType and array_dtype(ty.dtype).itemsize < array_dtype(attrs.dtype).itemsize
