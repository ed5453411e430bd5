"""`Deadline`: a time limit for a block of code, also where the block would not terminate.

    deadline = Deadline(2.0)
    try:
        with deadline:
            pass_(mod)
    except deadline.error:
        deadline.close()

One thread of the process sleeps until the next time is up; a block that ends before costs no more than an entry in its
list. For a block that does not, it starts a thread that raises an exception in the thread of the block, repeatedly
until it is delivered (one may be lost in a callback). Python code stops at once. A blocking call (`time.sleep`, a lock,
a socket) in the main thread is interrupted by a signal; a computation in C runs to its end. Deadlines may be nested:
each raises a class of its own.
The class does not derive from `Exception`, so that a pass which catches every `Exception` does not swallow it.
"""

from __future__ import annotations

import ctypes
import faulthandler
import heapq
import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from passlab.errors import Diagnostic, PassTypeError, cell_in_words

T = TypeVar("T")
_BUSY = 0.8  # of the time limit: with more processor time than this, the work itself was slow and not the machine
SLOW = 3.0  # seconds by the clock that count as one second of work
_AGAIN = 0.1  # seconds between two attempts to raise
_SOON = 0.001  # seconds between two looks at a thread in which nothing may be raised now
# Before CPython 3.12, a new thread has the number of its creator until it runs. An exception raised in the creator then
# ends the new thread before it signals its start, for which the creator waits for ever. So nothing is raised while a
# deadline is added to the alarm (the lock), nor while other code starts a thread or may hold a lock of the process,
# unless that lasts for `_PATIENCE` seconds. A start that takes longer was hit by an exception: its wait is ended.
_PATIENCE = 1.0
_starting = threading.Lock()
_WAKING = getattr(signal, "SIGURG", None)  # a signal that is ignored by default; Windows has none
_START = threading.Thread.start.__code__
# Modules with locks of the whole process: a function that an exception ends between two lines never releases them.
_LOCKING = frozenset({"threading", "logging", "queue", "weakref", "_weakrefset", "importlib._bootstrap"})


class TimeUpError(BaseException):
    """The time limit of a deadline has passed."""

    seconds: float = 0.0

    def __str__(self) -> str:
        return f"it did not end within {self.seconds:.3g} s"


class Stopwatch:
    """Measures the processor time of one thread, or a part of the time by the clock where it gets little of it.

    Work that waits (a lock, a busy machine) must end as well: `SLOW` seconds by the clock count as one.
    """

    def __init__(self, thread: int | None = None) -> None:
        self._thread = threading.get_ident() if thread is None else thread
        self._begun = time.monotonic()
        self._worked = self._processor_time()

    def spent(self) -> float:
        """Return the seconds since the stopwatch was made."""
        return max(self._processor_time() - self._worked, (time.monotonic() - self._begun) / SLOW)

    def _processor_time(self) -> float:
        # Not on Windows and macOS, where all threads of the process count.
        if hasattr(time, "pthread_getcpuclockid"):
            return time.clock_gettime(time.pthread_getcpuclockid(self._thread))
        return time.process_time()


