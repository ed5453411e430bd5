"""Every way into the executors, given what it cannot take: an error of passlab's that says so, and the next call works."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.errors import PasslabError
from passlab.executor import create_executor, create_graph, load_module, python_source
from passlab.vm import Executable, KernelLibrary, Machine, Report, VirtualMachine, VirtualMachineProfiler, VMCompiler
from passlab.vm import compile as compile_vm

NET = "def @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32]) { (%x + %w, %x) }"
MOD = passlab.parse(NET)
X = np.ones(2, "float32")
BAD = [
    None, -1, 7, 2.5, math.nan, math.inf, 10**30, True, "", "zzz", "\0", b"", b"b", (), [1], {1: 2}, {"x": None}, {"zzz": 1},
    object(), len, np.float32, np.zeros(3), ..., relay.var("q"), MOD, MOD["main"], Path("/no/such/file"), Exception("e"),
]  # fmt: skip


class House:
    """One of everything, ready to run."""

    def __init__(self) -> None:
        self.exe = compile_vm(MOD)
        self.machine = VirtualMachine(self.exe)
        self.machine.set_input("main", X, X)
        self.graph, self.aot = relay.build(MOD), relay.build(MOD, executor="aot")
        self.debug = self.graph.module(debug=True)
        self.modules = [self.graph.module(), self.debug, self.aot.module()]
        for module in self.modules:
            module.run(x=X, w=X)
        self.code, self.lib = self.exe.save()


WAYS = {
    "build": lambda h, b: relay.build(b),
    "build target": lambda h, b: relay.build(MOD, b),
    "build executor": lambda h, b: relay.build(MOD, executor=b),
    "build params": lambda h, b: relay.build(MOD, params=b),
    "build a param": lambda h, b: relay.build(MOD, params={"w": b}),
    "build name": lambda h, b: relay.build(MOD, mod_name=b),
    "compile": lambda h, b: compile_vm(b),
    "compile target": lambda h, b: compile_vm(MOD, b),
    "compile params": lambda h, b: compile_vm(MOD, params=b),
    "compiler params": lambda h, b: VMCompiler().set_params(b),
    "compiler optimize": lambda h, b: VMCompiler().optimize(b),
    "python": lambda h, b: python_source(b),
    "python params": lambda h, b: python_source(MOD, b),
    "machine": lambda h, b: (VirtualMachine(b), Machine(b)),
    "memory": lambda h, b: VirtualMachine(h.exe, None, b),
    "memory of a device": lambda h, b: VirtualMachine(h.exe, None, {passlab.cpu(): b}),
    "providers": lambda h, b: VirtualMachine(h.exe, providers=b),
    "provider of a device": lambda h, b: VirtualMachine(h.exe, providers={"cpu": b}),
    "run": lambda h, b: h.machine.run(b, X),
    "invoke": lambda h, b: h.machine.invoke(b),
    "invoke with inputs": lambda h, b: h.machine.invoke(b, X, X),
    "set one input": lambda h, b: h.machine.set_one_input("main", b, X),
    "set one input of": lambda h, b: h.machine.set_one_input(b, "x", X),
    "set one value": lambda h, b: h.machine.set_one_input("main", "x", b),
    "outputs": lambda h, b: h.machine.invoke_with_outputs("main", None, b),
    "one output": lambda h, b: h.machine.invoke_with_outputs("main", None, [X.copy(), b]),
    "inputs": lambda h, b: h.machine.invoke_with_outputs("main", b, [X.copy(), X.copy()]),
    "input index": lambda h, b: h.machine.get_input_index(b),
    "input index of": lambda h, b: h.machine.get_input_index("x", b),
    "time a function": lambda h, b: h.machine.benchmark(func_name=b, repeat=1, number=1),
    "late constants": lambda h, b: compile_vm(MOD).get_late_bound_consts(b),
    "late file": lambda h, b: compile_vm(MOD).move_late_bound_consts("/no/such/folder/file", b),
    "late map": lambda h, b: h.exe.load_late_bound_consts_from_map(b),
    "late load": lambda h, b: h.exe.load_late_bound_consts(b),
    "load code": lambda h, b: Executable.load_exec(b),
    "load lib": lambda h, b: Executable.load_exec(h.code, b),
    "library": lambda h, b: KernelLibrary(b),
    "library file": lambda h, b: KernelLibrary.load(b),
    "load module": lambda h, b: load_module(b),
    "arity": lambda h, b: h.exe.get_function_arity(b),
    "profile": lambda h, b: VirtualMachineProfiler(h.exe).profile(X, X, func_name=b),
    "report": lambda h, b: Report.from_json(b),
    "kind": lambda h, b: create_executor(b),
    "executor of": lambda h, b: create_executor("vm", b),
    "executor params": lambda h, b: create_executor("vm", MOD, params=b),
    "executor target": lambda h, b: create_executor("vm", MOD, target=b).evaluate()(X, X),
    "evaluate": lambda h, b: create_executor("vm", MOD).evaluate(b),
    "binds": lambda h, b: create_executor("vm", MOD).evaluate(relay.const(1), b),
    "graph json": lambda h, b: create_graph(b, h.lib),
    "graph lib": lambda h, b: create_graph(h.graph.graph_json, b),
    "factory": lambda h, b: (h.graph[b], h.aot[b]),
    "debug create": lambda h, b: h.graph.debug_create(b),
    "save python": lambda h, b: h.aot.save(b),
    "save params": lambda h, b: relay.save_param_dict(b),
    "load params": lambda h, b: relay.load_param_dict(b),
    "share params of": lambda h, b: h.debug.share_params(b, {"x": X}),
    "share params": lambda h, b: h.debug.share_params(h.modules[0], b),
    "node": lambda h, b: (h.debug.debug_get_output(b), h.debug.execute_node(b)),
    "node result": lambda h, b: h.debug.debug_get_output(0, None, b),
    "a module of": lambda h, b: relay.graph_executor.GraphModule(b),
}
OF_MODULES = {
    "input": lambda m, b: m.set_input(b, X),
    "value": lambda m, b: m.set_input("x", b),
    "get input": lambda m, b: m.get_input(b),
    "input index": lambda m, b: m.get_input_index(b),
    "output": lambda m, b: m.get_output(b),
    "output array": lambda m, b: m.get_output(0, b),
    "load params": lambda m, b: m.load_params(b),
    "function": lambda m, b: m[b],
    "time": lambda m, b: m.benchmark(func_name=b, repeat=1, number=1),
}


@pytest.fixture(scope="module")
def house() -> House:
    return House()


@pytest.mark.parametrize("way", WAYS)
def test_a_way_in_ends_in_an_error_that_says_why(way, house, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for bad in BAD:
        with contextlib.suppress(PasslabError):
            WAYS[way](house, bad)
    np.testing.assert_array_equal(house.machine.run(X, X)[0], X + X)


@pytest.mark.parametrize("way", OF_MODULES)
def test_a_module_tells_of_misuse_and_runs_on(way, house):
    for module in house.modules:
        for bad in BAD:
            with contextlib.suppress(PasslabError):
                OF_MODULES[way](module, bad)
        module.run(x=X, w=X)
        np.testing.assert_array_equal(module.get_output(0), X + X)


@pytest.mark.parametrize(
    "name",
    ["repeat", "number", "min_repeat_ms", "cooldown_interval_ms", "repeats_to_cooldown"],
)
def test_numbers_of_a_timing_are_numbers(name, house):
    for bad in (-1, 2.5 if "ms" not in name else -2.5, math.nan, math.inf, "3", [], True, np.zeros(2)):
        for module in (house.machine, *house.modules):
            with pytest.raises(PasslabError):
                module.benchmark(**{"repeat": 1, "number": 1, name: bad})
    assert house.machine.benchmark(repeat=np.int64(2), number=1, min_repeat_ms=np.float32(0.01)).results
