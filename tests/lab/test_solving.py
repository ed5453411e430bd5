"""Watched analyses decide as the passes do, forward and back."""

from __future__ import annotations

import pytest

import passlab
from passlab.errors import PassError
from passlab.ir.expr import Call, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import Op, is_op_call
from passlab.ir.walk import post_order
from passlab.lab import watch_solver
from passlab.lab.solver_runs import ALGORITHMS
from passlab.testing import mlp, mobilenet, squeezenet
from passlab.text.parser import parse
from passlab.transform import FuseOps, InferType

DIAMOND = """def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) {
  %0 = nn.dense(%x, %w, units=4);
  %1 = exp(%0);
  %2 = add(%0, %1);
  sum(%2, axis=[1])
}"""


def kernels(mod: IRModule) -> list[list[str]]:
    """The operators of each kernel that `FuseOps` makes, sorted."""
    fused = FuseOps(2)(InferType()(mod))
    functions = [node for node in post_order(fused["main"]) if isinstance(node, Function) and node.is_primitive]
    return sorted(sorted(n.op.name for n in post_order(f.body) if is_op_call(n)) for f in functions)


def groups(state: dict[Expr, str]) -> list[list[str]]:
    """The operators of each group of a state, sorted; of those that are alone one by one."""
    together: dict[str, list[str]] = {}
    for number, (node, text) in enumerate(state.items()):
        if isinstance(node, Call) and isinstance(node.op, Op):
            key = text if text.startswith("group") else f"alone {number}"
            together.setdefault(key, []).append(node.op.name)
    return sorted(sorted(names) for names in together.values())


@pytest.mark.parametrize("model", [mlp, squeezenet, mobilenet])
def test_the_last_state_of_fusion_is_what_the_pass_does(model):
    mod = passlab.transform.SimplifyInference()(InferType()(model.get_workload(1)[0]))
    run = watch_solver(mod, "fusion")
    assert groups(run.state(len(run.steps))) == kernels(mod)


def test_a_diamond_joins_whole_and_a_reduction_stays():
    run = watch_solver(passlab.parse(DIAMOND), "fusion")
    assert groups(run.state(0)) == [["add"], ["exp"], ["nn.dense"], ["sum"]]
    first = run.steps[0]
    assert first.said.startswith("nn.dense joins add, its post-dominator: its pattern is anchor")
    assert groups(run.state(1)) == [["add", "exp", "nn.dense"], ["sum"]]


def test_states_are_those_of_the_steps_before():
    run = watch_solver(squeezenet.get_workload(1)[0], "fusion")
    state = dict(run.start)
    for step in run.steps:
        state |= step.changed
        assert run.state(step.number) == state


def test_groups_stop_at_the_limit():
    with passlab.transform.PassContext(config={"relay.FuseOps.max_depth": 2}):
        run = watch_solver(passlab.parse(DIAMOND), "fusion")
    assert "the group would hold more than 2 nodes" in str(run)
    assert groups(run.state(len(run.steps))) == [["add", "exp"], ["nn.dense"], ["sum"]]


@pytest.mark.parametrize("config", [{}, {"relay.FuseOps.max_depth": 5}, {"relay.FuseOps.max_depth": 0}], ids=str)
def test_fusion_is_watched_with_the_limit_that_the_pass_has(config):
    chain = parse(
        "def @main(%x: float32) { %0 = exp(%x);" + "".join(f"%{i} = exp(%{i - 1});" for i in range(1, 258)) + "%257 }"
    )
    with passlab.transform.PassContext(config=config) as ctx:
        limit = max(ctx.get_config("relay.FuseOps.max_depth"), 1)
        expected = [["exp"] * min(limit, 258 - first) for first in range(0, 258, limit)]
        run = watch_solver(chain, "fusion")
        assert groups(run.state(len(run.steps))) == kernels(chain) == sorted(expected)


def test_an_analysis_that_is_not_there_is_named():
    with pytest.raises(PassError, match="there is no analysis `fusoin` to watch"):
        watch_solver(passlab.parse(DIAMOND), "fusoin")


CHAIN = "def @main(%x: Tensor[(1000), float32]) {%0 = sort(%x);" + "".join(
    f"%{i} = sort(%{i - 1});" for i in range(1, 9)
) + " sort(%8) }"  # fmt: skip


def test_memory_ends_with_the_storages_of_the_graph():
    mod = passlab.parse(CHAIN)
    run = watch_solver(mod, "memory")
    graph = passlab.relay.build(mod).graph
    texts = run.state(len(run.steps)).values()
    storages = [int(text.split()[1].rstrip(",")) for text in texts if text.startswith("storage")]
    inner = [number for number in graph.storage_ids if graph.storage_ids.count(number) > 1]
    assert storages == inner  # all but the input and the output
    assert sum("gets a new storage" in step.said for step in run.steps) == len(set(inner)) == 2


def test_memory_places_the_largest_first_and_every_result_once():
    run = watch_solver(squeezenet.get_workload(1)[0], "memory")
    sizes = [
        int(text.split(", ")[1].split()[0].replace(",", "")) for step in run.steps for text in step.changed.values()
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert len({step.node for step in run.steps}) == len(run.steps)
    assert "not placed" not in run.state(len(run.steps)).values()


@pytest.mark.parametrize("algorithm", [*ALGORITHMS])
def test_steps_are_numbered_from_one(algorithm: str) -> None:
    net, _ = mlp.get_workload(1)
    run = watch_solver(net, algorithm)
    assert run.steps
    assert [step.number for step in run.steps] == list(range(1, len(run.steps) + 1))
    assert run.table().column("step") == [step.number for step in run.steps]
    assert run.state(0) == run.start


def test_the_solver_says_what_it_unifies_and_what_waits():
    branches = "let %f = fn (%a, %b) { if (%c) { %a } else { %b } }; %f(%x, 2)"
    sums = "let %g = fn (%p, %q) { add(%p, %q) }; %g(%x, %x)"
    said = {
        text: [step.said for step in watch_solver(parse(f"def @main(%c: bool, %x: int32) {{ {text} }}"), "types").steps]
        for text in (branches, sums)
    }
    assert "if: unify: ?1 and ?2 are equal" in said[branches], "the branches have one type, which is not known yet"
    assert "call: unify: ?2 is int32" in said[branches]
    assert any(line.startswith("add: the relation waits for ?") for line in said[sums])
