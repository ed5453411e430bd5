"""A deadline ends code that would not terminate, and never acts outside of its block."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
import weakref

import pytest

from passlab.errors import PassTypeError
from passlab.oracle.deadline import SLOW, Deadline, Stopwatch, TimeUpError, run_within

pytestmark = pytest.mark.rotating


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def test_it_ends_a_loop_that_catches_every_exception():
    deadline = Deadline(0.05)
    started = time.monotonic()
    with pytest.raises(deadline.error, match=r"did not end within 0\.05 s"), deadline:
        careless()
    deadline.close()
    assert time.monotonic() - started < 10


def careless():
    while True:
        with contextlib.suppress(Exception):
            spin(1)


WAITING = {
    "sleep": lambda: time.sleep(1000),
    "lock": lambda: threading.Event().wait(1000),
    "process": lambda: subprocess.run([sys.executable, "-c", "import time; time.sleep(30)"], check=False),
    "pipe": lambda: os.read(os.pipe()[0], 1),
}


@pytest.mark.parametrize("kind", WAITING)
def test_it_ends_what_waits_in_one_call(kind):
    deadline = Deadline(0.1)
    started = time.monotonic()
    with pytest.raises(deadline.error), deadline:
        WAITING[kind]()
    deadline.close()
    assert time.monotonic() - started < 25


def test_what_ends_in_time_starts_no_thread_and_is_forgotten():
    with Deadline(1000.0):
        pass  # the one thread of all deadlines runs from now on
    before = set(threading.enumerate())
    kept = []
    for _ in range(500):
        with Deadline(1000.0) as deadline:
            kept.append(weakref.ref(deadline))
            assert set(threading.enumerate()) <= before
    del deadline
    assert sum(one() is not None for one in kept) < 200


def test_a_fork_has_deadlines_of_its_own():
    """A process that is forked has none of the threads of its parent."""
    if not hasattr(os, "fork"):
        pytest.skip("this system has no forks")
    program = """
import os
from passlab.oracle.deadline import Deadline
with Deadline(1000.0):
    pass
if os.fork() == 0:
    deadline = Deadline(0.1)
    try:
        with deadline:
            while True:
                pass
    except deadline.error:
        os._exit(7)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "7\n"


def test_what_ends_in_time_is_left_alone():
    for _ in range(50):
        with Deadline(2.0):
            pass
    spin(0.3)
    with Deadline(None):
        spin(0.01)


@pytest.mark.parametrize("seconds", [(0.05, 10), (10, 0.05), (0.05, 0.05), (0.05, 0.0501)])
def test_deadlines_inside_one_another_end_with_their_blocks(seconds):
    outer, inner = Deadline(seconds[0]), Deadline(seconds[1])
    with pytest.raises(TimeUpError) as caught, outer, inner:
        spin(20)
    assert type(caught.value) in (outer.error, inner.error)
    spin(0.5)  # nothing comes later


def test_blocks_that_end_at_the_same_moment_leave_nothing_behind():
    for number in range(60):
        outer, inner = Deadline(0.004), Deadline(0.004 + number * 0.00002)
        with contextlib.suppress(TimeUpError):
            ended_together(outer, inner)
        outer.close()
        inner.close()
    spin(0.5)


def ended_together(outer, inner):
    with outer, inner:
        spin(0.004)


def test_other_threads_are_left_alone():
    ended = []
    thread = threading.Thread(target=lambda: (spin(0.3), ended.append(True)))
    thread.start()
    deadline = Deadline(0.05)
    with pytest.raises(deadline.error), deadline:
        spin(20)
    thread.join()
    assert ended


@pytest.mark.parametrize("seconds", ["a", -1, True, float("nan")])
def test_misuse_is_a_diagnostic(seconds):
    with pytest.raises(PassTypeError):
        Deadline(seconds)


TRACED = """
import sys, time
from passlab.oracle.deadline import SLOW, Stopwatch, Deadline

for seconds in (0.01, 0.0, 5.0):
    deadline = Deadline(seconds)
    try:
        with deadline:
            end = time.monotonic() + 0.05
            while time.monotonic() < end or seconds == 0.01:
                pass
    except deadline.error:
        deadline.close()

def trace(frame, event, arg):
    return trace

def traced():
    return 7

sys.settrace(trace)
print(traced())
"""


