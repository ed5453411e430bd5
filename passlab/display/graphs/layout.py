"""The layout of a graph's boxes and arrows by Graphviz, in a separate process with a time limit.

Graphviz gets sizes and numbers, never a name, and only numbers are read back, so neither a hostile name nor a bug in
its drawing can reach a page. The wheel of `pygraphviz` contains Graphviz; without it, the `dot` on PATH is used.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from passlab import limits
from passlab.display.graphs.dataflow import Dataflow

WORKER = Path(__file__).with_name("layout_worker.py")
POINTS = 72  # to an inch, Graphviz's unit of sizes
BETWEEN = "//next\n"  # a comment between two graphs, on a line of its own; `layout_worker` splits there
STRAIGHT = "50"  # the weight of an arrow that runs straight
_OUTPUT_BYTES = 64 * 2**20
_REMEMBERED = 4096  # layouts
_layouts: dict[str, GraphLayout] = {}  # by what Graphviz was asked
Size = tuple[float, float]
Part = tuple[Dataflow, Sequence[Size], frozenset[int]]  # a graph, the sizes of its boxes, the arrows that run straight


@dataclass(frozen=True)
class GraphLayout:
    """Coordinates in points, y downwards: box centres, the four sides of groups, and the points of arrows.

    An arrow is a start point and then three points for each cubic Bezier curve; empty when it was not drawn.
    """

    width: float
    height: float
    boxes: list[tuple[float, float]]
    groups: dict[int, tuple[float, float, float, float]]
    arrows: list[list[float]]


class LayoutError(Exception):
    """No layout could be made; the message says why and what to do. Caught by the view, which then shows text."""


def lay_out(graph: Dataflow, sizes: Sequence[Size]) -> GraphLayout:
    """Return the layout of a graph whose boxes have these sizes, in points. Raises `LayoutError`."""
    (layout,) = lay_out_all([(graph, sizes, frozenset())])
    assert layout is not None
    return layout


def lay_out_all(parts: Sequence[Part], most: float = math.inf) -> list[GraphLayout | None]:
    """Return the layouts of several graphs, computed by one process; equal ones are computed once, and cached.

    Graphs of more than `most` boxes together are not all drawn: the small ones first, None for the rest. Raises
    `LayoutError`.
    """
    texts = [skeleton(*part) for part in parts]
    chosen = _within({text: len(graph.boxes) for text, (graph, _, _) in zip(texts, parts, strict=True)}, most)
    graphs = {text: graph for text, (graph, _, _) in zip(texts, parts, strict=True)}  # equal texts: equal layouts
    missing = [text for text in graphs if text in chosen and text not in _layouts]
    if missing:
        try:
            drawings = _answers(_run(BETWEEN.join(missing)), len(missing))
            read = {text: _read(drawing, graphs[text]) for text, drawing in zip(missing, drawings, strict=True)}
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise LayoutError("Graphviz gave no layout that could be read") from error
        _layouts.update(read)
    layouts = [_layouts[text] if text in chosen else None for text in texts]
    while len(_layouts) > _REMEMBERED:
        del _layouts[next(iter(_layouts))]
    return layouts


def _within(sizes: dict[str, int], most: float) -> set[str]:
    """The texts of the smallest graphs with at most `most` boxes together; equal sizes in the order of the texts."""
    chosen: set[str] = set()
    for text, size in sorted(sizes.items(), key=lambda item: item[1]):
        most -= size
        if most < 0:
            break
        chosen.add(text)
    return chosen


def forget() -> None:
    """Clear the cache of layouts."""
    _layouts.clear()


def _answers(raw: bytes, count: int) -> list[dict[str, Any]]:
    """The drawings, which Graphviz writes one behind the other."""
    text, decoder, at = raw.decode(), json.JSONDecoder(), 0
    drawings = []
    for _ in range(count):
        while text[at : at + 1].isspace():
            at += 1
        drawing, at = decoder.raw_decode(text, at)
        drawings.append(drawing)
    return drawings


def skeleton(graph: Dataflow, sizes: Sequence[Size], trunk: frozenset[int] = frozenset()) -> str:
    """Return the graph as DOT, with numbers for names.

    The arrows of `trunk`, by their numbers, run straight where that is possible.
    """
    large = " nslimit=2 nslimit1=2 mclimit=0.3" if len(graph.boxes) > 600 else ""  # short simplex steps
    lines = [
        f"digraph {{\ngraph [nodesep=0.22 ranksep=0.3 outputorder=edgesfirst splines=true{large}]\n",
        'node [shape=box fixedsize=true label=""]\nedge [arrowsize=0.6]\n',
        *_clusters(graph.members(), {group.number: group.parent for group in graph.groups}),
    ]
    for box, (width, height) in zip(graph.boxes, sizes, strict=True):
        lines.append(f"n{box.number} [width={width / POINTS:.3f} height={height / POINTS:.3f}]\n")
    for number, arrow in enumerate(graph.arrows):
        straight = f" [weight={STRAIGHT}]" if number in trunk else ""
        lines.append(f"n{arrow.source} -> n{arrow.target}{straight}\n")
    return "".join([*lines, "}\n"])


def _clusters(inside: dict[int, list[Any]], parents: dict[int, int | None]) -> list[str]:
    """Return the groups as nested clusters, without recursion: groups inside others are closed before those."""
    kids: dict[int | None, list[int]] = {}
    for number, parent in parents.items():
        kids.setdefault(parent, []).append(number)
    lines: list[str] = []
    stack: list[tuple[int, bool]] = [(number, False) for number in reversed(kids.get(None, []))]
    while stack:
        number, done = stack.pop()
        if done:
            lines.append("}\n")
            continue
        lines.append(f'subgraph cluster_{number} {{ margin=10 label=" " fontsize=9\n')
        lines += [f"n{box.number}\n" for box in inside[number]]
        stack.append((number, True))
        stack.extend((kid, False) for kid in reversed(kids.get(number, [])))
    return lines


# ---------------------------------------------------------------- running Graphviz
def _run(dot: str) -> bytes:
    seconds = limits.current().layout_seconds
    spec = find_spec("pygraphviz")
    if spec is not None and spec.origin is not None:
        folder = str(Path(spec.origin).parent.parent)
        # -I: no path of the environment or of the current folder.
        command = [sys.executable, "-I", str(WORKER), folder, str(math.ceil(seconds))]
    else:
        program = shutil.which("dot")
        if program is None:
            raise LayoutError("graphs are drawn by Graphviz: pip install pygraphviz, or put its `dot` on PATH")
        command = [program, "-Tjson0"]
    try:
        done = subprocess.run(command, input=dot.encode(), capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise LayoutError(
            f"the layout took more than {seconds:g} s; raise `limits.override(layout_seconds=...)`, or fold groups"
        ) from None
    except OSError as error:
        raise LayoutError(f"Graphviz could not be started: {error.strerror}") from error
    if done.returncode != 0 or len(done.stdout) > _OUTPUT_BYTES:
        raise LayoutError(f"Graphviz ended with status {done.returncode}")
    return done.stdout


# ---------------------------------------------------------------- reading its answer
def _read(drawing: dict[str, Any], graph: Dataflow) -> GraphLayout:
    _, _, width, height = _numbers(drawing["bb"], 4)
    objects = drawing.get("objects", [])
    places: dict[int, tuple[float, float]] = {}
    groups: dict[int, tuple[float, float, float, float]] = {}
    number_of: dict[int, int] = {}
    for item in objects:
        name = item["name"]
        if name.startswith("cluster_") and "bb" in item:
            x0, y0, x1, y1 = _numbers(item["bb"], 4)
            groups[int(name[8:])] = (x0, height - y1, x1, height - y0)  # Graphviz counts y upwards
        elif "pos" in item:
            x, y = _numbers(item["pos"], 2)
            number_of[item["_gvid"]] = int(name[1:])
            places[int(name[1:])] = (x, height - y)
    drawn: dict[tuple[int, int], list[list[float]]] = {}
    for edge in drawing.get("edges", []):
        ends = number_of[edge["tail"]], number_of[edge["head"]]
        drawn.setdefault(ends, []).append(_curve(edge.get("pos", ""), height))
    # Several arrows may join the same two boxes: each takes its own curve.
    arrows = [(drawn.get((a.source, a.target)) or [[]]) for a in graph.arrows]
    return GraphLayout(
        width,
        height,
        [places[box.number] for box in graph.boxes],
        groups,
        [a.pop(0) if len(a) > 1 else a[0] for a in arrows],
    )


def _numbers(text: str, count: int) -> list[float]:
    values = [float(part) for part in text.split(",")]
    if len(values) != count or not all(map(math.isfinite, values)):
        raise ValueError(text)
    return [round(value, 2) for value in values]


def _curve(text: str, height: float) -> list[float]:
    """Return the points of `e,X,Y x,y x,y ...`: the curve, and a straight piece to its arrow head."""
    points: list[float] = []
    head: list[float] = []
    for part in text.split():
        if part.startswith(("e,", "s,")):
            x, y = _numbers(part[2:], 2)
            if part[0] == "e":
                head = [x, round(height - y, 2)]
        else:
            x, y = _numbers(part, 2)
            points += (x, round(height - y, 2))
    if len(points) % 6 != 2:  # a start point, then three points for each curve
        raise ValueError(text)
    # A straight line as a cubic curve: its control points are its ends.
    return points + points[-2:] + head + head if head else points
