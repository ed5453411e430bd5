"""The tables of a recording of torch.compile: compilations, graph breaks, recompilations, guards, metrics, events.

Each function takes the records of the logs and returns a `Table`: plain data with a text form, `frame()` for pandas.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from passlab.dumps.torch.records import CompileId, Record
from passlab.table import Table

METRICS = re.compile(r"(?:bwd_)?compilation_metrics(?:_runtime)?")
_PLACE = re.compile(r"Graph break in user code at (?P<file>.+?):(?P<line>\d+)\s*$", re.MULTILINE)
_REASON = re.compile(r"(?:Graph Break )?Reason: ?(?P<reason>[^\n]+)")
_PART = re.compile(r"^\s*(?P<key>Explanation|Hint): (?P<text>.*)$", re.MULTILINE)
_BECAUSE = re.compile(r"(?P<entry>!?[\d/]+/\d+): (?P<reason>.*)", re.DOTALL)
_FRAME = re.compile(r'^\s*File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<name>.+)$')
_GUARD = re.compile(r"^(?P<depth>(?:\| )*)\+- (?P<kind>\w+)(?:: (?P<code>.*))?$")
_SOURCE = re.compile(r"source=(?P<source>.*?), (?:accessed_by|type)=")
_USER = re.compile(
    r"\s+# (?P<line>.*?)\s+# (?P<place>\S+:\d+) in (?P<name>.+)$|\s+# (?P<place2>\S+:\d+) in (?P<name2>.+)$"
)


class Location(NamedTuple):
    """A line of the user's program: file, line (from 1), function and source text, each empty if it is unknown."""

    file: str
    line: int
    function: str = ""
    code: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f" in {self.function}" if self.function else "")


def stack_of(entries: Any, files: dict[int, str]) -> list[Location]:
    """Return the stack of a record, the outermost frame first; `files` are the file names of its log."""
    if not isinstance(entries, list):
        return []
    return [_location(entry, files) for entry in entries if isinstance(entry, dict)]


def _location(entry: dict[str, Any], files: dict[int, str]) -> Location:
    name, line = entry.get("filename"), entry.get("line")
    file = files.get(name, f"file {name}") if isinstance(name, int) else str(name or "")
    function, code = entry.get("name"), entry.get("loc")
    number = line if isinstance(line, int) else 0
    return Location(file, number, str(function or ""), str(code or ""))


def place_of(stack: Sequence[Location]) -> str:
    """Return the innermost line of a stack that is not PyTorch's own, or the innermost if all are."""
    own = [one for one in stack if "/torch/" not in one.file.replace("\\", "/")] or stack
    return f"{own[-1].file}:{own[-1].line}" if own else ""


def traceback_of(text: str) -> list[Location]:
    """Return the frames of a traceback as text."""
    lines = text.split("\n")
    found = []
    for at, line in enumerate(lines):
        match = _FRAME.match(line)
        if match is not None:
            code = lines[at + 1].strip() if at + 1 < len(lines) and not _FRAME.match(lines[at + 1]) else ""
            found.append(Location(match["file"], _number(match["line"]), match["name"], code))
    return found


def _number(text: str) -> int:
    return int(text[:18])  # int() refuses more digits than 4,300


# ---------------------------------------------------------------- graph breaks and recompilations
def graph_breaks(records: Iterable[Record]) -> Table:
    """Return one row per graph break: where, the reason, the explanation and the hint of torch, the record."""
    rows = []
    for record in records:
        if record.name != "dynamo_graph_break_reason":
            continue
        text = record.text
        place, reason = _PLACE.search(text), _REASON.search(text)
        parts = {match["key"]: match["text"] for match in reversed([*_PART.finditer(text)])}
        what = reason["reason"] if reason is not None else " ".join(text.split())[:300]
        detail = _detail(text, reason)
        where = f"{place['file']}:{place['line']}" if place is not None else ""
        row = (str(record.compile_id), where, what, detail, parts.get("Explanation", ""), parts.get("Hint", ""))
        rows.append((*row, record.number))
    return Table(("compile_id", "place", "why", "detail", "explanation", "hint", "record"), rows)


def _detail(text: str, reason: re.Match[str] | None) -> str:
    """Return the first line below the reason that is neither explanation nor hint."""
    if reason is None:
        return ""
    for line in text[reason.end() :].split("\n"):
        if line.strip():
            return "" if _PART.match(line) or line.strip().endswith("traceback:") else line.strip()
    return ""


