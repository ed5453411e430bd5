"""Streams of xDSL (`--print-between-passes`), TVM (`PrintBeforeAll`, `PrintAfterAll`) and torch (logs)."""

from __future__ import annotations

import re

from passlab.dumps.banner import MODULE, Banner, Scan
from passlab.dumps.source import DumpSource, decode, find_lines, match_lines

XDSL_MARK = b"IR after "
TVM_MARK = b" Running Pass: "
_XDSL = re.compile(r"IR after ([\w.-]+(?:\{.*\})?):\s*")
_TVM = re.compile(r"(Before|After) Running Pass: transform\.PassInfo\((?P<info>.*)\)\s*")
_TVM_NAME = re.compile(r'name="((?:[^"\\]|\\.)*)"')
_NEW_PROGRAM = re.compile(rb"\n\n\n\n(?=[a-z]\w*(?:\.\w+)+)")
LAST = "(last pass)"


# ---------------------------------------------------------------- xDSL
def scan_xdsl(source: DumpSource) -> Scan:
    """Return the dumps of xDSL. The result of the last pass comes after the last heading, without one of its own."""
    banners: list[Banner] = []
    for start, end, line, _ in find_lines(source, XDSL_MARK):
        match = _XDSL.fullmatch(decode(line))
        if match is None:
            continue
        if banners:
            banners[-1].end = start
        name, _, options = match[1].partition("{")
        banners.append(Banner(source, "after", name, "builtin.module", "op", name, options.rstrip("}"), start=start))
        banners[-1].scope, banners[-1].body, banners[-1].end = MODULE, end, end
    if banners:
        last = banners[-1]
        last.end = source.size
        cut = _NEW_PROGRAM.search(source.read(last.body, last.end))
        if cut is not None:
            last.end = last.body + cut.end()
            banners.append(_last_pass_banner(source, last.end, banners))
    return Scan(banners)


def _last_pass_banner(source: DumpSource, start: int, banners: list[Banner]) -> Banner:
    """Return the banner of the last pass. A pipeline that ran a clean-up before is assumed to end with it."""
    names = {banner.name for banner in banners[:-1]} - {banners[-1].name}
    name = "canonicalize" if "canonicalize" in names else LAST
    note = "xDSL prints no heading for the last pass"
    if name != LAST:
        note += f"; its name is not in the dump, `{name}` is assumed because the pipeline ran it before"
    banner = Banner(source, "after", name, "builtin.module", "op", name, scope=MODULE, note=note)
    banner.start = banner.body = start
    banner.end = source.size
    return banner


# ---------------------------------------------------------------- TVM
def scan_tvm(source: DumpSource) -> Scan:
    """Return the dumps of TVM's printing instruments; inner passes end before outer ones."""
    banners: list[Banner] = []
    for start, end, line, _ in find_lines(source, TVM_MARK):
        match = _TVM.fullmatch(decode(line))
        if match is None:
            continue
        if banners:
            banners[-1].end = start
        name = _TVM_NAME.search(match["info"])
        options = match["info"] if name is None else match["info"].replace(name[0], "").replace(", ,", ",").strip(", ")
        banner = Banner(source, match[1].lower(), name[1] if name else match["info"], "IRModule", "module")
        banner.options, banner.scope = options, MODULE
        banner.start, banner.body, banner.end = start, end, end
        banners.append(banner)
    if banners:
        banners[-1].end = source.size
    return Scan(banners)


# ---------------------------------------------------------------- torch
TORCH_LINE = re.compile(
    rb"^[VIDWEC]\d{4} [\d:.]+ +\d+ (?P<file>[^\]\n]+):\d+\] (?:\[(?P<graph>[\d/_!]+)\] )?\[__(?P<artifact>\w+)\] ?"
    rb"(?P<rest>[^\n]*)",
    re.MULTILINE,
)
_TORCH_HEAD = re.compile(
    r"(?:\S.*)?={3,}\s*(?P<title>.+?)\s*={3,}|(?P<plain>(?:[A-Z]\w*|Joint|Forward|Backward) graph\b.*)"
)
_TRACED = re.compile(r"TRACED GRAPH\s*")
_OUTPUT = re.compile(r"Output code:.*")
_GRAPHS = re.compile(rb"graph|bytecode|ir_\w+")  # artifacts with a program and without a heading
_UUID = re.compile(r"_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12}\Z")


def scan_torch(source: DumpSource) -> Scan:
    """Return the graphs in the logs of `torch.compile`: snapshots, each of one artifact of one graph."""
    banners: list[Banner] = []
    last: tuple[bytes, bytes] | None = None
    open_one: Banner | None = None
    previous = -1
    for start, end, match in match_lines(source, TORCH_LINE):
        artifact, graph = match["artifact"], match["graph"] or b""
        text = decode(match["rest"])
        traced = _TRACED.fullmatch(text.strip())
        head = _TORCH_HEAD.fullmatch(text.strip()) or (
            _OUTPUT.fullmatch(text.strip()) if artifact == b"output_code" else None
        )
        follows = open_one is not None and open_one.end == open_one.body and open_one.name == "TRACED GRAPH"
        if follows and head is not None and open_one is not None and last == (artifact, graph):
            open_one.name = open_one.options = _title(head, text)
            open_one.body = open_one.end = end
        elif traced or head is not None or last != (artifact, graph) or start != previous:
            if open_one is not None and last == (artifact, graph) and not (traced or head):
                open_one.holes += (open_one.end, start)
                open_one.end = end
            elif not (traced or head or _GRAPHS.fullmatch(artifact)):
                open_one = None  # the log of Dynamo: other output
            else:
                name = "TRACED GRAPH" if traced else _title(head, text) if head else decode(artifact)
                named = bool(traced or head)
                open_one = Banner(source, "after", name, decode(graph), "graph", decode(artifact), scope=MODULE)
                open_one.start, open_one.form, open_one.language = start, "torch", "python"
                open_one.body, open_one.end = (end, end) if named else (start, end)
                open_one.phase = decode(artifact)
                banners.append(open_one)
        elif open_one is not None:
            open_one.end = end
        last, previous = (artifact, graph), end
    return Scan(banners, notes=["the logs show a few snapshots of each graph, not every pass"])


def _title(head: re.Match[str], text: str) -> str:
    groups = head.groupdict()
    return _UUID.sub("", (groups.get("title") or groups.get("plain") or text).strip())
