"""`PerRun`: the state of an instrument for each running pass, by its `PassRun`.

A stack of states would be wrong after an interrupt, or after an error of another instrument, which may skip a hook;
`transform.current_run()` is right even then. The state of an interrupted pass is never used, and dropped when the next
context is entered.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from passlab.transform.base import PassRun, current_run

T = TypeVar("T")


class PerRun(Generic[T]):
    """Values by run. Threads and tasks may share one: each sees the passes it runs itself."""

    def __init__(self) -> None:
        self._of: dict[PassRun | None, T] = {}

    def begin(self, value: T) -> T:
        """Keep a value for the pass that begins."""
        self._of[current_run()] = value
        return value

    def end(self) -> T | None:
        """Remove and return the value of the pass that ends; None when it has none."""
        return self._of.pop(current_run(), None)

    def enclosing(self) -> list[T]:
        """Return the values of the passes around the one that runs, outermost first."""
        values: list[T] = []
        run = current_run()
        while run is not None:
            run = run.parent
            if run is not None and run in self._of:
                values.append(self._of[run])
        return values[::-1]

    def of(self, run: PassRun | None) -> T | None:
        """Return the value of a run, or None."""
        return self._of.get(run)

    @property
    def inside(self) -> bool:
        """Whether the caller runs inside of a pass with a value here, at any depth."""
        run = current_run()
        while run is not None:
            if run in self._of:
                return True
            run = run.parent
        return False

    def forget(self) -> None:
        """Drop the values of passes that have ended."""
        self._of = {run: value for run, value in self._of.items() if run is not None and not run.has_ended}
