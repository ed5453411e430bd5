"""`TraceData`: one run of a program as data: every instruction, what it wrote, and the state at every instant.

Instant *n* is the moment after *n* instructions. A register has the value of the last write before an instant,
so any instant is reached without running to it. Objects that were dropped at the memory limit come back when the
`TraceEngine` replays a segment of the log from its checkpoint. A trace never changes. `trace.Trace` adds what users
call: tables, files, forks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from passlab.arguments import checked
from passlab.debugger.code_map import CALL, KERNEL, RETURN, CodeMap
from passlab.debugger.values import Unwritten
from passlab.errors import PasslabError, counted
from passlab.evaluate.values import Value
from passlab.ir.module import IRModule
from passlab.vm.engines.frames import Frame, frame_at
from passlab.vm.tracing.buffers import Redirection, content_at, owner, tensor_at
from passlab.vm.tracing.log import Log, SavedFrame, Segment
from passlab.vm.tracing.recorder import FINE

Columns = np.ndarray[Any, Any]
REPLAY_CACHE = 16  # replayed segments that are kept


class TraceEngine(Protocol):
    """The executor that ran the program of a trace and can replay parts of it. `kind` is "vm", "graph" or "debug"."""

    kind: str

    def replay(self, trace: TraceData, segment: Segment, end: int) -> tuple[Segment, Log]:
        """Run a segment again; return it with its objects, and the log of what was overwritten."""

    def refine(self, trace: TraceData, segment: Segment, end: int) -> list[Segment]:
        """Split a segment into shorter ones, each with a checkpoint."""

    def run_on(self, trace: TraceData, instant: int, changes: Mapping[int, Any]) -> TraceData:
        """Return the branch that leaves a trace at an instant with other values in registers of its frame."""


@checked
class TraceData:
    """A recorded run. `len(trace)` is the number of instructions.

    `result` is what the program returned. The trace of a program that failed has its `error` and the instants before
    it. When recording stopped early, `stopped` says why.
    """

    def __init__(self, code_map: CodeMap, log: Log, args: Sequence[Any], entry: str, engine: TraceEngine) -> None:
        self.code_map = code_map
        self._log = log
        self.args = list(args)
        self.entry = entry
        self.engine = engine
        self._result: Value = None
        self.reload: Callable[[Any], None] | None = None  # of a trace read from a file: computes its values
        self.branches: list[Any] = []  # its forks, each a `forks.Branch`
        self.error: PasslabError | None = None
        self.stopped = ""
        self.parent: tuple[TraceData, int] | None = None  # of a fork: the trace it branched off, and the instant
        self.changes: dict[int, Any] = {}  # of a fork: the new values of registers
        self._replayed: dict[int, tuple[Segment, Log]] = {}
        self._calls: dict[int, int] = {}  # by frame: the event of its call; tail calls count as the first

    @property
    def kind(self) -> str:
        """The executor that ran it: "vm", "graph" or "debug"."""
        return self.engine.kind

    @property
    def source(self) -> IRModule | None:
        """The program as it was written, None where compiling was not recorded."""
        return None if self.code_map.recording is None else self.code_map.recording.input

    @property
    def result(self) -> Value:
        """What the program returned, None where it did not finish."""
        self._ensure_values()
        return self._result

    @result.setter
    def result(self, value: Value) -> None:
        self._result = value

    def _ensure_values(self) -> None:
        pending: list[TraceData] = []
        trace: TraceData | None = self
        while trace is not None and trace.reload is not None:
            pending.append(trace)
            trace = None if trace.parent is None else trace.parent[0]
        for trace in reversed(pending):  # a fork needs the values of the trace that it branched off
            assert trace.reload is not None
            trace.reload(trace)
            trace.reload = None

    # ------------------------------------------------------------ columns
    def __len__(self) -> int:
        return len(self._log)

    @property
    def log(self) -> Log:
        """The log of the run: one entry per instruction executed."""
        self._log.write_out()
        return self._log

    @property
    def finished(self) -> bool:
        """Whether the program ran to its end."""
        return self.error is None and not self.stopped

    @cached_property
    def point(self) -> Columns:
        """The program point of each instruction executed."""
        return np.frombuffer(self.log.points, np.int32) if len(self) else np.zeros(0, np.int32)

    @cached_property
    def frame_of(self) -> Columns:
        """The number of the frame of each instruction executed."""
        starts = np.array(self.log.switched_at, np.int64)
        return np.repeat(np.array(self.log.switched_to, np.int32), np.diff([*starts.tolist(), len(self)]))

    @cached_property
    def depth(self) -> Columns:
        """The number of frames below the frame of each instruction executed."""
        return np.array(self.log.depth, np.int32)[self.frame_of]

    @cached_property
    def seconds(self) -> Columns:
        """The seconds that each instruction executed took."""
        return np.diff(np.array(self.log.clock), prepend=self.log.started)

    @cached_property
    def role(self) -> Columns:
        """The role of each instruction executed: `PLAIN`, `CALL`, `RETURN`, `KERNEL` or `STORAGE` of `code_map`."""
        return self.code_map.role[self.point]

    @cached_property
    def _writes(self) -> tuple[Columns, Columns, Columns, Columns]:
        """Events that write a register, sorted by frame; all events' frames and registers; where each frame starts."""
        frames, registers = self.frame_of.copy(), self.code_map.written[self.point]
        returns = self.role == RETURN  # a return writes into a register of the caller
        returning = self.frame_of[returns]
        frames[returns] = np.array(self.log.parent, np.int32)[returning]
        registers = registers.copy()
        registers[returns] = np.array(self.log.result_register, np.int32)[returning]
        events = np.flatnonzero(registers >= 0)
        # A stable sort keeps the events of each frame in the order of time.
        events = events[np.argsort(frames[events], kind="stable")]
        starts = np.searchsorted(frames[events], np.arange(len(self.log.parent) + 1))
        return events, frames, registers, starts

    # ------------------------------------------------------------ state
    def current(self, instant: int) -> tuple[int, int]:
        """Return the frame on top at an instant and its pc; (-1, -1) after the end of the program."""
        if instant < len(self):
            return int(self.frame_of[instant]), int(self.code_map.pc[self.point[instant]])
        if self.finished or not self.log.switched_to:
            return -1, -1
        return int(self.log.switched_to[-1]), self.log.end_pc

    def segment(self, instant: int) -> tuple[Segment, Log]:
        """Return the segment of an instant, its objects there, and the log it belongs to."""
        self._ensure_values()
        number, segment = self._segment_at(instant)
        while segment.values is None and segment.start not in self._replayed:
            end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self)
            # Running blocks again is cheap: it gives closer checkpoints, so that less is replayed one by one.
            if segment.quick and end - segment.start > 2 * FINE:
                self._refine(number, self.engine.refine(self, segment, end))
                number, segment = self._segment_at(instant)
                continue
            if len(self._replayed) >= REPLAY_CACHE:
                del self._replayed[next(iter(self._replayed))]  # the oldest: a dict keeps the order of insertion
            self._replayed[segment.start] = self.engine.replay(self, segment, end)
        return (segment, self.log) if segment.values is not None else self._replayed[segment.start]

    def _segment_at(self, instant: int) -> tuple[int, Segment]:
        number = bisect_right(self._starts, min(instant, max(len(self) - 1, 0))) - 1
        return number, self.log.segments[number]

    def _refine(self, number: int, parts: list[Segment]) -> None:
        """Replace a segment by shorter ones. One that cannot be split is replayed whole."""
        for part in parts:
            part.quick = len(parts) > 1 and part.quick
        self.log.segments[number : number + 1] = parts
        self._starts[number : number + 1] = [part.start for part in parts]

    @cached_property
    def _starts(self) -> list[int]:
        return [s.start for s in self.log.segments]

    def registers(self, frame: int, instant: int, frames: Mapping[int, SavedFrame] | None = None) -> list[Any]:
        """Return the objects in the registers of a frame at an instant, with their content of now (see `value_at`).

        `frames`, the frames of the checkpoint before it by number, saves the search of callers that look at many.
        """
        segment, _ = self.segment(instant)
        assert segment.values is not None
        size = self.code_map.functions[self.log.function[frame]].register_file_size
        created = self.log.created[frame]
        # The log's value of a call are its arguments, with which the frame began.
        if created >= segment.start and created < instant:
            args: Sequence[Any] = segment.values[created - segment.start]
        else:
            saved = _saved_frame(segment.top, frame) if frames is None else frames.get(frame)
            args = saved.objects() if saved is not None else self.args
        held = [*args, *[None] * (size - len(args))]
        events, _, written, starts = self._writes
        mine = events[starts[frame] : starts[frame + 1]]
        first, last = np.searchsorted(mine, [segment.start, instant])
        latest = np.full(size, -1, np.int64)
        latest[written[mine[first:last]]] = mine[first:last]  # the last write to a register stays
        for register in np.flatnonzero(latest >= 0).tolist():
            held[register] = segment.values[latest[register] - segment.start]
        return held

    def value_at(self, value: Value, instant: int) -> Value:
        """Return a value as it was at an instant; a tensor that no kernel had written yet is an `Unwritten`."""
        segment, log = self.segment(instant)
        if isinstance(value, np.ndarray):
            key = id(owner(value))
            is_new = key in segment.created or key in segment.unwritten
            if is_new and not any(event < instant for event in segment.writes.get(key, ())):
                return Unwritten(value.shape, value.dtype)
            return tensor_at(log, value, instant) if log.overwritten else value
        if not log.overwritten:
            return value
        copies = {key: content_at(log, contents[0].buffer, instant) for key, contents in log.overwritten.items()}
        return Redirection({key: copy for key, copy in copies.items() if copy is not None})(value)

    def written(self, event: int) -> list[tuple[int, int, Any]]:
        """Return the writes of an instruction: (frame, register, value after it)."""
        point, frame = int(self.point[event]), int(self.frame_of[event])
        if self.role[event] == KERNEL and self.code_map.results(point):
            held = self.registers(frame, event)
            return [(frame, r, self.value_at(held[r], event + 1)) for r in self.code_map.results(point)]
        if self.role[event] == RETURN:
            frame, register = int(self.log.parent[frame]), int(self.log.result_register[frame])
        else:
            register = -1 if self.role[event] == CALL else int(self.code_map.written[point])
        if register < 0 or frame < 0:
            return []
        segment, _ = self.segment(event)
        assert segment.values is not None
        return [(frame, register, self.value_at(segment.values[event - segment.start], event + 1))]

    def frames_at(self, instant: int, most: int | None = None) -> list[tuple[int, int]]:
        """Return (number, pc) of the frames at an instant, innermost first, at most `most` of them."""
        frame, pc = self.current(instant)
        frames: list[tuple[int, int]] = []
        while frame >= 0 and (most is None or len(frames) < most):
            frames.append((frame, pc))
            callee, frame = frame, self.log.parent[frame]
            if frame >= 0:
                pc = self._return_pc(frame, callee)
        return frames

    def _return_pc(self, frame: int, callee: int) -> int:
        """Return the pc to which a frame returns from a frame that it called, directly or through tail calls."""
        path: list[int] = []
        while callee not in self._calls:
            path.append(callee)
            created = int(self.log.created[callee])
            if created < 0 or self.frame_of[created] == frame:
                self._calls[callee] = created
            else:  # a tail call: the same frame called the one that it replaced
                callee = int(self.frame_of[created])
        event = self._calls[callee]
        # As path compression in union-find: a chain of tail calls is walked once.
        self._calls.update(dict.fromkeys(path, event))
        if event >= 0:
            return int(self.code_map.pc[self.point[event]]) + 1
        self._ensure_values()
        saved = _saved_frame(self.log.segments[0].top, frame)  # a fork begins in the middle of calls
        assert saved is not None
        return saved.pc

    def machine_frames(self, instant: int) -> tuple[list[Frame], int]:
        """Return the stack at an instant as frames of the interpreter, outermost first, and how many are unchanged.

        Unchanged are the outer frames, which have not run since the checkpoint before: they are taken from it.
        """
        segment = self.segment(instant)[0]
        touched = {*np.unique(self.frame_of[segment.start : instant]).tolist(), self.current(instant)[0]}
        frames: list[Frame] = []
        saved: dict[int, SavedFrame] = {}
        below = segment.top
        while below is not None and below.number in touched:
            saved[below.number], below = below, below.below
        for number, pc in self._touched_frames(instant, touched):
            held = self.registers(number, instant, saved)
            frames.append(frame_at(self.log.function[number], held, self.log.result_register[number], pc))
        looked_up = len(frames)
        while below is not None:
            frames.append(frame_at(below.func_index, list(below.objects()), below.result_register, below.pc))
            below = below.below
        return frames[::-1], len(frames) - looked_up

    def _touched_frames(self, instant: int, touched: Collection[int]) -> list[tuple[int, int]]:
        """Return (number, pc) of the innermost frames, up to the first that is not in `touched`."""
        most = 64  # grows by factors: a deep recursion has many frames, and few of them run between two checkpoints
        while True:
            frames = self.frames_at(instant, most)
            count = next((index for index, (number, _) in enumerate(frames) if number not in touched), len(frames))
            if count < most:
                return frames[:count]
            most *= 4

    def summary(self) -> str:
        """Return what was recorded, in a line."""
        kernels = int((self.role == KERNEL).sum())
        calls = int((self.role == CALL).sum())
        parts = [counted(len(self), "instruction")]
        parts += [counted(n, what) for n, what in ((kernels, "kernel call"), (calls, "call")) if n]
        end = "failed" if self.error is not None else f"recording stopped: {self.stopped}" if self.stopped else ""
        return ", ".join([*parts, end] if end else parts)

    def __repr__(self) -> str:
        return f"<Trace of @{self.entry}: {self.summary()}>"


def _saved_frame(top: SavedFrame | None, number: int) -> SavedFrame | None:
    frame = top
    # A callee has a larger number than its caller, so the search can stop early.
    while frame is not None and frame.number > number:
        frame = frame.below
    return frame if frame is not None and frame.number == number else None
