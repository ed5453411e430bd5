"""The records of a `TORCH_TRACE` log: every line that begins one is read or refused, and the counts of both add up.

A record is a line of a prefix and a JSON object, and then its payload, each line of which begins with a tab:

    V1127 18:48:20.784000 671 torch/graph_compile.py:1619] {"aot_joint_graph": {}, "frame_id": 0, "has_payload": "8071"}
    <tab>class joint_helper(torch.nn.Module):

The first key of the object that is not about its context is the kind of the record; `has_payload` is the MD5 digest of
the payload. The digest decides whether a payload is whole, so that other output between its lines does no harm.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from passlab import limits
from passlab.dumps.source import FORMS, DumpSource, Excerpt, chunks, decode

CUT_OFF = "cut off here"
DAMAGED = "its text is not what its checksum says"
UNNAMED = "the record names no payload, and one follows"
TAB = "tab"  # the form of a payload: the tab in front of each line is not part of it

_TOP = re.compile(rb"(?m)^(?!\t|\r?\n|\r?\Z)[^\n]+")  # every line that is not a payload
_HEADER = re.compile(
    rb"(?:\[rank(?P<rank>\d{1,9})\]:)?[A-Z](?P<time>\d{4} [\d:.]+) +\d+ (?P<file>[^\]\n]+):(?P<line>\d+)\] "
    rb"(?P<json>\{.*)"
)
_BEGIN = re.compile(_HEADER.pattern.replace(rb"(?P<json>\{.*)", rb'\{"'))
_CONTEXT = frozenset(
    (
        *("rank", "compiled_autograd_id", "frame_id", "frame_compile_id", "attempt", "severity", "timestamp"),
        *("pathname", "thread", "subgraph_name", "has_payload", "stack", "process"),
    )
)


class CompileId(NamedTuple):
    """A compilation: frame, recompilation of it, and attempt, as in `0/0_1`; None for what a record does not say."""

    frame: int | None = None
    compile: int | None = None
    attempt: int | None = None
    autograd: int | None = None
    rank: int | None = None  # of the process, where several wrote logs
    model: str = ""  # of a debug folder, which names models and not frames
    again: int = 0  # how often the log began this compilation before: after `torch._dynamo.reset()` frames count anew

    def __str__(self) -> str:
        rank = f"rank {self.rank} " if self.rank is not None else ""
        if self.model:
            return rank + self.model
        if self.frame is None and self.autograd is None:
            return rank.strip()
        autograd = f"!{self.autograd}" if self.autograd is not None else ""
        if self.frame is None:
            return rank + autograd
        attempt = f"_{self.attempt}" if self.attempt else ""
        again = f" (again {self.again})" if self.again > 1 else " (again)" if self.again else ""
        return f"{rank}{autograd + '/' if autograd else ''}{self.frame}/{_shown(self.compile)}{attempt}{again}"

    @property
    def whole(self) -> CompileId:
        """The compilation with all of its attempts."""
        return self._replace(attempt=None)


def _shown(number: int | None) -> str:
    return "-" if number is None else str(number)


@dataclass(slots=True, eq=False)
class Record:
    """One record of a log, or one file of a folder.

    `kind` is the key of the record, `name` what tlparse calls it. `state` is empty for a whole record, else `CUT_OFF`,
    `DAMAGED` or `UNNAMED`.
    """

    number: int
    kind: str
    name: str
    compile_id: CompileId
    payload: Excerpt | None = None
    head: tuple[DumpSource, int, int] | None = None  # the line of a log that begins it
    state: str = ""
    log: int = 0  # the number of the log in a folder with several
    subgraph: str = ""
    module: str = ""  # which module of the process it shows, where a live recorder says so
    side: str = ""  # forward, backward or inference, where the name of a folder says so

    @property
    def text(self) -> str:
        """The payload; empty without one."""
        return self.payload.text if self.payload is not None else ""

    @property
    def place(self) -> str:
        """The line of PyTorch that wrote the record, or the file that is the record."""
        match = self._header()
        if match is None:
            return self.payload.source.name if self.payload is not None else ""
        return f"{decode(match['file'])}:{int(match['line'][:18])}"

    @property
    def time(self) -> str:
        """Month and day, and the time of day, as the log has them; empty for a file."""
        match = self._header()
        return decode(match["time"]) if match is not None else ""

    def _header(self) -> re.Match[bytes] | None:
        if self.head is None:
            return None
        source, start, end = self.head
        return _HEADER.match(source.read(start, end))

    @property
    def metadata(self) -> dict[str, Any]:
        """The JSON object of the record, without what it says about its context."""
        value = _object_of(self._header())
        inner = value.get(self.kind) if value is not None else None
        return inner if isinstance(inner, dict) else {"value": inner} if self.head is not None else {}

    def __repr__(self) -> str:
        where = f" of {self.compile_id}" if str(self.compile_id) else ""
        return f"<record {self.number}: {self.name}{where}{', ' + self.state if self.state else ''}>"


@dataclass(slots=True)
class Refusal:
    """A line of a log that is not a record: where it is, and why."""

    line: int
    cause: str
    excerpt: Excerpt

    def __str__(self) -> str:
        return f"{self.excerpt.source.name}, line {self.line}: {self.cause}"


@dataclass
class Log:
    """The records of one log, the lines that are not records, and its table of file names."""

    records: list[Record] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    files: dict[int, str] = field(default_factory=dict)


def is_log(source: DumpSource) -> bool:
    """Whether the first chunk of a stream has a record."""
    for _, data in chunks(source):
        return any(_BEGIN.match(match[0]) for match in _TOP.finditer(data))
    return False


def scan_log(source: DumpSource, number: int = 0, first: int = 1, rank: int | None = None) -> Log:
    """Return the records and the refused lines of a log; its records count from `first` on."""
    log = Log()
    ids: dict[CompileId, CompileId] = {}
    tops = [
        _Top(start, end, line, _parse(text, (source, start, end), rank, ids))
        for start, end, text, line in _tops(source)
    ]
    ends = [*[top.start for top in tops[1:]], source.size]
    orphans = tops[0].start if tops else source.size
    if orphans and source.read(0, orphans).strip():
        log.refusals.append(Refusal(1, "a payload without its record", Excerpt(source, (0, orphans), 0, TAB)))
    for at, top in enumerate(tops):
        limits.check("dump_steps", len(log.records), f"reading {source.name}")
        last = at + 1 == len(tops)
        if top.entry is None:
            cut = last and source.read(source.size - 1, source.size) != b"\n"
            cause = CUT_OFF if cut else _cause(source.read(top.start, top.end))
            # The lines of a payload below it are its own, unless they are the rest of the payload above.
            end = top.end if _is_taken(log, ends[at]) else ends[at]
            log.refusals.append(Refusal(top.line, cause, Excerpt(source, (top.start, end))))
            continue
        record, digest = top.entry
        record.number, record.log = first + len(log.records), number
        log.records.append(record)
        _add_payload(record, digest, source, _ranges(tops, ends, at), last)
        if record.kind == "str":
            _add_file(log.files, record.metadata.get("value"))
    _count_resets(log.records)
    return log


def _count_resets(records: list[Record]) -> None:
    """Number the compilations whose id comes again, because the program reset torch.compile: each is one of its own."""
    begun: dict[CompileId, int] = {}
    for at, record in enumerate(records):
        whole = record.compile_id.whole
        if record.kind == "dynamo_start" and not record.compile_id.attempt and whole.frame is not None:
            begun[whole] = begun.get(whole, -1) + 1
            if begun[whole]:
                for before in range(at - 1, -1, -1):  # what a compilation says before it starts
                    early = records[before]
                    is_early = early.name in ("chromium_event", "recompile_reasons", "str")
                    if not is_early or early.compile_id.whole._replace(again=0) not in (whole, CompileId()):
                        break
                    if early.name == "chromium_event" and b'"ph": "E"' in (
                        early.payload.data if early.payload else b""
                    ):
                        break  # the end of the compilation before
                    if early.name != "str":
                        early.compile_id = early.compile_id._replace(again=begun[whole])
        if begun.get(whole):
            record.compile_id = record.compile_id._replace(again=begun[whole])


class _Top(NamedTuple):
    """A line that is not a line of a payload: where it is, its number, the record with the digest of its payload."""

    start: int
    end: int
    line: int
    entry: tuple[Record, Any] | None


_PREFIX = re.compile(rb"(?:\[rank\d+\]:)?[A-Z]\d")


def _tops(source: DumpSource) -> Iterator[tuple[int, int, bytes, int]]:
    """Yield start, end, text and number of each line that is neither empty nor a line of a payload."""
    lines = 1
    for base, data in chunks(source):
        last = 0
        for match in _TOP.finditer(data):
            lines += data.count(b"\n", last, match.start())
            last = match.start()
            end = min(match.end() + 1, len(data))
            if match[0].strip():
                yield base + match.start(), base + end, match[0].rstrip(b"\r"), lines
        lines += data.count(b"\n", last)


def _is_taken(log: Log, end: int) -> bool:
    """Whether the payload of the last record reaches over the lines up to `end`."""
    last = log.records[-1].payload if log.records else None
    return last is not None and bool(last.spans) and last.spans[-1] >= end


def _ranges(tops: list[_Top], ends: list[int], at: int) -> list[tuple[int, int]]:
    """Return the ranges of payload below record `at`: up to the next record, without the refused lines between."""
    ranges = [(tops[at].end, ends[at])]
    for following in range(at + 1, min(len(tops), at + _MOST_BETWEEN)):
        if tops[following].entry is not None:
            break
        ranges.append((tops[following].end, ends[following]))
    return ranges


_MOST_BETWEEN = 64  # refused lines inside one payload


def _add_payload(record: Record, digest: Any, source: DumpSource, ranges: list[tuple[int, int]], last: bool) -> None:
    """Set the payload and the state of a record: the digest decides how many of the ranges below it are its own."""
    pieces = [source.read(start, end) for start, end in ranges]
    if digest is None:
        if pieces[0].strip(b"\r\n"):
            record.payload, record.state = Excerpt(source, ranges[0], 0, TAB), UNNAMED
        return
    known = isinstance(digest, str) and _MD5.fullmatch(digest) is not None
    # From the shortest: a payload reaches over other output only where its digest says so.
    for count in range(1, len(pieces) + 1):
        if not known or _digest(b"".join(pieces[:count])) == digest:
            break
    else:
        count = 1
        record.state = CUT_OFF if last or (len(pieces) > 1 and ranges[-1][1] >= source.size) else DAMAGED
    chosen = tuple([edge for piece in ranges[:count] if piece[0] < piece[1] for edge in piece])
    record.payload = Excerpt(source, chosen, 0, TAB)


def without_tabs(data: bytes) -> bytes:
    """Return a payload without the tab in front of each line."""
    return data.removeprefix(b"\t").replace(b"\n\t", b"\n")


FORMS[TAB] = without_tabs


def _digest(data: bytes) -> str:
    text = without_tabs(data.replace(b"\r\n", b"\n"))
    return hashlib.md5(text.removesuffix(b"\n"), usedforsecurity=False).hexdigest()


def _object_of(match: re.Match[bytes] | None) -> dict[str, Any] | None:
    try:
        value = json.loads(match["json"].decode("utf-8", "surrogateescape")) if match is not None else None
    except (ValueError, RecursionError):  # no JSON, a number of too many digits, or too deep a nesting
        return None
    return value if isinstance(value, dict) else None


def _cause(text: bytes) -> str:
    match = _HEADER.match(text)
    if match is None:
        return "not a record" if not _PREFIX.match(text) else "a message without a JSON object"
    try:
        json.loads(decode(match["json"]))
    except (ValueError, RecursionError) as error:
        return f"its JSON object cannot be read: {error}"
    return "its JSON object names no kind of record"


def _parse(
    text: bytes, head: tuple[DumpSource, int, int], rank: int | None, ids: dict[CompileId, CompileId]
) -> tuple[Record, Any] | None:
    """Return the record that a line begins and the digest of its payload; None for a line that begins none."""
    value = _object_of(_HEADER.match(text))
    if not value:
        return None
    kind = next((key for key in value if key not in _CONTEXT), None)
    if kind is None:
        return None
    inner = value[kind]
    name = str(inner["name"]) if kind in _NAMED and isinstance(inner, dict) and "name" in inner else kind
    frame, version, attempt = (_number(value.get(key)) for key in ("frame_id", "frame_compile_id", "attempt"))
    compile_id = CompileId(frame, version, attempt, _number(value.get("compiled_autograd_id")), rank)
    record = Record(0, sys.intern(kind), sys.intern(name), ids.setdefault(compile_id, compile_id), None, head)
    subgraph, graph = value.get("subgraph_name"), inner.get("graph") if isinstance(inner, dict) else None
    if isinstance(subgraph, str):
        record.subgraph = subgraph
    if _number(graph) is not None:
        record.module = f"graph {graph}"
    return record, value.get("has_payload")


_MD5 = re.compile(r"[0-9a-f]{32}")
_NAMED = frozenset(("artifact", "graph_dump", "dump_file", "optimize_ddp_split_child", "link"))


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _add_file(files: dict[int, str], value: Any) -> None:
    """Enter a pair of file name and number, the form in which stacks name files."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and _number(value[1]) is not None:
        files[value[1]] = value[0]
