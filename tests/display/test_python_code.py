"""A node as Python: the code runs, and builds the node again over variables for its operands, for every construct."""

from __future__ import annotations

import ast
from typing import Any

import pytest

import passlab
from passlab.display.text.python_code import _cut, python_of
from passlab.ir.adt import Constructor
from passlab.ir.expr import Call, Expr
from passlab.ir.op import Op
from passlab.ir.walk import post_order
from passlab.testing import dcgan, lstm, mobilenet

PROGRAM = """
type Shape { Circle(Tensor[(), float32]), Pair(Shape, Shape) }
def @area(%s: Shape) -> Tensor[(), float32] {
  match (%s) { Circle(%r) => multiply(%r, inff), Pair(%l, %m) => add(@area(%l), @area(%m)) }
}
def @main(%x: Tensor[(4, ?), float32], %class: Tensor[(8, 8), float16], %n: int32) {
  let %cell = ref((%x, %n));
  let %f = fn (%v: Tensor[(8, 8), float16]) { nn.softmax(%v, axis=-1) };
  let %u = ref_write(%cell, (%x, 3));
  if (less(%n, 3)) { (concatenate((%f(%class), %class), axis=1), ref_read(%cell).1) } else { (concatenate((%class, %class), axis=1), %n) }
}
"""


def value_of(code: str) -> Any:
    """The value of the last expression of a program in Python."""
    tree = ast.parse(code)
    last = tree.body.pop()
    space: dict[str, Any] = {}
    exec(compile(tree, "copied", "exec"), space)
    if isinstance(last, ast.Assign):
        return None
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), "copied", "eval"), space)


def modules() -> dict[str, passlab.IRModule]:
    return {
        "own": passlab.parse(PROGRAM),
        "mobilenet": mobilenet.get_workload()[0],
        "lstm": lstm.get_workload(2, 4)[0],
        "dcgan": dcgan.get_workload(1)[0],
    }


@pytest.mark.parametrize("name", ["own", "mobilenet", "lstm", "dcgan"])
def test_the_code_builds_the_node(name):
    mod = modules()[name]
    nodes = [node for function in mod.functions.values() for node in post_order(function)]
    calls = 0
    for node in nodes:
        code = python_of(node)
        built = value_of(code)
        if built is None:
            assert any(isinstance(one, (Constructor, passlab.ir.GlobalVar)) for one in post_order(node))
            continue
        assert isinstance(built, Expr)
        assert passlab.structural_equal(built, _cut(node)[0], map_free_vars=True), code
        calls += isinstance(node, Call) and isinstance(node.op, Op) and f"relay.{node.op.name}(" in code
    operators = [node for node in nodes if isinstance(node, Call) and isinstance(node.op, Op)]
    assert calls >= 0.9 * len(operators)  # nearly all are calls of functions, and not text
