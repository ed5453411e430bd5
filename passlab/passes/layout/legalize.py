"""Replace calls of operators by the results of functions registered for a target.

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

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from passlab.ir.expr import Call, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import TensorType, Type
from passlab.passes.layout.legalization import Hook, legalize_call
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import Part, standard_pass, with_attr


@standard_pass(opt_level=1, required=("InferType",), contract=None)
class Legalize(FunctionPass):
    """Replace each call by the result of the function registered for its operator, arguments first.

    Functions are registered with `relay.op.register_legalize("nn.dense")`, or under another attribute with
    `relay.op.register_op_attr("nn.dense", "MyLegalize")`, selected by `legalize_map_attr_name`; an attribute that no
    operator has does nothing. Each function gets (attrs, args, types): the types of the arguments and, last, of the
    call. It returns an expression of the same type, or None for no change; anything else raises `PassError`. Its result
    is not legalized again. A `clip` after `qnn.requantize` that only clips to the range of the dtype is removed.
    """

    legalize_map_attr_name: str = "FTVMLegalize"

    @property
    def _standard(self) -> Mapping[str, Hook]:
        return _STANDARD if self.legalize_map_attr_name == "FTVMLegalize" else {}

    def acts_on(self) -> Iterable[Part]:
        return *self._standard, with_attr(self.legalize_map_attr_name)

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return legalize_call(func, self.legalize_map_attr_name, self._standard)


def _clip(attrs: Any, args: Sequence[Expr], types: Sequence[Type]) -> Expr | None:
    """Remove a clip to the range of the dtype after a requantization, which stays in that range."""
    source = args[0]
    ty = types[0]
    if type(source) is not Call or source.op is not Op.get("qnn.requantize") or not isinstance(ty, TensorType):
        return None
    info = np.iinfo(ty.dtype)
    return source if attrs.a_min <= info.min and attrs.a_max >= info.max else None


_STANDARD = {"clip": _clip}
