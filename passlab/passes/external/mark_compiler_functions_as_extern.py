"""Mark global functions that an external compiler has compiled as external.

before: compiler_filter="toy"
    def @main(%x: Tensor[(2), float32]) { @toy_0(%x) }
    def @toy_0(%p: Tensor[(2), float32], Compiler="toy", global_symbol="toy_0") -> Tensor[(2), float32] { exp(%p) }
after:
    def @main(%x: Tensor[(2), float32]) { @toy_0(%x) }
    def @toy_0(%p: Tensor[(2), float32], Extern=1) -> Tensor[(2), float32] { exp(%p) }

keep: compiler_filter="other"
    def @main(%x: Tensor[(2), float32]) { @toy_0(%x) }
    def @toy_0(%p: Tensor[(2), float32], Compiler="toy", global_symbol="toy_0") -> Tensor[(2), float32] { exp(%p) }
"""

from __future__ import annotations

from passlab.ir.module import IRModule
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=0, contract=EXACT)
class MarkCompilerFunctionsAsExtern(ModulePass):
    """Replace all attributes of each global function that has the attribute `Compiler` by `Extern=1`.

    With `compiler_filter`, only functions for that compiler are marked. The body stays as a record of what the function
    computes; no later pass changes it.
    """

    compiler_filter: str = ""

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        changes = {
            name: function.with_fields(attrs={"Extern": 1})
            for name, function in mod.items()
            if function.attrs.get("Compiler") and self.compiler_filter in ("", function.attrs["Compiler"])
        }
        return mod.with_functions(changes) if changes else mod
