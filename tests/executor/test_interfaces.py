"""The interfaces that programs for Relay use: modules taken from factories by name, parameters as bytes, timing; and what
is told when a program, an input or an output cannot be one.
"""

from __future__ import annotations

import contextlib
import struct

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.errors import PasslabError, RunError, RunTypeError, VerifyError
from passlab.executor import GraphModuleDebug
from passlab.executor.outputs import RunsByInputs

NET = "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(3), float32]) { (nn.relu(%x + %y), exp(%x)) }"
X, Y = np.float32([[1, -2, 3], [4, 5, -6]]), np.float32([1, 1, 1])
WANTED = np.maximum(X + Y, 0)
KINDS = ("debug", "vm", "graph", "aot")


def built(executor: str = "graph", **more):
    return relay.build(passlab.parse(NET), executor=relay.backend.Executor(executor), **more)


@pytest.fixture(params=["graph", "aot"])
def module(request) -> RunsByInputs:
    return built(request.param)["default"](passlab.cpu())


def test_a_factory_gives_its_module_by_name(module):
    module["set_input"]("x", X)
    module["set_input"]("y", Y)
    module["run"]()
    np.testing.assert_allclose(module["get_output"](0), WANTED, rtol=1e-6)
    same = relay.graph_executor.GraphModule(module)
    np.testing.assert_allclose(same.get_output(1), np.exp(X), rtol=1e-6)
    with pytest.raises(RunError, match="no function `rn`") as caught:
        module["rn"]
    assert "`run`" in str(caught.value)
    with pytest.raises(RunTypeError, match="not from an int"):
        relay.graph_executor.GraphModule(3)


@pytest.mark.parametrize("executor", ["graph", "aot"])
def test_a_factory_has_the_name_it_was_built_with(executor):
    factory = built(executor, mod_name="mine")
    assert factory["mine"](passlab.cpu()).get_num_inputs() == 2
    with pytest.raises(RunError, match="no function `default`") as caught:
        factory["default"]
    assert "mine" in str(caught.value)


def test_a_debug_executor_is_created_by_name():
    module = built()["debug_create"]("default", passlab.cpu())
    assert isinstance(module, GraphModuleDebug)
    module.run(x=X, y=Y)
    np.testing.assert_allclose(module.debug_get_output("tvmgen_default_fused_exp"), np.exp(X), rtol=1e-6)
    with pytest.raises(RunError, match="other"):
        built()["debug_create"]("other", passlab.cpu())


def test_parameters_are_bytes_in_the_documented_form():
    data = relay.save_param_dict({"y": Y, "n": np.int64(7)})
    assert struct.unpack_from("<QQQ", data) == (0xF7E58D4F05049CB7, 0, 2)
    assert data[24:33] == struct.pack("<Q", 1) + b"y"
    read = relay.load_param_dict(bytearray(data))
    assert list(read) == ["y", "n"]
    np.testing.assert_array_equal(read["y"], Y)
    assert (read["n"].shape, int(read["n"])) == ((), 7)
    for cut in range(len(data)):
        with pytest.raises(VerifyError):
            relay.load_param_dict(data[:cut])
    rng = np.random.default_rng(0)
    for _ in range(2000):
        damaged = bytearray(data)
        damaged[rng.integers(len(data))] ^= 1 << rng.integers(8)
        with contextlib.suppress(PasslabError):
            relay.load_param_dict(damaged)
    with pytest.raises(RunTypeError, match="not from a str"):
        relay.load_param_dict("abc")
    with pytest.raises(RunTypeError, match="by name"):
        relay.save_param_dict([Y])


def test_modules_load_and_share_parameters(module):
    module.load_params(relay.save_param_dict({"y": Y}))
    module.run(x=X)
    np.testing.assert_allclose(module.get_output(0), WANTED, rtol=1e-6)
    with pytest.raises(RunError, match="no input `z`"):
        module.load_params({"z": Y})


def test_graphs_share_parameters_without_copies():
    first, second = built().module(), built().module()
    with pytest.raises(RunError, match="has not set its input `y`"):
        second.share_params(first, relay.save_param_dict({"y": Y}))
    first.set_input("y", Y)
    second.share_params(first, relay.save_param_dict({"y": Y}))
    assert second.get_input("y") is first.get_input("y")
    second.run(x=X)
    np.testing.assert_allclose(second.get_output(0), WANTED, rtol=1e-6)


def test_inputs_are_described_but_for_parameters():
    module = relay.build(passlab.parse(NET), params={"y": Y}).module()
    assert module.get_input_info() == ({"x": (2, 3)}, {"x": "float32"})


def test_a_module_is_timed(module):
    assert len(module.benchmark(passlab.cpu(), repeat=3, number=2, x=X, y=Y).results) == 3
    assert len(module.benchmark(passlab.cpu(), repeat=2, number=1, end_to_end=True, x=X).results) == 2
    with pytest.raises(RunError, match="to be timed"):
        module.benchmark(passlab.cpu(), func_name="main")
    with pytest.raises(RunError, match="not set"):
        built().module().benchmark(passlab.cpu())


