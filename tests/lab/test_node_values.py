"""`lab.watch`: the value of every node of a run, and the first difference of two runs."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.errors import RunError
from passlab.evaluate.agreement import disagreement
from passlab.ir.expr import Call
from passlab.lab import watch
from passlab.testing.programs import program

NET = """
def @main(%x: Tensor[(4), float32]) {
  %0 = subtract(%x, 1f);
  %1 = log(%0);
  %2 = exp(multiply(%0, 1000f));
  (add(%1, 1f), %2)
}
"""
X = np.array([0.5, 1.0, 2.0, 3.0], "float32")


def facts(run, operator):
    return next(
        f for node, f in run.facts.items() if isinstance(node, Call) and getattr(node.op, "name", "") == operator
    )


def test_ranges_leave_odd_numbers_out_and_count_them():
    run = watch(passlab.parse(NET), X)
    with np.errstate(all="ignore"):
        log = np.log(X - 1)
    texts = facts(run, "log")
    assert (texts.nans, texts.infinities) == (1, 1)
    finite = log[np.isfinite(log)]
    assert (texts.minimum, texts.maximum) == (finite.min(), finite.max())
    assert (texts.shape, texts.dtype, texts.bytes, texts.runs) == ((4,), "float32", 16, 1)
    assert texts.seconds > 0
    assert run.first_nonfinite.op.name == "log"
    assert facts(run, "exp").infinities == 2
    np.testing.assert_array_equal(run.result[0], log + 1)


def test_a_node_in_a_function_that_is_called_often_counts_its_runs():
    mod = passlab.parse(
        "def @f(%n: int32) -> int32 { if (less(%n, 1)) { 0 } else { add(1, @f(subtract(%n, 1))) } } def @main(%n: int32) { @f(%n) }"
    )
    run = watch(passlab.transform.InferType()(mod), np.array(5, "int32"))
    assert facts(run, "add").runs == 5
    assert (facts(run, "add").minimum, facts(run, "add").maximum) == (1, 5)
    assert facts(run, "less").runs == 6
    assert int(run.result) == 5


def test_runs_of_two_steps_part_at_the_first_operator_that_rounds_differently():
    net = passlab.parse("def @main(%x: Tensor[(64), float32]) { exp(divide(nn.relu(%x), 3f)) }")
    rec = passlab.record(net, "InferType, DivToMul, FuseOps(fuse_opt_level=2)", opt_level=4)
    x = np.linspace(0.1, 9, 64, dtype="float32")
    comparison = watch(rec.input, x).compare(watch(rec, x))
    first = comparison.first
    assert first.op.name in ("multiply", "exp")
    assert first in watch(rec, x)
    names = [node.op.name for node in comparison.compared if isinstance(node, Call) and hasattr(node.op, "name")]
    assert "nn.relu" in names
    assert comparison.differences[first].ulps >= 1
    assert watch(rec, x).compare(watch(rec, x)).first is None


def test_programs_that_were_read_apart_are_compared_by_the_names_of_their_functions():
    run, other = watch(passlab.parse(NET), X), watch(passlab.parse(NET), X)
    comparison = run.compare(other)
    assert len(comparison.compared) == len(other.facts)
    assert comparison.first is None


def test_a_changed_call_is_only_compared_where_it_is_clear_which_one_is_meant():
    one = passlab.parse("def @main(%x: Tensor[(4), float32]) { tanh(multiply(%x, 3f)) }")
    other = passlab.parse("def @main(%x: Tensor[(4), float32]) { tanh(multiply(multiply(%x, 2f), 1.5f)) }")
    comparison = watch(one, X).compare(watch(other, X))
    names = [node.op.name for node in comparison.compared if isinstance(node, Call)]
    assert names == ["tanh"]
    assert comparison.first is None


def test_what_a_recorded_pass_put_in_the_place_of_a_node_is_compared_with_it():
    net = passlab.parse(
        """def @main(%x: Tensor[(1, 2, 2, 2), float32], %g: Tensor[(2), float32]) {
          %0 = nn.batch_norm(%x, %g, %g, %g, %g); multiply(multiply(%0.0, 2f), 3f) }"""
    )
    rec = passlab.record(net, "InferType, SimplifyInference, FuseOps", opt_level=4)
    x, g = np.arange(8, dtype="float32").reshape(1, 2, 2, 2), np.array([1, 2], "float32")
    comparison = watch(rec.input, x, g).compare(watch(rec, x, g))
    assert "nn.batch_norm" not in {getattr(n.op, "name", "") for n in comparison.compared if isinstance(n, Call)}
    assert len([n for n in comparison.compared if isinstance(n, Call)]) >= 3
    far = [difference.ulps for difference in comparison.differences.values()]
    assert max(far, default=0) < 64


def test_an_error_keeps_what_ran_until_then():
    mod = passlab.transform.InferType()(
        passlab.parse("def @main(%x: Tensor[(?), float32], %y: Tensor[(?), float32]) { add(exp(%x), %y) }")
    )
    run = watch(mod, np.ones(2, "float32"), np.ones(3, "float32"))
    assert run.error is not None
    assert facts(run, "exp").runs == 1
    with pytest.raises(RunError):
        watch(mod, np.ones(2, "float32"))


@pytest.mark.parametrize("seed", range(12))
def test_a_run_that_is_watched_gives_what_the_program_gives(seed):
    case = program(seed=seed)
    assert disagreement(case.value, watch(case.mod, *case.args).result) is None


def test_a_deep_program_is_watched(depth: int):
    x = deep = relay.var("x", shape=(2,))
    for _ in range(depth):
        deep = relay.nn.relu(deep)
    run = watch(passlab.IRModule.from_expr(relay.Function([x], deep)), np.ones(2, "float32"))
    assert len(run.facts) == depth + 1
