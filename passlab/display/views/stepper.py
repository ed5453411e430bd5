"""The view of a trace: the stepper. Its data has everything that stepping needs, so it works without a kernel.

The browser gets the log (instructions, frames, the number of the value that each instruction wrote), not states: it
finds the registers of any instant as `lab.Trace` does, by the last write before it.

The file begins with the values of a trace as data for a browser: each once, in a line of text, tensors with a small
picture.
"""

from __future__ import annotations

import base64
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from typing import Any

import numpy as np

from passlab import limits
from passlab.debugger.code_map import CALL, KERNEL, RETURN
from passlab.debugger.debugger import Debugger
from passlab.debugger.storage_map import Allocation
from passlab.debugger.trace import Trace
from passlab.debugger.values import Unwritten, short_text
from passlab.debugger.writers import changes_of
from passlab.display.graphs.heap import heap_of
from passlab.display.nodes import line_numbers, number_of
from passlab.display.text.listing import LineTable, listing
from passlab.display.view import HasFrame, View
from passlab.display.view_parts import Code, Part, Sentence
from passlab.display.views.tensors import nonfinite_code, picture
from passlab.errors import visible
from passlab.evaluate.values import value_text
from passlab.ir.expr import Expr
from passlab.vm.isa import Opcode
from passlab.vm.objects import Storage

PICTURES = 700  # tensors drawn beforehand
HEAPS = 300  # data values and closures
# numbers of values: a register that was cleared, a value that is sent later, and no write at all
EMPTY, WAITING, NOTHING = 0, 1, -1


class StepValues:
    """Collects values; `add` returns the number of one."""

    def __init__(self, pictures: int = PICTURES) -> None:
        self.texts: list[str] = ["", "..."]
        self.nonfinite: list[int] = [0, 0]
        self.pictures: dict[int, Any] = {}
        self.heaps: dict[int, list[list[Any]]] = {}
        self.room = pictures
        self.tensors: dict[int, np.ndarray[Any, Any]] = {}  # those without a picture, by number
        self._by_text: dict[Any, int] = {}
        self._unwritten: dict[Any, int] = {}
        self._scalars: dict[Any, int] = {}
        self._storages: dict[int, int] = {}
        self._by_object: dict[
            tuple[int, bool], tuple[Any, int]
        ] = {}  # the object is kept, so that its id stays its own

    def add(self, value: Any, written: bool = True) -> int:
        """Return the number of a value; a tensor has another number before anything was `written` into it."""
        if value is None:
            return EMPTY
        if isinstance(value, int):
            return self._text(str(value), 0)
        key = (id(value), written)
        cached = self._by_object.get(key)
        if cached is not None:
            return cached[1]
        if isinstance(value, np.ndarray):
            number = self._tensor(value, written)
            if value.ndim == 0 or not written:
                return number  # found again by what it is
        elif type(value) is Storage:
            size = value.buffer.size
            if size not in self._storages:
                self._storages[size] = self._text(_line(value), 0)
            return self._storages[size]
        else:
            number = self._drawn(value)
        self._by_object[key] = (value, number)
        return number

    def _tensor(self, value: np.ndarray[Any, Any], written: bool) -> int:
        if not written:
            kind = value.shape, value.dtype
            if kind not in self._unwritten:
                self._unwritten[kind] = self._text(str(Unwritten(*kind)), 0)
            return self._unwritten[kind]
        if value.ndim == 0:
            key = value.dtype, value.tobytes()
            cached = self._scalars.get(key)
            if cached is None:
                text = f"{value.item()!r} {_name(value.dtype)}"
                cached = self._scalars[key] = self._text(text, nonfinite_code(value))
            return cached
        number = len(self.texts)
        self.texts.append(visible(short_text(value)))
        self.nonfinite.append(nonfinite_code(value))
        if self.room > 0:
            self.room -= 1
            drawn = picture(value)
            if drawn is not None:
                self.pictures[number] = drawn
        else:
            self.tensors[number] = value
        return number

    def _drawn(self, value: Any) -> int:
        """The number of a value that is shown as a line; objects that refer to others have a drawing as well."""
        boxes = heap_of(value) if len(self.heaps) < HEAPS else None
        if boxes is None:
            return self._text(_line(value), 0)
        number = len(self.texts)
        self.texts.append(visible(_line(value)))
        self.nonfinite.append(0)
        self.heaps[number] = boxes
        return number

    def _text(self, text: str, nonfinite: int) -> int:
        number = self._by_text.get(text)
        if number is None:
            number = self._by_text[text] = len(self.texts)
            self.texts.append(visible(text))
            self.nonfinite.append(nonfinite)
        return number

    def data(self) -> dict[str, Any]:
        """Return all of it as JSON-able data."""
        nonfinite = {number: kind for number, kind in enumerate(self.nonfinite) if kind}
        return {
            "texts": self.texts,
            "nonfinite": nonfinite,
            "pictures": self.pictures,
            "heaps": self.heaps,
            "late": sorted(self.tensors),
        }


