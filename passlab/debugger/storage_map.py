"""`StorageMap`: the memory of a traced run: when each storage was allocated and released, and the live bytes.

One sweep over the trace follows which storages each register keeps alive, and counts references as Python does: through
moves, tuples, data values, closures, calls and returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from passlab.debugger.code_map import CALL, RETURN
from passlab.debugger.trace_data import TraceData
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.objects import size_class


@dataclass(frozen=True)
class Allocation:
    """A storage: the instants `born` and `died` of its live range (one past the last for the result), and its bytes.

    `point` is the program point that allocated it, `lane` the block of memory it would have in a pool, `reused` whether
    another storage had that block before.
    """

    number: int
    born: int
    died: int
    bytes: int
    point: int
    lane: int
    reused: bool

    def __str__(self) -> str:
        again = ", reused memory" if self.reused else ""
        return f"storage {self.number}: {self.bytes:,} bytes, from instant {self.born:,} to {self.died:,}{again}"


class StorageMap:
    """All allocations of a run, in order."""

    def __init__(self, allocations: list[Allocation], length: int) -> None:
        self.allocations = allocations
        self.length = length

    @cached_property
    def live(self) -> np.ndarray[Any, Any]:
        """The live bytes at each instant."""
        # Differences first, then their running sum: linear in instants and storages.
        change = np.zeros(self.length + 2, np.int64)
        for a in self.allocations:
            change[a.born] += a.bytes
            change[a.died] -= a.bytes
        return np.cumsum(change)[: self.length + 1]

    @property
    def peak(self) -> tuple[int, int]:
        """The largest number of live bytes, and its first instant."""
        instant = int(np.argmax(self.live)) if self.live.size else 0
        return int(self.live[instant]), instant

    @property
    def total(self) -> int:
        """The bytes of all storages."""
        return sum(a.bytes for a in self.allocations)

    def at(self, instant: int) -> list[Allocation]:
        """Return the storages that are live at an instant."""
        return [a for a in self.allocations if a.born <= instant < a.died]

    def __len__(self) -> int:
        return len(self.allocations)

    def __repr__(self) -> str:
        peak, instant = self.peak
        return f"<{len(self):,} storages, {self.total:,} bytes in all, at most {peak:,} live (instant {instant:,})>"


class _LiveValue:
    """A storage (its number), or a value (-1) with parts that are storages. `count` is the number of references."""

    __slots__ = ("count", "number", "parts")

    def __init__(self, number: int, parts: Sequence[_LiveValue | None] = ()) -> None:
        self.count = 0
        self.number = number
        self.parts = parts


Registers = list[_LiveValue | None]


class _Sweep:
    """One sweep over a trace, with the reference counts of its storages."""

    def __init__(self, trace: TraceData) -> None:
        self.trace = trace
        self.born: list[int] = []
        self.died: list[int] = []
        self.size: list[int] = []
        self.point: list[int] = []
        self.now = 0
        self.frames: dict[int, Registers] = {}

    def run(self) -> None:
        trace, log = self.trace, self.trace.log
        functions = trace.code_map.functions
        callees = dict(zip(log.created, range(len(log.created)), strict=True))
        saved = log.segments[0].top if log.segments else None
        while saved is not None:
            self.frames[saved.number] = [None] * functions[saved.func_index].register_file_size
            saved = saved.below
        roles, instructions = trace.code_map.role.tolist(), trace.code_map.instructions
        for event, (point, frame) in enumerate(zip(trace.point.tolist(), trace.frame_of.tolist(), strict=True)):
            self.now = event + 1
            instruction, registers = instructions[point], self.frames[frame]
            if roles[point] == CALL:
                callee = callees[event]
                self.frames[callee] = self._arguments(instruction, registers, log.function[callee])
                if log.parent[callee] != frame:  # a tail call replaces its frame
                    self._leave(frame)
            elif roles[point] == RETURN:
                value, caller = registers[instruction.operands[0]], log.parent[frame]
                if caller >= 0:
                    self._put(self.frames[caller], log.result_register[frame], value)
                    self._leave(frame)
            else:
                self._execute(event, point, instruction, registers)

    def _arguments(self, instruction: Instruction, registers: Registers, func: int) -> Registers:
        size = self.trace.code_map.functions[func].register_file_size
        args = [registers[r] for r in instruction.args]
        if instruction.opcode is Opcode.INVOKE_CLOSURE:
            closure = registers[instruction.operands[0]]
            count = len(self.trace.code_map.functions[func].params) - len(args)
            args = [*(closure.parts if closure else [None] * count), *args]
        result: Registers = [None] * size
        for register, value in enumerate(args):
            self._put(result, register, value)
        return result

    def _execute(self, event: int, point: int, instruction: Instruction, registers: Registers) -> None:
        opcode = instruction.opcode
        dst = self.trace.code_map.written[point]
        if dst < 0:
            return
        value: _LiveValue | None = None
        if opcode is Opcode.ALLOC_STORAGE:
            value = _LiveValue(len(self.born))
            self.born.append(self.now)
            self.died.append(-1)
            segment, _ = self.trace.segment(event)
            assert segment.values is not None
            self.size.append(int(segment.values[event - segment.start].buffer.size))
            self.point.append(point)
        elif opcode in (Opcode.ALLOC_ADT, Opcode.ALLOC_CLOSURE):
            parts = [registers[r] for r in instruction.operands[2]]
            if any(parts):
                value = _LiveValue(-1, parts)
                for part in parts:
                    if part is not None:
                        part.count += 1
        elif opcode is Opcode.GET_FIELD:
            whole = registers[instruction.operands[0]]
            value = whole.parts[instruction.operands[1]] if whole is not None and whole.parts else None
        elif opcode in (Opcode.MOVE, Opcode.ALLOC_TENSOR, Opcode.ALLOC_TENSOR_REG, Opcode.RESHAPE_TENSOR):
            value = registers[instruction.operands[0]]
        self._put(registers, int(dst), value)

    def _put(self, registers: Registers, register: int, value: _LiveValue | None) -> None:
        # The new value is counted before the old one is dropped, since both may be the same object.
        old = registers[register]
        registers[register] = value
        if value is not None:
            value.count += 1
        if old is not None:
            self._drop(old)

    def _leave(self, frame: int) -> None:
        for value in self.frames.pop(frame):
            if value is not None:
                self._drop(value)

    def _drop(self, value: _LiveValue) -> None:
        stack = [value]
        while stack:
            value = stack.pop()
            value.count -= 1
            if value.count == 0:
                if value.number >= 0:
                    self.died[value.number] = self.now
                stack.extend(part for part in value.parts if part is not None)


def storage_map(trace: TraceData) -> StorageMap:
    """Return the storages of a run on the virtual machine; none for traces of other executors."""
    if trace.kind != "vm":
        return StorageMap([], len(trace))
    sweep = _Sweep(trace)
    sweep.run()
    end = len(trace) + 1
    return StorageMap(_assign_lanes(sweep, end), len(trace))


def _assign_lanes(sweep: _Sweep, end: int) -> list[Allocation]:
    """Assign each storage a lane of a pool: a free one of its size class, else a new one."""
    free: dict[int, list[int]] = {}
    ending: dict[int, list[tuple[int, int]]] = {}
    allocations, lanes, used = [], 0, set()
    order = sorted({*sweep.born, *(d for d in sweep.died if d >= 0)})
    by_birth: dict[int, list[int]] = {}
    for number, born in enumerate(sweep.born):
        by_birth.setdefault(born, []).append(number)
    for moment in order:
        # Storages that die at a moment make room for those that are born then.
        for group, lane in ending.pop(moment, ()):
            free.setdefault(group, []).append(lane)
        for number in by_birth.get(moment, ()):
            group = size_class(sweep.size[number])
            if free.get(group):
                lane = free[group].pop()
            else:
                lane, lanes = lanes, lanes + 1
            died = sweep.died[number] if sweep.died[number] >= 0 else end
            ending.setdefault(died, []).append((group, lane))
            size, point = sweep.size[number], sweep.point[number]
            allocations.append(Allocation(number, moment, died, size, point, lane, lane in used))
            used.add(lane)
    return allocations
