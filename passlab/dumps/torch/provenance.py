"""One selection from the line of the user's program to the kernel, through all graphs: nodes, kernels, lines.

    chosen = rec.provenance("0/0 forward").of("addmm")     # a node, a kernel, or a line such as "block.py:11"
    chosen.sources, chosen.nodes, chosen.kernels, chosen.code, chosen.places

Inductor writes which nodes of the graph before its passes became which nodes after them, and which of these became
which kernel. Where this file is missing, the comments of the output code say the same of most kernels. Lines of the
user's program stand in the graphs as comments; a comment is about the nodes below it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from passlab.dumps.torch.tables import Location, traceback_of
from passlab.table import Table

MAPPINGS = "inductor_provenance_tracking_node_mappings"
TRACES = "inductor_provenance_tracking_kernel_stack_traces"
_FILE = re.compile(r"^\s*# File: (?P<file>.+?):(?P<line>\d{1,9}) in (?P<name>.+?)(?:, code: (?P<code>.*))?$")
_NO_FILE = re.compile(r"^\s*# No stacktrace found")
_NODE = re.compile(r'^\s*(?P<name>\w+)(?:: "[^"\n]*")? = (?!=)')
_KERNEL = re.compile(r"^(?P<name>\w+) = async_compile\.\w+\(")
_HANDLE = re.compile(r"^\s*# \[Provenance debug handles\] (?P<handles>.+)$")
_SORTED = re.compile(r"^\s*# Topologically Sorted Source Nodes: \[(?P<names>[^\]]*)\]")
_BECAME = re.compile(r"^\s*#\s+(?P<source>\w+) => (?P<nodes>\w+(?:, \w+)*)\s*$")
_FRAGMENT = re.compile(r"^\s*#\s+%(?P<name>\w+) : .*= call_\w+\[")
_CALL = re.compile(r"^\s+(?:\w+ = )?(?P<name>[A-Za-z_]\w*(?:\.[a-z_]\w*)*?)(?:\.run)?\(")
_NOT_KERNELS = re.compile(
    r"assert_|empty_strided|reinterpret_tensor|get_raw_stream|torch\.cuda|args|del\b|alloc_from_pool|print_performance"
)


@dataclass
class Kernel:
    """A kernel of the output code: its definition, if it has one there, its calls, and what it computes.

    `name` ends with a number where Inductor tells calls apart (`extern_kernels.mm:3`). Lines count from 1.
    """

    name: str
    definition: tuple[int, int] | None = None
    calls: list[int] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    places: list[Location] = field(default_factory=list)

    @property
    def lines(self) -> tuple[int, ...]:
        """All lines of the output code that belong to the kernel."""
        own = range(self.definition[0], self.definition[1] + 1) if self.definition is not None else ()
        return tuple(sorted({*own, *self.calls}))


@dataclass(frozen=True)
class Selection:
    """Nodes of the captured graph (`sources`) and of the graph after the passes (`nodes`) that belong together.

    With them their kernels, lines of the output code (`code`, from 1), and lines of the user's program (`places`).
    """

    sources: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    code: tuple[int, ...] = ()
    places: tuple[Location, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.sources or self.nodes or self.kernels or self.places)

    def __str__(self) -> str:
        rows = [("source nodes", self.sources), ("nodes", self.nodes), ("kernels", self.kernels)]
        rows += [("lines of code", _ranges(self.code)), ("user code", tuple(map(str, self.places)))]
        return "\n".join(f"{name}: {', '.join(values)}" for name, values in rows if values) or "nothing"


def _ranges(lines: Sequence[int]) -> tuple[str, ...]:
    """Return line numbers as ranges."""
    groups: list[list[int]] = []
    for line in lines:
        if groups and groups[-1][-1] + 1 == line:
            groups[-1].append(line)
        else:
            groups.append([line])
    return tuple(f"{group[0]}-{group[-1]}" if len(group) > 1 else str(group[0]) for group in groups)


def is_at(place: Location, name: str) -> bool:
    """Whether a place is the line that a text names: a file, or the end of its path, and a number, as `block.py:11`."""
    file, _, line = name.rpartition(":")
    return str(place.line) == line and (place.file == file or place.file.endswith("/" + file.lstrip("/")))


class GraphText:
    """The nodes of a graph as text: the line of each, and the line of the user's program above it."""

    def __init__(self, text: str) -> None:
        self.lines: dict[str, int] = {}
        self.places: dict[str, Location] = {}
        place: Location | None = None
        for number, line in enumerate(text.split("\n"), 1):
            match = _FILE.match(line)
            if match is not None:
                place = Location(match["file"], int(match["line"]), match["name"], match["code"] or "")
            elif _NO_FILE.match(line):
                place = None
            elif (node := _NODE.match(line)) is not None:
                self.lines[node["name"]] = number
                if place is not None:
                    self.places[node["name"]] = place

    def at(self, line: int) -> str:
        """Return the name of the node on a line, from 1 on; empty without one."""
        return next((name for name, number in self.lines.items() if number == line), "")


