"""The limits of passlab for compiled modules that run in this process: the depth of calls and the length of a run.

A compiled module alone has no limits but the machine's. In this process `drive_within_limits` replaces its driver. It
checks the depth of calls and, if `limits.instructions` is lowered, spends fuel: one unit for each turn of the driver (a
call takes two) and for each iteration of a loop. The virtual machine executes at least as many instructions.
"""

from __future__ import annotations

from contextvars import ContextVar
from types import GeneratorType
from typing import Any

from passlab import limits
from passlab.errors import Diagnostic, LimitError
from passlab.vm.control import too_deep

SPEND = "__passlab_spend__"  # the name of `spend` in the text of a module
ENDLESS = limits.Limits().instructions  # the default is practically no limit: reaching it takes days


class Fuel:
    """Remaining fuel of one run: calls and loop iterations."""

    __slots__ = ("left", "most")

    def __init__(self, most: int) -> None:
        self.most = self.left = most

    def spend(self) -> bool:
        """Use one unit; return True. Raises `LimitError` if none is left."""
        self.left -= 1
        if self.left < 0:
            what = f"the program was stopped after {self.most:,} calls and iterations, the limit `instructions`"
            raise LimitError(Diagnostic(what, hint="raise it with `passlab.limits.override(instructions=...)`"))
        return True


fuel: ContextVar[Fuel] = ContextVar("passlab_aot_meter")


def spend() -> bool:
    """Spend fuel for one iteration of a loop of the current run (of this thread or task)."""
    return fuel.get().spend()


def drive_within_limits(value: Any, tail_call: Any, left_fuel: Fuel | None) -> Any:
    """Drive a program to its result as `prelude.run` does, within the limits.

    `tail_call` is the copy of `prelude.TailCall` in the module, None if it has none. Raises `LimitError`.
    """
    deepest = limits.current().frames
    frames: list[Any] = []
    while True:
        if left_fuel is not None:
            left_fuel.spend()
        if type(value) is tail_call:
            value = value.function(*value.args)
            continue
        if type(value) is GeneratorType:
            if len(frames) >= deepest:
                raise too_deep(deepest)
            frames.append(value)
            value = None
        elif not frames:
            return value
        try:
            value = frames[-1].send(value)
        except StopIteration as stop:
            frames.pop()
            value = stop.value
