"""A small network with the shape of large ones: dense and convolution branches that are added, twice."""

from __future__ import annotations

from typing import Any

from passlab.ir.expr import Expr, Function
from passlab.ir.module import IRModule
from passlab.testing import layers
from passlab.testing.init import Constant, create_workload
from passlab.testing.layers import close_over, op, var


def get_net(
    input_shape: tuple[int, int, int, int] = (1, 3, 24, 12), dtype: str = "float32", wtype: str | None = None
) -> Function:
    """Return the network for images of `input_shape`; weights have the dtype `wtype`, by default the dtype of the
    data.
    """
    weights = wtype or dtype
    data = var("data", input_shape, dtype)
    channels, width = input_shape[1], input_shape[3]

    def branches(net: Expr, dense: str, conv: str) -> Expr:
        """The sum of a dense layer over rows and a convolution, of the shape of the data."""
        rows = op("reshape", net, newshape=(-1, width))
        left = op("nn.relu", op("nn.dense", rows, var(dense, (width, width), weights)))
        left = op("reshape_like", left, data)
        weight = var(conv, (channels, channels, 3, 3), weights)
        right = op("nn.softmax", op("nn.conv2d", net, weight, padding=1, kernel_size=3))
        return op("add", left, right)

    added = branches(data, "dense_weight", "conv_weight")
    biased = layers.batch_norm_infer(op("nn.bias_add", added, var("bias")), name="batch_norm")
    return close_over(branches(biased, "dense2_weight", "conv2_weight"))


def get_workload(
    input_shape: tuple[int, int, int, int] = (1, 3, 24, 12), dtype: str = "float32", wtype: str | None = None
) -> tuple[IRModule, dict[str, Any]]:
    """Return the typed module and the parameters; all weights are zero."""
    return create_workload(get_net(input_shape, dtype, wtype), initializer=Constant())