@cache
def _name(dtype: np.dtype[Any]) -> str:
    """The name of a dtype; NumPy computes it each time, which is slow."""
    return dtype.name


def _line(value: Any) -> str:
    if isinstance(value, tuple):
        return short_text(value)
    text = short_text(value, 160)
    return text or value_text(value, 12)


# The log of a trace as columns for a browser: the instruction at each instant, and the number of the value it
# wrote.

TIME_STEPS = 2000  # times are sent as logarithms: to a twentieth of a percent
VARIES = -2  # of an instruction that writes different values
SLICE = 8000  # instructions: what takes some 50 ms
BACK, AHEAD = 500, 3000  # the instants around the first one whose values are sent before all others
_ALLOCATE = (Opcode.ALLOC_TENSOR, Opcode.ALLOC_TENSOR_REG)

Column = np.ndarray[Any, Any]


def pack(numbers: Any) -> str:
    """Return whole numbers from -1 on as text: how many bytes each takes, then, each one more, little-endian in base64.

    `ints` of `steprun.js` reads it.
    """
    array = np.asarray(numbers).astype(np.int64) + 1
    most = int(array.max(initial=0))
    size = 1 if most < 1 << 8 else 2 if most < 1 << 16 else 4
    return f"{size}{base64.b64encode(array.astype(f'<u{size}').tobytes()).decode('ascii')}"


def log_data(sweep: Sweep) -> dict[str, Any]:
    """Return the columns of the instructions that a sweep has gone through as JSON-able data."""
    trace, length = sweep.trace, sweep.length
    log, point = trace.log, trace.point[:length]
    starts = np.flatnonzero(np.diff(point, prepend=-2) != 1)
    switched_at, switched_to = np.array(log.switched_at, np.int64), np.array(log.switched_to, np.int64)
    switched_at, switched_to = switched_at[switched_at <= length], switched_to[switched_at <= length]
    kernels = trace.seconds[:length][trace.role[:length] == KERNEL]
    frames = len(log.parent)
    return {
        "runs": pack(np.diff(starts, append=length)),
        "runPoints": pack(point[starts]),
        **_by_point(point, sweep.values(), len(trace.code_map)),
        "more": sweep.more,
        "micros": pack(np.rint(np.log1p(np.maximum(kernels, 0) * 1e6) * TIME_STEPS)),
        "switches": pack(np.diff(switched_at, append=length)),
        "switchedTo": pack(switched_to),
        "parent": pack(log.parent),
        "function": pack(log.function),
        "created": pack(log.created),
        "result": pack(log.result_register),
        "depth": pack(log.depth),
        **_argument_data(sweep.arguments, frames),
        "waits": _waits(trace),
    }


def _by_point(point: Column, values: Column, points: int) -> dict[str, Any]:
    """The value that each program point always writes, and the values of the points that write different ones."""
    always = np.full(points, NOTHING, np.int64)
    always[point[::-1]] = values[::-1]  # what it wrote first
    other = values != always[point]
    always[point[other]] = VARIES
    return {"always": always.tolist(), "value": pack(values[always[point] == VARIES])}


def _argument_data(params: dict[int, list[int]], frames: int) -> dict[str, str]:
    """The values that frames began with, and their number for each frame."""
    counts = [len(params.get(frame, ())) for frame in range(frames)]
    return {
        "given": pack([number for frame in range(frames) for number in params.get(frame, ())]),
        "givenCount": pack(counts),
    }


def _waits(trace: Trace) -> dict[int, int]:
    """Where the frames that a run began with continue: more than one in a fork."""
    waits: dict[int, int] = {}
    at = trace.log.segments[0].top if trace.log.segments else None
    while at is not None:
        waits[at.number] = at.pc
        at = at.below
    return waits


