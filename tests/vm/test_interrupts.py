"""An interrupt at any line of the compiler, the recorder or the debugger: afterwards everything is as it was, or as it should be.

The interrupts come at chosen lines of passlab's own source, not at chosen times.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import passlab
from passlab import relay, transform, vm
from passlab.debugger.instant import same_values
from passlab.debugger.trace import Trace
from passlab.errors import Interruption
from passlab.transform import PassContext
from passlab.vm import Debugger

HOUSE = str(Path(passlab.__file__).parent)
NET = """
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32], %n: int32) {
  let %h = nn.relu(nn.dense(%x, %w));
  (nn.softmax(tanh(%h) + %h), @loop(%n))
}
def @loop(%n: int32) -> int32 { if (%n > 0) { @loop(%n - 1) + 1 } else { 0 } }
"""
ARGS = (np.full((2, 3), 0.5, "float32"), np.ones((4, 3), "float32"), np.int32(5))
LITTLE = 64  # bytes of values that a trace keeps: the debugger computes almost all again


class Lines:
    """Counts the lines of passlab that run, and interrupts at one of them; `only` is a name of a function, or ""."""

    def __init__(self, at: int = 0, only: str = "") -> None:
        self.at, self.only = at, only
        self.count = 0

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        return self._line if code.co_filename.startswith(HOUSE) and self.only in ("", code.co_name) else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.count += 1
            if self.count == self.at:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._line


def traced(action: Callable[[], Any], lines: Lines) -> bool:
    """Run an action under `lines`; return whether it was interrupted."""
    before = sys.gettrace()
    sys.settrace(lines)
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def every(action: Callable[[], Any], samples: int, only: str = "") -> range:
    """Return the numbers of some lines of an action, about `samples` of them."""
    lines = Lines(only=only)
    traced(action, lines)
    assert lines.count
    return range(1, lines.count + 1, max(1, lines.count // samples))


@pytest.fixture(scope="module")
def mod() -> passlab.IRModule:
    return passlab.parse(NET)


# ---------------------------------------------------------------- compiling
@pytest.mark.parametrize("compiler", [vm.compile, relay.build, lambda mod: relay.build(mod, executor="aot")])
def test_an_interrupted_compilation_says_so(mod, compiler):
    @transform.module_pass(opt_level=0, name="Stop")
    def stop(mod, ctx):
        raise KeyboardInterrupt

    class Stops(passlab.instrument.PassInstrument):
        def run_before_pass(self, mod, info):
            if info.name == "FuseOps":
                raise KeyboardInterrupt

    flat = passlab.parse("def @main(%x: Tensor[(2, 3), float32]) { exp(tanh(%x)) }")
    with PassContext(opt_level=3, instruments=[Stops()]), pytest.raises(Interruption) as caught:
        compiler(flat)
    assert "error: the compilation was interrupted" in str(caught.value)
    assert "compile it again" in str(caught.value)
    compiler(flat)


def test_a_program_is_compiled_as_ever_after_an_interrupt_at_any_line(mod):
    text, expected, context = mod.astext(), vm.compile(mod).save()[0], PassContext.current()
    stopped = 0
    for at in every(lambda: vm.compile(mod), 40):
        stopped += traced(lambda: vm.compile(mod), Lines(at))
        assert PassContext.current() is context or PassContext.current().instruments == context.instruments
        assert vm.compile(mod).save()[0] == expected
        assert mod.astext() == text
    assert stopped > 30


# ---------------------------------------------------------------- recording and stepping
def states(dbg: Debugger) -> list[dict[int, Any]]:
    """Return the registers at all instants."""
    return [dict(dbg.trace[instant].registers) for instant in range(len(dbg.trace))]


def assert_same_run(dbg: Debugger, expected: list[dict[int, Any]], result: Any) -> None:
    assert 0 <= dbg.at <= len(dbg.trace)
    assert len(dbg.trace) == len(expected)
    assert same_values(dbg.trace.result, result)
    for actual, registers in zip(states(dbg), expected, strict=True):
        assert actual.keys() == registers.keys()
        assert all(same_values(actual[r], registers[r]) for r in registers)


@pytest.fixture(scope="module")
def exe(mod) -> vm.Executable:
    return vm.compile(mod)


@pytest.fixture(scope="module")
def whole(exe) -> tuple[list[dict[int, Any]], Any]:
    dbg = Debugger(exe, *ARGS)
    return states(dbg), dbg.trace.result


def to_softmax(dbg: Debugger) -> Any:
    if not dbg.breakpoints:
        dbg.breakpoint("nn.softmax")
    dbg.goto(0)
    return dbg.continue_(), dict(dbg.registers)


def back_to_a_change(dbg: Debugger) -> Any:
    dbg.goto(len(dbg.trace) // 2)
    dbg.watch(next(iter(dbg.registers)))
    return dbg.continue_back()


ACTIONS = {
    "continue": (to_softmax, ""),
    "continue back": (back_to_a_change, ""),
    "storages": (lambda dbg: dbg.storage, ""),
    "fork": (lambda dbg: dbg.fork({}, 5), ""),
    "write out": (to_softmax, "write_out"),
    "write frames": (to_softmax, "_write_frames"),
}


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("name", "memory"),
    [(name, memory) for name in ACTIONS for memory in (None, LITTLE) if (name, memory) != ("write frames", None)],
)
def test_a_debugger_goes_on_after_an_interrupt_at_any_line(exe, whole, name, memory):
    action, only = ACTIONS[name]

    def fresh() -> Debugger:
        return Debugger(Trace.record(exe, ARGS, memory=memory))

    unused = fresh()
    stopped = 0
    for at in every(lambda: action(unused), 100 if only else 12, only):
        dbg = fresh()
        stopped += traced(lambda dbg=dbg: action(dbg), Lines(at, only))
        assert_same_run(dbg, *whole)
        action(dbg)
    assert stopped > 8


def test_a_program_is_recorded_as_ever_after_an_interrupt_at_any_line(exe, whole):
    stopped = 0
    for at in every(lambda: Debugger(exe, *ARGS), 30):
        stopped += traced(lambda: Debugger(exe, *ARGS), Lines(at))
        assert_same_run(Debugger(exe, *ARGS), *whole)
    assert stopped > 20
