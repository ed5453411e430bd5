"""Replace functions that are used as values by ADT values.

before:
    def @main(%x: int32) -> int32 { @twice(fn (%y: int32) -> int32 { add(%y, %x) }, 3) }
    def @twice(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%f(%x)) }
after:
    type Defunc_fn_int32_int32 { Defunc_fn_int32_int32_0(int32), }
    def @main(%x: int32) -> int32 { @twice_defunc(Defunc_fn_int32_int32_0(%x), 3) }
    def @twice(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%f(%x)) }
    def @twice_defunc(%f: Defunc_fn_int32_int32, %x: int32) -> int32 {
      @apply_fn_int32_int32(%f, @apply_fn_int32_int32(%f, %x))
    }
    def @apply_fn_int32_int32(%f: Defunc_fn_int32_int32, %a0: int32) -> int32 {
      match (%f) { Defunc_fn_int32_int32_0(%x) => { add(%a0, %x) } }
    }

keep:
    def @main(%x: int32) -> int32 { @inc(@inc(%x)) }
    def @inc(%x: int32) -> int32 { add(%x, 1) }
"""

from __future__ import annotations

from typing import Any

from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.passes.functions.first_order import first_order
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=0, required=("InferType",), contract=EXACT)
class Defunctionalization(ModulePass):
    """Rewrite a function of a module, and all functions it reaches, so that no function is passed, returned or stored.

    The function is `entry`. Each function type in use becomes a data type `Defunc_...` with one constructor for each
    function used as a value, and a global function `apply_...` that selects the code by the constructor. Generic
    functions are copied for each instance, and for each use as an argument. The original functions stay: run
    RemoveUnusedFunctions. Relay names these types by their kind alone, so that different ones collide, and accepts
    functions only as arguments.

    `Defunctionalization(func, mod)` is Relay's function: it returns the rewritten function instead of a pass, and adds
    the new definitions to `mod`.
    """

    entry: str = "main"

    def __new__(cls, *args: Any, **options: Any) -> Any:
        if args and isinstance(args[0], Function):
            return first_order(args[0], args[1] if len(args) > 1 else options.get("mod") or IRModule())
        return super().__new__(cls)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return mod.with_functions({self.entry: first_order(mod[self.entry], mod)})
