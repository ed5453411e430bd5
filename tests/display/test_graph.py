"""A program as a graph: which values flow where, laid out by a process that may fail without harm."""

from __future__ import annotations

import math
import re
import stat
import sys
import textwrap

import pytest

import passlab
from passlab import limits, transform
from passlab.display import graph_view, recording_view
from passlab.display.graphs import layout as layouts
from passlab.display.graphs.dataflow import dataflow, fold_chains, fold_groups, truncate
from passlab.display.graphs.families import FAMILIES, HUE_OF, family_of
from passlab.display.graphs.layout import LayoutError, lay_out, skeleton
from passlab.display.pages.scripts import WEB
from passlab.display.palette import HUES, dark
from passlab.testing import resnet
from tests.display.programs import hostile, network


def edges(program, fold=lambda graph: graph) -> list[str]:
    graph = fold(dataflow(program))
    name = [box.name for box in graph.boxes]
    return sorted(f"{name[a.source]}{' ' + a.label if a.label else ''} > {name[a.target]}" for a in graph.arrows)


def test_values_flow_from_operator_to_operator_and_weights_are_inside_the_boxes():
    assert edges(network()) == [
        "%x > nn.dense",
        "nn.bias_add > nn.relu",
        "nn.dense > nn.bias_add",
        "nn.relu > nn.softmax",
        "nn.softmax > output",
    ]
    weights = {box.name: [w.name_hint for w in box.weights] for box in dataflow(network()).boxes if box.weights}
    assert weights == {"nn.dense": ["w"], "nn.bias_add": ["b"]}


def test_lets_projections_and_functions_called_on_the_spot_are_looked_through():
    rec = passlab.record(network(), "FuseOps(fuse_opt_level=2), ToANormalForm", opt_level=2)
    assert [edges(step.after) for step in rec] == [edges(network())] * 3
    split = "def @main(%x: Tensor[(4), float32]) { %0 = split(%x, indices_or_sections=2, axis=0); add(%0.0, %0.1) }"
    assert edges(passlab.parse(split)) == ["%x > split", "add > output", "split .0 > add", "split .1 > add"]


def test_fused_functions_and_branches_are_groups():
    fused = passlab.record(network(), "FuseOps(fuse_opt_level=2)", opt_level=2).last
    graph = dataflow(fused)
    inside = {
        g.number: sorted(b.name for b in graph.boxes if b.group == g.number) for g in graph.groups if g.kind == "fused"
    }
    assert sorted(inside.values()) == [["nn.bias_add", "nn.dense", "nn.relu"], ["nn.softmax"]]
    choice = passlab.parse("def @main(%c: bool, %x: int32) { if (%c) { abs(%x) } else { negative(%x) } }")
    groups = dataflow(choice)
    assert [(g.kind, g.name, [b.name for b in groups.members()[g.number]]) for g in groups.groups] == [
        ("branch", "then", ["abs"]),
        ("branch", "else", ["negative"]),
    ]
    assert [e for e in edges(choice) if e.endswith("> if")] == ["%c if > if", "abs then > if", "negative else > if"]


def test_calls_of_globals_closures_and_recursion_are_drawn():
    calls = passlab.parse("""
    def @twice(%x: int32) -> int32 { add(%x, %x) }
    def @main(%x: int32) -> int32 { let %f = fn (%y: int32) -> int32 { @twice(%y) }; add(%f(%x), %f(%x)) }
    """)
    assert "@twice" in [box.name for box in dataflow(calls).boxes]
    assert [g.name for g in dataflow(calls).groups if g.kind == "definition"] == ["@main", "@twice"]
    loop = passlab.parse("""
    def @main(%n: int32) -> int32 {
      let %loop = fn (%i: int32) -> int32 { if (greater(%i, 0)) { %loop(subtract(%i, 1)) } else { %i } };
      %loop(%n)
    }""")
    assert graph_view(loop).text()


def test_boxes_come_after_what_they_take():
    mod = passlab.testing.resnet.get_workload(num_layers=18)[0]
    graph = dataflow(mod)
    assert all(arrow.source < arrow.target for arrow in graph.arrows)


