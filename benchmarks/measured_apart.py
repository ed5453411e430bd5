"""The processor time and the memory of a job, measured in a process of its own, which no fault of the job outlives."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from time import process_time
from typing import Any

from passlab.errors import PasslabError

Prepare = Callable[[], Callable[[], Any]]


@dataclass(frozen=True)
class Cost:
    """Seconds of the processor, and the bytes by which the memory in use grew at most (-1: unknown)."""

    seconds: float
    peak_bytes: int


class GivenUpError(Exception):
    """A job exceeded its time limit."""


@contextmanager
def patience(seconds: int) -> Iterator[None]:
    """Raise `GivenUpError` in the block when it takes longer, in time of this process."""

    def ring(*_: object) -> None:
        raise GivenUpError

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def resident_bytes(field: str) -> int:
    """Return the memory in use (VmRSS) or the most that was since `forget_peak` (VmHWM); 0 where Linux is not."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    return int(status.split(f"{field}:")[1].split()[0]) * 1024


def forget_peak() -> bool:
    """Let the most memory in use be that of now; return whether the system can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        return True
    return False


def cost_of(prepare: Prepare, limit: int) -> Cost:
    """Return the cost of the job that `prepare` returns. Raises `GivenUpError` if either takes longer than `limit`."""
    with patience(limit):
        job = prepare()
    gc.collect()
    before = resident_bytes("VmRSS") if forget_peak() else 0
    start = process_time()
    with patience(limit):
        job()
    seconds = process_time() - start
    return Cost(seconds, resident_bytes("VmHWM") - before if before else -1)


def _answer(prepare: Prepare, seconds: int, memory: int) -> Cost | str:
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    try:
        return cost_of(prepare, seconds)
    except GivenUpError:
        return "given up"
    except PasslabError as error:
        return "refused: " + str(error).splitlines()[0][:100]
    except MemoryError:
        return "out of memory"
    except Exception as error:  # noqa: BLE001 - a fault is a result
        return f"failed: {type(error).__name__}: {error}"[:200]


def measured_apart(prepare: Prepare, seconds: int, memory: int) -> Cost | str:
    """Return the cost of the job that `prepare` returns, or why there is none, from a copy of this process.

    `seconds` of the processor limit the job, and its preparation apart from it. `memory`, in bytes of address space (0:
    any), limits both.
    """
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)

    def child(out: Connection) -> None:
        out.send(_answer(prepare, seconds, memory))

    process = context.Process(target=child, args=(writer,))
    process.start()
    writer.close()
    try:
        result: Cost | str = reader.recv()
    except EOFError:
        result = "the process ended"
    process.join()
    return result if process.exitcode == 0 else f"{result}: exit status {process.exitcode}"
