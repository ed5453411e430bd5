"""Queries over all steps of a dump: blame, history of a value, occurrences, counts of operations, bisection."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from passlab.atomic_file import checked_path, write_text
from passlab.diffing.text_lines import TextLine
from passlab.dumps import commands
from passlab.dumps.blame import LineOrigin, UnitHistory, life_of_line, lines_with, maker_in_words
from passlab.dumps.checks import compile_pattern, holds
from passlab.dumps.declarations import declared_llvm, unknown_type
from passlab.dumps.language import HEAD, LANGUAGES
from passlab.dumps.mlir_program import program_text
from passlab.dumps.source import Excerpt
from passlab.dumps.step import Step
from passlab.errors import Diagnostic, DumpError, visible
from passlab.table import Table

if TYPE_CHECKING:
    from passlab.dumps.recording import TextRecording

_ENDINGS = {"llvm": ".ll", "llvm-directory": ".ll", "xla": ".hlo", "python": ".py"}  # of files, by format


# ---------------------------------------------------------------- blame
class Blame:
    """The lines of a unit after a step, each with its origin."""

    def __init__(self, recording: TextRecording, history: UnitHistory, version: int, origins: list[LineOrigin]) -> None:
        self.recording, self.history, self.version, self.origins = recording, history, version, origins

    @property
    def lines(self) -> list[TextLine]:
        """The lines."""
        return self.history.lines(self.version)

    def maker(self, line: int) -> str:
        """Return the name of the pass that made a line (from 0); for a range `between step n and m`."""
        origin = self.origins[line]
        if origin.step == 0 or not origin.is_exact:
            return maker_in_words(origin.since, origin.step)
        return self.recording.step(origin.step).name

    def life(self, line: int) -> Table:
        """Return the forms of a line, the first one first."""
        rows = []
        for since, step, text in life_of_line(self.history, self.version, line):
            who = "input" if step == 0 else self.recording.step(step).name if since == step else "one of these"
            rows.append((str(step) if since == step else f"{since}-{step}", who, text.strip()))
        return Table(("step", "pass", "text"), rows)

    def table(self) -> Table:
        """Return one row per line: the step that made it, its pass, the text."""
        rows = [
            (str(o), self.maker(n), line.text) for n, (o, line) in enumerate(zip(self.origins, self.lines, strict=True))
        ]
        return Table(("step", "made_by", "text"), rows)

    def text(self) -> str:
        """Return the lines with a gutter of the passes that made them."""
        makers = [
            f"{origin} {self.maker(n)}" if origin.step and origin.is_exact else self.maker(n)
            for n, origin in enumerate(self.origins)
        ]
        width = min(44, max(map(len, makers), default=0))
        return "\n".join(
            [
                f"{visible(m)[:width]:<{width}} | {visible(line.text)}"
                for m, line in zip(makers, self.lines, strict=True)
            ]
        )

    def __len__(self) -> int:
        return len(self.origins)

    def __repr__(self) -> str:
        return self.text()


def follow(recording: TextRecording, name: str, unit: str, step: int) -> Table:
    """Return the name in every version of its unit that corresponds to a name, and the first line with it."""
    history = recording.history(unit)
    version = history.version_at(step)
    if version >= 0 and not lines_with(history.lines(version), name):
        raise DumpError(Diagnostic(f"no value `{name}` is in {unit or 'the program'} after step {step}"))
    rows: list[tuple[str, str, str, str]] = []
    last = ("", "")
    for at, current in sorted(history.names(version, name).items()):
        numbers = lines_with(history.lines(at), current)
        line = history.lines(at)[numbers[0]].text.strip() if numbers else ""
        number = history.unit.steps[at]
        if (current, line) != last:
            since = history.unit.since[at]
            is_exact = 0 < number <= since
            who = recording.step(number).name if is_exact else maker_in_words(since, number)
            rows.append((str(number), who, current, line))
        last = (current, line)
    return Table(("step", "pass", "name", "text"), rows)


# ---------------------------------------------------------------- occurrences
class Occurrence(NamedTuple):
    """The steps `first` to `last`, after which the text of a unit matches, and the matching line.

    One of the steps `since` to `first` brought it in, and one of `until` to `last + 1` took it out: these are one step
    where the dump decides it. `until` is None where it stays.
    """

    unit: str
    first: int
    last: int
    line: str
    since: int
    until: int | None


def find(recording: TextRecording, pattern: str | re.Pattern[str]) -> list[Occurrence]:
    """Return the ranges of steps in which a pattern matches, unit by unit."""
    regex = compile_pattern(pattern)
    matches: dict[int, str | None] = {}
    occurrences: list[Occurrence] = []
    for name, unit in recording.units.items():
        for at, (step, piece) in enumerate(zip(unit.steps, unit.pieces, strict=True)):
            line = _matching_line(piece, regex, matches) if piece is not None else None
            is_last = at + 1 == len(unit.steps)
            end = len(recording.steps) if is_last else unit.steps[at + 1] - 1
            until = None if is_last else min(unit.since[at + 1], end + 1)
            if line is None:
                continue
            if occurrences and occurrences[-1].unit == name and occurrences[-1].last + 1 >= step:
                occurrences[-1] = occurrences[-1]._replace(last=end, until=until)
            else:
                occurrences.append(Occurrence(name, step, end, line, min(unit.since[at], step), until))
    return occurrences


def _matching_line(piece: Excerpt, regex: re.Pattern[str], matches: dict[int, str | None]) -> str | None:
    if piece.digest not in matches:
        text = piece.text
        match = regex.search(text)
        line = None
        if match is not None:
            start = text.rfind("\n", 0, match.start()) + 1
            end = text.find("\n", match.start())
            line = text[start : end if end >= 0 else len(text)].strip()[:300]
        matches[piece.digest] = line
    return matches[piece.digest]


def first(recording: TextRecording, pattern: str | re.Pattern[str]) -> Step | None:
    """Return the first step after which a pattern matches, 0 for the input; None for none.

    Where the dump does not decide which step brought it in, the step has the verdict "unknown" and their range.
    """
    found = min(find(recording, pattern), key=lambda one: one.first, default=None)
    if found is None:
        return None
    since = _since(recording, recording.step(found.first), found.since)
    what = f"one of the steps {since} to {found.first} brought it in"
    return _in_range(recording, found.first, since, what if since else f"{what}, or the input had it")


def last(recording: TextRecording, pattern: str | re.Pattern[str]) -> Step | None:
    """Return the last step after which a pattern matches, 0 for the input; None for none.

    Where the dump does not decide which step took it out, the step has the verdict "unknown", and a note names them.
    """
    found = max(find(recording, pattern), key=lambda one: one.last, default=None)
    if found is None:
        return None
    if found.until is None:
        return recording.step(found.last)
    since = _since(recording, recording.step(found.last + 1), found.until)
    known = max(found.first, since - 1)
    return _in_range(recording, found.last, known, f"one of the steps {since} to {found.last + 1} took it out")


def _since(recording: TextRecording, step: Step, since: int) -> int:
    """Return the first step that may have made a change seen at a step, which itself may have changed nothing."""
    ran_between = step.verdict in ("unchanged", "filtered", "ignored")
    return max(min(since, step.number - 1 if ran_between else step.number), 0)


def _in_range(recording: TextRecording, number: int, since: int, note: str) -> Step:
    step = recording.step(number)
    if since >= number:
        return step
    found = copy(step)
    found.since, found.verdict, found.note = since, "unknown", note
    return found


# ---------------------------------------------------------------- operations
def operations(recording: TextRecording, names: Sequence[str], changed_only: bool) -> Table:
    """Return counts of operations by step; without names, of the operations whose counts change most."""
    counts: dict[int, Counter[str]] = {}
    total: Counter[str] = Counter()
    events: dict[int, list[tuple[str, Excerpt | None, Excerpt | None]]] = {}
    for name, unit in recording.units.items():
        previous: Excerpt | None = None
        for at, piece in zip(unit.steps, unit.pieces, strict=True):
            events.setdefault(at, []).append((name, previous, piece))
            previous = piece
    rows: list[tuple[int, Step | None, Counter[str]]] = []
    moved: Counter[str] = Counter()
    for number in range(len(recording.steps) + 1):
        step = recording.steps[number - 1] if number else None
        for _, old, new in events.get(number, ()):
            for piece, sign in ((old, -1), (new, 1)):
                if piece is not None:
                    for op, count in _operation_counts(piece, recording, counts, step).items():
                        total[op] += sign * count
        if number in events or (step is not None and not changed_only):
            if rows:
                for op in {*total, *rows[-1][2]}:
                    moved[op] += abs(total[op] - rows[-1][2][op])
            rows.append((number, step, Counter(total)))
    shown = list(names) or [op for op, _ in moved.most_common(12) if op]
    known = {op for _, _, counter in rows for op in counter}
    # A name that no operation has may be one without its domain or dialect.
    meant = {name: [name] if name in known else [op for op in known if op.endswith(f".{name}")] for name in shown}
    return Table(
        ("step", "pass", "unit", *shown),
        [
            (n, s.name if s else "input", s.unit if s else "", *[sum(c[op] for op in meant[name]) for name in shown])
            for n, s, c in rows
        ],
    )


def _operation_counts(
    piece: Excerpt, recording: TextRecording, counts: dict[int, Counter[str]], step: Step | None
) -> Counter[str]:
    entry = counts.get(piece.digest)
    if entry is None:
        syntax = LANGUAGES.get(step.language if step else "", recording.language).syntax
        entry = Counter(op for line in piece.text.split("\n") if (op := syntax.operation_of(line)))
        counts[piece.digest] = entry
    return entry


# ---------------------------------------------------------------- bisection
@dataclass(frozen=True)
class TextBisection:
    """The first step after which a predicate no longer holds; None where it holds to the end, or never did."""

    step: Step | None
    tried: tuple[tuple[int, bool], ...]
    message: str
    command: str = ""
    reducer: str = ""

    def __str__(self) -> str:
        lines = [self.message]
        if self.command:
            lines.append(f"run just this pass: {self.command}")
        if self.step is not None and self.reducer:
            lines.append(f"make its input smaller: {self.reducer}")
        return "\n".join(lines)

    __repr__ = __str__


def bisect(recording: TextRecording, predicate: Any, unit: str | None, low: int, high: int | None) -> TextBisection:
    """Search for the first step after which a predicate no longer holds, by binary search."""
    ending = _ENDINGS.get(recording.format, ".mlir")
    is_tool = not (callable(predicate) or isinstance(predicate, (str, re.Pattern)))
    for_tools = recording.format.startswith("llvm") and is_tool
    whole = partial(_llvm_program, recording) if for_tools else recording.program
    tried: list[tuple[int, bool]] = []

    def holds_after(number: int) -> bool:
        text = whole(number) if unit is None else recording.unit_text(number, unit)
        answer = _accepts_file(predicate, text, ending) if is_tool else holds(predicate, text, Path())
        tried.append((number, answer))
        return answer

    end = len(recording.steps) if high is None else recording.number_of(high)
    start = recording.number_of(low)
    points = sorted({start, end, *_version_steps(recording, unit, start, end)})  # the program differs only after these
    while len(points) > 1 and not _is_known(recording, points[0], unit):
        points.pop(0)
    if not points or not holds_after(points[0]):
        first = points[0] if points else start
        return TextBisection(None, tuple(tried), f"it does not hold at the start, step {first}")
    if holds_after(points[-1]):
        return TextBisection(None, tuple(tried), "it holds to the end")
    good, bad = 0, len(points) - 1
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds_after(points[middle]) else (good, middle)
    step = recording.step(points[bad])
    command = "" if step.verdict == "unchanged" else commands.command_or_reason(step, recording.format)[0]
    return TextBisection(step, tuple(tried), _first_failure(recording, step, points[good]), command, recording.reducer)


def _first_failure(recording: TextRecording, step: Step, good: int) -> str:
    """Return a sentence about a step after which the predicate does not hold, as it did after step `good`."""
    number = step.number
    units = [unit for unit in recording.units.values() if number in unit.steps]
    since = _since(recording, step, min([step.since, *[unit.since[unit.steps.index(number)] for unit in units]]))
    if step.verdict == "unchanged" and since == number - 1:
        ran = f"what ran between step {since} and {number} did it, not {step.name}"
        return f"it holds after step {good} and no longer after step {number}: {ran}"
    if since < number:
        why = f" ({step.note})" if step.note and step.verdict == "unknown" else ""
        return f"it holds after step {good} and no longer after step {number}: one of {since} to {number}{why}"
    return f"step {number}, {step.name} on {step.unit or 'the program'}: it holds before and not after"


def _version_steps(recording: TextRecording, unit: str | None, start: int, end: int) -> list[int]:
    units = recording.units.values() if unit is None else [recording._unit(unit)]
    return [step for one in units for step in one.steps if start <= step <= end]


def _is_known(recording: TextRecording, number: int, unit: str | None) -> bool:
    return bool(recording.units_at(number)) if unit is None else recording._unit(unit).at(number) is not None


def _accepts_file(command: Any, text: str, ending: str) -> bool:
    """Whether a command holds of a file with a text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"program{ending}"
        write_text(path, text, "surrogateescape")
        return holds(command, text, path)


