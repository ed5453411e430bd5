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

from passlab.ir.expr import Call, Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.op import is_call_of
from passlab.ir.types import TensorType
from passlab.rewriting.weights import with_weights
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass


@standard_pass(opt_level=4, required=("DeadCodeElimination",), contract=None, acts_on=("nn.dense",))
class SimplifyFCTranspose(FunctionPass):
    """Replace `nn.dense(x, transpose(w))` by `nn.dense(x, w.T)`, where `w.T` is a new parameter.

    `target_weight_name` lists the parameters w, as `relay.analysis.search_fc_transpose` finds them. The parameters of
    the result are those still used, in order of use, then the new ones: pass its arrays by name, as
    `relay.data_dep_optimization.simplify_fc_transpose` returns them. Functions that others call stay as they are.
    """

    target_weight_name: Sequence[str] = ()

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        def replace(call: Call, transposed: tuple[Var, ...]) -> Expr:
            return call.with_fields(args=(call.args[0], *transposed))

        names, rule = self.target_weight_name, "take transposed weights"
        return with_weights(func, mod, names, transposed_weight, _transposed, replace, rule)


def _transposed(weight: Var) -> tuple[Var]:
    """Return the new parameter for the transpose of a weight."""
    ty = weight.type_annotation
    assert isinstance(ty, TensorType)
    return (Var(f"{weight.name_hint}.T", TensorType(ty.shape[::-1], ty.dtype), weight.span),)


def transposed_weight(call: Call) -> Expr | None:
    """Return w of `nn.dense(x, transpose(w))`, or None for other calls."""
    if not is_call_of(call, "nn.dense") or not is_call_of(transpose := call.args[1], "transpose"):
        return None
    axes = transpose.attrs.get("axes") if transpose.attrs is not None else None
    return transpose.args[0] if axes is None or [int(axis) % 2 for axis in axes] == [1, 0] else None
