"""The entry of a compiled program is no name of the user's: every executor runs any function of any module.

Expected values are those of Python, or of the reference evaluator, which runs functions where they are.
"""

from __future__ import annotations

import numpy as np
import pytest

from passlab import lab, parse, relay, vm
from passlab.errors import PasslabError, VerifyError
from passlab.executor.create import EXECUTORS
from passlab.infer import infer_module
from passlab.oracle.drawn_inputs import draws
from passlab.rewriting.entry import with_entry
from passlab.testing.checks import run_as_python
from tests.each import each
from tests.lab.user.programs import PROGRAMS

COUNTS = """
def @main(%x: int32) -> int32 { %x + 100 }
def @g(%x: int32) -> int32 { if (less_equal(%x, 0)) { 0 } else { @main(%x - 1) } }
def @again(%x: int32) -> int32 { if (less_equal(%x, 0)) { @main(%x) } else { @again(%x - 1) } }
def @twice(%x: int32, %y: int32) -> int32 { @main(%x) + @main(%y) }
"""
RECURSIVE = "def @main(%n: int32) -> int32 { if (less(%n, 1)) { 1 } else { @main(%n - 1) * 2 } }"
WITHOUT_MAIN = "def @g(%x: int32) -> int32 { @h(%x) * 2 }  def @h(%x: int32) -> int32 { %x + 1 }"
ALL = [pytest.param(kind, marks=pytest.mark.nightly if kind == "onnxruntime" else ()) for kind in EXECUTORS]
UNSUPPORTED = {  # by the machine and the code ahead of time; graphs have neither control flow nor data types
    *(("vm", program) for program in ("reference", "reference in a closure", "if and effects")),
}
WITH_BRANCHES = [kind for kind in EXECUTORS if kind not in ("graph", "onnxruntime")]


def call(kind, text, name, *args):
    mod = parse(text)
    return int(relay.create_executor(kind, mod).evaluate(mod.get_global_var(name))(*map(np.int32, args)))


@pytest.mark.parametrize("kind", ALL)
def test_a_function_that_calls_main_runs_beside_it(kind):
    assert call(kind, COUNTS, "twice", 3, 4) == 207
    assert call(kind, COUNTS, "main", 3) == 103
    assert call(kind, WITHOUT_MAIN, "g", 3) == 8


@pytest.mark.parametrize("kind", WITH_BRANCHES)
def test_also_with_branches_and_recursion(kind):
    assert call(kind, COUNTS, "g", 5) == 104
    assert call(kind, COUNTS, "again", 5) == 100
    assert call(kind, RECURSIVE, "main", 5) == 32


@pytest.mark.parametrize("kind", ALL)
def test_an_expression_may_call_main(kind):
    mod = parse(COUNTS)
    executor = relay.create_executor(kind, mod)
    main, x = mod.get_global_var("main"), relay.var("x", shape=(), dtype="int32")
    assert executor.evaluate(relay.Call(main, [relay.const(2)])) == 102
    assert executor.evaluate(relay.Function([x], relay.Call(main, [relay.Call(main, [x])])))(np.int32(1)) == 201


@pytest.mark.parametrize("kind", WITH_BRANCHES)
def test_an_expression_may_call_a_main_that_calls_itself(kind):
    mod = parse(RECURSIVE)
    call = relay.Call(mod.get_global_var("main"), [relay.const(3)])
    assert relay.create_executor(kind, mod).evaluate(relay.add(call, call)) == 16


def test_python_code_of_an_expression_keeps_main():
    mod = parse(COUNTS)
    assert run_as_python(relay.Call(mod.get_global_var("main"), [relay.const(2)]), mod) == 102


def test_what_is_compiled_starts_from_any_function():
    mod = infer_module(parse(COUNTS))
    assert int(vm.VirtualMachine(relay.vm.compile(mod, entry="g")).invoke("g", np.int32(5))) == 104
    module = relay.build(mod, entry="twice").module()
    module.run(x=np.int32(1), y=np.int32(2))
    assert int(module.get_output(0)) == 203
    for executor in ("vm", "graph"):
        debugger = lab.Debugger(mod, np.int32(1), np.int32(2), entry="twice", executor=executor)
        assert int(debugger.trace.result) == 203
    for compiler in (relay.vm.compile, relay.build):
        with pytest.raises(VerifyError, match="the module has no function @twicf"):
            compiler(mod, entry="twicf")


def test_main_keeps_its_callers_and_what_nobody_calls_is_left_out():
    mod = parse(COUNTS)
    assert with_entry(mod, "main") is mod
    assert sorted(name for name, _ in with_entry(mod, "twice").items()) == ["again", "g", "main", "main_1", "twice"]
    assert sorted(name for name, _ in with_entry(parse(RECURSIVE), parse(WITHOUT_MAIN)["h"]).items()) == ["main"]


@pytest.mark.rotating
@each("program", PROGRAMS)
def test_every_function_of_every_construct_gives_the_value_of_the_reference(program, subtests):
    mod = infer_module(PROGRAMS[program]())
    reference = relay.create_executor("debug", mod)
    executors = {kind: relay.create_executor(kind, mod) for kind in ("vm", "aot", "graph")}
    for var in mod.get_global_vars():
        try:
            draw = next(iter(draws(with_entry(mod, mod[var]))))
            expected = numbers(reference.evaluate(var)(*draw.arguments))
        except PasslabError:
            continue  # generic functions have no arguments to draw, and some have no value for an empty list
        for kind, executor in executors.items():
            with subtests.test(function=var.name_hint, executor=kind):
                try:
                    value = executor.evaluate(var)(*draw.arguments)
                except VerifyError:
                    assert (kind, program) in UNSUPPORTED | {("graph", program)}
                    continue
                for mine, theirs in zip(numbers(value), expected, strict=True):
                    np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def numbers(value):
    if isinstance(value, tuple):
        return [leaf for field in value for leaf in numbers(field)]
    return [value] if isinstance(value, np.ndarray) else []
