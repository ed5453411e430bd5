"""Whatever goes wrong, wherever, contexts, registry, module and recording stay usable."""

from __future__ import annotations

import logging
import signal
import threading
from itertools import product
from time import perf_counter

import pytest

from passlab.instrument import PassTimingInstrument, Recorder
from passlab.passes import PASSES
from passlab.transform import PassContext
from tests.faults.injection import (
    BODIES,
    ERRORS,
    HOOKS,
    Fault,
    Faulty,
    call_faults,
    check_what_is_left,
    instruments,
    line_faults,
    run,
    setting,
    suffer,
)  # fmt: skip

WHOLE = 10_000
# What arrives inside a finalizer is reported by Python and goes no further.
FINALIZERS = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def happened(faults: list[Fault]) -> int:
    """Let faults happen one after the other; return how many did."""
    return sum(suffer(fault, turn) for turn, fault in enumerate(faults))


@pytest.mark.rotating
def test_a_sample_of_failures_in_hooks_and_bodies():
    faults = call_faults()[::53]
    assert happened(faults) == len(faults)


@pytest.mark.rotating
@FINALIZERS
def test_a_sample_of_interrupts_at_any_line():
    faults = line_faults(4)[::2]
    assert happened(faults) > len(faults) * 0.9


@FINALIZERS
@pytest.mark.nightly
def test_ten_thousand_failures_and_interrupts():
    calls = call_faults()
    assert happened(calls) == len(calls)
    each = (WHOLE - len(calls)) // len({fault.target for fault in calls}) + 25
    lines = line_faults(each)
    assert len(calls) + happened(lines) >= WHOLE


@FINALIZERS
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no interval timers")
@pytest.mark.parametrize("name", ["FuseOps", "FoldConstant", "PartialEvaluate"])
def test_real_signals_at_any_moment(name, rng):
    armed = False

    def interrupt(number, frame):
        if armed and not in_logging(frame):  # a signal that comes after the run belongs to nobody
            raise KeyboardInterrupt("injected")

    assert threading.current_thread() is threading.main_thread()
    where, before = setting(name), signal.signal(signal.SIGALRM, interrupt)
    stopped, times = 0, []
    for _ in range(3):
        began = perf_counter()
        run(where, PassContext(opt_level=4))
        times.append(perf_counter() - began)
    try:
        for turn in range(20):
            used = instruments(Faulty(), turn)
            context = PassContext(opt_level=4, instruments=used)
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, float(rng.uniform(0.05, 0.9)) * min(times))
                run(where, context)
                armed = False
            except KeyboardInterrupt:  # each timer rings once
                stopped += 1
            finally:
                armed = False
                signal.setitimer(signal.ITIMER_REAL, 0)
            check_what_is_left(where, context, used, f"signal {turn} in {name}", whole=False)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert stopped > 0
    assert "unlocked" in repr(logging._lock)


def in_logging(frame) -> bool:
    """Whether Python's logging runs: interrupted there, it keeps its lock, and later no other thread can log."""
    while frame is not None:
        if frame.f_globals.get("__name__") == "logging":
            return True
        frame = frame.f_back
    return False


def test_what_was_interrupted_is_recorded_as_failed():
    where = setting("FuseOps")
    recorder, timing = Recorder(), PassTimingInstrument()
    faulty = Faulty(Fault("FuseOps", "run_before_pass", "FuseOps", 1, KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        run(where, PassContext(opt_level=4, instruments=[recorder, timing, faulty]))
    recording = recorder.recording
    assert [(e.id, e.name, e.status) for e in recording.events] == [
        ("0", "input", "input"), ("1", "FuseOps", "failed"), ("1.1", "InferType", "ran"),
    ]  # fmt: skip
    assert isinstance(recording.error, KeyboardInterrupt)
    assert recording.last.same_contents(where.mod)
    assert timing.text() == "sequential (failed)\n  InferType\n  FuseOps (failed)"


def test_an_interrupt_in_pass_failed_comes_out_after_all_have_been_told():
    where = setting("FuseOps")
    first = Faulty(Fault("FuseOps", "run_after_pass", "FuseOps", 1, ZeroDivisionError))
    second = Faulty(Fault("FuseOps", "pass_failed", "FuseOps", 1, KeyboardInterrupt))
    third = Faulty()
    with pytest.raises(KeyboardInterrupt):
        run(where, PassContext(opt_level=4, instruments=[first, second, third]))
    assert third.calls["pass_failed", "FuseOps"] == 1


def test_there_are_faults_of_every_kind_for_every_pass():
    kinds = {(fault.target, fault.where, fault.error) for fault in call_faults()}
    assert kinds == set(product(PASSES, (*HOOKS, *BODIES), ERRORS))
