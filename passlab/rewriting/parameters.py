"""Binding the parameters of a function to values, by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from passlab.errors import Diagnostic, RunTypeError, RunValueError, type_in_words
from passlab.evaluate.arguments import check_argument
from passlab.ir.expr import Constant, Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.node_errors import not_a_node_error
from passlab.ir.types import TensorType
from passlab.ir.walk import substitute


def bind_params(mod: IRModule, params: Mapping[str, Any] | None, entry: str = "main") -> IRModule:
    """Return the module with the parameters of `entry` that are in `params` replaced by constants.

    Other names are ignored, as in Relay, so that one dictionary of weights can be used for several programs. Raises
    `RunError` for an array that does not have the declared type, `RunTypeError` if `params` is not a mapping.
    """
    if params is not None and not isinstance(params, Mapping):
        raise RunTypeError(f"parameters are given by name, not as {type_in_words(params)}")
    if not params:
        return mod
    main: Function = mod[entry]
    checked = {p.name_hint: _check_tensor(p, params[p.name_hint]) for p in main.params if p.name_hint in params}
    return mod.with_functions({entry: bind_params_by_name(main, {**params, **checked})})


def _check_tensor(param: Var, value: Any) -> object:
    """Return a value, checked against the declared type of its parameter if that is a tensor."""
    return check_argument(param, value) if isinstance(param.type_annotation, TensorType) else value


def bind_params_by_name(func: Function, params: Mapping[str, Any]) -> Function:
    """Return the function with the parameters in `params` replaced by constants, without inference.

    Other names are ignored, as in Relay; without any match the function itself is returned. Raises `RunValueError` for
    a name that two parameters share, `NodeTypeError` if `func` is not a function.
    """
    if not isinstance(func, Function):
        raise not_a_node_error(func, "a function")
    if not isinstance(params, Mapping):
        raise RunTypeError(Diagnostic("parameters are a mapping from names to arrays", found=type(params).__name__))
    matches = [p for p in func.params if p.name_hint in params]
    if not matches:
        return func
    repeated = [name for name, count in Counter(p.name_hint for p in matches).items() if count > 1]
    if repeated:
        raise RunValueError(Diagnostic(f"several parameters are called %{repeated[0]}", func.span))
    values = {p: params[p.name_hint] for p in matches}
    bound: dict[Expr, Expr] = {p: v if isinstance(v, Constant) else Constant(v) for p, v in values.items()}
    rest = [p for p in func.params if p not in bound]
    return Function(rest, substitute(func.body, bound), func.ret_type, func.type_params, func.attrs, func.span)
