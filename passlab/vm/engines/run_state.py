"""The state that the engines of one run share: fuel and the memory budget.

Counting the live bytes at each allocation would cost more than the allocation. So a run has a budget, which
allocations use up. When it is empty, the bytes reachable from all frames are counted, and the rest up to the limit
`live_bytes` is the new budget. The budget is at least a `SHARE` of the limit, by which small objects may exceed it.
Large tensors are counted before they are allocated.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from passlab import limits
from passlab.errors import Diagnostic, LimitError
from passlab.evaluate.values import ADTValue
from passlab.vm.engines.frames import Frame
from passlab.vm.engines.single_steps import Operands, Step
from passlab.vm.isa import Instruction
from passlab.vm.isa_notation import Effect
from passlab.vm.objects import Storage, VMClosure

LARGE = 1 << 16  # bytes: each tensor of at least this size is checked against the limits
SHARE = 16
OBJECT = 64  # bytes of an ADT value, a tuple or a closure without its fields
FIELD = 120  # bytes of a field, with the 0-d array that it may hold


class State:
    """The fuel of a run (`left`, instructions), its memory budget (`room`, bytes), frames and waiting generators."""

    __slots__ = ("frames", "left", "room", "waiting")

    def __init__(self) -> None:
        self.left = 0
        self.frames: list[Frame] = []
        self.waiting: list[Any] = []
        self.begin()

    def begin(self) -> None:
        """Reset the memory budget for a new run."""
        self.room = limits.current().live_bytes

    def sweep(self, needed: int, local_vars: dict[str, Any] | None = None) -> None:
        """Count the live bytes, including `local_vars`, and renew the budget.

        Raises `LimitError` where `needed` more bytes exceed the limit.
        """
        limit = limits.current().live_bytes
        roots: list[Any] = [list((local_vars or {}).values()), [f.registers for f in self.frames]]
        roots += [list(g.gi_frame.f_locals.values()) for g in self.waiting if g.gi_frame is not None]
        live = live_bytes(roots)
        if live + needed > limit:
            raise LimitError(
                Diagnostic(
                    f"the program holds {live:,} bytes and needs {needed:,} more; the limit `live_bytes` is {limit:,}",
                    hint="raise it with `passlab.limits.override(live_bytes=...)`",
                )
            )
        self.room = max(limit - live - needed, limit // SHARE)

    def meter(self, instruction: Instruction, step: Step) -> Step:
        """Return a step that also pays for what each instruction of its form allocates: a storage or an object."""
        if instruction.spec.effect is Effect.STORAGE:
            size = instruction.spec.operand_index["size"]

            def allocate_storage(r: list[Any], o: Operands) -> None:
                needed = int(r[o[size]])
                if needed >= 0:  # for a negative size the step raises the error
                    self.take(needed, r)
                step(r, o)

            return allocate_storage
        needed = object_bytes(instruction)  # the form has the number of its fields

        def allocate_object(r: list[Any], o: Operands) -> None:
            self.room -= needed
            if self.room < 0:
                self.sweep(needed, {"r": r})
            step(r, o)

        return allocate_object

    def take(self, needed: int, registers: list[Any]) -> None:
        """Pay for a storage of `needed` bytes. Raises `LimitError`."""
        if needed >= LARGE:
            limits.check("tensor_bytes", needed, "a storage")
        self.room -= needed
        if self.room < 0:
            self.sweep(needed, {"r": registers})


def object_bytes(instruction: Instruction) -> int:
    """Estimate the bytes of the ADT value, tuple or closure that an instruction allocates."""
    return OBJECT + FIELD * len(instruction.reads())


def live_bytes(roots: Iterable[Any]) -> int:
    """Return the bytes of the arrays, storages and ADT values reachable from some roots, each counted once."""
    total = 0
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        value = stack.pop()
        if isinstance(value, Storage):
            value = value.held
        while type(value) is np.ndarray and type(value.base) is np.ndarray:  # a view keeps its whole buffer alive
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
        total += OBJECT + 8 * len(parts)  # 8 bytes for each reference
        stack.extend(parts)
    return total
