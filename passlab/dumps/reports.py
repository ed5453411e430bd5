"""What a compiler says about its passes besides programs: remarks, times and statistics, joined to the steps.

    rec.join("x.opt.yaml"), rec.join("trace.json")     # files; tables and remarks in the dump itself are read with it
    rec.reports.remarks, rec.reports.times, rec.reports.statistics

A remark (`-fsave-optimization-record`, `-pass-remarks-output`, `-Rpass`) belongs to the step that printed it, or to the
one step of its pass and function that changed something; where several may have made it, it has their range. A time of
one run of a pass (`-ftime-trace`, `-time-passes-per-run`) becomes the time of the step, if the dump has as many runs.

YAML is read by a reader of the few forms that LLVM writes: no aliases, no tags that make objects, nothing that expands.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from os import PathLike
from typing import TYPE_CHECKING, Any

from passlab import limits
from passlab.atomic_file import checked_path
from passlab.dumps.commands import llvm_pass_argument
from passlab.dumps.source import Excerpt, open_file
from passlab.errors import Diagnostic, DumpError
from passlab.table import Table

if TYPE_CHECKING:
    from passlab.dumps.step import Step

MOST = 16 * 2**20  # bytes of the tables in a dump
SHOWN = 20  # rows of each table beside the steps
_NUMBER = r"\d{1,15}(?:\.\d{1,15})?"
_DOCUMENT = re.compile(r"(?m)^--- !(\w+)[ \t]*\r?$")
_KEY = re.compile(r"(?P<dash>  - |    |)(?P<key>[A-Za-z_][\w.-]*):[ \t]*(?P<value>.*)")
_OPENED = re.compile(r":[ \t]*\{")
_PLACE = re.compile(r"File: *(?P<file>'(?:[^']|'')*'|\"(?:[^\"\\]|\\.)*\"|[^,}]*), *Line: *(?P<line>\d{1,9})")
_COLUMN = re.compile(r"Column: *(\d{1,9})")
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(.))")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
# A line of clang or opt: `x.c:2:70: remark: 'sq' inlined into 'sum' [-Rpass=inline]`.
_LINE = re.compile(
    r"(?m)^(?:(?P<late>remark: )|)(?P<file>[^\s:][^\n:]{0,400}):(?P<line>\d{1,9}):(?P<column>\d{1,9}): "
    r"(?(late)|remark: )(?P<text>[^\n]*?)(?: \[-R(?P<kind>pass(?:-missed|-analysis)?)=(?P<pass>[^\]\n]*)\])?\r?$"
)
_KINDS = {"pass": "Passed", "pass-missed": "Missed", "pass-analysis": "Analysis", None: ""}
_TITLE = re.compile(r"(?m)^===-+===\r?\n *(?:\.\.\. )?(?P<title>[^\n]*?)(?: \.\.\.)? *\r?\n===-+===\r?$")
_ROW = re.compile(rf" *(?:{_NUMBER} +\( *{_NUMBER}%\) +)*(?P<wall>{_NUMBER}) +\( *{_NUMBER}%\) +(?P<name>\S[^\n]*)")
_COUNT = re.compile(r"(?m)^ *(?P<count>\d{1,18}) (?P<pass>[\w.-]+) +- (?P<what>[^\n]+)$")
_OF_PASS = re.compile(r"(?m)^(?P<indent> *)(?:\(S\) +(?P<count>\d{1,18}) +(?P<what>[^\n]+)|(?P<pass>[A-Za-z_]\w*))\r?$")
_NTH = re.compile(r" #(\d{1,6})\Z")
_LEGACY = re.compile(r" \([\w.-]+\)\Z")
_INNER = re.compile(r"([\w-]+)(?:<[^()]*>)?\)*\Z")
# The names under which remarks speak of passes that have another one on the command line.
_ALSO = {
    "loop-unroll-full": "loop-unroll",
    "x86-isel": "sdagisel",
    "greedy": "regalloc",
    "regallocfast": "regalloc",
    "x86-asm-printer": "asm-printer",
}


@dataclass(frozen=True)
class Remark:
    """One remark: what a pass did or did not do, where, and the steps that may have said it (0, 0 for none)."""

    kind: str
    pass_name: str
    name: str
    function: str
    file: str
    line: int
    column: int
    text: str
    first: int = 0
    last: int = 0

    @property
    def place(self) -> str:
        """The place in the source, `x.c:2:70`; empty without one."""
        return f"{self.file}:{self.line}:{self.column}" if self.file else ""


@dataclass
class Reports:
    """The remarks, times and statistics of a recording; a time or count covers all runs of a pass."""

    remarks: list[Remark] = field(default_factory=list)
    times: list[tuple[str, str, float, int]] = field(default_factory=list)  # report, what, seconds, runs
    statistics: list[tuple[str, str, int]] = field(default_factory=list)  # pass, what, count

    def __bool__(self) -> bool:
        return bool(self.remarks or self.times or self.statistics)

    def statistics_of(self, step: Step) -> str:
        """Return what the compiler counted in the pass of a step, over all its runs: `7 Number of insts combined`."""
        if not self.statistics or step.verdict in ("filtered", "ignored"):
            return ""
        names = _arguments(step) | {step.name.removesuffix("Pass")}
        return "; ".join([f"{count} {what}" for owner, what, count in self.statistics if owner in names])

    def tables(self) -> dict[str, Table]:
        """Return the reports that there are, as tables by name."""
        rows = [(r.kind, r.pass_name, r.function, r.place, r.text, remark_range(r.first, r.last)) for r in self.remarks]
        found = {
            "remarks": Table(("kind", "pass", "function", "place", "remark", "step"), rows),
            "times": Table(("report", "what", "seconds", "runs"), self.times),
            "statistics": Table(("pass", "what", "count"), self.statistics),
        }
        return {name: table for name, table in found.items() if table.rows}

    def overview(self) -> dict[str, Table]:
        """Return the first rows of each table, the longest times first."""
        found = self.tables()
        if "times" in found:
            found["times"].rows.sort(key=lambda row: -row[2])
        shown = {}
        for name, table in found.items():
            more = f" (the first {SHOWN} of {len(table.rows):,})" if len(table.rows) > SHOWN else ""
            shown[name + more] = Table(table.columns, table.rows[:SHOWN])
        return shown


def remark_range(first: int, last: int) -> str:
    """Return the steps that may have made a remark: `5`, or `5 to 9`; empty for none."""
    return "" if not first else str(first) if first == last else f"{first} to {last}"


# ---------------------------------------------------------------- reading
def read_report(path: str | PathLike[str]) -> Reports | list[dict[str, Any]]:
    """Return the reports in a file, or the events of a time trace. Raises `DumpError` for a file without any."""
    target = checked_path(path)
    if not target.is_file():
        raise DumpError(Diagnostic(f"there is no file {target}"))
    source = open_file(target)
    limits.check("dump_bytes", source.size, f"reading {target.name}")
    data = source.read(0, source.size)
    if data.startswith(b"RMRK"):
        hint = "llvm-remarkutil bitstream2yaml turns it into YAML; or compile with -fsave-optimization-record=yaml"
        raise DumpError(Diagnostic(f"{target.name} has remarks as a bitstream", hint=hint))
    text = data.decode("utf-8", "replace")
    if text.lstrip().startswith(("{", "[")):
        return _read_json(text, target.name)
    reports = Reports(list(yaml_remarks(text)))
    _read_tables(text, reports)
    reports.remarks += printed_remarks(text)
    if not reports and text.strip():
        hint = "remarks as YAML (-fsave-optimization-record), a trace (-ftime-trace), a table of times or statistics"
        raise DumpError(Diagnostic(f"{target.name} has no report about passes", hint=hint))
    return reports


def _read_json(text: str, name: str) -> Reports | list[dict[str, Any]]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DumpError(Diagnostic(f"{name} is damaged: {error}", hint="the compiler may have been stopped")) from error
    events = data.get("traceEvents") if isinstance(data, dict) else data
    if isinstance(events, list):
        return [one for one in events if isinstance(one, dict)]
    counts = [
        (key, value) for key, value in data.items() if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]
    reports = Reports()
    for key, value in counts:
        owner, _, what = key.partition(".")
        if owner == "time":
            if key.endswith(".wall"):
                reports.times.append(("statistics", what.removesuffix(".wall"), float(value), 0))
        elif value == int(value):
            reports.statistics.append((owner, what or owner, int(value)))
    if not reports and data:
        raise DumpError(Diagnostic(f"{name} has no statistics and no events of a time trace"))
    return reports


def yaml_remarks(text: str) -> Iterator[Remark]:
    """Yield the remarks of a file of LLVM or MLIR, as far as it goes."""
    heads = list(_DOCUMENT.finditer(text))
    limits.check("dump_steps", len(heads), "reading remarks")
    for head, following in zip_longest(heads, heads[1:]):
        end = following.start() if following is not None else len(text)
        remark = _yaml_remark(head[1], text[head.end() : end])
        if remark is not None:
            yield remark


def _yaml_remark(kind: str, text: str) -> Remark | None:
    """Return a remark from the lines of its document; None for one that is cut off before it says its pass."""
    values: dict[str, str] = {}
    words: list[str] = []
    place = ("", 0, 0)
    for line in _whole_lines(text):
        match = _KEY.fullmatch(line)
        if match is None:
            continue
        key, value = match["key"], match["value"]
        if match["dash"] == "  - ":
            words.append(_scalar(value))
        elif not match["dash"] and key == "DebugLoc":
            place = _place(value)
        elif not match["dash"]:
            values[key] = _scalar(value)
    if "Pass" not in values:
        return None
    name, function = values.get("Name", ""), values.get("Function", "")
    return Remark(kind, values["Pass"], name, function, *place, " ".join("".join(words).split()))


def _whole_lines(text: str) -> Iterator[str]:
    """Yield the lines of a document; a mapping in braces that goes on in the next lines is one."""
    open_line = ""
    for line in text.split("\n"):
        line = line.rstrip("\r")
        if open_line and len(open_line) < 10_000:
            line, open_line = f"{open_line} {line.strip()}", ""
        if _OPENED.search(line) and "}" not in line:
            open_line = line
            continue
        yield line


def _place(value: str) -> tuple[str, int, int]:
    match, column = _PLACE.search(value), _COLUMN.search(value)
    if match is None:
        return "", 0, 0
    return _scalar(match["file"].strip()), int(match["line"]), int(column[1]) if column else 0


def _scalar(value: str) -> str:
    """Return the text of a scalar of YAML on one line."""
    value = value.strip(" ")
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    if len(value) > 1 and value[0] == value[-1] == '"':
        return _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _ESCAPES.get(m[2], m[2]), value[1:-1])
    return value


def printed_remarks(text: str) -> Iterator[Remark]:
    """Yield the remarks that a compiler printed as lines."""
    if "remark: " not in text:
        return
    for match in _LINE.finditer(text):
        file = "" if match["file"] == "<unknown>" else match["file"]
        place = (file, int(match["line"]), int(match["column"]))
        yield Remark(_KINDS[match["kind"]], match["pass"] or "", "", "", *place, match["text"])


def _read_tables(text: str, reports: Reports) -> None:
    """Add the tables of times and statistics in a text."""
    heads = list(_TITLE.finditer(text))
    for head, following in zip_longest(heads, heads[1:]):
        body = text[head.end() : following.start() if following is not None else len(text)]
        title = head["title"]
        if "Statistics" in title:
            reports.statistics += [(m["pass"], m["what"].strip(), int(m["count"])) for m in _COUNT.finditer(body)]
        elif "statistics" in title:
            owner = ""
            for line in _OF_PASS.finditer(body):
                owner = line["pass"] or owner
                if line["count"]:
                    reports.statistics.append((owner, line["what"].strip(), int(line["count"])))
        else:
            rows = [match for line in body.split("\n") if (match := _ROW.fullmatch(line.rstrip("\r")))]
            sums: dict[str, list[float]] = {}
            for row in rows:
                sums.setdefault(row["name"].strip(), []).append(float(row["wall"]))
            reports.times += [(title, name, sum(times), len(times)) for name, times in sums.items() if name != "Total"]


# ---------------------------------------------------------------- joining
def reports_of(steps: list[Step], other: Iterable[Excerpt]) -> Reports:
    """Return the reports that are in a dump next to its programs. Remarks belong to the step that printed them."""
    functions = _owners(steps)
    reports = Reports()
    owners = {id(piece): step for step in steps for piece in step.other}
    tables: list[str] = []
    room = MOST
    # Empty lines of a table may count as lines of the program above it, so that it comes in several pieces.
    for piece in sorted(other, key=lambda one: one.spans[0] if one.spans else 0):
        if piece.size > room:
            continue
        text = piece.raw.decode("utf-8", "replace")
        if "===---" in text or tables:
            room -= piece.size
            tables.append(text)
        if "remark: " not in text and "--- !" not in text:
            continue
        step = owners.get(id(piece))
        number = step.number if step is not None else 0
        for one in printed_remarks(text):
            reports.remarks.append(
                replace(one, first=number, last=number) if number else _placed(one, steps, functions)
            )
        reports.remarks += [_placed(one, steps, functions) for one in yaml_remarks(text)]
    _read_tables("\n".join(tables), reports)
    _time_steps(steps, reports.times)
    return reports


def join(reports: Reports, steps: list[Step], path: str | PathLike[str]) -> Reports:
    """Add the reports in a file to the reports of a recording, and return what is new."""
    found = read_report(path)
    if isinstance(found, list):
        found = _trace(steps, found)
    owners = _owners(steps)
    found.remarks = [_placed(one, steps, owners) if not one.first else one for one in found.remarks]
    _time_steps(steps, found.times)
    reports.remarks += found.remarks
    reports.times += found.times
    reports.statistics += found.statistics
    return found


def _arguments(step: Step) -> set[str]:
    """Return the names under which a remark may speak of the pass of a step."""
    legacy = re.search(r"\(([\w-]+)\)\Z", step.name)
    argument = step.argument or (legacy[1] if legacy else llvm_pass_argument(step.name))
    inner = _INNER.search(argument)
    name = inner[1] if inner else argument
    return {name, _ALSO.get(name, name), step.name}


def _owners(steps: list[Step]) -> dict[int, str]:
    """Return the functions of the loops that do not name theirs (LLVM up to 18), by step.

    LLVM runs passes on loops right after those that prepare the function.
    """
    owners: dict[int, str] = {}
    function = ""
    for step in steps:
        if step.kind == "function" and step.unit:
            function = step.unit
        elif step.kind in ("module", "scc"):
            function = ""
        elif step.kind == "loop" and " in function " not in step.unit:
            owners[step.number] = function
    return owners


def _concerns(step: Step, function: str, owners: dict[int, str]) -> bool:
    """Whether a pass ran on a function, or on something around it or inside it."""
    if not function or step.kind == "module" or step.unit in ("[module]", ""):
        return True
    if step.number in owners:
        return owners[step.number] in (function, "")
    return function in (step.unit, *step.names) or function in re.split(r"[\s(),@]+", step.unit)


def _placed(remark: Remark, steps: list[Step], owners: dict[int, str]) -> Remark:
    """Return a remark with the steps that may have made it: the steps that changed something."""
    named = [step for step in steps if remark.pass_name in _arguments(step)] if remark.pass_name else []
    mine = [step for step in named if _concerns(step, remark.function, owners)]
    if remark.kind == "Passed":
        mine = [step for step in mine if step.verdict not in ("unchanged", "filtered", "ignored")] or mine
    return replace(remark, first=mine[0].number, last=mine[-1].number) if mine else remark


def _time_steps(steps: list[Step], times: list[tuple[str, str, float, int]]) -> None:
    """Set the times of steps that a table of times gives: the time of the only run of a pass, or of its nth."""
    runs: dict[str, list[Step]] = defaultdict(list)
    for step in steps:
        for name in {step.name, _LEGACY.sub("", step.name)}:
            runs[name].append(step)
    for report, what, seconds, count in times:
        if "nalysis" in report.partition(" ")[0]:
            continue
        nth = _NTH.search(what)
        mine = runs.get(_NTH.sub("", what)) or runs.get(what.removesuffix("Pass")) or []
        at = int(nth[1]) - 1 if nth else 0
        if (nth or (len(mine) == 1 and count <= 1)) and 0 <= at < len(mine):
            mine[at].seconds = seconds


def _trace(steps: list[Step], events: list[dict[str, Any]]) -> Reports:
    """Set the times of steps from a time trace, for passes of which it has as many runs as the dump."""
    runs: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    totals: dict[str, float] = defaultdict(float)
    counts: Counter[str] = Counter()
    for event in events:
        name, start, length = event.get("name"), event.get("ts"), event.get("dur")
        if event.get("ph") != "X" or not isinstance(name, str):
            continue
        if not isinstance(start, (int, float)) or not isinstance(length, (int, float)):
            continue
        about = event.get("args")
        detail = str(about.get("detail", "")) if isinstance(about, dict) else ""
        name, detail = (detail, "") if name in ("RunPass", "RunLoopPass") else (name, detail)
        runs[name, detail].append((start, length / 1e6))
        totals[name] += length / 1e6
        counts[name] += 1
    mine: dict[tuple[str, str], list[Step]] = defaultdict(list)
    for step in steps:
        legacy = _LEGACY.search(step.name)
        mine[_LEGACY.sub("", step.name), "" if legacy else step.unit].append(step)
    for key, found in mine.items():
        if len(runs.get(key, ())) == len(found):
            for step, (_, seconds) in zip(found, sorted(runs[key]), strict=True):
                step.seconds = seconds
    return Reports(times=[("time trace", name, totals[name], counts[name]) for name in totals])
