"""Transpose the weights of dense layers that transpose them at run time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from passlab.analysis import search_fc_transpose
from passlab.ir.expr import Expr
from passlab.ir.variables import all_vars
from passlab.passes.program.simplify_fc_transpose import SimplifyFCTranspose
from passlab.testing import run_opt_pass


def convert(func: Expr, params: Mapping[str, Any]) -> tuple[Expr, dict[str, Any]]:
    """Return the function with `nn.dense(x, w.T)` for `nn.dense(x, transpose(w))`, and its arrays by name.

    The array w stays among them only if the function still uses it.
    """
    names = [name for name in search_fc_transpose(func) if name in params]
    result = run_opt_pass(func, SimplifyFCTranspose(names))
    used = {var.name_hint for var in all_vars(result)}
    arrays = {name: array for name, array in params.items() if name not in names or name in used}
    for name in names:
        array = params[name]
        arrays[f"{name}.T"] = np.ascontiguousarray(np.asarray(getattr(array, "data", array)).T)
    return result, arrays