class Sweep:
    """One traversal of the log that numbers the values: those that instructions wrote, and the arguments of frames.

    It goes through the first `length` instructions, some thousands at a time, so that other work can run in between.
    """

    def __init__(self, trace: Trace, numbers: StepValues, length: int) -> None:
        self.trace = trace
        self.numbers = numbers
        self.length = length
        self.written: list[int] = []
        self.more: dict[int, list[int]] = {}
        self.arguments: dict[int, list[int]] = {}
        self.registers: dict[int, list[Any]] = {}

    def advance(self, count: int = SLICE) -> bool:
        """Go through the next instructions; return whether there are more."""
        done = len(self.written)
        if not done:
            self._first()
        self.written += self._between(done, min(self.length, done + count))
        return len(self.written) < self.length

    def values(self) -> Column:
        """Return the number of the value that each instruction wrote, after going through the rest."""
        while self.advance():
            pass
        return np.array(self.written, np.int64)

    @cached_property
    def _created_frames(self) -> dict[int, int]:
        """The frames by the instruction that created them."""
        return {created: frame for frame, created in enumerate(self.trace.log.created)}

    def _between(self, first: int, last: int) -> list[int]:
        """Return the numbers of the values that a range of instructions wrote; `registers` are those at its start."""
        trace, add, registers = self.trace, self.numbers.add, self.registers
        code, log = trace.code_map, trace.log
        roles, written = code.role.tolist(), code.written.tolist()
        results = [code.results(s) for s in range(len(code))]
        unwritten = [getattr(i, "opcode", None) in _ALLOCATE for i in code.instructions]
        numbers: list[int] = []
        put = numbers.append
        values: list[Any] = []
        start = end = 0
        instants = zip(trace.point[first:last].tolist(), trace.frame_of[first:last].tolist(), strict=True)
        for event, (point, frame) in enumerate(instants, first):
            if event >= end:
                segment, _ = trace.segment(event)
                values, start = segment.values or [], segment.start
                end = start + len(values)
            value, role = values[event - start], roles[point]
            if role == KERNEL and results[point]:
                objects = registers[frame]
                outputs = [
                    add(trace.value_at(objects[r], event + 1) if log.overwritten else objects[r])
                    for r in results[point]
                ]
                put(outputs[0])
                if len(outputs) > 1:
                    self.more[event] = [n for pair in zip(results[point][1:], outputs[1:], strict=True) for n in pair]
            elif role == CALL:
                self._enter(self._created_frames[event], value)
                put(NOTHING)
            elif role == RETURN:
                put(add(value))
                back = self.trace.log.parent[frame]
                self.registers.pop(frame, None)
                if back >= 0:
                    self.registers[back][self.trace.log.result_register[frame]] = value
            elif written[point] < 0:
                put(NOTHING)
            else:
                registers[frame][written[point]] = value
                put(add(value, not unwritten[point]))
        return numbers

    def _first(self) -> None:
        """The frames that the run began with."""
        at = self.trace.log.segments[0].top if self.trace.log.segments else None
        while at is not None:
            size = self.trace.code_map.functions[at.func_index].register_file_size
            self.registers[at.number] = [*at.objects(), *[None] * (size - len(at.registers))]
            objects = [self.trace.value_at(v, 0) for v in at.objects()]
            self.arguments[at.number] = [
                self.numbers.add(v, not isinstance(h, Unwritten)) for v, h in zip(at.objects(), objects, strict=True)
            ]
            at = at.below

    def _enter(self, frame: int, args: tuple[Any, ...]) -> None:
        trace = self.trace
        size = trace.code_map.functions[trace.log.function[frame]].register_file_size
        self.registers[frame] = [*args, *[None] * (size - len(args))]
        self.arguments[frame] = [self.numbers.add(value) for value in args]


class _Registers(dict[int, list[Any]]):
    """The registers of frames at an instant, looked up when they are first asked for."""

    def __init__(self, trace: Trace, instant: int) -> None:
        super().__init__()
        self.trace = trace
        self.instant = instant

    def __missing__(self, frame: int) -> list[Any]:
        self[frame] = objects = self.trace.registers(frame, self.instant)
        return objects


