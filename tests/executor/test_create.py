"""`create_executor`: one door, the same results whichever way a program is run."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.errors import LimitError, RunError
from passlab.executor import create
from passlab.infer import infer_module
from passlab.text.parser import parse

KINDS = ("debug", "vm", "graph", "aot")
NET = "def @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32]) { (%x + %w, %x) }"


@pytest.mark.parametrize("kind", KINDS)
def test_main_takes_arguments_by_position_and_by_name(kind):
    run = relay.create_executor(kind, passlab.parse(NET)).evaluate()
    x, w = np.float32([1, 2]), np.float32([10, 20])
    for result in (run(x, w), run(x, w=w), run(w=w, x=x)):
        np.testing.assert_array_equal(result[0], np.float32([11, 22]))
        np.testing.assert_array_equal(result[1], x)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("args", "kwargs", "why"),
    [
        ((1,), {}, "missing: %w"),
        ((1, 2, 3), {}, "takes 2 arguments"),
        ((), {"v": 1}, "no parameter %v"),
        ((1,), {"x": 2}, "given twice"),
    ],
)
def test_wrong_arguments_are_told(kind, args, kwargs, why):
    run = relay.create_executor(kind, passlab.parse(NET)).evaluate()
    with pytest.raises(RunError, match=why):
        run(*args, **kwargs)


@pytest.mark.parametrize("kind", KINDS)
def test_params_are_bound_in_main(kind):
    executor = relay.create_executor(kind, passlab.parse(NET), params={"w": np.float32([5, 5])})
    np.testing.assert_array_equal(executor.evaluate()(np.float32([1, 1]))[0], np.float32([6, 6]))
    with pytest.raises(RunError, match="arguments are missing: %w"):  # `ww` is not its own: ignored, as in Relay
        relay.create_executor(kind, passlab.parse(NET), params={"ww": np.float32([5, 5])}).evaluate()(
            np.float32([1, 1])
        )


@pytest.mark.parametrize("kind", KINDS)
def test_expressions_are_evaluated_at_once_with_binds(kind):
    x = relay.var("x", shape=(2,), dtype="float32")
    value = relay.create_executor(kind, passlab.IRModule()).evaluate(relay.add(x, x), {x: np.float32([1, 2])})
    np.testing.assert_array_equal(value, np.float32([2, 4]))
    with pytest.raises(RunError, match="%x"):
        relay.create_executor(kind, passlab.IRModule()).evaluate(relay.add(x, x))


@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_a_function_that_is_returned_can_be_called(kind):
    mod = passlab.parse("def @main(%x: float32) { fn (%y: float32) { %x * %y } }")
    times = relay.create_executor(kind, mod).evaluate()(np.float32(3))
    assert float(times(np.float32(5))) == 15


@pytest.mark.parametrize("kind", KINDS)
def test_the_module_is_not_changed(kind):
    mod = passlab.parse(NET)
    before = dict(mod.items())
    relay.create_executor(kind, mod).evaluate(relay.Function([], relay.const(1)))()
    assert dict(mod.items()) == before


def test_an_unknown_kind_is_told():
    with pytest.raises(RunError, match="did you mean `debug`"):
        relay.create_executor("debugg")


def test_providers_are_the_virtual_machines(rng):
    mod = passlab.parse("def @main(%x: Tensor[(3), float32]) { exp(%x) }")
    x = rng.random(3, "float32")
    run = relay.create_executor("vm", mod, target="cuda", providers={"cuda": "numpy"}).evaluate()
    np.testing.assert_allclose(run(x), np.exp(x), rtol=1e-6)
    with pytest.raises(RunError, match="no provider of kernels"):
        relay.create_executor("vm", mod, providers="nunpy").evaluate()(x)
    with pytest.raises(RunError, match="`vm` executor has providers"):
        relay.create_executor("graph", mod, providers="torch")


@pytest.mark.parametrize("kind", ["debug", "vm", "aot", "graph"])
def test_a_tuple_shared_sixty_times_costs_what_its_text_does(kind: str):
    lets = "".join(f"let %t{i} = (%t{i - 1}, %t{i - 1});" for i in range(1, 60))
    whole, part = (f"def @main(%x: int32) {{ let %t0 = (%x, %x); {lets} %t59{end} }}" for end in ("", ".0" * 60))
    value = relay.create_executor(kind, infer_module(parse(part))).evaluate()(np.int32(7))
    assert value == 7
    run = relay.create_executor(kind, infer_module(parse(whole))).evaluate()
    if kind == "graph":  # which has a node for each tensor of a tuple
        with pytest.raises(LimitError, match="tuple_fields"):
            run(np.int32(7))
        return
    value = run(np.int32(7))
    for _ in range(59):
        assert value[0] is value[1]
        value = value[0]
    assert value == (7, 7)


@pytest.mark.parametrize("kind", ["debug", "definition", "vm", "graph", "aot"])
def test_one_executor_runs_each_of_several_functions(kind: str) -> None:
    mod = passlab.parse("""
    def @double(%x: Tensor[(2), float32]) { multiply(%x, 2f) }
    def @main(%x: Tensor[(2), float32]) { negative(%x) }
    """)
    executor = relay.create_executor(kind, mod)
    functions = [executor.evaluate(mod.get_global_var(name)) for name in ("double", "main")]
    functions.append(executor.evaluate(mod["double"]))
    x = np.array([1, 2], "float32")
    for _ in range(2):
        assert [f(x).tolist() for f in functions] == [[2, 4], [-1, -2], [2, 4]]


@pytest.mark.parametrize("kind", ["vm", "graph", "aot", "onnxruntime"])
def test_an_executor_keeps_what_it_compiled_last(kind, monkeypatch):
    if kind == "onnxruntime":
        pytest.importorskip("onnxruntime")
    monkeypatch.setattr(create, "MOST_COMPILED", 3)
    executor = relay.create_executor(kind, passlab.parse(NET))
    tables = [table for table in vars(executor).values() if isinstance(table, create.RecentlyUsed)]
    assert len(tables) == 1
    x = relay.var("x", shape=(2,))
    functions = [relay.Function([x], relay.add(x, relay.const(float(n)))) for n in range(5)]
    first = executor.evaluate(functions[0])
    for number, function in enumerate(functions):
        np.testing.assert_array_equal(executor.evaluate(function)(np.float32([1, 2])), np.float32([1, 2]) + number)
        np.testing.assert_array_equal(first(np.float32([1, 2])), np.float32([1, 2]))  # in use all the time
    assert len(tables[0]) == 3
