"""The stepping engine with a log: what each instruction wrote, where and when, so that any instant comes back.

A `Log` has one entry for each instruction executed: its point (number of the instruction in the whole executable), the
clock after it and the object it wrote. Objects are shared with the run, never copied. A kernel writes into tensors that
exist already: only when it writes over something written before is the old content saved (`Overwritten`).

The log is cut into segments. Each begins with a checkpoint: the frames and registers of that moment, shared with those
before it where nothing changed. Control is kept for ever (some 25 bytes an instruction); objects of old segments are
dropped when the memory they hold is over the cap, and come back by running their segment again from its checkpoint.

Where a program computes with numbers and data only, whole blocks of instructions run at once (`blocks`), and the
log keeps the way the run took: objects come back as dropped ones do, and the instructions of a block share its time
evenly. This module knows nothing of queries: `debugger.trace` answers them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from passlab import limits
from passlab.vm.control import Frame, enter_call, too_deep
from passlab.vm.executable import Executable
from passlab.vm.instruction_spec import Effect, Flow
from passlab.vm.interpreter import Machine
from passlab.vm.isa import Instruction
from passlab.vm.kernels.scalars import as_array
from passlab.vm.tracing.basic_blocks import APPLY, LEAVE, NEXT, BasicBlock, BasicBlockMaker, settled
from passlab.vm.tracing.buffers import bytes_of, offset_in, owner
from passlab.vm.tracing.log import Log, Overwritten, SavedFrame, Segment, code_offsets

SEGMENT = 1 << 11  # instructions from one checkpoint to the next: what a look at dropped objects may have to run again
FINE = 1 << 9  # the same where blocks lead from a checkpoint to others between it and the next, a look costs less so
EVENT_BYTES = 40  # what the log of one instruction takes, besides the objects
OBJECT_BYTES = 400  # what a storage, its tensor and their Python objects take, besides the data
KERNEL, STORAGE = 7, 8  # kinds of traced code besides those of `Flow`


class QuickFrame(Frame):
    """A frame whose registers blocks wrote: see `blocks.settled`."""

    __slots__ = ()


class TracingMachine(Machine):
    """A machine that writes a log of what it does.

    `memory` is the number of bytes that objects in the log may take: over it, those of the oldest segments are dropped;
    when even then it does not suffice, or after `most` instructions, recording stops and `stopped` says why. A machine
    `like` another of the same executable uses what that has made of its instructions.
    """

    def __init__(self, exe: Executable, memory: int, most: int, like: TracingMachine | None = None) -> None:
        super().__init__(exe)
        self.spacing = SEGMENT
        self.log = Log()
        self.memory = memory
        self.most = most
        self.stopped = ""
        self.offsets = code_offsets(exe.functions)
        self._traced: dict[int, list[tuple[int, Any, Any]]] = {}
        self._maker: BasicBlockMaker = BasicBlockMaker(exe) if like is None else like._maker
        self.log.plans = self._maker.made
        self._blank = [[None] * (f.register_file_size - len(f.params)) for f in exe.functions]
        self._blocks: list[dict[int, BasicBlock | None]] = [{} for _ in exe.functions]
        if like is not None:
            self._code, self._traced, self._blocks = like._code, like._traced, like._blocks
        self._singly = False  # no blocks: all objects are wanted
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

    def resume(
        self, frames: list[Frame], numbers: list[int], unwritten: Iterable[int], most: int, every_object: bool = False
    ) -> Any:
        """Run on from frames, numbered so in a log whose frames this one has too, for `most` instructions.

        With `every_object`, all that is written is kept.
        """
        self._singly = every_object
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
        self._step_in_limits(self._trace_through, self._limit)
        if self.frames and not self.stopped:
            self.stopped = f"it was recorded for {len(self.log):,} instructions, the cap that was set"
        return self.result

    # ------------------------------------------------------------ the loops
    def _trace_through(self, most: int) -> None:
        singly = False
        while self.frames and not self.stopped and len(self.log) < self._limit:
            if singly or self._singly or self._block_at(self.frames[-1]) is None:
                self.log.write_out()
                self._write_down()
                singly = False
            else:
                singly = self._follow()

    def _block_at(self, frame: Frame) -> BasicBlock | None:
        blocks = self._blocks[frame.func_index]
        if frame.pc not in blocks:
            blocks[frame.pc] = self._maker.make(
                frame.func_index,
                frame.pc,
                self.offsets[frame.func_index],
                lambda at: bool(self._code_of(frame.func_index)[at][1].tail),
            )
        return blocks[frame.pc]

    def _follow(self) -> bool:
        """Run blocks to the end of a segment; return whether the next one must be carried out one by one.

        What goes wrong in a block goes wrong again one by one, where it can be told what it was.
        """
        segment, path = self.log.segments[-1], self.log.path
        sizes = path.sizes()
        segment.values, segment.quick = None, True
        try:
            self._run_blocks(self._mark - len(self.log))
        except Exception:  # noqa: BLE001 - whatever it was, it comes again and is told then
            path.cut(sizes)
            segment.values, segment.quick = [], False
            self._restore(segment.top)
            return True
        if self.frames:
            self.log.end_pc = self.frames[-1].pc
            self._cut()
        return False

    def _run_blocks(self, budget: int) -> None:
        """Run blocks for `budget` instructions, or to an instruction that is in none; leave the frames ready."""
        path, frames, numbers, cap = self.log.path, self.frames, self._numbers, limits.current().frames
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
                if len(frames) >= cap:
                    raise too_deep(cap)
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
        """Return the frame on top as one that blocks may write into."""
        top = self.frames[-1]
        if type(top) is not QuickFrame:
            result = QuickFrame(top.func_index, top.registers, top.result_register)
            result.pc = top.pc
            self.frames[-1] = top = result
        return top

    def _settled_frame(self) -> Frame:
        """Return the frame on top as one that single instructions go on from."""
        top = self.frames[-1]
        if type(top) is QuickFrame:
            result = Frame(top.func_index, settled(top.registers), top.result_register)
            result.pc = top.pc
            self.frames[-1] = top = result
        return top

    def _restore(self, top: SavedFrame | None) -> None:
        """Go back to the frames of the last checkpoint."""
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

    def _write_down(self) -> None:
        """Carry out instructions one by one, to the end of a segment or of the program."""
        log, frames = self.log, self.frames
        put_point, put_time, put_value = log.points.append, log.clock.append, self._values().append
        frame = self._settled_frame()
        r, pc = frame.registers, frame.pc
        code, base = self._traced_of(frame.func_index), self.offsets[frame.func_index]
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
                        self._about_to_write(r[out], len(log.points))
                    work(r)
                    put_value(None)
                elif kind == Flow.TEST:
                    put_point(base + pc)
                    pc = work(r)
                    put_value(None)
                    put_time(perf_counter())
                    continue
                elif kind == Flow.JUMP:
                    put_point(base + pc)
                    pc = work
                    put_value(None)
                    put_time(perf_counter())
                    if len(log.points) >= self._limit:
                        frame.pc = pc
                        return
                    continue
                else:
                    frame.pc = pc
                    put_value(self._control(frame, kind, work))
                    put_point(base + pc)
                    put_time(perf_counter())
                    if not frames:
                        return
                    log.switch(self._numbers[-1])
                    frame = frames[-1] if type(frames[-1]) is Frame else self._settled_frame()
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

    def _control(self, frame: Frame, kind: int, work: Any) -> Any:
        """Carry out a call or a return on the stack of frames; return what the log keeps of it."""
        if kind != Flow.CALL:
            value = work(frame.registers)
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

    def _traced_of(self, func_index: int) -> list[tuple[int, Any, Any]]:
        code = self._traced.get(func_index)
        if code is None:
            instructions = self.exe.functions[func_index].instructions
            code = self._traced[func_index] = [
                _trace_steps(flow, work, instruction)
                for (flow, work), instruction in zip(self._code_of(func_index), instructions, strict=True)
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
        self._segment.created.add(key)
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
            start = offset_in(tensor, buffer)
            content = bytes_of(buffer)[start : start + tensor.nbytes].tobytes()
            self.log.overwritten.setdefault(key, []).append(Overwritten(event, buffer, start, content))
            self.log.saved_bytes += len(content) + OBJECT_BYTES
            if self.log.saved_bytes > self.memory >> 1:
                self._mark = 0
        self._segment.writes.setdefault(key, []).append(event)

    def _cut(self) -> None:
        """Begin a new segment at a moment when results are complete, unless recording is at its end."""
        log = self.log
        if len(log) >= self._limit:
            return
        self._checkpoint()
        while log.kept_bytes() > self.memory and log.dropped < len(log.segments) - 1:
            segment = log.segments[log.dropped]
            segment.values, segment.created, segment.writes = None, set(), {}
            log.kept -= segment.bytes
            log.dropped += 1
        if log.kept_bytes() > self.memory:
            self.stopped = f"what writes in place replaced takes more than the {self.memory:,} bytes that were allowed"

    def _checkpoint(self) -> None:
        log = self.log
        if log.segments:
            last = log.segments[-1]
            events = 0 if last.quick else len(log) - last.start
            last.bytes = self._bytes + EVENT_BYTES * events
            log.kept += last.bytes
        below = log.segments[-1].top if log.segments else None
        for _ in range(self._saved_height() - max(self._lowest, 0)):
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

    def _saved_height(self) -> int:
        return self._height if self.log.segments else 0


def _trace_steps(flow: int, work: Any, instruction: Instruction) -> tuple[int, Any, Any]:
    """Return the kind, the work, and the register written (for kernels: the registers whose tensors are)."""
    effect = instruction.spec.effect
    if effect is Effect.KERNEL:
        return KERNEL, work, instruction.results
    if flow:
        return flow, work, -1
    return (STORAGE if effect is Effect.STORAGE else 0), work, instruction.dst
