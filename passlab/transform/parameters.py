"""Give the parameters of a program's `main` their values, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passlab.errors import Diagnostic, RunError, did_you_mean
from passlab.ir.expr import Constant, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.walk import substitute


def bind_params(mod: IRModule, params: Mapping[str, Any] | None) -> IRModule:
    """Return the module with constants for the parameters of `main` that `params` names.

    Raises `RunError` for a name that `main` does not have.
    """
    if not params:
        return mod
    main: Function = mod["main"]
    by_name = {p.name_hint: p for p in main.params}
    for name in params:
        if name not in by_name:
            raise RunError(Diagnostic(f"main has no parameter %{name}", hint=did_you_mean(name, by_name)))
    bound: dict[Expr, Expr] = {by_name[n]: v if isinstance(v, Constant) else Constant(v) for n, v in params.items()}
    rest = [p for p in main.params if p not in bound]
    body = substitute(main.body, bound)
    return mod.with_functions({"main": Function(rest, body, main.ret_type, main.type_params, main.attrs, main.span)})
