"""What is written down about a run: columns by event, frames by number, checkpoints, what stood where kernels wrote."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from passlab.vm.tracing.basic_blocks import LEAVE, NEXT, BasicBlock, settled

Column = np.ndarray[Any, Any]


@dataclass(eq=False, slots=True)
class SavedFrame:
    """A frame at a checkpoint. Frames below it are shared with other checkpoints.

    A `quick` one was saved while blocks of arithmetic ran (see `blocks`): its objects are those that were there
    in place of arrays and storages, until `objects` makes them.
    """

    number: int
    func_index: int
    pc: int
    registers: tuple[Any, ...]
    result_register: int
    below: SavedFrame | None
    quick: bool = False

    def objects(self) -> tuple[Any, ...]:
        """Return the objects in its registers, as single instructions leave them."""
        if self.quick:
            self.registers, self.quick = tuple(settled(self.registers)), False
        return self.registers


@dataclass(frozen=True, eq=False)
class Overwritten:
    """What stood in a buffer from byte `start` on until the kernel of event `event` wrote over it."""

    event: int
    buffer: np.ndarray[Any, Any]
    start: int
    content: bytes


@dataclass(eq=False)
class Segment:
    """A block of the log. `values` are the objects written, by event, or None when they were dropped.

    Those of `quick` segments are never kept: running them again is cheaper. `unwritten` are the buffers (by id) that no
    kernel had written into when it began, `made` those allocated in it, and `writes` the events that wrote into a
    buffer.
    """

    start: int
    top: SavedFrame | None
    unwritten: frozenset[int] = frozenset()
    values: list[Any] | None = field(default_factory=list)
    created: set[int] = field(default_factory=set)
    writes: dict[int, list[int]] = field(default_factory=dict)
    bytes: int = 0
    quick: bool = False


class Path:
    """The part of a log that is not written out yet: the blocks that were run, by number, and when each ended.

    `callees` are the functions that closures led to, in order.
    """

    def __init__(self) -> None:
        self.blocks = array("i")
        self.clock = array("d")
        self.callees = array("i")
        self.instructions = 0
        self.calls = 0

    def sizes(self) -> tuple[int, int, int, int]:
        """Return how much there is, for `cut`."""
        return len(self.blocks), len(self.callees), self.instructions, self.calls

    def cut(self, sizes: tuple[int, int, int, int]) -> None:
        """Forget what came after a moment."""
        blocks, callees, self.instructions, self.calls = sizes
        del self.blocks[blocks:], self.clock[blocks:], self.callees[callees:]


class Log:
    """All that was written down about a run: columns by event, frames by number, segments."""

    def __init__(self) -> None:
        self.points = array("i")
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
        self.kept = 0  # the bytes of the segments that were not
        self.path = Path()
        self.plans: list[BasicBlock] = []  # the blocks that paths speak of

    def __len__(self) -> int:
        return len(self.points) + self.path.instructions

    @property
    def frames(self) -> int:
        """How many frames there were."""
        return len(self.parent) + self.path.calls

    def write_out(self) -> None:
        """Turn the path of the blocks that were run into entries for each of their instructions."""
        if not self.path.blocks:
            return
        path, self.path = self.path, Path()
        numbers = np.frombuffer(path.blocks, np.int32)
        counts = np.array([p.count for p in self.plans], np.int64)[numbers]
        ends = np.cumsum(counts)
        first = np.array([p.point for p in self.plans], np.int32)[numbers]
        within = np.arange(int(ends[-1])) - np.repeat(ends - counts, counts)
        events = len(self.points)
        clock = np.array(path.clock)
        before = np.concatenate([[self.clock[-1] if self.clock else self.started], clock[:-1]])
        self._write_frames(path, numbers, ends + (events - 1))
        self.points.frombytes((np.repeat(first, counts) + within).astype(np.int32).tobytes())
        shares = np.repeat((clock - before) / counts, counts) * (within + 1)
        self.clock.frombytes((np.repeat(before, counts) + shares).tobytes())

    def _write_frames(self, path: Path, numbers: Column, last: Column) -> None:
        """Enter the frames of a path and who ran when; `last` are the events its blocks end with.

        The frame that runs after a return is the last one created at that depth. So moves are sorted by depth, and
        each finds the ones before it there; the frames that there were already stand at the head of their depths.
        """
        kinds = np.array([p.kind for p in self.plans])[numbers]
        moves = np.flatnonzero(kinds != NEXT)
        if not moves.size:
            return
        plans, leaves = numbers[moves], kinds[moves] == LEAVE
        tails = np.array([p.tail for p in self.plans])[plans] & ~leaves
        running = self.switched_to[-1]
        depth = self.depth[running] + np.cumsum(np.where(leaves, -1, np.where(tails, 0, 1)))
        count = len(moves) - (depth[-1] < 0)  # the return of the entry leads nowhere
        plans, leaves, tails, depth, events = plans[:count], leaves[:count], tails[:count], depth[:count], last[moves]
        there = self._stack(running, int(depth.min(initial=self.depth[running])))
        head = len(there)

        enters = ~leaves
        frames = np.concatenate([there, len(self.parent) - 1 + np.cumsum(enters)])
        results = np.array([p.result_register for p in self.plans])[plans]
        results = np.concatenate([[self.result_register[f] for f in there], results])
        depths = np.concatenate([[self.depth[f] for f in there], depth]).astype(np.int64)
        order = np.argsort(depths, kind="stable")
        tops = frames[_latest(order, np.concatenate([np.ones(head, bool), enters]))]
        parents = np.concatenate([[self.parent[f] for f in there], tops[head - 1 : -1]]).astype(np.int64)
        called = _latest(
            order, np.concatenate([np.ones(head, bool), enters & ~tails])
        )  # a tail call replaces that frame
        columns = {
            "parent": parents[called],
            "function": self._callees(path, plans, enters, head),
            "depth": depths,
            "created": np.concatenate([np.zeros(head, np.int64), events[:count]]),
            "result_register": results[called],
        }
        for name, column in columns.items():
            _extend(getattr(self, name), column[head:][enters])
        _extend(self.switched_at, events[:count] + 1)
        _extend(self.switched_to, tops[head:])

    def _stack(self, frame: int, low: int) -> list[int]:
        """The frames that are on the stack now down to a depth, the one that runs last."""
        stack = [frame]
        while self.depth[stack[-1]] > low:
            stack.append(self.parent[stack[-1]])
        return stack[::-1]

    def _callees(self, path: Path, plans: Column, created: Column, head: int) -> Column:
        """For each move the function it leads to; closures' are in the path."""
        callees = np.array([p.callee for p in self.plans])[plans]
        callees[created & (callees < 0)] = np.array(path.callees)
        return np.concatenate([np.zeros(head, np.int64), callees])

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
        self.switched_at.append(len(self.points))
        self.switched_to.append(frame)

    def kept_bytes(self) -> int:
        """What the objects that are still there take, as far as it is counted."""
        return self.saved_bytes + self.kept


def _latest(order: Column, chosen: Column) -> Column:
    """For each place the last chosen one before it of the same group, or itself; `order` goes group by group.

    Every group begins with a chosen one.
    """
    within = np.arange(len(order))
    array = np.empty_like(order)
    array[order] = order[np.maximum.accumulate(np.where(chosen[order], within, 0))]
    return array


def _extend(column: array[Any], numbers: Column) -> None:
    column.frombytes(numbers.astype(column.typecode).tobytes())


def code_offsets(functions: Sequence[Any]) -> list[int]:
    """Return for each function the point of its first instruction; at the end the number of all points."""
    bases = [0]
    for function in functions:
        bases.append(bases[-1] + len(function.instructions))
    return bases
