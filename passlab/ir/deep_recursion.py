"""Calls that continue on another thread's stack if Python's stack is nearly full; the caller waits for the result.

Visitors written by users call themselves in any order and under any conditions, so their recursion cannot be turned
into a loop without changing their results. Python's recursion limit counts the frames of one thread; a visitor 100,000
levels deep runs on a few hundred threads, of which all but the last wait. Nothing runs in parallel.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar


class Waiter:
    """The state of a chain of threads: only the first thread can be interrupted, and then the others must stop."""

    interrupted = False


_waiter: ContextVar[Waiter | None] = ContextVar("passlab_waiter", default=None)

# Frames reserved for calls of a visitor between two checks, and the largest number of frames used on one thread.
_RESERVE = 400
_MOST_FRAMES = 5_000


def stack_nearly_full() -> bool:
    """Whether this thread's stack has too few frames left for the next levels of a visitor.

    Raises `KeyboardInterrupt` on the threads of a computation whose caller was interrupted.
    """
    waiter = _waiter.get()
    if waiter is not None and waiter.interrupted:
        raise KeyboardInterrupt
    frame_limit = min(sys.getrecursionlimit() - _RESERVE, _MOST_FRAMES)
    frame = sys._getframe()
    depth = 0
    while depth < frame_limit:
        caller = frame.f_back
        if caller is None:
            return False
        frame = caller
        depth += 1
    return True


R = TypeVar("R")


def call_on_fresh_stack(function: Callable[..., R], *args: Any) -> R:
    """Return `function(*args)`, computed on a new thread in this context; its errors are raised here."""
    outcome: list[R] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(function(*args))
        except BaseException as error:  # noqa: BLE001 - raised in the calling thread
            failure.append(error)

    waiter = _waiter.get() or Waiter()
    context = copy_context()
    context.run(_waiter.set, waiter)
    thread = threading.Thread(target=context.run, args=(run,), daemon=True)
    try:
        thread.start()
    except RuntimeError:  # there are no threads on this platform: what is left of this stack must do
        return function(*args)
    try:
        thread.join()
    except BaseException:
        waiter.interrupted = True
        raise
    if failure:
        raise failure[0]
    return outcome[0]
