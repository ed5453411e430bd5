"""Runs of pipelines in which something goes wrong on purpose, and what has to be usable afterwards.

A `Fault` says where: the k-th call of a hook for a pass, the k-th run of its body, or the n-th line of passlab's own
source that is executed, where an interrupt arrives as from the keyboard. `suffer` makes it happen and checks.
"""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any

import passlab
from passlab.infer import infer_module
from passlab.instrument import (
    MemoryInstrument,
    PassInstrument,
    PassLimit,
    PassTimingInstrument,
    PrintIRAfter,
    ProgressInstrument,
    Recorder,
    StatisticsInstrument,
    TraceInstrument,
    VerifyInstrument,
)
from passlab.ir import IRModule, walk
from passlab.passes import PASSES
from passlab.text.parser import parse
from passlab.transform import Pass, PassContext, Sequential, current_run, get_pass, registry
from tests.passes.docstring_programs import cases_of

HOOKS = ("enter_pass_ctx", "exit_pass_ctx", "should_run", "run_before_pass", "run_after_pass", "pass_failed")
BODIES = ("body starts", "body ends")
ERRORS: tuple[type[BaseException], ...] = (ZeroDivisionError, KeyboardInterrupt, MemoryError)
HOUSE = str(Path(passlab.__file__).parent)
# Between entering or leaving a `with` and the first or last line of these two methods no library can stand guard; in
# compiled code CPython looks for signals there only at the call itself.
UNGUARDED = frozenset({PassContext.__enter__.__code__, PassContext.__exit__.__code__})


@dataclass(frozen=True)
class Fault:
    """What goes wrong while `target` runs. `where` is a hook, a part of a body, or "line"; `name` the pass it is for."""

    target: str
    where: str
    name: str
    call: int
    error: type[BaseException]

    def __str__(self) -> str:
        return f"{self.target}: {self.error.__name__} at call {self.call} of {self.where} {self.name}".rstrip()


# What the hook `pass_failed` needs to be called at all: the last pass of the pipeline fails.
AT_THE_END = Fault("", BODIES[1], "EliminateCommonSubexpr", 1, ValueError)


class Setting:
    """One standard pass in a pipeline, a program it changes, and what should come out."""

    def __init__(self, name: str) -> None:
        self.name = name
        case = min((c for c in cases_of(name) if not c.options), key=_smallest, default=None)
        case = case or min(cases_of(name), key=_smallest)
        source = case.before if case.before.lstrip().startswith("#[version") else f'#[version = "0.0.5"]\n{case.before}'
        self.mod = infer_module(parse(source))
        self.pipeline = Sequential([get_pass(name, **case.options), get_pass("EliminateCommonSubexpr")])
        self.text = self.mod.astext()
        self.contents = self.mod.snapshot()
        with PassContext(opt_level=4):
            self.result = self.pipeline(self.mod).astext()


def _smallest(case: Any) -> tuple[bool, int]:
    return (case.after is None, len(case.before))


@cache
def setting(name: str) -> Setting:
    return Setting(name)


class Faulty(PassInstrument):
    """Counts the calls of every hook, and raises at one of them."""

    def __init__(self, fault: Fault | None = None) -> None:
        super().__init__()
        self.fault = fault
        self.calls: Counter[tuple[str, str]] = Counter()

    def note(self, hook: str, name: str = "") -> None:
        self.calls[hook, name] += 1
        fault = self.fault
        if fault is not None and (hook, name, self.calls[hook, name]) == (fault.where, fault.name, fault.call):
            raise fault.error("injected")

    def enter_pass_ctx(self):
        self.note("enter_pass_ctx")

    def exit_pass_ctx(self):
        self.note("exit_pass_ctx")

    def should_run(self, mod, info):
        self.note("should_run", info.name)
        return True

    def run_before_pass(self, mod, info):
        self.note("run_before_pass", info.name)

    def run_after_pass(self, mod, info):
        self.note("run_after_pass", info.name)

    def pass_failed(self, mod, info, error):
        self.note("pass_failed", info.name)


@contextlib.contextmanager
def failing_bodies(fault: Fault | None, calls: Counter[tuple[str, str]]) -> Iterator[None]:
    """Within the block, count the starts and ends of the work of passes, and raise at one of them."""
    plain = Pass._body

    def note(where: str, name: str) -> None:
        calls[where, name] += 1
        if fault is not None and (where, name, calls[where, name]) == (fault.where, fault.name, fault.call):
            raise fault.error("injected")

    def body(self: Pass, run: Any) -> IRModule:
        note(BODIES[0], self.info.name)
        result = plain(self, run)
        note(BODIES[1], self.info.name)
        return result

    Pass._body = body  # type: ignore[method-assign]
    try:
        yield
    finally:
        Pass._body = plain  # type: ignore[method-assign]


class Lines:
    """Counts the lines of the house that are executed; at one of them it raises, as an interrupt does."""

    def __init__(self, at: int = 0, error: type[BaseException] = KeyboardInterrupt) -> None:
        self.at, self.error, self.count = at, error, 0
        self.place = ""

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        return self.line if frame.f_code.co_filename.startswith(HOUSE) and frame.f_code not in UNGUARDED else None

    def line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.count += 1
            if self.count == self.at:
                self.place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                raise self.error("injected")
        return self.line