class PartialSweep(Sweep):
    """The values near an instant only, and all values in the registers of its frame."""

    def __init__(self, trace: Trace, numbers: StepValues, length: int, at: int) -> None:
        super().__init__(trace, numbers, length)
        self.at = at
        self.seen: Column = np.zeros(0, np.int64)

    def values(self) -> Column:
        """Return the numbers of the values that can be seen near the instant; all others are `WAITING`."""
        trace, written = self.trace, self.trace.code_map.written
        first, last = max(0, self.at - BACK), min(self.length, self.at + AHEAD)
        produced = (written[trace.point[: self.length]] >= 0) | np.isin(trace.role[: self.length], (KERNEL, RETURN))
        self.seen = np.where(produced, WAITING, NOTHING)
        self.registers = _Registers(trace, first)
        if first == 0:
            self._first()
        self.seen[first:last] = self._between(first, last)
        self._before(trace.current(first)[0], first)
        return self.seen

    def _before(self, running: int, first: int) -> None:
        """Add the older values in the registers of the current frame; other frames wait."""
        trace, functions = self.trace, self.trace.code_map.functions
        for frame, function in enumerate(trace.log.function):
            self.arguments.setdefault(frame, [WAITING] * len(functions[function].params))
        if running < 0 or first == 0:
            return
        params = self.arguments[running]
        for register, value in enumerate(trace.registers(running, first)):
            number = self.numbers.add(trace.value_at(value, first))
            events = changes_of(trace, running, register) if value is not None or register < len(params) else []
            place = bisect_left(events, first)
            if place:
                event = events[place - 1]
                results = self.trace.code_map.results(int(self.trace.point[event]))
                if results and register != results[0]:
                    self.more.setdefault(event, []).extend((register, number))
                else:
                    self.seen[event] = number
            elif register < len(params):
                params[register] = number


STATIC_INSTRUCTIONS = 60  # that static HTML and text show
LARGE = 5000  # instructions: what takes some 50 ms
STRIP = 1500  # storages, and points of the curve of live bytes, that the strip shows
_NO_STORAGE: dict[str, Any] = {"live": [], "peak": 0, "peakAt": 0, "total": 0, "blocks": [], "lanes": 0, "count": 0}
EXECUTORS = {"vm": "virtual machine", "graph": "graph executor", "debug": "evaluator"}


