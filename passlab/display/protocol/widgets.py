"""The data of widgets, of recorded runs and of recordings of other compilers, declared for scripts.

Of a widget: what its model holds, what its script asks of the kernel (`...Request`), and the answers.

A request or an answer has some of the keys of its class, mostly one; the class says for each what it means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from passlab.display.protocol.analyses import (
    InstrumentData,
    NodeValuesData,
    PrinterData,
    ProspectsData,
    SolvingData,
    TimingData,
)
from passlab.display.protocol.programs import DiffData, GraphData, ModuleData
from passlab.display.protocol.recordings import (
    ComparisonData,
    FoundLine,
    HeatMapData,
    LiveProblem,
    Misses,
    PassOption,
    RecordingData,
    RewriteRow,
    ShownComparison,
    StoredRewrites,
)

if TYPE_CHECKING:
    from typing_extensions import NotRequired


from typing import TYPE_CHECKING, Literal, NamedTuple

from passlab.display.protocol.analyses import TimeData
from passlab.display.protocol.programs import ViewData

if TYPE_CHECKING:
    from typing_extensions import NotRequired


from typing import TYPE_CHECKING

from passlab.display.protocol.programs import LineTableData

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class Related(TypedDict, total=False):
    """Relatives of the nodes `of` in other views: the predecessors of each, the newest first, and all successors."""

    of: list[int]
    before: list[list[int]]
    after: list[int]


class Place(TypedDict, total=False):
    """Where the reader of an explorer is: the pass by its id, tab, mode, line (from 1), pixels scrolled, and the
    width of the list of passes in pixels. `graph` is what is seen of a graph, as `x,y,scale`: the middle of its window
    on the sheet, and the scale; "" for a graph that was not moved.

    `unified` and `all` say how differences are shown. From the address of a page, all are texts.
    """

    step: str
    tab: str
    mode: str
    line: int | str
    top: int | str
    width: float | str
    graph: str
    unified: bool | str
    all: bool | str


class SelectionState(TypedDict):
    """The selection that all widgets of a notebook share: nodes by number."""

    nodes: list[int]
    related: Related


class Done(TypedDict):
    """The kernel has dealt with the request that has the `ticket` `done`. `problem` says why there is no answer."""

    done: str
    problem: NotRequired[str]


class GraphRequest(TypedDict):
    """Draw each fused function as one box, or with its operators."""

    fold: bool


class PairRequest(TypedDict):
    """Compare the programs after two steps, one of either side."""

    pair: tuple[int, int]


class ComparisonAnswer(TypedDict, total=False):
    """The difference of a pair of steps, or why it has none (`problem`), or why the request was `refused`."""

    pair: str
    data: DiffData
    problem: str
    refused: str


class HeatMapRequest(TypedDict, total=False):
    """Open the variant of a pass (numbered from 1) by a change; compare a pair of steps."""

    cell: tuple[int, str]
    pair: tuple[int, int]


class HeatMapAnswer(ComparisonAnswer, total=False):
    """The variant that was opened, or an answer about a pair."""

    opened: str


class GraphState(SelectionState):
    """The model of a graph."""

    data: GraphData
    place: NotRequired[Place]


class HeatMapState(SelectionState):
    """The model of a heat map."""

    data: HeatMapData
    comparison: ShownComparison | Nothing


class Nothing(TypedDict):
    """What is empty so far."""


class RecordingRequest(TypedDict, total=False):
    """Send the `rest`, or one more `step`; draw the `graph` of a step by its `id`; name the `others` in the notebook.

    `compare` with one of them, or run another pipeline (`what_if`: passes by number, or new ones as text). List the
    `rewrites` of a pass, or both `parts` of one, or say why a pass did not rewrite a node. `run` a pass by itself, or
    `find` a text in the programs after all steps. `copy` the program "before" or "after" the step `id`, or the `node`
    as Python. `bind` the recording of the edited pipeline to a name, or `keep` it: show it in place of this one. Say
    which `options` a pass has.
    """

    rest: bool
    step: int
    graph: str
    id: str
    others: bool
    compare: str
    what_if: list[int | str]
    rewrites: str
    parts: tuple[str, int]
    why_not: tuple[str, int]
    pair: tuple[int, int]
    run: str
    find: str
    copy: str
    node: int
    bind: str
    keep: bool
    options: str


class CopiedAnswer(TypedDict):
    """What was `copied`, as text for the clipboard."""

    copied: str
    text: str


class OptionsAnswer(TypedDict):
    """The options of a pass."""

    options: str
    fields: list[PassOption]


class BoundAnswer(TypedDict):
    """The name that the recording of the edited pipeline is now `bound` to, or why not (`problem`)."""

    bound: str
    problem: NotRequired[str]


class FoundAnswer(TypedDict):
    """The lines that have the text `found`, and how many more there are."""

    found: str
    lines: list[FoundLine]
    left: int


class OthersAnswer(TypedDict):
    """The other recordings of the notebook, and the names of all passes."""

    others: list[str]
    passes: list[str]


class RewritesAnswer(TypedDict):
    """The rewrites of a pass."""

    rewrites: str
    steps: list[RewriteRow]


class PartsAnswer(TypedDict):
    """Both sides of a rewrite, named `pass:number`."""

    parts: str
    data: DiffData


class MissesAnswer(TypedDict):
    """Why a node was not rewritten."""

    misses: Misses


class CompletedAnswer(TypedDict):
    """What may follow, as (name, kind), and the offset in the text at which the word starts."""

    completed: list[tuple[str, str]]
    start: int


RecordingAnswer = (
    BoundAnswer
    | CompletedAnswer
    | CopiedAnswer
    | FoundAnswer
    | OptionsAnswer
    | OthersAnswer
    | RewritesAnswer
    | PartsAnswer
    | MissesAnswer
    | ComparisonAnswer
)


class LiveRequest(RecordingRequest, total=False):
    """Say what may follow the text `complete`, which `rest_of_text` follows now."""

    complete: str
    rest_of_text: str


class RecordingState(SelectionState):
    """The model of an explorer. `rewrites` are those that a page stores; `place` is where the reader is."""

    data: RecordingData
    selected: int
    graphs: dict[str, GraphData]
    comparison: ShownComparison | Nothing
    rewrites: NotRequired[dict[str, StoredRewrites]]
    place: NotRequired[Place]


class LiveState(RecordingState):
    """The model of an edited program. `followed` says which passes of other cells the last run followed."""

    source: str
    pipeline: str
    problems: list[LiveProblem]
    followed: str


class ProspectsState(RecordingState):
    """The model of the passes that would change a program; `ran` is the one that ran last."""

    prospects: ProspectsData
    ran: str


class DumpState(SelectionState):
    """The model of a recording of text."""

    data: DumpData
    selected: int
    picked: FollowedName


class ForkChange(TypedDict):
    """A new value of a register."""

    instant: int
    register: int
    value: str


class StepperRequest(TypedDict, total=False):
    """Send the `rest` of the values; `draw` the picture of a value; return the run as a page; `fork` the run."""

    rest: bool
    draw: int
    export: bool
    fork: ForkChange


class StepperState(SelectionState):
    """The model of a stepper. `page` is the page to save."""

    data: StepperData
    at: int
    pictures: dict[str, TensorPicture]
    branch: Branch | BranchError | Nothing
    page: str


# By the name of the script: the models of widgets that hold more than the selection and `data`, the data of the others,
# and what is asked and answered.
STATES = {
    "dump": DumpState,
    "graph": GraphState,
    "heatmap": HeatMapState,
    "live": LiveState,
    "pipeline": RecordingState,
    "prospects": ProspectsState,
    "stepper": StepperState,
}
DATA = {
    "comparison": ComparisonData,
    "diff": DiffData,
    "instrument": InstrumentData,
    "module": ModuleData,
    "printer": PrinterData,
    "solving": SolvingData,
    "timing": TimingData,
    "values": NodeValuesData,
}
REQUESTS = {
    "comparison": PairRequest,
    "graph": GraphRequest,
    "heatmap": HeatMapRequest,
    "live": LiveRequest,
    "pipeline": RecordingRequest,
    "prospects": RecordingRequest,
    "stepper": StepperRequest,
}
ANSWERS = {
    "comparison": ComparisonAnswer,
    "heatmap": HeatMapAnswer,
    "live": RecordingAnswer,
    "pipeline": RecordingAnswer,
    "prospects": RecordingAnswer,
}


# ---------------------------------------------------------------- recordings of other compilers' passes
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


# ---------------------------------------------------------------- recorded runs, for the stepper
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
