"""`get_calibration_data`: the inputs and outputs of functions for other compilers. Runs the program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError, did_you_mean
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir.expr import Call, Expr, GlobalVar
from passlab.ir.module import IRModule
from passlab.ir.walk import post_order


def get_calibration_data(mod: IRModule, data: Mapping[str, Any]) -> dict[GlobalVar, dict[str, list[Any]]]:
    """Run `main` on arrays by parameter name; return the arguments and results of functions with `Compiler`.

    The result is `{global: {"inputs": [arrays], "outputs": [arrays]}}`, with tuples flattened; a function that `main`
    calls several times has the arrays of all its calls. Raises `RunError` if `data` does not fit, or the program
    fails.
    """
    mod = infer_module(mod)
    main = mod["main"]
    names = [param.name_hint for param in main.params]
    for name in names:
        if name not in data:
            raise RunError(Diagnostic(f"there is no data for %{name} of @main", hint=did_you_mean(name, data)))
    values = Evaluator(mod).values("main", [data[name] for name in names])
    result: dict[GlobalVar, dict[str, list[Any]]] = {}
    for node in post_order(main):
        if isinstance(node, Call) and isinstance(node.op, GlobalVar) and node in values:
            if isinstance(mod[node.op].attrs.get("Compiler"), str):
                arrays = result.setdefault(node.op, {"inputs": [], "outputs": []})
                arrays["inputs"] += [array for arg in node.args for array in _arrays(_value(arg, values))]
                arrays["outputs"] += _arrays(values[node])
    return result


def _value(node: Expr, values: Mapping[Expr, Any]) -> object:
    return values[node] if node in values else getattr(node, "data", None)


def _arrays(value: Any) -> list[Any]:
    """Return the arrays of a value in order, with tuples flattened."""
    out: list[Any] = []
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, tuple):
            stack.extend(reversed(part))
        elif isinstance(part, (np.ndarray, np.generic)):
            out.append(np.asarray(part))
    return out


__all__ = ["get_calibration_data"]
