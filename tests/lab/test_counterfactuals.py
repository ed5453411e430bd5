"""`lab.what_if` and `lab.orders`: pipelines without a pass, with a repeated pass, in other orders."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import passlab
from passlab import lab, relay, transform
from passlab.errors import PassError
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Call
from passlab.ir.walk import rewrite

NET = """
def @main(%x: Tensor[(3, 4), float32]) {
  %0 = multiply(add(%x, 0f), multiply(2f, 3f));
  nn.relu(add(%0, %0))
}
"""
PIPELINE = "InferType, FoldConstant, SimplifyExpr, FuseOps"


@transform.function_pass(opt_level=0)
def negated(func, mod, ctx):
    """Wrong: every relu of the negative."""

    def rule(before, node):
        wrong = isinstance(node, Call) and getattr(node.op, "name", "") == "nn.relu"
        return relay.nn.relu(relay.negative(node.args[0])) if wrong else node

    return rewrite(func, rule, only=(Call,))


def test_each_pass_is_skipped_repeated_and_moved():
    table = lab.what_if(passlab.parse(NET), PIPELINE)
    assert [(v.number, v.change) for v in table.variants][:4] == [
        (1, "skipped"), (1, "repeated"), (1, "moved"), (2, "skipped"),
    ]  # fmt: skip
    assert table.base.correct == "kept"
    without = passlab.record(passlab.parse(NET), "InferType, FoldConstant, SimplifyExpr", 4).last
    assert structural_equal(table.variant("skipped", 4).module, without)
    assert table.variant("skipped", 4).cost.kernels == 0 < table.base.cost.kernels
    assert "4 FuseOps is idempotent" in table.laws()
    assert table.heat_map().rows[0][0] == "1 InferType"
    assert len(table.frame()) == len(table.variants) + 1


def test_a_pass_without_which_the_program_is_right_is_told():
    table = lab.what_if(passlab.parse(NET), ["InferType", negated, "FuseOps"])
    assert table.base.correct != "kept"
    assert table.variant("skipped", 2).correct == "kept"
    assert any("2 negated repeated the program computes something else" in law for law in table.laws()) or (
        not table.variant("repeated", 2).same
    )


def test_variants_run_on_an_executor_to_the_same_end():
    plain = lab.what_if(passlab.parse(NET), PIPELINE)
    with ThreadPoolExecutor(2) as pool:
        spread = lab.what_if(passlab.parse(NET), PIPELINE, executor=pool)
    assert spread.text() == plain.text()


def test_orders_that_meet_are_one_program():
    ways = lab.orders(passlab.parse(NET), "FoldConstant, SimplifyExpr, EliminateCommonSubexpr")
    assert ways.complete
    programs = [p.module for p in ways.programs]
    assert all(not structural_equal(a, b) for n, a in enumerate(programs) for b in programs[n + 1 :])
    for place in ways.programs:
        for name, end in place.transitions.items():
            again = passlab.record(place.module, name, 4).last
            assert structural_equal(passlab.infer.infer_module(again), ways.programs[end].module)
    assert ways.best.cost.nodes == min(p.cost.nodes for p in ways.programs)
    assert ways.fixed_points


def test_orders_of_nothing_or_of_one_pass_twice_are_refused():
    with pytest.raises(PassError, match="two or more different passes"):
        lab.orders(passlab.parse(NET), "FuseOps, FuseOps")