def test_functions_can_be_traced_after_a_deadline():
    """A debugger, or a tool that measures coverage, works in the same process afterwards."""
    result = subprocess.run([sys.executable, "-c", TRACED], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.strip() == "7"


STARTED_INSIDE = {
    "a deadline": "with d.Deadline(5.0): pass",
    "a thread": "t = threading.Thread(target=int); t.start(); t.join()",
}


@pytest.mark.parametrize("inside", STARTED_INSIDE)
def test_a_thread_that_starts_while_the_time_is_up_does_start(inside):
    """Raised at the wrong moment, the exception ends the new thread, and whoever starts it waits for ever."""
    program = f"""
import faulthandler, threading, time
from passlab.oracle import deadline as d
faulthandler.dump_traceback_later(60, exit=True)
d._AGAIN, d._PATIENCE = 0.0, 0.05  # raised as often as can be
end = time.monotonic() + 2
while time.monotonic() < end:
    outer = d.Deadline(0.001)
    try:
        with outer:
            while True:
                {STARTED_INSIDE[inside]}
    except outer.error:
        while not outer._over.is_set():  # raised so often, it is raised here, too
            try:
                outer.close()
            except outer.error:
                pass
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_no_lock_of_the_process_is_kept_when_the_time_is_up():
    """Python's logging takes its lock in one line and contracts to give it back in the next."""
    program = """
import logging, threading, time
from passlab.oracle import deadline as d
d._AGAIN = 0.0
end = time.monotonic() + 2
while time.monotonic() < end:
    outer = d.Deadline(0.001)
    try:
        with outer:
            while True:
                logging.Handler().close()
                sum(range(300))
    except outer.error:
        outer.close()
other = threading.Thread(target=logging.Handler, daemon=True)
other.start()
other.join(20)
assert not other.is_alive(), "the lock of logging is held for ever"
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_work_that_waited_for_a_busy_machine_is_tried_again_for_longer():
    tries = []

    def work():
        tries.append(None)
        time.sleep(0.0 if len(tries) > 1 else 0.4)  # no time of the processor
        return sum(range(1000)) if len(tries) > 1 else [None for _ in range(10**7)]

    assert run_within(0.1, work)[0] == sum(range(1000))
    assert len(tries) == 2


def test_work_that_does_not_end_by_itself_is_late_after_one_try():
    def work():
        while True:
            pass

    value, late = run_within(0.5, work)
    assert value is None
    assert isinstance(late, TimeUpError)


def test_a_stopwatch_counts_work_and_a_part_of_waiting():
    watch = Stopwatch()
    time.sleep(0.3)
    assert 0.3 / SLOW <= watch.spent() < 0.3
    watch, begun = Stopwatch(), time.thread_time()
    while time.thread_time() - begun < 0.2:
        pass
    assert watch.spent() >= 0.19


@pytest.mark.parametrize("work", [lambda: time.sleep(60), lambda: all(True for _ in iter(int, 1))])
def test_a_deadline_of_processor_time_ends_work_and_waiting(work):
    deadline, begun = Deadline(0.2, busy=True), time.monotonic()
    with pytest.raises(deadline.error), deadline:
        work()
    deadline.close()
    assert time.monotonic() - begun < 30


SHORT_THREADS = """
import threading, time
from passlab.oracle.deadline import Deadline
seen = []
threading.excepthook = lambda given: seen.append(given.exc_value)

def work():
    deadline = Deadline(0.0005, busy=True)
    try:
        with deadline:
            sum(range(20_000))
    except deadline.error:
        deadline.close()

for _ in range(200):
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
time.sleep(0.2)
print(seen)
"""


def test_a_thread_may_end_with_its_deadline() -> None:
    """Whoever asks for the clock of a thread that has ended ends the process."""
    done = subprocess.run(
        [sys.executable, "-c", SHORT_THREADS], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")
