"""The stepping engine with a log: what each instruction wrote, where and when, so that any instant comes back.

A `Log` has one entry for each instruction executed: its site (number of the instruction in the whole executable), the
clock after it and the object it wrote. Objects are shared with the run, never copied. A kernel writes into tensors that
exist already: only when it writes over something written before is the old content saved (`Overwritten`).

The log is cut into segments. Each begins with a checkpoint: the frames and registers of that moment, shared with those
before it where nothing changed. Control is kept for ever (some 25 bytes an instruction); objects of old segments are
dropped when the memory they hold is over the cap, and come back by running their segment again from its checkpoint.
This module knows nothing of queries: `lab.trace` answers them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from passlab import limits
from passlab.evaluate.values import ADTValue
from passlab.vm.control import Action, Frame, called, no_arm, too_deep
from passlab.vm.executable import Executable
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.machine import Machine
from passlab.vm.objects import Storage, VMClosure
from passlab.vm.traced_steps import traced_step

SEGMENT = 1 << 12  # instructions from one checkpoint to the next: what a look at dropped objects may have to run again
EVENT_BYTES = 40  # what the log of one instruction takes, besides the objects
OBJECT_BYTES = 400  # what a storage, its tensor and their Python objects take, besides the data
KERNEL, STORAGE = 7, 8  # kinds of traced code besides those of `Action`


@dataclass(frozen=True)
class SavedFrame:
    """A frame at a checkpoint. Frames below it are shared with other checkpoints."""

    number: int
    func_index: int
    pc: int
    registers: tuple[Any, ...]
    result_register: int
    below: SavedFrame | None


@dataclass(frozen=True, eq=False)
class Overwritten:
    """What stood in a buffer from byte `start` on until the kernel of event `event` wrote over it."""

    event: int
    buffer: np.ndarray[Any, Any]
    start: int
    content: bytes


@dataclass(eq=False)
class Segment:
    """A stretch of the log. `values` are the objects written, by event, or None when they were dropped.

    `unwritten` are the buffers (by id) that no kernel had written into when it began, `made` those allocated in it, and
    `writes` the events that wrote into a buffer.
    """

    start: int
    top: SavedFrame | None
    unwritten: frozenset[int] = frozenset()
    values: list[Any] | None = field(default_factory=list)
    made: set[int] = field(default_factory=set)
    writes: dict[int, list[int]] = field(default_factory=dict)
    bytes: int = 0


class Log:
    """All that was written down about a run: columns by event, frames by number, segments."""

    def __init__(self) -> None:
        self.sites = array("i")
        self.clock = array("d")
        self.started = 0.0
        self.switched_at = array("q")  # events before which the frame changed, and to which
        self.switched_to = array("i")
        self.parent = array("i")  # by frame: who waits for it, -1 for none
        self.function = array("i")
        self.created = array("q")  # the event of its call, -1 for the entry
        self.result_register = array("i")
        self.depth = array("i")
        self.segments: list[Segment] = []
        self.overwritten: dict[int, list[Overwritten]] = {}
        self.saved_bytes = 0
        self.end_pc = 0  # of the frame on top when recording ended
        self.dropped = 0  # segments, the oldest, whose objects were dropped

    def __len__(self) -> int:
        return len(self.sites)

    def add_frame(self, parent: int, function: int, created: int, result_register: int) -> int:
        """Enter a frame and return its number."""
        self.parent.append(parent)
        self.function.append(function)
        self.created.append(created)
        self.result_register.append(result_register)
        self.depth.append(self.depth[parent] + 1 if parent >= 0 else 0)
        return len(self.parent) - 1

    def switch(self, frame: int) -> None:
        """Note that the next event is one of `frame`."""
        self.switched_at.append(len(self.sites))
        self.switched_to.append(frame)

    def kept_bytes(self) -> int:
        """What the objects that are still there take, as far as it is counted."""
        return self.saved_bytes + sum(s.bytes for s in self.segments[self.dropped :])


def site_bases(functions: Sequence[Any]) -> list[int]:
    """Return for each function the site of its first instruction; at the end the number of all sites."""
    bases = [0]
    for function in functions:
        bases.append(bases[-1] + len(function.instructions))
    return bases


class TracingMachine(Machine):
    """A machine that writes a log of what it does.

    `memory` is the number of bytes that objects in the log may take: over it, those of the oldest segments are dropped;
    when even then it does not suffice, or after `most` instructions, recording stops and `stopped` says why.
    """

    def __init__(self, exe: Executable, memory: int, most: int) -> None:
        super().__init__(exe)
        self.log = Log()
        self.memory = memory
        self.most = most
        self.stopped = ""
        self.bases = site_bases(exe.functions)
        self._traced: dict[int, list[tuple[int, Any, Any]]] = {}
        self._numbers: list[int] = []  # of the frames, as the machine's stack has them
        self._unwritten: set[int] = set()
        self._lowest = 0  # frames below this one have not run since the last checkpoint
        self._limit = 0
        self._mark = 0
        self._bytes = 0

    # ------------------------------------------------------------ driving
    def trace(self, func_index: int, args: Sequence[Any]) -> Any:
        """Run a function on `args` and return its result, None when recording stopped before the end."""
        self.start(func_index, args)
        self.log.add_frame(-1, func_index, -1, -1)
        self._numbers = [0]
        return self._go()

    def resume(self, frames: list[Frame], numbers: list[int], unwritten: Iterable[int], most: int) -> Any:
        """Run on from frames, numbered so in a log whose frames this one has too, for `most` instructions."""
        self.frames, self._numbers, self._unwritten = frames, numbers, set(unwritten)
        self.most = most
        return self._go()

    def _go(self) -> Any:
        self._limit = min(self.most, limits.current().instructions)
        self.log.switch(self._numbers[-1])
        self._checkpoint()
        for number in range(len(self.exe.functions)):
            self._traced_of(number)  # now, so that the first instruction does not seem to take long
        self.log.started = perf_counter()
        self._guarded(self._trace_through, self._limit)
        if self.frames and not self.stopped:
            self.stopped = f"it was recorded for {len(self.log):,} instructions, the cap that was set"
        return self.result

    # ------------------------------------------------------------ the loop
    def _trace_through(self, most: int) -> None:
        log, frames = self.log, self.frames
        put_site, put_time, put_value = log.sites.append, log.clock.append, self._values().append
        frame = frames[-1]
        r, pc = frame.registers, frame.pc
        code, base = self._traced_of(frame.func_index), self.bases[frame.func_index]
        try:
            while True:
                kind, work, dst = code[pc]
                if kind == 0:
                    work(r)
                    put_value(r[dst])
                elif kind == STORAGE:
                    work(r)
                    put_value(r[dst])
                    self._made(r[dst].buffer)
                elif kind == KERNEL:
                    for out in dst:
                        self._about_to_write(r[out], len(log.sites))
                    work(r)
                    put_value(None)
                elif kind == Action.TEST:
                    put_site(base + pc)
                    pc = work(r)
                    put_value(None)
                    put_time(perf_counter())
                    continue
                elif kind == Action.JUMP:
                    put_site(base + pc)
                    pc = work
                    put_value(None)
                    put_time(perf_counter())
                    if len(log.sites) >= most:
                        return
                    continue
                else:
                    frame.pc = pc
                    put_value(self._control(frame, kind, work))
                    put_site(base + pc)
                    put_time(perf_counter())
                    if not frames:
                        return
                    log.switch(self._numbers[-1])
                    frame = frames[-1]
                    r, pc = frame.registers, frame.pc
                    code, base = self._traced_of(frame.func_index), self.bases[frame.func_index]
                    if len(log.sites) >= self._mark:
                        if self._cut(frame, pc):
                            return
                        put_value = self._values().append
                    continue
                put_site(base + pc)
                put_time(perf_counter())
                pc += 1
                if kind == KERNEL and len(log.sites) >= self._mark:
                    if self._cut(frame, pc):
                        return
                    put_value = self._values().append
        finally:
            log.end_pc = pc

    def _control(self, frame: Frame, kind: int, work: Any) -> Any:
        """Carry out a call or a return on the stack of frames; return what the log keeps of it."""
        if kind == Action.RETURN:
            value = frame.registers[work]
            self._numbers.pop()
            self._lowest = min(self._lowest, len(self._numbers) - 1)
            self._return(value)
            return value
        if kind == Action.STOP:
            raise no_arm(work)
        func, args = called(self.exe.functions, kind, work, frame.registers)
        function = self.exe.functions[func]
        registers = [*args, *[None] * (function.register_file_size - len(args))]
        number, event = self._numbers[-1], len(self.log)
        if work.tail:
            self.frames.pop()
            self._numbers.pop()
            self._lowest = min(self._lowest, len(self._numbers))
            made = self.log.add_frame(self.log.parent[number], func, event, frame.result_register)
            self._push(func, registers, frame.result_register)
        else:
            if len(self.frames) >= limits.current().frames:
                raise too_deep(limits.current().frames)
            frame.pc += 1
            made = self.log.add_frame(number, func, event, work.dst)
            self._push(func, registers, work.dst)
        self._numbers.append(made)
        return tuple(args)

    def _traced_of(self, func_index: int) -> list[tuple[int, Any, Any]]:
        code = self._traced.get(func_index)
        if code is None:
            instructions = self.exe.functions[func_index].instructions
            code = self._traced[func_index] = [
                _traced(self.exe, action, work, instruction)
                for (action, work), instruction in zip(self._code_of(func_index), instructions, strict=True)
            ]
        return code

    # ------------------------------------------------------------ memory
    def _values(self) -> list[Any]:
        values = self.log.segments[-1].values
        assert values is not None
        return values

    def _made(self, buffer: np.ndarray[Any, Any]) -> None:
        key = id(buffer)
        self._unwritten.add(key)
        self._segment.made.add(key)
        self._bytes += buffer.size + OBJECT_BYTES
        if self._bytes > self.memory >> 4:
            self._mark = 0

    def _about_to_write(self, tensor: np.ndarray[Any, Any], event: int) -> None:
        """Before a kernel writes into a tensor: save what stands there, unless nothing does."""
        key = id(tensor.base)
        if key in self._unwritten:  # a tensor made in a storage that is new: nearly all are
            self._unwritten.discard(key)
            self._segment.writes[key] = [event]
            return
        buffer = owner(tensor)
        key = id(buffer)
        if key in self._unwritten:
            self._unwritten.discard(key)
        elif tensor.size:
            start = _offset(tensor, buffer)
            content = _bytes_of(buffer)[start : start + tensor.nbytes].tobytes()
            self.log.overwritten.setdefault(key, []).append(Overwritten(event, buffer, start, content))
            self.log.saved_bytes += len(content) + OBJECT_BYTES
            if self.log.saved_bytes > self.memory >> 1:
                self._mark = 0
        self._segment.writes.setdefault(key, []).append(event)

    def _cut(self, frame: Frame, pc: int) -> bool:
        """Begin a new segment at a moment when results are complete; return whether recording is to stop."""
        frame.pc = pc
        if len(self.log) >= self._limit:
            return True
        self._checkpoint()
        log = self.log
        while log.kept_bytes() > self.memory and log.dropped < len(log.segments) - 1:
            segment = log.segments[log.dropped]
            segment.values, segment.made, segment.writes = None, set(), {}
            log.dropped += 1
        if log.kept_bytes() > self.memory:
            self.stopped = f"what writes in place replaced takes more than the {self.memory:,} bytes that were allowed"
        return bool(self.stopped)

    def _checkpoint(self) -> None:
        log = self.log
        if log.segments:
            log.segments[-1].bytes = self._bytes + EVENT_BYTES * (len(log) - log.segments[-1].start)
        below = log.segments[-1].top if log.segments else None
        for _ in range(self._saved_height() - max(self._lowest, 0)):
            assert below is not None
            below = below.below
        for number, frame in zip(self._numbers[self._lowest :], self.frames[self._lowest :], strict=True):
            registers = tuple(frame.registers)
            below = SavedFrame(number, frame.func_index, frame.pc, registers, frame.result_register, below)
        self._segment = Segment(len(log), below, frozenset(self._unwritten))
        log.segments.append(self._segment)
        self._height = len(self.frames)
        self._lowest = len(self.frames) - 1
        self._bytes = 0
        self._mark = min(len(log) + SEGMENT, self._limit or SEGMENT)

    def _saved_height(self) -> int:
        return self._height if self.log.segments else 0


def _traced(exe: Executable, action: int, work: Any, instruction: Instruction) -> tuple[int, Any, Any]:
    """Return the kind, the work, and the register written (for kernels: the registers whose tensors are)."""
    opcode = instruction.opcode
    if not action:
        work = traced_step(exe, instruction, work)
    if opcode is Opcode.INVOKE_PACKED:
        return KERNEL, work, instruction.args[len(instruction.args) - instruction.outputs :]
    if action:
        return action, work, -1
    return (STORAGE if opcode is Opcode.ALLOC_STORAGE else 0), work, instruction.writes()[0]


# ---------------------------------------------------------------- buffers
def owner(tensor: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array whose memory a tensor looks into: a storage's buffer, or the tensor itself."""
    while type(tensor.base) is np.ndarray:
        tensor = tensor.base
    return tensor


