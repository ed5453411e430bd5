"""Traces as files: a zip archive of the program, the arguments and the log.

The program is bytecode with its kernels; of runs by node it is Relay text (see `node_trace_files`). Values are not
written: programs are deterministic, so they are computed again, and checked against the log, when a trace that was read
is first looked into. Everything a file says is checked before it is believed.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from passlab import limits
from passlab.errors import Diagnostic, PasslabError, RunError, VerifyError
from passlab.evaluate.values import ADTValue
from passlab.ir.adt import Constructor
from passlab.lab.time_travel.node_trace import NodeTrace
from passlab.lab.time_travel.node_trace_files import compared, lines_of, options_of, program_of, read_program, run_again
from passlab.lab.time_travel.sites import Sites
from passlab.text.tensor_bytes import tensor_of_record, tensor_record
from passlab.vm.executable import Executable
from passlab.vm.files.saving import KernelLibrary
from passlab.vm.tracing.engine import TracingMachine
from passlab.vm.tracing.log import Log

if TYPE_CHECKING:
    from passlab.lab.time_travel.trace import Trace

FORMAT = "passlab trace"
VERSION = 1
_COLUMNS = ("sites", "clock", "switched_at", "switched_to", "parent", "function", "created", "result_register", "depth")
MALFORMED = (KeyError, ValueError, TypeError, IndexError, AttributeError, RecursionError)
_PARTS = ("head.json", "program.bin", "kernels.rly", "log.npz")


def save(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a trace. Raises `OSError`, and `RunError` for a fork, which cannot be run again from its start."""
    if trace.parent is not None:
        raise RunError(Diagnostic("a fork cannot be saved", hint="save the trace it left, and fork that again"))
    code, kernels = (b"", program_of(trace)) if isinstance(trace, NodeTrace) else _bytecode(trace)
    arrays: list[np.ndarray[Any, Any]] = []
    head = {
        "format": FORMAT, "version": VERSION, "kind": trace.kind,
        "options": options_of(trace) if isinstance(trace, NodeTrace) else {}, "entry": trace.entry,
        "started": trace.log.started, "end_pc": trace.log.end_pc, "stopped": trace.stopped,
        "error": None if trace.error is None else trace.error.diagnostics[0].message,
        "lines": [[list(place) for place in found] for found in trace.sites.lines],
        "args": [_written(value, arrays) for value in trace.args],
    }  # fmt: skip
    columns = io.BytesIO()
    arrays_of_log: dict[str, Any] = {name: np.array(getattr(trace.log, name)) for name in _COLUMNS}
    np.savez_compressed(columns, **arrays_of_log)
    partial = Path(path).with_name(f".{Path(path).name}.{os.getpid()}.part")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as file:
        parts: tuple[str | bytes, ...] = (json.dumps(head), code, kernels, columns.getvalue())
        for name, data in zip(_PARTS, parts, strict=True):
            file.writestr(name, data)
        for number, array in enumerate(arrays):
            file.writestr(f"args/{number}", tensor_record(array))
    partial.replace(path)


def _bytecode(trace: Trace) -> tuple[bytes, str]:
    code, library = trace.sites.program.save()
    return code, library.text


def _written(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    """Return a value as JSON, its tensors by number. Nested as deep as its type, which a parameter declares."""
    done: list[Any] = []
    stack: list[tuple[Any, bool]] = [(value, False)]
    while stack:
        at, ready = stack.pop()
        fields = at if isinstance(at, tuple) else at.fields if isinstance(at, ADTValue) else ()
        if isinstance(at, np.ndarray):
            arrays.append(at)
            done.append(["tensor", len(arrays) - 1])
        elif ready or not fields:
            if not isinstance(at, (tuple, ADTValue)):
                raise RunError(f"a {type(at).__name__} among the arguments cannot be saved")
            parts = done[len(done) - len(fields) :] if fields else []
            del done[len(done) - len(fields) :]
            done.append(["tuple" if isinstance(at, tuple) else at.constructor.tag, *parts])
        else:
            stack.append((at, True))
            stack.extend((field, False) for field in reversed(fields))
    return done[0]


def load(path: str | os.PathLike[str]) -> Trace:
    """Read a trace. Raises `OSError`, and `VerifyError` for a file that holds none."""
    from passlab.lab.time_travel.trace import Trace

    try:
        with zipfile.ZipFile(path) as file:
            head, code, kernels, columns = (_part(file, name) for name in _PARTS)
            told = json.loads(head)
            if told["format"] != FORMAT or told["version"] != VERSION:
                raise ValueError(f"its format is {told['format']!r}, version {told['version']!r}")
            if told["kind"] != "vm":
                return _by_node(told, kernels.decode(), columns, file)
            exe = Executable.load_exec(code, KernelLibrary(kernels.decode()))
            args = [_read(value, exe.constructors, file) for value in told["args"]]
            log = _log(columns, exe, float(told["started"]), int(told["end_pc"]))
            sites = Sites(exe)
            sites.__dict__["lines"] = lines_of(told, sites)  # the nodes of a saved program are gone
            trace = Trace(sites, log, args, str(told["entry"]))
            exe.function(trace.entry)
    except PasslabError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OverflowError, *MALFORMED) as error:
        raise VerifyError(Diagnostic(f"{path} is not a trace: {type(error).__name__}: {error}")) from None
    trace.stopped = str(told["stopped"])
    trace.error = None if told["error"] is None else RunError(str(told["error"]))
    trace.reload = rerun
    return trace


