"""The view of a recording of text: every pass of a dump, its verdict, its changes, and the step that wrote each line.

The data has the versions of each unit (function, operation with a symbol) once; a step shows the versions that it
wrote. Large recordings are cut: the first changes are kept, and the view says what is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from passlab.diffing.text_diff import CHANGED, OPERANDS, SAME, SIGNS, TextDiff
from passlab.diffing.text_lines import LineReader, TextLine
from passlab.display.code_lines import MOST_LINES as MOST_LINES_OF_CODE
from passlab.display.code_lines import CodeLine, Listing
from passlab.display.pages.page import document, static_document
from passlab.display.palette import AMBER, GREEN, MUTED, RED
from passlab.display.parts import Fold, Gap, HtmlOnly, Part, Sentence
from passlab.display.rows import OutlineEntry, StepOutline
from passlab.display.text.text_colours import marks
from passlab.display.view import HasFrame, View, checked_view
from passlab.display.views.text_graph import page_graphs, values_of
from passlab.display.views.timing import timing_view
from passlab.dumps.filters import filters_named, noise_of
from passlab.dumps.language import LANGUAGES
from passlab.dumps.recording import TextRecording
from passlab.dumps.step import Step
from passlab.errors import PasslabError, counted, visible

if TYPE_CHECKING:
    import os

    from passlab.dumps.blame import UnitHistory

# A sign that differs by shape, a colour, and what the verdict means.
VERDICTS = {
    "changed": ("●", GREEN, "changed the program"),
    "unchanged": ("○", MUTED, "changed nothing"),
    "unknown": ("◌", AMBER, "the dump does not prove it"),
    "invalidated": ("⊘", RED, "removed what it ran on"),
    "filtered": ("–", MUTED, "filtered out of the dump"),
    "ignored": ("–", MUTED, "not a pass of its own"),
    "failed": ("✕", RED, "failed"),
}
SHOWN_STEPS = 120  # rows of static HTML, and
STATIC_DIFFS = 5  # diffs in it
STATIC_LINES = 60  # lines of each
MOST_LINES = 60_000  # lines of all versions that a page holds
MOST_STEPS = 40_000  # rows of the list of a page
LINE_WIDTH = 1000  # characters of one line that a page holds


class TextRecordingView(View):
    """The passes of a dump."""

    kind = script = "dump"
    whole = "TextRecording.frame() has a row for each"

    def __init__(self, recording: TextRecording, filters: tuple[str, ...] = ()) -> None:
        self.recording, self.filters = recording, filters
        filters_named(filters)  # raises for unknown ones

    @cached_property
    def title(self) -> str:
        """The name of the dump, how many passes it has, and their verdicts."""
        return f"{self.recording.name}: {self.recording.summary()}"

    def remarks(self) -> list[str]:
        """Remarks about the whole dump: open verdicts, a crash, the command for a more complete dump."""
        rec = self.recording
        lines = [f"{note[:1].upper()}{note[1:]}." for note in rec.notes]
        if rec.crash:
            lines.append(f"The compiler crashed: {rec.crash}")
        open_ones = rec.counts["unknown"]
        if open_ones:
            lines.append(f"{counted(open_ones, 'verdict')} cannot be proved by this dump: a range of steps is given.")
        if rec.advice:
            lines.append(f"For a more complete dump: {rec.advice}")
        return [visible(line) for line in lines]

    def remark(self, step: Step) -> str:
        """The facts about a step besides its verdict."""
        is_range = step.verdict == "unknown" and step.since < step.number
        between = f"between step {step.since} and {step.number}" if is_range else ""
        return "; ".join(filter(None, (between, "assumed" if step.assumed else "", step.note)))

    def parts(self) -> Iterable[Part]:
        yield Sentence(f"Recording: {self.title}.", "muted")
        yield from (Sentence(remark, "muted") for remark in self.remarks())
        yield Gap()
        yield StepOutline(self._entries(), most=SHOWN_STEPS, last=str(len(self.recording.steps)))
        for step in self.recording.changed[:STATIC_DIFFS]:
            changes = diff_parts(step.diff(filters=self.filters))
            yield HtmlOnly(Fold(f"{step.number} {step.name} {step.unit}", changes))

    def _entries(self) -> Iterator[OutlineEntry]:
        """The steps; those that changed nothing are counted. Phases, where there are several, begin with a line."""
        quiet = 0
        phases = {step.phase for step in self.recording.steps}
        phase = "" if len(phases) > 1 and self.recording.chains else None
        for step in self.recording.steps:
            starts = phase is not None and step.phase != phase
            is_quiet = step.verdict == "unchanged" or (step.verdict in ("filtered", "ignored") and not step.note)
            if quiet and (starts or not is_quiet):
                yield _quiet_entry(quiet)
                quiet = 0
            if starts:
                phase = step.phase
                yield OutlineEntry(f"{visible(phase)}:")
            if is_quiet:
                quiet += 1
                continue
            mark = VERDICTS[step.verdict]
            yield OutlineEntry(step.name, str(step.number), mark, about=step.unit, note=self.remark(step))
        if quiet:
            yield _quiet_entry(quiet)

    # ------------------------------------------------------------ data
    def data(self) -> dict[str, Any]:
        return self.page_data(Pages(self))

    def page_data(self, pages: Pages) -> dict[str, Any]:
        """Return the data; the lines of the texts are added to `pages`, which views can share."""
        pages.fill()
        steps = self.recording.steps[:MOST_STEPS]
        rows = [self._step(step, pages) for step in steps]
        more = len(self.recording.steps) - len(steps)
        left = [f"{more:,} more steps are left out"] if more else []
        if pages.left_out:
            left.append(f"the texts of {pages.left_out:,} versions are left out of this page")
        verdicts = [step.verdict for step in steps]
        first = next((verdicts.index(verdict) for verdict in ("failed", "changed") if verdict in verdicts), 0)
        return {
            "kind": self.kind,
            "title": visible(self.title),
            "times": timing_view(self.recording).data()["rows"] if any(step.seconds for step in steps) else [],
            "remarks": [*self.remarks(), *left],
            "other": visible(self.recording.other_output[:20_000]),
            "start": first,
            "steps": rows,
            "graphs": page_graphs(steps, self.recording.nodes_of),
            "units": pages.units,
            "lines": pages.lines,
            "filters": pages.filters,
            "hidden": list(range(len(self.filters))),
        }

    def _step(self, step: Step, pages: Pages) -> list[Any]:
        units = [pages.numbers[name] for name in step.names if name in pages.numbers]
        written = pages.written.get(step.number, [])
        return [
            visible(step.name),
            visible(step.unit),
            step.verdict,
            int(step.assumed),
            step.since,
            step.parent,
            visible(step.phase),
            visible(step.options[:400]),
            visible(self.remark(step)),
            visible(step.command or self._no_command(step)),
            written or units[:1],
            pages.fragment(step),
        ]

    def _no_command(self, step: Step) -> str:
        why_not = self.recording.no_command(step)
        return f"no command: {why_not}" if why_not else ""

    def source(self) -> HasFrame:
        """Return one row per step."""
        return self.recording


class Pages:
    """The versions of the units of a recording as data for a browser: each different line once."""

    def __init__(self, view: TextRecordingView) -> None:
        self.recording = view.recording
        self.lines: list[list[Any]] = []
        self.units: list[dict[str, Any]] = []
        self.numbers: dict[str, int] = {}
        self.written: dict[int, list[int]] = {}  # step -> the units that it wrote
        self.left_out = 0
        self.filters: list[str] = list(view.filters)  # those that have something to leave out, or were asked for
        self._line_numbers: dict[tuple[str, str], int] = {}
        self._room = MOST_LINES

    def fill(self) -> None:
        """Add the units, those with the most versions first."""
        names = dict(zip(self.recording.units, unit_names(self.recording), strict=True))
        order = sorted(self.recording.units.values(), key=lambda unit: (not unit.name, -len(unit.steps)))
        for unit in order:
            number = self.numbers[unit.name] = len(self.units)
            for step in unit.steps:
                self.written.setdefault(step, []).append(number)
            self.units.append({"name": names[unit.name], "versions": []})
        for unit in order:
            try:
                history = self.recording.history(unit.name)
                self._versions(history, self.units[self.numbers[unit.name]]["versions"])
            except PasslabError as error:
                self.units[self.numbers[unit.name]]["error"] = visible(str(error))

    def _versions(self, history: UnitHistory, versions: list[Any]) -> None:
        language = LANGUAGES.get("mir" if history.unit.name.endswith("(machine code)") else "", self.recording.language)
        for at, step in enumerate(history.unit.steps):
            piece = history.unit.pieces[at]
            size = piece.lines if piece is not None and piece.lines else piece.size // 40 if piece is not None else 0
            if size > self._room:
                self.left_out += 1
                versions.append([step, history.unit.since[at], None, [], [], {}])
                continue
            lines = history.lines(at)
            self._room -= len(lines)
            numbers = [self.line(line, history.reader, language.lexer) for line in lines]
            origins = [[origin.since, origin.step] for origin in history.origins(at)]
            versions.append(
                [step, history.unit.since[at], numbers, origins, self._rows(history, at), self._renamings(history, at)]
            )

    def _rows(self, history: UnitHistory, at: int) -> list[list[Any]]:
        """The rows of the difference from the version before: kind, line there, line here, words that differ."""
        if not at:
            return []
        diff = history.diff(at)
        rows = []
        for row in diff.rows:
            words = diff.words(row) if row.kind in (CHANGED, OPERANDS) else ((), ())
            sign = SIGNS[row.kind] if row.kind != SAME else ""
            rows.append([sign, -1 if row.left is None else row.left, -1 if row.right is None else row.right, *words])
        return rows

    def _renamings(self, history: UnitHistory, at: int) -> dict[str, str]:
        return dict(list(history.diff(at).renamed.items())[:2000]) if at else {}

    def line(self, line: TextLine, reader: LineReader, lexer: str) -> int:
        """Return the number of a line, adding it if it is new."""
        text = line.text
        shown = visible(text[:LINE_WIDTH]) + (f" ... {len(text) - LINE_WIDTH:,} more" if len(text) > LINE_WIDTH else "")
        number = self._line_numbers.get((shown, lexer))
        if number is None:
            number = self._line_numbers[shown, lexer] = len(self.lines)
            fact = values_of(line, reader.syntax)
            names = 0 if fact is None else [visible(fact[0]), *([visible(name) for name in side] for side in fact[1:])]
            self.lines.append([shown, marks(shown, lexer), self._noise(shown), names])
        return number

    def _noise(self, text: str) -> list[int]:
        """The spans of a line that filters hide, as a flat list: number of the filter, start, end."""
        hit = []
        for name, start, end in noise_of(text):
            if name not in self.filters:
                self.filters.append(name)
            hit += [self.filters.index(name), start, end]
        return hit

    def fragment(self, step: Step) -> list[int]:
        """The lines of a body that is not a unit of the program: a loop, or a unit without a unique name."""
        shown = any(name in self.numbers for name in step.names)
        if step.after_body is None or shown or self._room < step.after_body.lines:
            return []
        lexer = LANGUAGES.get(step.language, self.recording.language).lexer
        lines = step.after_body.text.split("\n")
        self._room -= len(lines)
        reader = self.recording.reader(step.language)
        return [self.line(reader.line(line), reader, lexer) for line in lines]


def unit_names(recording: TextRecording) -> list[str]:
    """Return the names of the units of a recording on a page, in order."""
    rest = "the rest of the module" if len(recording.units) > 1 else "the program"
    return [visible(name) or rest for name in recording.units]


def _quiet_entry(count: int) -> OutlineEntry:
    return OutlineEntry(f"{count:,} that changed nothing", "", VERDICTS["unchanged"])


class TextDiffView(View):
    """The difference of two texts."""

    whole = "TextDiff.rows has all"

    def __init__(self, diff: TextDiff) -> None:
        self.diff = diff

    def parts(self) -> Iterable[Part]:
        return diff_parts(self.diff, MOST_LINES_OF_CODE)


def diff_parts(diff: TextDiff, most: int = STATIC_LINES) -> Iterable[Part]:
    """Yield a difference: in a sentence, and line by line, `most` lines of it in HTML."""
    yield Sentence(f"{diff.summary[:1].upper()}{diff.summary[1:]}.")
    if diff:
        lines = ((line[2:], line[:1]) for line in diff.unified_lines())
        yield Listing([CodeLine(text, kind="=" if kind == " " else kind) for text, kind in lines], most)


@checked_view(TextRecording, hint="passlab.dumps.read(path) returns one")
def text_recording_view(recording: TextRecording, filters: tuple[str, ...] = ()) -> TextRecordingView:
    """Return the view of a recording of text; `filters` are names of `passlab.dumps.filters.FILTERS`."""
    return TextRecordingView(recording, tuple(filters))


@checked_view(TextDiff, hint="`diff()` of a step of a recording of text returns one")
def text_diff_view(diff: TextDiff) -> TextDiffView:
    """Return the view of a difference of texts."""
    return TextDiffView(diff)


def write_text_report(recording: TextRecording, path: str | os.PathLike[str], static: bool = False) -> None:
    """Write a recording of text as one HTML file; with `static` one without any script. Raises `OSError`."""
    view = text_recording_view(recording)
    write_view(view, view.title, path, static)


def write_view(view: View, title: str, path: str | os.PathLike[str], static: bool) -> None:
    """Write the view of a recording of text, or of two, as one HTML file; with `static` one without any script."""
    page = static_document(title, view.html()) if static else document(view)
    Path(path).write_text(page, encoding="utf-8", errors="backslashreplace")
