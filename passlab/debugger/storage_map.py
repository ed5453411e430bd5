"""`StorageMap`: the memory of a traced run: what was allocated when, who gave it up, how much was live.

The registers of the run are gone through once more in order, holding only which storages each keeps alive, and counted
as Python counts references: through moves, tuples, data values, closures, calls and returns.
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
    """A storage: the instants it came to be and was given up (that of the end for what lived on), its bytes.

    `lane` is the piece of memory it would have in a pool; `reused` whether another storage had that piece before.
    """

    number: int
    born: int
    died: int
    bytes: int
    site: int
    lane: int
    reused: bool

    def __str__(self) -> str:
        again = ", memory used before" if self.reused else ""
        return f"storage {self.number}: {self.bytes:,} bytes, from instant {self.born:,} to {self.died:,}{again}"


class StorageMap:
    """All allocations of a run, in order."""

    def __init__(self, allocations: list[Allocation], length: int) -> None:
        self.allocations = allocations
        self.length = length

    @cached_property
    def live(self) -> np.ndarray[Any, Any]:
        """The live bytes at every instant."""
        change = np.zeros(self.length + 2, np.int64)
        for a in self.allocations:
            change[a.born] += a.bytes
            change[a.died] -= a.bytes
        return np.cumsum(change)[: self.length + 1]

    @property
    def peak(self) -> tuple[int, int]:
        """The most bytes that were live, and the first instant at which they were."""
        at = int(np.argmax(self.live)) if self.live.size else 0
        return int(self.live[at]), at

    @property
    def total(self) -> int:
        """The bytes of all storages together."""
        return sum(a.bytes for a in self.allocations)

    def at(self, instant: int) -> list[Allocation]:
        """The storages that are live at an instant."""
        return [a for a in self.allocations if a.born <= instant < a.died]

    def __len__(self) -> int:
        return len(self.allocations)

    def __repr__(self) -> str:
        peak, at = self.peak
        return f"<{len(self):,} storages, {self.total:,} bytes in all, at most {peak:,} live (instant {at:,})>"


class _Held:
    """What a register keeps alive: a storage, or the parts of a value. `count` is the number of references to it."""

    __slots__ = ("count", "number", "parts")

    def __init__(self, number: int, parts: Sequence[_Held | None] = ()) -> None:
        self.count = 0
        self.number = number
        self.parts = parts


class _Sweep:
    """One pass over a trace."""

    def __init__(self, trace: TraceData) -> None:
        self.trace = trace
        self.born: list[int] = []
        self.died: list[int] = []
        self.size: list[int] = []
        self.site: list[int] = []
        self.now = 0
        self.frames: dict[int, list[_Held | None]] = {}

    def run(self) -> None:
        trace, log = self.trace, self.trace.log
        functions = trace.code_map.functions
        called = dict(zip(log.created, range(len(log.created)), strict=True))
        first = log.segments[0].top if log.segments else None
        while first is not None:
            self.frames[first.number] = [None] * functions[first.func_index].register_file_size
            first = first.below
        roles, instructions = trace.code_map.role.tolist(), trace.code_map.instructions
        for event, (site, frame) in enumerate(zip(trace.site.tolist(), trace.frame_of.tolist(), strict=True)):
            self.now = event + 1
            instruction, registers = instructions[site], self.frames[frame]
            if roles[site] == CALL:
                callee = called[event]
                self.frames[callee] = self._arguments(instruction, registers, log.function[callee])
                if log.parent[callee] != frame:  # a tail call: its frame is gone
                    self._leave(frame)
            elif roles[site] == RETURN:
                value, back = registers[instruction.operands[0]], log.parent[frame]
                if back >= 0:
                    self._put(self.frames[back], log.result_register[frame], value)
                    self._leave(frame)
            else:
                self._plain(event, site, instruction, registers)

    def _arguments(self, instruction: Instruction, registers: list[_Held | None], func: int) -> list[_Held | None]:
        size = self.trace.code_map.functions[func].register_file_size
        args = [registers[r] for r in instruction.args]
        if instruction.opcode is Opcode.INVOKE_CLOSURE:
            closure = registers[instruction.operands[0]]
            count = len(self.trace.code_map.functions[func].params) - len(args)
            args = [*(closure.parts if closure else [None] * count), *args]
        result: list[_Held | None] = [None] * size
        for place, held in enumerate(args):
            self._put(result, place, held)
        return result

    def _plain(self, event: int, site: int, instruction: Instruction, registers: list[_Held | None]) -> None:
        opcode = instruction.opcode
        dst = self.trace.code_map.written[site]
        if dst < 0:
            return
        held: _Held | None = None
        if opcode is Opcode.ALLOC_STORAGE:
            held = _Held(len(self.born))
            self.born.append(self.now)
            self.died.append(-1)
            self.size.append(self._bytes(event))
            self.site.append(site)
        elif opcode in (Opcode.ALLOC_ADT, Opcode.ALLOC_CLOSURE):
            parts = [registers[r] for r in instruction.operands[2]]
            if any(parts):
                held = _Held(-1, parts)
                for part in parts:
                    if part is not None:
                        part.count += 1
        elif opcode is Opcode.GET_FIELD:
            whole = registers[instruction.operands[0]]
            held = whole.parts[instruction.operands[1]] if whole is not None and whole.parts else None
        elif opcode in (Opcode.MOVE, Opcode.ALLOC_TENSOR, Opcode.ALLOC_TENSOR_REG, Opcode.RESHAPE_TENSOR):
            held = registers[instruction.operands[0]]
        self._put(registers, int(dst), held)

    def _bytes(self, event: int) -> int:
        segment, _ = self.trace.segment(event)
        assert segment.values is not None
        return int(segment.values[event - segment.start].buffer.size)

    def _put(self, registers: list[_Held | None], register: int, held: _Held | None) -> None:
        old = registers[register]
        registers[register] = held
        if held is not None:
            held.count += 1
        if old is not None:
            self._drop(old)

    def _leave(self, frame: int) -> None:
        for held in self.frames.pop(frame):
            if held is not None:
                self._drop(held)

    def _drop(self, held: _Held) -> None:
        stack = [held]
        while stack:
            at = stack.pop()
            at.count -= 1
            if at.count == 0:
                if at.number >= 0:
                    self.died[at.number] = self.now
                stack.extend(part for part in at.parts if part is not None)


def storage_map(trace: TraceData) -> StorageMap:
    """Return the storages of a run on the virtual machine; none for traces of other executors."""
    if trace.kind != "vm":
        return StorageMap([], len(trace))
    sweep = _Sweep(trace)
    sweep.run()
    end = len(trace) + 1
    return StorageMap(_position(sweep, end), len(trace))


def _position(sweep: _Sweep, end: int) -> list[Allocation]:
    """Give each storage the lane of a pool: one of its size class that is free again, else a new one."""
    free: dict[int, list[int]] = {}
    ending: dict[int, list[tuple[int, int]]] = {}
    out, lanes, used = [], 0, set()
    order = sorted({*sweep.born, *(d for d in sweep.died if d >= 0)})
    by_birth: dict[int, list[int]] = {}
    for number, born in enumerate(sweep.born):
        by_birth.setdefault(born, []).append(number)
    for moment in order:
        for kind, lane in ending.pop(moment, ()):
            free.setdefault(kind, []).append(lane)
        for number in by_birth.get(moment, ()):
            kind = size_class(sweep.size[number])
            if free.get(kind):
                lane = free[kind].pop()
            else:
                lane, lanes = lanes, lanes + 1
            died = sweep.died[number] if sweep.died[number] >= 0 else end
            ending.setdefault(died, []).append((kind, lane))
            out.append(Allocation(number, moment, died, sweep.size[number], sweep.site[number], lane, lane in used))
            used.add(lane)
    return out
