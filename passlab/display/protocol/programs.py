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

    `chosen` are the nodes that a click selects, if they are others; `links` are five numbers each, see `Lineage`.
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
    """The spans of words that differ in a row, start and end of each; `retyped` is 1 if the type differs as well."""

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
    """What a pass changed; it has lines of its own only if they are an excerpt of the programs."""

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


class PlacedItem(NamedTuple):
    """What stands in a frame: a box, or another frame as -1 - its number; its left, top corner and its size."""

    item: int
    left: float
    top: float
    width: float
    height: float


class FrameArrow(NamedTuple):
    """An arrow in a frame: the places of its items (source -1: from outside), its label, the boxes at its ends."""

    source: int
    target: int
    label: str
    origin: int
    user: int
    points: list[float]


class FrameRow(TypedDict):
    """A function, closure, fused function, choice (`if`, `match`) or arm, laid out as if everything in it were open.

    `parent` and `box` (what stands for it outside) are -1 for none. `rail` has what may have effects in order, and
    `results` what it returns, both by the place in `items`; `text` is a result that nothing in it computes. `hidden`
    are boxes that the title tells of. The `key` is the same in all programs in which the frame is the same.
    """

    key: str
    kind: str
    title: str
    note: str
    text: str
    parent: int
    box: int
    size: tuple[float, float]
    folded_size: tuple[float, float]
    folded: bool
    items: list[PlacedItem]
    arrows: list[FrameArrow]
    rail: list[int]
    results: list[int]
    hidden: list[int]


class CardRow(TypedDict):
    """A function of a program. `calls` are the cards of what it calls; `sheet` has its pieces if it has no frames."""

    frame: int
    name: str
    signature: str
    facts: str
    calls: list[int]
    callers: list[int]
    sheet: list[PieceRow | RepeatItem]


class GraphData(ViewData):
    """A dataflow graph. `values` has series of numbers by box, from which boxes can take their colours.

    A program with functions, branches or effects has cards and frames, all other graphs have items.
    """

    fused: bool
    folded: bool
    boxes: list[BoxRow]
    arrows: list[ArrowRow]
    groups: list[GroupRow]
    values: dict[str, list[float | None]]
    items: list[PieceRow | RepeatItem]
    layouts: list[PieceLayout]
    cards: list[CardRow]
    frames: list[FrameRow]
