"""The stages of each graph: which records show one graph, in which order, and what happened between two of them.

A compilation captures a graph (Dynamo, the pre-grad passes, the joint graph of AOTAutograd), which becomes a forward
and a backward graph, or one for inference. Each goes through the post-grad passes, Inductor's scheduler and fusion, and
ends as code. Each graph is one unit: `0/0`, `0/0 forward`, `0/0 backward`. Graphs of different compilations never
follow one another.

Nothing here knows the list of PyTorch's records. A payload is a graph if it reads like one, and records `before_x` and
`after_x` are the two sides of a pass `x`. The parameters of a graph say whether it is a forward or a backward one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from passlab.dumps.banner import FRAGMENT, NONE, UNIT, Banner
from passlab.dumps.source import BytesSource, Excerpt, decode
from passlab.dumps.torch import tables
from passlab.dumps.torch.records import CompileId, Record
from passlab.dumps.verdicts import FIRST_TEXT

NO_ID = "-/-"  # what tlparse calls the records of no compilation
SIDES = ("forward", "backward", "inference")
_TITLES = {
    "dynamo_output_graph": "Dynamo",
    "aot_joint_graph": "joint graph",
    "aot_forward_graph": "forward graph",
    "aot_backward_graph": "backward graph",
    "aot_inference_graph": "inference graph",
    "pre_grad": "pre-grad passes",
    "joint": "joint passes",
    "post_grad": "post-grad passes",
    "ir_pre_fusion": "lowering",
    "ir_post_fusion": "fusion",
    "inductor_output_code": "output code",
}
_AFTER = {"inductor_post_grad_graph": "post_grad"}  # the one end of a pass that is not called `after_...`
_AOT_START = re.compile(r"aot_|dynamo_")
_AOT = re.compile(r"aot_(forward|backward|inference)_graph")
_PAIR = re.compile(r"(?P<when>before|after|failed)_(?P<name>.+)|(?P<name2>.+)_(?P<when2>before|after)")
_GRAPH = re.compile(rb"\s*(?:class [^\n(]*\(torch\.nn\.Module\):|graph\(\):)")
_CODE = re.compile(r"inductor_\w*_code|output_code")
_OF_GRAPH = re.compile(r"(?:inductor|triton|fx_graph|ir|kernel)_")
_SIGNATURE = re.compile(r"def forward\(\s*self,?(.*?)\)(?: *->[^\n]*?)?:\s*(?:\n|$)", re.DOTALL)
_NAME = re.compile(r"(?:^|[,\n])\s*(\w+)(?=\s*[:,\n]|\s*$)")
_AOT_ID = re.compile(r"# AOT ID: \['\d+_(forward|backward|inference)'\]")
_HEAD = 200_000  # bytes in which the parameters of a graph are expected
_NOISE = re.compile(rb"(?m)^\s*# graph id: \d+\s*$")  # the address of a graph
_COMMENT = re.compile(r"#[^\n]*")
_ASSIGNMENT = re.compile(r"(?m)^\s*(?P<name>\w+)(?:: *\"[^\"\n]*\")?(?P<value> = (?!fx_pytree).*)$")
_LAST_USE = re.compile(r";  [\w ,=]+= None")


@dataclass(eq=False)
class Graph:
    """One graph: its unit, its stages in their order, and the other records that are about it."""

    unit: str
    compile_id: CompileId
    side: str = ""
    parent: Graph | None = None
    records: list[Record] = field(default_factory=list)
    extras: list[Record] = field(default_factory=list)
    parameters: tuple[str, ...] = ()


@dataclass(eq=False)
class Compilation:
    """One attempt of one compilation: the graph that it captured, those made of it, and all other records."""

    compile_id: CompileId
    graphs: list[Graph] = field(default_factory=list)
    first: list[Record] = field(default_factory=list)  # before any graph
    rest: list[Record] = field(default_factory=list)
    modules: dict[str, Graph | None] = field(default_factory=dict)  # those inside the compiled one, with their graphs

    @property
    def name(self) -> str:
        """The compile id, as torch writes it."""
        return str(self.compile_id) or NO_ID

    def graph(self, side: str = "", parent: Graph | None = None) -> Graph:
        """Return a new graph; a second one of a side, as of a model that DDP splits, gets a number."""
        same = sum(graph.side == side for graph in self.graphs)
        name = " ".join(filter(None, (self.name, side, f"#{same + 1}" if same else "")))
        self.graphs.append(Graph(name, self.compile_id, side, parent))
        return self.graphs[-1]

    def last(self, side: str) -> Graph | None:
        """Return the latest graph of a side."""
        return next((graph for graph in reversed(self.graphs) if graph.side == side), None)


@dataclass(eq=False)
class Stage:
    """One step: `before` and `after` are the records with the texts around it."""

    name: str
    argument: str
    unit: str
    compilation: Compilation
    before: Record | None
    after: Record | None
    status: str
    note: str = ""
    kind: str = "graph"
    language: str = ""
    is_pass: bool = False  # whether the log has both sides of it


# ---------------------------------------------------------------- which graph
def compilations(records: Iterable[Record]) -> list[Compilation]:
    """Return the compilations in the order in which they began, each attempt by itself."""
    groups: dict[CompileId, dict[CompileId, list[Record]]] = {}
    for record in records:
        attempts = groups.setdefault(record.compile_id.whole, {})
        attempts.setdefault(record.compile_id, []).append(record)
    frames = list(dict.fromkeys(_frame_of(whole) for whole in groups))  # all versions of a frame follow one another
    found = []
    for whole, attempts in sorted(groups.items(), key=lambda item: frames.index(_frame_of(item[0]))):
        loose = attempts.pop(whole, [])  # records that name no attempt are about the last one
        if not attempts:
            attempts[whole] = []
        last = next(reversed(attempts))
        attempts[last] = sorted([*attempts[last], *loose], key=lambda record: record.number)
        found += [_compilation(compile_id, entries) for compile_id, entries in attempts.items()]
    return found


def _frame_of(compile_id: CompileId) -> CompileId:
    return compile_id._replace(compile=None)


def _compilation(compile_id: CompileId, records: Sequence[Record]) -> Compilation:
    compilation = Compilation(compile_id)
    segment: list[Record] = []  # of Inductor's work on one graph: it begins with its input, and ends with code
    for record in records:
        if record.kind == "chromium_event" or record.payload is None:
            continue
        if record.module and (inner := _inner_graph(compilation, segment, record)) is not None:
            inner.records.append(record)
            continue
        starts = record.name in ("fx_graph_runnable", "before_post_grad_graph")
        if segment and not _continues(segment, record, starts):
            _place_segment(compilation, segment)
            segment = []
        if segment or starts or (record.kind == "file" and record.side):
            segment.append(record)
        elif is_stage(record):
            _place_stage(compilation, record)
        else:
            (compilation.rest if compilation.graphs else compilation.first).append(record)
    _place_segment(compilation, segment)
    return compilation


def _inner_graph(compilation: Compilation, segment: Sequence[Record], record: Record) -> Graph | None:
    """Return the graph of a pass that ran on a module inside the compiled one; None for the compiled one itself.

    A module is the compiled one if its text is the latest one of that, when a pass is first seen on it.
    """
    if record.module not in compilation.modules:
        own = [one for one in segment if is_graph(one)]
        known = (_like(compilation, record) or compilation.last("")) if not own else None
        last = own[-1] if own else known.records[-1] if known is not None and known.records else None
        is_inner = last is not None and is_graph(record) and canonical(last) != canonical(record)
        compilation.modules[record.module] = compilation.graph("subgraph") if is_inner else None
    return compilation.modules[record.module]


def _continues(segment: Sequence[Record], record: Record, starts: bool) -> bool:
    """Whether a record is about the graph of the records before it."""
    if record.side != segment[0].side or (record.kind == "file") != (segment[0].kind == "file"):
        return False
    if record.kind == "file":
        return True
    if starts and any(is_code(one) or one.name == record.name for one in segment):
        return False
    if is_graph(record):
        first = next((one for one in segment if is_graph(one)), record)
        is_pass = bool(pass_of(record.name)[1]) and not starts  # a pass may run on a graph inside this one
        return is_pass or (parameters_of(first) == parameters_of(record) and _AOT_START.match(record.name) is None)
    return is_stage(record) or _OF_GRAPH.match(record.name) is not None


def is_stage(record: Record) -> bool:
    """Whether the payload of a record is a graph, Inductor's program or code."""
    if is_code(record) or record.name.startswith(("ir_", "failed_")):
        return True
    return is_graph(record)