def recompilations(records: Iterable[Record]) -> Table:
    """Return one row per compiled version that did not fit a call: the guard that failed, and the user's line."""
    rows: list[tuple[Any, ...]] = []
    for record in records:
        if record.name != "recompile_reasons":
            continue
        for reason in _reasons(record.text):
            match = _BECAUSE.fullmatch(reason)
            entry, why = (match["entry"], match["reason"]) if match is not None else ("", reason)
            guard, _, about = why.partition("\n")[0].partition("  # ")
            user = _WHERE.search("  # " + about)
            code, place = (user["line"], user["place"]) if user is not None else (about.strip(), "")
            rows.append((str(record.compile_id), entry, guard.strip(), code, place, record.number))
    return Table(("compile_id", "version", "why", "user_code", "place", "record"), rows)


_WHERE = re.compile(r"\s+# (?P<line>.*?)\s+# (?P<place>\S+:\d+) in ")


def _reasons(text: str) -> list[str]:
    """Return the reasons of a recompilation: a JSON list of texts, or one text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return [text.strip()]
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


# ---------------------------------------------------------------- guards
def guards(records: Iterable[Record], files: Sequence[dict[int, str]]) -> Table:
    """Return one row per guard: its kind, the source it looks at, its code, the user's line it comes from."""
    rows: list[tuple[Any, ...]] = []
    for record in records:
        if record.name == "dynamo_cpp_guards_str":
            rows += [(str(record.compile_id), *row, record.number) for row in _tree_guards(record.text)]
        elif record.kind in ("guard_added_fast", "guard_added"):
            data = record.metadata
            user = stack_of(data.get("user_stack"), files[record.log])
            place = place_of(user)
            rows.append((str(record.compile_id), "SHAPE", "", str(data.get("expr", "")), place, record.number))
    return Table(("compile_id", "kind", "source", "guard", "place", "record"), rows)


