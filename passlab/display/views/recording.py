"""The view of a recording: every pass with its outcome, its time, its changes, and the program after it.

The file begins with the view of a pass that failed: the message, the frames of the pass author's code, and the node it
was working on.
"""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from types import FrameType, TracebackType
from typing import NamedTuple

import passlab
from passlab.diffing.diff import node_name
from passlab.display.nodes import Links, line_numbers
from passlab.display.palette import OUTCOMES
from passlab.display.protocol.programs import GraphData, RecordingBlame, StepDiff
from passlab.display.protocol.recordings import Failure, FoundLine, RecordingData, StepRow
from passlab.display.rows import OutlineEntry, StepOutline, milliseconds, time_bars
from passlab.display.text.listing import LineTable, Listings, ProgramLines
from passlab.display.view import HasFrame, View, checked_view
from passlab.display.view_parts import Code, Fold, Gap, HtmlOnly, Part, Sentence
from passlab.display.views.blame import LineOrigins
from passlab.display.views.diffs import DiffView
from passlab.display.views.graph import GraphView, graph_view, lay_out_together
from passlab.display.views.module import is_untyped
from passlab.errors import PasslabError, cell_in_words, counted, visible
from passlab.instrument.events import ContextOptions, Event
from passlab.instrument.statistics import count_module, shown_change
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Expr, GlobalVar
from passlab.ir.module import IRModule
from passlab.lab.recordings.recording import Recording
from passlab.lab.recordings.rewrites import count_rewrites
from passlab.table import Table

AROUND = 2  # lines of source shown above and below the one at fault
_OWN = str(Path(passlab.__file__).parent)
_HOSTS = ("IPython", "ipykernel", "traitlets", "decorator.py", "nbclient")


class UserFrame(NamedTuple):
    """A frame of the user's own code: its file and line, its source, and its node."""

    file: str
    line: int
    function: str
    text: str
    node: str

    @property
    def place(self) -> str:
        """The file and line, as an editor opens them, or the cell and line."""
        between = ", line " if self.file.startswith(("cell [", "a cell")) else ":"
        return f"{self.file}{between}{self.line}"

    def __str__(self) -> str:
        return f"{self.place}, in {self.function}"


class FailureView(View):
    """Why a pass failed."""

    kind = "failure"

    def __init__(self, event: Event) -> None:
        self.event = event
        self.error = event.error

    @property
    def title(self) -> str:
        """The error and the pass that raised it."""
        if isinstance(self.error, PasslabError) or self.error is None:
            return visible(str(self.error or "").split("\n")[0])
        return f"the pass `{visible(self.event.name)}` raised {type(self.error).__name__}: {visible(str(self.error))}"

    @property
    def frames(self) -> list[UserFrame]:
        """The frames of the user's own code, outermost first; none for a diagnostic of passlab."""
        if self.error is None or isinstance(self.error, PasslabError):
            return []
        return list(_user_frames(self.error.__traceback__))

    @property
    def node(self) -> str:
        """The node that the innermost frame was working on, "" if no frame has one."""
        return next((frame.node for frame in reversed(self.frames) if frame.node), "")

    @property
    def traceback(self) -> str:
        """All frames, as Python prints them; the message alone for an error without any."""
        if self.error is None:
            return ""
        return visible("".join(traceback.format_exception(type(self.error), self.error, self.error.__traceback__)))

    @property
    def place(self) -> str:
        """The innermost line of the user's own code; "" for an error that no such line raised."""
        return self.frames[-1].place if self.frames else ""

    def parts(self) -> Iterable[Part]:
        if isinstance(self.error, PasslabError):
            yield Code(visible(str(self.error)))
            return
        yield Sentence(f"error: {self.title}", "bad")
        yield from self.details()

    def details(self) -> Iterable[Part]:
        """What stands below the message: the rest of a diagnostic, or the user's own frames."""
        rest = str(self.error).partition("\n")[2] if isinstance(self.error, PasslabError) else ""
        if rest:
            yield Code(visible(rest))
        for frame in self.frames:
            yield Sentence(f" --> {frame}")
            yield Code(frame.text)
        if self.node:
            yield Sentence(f"working on: {self.node}")
        if self.frames:
            yield HtmlOnly(Fold("the full traceback", [Code(self.traceback)], tone="muted"))

    def data(self) -> Failure:
        return {
            "kind": self.kind,
            "title": self.title,
            "text": visible(str(self.error or "")),
            "frames": [(str(frame), frame.text) for frame in self.frames],
            "node": self.node,
            "traceback": self.traceback if self.frames else "",
        }

    def source(self) -> HasFrame:
        """Return one row per frame of the user's code."""
        return Table(UserFrame._fields, self.frames)


