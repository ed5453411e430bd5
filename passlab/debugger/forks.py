"""`Fork`: a run that left another one with changed values, and what became of the difference.

A trace remembers how its forks left it (`Branch`), so that they are saved with it; what became of them takes memory
and belongs to whoever holds them. Programs are deterministic: a fork that nobody holds comes back by running it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from passlab import limits
from passlab.debugger.instant import same_values
from passlab.debugger.replay import run_on
from passlab.debugger.values import short_text
from passlab.debugger.writes import writes
from passlab.errors import Diagnostic, RunError
from passlab.table import Table

if TYPE_CHECKING:
    import os

    from passlab.debugger.debugger import Debugger
    from passlab.debugger.trace import Trace


@dataclass(frozen=True)
class Difference:
    """A register that both runs wrote at the same step with different values."""

    instant: int
    register: int
    instruction: str
    before: Any
    after: Any

    @property
    def error(self) -> float | None:
        """The largest difference of two tensors of numbers where both are finite; None for other values, or nowhere."""
        if (pair := self._numbers()) is None:
            return None
        both = np.isfinite(pair[0]) & np.isfinite(pair[1])
        return float(np.abs(pair[0][both] - pair[1][both]).max()) if both.any() else None

    @property
    def one_sided(self) -> int:
        """In how many elements one of the two is NaN or infinite and the other is not the same."""
        if (pair := self._numbers()) is None:
            return 0
        same = (pair[0] == pair[1]) | (np.isnan(pair[0]) & np.isnan(pair[1]))
        return int((~same & ~(np.isfinite(pair[0]) & np.isfinite(pair[1]))).sum())

    def _numbers(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
        a, b = self.before, self.after
        if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)) or a.shape != b.shape or not a.size:
            return None
        return a.astype(np.float64), b.astype(np.float64)

    def error_text(self) -> str:
        """Return the largest difference, and how many elements are finite on one side only."""
        error, one_sided = self.error, self.one_sided
        parts = [f"{error:.3g}" if error is not None else "", f"{one_sided:,} not finite" if one_sided else ""]
        return ", ".join(part for part in parts if part)


class Fork:
    """A branch of a trace. `trace` is the branch; its instant 0 is `instant` of the `original`."""

    def __init__(self, original: Trace, instant: int, trace: Trace, changes: Mapping[int, Any]) -> None:
        self.original = original
        self.instant = instant
        self.trace = trace
        self.changes = dict(changes)

    @staticmethod
    def of(trace: Trace) -> Fork:
        """Return the fork whose branch a trace is. Raises `RunError` for one that left no other trace."""
        if trace.parent is None:
            raise RunError(
                Diagnostic(f"{trace!r} is not a fork: it began at its start", hint="its forks: `trace.forks`")
            )
        return Fork(*trace.parent, trace, trace.changes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fork, the traces that it left, and its own forks to a file. Raises as `Trace.save` does."""
        self.trace.save(path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Fork:
        """Read a fork, with its comparison. Raises `OSError`, `VerifyError`, and `RunError` where a whole run is."""
        from passlab.debugger.trace_files import load

        return Fork.of(load(path))

    @property
    def result(self) -> Any:
        """What the branch returned."""
        return self.trace.result

    def debugger(self) -> Debugger:
        """Return a debugger at the start of the branch."""
        from passlab.debugger.debugger import Debugger

        return Debugger(self.trace)

    @property
    def parted(self) -> int | None:
        """The instant of the branch at which the two go different ways, None when they do not."""
        mine, theirs = _places(self.trace), _places(self.original)[self.instant :]
        length = min(len(mine), len(theirs))
        apart = np.flatnonzero(mine[:length] != theirs[:length])
        if apart.size:
            return int(apart[0])
        return None if len(mine) == len(theirs) else length

    def differences(self, most: int = 1000) -> list[Difference]:
        """Return what was written with another value, in order, as long as both go the same way."""
        parted = self.parted
        end = len(self.trace) if parted is None else parted
        mine, theirs = writes(self.trace, 0, end), writes(self.original, self.instant, self.instant + end)
        found: list[Difference] = []
        for (event, register, after), (_, _, before) in zip(mine, theirs, strict=True):
            if not same_values(before, after):
                text = self.trace.sites.text(int(self.trace.site[event]))
                found.append(Difference(event, register, text, before, after))
                if len(found) >= most:
                    break
        return found

    def compare(self) -> Table:
        """Return the differences as a table: instant of the original, register, both values, the largest error."""
        rows = []
        for d in self.differences():
            error = d.error_text()
            rows.append(
                (
                    d.instant + self.instant,
                    f"${d.register}",
                    short_text(d.before),
                    short_text(d.after),
                    error,
                    d.instruction,
                )
            )
        return Table(("instant", "register", "original", "branch", "largest error", "instruction"), rows)

    def text(self) -> str:
        """Return the comparison in words and as a table."""
        changed = ", ".join(f"${r}" for r in self.changes) or "nothing"
        parted = self.parted
        way = "both go the same way" if parted is None else f"they part at instant {parted + self.instant:,}"
        same = "the same result" if same_values(self.original.result, self.trace.result) else "another result"
        table = self.compare()
        told = str(table) if table.rows else "nothing was written with another value"
        return f"fork at instant {self.instant:,}, changed: {changed}; {way}; {same}\n{told}"

    def __repr__(self) -> str:
        return self.text()


@dataclass(eq=False)
class Branch:
    """How a fork left a trace, and the branches that left it in turn."""

    instant: int
    changes: dict[int, Any]
    alive: ref[Trace]
    branches: list[Branch] = field(default_factory=list)
    kept: Trace | None = None  # a branch that was read from a file, whose times no other run has

    def run_again(self, original: Trace) -> Trace:
        """Return the branch, run again unless somebody holds it."""
        made = self.alive()
        if made is None:
            made = run_on(original, self.instant, self.changes)
            made.branches = self.branches
            self.alive = ref(made)
        return made


def remember(original: Trace, made: Trace, keep: bool = False) -> None:
    """Let a trace know of a branch that left it, and forget those over the cap; with `keep`, hold it."""
    assert made.parent is not None
    original.branches.append(Branch(made.parent[1], made.changes, ref(made), made.branches, made if keep else None))
    del original.branches[: max(0, len(original.branches) - limits.current().trace_forks)]


def fork(original: Trace, instant: int, changes: Mapping[int, Any]) -> Fork:
    """Run on from an instant of a trace with other values in registers. Raises `RunError` for what does not fit."""
    made = run_on(original, instant, changes)
    remember(original, made)
    return Fork.of(made)


def forks_of(trace: Trace) -> list[Fork]:
    """Return the forks that a trace remembers, in the order they were made."""
    return [Fork.of(branch.run_again(trace)) for branch in trace.branches]


def _places(trace: Trace) -> np.ndarray[Any, Any]:
    """For each instruction executed a number of what it is, the same in all traces of a program.

    Traces of the evaluator know only what ran, so that their sites differ: there it is the node and what became of it.
    """
    if trace.kind != "debug":
        return trace.site
    numbers = np.array([hash((id(i.node), i.mnemonic)) for i in trace.sites.instructions], np.int64)
    return numbers[trace.site]


__all__ = ["Branch", "Difference", "Fork", "fork", "forks_of", "remember"]
