"""`Banner` and `Scan`: the results of the reader of one format, which all other modules share."""

from __future__ import annotations

from dataclasses import dataclass, field

from passlab.dumps.source import DumpSource, Excerpt

MODULE, UNIT, FRAGMENT, DIFF, NONE = "module", "unit", "fragment", "diff", "none"  # scopes of a body


@dataclass(slots=True)
class Banner:
    """One heading in a dump and the range of the file below it.

    `when` is "before", "after", "start" (the input) or "end" (the output); `status` is the verdict in the heading, ""
    without one. `scope` is the extent of the body: the whole program ("module"), the unit of the pass ("unit"), a part
    of the unit that is not a program ("fragment"), a diff, or nothing ("none"). `language` is set where the bodies of
    one dump are in several languages.
    """

    source: DumpSource
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
    parent: int = -1  # the number of the banner of the enclosing pass, where the format has it
    holes: tuple[int, ...] = ()  # ranges of the body that are not part of it
    note: str = ""
    inputs: Excerpt | None = None  # the text before, if it is not in a banner of its own

    def spans(self) -> tuple[int, ...]:
        """Return the ranges of the body without its holes."""
        edges = [self.body, *self.holes, self.end]
        pairs = [(edges[i], edges[i + 1]) for i in range(0, len(edges), 2)]
        return tuple(x for pair in pairs if pair[0] < pair[1] for x in pair)


@dataclass(slots=True)
class Scan:
    """The banners of a dump, in order, and the ranges that belong to none."""

    banners: list[Banner]
    other: list[Excerpt] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    says_all: bool = False  # every pass is in the dump, with its verdict
    may_be_quiet: bool = False  # the dump may contain only passes that changed something
    is_partial: bool = False  # a pass that is not in the dump may have made a change
    is_list: bool = False  # because the dump may contain only passes that somebody listed
    is_mixed: bool = False  # the headings of several compilers that ran at the same time alternate
    is_live: bool = False  # a host gave the programs, so that nothing else is in their texts
