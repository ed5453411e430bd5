"""The graph of one function of another compiler: lines as boxes, arrows from the definition of a value to its uses.

The language is described by its `Syntax`: which words are names, and what the operation of a line is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from passlab import limits
from passlab.diffing.text_diff import ADDED, CHANGED, MOVED, OPERANDS
from passlab.diffing.text_lines import Syntax, TextLine
from passlab.display.graphs.dataflow import Arrow, Box, Dataflow, truncate
from passlab.display.graphs.drawing import Caption, box_size, draw
from passlab.display.graphs.layered import lay_out_layers
from passlab.display.graphs.layout import LayoutError, lay_out
from passlab.display.html import Markup
from passlab.display.parts import Drawing, Part, Sentence
from passlab.display.view import View, checked_view
from passlab.dumps.graph_node import GraphNode
from passlab.errors import counted, visible

if TYPE_CHECKING:
    from passlab.dumps.step import Step

_LABEL = re.compile(r"^[-\w.$]+:(?:\s|$)")  # of a block of LLVM: no value
WIDEST = 44  # characters of a line that a box shows
PAGE_BOXES = 300  # boxes that the page of a recording draws
MOST = 2000  # lines that Graphviz draws in one piece, without blocks to cut it into
_CHANGES = {ADDED: "added", CHANGED: "changed", OPERANDS: "changed", MOVED: "moved"}


class TextGraphView(View):
    """The values of one text as boxes and arrows; `kinds` are the kinds of the lines in a diff."""

    whole = "blame() has every line"

    def __init__(self, lines: Sequence[TextLine], syntax: Syntax, kinds: Sequence[str] = ()) -> None:
        self.lines, self.syntax, self.kinds = lines, syntax, kinds

    @cached_property
    def graph(self) -> Dataflow:
        """One box for each line that has an operation, or that only defines names (parameters)."""
        graph = Dataflow()
        self._line_of: list[int] = []
        defined: dict[str, int] = {}
        uses: list[tuple[int, int, str]] = []
        for number, line in enumerate(self.lines):
            fact = values_of(line, self.syntax)
            if fact is None:
                continue
            operation, results, operands = fact
            box = graph.box("op" if operands or not results else "input", operation or "parameters", None, None)
            self._line_of.append(number)
            uses += [(defined.get(name, -1), box.number, name) for name in operands]
            defined.update(dict.fromkeys(results, box.number))
        arrows = {}  # what a loop carries around is defined below its use
        for above, target, name in uses:
            source = above if above >= 0 else defined.get(name, target)
            if source != target:
                arrows[source, target] = Arrow(source, target)
        graph.arrows += arrows.values()
        return truncate(graph, min(MOST, limits.current().graph_nodes))

    @property
    def title(self) -> str:
        """How large the graph is."""
        graph = self.graph
        return f"{counted(len(graph.boxes), 'line')}, {counted(len(graph.arrows), 'arrow')}"

    @cached_property
    def captions(self) -> list[Caption]:
        """The line of each box, and its change."""
        captions = []
        for box, number in zip(self.graph.boxes, self._line_of, strict=False):
            text = visible(self.lines[number].text.strip())
            shown = text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"
            change = _CHANGES.get(self.kinds[number], "") if number < len(self.kinds) else ""
            captions.append(Caption((visible(box.name), shown), change))
        return captions

    def parts(self) -> Iterable[Part]:
        yield Sentence(f"{self.title}.", "muted")
        yield Drawing(self._draw, f"graph: {self.title}", self._words(), fits=False)

    def _draw(self) -> Markup:
        sizes = [box_size(caption.lines) for caption in self.captions]
        try:
            layout = lay_out(self.graph, sizes)
        except LayoutError:
            layout = lay_out_layers(self.graph, sizes)
        return draw(self.graph, self.captions, layout)

    def _words(self) -> list[str]:
        """A line for each box, with the numbers of the boxes that it reads."""
        marks = {"added": "+ ", "changed": "± ", "moved": "~ ", "": "  "}
        uses: dict[int, list[str]] = {}
        for arrow in self.graph.arrows:
            uses.setdefault(arrow.target, []).append(str(arrow.source))
        return [
            f"{marks[caption.change]}{box.number}: {caption.lines[-1]}"
            + (f"  <- {', '.join(uses[box.number])}" if box.number in uses else "")
            for box, caption in zip(self.graph.boxes, self.captions, strict=True)
        ]


class LiveGraphView(TextGraphView):
    """The nodes of a program that its compiler has as a graph; differences from the graph `before` are marked."""

    def __init__(self, nodes: Sequence[GraphNode], before: Sequence[GraphNode] | None) -> None:
        self.nodes, self.before = nodes, None if before is None else {node.key: node for node in before}

    @cached_property
    def graph(self) -> Dataflow:
        """One box for each node."""
        graph = Dataflow()
        boxes = {node.key: self._box(graph, node).number for node in self.nodes}
        for node in self.nodes:
            for key in dict.fromkeys(node.operands):
                if key in boxes and key != node.key:
                    graph.arrows.append(Arrow(boxes[key], boxes[node.key]))
        return truncate(graph, limits.current().graph_nodes)

    @staticmethod
    def _box(graph: Dataflow, node: GraphNode) -> Box:
        return graph.box("op" if node.operands else "input", node.operation, None, None)

    @property
    def title(self) -> str:
        """How large the graph is."""
        return f"{counted(len(self.graph.boxes), 'node')}, {counted(len(self.graph.arrows), 'arrow')}"

    @cached_property
    def captions(self) -> list[Caption]:
        """The node of each box, and its change."""
        captions = []
        for box, node in zip(self.graph.boxes, self.nodes, strict=False):
            text = visible(node.text.strip())
            shown = text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"
            captions.append(Caption((visible(box.name), shown), self._change(node)))
        return captions

    def page(self) -> dict[str, Any]:
        """Return the counts of nodes and arrows, and the first boxes (lines, input, change, key) with their arrows."""
        boxes = [
            [*caption.lines, int(box.kind == "input"), caption.change, visible(node.key)]
            for box, caption, node in zip(self.graph.boxes[:PAGE_BOXES], self.captions, self.nodes, strict=False)
        ]
        arrows = [[one.source, one.target] for one in self.graph.arrows if max(one.source, one.target) < PAGE_BOXES]
        return {"count": [len(self.nodes), len(self.graph.arrows)], "boxes": boxes, "arrows": arrows}

    def _change(self, node: GraphNode) -> str:
        if self.before is None or self.before.get(node.key) == node:
            return ""
        return "changed" if node.key in self.before else "added"


def values_of(line: TextLine, syntax: Syntax) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
    """Return the operation of a line, the names that it defines and those that it uses; None for one without any."""
    if _LABEL.match(line.text):
        return None
    operation = syntax.operation_of(line.text)
    results, operands = _sides(line)
    return (operation, results, operands) if operation or results else None


def _sides(line: TextLine) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names that a line defines and those that it uses: left and right of the first equals sign."""
    text = line.text.strip()
    if text.startswith("^"):  # a block and its arguments
        return line.names[1:], ()
    if text.startswith(("input ", "weight ")):  # of a model
        return line.names[:1], ()
    head, sign, _ = text.partition(" = ")
    if not sign:
        return (line.names, ()) if text.endswith("{") else ((), line.names)
    left = 0
    for name in line.names:
        if name not in head:
            break
        head = head.partition(name)[2]
        left += 1
    return line.names[:left], line.names[left:]


