"""`Step`: a pass of a dump; `Unit`: the texts of one function or operation through all steps."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from passlab.dumps.source import Excerpt

if TYPE_CHECKING:
    from passlab.diffing.text_diff import TextDiff
    from passlab.dumps.recording import TextRecording

VERDICTS = ("changed", "unchanged", "invalidated", "filtered", "ignored", "failed", "unknown")


class Step:
    """One pass of a dump, as data.

    `verdict` is one of `VERDICTS`; `since` is the first step that may have made the change that is first seen here: the
    step itself where the dump decides it. `assumed` marks a verdict or name that is not in the dump. `gap` is the first
    step before that may have changed the program and prints none of it, 0 without one: then the text is not known.

    >>> dump = '''*** IR Dump Before InstCombinePass on f ***
    ... define i32 @f(i32 %x) {
    ...   ret i32 %x
    ... }
    ... *** IR Dump After InstCombinePass on f ***
    ... define i32 @f(i32 %x) {
    ...   ret i32 0
    ... }'''
    >>> step = dumps.read_text(dump)[1]
    >>> step.name, step.verdict
    ('InstCombinePass', 'changed')
    """

    __slots__ = (
        *("number", "name", "unit", "kind", "argument", "options", "phase", "note", "scope", "status", "language"),
        *("parent", "gap", "verdict", "since", "assumed", "ambiguous", "before_body", "after_body", "names", "pieces"),
        *("digest", "seconds", "live", "live_before", "recording", "other"),
    )

    def __init__(self, number: int, name: str, unit: str, kind: str) -> None:
        self.number, self.name, self.unit, self.kind = number, name, unit, kind
        self.argument = self.options = self.phase = self.note = self.scope = self.status = self.language = ""
        self.parent = 0  # the number of the enclosing step; 0 without a known one
        self.gap = 0  # the first of the steps before that may have changed the program and do not show it; 0 without
        self.verdict, self.since = "unknown", number
        self.assumed = self.ambiguous = False
        self.before_body: Excerpt | None = None
        self.after_body: Excerpt | None = None
        self.names: tuple[str, ...] = ()
        self.pieces: tuple[Excerpt, ...] = ()
        self.digest = 0
        self.other: tuple[Excerpt, ...] = ()  # what else was printed while the pass ran
        self.seconds: float | None = None
        self.live: object = None  # the host's program after the step, in live recordings
        self.live_before: object = None  # the host's program before it
        self.recording: TextRecording | None = None

    @property
    def range(self) -> tuple[int, int]:
        """The first and the last step that may have made the change seen here."""
        return self.since, self.number

    @property
    def before(self) -> str:
        """The text before the pass; empty where the dump does not have it."""
        return self.recording.before(self) if self.recording is not None else ""

    @property
    def after(self) -> str:
        """The text after the pass."""
        return self.recording.after(self) if self.recording is not None else ""

    @property
    def other_output(self) -> str:
        """What was printed while the pass ran and is not a program: debug lines, remarks, names of analyses."""
        return "\n".join([text for piece in self.other if (text := piece.text.strip("\n"))])

    def diff(self, **options: Any) -> TextDiff:
        """Return what the pass changed: see `TextRecording.diff`."""
        assert self.recording is not None
        return self.recording.diff(self, **options)

    @property
    def places(self) -> tuple[str, ...]:
        """The lines of the user's source whose lines of the program the pass changed, as `softmax.py:8`."""
        found = self.recording.source_map.changed_places(self.number) if self.recording is not None else ()
        return tuple(map(str, found))

    @property
    def command(self) -> str:
        """The command that runs this pass alone on its input."""
        return self.recording.command(self) if self.recording is not None else ""

    @property
    def is_exact(self) -> bool:
        """Whether the dump itself decides the verdict."""
        return self.verdict != "unknown" and not self.assumed

    def __repr__(self) -> str:
        return f"<step {self.number}: {self.name} on {self.unit or '?'}, {self.verdict}>"


class Unit:
    """The successive texts of a function, an operation with a symbol, or the rest of a module."""

    __slots__ = ("name", "language", "steps", "pieces", "since", "last_seen")

    def __init__(self, name: str, language: str) -> None:
        self.name, self.language = name, language
        self.steps: list[int] = []  # the step after which each text is first seen
        self.pieces: list[Excerpt | None] = []  # None where the unit was removed
        self.since: list[int] = []  # the first step that may have written it
        self.last_seen = -1

    @property
    def alive(self) -> bool:
        """Whether the unit is part of the program so far."""
        return bool(self.pieces) and self.pieces[-1] is not None

    @property
    def last(self) -> Excerpt | None:
        """The latest text."""
        return self.pieces[-1] if self.pieces else None

    def is_known_after(self, number: int, piece: Excerpt) -> bool:
        """Whether the text of the unit after a step is known and is another one than a given text."""
        return self.last_seen >= number and (self.last is None or self.last.digest != piece.digest)

    def put(self, number: int, piece: Excerpt | None, since: int, seen: int | None = None) -> bool:
        """Add the text of the unit after a step, which the step `seen` printed; return whether it is another one."""
        self.last_seen = number if seen is None else seen
        last = self.last
        if self.pieces and (piece is last or (piece is not None and last is not None and piece.digest == last.digest)):
            return False
        if self.steps and self.steps[-1] == number:
            self.pieces[-1], self.since[-1] = piece, min(since, self.since[-1])
            return True
        self.steps.append(number)
        self.pieces.append(piece)
        self.since.append(since)
        return True

    def forget(self, number: int) -> None:
        """Drop the texts after step `number`, which belong to another program."""
        while self.steps and self.steps[-1] > number:
            self.steps.pop()
            self.pieces.pop()
            self.since.pop()
        self.last_seen = number

    def at(self, number: int) -> Excerpt | None:
        """Return the text after step `number`, None where the unit is not part of the program or not yet known."""
        index = bisect_right(self.steps, number) - 1
        return self.pieces[index] if index >= 0 else None
