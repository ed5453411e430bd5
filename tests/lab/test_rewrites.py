"""`lab.rewrites_of`: the rewrites of a pass, part by part; `lab.why_not`: why no rule changed a node."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import lab
from passlab.evaluate import Evaluator
from passlab.evaluate.samples import random_arguments
from passlab.infer import infer_expr
from passlab.instrument import PassInstrument
from passlab.instrument.recorder import EventRecorder
from passlab.ir.expr import Call
from passlab.ir.walk import post_order, rewrite
from passlab.lab.recordings.rewrites import count_rewrites
from passlab.testing import mobilenet, resnet
from passlab.transform import PassContext, Sequential, function_pass

NET = """
def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(8), float32]) {
  %0 = add(%x, zeros(shape=[8], dtype="float32"));
  %1 = reshape(reshape(%0, newshape=[4, 4]), newshape=[2, 8]);
  %2 = nn.batch_norm(%1, %w, %w, %w, %w);
  multiply(%2.0, %w)
}
"""
PASSES = "InferType, SimplifyExpr, SimplifyInference, FuseOps(fuse_opt_level=2)"


@pytest.fixture(scope="module")
def rec():
    return passlab.record(passlab.parse(NET), PASSES, opt_level=4)


def calls(function):
    return [node.op.name for node in post_order(function.body) if isinstance(node, Call) and hasattr(node.op, "name")]


def test_each_rewrite_shows_the_matched_part_alone_and_says_why(rec):
    steps = lab.rewrites_of(rec["SimplifyExpr"])
    assert [step.rule for step in steps] == ["adding zero", "reshape of a reshape"]
    zero, shapes = steps
    assert (calls(zero.before), calls(zero.after)) == (["zeros", "add"], [])
    assert (calls(shapes.before), calls(shapes.after)) == (["reshape", "reshape"], ["reshape"])
    finite = "results keep every bit where all values are finite and none is -0 (FINITE)"
    assert zero.why == f"the rule replaces `add(x, n)` by `x`; {finite}"
    inference = lab.rewrites_of(rec["SimplifyInference"])
    assert [calls(step.before) for step in inference] == [["nn.batch_norm"]]
    assert calls(inference[0].after).count("multiply") == 3
    assert "inference form" in inference[0].why


def test_what_merely_carries_a_rewrite_on_is_no_rewrite(rec):
    event = rec["SimplifyInference"]
    assert len(event.rewrites) > len(lab.rewrites_of(event)) == 1


@pytest.mark.parametrize("network", [resnet, mobilenet])
def test_both_parts_of_a_rewrite_compute_the_same(network):
    """The law: a rewrite is right by itself, on whatever its inputs are."""
    mod, _ = network.get_workload(image_shape=(3, 32, 32)) if network is resnet else network.get_workload()
    recording = passlab.record(mod, "InferType, SimplifyInference, SimplifyExpr, FoldScaleAxis", opt_level=4)
    steps = [step for event in recording.steps for step in lab.rewrites_of(event)][:12]
    assert len(steps) == 12
    for step in steps:
        before, after = infer_expr(step.before), infer_expr(step.after)
        arguments = [abs(a) for a in random_arguments(before, 0)]
        expected, result = (Evaluator().run(function, arguments) for function in (before, after))
        np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-4)


def test_why_a_call_stayed_names_the_rule_that_came_nearest_and_what_failed(rec):
    event = rec["SimplifyExpr"]
    product = next(n for n in post_order(event.after["main"]) if isinstance(n, Call) and n.op.name == "multiply")
    nearest = lab.why_not(event, product)[0]
    assert nearest.rule.name == "multiplying by one"
    assert nearest.reason == "its condition does not hold"
    failed = {miss.rule.name: miss.reason for miss in lab.why_not(event, product)}
    assert failed["product of products"] == "c2 is not a constant"
    assert lab.why_not(rec["SimplifyInference"], product) == []


def test_a_call_that_a_rule_fits_is_not_among_those_that_stayed(rec):
    event = rec["SimplifyExpr"]
    added = next(n for n in post_order(event.before["main"]) if isinstance(n, Call) and n.op.name == "add")
    assert "adding zero" not in {miss.rule.name for miss in lab.why_not(event, added)}


def test_the_count_of_rewrites_is_that_of_their_list_while_passes_run():
    class Counts(PassInstrument):
        def run_after_pass(self, mod, info):
            counts = [(count_rewrites(root), len(lab.rewrites_of(root))) for root in recorder.roots]
            assert all(count == length for count, length in counts)
            numbers.add(sum(count for count, _ in counts))

    def without(name):
        def lose(func, mod, ctx):
            return rewrite(func, lambda old, new: new.args[0] if new.op.name == name else new, only=(Call,))

        return function_pass(lose, opt_level=0, name=f"Without{name}")

    numbers = set()
    recorder = EventRecorder()
    mod = passlab.parse("def @main(%x: float32) { exp(abs(tanh(%x))) }")
    with PassContext(instruments=[recorder, Counts()]):
        Sequential([without("tanh"), without("abs"), without("exp")])(mod)
    assert numbers == {1, 2, 3}
