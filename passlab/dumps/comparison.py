"""`TextComparison`: two recordings of text, pass by pass, and where their programs diverge.

comparison = read("o2.txt").compare(read("o3.txt"))
comparison.first, comparison.diff(comparison.first)
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple

from passlab.diffing.text_diff import TextDiff, diff_texts, steps_of_both
from passlab.dumps.step import Step
from passlab.errors import Diagnostic, DumpError, visible
from passlab.lazy import late
from passlab.table import Table, Tabular

if TYPE_CHECKING:
    from passlab.dumps.recording import TextRecording


class Pair(NamedTuple):
    """A pass of one recording and the same pass of the other; None where it ran in one only."""

    left: Step | None
    right: Step | None
    same: bool | None  # whether the texts after it are equal; None where one is missing

    @property
    def name(self) -> str:
        """The name of the pass."""
        step = self.left or self.right
        return step.name if step is not None else ""

    @property
    def unit(self) -> str:
        """The unit of the pass."""
        step = self.left or self.right
        return step.unit if step is not None else ""


class TextComparison(Tabular):
    """The passes of two recordings, aligned by name and unit."""

    def __init__(self, left: TextRecording, right: TextRecording) -> None:
        self.left, self.right = left, right

    @cached_property
    def pairs(self) -> list[Pair]:
        """All passes of both, in order."""
        return list(self._pairs())

    def _pairs(self) -> Iterator[Pair]:
        old, new = ([(s.name, s.unit) for s in recording.steps] for recording in (self.left, self.right))
        matcher = SequenceMatcher(None, old, new, autojunk=False)  # `autojunk` would ignore frequent passes
        for tag, i, k, j, m in matcher.get_opcodes():
            here, there = self.left.steps[i:k], self.right.steps[j:m]
            if tag == "equal":
                for a, b in zip(here, there, strict=True):
                    # A dump may lack the text after a pass; digests leave noise such as addresses out.
                    shown = a.after_body is not None and b.after_body is not None
                    yield Pair(a, b, a.digest == b.digest if shown else None)
            else:
                yield from (Pair(step, None, None) for step in here)
                yield from (Pair(None, step, None) for step in there)

    @cached_property
    def first(self) -> Pair | None:
        """The first pass in both after which the programs differ in more than names; None for none."""
        # Digests are compared first, since a difference of texts takes far longer.
        return next((pair for pair in self.pairs if pair.same is False and self.diff(pair)), None)

    def diff(self, pair: Pair | int) -> TextDiff:
        """Return the difference of the texts after a pass, given as a `Pair` or its number in `pairs`.

        Raises `DumpError` for a pass that ran in one recording only.
        """
        pair = self.pairs[pair] if isinstance(pair, int) else pair
        if pair.left is None or pair.right is None:
            where = "first" if pair.right is None else "second"
            raise DumpError(Diagnostic(f"{pair.name} on {pair.unit} ran in the {where} recording alone"))
        reader = self.left.reader(pair.left.language)
        return diff_texts(pair.left.after, pair.right.after, reader.syntax, (), reader)

    def summary(self) -> str:
        """Return where the programs diverge, and how many passes ran in both and in one only."""
        both = sum(pair.left is not None and pair.right is not None for pair in self.pairs)
        one, other = (sum(getattr(pair, side) is None for pair in self.pairs) for side in ("right", "left"))
        first = self.first
        counts = steps_of_both(both, one, other)
        if first is None or first.left is None or first.right is None:
            return f"what they left is the same but for names; {counts}"
        where = f"{first.name} on {first.unit}" if first.unit else first.name
        return f"the programs diverge at {where} (step {first.left.number} and {first.right.number}); {counts}"

    def table(self) -> Table:
        """Return one row per pass of either."""
        columns = ("step", "other step", "pass", "unit", "verdict", "other verdict", "same text")
        return Table(columns, [self._row(pair) for pair in self.pairs])

    @staticmethod
    def _row(pair: Pair) -> tuple[object, ...]:
        sides = (pair.left, pair.right)
        numbers = [step.number if step is not None else None for step in sides]
        verdicts = [step.verdict if step is not None else "" for step in sides]
        return (*numbers, pair.name, pair.unit, *verdicts, pair.same)

    def text(self) -> str:
        """Return the passes that differ, in verdict or text, or that ran in one recording only, as text."""
        lines = [f"{self.summary()}."]
        quiet = 0
        for pair in self.pairs:
            verdicts = [step.verdict if step is not None else "-" for step in (pair.left, pair.right)]
            if verdicts[0] == verdicts[1] and pair.same is not False:
                quiet += 1
                continue
            lines += [f"      {quiet:,} alike"] if quiet else []
            quiet = 0
            numbers = [str(step.number) if step is not None else "" for step in (pair.left, pair.right)]
            row = f"{numbers[0]:>5} {numbers[1]:>5} {pair.name} on {pair.unit}: {' / '.join(dict.fromkeys(verdicts))}"
            lines.append(visible(row) + (", other text" if pair.same is False else ""))
        return "\n".join([*lines, *([f"      {quiet:,} alike"] if quiet else [])])

    def to_html(self, path: str | PathLike[str], static: bool = False) -> None:
        """Write both as one HTML file that needs nothing else; with `static` one without scripts."""
        late("passlab.display.views.text_comparison", "write_comparison_report")(self, path, static)

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        return self.text()
