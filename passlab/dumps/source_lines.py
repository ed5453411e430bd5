"""`SourceMap`: the lines of the user's source of a recording, and the lines of every version that come from each.

rec.lines_of("softmax.py:8")       # in each version of each unit; step=n: in the program after step n
rec.steps_of("softmax.py:8")       # the steps that changed a line that comes from it
rec.sources()                      # all source lines, with their counts of lines and of steps
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from passlab.atomic_file import checked_path
from passlab.diffing.text_diff import MOVED, OPERANDS, SAME
from passlab.dumps.locations import NOWHERE, Place, Places, has_places, is_same_file, places_of
from passlab.dumps.source import DumpSource, Excerpt
from passlab.errors import Diagnostic, DumpError, FileAccessError, did_you_mean
from passlab.table import Table

if TYPE_CHECKING:
    from passlab.dumps.recording import TextRecording
    from passlab.dumps.step import Step, Unit

SMALL = 50_000_000  # bytes of all versions of a recording in which views look for the names of all files
_QUIET = (SAME, OPERANDS, MOVED)  # kinds of rows of a difference in which a line stays what it is


class SourceMap:
    """The places of the lines of a recording. Everything is computed on first use."""

    def __init__(self, recording: TextRecording) -> None:
        self.recording = recording
        self.texts: dict[str, str] = {}  # of source files that somebody gave
        self._bodies: dict[int, tuple[list[int], list[Excerpt]]] | None = None
        self._places: dict[tuple[str, int], list[Places]] = {}
        self._names: dict[str, str] | None = None
        self._contexts: dict[int, str] = {}

    # ------------------------------------------------------------ places
    def places(self, unit: Unit, version: int) -> list[Places]:
        """Return the places of each line of a version of a unit."""
        key = unit.name, version
        found = self._places.get(key)
        if found is None:
            piece = unit.pieces[version] if version >= 0 else None
            found = self._places[key] = self._resolved(piece, unit.language) if piece is not None else []
        return found

    def _resolved(self, piece: Excerpt, language: str) -> list[Places]:
        text = piece.text
        body = self._body_of(piece) if has_places(text, language) else None
        if body is None:
            return places_of(text, language)
        context = self._contexts.get(id(body))
        if context is None:
            if len(self._contexts) > 3:  # neighbours share a body; texts of all would be much
                self._contexts.clear()
            context = self._contexts[id(body)] = body.text
        return places_of(text, language, context)

    def _body_of(self, piece: Excerpt) -> Excerpt | None:
        """Return the text below one heading of which a text is a part: it has the aliases or metadata."""
        if self._bodies is None:
            self._bodies = _bodies_of(self.recording)
        starts, bodies = self._bodies.get(id(piece.source), ([], []))
        at = bisect_right(starts, piece.spans[0]) - 1 if piece.spans else -1
        return bodies[at] if at >= 0 and piece.spans[-1] <= bodies[at].spans[-1] else None

    def _versions(self) -> list[tuple[Unit, int]]:
        """Return all versions in the order of the dump, so that the versions of one text follow one another."""
        found = [
            (id(piece.source), piece.spans[:1], unit, version)
            for unit in self.recording.units.values()
            for version, piece in enumerate(unit.pieces)
            if piece is not None
        ]
        return [(unit, version) for _, _, unit, version in sorted(found, key=lambda one: one[:2])]

    @property
    def names(self) -> dict[str, str]:
        """The name of each source file, by the names that the programs have for it.

        Machine code has the last part of a path alone; it is that file where no other one ends so.
        """
        if self._names is None:
            seen = {
                place.file for unit, version in self._versions() for one in self.places(unit, version) for place in one
            }
            self._names = {}
            for name in seen:
                longer = [
                    other for other in seen if other != name and is_same_file(name, other) and len(other) > len(name)
                ]
                self._names[name] = longer[0] if len(longer) == 1 else name
        return self._names

    def canonical(self, places: Places) -> Places:
        """Return places with one name for each file; of a large recording they keep theirs until all are known."""
        names = self.names if self._names is not None or self._is_small else {}
        return tuple(dict.fromkeys(Place(names.get(place.file, place.file), place.line) for place in places))

    @cached_property
    def _is_small(self) -> bool:
        return sum(piece.size for unit in self.recording.units.values() for piece in unit.pieces if piece) < SMALL

    def find(self, text: Any) -> frozenset[Place]:
        """Return the places that a text names: a file, or the end of its path, a colon and a line.

        Raises `DumpError` for anything else, and for a file from which no line comes.
        """
        file, _, line = text.strip().rpartition(":") if isinstance(text, str) else ("", "", "")
        if not (file and line.isdecimal()):
            hint = "a file, or the end of its path, a colon and a line: `softmax.py:8`"
            raise DumpError(Diagnostic(f"`{text}` is not a line of a source file", hint=hint))
        names = set(self.names.values())
        found = frozenset(Place(name, int(line)) for name in names if is_same_file(name, file))
        if not found:
            ends = sorted({name.rpartition("/")[2] for name in names})
            hint = did_you_mean(file, [*ends, *names]) or (
                f"there are {', '.join(ends[:12])}" if ends else NO_LOCATIONS
            )
            raise DumpError(Diagnostic(f"no line of the recording comes from a file {file}", hint=hint))
        return found

    def _lines_at(self, unit: Unit, version: int, wanted: frozenset[Place]) -> list[int]:
        """Return the numbers, from 0, of the lines of a version that come from some places."""
        found = enumerate(self.places(unit, version))
        return [number for number, places in found if not wanted.isdisjoint(self.canonical(places))]

    # ------------------------------------------------------------ questions
    def lines_of(self, text: str, step: int | None) -> Table:
        """Return step, pass, unit, line number and text of the lines that come from a line of the source."""
        wanted = self.find(text)
        rows: list[tuple[Any, ...]] = []
        for unit, version in self._versions():
            number = unit.steps[version]
            if step is not None and version != bisect_right(unit.steps, step) - 1:
                continue
            shown = unit.pieces[version]
            chosen = self._lines_at(unit, version, wanted)
            if shown is None or not chosen:
                continue
            name = self.recording.step(number).name if number else "input"
            lines = shown.text.split("\n")
            rows += [(number, name, unit.name, at + 1, lines[at].strip()) for at in chosen]
        rows.sort(key=lambda row: row[0])
        return Table(("step", "pass", "unit", "line", "text"), rows)

    def steps_of(self, text: str) -> list[Step]:
        """Return the steps that changed, added or removed a line that comes from a line of the source."""
        steps = set().union(*(self._changes().get(place, ()) for place in self.find(text)))
        return [self.recording.step(number) for number in sorted(steps)]

    def changed_places(self, step: int) -> Places:
        """Return the lines of the source from which the lines come that a step changed, added or removed."""
        found = self._changes()
        return tuple(sorted(place for place, steps in found.items() if step in steps))

    def _changes(self) -> dict[Place, set[int]]:
        """Return for each line of the source the steps that changed a line that comes from it."""
        if self._changed is None:
            self._changed = {}
            for unit in self.recording.units.values():
                if not any(self.places(unit, version) for version in range(len(unit.pieces))):
                    continue
                for version in range(len(unit.pieces)):
                    for places in self.changes_of(unit, version):
                        for place in self.canonical(places):
                            self._changed.setdefault(place, set()).add(unit.steps[version])
        return self._changed

    _changed: dict[Place, set[int]] | None = None

    def changes_of(self, unit: Unit, version: int) -> Iterator[Places]:
        """Yield the places of each line that is not what it was in the version before."""
        number = unit.steps[version]
        if not number or self.recording.step(number).verdict in ("unchanged", "filtered", "ignored"):
            return
        history = self.recording.history(unit.name)
        here = self.places(unit, version)
        before = self.places(unit, version - 1) if version else []
        rows = history.diff(version).rows
        for row in rows:
            if row.kind in _QUIET:
                continue
            if row.left is not None and row.left < len(before):
                yield before[row.left]
            if row.right is not None and row.right < len(here):
                yield here[row.right]

    def sources(self) -> Table:
        """Return one row per line of the source: how many lines come from it at the end, and what changed them."""
        last: dict[Place, int] = {}
        seen: set[Place] = set()
        for unit, version in self._versions():
            is_last = version + 1 == len(unit.pieces)
            for places in self.places(unit, version):
                for place in self.canonical(places):
                    seen.add(place)
                    last[place] = last.get(place, 0) + is_last
        changes = self._changes()
        files = {place.file for place in seen}
        remarks = Counter(
            self.place_of(one.file, one.line, files) for one in self.recording.reports.remarks if one.file and one.line
        )
        all_places = sorted(seen | {*remarks})
        rows: list[list[Any]] = [
            [place.file, place.line, self.code(place), last.get(place, 0), len(changes.get(place, ()))]
            for place in all_places
        ]
        columns = ["file", "line", "text", "lines_at_the_end", "steps"]
        if remarks:
            columns.append("remarks")
            rows = [[*row, remarks[place]] for row, place in zip(rows, all_places, strict=True)]
        return Table(columns, rows)

    @property
    def files(self) -> frozenset[str]:
        """The names of the source files; of a large recording none until all are known."""
        return frozenset(self.names.values()) if self._names is not None or self._is_small else frozenset()

    @staticmethod
    def place_of(file: str, line: int, files: Collection[str]) -> Place:
        """Return the place of a remark, under the name that the programs have for its file."""
        alike = [name for name in files if is_same_file(name, file)]
        return Place(alike[0] if file not in files and len(alike) == 1 else file, line)

    # ------------------------------------------------------------ the source itself
    def add(self, path: str | os.PathLike[str], text: str | None) -> None:
        """Give the text of a source file, or read it. Raises `FileAccessError`."""
        if text is None:
            try:
                text = checked_path(path).read_text("utf-8", "replace")
            except OSError as error:
                raise FileAccessError(Diagnostic(f"the source {os.fspath(path)} cannot be read: {error}")) from error
        self.texts[os.fspath(path)] = text

    def text_of(self, file: str) -> str | None:
        """Return the text of a source file, None where nobody gave it."""
        alike = [text for name, text in self.texts.items() if is_same_file(name, file)]
        return self.texts.get(file, alike[0] if len(alike) == 1 else None)

    def code(self, place: Place) -> str:
        """Return the line of the source, or "" if the source is not available."""
        lines = (self.text_of(place.file) or "").split("\n")
        return lines[place.line - 1].strip() if place.line <= len(lines) else ""


NO_LOCATIONS = (
    "the programs have no locations: MLIR prints them with --mlir-print-debuginfo, LLVM with -g and -print-module-scope"
)


def _bodies_of(recording: TextRecording) -> dict[int, tuple[list[int], list[Excerpt]]]:
    """Return for each source the begins of the texts below its headings, in order, and these texts."""
    found: dict[int, dict[int, Excerpt]] = {}
    sources: dict[int, DumpSource] = {}
    pieces = [recording.input_piece, *[one for step in recording.steps for one in (step.before_body, step.after_body)]]
    pieces += [piece for _, _, piece in recording.prints]
    for piece in pieces:
        if piece is not None and piece.spans:
            sources[id(piece.source)] = piece.source
            at = found.setdefault(id(piece.source), {})
            known = at.get(piece.spans[0])
            if known is None or piece.spans[-1] > known.spans[-1]:
                at[piece.spans[0]] = piece
    return {key: (sorted(one), [one[at] for at in sorted(one)]) for key, one in found.items()}


__all__ = ["NOWHERE", "NO_LOCATIONS", "SourceMap"]