def instruments(faulty: Faulty, turn: int) -> list[Any]:
    """One of each built-in instrument, with the faulty one somewhere between. Memory is metered in one run of ten."""
    nowhere = io.StringIO()
    results: list[Any] = [
        Recorder(), PassTimingInstrument(), StatisticsInstrument(), VerifyInstrument(deterministic=False), PassLimit(),
        TraceInstrument(), ProgressInstrument(nowhere, after=0), PrintIRAfter(["FuseOps"], file=nowhere, diff=True),
    ]  # fmt: skip
    if turn % 10 == 0:
        results.append(MemoryInstrument())
    results.insert(turn % (len(results) + 1), faulty)
    return results


def run(where: Setting, context: PassContext) -> IRModule:
    with context:
        return where.pipeline(where.mod)


# ---------------------------------------------------------------- which faults there are
@cache
def counted(name: str) -> Counter[tuple[str, str]]:
    """How often each hook and body is called for each pass while the pipeline of a pass runs, and runs into an error."""
    where, good, bad = setting(name), Faulty(), Faulty()
    with failing_bodies(None, good.calls):
        run(where, PassContext(opt_level=4, instruments=instruments(good, 1)))
    with failing_bodies(AT_THE_END, Counter()), contextlib.suppress(ValueError):
        run(where, PassContext(opt_level=4, instruments=instruments(bad, 1)))
    failed = Counter({key: calls for key, calls in bad.calls.items() if key[0] == "pass_failed"})
    return good.calls + failed


@cache
def lines_of(name: str) -> int:
    """How many lines of the house the pipeline of a pass executes."""
    where, lines = setting(name), Lines()
    context = PassContext(opt_level=4, instruments=instruments(Faulty(), 1))
    traced(lines, partial(run, where, context))
    return lines.count


def call_faults() -> list[Fault]:
    """Each hook and body of each pass in the pipeline of each standard pass, each call of it, each error."""
    results: list[Fault] = []
    for target in sorted(PASSES):
        for (where, name), calls in sorted(counted(target).items()):
            for call in range(1, calls + 1):
                results += [Fault(target, where, name, call, error) for error in ERRORS]
    return results


def line_faults(each: int) -> list[Fault]:
    """Interrupts at `each` places spread over the lines that the pipeline of each standard pass executes."""
    results: list[Fault] = []
    for target in sorted(PASSES):
        last = lines_of(target)
        results += [Fault(target, "line", "", 1 + (last - 1) * i // each, KeyboardInterrupt) for i in range(each)]
    return results


# ---------------------------------------------------------------- making one happen
def traced(lines: Lines, work: Callable[[], Any]) -> Any:
    """Do some work while lines are counted."""
    before = sys.gettrace()
    sys.settrace(lines)
    try:
        return work()
    finally:
        sys.settrace(before)


def suffer(fault: Fault, turn: int) -> bool:
    """Let a fault happen and check what is left. False when it came to nothing: an interrupt after the last line."""
    where = setting(fault.target)
    faulty = Faulty(fault)
    used = instruments(faulty, turn)
    context = PassContext(opt_level=4, instruments=used)
    lines = Lines(fault.call if fault.where == "line" else 0, fault.error)
    raised: BaseException | None = None
    try:
        if fault.where == "line":
            traced(lines, partial(run, where, context))
        else:
            with failing_bodies(AT_THE_END if fault.where == "pass_failed" else fault, faulty.calls):
                run(where, context)
    except BaseException as error:  # noqa: BLE001 - the injected ones are of this kind
        raised = error
    faulty.fault = None
    came = raised is not None and (
        fault.where in ("line", *BODIES) or faulty.calls[fault.where, fault.name] >= fault.call
    )
    if raised is not None:
        chain = f"{raised!r} / {raised.__cause__!r} / {raised.__context__!r}"
        hidden = fault.where == "pass_failed" and issubclass(fault.error, Exception)  # behind the first error
        assert isinstance(raised, ValueError if hidden else fault.error), (
            f"{fault}: another error came out: {chain} at {lines.place}"
        )
    check_what_is_left(where, context, used, f"{fault} {lines.place}", whole=turn % 25 == 0)
    return came


def check_what_is_left(where: Setting, context: PassContext, used: list[Any], fault: str, whole: bool) -> None:
    """Contexts, registry, module and recording are as if nothing had happened, and everything can be used again."""
    recorder = next(i for i in used if isinstance(i, Recorder))
    assert PassContext.current() is not context, fault
    assert PassContext.current().instruments == [], fault
    assert (current_run(), walk._observer.get(), walk._permit.get()) == (None, None, None), fault
    assert context.instruments in ([], used), fault
    assert registry.pass_names() == sorted(PASSES), fault
    assert where.mod.same_contents(where.contents), fault
    assert where.mod.astext() == where.text, fault
    recording = recorder.recording
    assert all(event.status in ("input", "ran", "failed", "skipped") for event in recording.events), fault
    assert recording.text(), fault
    if recording.runs:
        assert recording.input.same_contents(where.contents), fault
    context.instruments = used
    assert run(where, context).astext() == where.result, fault
    after = recorder.recording
    assert after.runs[-1].status == "ran", fault
    assert after.last.astext() == where.result, fault
    for instrument in used:
        if hasattr(instrument, "text"):
            assert isinstance(instrument.text(), str), fault
            if whole:
                instrument.frame()
    timing = next(i for i in used if isinstance(i, PassTimingInstrument))
    assert timing.render().startswith("sequential: "), fault
    assert timing.text().splitlines()[0] == "sequential", fault
    assert recorder._handler not in logging.getLogger("passlab").handlers, fault
    assert not tracemalloc.is_tracing(), fault