# ---------------------------------------------------------------- files
def save_before(recording: TextRecording, step: Step, path: str | PathLike[str]) -> str:
    """Write the input of a pass; for a pass on a part of a program, the whole program before it."""
    text = recording.before(step)
    if step.before_body is None or step.scope != "module":
        # The text of a pass on a loop is a part of a function, and the heading may not say of which.
        if step.language == "llvm" and (text or (step.kind == "loop" and not step.gap)):
            whole = _llvm_program(recording, max(step.number - 1, 0))
            lacks_type = not recording.has_types and unknown_type(whole)  # but the pass needs no types
            text = whole if whole and not lacks_type else _for_llvm_tools(text)
    is_whole = step.before_body is not None and step.unit.startswith("builtin.module")
    if step.language == "mlir" and step.scope != "module" and not is_whole and step.number > 1:
        text = program_text(recording, step.number - 1) or text  # the verifier needs the symbols that it refers to
    if step.language == "llvm" and _PART.match(text) and (module := _MODULE_BEGIN.search(text)):
        text = text[module.start() :]  # LLVM prints the loop of a legacy pass before the module
    if step.language == "llvm" and step.scope != "module" and _ATTACHED.search(recording.before(step)):
        text = f"{_NO_METADATA}\n{text}"
    target = checked_path(path)
    write_text(target, text + "\n", "surrogateescape")
    return recording.command(step, str(target.with_suffix(""))) if text else ""


