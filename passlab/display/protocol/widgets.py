"""The data of widgets, declared for scripts: the model's, what a script asks of the kernel (`...Request`), and answers.

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
from passlab.display.protocol.dumps import DumpData, FollowedName
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
from passlab.display.protocol.runs import Branch, BranchError, StepperData, TensorPicture

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
    on the sheet, and the scale; "" for a graph that was not moved. `edits` is the pipeline of what if, "" for the
    recorded one.

    `unified` and `all` say how differences are shown. From the address of a page, all are texts.
    """

    step: str
    tab: str
    mode: str
    line: int | str
    top: int | str
    width: float | str
    graph: str
    edits: str
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
