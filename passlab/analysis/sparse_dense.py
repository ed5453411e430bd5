"""Finds weights of dense layers that are mostly zero, and converts them to block-sparse matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any, NamedTuple

import numpy as np

from passlab.errors import Diagnostic, NodeValueError
from passlab.ir.expr import Expr, Var
from passlab.ir.op import is_call_of
from passlab.ir.walk import post_order

Array = np.ndarray[Any, Any]


class SparseAnalysisResult(NamedTuple):
    """The names of sparse weights, and for each the shape of its data (rank 3), the lengths of indices and indptr."""

    weight_name: list[str]
    weight_shape: list[list[int]]


def search_dense_op_weight(expr: Expr) -> list[str]:
    """Return the names of the variables that are the second argument of an `nn.dense`, in evaluation order."""
    return weights_of(expr, "nn.dense")


def weights_of(expr: Expr, name: str) -> list[str]:
    """Return the names of the variables that are the second argument of the operator `name`, in evaluation order."""
    weights = [node.args[1] for node in post_order(expr) if is_call_of(node, name)]
    return list(dict.fromkeys(weight.name_hint for weight in weights if isinstance(weight, Var)))


def process_params(
    expr: Expr, params: MutableMapping[str, Any], block_size: tuple[int, int], sparsity_threshold: float
) -> SparseAnalysisResult:
    """Replace weights of dense layers in `params` by their BSR form if the fraction of zeros reaches the threshold.

    The array NAME becomes NAME.data (blocks, rows, columns), NAME.indices and NAME.indptr; weights missing in `params`
    stay. Raises `NodeValueError` for a weight whose shape is not a multiple of the block size.
    """
    return replace_weights(params, search_dense_op_weight(expr), block_size, sparsity_threshold, lambda weight: weight)


def replace_weights(
    params: MutableMapping[str, Any],
    names: Iterable[str],
    block_size: tuple[int, int],
    threshold: float,
    matrix_of: Callable[[Array], Array | None],
    in_blocks: bool = False,
) -> SparseAnalysisResult:
    """Replace the arrays with these names by the BSR form of their matrices, as `process_params` does.

    `matrix_of(weight)` is the matrix of a weight, None for a weight that stays. With `in_blocks`, zeros outside blocks
    of zeros do not count.
    """
    result = SparseAnalysisResult([], [])
    for name in names:
        if name not in params:
            continue
        weight = np.asarray(getattr(params[name], "data", params[name]))
        size = max(weight.size, 1)
        if 1 - np.count_nonzero(weight) / size < threshold or (matrix := matrix_of(weight)) is None:
            continue
        parts = block_parts(name, matrix, block_size)
        if in_blocks and 1 - parts[f"{name}.data"].size / size < threshold:
            continue
        del params[name]
        params.update(parts)
        result.weight_name.append(name)
        result.weight_shape.append([length for part in parts.values() for length in part.shape])
    return result


def block_parts(name: str, weight: Array, block_size: tuple[int, int]) -> Mapping[str, Any]:
    """Return data, indices and row pointers of a matrix in BSR form, which omits the blocks that are all zero."""
    height, width = (int(length) for length in block_size)
    rows, columns = weight.shape
    if height < 1 or width < 1 or rows % height or columns % width:
        what = f"blocks do not cover the weight `{name}`"
        raise NodeValueError(Diagnostic(what, expected=f"divisors of {weight.shape}", found=str(tuple(block_size))))
    blocks = weight.reshape(rows // height, height, columns // width, width).swapaxes(1, 2)
    nonzero = blocks.any(axis=(2, 3))
    return {
        f"{name}.data": np.ascontiguousarray(blocks[nonzero]),
        f"{name}.indices": np.nonzero(nonzero)[1].astype("int32"),
        f"{name}.indptr": np.concatenate([[0], np.cumsum(nonzero.sum(axis=1))]).astype("int32"),
    }
