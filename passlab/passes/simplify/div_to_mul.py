"""Multiply by the reciprocal instead of dividing by a constant.

before:
    def @main(%x: Tensor[(2), float32]) { divide(%x, 4f) }
after:
    def @main(%x: Tensor[(2), float32]) { multiply(%x, 0.25f) }

keep:
    def @main(%x: Tensor[(2), float32]) { divide(%x, 0f) }

keep:
    def @main(%x: Tensor[(2), int32]) { divide(%x, 4) }
"""

from __future__ import annotations

import numpy as np

from passlab.ir.expr import Call, Constant, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.walk import rewrite
from passlab.op import make
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import Rounds, standard_pass

_FLOATS = frozenset({"float16", "float32", "float64"})


@standard_pass(opt_level=0, required=("InferType", "FoldConstant"), contract=Rounds(2), acts_on=("divide",))
class DivToMul(FunctionPass):
    """Replace division by a constant of float16, float32 or float64 by multiplication with its reciprocal.

    Every element is checked (Relay checks the first only): none may be zero, and all reciprocals must be normal
    numbers. Integer division stays.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return rewrite(func, _multiply_by, only=(Call,), name="divide as multiply")


def _multiply_by(pre: Call, post: Call) -> Expr:
    if type(post.op) is not Op or post.op.name != "divide" or type(post.args[1]) is not Constant:
        return post
    divisor = post.args[1].data
    if divisor.dtype.name not in _FLOATS:
        return post
    with np.errstate(all="ignore"):
        reciprocal = np.asarray(np.reciprocal(divisor), dtype=divisor.dtype)
    tiny = np.finfo(divisor.dtype).tiny
    if not (np.isfinite(reciprocal) & (np.abs(reciprocal) >= tiny)).all():
        return post
    return make("multiply", post.args[0], Constant(reciprocal))
