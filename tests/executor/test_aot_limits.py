"""Compiled modules that passlab runs keep to its limits; on their own they have none and need only NumPy."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import passlab
from passlab import limits, relay
from passlab.errors import InterruptedRunError, LimitError, RunError
from passlab.executor import python_source
from passlab.vm import VirtualMachine
from passlab.vm import compile as compile_vm
from tests.vm.programs import PROGRAMS, same

TYPES = "type List { Nil, Cons(int32, List) }"
FOREVER = {
    "a loop": "def @main(%n: int32) -> int32 { if (%n == -1) { %n } else { @main(%n) } }",
    "two functions": """def @ping(%n: int32) -> int32 { if (%n == -1) { %n } else { @pong(%n) } }
                        def @pong(%n: int32) -> int32 { if (%n == -1) { %n } else { @ping(%n) } }
                        def @main(%n: int32) { @ping(%n) }""",
    "a closure": """def @main(%n: int32) {
                      let %loop = fn (%i: int32) -> int32 { if (%i == -1) { %i } else { %loop(%i) } }; %loop(%n)
                    }""",
    "a match": TYPES + """def @go(%l: List[]) -> int32 { match (%l) { Nil => 1, Cons(_, _) => @go(%l) } }
                          def @main(%n: int32) { @go(Cons(%n, Nil)) }""",
}  # fmt: skip
DEEP = "def @main(%n: int32) -> int32 { if (%n == 0) { 0 } else { 1 + @main(%n - 1) } }"


def aot(text: str):
    return relay.create_executor("aot", passlab.parse(text)).evaluate()


@pytest.mark.parametrize("name", FOREVER)
def test_a_run_without_end_is_stopped(name):
    run = aot(FOREVER[name])
    with limits.override(instructions=20_000), pytest.raises(LimitError, match="limit `instructions`") as caught:
        run(np.int32(1))
    assert "override(instructions=" in str(caught.value)
    assert "20,000" in str(caught.value)


def test_what_loops_is_told():
    with limits.override(instructions=100), pytest.raises(LimitError, match="in main"):
        aot(FOREVER["a loop"])(np.int32(1))


def test_calls_nest_as_deep_as_the_limit_and_no_deeper():
    run = aot(DEEP)
    with limits.override(frames=500):
        assert int(run(np.int32(400))) == 400
        with pytest.raises(LimitError, match="limit `frames`"):
            run(np.int32(2000))
    assert int(run(np.int32(20_000))) == 20_000


@pytest.mark.parametrize("name", PROGRAMS)
def test_who_stays_within_the_limits_on_the_machine_does_so_ahead_of_time(name, rng):
    text, make = PROGRAMS[name]
    args = make(rng)
    vm = VirtualMachine(compile_vm(passlab.parse(text)))
    expected = vm.run(*args)
    with limits.override(instructions=vm.machine.executed):
        assert same(aot(text)(*args), expected)


def test_limits_end_with_their_block_and_values_stay_the_same():
    text = (
        TYPES
        + """
        def @range(%n: int32, %l: List[]) -> List[] { if (%n == 0) { %l } else { @range(%n - 1, Cons(%n, %l)) } }
        def @sum(%l: List[], %a: int32) -> int32 { match (%l) { Nil => %a, Cons(%x, %t) => @sum(%t, %a + %x) } }
        def @main(%n: int32) { let %l = @range(%n, Nil); (%l, fn (%k: List[]) -> int32 { @sum(%k, 0) }) }
    """
    )
    run = aot(text)
    with limits.override(instructions=10_000):
        values, total = run(np.int32(100))
        assert int(total(values)) == 5050
    again, total = run(np.int32(5000))
    assert int(total(again)) == int(total(values)) + 5000 * 5001 // 2 - 5050
    with limits.override(instructions=1000), pytest.raises(LimitError):
        run(np.int32(5000))
    assert int(run(np.int32(10))[0][0]) == 1


def test_kernels_ask_for_the_size_of_what_they_make():
    run = aot('def @main(%s: Tensor[(1), int64]) { dyn.zeros(%s, shape=None, dtype="float32") }')
    with limits.override(elements=1000):
        with pytest.raises(LimitError, match="limit `elements`"):
            run(np.array([1001]))
        assert run(np.array([1000])).shape == (1000,)


def test_functions_of_a_program_may_have_the_names_of_the_driver():
    text = """
        type Kind { TailCall(float32), Ref, ProgramError }
        def @run(%x: float32) -> float32 { %x }
        def @limits(%x: float32) -> float32 { @run(%x) + 1f }
        def @main(%x: float32) { (fn (%y: float32) -> float32 { @limits(%y) * %x }, TailCall(%x), Ref) }
    """
    function, call, ref = aot(text)(np.float32(3))
    assert float(function(np.float32(2))) == 9
    assert [call.constructor.name_hint, ref.constructor.name_hint] == ["TailCall", "Ref"]


def test_a_module_on_its_own_has_no_limits_and_no_trace_of_them(tmp_path):
    source = python_source(passlab.parse(FOREVER["a loop"]))
    assert "passlab_" not in source.text
    path = source.save(tmp_path / "loop.py")
    spec = importlib.util.spec_from_file_location("loop", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with limits.override(instructions=1, frames=1):
        assert int(module.main(np.int32(-1))) == -1
    looping = source.text.replace("while True:", "while go():", 1)  # that of the program; the driver's comes later
    assert source.with_loops("go()").text == looping != source.text


def test_an_interrupt_is_told_by_compiled_modules_and_graphs(monkeypatch):
    mod = passlab.parse("def @main(%x: Tensor[(3), float32]) { sort(%x) }")

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    compiled = relay.build(mod, executor="aot").module()
    graph = relay.build(mod).module()
    for module in (compiled, graph):
        module.run(x=np.zeros(3, "float32"))
    monkeypatch.setattr(np, "sort", interrupt)
    monkeypatch.setattr(graph, "_steps", [interrupt] * len(graph._steps))
    for module in (compiled, graph):
        with pytest.raises(InterruptedRunError, match="interrupted"):
            module.run()
    monkeypatch.undo()
    for module in (compiled, graph):
        module.run(x=np.float32([3, 1, 2]))
        np.testing.assert_array_equal(module.get_output(0), [1, 2, 3])


def test_a_fault_of_the_program_still_tells_its_lines():
    run = aot("type T { A, B } def @main(%x: float32) { match? (if (%x > 0f) { A } else { B }) { B => %x } }")
    for most in (10**12, 1000):
        with limits.override(instructions=most), pytest.raises(RunError, match="no arm of the match fits") as caught:
            run(np.float32(1))
        assert "in main" in str(caught.value)
