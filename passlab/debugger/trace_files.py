"""Traces as files: a zip archive of the program, the arguments, and the logs of a run and its forks.

    head.json            the executor, the arguments, and of each run: the trace it branched off, the instant, its end
    program.bin          bytecode; kernels.rly has its kernels, and for traces by node the Relay text of the program
    tensors/0, ...       the arrays in arguments and in changed registers
    runs/0/sites, ...    the columns of each log; run 0 is the whole one, forks come after the run they branched off

Values are not written. Programs are deterministic, so values are computed again on first use, and the log is compared.
All parts of a file are checked before use.

The file begins with the log of a run as parts of a file: the numbers of each column, little-endian.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any, Generic, Protocol, TypeVar

import numpy as np

from passlab import limits
from passlab.atomic_file import atomic_file, checked_path
from passlab.debugger.code_map import CodeMap
from passlab.debugger.forks import branches_of, remember
from passlab.debugger.node_runs import record_nodes
from passlab.debugger.node_trace import T
from passlab.debugger.replay import DIFFERENT, MachineEngine, fork_at
from passlab.debugger.trace_data import TraceData
from passlab.errors import Diagnostic, FileAccessError, LimitError, PasslabError, RunError, VerifyError, type_in_words
from passlab.evaluate.values import ADTValue
from passlab.ir.adt import Constructor, TypeData, constructor_numbers
from passlab.ir.module import IRModule
from passlab.text.parser import parse
from passlab.text.tensor_bytes import record_size, tensor_of_record, tensor_record
from passlab.transform import PassContext
from passlab.vm.executable import Executable
from passlab.vm.files.loading import bytecode_size
from passlab.vm.files.saving import KernelLibrary
from passlab.vm.objects import VMClosure, value_parts
from passlab.vm.tracing.log import Log, code_offsets
from passlab.vm.tracing.recorder import TracingMachine

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


# Values in trace files: a table for JSON next to tensors, for arguments and for changed registers of forks.

Entry = tuple[str, int, list[int]]


class ValueTable:
    """A table of values: `entries` for JSON, and the `tensors` that they refer to by number.

    `definitions` are the data types of the program, which number the constructors.
    """

    def __init__(self, definitions: Iterable[TypeData] = ()) -> None:
        numbers = constructor_numbers(definitions)
        self._constructor_numbers = {(c.belong_to.name_hint, c.name_hint): number for c, number in numbers.items()}
        self.entries: list[Entry] = []
        self.tensors: list[np.ndarray[Any, Any]] = []
        self._numbers_by_id: dict[int, tuple[int, Any]] = {}  # the value too, since its id is valid while it lives

    def add(self, value: Any) -> int:
        """Add a value and return the number of its entry. Raises `RunError` for a kind that files do not have."""
        stack: list[tuple[Any, bool]] = [(value, False)]
        while stack:
            part, ready = stack.pop()
            if id(part) in self._numbers_by_id:
                continue
            fields = value_parts(part)
            if ready or not fields:
                kind, number = self._kind(part)
                self._numbers_by_id[id(part)] = len(self.entries), part
                self.entries.append((kind, number, [self._numbers_by_id[id(field)][0] for field in fields]))
            else:
                stack.append((part, True))  # again, after its fields: an entry refers to earlier ones only
                stack.extend((field, False) for field in reversed(fields))
        return self._numbers_by_id[id(value)][0]

    def _kind(self, value: Any) -> tuple[str, int]:
        """Return the kind of a value and its number; a tensor is added to `tensors`."""
        if isinstance(value, np.ndarray):
            self.tensors.append(value)
            return "tensor", len(self.tensors) - 1
        if isinstance(value, tuple):
            return "tuple", 0
        if isinstance(value, ADTValue):
            constructor = value.constructor
            name = constructor.belong_to.name_hint, constructor.name_hint
            return "data", self._constructor_numbers.get(name, constructor.tag)
        if isinstance(value, VMClosure):
            return "closure", value.func_index
        if isinstance(value, int):
            return "int", value
        what = f"{type_in_words(value)} cannot be saved in a trace file"
        raise RunError(Diagnostic(what, hint="tensors, integers, tuples, ADT values and closures of the vm can"))


def read_values(
    entries: Any, tensor: Callable[[int], np.ndarray[Any, Any]], constructors: Mapping[int, Constructor], functions: int
) -> list[Any]:
    """Return the values of a table; `tensor` returns one by number, `functions` is the number of functions.

    Raises `KeyError`, `ValueError` or `TypeError` for malformed entries.
    """
    values: list[Any] = []
    for kind, number, indices in entries:
        if not all(0 <= index < len(values) for index in indices):
            raise ValueError("a value refers to a later one")
        fields = tuple([values[index] for index in indices])
        if kind == "tensor" and not fields:
            values.append(tensor(int(number)))
        elif kind == "int" and not fields and type(number) is int:
            values.append(number)
        elif kind == "tuple":
            values.append(fields)
        elif kind == "data" and len(constructors[number].inputs) == len(fields):
            values.append(ADTValue(constructors[number], fields))
        elif kind == "closure" and 0 <= int(number) < functions:
            values.append(VMClosure(int(number), fields))
        else:
            raise ValueError(f"there is no value `{kind}` {number} of {len(fields)} fields")
    return values


# The program of a trace by node in a file: Relay text, and the options of its compilation.


def program_of(trace: TraceData) -> str:
    """Return the program of a trace as text that parses to the same program. Raises `RunError` if it is unknown."""
    if trace.source is None:
        raise RunError("the program of this trace is unknown")
    return trace.source.astext()


def options_of(trace: TraceData) -> dict[str, Any]:
    """Return the options of the pass context of the compilation."""
    recording = trace.code_map.recording
    events = [] if recording is None else recording.runs
    if not events:
        return {}
    context = events[0].context
    return {
        "opt_level": context.opt_level,
        "required_pass": list(context.required_pass),
        "disabled_pass": list(context.disabled_pass),
    }


def read_program(text: str) -> IRModule:
    """Return the program of a file. Raises `ParseError`."""
    return parse(text, source_name="trace")


def run_again(cls: type[T], head: Mapping[str, Any], mod: IRModule, args: list[Any], most: int) -> T:
    """Run a program with the options in the head of a file, for at most `most` steps."""
    options, entry, kind = head["options"], str(head["entry"]), str(head["kind"])
    with limits.override(trace_instants=most):
        if not options:
            return record_nodes(cls, mod, args, entry, kind)
        required, disabled = map(str, options["required_pass"]), map(str, options["disabled_pass"])
        with PassContext(int(options["opt_level"]), list(required), list(disabled)):
            return record_nodes(cls, mod, args, entry, kind)


def compare(trace: TraceData, old: Log) -> None:
    """Check that a second run has the same log, and take over the times of the first. Raises `VerifyError`."""
    log = trace.log
    # In both directions, since each check accepts a second log that is longer.
    check_same(old, log, trace.finished)
    check_same(log, old, trace.finished)
    log.started, log.clock = old.started, old.clock


def lines_of(records: Sequence[Any], code_map: CodeMap) -> list[tuple[tuple[str, int], ...]]:
    """Return the source lines of each program point from a file. Raises `ValueError` where their number is wrong."""
    lines = [tuple([(str(name), int(line)) for name, line in pairs]) for pairs in records]
    if len(lines) != len(code_map):
        raise ValueError("the lines of its source do not fit its program")
    return lines


# Zip archives that may be hostile: all sizes are checked in the table of contents before anything is unpacked.

MOST_PER_BYTE = 1032  # bytes that deflate can make of one: 258 from 2 bits
_SLACK = 64  # bytes, so that a tiny part is not compared with its frame
Read = Callable[[int], bytes]


class Archive:
    """An open archive. Raises `VerifyError` for a wrong table of contents, `LimitError` for too many bytes.

    `texts` are the names of parts that are texts, which are read as far as a text may be long.
    """

    def __init__(self, file: zipfile.ZipFile, texts: Iterable[str]) -> None:
        self.file = file
        parts = file.infolist()
        if any(part.flag_bits & 1 for part in parts):  # bit 0: the part is encrypted
            raise VerifyError(Diagnostic("the file is encrypted", hint="a trace is never encrypted"))
        for part in parts:
            if part.file_size > MOST_PER_BYTE * part.compress_size + _SLACK:
                what = f"its table of contents is wrong: the part {part.filename[:40]!r}"
                raise VerifyError(
                    Diagnostic(
                        f"{what} cannot unpack to so many bytes",
                        expected=f"at most {MOST_PER_BYTE * part.compress_size + _SLACK:,} bytes",
                        found=f"{part.file_size:,} bytes",
                    )
                )
        limits.check("trace_bytes", sum(part.file_size for part in parts), "the contents of a trace file")
        names = set(texts)
        for part in parts:
            if part.filename in names:
                limits.check("text_bytes", part.file_size, f"the part {part.filename} of a trace")

    def size(self, name: str) -> int:
        """Return the number of bytes of a part, as the table of contents says. Raises `KeyError`."""
        return self.file.getinfo(name).file_size

    def part(self, name: str, announced: Callable[[Read], int] | None = None) -> bytes:
        """Return the bytes of a part; `announced` computes from its first bytes how many there are.

        Raises `ValueError` where that is another number than in the table of contents, before the rest is unpacked.
        """
        size = self.size(name)
        limits.check("tensor_bytes", size, f"the part {name} of a trace")
        try:
            with self.file.open(name) as stream:
                begin = bytearray()
                if announced is not None:
                    expected = announced(_collecting(stream, begin))
                    if expected != size:
                        raise ValueError(f"its part {name} has {size:,} bytes, and announces {expected:,}")
                # never all that there is: with a wrong table of contents, it might have no end
                return bytes(begin) + stream.read(size - len(begin))
        except OSError as error:  # its table of contents points past its end
            raise zipfile.BadZipFile(str(error)) from None


def _collecting(stream: IO[bytes], begin: bytearray) -> Read:
    """Return a function that reads from a stream, and keeps what it has read in `begin`."""

    def read(count: int) -> bytes:
        data = stream.read(count)
        begin.extend(data)
        return data

    return read


def write_archive(path: Path, files: Iterable[tuple[str, bytes | str]]) -> None:
    """Write an archive of named files atomically. The same files give the same bytes: the archive has no times."""
    with atomic_file(path) as unfinished, zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files:
            file.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


Item = TypeVar("Item")
FORMAT = "passlab trace"
VERSION = 2
TEXTS = ("head.json", "kernels.rly")  # the parts that are texts
MALFORMED = (KeyError, ValueError, TypeError, IndexError, AttributeError, RecursionError)


# ---------------------------------------------------------------- writing
def save(trace: TraceData, path: str | os.PathLike[str], forks: bool = True) -> None:
    """Write a trace, the traces that it branched off and, with `forks`, its forks.

    Raises `FileAccessError` and `RunError`.
    """
    runs = _runs(trace, forks)
    root, values = runs[0], ValueTable(_definitions(runs[0]))
    code, kernels = (b"", program_of(root)) if root.kind != "vm" else _bytecode(root)
    numbers = {id(run): number for number, run in enumerate(runs)}
    head = {
        "format": FORMAT,
        "version": VERSION,
        "kind": root.kind,
        "shown": numbers[id(trace)],
        "options": options_of(root) if root.kind != "vm" else {},
        "entry": root.entry,
        "args": [values.add(value) for value in root.args],
        "runs": [_run_record(run, numbers, values) for run in runs],
        "values": values.entries,
    }
    texts: list[tuple[str, bytes | str]] = [
        ("head.json", json.dumps(head)),
        ("program.bin", code),
        ("kernels.rly", kernels),
    ]
    tensors = ((f"tensors/{number}", tensor_record(array)) for number, array in enumerate(values.tensors))
    logs = ((f"runs/{n}/{name}", data) for n, run in enumerate(runs) for name, data in log_parts(run.log).items())
    write_archive(checked_path(path), chain(texts, tensors, logs))


def _definitions(root: TraceData) -> Iterable[TypeData]:
    """Return the data types of the program of a trace."""
    if root.kind != "vm":
        return () if root.source is None else root.source.type_definitions.values()
    definitions: Iterable[TypeData] = root.code_map.program.type_definitions
    return definitions


def _runs(trace: TraceData, forks: bool) -> list[TraceData]:
    """Return the traces that a trace branched off, the whole run first, the trace, and its forks with theirs."""
    runs = [trace]
    while runs[-1].parent is not None:
        runs.append(runs[-1].parent[0])
    runs.reverse()
    index = len(runs) - 1
    while forks and index < len(runs):
        runs += branches_of(runs[index])
        index += 1
    return runs


def _run_record(run: TraceData, numbers: dict[int, int], values: ValueTable) -> dict[str, Any]:
    """Return the entry of one run in `head.json`: all but its log."""
    shares_code = run.parent is not None and run.parent[0].code_map is run.code_map
    return {
        "parent": -1 if run.parent is None else numbers[id(run.parent[0])],
        "instant": 0 if run.parent is None else run.parent[1],
        "changes": [[register, values.add(value)] for register, value in run.changes.items()],
        "started": run.log.started,
        "end_pc": run.log.end_pc,
        "stopped": run.stopped,
        "error": None if run.error is None else run.error.diagnostics[0].message,
        "lines": None if shares_code else [[list(line) for line in lines] for lines in run.code_map.lines],
    }


def _bytecode(trace: TraceData) -> tuple[bytes, str]:
    code, library = trace.code_map.program.save()
    return code, library.text


# ---------------------------------------------------------------- reading
def load(path: str | os.PathLike[str], cls: type[T]) -> T:
    """Read the trace that was saved, as a `cls`, with its forks. Raises `FileAccessError` and `VerifyError`."""
    try:
        with zipfile.ZipFile(checked_path(path)) as file:
            return _Reader(Archive(file, TEXTS), cls).trace()
    except PasslabError:
        raise
    except MemoryError:
        raise LimitError(f"reading {path} needs more memory than there is") from None
    except OSError as error:
        raise FileAccessError(Diagnostic(f"{path} cannot be read: {error.strerror}")) from error
    except (
        zipfile.BadZipFile,
        RuntimeError,
        zlib.error,
        EOFError,
        NotImplementedError,
        OverflowError,
        *MALFORMED,
    ) as error:
        raise VerifyError(Diagnostic(f"{path} is not a trace: {type(error).__name__}: {error}")) from None


class _Columns:
    """The columns of one log in an archive."""

    def __init__(self, file: Archive, folder: str) -> None:
        self.file = file
        self.folder = folder

    def size(self, name: str) -> int:
        return self.file.size(f"{self.folder}/{name}")

    def part(self, name: str) -> bytes:
        return self.file.part(f"{self.folder}/{name}")


class _Reader(Generic[T]):
    """An archive, and the traces that were read from it."""

    def __init__(self, file: Archive, cls: type[T]) -> None:
        self.cls = cls
        self.file = file
        self.head = json.loads(file.part("head.json"))
        if self.head["format"] != FORMAT or self.head["version"] != VERSION:
            raise ValueError(f"its format is {self.head['format']!r}, version {self.head['version']!r}, not {VERSION}")
        self.runs: list[T] = []

    def trace(self) -> T:
        """Return the trace that was saved, with its forks and the traces that it branched off."""
        head, kernels = self.head, self.file.part("kernels.rly").decode()
        exe = None
        if head["kind"] == "vm":
            exe = Executable.load_exec(self.file.part("program.bin", bytecode_size), KernelLibrary(kernels))
        mod = read_program(kernels) if exe is None else IRModule()
        constructors = {number: c for c, number in constructor_numbers(mod.type_definitions.values()).items()}
        values = read_values(
            head["values"],
            lambda number: tensor_of_record(self.file.part(f"tensors/{number}", record_size)),
            constructors if exe is None else exe.constructors,
            0 if exe is None else len(exe.functions),
        )
        args = [_pick(values, index) for index in head["args"]]
        for number, run in enumerate(head["runs"]):
            log = read_log(_Columns(self.file, f"runs/{number}"), float(run["started"]), int(run["end_pc"]))
            if int(run["parent"]) >= 0 and number:
                run_trace = self._fork(run, log, values)
            elif number or int(run["parent"]) != -1:
                raise ValueError("exactly the first of its runs must begin at the start of the program")
            elif exe is None:
                # A recording that was stopped is stopped again after the same step.
                most = max(1, len(log)) if run["stopped"] else limits.current().trace_instants
                run_trace = _compare(run_again(self.cls, self.head, mod, args, most), run, log)
            else:
                run_trace = _with_values_on_demand(
                    self.cls(CodeMap(exe), log, args, str(self.head["entry"]), MachineEngine()), run
                )
                exe.function(run_trace.entry)  # raises an error for an unknown name
                # bytecode has no nodes, from which the code map would compute its lines
                run_trace.code_map.__dict__["lines"] = lines_of(run["lines"], run_trace.code_map)
            run_trace.stopped = run_trace.stopped or str(run["stopped"])
            self.runs.append(run_trace)
        shown: T = _pick(self.runs, head["shown"])
        return shown

    def _fork(self, run: dict[str, Any], log: Log, values: list[Any]) -> T:
        original: T = _pick(self.runs, run["parent"])
        instant = int(run["instant"])
        if not 0 <= instant < len(original) + (not original.finished):
            raise ValueError(f"a fork branches off at instant {instant} of a run with {len(original)}")
        changes = {int(register): _pick(values, index) for register, index in run["changes"]}
        if original.kind != "vm":
            before = instant + sum(start for _, start in _ancestors(original))
            most = before + max(1, len(log)) if run["stopped"] else limits.current().trace_instants
            with limits.override(trace_instants=most):
                branch = original.engine.run_on(original, instant, changes)
                assert isinstance(branch, self.cls)
                trace = _compare(branch, run, log)
        else:
            trace = _with_values_on_demand(
                self.cls(original.code_map, log, original.args, original.entry, MachineEngine()), run
            )
            trace.parent, trace.changes = (original, instant), changes
        remember(original, trace, keep=True)
        return trace


def _pick(items: Sequence[Item], index: Any) -> Item:
    """Return one item of a list. Raises `ValueError` for an index outside of it."""
    if not 0 <= int(index) < len(items):
        raise ValueError(f"it refers to number {index} of {len(items)}")
    return items[int(index)]


def _ancestors(trace: TraceData) -> Iterator[tuple[TraceData, int]]:
    """Yield the trace that a trace branched off and the instant, then the same for that trace, and so on."""
    while trace.parent is not None:
        yield trace.parent
        trace = trace.parent[0]


def _compare(trace: T, run: dict[str, Any], log: Log) -> T:
    if bool(trace.stopped) != bool(run["stopped"]) or (trace.error is None) != (run["error"] is None):
        raise VerifyError(DIFFERENT)
    compare(trace, log)
    if run["lines"] is not None:
        trace.code_map.__dict__["lines"] = lines_of(run["lines"], trace.code_map)
    return trace


# ---------------------------------------------------------------- values
def _with_values_on_demand(trace: T, run: dict[str, Any]) -> T:
    """Let a trace of the virtual machine compute its values on first use."""
    trace.stopped = str(run["stopped"])
    trace.error = None if run["error"] is None else RunError(str(run["error"]))
    check_log(trace.log, trace.code_map.functions, trace.finished)
    trace.reload = rerun
    return trace


def rerun(trace: TraceData) -> None:
    """Compute the values of a trace read from a file. Raises `VerifyError` where the run differs from the log."""
    old, most = trace.log, max(1, len(trace))
    log, result, error, stopped = _run_again(trace, most)
    log.write_out()
    check_same(old, log, trace.finished)
    if (error is None and not stopped) != trace.finished:
        raise VerifyError(DIFFERENT)
    trace.result = result
    trace.error = error or trace.error  # an interrupt of the user does not happen again
    old.segments, old.overwritten, old.dropped = log.segments, log.overwritten, log.dropped


def _run_again(trace: TraceData, most: int) -> tuple[Log, Any, PasslabError | None, str]:
    """Run a trace again; return the log, the result, the error, and why recording stopped."""
    memory = limits.current().trace_bytes
    result, error = None, None
    if trace.parent is None:
        exe = trace.code_map.program
        machine = TracingMachine(exe, memory, most)
        try:
            result = machine.trace(exe.global_map[trace.entry], trace.args)
        except PasslabError as raised:
            error = raised
        return machine.log, result, error, machine.stopped
    machine, frames, numbers, unwritten = fork_at(*trace.parent, trace.changes, memory, most)
    try:
        result = machine.resume(frames, numbers, unwritten, most)
    except PasslabError as raised:
        error = raised
    return machine.log, result, error, machine.stopped
