"""What a newcomer does wrong in Python, and what is said: no raw error from the depths, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import passlab
from passlab import IRModule, instrument, limits, relay, transform
from passlab.display import graph_view
from passlab.errors import PasslabError
from tests.each import each

NET = passlab.parse("def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) { nn.dense(%x, %w) }")
X, W = np.ones((1, 8), "float32"), np.ones((4, 8), "float32")
ARRAY = np.ones((2, 3), "float32")
V = relay.var("v", shape=(2, 3))
FUNCTION = relay.Function([V], relay.nn.relu(V))

MISUSES: dict[str, tuple[Callable[[], Any], str]] = {
    "number as argument": (lambda: relay.add(V, 1), "`relay.const(1)`"),
    "array as argument": (lambda: relay.add(V, ARRAY), "`relay.const(array)`"),
    "array times expression": (lambda: ARRAY * V, "operand of `multiply` is needed, not ndarray"),
    "too few arguments": (lambda: relay.add(V), "it takes lhs, rhs"),
    "misspelt attribute": (lambda: relay.sum(V, axes=1), "did you mean `axis`?"),
    "name for an operator": (lambda: relay.Call("nn.relu", [V]), '`relay.op.get("nn.relu")`'),
    "function for an operator": (lambda: relay.Call(relay.nn.relu, [V]), "call it, `relu(...)`"),
    "parameters without a list": (lambda: relay.Function(V, V), "write `[...]` around it"),
    "number as body": (lambda: relay.Function([V], 3), "an expression is needed, not int"),
    "function as parameter": (lambda: relay.Function([FUNCTION], V), "a variable is needed, not Function"),
    "number in a tuple": (lambda: relay.Tuple([V, 3]), "`relay.const(3)`"),
    "name for a variable": (lambda: relay.Let("x", V, V), '`relay.var("x")`'),
    "shape for a type": (lambda: relay.var("x", (2, 3)), 'relay.var("x", shape=(1, 8), dtype="float32")'),
    "number for a shape": (lambda: relay.var("x", shape=3), "write `(3,)`"),
    "negative dimension": (lambda: relay.TensorType((2, -3)), "-3 is not a dimension"),
    "function for a module": (lambda: IRModule(FUNCTION), "`IRModule.from_expr(...)`"),
    "text for a module": (lambda: IRModule.from_expr("x"), "an expression is needed, not str"),
    "module for an expression": (lambda: relay.analysis.free_vars(NET), '`mod["main"]`'),
    "module for a function": (lambda: relay.bind(NET, {}), '`mod["main"]`'),
    "name for a key": (lambda: relay.bind(FUNCTION, {"v": V}), "a variable as key is needed"),
    "function to infer as a module": (lambda: passlab.infer.infer_module(FUNCTION), "a module is needed, not Function"),
    "importer": (lambda: relay.frontend.from_keras, "read it with `passlab.parse`"),
    "misspelt column": (lambda: relay.op.list().column("operater"), "did you mean `operator`"),
    "module to evaluate": (lambda: relay.create_executor("debug", NET).evaluate(NET), "without an argument `main`"),
    "module for an executor": (lambda: relay.create_executor(NET), "there are debug, definition, vm, graph, aot"),
    "parameters of a module": (lambda: relay.build_module.bind_params_by_name(NET, {"w": W}), '`mod["main"]`'),
    "parameter of another dtype": (
        lambda: relay.create_executor("vm", NET, params={"w": W.astype("float64")}),
        '.astype("float32")',
    ),
    "parameter of another shape": (lambda: relay.create_executor("vm", NET, params={"w": W.T}), "its shape differs"),
    "arguments in a dictionary": (
        lambda: relay.create_executor("debug", NET).evaluate()({"x": X, "w": W}),
        "given as `**arguments`",
    ),
    "one argument too many": (lambda: relay.create_executor("debug", NET).evaluate()(X, W, X), "it takes %x, %w"),
    "pass with other parameters": (lambda: transform.function_pass(lambda f: f, opt_level=1), "(func, mod, ctx)"),
    "misspelt hook": (
        lambda: instrument.pass_instrument(type("Mine", (), {"run_befor_pass": print, "__module__": "m"})),
        "did you mean `run_before_pass`?",
    ),
    "instrument without a list": (
        lambda: passlab.record(NET, "InferType", instruments=instrument.PassTimingInstrument()),
        "write `instruments=[...]`",
    ),
    "inputs that are none": (lambda: instrument.Validate(3), "by name of the parameter"),
    "text for a predicate": (lambda: passlab.record(NET, "InferType").first("x"), "as in `lambda mod: len(mod) > 1`"),
    "number for a node": (lambda: passlab.record(NET, "InferType").biography(3), "a node of one of the programs"),
    "module against function": (lambda: passlab.diff(NET, NET["main"]), '`mod["main"]`'),
    "number as a graph": (lambda: graph_view(3), "`graph_view` has no view of this object"),
    "number to watch": (lambda: passlab.lab.watch(3), "IRModule.from_expr(function) returns one"),
    "number to solve": (lambda: passlab.lab.watch_solver(3, "types"), "IRModule.from_expr(function) returns one"),
    "arguments without a list": (lambda: passlab.Trace.record(NET, X, W), "`record(net, [x, w])`"),
    "limit that is no number": (lambda: limits.override(frames="3").__enter__(), "a number from 0 on"),
}


@each("misuse", MISUSES)
def test_a_misuse_is_told_with_its_cure(misuse: str) -> None:
    make, fix = MISUSES[misuse]
    with pytest.raises(PasslabError) as caught:
        make()
    assert fix in str(caught.value)