class Provenance:
    """The joins of one graph. `kernels` are the kernels of its output code, in the order of their first call."""

    def __init__(self, captured: str, graph: str, code: str, mappings: str = "", traces: str = "") -> None:
        self.captured, self.graph = GraphText(captured), GraphText(graph)
        self.kernels = kernels_of(code)
        maps = _maps(mappings)
        self.notes: list[str] = []
        self._became = maps.get("preToPost", {})
        written = maps.get("cppCodeToPost", {})
        if written:
            self._add_nodes(written)
        else:
            self.notes.append("Inductor wrote no nodes of kernels for this graph: the comments of its code are used")
        for kernel in self.kernels:
            if kernel.name not in written:
                self._sort_names(kernel)
        for name, stacks in _maps(traces).items():
            for kernel in self._named(name):
                kernel.places += [place for stack in stacks for place in traceback_of(stack)[-1:]]

    def _named(self, name: str) -> list[Kernel]:
        exact = [kernel for kernel in self.kernels if kernel.name == name]
        bare = name.rpartition(":")[0] or name
        return exact or [kernel for kernel in self.kernels if kernel.name.rpartition(":")[0] == bare]

    def _add_nodes(self, nodes: dict[str, list[str]]) -> None:
        """Enter the nodes of Inductor's mapping, also for kernels that are not in the code."""
        came = _inverse(self._became)
        for name, names in nodes.items():
            found = self._named(name)
            if not found:
                found = [Kernel(name)]
                self.kernels += found
            for kernel in found:
                kernel.nodes = list(names)
                kernel.sources = _unique(source for node in names for source in came.get(node, ()))

    def _sort_names(self, kernel: Kernel) -> None:
        """Tell the names in the comments apart: nodes of the captured graph, and of the graph after the passes."""
        own = [name for name in kernel.sources if name in self.graph.lines and name not in self.captured.lines]
        kernel.nodes = _unique([*kernel.nodes, *own])
        kernel.sources = [name for name in kernel.sources if name not in own]
        for source in kernel.sources:
            known = self._became.setdefault(source, [])
            known += [node for node in kernel.nodes if node not in known and self._same_place(source, node)]

    def _same_place(self, source: str, node: str) -> bool:
        place = self.captured.places.get(source)
        return place is not None and self.graph.places.get(node) == place

    # ------------------------------------------------------------ asking
    def of(self, name: str) -> Selection:
        """Return what belongs to a node of either graph, a kernel, or a line of the program such as `block.py:11`.

        Empty for a name that is neither.
        """
        if ":" in name and (places := self._places(name)):
            nodes = [node for node, place in self.graph.places.items() if place in places]
            sources = [node for node, place in self.captured.places.items() if place in places]
            kernels = [k for k in self.kernels if any(place[:2] in {p[:2] for p in places} for place in k.places)]
            return self._selection(sources, nodes, kernels)
        kernels = self._named(name)
        if kernels:
            return self._selection([], [node for kernel in kernels for node in kernel.nodes], kernels)
        is_node = name in self.graph.lines or any(name in kernel.nodes for kernel in self.kernels)
        became = self._became.get(name, []) if name in self.captured.lines or not is_node else []
        sources = [name] if name in self.captured.lines or name in self._became else []
        return self._selection(sources, [name, *became] if is_node else became, [])

    def line(self, number: int) -> Selection:
        """Return what belongs to a line of the output code, from 1 on."""
        found = [kernel for kernel in self.kernels if number in kernel.lines]
        return self._selection([], [node for kernel in found for node in kernel.nodes], found)

    def _places(self, name: str) -> set[Location]:
        traced = [place for kernel in self.kernels for place in kernel.places]
        known = {*self.graph.places.values(), *self.captured.places.values(), *traced}
        return {place for place in known if is_at(place, name)}

    def _selection(self, sources: Iterable[str], nodes: Iterable[str], kernels: Sequence[Kernel]) -> Selection:
        came = _inverse(self._became)
        nodes, sources = _unique(nodes), list(sources)
        chosen = list(kernels)
        chosen += [k for k in self.kernels if k not in chosen and any(node in k.nodes for node in nodes)]
        if not nodes:  # a node that has no other form than a kernel's comment
            chosen += [k for k in self.kernels if k not in chosen and any(name in k.sources for name in sources)]
        sources = _unique([*sources, *(s for node in nodes for s in came.get(node, ()))])
        if kernels:
            sources = _unique([*sources, *(source for kernel in kernels for source in kernel.sources)])
        found = [self.graph.places.get(node) for node in nodes] + [self.captured.places.get(name) for name in sources]
        places = _unique(place for place in [*found, *(p for k in kernels for p in k.places)] if place is not None)
        names = tuple(_unique(kernel.name for kernel in chosen))
        code = tuple(sorted({line for kernel in chosen for line in kernel.lines}))
        return Selection(tuple(sources), tuple(nodes), names, code, _by_line(places))

    def table(self) -> Table:
        """Return one row per kernel: its nodes in both graphs, the lines of the program, its lines in the code."""
        rows = []
        for kernel in self.kernels:
            chosen = self._selection([], kernel.nodes, [kernel])
            places = ", ".join(f"{place.file}:{place.line}" for place in chosen.places)
            lines = ", ".join(_ranges(kernel.lines))
            rows.append((kernel.name, ", ".join(kernel.nodes), ", ".join(chosen.sources), places, lines))
        return Table(("kernel", "nodes", "source_nodes", "user_code", "lines"), rows)

    def __repr__(self) -> str:
        return str(self.table())