def page_graphs(steps: Sequence[Step], nodes_of: Callable[[Any], Iterable[GraphNode]] | None) -> list[Any]:
    """Return for each step the compiler's graph of the program after it, or the number of a step with the same graph.

    A step without a graph has None. A recording of texts has none at all: the page draws graphs from the lines.
    """
    if nodes_of is None:
        return []
    nodes: dict[int, list[GraphNode]] = {}  # by identity: what one pass leaves, the next one gets
    graphs: list[Any] = []
    latest: tuple[int, list[GraphNode]] | None = None
    for number, step in enumerate(steps):
        if step.live is None:
            graphs.append(None)
            continue
        for program in (step.live, step.live_before):
            if program is not None and id(program) not in nodes:
                nodes[id(program)] = list(nodes_of(program))
        after, before = nodes[id(step.live)], nodes.get(id(step.live_before))
        if latest is not None and before == after == latest[1]:
            graphs.append(latest[0])
        else:
            graphs.append(LiveGraphView(after, before).page())
            latest = number, after
    return graphs


def live_graph_view(nodes: Sequence[GraphNode], before: Sequence[GraphNode] | None = None) -> LiveGraphView:
    """Return the graph of a live program; `before` are the nodes that it had before a pass."""
    return LiveGraphView(nodes, before)


@checked_view(list, tuple, hint="`graph()` of a step of a recording of text returns the view")
def text_graph_view(lines: Sequence[TextLine], syntax: Syntax, kinds: Sequence[str] = ()) -> TextGraphView:
    """Return the graph of the values of a text."""
    return TextGraphView(lines, syntax, kinds)
