"""The data of recordings of other compilers' passes, declared for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict

from passlab.display.protocol.analyses import TimeData
from passlab.display.protocol.programs import ViewData

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class DumpLine(NamedTuple):
    """A line: its text, three numbers a mark (start, end, kind), three for each span of noise (filter, start, end).

    `values` are its operation, the names that it defines and those that it uses; 0 for a line without any.
    """

    text: str
    marks: list[int]
    noise: list[int]
    values: tuple[str, list[str], list[str]] | Literal[0]


class DumpRow(NamedTuple):
    """A row of a difference: its sign, the lines of both sides (-1: none), and the spans of words that differ."""

    sign: str
    left: int
    right: int
    before: list[tuple[int, int]]
    after: list[tuple[int, int]]


class FoldedRows(NamedTuple):
    """Rows that are alike and left out."""

    folded: int


class UnitVersion(NamedTuple):
    """A version of a unit: the step that wrote it, the first that may have, its lines (None: left out), their origins.

    An origin is the first step that may have written the line, and the last. `diff` leads here from the version before.
    `sources` has for each line the number of the set of source lines that it comes from; it is empty without any.
    """

    step: int
    since: int
    lines: list[int] | None
    origins: list[tuple[int, int]]
    diff: list[DumpRow]
    renamed: dict[str, str]
    sources: list[int]


class UnitData(TypedDict):
    """A function, or an operation with a symbol, in all its versions."""

    name: str
    versions: list[UnitVersion]
    error: NotRequired[str]


class DumpStepRow(NamedTuple):
    """A pass of a dump. `written` are the units that it wrote, `fragment` the lines of what is not a unit.

    `counted` is what the compiler counted in the pass.
    """

    name: str
    unit: str
    verdict: str
    assumed: int
    since: int
    parent: int
    phase: str
    options: str
    remark: str
    command: str
    written: list[int]
    fragment: list[int]
    seconds: str | None
    remarks: int
    counted: str


class LiveBox(NamedTuple):
    """A node of a compiler's own graph; `input` is 1 for one without operands."""

    name: str
    text: str
    input: int
    change: str
    key: str


class LiveGraph(TypedDict):
    """A compiler's own graph of a program: how many nodes and arrows it has, and the first of them."""

    count: tuple[int, int]
    boxes: list[LiveBox]
    arrows: list[tuple[int, int]]


class OtherStep(NamedTuple):
    """The same pass in the other recording: its number, its verdict, whether the texts are the same (None: unknown)."""

    number: int
    verdict: str
    same: bool | None


class LoneStep(NamedTuple):
    """A pass that only the other recording has."""

    number: int
    name: str
    unit: str
    verdict: str
    place: str = ""


class OtherDiff(NamedTuple):
    """The difference from the other recording: rows, the lines of both sides, and how many rows are left out."""

    rows: list[DumpRow | FoldedRows]
    left: list[int]
    right: list[int]
    more: int


class Against(TypedDict):
    """Another recording next to a dump, by step."""

    name: str
    pairs: dict[str, OtherStep]
    alone: dict[str, list[LoneStep]]
    diffs: dict[str, OtherDiff]


class SourcePlace(NamedTuple):
    """A line of the user's source."""

    file: str
    line: int


class SaidRow(NamedTuple):
    """A remark of the compiler: its place in the source, -1 without one, and the steps that may have made it."""

    kind: str
    pass_name: str
    text: str
    place: int
    first: int
    last: int


class DumpData(ViewData):
    """The passes of another compiler. A graph of a step is the number of another step if it has the same.

    `places` are the lines of the user's source from which lines of the programs come, and `joins` the sets of them that
    occur, by their numbers. `sources` has the lines of the files whose text is known.
    """

    times: list[TimeData]
    remarks: list[str]
    other: str
    start: int
    steps: list[DumpStepRow]
    graphs: list[LiveGraph | int | None]
    units: list[UnitData]
    lines: list[DumpLine]
    filters: list[str]
    hidden: list[int]
    places: list[SourcePlace]
    joins: list[list[int]]
    sources: dict[str, list[str]]
    said: list[SaidRow]
    against: NotRequired[Against]


class FollowedName(TypedDict, total=False):
    """The name that is followed in a dump: its unit, and the step after which it has this name."""

    unit: str
    name: str
    step: int
