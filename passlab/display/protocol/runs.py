"""The data of recorded runs, for the stepper, declared for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict

from passlab.display.protocol.programs import LineTableData, ViewData

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class FunctionRow(TypedDict):
    """A function of an executable: its parameters, its first instruction, and its number of registers."""

    name: str
    params: list[str]
    base: int
    size: int


class InstructionColumns(TypedDict):
    """A column for each fact about instructions, and what they refer to by number (-1: nothing)."""

    texts: list[str]
    names: list[str]
    kinds: list[str]
    operators: list[list[str]]
    roles: list[int]
    written: list[int]
    reads: list[list[int]]
    results: list[list[int]]
    changes: list[list[int]]
    calls: list[list[int]]
    source: list[list[int]]
    kernel: list[int]
    histories: list[int]
    nodes: list[list[int]]
    programNodes: list[int]
    places: list[str]
    program: list[int]
    kernels: list[list[int]]
    biographies: list[list[str]]


class HeapCell(NamedTuple):
    """A field of an object: its text, or the number of the box that it points to (-1: none)."""

    text: str
    box: int


class HeapBox(NamedTuple):
    """An object of a value: its name, its kind, its distance from the first object, and its fields."""

    name: str
    kind: str
    depth: int
    cells: list[HeapCell]


class TensorPicture(TypedDict):
    """A tensor: counts, the range and histogram of its finite numbers, and its heat map, a byte a cell in base64.

    `grid` is the number of slices, of slices side by side, and of rows and columns of each.
    """

    size: int
    bytes: int
    nan: int
    inf: int
    ninf: int
    zero: int
    rows: int
    columns: int
    cells: str
    grid: tuple[int, int, int, int]
    scale: float
    min: NotRequired[float]
    max: NotRequired[float]
    mean: NotRequired[float]
    std: NotRequired[float]
    bins: NotRequired[list[int]]


class StepValuesData(TypedDict):
    """The values of a run; those that are not finite, pictures and heaps by number, and the pictures not yet drawn."""

    texts: list[str]
    nonfinite: dict[str, int]
    pictures: dict[str, TensorPicture]
    heaps: dict[str, list[HeapBox]]
    late: list[int]


class StorageData(TypedDict):
    """The memory of a run: live bytes by instant, and storages as blocks (born, died, lane, reused)."""

    live: list[tuple[int, int]]
    peak: int
    peakAt: int
    total: int
    blocks: list[tuple[int, int, int, int]]
    lanes: int
    count: int


class RunEnd(TypedDict):
    """How a run ended: where it stands if it did not reach its end, else the number of its result."""

    what: Literal["more", "failed", "stopped", "ended"]
    text: str
    pc: NotRequired[int]
    result: NotRequired[int]


class BreakpointRow(TypedDict):
    """A breakpoint, and its instructions where its text alone does not say them."""

    text: str
    points: NotRequired[list[int]]


class RunColumns(TypedDict):
    """The log of a run; texts are packed numbers, see `passlab.display.views.stepper.pack`."""

    runs: str
    runPoints: str
    always: list[int]
    value: str
    more: dict[str, list[int]]
    micros: str
    switches: str
    switchedTo: str
    parent: str
    function: str
    created: str
    result: str
    depth: str
    given: str
    givenCount: str
    waits: dict[str, int]


class StepperData(ViewData, LineTableData, RunColumns):
    """A recorded run. While it is `partial`, only the values near the shown instant are there."""

    executor: str
    length: int
    left_out: int
    at: int
    end: RunEnd
    functions: list[FunctionRow]
    code: InstructionColumns
    values: StepValuesData
    storage: StorageData
    partial: bool
    breaks: list[BreakpointRow]
    fork: int


class Branch(TypedDict):
    """A fork of a run: where it starts, the changed registers, and how it differs (`parted`: -1 if it does not)."""

    data: StepperData
    instant: int
    changed: list[int]
    text: str
    rows: list[list[str]]
    head: list[str]
    parted: int


class BranchError(TypedDict):
    """Why a run could not be forked."""

    error: str
