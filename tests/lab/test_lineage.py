"""Lineage: in one recording, nodes correspond as the passes noted, so that values and differences tell the truth."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import lab, relay
from passlab.diffing.diff import Change
from passlab.diffing.diff import diff as diff_of_strangers
from passlab.display.views.node_values import node_values_view
from passlab.errors import PasslabError
from passlab.ir import IRModule
from passlab.ir.expr import Call, Function, Tuple
from passlab.ir.walk import post_order
from passlab.lab.recordings.lineage import lineage_of
from passlab.lab.recordings.provenance import Origin
from passlab.testing import programs

PIPELINES = (
    "InferType, SimplifyInference, FoldConstant, EliminateCommonSubexpr, SimplifyExpr, FastMath, FuseOps(fuse_opt_level=2)",
    "InferType, ToANormalForm, DeadCodeElimination, ToGraphNormalForm, FuseOps, DefuseOps",
    "InferType, Inline, PartialEval, DeadCodeElimination, FoldConstant",
    "InferType, LambdaLift, Inline, CanonicalizeOps, CanonicalizeCast, FuseOps",
    "InferType, DynamicToStatic, CombineParallelDense, ToBasicBlockNormalForm, EliminateCommonSubexpr, FuseOps",
)
ROUNDED = 1e4  # units in the last place that the rules of these pipelines stay below; a wrong pair is beyond


def recordings(seed):
    """A generated program with what every pipeline made of it, and its arguments."""
    case = programs.program(seed)
    for pipeline in PIPELINES:
        rec = passlab.record(case.mod, pipeline, opt_level=4)
        if rec.error is None:
            yield rec, case.args


def runs_of(rec, args):
    """The watched runs of the different programs of a recording."""
    programs_of = {id(step.after): step.after for step in rec.steps}
    for mod in programs_of.values():
        try:
            yield lab.watch(mod, *args)
        except PasslabError:
            continue  # not every stage can be run


@pytest.mark.rotating
@pytest.mark.parametrize("seed", range(4))
def test_no_two_nodes_of_a_line_have_different_values(seed):
    compared = ran = 0
    for rec, args in recordings(seed):
        runs = list(runs_of(rec, args))
        for later, run in enumerate(runs[1:], 1):
            for earlier in {0, later - 1}:
                comparison = runs[earlier].compare(run)
                far = {n: d for n, d in comparison.differences.items() if d.ulps > ROUNDED}
                assert not far, [(rec.biography(n), comparison.source[n], d) for n, d in far.items()]
                compared, ran = compared + len(comparison.compared), ran + len(run.facts)
    assert compared > 0.75 * ran


def norm(x):
    centred = x - relay.mean(x, axis=-1, keepdims=True)
    scale = relay.sqrt(relay.mean(centred * centred, axis=-1, keepdims=True) + relay.const(1e-5))
    return centred / scale * relay.const(np.linspace(0.5, 1.5, 8, dtype="float32"))


def layers(count):
    """Equal layers, each with two equal parts, in which matching by structure takes one for another."""
    x = y = relay.var("x", shape=(4, 8))
    rng = np.random.default_rng(0)
    for _ in range(count):
        w, v = (relay.const(rng.normal(size=(8, 8)).astype("float32")) for _ in range(2))
        y = y + relay.tanh(relay.nn.dense(norm(y), w))
        y = y + relay.nn.dense(relay.erf(norm(y)), v)
    return IRModule.from_expr(relay.Function([x], y))


@pytest.mark.parametrize("passes", ["FuseOps", "FastMath, FuseOps", "FastMath, ToANormalForm, FuseOps", "FastMath"])
def test_equal_layers_are_not_taken_for_one_another(passes):
    x = np.random.default_rng(1).normal(size=(4, 8)).astype("float32")
    rec = passlab.record(layers(3), f"InferType, {passes}", opt_level=4)
    before, after = lab.watch(rec.input, x), lab.watch(rec, x)
    comparison = before.compare(after)
    assert len(comparison.compared) == len(after.facts)
    far = {node: difference for node, difference in comparison.differences.items() if difference.ulps > 64}
    assert not far
    assert len(after.compare(before).compared) == len(before.facts), "the same, seen from the end"


def test_two_recordings_of_one_program_correspond_through_it():
    x = np.random.default_rng(1).normal(size=(4, 8)).astype("float32")
    mod = passlab.transform.InferType()(layers(2))
    one, other = (
        passlab.record(mod, "FuseOps", opt_level=4),
        passlab.record(mod, "FastMath, ToANormalForm", opt_level=4),
    )
    run = lab.watch(other, x)
    comparison = lab.watch(one, x).compare(run)
    assert len(comparison.compared) == len(run.facts)
    assert not comparison.unsure
    assert all(difference.ulps < 64 for difference in comparison.differences.values())
    later = passlab.record(one.output, "DefuseOps, ToANormalForm", opt_level=4)
    assert lineage_of(one.input, later.last) is not None, "a recording goes on where an earlier one ended"
    assert lineage_of(one.last, passlab.transform.InferType()(layers(2))) is None, "strangers"


def test_a_pair_of_strangers_is_marked_and_never_red():
    def net(scale):
        return passlab.parse(f"def @main(%x: Tensor[(4), float32]) {{ tanh(multiply(%x, {scale})) }}")

    x = np.array([0.5, 1.0, 2.0, 3.0], "float32")
    one, other = lab.watch(net("3f"), x), lab.watch(net("2f"), x)
    comparison = one.compare(other)
    assert {node.op.name for node in comparison.unsure if isinstance(node, Call)} == {"multiply", "tanh"}
    view = node_values_view(other, one)
    marks = [facts.distance for facts in view.data()["facts"] if facts is not None and facts.distance]
    assert marks
    assert all(mark.startswith("likely ≠") for mark in marks)
    assert not any(facts.first for facts in view.data()["facts"] if facts is not None)
    assert "matched by structure alone" in view.title


def test_a_line_that_was_not_compared_says_so():
    net = passlab.parse("def @main(%x: Tensor[(1, 2, 2, 2), float32]) { nn.softmax(multiply(%x, 2f)) }")
    rec = passlab.record(net, "InferType, SimplifyExpr, FastMath", opt_level=4)
    x = np.arange(8, dtype="float32").reshape(1, 2, 2, 2)
    first, run = (
        lab.watch(rec.input, x),
        lab.watch(passlab.parse("def @main(%x: Tensor[(1, 2, 2, 2), float32]) { exp(%x) }"), x),
    )
    assert "not compared" in node_values_view(run, first).text()
    assert "not compared" not in node_values_view(lab.watch(rec, x), first).text()


@pytest.mark.rotating
@pytest.mark.parametrize("seed", range(4))
def test_a_difference_of_two_steps_is_the_lines_of_its_nodes(seed):
    for rec, _ in recordings(seed):
        for earlier, later in ((0, len(rec) - 1), (len(rec) // 2, len(rec) - 1)):
            if rec[earlier].after is rec[later].after:
                continue
            difference = rec.diff(earlier, later)
            for change in difference.nodes(*Change):
                if change.before is None or change.after is None or isinstance(change.after, (Function, Tuple)):
                    continue
                line = set(rec.provenance.ancestors(change.after))
                assert change.before in line or rec.provenance.guesses, str(change)
            for function in difference.functions:
                if function.before is not None and function.after is not None:
                    pairs = rec.lineage.pairs(post_order(function.before), post_order(function.after))
                    matched = function.matching.backward
                    assert all(matched[n] is pairs.of[n] for n in matched.keys() & pairs.of.keys() - {function.after})


def test_a_lie_about_a_line_is_seen():
    x = np.random.default_rng(1).normal(size=(4, 8)).astype("float32")
    rec = passlab.record(layers(2), "InferType, FastMath, ToANormalForm", opt_level=4)
    lines = rec.provenance.origins
    tanhs = [n for n in post_order(rec.last["main"]) if isinstance(n, Call) and getattr(n.op, "name", "") == "nn.dense"]
    one, other = tanhs[0], tanhs[2]
    lines[one], lines[other] = (
        Origin(lines[one].event, lines[other].old, True),
        Origin(lines[one].event, lines[one].old, True),
    )
    comparison = lab.watch(rec.input, x).compare(lab.watch(rec, x))
    assert {one, other} == {n for n, d in comparison.differences.items() if d.ulps > ROUNDED}


def test_structure_alone_takes_one_layer_for_another():
    """The reason for lineage: what matching by structure does to the same programs."""
    rec = passlab.record(layers(3), "InferType, FastMath, FuseOps", opt_level=4)
    by_lineage, by_structure = rec.diff(0, -1), diff_of_strangers(rec.input, rec.last)
    pairs = by_structure.functions[0].matching.backward
    true = by_lineage.functions[0].matching.backward
    assert any(pairs[n] is not true[n] for n in pairs.keys() & true.keys())
