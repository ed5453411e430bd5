"""Replace dense layers whose weights are mostly zero by sparse ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passlab.analysis.sparse_dense import process_params
from passlab.ir.expr import Expr
from passlab.ir.variables import all_vars
from passlab.passes.program.dense_to_sparse import DenseToSparse
from passlab.testing import run_opt_pass


def convert(
    func: Expr, params: Mapping[str, Any], blocksize: tuple[int, int], sparsity_threshold: float
) -> tuple[Expr, dict[str, Any]]:
    """Return the function with `nn.sparse_dense` for weights with at least `sparsity_threshold` zeros, and its arrays
    by name.

    Raises `NodeValueError` if the shape of such a weight is not a multiple of `blocksize`. A weight that other
    operators also use stays among the arrays.
    """
    arrays = dict(params)
    names, shapes = process_params(func, arrays, blocksize, sparsity_threshold)
    result = run_opt_pass(func, DenseToSparse(names, shapes))
    used = {var.name_hint for var in all_vars(result)}
    return result, arrays | {name: params[name] for name in names if name in used}
