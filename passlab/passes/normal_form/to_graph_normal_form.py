"""Replace every `let` by a shared node.

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

from passlab.analysis.state import Movability
from passlab.ir.expr import Expr, Function, Let
from passlab.ir.module import IRModule
from passlab.ir.walk import may_rewrite
from passlab.rewriting.let_binding import bind_shared_effects
from passlab.rewriting.let_removal import LetAction, remove_lets
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass

_NAME = "let as shared node"  # the name of the rewrite of each let that disappears


@standard_pass(opt_level=1, contract=EXACT)
class ToGraphNormalForm(FunctionPass):
    """Put the value of each let in place of its variable, as one shared node.

    A function that calls itself through its variable is kept as `let f = fn ...; f`. Lets whose values read or change
    state are kept, since they fix the order of effects (Relay removes them, and with them the effects).
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        is_movable = Movability(mod)
        func = bind_shared_effects(func, mod)

        def fate(let: Let, value: Expr) -> LetAction:
            return LetAction.INLINE if is_movable(let.value) and may_rewrite(_NAME) else LetAction.KEEP

        return remove_lets(func, fate, let_name=lambda let: _NAME)
