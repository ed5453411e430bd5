"""MobileNet: depthwise convolutions between pointwise ones (Howard et al., 2017)."""

from __future__ import annotations

from typing import Any

from passlab.ir.expr import Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.testing import layers
from passlab.testing.init import create_workload
from passlab.testing.layers import close_over, op, var

# (channels in, channels out, whether the image is halved) of the separable blocks
DEEP = (
    (32, 64, False),
    (64, 128, True),
    (128, 128, False),
    (128, 256, True),
    (256, 256, False),
    (256, 512, True),
    *(((512, 512, False),) * 5),
    (512, 1024, True),
    (1024, 1024, False),
)
SHALLOW = (*DEEP[:6], (512, 1024, True), (1024, 1024, True))


def _conv(data: Expr, name: str, layout: str, weight: Var | None = None, depthwise: bool = False, **attrs: Any) -> Expr:
    kernel_layout = layers.conv_kernel_layout(layout, depthwise)
    return layers.conv2d(data, weight, name=name, data_layout=layout, kernel_layout=kernel_layout, **attrs)


def _activate(data: Expr, name: str, layout: str) -> Expr:
    return op("nn.relu", layers.batch_norm_infer(data, name=name, epsilon=1e-5, axis=layout.index("C")))


def _separable(data: Expr, name: str, inner: int, outer: int, halve: bool, layout: str, dtype: str) -> Expr:
    shape = (inner, 1, 3, 3) if layout == "NCHW" else (3, 3, inner, 1)
    net = _conv(
        data,
        f"{name}_depthwise_conv1",
        layout,
        var(f"{name}_weight", shape, dtype),
        True,
        channels=inner,
        groups=inner,
        kernel_size=(3, 3),
        strides=(2, 2) if halve else (1, 1),
        padding=(1, 1),
    )
    net = _activate(net, f"{name}_bn1", layout)
    net = _conv(net, f"{name}_conv2", layout, channels=outer, kernel_size=(1, 1), strides=(1, 1), padding=(0, 0))
    return _activate(net, f"{name}_bn2", layout)


def mobile_net(
    num_classes: int = 1000,
    data_shape: tuple[int, ...] = (1, 3, 224, 224),
    dtype: str = "float32",
    alpha: float = 1.0,
    is_shallow: bool = False,
    layout: str = "NCHW",
) -> Function:
    """Return the network; `alpha` scales the number of channels."""
    net: Expr = var("data", data_shape, dtype)
    net = _conv(
        net,
        "conv_block_1_conv",
        layout,
        channels=int(32 * alpha),
        kernel_size=(3, 3),
        strides=(2, 2),
        padding=(1, 1),
    )
    net = _activate(net, "conv_block_1_bn", layout)
    for i, (inner, outer, halve) in enumerate(SHALLOW if is_shallow else DEEP, 1):
        name = f"separable_conv_block_{i}"
        net = _separable(net, name, int(inner * alpha), int(outer * alpha), halve, layout, dtype)
    net = op("nn.batch_flatten", op("nn.global_avg_pool2d", net, layout=layout))
    net = op("nn.dense", net, var("fc_weight"), units=num_classes)
    return close_over(op("nn.softmax", op("nn.bias_add", net, var("fc_bias"))))


def get_net(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Function:
    """Return the network in its usual size."""
    return mobile_net(num_classes, (batch_size, *image_shape), dtype, layout=layout)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> tuple[IRModule, dict[str, Any]]:
    """Return the typed module and the parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype, layout))
