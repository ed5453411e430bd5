"""DenseNet (Huang et al., 2017), as Relay builds it: a block joins the results of its layers, which form a chain."""

from __future__ import annotations

from typing import Any

from passlab.errors import Diagnostic, PasslabError
from passlab.ir.expr import Expr, Function
from passlab.ir.module import IRModule
from passlab.testing import layers
from passlab.testing.init import create_workload
from passlab.testing.layers import close_over, op, var

# size: (filters of the first layer, growth a layer, layers of each block)
SIZES = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}
_WIDTH = 4  # channels inside a layer, in units of its growth


def _activate(net: Expr, name: str) -> Expr:
    return op("nn.relu", layers.batch_norm_infer(net, name=name))


def _block(net: Expr, count: int, growth: int, index: int) -> Expr:
    features = []
    for i in range(count):
        net = _activate(net, f"batch_1_{index}_{i}")
        net = layers.conv2d(net, channels=_WIDTH * growth, kernel_size=(1, 1), name=f"conv2d_1_{index}_{i}")
        net = _activate(net, f"batch_2_{index}_{i}")
        net = layers.conv2d(net, channels=growth, kernel_size=(3, 3), padding=(1, 1), name=f"conv2d_2_{index}_{i}")
        features.append(net)
    return op("concatenate", features, axis=1)


def get_net(
    densenet_size: int = 121,
    classes: int = 1000,
    batch_size: int = 4,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
) -> Function:
    """Return the network of size 121, 161, 169 or 201. Raises `PasslabError` for another size."""
    if densenet_size not in SIZES:
        sizes = ", ".join(map(str, SIZES))
        raise PasslabError(Diagnostic(f"there is no DenseNet of size {densenet_size}", expected=sizes))
    features, growth, blocks = SIZES[densenet_size]
    net: Expr = var("data", (batch_size, *image_shape), dtype)
    net = layers.conv2d(net, channels=features, kernel_size=(7, 7), strides=(2, 2), padding=(3, 3), name="conv1")
    net = op("nn.max_pool2d", _activate(net, "batch1"), pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    for index, count in enumerate(blocks):
        net = _block(net, count, growth, index)
        features += count * growth
        if index < len(blocks) - 1:
            features //= 2
            net = _activate(net, f"batch_t_{index}")
            net = layers.conv2d(net, channels=features, kernel_size=(1, 1), name=f"conv_t_{index}")
            net = op("nn.avg_pool2d", net, pool_size=(2, 2), strides=(2, 2))
    net = op("nn.avg_pool2d", _activate(net, "batch2"), pool_size=(7, 7))
    return close_over(layers.dense_add_bias(op("nn.batch_flatten", net), units=classes, name="dense"))


def get_workload(
    densenet_size: int = 121,
    classes: int = 1000,
    batch_size: int = 4,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Any]]:
    """Return the typed module and the parameters."""
    return create_workload(get_net(densenet_size, classes, batch_size, image_shape, dtype))
