"""What programs, diffs, recordings, timings and graphs look like: text, HTML, data for widgets, data frames.

The only package that writes markup. It imports no IPython: `notebook` shows what is made here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from passlab.faces import face

if TYPE_CHECKING:
    from passlab.display.blame import BlameView, blame_view
    from passlab.display.diffs import DiffView, diff_view
    from passlab.display.graph import GraphView, graph_view
    from passlab.display.module import ModuleView, module_view
    from passlab.display.operators import OperatorsView, operators_view
    from passlab.display.profile import ProfileView, profile_view
    from passlab.display.recording import RecordingView, recording_view
    from passlab.display.report import write_html
    from passlab.display.searches import BisectionView, ReductionView, bisection_view, reduction_view
    from passlab.display.stepper import StepperView, stepper_view
    from passlab.display.tables import TableView, table_view
    from passlab.display.timing import TimingView, timing_view
    from passlab.display.view import View

_NAMES = {
    "BisectionView": "passlab.display.searches:BisectionView",
    "BlameView": "passlab.display.blame:BlameView",
    "DiffView": "passlab.display.diffs:DiffView",
    "GraphView": "passlab.display.graph:GraphView",
    "ModuleView": "passlab.display.module:ModuleView",
    "OperatorsView": "passlab.display.operators:OperatorsView",
    "ProfileView": "passlab.display.profile:ProfileView",
    "ReductionView": "passlab.display.searches:ReductionView",
    "RecordingView": "passlab.display.recording:RecordingView",
    "StepperView": "passlab.display.stepper:StepperView",
    "TableView": "passlab.display.tables:TableView",
    "TimingView": "passlab.display.timing:TimingView",
    "View": "passlab.display.view:View",
    "bisection_view": "passlab.display.searches:bisection_view",
    "blame_view": "passlab.display.blame:blame_view",
    "diff_view": "passlab.display.diffs:diff_view",
    "graph_view": "passlab.display.graph:graph_view",
    "module_view": "passlab.display.module:module_view",
    "operators_view": "passlab.display.operators:operators_view",
    "profile_view": "passlab.display.profile:profile_view",
    "recording_view": "passlab.display.recording:recording_view",
    "reduction_view": "passlab.display.searches:reduction_view",
    "stepper_view": "passlab.display.stepper:stepper_view",
    "table_view": "passlab.display.tables:table_view",
    "timing_view": "passlab.display.timing:timing_view",
    "write_html": "passlab.display.report:write_html",
}
__all__ = [
    "BisectionView", "BlameView", "DiffView", "GraphView", "ModuleView", "OperatorsView", "ProfileView",
    "RecordingView", "ReductionView", "StepperView", "TableView", "TimingView", "View", "bisection_view", "blame_view",
    "diff_view", "graph_view", "module_view", "operators_view", "profile_view", "recording_view", "reduction_view",
    "stepper_view", "table_view", "timing_view", "write_html",
]  # fmt: skip

__getattr__, __dir__ = face(__name__, _NAMES)
