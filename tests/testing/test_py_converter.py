"""Programs as Python: a syntax tree with the same value."""

from __future__ import annotations

import ast

import numpy as np

import passlab
from passlab import relay
from passlab.relay.testing import run_as_python, to_python


def test_expressions_have_values() -> None:
    assert run_as_python(relay.const(1) + relay.const(2)) == 3
    parts = run_as_python(relay.Tuple([relay.const(1), relay.Tuple([]), relay.const(np.ones(3, "float32"))]))
    assert (parts[0], parts[1], list(parts[2])) == (1, (), [1, 1, 1])


def test_references_branches_and_lets_run() -> None:
    r, v = relay.Var("r"), relay.Var("v")
    body = relay.Let(v, relay.RefWrite(r, relay.const(7)), relay.RefRead(r))
    assert run_as_python(relay.Let(r, relay.RefCreate(relay.const(1)), body)) == 7
    assert run_as_python(relay.If(relay.const(True), relay.const(1), relay.const(2))) == 1


def test_functions_take_arrays() -> None:
    x = relay.var("x", shape=(2,))
    function = run_as_python(relay.Function([x], relay.nn.relu(x)))
    np.testing.assert_array_equal(function(np.array([-1, 2], "float32")), [0, 2])


def test_functions_of_a_module_are_called() -> None:
    mod = passlab.parse("def @twice(%x: int32) { add(%x, %x) }")
    assert run_as_python(mod.get_global_var("twice")(relay.const(4)), mod) == 8


def test_the_tree_is_python() -> None:
    tree = to_python(relay.const(1) + relay.const(2))
    assert isinstance(tree, ast.Module)
    assert any(isinstance(node, ast.FunctionDef) for node in ast.walk(tree))
    compile(tree, "program", "exec")
