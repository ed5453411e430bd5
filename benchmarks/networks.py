"""The networks that runs are measured on, with random weights: name -> module and parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passlab import IRModule, relay
from passlab.testing.init import create_workload

Workload = tuple[IRModule, dict[str, Any]]
LAYERS, TOKENS, WIDTH, HEADS = 12, 128, 768, 12  # of the transformer encoder
nets = relay.testing


def transformer() -> Workload:
    """An encoder of 12 layers at 128 tokens: attention of 12 heads, 768 wide, and two products with GELU between."""
    x: Any = relay.var("data", shape=(TOKENS, WIDTH))
    for layer in range(LAYERS):
        y = _normed(x, f"layer{layer}_attention")
        q, k, v = (_heads(_linear(y, WIDTH, f"layer{layer}_{part}")) for part in ("query", "key", "value"))
        scores = relay.nn.batch_matmul(q, k) * relay.const((WIDTH // HEADS) ** -0.5, "float32")
        v = relay.transpose(v, (0, 2, 1))
        mixed = relay.nn.batch_matmul(relay.nn.softmax(scores), v)
        joined = relay.reshape(relay.transpose(mixed, (1, 0, 2)), (TOKENS, WIDTH))
        x = x + _linear(joined, WIDTH, f"layer{layer}_output")
        inner = _linear(_normed(x, f"layer{layer}_feed"), 4 * WIDTH, f"layer{layer}_wide")
        half, root = relay.const(0.5, "float32"), relay.const(0.5**0.5, "float32")
        inner = inner * half * (relay.erf(inner * root) + relay.const(1.0, "float32"))
        x = x + _linear(inner, WIDTH, f"layer{layer}_narrow")
    return _build(create_workload(relay.Function(relay.analysis.free_vars(x), x)))


def _normed(x: Any, name: str) -> Any:
    return relay.nn.layer_norm(x, relay.var(f"{name}_gamma", shape=(WIDTH,)), relay.var(f"{name}_beta", shape=(WIDTH,)))


def _linear(x: Any, units: int, name: str) -> Any:
    return relay.nn.bias_add(
        relay.nn.dense(x, relay.var(f"{name}_weight"), units=units), relay.var(f"{name}_bias", shape=(units,))
    )


def _heads(x: Any) -> Any:
    return relay.transpose(relay.reshape(x, (TOKENS, HEADS, WIDTH // HEADS)), (1, 0, 2))


def _build(workload: tuple[Any, Any]) -> Workload:
    return workload[0], dict(workload[1])


def _small(net: Any) -> Callable[[], Workload]:
    return lambda: _build(net.get_workload(batch_size=1))


def _deep(net: Any, layers: int) -> Callable[[], Workload]:
    return lambda: _build(net.get_workload(batch_size=1, num_layers=layers))


def _lstm(steps: int) -> Callable[[], Workload]:
    return lambda: _build(nets.lstm.get_workload(iterations=steps, num_hidden=64))


NETWORKS: dict[str, Callable[[], Workload]] = {
    "mlp": _small(nets.mlp), "lstm4x64": _lstm(4), "lstm64x64": _lstm(64), "transformer12x128": transformer,
    "squeezenet": _small(nets.squeezenet), "mobilenet": _small(nets.mobilenet), "resnet18": _deep(nets.resnet, 18),
    "resnet50": _deep(nets.resnet, 50), "vgg11": _deep(nets.vgg, 11), "dcgan": _small(nets.dcgan),
    "densenet121": _small(nets.densenet), "inception_v3": _small(nets.inception_v3), "dqn": _small(nets.dqn),
    "resnet_3d": _deep(nets.resnet_3d, 18),
}  # fmt: skip


def inputs(mod: IRModule, params: dict[str, Any]) -> list[np.ndarray[Any, Any]]:
    """Return random arrays for the parameters of `main` that have no weights."""
    rng = np.random.default_rng(0)
    return [
        rng.standard_normal(p.type_annotation.concrete_shape).astype(p.type_annotation.dtype)  # type: ignore[union-attr]
        for p in mod["main"].params if p.name_hint not in params
    ]  # fmt: skip
