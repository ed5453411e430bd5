"""Rewrite quantized operators as integer arithmetic.

before:
    def @main(%x: Tensor[(4), int8]) -> Tensor[(4), float32] { qnn.dequantize(%x, 0.5f, 3, out_dtype="float32") }
after:
    def @main(%x: Tensor[(4), int8]) -> Tensor[(4), float32] {
      multiply(cast(subtract(cast(%x, dtype="int32"), 3), dtype="float32"), 0.5f)
    }

before:
    def @main(%x: Tensor[(2, 4), uint8], %w: Tensor[(3, 4), int8]) -> Tensor[(2, 3), int32] {
      qnn.dense(%x, %w, 128, 0, 0.5f, 0.25f, units=3, out_dtype="int32")
    }
after:
    def @main(%x: Tensor[(2, 4), uint8], %w: Tensor[(3, 4), int8]) -> Tensor[(2, 3), int32] {
      nn.dense(subtract(cast(%x, dtype="int32"), 128), cast(%w, dtype="int32"), units=3, out_dtype="int32")
    }

keep:
    def @main(%x: Tensor[(4), int8], %s: float32) -> Tensor[(4), int8] {
      qnn.requantize(%x, %s, 0, 0.5f, 0, out_dtype="int8")
    }
"""

from __future__ import annotations

from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.passes.layout.legalization import legalize_call
from passlab.passes.precision.quantized_arithmetic import RULES
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import FINITE, standard_pass, with_attr

_HOOK = "FTVMQnnCanonicalize"


@standard_pass(opt_level=1, required=("InferType",), contract=FINITE, acts_on=(*RULES, with_attr(_HOOK)))
class QnnCanonicalizeOps(FunctionPass):
    """Rewrite the operators `qnn.*`, except simulations, as operators on integers and floats: `relay.qnn.transform`.

    Products become products of 32-bit integers minus their zero points, changes of scale become fixed-point arithmetic
    in 64 bits, and functions of 8-bit data become tables of 256 values. The results are bit for bit those of the
    operators, except for NaN. A call stays if a scale that must be known at compile time is not. Functions registered
    with `relay.op.register_qnn_canonicalize` take precedence over the built-in rules.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return legalize_call(func, _HOOK, RULES)