class Deadline:
    """Raises `error`, a class of its own, in the thread that runs the block after `seconds`; never for None.

    With `busy` these are seconds of a `Stopwatch`: of processor time, as long as the machine gives some.
    """

    def __init__(self, seconds: float | None, busy: bool = False) -> None:
        check_seconds(seconds)
        self.seconds = seconds
        self._busy = busy
        self.error: type[TimeUpError] = type("TimeUpError", (TimeUpError,), {"seconds": seconds or 0.0})
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._raised = False
        self._thread = 0
        self._frame: FrameType | None = None
        self._wakes = False
        self._work: Stopwatch | None = None

    def __enter__(self) -> Deadline:
        self._thread = threading.get_ident()
        self._frame = sys._getframe(1)
        self._wakes = self.seconds is not None and _may_wake()
        if self.seconds is not None:
            self._work = Stopwatch() if self._busy else None
            if not _alarm.add(self, self.seconds):  # searches look at the clock between programs
                self._over.set()
        return self

    def __exit__(self, *exc_info: object) -> None:
        pending: BaseException | None = None
        cleared = False
        while True:
            try:
                with self._lock:
                    self._over.set()
                self._frame = None
                if self._raised and not cleared:
                    cleared = True
                    _raise_in(self._thread, self.error)  # replaces an exception that is raised and not delivered
                    # Bytecodes run until the exception raised in this thread is delivered; the first do it.
                    for _ in range(1_000_000):
                        pass
                break
            except self.error:
                continue
            except BaseException as error:  # noqa: BLE001 - an interrupt, or a deadline around this one: raised below
                pending = error
        if pending is not None:
            raise pending

    def close(self) -> None:
        """Stop raising. Call it where `error` is caught: the exception may have been raised inside `__exit__`."""
        self._over.set()
        self._frame = None  # the alarm knows this deadline until its time is up

    def watch(self) -> None:
        """Raise in the thread of the block until it has ended. Called when `seconds` have passed by the clock."""
        while (left := self._work_left()) > 0:
            self._over.wait(min(left, threading.TIMEOUT_MAX))
        last: FrameType | None = None  # the start of a thread at the last look
        since = seen = time.monotonic()  # when a start was first seen: of any thread, and of `last`
        while not self._over.is_set():
            with self._lock, _starting:
                frames = self._frames()
                if self._over.is_set() or not frames:
                    return
                now = time.monotonic()
                start = next((frame for frame in frames if frame.f_code is _START), None)
                if start is not last:
                    last, seen = start, now
                if raising := not _holds_locks(frames) or now - since > _PATIENCE:
                    since = now
                    self._raised = True
                    _raise_in(self._thread, self.error)
                    if self._wakes and _WAKING is not None:
                        signal.pthread_kill(self._thread, _WAKING)  # interrupts a blocking call
                    if start is not None and now - seen > _PATIENCE:
                        start.f_locals["self"]._started.set()
            self._over.wait(_AGAIN if raising else _SOON)

    def _work_left(self) -> float:
        """Return the seconds of work that are left of a deadline of processor time."""
        with self._lock:  # while the block is not over, its thread lives and has a clock
            if self._over.is_set() or self._work is None or self.seconds is None:
                return 0.0
            return self.seconds - self._work.spent()

    def is_over(self) -> bool:
        """Whether the block has ended."""
        return self._over.is_set()

    def _frames(self) -> list[FrameType]:
        """Return the frames from the innermost one to the one that entered the block.

        Empty where that one has ended: an interrupt may have prevented the call of `__exit__`.
        """
        frames: list[FrameType] = []
        frame = sys._current_frames().get(self._thread)
        while frame is not None:
            frames.append(frame)
            if frame is self._frame:
                return frames
            frame = frame.f_back
        return []


