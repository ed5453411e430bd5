"""All views: the classes that there are, and an example of each. Tests of what holds for every view run over these."""

from __future__ import annotations

import importlib
import io
import pkgutil
from collections.abc import Iterator

import numpy as np

import passlab
from passlab import display, relay, vm
from passlab.display import (
    View,
    bisection_view,
    blame_view,
    campaign_view,
    comparison_view,
    culprit_view,
    diff_view,
    executable_view,
    failure_view,
    frames_view,
    graph_view,
    heat_map_view,
    instrument_view,
    module_view,
    node_values_view,
    operators_view,
    profile_view,
    prospects_view,
    recording_view,
    reduction_view,
    solving_view,
    stepper_view,
    storages_view,
    table_view,
    timing_view,
    tree_view,
)
from passlab.display.views.culprits import CampaignReport, VerdictView
from passlab.display.views.instruments import printed_step_view
from passlab.display.views.text_comparison import text_comparison_view
from passlab.display.views.text_recording import live_graph_view, text_diff_view, text_recording_view
from passlab.dumps import read
from passlab.evaluate.samples import random_arguments
from passlab.instrument import PassLimit, PrintIRAfter
from passlab.lab import Campaign, compare, culprit, reduce, watch, watch_solver, what_if
from passlab.recorders import GraphNode
from passlab.transform import module_pass
from tests.display.programs import network

PIPELINE = "InferType, SimplifyInference, FuseOps(fuse_opt_level=2)"


def recorded(**options):
    return passlab.record(network(), PIPELINE, **{"opt_level": 2, **options})


def profiled():
    mod = network()
    module = relay.build(mod).module(debug=True)
    return module.profile(
        **{n: np.zeros(s, module.get_input_info()[1][n]) for n, s in module.get_input_info()[0].items()}
    )


def watched():
    return watch(network(), *random_arguments(network()["main"], 0))


def failed():
    @module_pass(opt_level=0, name="Broken")
    def broken(mod, ctx):
        raise ValueError("no way")

    return passlab.record(network(), [broken])


def printed():
    printer = PrintIRAfter(diff=True, file=io.StringIO())
    passlab.record(network(), PIPELINE, instruments=[printer])
    return printer


def limited():
    limit = PassLimit(1)
    passlab.record(network(), PIPELINE, instruments=[limit])
    return limit


def trace():
    return vm.Debugger(network(), *random_arguments(network()["main"], 0)).trace


# One of every class of views: a test says that none is missing.
EXAMPLES = {
    "BisectionView": lambda: bisection_view(recorded().bisect(lambda mod: "Primitive=1" not in mod.astext())),
    "BlameView": lambda: blame_view(recorded()),
    "CampaignReport": lambda: CampaignReport(Campaign(passlab.transform.FoldConstant(), seed=0)),
    "CampaignView": lambda: campaign_view(Campaign(passlab.transform.FoldConstant(), seed=0)),
    "CulpritView": lambda: culprit_view(culprit(recorded(), seconds=20)),
    "ComparisonView": lambda: comparison_view(compare(recorded(), recorded(disabled_pass=["FuseOps"]))),
    "DiffView": lambda: diff_view(recorded()[3].diff()),
    "ExecutableView": lambda: executable_view(relay.vm.compile(network())),
    "FailureView": lambda: failure_view(failed().failed),
    "FramesView": lambda: frames_view(trace()[1]),
    "GraphView": lambda: graph_view(network()),
    "HeatMapView": lambda: heat_map_view(what_if(network(), PIPELINE, seconds=None)),
    "InstrumentView": lambda: instrument_view(limited()),
    "LiveGraphView": lambda: live_graph_view(
        [GraphNode("x", "input", "x"), GraphNode("y", "exp", "y = exp(x)", ("x",))]
    ),
    "ModuleView": lambda: module_view(network()),
    "NodeValuesView": lambda: node_values_view(watched()),
    "OperatorsView": lambda: operators_view(network()),
    "PrintedStepView": lambda: printed_step_view(printed().steps[-1]),
    "PrinterView": lambda: instrument_view(printed()),
    "ProfileView": lambda: profile_view(profiled()),
    "ProspectsView": lambda: prospects_view(network(), "net"),
    "RecordingView": lambda: recording_view(recorded()),
    "ReductionView": lambda: reduction_view(reduce(network(), lambda mod: "nn.dense" in mod.astext())),
    "SolvingView": lambda: solving_view(watch_solver(network(), "fusion")),
    "StepperView": lambda: stepper_view(trace()),
    "StoragesView": lambda: storages_view(trace().storage),
    "TableView": lambda: table_view(recorded().blame()),
    "TextComparisonView": lambda: text_comparison_view(read(DUMP).compare(read(DUMP))),
    "TextGraphView": lambda: read(DUMP).graph("f", 2),
    "TextDiffView": lambda: text_diff_view(read(DUMP).steps[-1].diff()),
    "TextRecordingView": lambda: text_recording_view(read(DUMP)),
    "TimingView": lambda: timing_view(recorded()),
    "TreeView": lambda: tree_view({"a": None, "b": "a", "c": "a"}),
}
DUMP = b"""*** IR Dump After SimplifyCFGPass on f ***
define i32 @f(i32 %x) {
  %y = add i32 %x, 0
  ret i32 %y
}
*** IR Dump After InstCombinePass on f ***
define i32 @f(i32 %x) {
  ret i32 %x
}
"""
VIEWS = sorted(EXAMPLES)


def classes() -> dict[str, type[View]]:
    """Return every class of views of passlab by its name."""
    for module in pkgutil.iter_modules(display.__path__):
        if module.name != "layout_worker":  # a program of its own
            importlib.import_module(f"passlab.display.{module.name}")
    own = (cls for cls in _below(View) if cls.__module__.startswith("passlab."))
    bases = (display.view.BriefView, VerdictView)  # whose sentences are those of their subclasses
    return {cls.__name__: cls for cls in own if cls not in bases}


def _below(base: type[View]) -> Iterator[type[View]]:
    for cls in base.__subclasses__():
        yield cls
        yield from _below(cls)


CLASSES = classes()
LIVE = sorted(name for name, cls in CLASSES.items() if cls.script)  # those with a widget
SCRIPTS = sorted({cls.script for cls in CLASSES.values() if cls.script})