_NO_METADATA = "; The metadata is left out, which dumps of single functions number anew; -print-module-scope keeps it."
_PART = re.compile(r"\s*(?:; (?:Preheader|Loop|Exit blocks)|[-\w.$]+:)")
_MODULE_BEGIN = re.compile(r"(?m)^(?:; ModuleID = |source_filename = )")
# Metadata behind instructions, and instructions that do nothing but name some.
_ATTACHED = re.compile(
    r",? !(?!DIExpression|DIArgList)[A-Za-z_][\w.]* !\d+| #dbg_[^\n]*|"
    r"^ *(?:tail )?call void @llvm\.[^\n]*metadata !\d+[^\n]*",
    re.MULTILINE,
)
_METADATA = re.compile(r"(?m)^!(?:\d+|[\w.]+) = [^\n]*\n?")


def _llvm_program(recording: TextRecording, number: int) -> str:
    """Return the IR after a step in a form that `opt` accepts.

    Assembled from dumps of single functions it has no metadata, which each dump numbers differently. Symbols that no
    dump defines are declared according to their uses.
    """
    last = recording.steps[number - 1] if number else None
    text = recording.program(number, lambda piece: "" if piece.data.startswith(b"# Machine code") else piece.text)
    if last is None or (last.scope == "module" and last.after_body is not None):
        return text
    return _for_llvm_tools(text)


def _for_llvm_tools(text: str) -> str:
    text = _METADATA.sub("", _ATTACHED.sub("", text))
    return "\n".join([text, *declared_llvm(text)])


def nest(recording: TextRecording, number: int, text_of: Callable[[Excerpt], str]) -> str:
    """Return a program of nested operations as one text, each part inside its parent."""
    texts: dict[str, list[str]] = {}
    order = []
    for name, unit in recording.units.items():
        piece = unit.at(number)
        if piece is not None and not name.endswith(HEAD):
            texts[name] = text_of(piece).split("\n")
            order.append(name)
    whole: list[str] = []
    # Children come after their parents, so they are complete when they are inserted.
    for name in reversed(order):
        parent = name.rpartition("/")[0]
        lines = texts[name]
        if parent in texts and len(texts[parent]) > 1:
            texts[parent][-1:-1] = lines  # before the closing brace
        else:
            whole = lines + whole
    return "\n".join(whole)
