"""The deep Q network that plays Atari games (Mnih et al., 2015)."""

from __future__ import annotations

from typing import Any

from passlab.ir.expr import Expr, Function
from passlab.ir.module import IRModule
from passlab.testing import layers
from passlab.testing.init import create_workload
from passlab.testing.layers import close_over, op, var


def get_net(
    batch_size: int,
    num_actions: int = 18,
    image_shape: tuple[int, ...] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Function:
    """Return the network."""
    net: Expr = var("data", (batch_size, *image_shape), dtype)
    for name, channels, size, stride in (("conv1", 32, 8, 4), ("conv2", 64, 4, 2), ("conv3", 64, 3, 1)):
        bias = var(f"{name}_bias")
        net = layers.conv2d(
            net,
            kernel_size=(size, size),
            strides=(stride, stride),
            padding=(0, 0),
            channels=channels,
            name=name,
            data_layout=layout,
            kernel_layout=layers.conv_kernel_layout(layout),
        )
        net = op("nn.relu", op("nn.bias_add", net, bias, layout.index("C")))
    net = layers.dense_add_bias(op("nn.batch_flatten", net), units=512, name="dense1")
    return close_over(layers.dense_add_bias(op("nn.relu", net), units=num_actions, name="dense2"))


def get_workload(
    batch_size: int,
    num_actions: int = 18,
    image_shape: tuple[int, ...] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> tuple[IRModule, dict[str, Any]]:
    """Return the typed module and the parameters."""
    return create_workload(get_net(batch_size, num_actions, image_shape, dtype, layout))
