"""The widgets: what the model of each holds, what its script asks of the kernel (`...Request`), and the answers.

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
    HeatMapData,
    LiveProblem,
    Misses,
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


class SelectionState(TypedDict):
    """The selection that all widgets of a notebook share: nodes by number."""

    nodes: list[int]
    related: Related


class GraphRequest(TypedDict):
    """Draw each fused function as one box, or with its operators."""

    fold: bool


class PairRequest(TypedDict):
    """Compare the programs after two steps, one of either side."""

    pair: tuple[int, int]


class ComparisonAnswer(TypedDict, total=False):
    """The difference of a pair of steps, or why there is none (`problem`); or why the request was `refused`."""

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


class HeatMapState(SelectionState):
    """The model of a heat map."""

    data: HeatMapData
    comparison: ShownComparison | Nothing


class Nothing(TypedDict):
    """What is empty so far."""


class RecordingRequest(TypedDict, total=False):
    """Send the `rest`, or one more `step`; draw the `graph` of a step by its `id`; name the `others` in the notebook.

    `compare` with one of them; run another pipeline (`what_if`: passes by number, or new ones as text); list the
    `rewrites` of a pass, or both `parts` of one; say why a pass did not rewrite a node; `run` a pass by itself.
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


RecordingAnswer = OthersAnswer | RewritesAnswer | PartsAnswer | MissesAnswer | ComparisonAnswer


class RecordingState(SelectionState):
    """The model of an explorer. `rewrites` are those that a page stores."""

    data: RecordingData
    selected: int
    graphs: dict[str, GraphData]
    comparison: ShownComparison | Nothing
    rewrites: NotRequired[dict[str, StoredRewrites]]


class LiveState(RecordingState):
    """The model of an edited program."""

    source: str
    pipeline: str
    problems: list[LiveProblem]


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
    "heatmap": HeatMapState,
    "live": LiveState,
    "pipeline": RecordingState,
    "prospects": ProspectsState,
    "stepper": StepperState,
}
DATA = {
    "comparison": ComparisonData,
    "diff": DiffData,
    "graph": GraphData,
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
    "live": RecordingRequest,
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
