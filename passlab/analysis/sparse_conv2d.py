"""Finds weights of convolutions that are mostly zero, and converts them to block-sparse matrices."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from passlab.analysis.sparse_dense import Array, SparseAnalysisResult, replace_weights, weights_of
from passlab.ir.expr import Expr

# The axes of a weight in the order outputs, height, width, inputs, by the layout of the data.
AXES = {"NHWC": (3, 0, 1, 2), "NCHW": (0, 2, 3, 1)}


def search_conv2d_op_weight(expr: Expr) -> list[str]:
    """Return the names of the variables that are the second argument of an `nn.conv2d`, in evaluation order."""
    return weights_of(expr, "nn.conv2d")


def process_params(
    expr: Expr,
    params: MutableMapping[str, Any],
    block_size: tuple[int, int],
    sparsity_threshold: float,
    layout: str = "NHWC",
    kernel_size: int = 1,
    reg_task_input: bool = True,
) -> SparseAnalysisResult:
    """Replace weights of convolutions in `params` by their BSR form if the fraction of zeros reaches the threshold.

    Only weights with a window of `kernel_size` x `kernel_size`, 1 or 3, are replaced; `layout` is the layout of the
    data. For a window of 3, zeros only count in blocks of zeros, as in Relay. The array NAME becomes NAME.data (blocks,
    rows, columns), NAME.indices and NAME.indptr. `reg_task_input` is accepted and ignored. Raises `NodeValueError` for
    a weight whose matrix is not a multiple of the block size.
    """

    def matrix_of(weight: Array) -> Array | None:  # outputs by height * width * inputs
        outputs = weight.transpose(AXES[layout])
        fits = outputs.shape[1:3] == (kernel_size, kernel_size) and kernel_size in (1, 3)
        return outputs.reshape(len(outputs), -1) if fits else None

    names = search_conv2d_op_weight(expr)
    return replace_weights(params, names, block_size, sparsity_threshold, matrix_of, in_blocks=kernel_size == 3)
