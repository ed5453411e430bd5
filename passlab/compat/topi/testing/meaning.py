"""Evaluation of expressions on NumPy arrays by the definitions of their operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.ir.expr import Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.types import TensorType
from passlab.op.dtypes import Array
from passlab.relay import create_executor


def meaning(build: Callable[..., Expr], *arrays: Any) -> Array:
    """Evaluate the expression that `build` returns for one variable per array, by definition."""
    values = [np.asarray(array) for array in arrays]
    variables = [Var(f"x{at}", TensorType(value.shape, value.dtype.name)) for at, value in enumerate(values)]
    mod = IRModule.from_expr(Function(variables, build(*variables)))
    return np.asarray(create_executor("definition", mod).evaluate()(*values))
