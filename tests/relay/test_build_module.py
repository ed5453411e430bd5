"""`bind_params_by_name`: parameters that have a value become constants, whatever else the table of values holds."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.errors import RunError
from passlab.relay.build_module import bind_params_by_name

PROGRAM = "def @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32]) { add(%x, %w) }"


def test_named_parameters_become_constants() -> None:
    mod = passlab.parse(PROGRAM)
    mod["main"] = bind_params_by_name(mod["main"], {"w": np.array([1, 2], "float32")})
    assert [p.name_hint for p in mod["main"].params] == ["x"]
    result = relay.create_executor("debug", mod).evaluate()(np.array([10, 20], "float32"))
    np.testing.assert_array_equal(result, np.array([11, 22], "float32"))


def test_a_function_with_nothing_to_bind_is_returned_as_it_is() -> None:
    main = passlab.parse(PROGRAM)["main"]
    assert bind_params_by_name(main, {}) is main
    assert bind_params_by_name(main, {"bias": np.zeros(2, "float32")}) is main


def test_a_name_that_two_parameters_share_is_refused() -> None:
    a, b = relay.var("w", shape=(2,)), relay.var("w", shape=(2,))
    function = relay.Function([a, b], relay.add(a, b))
    with pytest.raises(RunError, match="several parameters are called %w"):
        bind_params_by_name(function, {"w": np.zeros(2, "float32")})


def test_optimize_runs_the_passes_of_build_alone() -> None:
    params = {"w": np.array([1, 2], "float32")}
    mod, inputs = relay.optimize(passlab.parse(PROGRAM), "llvm", params)
    main = mod["main"]
    assert [p.name_hint for p in main.params] == ["x"]
    assert inputs == params
    assert isinstance(main.body, relay.Call)
    assert isinstance(main.body.op, relay.Function)
    assert main.body.op.is_primitive
    np.testing.assert_array_equal(
        relay.create_executor("graph", mod).evaluate()(np.array([10, 20], "float32")), np.array([11, 22], "float32")
    )
