"""Let a target put calls in other layouts in the place of calls of operators, and bring everything around along.

keep:
    def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32]) {
      nn.relu(nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3]))
    }
"""

from __future__ import annotations

from typing import Any

from passlab.ir.expr import Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import OpCall
from passlab.passes.layout.layout_rewriting import in_other_layouts
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass

_HOOK = "FTVMAlterOpLayout"


@standard_pass(opt_level=3, required=("InferType",), promise=None)
class AlterOpLayout(FunctionPass):
    """Ask what is registered for each operator for a call to put in its place, with its data in another layout.

    Functions are registered with `relay.op.register_alter_op_layout("nn.conv2d")`. Each gets (attrs, args, types,
    out_type) and returns an expression, or None for no change. Of a call that names layouts, as the one in whose place
    it stands, the arguments taken over are brought into those layouts, each once, and what uses the result goes along
    or gets it back, as in ConvertLayout. Arguments that the function made itself stand as it made them; so does, with
    the layouts of before, an expression of another kind. Where a tensor does not fit the layout, nothing changes.
    `PassError` for what is of another type. Without registered functions nothing changes.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return in_other_layouts(func, lambda call: None, _replace)


def _replace(call: OpCall, args: list[Expr]) -> Any:
    hook = call.op.spec.extra.get(_HOOK)
    if hook is None:
        return None
    return hook(call.attrs, args, [a.checked_type for a in call.args], call.checked_type)
