"""Replace calls of operators by what a target can do, as it was registered.

keep:
    def @main(%x: Tensor[(2), float32]) { exp(%x) }

keep: legalize_map_attr_name="FTVMOfNoOperator"
    def @main(%x: Tensor[(2), float32]) { nn.softmax(exp(%x)) }
"""

from __future__ import annotations

from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass
from passlab.transform.legalization import legalized


@standard_pass(opt_level=1, required=("InferType",), promise=None)
class Legalize(FunctionPass):
    """Ask the function registered for each operator what to put in the place of its calls, arguments first.

    Functions are registered with `relay.op.register_legalize("nn.dense")`, or under another attribute of operators
    with `relay.op.register_op_attr("nn.dense", "MyLegalize")`, which `legalize_map_attr_name` names then; an
    attribute that no operator has does nothing. Each gets (attrs, args, types), the types being those of the
    arguments and, last, of the call. It returns an expression of the same type, or None for no change; `PassError`
    for anything else. What it returns is not looked at again.
    """

    legalize_map_attr_name: str = "FTVMLegalize"

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return legalized(func, self.legalize_map_attr_name)
