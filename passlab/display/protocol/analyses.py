"""Instruments, printed programs, watched runs and analyses as data for scripts."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

from passlab.display.protocol.programs import (
    DiffLines,
    DiffRows,
    GraphData,
    LineTableData,
    ModuleData,
    ProgramRows,
    ViewData,
)


class TimeData(NamedTuple):
    """A pass in a flame chart: how deep it is nested, its name, its milliseconds with and without those inside it."""

    depth: int
    name: str
    total: float
    own: float
    note: str


class TimingData(ViewData):
    """How long passes took."""

    rows: list[TimeData]


class InstrumentData(ViewData):
    """The table of an instrument."""

    columns: list[str]
    rows: list[list[str | float]]


class PrintedHead(TypedDict):
    """A pass that a printer showed; `body` is its error."""

    when: str
    name: str
    sentence: str
    outcome: str
    body: str


class PrintedProgram(PrintedHead, ProgramRows):
    """A program that a printer showed."""


class PrintedDiff(PrintedHead, DiffRows, DiffLines):
    """A difference that a printer showed."""


class PrinterData(ViewData, LineTableData):
    """What a printer showed."""

    steps: list[PrintedHead | PrintedProgram | PrintedDiff]


class ProspectRow(NamedTuple):
    """A pass that would change a program: its name, its level, what it would do, and whether it fails."""

    name: str
    level: int
    effect: str
    fails: bool


class ProspectsData(ViewData):
    """The passes that would change a program."""

    rows: list[ProspectRow]


class FactCells(NamedTuple):
    """The value of a line in a run.

    `distance` starts with ≠ where the value surely differs from its value in an earlier run. `fraction` is a part of
    the longest time, `first` is 1 where runs first differ.
    """

    shape: str
    range: str
    nonfinite: str
    distance: str
    time: str
    fraction: float
    bytes: str
    more: str
    first: int


class NodeValuesData(ModuleData):
    """A run on its program."""

    facts: list[FactCells | None]
    graph: GraphData


class Decision(TypedDict):
    """A decision of an analysis: the node and line that it is about, and the states that it changed, by line."""

    sentence: str
    phase: str
    node: int
    line: int
    changed: list[tuple[int, str]]


class SolvingData(ModuleData):
    """A watched analysis: the state of each line at the start, and the decisions."""

    start: list[str | None]
    steps: list[Decision]