def test_nodes_are_run_and_timed_one_by_one():
    module = built().module(debug=True)
    module.set_input("x", X)
    with pytest.raises(RunError, match="not set: y"):
        module.execute_node("tvmgen_default_fused_exp")
    module.set_input("y", Y)
    (value,) = module.execute_node("tvmgen_default_fused_exp")
    np.testing.assert_allclose(value, np.exp(X), rtol=1e-6)
    times = module.run_individual(number=1, repeat=2)
    assert [len(t) for t in times] == [2] * 4
    assert len(module.run_individual_node(2, number=1, repeat=3).results) == 3
    np.testing.assert_allclose(module.get_output(0), WANTED, rtol=1e-6)


def test_there_is_no_output_before_a_run(module):
    module.set_input(x=X, y=Y)
    with pytest.raises(RunError, match="not been run"):
        module.get_output(0)


BAD_KEYS = [("z", RunError, "no input `z`"), (2, RunError, "none of number 2"), (-1, RunError, "none of number -1"),
            (1.5, RunTypeError, "not a float"), (True, RunTypeError, "not a bool")]  # fmt: skip
BAD_VALUES = [(None, "does not consist of numbers"), ("text", "does not consist of numbers"), (object(), "does not consist of numbers"),
              ([[1, 2], [3]], "does not fit"), (X * 1j, "does not consist of numbers"), (X.T, "shape differs"),
              (np.array(["a"]), "does not consist of numbers"), ((X, X), "does not fit")]  # fmt: skip


@pytest.mark.parametrize(("key", "error", "why"), BAD_KEYS)
def test_an_input_that_is_none_is_told(module, key, error, why):
    with pytest.raises(error, match=why):
        module.set_input(key, X)
    with pytest.raises(error, match=why):
        module.get_input(key)


@pytest.mark.parametrize(("value", "why"), BAD_VALUES)
def test_a_value_that_does_not_fit_is_told_by_every_executor(module, value, why):
    with pytest.raises(RunError, match=why):
        module.set_input("x", value)
    module.run(x=[[1, -2, 3], [4, 5, -6]], y=[1, 1, 1])
    np.testing.assert_allclose(module.get_output(0), WANTED, rtol=1e-6)
    for kind in KINDS:
        run = relay.create_executor(kind, passlab.parse(NET)).evaluate()
        with pytest.raises(RunError, match=why):
            run(value, Y)
        np.testing.assert_allclose(run([[1, -2, 3], [4, 5, -6]], Y)[0], WANTED, rtol=1e-6)


def test_only_a_graph_rounds_an_array_of_another_float(module):
    wide = X.astype("float64")
    for kind in KINDS:
        run = relay.create_executor(kind, passlab.parse(NET)).evaluate()
        if kind == "graph":
            np.testing.assert_allclose(run(wide, Y)[0], WANTED, rtol=1e-6)
            continue
        with pytest.raises(RunError, match="dtype differs"):
            run(wide, Y)


def test_an_output_goes_only_where_it_fits(module):
    module.run(x=X, y=Y)
    out = np.zeros((2, 3), "float32")
    assert module.get_output(0, out) is out
    np.testing.assert_allclose(out, WANTED, rtol=1e-6)
    fixed = np.zeros((2, 3), "float32")
    fixed.flags.writeable = False
    for bad, why in ((np.zeros((3, 3), "f"), "does not fit"), (np.zeros((2, 3), "int32"), "does not fit"),
                     ([1], "into an array"), (fixed, "read-only")):  # fmt: skip
        with pytest.raises(RunError, match=why):
            module.get_output(0, bad)
    for bad, error in ((2, RunError), (-1, RunError), ("x", RunTypeError)):
        with pytest.raises(error):
            module.get_output(bad)


@pytest.mark.parametrize("program", [None, 3, [1], "def @main() { 1 }"])
def test_what_is_no_program_is_told(program):
    for compiled in (relay.build, relay.vm.compile):
        with pytest.raises(RunTypeError, match="a program is a module or a function"):
            compiled(program)
    with pytest.raises(RunTypeError, match="by name"):
        relay.build(passlab.parse(NET), params=[Y])


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_expression_is_told(kind):
    executor = relay.create_executor(kind, passlab.parse(NET))
    v = relay.var("v", shape=())
    for bad in (3, "main", [v]):
        with pytest.raises(RunTypeError, match="`evaluate` takes an expression"):
            executor.evaluate(bad)
    for binds in (3, {"v": 1}):
        with pytest.raises(RunTypeError, match="from variables to values"):
            executor.evaluate(v, binds)
    with pytest.raises(RunError, match="free variables: %v"):
        executor.evaluate(relay.Function([], v))
    function = passlab.parse(NET)["main"]
    np.testing.assert_allclose(relay.create_executor(kind, function).evaluate()(X, Y)[0], WANTED, rtol=1e-6)


def test_no_kind_is_no_kind():
    with pytest.raises(RunError, match="unknown execution strategy: None"):
        relay.create_executor(None)


def test_the_names_of_the_back_end():
    assert relay.backend.vm.VMCompiler is passlab.vm.VMCompiler
    assert str(relay.backend.Runtime("cpp")) == "cpp"
    assert relay.graph_executor.create is passlab.executor.create_graph
    built(runtime=relay.backend.Runtime("crt", {"system-lib": True}))
