"""Arrays that leave passlab have TVM's methods, wherever they leave it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import passlab.compat
from passlab import relay


def arrays_of(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from arrays_of(part)
    elif isinstance(value, np.ndarray):
        yield value


def results() -> Iterator[tuple[str, Any]]:
    """Yield what programs for TVM are given arrays by: a name, and a value that holds some."""
    from tvm import relay, runtime
    from tvm.contrib import graph_executor
    from tvm.contrib.debugger import debug_executor
    from tvm.relay import testing
    from tvm.relay.analysis import get_calibration_data

    mod, params = testing.mlp.get_workload(1)
    image = np.ones((1, 1, 28, 28), "float32")
    yield "get_workload", params
    yield "load_param_dict", relay.load_param_dict(relay.save_param_dict(params))
    yield "runtime.load_param_dict", runtime.load_param_dict(runtime.save_param_dict(params))
    yield "optimize", relay.optimize(mod, "llvm", params)[1]
    compiler = relay.vm.VMCompiler()
    compiler.set_params(params)
    yield "VMCompiler.get_params", compiler.get_params()
    library = relay.build(mod, "llvm", params=params)
    yield "build", tuple(library)[2]
    graph = graph_executor.GraphModule(library["default"](runtime.cpu()))
    graph.set_input("data", image)
    graph.run()
    yield "get_output", graph.get_output(0)
    yield "get_input", graph.get_input("data")
    debug = debug_executor.create(library.get_graph_json(), library.lib, runtime.cpu())
    debug.set_input("data", image)
    debug.set_input(**library.get_params())
    debug.run()
    yield "debug_get_output", debug.debug_get_output(0)
    yield "execute_node", debug.execute_node(0)
    x = relay.var("x", shape=(2,))
    outer = relay.Function([x], relay.GlobalVar("inner")(x))
    inner = relay.Function([relay.var("y", shape=(2,))], relay.const([1.0, 2.0])).with_attr("Compiler", "other")
    parts = passlab.IRModule({"inner": inner, "main": outer})
    yield "get_calibration_data", list(get_calibration_data(parts, {"x": np.zeros(2, "float32")}).values())


def test_every_array_that_leaves_has_the_methods_of_tvm() -> None:
    for name, value in results():
        arrays = list(arrays_of(value))
        assert arrays, name
        for array in arrays:
            assert array.numpy().shape == array.asnumpy().shape == array.shape, name


def test_uninstalling_puts_the_functions_back() -> None:
    def params() -> dict[str, Any]:
        loaded: dict[str, Any] = relay.load_param_dict(relay.save_param_dict({"x": np.ones(2)}))
        return loaded

    assert hasattr(params()["x"], "asnumpy")
    passlab.compat.uninstall()
    assert type(params()["x"]) is np.ndarray


def test_arrays_are_copied_into_other_dtypes() -> None:
    import tvm

    short = tvm.nd.empty((2,), "bfloat16").copyfrom(np.array([1.5, 2.0], "float32"))
    assert (str(short.dtype), short.numpy().astype("float32").tolist()) == ("bfloat16", [1.5, 2.0])
    assert tvm.nd.empty((2,), "int32").copyfrom([1.0, 2.0]).numpy().tolist() == [1, 2]
