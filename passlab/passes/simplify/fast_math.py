"""Use faster, less exact versions of some functions.

before:
    def @main(%x: Tensor[(2), float32]) { exp(tanh(%x)) }
after:
    def @main(%x: Tensor[(2), float32]) { fast_exp(fast_tanh(%x)) }

before:
    def @main(%x: Tensor[(2, 4), float32]) { nn.softmax(%x, axis=1) }
after:
    def @main(%x: Tensor[(2, 4), float32]) { nn.fast_softmax(%x, axis=1) }

keep:
    def @main(%x: Tensor[(2), float32]) { sigmoid(log(%x)) }
"""

from __future__ import annotations

from passlab.ir.expr import Call, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.walk import rewrite
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import Rounds, standard_pass

FAST = {"exp": "fast_exp", "erf": "fast_erf", "tanh": "fast_tanh", "nn.softmax": "nn.fast_softmax"}


@standard_pass(opt_level=4, required=("InferType",), contract=Rounds(2**16, approximates=True), acts_on=tuple(FAST))
class FastMath(FunctionPass):
    """Replace exp, erf, tanh and nn.softmax by fast_exp, fast_erf, fast_tanh and nn.fast_softmax."""

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return rewrite(func, _fast, only=(Call,), name="fast approximation")


def _fast(pre: Call, post: Call) -> Expr:
    name = FAST.get(post.op.name) if type(post.op) is Op else None
    return post if name is None else Call(Op.get(name), post.args, post.attrs, post.type_args)
