"""The log of a run as parts of a file: the numbers of each column, little-endian.

The length of a column follows from its bytes, so no number in a file makes the reader allocate memory. This module also
checks that a log fits a program; it does not depend on zip archives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from passlab import limits
from passlab.debugger.replay import DIFFERENT
from passlab.errors import VerifyError
from passlab.vm.tracing.log import Log, code_offsets

EVENTS = ("points", "clock")
SWITCHES = ("switched_at", "switched_to")
FRAMES = ("parent", "function", "created", "result_register", "depth")
CONTROL = ("points", *SWITCHES, *FRAMES)  # all but the times: equal in every run of the same program
_PART_NAMES = {"points": "sites"}  # names of parts that differ from those of the columns, since files keep them


def log_parts(log: Log) -> dict[str, bytes]:
    """Return the columns of a log as bytes, by the names of the parts of a file."""
    return {
        _PART_NAMES.get(name, name): _column(log, name).astype(_little(log, name)).tobytes()
        for name in (*EVENTS, *SWITCHES, *FRAMES)
    }


class Columns(Protocol):
    """Where the columns of a log are stored: their sizes in bytes, known before they are read, and their bytes."""

    def size(self, name: str) -> int: ...

    def part(self, name: str) -> bytes: ...


def read_log(columns: Columns, started: float, end_pc: int) -> Log:
    """Return the log of stored columns. Raises `ValueError` for columns of different lengths, before they are read."""
    log = Log()
    for names in (EVENTS, SWITCHES, FRAMES):
        parts = {name: _PART_NAMES.get(name, name) for name in names}
        lengths = {columns.size(part) / _little(log, name).itemsize for name, part in parts.items()}
        if len(lengths) != 1:
            raise ValueError(f"its columns {', '.join(names)} have different lengths")
        limits.check("trace_instants", int(lengths.pop()), "a trace")
        for name, part in parts.items():
            column = np.frombuffer(columns.part(part), _little(log, name))
            getattr(log, name).frombytes(column.astype(column.dtype.newbyteorder("=")).tobytes())
    log.started, log.end_pc = started, end_pc
    return log


def check_log(log: Log, functions: Sequence[Any], ended: bool) -> None:
    """Check that the numbers of a log are valid for these functions. Raises `ValueError`.

    `ended` says whether the program ran to its end. Only running it again shows that the log is true (`check_same`).
    """
    points, switched_at, switched_to, parent, function, created, result, depth = (_column(log, n) for n in CONTROL)
    bases = np.array(code_offsets(functions))
    count, frames = len(points), len(parent)
    sizes = np.array([f.register_file_size for f in functions], np.int64)
    inside = (
        frames > 0
        and len(switched_at) > 0
        and switched_at[0] == 0
        and switched_at[-1] <= count
        and bool((np.diff(switched_at) >= 0).all())
        and _within(points, 0, int(bases[-1]))
        and _within(switched_to, 0, frames)
        and _within(function, 0, len(functions))
        and _within(created, -1, count)
        and _within(parent, -1, frames)
        and bool((parent < np.arange(frames)).all())  # a caller is older than its callee, so there is no cycle
    )
    if not inside:
        raise ValueError("its log contradicts itself")
    called = np.flatnonzero(parent >= 0)
    frame_of = np.repeat(switched_to, np.diff([*switched_at.tolist(), count]))
    function_of = np.repeat(np.arange(len(functions)), np.diff(bases))
    last = int(function[switched_to[-1]])
    fitting = (
        np.array_equal(depth[called], depth[parent[called]] + 1)
        and not depth[parent < 0].any()
        and bool((result[called] >= -1).all())
        and bool((result[called] < sizes[function[parent[called]]]).all())
        and np.array_equal(function_of[points], function[frame_of])
        and (ended or 0 <= log.end_pc < len(functions[last].instructions))
    )
    if not fitting:
        raise ValueError("its log does not fit its program")


def check_same(old: Log, new: Log, ended: bool) -> None:
    """Check that the log of a second run equals the first, except for its times. Raises `VerifyError`."""
    # The new log may go on where the old one ends.
    same = all(np.array_equal(_column(new, n)[: len(getattr(old, n))], _column(old, n)) for n in CONTROL)
    if not same or not (ended or new.end_pc == old.end_pc):
        raise VerifyError(DIFFERENT)


def _within(column: np.ndarray[Any, Any], first: int, end: int) -> bool:
    return column.size == 0 or bool(first <= column.min() and column.max() < end)


def _column(log: Log, name: str) -> np.ndarray[Any, Any]:
    return np.array(getattr(log, name))


def _little(log: Log, name: str) -> np.dtype[Any]:
    native: np.dtype[Any] = np.dtype(getattr(log, name).typecode)
    return native.newbyteorder("<")
