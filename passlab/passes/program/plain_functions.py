"""The plain functions next to the passes: they work on one expression, without a module.

`passlab.transform` exports them, under Relay's names for them.
"""

from __future__ import annotations

from passlab.analysis.extraction import extract_fused_functions
from passlab.analysis.well_formed import check_well_formed
from passlab.infer import infer_expr
from passlab.ir.expr import Call, Expr, Function, Var, set_checked_type
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import FuncType, Type
from passlab.ir.variables import free_vars
from passlab.ir.walk import children, post_order, rewrite
from passlab.passes.normal_form.to_a_normal_form import to_a_normal_form
from passlab.rewriting.constant_folding import fold
from passlab.rewriting.fresh_copy import fresh_copy
from passlab.transform.registry import get_pass


def fold_constants(expr: Expr, mod: IRModule | None = None, fold_qnn: bool = False) -> Expr:
    """Return `expr` with constants folded, as by FoldConstant (`FoldConstantExpr`).

    `mod` is needed only to see that calls of its functions have no effects; the functions are not entered.
    """
    return fold(expr, fold_qnn, mod)


def in_a_normal_form(expr: Expr) -> Expr:
    """Return `expr`, or the function with its body, in A-normal form (`ToANormalFormExpr`)."""
    if isinstance(expr, Function):
        return to_a_normal_form(expr)
    return to_a_normal_form(Function(free_vars(expr), expr)).body


def type_of(expr: Expr, mod: IRModule | None = None) -> Type:
    """Return the type of `expr`, inferred from the types of its parts (`InferTypeLocal`).

    Typed parts are not entered, so this takes one step for a node whose parts are all typed; untyped parts are
    inferred as well. Constructors and global names without a type need `mod`. The type is stored on the node if all its
    parts are typed (Relay stores it in any case, and leaves untyped parts under a typed node). Raises the errors of
    type inference.
    """
    if expr._checked_type is not None:
        return expr._checked_type
    order = post_order(expr, enter=lambda n: n is expr or n._checked_type is None)
    stand_ins: dict[Expr, Expr] = {
        n: Var("typed", n._checked_type) for n in order if n._checked_type is not None and type(n) is not Op
    }
    result = infer_expr(rewrite(expr, replace=dict(stand_ins)), mod).checked_type
    if all(kid in stand_ins or type(kid) is Op for kid in children(expr)) and not _lacks_type_args(expr):
        set_checked_type(expr, result)
    return result


def _lacks_type_args(expr: Expr) -> bool:
    """Return whether inference would have to add type arguments to a node, in addition to its type."""
    return type(expr) is Call and type(expr.op) is not Op and not expr.type_args and _is_generic(expr.op)


def _is_generic(callee: Expr) -> bool:
    ty = callee._checked_type
    return type(ty) is not FuncType or bool(ty.type_params)


def fresh_binders(expr: Expr) -> Expr:
    """Return a copy of `expr` with fresh binders; free variables and type parameters stay (`dedup`).

    Raises `WellFormedError` unless each variable of `expr` is bound once and used in its scope only; the copy has that
    property as well.
    """
    check_well_formed(expr)
    return fresh_copy(expr)


def fused_functions(mod: IRModule) -> dict[int, Function]:
    """Return the kernels that FuseOps(3) makes of a program, by structural hash, each once.

    This is `relay.analysis.extract_fused_functions`; it runs SimplifyInference first. Existing kernels stay as they
    are.
    """
    fused = get_pass("FuseOps", 3)(get_pass("SimplifyInference")(get_pass("InferType")(mod)))
    return extract_fused_functions(fused)
