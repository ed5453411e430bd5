"""Inception v3 (Szegedy et al., "Rethinking the Inception architecture for computer vision", 2015)."""

from __future__ import annotations

from typing import Any

from passlab.ir.expr import Expr, Function
from passlab.ir.module import IRModule
from passlab.testing import layers
from passlab.testing.init import create_workload
from passlab.testing.layers import close_over, op, var

# A step of a tower: (channels, window), which keeps the size of the image, or (channels, window, stride).
Step = tuple[int, tuple[int, int]] | tuple[int, tuple[int, int], int]
ONE, THREE, FIVE = (1, 1), (3, 3), (5, 5)
ROW7, COLUMN7, ROW3, COLUMN3 = (1, 7), (7, 1), (1, 3), (3, 1)


def _conv(
    net: Expr, channels: int, size: Any, stride: int = 1, padding: Any = (0, 0), *, name: str, at: str = ""
) -> Expr:
    net = layers.conv2d(
        net,
        channels=channels,
        kernel_size=size,
        strides=(stride, stride),
        padding=padding,
        name=f"{name}{at}_conv1",
    )
    return op("nn.relu", layers.batch_norm_infer(net, epsilon=2e-5, name=f"{name}{at}_bn"))


def _pool(net: Expr, kind: str, size: int, stride: int, padding: int) -> Expr:
    more = {"count_include_pad": True} if kind == "avg" else {}
    sizes = {"pool_size": (size, size), "strides": (stride, stride), "padding": (padding, padding)}
    return op(f"nn.{kind}_pool2d", net, **sizes, **more)


def _tower(net: Expr, steps: tuple[Step, ...], name: str) -> Expr:
    """A chain of convolutions named `{name}_conv`, `{name}_conv_1`, ..."""
    for i, step in enumerate(steps):
        size, stride = step[1], step[2] if len(step) == 3 else 1
        padding = (size[0] // 2, size[1] // 2) if stride == 1 else (0, 0)
        net = _conv(net, step[0], size, stride, padding, name=name, at=f"_conv_{i}" if i else "_conv")
    return net


def _mix(net: Expr, name: str, first: int, towers: tuple[tuple[Step, ...], ...], pool: str, projected: int) -> Expr:
    """1x1 convolution, towers, and a pooling with a 1x1 convolution after it, side by side."""
    branches = [_conv(net, first, ONE, name=f"{name}_conv")]
    branches += [_tower(net, steps, f"{name}_tower{f'_{i}' if i else ''}") for i, steps in enumerate(towers)]
    pooled = _pool(net, pool, 3, 1, 1)
    branches.append(_conv(pooled, projected, ONE, name=f"{name}_tower_{len(towers)}", at="_conv"))
    return op("concatenate", branches, axis=1)


def _halve(net: Expr, name: str) -> Expr:
    """The first block that halves the image."""
    direct = _conv(net, 384, THREE, 2, name=f"{name}_conv")
    tower = _tower(net, ((64, ONE), (96, THREE), (96, THREE, 2)), f"{name}_tower")
    return op("concatenate", (direct, tower, _pool(net, "max", 3, 2, 0)), axis=1)


def _halve_again(net: Expr, name: str) -> Expr:
    """The second block that halves the image."""
    left = _tower(net, ((192, ONE), (320, THREE, 2)), f"{name}_tower")
    right = _tower(net, ((192, ONE), (192, ROW7), (192, COLUMN7), (192, THREE, 2)), f"{name}_tower_1")
    return op("concatenate", (left, right, _pool(net, "max", 3, 2, 0)), axis=1)


def _fork_at(net: Expr, name: str, pool: str) -> Expr:
    """The last blocks: towers whose ends fork into a row and a column."""

    def fork(tower: Expr, at: str) -> list[Expr]:
        row = _conv(tower, 384, ROW3, 1, (0, 1), name=at, at="_mixed_conv")
        return [row, _conv(tower, 384, COLUMN3, 1, (1, 0), name=at, at="_mixed_conv_1")]

    branches = [_conv(net, 320, ONE, name=f"{name}_conv")]
    branches += fork(_tower(net, ((384, ONE),), f"{name}_tower"), f"{name}_tower")
    branches += fork(_tower(net, ((448, ONE), (384, THREE)), f"{name}_tower_1"), f"{name}_tower_1")
    pooled = _pool(net, pool, 3, 1, 1)
    branches.append(_conv(pooled, 192, ONE, name=f"{name}_tower_2", at="_conv"))
    return op("concatenate", branches, axis=1)


def get_net(batch_size: int, num_classes: int, image_shape: tuple[int, ...], dtype: str) -> Function:
    """Return the network."""
    net: Expr = var("data", (batch_size, *image_shape), dtype)
    net = _conv(net, 32, THREE, 2, name="conv")
    net = _conv(net, 32, THREE, name="conv_1")
    net = _conv(net, 64, THREE, 1, (1, 1), name="conv_2")
    net = _pool(net, "max", 3, 2, 0)
    net = _conv(net, 80, ONE, name="conv_3")
    net = _conv(net, 192, THREE, name="conv_4")
    net = _pool(net, "max", 3, 2, 0)
    for i, projected in enumerate((32, 64, 64)):
        towers: tuple[tuple[Step, ...], ...] = (((48, ONE), (64, FIVE)), ((64, ONE), (96, THREE), (96, THREE)))
        net = _mix(net, f"mixed_{i}" if i else "mixed", 64, towers, "avg", projected)
    net = _halve(net, "mixed_3")
    for i, n in enumerate((128, 160, 160, 192), 4):
        short: tuple[Step, ...] = ((n, ONE), (n, ROW7), (192, COLUMN7))
        long: tuple[Step, ...] = ((n, ONE), (n, COLUMN7), (n, ROW7), (n, COLUMN7), (192, ROW7))
        net = _mix(net, f"mixed_{i}", 192, (short, long), "avg", 192)
    net = _halve_again(net, "mixed_8")
    net = _fork_at(_fork_at(net, "mixed_9", "avg"), "mixed_10", "max")
    net = op("nn.batch_flatten", _pool(net, "avg", 8, 1, 0))
    net = op("nn.dense", net, var("fc1_weight"), units=num_classes)
    return close_over(op("nn.softmax", op("nn.bias_add", net, var("fc2_bias"))))


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 299, 299),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Any]]:
    """Return the typed module and the parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
