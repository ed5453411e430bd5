"""Let a target replace quantized operators by registered functions.

keep:
    def @main(%x: Tensor[(4), int8]) -> Tensor[(4), float32] { qnn.dequantize(%x, 0.5f, 3, out_dtype="float32") }

keep:
    def @main(%x: Tensor[(4), int8]) { clip(%x, a_min=0f, a_max=6f) }
"""

from __future__ import annotations

from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.passes.layout.legalization import legalize_call
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass, with_attr

_HOOK = "FTVMQnnLegalize"


@standard_pass(opt_level=1, required=("InferType",), contract=None, acts_on=(with_attr(_HOOK),))
class QnnLegalize(FunctionPass):
    """Replace operators by the results of functions registered with `relay.op.register_qnn_legalize`.

    This is `relay.qnn.transform.Legalize()`. `QnnCanonicalizeOps` rewrites the remaining quantized operators as integer
    arithmetic.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return legalize_call(func, _HOOK)
