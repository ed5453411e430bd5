"""The layout in layers: what Graphviz is not asked for. Checked on random graphs by what a drawing must keep."""

from __future__ import annotations

import random

import passlab
from passlab.display import graph_view
from passlab.display.graphs import layout as layouts
from passlab.display.graphs.dataflow import Arrow, Box, Dataflow
from passlab.display.graphs.layered import GAP, lay_out_layers
from passlab.display.graphs.sheet import BY_GRAPHVIZ
from tests.display.programs import network
from tests.each import each


def scattered(seed: int) -> tuple[Dataflow, list[tuple[float, float]]]:
    """A random graph, a few of whose arrows run backwards, and sizes of its boxes."""
    draw = random.Random(seed)
    count = draw.randint(1, 60)
    graph = Dataflow([Box(number, "op", f"op{number}", None) for number in range(count)])
    for target in range(1, count):
        graph.arrows += [Arrow(draw.randrange(target), target) for _ in range(draw.randint(0, 3))]
    graph.arrows += [Arrow(draw.randrange(count), draw.randrange(count)) for _ in range(draw.randint(0, 2))]
    return graph, [(draw.choice([40.0, 80.0, 260.0]), draw.choice([27.0, 57.0])) for _ in range(count)]


@each("seed", range(60))
def test_boxes_keep_their_distance_and_arrows_lead_down_from_edge_to_edge(seed):
    graph, sizes = scattered(seed)
    layout = lay_out_layers(graph, sizes)
    sides = [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for (x, y), (w, h) in zip(layout.boxes, sizes, strict=True)]
    for at, (x0, y0, x1, y1) in enumerate(sides):
        assert (min(0, x0 + 0.5), max(layout.width, x1 - 0.5)) == (0, layout.width)
        assert 0 <= y0 < y1 <= layout.height
        assert all(x1 + GAP - 1.5 <= a or c + GAP - 1.5 <= x0 or y1 <= b or d <= y0 for a, b, c, d in sides[at + 1 :])
    for arrow, points in zip(graph.arrows, layout.arrows, strict=True):
        source, target = sides[arrow.source], sides[arrow.target]
        if source[3] >= target[1]:  # it runs backwards
            assert points == []
            continue
        assert len(points) % 6 == 2
        assert points[:2] == [layout.boxes[arrow.source][0], source[3]]
        assert points[-2:] == [layout.boxes[arrow.target][0], target[1]]
        heights = points[1::2]
        assert heights == sorted(heights)


@each("seed", range(60))
def test_no_arrow_runs_through_a_box_that_it_does_not_join(seed):
    graph, sizes = scattered(seed)
    layout = lay_out_layers(graph, sizes)
    for arrow, points in zip(graph.arrows, layout.arrows, strict=True):
        uprights = [points[at - 2 : at + 2] for at in range(8, len(points), 6)]  # where an arrow crosses a layer
        for x, top, _, bottom in uprights:
            for number, ((left, y), (w, h)) in enumerate(zip(layout.boxes, sizes, strict=True)):
                if number not in (arrow.source, arrow.target) and top <= y <= bottom:
                    assert abs(x - left) >= w / 2, (arrow, number, h)


@each("seed", range(10))
def test_the_port_stands_above_all_that_it_feeds_whatever_its_number(seed):
    graph, sizes = scattered(seed)
    port = len(graph.boxes)
    graph.boxes.append(Box(port, "port", "", None))
    graph.arrows += [Arrow(port, target) for target in range(0, port, 3)]
    *boxes, (_, top) = lay_out_layers(graph, [*sizes, (40.0, 27.0)]).boxes
    assert all(top < boxes[target][1] for target in range(0, port, 3))


def test_a_chain_stands_in_one_line():
    graph = Dataflow([Box(n, "op", "", None) for n in range(9)], [Arrow(n, n + 1) for n in range(8)])
    assert len({x for x, _ in lay_out_layers(graph, [(60.0, 27.0)] * 9).boxes}) == 1


def knot(count: int) -> passlab.IRModule:
    """So many operators, each of which takes two of the twenty before it."""
    draw, lines = random.Random(7), ["let %v0 = tanh(%x);"]
    for number in range(1, count):
        one, other = (draw.randrange(max(0, number - 20), number) for _ in "ab")
        lines.append(f"let %v{number} = {draw.choice(['add', 'multiply', 'maximum'])}(%v{one}, %v{other});")
    ends = ", ".join(f"%v{number}" for number in range(count))
    return passlab.parse(f"def @main(%x: Tensor[(2, 2), float32]) {{ {' '.join(lines)} ({ends}) }}")


def test_a_large_graph_asks_little_of_graphviz_and_leaves_nothing_out(monkeypatch):
    asked: list[str] = []
    run = layouts._run
    monkeypatch.setattr(layouts, "_run", lambda dot: asked.append(dot) or run(dot))
    layouts.forget()
    view = graph_view(knot(5000))
    data = view.data()
    assert len(data["boxes"]) == 5003  # and the input, the tuple, the output
    assert view.graph.left_out == 0
    assert sum(len(boxes) for _, boxes, _ in data["items"]) == 5003
    assert sum(dot.count("height=") for dot in asked) <= BY_GRAPHVIZ
    assert len(asked) == 1


def test_without_graphviz_graphs_are_drawn_in_layers(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(layouts, "find_spec", lambda name: None)
    layouts.forget()
    view = graph_view(network())
    assert "data:image/svg" in view.html()
    (layout,) = view.data()["layouts"]
    heights = layout["at"][1::2]
    assert heights == sorted(heights)
    assert len(set(heights)) == len(view.graph.boxes)
