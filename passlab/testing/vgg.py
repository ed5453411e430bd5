"""VGG: 3x3 convolutions in five stages and three dense layers (Simonyan and Zisserman, 2014)."""

from __future__ import annotations

from typing import Any

from passlab.errors import Diagnostic, PasslabError
from passlab.ir.expr import Expr, Function
from passlab.ir.module import IRModule
from passlab.testing import layers
from passlab.testing.init import create_workload
from passlab.testing.layers import close_over, op, var

STAGES = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
FILTERS = (64, 128, 256, 512, 512)


def get_net(
    batch_size: int,
    image_shape: tuple[int, ...],
    num_classes: int,
    dtype: str,
    num_layers: int = 11,
    batch_norm: bool = False,
) -> Function:
    """Return the network of 11, 13, 16 or 19 layers. Raises `PasslabError` for another number."""
    if num_layers not in STAGES:
        raise PasslabError(Diagnostic(f"there is no VGG of {num_layers} layers", expected=", ".join(map(str, STAGES))))
    net: Expr = var("data", (batch_size, *image_shape), dtype)
    for i, (count, filters) in enumerate(zip(STAGES[num_layers], FILTERS, strict=True), 1):
        for j in range(1, count + 1):
            net = layers.conv2d(net, kernel_size=(3, 3), padding=(1, 1), channels=filters, name=f"conv{i}_{j}")
            net = op("nn.bias_add", net, var(f"conv{i}_{j}_bias"))
            if batch_norm:
                net = layers.batch_norm_infer(net, name=f"bn{i}_{j}")
            net = op("nn.relu", net)
        net = op("nn.max_pool2d", net, pool_size=(2, 2), strides=(2, 2))
    net = op("nn.batch_flatten", net)
    for name in ("fc6", "fc7"):
        net = op("nn.relu", layers.dense_add_bias(net, units=4096, name=name))
        net = op("nn.dropout", net, rate=0.5)
    return close_over(op("nn.softmax", layers.dense_add_bias(net, units=num_classes, name="fc8")))


def get_workload(
    batch_size: int,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
    num_layers: int = 11,
    batch_norm: bool = False,
) -> tuple[IRModule, dict[str, Any]]:
    """Return the typed module and the parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, dtype, num_layers, batch_norm))
