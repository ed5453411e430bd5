"""Blame for text: the step that made each line of a unit, its earlier forms, and a name through all steps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from passlab.diffing.text_diff import CHANGED, MOVED, OPERANDS, SAME, TextDiff, diff_lines
from passlab.diffing.text_lines import LineReader, TextLine
from passlab.dumps.step import Unit


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """The origin of a line: one of the steps `since` to `step` made it (one step where the dump decides it).

    `was` is the line that it replaced, as version and line number of the unit; None where it replaced none. Step 0 is
    the input, which a dump may not show: then what its first text has is of the input or of a step up to that one.
    """

    since: int
    step: int
    was: tuple[int, int] | None = None

    @property
    def is_exact(self) -> bool:
        """Whether the dump decides which step made the line."""
        return self.since == self.step

    def __str__(self) -> str:
        if self.step == 0:
            return "input"
        return f"{self.step}" if self.is_exact else f"{self.since or 'input'}-{self.step}"


def maker_in_words(since: int, step: int) -> str:
    """Return which of some steps made a text, where the dump does not decide it, and where it is of the input."""
    if step == 0:
        return "input"
    if since > 0:
        return f"between step {since} and {step}"
    return "input or step 1" if step == 1 else f"input or a step up to {step}"


class UnitHistory:
    """One unit through all its versions: lines, origins, differences, names, each computed on first use."""

    def __init__(self, unit: Unit, reader: LineReader, most_lines: int) -> None:
        self.unit, self.reader = unit, reader
        self.most_lines = most_lines
        self._lines: dict[int, list[TextLine]] = {}
        self._origins: list[list[LineOrigin]] = []
        self._diffs: dict[int, TextDiff] = {}

    def version_at(self, step: int) -> int:
        """Return the number of the version that holds after a step; -1 before the first."""
        return bisect_right(self.unit.steps, step) - 1

    def lines(self, version: int) -> list[TextLine]:
        """Return the lines of a version; none where the unit was removed."""
        entry = self._lines.get(version)
        if entry is None:
            piece = self.unit.pieces[version] if version >= 0 else None
            entry = self.reader.lines(piece.text)[: self.most_lines] if piece is not None else []
            self._lines[version] = entry
        return entry

    def diff(self, version: int) -> TextDiff:
        """Return the difference from the version before to this one."""
        entry = self._diffs.get(version)
        if entry is None:
            entry = self._diffs[version] = diff_lines(self.lines(version - 1) if version else [], self.lines(version))
        return entry

    def origins(self, version: int) -> list[LineOrigin]:
        """Return the origin of each line of a version."""
        while len(self._origins) <= version:
            self._origins.append(self._next_origins(len(self._origins)))
        return self._origins[version] if version >= 0 else []

    def _next_origins(self, version: int) -> list[LineOrigin]:
        unit = self.unit
        # Where steps in between did not print the unit, any of them may have made its new lines.
        here = LineOrigin(min(unit.since[version], unit.steps[version]), unit.steps[version])
        if version == 0:
            return [here] * len(self.lines(0))
        last = self._origins[version - 1]
        origins = []
        for kind, old in self.diff(version).origin:
            if old is None:
                origins.append(here)
            elif kind in (SAME, OPERANDS, MOVED):  # other names of operands are not a change of the line
                origins.append(last[old])
            else:
                assert kind == CHANGED
                origins.append(LineOrigin(here.since, here.step, (version - 1, old)))
        return origins

    def names(self, version: int, name: str) -> dict[int, str]:
        """Return the name in each version that corresponds to a name of one version, as far as it can be followed."""
        names = {version: name}
        current = name
        # Back to the first version, then forwards to the last.
        for at in range(version, 0, -1):
            back = {new: old for old, new in self.diff(at).names.items()}
            if current not in back:
                break
            current = names[at - 1] = back[current]
        current = name
        for at in range(version + 1, len(self.unit.pieces)):
            follow = self.diff(at).names
            if current not in follow:
                break
            current = names[at] = follow[current]
        return names


def life_of_line(history: UnitHistory, version: int, line: int) -> list[tuple[int, int, str]]:
    """Return the forms of a line, the first one first: (since, step, text) of each."""
    forms = []
    at: tuple[int, int] | None = (version, line)
    while at is not None:
        version, line = at
        origin = history.origins(version)[line]
        forms.append((origin.since, origin.step, history.lines(version)[line].text))
        at = origin.was
    return forms[::-1]


def lines_with(lines: Sequence[TextLine], name: str) -> list[int]:
    """Return the numbers of the lines with a name, the one that defines it first."""
    return [number for number, line in enumerate(lines) if name in line.names]
