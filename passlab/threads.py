"""Threads that help with one large job: NumPy lets other threads run while it computes.

A job is a function that takes one piece after the other until none is left. The caller works on it, and threads
of a small pool join as soon as they are free. Nothing waits for a thread that has not begun, so any number of
threads may share jobs, also from inside a job. Which thread computes a piece never changes its value.

There are as many threads as BLAS may use: OPENBLAS_NUM_THREADS or OMP_NUM_THREADS, else one for each processor. BLAS's
own threads spin after a product, waiting for the next one. On a busy machine a helper shares a core with its caller and
gains nothing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from functools import cache
from queue import SimpleQueue
from time import perf_counter
from typing import Any

import numpy as np

WORTH = 1 << 18  # bytes of a piece, at least: waking a thread takes as long as copying half of them
PIECES = 4  # of a range for each thread: pieces differ in time, and threads start late
SPIN = 0.1  # seconds that threads of BLAS spin after a product
SHARED_PRODUCT = 1 << 18  # multiplications: OpenBLAS shares a product of more


@cache
def thread_count() -> int:
    """Return how many threads one job may have, as the environment says at the first call."""
    there = _processors()
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(name, "")
        if value.isdecimal() and int(value) > 0:
            return min(int(value), there)
    return there


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_threads() -> int:
    """Return how many threads are worth asking for now: fewer while BLAS threads spin on the same processors."""
    most = thread_count()
    if most < 2 or perf_counter() > _blas.spins_until:
        return most
    unused = max(0, _processors() - most)  # the others have half of a processor each
    return min(most, 1 + unused + max(0, most - 1 - unused) // 2)


def note_product(multiplications: int) -> None:
    """Remember that BLAS has just multiplied matrices; its threads have shared a large product, and spin now."""
    if multiplications > SHARED_PRODUCT and thread_count() > 1 and _blas_spins():
        _blas.spins_until = perf_counter() + SPIN


@cache
def _blas_spins() -> bool:
    """Whether threads of NumPy's BLAS spin after a product. Those of Apple's Accelerate do not."""
    libraries: Any = np.show_config(mode="dicts")
    name: str = libraries.get("Build Dependencies", {}).get("blas", {}).get("name", "")
    return name.lower() != "accelerate"


def share(job: Callable[[Iterator[int]], None], pieces: int) -> None:
    """Run `job` on the numbers below `pieces`, which the threads that help take from one iterator.

    Raises what `job` raises, wherever it ran.
    """
    numbers = iter(range(pieces))  # each number is taken once
    work_together(lambda: job(numbers), min(pieces, free_threads()))


def share_range(work: Callable[[int, int], None], length: int, size: int) -> None:
    """Call `work` with the starts and ends of parts of a range, which threads share if `size` bytes are enough."""
    threads = free_threads()
    parts = min(length, size // WORTH, PIECES * threads) if threads > 1 else 1
    if parts < 2:
        work(0, length)
        return

    def job(numbers: Iterator[int]) -> None:
        for number in numbers:
            work(number * length // parts, (number + 1) * length // parts)

    share(job, parts)


def work_together(job: Callable[[], None], threads: int) -> None:
    """Run `job` here and in up to `threads` - 1 threads of the pool; return when all of them are done.

    `job` takes pieces from a shared iterator until none is left.
    """
    if threads < 2:
        job()
        return
    work = _Job(job)
    _pool.help(work, threads - 1)
    try:
        job()
    finally:
        work.close()
    if work.error is not None:
        raise work.error


class _Blas:
    """What is known of the threads of BLAS."""

    spins_until = 0.0  # on the clock `perf_counter`


class _Job:
    """A job that threads may join until it is closed."""

    def __init__(self, run: Callable[[], None]) -> None:
        self.run = run
        self.context = copy_context()  # NumPy keeps there what to do about warnings
        self.lock = threading.Lock()
        self.finished = threading.Lock()  # held while the thread that closed it has to wait
        self.active = 0
        self.closed = False
        self.error: BaseException | None = None

    def join(self) -> None:
        """Run the job in this thread if it is still open."""
        with self.lock:
            if self.closed:
                return
            self.active += 1
        try:
            self.context.copy().run(self.run)
        except BaseException as error:  # noqa: BLE001 - raised where the job was asked for
            self.error = error
        with self.lock:
            self.active -= 1
            if not self.active and self.finished.locked():
                self.finished.release()

    def close(self) -> None:
        """Close the job to further threads, and wait for those that have joined."""
        with self.lock:
            self.closed = True
            waits = self.active > 0
            if waits:
                self.finished.acquire()
        if waits:
            self.finished.acquire()


class _Pool:
    """The pool of threads, which are started when they are first needed, and again after a fork."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin without threads."""
        self.lock = threading.Lock()
        self.jobs: SimpleQueue[_Job] = SimpleQueue()
        self.size = 0

    def help(self, job: _Job, threads: int) -> None:
        """Offer a job to so many threads."""
        if self.size < threads:
            self._grow(threads)
        for _ in range(min(threads, self.size)):
            self.jobs.put(job)

    def _grow(self, threads: int) -> None:
        with self.lock:
            while self.size < threads:
                try:
                    threading.Thread(target=_work, args=(self.jobs,), name="passlab helper", daemon=True).start()
                except RuntimeError:  # there are no threads on this platform, or no more of them
                    return
                self.size += 1


def _work(jobs: SimpleQueue[_Job]) -> None:
    while True:
        jobs.get().join()


_blas = _Blas()
_pool = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.forget)