@checked_view(Event, hint="`failed` of a recording is the event of the pass that raised")
def failure_view(event: Event) -> FailureView:
    """Return the view of the error of an event."""
    return FailureView(event)


def _user_frames(trace: TracebackType | None) -> Iterator[UserFrame]:
    """The frames of the user's code within the pass.

    Those before passlab's first one called the pipeline: an error gets them when it leaves `passlab.record`.
    """
    is_inside = False
    while trace is not None:
        frame, line = trace.tb_frame, trace.tb_lineno
        file = frame.f_code.co_filename
        if file.startswith(_OWN):
            is_inside = True
        elif is_inside and not any(host in Path(file).parts or file.endswith(host) for host in _HOSTS):
            yield UserFrame(_file_name(file), line, frame.f_code.co_name, _source(file, line, frame), _node_of(frame))
        trace = trace.tb_next


def _file_name(file: str) -> str:
    """A short name of a file; the paths of cells say nothing to a reader."""
    return cell_in_words(file) or visible(Path(file).name)


def _source(file: str, line: int, frame: FrameType) -> str:
    """The line that raised, marked, with context lines, which end with the function."""
    linecache.lazycache(file, frame.f_globals)
    code, rows = frame.f_code, []
    end = max((number for *_, number in code.co_lines() if number), default=line)
    last = line + AROUND if code.co_name == "<module>" else max(line, min(line + AROUND, end))
    for number in range(max(1, line - AROUND), last + 1):
        text = linecache.getline(file, number, frame.f_globals).rstrip("\n")
        if text or number == line:
            rows.append(f"{'>' if number == line else ' '} {number:>4} | {visible(text)}")
    return "\n".join(rows)


def _node_of(frame: FrameType) -> str:
    """The first argument or local variable that is a node of a program, by its name; names of functions come last."""
    code = frame.f_code
    names = [*code.co_varnames[: code.co_argcount], *code.co_varnames[code.co_argcount :]]
    nodes = [(name, frame.f_locals[name]) for name in names if isinstance(frame.f_locals.get(name), Expr)]
    if not nodes:
        return ""
    name, node = min(nodes, key=lambda item: isinstance(item[1], GlobalVar))
    place = f" at {node.span}" if node.span is not None else ""
    what = f"@{node.name_hint}" if isinstance(node, GlobalVar) else node_name(node)
    return visible(f"{name} = {what}{place}")


STATIC_NODES = 1500  # nodes of the programs whose diffs static HTML shows, folded
PAGE_BOXES = 4000  # of the graphs that a page holds
STATIC_LINES = 60  # lines of each
TITLE_PASSES = 6  # that the title of a page names
ONLY_TYPES = "only types were inferred"  # what `Diff.summary` says of passes such as InferType
DIFF_NODES = 8000  # nodes of all changed programs up to which the static form next to a widget describes each diff
LARGE = 2500  # nodes of all programs together above which a widget starts with one step and asks for the rest
HUGE = 100_000  # above which it asks for each step that is looked at, and describes passes by numbers of operators


