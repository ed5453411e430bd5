"""The limits of passlab, for compiled modules that it runs itself: how deep calls nest, and how long a program runs.

A module on its own has no limits but the machine's. Run from here its driver is replaced by one that looks how deep
calls nest, and where a run is to end after a number of `instructions`, it counts: each turn of its own, two for a call,
and each turn of a loop. A program makes no more of these than the virtual machine executes instructions.
"""

from __future__ import annotations

from contextvars import ContextVar
from types import GeneratorType
from typing import Any

from passlab import limits
from passlab.errors import Diagnostic, LimitError
from passlab.vm.control import too_deep

SPEND = "__passlab_spend__"  # the name that loops count by
ENDLESS = limits.Limits().instructions  # as good as no limit: such a run lasts for days


class Fuel:
    """Remaining fuel of one run: calls and loop iterations."""

    __slots__ = ("left", "most")

    def __init__(self, most: int) -> None:
        self.most = self.left = most

    def spend(self) -> bool:
        """Count one; return True. Raises `LimitError` when none is left."""
        self.left -= 1
        if self.left < 0:
            what = f"the program was stopped after {self.most:,} calls and iterations, the limit `instructions`"
            raise LimitError(Diagnostic(what, hint="raise it with `passlab.limits.override(instructions=...)`"))
        return True


fuel: ContextVar[Fuel] = ContextVar("passlab_aot_meter")


def spend() -> bool:
    """Count one turn of a loop of the run that goes on in this thread or task."""
    return fuel.get().spend()


def driven(value: Any, call: Any, left_fuel: Fuel | None) -> Any:
    """Drive a program to its result as `prelude.run` does, within the limits; `call` is the module's class `Call`."""
    deepest = limits.current().frames
    waiting: list[Any] = []
    while True:
        if left_fuel is not None:
            left_fuel.spend()
        if type(value) is call:
            value = value.function(*value.args)
            continue
        if type(value) is GeneratorType:
            if len(waiting) >= deepest:
                raise too_deep(deepest)
            waiting.append(value)
            value = None
        elif not waiting:
            return value
        try:
            value = waiting[-1].send(value)
        except StopIteration as done:
            waiting.pop()
            value = done.value
