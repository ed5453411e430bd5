"""Networks to try things on, and helpers for tests: what `relay.testing` offers.

Each network module has `get_net(...)`, the function, and `get_workload(...)`, a module with inferred types and its
parameters, made from a fixed seed.
"""

from __future__ import annotations

from passlab.testing import (
    dcgan,
    densenet,
    dqn,
    inception_v3,
    init,
    layers,
    lstm,
    mlp,
    mobilenet,
    resnet,
    resnet_3d,
    squeezenet,
    synthetic,
    vgg,
)
from passlab.testing.init import create_workload

__all__ = [
    "create_workload",
    "dcgan",
    "densenet",
    "dqn",
    "inception_v3",
    "init",
    "layers",
    "lstm",
    "mlp",
    "mobilenet",
    "resnet",
    "resnet_3d",
    "squeezenet",
    "synthetic",
    "vgg",
]
