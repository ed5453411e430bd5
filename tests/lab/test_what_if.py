"""`rec.what_if`: the pipeline of a recording with passes switched off, moved, repeated, inserted, configured."""

from __future__ import annotations

import pytest

import passlab
from passlab import lab, relay
from passlab.errors import PassError, PasslabError
from passlab.transform import function_pass, module_pass

NET = "def @main(%x: Tensor[(3), float32]) { nn.relu(exp(%x) * (1f + 2f)) }"
PASSES = "InferType, FoldConstant, FuseOps(fuse_opt_level=2)"


@pytest.fixture
def rec():
    return passlab.record(passlab.parse(NET), PASSES)


def texts(recording):
    return [step.text or step.name for step in recording.steps[1:]]


QUESTIONS = {
    "without": (lambda w: w.without("FoldConstant"), "InferType, FuseOps(fuse_opt_level=2)", 2),
    "moved": (lambda w: w.move("FuseOps", to=1), "FuseOps(fuse_opt_level=2), InferType, FoldConstant", 1),
    "repeated": (lambda w: w.repeat(2, 3), "InferType, FoldConstant, FoldConstant, FoldConstant, FuseOps(fuse_opt_level=2)", 3),
    "options": (lambda w: w.with_options("FuseOps", fuse_opt_level=0), "InferType, FoldConstant, FuseOps(fuse_opt_level=0)", 3),
    "inserted": (lambda w: w.insert("SimplifyExpr, DeadCodeElimination", 3), "InferType, FoldConstant, SimplifyExpr, DeadCodeElimination, FuseOps(fuse_opt_level=2)", 3),
    "two at once": (lambda w: w.without(2).insert("ToANormalForm", 2), "InferType, ToANormalForm, FuseOps(fuse_opt_level=2)", 2),
    "rewritten": (lambda w: w.rewrite([3, "FoldConstant"]), "FuseOps(fuse_opt_level=2), FoldConstant", 1),
}  # fmt: skip


@function_pass(opt_level=0)
class Scale:
    """Multiply the result by a number: a pass of a user, which has no name in the table of passes."""

    def __init__(self, by=2.0):
        self.by = by

    def transform_function(self, func, mod, ctx):
        return func.with_fields(body=relay.multiply(func.body, relay.const(self.by)))


@function_pass(opt_level=0)
def finished(func, mod, ctx):
    return func


def test_a_pass_of_ones_own_gets_other_options():
    own = passlab.record(passlab.parse(NET), [Scale(), "FoldConstant", finished])
    other = own.what_if.with_options("Scale", by=5.0).recording
    passlab.assert_structural_equal(other[1].after, Scale(by=5.0)(passlab.parse(NET)))
    with pytest.raises(PasslabError, match="takes no options"):
        own.what_if.with_options("finished", by=5.0)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answer_is_what_the_written_pipeline_gives_and_the_beginning_does_not_run_again(question, rec):
    ask, pipeline, first = QUESTIONS[question]
    result = ask(rec.what_if)
    assert result.first_difference == first
    expected = passlab.record(passlab.parse(NET), pipeline)
    assert texts(result.recording) == texts(expected)
    assert [step.id for step in result.recording] == [step.id for step in expected]
    for mine, other in zip(result.recording, expected, strict=True):
        passlab.assert_structural_equal(mine.after, other.after)
        assert mine.status == other.status
    for mine, old in zip(result.recording.steps[1:first], rec.steps[1:first], strict=True):
        assert mine.after is old.after
        assert mine.seconds == old.seconds
    assert result.comparison.a is rec


def test_what_differs_in_nothing_is_the_recording_itself(rec):
    assert rec.what_if.recording is rec
    assert rec.what_if.move(2, to=2).first_difference is None
    assert rec.what_if.repeat("FuseOps").without(4).recording is rec


def test_a_pass_of_ones_own_and_the_options_of_the_context_are_kept():
    ran = []

    @module_pass(opt_level=0)
    def mine(mod, ctx):
        ran.append(ctx.opt_level)
        return mod

    rec = passlab.record(
        passlab.parse(NET), [passlab.transform.FoldConstant(), mine], opt_level=1, disabled_pass=["FuseOps"]
    )
    value = rec.what_if.without("FoldConstant").insert("FuseOps", 2).recording
    assert ran == [1, 1]
    assert [step.status for step in value] == ["input", "ran", "skipped"]


def test_a_failure_before_the_first_difference_stays_and_one_after_it_may_go():
    @module_pass(opt_level=0)
    def broken(mod, ctx):
        raise ValueError("no")

    rec = passlab.record(passlab.parse(NET), [passlab.transform.InferType(), broken])
    assert rec.what_if.insert("FoldConstant", 3).recording.failed is not None
    assert rec.what_if.without("broken").recording.failed is None


def test_what_is_not_there_is_named(rec):
    with pytest.raises(PassError, match="no pass `FuseOp`"):
        rec.what_if.without("FuseOp")
    with pytest.raises(PassError, match="no pass 9"):
        rec.what_if.move(9, to=1)
    assert isinstance(rec.what_if, lab.WhatIf)
