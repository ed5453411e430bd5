"""Let a target replace quantized operators, and write the others as the integer arithmetic that they stand for.

before:
    def @main(%x: Tensor[(4), int8]) -> Tensor[(4), float32] { qnn.dequantize(%x, 0.5f, 3, out_dtype="float32") }
after:
    def @main(%x: Tensor[(4), int8]) -> Tensor[(4), float32] {
      multiply(cast(subtract(cast(%x, dtype="int32"), 3), dtype="float32"), 0.5f)
    }

keep:
    def @main(%x: Tensor[(4), int8]) { clip(%x, a_min=0f, a_max=6f) }
"""

from __future__ import annotations

from passlab.transform.base import Pass
from passlab.transform.declare import FINITE, standard_pass
from passlab.transform.registry import get_pass
from passlab.transform.sequential import Sequential


@standard_pass(opt_level=1, required=("InferType",), promise=FINITE)
class QnnLegalize(Sequential):
    """Run Legalize with what is registered by `relay.op.register_qnn_legalize`, then QnnCanonicalizeOps.

    It is `relay.qnn.transform.Legalize()`.
    """

    def make_passes(self) -> list[Pass]:
        return [get_pass("Legalize", "FTVMQnnLegalize"), get_pass("QnnCanonicalizeOps")]
