"""`MachineEngine`: replays segments of a trace, which restores dropped objects, and runs forks.

Both start the virtual machine from the frames of an instant. A replay writes into copies of the buffers that the first
run overwrote; a fork writes into copies of all buffers that it may still write into, so the trace stays as it is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from passlab import limits
from passlab.debugger.trace_data import TraceData
from passlab.errors import Diagnostic, PasslabError, RunError, VerifyError, type_in_words
from passlab.evaluate.arguments import check_argument
from passlab.evaluate.values import ADTValue, Value
from passlab.ir.expr import Var
from passlab.ir.types import TensorType
from passlab.vm.engines.frames import Frame, frame_at
from passlab.vm.objects import Storage
from passlab.vm.tracing.buffers import Redirection, content_at, owner
from passlab.vm.tracing.log import Log, SavedFrame, Segment
from passlab.vm.tracing.recorder import FINE, TracingMachine

UNBOUNDED = 1 << 62
DIFFERENT = "the run differs from its log: the trace was recorded with another program"
ENDED = Diagnostic("there is nothing to run on from: the program has ended", hint="fork an earlier instant")


def no_such_register(function: str, count: int, register: int) -> RunError:
    """Return the error for a register that a function does not have."""
    return RunError(f"there is no register ${register}: @{function} has $0 to ${count - 1}")


class MachineEngine:
    """The virtual machine as the engine of a trace. The last `machine` that ran shares its code with the next."""

    kind = "vm"

    def __init__(self, machine: TracingMachine | None = None) -> None:
        self.machine = machine

    def start(self, trace: TraceData, memory: int, most: int) -> TracingMachine:
        """Return a machine for the program of a trace with an empty log."""
        return TracingMachine(trace.code_map.program, memory, most, self.machine)

    def replay(self, trace: TraceData, segment: Segment, end: int) -> tuple[Segment, Log]:
        """Run a segment again from its checkpoint; return it with its objects, and the log of what was overwritten.

        Raises `VerifyError` where the run differs from the log, since the program or its kernels are not the same.
        """
        log = trace.log
        # With overwritten buffers any frame may refer to one of them, so all frames are restored.
        running = None if log.overwritten else _running(trace, segment, end)
        frames, numbers, below = _frames(segment.top, running)
        unwritten: set[int] = set(segment.unwritten)
        if log.overwritten:
            copies = {k: content_at(log, contents[0].buffer, segment.start) for k, contents in log.overwritten.items()}
            _redirect(frames, {k: c for k, c in copies.items() if c is not None}, unwritten)
        machine = self._machine(trace, segment.start)
        try:
            machine.resume(frames, numbers, unwritten, end - segment.start, every_object=True)
        except PasslabError as error:
            # An error after the last instruction is that of the recorded run.
            if len(machine.log) < end - segment.start:
                raise VerifyError(Diagnostic("the replay failed before the end of the recorded segment")) from error
        _check_path(machine.log, trace, segment.start, end)
        return _join(segment, machine.log, below), machine.log

    def refine(self, trace: TraceData, segment: Segment, end: int) -> list[Segment]:
        """Run a quick segment again, as quickly, and return shorter ones in its place, each with a checkpoint.

        A basic block runs much faster than its instructions one by one, as `replay` runs them. So any instant is
        reached fast, however far apart the checkpoints of the recording are. Raises `VerifyError`.
        """
        frames, numbers, below = _frames(segment.top, _running(trace, segment, end))
        machine = self._machine(trace, segment.start)
        machine.spacing = FINE
        machine.resume(frames, numbers, segment.unwritten, end - segment.start)
        machine.log.write_out()
        _check_path(machine.log, trace, segment.start, end)
        parts = machine.log.segments
        if not all(part.quick for part in parts):
            return [segment]
        for part in parts:
            part.start += segment.start
            lowest = part.top
            while lowest is not None and lowest.below is not None and lowest.below is not below:
                lowest = lowest.below
            if lowest is not None:
                lowest.below = below
        return parts

    def run_on(self, trace: TraceData, instant: int, changes: Mapping[int, Any]) -> TraceData:
        """Return the branch of a trace at an instant with other values in registers of its frame.

        An error while it runs becomes its `error`. Raises `RunError` for changes that do not fit.
        """
        current = limits.current()
        machine, frames, numbers, unwritten = fork_at(
            trace, instant, changes, current.trace_bytes, current.trace_instants
        )
        branch = type(trace)(trace.code_map, machine.log, trace.args, trace.entry, MachineEngine(machine))
        branch.parent, branch.changes = (trace, instant), {r: copy_array(frames[-1].registers[r]) for r in changes}
        try:
            branch.result = machine.resume(frames, numbers, unwritten, current.trace_instants)
        except PasslabError as error:
            branch.error = error
        branch.stopped = machine.stopped
        return branch

    def _machine(self, trace: TraceData, instant: int) -> TracingMachine:
        """Return a machine whose log has the frames created before an instant."""
        self.machine = machine = self.start(trace, UNBOUNDED, UNBOUNDED)
        old, new = trace.log, machine.log
        count = bisect_left(old.created, instant)  # frames are numbered in the order of their calls
        for column in ("parent", "function", "created", "result_register", "depth"):
            getattr(new, column).extend(getattr(old, column)[:count])
        return machine


def _running(trace: TraceData, segment: Segment, end: int) -> set[int]:
    """Return the numbers of the frames that run in a segment."""
    return set(np.unique(trace.frame_of[segment.start : end]).tolist())


def _check_path(log: Log, trace: TraceData, start: int, end: int) -> None:
    if log.points[: end - start] != trace.log.points[start:end]:
        raise VerifyError(DIFFERENT)


def _join(segment: Segment, log: Log, below: SavedFrame | None) -> Segment:
    """Join the segments of a replay into one at the start of `segment`, on top of the frames that did not run."""
    values: list[Any] = []
    first = log.segments[0]  # its registers and memory are those of this run
    lowest = first.top
    while lowest is not None and lowest.below is not None:
        lowest = lowest.below
    if lowest is not None:
        lowest.below = below
    joined = Segment(segment.start, first.top, first.unwritten, values)
    for part in log.segments:
        values += part.values or ()
        joined.created |= part.created
        for key, events in part.writes.items():
            joined.writes.setdefault(key, []).extend(e + segment.start for e in events)
    for contents in log.overwritten.values():
        contents[:] = [type(o)(o.event + segment.start, o.buffer, o.start, o.content) for o in contents]
    return joined


def _frames(
    top: SavedFrame | None, running: Collection[int] | None
) -> tuple[list[Frame], list[int], SavedFrame | None]:
    """Return the frames of a checkpoint, their numbers, and the frame below the last of them.

    With `running`, numbers of frames, only these come, and the frame that the last of them returns to.
    """
    frames, numbers = [], []
    saved, is_last = top, False
    while saved is not None and not is_last:
        is_last = running is not None and saved.number not in running
        frames.append(frame_at(saved.func_index, list(saved.objects()), saved.result_register, saved.pc))
        numbers.append(saved.number)
        saved = saved.below
    return frames[::-1], numbers[::-1], saved


def _redirect(frames: list[Frame], buffers: dict[int, np.ndarray[Any, Any]], unwritten: set[int]) -> None:
    if not buffers:
        return
    for key in unwritten & set(buffers):
        unwritten.discard(key)
        unwritten.add(id(buffers[key]))  # the copy has no value either
    rebuild = Redirection(buffers)
    for frame in frames:
        frame.registers = [rebuild(value) for value in frame.registers]


def fork_at(
    trace: TraceData, instant: int, changes: Mapping[int, Any], memory: int, most: int
) -> tuple[TracingMachine, list[Frame], list[int], set[int]]:
    """Return a machine, its frames, their numbers and the unwritten buffers, as `TracingMachine.resume` takes them.

    The machine runs on from an instant with other values in registers of its frame. Raises `RunError` for an unknown
    register, or a value of another kind than the one it replaces.
    """
    frames, untouched = trace.machine_frames(instant)
    if not frames:
        raise RunError(ENDED)
    top = frames[-1]
    segment, log = trace.segment(instant)
    unwritten = {
        k for k in (*segment.created, *segment.unwritten) if not any(e < instant for e in segment.writes.get(k, ()))
    }
    # only frames that ran since the checkpoint can refer to memory allocated since then
    recent = frames if log.overwritten or unwritten & segment.unwritten else frames[untouched:]
    buffers = _copies_of_unwritten(recent, unwritten)
    for key, contents in log.overwritten.items():
        copy = content_at(log, contents[0].buffer, instant)
        buffers[key] = contents[0].buffer.copy() if copy is None else copy
    _redirect(recent, buffers, unwritten)
    function = trace.code_map.functions[top.func_index]
    for register, value in changes.items():
        if not 0 <= register < function.register_file_size:
            raise no_such_register(function.name, function.register_file_size, register)
        top.registers[register] = fit(register, top.registers[register], value)
    assert isinstance(trace.engine, MachineEngine)
    machine = trace.engine.start(trace, memory, most)
    numbers = [
        machine.log.add_frame(number - 1, frame.func_index, -1, frame.result_register)
        for number, frame in enumerate(frames)
    ]
    return machine, frames, numbers, unwritten


def _copies_of_unwritten(frames: list[Frame], unwritten: set[int]) -> dict[int, np.ndarray[Any, Any]]:
    """Return copies of the buffers in registers that no kernel has written into yet."""
    copies: dict[int, np.ndarray[Any, Any]] = {}
    for frame in frames:
        for value in frame.registers:
            buffer = (
                value.buffer if isinstance(value, Storage) else owner(value) if isinstance(value, np.ndarray) else None
            )
            if buffer is not None and id(buffer) in unwritten:
                copies[id(buffer)] = buffer.copy()
    return copies


def copy_array(value: Value) -> Value:
    """Return a copy of an array, since kernels may write into it, and any other value itself."""
    return value.copy() if isinstance(value, np.ndarray) else value


def copy_arrays(value: Value) -> Value:
    """Return an argument with copies of its arrays, which the caller of the program cannot change."""
    copies: dict[int, Any] = {}
    stack = [value]
    while stack:
        part = stack[-1]
        inner = part.fields if isinstance(part, ADTValue) else part if type(part) in (list, tuple) else ()
        missing = [field for field in inner if id(field) not in copies]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        if isinstance(part, ADTValue):
            copies[id(part)] = ADTValue(part.constructor, [copies[id(field)] for field in inner])
        elif type(part) in (list, tuple):
            copies[id(part)] = type(part)(copies[id(field)] for field in inner)
        else:
            copies[id(part)] = copy_array(part)
    return copies[id(value)]


def fit(register: int, old: Value, value: Any) -> Value:
    """Return a value as a register takes it: a tensor in the shape and dtype of the old one, else the same type.

    Raises `RunError` for a value that cannot replace the old one.
    """
    if isinstance(old, np.ndarray):
        array = np.asarray(value)
        # "same_kind" allows other sizes of a float or integer, but no float for an integer.
        if array.shape == old.shape and np.can_cast(array.dtype, old.dtype, "same_kind"):
            return array.astype(old.dtype)
        return check_argument(Var(f"${register}", TensorType(old.shape, old.dtype.name)), value)
    if isinstance(old, int) and isinstance(value, (int, np.integer)):
        return int(value)
    if type(old) is not type(value):
        raise RunError(f"${register} holds {type_in_words(old)}, which {type_in_words(value)} cannot replace")
    return value
