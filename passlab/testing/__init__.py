"""Example networks and helpers for tests, as in `relay.testing`.

`get_net(...)` of a network module returns the function, `get_workload(...)` a module with inferred types and its
parameters, drawn from a fixed seed.
"""

from __future__ import annotations

from passlab.testing import (
    dcgan,
    densenet,
    digits,
    dqn,
    inception_v3,
    init,
    layers,
    lstm,
    mlp,
    mobilenet,
    nat,
    resnet,
    resnet_3d,
    squeezenet,
    synthetic,
    vgg,
)
from passlab.testing.checks import check_grad, count_ops, rand, run_as_python, run_infer_type, run_opt_pass, to_python
from passlab.testing.init import create_workload
from passlab.testing.nat import add_nat_definitions, count, make_nat_expr, make_nat_value
from passlab.testing.temp_op_attr import TempOpAttr

__all__ = [
    "add_nat_definitions", "check_grad", "count", "count_ops", "create_workload", "dcgan", "densenet", "digits", "dqn",
    "inception_v3", "init", "layers", "lstm", "make_nat_expr", "make_nat_value", "mlp", "mobilenet", "nat", "rand",
    "resnet", "resnet_3d", "run_as_python", "run_infer_type", "run_opt_pass", "squeezenet", "synthetic", "TempOpAttr",
    "to_python", "vgg",
]  # fmt: skip
