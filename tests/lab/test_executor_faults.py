"""Faults outside of passes: kernels, stages of compilers, executors, derivatives, precision."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import lab, relay, transform
from passlab.errors import RunError
from passlab.evaluate import evaluator
from passlab.infer import infer_module
from passlab.ir.expr import Call
from passlab.ir.op import Op
from passlab.ir.walk import rewrite
from passlab.lab.culprits import executors
from passlab.lab.culprits.kernel_search import kernel_disagreement, wrong_kernel
from passlab.oracle.no_contract import derivative_disagreement
from passlab.oracle.trial import Trial
from passlab.testing.programs import generate

NET = """
def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]) {
  %0 = nn.relu(nn.dense(%x, %w));
  (nn.softmax(%0), argmax(%0, axis=[1]), mean(exp(%0), axis=[0]))
}
"""


def net():
    return infer_module(passlab.parse(NET))


@pytest.mark.rotating
@pytest.mark.parametrize("seed", range(8))
def test_programs_by_definition_are_those_by_kernels(seed):
    mod = generate(seed, size=4)
    draw = next(iter(Trial().draws(mod)))
    by_kernels = relay.create_executor("debug", mod).evaluate()(*draw.arguments)
    by_definition = relay.create_executor("definition", mod).evaluate()(*draw.arguments)
    for a, b in (
        zip(np.atleast_1d(by_kernels), np.atleast_1d(by_definition), strict=True)
        if isinstance(by_kernels, np.ndarray)
        else ()
    ):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
    assert wrong_kernel(mod, Trial(), 3.0) is None


def test_a_kernel_is_held_to_its_definition_on_its_own_arguments():
    x = np.array([[1.5, -2.0, 3.0]], "float32")
    op = Op.get("nn.relu")
    assert kernel_disagreement(op, None, [x], np.maximum(x, 0)) is None
    assert kernel_disagreement(op, None, [x], np.maximum(x, 0) + np.float32(1e-7)) is None
    assert "became" in str(kernel_disagreement(op, None, [x], x))
    whole = np.array([-7], "int32"), np.array([2], "int32")
    assert kernel_disagreement(Op.get("divide"), None, whole, np.array([-4], "int32")) is not None


@pytest.mark.parametrize("kind", ["vm", "graph", "aot"])
def test_the_compilation_of_a_program_is_a_recording(kind):
    rec = lab.record_compilation(net(), kind)
    names = [event.name for event in rec.events]
    assert "FuseOps" in names
    assert ("ManifestAlloc" in names) == (kind == "vm")
    assert lab.validate(rec)
    assert not lab.bisect(rec).found


def test_other_compilers_are_refused():
    with pytest.raises(RunError, match="has no compiler"):
        lab.record_compilation(net(), "debug")


def test_executors_that_refuse_a_program_are_not_blamed():
    loop = passlab.parse("def @main(%n: int32) -> int32 { if (less(%n, 1)) { 0 } else { @main(subtract(%n, 1)) } }")
    notes: list[str] = []
    assert lab.compare_executors(loop, options={"inputs": [np.int32(5)]}, notes=notes) is None
    assert any("graph" in note for note in notes)


@pytest.mark.parametrize("pipeline", ["InferType, FirstOrderGradient", "InferType, ToMixedPrecision, FuseOps"])
def test_passes_that_change_values_on_purpose_are_not_blamed(pipeline):
    plain = NET.replace(", argmax(%0, axis=[1])", "")
    assert not lab.culprit(passlab.parse(plain), pipeline, executors=()).found


def test_a_wrong_derivative_is_told_by_finite_differences():
    x = np.array([0.5, -1.0, 2.0], "float32")

    def square(arguments):
        return arguments[0] * arguments[0]

    assert derivative_disagreement(square, [x], (2 * x,)) is None
    assert derivative_disagreement(square, [x], (-2 * x,)) is not None
    assert derivative_disagreement(lambda args: np.abs(args[0]), [np.zeros(3, "float32")], (np.ones(3),)) is None


def test_the_rule_and_node_at_which_a_pass_raised_are_named():
    @transform.function_pass(opt_level=0)
    def raises(func, mod, ctx):
        def rule(before, node):
            if isinstance(node, Call) and node.op.name == "argmax":
                raise ValueError("no argmax, please")
            return node

        return rewrite(func, rule, only=(Call,), name="careful rule")

    culprit = lab.culprit(passlab.parse(NET), ["InferType", raises])
    assert str(culprit.rewrite) == "the rewrite of `argmax` by the rule `careful rule`, which raised"
    assert culprit.where == "careful rule; argmax"


def test_an_executor_that_writes_into_its_arguments_is_wrong(monkeypatch):
    def writing(kind, mod):
        right = relay.create_executor("debug", mod).evaluate()

        def run(x, *rest):
            value = right(x, *rest)
            x += 1
            return value

        return run

    monkeypatch.setattr(executors, "_runner", writing)
    x = np.zeros((2, 4), "float32")
    fault = executors.compare_executors(net(), ["graph"], {"inputs": [x, np.ones((3, 4), "float32")]})
    assert "it writes into its arguments" in fault.sentences()[0]
    assert not x.any()


def test_an_evaluator_that_fails_is_told_from_a_program_that_does(monkeypatch):
    text = """
    type Maybe { Some(Tensor[(2), float32]), None }
    def @main(%x: Tensor[(2), float32]) { match (Some(exp(%x))) { Some(%y) => tanh(%y), None => %x } }
    """
    mod = passlab.parse(text)
    assert not lab.culprit(mod, "InferType", seconds=30).found
    monkeypatch.setattr(evaluator, "match_pattern", lambda pattern, value: value.missing)
    culprit = lab.culprit(mod, "InferType", seconds=30)
    assert culprit.name == "debug"
    assert "match" in culprit.where
    with pytest.raises(RunError):  # a program that no executor runs is not the evaluator's fault
        lab.culprit(passlab.parse("def @main(%x: int32) { divide(%x, subtract(%x, %x)) }"), "FuseOps")
