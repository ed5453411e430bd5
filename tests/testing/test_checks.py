"""Helpers for tests: one pass on an expression, counts of operators, gradient checks, natural numbers."""

from __future__ import annotations

import numpy as np
import pytest

from passlab import ir, relay, testing, transform
from passlab.errors import PasslabError
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir.expr import Call, Function
from passlab.ir.module import IRModule
from passlab.ir.op import remove_op
from passlab.ir.types import TensorType
from passlab.op.declare import operator
from passlab.op.relations import identity
from passlab.relay.prelude import Prelude
from passlab.text.parser import parse, parse_expr


def test_run_infer_type_keeps_the_kind_of_expression():
    function = testing.run_infer_type(parse_expr("fn (%x: Tensor[(2, 3), float32]) { nn.relu(%x) }"))
    assert isinstance(function, Function)
    assert function.checked_type.ret_type is TensorType((2, 3))
    assert testing.run_infer_type(parse_expr("add(1f, 2f)")).checked_type is TensorType(())


def test_run_opt_pass():
    before = parse_expr("fn (%x: Tensor[(2, 3), float32]) { let %unused = exp(%x); nn.relu(%x) }")
    after = testing.run_opt_pass(before, transform.DeadCodeElimination())
    ir.assert_structural_equal(
        after, parse_expr("fn (%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { nn.relu(%x) }")
    )
    body = testing.run_opt_pass(parse_expr("add(1f, 2f)"), transform.InferType(), import_prelude=True)
    assert isinstance(body, Call)


def test_count_ops_counts_every_node_once():
    mod = parse(
        "def @main(%x: Tensor[(2), float32]) { %0 = exp(%x); %1 = add(%0, %0); let %f = fn (%y) { exp(%y) }; %f(%1) }"
    )
    assert testing.count_ops(mod["main"]) == {"exp": 2, "add": 1}


def test_rand():
    x = testing.rand("float16", 2, 3)
    assert x.shape == (2, 3)
    assert x.dtype == np.float16


# ---------------------------------------------------------------- gradients
def test_check_grad_accepts_right_gradients():
    program = "fn (%x: Tensor[(2, 3), float64], %w: Tensor[(4, 3), float64]) { tanh(nn.dense(%x, %w, units=4)) }"
    testing.check_grad(parse_expr(program))
    x, w = np.random.default_rng(0).standard_normal((2, 2, 3))[0], np.ones((4, 3))
    testing.check_grad(parse_expr(program), inputs=[x, w], test_inputs=[w], executor_kind="vm")


def test_check_grad_finds_a_wrong_gradient():
    @operator("test.twice", ("data",), relation=identity, gradient=lambda orig, grad: [grad], doc="Twice the data.")
    def twice(attrs, data, *, out=None):
        return np.add(data, data, out=out)

    try:
        with pytest.raises(AssertionError, match="input 0"):
            testing.check_grad(parse_expr("fn (%x: Tensor[(3), float64]) { test.twice(%x) }"))
    finally:
        remove_op("test.twice")


# ---------------------------------------------------------------- natural numbers
def test_natural_numbers_there_and_back():
    mod = IRModule()
    prelude = Prelude(mod)
    testing.add_nat_definitions(prelude)
    assert testing.count(prelude, testing.make_nat_value(prelude, 3)) == 3
    assert testing.count(mod, testing.make_nat_value(mod, 2_000)) == 2_000
    expr = Call(mod.get_global_var("nat_add"), [testing.make_nat_expr(mod, 3), testing.make_nat_expr(mod, 4)])
    mod["main"] = Function([], expr)
    assert testing.count(mod, Evaluator(infer_module(mod)).run("main", [])) == 7
    with pytest.raises(PasslabError, match="not negative"):
        testing.make_nat_value(mod, -1)


def test_check_grad_takes_both_modes():
    x, y = relay.var("x", shape=(2,)), relay.Var("y")
    function = relay.Function([x], relay.Let(y, x * x, y))
    relay.testing.check_grad(function)  # the default, "higher_order", knows lets
    with pytest.raises(PasslabError, match="first-order"):
        relay.testing.check_grad(function, mode="first_order")
    with pytest.raises(PasslabError, match="unknown mode"):
        relay.testing.check_grad(function, mode="second_order")
