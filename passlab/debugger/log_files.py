"""The log of a run as parts of a file: each column is its numbers, little-endian, one after the other.

How long a column is follows from how many bytes it has, so nothing is allocated on the word of a file. This module
knows what a log must be to fit a program, and nothing of zip archives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab import limits
from passlab.errors import VerifyError
from passlab.vm.tracing.log import Log, site_bases

EVENTS = ("sites", "clock")
SWITCHES = ("switched_at", "switched_to")
FRAMES = ("parent", "function", "created", "result_register", "depth")
CONTROL = ("sites", *SWITCHES, *FRAMES)  # what the same run has again: everything but its times


def log_parts(log: Log) -> dict[str, bytes]:
    """Return the columns of a log by name."""
    return {name: _column(log, name).astype(_little(log, name)).tobytes() for name in (*EVENTS, *SWITCHES, *FRAMES)}


def read_log(part: Callable[[str], bytes], started: float, end_pc: int) -> Log:
    """Return the log whose columns `part` gives by name. Raises `ValueError` for columns of different lengths."""
    log = Log()
    for names in (EVENTS, SWITCHES, FRAMES):
        columns = [np.frombuffer(part(name), _little(log, name)) for name in names]
        if len({len(column) for column in columns}) != 1:
            raise ValueError(f"its columns {', '.join(names)} have different lengths")
        limits.check("trace_instants", len(columns[0]), "a trace")
        for name, column in zip(names, columns, strict=True):
            getattr(log, name).frombytes(column.astype(column.dtype.newbyteorder("=")).tobytes())
    log.started, log.end_pc = started, end_pc
    return log


def check_log(log: Log, functions: Sequence[Any], ended: bool) -> None:
    """Check that a log speaks of these functions and of nothing else. Raises `ValueError`.

    `ended` says whether the run came to its end. Running it again shows whether it went this way.
    """
    sites, switched_at, switched_to, parent, function, created, result, depth = (_column(log, n) for n in CONTROL)
    bases = np.array(site_bases(functions))
    count, frames = len(sites), len(parent)
    sizes = np.array([f.register_file_size for f in functions], np.int64)
    inside = (
        frames > 0
        and len(switched_at) > 0
        and switched_at[0] == 0
        and switched_at[-1] <= count
        and bool((np.diff(switched_at) >= 0).all())
        and _within(sites, 0, int(bases[-1]))
        and _within(switched_to, 0, frames)
        and _within(function, 0, len(functions))
        and _within(created, -1, count)
        and _within(parent, -1, frames)
        and bool((parent < np.arange(frames)).all())
    )
    if not inside:
        raise ValueError("its log does not fit together")
    above = np.flatnonzero(parent >= 0)
    frame_of = np.repeat(switched_to, np.diff([*switched_at.tolist(), count]))
    of_site = np.repeat(np.arange(len(functions)), np.diff(bases))
    last = int(function[switched_to[-1]])
    fitting = (
        np.array_equal(depth[above], depth[parent[above]] + 1)
        and not depth[parent < 0].any()
        and bool((result[above] >= -1).all())
        and bool((result[above] < sizes[function[parent[above]]]).all())
        and np.array_equal(of_site[sites], function[frame_of])
        and (ended or 0 <= log.end_pc < len(functions[last].instructions))
    )
    if not fitting:
        raise ValueError("its log does not fit its program")


def check_same(old: Log, new: Log, ended: bool) -> None:
    """Check that a run that was done again went as a log says. Raises `VerifyError`."""
    alike = all(np.array_equal(_column(new, n)[: len(getattr(old, n))], _column(old, n)) for n in CONTROL)
    if not alike or not (ended or new.end_pc == old.end_pc):
        raise VerifyError("the run took another way than the trace says: it was recorded with another program")


def _within(column: np.ndarray[Any, Any], first: int, end: int) -> bool:
    return column.size == 0 or bool(first <= column.min() and column.max() < end)


def _column(log: Log, name: str) -> np.ndarray[Any, Any]:
    return np.array(getattr(log, name))


def _little(log: Log, name: str) -> np.dtype[Any]:
    native: np.dtype[Any] = np.dtype(getattr(log, name).typecode)
    return native.newbyteorder("<")
