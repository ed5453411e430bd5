"""The log of a trace as columns for a browser: the instruction at each instant, and the number of the value it wrote.

Columns are short because programs repeat themselves: consecutive instructions are one run, the value that an
instruction always writes is stored once, and times are stored for kernels only. `Run` in `steprun.js` reads these
columns.
"""

from __future__ import annotations

import base64
from bisect import bisect_left
from functools import cached_property
from typing import Any

import numpy as np

from passlab.debugger.code_map import CALL, KERNEL, RETURN
from passlab.debugger.trace import Trace
from passlab.debugger.values import Unwritten
from passlab.debugger.writers import changes_of
from passlab.display.views.step_values import NOTHING, WAITING, StepValues
from passlab.vm.isa import Opcode

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
                self._leave(frame, value)
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

    def _leave(self, frame: int, value: Any) -> None:
        back = self.trace.log.parent[frame]
        self.registers.pop(frame, None)
        if back >= 0:
            self.registers[back][self.trace.log.result_register[frame]] = value


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
                self._wrote(events[place - 1], register, number)
            elif register < len(params):
                params[register] = number

    def _wrote(self, event: int, register: int, number: int) -> None:
        results = self.trace.code_map.results(int(self.trace.point[event]))
        if results and register != results[0]:
            self.more.setdefault(event, []).extend((register, number))
        else:
            self.seen[event] = number
