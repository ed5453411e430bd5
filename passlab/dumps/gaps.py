"""`Gaps`: the steps that may have changed a function or operation and print no text of it.

    *** IR Dump After SROAPass on f ***                       f is known
    *** IR Dump After LoopRotatePass on Loop at depth 1 ...   a part of f: a gap
    *** IR Dump After BDCEPass on f omitted because no change  f is not what SROAPass left
    *** IR Dump After InstCombinePass on f ***                f is known; its change may be of LoopRotatePass

A gap ends where the unit is printed again. Until then its latest text is not shown as that after a step, and blame
gives a range. Where lines of the dump are missing, any pass may be among them: a gap of every unit.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping

from passlab.dumps.step import Step, Unit

MACHINE = " (machine code)"  # suffix of the names of functions of machine code
EVERY = ""  # the key of steps that may have changed any unit


class Gaps:
    """The gaps of one program so far, by the name of the unit."""

    def __init__(self) -> None:
        self._steps: dict[str, list[int]] = {}
        self._function = EVERY  # the last one that a pass ran on: a loop without the name of its function is in it
        self._tears: list[int] = []  # the steps after which lines of the dump are missing

    def add(self, step: Step) -> None:
        """Add a step that prints no text of what it may have changed."""
        for name in self._names(step):
            self._steps.setdefault(name, []).append(step.number)

    @property
    def torn(self) -> int:
        """The last step after which lines of the dump are missing, -1 without one."""
        return self._tears[-1] if self._tears else -1

    def tear(self, number: int) -> None:
        """Note that lines of the dump are missing after a step."""
        self._tears.append(number)

    def visit(self, step: Step) -> None:
        """Note what a step ran on."""
        if step.kind == "function" and step.unit:
            self._function = step.unit
        elif step.kind in ("module", "scc"):
            self._function = EVERY

    def _names(self, step: Step) -> list[str]:
        inside = step.unit.rpartition(" in function ")[2]
        if step.language not in ("llvm", "mir") or step.kind == "module":
            return [EVERY]
        if step.kind == "loop" and inside == step.unit:
            return [self._function]
        return inside.strip("()").split(", ") if inside else [self._function]

    def since(self, name: str, unit: Unit) -> int:
        """Return the first step since the latest text of a unit that may have changed it, 0 without one."""
        found = [self._first(key, unit) for key in (name.removesuffix(MACHINE), EVERY)]
        if self._tears and unit.last_seen <= self.torn:
            found.append(max(self._tears[bisect_left(self._tears, unit.last_seen)], 1))
        return min((number for number in found if number), default=0)

    def _first(self, key: str, unit: Unit) -> int:
        steps = self._steps.get(key, [])
        at = bisect_right(steps, unit.last_seen)
        return steps[at] if at < len(steps) else 0

    def before(self, step: Step, units: Mapping[str, Unit]) -> int:
        """Return the first step since which the unit of a step is not known, 0 where it is or was never printed."""
        if step.kind == "module" or not step.unit:
            names = (
                [*units]
                if EVERY in self._steps or self.torn >= 0
                else [name for name in units if name.removesuffix(MACHINE) in self._steps]
            )
        else:
            names = [one + tail for one in self._names(step) for tail in (MACHINE, "") if one + tail in units]
        found = [self.since(name, units[name]) for name in names if units[name].alive]
        return min((number for number in found if number), default=0)
