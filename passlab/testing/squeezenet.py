"""SqueezeNet: fire modules that squeeze channels before they expand them (Iandola et al., 2016)."""

from __future__ import annotations

from typing import Any

from passlab.errors import Diagnostic, PasslabError
from passlab.ir.expr import Expr, Function
from passlab.ir.module import IRModule
from passlab.testing import layers
from passlab.testing.init import create_workload
from passlab.testing.layers import close_over, op, var

# (squeezed, expanded) channels of the fire modules; None is a pooling
FIRES: dict[str, tuple[tuple[int, int] | None, ...]] = {
    "1.0": ((16, 64), (16, 64), (32, 128), None, (32, 128), (48, 192), (48, 192), (64, 256), None, (64, 256)),
    "1.1": ((16, 64), (16, 64), None, (32, 128), (32, 128), None, (48, 192), (48, 192), (64, 256), (64, 256)),
}


def _conv(net: Expr, channels: int, size: int, padding: int, name: str) -> Expr:
    net = layers.conv2d(net, channels=channels, kernel_size=(size, size), padding=(padding, padding), name=name)
    return op("nn.relu", op("nn.bias_add", net, var(f"{name}_bias")))


def _fire(net: Expr, squeezed: int, expanded: int, name: str) -> Expr:
    net = _conv(net, squeezed, 1, 0, f"{name}_input_conv")
    left = _conv(net, expanded, 1, 0, f"{name}_left_conv")
    right = _conv(net, expanded, 3, 1, f"{name}_right_conv")
    return op("concatenate", (left, right), axis=1)


def _pool(net: Expr) -> Expr:
    return op("nn.max_pool2d", net, pool_size=(3, 3), strides=(2, 2))


def get_net(batch_size: int, image_shape: tuple[int, ...], num_classes: int, version: str, dtype: str) -> Function:
    """Return the network of version "1.0" or "1.1". Raises `PasslabError` for another."""
    if version not in FIRES:
        raise PasslabError(Diagnostic(f"there is no SqueezeNet {version}", expected=" or ".join(FIRES)))
    channels, size, padding = (96, 7, 3) if version == "1.0" else (64, 3, 1)
    net: Expr = layers.conv2d(
        var("data", (batch_size, *image_shape), dtype),
        channels=channels,
        kernel_size=(size, size),
        strides=(2, 2),
        padding=(padding, padding),
        name="conv1",
    )
    net = _pool(op("nn.relu", op("nn.bias_add", net, var("conv1_bias"))))
    number = 0
    for fire in FIRES[version]:
        if fire is None:
            net = _pool(net)
        else:
            number += 1
            net = _fire(net, *fire, f"fire{number}")
    net = op("nn.dropout", net, rate=0.5)
    net = _conv(net, num_classes, 1, 0, "conv_final")
    net = op("nn.batch_flatten", op("nn.global_avg_pool2d", net))
    return close_over(op("nn.softmax", net))


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    version: str = "1.0",
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Any]]:
    """Return the typed module and the parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, version, dtype))
