"""Undo the fusion of operators into kernels.

before:
    def @main(%x: Tensor[(2), float32]) {
      %0 = fn (%p0: Tensor[(2), float32], Primitive=1) -> Tensor[(2), float32] { exp(add(%p0, 1f)) };
      %0(%x)
    }
after:
    def @main(%x: Tensor[(2), float32]) { exp(add(%x, 1f)) }

keep:
    def @main(%x: Tensor[(2), float32]) { let %f = fn (%y: Tensor[(2), float32]) { exp(%y) }; %f(%x) }
"""

from __future__ import annotations

from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.rewriting.beta_reduction import beta_reduced
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=3, required=("InferType",), contract=EXACT, acts_on=(Function,))
class DefuseOps(FunctionPass):
    """Replace every call of a function literal by the body of the function: the inverse of FuseOps.

    Parameters are compared by identity, not by name. A literal that is called several times is copied for each call.
    Arguments that read or change state are first bound by lets, so that they are still evaluated once and in order.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return beta_reduced(func, mod)
