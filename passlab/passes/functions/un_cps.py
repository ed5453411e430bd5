"""Restore the signatures that functions had before ToCPS.

before:
    def @main[A](%x: int32, %k: fn (int32) -> A) -> A { let %y = multiply(%x, 2); %k(%y) }
after:
    def @main(%x: int32) -> int32 {
      let %k = fn (%r: int32) -> int32 { %r };
      let %y = multiply(%x, 2);
      %k(%y)
    }

keep:
    def @main[A](%x: A, %f: fn (A) -> int32) -> int32 { %f(%x) }
"""

from __future__ import annotations

from passlab.analysis.call_graph import named_functions
from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.passes.functions.continuations import is_cps, un_cps
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=1, contract=EXACT)
class UnCPS(FunctionPass):
    """Remove the continuation of each function in continuation-passing style that no other function calls.

    The identity function is passed as its continuation. Functions in other styles are not changed, nor are those that
    other functions call with a continuation, such as the `NAME_cps` that ToCPS adds.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return un_cps(func) if is_cps(func) and func not in named_functions(mod) else func
