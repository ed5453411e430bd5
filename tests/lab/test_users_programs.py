"""Passes of users that change a program and no value are blamed on no generated program, however they are written."""

from __future__ import annotations

import random

import pytest

from passlab import lab, relay
from passlab.ir.expr import Call, Function, If, Let, Tuple, TupleGetItem, Var
from passlab.ir.op import Op
from passlab.testing.programs import generate
from passlab.transform.base import Pass
from tests.lab.user.ways import FORMS, WAYS, Rule, exchanged, is_call, nothing

OPERATORS = ("multiply", "add", "subtract", "tanh", "exp", "nn.relu", "negative", "reshape", "abs", "sqrt", "maximum")


def is_changed(call: Call) -> bool:
    return isinstance(call.op, Op) and call.op.name in OPERATORS


def in_a_tuple(call):
    return TupleGetItem(Tuple([call]), 0) if is_changed(call) else call


def bound(call):
    var = Var("v")
    return Let(var, call, var) if is_changed(call) else call


def called(call):
    var = Var("v")
    return Call(Function([var], var), [call]) if is_changed(call) else call


def branched(call):
    return If(relay.const(True), call, call) if is_changed(call) else call


def negated(call):
    return relay.negative(relay.negative(call)) if is_call(call, "multiply") else call


RULES: dict[str, Rule] = {r.__name__: r for r in (nothing, exchanged, in_a_tuple, bound, called, branched, negated)}
TWICE = ("exchanged", "branched", "negated")  # right where operands have no effects


def question(seed: int):
    """Return the program of a seed, and a pass of a user."""
    choice = random.Random(f"users {seed}")
    rule = choice.choice(list(RULES))
    effects = rule not in TWICE and choice.random() < 0.4
    mod = generate(seed, effects=effects, size=choice.choice((1, 2, 4, 6)))
    pass_: Pass = FORMS[choice.choice(list(FORMS))](WAYS[choice.choice(list(WAYS))], RULES[rule])
    return mod, pass_


def check(first: int, count: int) -> None:
    for seed in range(first, first + count):
        mod, pass_ = question(seed)
        answer = lab.bisect(mod, ["InferType", pass_, "FoldConstant"], opt_level=4)
        assert not answer.found, f"seed {seed}: {answer}"


@pytest.mark.rotating
def test_no_pass_of_a_user_is_blamed_on_generated_programs() -> None:
    check(1000, 12)


@pytest.mark.nightly
@pytest.mark.in_parts
@pytest.mark.parametrize("first", range(20_000, 22_000, 50))
def test_no_pass_of_a_user_is_blamed_on_many_generated_programs(first: int) -> None:
    check(first, 50)
