"""The values of a recorded run on its program: those that the reference evaluator gives to the same nodes."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import lab, vm
from passlab.errors import RunError
from passlab.ir.expr import Call, Var
from passlab.testing import dcgan, lstm, mlp, squeezenet
from passlab.testing.programs import arguments
from passlab.text import parser

BRANCHES = """
def @step(%a: Tensor[(1, 4), float32], %n: int32) -> Tensor[(1, 4), float32] {
  if (greater(%n, 0)) { @step(sqrt(add(%a, 1f)), subtract(%n, 1)) } else { %a }
}
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) {
  let %h = nn.relu(nn.dense(%x, %w));
  let %s = @step(%h, 3);
  let %parts = split(%s, indices_or_sections=2, axis=1);
  if (greater(sum(%s), 0f)) { exp(%parts.0) } else { log(%parts.1) }
}"""
PROGRAMS = {
    "branches": lambda: passlab.parse(BRANCHES),
    "mlp": lambda: mlp.get_workload(1)[0],
    "lstm": lambda: lstm.get_workload(iterations=2, num_hidden=4)[0],
    "squeezenet": lambda: squeezenet.get_workload(1)[0],
    "dcgan": lambda: dcgan.get_workload(1)[0],
}


@pytest.mark.rotating
@pytest.mark.parametrize("executor", ["vm", "graph", "debug"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_the_evaluator(name, executor):
    if executor == "graph" and name == "branches":
        pytest.skip("the graph executor has no control flow")
    if (name, executor) == ("lstm", "vm"):
        pytest.skip("its two equal cells become one function, whose instructions run for both")
    mod = PROGRAMS[name]()
    args = arguments(mod, 3)
    run = vm.Debugger(mod, *args, executor=executor).trace.node_values()
    meaning = lab.watch(mod, *args)
    nodes = [node for node in run.facts if not isinstance(node, Var)]
    assert nodes
    for node in nodes:
        assert node in meaning, node
        assert run[node].runs == meaning[node].runs
        assert run[node].shape == meaning[node].shape
        for mine, other in zip(_arrays(run.values[node]), _arrays(meaning.values[node]), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-4)
    np.testing.assert_equal(_arrays(run.result)[0], _arrays(vm.Debugger(mod, *args).trace.result)[0])


def _arrays(value):
    return [part for one in (value if isinstance(value, (tuple, list)) else (value,)) for part in np.atleast_1d([one])]


def test_a_kernel_has_the_value_of_its_last_operator_and_no_other():
    mod = PROGRAMS["branches"]()
    run = vm.Debugger(mod, *arguments(mod, 0)).trace.node_values()
    names = [node.op.name for node in run.facts if isinstance(node, Call) and node.op.is_operator]
    assert "nn.relu" in names
    assert "nn.dense" not in names
    relu = next(node for node in run.facts if isinstance(node, Call) and getattr(node.op, "name", "") == "nn.relu")
    assert run[relu].seconds > 0


def test_nan_and_infinity_are_counted_where_they_arise():
    mod = passlab.parse("def @main(%x: Tensor[(4), float32]) { exp(sqrt(log(%x))) }")
    with passlab.transform.PassContext(config={"relay.FuseOps.max_depth": 1}):
        run = vm.Debugger(mod, np.array([-1, 0, 1, 1e30], "float32")).trace.node_values()
    odd = {node.op.name: (facts.nans, facts.infinities) for node, facts in run.facts.items() if isinstance(node, Call)}
    x = np.array([-1, 0, 1, 1e30], "float32")
    with np.errstate(all="ignore"):
        steps = {"log": np.log(x), "sqrt": np.sqrt(np.log(x)), "exp": np.exp(np.sqrt(np.log(x)))}
    assert odd == {name: (int(np.isnan(v).sum()), int(np.isinf(v).sum())) for name, v in steps.items()}
    assert run.first_nonfinite.op.name == "log"


def test_the_run_of_an_executable_whose_program_is_not_known_is_refused():
    mod = parser.parse("def @main(%x: Tensor[(4), float32]) { exp(%x) }")
    exe = vm.compile(mod)
    with pytest.raises(RunError, match="the program of this executable is unknown"):
        vm.Debugger(exe, np.zeros(4, "float32")).trace.node_values()