class StepperView(View):
    """A recorded run to step through. It opens at the debugger's instant, with its breakpoints."""

    kind = script = "stepper"
    whole = "frame() has all"

    def __init__(self, debugger: Debugger) -> None:
        self.debugger = debugger
        self.trace = debugger.trace
        self.values = StepValues()

    @cached_property
    def title(self) -> str:
        """The function, the executor, and the length of the run."""
        return f"@{self.trace.entry} on the {EXECUTORS[self.trace.kind]}: {self.trace.summary()}"

    def parts(self) -> Iterable[Part]:
        trace = self.trace
        here = self.debugger.at
        start = 0 if here < STATIC_INSTRUCTIONS else here - STATIC_INSTRUCTIONS // 2
        end = min(len(trace), start + STATIC_INSTRUCTIONS)
        yield Sentence(self.title, "muted")
        if start:
            yield Sentence(f"... {start:,} instructions before", "muted")
        yield Code("\n".join(_rows(trace, start, end, here)))
        if end < len(trace):
            yield Sentence(f"... {len(trace) - end:,} more instructions", "muted")
        if trace.error is not None:
            yield Sentence(f"failed: {trace.error.diagnostics[0].message}", "bad")

    def source(self) -> HasFrame:
        """Return one row per instruction."""
        return self.trace

    # ------------------------------------------------------------ data
    @property
    def is_large(self) -> bool:
        """Whether the run is so long that the values near the shown instant are sent first."""
        return len(self.trace) > LARGE

    def data(self, only_start: bool = False) -> dict[str, Any]:
        """Return the data of the widget; with `only_start`, only the values near the debugger's instant."""
        values, length = StepValues(), self._length
        if only_start:
            return self._data(PartialSweep(self.trace, values, length, min(self.debugger.at, length)), partial=True)
        return self._data(Sweep(self.trace, values, length))

    def slices(self) -> Iterator[dict[str, Any] | None]:
        """Do the work of `data()` in slices: None after each, and the data at the end."""
        sweep = Sweep(self.trace, StepValues(), self._length)
        while sweep.advance():
            yield None
        yield self._data(sweep)

    def _data(self, sweep: Sweep, partial: bool = False) -> dict[str, Any]:
        trace, length, table = self.trace, sweep.length, LineTable()
        self.values = sweep.numbers
        return {
            "kind": self.kind,
            "title": visible(self.title),
            "executor": trace.kind,
            "length": length,
            "left_out": len(trace) - length,
            "at": min(self.debugger.at, length),
            "end": self._end(length),
            "functions": self._functions(),
            "code": self._code(table),
            **log_data(sweep),
            "values": self.values.data(),
            "storage": _NO_STORAGE if partial else self._storage(length),
            "partial": partial,
            "breaks": [
                {"text": visible(b.text), "points": list(getattr(b, "points", ()))} for b in self.debugger.breakpoints
            ],
            "fork": trace.parent[1] if trace.parent is not None else -1,
            **table.data(),
        }

    @property
    def _length(self) -> int:
        return min(len(self.trace), limits.current().shown_instants)

    def _end(self, length: int) -> dict[str, Any]:
        trace = self.trace
        if length < len(trace):
            return {"what": "more", "text": f"{len(trace) - length:,} more instructions are in the trace"}
        if trace.error is not None:
            return {
                "what": "failed",
                "text": visible(trace.error.diagnostics[0].message),
                "pc": trace.current(length)[1],
            }
        if trace.stopped:
            return {"what": "stopped", "text": visible(trace.stopped), "pc": trace.current(length)[1]}
        return {"what": "ended", "text": "the program has ended", "result": self.values.add(trace.result)}

    def _functions(self) -> list[dict[str, Any]]:
        code = self.trace.code_map
        return [
            {
                "name": visible(f.name),
                "params": [visible(p) for p in f.params],
                "base": base,
                "size": f.register_file_size,
            }
            for f, base in zip(code.functions, code.offsets, strict=False)
        ]

    def _code(self, table: LineTable) -> dict[str, Any]:
        """The facts about each instruction, with the lines of its source, its kernel, and its history."""
        code = self.trace.code_map
        sources = _InstructionSources(self.trace, table)
        every = range(len(code))
        return {
            "texts": [visible(code.text(s)) for s in every],
            "names": [visible(code.name(s)) for s in every],
            "kinds": [code.mnemonic(s) for s in every],
            "operators": [code.operators(s) for s in every],
            "roles": code.role.tolist(),
            "written": code.written.tolist(),
            "reads": [list(code.reads(s)) for s in every],
            "results": [list(code.results(s)) for s in every],
            "changes": [list(code.changes(s)) for s in every],
            "calls": [_argument_registers(code, s) for s in every],
            "source": [sources.of(s) for s in every],
            "kernel": [sources.kernel(s) for s in every],
            "histories": [sources.history(s) for s in every],
            "nodes": [self._nodes(s) for s in every],
            "programNodes": sources.program_nodes,
            "places": [
                ", ".join(f"{visible(n)}:{line}" for n, line in lines_of_point) for lines_of_point in code.lines
            ],
            "program": sources.program,
            "kernels": sources.kernels,
            "biographies": sources.biographies,
        }

    def _nodes(self, point: int) -> list[int]:
        """The numbers of the nodes that an instruction computes, and of all their earlier forms."""
        code = self.trace.code_map
        numbers = {number_of(node): None for node in code.sources(point)}
        for node in code.nodes(point):
            numbers[number_of(node)] = None
            chapters = code.recording.biography(node).chapters if code.recording is not None else ()
            numbers.update((number_of(chapter.node), None) for chapter in chapters)
        return list(numbers)

    def _storage(self, length: int) -> dict[str, Any]:
        storage = self.trace.storage
        peak, at = storage.peak
        live = storage.live[: length + 1]
        change = np.flatnonzero(np.diff(live, prepend=-1))
        if change.size > STRIP:  # of each range the highest moment
            parts = np.array_split(change, STRIP)
            change = np.array([part[np.argmax(live[part])] for part in parts])
        blocks = _blocks(storage.allocations, length)
        return {
            "live": [[int(i), int(live[i])] for i in change],
            "peak": peak,
            "peakAt": at,
            "total": storage.total,
            "blocks": blocks,
            "lanes": 1 + max((block[2] for block in blocks), default=-1),
            "count": len(storage),
        }


