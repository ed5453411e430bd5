"""The documented meaning of an operator, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.ir.expr import Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.types import TensorType
from passlab.relay import create_executor


def meaning(build: Callable[..., Expr], *arrays: Any) -> Any:
    """Return what the expression that `build` makes of one variable per array means on the arrays."""
    values = [np.asarray(array) for array in arrays]
    variables = [Var(f"x{at}", TensorType(value.shape, value.dtype.name)) for at, value in enumerate(values)]
    mod = IRModule.from_expr(Function(variables, build(*variables)))
    return np.asarray(create_executor("definition", mod).evaluate()(*values))