def _by_line(places: Iterable[Location]) -> tuple[Location, ...]:
    """Return places, each line of a file once: traces name functions and code that comments leave out."""
    found: dict[tuple[str, int], Location] = {}
    for place in places:
        found.setdefault((place.file, place.line), place)
    return tuple(found.values())


def _unique(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _inverse(became: dict[str, list[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for source, nodes in became.items():
        for node in nodes:
            found.setdefault(node, []).append(source)
    return found


def _maps(text: str) -> dict[str, Any]:
    """Return the object of a file of mappings, as far as it has the expected form; empty for no such text."""
    try:
        value = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return {}
    return {key: _clean(inner) for key, inner in value.items()} if isinstance(value, dict) else {}


def _clean(value: Any) -> Any:
    """Return a mapping from names to lists of names, or a list of texts, without what is neither."""
    if isinstance(value, dict):
        return {key: [one for one in names if isinstance(one, str)] for key, names in value.items() if _is_list(names)}
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


# ---------------------------------------------------------------- the output code
def kernels_of(code: str) -> list[Kernel]:
    """Return the kernels of output code: those that it defines and those that it calls, with what comments say."""
    lines = code.split("\n")
    defined: dict[str, Kernel] = {}
    kernels: list[Kernel] = []
    for at, line in enumerate(lines):
        match = _KERNEL.match(line)
        if match is not None:
            end = next((n for n in range(at + 1, len(lines)) if lines[n].startswith("'''")), at)
            kernel = defined[match["name"]] = Kernel(match["name"], (at + 1, end + 1))
            _read_comments(kernel, _comments_above(lines, at))
    inside = {number for kernel in defined.values() for number in kernel.lines}
    for at, line in enumerate(lines):
        call = _CALL.match(line) if at + 1 not in inside else None
        if call is None or not _is_kernel(call["name"], defined):
            continue
        comments = list(_comments_above(lines, at))
        handles = [h for text in comments if (m := _HANDLE.match(text)) for h in m["handles"].split(", ")]
        name = next((h for h in handles if h.rpartition(":")[0] == call["name"]), call["name"])
        known = defined.get(call["name"])
        same = (one for one in kernels if one.name == name and (known is not None or ":" in name))
        found = next(same, None)
        if found is None:  # each call of a library's kernel computes something else
            found = Kernel(name)
            if known is not None:
                found = Kernel(name, known.definition, [], list(known.nodes), list(known.sources))
            kernels.append(found)
        found.calls.append(at + 1)
        _read_comments(found, comments)
    called = {kernel.name.partition(":")[0] for kernel in kernels}
    return [*kernels, *(kernel for name, kernel in defined.items() if name not in called)]


def _is_kernel(name: str, defined: dict[str, Kernel]) -> bool:
    if name in defined or name.startswith(("extern_kernels.", "torch.ops.")):
        return True
    return name.startswith(("triton_", "cpp_")) and _NOT_KERNELS.match(name) is None


def _comments_above(lines: Sequence[str], at: int) -> Iterator[str]:
    """Yield the comments directly above a line; the line that asks for a stream may stand between."""
    number = at - 1
    while number >= 0 and (lines[number].lstrip().startswith("#") or "= get_raw_stream(" in lines[number]):
        yield lines[number]
        number -= 1


def _read_comments(kernel: Kernel, comments: Iterable[str]) -> None:
    """Enter the nodes that comments name."""
    for line in comments:
        if (match := _SORTED.match(line)) is not None:
            kernel.sources = _unique([*kernel.sources, *filter(None, match["names"].split(", "))])
        elif (match := _BECAME.match(line)) is not None:
            kernel.nodes = _unique([*kernel.nodes, *match["nodes"].split(", ")])
        elif (match := _FRAGMENT.match(line)) is not None:
            kernel.nodes = _unique([*kernel.nodes, match["name"]])