def is_code(record: Record) -> bool:
    """Whether the payload of a record is code that Inductor wrote."""
    return _CODE.fullmatch(record.name) is not None


def is_graph(record: Record) -> bool:
    """Whether the payload of a record reads like a graph."""
    return _GRAPH.match(_head(record, 600)) is not None


def _head(record: Record, size: int) -> bytes:
    """Return the begin of a payload."""
    piece = record.payload
    if piece is None or not piece.spans:
        return b""
    spans = (piece.spans[0], min(piece.spans[1], piece.spans[0] + size)) if piece.size > size else piece.spans
    return Excerpt(piece.source, spans, 0, piece.form).data


def _place_stage(compilation: Compilation, record: Record) -> None:
    """Put a graph into the chain that it belongs to: the captured graph, or one of a side."""
    aot = _AOT.fullmatch(record.name)
    captured = compilation.last("")
    if aot is not None:
        graph = compilation.graph(aot[1], captured)
        graph.parameters = parameters_of(record)
    else:
        graph = _like(compilation, record) or _graph_for(compilation, record, captured)
    graph.records.append(record)


def _graph_for(compilation: Compilation, record: Record, captured: Graph | None) -> Graph:
    """Return the graph for a stage with the parameters of no known side."""
    if is_code(record):
        side = side_of_code(record) or "code"
        return compilation.last(side) or compilation.graph(side, captured)
    if captured is None or not captured.records or pass_of(record.name)[1] == "failed":
        return captured or compilation.graph()
    # A pass may run again on the graph that it ran on; a second graph of a name is another graph.
    again = any(one.name == record.name for one in captured.records)
    same = bool(pass_of(record.name)[1]) and parameters_of(record) == parameters_of(captured.records[-1])
    return compilation.graph() if again and not same else captured


