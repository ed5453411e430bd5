"""The view of two recordings of text: the passes of the one, each beside the same pass of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from passlab.diffing.text_diff import CHANGED, OPERANDS, SAME, SIGNS, TextDiff, near_changes
from passlab.display.html import Markup, tag
from passlab.display.palette import BOX, CELL, HEAD, MUTED, PROSE, TABLE
from passlab.display.text_recording import SHOWN_STEPS, VERDICTS, Pages, TextRecordingView, diff_html, write_view
from passlab.display.view import View, cap
from passlab.dumps.language import LANGUAGES
from passlab.errors import visible

if TYPE_CHECKING:
    import os

    import pandas as pd

    from passlab.dumps.comparison import Pair, TextComparison
    from passlab.dumps.recording import TextRecording

MOST_DIFFS = 200  # differences that a page holds, and
MOST_ROWS = 400  # rows of each
CONTEXT = 3  # lines that stayed, around each that did not


class TextComparisonView(View):
    """Two recordings pass by pass, and the difference where their programs part."""

    kind = "dump"

    def __init__(self, comparison: TextComparison) -> None:
        self.comparison = comparison

    @property
    def recording(self) -> TextRecording:
        """The recording whose steps are listed: the first."""
        return self.comparison.left

    @property
    def title(self) -> str:
        """The names of both, how many passes ran in which, and where the programs part."""
        compared = self.comparison
        return visible(f"{compared.left.name} and {compared.right.name}: {compared.summary()}")

    def text(self) -> str:
        return cap(self.comparison.text().split("\n"), "TextComparison.frame() has a row for each")

    def html(self) -> Markup:
        compared = self.comparison
        names = ("", "", compared.left.name, compared.right.name, "pass", "on", "")
        head = tag("thead", tag("tr", *[tag("th", visible(name), style=HEAD) for name in names]))
        alike = (pair for pair in compared.pairs if pair.left is None or pair.right is None or self._differs(pair))
        shown = list(alike)
        rows = [self._row(pair) for pair in shown[:SHOWN_STEPS]]
        left = len(compared) - len(rows)
        more = f"{left:,} more are alike or left out; frame() has a row for each" if left else ""
        first = compared.first
        parted = (
            [] if first is None else [tag("div", f"at {first.name}:", style=PROSE), diff_html(compared.diff(first))]
        )
        return tag(
            "div",
            tag("div", f"{compared.summary()}.", style=f"{PROSE};color:{MUTED}"),
            tag("div", tag("table", head, tag("tbody", *rows), style=f"{TABLE};width:100%"), style=BOX),
            tag("div", more, style=f"{PROSE};color:{MUTED}"),
            *parted,
        )

    @staticmethod
    def _differs(pair: Pair) -> bool:
        assert pair.left is not None
        assert pair.right is not None
        return pair.left.verdict != pair.right.verdict or pair.same is False

    def _row(self, pair: Pair) -> Markup:
        cells = []
        for step in (pair.left, pair.right):
            sign, colour, meaning = VERDICTS[step.verdict] if step is not None else ("", MUTED, "did not run")
            cells.append(tag("td", sign, title=meaning, style=f"{CELL};color:{colour};text-align:center;width:16px"))
        cells += [
            tag("td", str(step.number) if step is not None else "–", style=CELL) for step in (pair.left, pair.right)
        ]
        status = "other text" if pair.same is False else ""
        cells += [tag("td", visible(text), style=CELL) for text in (pair.name, pair.unit, status)]
        return tag("tr", *cells, style="background:transparent")

    def data(self) -> dict[str, Any]:
        compared, view = self.comparison, TextRecordingView(self.comparison.left)
        pages = Pages(view)
        data = view.page_data(pages)
        against = self._against(pages)
        first = compared.first
        start = first.left.number - 1 if first is not None and first.left is not None else data["start"]
        return {**data, "title": self.title, "start": start, "against": against, "filters": pages.filters}

    def _against(self, pages: Pages) -> dict[str, Any]:
        """What the other recording has at each step: the same pass, passes of its own, in what the texts differ."""
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
        """The rows near what differs, the lines of both sides, and how many rows are left out."""
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

    def frame(self) -> pd.DataFrame:
        """Return one row per pass of either."""
        return self.comparison.frame()


def text_comparison_view(comparison: TextComparison) -> TextComparisonView:
    """Return the view of two recordings of text compared."""
    return TextComparisonView(comparison)


def write_comparison_report(comparison: TextComparison, path: str | os.PathLike[str], static: bool = False) -> None:
    """Write two recordings compared as one HTML file; with `static` one without any script. Raises `OSError`."""
    view = text_comparison_view(comparison)
    write_view(view, view.title, path, static)


__all__ = ["TextComparisonView", "text_comparison_view", "write_comparison_report"]
