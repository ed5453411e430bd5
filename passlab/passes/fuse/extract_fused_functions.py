"""Collect the fused kernels of a program in a module, each once.

before:
    def @main(%x: Tensor[(2), float32]) { exp(add(%x, 1f)) }
after:
    def @"9808616066864468307"(%p0: Tensor[(2), float32], Primitive=1) -> Tensor[(2), float32] { exp(add(%p0, 1f)) }

keep:
    def @kernel(%p0: Tensor[(2), float32], Primitive=1) -> Tensor[(2), float32] { exp(add(%p0, 1f)) }
"""

from __future__ import annotations

from passlab.analysis.extraction import extract_fused_functions
from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass
from passlab.transform.registry import get_pass


@standard_pass(opt_level=1, contract=None)
class ExtractFusedFunctions(ModulePass):
    """Return the primitive functions that SimplifyInference and FuseOps(3) leave, named by their hash.

    Existing kernels stay as they are. Everything but kernels and data types is removed, `main` too. A module that holds
    nothing but kernels is returned as it is. `relay.analysis.extract_fused_functions` returns the functions.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        kernels = {name for name, f in mod.items() if f.is_primitive}
        if len(mod) and len(kernels) == len(mod):
            return mod
        fused = get_pass("FuseOps", 3)(get_pass("SimplifyInference")(get_pass("InferType")(mod)))
        functions = extract_fused_functions(fused)
        gone: dict[str, Function | None] = {name: None for name, _ in mod.items()}
        return fused.with_functions({**gone, **{str(key & (1 << 64) - 1): f for key, f in functions.items()}})
