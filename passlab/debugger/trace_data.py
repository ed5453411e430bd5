"""`TraceData`: one run of a program as data: every instruction, what it wrote, and the state at every instant.

Instant *n* is the moment after *n* instructions. Registers are found by looking up the last write before an instant, so
any instant is reached without running to it. Objects whose memory was over the cap come back when the `Engine` that
wrote the trace runs a segment of the log again from its checkpoint. A trace never changes. What users ask of it, such
as tables, files and forks, is added by `trace.Trace`; of the debugger this module imports the code map alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from passlab.debugger.code_map import CALL, KERNEL, RETURN, CodeMap
from passlab.debugger.values import Unwritten
from passlab.errors import PasslabError, counted
from passlab.ir.module import IRModule
from passlab.vm.control import Frame, frame_at
from passlab.vm.tracing.buffers import Redirection, content_at, owner, tensor_at
from passlab.vm.tracing.log import Log, SavedFrame, Segment
from passlab.vm.tracing.recorder import FINE

Columns = np.ndarray[Any, Any]
REPLAYED = 16  # segments that were run again and are kept


class Engine(Protocol):
    """What ran the program of a trace, and can run a part of it again. `kind` is "vm", "graph" or "debug"."""

    kind: str

    def replay(self, trace: TraceData, segment: Segment, end: int) -> tuple[Segment, Log]:
        """Return a segment with its objects, and the log of what was overwritten."""

    def refine(self, trace: TraceData, segment: Segment, end: int) -> list[Segment]:
        """Return shorter segments in the place of one, each with a checkpoint."""

    def run_on(self, trace: TraceData, instant: int, changes: Mapping[int, Any]) -> TraceData:
        """Return the branch that leaves a trace at an instant with other values in registers of its frame."""


class TraceData:
    """A recorded run. `len(trace)` is the number of instructions.

    `result` is what the program returned. A program that failed leaves its `error`, and the instants up to it. When
    recording stopped early, `stopped` says why.
    """

    def __init__(self, code_map: CodeMap, log: Log, args: Sequence[Any], entry: str, engine: Engine) -> None:
        self.code_map = code_map
        self._log = log
        self.args = list(args)
        self.entry = entry
        self.engine = engine
        self._result: Any = None
        self.reload: Callable[[Any], None] | None = None  # for a trace that was read: computes its values
        self.branches: list[Any] = []  # how the forks that were made from it left: see `forks.Branch`
        self.error: PasslabError | None = None
        self.stopped = ""
        self.parent: tuple[TraceData, int] | None = None  # of a fork: the trace it left, and where
        self.changes: dict[int, Any] = {}  # of a fork: what registers became there
        self._replayed: dict[int, tuple[Segment, Log]] = {}
        self._calls: dict[int, int] = {}  # by frame: the event of its call, tail calls looked through

    @property
    def kind(self) -> str:
        """The executor that ran it: "vm", "graph" or "debug"."""
        return self.engine.kind

    @property
    def source(self) -> IRModule | None:
        """The program as it was written, None where compiling was not recorded."""
        return None if self.code_map.recording is None else self.code_map.recording.input

    @property
    def result(self) -> Any:
        """What the program returned, None when it did not come to its end."""
        self._ensure_values()
        return self._result

    @result.setter
    def result(self, value: Any) -> None:
        self._result = value

    def _ensure_values(self) -> None:
        waiting: list[TraceData] = []
        at: TraceData | None = self
        while at is not None and at.reload is not None:  # a fork comes after the trace it left
            waiting.append(at)
            at = None if at.parent is None else at.parent[0]
        for trace in reversed(waiting):
            assert trace.reload is not None
            trace.reload(trace)
            trace.reload = None

    # ------------------------------------------------------------ columns
    def __len__(self) -> int:
        return len(self._log)

    @property
    def log(self) -> Log:
        """What was written down while it ran, an entry for each instruction."""
        self._log.write_out()
        return self._log

    @property
    def finished(self) -> bool:
        """Whether the program came to its end."""
        return self.error is None and not self.stopped

    @cached_property
    def site(self) -> Columns:
        """For each instruction executed its site."""
        return np.frombuffer(self.log.sites, np.int32) if len(self) else np.zeros(0, np.int32)

    @cached_property
    def frame_of(self) -> Columns:
        """For each instruction executed the number of its frame."""
        starts = np.array(self.log.switched_at, np.int64)
        return np.repeat(np.array(self.log.switched_to, np.int32), np.diff([*starts.tolist(), len(self)]))

    @cached_property
    def depth(self) -> Columns:
        """For each instruction executed how many frames were below its own."""
        return np.array(self.log.depth, np.int32)[self.frame_of]

    @cached_property
    def seconds(self) -> Columns:
        """For each instruction executed the seconds it took."""
        return np.diff(np.array(self.log.clock), prepend=self.log.started)

    @cached_property
    def role(self) -> Columns:
        """For each instruction executed what it is: see `code_map`."""
        return self.code_map.role[self.site]

    @cached_property
    def _writes(self) -> tuple[Columns, Columns, Columns, Columns]:
        """Events that write a register, sorted by frame; all events' frames and registers; where each frame starts."""
        frames, registers = self.frame_of.copy(), self.code_map.written[self.site]
        back = self.role == RETURN
        returning = self.frame_of[back]
        frames[back] = np.array(self.log.parent, np.int32)[returning]
        registers = registers.copy()
        registers[back] = np.array(self.log.result_register, np.int32)[returning]
        events = np.flatnonzero(registers >= 0)
        events = events[np.argsort(frames[events], kind="stable")]
        starts = np.searchsorted(frames[events], np.arange(len(self.log.parent) + 1))
        return events, frames, registers, starts

    # ------------------------------------------------------------ state
    def current(self, instant: int) -> tuple[int, int]:
        """Return the frame on top at an instant and its pc; (-1, -1) after the end of the program."""
        if instant < len(self):
            return int(self.frame_of[instant]), int(self.code_map.pc[self.site[instant]])
        if self.finished or not self.log.switched_to:
            return -1, -1
        return int(self.log.switched_to[-1]), self.log.end_pc

    def segment(self, instant: int) -> tuple[Segment, Log]:
        """Return the segment of an instant, its objects there, and the log it belongs to."""
        self._ensure_values()
        number, segment = self._segment_at(instant)
        while segment.values is None and segment.start not in self._replayed:
            end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self)
            if segment.quick and end - segment.start > 2 * FINE:
                self._refine(number, self.engine.refine(self, segment, end))
                number, segment = self._segment_at(instant)
                continue
            if len(self._replayed) >= REPLAYED:
                del self._replayed[next(iter(self._replayed))]
            self._replayed[segment.start] = self.engine.replay(self, segment, end)
        return (segment, self.log) if segment.values is not None else self._replayed[segment.start]

    def _segment_at(self, instant: int) -> tuple[int, Segment]:
        number = bisect_right(self._starts, min(instant, max(len(self) - 1, 0))) - 1
        return number, self.log.segments[number]

    def _refine(self, number: int, parts: list[Segment]) -> None:
        """Put shorter segments in the place of one; when it cannot be cut, it is run again as it is."""
        for part in parts:
            part.quick = len(parts) > 1 and part.quick
        self.log.segments[number : number + 1] = parts
        self._starts[number : number + 1] = [part.start for part in parts]

    @cached_property
    def _starts(self) -> list[int]:
        return [s.start for s in self.log.segments]

    def registers(self, frame: int, instant: int, frames: Mapping[int, SavedFrame] | None = None) -> list[Any]:
        """Return the objects in the registers of a frame at an instant, as they are now (see `value_at`).

        `frames` are those of the checkpoint before it by number, for who looks at many frames.
        """
        segment, _ = self.segment(instant)
        assert segment.values is not None
        size = self.code_map.functions[self.log.function[frame]].register_file_size
        created = self.log.created[frame]
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

    def value_at(self, value: Any, instant: int) -> Any:
        """Return a value as it was at an instant: before a kernel wrote into a tensor, an `Unwritten`."""
        segment, log = self.segment(instant)
        if isinstance(value, np.ndarray):
            key = id(owner(value))
            fresh = key in segment.created or key in segment.unwritten
            if fresh and not any(event < instant for event in segment.writes.get(key, ())):
                return Unwritten(value.shape, value.dtype)
            return tensor_at(log, value, instant) if log.overwritten else value
        if not log.overwritten:
            return value
        copies = {key: content_at(log, contents[0].buffer, instant) for key, contents in log.overwritten.items()}
        return Redirection({key: copy for key, copy in copies.items() if copy is not None})(value)

    def written(self, event: int) -> list[tuple[int, int, Any]]:
        """Return what an instruction wrote: (frame, register, value after it)."""
        site, frame = int(self.site[event]), int(self.frame_of[event])
        if self.role[event] == KERNEL and self.code_map.results(site):
            held = self.registers(frame, event)
            return [(frame, r, self.value_at(held[r], event + 1)) for r in self.code_map.results(site)]
        if self.role[event] == RETURN:
            frame, register = int(self.log.parent[frame]), int(self.log.result_register[frame])
        else:
            register = -1 if self.role[event] == CALL else int(self.code_map.written[site])
        if register < 0 or frame < 0:
            return []
        segment, _ = self.segment(event)
        assert segment.values is not None
        return [(frame, register, self.value_at(segment.values[event - segment.start], event + 1))]

    def frames_at(self, instant: int, most: int | None = None) -> list[tuple[int, int]]:
        """Return the frames at an instant and their places, innermost first; only `most` of them."""
        frame, pc = self.current(instant)
        frames: list[tuple[int, int]] = []
        while frame >= 0 and (most is None or len(frames) < most):
            frames.append((frame, pc))
            called, frame = frame, self.log.parent[frame]
            if frame >= 0:
                pc = self._waiting(frame, called)
        return frames

    def _waiting(self, frame: int, called: int) -> int:
        """Return where a frame goes on that called, directly or by tail calls, another frame."""
        path: list[int] = []
        while called not in self._calls:
            path.append(called)
            created = int(self.log.created[called])
            if created < 0 or self.frame_of[created] == frame:
                self._calls[called] = created
            else:  # a tail call: what it replaced was called by the same frame
                called = int(self.frame_of[created])
        event = self._calls[called]
        self._calls.update(dict.fromkeys(path, event))
        if event >= 0:
            return int(self.code_map.pc[self.site[event]]) + 1
        self._ensure_values()
        saved = _saved_frame(self.log.segments[0].top, frame)  # a fork begins in the middle of calls
        assert saved is not None
        return saved.pc

    def machine_frames(self, instant: int) -> tuple[list[Frame], int]:
        """Return the whole stack at an instant as frames for a machine, outermost first.

        Frames that have not run since the checkpoint before are as they were there: only the others are looked up. How
        many there are of them comes second.
        """
        segment = self.segment(instant)[0]
        touched = {*np.unique(self.frame_of[segment.start : instant]).tolist(), self.current(instant)[0]}
        frames: list[Frame] = []
        saved: dict[int, SavedFrame] = {}
        at = segment.top
        while at is not None and at.number in touched:
            saved[at.number], at = at, at.below
        for number, pc in self._running(instant, touched):
            held = self.registers(number, instant, saved)
            frames.append(frame_at(self.log.function[number], held, self.log.result_register[number], pc))
        looked_up = len(frames)
        while at is not None:
            frames.append(frame_at(at.func_index, list(at.objects()), at.result_register, at.pc))
            at = at.below
        return frames[::-1], len(frames) - looked_up

    def _running(self, instant: int, touched: Collection[int]) -> list[tuple[int, int]]:
        """Return the innermost of `frames_at` that are among those `touched`."""
        most = 64
        while True:
            frames = self.frames_at(instant, most)
            count = next((place for place, (number, _) in enumerate(frames) if number not in touched), len(frames))
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
    at = top
    while at is not None and at.number > number:
        at = at.below
    return at if at is not None and at.number == number else None