def _tree_guards(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, source, code and place of each guard in the tree of guard managers."""
    sources: list[str] = []
    for line in text.split("\n"):
        match = _GUARD.match(line)
        if match is None:
            continue
        depth, code = len(match["depth"]) // 2, match["code"] or ""
        del sources[depth:]
        sources += [sources[-1] if sources else ""] * (depth - len(sources))
        if match["kind"].endswith("Manager"):
            source = _SOURCE.search(code + ", type=")
            sources.append(source["source"] if source is not None else "")
            continue
        user = _USER.search(code)
        place = (user["place"] or user["place2"] or "") if user is not None else ""
        yield match["kind"], sources[-1] if sources else "", code[: user.start() if user else None].strip(), place


# ---------------------------------------------------------------- metrics, symbols, tensors
def metrics(records: Iterable[Record]) -> Table:
    """Return one row per metric of a compilation that has a value; `what` is the kind of its record."""
    rows = []
    for record in records:
        if METRICS.fullmatch(record.kind):
            where = str(record.compile_id)
            data = record.metadata.items()
            rows += [(where, record.kind, key, _flat(value), record.number) for key, value in data if value is not None]
    return Table(("compile_id", "what", "metric", "value", "record"), rows)


def _flat(value: Any) -> Any:
    return value if isinstance(value, (int, float, str)) else json.dumps(value)


def shapes(records: Iterable[Record], files: Sequence[dict[int, str]]) -> Table:
    """Return one row per symbolic shape: its name, its value when it was made, its range, where it comes from."""
    rows = []
    for record in records:
        if record.kind in ("create_symbol", "create_unbacked_symbol"):
            data = record.metadata
            user = stack_of(data.get("user_stack"), files[record.log])
            place = place_of(user)
            values = [str(data.get(key, "")) for key in ("symbol", "val", "vr", "source")]
            rows.append((str(record.compile_id), *values, place, record.number))
    return Table(("compile_id", "symbol", "value", "range", "source", "place", "record"), rows)


def tensors(records: Iterable[Record]) -> Table:
    """Return one row per tensor that a compilation took from the program, with the source that reads it."""
    rows: dict[tuple[Any, ...], list[Any]] = {}
    for record in records:
        data = record.metadata if record.kind in ("describe_tensor", "describe_source") else {}
        key = (record.compile_id, str(data.get("describer_id")), str(data.get("id")))
        if record.kind == "describe_tensor":
            size, stride = str(data.get("size", "")), str(data.get("stride", ""))
            flags = "parameter" if data.get("is_parameter") else "requires grad" if data.get("requires_grad") else ""
            dtype = str(data.get("dtype", "")).removeprefix("torch.")
            rows[key] = [str(record.compile_id), "", dtype, size, stride, str(data.get("device", "")), flags]
            rows[key].append(record.number)
        elif record.kind == "describe_source" and key in rows:
            rows[key][1] = str(data.get("source", ""))
    return Table(("compile_id", "source", "dtype", "shape", "stride", "device", "role", "record"), rows.values())


# ---------------------------------------------------------------- times
class Event(NamedTuple):
    """A timed part of the work: `first` and `last` are the records of its begin and its end."""

    name: str
    compile_id: str
    start: float  # seconds since the first event of the log
    seconds: float
    depth: int
    first: int
    last: int


def events_of(records: Iterable[Record]) -> list[Event]:
    """Return the timed events of the logs, in the order in which they began. One without an end is left out."""
    found: list[Event] = []
    open_ones: dict[tuple[Any, ...], list[tuple[str, float, int]]] = {}
    begin: float | None = None
    for record in records:
        data = _event(record) if record.kind == "chromium_event" else None
        if data is None:
            continue
        name, time = str(data.get("name", "")), float(data["ts"]) / 1e6
        begin = time if begin is None else begin
        stack = open_ones.setdefault((record.log, str(data.get("pid")), str(data.get("tid"))), [])
        if data.get("ph") == "B":
            stack.append((name, time, record.number))
        elif data.get("ph") == "E":
            at = next((at for at in range(len(stack) - 1, -1, -1) if stack[at][0] == name), None)
            if at is not None:
                _, start, number = stack[at]
                del stack[at:]
                args = data.get("args")
                where = str(args.get("compile_id", "")) if isinstance(args, dict) else ""
                found.append(Event(name, where, start - begin, time - start, at, number, record.number))
    return sorted(found, key=lambda event: event.first)


def _event(record: Record) -> dict[str, Any] | None:
    try:
        value = json.loads(record.text)
    except (ValueError, RecursionError):
        return None
    numeric = isinstance(value, dict) and isinstance(value.get("ts"), (int, float))
    return value if numeric else None


def event_table(events: Iterable[Event]) -> Table:
    """Return one row per event."""
    rows = [(e.compile_id, "  " * e.depth + e.name, e.start, e.seconds, e.first) for e in events]
    return Table(("compile_id", "event", "start_seconds", "seconds", "record"), rows)


def seconds_between(events: Sequence[Event], first: int, last: int) -> float | None:
    """Return the time of the outermost events between two records; None without any."""
    total, end, found = 0.0, first, False
    for event in events:
        if event.first >= end and event.first > first and event.last < last:
            total, end, found = total + event.seconds, event.last, True
    return total if found else None


# ---------------------------------------------------------------- compilations
_COLUMNS = ("compile_id", "status", "function", "place", "graphs", "nodes", "guards", "seconds", "called_at")


def compilation_table(
    records: Sequence[Record], files: Sequence[dict[int, str]], graphs: dict[CompileId, int]
) -> Table:
    """Return one row per compilation, and one per attempt that was given up: what it compiled, and how it ended."""
    ids: dict[CompileId, list[Record]] = {}
    for record in records:
        if record.compile_id.frame is not None or record.compile_id.autograd is not None:
            ids.setdefault(record.compile_id.whole, []).append(record)
    rows: list[tuple[Any, ...]] = []
    for whole, own in ids.items():
        attempts = sorted({one.compile_id.attempt for one in own if one.compile_id.attempt is not None})
        for attempt in attempts[:-1]:
            rows.append((str(whole._replace(attempt=attempt)), "restarted", *_start_of(own, files), *[None] * 4, ""))
        metric = next((one.metadata for one in own if one.kind == "compilation_metrics"), {})
        count = sum(graphs.get(key, 0) for key in {one.compile_id for one in own})
        numbers = [metric.get(key) for key in ("graph_node_count", "guard_count", "entire_frame_compile_time_s")]
        status = _status(metric, count, len(attempts)) if whole.frame is not None else "captured"
        name = str(whole._replace(attempt=attempts[-1] if attempts else None))
        rows.append((name, status, *_start_of(own, files), count, *numbers, _caller(own, files)))
    return Table(_COLUMNS, rows)


def _status(metric: dict[str, Any], graphs: int, attempts: int) -> str:
    if not metric:
        return "metrics are missing"
    if metric.get("fail_type"):
        return f"failed: {metric['fail_type']}"
    if not graphs and not metric.get("graph_op_count"):
        return "empty"
    return "compiled" if attempts < 2 else "compiled after a restart"


def _start_of(records: Sequence[Record], files: Sequence[dict[int, str]]) -> tuple[str, str]:
    """Return name and place of the function that a compilation compiles."""
    frames = [stack_of(one.metadata.get("stack"), files[one.log]) for one in records if one.kind == "dynamo_start"]
    last = next((stack[-1] for stack in frames if stack), None)
    return (last.function, f"{last.file}:{last.line}") if last is not None else ("", "")


def _caller(records: Sequence[Record], files: Sequence[dict[int, str]]) -> str:
    """Return the outermost frame that led to a compilation."""
    frames = [stack_of(one.metadata.get("stack"), files[one.log]) for one in records if one.kind == "dynamo_start"]
    first = next((stack[0] for stack in frames if len(stack) > 1), None)
    return f"{first.file}:{first.line}" if first is not None else ""