def test_folding_keeps_every_operator_and_every_way():
    fused = passlab.record(network(), "FuseOps(fuse_opt_level=2)", opt_level=2).last
    assert edges(fused, fold_groups) == [
        "%x > nn.dense · nn.bias_add · nn.relu",
        "nn.dense · nn.bias_add · nn.relu > nn.softmax",
        "nn.softmax > output",
    ]
    assert edges(network(), fold_chains) == [
        "%x > nn.dense · nn.bias_add · nn.relu · nn.softmax",
        "nn.dense · nn.bias_add · nn.relu · nn.softmax > output",
    ]
    whole = dataflow(passlab.testing.resnet.get_workload(num_layers=18)[0])
    for fold in (fold_groups, fold_chains):
        assert sum(box.count for box in fold(whole).boxes) == len(whole.boxes)


def test_a_graph_that_is_too_large_says_what_is_missing():
    graph = truncate(dataflow(network()), 3)
    assert (len(graph.boxes), graph.left_out) == (3, 3)
    with limits.override(graph_nodes=3):
        assert "1 more left out" in graph_view(network()).title or "folded" in graph_view(network()).title


def test_text_marks_what_a_diff_changed():
    before, after = network(), passlab.parse(str(network()).replace("nn.relu", "tanh"))
    lines = graph_view(after, changed_from=before).text().split("\n")
    assert [line[:8] for line in lines if line[:1] == "+"] == ["+ tanh <"]


def test_dot_holds_the_labels_safely():
    source = graph_view(hostile()).dot()
    assert "digraph" in source
    assert '\\"><script>' in source


# ---------------------------------------------------------------- layout
pygraphviz = pytest.mark.skipif(layouts.find_spec("pygraphviz") is None, reason="pip install pygraphviz")
SIZES = [(80.0, 30.0)] * 6


def test_graphviz_sees_no_name():
    text = skeleton(dataflow(hostile()), [(80.0, 30.0)] * len(dataflow(hostile()).boxes))
    assert "script" not in text
    assert "relu" not in text


@pygraphviz
def test_a_layout_puts_every_box_below_what_it_takes():
    graph = dataflow(network())
    layout = lay_out(graph, SIZES)
    assert len(layout.boxes) == 6
    assert all(layout.boxes[a.source][1] < layout.boxes[a.target][1] for a in graph.arrows)
    assert all(
        len(points) % 6 == 2 and len(points) >= 8 and all(map(math.isfinite, points)) for points in layout.arrows
    )


@pygraphviz
def test_the_same_graph_has_the_same_layout():
    assert lay_out(dataflow(network()), SIZES) == lay_out(dataflow(network()), SIZES)


@pygraphviz
def test_groups_enclose_their_boxes():
    graph = dataflow(passlab.record(network(), "FuseOps(fuse_opt_level=2)", opt_level=2).last)
    layout = lay_out(graph, [(80.0, 30.0)] * len(graph.boxes))
    for box, (x, y) in zip(graph.boxes, layout.boxes, strict=True):
        if box.group is not None:
            x0, y0, x1, y1 = layout.groups[box.group]
            assert x0 <= x - 40 <= x + 40 <= x1
            assert y0 <= y - 15 <= y + 15 <= y1


def pretend(monkeypatch, tmp_path, body):
    """Put a program called `dot` on an otherwise empty PATH, and take pygraphviz away."""
    program = tmp_path / "dot"
    program.write_text(f"#!{sys.executable}\n{textwrap.dedent(body)}")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(layouts, "find_spec", lambda name: None)
    layouts.forget()


def test_a_dot_on_the_path_serves_where_pygraphviz_is_missing(monkeypatch, tmp_path):
    pretend(
        monkeypatch,
        tmp_path,
        """
        import json, sys
        assert sys.argv[1:] == ["-Tjson0"]
        sys.stdin.read()
        boxes = [{"name": f"n{i}", "_gvid": i, "pos": f"50,{600 - 100 * i}"} for i in range(6)]
        edges = [{"tail": i, "head": i + 1, "pos": "e,1,2 3,4 5,6 7,8 9,10"} for i in range(5)]
        print(json.dumps({"bb": "0,0,100,600", "objects": boxes, "edges": edges}))
    """,
    )
    layout = lay_out(dataflow(network()), SIZES)
    assert layout.boxes[0] == (50, 0)
    assert layout.arrows[0] == [3, 596, 5, 594, 7, 592, 9, 590, 9, 590, 1, 598, 1, 598]


