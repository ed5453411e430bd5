"""`PerRun`: what an instrument keeps for each pass that is running, found by the run and never by counting hooks.

A hook may be cut short by an interrupt or by another instrument's error, so "the last one begun" can be wrong. The
runs themselves cannot: which passes are running is known from `transform.current_run()`. What an interrupted hook left
behind is never looked up, and dropped when the next context is entered. This module does not know what is kept.
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
        """Take out and return the value of the pass that ends; None when its beginning was never noted."""
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
        """Whether the caller is called, however indirectly, from one of the passes kept here."""
        run = current_run()
        while run is not None:
            if run in self._of:
                return True
            run = run.parent
        return False

    def forget(self) -> None:
        """Drop what belongs to passes that are over."""
        self._of = {run: value for run, value in self._of.items() if run is not None and not run.over}