def _by_node(told: dict[str, Any], text: str, columns: bytes, file: zipfile.ZipFile) -> Trace:
    """Return a trace by node, which is run again at once."""
    mod = read_program(text)
    constructors = {c.tag: c for data in mod.type_definitions.values() for c in data.constructors}
    args = [_read(value, constructors, file) for value in told["args"]]
    trace = run_again(told, mod, args)
    with np.load(io.BytesIO(columns), allow_pickle=False) as found:
        compared(trace, found, float(told["started"]))
    trace.sites.__dict__["lines"] = lines_of(told, trace.sites)
    return trace


def _part(file: zipfile.ZipFile, name: str) -> bytes:
    limits.check("tensor_bytes", file.getinfo(name).file_size, f"the part {name} of a trace")
    try:
        return file.read(name)
    except OSError as error:  # its table of contents leads outside
        raise zipfile.BadZipFile(str(error)) from None


def _read(data: Any, constructors: Mapping[int, Constructor], file: zipfile.ZipFile) -> Any:
    done: list[Any] = []
    stack: list[tuple[Any, bool]] = [(data, False)]
    while stack:
        (kind, *parts), ready = stack.pop()
        if kind == "tensor":
            done.append(tensor_of_record(_part(file, f"args/{int(parts[0])}")))
        elif ready or not parts:
            fields = done[len(done) - len(parts) :] if parts else []
            del done[len(done) - len(parts) :]
            done.append(tuple(fields) if kind == "tuple" else ADTValue(constructors[int(kind)], fields))
        else:
            stack.append(([kind, *parts], True))
            stack.extend((part, False) for part in reversed(parts))
    return done[0]


def _log(data: bytes, exe: Executable, started: float, end_pc: int) -> Log:
    log = Log()
    with np.load(io.BytesIO(data), allow_pickle=False) as columns:
        for name in _COLUMNS:
            column = getattr(log, name)
            found = columns[name]
            if found.ndim != 1 or found.dtype.str[1:] != np.dtype(column.typecode).str[1:]:
                raise ValueError(f"its column {name} is a {found.dtype} of rank {found.ndim}")
            column.frombytes(np.ascontiguousarray(found).tobytes())
    log.started, log.end_pc = started, end_pc
    count, frames = len(log.sites), len(log.parent)
    sites = sum(len(f.instructions) for f in exe.functions)
    frame_columns = (log.function, log.created, log.result_register, log.depth)
    inside = (
        all(0 <= s < sites for s in log.sites) and len(log.clock) == count and frames > 0
        and all(len(c) == frames for c in frame_columns) and all(0 <= f < len(exe.functions) for f in log.function)
        and all(-1 <= p < place for place, p in enumerate(log.parent)) and all(-1 <= c < count for c in log.created)
        and all(0 <= f < frames for f in log.switched_to) and len(log.switched_at) == len(log.switched_to) > 0
        and sorted(log.switched_at) == list(log.switched_at)
        and log.switched_at[0] == 0 and log.switched_at[-1] <= count
    )  # fmt: skip
    if not inside:
        raise ValueError("its log does not fit together")
    return log


def rerun(trace: Trace) -> None:
    """Compute the values of a trace that was read again. Raises `VerifyError` when the run takes another way."""
    exe, old = trace.sites.program, trace.log
    machine = TracingMachine(exe, limits.current().trace_bytes, max(1, len(old)))
    try:
        trace.result = machine.trace(exe.global_map[trace.entry], trace.args)
    except PasslabError as error:
        trace.error = error
    made = machine.log
    made.write_out()
    if made.sites[: len(old)] != old.sites or made.parent != old.parent or made.created != old.created:
        raise VerifyError("the run took another way than the trace says: it was recorded with another program")
    old.segments, old.overwritten, old.dropped = made.segments, made.overwritten, made.dropped


__all__ = ["FORMAT", "load", "rerun", "save"]
