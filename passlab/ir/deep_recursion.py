"""Calls that continue on another thread's stack if Python's stack is nearly used up; the caller waits for it.

Visitors written by users call themselves, in any order and under any conditions, so their recursion cannot be turned
into a loop without changing what they do. Python's recursion limit counts the frames of one thread; a visitor 100,000
levels deep runs on a few hundred threads, of which all but the last wait. Nothing runs in parallel.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar


class Waiter:
    """The thread that started a chain of fresh stacks. Only it can be interrupted, and then the others must stop."""

    gave_up = False


_waiter: ContextVar[Waiter | None] = ContextVar("passlab_waiter", default=None)

# Frames reserved for calls of a visitor between two checks, and the largest number of frames used on one thread.
_RESERVE = 400
_MOST = 5_000


def nearly_used_up() -> bool:
    """Whether fewer frames are left on this thread's stack than a few levels of a visitor may need.

    Raises `KeyboardInterrupt` on the threads of a computation whose caller was interrupted.
    """
    waiter = _waiter.get()
    if waiter is not None and waiter.gave_up:
        raise KeyboardInterrupt
    allowed = min(sys.getrecursionlimit() - _RESERVE, _MOST)
    frame = sys._getframe()
    depth = 0
    while depth < allowed:
        back = frame.f_back
        if back is None:
            return False
        frame = back
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
        except BaseException as error:  # noqa: BLE001 - handed to the caller, who waits for it
            failure.append(error)

    waiter = _waiter.get() or Waiter()
    context = copy_context()
    context.run(_waiter.set, waiter)
    thread = threading.Thread(target=context.run, args=(run,), daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:
        waiter.gave_up = True
        raise
    if failure:
        raise failure[0]
    return outcome[0]
