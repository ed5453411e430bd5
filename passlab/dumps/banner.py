"""`Banner`: what a reader of one format says of one dump in a file. All else is shared by all formats."""

from __future__ import annotations

from dataclasses import dataclass, field

from passlab.dumps.source import Piece, Source

MODULE, UNIT, FRAGMENT, DIFF, NONE = "module", "unit", "fragment", "diff", "none"  # scopes of a body


@dataclass(slots=True)
class Banner:
    """One heading in a dump and the range of the file below it.

    `when` is "before", "after", "start" (the input) or "end" (the output); `status` is what the heading itself says of
    the pass: "" for nothing, or one of the verdicts. `scope` tells what the body shows: the whole program ("module"),
    what the pass ran on ("unit"), a part of that which is no program ("fragment"), a diff, or nothing ("none").
    `key` orders the parts of a folder; `language` is given where the bodies of one dump are in several.
    """

    source: Source
    when: str
    name: str
    unit: str = ""
    kind: str = ""  # what the unit is: module, function, scc, loop, op ...
    argument: str = ""  # the name on the command line of the compiler
    options: str = ""
    status: str = ""
    scope: str = UNIT
    phase: str = ""
    start: int = 0  # of the heading
    body: int = 0  # where the text begins
    end: int = 0  # and ends
    form: str = ""
    language: str = ""
    parent: int = -1  # the number of the banner of the pass around it, where the format says it
    holes: tuple[int, ...] = ()  # ranges of the body that are no program: other output
    note: str = ""
    inputs: Piece | None = None  # the text before, where the format has it elsewhere

    def spans(self) -> tuple[int, ...]:
        """Return the ranges of the body without its holes."""
        edges = [self.body, *self.holes, self.end]
        pairs = [(edges[i], edges[i + 1]) for i in range(0, len(edges), 2)]
        return tuple(x for pair in pairs if pair[0] < pair[1] for x in pair)


@dataclass(slots=True)
class Scan:
    """What a reader made of a dump: its banners, in order, and the ranges that are no part of any."""

    banners: list[Banner]
    other: list[Piece] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    says_all: bool = False  # the dump says of every pass whether it changed something
    may_be_quiet: bool = False  # it may name only the passes that did: nothing in its headings speaks against it
    is_partial: bool = False  # it names only a few chosen passes, so that others ran in between
