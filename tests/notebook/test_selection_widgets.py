"""The selection of a widget in Python: nodes that can be read, set and observed, and that all widgets share."""

from __future__ import annotations

import gc
import weakref

import pytest

import passlab
import passlab.notebook
from passlab import vm
from passlab.display import graph_view, module_view, recording_view, stepper_view
from passlab.errors import NodeTypeError, PassTypeError
from passlab.evaluate.samples import random_arguments
from passlab.instrument import MemoryInstrument
from passlab.notebook.explorer import PipelineWidget
from passlab.notebook.widgets import ViewWidget, show

NET = "def @main(%x: Tensor[(2, 8), float32]) { tanh(nn.relu(add(%x, 1f))) }"


@pytest.fixture
def rec():
    return passlab.record(passlab.parse(NET), "InferType, SimplifyExpr, FuseOps(fuse_opt_level=2)")


def test_what_is_set_in_one_widget_is_selected_in_all(rec):
    node = rec.input["main"].body
    explorer, graph = show(recording_view(rec)), show(graph_view(rec.input))
    heard = []
    graph.observe(lambda change: heard.append(change["new"]), "selection")
    explorer.selection = [node]
    assert graph.selection == [node]
    assert heard == [[node]]
    assert graph.nodes == explorer.nodes
    graph.selection = []
    assert explorer.selection == []


def test_a_browser_s_numbers_become_nodes(rec):
    explorer = show(recording_view(rec))
    lines = explorer.view.data()
    number = next(number for number in lines["nodes"][0] if number >= 0)
    explorer.nodes = [number]
    assert len(explorer.selection) == 1
    assert explorer.selection[0] in [node for _, nodes in rec.follow(explorer.selection[0]) for node in nodes]


def test_only_nodes_can_be_selected(rec):
    with pytest.raises(NodeTypeError, match="a node of a program"):
        show(module_view(rec.input)).selection = ["nn.relu"]


def test_instructions_know_the_nodes_they_compute_and_those_before(rec):
    debugger = vm.Debugger(rec, *random_arguments(rec.input["main"], 0))
    data = show(stepper_view(debugger)).data
    explorer = show(recording_view(rec)).view.data()
    relu = next(
        node
        for line, node in zip(explorer["modules"][0], explorer["nodes"][0], strict=True)
        if "nn.relu(" in explorer["lines"][line][0]
    )
    assert any(relu in nodes for nodes in data["code"]["nodes"])


def test_any_value_with_a_view_shows_as_its_widget():
    net = passlab.parse("def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }")
    rec = passlab.record(net, "InferType")
    assert isinstance(passlab.notebook.show(rec), PipelineWidget)
    assert isinstance(passlab.notebook.show(net), ViewWidget)
    assert "MemoryInstrument: 0 rows" in passlab.notebook.show(MemoryInstrument())._repr_mimebundle_()[0]["text/html"]
    with pytest.raises(PassTypeError, match="this value has no view"):
        passlab.notebook.show(3)


def test_a_closed_widget_leaves_nothing_behind():
    recording = passlab.record(passlab.parse("def @main(%x: float32) { %x + %x }"), "InferType, FuseOps")
    widget = show(recording_view(recording))
    kept = [weakref.ref(part) for part in (widget, widget.layout)]
    widget.close()
    del widget
    gc.collect()
    assert [part() for part in kept] == [None, None]
