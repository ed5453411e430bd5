"""The view of two recordings of text: each pass of one recording next to the same pass of the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from passlab.diffing.text_diff import CHANGED, OPERANDS, SAME, SIGNS, TextDiff, near_changes
from passlab.display.rows import OutlineEntry, StepOutline
from passlab.display.view import HasFrame, View, checked_view
from passlab.display.view_parts import Fold, HtmlOnly, Part, Sentence, TextOnly
from passlab.display.views.text_recording import SHOWN_STEPS, VERDICTS, Pages, TextRecordingView, diff_parts, write_view
from passlab.dumps.comparison import Pair, TextComparison
from passlab.dumps.language import LANGUAGES
from passlab.errors import visible

if TYPE_CHECKING:
    import os

    from passlab.dumps.recording import TextRecording

MOST_DIFFS = 200  # differences that a page holds, and
MOST_ROWS = 400  # rows of each
CONTEXT = 3  # lines that stayed, around each that did not


class TextComparisonView(View):
    """Two recordings pass by pass, and the difference where their programs part."""

    kind = script = "dump"
    whole = "TextComparison.frame() has a row for each"

    def __init__(self, comparison: TextComparison) -> None:
        self.comparison = comparison

    @property
    def recording(self) -> TextRecording:
        """The recording whose steps are listed: the first."""
        return self.comparison.left

    @property
    def title(self) -> str:
        """The names of both, how many passes each ran, and where the programs diverge."""
        compared = self.comparison
        return visible(f"{compared.left.name} and {compared.right.name}: {compared.summary()}")

    def parts(self) -> Iterable[Part]:
        compared, first = self.comparison, self.comparison.first
        yield HtmlOnly(Sentence(f"{compared.summary()}.", "muted"))
        yield TextOnly(compared.text().split("\n"))
        entries = [self._entry(pair) for pair in compared.pairs if self._differs(pair)]
        if entries:
            names = (visible(compared.left.name), visible(compared.right.name))
            yield HtmlOnly(StepOutline(entries, names, most=SHOWN_STEPS))
        if len(entries) < len(compared):
            yield HtmlOnly(Sentence(f"{len(compared) - len(entries):,} are alike and are not listed here", "muted"))
        if first is not None:
            yield HtmlOnly(Fold(f"at {first.name}", diff_parts(compared.diff(first)), opened=True))

    @staticmethod
    def _differs(pair: Pair) -> bool:
        return pair.left is None or pair.right is None or pair.left.verdict != pair.right.verdict or pair.same is False

    @staticmethod
    def _entry(pair: Pair) -> OutlineEntry:
        """A row with a cell for each recording: the sign of the verdict and the number of the step."""
        steps = [pair.left, pair.right]
        cells = ["did not run" if step is None else f"{VERDICTS[step.verdict][0]} {step.number}" for step in steps]
        note = "other text" if pair.same is False else ""
        return OutlineEntry(visible(pair.name), about=visible(pair.unit), note=note, cells=tuple(cells))

    def data(self) -> dict[str, Any]:
        compared, view = self.comparison, TextRecordingView(self.comparison.left)
        pages = Pages(view)
        data = view.page_data(pages)
        against = self._against(pages)
        first = compared.first
        start = first.left.number - 1 if first is not None and first.left is not None else data["start"]
        return {**data, "title": self.title, "start": start, "against": against, "filters": pages.filters}

    def _against(self, pages: Pages) -> dict[str, Any]:
        """The other recording at each step: the same pass, passes that only it has, and differences of the texts."""
        pairs: dict[int, list[Any]] = {}
        alone: dict[int, list[Any]] = {}
        diffs: dict[int, list[Any]] = {}
        waiting: list[Any] = []
        last = 0
        for pair in self.comparison.pairs:
            if pair.left is None:
                assert pair.right is not None
                step = pair.right
                waiting.append([step.number, visible(step.name), visible(step.unit), step.verdict])
                continue
            at = last = pair.left.number - 1
            if waiting:
                alone[at], waiting = waiting, []
            if pair.right is None:
                continue
            verdict = pair.right.verdict + (" (assumed)" if pair.right.assumed else "")
            pairs[at] = [pair.right.number, verdict, pair.same]
            if pair.same is False and len(diffs) < MOST_DIFFS:
                diffs[at] = self._diff_data(pair, pages)
        if waiting:  # ran after all that the first recording has
            alone[last] = [*alone.get(last, []), *([*one, "After"] for one in waiting)]
        return {"name": visible(self.comparison.right.name), "pairs": pairs, "alone": alone, "diffs": diffs}

    def _diff_data(self, pair: Pair, pages: Pages) -> list[Any]:
        """The rows near differences, the lines of both sides, and how many rows are left out."""
        assert pair.left is not None
        diff: TextDiff = self.comparison.diff(pair)
        if not diff:
            return [[], [], [], 0]
        reader = self.recording.reader(pair.left.language)
        lexer = LANGUAGES.get(pair.left.language, self.recording.language).lexer
        numbers: tuple[list[int], list[int]] = ([], [])
        rows: list[list[Any]] = []
        folded = left_out = 0
        for row, is_near in zip(diff.rows, near_changes(diff.rows, CONTEXT), strict=True):
            if not is_near:
                folded += 1
                continue
            if len(rows) >= MOST_ROWS:
                left_out += 1
                continue
            if folded:
                rows.append([folded])
            folded = 0
            places = []
            for at, lines, side in ((row.left, diff.before, numbers[0]), (row.right, diff.after, numbers[1])):
                places.append(-1 if at is None else len(side))
                if at is not None:
                    side.append(pages.line(lines[at], reader, lexer))
            words = diff.words(row) if row.kind in (CHANGED, OPERANDS) else ((), ())
            rows.append([SIGNS[row.kind] if row.kind != SAME else "", *places, *words])
        if folded and not left_out:
            rows.append([folded])
        return [rows, *numbers, left_out]

    def source(self) -> HasFrame:
        """Return one row per pass of either."""
        return self.comparison


@checked_view(TextComparison, hint="`compare` of a recording of text returns one")
def text_comparison_view(comparison: TextComparison) -> TextComparisonView:
    """Return the view of two recordings of text compared."""
    return TextComparisonView(comparison)


def write_comparison_report(comparison: TextComparison, path: str | os.PathLike[str], static: bool = False) -> None:
    """Write two recordings compared as one HTML file; `static`: without any script. Raises `FileAccessError`."""
    view = text_comparison_view(comparison)
    write_view(view, view.title, path, static)
