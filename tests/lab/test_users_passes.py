"""Faults in user passes of every kind, and the answer of `lab.culprit` to each."""

from __future__ import annotations

import sys
import time

import pytest

from passlab import IRModule, lab, parse, relay
from passlab.infer import infer_module
from passlab.instrument.statistics import count_module
from passlab.ir.expr import Call
from passlab.ir.walk import post_order
from passlab.oracle.drawn_inputs import draws
from passlab.relay.dataflow_pattern import DFPatternCallback, is_op, wildcard
from passlab.relay.dataflow_pattern import rewrite as rewrite_patterns
from passlab.transform import function_pass, module_pass

pytestmark = pytest.mark.rotating

NET = """
def @main(%x: Tensor[(3, 4), float32], %w: Tensor[(5, 4), float32], %b: Tensor[(5), float32]) {
  %0 = nn.relu(nn.bias_add(nn.dense(%x, %w), %b));
  %1 = subtract(%0, multiply(%b, 0.5f));
  (nn.softmax(%1), sum(@twice(%1), axis=[1]))
}
def @twice(%a: Tensor[(3, 5), float32]) -> Tensor[(3, 5), float32] { subtract(multiply(%a, 3f), %a) }
"""


def is_call(node, name):
    return isinstance(node, Call) and getattr(node.op, "name", "") == name


class Exchanges(relay.ExprMutator):
    """Exchanges the operands of differences."""

    def visit_call(self, call):
        new = super().visit_call(call)
        return relay.subtract(new.args[1], new.args[0]) if is_call(call, "subtract") else new


class Negates(DFPatternCallback):
    """Takes the difference the other way round, once."""

    def __init__(self):
        super().__init__(rewrite_once=True)
        self.x, self.y = wildcard(), wildcard()
        self.pattern = is_op("subtract")(self.x, self.y)

    def callback(self, pre, post, node_map):
        return relay.subtract(node_map[self.y][0], node_map[self.x][0])


@function_pass(opt_level=0)
def by_mutator(func, mod, ctx):
    return Exchanges().visit(func)


@function_pass(opt_level=0)
def by_pattern(func, mod, ctx):
    return rewrite_patterns(Negates(), func)


@module_pass(opt_level=0)
def without_a_function(mod, ctx):
    return IRModule({var: function for var, function in mod.functions.items() if var.name_hint != "twice"})


@function_pass(opt_level=0)
def with_other_parameters(func, mod, ctx):
    return func.with_fields(params=func.params[::-1])


@function_pass(opt_level=0)
def that_looks_up(func, mod, ctx):
    return {}["twice"]


@function_pass(opt_level=0)
def that_exits(func, mod, ctx):
    sys.exit(3)


@function_pass(opt_level=0)
def that_returns_nothing(func, mod, ctx):
    return None


PASSES = {
    by_mutator: "rewrite; subtract",
    by_pattern: "Negates; subtract",
    without_a_function: "the function that it removed: @twice",
    with_other_parameters: "the parameters of @main",
    that_looks_up: "in `that_looks_up`, test_users_passes.py",
    that_exits: "in `that_exits`, test_users_passes.py",
    that_returns_nothing: "in `_run`, base.py",
}


@pytest.mark.parametrize("pass_", PASSES, ids=lambda pass_: pass_.info.name)
def test_a_pass_of_a_user_is_named_with_what_is_wrong_in_it(pass_):
    culprit = lab.culprit(parse(NET), ["InferType", pass_, "FuseOps"], seconds=None)
    assert culprit.name == pass_.info.name, culprit
    assert PASSES[pass_] in culprit.where
    assert count_module(culprit.module)[0] < 12, culprit.module


@function_pass(opt_level=0)
def that_never_ends(func, mod, ctx):
    while any(is_call(node, "nn.softmax") for node in post_order(func)):
        time.sleep(0.01)
    return func


def test_a_pass_that_never_ends_is_an_answer_within_the_time():
    culprit = lab.culprit(parse(NET), ["InferType", that_never_ends], seconds=8)
    assert culprit.name == "that_never_ends"
    assert "that_never_ends" in culprit.where
    assert "seconds=5" in culprit.script(), "a script that shows it ends"


GATHERED = "def @main(%x: Tensor[(2), float32], %i: Tensor[(40), int32]) { gather(%x, %i, axis=0) }"
OPEN = "def @main(%x: Tensor[(?, 4), float32]) { tanh(%x) }"


def test_indices_are_drawn_that_a_small_tensor_has():
    bisection = lab.bisect(parse(GATHERED), "InferType, FirstOrderGradient", without_contract=True)
    assert not bisection.found
    ((event, check),) = bisection.coverage.comparisons
    assert event.name == "FirstOrderGradient"
    assert "typical numbers and integers of 0 and 1" in check.compared


def test_free_sizes_are_tried_with_none_and_one():
    sizes = {draw.arguments[0].shape[0] for draw in draws(infer_module(parse(OPEN)))}
    assert {0, 1, 2, 3} <= sizes


SHORTENED = 'def @main(%x: Tensor[(64), float32]) { cast(clip(%x, a_min=-500f, a_max=6f), dtype="int8") }'


def test_numbers_are_drawn_on_both_sides_of_what_a_short_integer_holds():
    mod = infer_module(parse(SHORTENED))
    values = [v for draw in draws(mod) if "program" in draw.kind for v in draw.arguments[0]]
    for end in (-128, 127):
        assert {end, end - 0.5, end + 0.5} <= set(values)
