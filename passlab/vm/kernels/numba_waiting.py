"""Threads that share a compiled loop wait for each other awake, for a short time.

A thread that sleeps wakes up 50 to 100 microseconds after it is called, on a virtual machine sometimes milliseconds.
That is as long as a small kernel takes. So a thread that has finished its part of a loop watches a number in memory for
`PATIENCE` seconds before it sleeps. The first thread that takes a piece of the next loop changes this number, from
compiled code: by then it has released Python's lock, which the thread that wakes needs. Needs the package numba.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from functools import cache
from time import perf_counter
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import extending, types

from passlab import threads
from passlab.vm.kernels.numba_blocks import ADDRESS, CACHE_LINE, COUNT, I64, declare

PATIENCE = 5e-4  # seconds
IS_X86 = platform.machine().lower() in ("x86_64", "amd64")
TURNS = 10_000  # of a loop that is timed: long beside the call itself
Array = np.ndarray[Any, Any]


def _load_now(context: Any, address: Any) -> Any:
    """Type the function that reads an integer which other threads change."""
    return COUNT(ADDRESS), lambda context, builder, signature, args: builder.load_atomic(
        builder.inttoptr(args[0], ir.PointerType(I64)), "acquire", 8
    )


def _add_one(context: Any, address: Any) -> Any:
    """Type the function that adds one to an integer which other threads read."""
    return types.void(ADDRESS), _emit_addition


def _emit_addition(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    builder.atomic_rmw("add", builder.inttoptr(args[0], ir.PointerType(I64)), ir.Constant(I64, 1), "release")
    return context.get_dummy_value()


def _pause(context: Any) -> Any:
    """Type the function that lets the other thread of the same core go first."""
    return types.void(), _emit_pause


def _emit_pause(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    if IS_X86:
        builder.call(declare(builder.module, "llvm.x86.sse2.pause", ir.VoidType(), []), [])
    return context.get_dummy_value()


load_now, add_one, pause = (extending.intrinsic(function) for function in (_load_now, _add_one, _pause))


def _spin(address: int, seen: int, turns: int, done: int) -> bool:  # pragma: no cover
    """Add one to the number at `done`, then return whether the number at `address` changed within so many turns."""
    if done:
        add_one(np.uintp(done))
    for _ in range(turns):
        if load_now(np.uintp(address)) != seen:
            return True
        pause()
    return False


try:
    spin: Any = numba.njit(_spin, nogil=True, cache=True)
except RuntimeError:  # no folder for machine code is writable
    spin = numba.njit(_spin, nogil=True)


class Watch:
    """The two numbers that threads watch: of the loops that have begun, and of the threads that have finished."""

    def __init__(self) -> None:
        numbers = np.zeros(3 * CACHE_LINE, np.int64)  # each lies in a line of cache of its own
        self.begun, self.ended = numbers[CACHE_LINE:], numbers[2 * CACHE_LINE :]
        self.begun_address, self.ended_address = self.begun.ctypes.data, self.ended.ctypes.data
        spin(self.begun_address, 0, 1, 0)  # compiles it
        start = perf_counter()
        spin(self.begun_address, 0, TURNS, 0)
        self.turns = int(TURNS * PATIENCE / max(perf_counter() - start, 1e-9))

    def loops(self) -> int:
        """Return how many shared loops have begun."""
        return int(self.begun[0])

    def threads(self) -> int:
        """Return how often a thread has finished its part of a loop."""
        return int(self.ended[0])

    def wait_for_loop(self, seen: int) -> None:
        """Count this thread as finished, then wait a short time until another number of loops than `seen` has begun."""
        spin(self.begun_address, seen, self.turns, self.ended_address)

    def wait_for_thread(self, seen: int) -> bool:
        """Wait a short time until more than `seen` threads have finished; return whether they have."""
        return bool(spin(self.ended_address, seen, self.turns, 0))


@cache
def _watch() -> Watch:
    """Return what the threads of this process watch from now on."""
    result = Watch()
    threads.use_watch(result)
    return result


def share_pieces(loop: Callable[[Array], None], count: int) -> None:
    """Run a compiled loop in up to `count` threads, which take its pieces from a counter; see `next_piece`."""
    counter = np.zeros(2, np.int64)
    if count > 1:
        counter[1] = _watch().begun_address
    threads.work_together(lambda: loop(counter), count)
