"""`TracingMachine`: the stepping engine with a log, from which the state at any instant can be restored.

A `Log` has one entry per instruction executed: its program point (number in the whole executable), the clock after it
and the object it wrote. Objects are shared with the run, not copied. Kernels write into existing tensors: only where
a kernel overwrites an earlier result is the old content saved (`Overwritten`).

The log consists of segments. Each begins with a checkpoint: the frames and registers of that moment, shared with the
previous checkpoint where nothing changed. Control flow is kept for ever (some 25 bytes per instruction); the objects of
old segments are dropped when they exceed the memory limit, and restored by a replay from the checkpoint.

Basic blocks of scalar arithmetic and ADT values run at once (`basic_blocks`), and the log keeps only the path of
blocks. Their objects are restored like dropped ones, and their instructions share the time of the block evenly. Queries
are in `debugger.trace_data`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from passlab import limits
from passlab.evaluate.values import Value
from passlab.vm.engines.frames import Frame, enter_call, too_deep
from passlab.vm.engines.single_steps import Operands
from passlab.vm.executable import Executable
from passlab.vm.isa import Instruction
from passlab.vm.isa_notation import Effect, Flow
from passlab.vm.kernels.scalars import as_array
from passlab.vm.machine import Machine
from passlab.vm.tracing.basic_blocks import APPLY, LEAVE, NEXT, BasicBlock, BasicBlockMaker, materialize
from passlab.vm.tracing.buffers import bytes_of, offset_in, owner
from passlab.vm.tracing.log import Log, Overwritten, SavedFrame, Segment, code_offsets

SEGMENT = 1 << 11  # instructions between checkpoints: a replay of dropped objects runs at most so many
FINE = 1 << 9  # instructions between the checkpoints that are added when a segment of blocks is replayed
EVENT_BYTES = 40  # of one log entry, without its object
OBJECT_BYTES = 400  # of a storage, its tensor and their Python objects, without the data
KERNEL, STORAGE = 7, 8  # kinds of traced code besides those of `Flow`


class QuickFrame(Frame):
    """A frame whose registers were written by basic blocks: `materialize` makes them ordinary."""

    __slots__ = ()


class TracingMachine(Machine):
    """A machine that records a log.

    `memory` is the limit in bytes on the objects in the log: over it, objects of the oldest segments are dropped. Where
    that does not suffice, and after `most` instructions, recording stops and `stopped` says why. A machine `like`
    another of the same executable shares its decoded instructions and blocks.
    """

    def __init__(self, exe: Executable, memory: int, most: int, like: TracingMachine | None = None) -> None:
        super().__init__(exe)
        self.spacing = SEGMENT
        self.log = Log()
        self.memory = memory
        self.most = most
        self.stopped = ""
        self.offsets = code_offsets(exe.functions)
        self._traced: dict[int, list[tuple[int, Any, Operands, Any]]] = {}
        self._maker: BasicBlockMaker = BasicBlockMaker(exe) if like is None else like._maker
        self.log.blocks = self._maker.blocks
        self._blank = [[None] * (f.register_file_size - len(f.params)) for f in exe.functions]
        self._blocks: list[dict[int, BasicBlock | None]] = [{} for _ in exe.functions]
        if like is not None:
            self._code, self._traced, self._blocks = like._code, like._traced, like._blocks
        self._singly = False  # whether to run without blocks, which keeps all objects
        self._numbers: list[int] = []  # of the frames on the stack
        self._unwritten: set[int] = set()
        self._lowest = 0  # frames below this one have not run since the last checkpoint
        self._height = 0  # the number of frames at the last checkpoint
        self._limit = 0  # the length of the log at which recording stops
        self._mark = 0  # the length of the log at which the next segment begins; 0: as soon as possible
        self._bytes = 0  # of the objects in the last segment

    # ------------------------------------------------------------ driving
    def trace(self, func_index: int, args: Sequence[Any]) -> Value:
        """Run a function on `args` and return its result, None where recording stopped before the end."""
        self.start(func_index, args)
        self.log.add_frame(-1, func_index, -1, -1)
        self._numbers = [0]
        return self._run_recorded()

    def resume(
        self, frames: list[Frame], numbers: list[int], unwritten: Iterable[int], most: int, every_object: bool = False
    ) -> Value:
        """Run on from frames for `most` instructions; `numbers` are the numbers of the frames in the log.

        `unwritten` are the ids of buffers that no kernel has written. With `every_object`, all objects are kept.
        """
        self._singly = every_object
        self.frames, self._numbers, self._unwritten = frames, numbers, set(unwritten)
        self.most = most
        return self._run_recorded()

    def _run_recorded(self) -> Value:
        self._limit = min(self.most, limits.current().instructions)
        self.log.switch(self._numbers[-1])
        self._checkpoint()
        for number in range(len(self.exe.functions)):
            self._traced_of(number)  # beforehand, so that the first instruction does not seem slow
        self.log.started = perf_counter()
        self._execute(self._record_all, self._limit)
        if self.frames and not self.stopped:
            self.stopped = f"the limit of {len(self.log):,} recorded instructions was reached"
        return self.result

    # ------------------------------------------------------------ the loops
    def _record_all(self, most: int) -> None:
        singly = False
        while self.frames and not self.stopped and len(self.log) < self._limit:
            if singly or self._singly or self._block_at(self.frames[-1]) is None:
                self.log.write_out()
                self._record_steps()
                singly = False
            else:
                singly = self._record_blocks()

    def _block_at(self, frame: Frame) -> BasicBlock | None:
        blocks = self._blocks[frame.func_index]
        if frame.pc not in blocks:
            blocks[frame.pc] = self._maker.make(
                frame.func_index,
                frame.pc,
                self.offsets[frame.func_index],
                lambda pc: bool(self._code_of(frame.func_index)[pc][1].tail),
            )
        return blocks[frame.pc]

    def _record_blocks(self) -> bool:
        """Run blocks to the end of a segment; return whether the next instructions must run one by one.

        An error in a block is raised again by its single instructions, which know where it is.
        """
        segment, path = self.log.segments[-1], self.log.path
        sizes = path.sizes()
        segment.values, segment.quick = None, True
        try:
            self._run_blocks(self._mark - len(self.log))
        except Exception:  # noqa: BLE001 - any error: it is raised again by single instructions
            path.cut(sizes)
            segment.values, segment.quick = [], False
            self._restore(segment.top)
            return True
        if self.frames:
            self.log.end_pc = self.frames[-1].pc
            self._cut()
        return False

    def _run_blocks(self, budget: int) -> None:
        """Run blocks for `budget` instructions, or to an instruction outside of blocks, and update the frames."""
        path, frames, numbers, deepest = self.log.path, self.frames, self._numbers, limits.current().frames
        put_block, put_time = path.blocks.append, path.clock.append
        number, done = self.log.frames, 0
        frame = self._quick_frame()
        r, pc, blocks = frame.registers, frame.pc, self._blocks[frame.func_index]
        while done < budget:
            frame.pc = pc
            block = blocks.get(pc) or self._block_at(frame)
            if block is None:
                break
            work = block.work(r)
            put_block(block.number)
            put_time(perf_counter())
            done += block.count
            if block.kind == NEXT:
                pc = work
                continue
            if block.kind == LEAVE:
                # The caller runs on, so the last checkpoint's copy of its frame is out of date.
                self._lowest = min(self._lowest, len(frames) - 2)
                numbers.pop()
                self._return(work)
                if not frames:
                    self.result = as_array(work)
                    break
                frame = frames[-1] if type(frames[-1]) is QuickFrame else self._quick_frame()
                r, pc, blocks = frame.registers, frame.pc, self._blocks[frame.func_index]
                continue
            callee = block.callee
            if block.kind == APPLY:
                callee, work = work
                path.callees.append(callee)
            r = [*work, *self._blank[callee]]
            if block.tail:
                frame.func_index, frame.registers, numbers[-1] = callee, r, number
            else:
                if len(frames) >= deepest:
                    raise too_deep(deepest)
                frame.pc = block.after
                frame = QuickFrame(callee, r, block.result_register)
                frames.append(frame)
                numbers.append(number)
            number += 1
            pc, blocks = 0, self._blocks[callee]
        frame.pc = pc
        path.instructions += done
        path.calls = number - len(self.log.parent)

    def _quick_frame(self) -> Frame:
        """Return the top frame as one for blocks."""
        top = self.frames[-1]
        if type(top) is not QuickFrame:
            result = QuickFrame(top.func_index, top.registers, top.result_register)
            result.pc = top.pc
            self.frames[-1] = top = result
        return top

    def _ordinary_frame(self) -> Frame:
        """Return the top frame as one for single instructions."""
        top = self.frames[-1]
        if type(top) is QuickFrame:
            result = Frame(top.func_index, materialize(top.registers), top.result_register)
            result.pc = top.pc
            self.frames[-1] = top = result
        return top

    def _restore(self, top: SavedFrame | None) -> None:
        """Restore the frames of the last checkpoint."""
        frames: list[Frame] = []
        numbers: list[int] = []
        while top is not None:
            result = (QuickFrame if top.quick else Frame)(top.func_index, list(top.registers), top.result_register)
            result.pc = top.pc
            frames.append(result)
            numbers.append(top.number)
            top = top.below
        self.frames, self._numbers = frames[::-1], numbers[::-1]
        self._lowest = len(frames) - 1

    def _record_steps(self) -> None:
        """Run instructions one by one, to the end of a segment or of the program."""
        log, frames = self.log, self.frames
        values = self.log.segments[-1].values
        assert values is not None
        put_point, put_time, put_value = log.points.append, log.clock.append, values.append
        frame = self._ordinary_frame()
        r, pc = frame.registers, frame.pc
        code, base = self._traced_of(frame.func_index), self.offsets[frame.func_index]
        try:
            while True:
                kind, work, operands, dst = code[pc]
                if kind == 0:
                    work(r, operands)
                    put_value(r[dst])
                elif kind == STORAGE:
                    work(r, operands)
                    put_value(r[dst])
                    self._count_buffer(r[dst].buffer)
                elif kind == KERNEL:
                    for out in dst:
                        self._save_overwritten(r[out], len(log.points))
                    work(r, operands)
                    put_value(None)
                elif kind in (Flow.TEST, Flow.JUMP):
                    put_point(base + pc)
                    pc = work(r, operands) if kind == Flow.TEST else work
                    put_value(None)
                    put_time(perf_counter())
                    # A loop without calls and kernels is stopped here.
                    if len(log.points) >= self._limit:
                        frame.pc = pc
                        return
                    continue
                else:
                    frame.pc = pc
                    put_value(self._control(frame, kind, work, operands))
                    put_point(base + pc)
                    put_time(perf_counter())
                    if not frames:
                        return
                    log.switch(self._numbers[-1])
                    frame = frames[-1] if type(frames[-1]) is Frame else self._ordinary_frame()
                    r, pc = frame.registers, frame.pc
                    code, base = self._traced_of(frame.func_index), self.offsets[frame.func_index]
                    if len(log.points) >= self._mark:
                        self._cut()
                        return
                    continue
                put_point(base + pc)
                put_time(perf_counter())
                pc += 1
                if kind == KERNEL and len(log.points) >= self._mark:
                    frame.pc = pc
                    self._cut()
                    return
        finally:
            log.end_pc = pc

    def _control(self, frame: Frame, kind: int, work: Any, operands: Operands) -> Value:
        """Execute a call or return on the stack; return its value in the log: the arguments, or the result."""
        if kind != Flow.CALL:
            value = work(frame.registers, operands)
            self._numbers.pop()
            self._lowest = min(self._lowest, len(self._numbers) - 1)
            self._return(value)
            return value
        func, args = enter_call(self.exe.functions, work, frame.registers)
        function = self.exe.functions[func]
        registers = [*args, *[None] * (function.register_file_size - len(args))]
        number, event = self._numbers[-1], len(self.log)
        if work.tail:
            self.frames.pop()
            self._numbers.pop()
            self._lowest = min(self._lowest, len(self._numbers))
            result = self.log.add_frame(self.log.parent[number], func, event, frame.result_register)
            self._push(func, registers, frame.result_register)
        else:
            if len(self.frames) >= limits.current().frames:
                raise too_deep(limits.current().frames)
            frame.pc += 1
            result = self.log.add_frame(number, func, event, work.dst)
            self._push(func, registers, work.dst)
        self._numbers.append(result)
        return tuple(args)

    def _traced_of(self, func_index: int) -> list[tuple[int, Any, Operands, Any]]:
        code = self._traced.get(func_index)
        if code is None:
            instructions, decoded = self.exe.functions[func_index].instructions, self._code_of(func_index)
            code = self._traced[func_index] = [
                _traced_step(*decoded[pc], instruction) for pc, instruction in enumerate(instructions)
            ]
        return code

    # ------------------------------------------------------------ memory
    def _count_buffer(self, buffer: np.ndarray[Any, Any]) -> None:
        key = id(buffer)
        self._unwritten.add(key)
        self._segment.created.add(key)
        self._bytes += buffer.size + OBJECT_BYTES
        # Objects are dropped by whole segments, so none may have more than a sixteenth of the limit.
        if self._bytes > self.memory >> 4:
            self._mark = 0

    def _save_overwritten(self, tensor: np.ndarray[Any, Any], event: int) -> None:
        """Save the content of a tensor before a kernel overwrites it, unless it was never written."""
        key = id(tensor.base)
        if key in self._unwritten:  # a tensor in a new storage, as nearly all are
            self._unwritten.discard(key)
            self._segment.writes[key] = [event]
            return
        buffer = owner(tensor)
        key = id(buffer)
        if key in self._unwritten:
            self._unwritten.discard(key)
        elif tensor.size:
            start = offset_in(tensor, buffer)
            content = bytes_of(buffer)[start : start + tensor.nbytes].tobytes()
            self.log.overwritten.setdefault(key, []).append(Overwritten(event, buffer, start, content))
            self.log.saved_bytes += len(content) + OBJECT_BYTES
            # Objects are dropped only when a segment begins, so begin one before the limit is exceeded.
            if self.log.saved_bytes > self.memory >> 1:
                self._mark = 0
        self._segment.writes.setdefault(key, []).append(event)

    def _cut(self) -> None:
        """Begin a new segment, and drop objects of the oldest ones over the memory limit, unless recording ends."""
        log = self.log
        if len(log) >= self._limit:
            return
        self._checkpoint()
        # The last segment is still being recorded, so it is never dropped.
        while log.kept_bytes() > self.memory and log.dropped < len(log.segments) - 1:
            segment = log.segments[log.dropped]
            segment.values, segment.created, segment.writes = None, set(), {}
            log.kept -= segment.bytes
            log.dropped += 1
        if log.kept_bytes() > self.memory:
            self.stopped = f"saved contents of overwritten tensors exceed the limit of {self.memory:,} bytes"

    def _checkpoint(self) -> None:
        log = self.log
        if log.segments:
            last = log.segments[-1]
            events = 0 if last.quick else len(log) - last.start
            last.bytes = self._bytes + EVENT_BYTES * events
            log.kept += last.bytes
        below = log.segments[-1].top if log.segments else None
        # Frames below `_lowest` are as they were, so the new checkpoint shares them with the last one.
        for _ in range(self._height - max(self._lowest, 0)):
            assert below is not None
            below = below.below
        for number, frame in zip(self._numbers[self._lowest :], self.frames[self._lowest :], strict=True):
            registers, quick = tuple(frame.registers), type(frame) is QuickFrame
            below = SavedFrame(number, frame.func_index, frame.pc, registers, frame.result_register, below, quick)
        self._segment = Segment(len(log), below, frozenset(self._unwritten))
        log.segments.append(self._segment)
        self._height = len(self.frames)
        self._lowest = len(self.frames) - 1
        self._bytes = 0
        self._mark = min(len(log) + self.spacing, self._limit or self.spacing)


def _traced_step(flow: int, work: Any, operands: Operands, instruction: Instruction) -> tuple[int, Any, Operands, Any]:
    """Return (kind, step, operands, destination register); a kernel has several destination registers."""
    effect = instruction.spec.effect
    if effect is Effect.KERNEL:
        return KERNEL, work, operands, instruction.results
    if flow:
        return flow, work, operands, -1
    return (STORAGE if effect is Effect.STORAGE else 0), work, operands, instruction.dst
