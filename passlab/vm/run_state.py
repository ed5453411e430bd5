"""What the parts of one run share: the instructions that are left, and the memory.

Counting what is alive each time something is made would cost more than making it. So a run is given room, which what it
makes uses up; when the room is gone, all that its frames hold is counted, and what is missing to the limit `live_bytes`
is the new room (at least a `SHARE` of the limit, which is how far it can be exceeded by what is small). Large tensors
are counted before they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from passlab import limits
from passlab.errors import Diagnostic, LimitError
from passlab.evaluate.values import ADTValue
from passlab.vm.control import Frame
from passlab.vm.instruction_spec import Effect
from passlab.vm.isa import Instruction
from passlab.vm.objects import Storage, VMClosure

LARGE = 1 << 16  # bytes: tensors from this size on are held against the limits one by one
SHARE = 16
OBJECT = 64  # bytes of a data value, a tuple or a closure without its fields
FIELD = 120  # bytes of a field, and the array without dimensions that may stand in it
Step = Callable[[list[Any]], None]


class State:
    """The instructions that are left of a run, the bytes that may be made until the living ones are counted again, and
    what the run holds: frames, and generators that wait for a result.
    """

    __slots__ = ("frames", "left", "room", "waiting")

    def __init__(self) -> None:
        self.left = 0
        self.frames: list[Frame] = []
        self.waiting: list[Any] = []
        self.begin()

    def begin(self) -> None:
        """Give a new run its room."""
        self.room = limits.current().live_bytes

    def sweep(self, needed: int, here: dict[str, Any] | None = None) -> None:
        """Count what is alive, the variables `here` included. Raises `LimitError` when `needed` more are too many."""
        cap = limits.current().live_bytes
        held: list[Any] = [list((here or {}).values()), [f.registers for f in self.frames]]
        held += [list(g.gi_frame.f_locals.values()) for g in self.waiting if g.gi_frame is not None]
        alive = bytes_alive(held)
        if alive + needed > cap:
            raise LimitError(
                Diagnostic(
                    f"the program holds {alive:,} bytes, wants {needed:,} more, and the limit `live_bytes` is {cap:,}",
                    hint="raise it with `passlab.limits.override(live_bytes=...)`",
                )
            )
        self.room = max(cap - alive - needed, cap // SHARE)

    def meter(self, instruction: Instruction, step: Step) -> Step:
        """Return a step that uses up room for what its instruction makes; the step itself when that is nothing."""
        effect = instruction.spec.effect
        if effect is Effect.STORAGE:
            size = instruction.size

            def storage(r: list[Any]) -> None:
                expected = int(r[size])
                if expected >= 0:
                    self.take(expected, r)
                step(r)

            return storage
        if effect is not Effect.OBJECT:
            return step
        result = object_bytes(instruction)

        def data(r: list[Any]) -> None:
            self.room -= result
            if self.room < 0:
                self.sweep(result, {"r": r})
            step(r)

        return data

    def take(self, needed: int, registers: list[Any]) -> None:
        """Use up room for a storage."""
        if needed >= LARGE:
            limits.check("tensor_bytes", needed, "a storage")
        self.room -= needed
        if self.room < 0:
            self.sweep(needed, {"r": registers})


def object_bytes(instruction: Instruction) -> int:
    """Return about how many bytes a data value, a tuple or a closure takes."""
    return OBJECT + FIELD * len(instruction.reads())


def bytes_alive(roots: Iterable[Any]) -> int:
    """Return the bytes of the arrays, storages and data values that are reachable, each counted once."""
    total = 0
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        value = stack.pop()
        if isinstance(value, Storage):
            value = value.held
        while type(value) is np.ndarray and type(value.base) is np.ndarray:
            value = value.base
        if id(value) in seen:
            continue
        if isinstance(value, (tuple, list)):
            parts = value
        elif isinstance(value, ADTValue):
            parts = value.fields
        elif isinstance(value, VMClosure):
            parts = value.captured
        elif isinstance(value, Frame):
            parts = value.registers
        else:
            total += getattr(value, "nbytes", 0)
            seen.add(id(value))
            continue
        seen.add(id(value))
        total += OBJECT + 8 * len(parts)
        stack.extend(parts)
    return total