@pytest.mark.parametrize(
    "answer",
    [
        "print('no json')",
        "print('[]')",
        "print('{}')",
        "raise SystemExit(3)",
        'print(\'{"bb": "0,0,nan,1"}\')',
        'print(\'{"bb": "0,0,1,1", "objects": [{}]}\')',
    ],
)
def test_an_answer_that_is_no_layout_ends_in_words(monkeypatch, tmp_path, answer):
    pretend(monkeypatch, tmp_path, answer)
    with pytest.raises(LayoutError, match="Graphviz"):
        lay_out(dataflow(network()), SIZES)


def test_a_layout_that_takes_too_long_is_given_up(monkeypatch, tmp_path):
    pretend(monkeypatch, tmp_path, "import time; time.sleep(60)")
    with limits.override(layout_seconds=0.2), pytest.raises(LayoutError, match=r"took more than 0\.2 s"):
        lay_out(dataflow(network()), SIZES)


def test_a_folded_function_shows_the_type_of_what_comes_out():
    net = passlab.parse("""def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) {
      nn.relu(nn.dense(%x, %w))
    }""")
    text = graph_view(passlab.transform.FuseOps()(net)).with_folding(True).text()
    assert "nn.dense · nn.relu <- %x  [(1, 4) float32]" in text


def test_an_overlay_of_a_recording_follows_its_nodes_through_the_passes():
    rec = passlab.record(
        passlab.parse("def @main(%x: Tensor[(4), float32]) { exp(nn.relu(add(%x, 0f))) }"),
        "InferType, SimplifyExpr, FuseOps(fuse_opt_level=2)",
    )
    node = rec.input["main"].body.args[0]
    rec.overlay("importance", {node: 7.0})
    view = recording_view(rec)
    for event in rec.steps:
        data = view.graph(event).data()
        named = [
            box[5][0] for box, value in zip(data["boxes"], data["values"]["importance"], strict=True) if value == 7.0
        ]
        assert any("relu" in name for name in named), event.name
        assert not any(name == "exp" for name in named), event.name


def test_pictures_widgets_and_legends_have_one_colour_for_each_family():
    script = (WEB / "graphcolours.js").read_text()
    assert tuple(re.findall(r'"(\w+)"', script.partition("FAMILIES = [")[2].partition("]")[0])) == FAMILIES
    styles = (WEB / "graphs.css").read_text()
    assert tuple(re.findall(r"\.pl-family-\d \{ --pl-kind: var\(--pl-(\w+)\)", styles)) == HUE_OF[1:]
    assert ".pl-is-call, .pl-is-function, .pl-is-definition { --pl-kind: var(--pl-teal); }" in styles
    assert "teal" not in HUE_OF  # which is the colour of functions and of their calls
    text = "def @main(%x: Tensor[(1, 4), float32], %w: Tensor[(4, 4), float32]) { nn.relu(nn.dense(%x, %w)) }"
    view = graph_view(transform.InferType()(passlab.parse(text)))
    drawing, static = view.svg(), view.html()
    for family, name in (("heavy", "nn.dense"), ("activation", "nn.relu")):
        hue = HUES[HUE_OF[FAMILIES.index(family)]]
        assert re.search(rf'fill="{dark(hue)}"[^>]*>{name}<', drawing), name
        assert re.search(rf"background:{hue}[^>]*></span><span>{family}<", static), family


@pytest.mark.parametrize(
    ("name", "family"), [("expand_dims", "movement"), ("exp", "activation"), ("nn.softmax", "normalisation"), ("max", "reduction")]
)  # fmt: skip
def test_an_operator_has_the_family_of_what_it_does(name, family):
    assert family_of(name) == family


def test_a_name_fits_its_box_when_a_large_graph_is_seen_from_afar():
    view = graph_view(resnet.get_workload(num_layers=18)[0])
    letter, room = 0.61 * 10.5, 6  # graphdraw.js: the width of a letter on the screen, and the edges of a box
    for box, (width, _) in zip(view.graph.boxes, view.sizes, strict=True):
        name = box.name.rpartition(".")[2]
        assert (width - room) * 0.41 >= min(len(name), 17) * letter, name
