"""Bind expressions that several blocks share, so that each block is self-contained.

before:
    def @main(%c: bool, %x: Tensor[(2), float32]) {
      %0 = exp(%x);
      if (%c) { add(%0, %x) } else { multiply(%0, %x) }
    }
after:
    def @main(%c: bool, %x: Tensor[(2), float32]) {
      let %x_0 = exp(%x);
      if (%c) { add(%x_0, %x) } else { multiply(%x_0, %x) }
    }

before:
    def @main(%x: float32) { let %y = %x; add(%x, %y) }
after:
    def @main(%x: float32) { let %y = %x; add(%y, %y) }

keep:
    def @main(%x: Tensor[(2), float32]) {
      %0 = exp(%x);
      let %y = add(%0, %x);
      multiply(%0, %y)
    }
"""

from __future__ import annotations

from passlab.ir.expr import Function, If, Let, Match
from passlab.ir.module import IRModule
from passlab.rewriting.let_binding import BindingPlan, bind_beside_effects
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=1, contract=EXACT, acts_on=(Function, If, Let, Match))
class ToBasicBlockNormalForm(ModulePass):
    """Bind each expression that is used in several blocks (function bodies, branches, arms) by a `let` around all.

    Everything else stays as it is, existing lets included: a chain of lets is one block. Where a let gives a bound
    variable a second name, that name is used from there on, as in Relay. Relay misses an expression whose first use is
    in the outer of two blocks; it is bound here unless it is a constant. If a bound expression has effects, all
    expressions with effects are bound, so that effects keep their order.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return mod.with_functions({n: _to_basic_blocks(f, mod) for n, f in mod.items() if not f.attrs.get("Compiler")})


def _to_basic_blocks(function: Function, mod: IRModule) -> Function:
    plan = BindingPlan(function)
    return bind_beside_effects(function, mod, plan.crossing.__contains__, plan)
