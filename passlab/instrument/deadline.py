"""`Deadline`: a block of code that ends after so many seconds, even where it would never end by itself.

    deadline = Deadline(2.0)
    try:
        with deadline:
            pass_(mod)
    except deadline.error:
        deadline.close()

A thread of its own raises an exception in the one that runs the block, again and again until it is heard (one may be
lost in a callback). Python code stops at once. A call that waits (`time.sleep`, a lock, a socket) is woken by a signal
where it waits in the main thread; a call that computes in C is waited for. Deadlines may stand inside one another: each
raises a class of its own. What is raised is no `Exception`, so that a pass which catches all of those
does not keep it.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from passlab.errors import Diagnostic, PassTypeError

T = TypeVar("T")
_BUSY = 0.8  # of the time that is up, from which on the process itself was busy with the work
_AGAIN = 0.1  # seconds until it is raised once more
_SOON = 0.001  # seconds until a thread that starts another one is looked at again
# Before CPython 3.12, a new thread carries the number of its creator until it runs. An exception raised in the creator
# then ends the new thread, before it says that it has started, and the creator waits for that for ever. So nothing is
# raised while a deadline starts its thread (the lock), nor while other code is seen to start one or to hold a lock of
# the process, unless it does nothing else for `_PATIENCE` seconds. A start that takes longer has been hit: its wait is
# ended.
_PATIENCE = 1.0
_starting = threading.Lock()
_WAKING = getattr(signal, "SIGURG", None)  # a signal that nobody minds; there is none on Windows
_START = threading.Thread.start.__code__
# Modules that hold locks of the whole process, which a function that is ended between two lines never gives back.
_LOCKING = frozenset({"threading", "logging", "queue", "weakref", "_weakrefset", "importlib._bootstrap"})


class TimeUpError(BaseException):
    """The time of a deadline is up."""

    seconds: float = 0.0

    def __str__(self) -> str:
        return f"it did not end within {self.seconds:.3g} s"


class Deadline:
    """Raises `error`, a class of its own, in the thread that runs the block; never for None seconds."""

    def __init__(self, seconds: float | None) -> None:
        check_seconds(seconds)
        self.seconds = seconds
        self.error: type[TimeUpError] = type("TimeUpError", (TimeUpError,), {"seconds": seconds or 0.0})
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._raised = False
        self._thread = 0
        self._frame: FrameType | None = None
        self._wakes = False

    def __enter__(self) -> Deadline:
        self._thread = threading.get_ident()
        self._frame = sys._getframe(1)
        self._wakes = self.seconds is not None and _may_wake()
        if self.seconds is not None:
            with _starting:
                threading.Thread(target=self._watch, name="passlab-deadline", daemon=True).start()
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
                    _raise_in(self._thread, self.error)  # in place of one that was raised and not yet heard
                    _wait_for_exception()
                break
            except self.error:
                continue
            except BaseException as error:  # noqa: BLE001 - an interrupt, or a deadline around this one: raised below
                pending = error
        if pending is not None:
            raise pending

    def close(self) -> None:
        """Raise nothing any more: to be called where `error` is caught, which may have been raised in `__exit__`."""
        self._over.set()

    def _watch(self) -> None:
        self._over.wait(self.seconds)
        last: FrameType | None = None  # the start of a thread that was seen the last time
        since = seen = time.monotonic()  # when a start was first seen, of any thread and of this one
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
                        signal.pthread_kill(self._thread, _WAKING)  # the call that waits looks up, and hears it
                    if start is not None and now - seen > _PATIENCE:
                        start.f_locals["self"]._started.set()
            self._over.wait(_AGAIN if raising else _SOON)

    def _frames(self) -> list[FrameType]:
        """Return the frames below the one that entered the block, and that one.

        There are none where it runs no more: an interrupt may have kept `__exit__` from being called.
        """
        frames: list[FrameType] = []
        frame = sys._current_frames().get(self._thread)
        while frame is not None:
            frames.append(frame)
            if frame is self._frame:
                return frames
            frame = frame.f_back
        return []


def _may_wake() -> bool:
    """Whether the main thread is asked, and can be woken: by a signal that does nothing but end what waits."""
    if _WAKING is None or threading.current_thread() is not threading.main_thread():
        return False
    if signal.getsignal(_WAKING) is signal.SIG_DFL:
        signal.signal(_WAKING, _wake)
    return signal.getsignal(_WAKING) is _wake


def _wake(number: int, frame: FrameType | None) -> None:
    """What was raised before the signal is heard as soon as this function begins."""


def run_within(seconds: float | None, work: Callable[[], T]) -> tuple[T | None, TimeUpError | None]:
    """Return what some work gives, or the error where it does not end within so many seconds.

    Where the machine did other things meanwhile, as a busy one does, it is tried once more, for longer.
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
    """Raise `PassTypeError` for what is no number of seconds, and not None."""
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0):
        raise PassTypeError(Diagnostic("`seconds` is a number from 0 on, or None", found=repr(seconds)))


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise `error` in a thread at its next bytecode that looks for it.

    It is never taken back by raising None: CPython 3.11 then looks for it at every bytecode of the process, and a
    function that is traced (`sys.settrace`) never starts. What must not be heard later is heard at once instead.
    """
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def _wait_for_exception() -> None:
    """Run bytecodes until the exception that is raised in this thread is heard, which the first loop does."""
    for _ in range(1_000_000):
        pass
