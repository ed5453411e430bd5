"""Views of searches: which pass broke a program, with what it did; and the smallest program that shows something."""

from __future__ import annotations

from collections.abc import Iterable

from passlab.display.diffs import diff_view
from passlab.display.module import module_view
from passlab.display.parts import Embedded, Fold, HtmlOnly, Part, Sentence
from passlab.display.rows import Rows
from passlab.display.view import HasFrame, View
from passlab.lab.bisection import Bisection
from passlab.lab.reduction import Reduction
from passlab.table import Table


class BisectionView(View):
    """The pass that broke a program: a sentence, the programs that were looked at, and what the pass changed."""

    kind = "bisection"

    def __init__(self, bisection: Bisection) -> None:
        self.found = bisection

    @property
    def title(self) -> str:
        """Which pass it was, or that none was."""
        return self.found.summary()

    def parts(self) -> Iterable[Part]:
        event = self.found.event
        yield Sentence(self.title, "bad" if self.found.found else "good")
        if self.found.found:
            yield Sentence(f"looked at: {self.found.looked_at}", "muted")
        if self.found.verdicts:
            yield Rows(self._verdicts())
        if event is not None and event.changed:
            yield Fold(f"what {event.id} {event.name} changed", [Embedded(diff_view(event.diff()))], opened=True)

    def _verdicts(self) -> Table:
        """The programs that were looked at; what the sentence says already is not said again."""
        event, table = self.found.event, self.found.table()
        shown = None if event is None else event.id
        return Table(table.columns, [(*row[:-1], "" if row[0] == shown else row[-1]) for row in table.rows])

    def source(self) -> HasFrame:
        """Return one row per program that was looked at."""
        return self.found


class ReductionView(View):
    """A reduced program, and how much smaller it is."""

    kind = "reduction"

    def __init__(self, reduction: Reduction) -> None:
        self.found = reduction

    @property
    def title(self) -> str:
        """How much smaller the program became."""
        return self.found.summary()

    def parts(self) -> Iterable[Part]:
        yield Sentence(self.title, "good")
        yield Embedded(module_view(self.found.module))
        yield HtmlOnly(Fold("what was cut", [Rows(self.found.table())], tone="muted"))

    def source(self) -> HasFrame:
        """Return one row per part that was cut."""
        return self.found


def bisection_view(bisection: Bisection) -> BisectionView:
    """Return the view of a bisection."""
    return BisectionView(bisection)


def reduction_view(reduction: Reduction) -> ReductionView:
    """Return the view of a reduction."""
    return ReductionView(reduction)


__all__ = ["BisectionView", "ReductionView", "bisection_view", "reduction_view"]
