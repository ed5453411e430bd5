"""The plain functions beside the passes, that work on one expression without a module.

They are names of `passlab.transform`, under the names that Relay gives them.
"""

from __future__ import annotations

from passlab.infer import infer_module
from passlab.ir.expr import Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.types import Type
from passlab.ir.variables import free_vars
from passlab.transform.constant_folding import folded
from passlab.transform.passes.to_a_normal_form import to_a_normal_form


def fold_constants(expr: Expr, mod: IRModule | None = None, fold_qnn: bool = False) -> Expr:
    """Return `expr` with what is known computed, as by FoldConstant (`FoldConstantExpr`).

    `mod` is not needed: global functions are not gone into.
    """
    return folded(expr, fold_qnn)


def in_a_normal_form(expr: Expr) -> Expr:
    """Return `expr`, or the function with its body, in A-normal form (`ToANormalFormExpr`)."""
    if isinstance(expr, Function):
        return to_a_normal_form(expr)
    return to_a_normal_form(Function(free_vars(expr), expr)).body


def type_of(expr: Expr) -> Type:
    """Return the type of `expr`, inferred if it is not known (`InferTypeLocal`). Raises as inference does."""
    known = expr.checked_type_
    if known is not None:
        return known
    made = infer_module(IRModule.from_expr(expr))["main"]
    return made.checked_type if isinstance(expr, Function) else made.body.checked_type  # type: ignore[no-any-return]