def stepper_view(program: Trace | Debugger) -> StepperView:
    """Return the view of a trace, or of a debugger at its instant.

    >>> dbg = passlab.Debugger(passlab.parse("def @main(%x: float32) { %x + 1f }"), np.float32(2))
    >>> print(display.stepper_view(dbg).text().splitlines()[0])
    @main on the virtual machine: 8 instructions, 1 kernel call
    """
    return StepperView(program if isinstance(program, Debugger) else Debugger(program))


def _rows(trace: Trace, start: int, end: int, here: int) -> list[str]:
    """A range of instructions, one a line, the next one marked."""
    lines = []
    for event in range(start, end):
        point = int(trace.point[event])
        name = trace.code_map.functions[trace.code_map.function[point]].name
        text = f"{'  ' * min(int(trace.depth[event]), 8)}{trace.code_map.text(point)}"
        lines.append(f"{'>' if event == here else ' '} {event:>5}  @{name} {trace.code_map.pc[point]:>3}  {text}")
    return lines


def _blocks(allocations: Iterable[Allocation], length: int) -> list[list[int]]:
    """The storages as blocks: born, died, lane, reused. If there are many, neighbours in a lane are merged."""
    shown = [a for a in allocations if a.born <= length]
    apart = length // STRIP if len(shown) > STRIP else -1
    last: dict[int, list[int]] = {}
    blocks: list[list[int]] = []
    for a in shown:
        died, before = min(a.died, length + 1), last.get(a.lane)
        if before is not None and before[3] and a.born - before[1] <= apart:
            before[1] = died
            continue
        last[a.lane] = [a.born, died, a.lane, int(a.reused)]
        blocks.append(last[a.lane])
    return blocks[: 4 * STRIP]


def _argument_registers(code: Any, point: int) -> list[int]:
    if code.role[point] != CALL:
        return []
    instruction = code.instructions[point]
    return list(instruction.given) if hasattr(instruction, "given") else list(instruction.args)


# ---------------------------------------------------------------- source, kernels, histories
class _InstructionSources:
    """The source lines, kernels and histories of instructions, each different one once."""

    def __init__(self, trace: Trace, table: LineTable) -> None:
        self.trace = trace
        self.table = table
        self.kernels: list[list[int]] = []
        self.biographies: list[list[str]] = []
        self._kernels: dict[int, int] = {}
        self._histories: dict[tuple[str, ...], int] = {}
        self._line_of: dict[Expr, int] = {}
        self.program_nodes: list[int] = []
        self.program = self._program()

    def _program(self) -> list[int]:
        """The lines of the program as it was written."""
        program = self.trace.source
        if program is None:
            return []
        lines = listing(program)
        self.program_nodes = line_numbers(lines)
        for number, line in enumerate(lines):
            for token in line.tokens:
                for node in (token.call, token.node):
                    if isinstance(node, Expr):
                        self._line_of.setdefault(node, number)
            if line.subject is not None:
                self._line_of[line.subject] = number
        return [self.table.add(line) for line in lines]

    def of(self, point: int) -> list[int]:
        """The lines of the program that an instruction comes from."""
        return sorted({self._line_of[n] for n in self.trace.code_map.sources(point) if n in self._line_of})

    def kernel(self, point: int) -> int:
        """The number of the listing of an instruction's kernel, -1 for none."""
        function = self.trace.code_map.kernel(point)
        if function is None:
            return -1
        if id(function) not in self._kernels:
            self._kernels[id(function)] = len(self.kernels)
            self.kernels.append([self.table.add(line) for line in listing(function)])
        return self._kernels[id(function)]

    def history(self, point: int) -> int:
        """The number of the histories of an instruction's nodes, -1 if the compilation was not recorded."""
        recording = self.trace.code_map.recording
        produces = self.trace.code_map.role[point] == KERNEL or self.trace.code_map.mnemonic(point) == "load_const"
        if recording is None or not produces:
            return -1
        histories = tuple(visible(str(recording.biography(node))) for node in self.trace.code_map.nodes(point))
        if histories not in self._histories:
            self._histories[histories] = len(self.biographies)
            self.biographies.append(list(histories))
        return self._histories[histories]