class _Alarm:
    """The thread that starts the watch of each deadline whose time is up before its block has ended."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, Deadline]] = []  # a heap; the number decides between equal times
        self._numbers = itertools.count()
        self._most = 64  # entries, at which those whose blocks have ended are removed
        self._sooner = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, deadline: Deadline, seconds: float) -> bool:
        """Watch a deadline once `seconds` have passed. Returns False on platforms without threads, such as browsers."""
        with _starting:
            if self._thread is None or not self._thread.is_alive():
                thread = threading.Thread(target=self._run, name="passlab-deadlines", daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    return False
                self._thread = thread
            if len(self._due) >= self._most:
                self._due = [entry for entry in self._due if not entry[-1].is_over()]
                heapq.heapify(self._due)
                self._most = 64 + 2 * len(self._due)
            heapq.heappush(self._due, (time.monotonic() + seconds, next(self._numbers), deadline))
            if self._due[0][-1] is deadline:
                self._sooner.set()
            return True

    def _run(self) -> None:
        while True:
            self._sooner.wait(self._ring())

    def _ring(self) -> float | None:
        """Start the watches whose time has come, and return the seconds until the next."""
        with _starting:
            now, up = time.monotonic(), []
            while self._due and self._due[0][0] <= now:
                up.append(heapq.heappop(self._due)[-1])
            self._sooner.clear()
            wait = min(self._due[0][0] - now, threading.TIMEOUT_MAX) if self._due else None
        for deadline in up:
            if not deadline.is_over():
                try:
                    threading.Thread(target=deadline.watch, name="passlab-deadline", daemon=True).start()
                except RuntimeError:  # the process has as many threads as it may have
                    deadline.watch()
        return wait


_alarm = _Alarm()


def _begin_anew() -> None:
    """Have no alarm and a free lock: a fork has neither the threads of its parent nor what they would release."""
    global _alarm, _starting
    _alarm, _starting = _Alarm(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def _may_wake() -> bool:
    """Whether this is the main thread and its blocking calls can be interrupted by a signal without effects."""
    if _WAKING is None or threading.current_thread() is not threading.main_thread():
        return False
    if signal.getsignal(_WAKING) is signal.SIG_DFL:
        signal.signal(_WAKING, _wake)
    return signal.getsignal(_WAKING) is _wake


def _wake(number: int, frame: FrameType | None) -> None:
    """Do nothing: calling any Python function delivers the exception that was raised before the signal."""


def run_within(seconds: float | None, work: Callable[[], T]) -> tuple[T | None, TimeUpError | None]:
    """Return the result of a function, or the error where it does not end within `seconds`.

    Where a busy machine gave it little processor time, it is called once more with a longer limit.
    """
    late: TimeUpError | None = None
    for patience in (None,) if seconds is None else (seconds, 4 * seconds):
        deadline, begun = Deadline(patience), time.process_time()
        try:
            with deadline:
                return work(), None
        except deadline.error as error:
            deadline.close()
            late = error
        if time.process_time() - begun > _BUSY * (patience or 0.0):
            break
    return None, late


def _holds_locks(frames: list[FrameType]) -> bool:
    """Whether one of these frames may hold a lock of the process."""
    return any(frame.f_globals.get("__name__") in _LOCKING for frame in frames)


def check_seconds(seconds: Any) -> None:
    """Raise `PassTypeError` for values other than a number of seconds or None."""
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0):
        raise PassTypeError(Diagnostic("`seconds` is a number from 0 on, or None", found=repr(seconds)))


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise `error` in a thread at its next bytecode that checks for exceptions.

    It is never cancelled by raising None: CPython 3.11 then checks at every bytecode of the process, and a function
    that is traced (`sys.settrace`) never starts. An exception that must not come later is delivered at once instead.
    """
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


# ---------------------------------------------------------------- last resort
# `LastResort`: ends the process where C code in it does not return. A `Deadline` stops Python code and blocking calls.
# A computation in C cannot be interrupted from Python, but a command must end all the same: some time after its limit,
# the process reports where it is, and exits.
SPARE = 10.0  # seconds, at least, that a search may take beyond its limit to finish its answer
STATUS = 1  # the exit status of the process


class LastResort:
    """Ends the process where a block takes half as long again as `seconds`; never for None.

    Where the C code releases the interpreter lock, a message says where it is; else `faulthandler` ends the process.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._timer: threading.Timer | None = None

    def __enter__(self) -> LastResort:
        if self.seconds is None:
            return self
        spare = max(SPARE, self.seconds / 2)
        limit = self.seconds + spare
        self._timer = threading.Timer(limit, _exit_process, (threading.get_ident(), limit))
        self._timer.daemon = True
        try:
            self._timer.start()
        except RuntimeError:  # there are no threads on this platform, and nothing that could end the process
            self._timer = None
            return self
        # Replaced streams, as in notebooks, have no file descriptor for `faulthandler`.
        if sys.stderr is sys.__stderr__:
            faulthandler.dump_traceback_later(self.seconds + 2 * spare, exit=True)
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            if sys.stderr is sys.__stderr__:
                faulthandler.cancel_dump_traceback_later()


def _exit_process(thread: int, seconds: float) -> None:
    frame = sys._current_frames().get(thread)
    location = ""
    if frame is not None:
        code = frame.f_code
        file = cell_in_words(code.co_filename) or Path(code.co_filename).name
        location = f" in `{code.co_name}`, {file}, line {frame.f_lineno}"
    sys.stderr.write(
        f"error: a call in C has not returned after {seconds:g} s{location}\n"
        "help: nothing in Python can stop such code; leave out the pass that makes the call, or fix it\n"
    )
    sys.stderr.flush()
    os._exit(STATUS)  # not `sys.exit`, which would end only this thread