class RecordingView(View):
    """A recorded pipeline, pass by pass.

    >>> rec = passlab.record(passlab.parse("def @main(%x: float32) { %x * (1f + 1f) }"), "FoldConstant")
    >>> display.recording_view(rec).text().splitlines()[0]
    'Recording: 1 of 1 passes ran, 1 changed the program.'
    """

    kind = script = "pipeline"
    whole = "Recording.frame() has a row for each"

    def __init__(self, recording: Recording, brief: bool = False) -> None:
        self.recording = recording
        self.brief = brief  # describes most passes by numbers of operators, which needs no diff
        self._listings = Listings()
        self._diffs: dict[tuple[int, int], DiffView] = {}
        self._first: dict[Hashable, DiffView] = {}  # by the pass, the lines before and after it, and the fates of nodes
        self._followed: dict[Expr, dict[str, list[Expr]]] = {}

    # ------------------------------------------------------------ parts
    @cached_property
    def events(self) -> list[Event]:
        """All events, the input first."""
        return self.recording.events

    @cached_property
    def title(self) -> str:
        """How many passes ran, changed the program, were skipped and failed."""
        summary = self.recording.summary()
        return f"{self.recording.name}: {summary}" if self.recording.name else summary

    @property
    def page_title(self) -> str:
        """The program and its pipeline: `net: InferType, FuseOps`."""
        passes = [event.name for event in self.recording.steps if event.status != "input"]
        if len(passes) > TITLE_PASSES:
            passes[TITLE_PASSES - 1 :] = [f"{len(passes) - TITLE_PASSES + 1} more"]
        return f"{self.recording.name or 'Recording'}: {', '.join(passes) or 'no pass'}"

    def lines(self, mod: IRModule) -> ProgramLines:
        """The lines of one of the recorded modules."""
        return self._listings.of(mod)

    def diff(self, event: Event) -> DiffView | None:
        """The view of the difference that a pass made, None when it returned the same module."""
        if not event.replaced:
            return None
        key = (id(event.before), id(event.after))
        view = self._diffs.get(key)
        if view is None:
            lines = partial(self.lines, event.before), partial(self.lines, event.after)
            view = self._diffs[key] = DiffView(event.diff(), *lines, partial(self._equal_diff, event))
        return view

    def _equal_diff(self, event: Event) -> DiffView | None:
        """The view of the first difference that the same pass made between programs that look the same."""
        if self.is_huge:
            return None
        before, after = (self.lines(mod).first for mod in (event.before, event.after))
        if before is None or after is None:
            return None
        own = self._diffs[id(event.before), id(event.after)]
        # A pass with a state of its own may write the same text in another way.
        fates = tuple(tuple(change.change for change in function.nodes) for function in own.diff.functions)
        first = self._first.setdefault((event.text or event.name, id(before), id(after), fates), own)
        return None if first is own else first

    def description(self, event: Event) -> str:
        """The effect of a pass, in a sentence."""
        if event.status == "failed":
            first = str(event.error).strip().split("\n")[0].removeprefix("error: ")
            return f"{type(event.error).__name__}: {first}"
        if event.status == "skipped":
            return f"Skipped: {event.reason}."
        if event.status == "input":
            nodes, calls = count_module(event.after)
            return f"{counted(sum(calls.values()), 'operator')}, {counted(nodes, 'node')}."
        if not event.changed:
            return "Nothing changed."
        if self.is_huge or (self.is_brief and event is not self.events[self.start]):
            return in_numbers(event)
        view = self.diff(event)
        assert view is not None
        return view.title

    @property
    def is_brief(self) -> bool:
        """Whether most passes are described by numbers of operators."""
        return self.brief or self.is_huge

    def twin(self) -> RecordingView:
        """Return the static form next to the widget: a brief one for a large recording."""
        changed = sum(count_module(event.after)[0] for event in self.recording.steps if event.changed)
        if changed <= DIFF_NODES:
            return self
        brief = RecordingView(self.recording, brief=True)
        brief._listings, brief._diffs, brief._first = self._listings, self._diffs, self._first
        return brief

    # ------------------------------------------------------------ forms
    def parts(self) -> Iterable[Part]:
        yield Sentence(f"Recording: {self.title}.", "muted")
        yield Gap()
        yield StepOutline(self._entries(), ("seconds",), noted="what it did", below=True)
        if self.recording.failed is not None:
            yield from failure_view(self.recording.failed).details()
        shown = list(self._shown_diffs())
        for event in shown:
            difference = self.diff(event)
            assert difference is not None
            rest = f"print(RECORDING[{event.id!r}].diff()) prints all of them"
            yield HtmlOnly(Fold(f"{event.id} {event.text or event.name}", difference.changes(STATIC_LINES, rest)))
        left_out = sum(event.changed for event in self.recording.steps) - len(shown)
        if left_out:
            passes = "1 more pass" if left_out == 1 else f"{left_out:,} more passes"
            more = f"{passes} changed the program: RECORDING[STEP].diff() shows how."
            yield HtmlOnly(Sentence(more, "muted"))

    def _entries(self) -> Iterator[OutlineEntry]:
        times = time_bars([event.seconds for event in self.recording.steps])
        for event, time in zip(self.recording.steps, times, strict=True):
            mark = OUTCOMES[outcome(event)]
            note = self.description(event) if mark[2] != "unchanged" else ""
            cells = ("" if event.status in ("input", "skipped") else time,)
            yield OutlineEntry(event.text or event.name, event.id, mark, note=note, cells=cells)

    def _shown_diffs(self) -> Iterator[Event]:
        """Yield the steps whose diff static HTML shows: the first ones, as far as there is room."""
        room = STATIC_NODES
        for event in self.recording.steps:
            if event.changed and room > 0 and (not self.is_brief or event is self.events[self.start]):
                room -= count_module(event.after)[0]
                yield event

    @cached_property
    def start(self) -> int:
        """The number of the event to show first: the one that failed, else the first that changed more than types."""
        failed = next((at for at, event in enumerate(self.events) if event.status == "failed"), None)
        if failed is not None:
            return failed
        changed = [at for at, event in enumerate(self.events) if event.changed]
        return next((at for at in changed if not self._only_types(self.events[at])), changed[0] if changed else 0)

    def _only_types(self, event: Event) -> bool:
        if self.is_huge:
            return structural_equal(event.before, event.after, exact=True)
        view = self.diff(event)
        return view is not None and view.diff.summary == ONLY_TYPES

    @property
    def is_large(self) -> bool:
        """Whether printing the programs of all events would delay the first picture."""
        return self._nodes > LARGE

    @property
    def is_huge(self) -> bool:
        """Whether printing them all for a widget would take too long."""
        return self._nodes > HUGE

    @cached_property
    def _nodes(self) -> int:
        modules = {id(mod): mod for event in self.events for mod in (event.before, event.after)}
        return sum(count_module(mod)[0] for mod in modules.values())

    def data(self, only_start: bool = False, also: Collection[int] = ()) -> RecordingData:
        """Return the data of the widget; with `only_start`, only the data of the first step and of `also`."""
        sent = {self.start, *also} if only_start else set(range(len(self.events)))
        pages = _Pages(self, sent)
        steps = [pages.step(at, event, self.row(event, at in sent)) for at, event in enumerate(self.events)]
        return {
            "kind": self.kind,
            "title": self.title,
            "start": self.start,
            "partial": only_start,
            "by_step": self.is_huge,
            "program": self.recording.name if self.recording.name.isidentifier() else "net",
            "options": magic_options(self.events),
            "steps": steps,
            "modules": pages.modules,
            "blame": None if only_start else self._blame(pages.printed, pages.table),
            "nodes": [
                [] if lines is None else line_numbers(self.lines(mod))
                for mod, lines in zip(pages.printed, pages.modules, strict=True)
            ],
            "links": [] if only_start else self._links(pages),
            "diffs": pages.diffs,
            "lines": pages.table.lines,
            "texts": pages.table.texts,
        }

    def find(self, query: str, most: int = 2000) -> tuple[list[FoundLine], int]:
        """Return the lines of all steps that have a text, and how many more there are than `most`.

        `query` is in lower case; between slashes it is a regular expression. A program is searched after the first step
        that has it; passes that ran inside others are left out.
        """
        has = _matcher(query)
        shown = {id(event) for event in self.recording.steps}
        found: list[FoundLine] = []
        left = 0
        last: IRModule | None = None
        for at, event in enumerate(self.events):
            if id(event) not in shown:
                continue
            texts = [] if event.after is last else [line.text for line in self.lines(event.after)]
            last = event.after
            for number, text in enumerate([event.text or event.name, *texts], -1):
                if not has(text):
                    continue
                if len(found) < most:
                    found.append(FoundLine(at, number, visible(text.strip())))
                else:
                    left += 1
        return found, left

    def _blame(self, programs: list[IRModule], table: LineTable) -> RecordingBlame:
        """The origins of the lines of each program: see `blame.LineOrigins`."""
        origins = LineOrigins(self.recording, table)
        numbers = [origins.numbers(self.lines(mod)) for mod in programs]
        return {**origins.data(), "programs": numbers}

    def _links(self, pages: _Pages) -> list[int]:
        """The links from nodes to those that they replaced: see `nodes.Links`."""
        links = Links(self.recording)
        for mod in pages.printed:
            links.add_program(self.lines(mod))
        for at, event in enumerate(self.events):
            view = self.diff(event)
            if view is not None:
                links.add_diff(view.before, view.after, view.rows, at)
        return links.data(lambda rule: pages.table.text(visible(rule)))

    def row(self, event: Event, whole: bool) -> StepRow:
        """Return the row of an event; with `whole`, it includes the description, which needs a diff."""
        nodes, calls = count_module(event.after)
        row: StepRow = {
            "untyped": is_untyped(event.after),
            "id": event.id,
            "depth": event.depth,
            "name": event.text or event.name,
            "outcome": outcome(event),
            "ms": milliseconds(event.seconds),
            "sentence": self.description(event) if whole else "",
            "role": event.role,
            "level": event.opt_level,
            "error": "" if event.error is None else str(event.error),
            "log": list(event.log[:200]),
            "operators": changed_operators(event),
            "nodes": nodes,
            "calls": sum(calls.values()),
            "rewrites": count_rewrites(event),
            "peak": event.peak_bytes,
            "before": 0,
            "after": 0,
            "left_out": 0,
        }
        if event.error is not None:
            row["failure"] = failure_view(event).data()
        return row

    def graph(self, event: Event) -> GraphView:
        """Return the graph of the program after a pass, with its changes marked; overlays follow their nodes."""
        changes = self.diff(event)
        overlays = {
            name: {became: number for node, number in numbers.items() for became in self._became(node, event)}
            for name, numbers in self.recording.overlays.items()
        }
        return graph_view(event.after, None if changes is None else changes.diff, overlays=overlays)

    def _became(self, node: Expr, event: Event) -> list[Expr]:
        """The nodes that a node became in the program after a step (for a nested event, after its step)."""
        followed = self._followed.get(node)
        if followed is None:
            pairs = self.recording.follow(node)
            followed = self._followed[node] = {step.id: nodes for step, nodes in pairs}
        return followed.get(event.id.partition(".")[0], [])

    def graphs(self, data: RecordingData) -> dict[str, GraphData]:
        """Return the drawn graphs of all steps, for a page without a kernel; `data` is the data of the widget.

        Equal graphs are drawn once, and all are laid out together. Graphs beyond `PAGE_BOXES` boxes are left out.
        """
        views: dict[str, GraphView] = {}
        room = PAGE_BOXES
        for row, event in zip(data["steps"], self.events, strict=True):
            key = f"{row.get('diff', '')}:{row['after']}"
            if key not in views and room > 0:
                views[key] = self.graph(event)
                room -= len(views[key].graph.boxes)
        lay_out_together(views.values())
        return {key: view.data() for key, view in views.items()}

    def source(self) -> HasFrame:
        """Return one row per pass."""
        return self.recording


