"""Transpose the weights of dense layers in advance instead of in every run.

before: target_weight_name=["w"]
    def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(8, 3), float32]) {
      nn.relu(nn.dense(%x, transpose(%w, axes=[1, 0])))
    }
after:
    def @main(%x: Tensor[(1, 8), float32], %"w.T": Tensor[(3, 8), float32]) { nn.relu(nn.dense(%x, %"w.T")) }

keep: target_weight_name=["v"]
    def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(8, 3), float32]) { nn.dense(%x, transpose(%w, axes=[1, 0])) }

keep: target_weight_name=["w"]
    def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(3, 8), float32]) { nn.dense(%x, %w) }
"""

from __future__ import annotations

from collections.abc import Sequence

from passlab.analysis.call_graph import named_functions
from passlab.ir.expr import Call, Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.op import find_op
from passlab.ir.types import TensorType
from passlab.rewriting.weights import with_weights
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass


@standard_pass(opt_level=4, required=("DeadCodeElimination",), promise=None)
class SimplifyFCTranspose(FunctionPass):
    """Replace `nn.dense(x, transpose(w))` by `nn.dense(x, w.T)`, where `w.T` is a new parameter.

    `target_weight_name` lists the parameters w, as `relay.analysis.search_fc_transpose` finds them. The parameters of
    the result are those still used, in order of use, then the new ones: pass its arrays by name, as
    `relay.data_dep_optimization.simplify_fc_transpose` returns them. Functions that others call stay as they are.
    """

    target_weight_name: Sequence[str] = ()

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        expected = {p for p in func.params if p.name_hint in {str(name) for name in self.target_weight_name}}
        if not expected or func in named_functions(mod):
            return func
        turned: dict[Var, Var] = {}

        def replace(pre: Call, post: Call) -> tuple[Expr, Sequence[Var]] | None:
            weight = transposed_weight(pre)
            if weight is None or weight not in expected or not isinstance(weight.type_annotation, TensorType):
                return None
            ty = weight.type_annotation
            if weight not in turned:
                turned[weight] = Var(f"{weight.name_hint}.T", TensorType(ty.shape[::-1], ty.dtype), weight.span)
            result = post.with_fields(args=(post.args[0], turned[weight]))
            return result, (turned[weight],)

        return with_weights(func, replace, "take transposed weights")


def transposed_weight(call: Call) -> Var | None:
    """Return w of `nn.dense(x, transpose(w))`, or None for other calls."""
    if call.op is not find_op("nn.dense"):
        return None
    turn = call.args[1]
    if not isinstance(turn, Call) or turn.op is not find_op("transpose") or not isinstance(turn.args[0], Var):
        return None
    axes = turn.attrs.get("axes") if turn.attrs is not None else None
    return turn.args[0] if axes is None or [int(axis) % 2 for axis in axes] == [1, 0] else None