def _offset(tensor: np.ndarray[Any, Any], buffer: np.ndarray[Any, Any]) -> int:
    return int(tensor.__array_interface__["data"][0] - buffer.__array_interface__["data"][0])


def _bytes_of(buffer: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ndarray((buffer.nbytes,), np.uint8, buffer)


def content_at(log: Log, buffer: np.ndarray[Any, Any], instant: int) -> np.ndarray[Any, Any] | None:
    """Return a copy of a buffer as it was at an instant, None when it is still as it was."""
    later = [o for o in log.overwritten.get(id(buffer), ()) if o.event >= instant]
    if not later:
        return None
    copy = buffer.copy()
    flat = _bytes_of(copy)
    for old in reversed(later):
        flat[old.start : old.start + len(old.content)] = np.frombuffer(old.content, np.uint8)
    return copy


def tensor_at(log: Log, tensor: np.ndarray[Any, Any], instant: int) -> np.ndarray[Any, Any]:
    """Return a tensor as it was at an instant: itself, or a copy with the old content."""
    buffer = owner(tensor)
    copy = content_at(log, buffer, instant) if log.overwritten else None
    return tensor if copy is None else looked_into(tensor, buffer, copy)


def looked_into(
    tensor: np.ndarray[Any, Any], buffer: np.ndarray[Any, Any], other: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Return what a tensor inside `buffer` is inside another buffer of the same size."""
    if tensor is buffer:
        return other
    return np.ndarray(tensor.shape, tensor.dtype, other, _offset(tensor, buffer), tensor.strides)


class Redirection:
    """Rebuilds values so that those that look into some buffers look into others. What does not change is shared."""

    def __init__(self, buffers: dict[int, np.ndarray[Any, Any]]) -> None:
        self.buffers = buffers
        self.known: dict[int, tuple[Any, Any]] = {}  # by id: the value itself, which keeps the id, and what it became

    def __call__(self, root: Any) -> Any:
        """Return the rebuilt value. Values may be nested as deep as programs make them."""
        stack = [(root, False)]
        while stack:
            value, ready = stack.pop()
            if id(value) in self.known:
                continue
            parts = _parts(value)
            if ready or not parts:
                self.known[id(value)] = (value, self._made(value, parts))
            else:
                stack.append((value, True))
                stack.extend((part, False) for part in parts)
        return self.known[id(root)][1]

    def _made(self, value: Any, parts: Sequence[Any]) -> Any:
        if isinstance(value, Storage):
            other = self.buffers.get(id(value.buffer))
            return value if other is None else Storage(value.buffer.size, value.device, other)
        if isinstance(value, np.ndarray):
            buffer = owner(value)
            other = self.buffers.get(id(buffer))
            return value if other is None else looked_into(value, buffer, other)
        fields = [self.known[id(part)][1] for part in parts]
        if all(new is old for new, old in zip(fields, parts, strict=True)):
            return value
        if isinstance(value, tuple):
            return tuple(fields)
        return (
            ADTValue(value.constructor, fields)
            if isinstance(value, ADTValue)
            else VMClosure(value.func_index, tuple(fields))
        )


def _parts(value: Any) -> Sequence[Any]:
    if type(value) is tuple:
        return value
    if isinstance(value, ADTValue):
        return value.fields
    return value.captured if isinstance(value, VMClosure) else ()
