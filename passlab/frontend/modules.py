"""The module of a translated model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from passlab.infer import infer_module
from passlab.ir.expr import Expr, Function, Tuple, Var
from passlab.ir.module import IRModule
from passlab.ir.types import ANY, TensorType
from passlab.ir.variables import bind, free_vars

Array = np.ndarray[Any, Any]


def module_of(
    outputs: list[Expr], inputs: list[Var], weights: Mapping[Expr, Array]
) -> tuple[IRModule, dict[str, Array]]:
    """Return the typed module that computes some outputs, and the values of the weights it uses, by name.

    Parameters of `main` are the inputs, then these weights.
    """
    body = outputs[0] if len(outputs) == 1 else Tuple(outputs)
    inputs, body = _without_symbols(inputs, body)
    used = [var for var in free_vars(body) if var in weights]
    mod = IRModule.from_expr(Function([*inputs, *used], body))
    return infer_module(mod), {var.name_hint: weights[var] for var in used}


def _without_symbols(inputs: list[Var], body: Expr) -> tuple[list[Var], Expr]:
    """Replace symbolic dimensions of inputs by `?`; without any, inputs and body are returned unchanged."""
    changes: dict[Var, Var] = {}
    for var in inputs:
        ty = var.type_annotation
        if isinstance(ty, TensorType) and erase_symbols(ty) is not ty:
            changes[var] = Var(var.name_hint, erase_symbols(ty))
    return [changes.get(var, var) for var in inputs], bind(body, changes) if changes else body


def erase_symbols(ty: TensorType) -> TensorType:
    """Return a type with `?` for each symbolic dimension."""
    return TensorType([dim if isinstance(dim, int) else ANY for dim in ty.shape], ty.dtype)
