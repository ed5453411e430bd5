"""Convert functions to continuation-passing style: results are passed to continuations instead of returned.

before:
    def @main(%x: int32) -> int32 { add(@double(%x), 1) }
    def @double(%y: int32) -> int32 { multiply(%y, 2) }
after:
    def @main[A](%x: int32, %k: fn (int32) -> A) -> A {
      @double_cps(%x, fn (%x_0: int32) -> A { let %x_1 = 1; let %x_2 = add(%x_0, %x_1); %k(%x_2) })
    }
    def @double[A](%y: int32, %k: fn (int32) -> A) -> A { let %x_0 = 2; let %x_1 = multiply(%y, %x_0); %k(%x_1) }
    def @double_cps[A](%y: int32, %k: fn (int32) -> A) -> A { let %x_0 = 2; let %x_1 = multiply(%y, %x_0); %k(%x_1) }

before:
    def @main(%c: bool, %x: int32) -> int32 { add(if (%c) { %x } else { 3 }, %x) }
after:
    def @main[A](%c: bool, %x: int32, %k: fn (int32) -> A) -> A {
      let %then = fn (%x_1: int32) -> A { let %x_2 = add(%x_1, %x); %k(%x_2) };
      if (%c) { %then(%x) } else { let %x_0 = 3; %then(%x_0) }
    }
"""

from __future__ import annotations

from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.passes.functions.continuations import to_cps
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass


@standard_pass(opt_level=1, contract=None)
class ToCPS(FunctionPass):
    """Add to each function its continuation as last parameter, and the answer type of that as type parameter.

    Functions are converted to A-normal form first. A call of a function other than an operator, constructor or kernel
    gets the rest of the computation as a continuation; branches share theirs, bound by a `let`. Global functions in use
    are added as `NAME_cps`, and called by that name. Function types change everywhere except in kernels. UnCPS restores
    the signature of each function. Raises `DiagnosticError` for operators and constructors that are used as values.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return func if func.is_primitive else to_cps(func, mod)
