"""ResNet with activations before the convolutions (He et al., "Identity mappings in deep residual networks", 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from passlab.errors import Diagnostic, PasslabError
from passlab.ir.expr import Expr, Function
from passlab.ir.module import IRModule
from passlab.testing import layers
from passlab.testing.init import create_workload
from passlab.testing.layers import close_over, op, var

EPSILON = 2e-5
UNITS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
    269: (3, 30, 48, 8),
}


@dataclass(frozen=True)
class Plan:
    """The shape of a network: units of each stage, filters before and of the stages, whether units are bottlenecks."""

    units: tuple[int, ...]
    filters: tuple[int, ...]
    bottleneck: bool


def plan_of(num_layers: int, height: int) -> Plan:
    """Return the plan for a number of layers and a height of images. Raises `PasslabError` if none fits."""
    if height <= 28:
        if num_layers >= 164 and (num_layers - 2) % 9 == 0:
            return Plan(((num_layers - 2) // 9,) * 3, (16, 64, 128, 256), True)
        if num_layers < 164 and (num_layers - 2) % 6 == 0:
            return Plan(((num_layers - 2) // 6,) * 3, (16, 16, 32, 64), False)
        expected = "6 n + 2 below 164, or 9 n + 2, for images up to 28 high"
    elif num_layers in UNITS:
        filters = (64, 256, 512, 1024, 2048) if num_layers >= 50 else (64, 64, 128, 256, 512)
        return Plan(UNITS[num_layers], filters, num_layers >= 50)
    else:
        expected = ", ".join(map(str, UNITS))
    raise PasslabError(Diagnostic(f"there is no ResNet of {num_layers} layers", expected=expected))


class ResNetBuilder:
    """Builds the parts of a ResNet over `rank` spatial axes in one layout."""

    def __init__(self, rank: int, layout: str) -> None:
        self.rank, self.layout, self.axis = rank, layout, layout.index("C")
        self.kernel_layout = layers.conv_kernel_layout(layout)

    def norm(self, data: Expr, name: str, **attrs: Any) -> Expr:
        """Batch normalisation."""
        return layers.batch_norm_infer(data, name=name, epsilon=EPSILON, axis=self.axis, **attrs)

    def activate(self, data: Expr, name: str) -> Expr:
        """Batch normalisation and relu."""
        return op("nn.relu", self.norm(data, name))

    def conv(self, data: Expr, channels: int, size: int, stride: int, name: str) -> Expr:
        """A convolution that keeps the image's size, up to the stride."""
        return self.window(data, channels, (size,) * self.rank, (stride,) * self.rank, (size // 2,) * self.rank, name)

    def window(self, data: Expr, channels: int, size: Any, strides: Any, padding: Any, name: str) -> Expr:
        """A convolution with an explicit window."""
        make = layers.conv2d if self.rank == 2 else layers.conv3d
        return make(
            data,
            name=name,
            channels=channels,
            kernel_size=size,
            strides=strides,
            padding=padding,
            data_layout=self.layout,
            kernel_layout=self.kernel_layout,
        )

    def unit(self, data: Expr, filters: int, stride: int, same: bool, name: str, bottleneck: bool) -> Expr:
        """A residual unit; with `same` its shortcut is the data itself."""
        first = self.activate(data, f"{name}_bn1")
        if bottleneck:
            narrow = filters // 4
            net = self.conv(first, narrow, 1, stride, f"{name}_conv1")
            net = self.conv(self.activate(net, f"{name}_bn2"), narrow, 3, 1, f"{name}_conv2")
            net = self.conv(self.activate(net, f"{name}_bn3"), filters, 1, 1, f"{name}_conv3")
        else:
            net = self.conv(first, filters, 3, stride, f"{name}_conv1")
            net = self.conv(self.activate(net, f"{name}_bn2"), filters, 3, 1, f"{name}_conv2")
        return op("add", net, data if same else self.conv(first, filters, 1, stride, f"{name}_sc"))

    def stages(self, body: Expr, plan: Plan) -> Expr:
        """All residual units and the normalisation after them."""
        for stage, (units, filters) in enumerate(zip(plan.units, plan.filters[1:], strict=True), 1):
            for unit in range(1, units + 1):
                stride = 2 if unit == 1 and stage > 1 else 1
                name = f"stage{stage}_unit{unit}"
                body = self.unit(body, filters, stride, unit > 1, name, plan.bottleneck)
        return self.activate(body, "bn1")


def get_net(
    batch_size: int,
    num_classes: int,
    num_layers: int = 50,
    image_shape: tuple[int, ...] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
    **kwargs: Any,
) -> Function:
    """Return the network. Raises `PasslabError` for a number of layers that no ResNet has."""
    build = ResNetBuilder(2, layout)
    height = image_shape[layout.index("H") - 1]
    plan = plan_of(num_layers, height)
    net = build.norm(var("data", (batch_size, *image_shape), dtype), "bn_data", scale=False)
    if height <= 32:
        net = build.conv(net, plan.filters[0], 3, 1, "conv0")
    else:
        net = build.activate(build.conv(net, plan.filters[0], 7, 2, "conv0"), "bn0")
        net = op("nn.max_pool2d", net, pool_size=(3, 3), strides=(2, 2), padding=(1, 1), layout=layout)
    net = op("nn.global_avg_pool2d", build.stages(net, plan), layout=layout)
    net = layers.dense_add_bias(op("nn.batch_flatten", net), units=num_classes, name="fc1")
    return close_over(op("nn.softmax", net))


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: tuple[int, ...] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
    **kwargs: Any,
) -> tuple[IRModule, dict[str, Any]]:
    """Return the typed module and the parameters."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype, **kwargs))
