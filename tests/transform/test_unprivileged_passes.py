"""What a user's pass meets is met by every pass: standard passes without their privilege, and rebuilt programs."""

from __future__ import annotations

from contextlib import suppress

import pytest

from passlab import relay, transform
from passlab.errors import PasslabError
from passlab.evaluate.agreement import disagreement
from passlab.evaluate.evaluator import Evaluator
from passlab.ir import structural_equal
from passlab.ir.expr import Call, Expr
from passlab.ir.op import is_op_call
from passlab.ir.walk import rewrite
from passlab.relay import ExprMutator
from passlab.relay.dataflow_pattern import DFPatternCallback, is_op, wildcard
from passlab.relay.dataflow_pattern import rewrite as rewrite_patterns
from passlab.testing import programs
from passlab.transform.base import FunctionPass
from passlab.transform.registry import get_pass, pass_names

ADDS_FUNCTIONS = {"ToCPS"}  # to its argument, which only a standard pass may do


def function_passes():
    for name in sorted({*pass_names()} - ADDS_FUNCTIONS):
        with suppress(PasslabError):  # it needs options
            if isinstance(get_pass(name), FunctionPass):
                yield name


def outcome(tried, mod):
    try:
        return tried(mod)
    except PasslabError as error:
        return str(error)


@pytest.mark.rotating
@pytest.mark.parametrize("name", [*function_passes()])
def test_a_standard_pass_passes_the_checks_of_a_users_pass(name, monkeypatch):
    cases = [programs.program(seed).mod for seed in range(4)]
    trusted = [outcome(get_pass(name), mod) for mod in cases]
    monkeypatch.setattr(type(get_pass(name)), "trusted", False)
    for mod, before in zip(cases, trusted, strict=True):
        after = outcome(get_pass(name), mod)
        assert before == after if isinstance(before, str) else structural_equal(before, after), after


class Rebuilds(ExprMutator):
    """Builds every call anew."""

    def visit_call(self, call):
        new = super().visit_call(call)
        return Call(new.op, new.args, new.attrs, new.type_args)


class Doubles(ExprMutator):
    """Negates every tanh twice."""

    def visit_call(self, call):
        new = super().visit_call(call)
        return doubled(new) if is_tanh(new) else new


class DoublesByPattern(DFPatternCallback):
    """Negates every tanh twice, by a pattern."""

    def __init__(self):
        super().__init__(rewrite_once=True)
        self.x = wildcard()
        self.pattern = is_op("tanh")(self.x)

    def callback(self, pre, post, node_map):
        return doubled(post)


def is_tanh(node: Expr) -> bool:
    return is_op_call(node) and node.op.name == "tanh"


def doubled(node: Expr) -> Expr:
    return relay.negative(relay.negative(node))


STYLES = {
    "returns the function": lambda f: f,
    "a mutator that rebuilds": lambda f: Rebuilds().visit(f),
    "a function of its own": lambda f: relay.Function(f.params, f.body, f.ret_type, f.type_params, f.attrs),
    "a mutator that changes": lambda f: Doubles().visit(f),
    "a rewrite that changes": lambda f: rewrite(f, lambda old, new: doubled(new) if is_tanh(new) else new),
    "a pattern that changes": lambda f: rewrite_patterns(DoublesByPattern(), f),
}


@pytest.mark.parametrize("style", STYLES)
def test_a_users_pass_runs_on_every_construct_of_the_language(style):
    tried = transform.function_pass(lambda f, mod, ctx: STYLES[style](f), opt_level=0, name="Mine")
    for seed in range(12):
        case = programs.program(seed)
        result = tried(case.mod)
        assert disagreement(case.value, Evaluator(result).run("main", case.args)) is None
