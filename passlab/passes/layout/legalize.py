"""Replace calls of operators by what a target can do, as it was registered.

keep:
    def @main(%x: Tensor[(2), float32]) { exp(%x) }

keep: legalize_map_attr_name="FTVMOfNoOperator"
    def @main(%x: Tensor[(2), float32]) { nn.softmax(exp(%x)) }

before:
    def @main(%x: Tensor[(4), int32]) -> Tensor[(4), int8] {
      clip(qnn.requantize(%x, 1f, 0, 0.5f, 0, out_dtype="int8"), a_min=-128f, a_max=127f)
    }
after:
    def @main(%x: Tensor[(4), int32]) -> Tensor[(4), int8] {
      qnn.requantize(%x, 1f, 0, 0.5f, 0, out_dtype="int8")
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.ir.expr import Call, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import TensorType, Type
from passlab.passes.layout.legalization import legalize_call
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass


@standard_pass(opt_level=1, required=("InferType",), promise=None)
class Legalize(FunctionPass):
    """Ask the function registered for each operator what to put in the place of its calls, arguments first.

    Functions are registered with `relay.op.register_legalize("nn.dense")`, or under another attribute of operators
    with `relay.op.register_op_attr("nn.dense", "MyLegalize")`, which `legalize_map_attr_name` names then; an
    attribute that no operator has does nothing. Each gets (attrs, args, types), the types being those of the
    arguments and, last, of the call. It returns an expression of the same type, or None for no change; `PassError`
    for anything else. What it returns is not looked at again. A `clip` behind `qnn.requantize` that only cuts off what
    the dtype cannot hold is removed.
    """

    legalize_map_attr_name: str = "FTVMLegalize"

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        standard = _STANDARD if self.legalize_map_attr_name == "FTVMLegalize" else None
        return legalize_call(func, self.legalize_map_attr_name, standard)


def _clip(attrs: Any, args: Sequence[Expr], types: Sequence[Type]) -> Expr | None:
    """A clip to all that the dtype holds does nothing behind a requantization, which keeps to it."""
    source = args[0]
    ty = types[0]
    if type(source) is not Call or source.op is not Op.get("qnn.requantize") or not isinstance(ty, TensorType):
        return None
    info = np.iinfo(ty.dtype)
    return source if attrs.a_min <= info.min and attrs.a_max >= info.max else None


_STANDARD = {"clip": _clip}