def _like(compilation: Compilation, record: Record) -> Graph | None:
    """Return the latest graph of a side with the parameters of this one."""
    names = parameters_of(record)
    alike = (graph for graph in reversed(compilation.graphs) if graph.side and graph.parameters == names)
    return next(alike, None) if names else None


def _place_segment(compilation: Compilation, segment: Sequence[Record]) -> None:
    """Put the records of Inductor's work on one graph into the chain of its side."""
    if not segment:
        return
    graphs = [record for record in segment if is_graph(record) and record.kind != "file"]
    graph = next((found for record in graphs if (found := _like(compilation, record)) is not None), None)
    if graph is None:
        named = next((record.side for record in segment if record.side), "")
        codes = (side_of_code(record) for record in segment if is_code(record))
        side = named or next(filter(None, codes), "") or ("backward" if _has_tangents(graphs) else "code")
        known = compilation.last(side)
        seen = {(one.name, one.kind == "file") for one in known.records} if known is not None else set()
        again = any((record.name, record.kind == "file") in seen for record in segment)
        graph = known if known is not None and not again else compilation.graph(side, compilation.last(""))
    own = next((parameters_of(record) for record in graphs), ())
    inner: dict[tuple[str, ...], Graph] = {}
    last = graph
    for record in segment:
        if is_graph(record) and record.kind != "file" and (names := parameters_of(record)) != own:
            if names not in inner:
                inner[names] = compilation.graph(f"{graph.side} subgraph", graph)
            last = inner[names]
        elif is_graph(record):
            last = graph
        owner = last if pass_of(record.name)[1] == "failed" else graph if not is_graph(record) else last
        (owner.records if is_stage(record) else owner.extras).append(record)


def _has_tangents(graphs: Sequence[Record]) -> bool:
    return any(name.startswith("tangents_") for record in graphs for name in parameters_of(record))


