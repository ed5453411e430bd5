"""`Log`: the record of a run: columns by event, frames by number, checkpoints, contents that kernels overwrote."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np

from passlab.vm.tracing.basic_blocks import LEAVE, NEXT, BasicBlock, materialize

Column = np.ndarray[Any, Any]


@dataclass(eq=False, slots=True)
class SavedFrame:
    """A frame at a checkpoint. Frames below it are shared with other checkpoints.

    A `quick` one was saved while basic blocks ran: its registers hold scalars and deferred storages until `objects`
    materializes them.
    """

    number: int
    func_index: int
    pc: int
    registers: tuple[Any, ...]
    result_register: int
    below: SavedFrame | None
    quick: bool = False

    def objects(self) -> tuple[Any, ...]:
        """Return the objects in its registers as single instructions would have left them."""
        if self.quick:
            self.registers, self.quick = tuple(materialize(self.registers)), False
        return self.registers


@dataclass(frozen=True, eq=False)
class Overwritten:
    """The content of a buffer from byte `start` on, until the kernel of event `event` overwrote it."""

    event: int
    buffer: np.ndarray[Any, Any]
    start: int
    content: bytes


@dataclass(eq=False)
class Segment:
    """A part of the log from a checkpoint on. `values` are the objects written, by event, None after they were dropped.

    A `quick` segment of basic blocks has none: a replay is cheaper. `unwritten` are the ids of buffers that no kernel
    had written when it began, `created` those allocated in it, and `writes` the events that wrote into a buffer.
    """

    start: int
    top: SavedFrame | None
    unwritten: frozenset[int] = frozenset()
    values: list[Any] | None = field(default_factory=list)
    created: set[int] = field(default_factory=set)
    writes: dict[int, list[int]] = field(default_factory=dict)
    bytes: int = 0
    quick: bool = False


EVENTS, SWITCHES = ("points", "clock"), ("switched_at", "switched_to")
COLUMNS = (*EVENTS, *SWITCHES, "parent", "function", "created", "result_register", "depth")


class BlockPath:
    """The basic blocks that ran since `Log.write_out`: their numbers and the clock after each.

    `callees` are the functions of called closures, in order.
    """

    def __init__(self) -> None:
        self.blocks = array("i")
        self.clock = array("d")
        self.callees = array("i")
        self.instructions = 0
        self.calls = 0

    def sizes(self) -> tuple[int, int, int, int]:
        """Return the lengths, for `cut`."""
        return len(self.blocks), len(self.callees), self.instructions, self.calls

    def cut(self, sizes: tuple[int, int, int, int]) -> None:
        """Drop what was added since `sizes`."""
        blocks, callees, self.instructions, self.calls = sizes
        del self.blocks[blocks:], self.clock[blocks:], self.callees[callees:]


class Log:
    """The record of a run: columns by event, frames by number, segments."""

    def __init__(self) -> None:
        # Columns of machine numbers, since a list of Python objects would take several times the memory.
        self.points = array("i")
        self.clock = array("d")
        self.started = 0.0
        self.switched_at = array("q")  # events before which the frame changed, and to which
        self.switched_to = array("i")
        self.parent = array("i")  # by frame: the caller, -1 for none
        self.function = array("i")
        self.created = array("q")  # the event of its call, -1 for the entry
        self.result_register = array("i")
        self.depth = array("i")
        self.segments: list[Segment] = []
        self.overwritten: dict[int, list[Overwritten]] = {}
        self.saved_bytes = 0
        self.end_pc = 0  # of the frame on top when recording ended
        self.dropped = 0  # segments, the oldest, whose objects were dropped
        self.kept = 0  # the bytes of the segments that were not
        self.path = BlockPath()
        self._begun: tuple[BlockPath | None, list[int]] = (None, [])  # what `write_out` began, and the lengths before
        self.blocks: list[BasicBlock] = []  # by the numbers in `path`

    def __len__(self) -> int:
        return len(self.points) + self.path.instructions

    @property
    def frames(self) -> int:
        """The number of frames so far."""
        return len(self.parent) + self.path.calls

    def write_out(self) -> None:
        """Turn the path of blocks into one entry per instruction.

        An interrupt undoes what was written. The path is replaced at the end, so that the next call begins again.
        """
        path = self.path
        if not path.blocks:
            return
        # After an interrupt these are still the lengths before the first attempt.
        if self._begun[0] is not path:
            self._begun = (path, [len(getattr(self, name)) for name in COLUMNS])
        self._undo()
        try:
            self._write(path)
            self.path = BlockPath()
        except BaseException:
            self._undo()
            raise

    def _undo(self) -> None:
        """Cut the columns to their lengths before `write_out`."""
        path, lengths = self._begun
        if path is not self.path:  # all of it was written
            return
        for name, length in zip(COLUMNS, lengths, strict=True):
            if len(column := getattr(self, name)) > length:
                del column[length:]

    def _write(self, path: BlockPath) -> None:
        numbers = np.frombuffer(path.blocks, np.int32)
        counts = np.array([p.count for p in self.blocks], np.int64)[numbers]
        ends = np.cumsum(counts)
        first = np.array([p.point for p in self.blocks], np.int32)[numbers]
        # 0, 1, 2, ... in each block, without a Python loop over instructions.
        within = np.arange(int(ends[-1])) - np.repeat(ends - counts, counts)
        events = len(self.points)
        clock = np.array(path.clock)
        before = np.concatenate([[self.clock[-1] if self.clock else self.started], clock[:-1]])
        self._write_frames(path, numbers, ends + (events - 1))
        self.points.frombytes((np.repeat(first, counts) + within).astype(np.int32).tobytes())
        # The instructions of a block share its time evenly.
        shares = np.repeat((clock - before) / counts, counts) * (within + 1)
        self.clock.frombytes((np.repeat(before, counts) + shares).tobytes())

    def _write_frames(self, path: BlockPath, numbers: Column, last: Column) -> None:
        """Add the frames of a path and the switches between them; `last` are the last events of its blocks.

        A move is a call or a return. The frame that runs after a return is the last one created at that depth. So moves
        are sorted by depth, and each finds its predecessor there; frames on the stack come first at their depths.
        """
        kinds = np.array([p.kind for p in self.blocks])[numbers]
        moves = np.flatnonzero(kinds != NEXT)
        if not moves.size:
            return
        movers, leaves = numbers[moves], kinds[moves] == LEAVE
        tails = np.array([p.tail for p in self.blocks])[movers] & ~leaves
        running = self.switched_to[-1]
        # A call goes one level down, a return one up, and a tail call stays.
        depth = self.depth[running] + np.cumsum(np.where(leaves, -1, np.where(tails, 0, 1)))
        count = len(moves) - (depth[-1] < 0)  # the return of the entry leads nowhere
        movers, leaves, tails, depth, events = movers[:count], leaves[:count], tails[:count], depth[:count], last[moves]
        # The frames on the stack down to the lowest depth reached, the current one last.
        low = int(depth.min(initial=self.depth[running]))
        stack = [running]
        while self.depth[stack[-1]] > low:
            stack.append(self.parent[stack[-1]])
        on_stack = stack[::-1]
        head = len(on_stack)

        enters = ~leaves
        frames = np.concatenate([on_stack, len(self.parent) - 1 + np.cumsum(enters)])
        results = np.array([p.result_register for p in self.blocks])[movers]
        results = np.concatenate([[self.result_register[f] for f in on_stack], results])
        depths = np.concatenate([[self.depth[f] for f in on_stack], depth]).astype(np.int64)
        order = np.argsort(depths, kind="stable")
        tops = frames[_latest(order, np.concatenate([np.ones(head, bool), enters]))]
        parents = np.concatenate([[self.parent[f] for f in on_stack], tops[head - 1 : -1]]).astype(np.int64)
        called = _latest(
            order, np.concatenate([np.ones(head, bool), enters & ~tails])
        )  # a tail call replaces that frame
        callees = np.array([p.callee for p in self.blocks])[movers]
        callees[enters & (callees < 0)] = np.array(path.callees)
        columns = {
            "parent": parents[called],
            "function": np.concatenate([np.zeros(head, np.int64), callees]),
            "depth": depths,
            "created": np.concatenate([np.zeros(head, np.int64), events[:count]]),
            "result_register": results[called],
        }
        for name, column in columns.items():
            _extend(getattr(self, name), column[head:][enters])
        _extend(self.switched_at, events[:count] + 1)
        _extend(self.switched_to, tops[head:])

    def add_frame(self, parent: int, function: int, created: int, result_register: int) -> int:
        """Add a frame and return its number."""
        self.parent.append(parent)
        self.function.append(function)
        self.created.append(created)
        self.result_register.append(result_register)
        self.depth.append(self.depth[parent] + 1 if parent >= 0 else 0)
        return len(self.parent) - 1

    def switch(self, frame: int) -> None:
        """Record that the next event belongs to `frame`."""
        self.switched_at.append(len(self.points))
        self.switched_to.append(frame)

    def kept_bytes(self) -> int:
        """Return the bytes of the objects and contents that are kept."""
        return self.saved_bytes + self.kept


def _latest(order: Column, chosen: Column) -> Column:
    """Return for each item the latest chosen item of its group at or before it; `order` lists the items by group.

    Each group begins with a chosen item.
    """
    within = np.arange(len(order))
    array = np.empty_like(order)
    # The running maximum of chosen positions is the last chosen one; it never comes from the group before.
    array[order] = order[np.maximum.accumulate(np.where(chosen[order], within, 0))]
    return array


def _extend(column: array[Any], numbers: Column) -> None:
    column.frombytes(numbers.astype(column.typecode).tobytes())


def code_offsets(functions: Sequence[Any]) -> list[int]:
    """Return the program point of each function's first instruction, and at the end the number of all points."""
    return list(accumulate((len(function.instructions) for function in functions), initial=0))
