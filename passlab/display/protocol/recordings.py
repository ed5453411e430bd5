"""Recordings and comparisons of two as data for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypedDict

from passlab.display.protocol.programs import DiffData, LineTableData, RecordingBlame, StepDiff, ViewData

if TYPE_CHECKING:
    from typing_extensions import NotRequired


# ---------------------------------------------------------------- recordings
class Failure(TypedDict):
    """The error of a pass: frames (place, source), the node that it worked on, and the traceback."""

    kind: str
    title: str
    text: str
    frames: list[tuple[str, str]]
    node: str
    traceback: str


class StepRow(TypedDict):
    """A pass of a recording. `before`, `after` and `diff` are numbers of its programs and its difference.

    `verdict` comes from a search: whether the program is good after the pass, and why.
    """

    untyped: bool
    id: str
    depth: int
    name: str
    outcome: str
    ms: float
    sentence: str
    role: str
    level: int | None
    error: str
    log: list[str]
    operators: list[str]
    nodes: int
    calls: int
    rewrites: int
    peak: int | None
    before: int
    after: int
    left_out: int
    failure: NotRequired[Failure]
    diff: NotRequired[int]
    verdict: NotRequired[tuple[bool, str]]


class SearchVerdict(TypedDict):
    """The result of a search: whether something is wrong, sentences, texts that unfold, and the wrong nodes."""

    broken: bool
    sentences: list[str]
    folds: list[tuple[str, str]]
    nodes: list[int]


class RecordingData(ViewData, LineTableData):
    """A recording. While it is `partial`, programs and differences of most steps are missing.

    `program` and `options` are the name of the program and the options of `%passes` that would run the pipeline again.
    """

    start: int
    partial: bool
    by_step: bool
    program: str
    options: str
    steps: list[StepRow]
    modules: list[list[int] | None]
    blame: RecordingBlame | None
    nodes: list[list[int]]
    links: list[int]
    diffs: list[StepDiff | None]
    verdict: NotRequired[SearchVerdict]


class RewriteRow(TypedDict):
    """A rewrite: its rule, its pass, what became what, why, and the nodes that it highlights."""

    rule: str
    pass_name: str
    title: str
    why: str
    nodes: list[int]


class FoundLine(NamedTuple):
    """A line that a search has found: its step by number, its number in the program after it (from 0), and its text."""

    step: int
    line: int
    text: str


class StoredRewrites(TypedDict):
    """The rewrites of a pass that a page stores, the two sides of each, and how many are left out."""

    steps: list[RewriteRow]
    parts: list[DiffData]
    left: int


class PassOption(NamedTuple):
    """An option of a pass: its name, type and default ("" where one is needed), and what it does."""

    name: str
    type: str
    preset: str
    does: str


class Misses(TypedDict):
    """Why rules did not rewrite a node: rule, how much of its pattern fits, the pattern, the reason."""

    node: str
    rows: list[list[str]]


# ---------------------------------------------------------------- comparisons
class ComparedRow(TypedDict):
    """Two aligned passes: the latest step of each side, which sides have the pass, whether the programs are equal."""

    at: tuple[int, int]
    name: str
    a: bool
    b: bool
    same: bool
    calls: int


class SideStep(TypedDict):
    """A step of one side of a comparison."""

    id: str
    name: str
    outcome: str
    role: str
    error: str
    ms: float
    peak: int | None
    nodes: int
    calls: int


class Side(TypedDict):
    """One side of a comparison."""

    name: str
    steps: list[SideStep]


class PairDiff(DiffData):
    """A difference of the programs after two steps that a page stores; `back` describes it in the reverse direction."""

    back: str


class ComparisonData(ViewData):
    """Two recordings, step by step. `first` is the first row that differs (-1: none), `start` the one to open with."""

    sides: tuple[Side, Side]
    rows: list[ComparedRow]
    first: int
    start: int
    pairs: dict[str, DiffData | PairDiff]


class ShownComparison(ComparisonData):
    """A comparison in an explorer or a heat map; `other` says what the recording is compared with."""

    other: str


class HeatCell(TypedDict):
    """A variant of a pipeline: its text, its outcome, by how many nodes its result differs, and facts about it."""

    text: str
    outcome: str
    nodes: int
    facts: list[str]


class HeatMapData(ViewData):
    """The variants of a pipeline: a row for each pass, a column for each change."""

    passes: list[str]
    columns: list[str]
    cells: list[list[HeatCell | None]]
    laws: list[str]
    note: str


class LiveProblem(TypedDict):
    """An error in an edited program or its pipeline: its line (from 0; -1 for none) and columns (-1: to the end)."""

    line: int
    text: str
    pipeline: bool
    start: NotRequired[int]
    end: NotRequired[int]