def side_of_code(record: Record) -> str:
    """Return whether code belongs to a forward, a backward or an inference graph, as its first line says."""
    match = _AOT_ID.search(decode(_head(record, 400)))
    return match[1] if match is not None else ""


def parameters_of(record: Record) -> tuple[str, ...]:
    """Return the names of the parameters of a graph."""
    match = _SIGNATURE.search(decode(_head(record, _HEAD)))
    if match is None:
        return ()
    text = "\n".join(line.partition("#")[0] for line in match[1].split("\n"))
    text = re.sub(r'"[^"\n]*"', "", text)  # types contain commas
    return tuple(_NAME.findall(text))


# ---------------------------------------------------------------- debug files
def join_models(records: Sequence[Record]) -> None:
    """Give the debug files of a model the compile id of the record of a log with the same output code."""
    codes: dict[str, Record] = {}
    for record in records:
        if is_code(record) and record.kind != "file":
            codes.setdefault(record.text, record)
    found: dict[tuple[str, str], Record] = {}
    for record in records:
        if codes and record.kind == "file" and is_code(record) and record.text in codes:
            found[record.compile_id.model, record.side] = codes[record.text]
    for record in records:
        known = found.get((record.compile_id.model, record.side)) if record.kind == "file" else None
        if known is not None:
            record.compile_id = known.compile_id


# ---------------------------------------------------------------- the steps
def stages_of(compilation: Compilation) -> Iterator[Stage]:
    """Yield the steps of a compilation in the order of its tree: captured graph, forward, backward, all else."""
    for record in compilation.first:
        yield _extra(record, compilation, compilation.name)
    order = ("", "inference", "forward", "backward")
    sides = {graph: graph.side.removesuffix(" subgraph") for graph in compilation.graphs}
    rank = {graph: order.index(side) if side in order else 9 for graph, side in sides.items()}
    for graph in sorted(compilation.graphs, key=lambda one: rank[one]):
        yield from _chain(graph, compilation)
        for record in graph.extras:
            yield _extra(record, compilation, graph.unit)
    for record in compilation.rest:
        yield _extra(record, compilation, compilation.name)


def _extra(record: Record, compilation: Compilation, unit: str) -> Stage:
    """Return the step of a record that shows no graph."""
    note = _note_of(record)
    return Stage(record.name, record.name, unit, compilation, None, record, "ignored", note, "record", "text")


def _note_of(record: Record) -> str:
    """Return what a record of a graph break or a recompilation says, in a line."""
    if record.state:
        return record.state
    if record.name == "recompile_reasons":
        rows = [f"{row['version']}: {row['why']}" for row in tables.recompilations([record])]
        return "; ".join(rows)[:_LONGEST_NOTE]
    if record.name == "dynamo_graph_break_reason":
        rows = [f"{row['place']}: {row['detail'] or row['why']}" for row in tables.graph_breaks([record])]
        return "; ".join(rows)[:_LONGEST_NOTE]
    return ""


_LONGEST_NOTE = 300


def pass_of(name: str) -> tuple[str, str]:
    """Return the pass that a record shows, and the side of it: before, after or neither."""
    if name in _AFTER:
        return _AFTER[name], "after"
    match = _PAIR.fullmatch(name)
    if match is None:
        return name, ""
    base = match["name"] or match["name2"]
    return base.removesuffix("_graph"), match["when"] or match["when2"]


