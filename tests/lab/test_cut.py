"""A fault deep in a network is cut out with the values of its operands, also where the pass depends on the place."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest

import passlab
from passlab import lab, relay, transform
from passlab.ir.expr import Call
from passlab.ir.op import is_op_call
from passlab.ir.walk import post_order, rewrite
from passlab.testing import dcgan, mlp, resnet, squeezenet

MOST = 5  # calls of operators that may be left
NETWORKS = {"mlp": lambda: mlp.get_workload(2), "dcgan": lambda: dcgan.get_workload(1, ngf=8)}
LARGE = {
    "squeezenet": lambda: squeezenet.get_workload(image_shape=(3, 64, 64)),
    "resnet": lambda: resnet.get_workload(num_layers=18, image_shape=(3, 32, 32), num_classes=10),
    "resnet-50": lambda: resnet.get_workload(num_layers=50),
}
WRONG = {
    "nn.relu": lambda call: relay.nn.leaky_relu(call.args[0], alpha=0.3),
    "nn.bias_add": lambda call: relay.negative(call),
    "nn.dense": lambda call: relay.tanh(call),
    "nn.conv2d": lambda call: relay.negative(relay.abs(call)),
    "nn.max_pool2d": lambda call: relay.nn.avg_pool2d(*call.args, **pooling(call)),
    "add": lambda call: relay.subtract(*call.args),
    "nn.batch_flatten": lambda call: relay.reverse(call, axis=1),
}


def pooling(call):
    return {name: call.attrs[name] for name in ("pool_size", "strides", "padding", "ceil_mode")}


def calls_of(mod, name=""):
    nodes = (node for function in mod.functions.values() for node in post_order(function))
    return [node for node in nodes if is_op_call(node) and (not name or node.op.name == name)]


def middle(mod, name):
    """A pass that replaces one call of an operator, the one in the middle of a network with so many of them."""
    total = len(calls_of(mod, name))

    @transform.function_pass(opt_level=0, name="Middle")
    def replace_middle(func, mod, ctx):
        found = []

        def change(old, new):
            if is_op_call(new) and new.op.name == name:
                found.append(new)
                if len(found) == total // 2 + 1:
                    return WRONG[name](new)
            return new

        return rewrite(func, change, only=(Call,))

    return replace_middle


def bound(workload):
    mod, params = workload
    return mod.with_functions({"main": relay.build_module.bind_params_by_name(mod["main"], params)})


def shortcomings(make, name):
    mod = bound(make())
    if not calls_of(mod, name):
        return ""
    result = lab.culprit(mod, ["InferType", middle(mod, name)])
    if result.name != "Middle":
        return f"{name}: {result.summary()}"
    left = len(calls_of(result.module))
    if left > MOST:
        return f"{name}: {left} calls are left"
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(result.script(), "script", "exec"), {"__name__": "script"})  # ends with an assertion
    return ""


@pytest.mark.parametrize("network", NETWORKS)
def test_a_fault_in_the_middle_of_a_network_is_cut_out(network):
    assert [text for name in ("nn.relu", "nn.bias_add") if (text := shortcomings(NETWORKS[network], name))] == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("network", [*NETWORKS, *LARGE])
def test_every_kind_of_operator_is_cut_out(network, name):
    assert shortcomings({**NETWORKS, **LARGE}[network], name) == ""


FORK = """
def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32], %k: bool) {{
  let %t = {chain};
  let %u = nn.relu(%y);
  let %v = if (%k) {{ %t }} else {{ %u }};
  sum(%v, keepdims=True) + 1f
}}
"""


def test_a_pass_that_takes_the_wrong_operand_breaks_the_smallest_program_too():
    """The operand that went wrong is not cut away: without it, the pass has nothing to do."""
    chain = "%x"
    for _ in range(20):
        chain = f"tanh({chain} * 2f)"

    @transform.function_pass(opt_level=0)
    def first_branch(func, mod, ctx):
        return rewrite(func, lambda old, new: new.true_branch, only=(relay.If,))

    inputs = {"x": np.ones((2, 3), "float32"), "y": np.full((2, 3), 3, "float32"), "k": np.array(False)}
    result = lab.culprit(passlab.parse(FORK.format(chain=chain)), ["InferType", first_branch], inputs=inputs)
    assert result.name == "first_branch"
    assert first_branch(result.module) is not result.module
    assert "if (" in result.module.astext()
