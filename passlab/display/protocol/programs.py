"""Programs, differences and graphs as data for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired


# ---------------------------------------------------------------- programs
class LineRow(NamedTuple):
    """A line: its text, four numbers a token (start, end, kind, hover text or -1), and its type (-1: none)."""

    text: str
    marks: list[int]
    type: int


class LineTableData(TypedDict):
    """Lines and texts, each different one once; all else refers to them by number."""

    lines: list[LineRow]
    texts: list[str]


class BlamePass(NamedTuple):
    """A pass in the gutter: its label, the number of its colour, and its event."""

    label: str
    colour: int
    event: int


class LineOrigin(NamedTuple):
    """The origin of a line: the number of its pass, and a text about it."""

    blamed: int
    text: int


class BlameData(TypedDict):
    """The passes of a gutter, and the origins that lines have."""

    passes: list[BlamePass]
    origins: list[LineOrigin]


class ProgramBlame(BlameData):
    """The origin of each line of one program; -1: the input, -2: the line defines nothing."""

    rows: list[int]


class RecordingBlame(BlameData):
    """The origin of each line of each program."""

    programs: list[list[int]]


class ViewData(TypedDict):
    """What the data of every view has."""

    kind: str
    title: str


class ProgramRows(TypedDict):
    """A program: its lines, the node of each (or several), and how many lines are left out."""

    rows: list[int]
    nodes: list[int] | list[list[int]]
    left_out: int


class ModuleData(ViewData, LineTableData, ProgramRows):
    """The view of a program.

    `chosen` are the nodes that a click selects, where they are others; `links` are five numbers each, see `Lineage`.
    """

    blame: NotRequired[ProgramBlame]
    links: NotRequired[list[int]]
    chosen: NotRequired[list[list[int]]]


# ---------------------------------------------------------------- differences
class OperatorCount(NamedTuple):
    """How often an operator is called before and after a pass."""

    name: str
    before: int
    after: int


class ChangedWords(NamedTuple):
    """The spans of words that differ in a row, start and end of each; `retyped` is 1 if the type differs, too."""

    before: list[int]
    after: list[int]
    retyped: int = 0


class RowChanges(TypedDict):
    """Rows of a difference: two characters each (the kinds of both sides), and by row the words that differ."""

    kinds: str
    words: dict[str, ChangedWords]


class DiffRows(RowChanges):
    """The rows of a difference, and the operators whose number differs."""

    operators: list[OperatorCount]


class DiffLines(TypedDict):
    """The lines of both programs, and their nodes."""

    before: list[int]
    after: list[int]
    nodes: tuple[list[int], list[int]]


class StepDiff(DiffRows):
    """What a pass changed; it has lines of its own only where they are an excerpt of the programs."""

    before: NotRequired[list[int]]
    after: NotRequired[list[int]]
    nodes: NotRequired[tuple[list[int], list[int]]]


class DiffData(ViewData, LineTableData, DiffRows, DiffLines):
    """The difference of two programs."""


# ---------------------------------------------------------------- graphs
class BoxRow(NamedTuple):
    """A box: its size, kind and change, its group (-1: none), its lines, its hover text, its nodes, its family."""

    width: float
    height: float
    kind: str
    change: str
    group: int
    lines: list[str]
    tip: str
    nodes: list[int]
    family: int


class ArrowRow(NamedTuple):
    """An arrow from one box to another."""

    source: int
    target: int
    label: str


class GroupRow(NamedTuple):
    """A group of boxes; its parent is -1 for none."""

    number: int
    parent: int
    kind: str
    name: str


class PlacedArrow(NamedTuple):
    """An arrow inside a piece: the places of its boxes (source -1: from outside), its label, its curve as points."""

    source: int
    target: int
    label: str
    points: list[float]


class Sides(NamedTuple):
    """The sides of a frame."""

    left: float
    top: float
    right: float
    bottom: float


class PieceLayout(TypedDict):
    """The layout of a piece: the middles of its boxes (x, y, ...), and where values enter and leave (-1: nowhere)."""

    size: tuple[float, float]
    at: list[float]
    arrows: list[PlacedArrow]
    groups: list[Sides]
    entry: float
    exit: float


class PieceRow(NamedTuple):
    """A piece of a graph: the number of its layout, its boxes, and its groups."""

    layout: int
    boxes: list[int]
    groups: list[int]


class RepeatItem(TypedDict):
    """Bodies that follow one another with the same structure."""

    name: str
    similar: bool
    size: int
    bodies: list[list[PieceRow | RepeatItem]]


class GraphData(ViewData):
    """A dataflow graph. `values` has series of numbers by box, from which boxes can take their colours."""

    fused: bool
    folded: bool
    boxes: list[BoxRow]
    arrows: list[ArrowRow]
    groups: list[GroupRow]
    values: dict[str, list[float | None]]
    items: list[PieceRow | RepeatItem]
    layouts: list[PieceLayout]
