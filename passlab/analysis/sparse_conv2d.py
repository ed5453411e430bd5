"""Finds weights of convolutions that are mostly zero, and converts them to block-sparse matrices."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import numpy as np

from passlab.analysis.sparse_dense import SparseAnalysisResult, block_parts
from passlab.ir.expr import Call, Expr, Var
from passlab.ir.op import find_op
from passlab.ir.walk import post_order
from passlab.op.dtypes import Array

# The axes of a weight in the order outputs, height, width, inputs, by the layout of the data.
AXES = {"NHWC": (3, 0, 1, 2), "NCHW": (0, 2, 3, 1)}


def search_conv2d_op_weight(expr: Expr) -> list[str]:
    """Return the names of the variables that are the second argument of an `nn.conv2d`, in evaluation order."""
    conv2d = find_op("nn.conv2d")
    calls = (node for node in post_order(expr) if isinstance(node, Call) and node.op is conv2d)
    return list(dict.fromkeys(call.args[1].name_hint for call in calls if isinstance(call.args[1], Var)))


def weight_matrix(weight: Array, layout: str) -> Array:
    """Return a weight as a matrix (outputs, height * width * inputs); it is HWIO for data in NHWC, else OIHW."""
    outputs = weight.transpose(AXES[layout])
    return outputs.reshape(outputs.shape[0], -1)


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

    Only weights with a window of `kernel_size` x `kernel_size`, 1 or 3, are replaced; `layout` is that of the data. For
    a window of 3, zeros only count in blocks of zeros, as in Relay. The array NAME becomes NAME.data (blocks, rows,
    columns), NAME.indices and NAME.indptr. `reg_task_input` is accepted and ignored. Raises `NodeValueError` for a
    weight whose matrix is not a multiple of the block size.
    """
    result = SparseAnalysisResult([], [])
    for name in search_conv2d_op_weight(expr):
        if name not in params:
            continue
        weight = np.asarray(getattr(params[name], "data", params[name]))
        window = weight.transpose(AXES[layout]).shape[1:3]
        if window != (kernel_size, kernel_size) or kernel_size not in (1, 3):
            continue
        if 1 - np.count_nonzero(weight) / max(weight.size, 1) < sparsity_threshold:
            continue
        parts = block_parts(name, weight_matrix(weight, layout), block_size)
        if kernel_size == 3 and 1 - parts[f"{name}.data"].size / max(weight.size, 1) < sparsity_threshold:
            continue
        del params[name]
        params.update(parts)
        result.weight_name.append(name)
        result.weight_shape.append([length for part in parts.values() for length in part.shape])
    return result
