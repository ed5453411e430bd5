"""ResNet over volumes, for action recognition in videos (Hara et al., 2018)."""

from __future__ import annotations

from typing import Any

from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.testing import layers
from passlab.testing.init import create_workload
from passlab.testing.layers import close_over, op, var
from passlab.testing.resnet import ResNetBuilder, plan_of


def get_net(
    batch_size: int,
    num_classes: int,
    num_layers: int = 50,
    image_shape: tuple[int, ...] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
    **kwargs: Any,
) -> Function:
    """Return the network. Raises `PasslabError` for a number of layers that no ResNet has."""
    build = ResNetBuilder(3, layout)
    height = image_shape[layout.index("H") - 1]
    plan = plan_of(num_layers, height)
    net = build.norm(var("data", (batch_size, *image_shape), dtype), "bn_data", scale=False)
    if height <= 32:
        net = build.conv(net, plan.filters[0], 3, 1, "conv0")
    else:
        net = build.window(net, plan.filters[0], (3, 7, 7), (1, 2, 2), (1, 3, 3), "conv0")
        net = build.activate(net, "bn0")
    net = op("nn.adaptive_avg_pool3d", build.stages(net, plan), output_size=(1, 1, 1), layout=layout)
    net = layers.dense_add_bias(op("nn.batch_flatten", net), units=num_classes, name="fc1")
    return close_over(op("nn.softmax", net))


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: tuple[int, ...] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
    **kwargs: Any,
) -> tuple[IRModule, dict[str, Any]]:
    """Return the typed module and the parameters."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype, **kwargs))