class _Pages:
    """The programs and diffs of a recording as data: each different one once, None for steps that are left out."""

    def __init__(self, view: RecordingView, steps: set[int]) -> None:
        self.view, self.steps = view, steps
        self.table = LineTable()
        self.printed: list[IRModule] = []
        self.modules: list[list[int] | None] = []
        self.diffs: list[StepDiff | None] = []
        self._module_of: dict[int, int] = {}
        self._numbers_of: dict[int, list[int]] = {}  # of the first lines that say the same
        self._diff_of: dict[tuple[int, int], int] = {}

    def step(self, at: int, event: Event, row: StepRow) -> StepRow:
        """Return the row of an event with the numbers of its programs and its diff."""
        included = at in self.steps
        row["before"], row["after"] = self._module(event.before, included), self._module(event.after, included)
        row["left_out"] = self.view.lines(event.after).left_out if included else 0
        if event.replaced:
            key = (row["before"], row["after"])
            number = self._diff_of.setdefault(key, len(self.diffs))
            if number == len(self.diffs):
                self.diffs.append(None)
            if included and self.diffs[number] is None:
                difference = self.view.diff(event)
                assert difference is not None
                self.diffs[number] = self._changes(difference)
            row["diff"] = number
        return row

    def _changes(self, difference: DiffView) -> StepDiff:
        """The data of a difference; the lines of the programs are there already unless they are an excerpt."""
        changes = difference.changes_data()
        data: StepDiff = {"kinds": changes["kinds"], "words": changes["words"], "operators": changes["operators"]}
        if difference.is_excerpt:
            lines = difference.lines_data(self.table)
            data["before"], data["after"], data["nodes"] = lines["before"], lines["after"], lines["nodes"]
        return data

    def _module(self, mod: IRModule, included: bool) -> int:
        number = self._module_of.setdefault(id(mod), len(self.modules))
        if number == len(self.modules):
            self.modules.append(None)
            self.printed.append(mod)
        if included and self.modules[number] is None:
            lines = self.view.lines(mod)
            first = lines if lines.first is None else lines.first
            if id(first) not in self._numbers_of:
                self._numbers_of[id(first)] = [self.table.add(line) for line in first]
            self.modules[number] = self._numbers_of[id(first)]
        return number


