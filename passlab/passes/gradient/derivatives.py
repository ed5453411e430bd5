"""`gradient` turns a function into one that also returns its derivatives. It is not a pass, but prepares pipelines."""

from __future__ import annotations

import warnings

from passlab.analysis.call_graph import CallGraph
from passlab.errors import Diagnostic, DiagnosticError, PassTypeError, PassValueError, did_you_mean
from passlab.infer import infer_module
from passlab.ir.expr import Expr, Function, GlobalVar
from passlab.ir.module import IRModule
from passlab.ir.type_text import type_text
from passlab.ir.types import TensorType, TupleType, holds, type_nodes
from passlab.passes.gradient.checkpoints import has_checkpoints, mark_checkpoints
from passlab.passes.gradient.reverse_mode import ReverseMode, normal, obstacles


def gradient(expr: Expr, mod: IRModule | None = None, mode: str = "higher_order") -> Function:
    """Return a function from the same arguments to (value, (derivative with respect to each argument, ...)).

    `expr` is a non-generic function of tensors, or a global name of `mod`. It may hold closures, branches, data,
    references and recursion; each operator needs a gradient. The derivative belongs to the sum of the first tensor of
    the result. Functions of `mod` that it calls are added to `mod` with derivatives, as `NAME_grad`. The result is
    untyped; PartialEvaluate and DeadCodeElimination simplify it to plain code. What operators compute for an
    `annotation.checkpoint` is computed again where the derivatives need it; other values of checkpoints are kept.

    `mode="first_order"` is deprecated and applies FirstOrderGradient to the function alone, which follows no calls of
    `mod`. Raises `PassTypeError` if `expr` is not a function, `PassValueError` for other modes, and `DiagnosticError`,
    which lists everything without a derivative.
    """
    function = mod[expr] if isinstance(expr, GlobalVar) and mod is not None else expr
    if not isinstance(function, Function):
        hint = "give the module that defines it as well" if isinstance(expr, GlobalVar) else None
        raise PassTypeError(
            Diagnostic("only functions have a gradient", expected="a function", found=type(expr).__name__, hint=hint)
        )
    mod = mod if mod is not None else IRModule()
    if mode == "first_order":
        return _first_order(function, mod)
    if mode != "higher_order":
        modes = ("higher_order", "first_order")
        raise PassValueError(
            Diagnostic(
                "unknown mode of gradient",
                expected=" or ".join(modes),
                found=repr(mode),
                hint=did_you_mean(mode, modes),
            )
        )
    return _higher_order(function, mod)


def _entry(mod: IRModule) -> str:
    """Return a name that no function of a module has."""
    entry = "gradient_of"
    while entry in mod:
        entry += "_"
    return entry


def _first_order(function: Function, mod: IRModule) -> Function:
    from passlab.passes.gradient.first_order_gradient import first_order_gradient

    warnings.warn("mode='first_order' is deprecated: use the pass FirstOrderGradient", DeprecationWarning, stacklevel=3)
    entry = _entry(mod)
    return first_order_gradient("the function", infer_module(mod.with_functions({entry: function}))[entry])


def _higher_order(function: Function, mod: IRModule) -> Function:
    entry = _entry(mod)
    whole = mod.with_functions({entry: function})
    names = CallGraph(whole).reachable(entry)
    if any(has_checkpoints(whole[n]) for n in names):
        typed = infer_module(whole.with_functions({n: whole[n] for n in names}))
        whole = whole.with_functions({n: mark_checkpoints(typed[n]) for n in names})
    whole = infer_module(whole.with_functions({n: normal(whole[n]) for n in names}))
    _check(whole, entry, sorted(names))
    renamed = {n: mod.get_global_var(new) if (new := f"{n}_grad") in mod else GlobalVar(new) for n in names - {entry}}
    for name, var in renamed.items():
        if var.name_hint not in mod:
            mod.add(var, ReverseMode(renamed).of_global(whole[name]))
    return ReverseMode(renamed).of_entry(whole[entry])


def _result_obstacles(function: Function) -> list[Diagnostic]:
    """Return why the result of a typed function has no derivative: it is not made of tensors, or of none."""
    ty = function.body.checked_type
    if holds(ty, TensorType) and all(isinstance(part, (TensorType, TupleType)) for part in type_nodes(ty)):
        return []
    expected = "a tensor, or a tuple of tensors"
    return [Diagnostic("the result has no derivative", function.body.span, expected, type_text(ty))]


def _check(mod: IRModule, entry: str, names: list[str]) -> None:
    diagnostics = []
    if mod[entry].type_params:
        diagnostics.append(
            Diagnostic("the function is generic", mod[entry].span, hint="only functions of fixed type have one")
        )
    for param in mod[entry].params:
        if type(param.checked_type) is not TensorType:
            diagnostics.append(
                Diagnostic(
                    f"the parameter %{param.name_hint} is not a tensor", param.span, found=str(param.checked_type)
                )
            )
    if not mod[entry].type_params:
        diagnostics += _result_obstacles(mod[entry])
    for name in names:
        diagnostics += obstacles("the function" if name == entry else f"@{name}", mod[name])
    if diagnostics:
        raise DiagnosticError(*diagnostics)