def _chain(graph: Graph, compilation: Compilation) -> Iterator[Stage]:
    """Yield the steps of one graph: passes with both sides, and the texts that follow one another."""
    last = next((one.records[-1] for one in (graph.parent,) if one is not None and one.records), None)
    pending: dict[str, Record] = {}
    own = sorted(graph.records, key=_order)
    for record in [one for one in own if one.kind != "file" or not _is_double(one, own)]:
        name, when = pass_of(record.name)
        if when == "before":
            pending[name] = record
            if last is not None and canonical(last) != canonical(record):
                note = f"changed between the records {last.name} and {record.name}: the log does not say by what"
                yield _stage(graph, compilation, f"before {_title(name)}", last, record, note)
            elif last is None:
                step = _stage(graph, compilation, "input", None, record, FIRST_TEXT)
                step.status = "ignored" if not record.state else step.status
                yield step
            last = record
            continue
        before = pending.pop(name, None) if when else None
        if when == "failed":
            first = record.text.partition("\n")[0]
            yield Stage(_title(name), record.name, graph.unit, compilation, before or last, None, "failed", first)
            continue
        title = _title(name if when else record.name)
        step = _stage(graph, compilation, title, before or last, record, loose=before is None)
        step.is_pass = before is not None
        yield step
        last = record
    for name, record in pending.items():
        yield Stage(_title(name), record.name, graph.unit, compilation, record, None, "unknown", _END_MISSING)
    for record in own:
        if record.kind == "file" and _is_double(record, own):
            yield _extra(record, compilation, graph.unit)


_END_MISSING = "the pass began, and the graph after it is not in the log"


def _order(record: Record) -> tuple[int, int]:
    """Return the place of a record in its graph: files of a debug folder have no time, and come before the code."""
    return int(is_code(record)), record.number


def _is_double(record: Record, own: Sequence[Record]) -> bool:
    """Whether a log has the text of a debug file as well."""
    return any(one.name == record.name and one.kind != "file" for one in own)


def _title(name: str) -> str:
    return _TITLES.get(name, name)


def _stage(
    graph: Graph,
    compilation: Compilation,
    name: str,
    before: Record | None,
    after: Record,
    note: str = "",
    loose: bool = False,
) -> Stage:
    language = "torch" if is_graph(after) else "python" if is_code(after) else "text"
    whole = not after.state and (before is None or not before.state)
    same = whole and before is not None and normal(before) == normal(after)
    status = "unknown" if not whole else "unchanged" if same else "changed"
    if status == "changed" and before is not None and loose and is_graph(before) and is_graph(after):
        # Not the two sides of one pass, so that their printers may differ.
        if canonical(before) == canonical(after):
            status, note = "unchanged", note or "the nodes are the same, the text is laid out differently"
    if after.state or (before is not None and before.state):
        note = after.state or f"the text before it: {before.state if before is not None else ''}"
    return Stage(name, after.name, graph.unit, compilation, before, after, status, note, "graph", language)


def normal(record: Record) -> bytes:
    """Return a payload without the address of the graph."""
    data = record.payload.data.replace(b"\r\n", b"\n") if record.payload is not None else b""
    return _NOISE.sub(b"", data).strip()


def canonical(record: Record) -> tuple[str, ...]:
    """Return the nodes and the results of a graph without comments, types, last uses and the layout of its lines.

    Printers differ in these, so that a graph that is printed twice has two texts.
    """
    text = _LAST_USE.sub("", _COMMENT.sub("", decode(normal(record))))
    body, _, end = text.rpartition("return")
    nodes = tuple(re.sub(r"\s+", "", match["name"] + match["value"]) for match in _ASSIGNMENT.finditer(body))
    names = {node.partition("=")[0] for node in nodes}
    # A result may be a parameter as well; printers write these in several ways, and passes leave them as they are.
    return (*nodes, *(name for name in re.findall(r"\w+", end) if name in names))


def banner_of(stage: Stage) -> Banner:
    """Return the heading and the text of a step, for the assembly of a recording."""
    record = stage.after
    piece = record.payload if record is not None else None
    scope = UNIT if stage.kind == "graph" and record is not None and not record.state else FRAGMENT if record else NONE
    source = piece.source if piece is not None else BytesSource(b"", stage.name)
    banner = Banner(source, "after", stage.name, stage.unit, stage.kind, stage.argument, "", stage.status, scope)
    banner.phase, banner.note, banner.language = stage.compilation.name, stage.note, stage.language
    if piece is not None and piece.spans:
        banner.start = banner.body = piece.spans[0]
        banner.end, banner.holes, banner.form = piece.spans[-1], piece.spans[1:-1], piece.form
    if stage.before is not None:
        banner.inputs = stage.before.payload
    return banner
