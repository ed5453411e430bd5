"""Replace calls by calls in other layouts, as functions registered for a target decide, and adapt their surroundings.

keep:
    def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32]) {
      nn.relu(nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3]))
    }
"""

from __future__ import annotations

from passlab.ir.expr import Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import OpCall
from passlab.passes.layout.layout_rewriting import in_other_layouts
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass, with_attr

_HOOK = "FTVMAlterOpLayout"


@standard_pass(opt_level=3, required=("InferType",), contract=None, acts_on=(with_attr(_HOOK),))
class AlterOpLayout(FunctionPass):
    """Replace each call by the result of the function registered for its operator, which may choose another layout.

    Functions are registered with `relay.op.register_alter_op_layout("nn.conv2d")`. Each gets (attrs, args, types,
    out_type) and returns an expression, or None for no change. If the returned call and the original one both name
    layouts, the arguments they share are transformed to the new layouts, each once. Users of the result adapt or get it
    transformed back, as in ConvertLayout. Arguments that the function created are not transformed, nor is a result that
    is not such a call. If the size of a tensor does not fit the layout, the call stays. Raises `PassError` if the
    result has another type. Does nothing if no functions are registered.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return in_other_layouts(func, lambda call: None, _replace)


def _replace(call: OpCall, args: list[Expr]) -> Expr | None:
    hook = call.op.spec.extra.get(_HOOK)
    if hook is None:
        return None
    result: Expr | None = hook(call.attrs, args, [a.checked_type for a in call.args], call.checked_type)
    return result
