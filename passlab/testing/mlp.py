"""A multilayer perceptron: three dense layers."""

from __future__ import annotations

from typing import Any

from passlab.ir.expr import Expr, Function
from passlab.ir.module import IRModule
from passlab.testing.init import create_workload
from passlab.testing.layers import close_over, dense_add_bias, op, var


def get_net(
    batch_size: int, num_classes: int = 10, image_shape: tuple[int, ...] = (1, 28, 28), dtype: str = "float32"
) -> Function:
    """Return the network as a function of its data and parameters."""
    net: Expr = op("nn.batch_flatten", var("data", (batch_size, *image_shape), dtype))
    net = op("nn.relu", dense_add_bias(net, units=128, name="fc1"))
    net = op("nn.relu", dense_add_bias(net, units=64, name="fc2"))
    return close_over(op("nn.softmax", dense_add_bias(net, units=num_classes, name="fc3")))


def get_workload(
    batch_size: int, num_classes: int = 10, image_shape: tuple[int, ...] = (1, 28, 28), dtype: str = "float32"
) -> tuple[IRModule, dict[str, Any]]:
    """Return the typed module and the parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
