"""The view of a recording of text: every pass of a dump, its verdict, its changes, and the step that wrote each line.

The data has the versions of each unit (function, operation with a symbol) once; a step shows the versions that it
wrote. Large recordings are cut: the first changes are kept, and the view says what is left out.

The file begins with the graph of one function of another compiler: lines as boxes, arrows from the definition of a
value to its uses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from passlab import limits
from passlab.atomic_file import write_text
from passlab.diffing.text_diff import ADDED, CHANGED, MOVED, OPERANDS, SAME, SIGNS, TextDiff
from passlab.diffing.text_lines import LineReader, Syntax, TextLine
from passlab.display.code_lines import MOST_LINES as MOST_LINES_OF_CODE
from passlab.display.code_lines import CodeLine, GutterLabel, Listing
from passlab.display.graphs.dataflow import Arrow, Box, Dataflow, truncate
from passlab.display.graphs.drawing import Caption, box_size, draw
from passlab.display.graphs.layered import lay_out_layers
from passlab.display.graphs.layout import LayoutError, lay_out
from passlab.display.html import Markup
from passlab.display.pages.page import document, static_document
from passlab.display.palette import AMBER, GREEN, MUTED, RED
from passlab.display.rows import OutlineEntry, Rows, StepOutline
from passlab.display.view import HasFrame, View, checked_view
from passlab.display.view_parts import Drawing, Fold, Gap, HtmlOnly, Part, Sentence
from passlab.display.views.text_colours import marks
from passlab.display.views.timing import timing_view
from passlab.dumps.filters import filters_named, noise_of
from passlab.dumps.graph_node import GraphNode
from passlab.dumps.language import LANGUAGES
from passlab.dumps.locations import Place, Places
from passlab.dumps.recording import TextRecording
from passlab.dumps.reports import Remark, remark_range
from passlab.dumps.step import Step
from passlab.errors import PasslabError, counted, visible

if TYPE_CHECKING:
    import os

    from passlab.dumps.blame import UnitHistory
    from passlab.dumps.step import Step, Unit


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


# A sign that differs by shape, a colour, and what the verdict means.
VERDICTS = {
    "changed": ("●", GREEN, "changed the program"),
    "unchanged": ("○", MUTED, "changed nothing"),
    "unknown": ("◌", AMBER, "the dump does not prove it"),
    "invalidated": ("⊘", RED, "removed what it ran on"),
    "filtered": ("–", MUTED, "filtered out of the dump"),
    "ignored": ("–", MUTED, "not a pass of its own"),
    "failed": ("✕", RED, "failed"),
}
SHOWN_STEPS = 120  # rows of static HTML, and
TIMES = frozenset(("seconds",))  # columns that text leaves out: they differ from run to run
STATIC_DIFFS = 5  # diffs in it
STATIC_LINES = 60  # lines of each
MOST_LINES = 60_000  # lines of all versions that a page holds
MOST_STEPS = 40_000  # rows of the list of a page
PRINTED_WIDTH = 80  # characters of other output in a row of the list
MOST_SOURCE = 20_000  # lines of a source file that a page holds
LINE_WIDTH = 1000  # characters of one line that a page holds
MOST_REMARKS = 20_000  # of the compiler that a page holds, and
STATIC_REMARKS = 100  # lines of the source with remarks in static HTML; numbers of their steps have
GUTTER = 16  # characters


class TextRecordingView(View):
    r"""The passes of a dump.

    >>> import passlab.dumps
    >>> from passlab.display import TextRecordingView
    >>> dump = "*** IR Dump After DCEPass on f ***\ndefine void @f() {\n  ret void\n}\n"
    >>> print(TextRecordingView(passlab.dumps.read_text(dump)).title)
    dump: 1 pass (llvm): 1 unknown
    """

    kind = script = "dump"
    whole = "TextRecording.frame() has a row for each"

    def __init__(self, recording: TextRecording, filters: tuple[str, ...] = ()) -> None:
        self.recording, self.filters = recording, filters
        filters_named(filters)  # raises for unknown ones

    @cached_property
    def title(self) -> str:
        """The name of the dump, how many passes it has, and their verdicts."""
        return f"{self.recording.name}: {self.recording.summary()}"

    def remarks(self) -> list[str]:
        """Remarks about the whole dump: open verdicts, a crash, the command for a more complete dump."""
        rec = self.recording
        lines = [f"{note[:1].upper()}{note[1:]}." for note in rec.notes]
        if rec.crash:
            lines.append(f"The compiler crashed: {rec.crash}")
        open_ones = rec.counts["unknown"]
        if open_ones:
            lines.append(f"{counted(open_ones, 'verdict')} cannot be proved by this dump: a range of steps is given.")
        if rec.advice:
            lines.append(f"For a more complete dump: {rec.advice}")
        return [visible(line) for line in lines]

    def remark(self, step: Step) -> str:
        """The facts about a step besides its verdict."""
        is_range = step.verdict == "unknown" and step.since < step.number
        between = f"between step {step.since} and {step.number}" if is_range else ""
        said = self._reported(step)
        note = f"{step.note} (step {step.gap})" if step.gap else step.note
        return "; ".join(filter(None, (between, "assumed" if step.assumed else "", note, said or _printed(step))))

    @cached_property
    def _remarks(self) -> dict[int, list[Remark]]:
        """The remarks of each step; those that one of several steps made are in the table alone."""
        remarks: dict[int, list[Remark]] = {}
        for one in self.recording.reports.remarks:
            if one.first and one.first == one.last:
                remarks.setdefault(one.first, []).append(one)
        return remarks

    def _reported(self, step: Step) -> str:
        """What the compiler remarked on a step: the first remark with its place, and how many follow."""
        mine = self._remarks.get(step.number, [])
        # What a pass did says more than what it did not do.
        best = next((one for one in mine if one.kind == "Passed"), mine[0] if mine else None)
        if best is None:
            return ""
        text = _shortened(best.text, PRINTED_WIDTH)
        more = f" and {counted(len(mine) - 1, 'more remark')}" if len(mine) > 1 else ""
        return f"{best.kind.lower() or 'remark'}{f' at {best.place}' if best.place else ''}: {text}{more}"

    def parts(self) -> Iterable[Part]:
        yield Sentence(f"Recording: {self.title}.", "muted")
        yield from (Sentence(remark, "muted") for remark in self.remarks())
        yield Gap()
        yield StepOutline(self._entries(), most=SHOWN_STEPS, last=str(len(self.recording.steps)))
        for title, table in self.recording.overview().items():
            yield Gap()
            yield Fold(
                f"{title[:1].upper()}{title[1:]}:", [Rows(table, measured=TIMES & {*table.columns})], opened=True
            )
        if lines := self._remarked_lines():
            yield Gap()
            yield Fold("Remarks at the lines of the source:", [Listing(lines, STATIC_REMARKS)], opened=True)
        for step in self.recording.changed[:STATIC_DIFFS]:
            changes = diff_parts(step.diff(filters=self.filters))
            yield HtmlOnly(Fold(f"{step.number} {step.name} {step.unit}", changes))

    def _remarked_lines(self) -> list[CodeLine]:
        """The lines of the source with remarks, if it is known: steps in the gutter, remarks after the line."""
        source = self.recording.source_map
        remarks = [one for one in self.recording.reports.remarks[:MOST_REMARKS] if one.file and one.line]
        if not remarks or not source.texts:
            return []
        files = source.files
        found: dict[Place, list[Remark]] = {}
        for one in remarks:
            found.setdefault(source.place_of(one.file, one.line, files), []).append(one)
        lines = []
        for place in sorted(found):
            said = found[place]
            steps = ", ".join(dict.fromkeys(remark_range(one.first, one.last) for one in said if one.first))
            words = "; ".join(dict.fromkeys(f"{one.kind.lower() or 'remark'}: {one.text}" for one in said))
            label = GutterLabel(
                _shortened(steps, GUTTER), GREEN if any(o.kind == "Passed" for o in said) else AMBER, words
            )
            text = visible(f"{place}  {source.code(place)}".rstrip())
            shown = visible(_shortened(words, PRINTED_WIDTH))
            lines.append(CodeLine(text, comment=f"  # {shown}", beside=shown, gutter=label))
        return lines

    def _entries(self) -> Iterator[OutlineEntry]:
        """The steps; those that changed nothing are counted. Phases, if there are several, begin with a line."""
        quiet = 0
        phases = {step.phase for step in self.recording.steps}
        phase = "" if len(phases) > 1 and self.recording.chains else None
        for step in self.recording.steps:
            starts = phase is not None and step.phase != phase
            is_quiet = step.verdict == "unchanged" or (step.verdict in ("filtered", "ignored") and not step.note)
            if quiet and (starts or not is_quiet):
                yield _quiet_entry(quiet)
                quiet = 0
            if starts:
                phase = step.phase
                yield OutlineEntry(f"{visible(phase)}:")
            if is_quiet:
                quiet += 1
                continue
            mark = VERDICTS[step.verdict]
            yield OutlineEntry(step.name, str(step.number), mark, about=step.unit, note=self.remark(step))
        if quiet:
            yield _quiet_entry(quiet)

    # ------------------------------------------------------------ data
    def data(self) -> dict[str, Any]:
        return self.page_data(Pages(self))

    def page_data(self, pages: Pages) -> dict[str, Any]:
        """Return the data; the lines of the texts are added to `pages`, which views can share."""
        pages.fill()
        steps = self.recording.steps[:MOST_STEPS]
        said = self._said(pages)
        rows = [self._step(step, pages) for step in steps]
        more = len(self.recording.steps) - len(steps)
        left = [f"{more:,} more steps are left out"] if more else []
        if pages.left_out:
            left.append(f"the texts of {pages.left_out:,} versions are left out of this page")
        verdicts = [step.verdict for step in steps]
        first = next((verdicts.index(verdict) for verdict in ("failed", "changed") if verdict in verdicts), 0)
        return {
            "kind": self.kind,
            "title": visible(self.title),
            "times": timing_view(self.recording).data()["rows"] if any(step.seconds for step in steps) else [],
            "remarks": [*self.remarks(), *left],
            "other": visible("\n\n".join([*self._overview(), self.recording.other_output])[:20_000].strip("\n")),
            "start": first,
            "steps": rows,
            "graphs": page_graphs(steps, self.recording.nodes_of),
            "units": pages.units,
            "lines": pages.lines,
            "filters": pages.filters,
            "hidden": list(range(len(self.filters))),
            "places": [[visible(place.file), place.line] for place in pages.places],
            "joins": [list(one) for one in pages.place_sets],
            "sources": pages.sources(),
            "said": said,
        }

    def _said(self, pages: Pages) -> list[list[Any]]:
        """Return the remarks: kind, pass, text, number of the place in the source or -1, first and last step."""
        files = {place.file for place in pages.places}
        rows = []
        for one in self.recording.reports.remarks[:MOST_REMARKS]:
            at = -1
            if one.file and one.line:
                place = self.recording.source_map.place_of(one.file, one.line, files)
                at = pages.places.setdefault(place, len(pages.places))
            words = one.kind.lower() or "remark", one.pass_name, one.text[:LINE_WIDTH]
            rows.append([*map(visible, words), at, one.first, one.last])
        return rows

    def _overview(self) -> Iterator[str]:
        """Yield the tables of the recording as text."""
        for title, table in self.recording.overview().items():
            yield f"{title}\n\n{table}"

    def _step(self, step: Step, pages: Pages) -> list[Any]:
        units = [pages.numbers[name] for name in step.names if name in pages.numbers]
        written = pages.written.get(step.number, [])
        return [
            visible(step.name),
            visible(step.unit),
            step.verdict,
            int(step.assumed),
            step.since,
            step.parent,
            visible(step.phase),
            visible(step.options[:400]),
            visible(self.remark(step)),
            visible(step.command or f"no command: {self.recording.no_command(step)}"),
            written or units[:1],
            pages.fragment(step),
            None if step.seconds is None else f"{1000 * step.seconds:,.2f} ms",
            len(self._remarks.get(step.number, [])),
            visible(self.recording.reports.statistics_of(step)),
        ]

    def source(self) -> HasFrame:
        """Return one row per step."""
        return self.recording


class Pages:
    """The versions of the units of a recording as data for a browser: each different line once."""

    def __init__(self, view: TextRecordingView) -> None:
        self.recording = view.recording
        self.lines: list[list[Any]] = []
        self.units: list[dict[str, Any]] = []
        self.numbers: dict[str, int] = {}
        self.written: dict[int, list[int]] = {}  # step -> the units that it wrote
        self.left_out = 0
        self.filters: list[str] = list(view.filters)  # those that have something to leave out, or were asked for
        self.places: dict[Place, int] = {}  # lines of the user's source, and their numbers
        self.place_sets: dict[tuple[int, ...], int] = {(): 0}
        self._line_numbers: dict[tuple[str, str], int] = {}
        self._room = MOST_LINES

    def fill(self) -> None:
        """Add the units, those with the most versions first."""
        names = dict(zip(self.recording.units, unit_names(self.recording), strict=True))
        order = sorted(self.recording.units.values(), key=lambda unit: (not unit.name, -len(unit.steps)))
        for unit in order:
            number = self.numbers[unit.name] = len(self.units)
            for step in unit.steps:
                self.written.setdefault(step, []).append(number)
            self.units.append({"name": names[unit.name], "versions": []})
        for unit in order:
            try:
                history = self.recording.history(unit.name)
                self._versions(history, self.units[self.numbers[unit.name]]["versions"])
            except PasslabError as error:
                self.units[self.numbers[unit.name]]["error"] = visible(str(error))

    def _versions(self, history: UnitHistory, versions: list[Any]) -> None:
        language = LANGUAGES.get(history.unit.language, self.recording.language)
        for at, step in enumerate(history.unit.steps):
            piece = history.unit.pieces[at]
            size = piece.lines if piece is not None and piece.lines else piece.size // 40 if piece is not None else 0
            if size > self._room:
                self.left_out += 1
                versions.append([step, history.unit.since[at], None, [], [], {}, []])
                continue
            lines = history.lines(at)
            self._room -= len(lines)
            numbers = [self.line(line, history.reader, language.lexer) for line in lines]
            origins = [[origin.since, origin.step] for origin in history.origins(at)]
            rows, names = self._rows(history, at), self._renamings(history, at)
            sets = self._place_sets(history.unit, at)[: len(lines)]
            versions.append([step, history.unit.since[at], numbers, origins, rows, names, sets])

    def _rows(self, history: UnitHistory, at: int) -> list[list[Any]]:
        """The rows of the difference from the version before: kind, line there, line here, words that differ."""
        if not at:
            return []
        diff = history.diff(at)
        rows = []
        for row in diff.rows:
            words = diff.words(row) if row.kind in (CHANGED, OPERANDS) else ((), ())
            sign = SIGNS[row.kind] if row.kind != SAME else ""
            rows.append([sign, -1 if row.left is None else row.left, -1 if row.right is None else row.right, *words])
        return rows

    def _place_sets(self, unit: Unit, at: int) -> list[int]:
        """The number of the set of source lines of each line of a version; none where no line has any."""
        found = []
        for places in self.recording.source_map.places(unit, at):
            numbers = [self.places.setdefault(one, len(self.places)) for one in self._canonical(places)]
            found.append(self.place_sets.setdefault(tuple(numbers), len(self.place_sets)))
        return found if any(found) else []

    def _canonical(self, places: Places) -> Places:
        """The places by one name for each file; files that end alike are told apart where all are known."""
        return self.recording.source_map.canonical(places) if places else places

    def sources(self) -> dict[str, list[str]]:
        """The lines of the source files whose text is known, by name."""
        texts = {place.file: self.recording.source_map.text_of(place.file) for place in self.places}
        return {
            visible(file): [visible(line[:LINE_WIDTH]) for line in text.split("\n")[:MOST_SOURCE]]
            for file, text in texts.items()
            if text is not None
        }

    def _renamings(self, history: UnitHistory, at: int) -> dict[str, str]:
        return dict(list(history.diff(at).renamed.items())[:2000]) if at else {}

    def line(self, line: TextLine, reader: LineReader, lexer: str) -> int:
        """Return the number of a line, adding it if it is new."""
        text = line.text
        shown = visible(text[:LINE_WIDTH]) + (f" ... {len(text) - LINE_WIDTH:,} more" if len(text) > LINE_WIDTH else "")
        number = self._line_numbers.get((shown, lexer))
        if number is None:
            number = self._line_numbers[shown, lexer] = len(self.lines)
            fact = values_of(line, reader.syntax)
            names = 0 if fact is None else [visible(fact[0]), *([visible(name) for name in side] for side in fact[1:])]
            self.lines.append([shown, marks(shown, lexer), self._noise(shown), names])
        return number

    def _noise(self, text: str) -> list[int]:
        """The spans of a line that filters hide, as a flat list: number of the filter, start, end."""
        hit = []
        for name, start, end in noise_of(text):
            if name not in self.filters:
                self.filters.append(name)
            hit += [self.filters.index(name), start, end]
        return hit

    def fragment(self, step: Step) -> list[int]:
        """The lines of a body that is not a unit of the program: a loop, or a unit without a unique name."""
        shown = any(name in self.numbers for name in step.names)
        if step.after_body is None or shown or self._room < step.after_body.lines:
            return []
        lexer = LANGUAGES.get(step.language, self.recording.language).lexer
        lines = step.after_body.text.split("\n")
        self._room -= len(lines)
        reader = self.recording.reader(step.language)
        return [self.line(reader.line(line), reader, lexer) for line in lines]


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _printed(step: Step) -> str:
    """What else was printed while a pass ran: its first line, and how many follow."""
    lines = [line.strip() for line in step.other_output.split("\n") if line.strip()]
    if not lines:
        return ""
    return f"printed: {_shortened(lines[0], PRINTED_WIDTH)}" + (
        f" and {counted(len(lines) - 1, 'more line')}" if len(lines) > 1 else ""
    )


def unit_names(recording: TextRecording) -> list[str]:
    """Return the names of the units of a recording on a page, in order."""
    rest = "the rest of the module" if len(recording.units) > 1 else "the program"
    return [visible(name) or rest for name in recording.units]


def _quiet_entry(count: int) -> OutlineEntry:
    return OutlineEntry(f"{count:,} that changed nothing", "", VERDICTS["unchanged"])


class TextDiffView(View):
    """The difference of two texts, as `text_diff_view` shows it.

    >>> issubclass(display.TextDiffView, display.View)
    True
    """

    whole = "TextDiff.rows has all"

    def __init__(self, diff: TextDiff) -> None:
        self.diff = diff

    def parts(self) -> Iterable[Part]:
        return diff_parts(self.diff, MOST_LINES_OF_CODE)


def diff_parts(diff: TextDiff, most: int = STATIC_LINES) -> Iterable[Part]:
    """Yield a difference: in a sentence, and line by line, `most` lines of it in HTML."""
    yield Sentence(f"{diff.summary[:1].upper()}{diff.summary[1:]}.")
    if diff:
        lines = ((line[2:], line[:1]) for line in diff.unified_lines())
        yield Listing([CodeLine(text, kind="=" if kind == " " else kind) for text, kind in lines], most)


@checked_view(TextRecording, hint="passlab.dumps.read(path) returns one")
def text_recording_view(recording: TextRecording, filters: tuple[str, ...] = ()) -> TextRecordingView:
    """Return the view of a recording of text; `filters` are names of `passlab.dumps.filters.FILTERS`.

    >>> recorder = recorders.HostRecorder("mine", text=str)
    >>> recorder.begin("fold", "a = 1 + 2")
    >>> recorder.end("a = 3")
    >>> print(display.text_recording_view(recorder.recording()).text().splitlines()[0])
    Recording: mine: 1 pass (live): 1 changed.
    """
    return TextRecordingView(recording, tuple(filters))


@checked_view(TextDiff, hint="`diff()` of a step of a recording of text returns one")
def text_diff_view(diff: TextDiff) -> TextDiffView:
    """Return the view of a difference of texts.

    >>> recorder = recorders.HostRecorder("mine", text=str)
    >>> recorder.begin("fold", "a = 1 + 2")
    >>> recorder.end("a = 3")
    >>> print(display.text_diff_view(recorder.recording()[1].diff()).text().splitlines()[0])
    1 added, 1 removed.
    """
    return TextDiffView(diff)


def write_text_report(recording: TextRecording, path: str | os.PathLike[str], static: bool = False) -> None:
    """Write a recording of text as one HTML file; with `static` one without any script. Raises `FileAccessError`."""
    view = text_recording_view(recording)
    write_view(view, view.title, path, static)


def write_view(view: View, title: str, path: str | os.PathLike[str], static: bool) -> None:
    """Write the view of a recording of text, or of two, as one HTML file; with `static` one without any script."""
    page = static_document(title, view.html()) if static else document(view)
    write_text(path, page, "backslashreplace")
