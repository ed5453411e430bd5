"""Replace every `let` by sharing.

before:
    def @main(%x: Tensor[(2), float32]) {
      let %a = exp(%x);
      let %b = add(%a, %a);
      multiply(%a, %b)
    }
after:
    def @main(%x: Tensor[(2), float32]) {
      %0 = exp(%x);
      multiply(%0, add(%0, %0))
    }

keep:
    def @main(%x: Tensor[(2), float32]) { %0 = exp(%x); add(%0, %0) }
"""

from __future__ import annotations

from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass
from passlab.transform.let_removal import Fate, remove_lets


@standard_pass(opt_level=1, promise=EXACT)
class ToGraphNormalForm(FunctionPass):
    """Put the value of each let in place of its variable, as one shared node.

    A function that calls itself through its variable is kept as `let f = fn ...; f`. The order that lets give to
    effects is lost: use it on programs without references and other effects only, as in Relay.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return remove_lets(func, lambda let, value: Fate.INLINE)  # type: ignore[return-value]