@checked_view(Recording, hint="passlab.record(mod, passes) returns one")
def recording_view(recording: Recording) -> RecordingView:
    """Return the view of a recording.

    >>> rec = passlab.record(passlab.parse("def @main(%x: float32) { %x * (1f + 1f) }"), "FoldConstant")
    >>> print(display.recording_view(rec).text().splitlines()[0])
    Recording: 1 of 1 passes ran, 1 changed the program.
    """
    return RecordingView(recording)


def magic_options(events: Iterable[Event]) -> str:
    """Return the options of `%passes` that give the pass context of a recording: `-O 3 --disable FoldConstant`."""
    context = next((event.context for event in events if event.status != "input"), ContextOptions())
    parts = [f"-O {context.opt_level}"]
    for name, passes in (("--require", context.required_pass), ("--disable", context.disabled_pass)):
        parts += [f"{name} {','.join(passes)}"] if passes else []
    for key, value in context.config.items():
        parts.append(
            f"--config {key}={value!r}" if isinstance(value, str) else f"--config {key}={value!r}".replace(" ", "")
        )
    return " ".join(parts)


def _matcher(query: str) -> Callable[[str], object]:
    """Return a function that says whether a text has the query, as the scripts understand it."""
    if len(query) > 2 and query[0] == query[-1] == "/":
        with suppress(re.error):
            return re.compile(query[1:-1], re.IGNORECASE).search
    return lambda text: query in text.lower()


def in_numbers(event: Event) -> str:
    """Return the changes of a pass as numbers of operators: `16 rewrites: -2 nn.bias_add +2 add.`"""
    (_, before), (_, after) = count_module(event.before), count_module(event.after)
    change = shown_change(before, after) or "the same operators as before"
    rewrites = count_rewrites(event)
    return f"{counted(rewrites, 'rewrite')}: {change}." if rewrites else f"Changed: {change}."


def changed_operators(event: Event) -> list[str]:
    """Return the operators that are called more or less often after a pass than before it."""
    _, before = count_module(event.before)
    _, after = count_module(event.after)
    return sorted(name for name in {*before, *after} if before[name] != after[name]) if event.changed else []


def outcome(event: Event) -> str:
    """Return one of the names of `palette.OUTCOMES`."""
    if event.status == "ran":
        return "changed" if event.changed else "unchanged"
    return event.status
