"""`read`: a dump of any known format as a recording; file names and the first lines decide the format.

The file begins with streams of xDSL (`--print-between-passes`), TVM (`PrintBeforeAll`, `PrintAfterAll`) and torch
(logs).
"""

from __future__ import annotations

import io
import os
import re
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from passlab import limits
from passlab.arguments import checked
from passlab.atomic_file import checked_path
from passlab.dumps import folders, iree, llvm, mlir, pictures, stages, torch, triton, xla
from passlab.dumps.assembly import CRASH, Assembly
from passlab.dumps.banner import MODULE, Banner, Scan
from passlab.dumps.extents import extent_of, root_operation
from passlab.dumps.language import GCC, HLO, LLVM, MLIR, ONNX, PYTHON, RUST, TEXT, TORCH, Language
from passlab.dumps.listed_passes import is_short
from passlab.dumps.plain_text import SAMPLE, plain
from passlab.dumps.recording import TextRecording
from passlab.dumps.source import (
    UNPACKING_ERRORS,
    BytesSource,
    DumpSource,
    Excerpt,
    FileSource,
    Section,
    chunks,
    decode,
    find_lines,
    match_lines,
    open_file,
    spool,
    unpacked,
)
from passlab.dumps.verdicts import Traits
from passlab.dumps.withdrawn_verdicts import (
    doubt_equal_texts,
    doubt_left_out,
    doubt_mixed,
    doubt_repeated,
    doubt_texts,
    is_only_changes,
)
from passlab.errors import Diagnostic, DumpError, did_you_mean, type_in_words

XDSL_MARK = b"IR after "
TVM_MARK = b" Running Pass: "
_XDSL = re.compile(r"IR after ([\w.-]+(?:\{.*\})?):\s*")
_TVM = re.compile(r"(Before|After) Running Pass: transform\.PassInfo\((?P<info>.*)\)\s*")
_TVM_NAME = re.compile(r'name="((?:[^"\\]|\\.)*)"')
LAST = "(last pass)"


# ---------------------------------------------------------------- xDSL
def scan_xdsl(source: DumpSource) -> Scan:
    """Return the dumps of xDSL. The result of the last pass of a run stands below that before, without a heading."""
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
        banners[-1].end = source.size
    runs: list[list[Banner]] = [[]]
    for banner in banners:
        runs[-1].append(banner)
        stop = banner.end
        data = source.read(banner.body, stop)
        spans = extent_of(data, banner, "mlir").spans
        following = root_operation(data[spans[-1] :], len(data) - spans[-1]) if spans else None
        if following is not None and (stop == source.size or following[0].rstrip().endswith(b"{")):
            banner.end = banner.body + spans[-1]
            runs[-1].append(_last_pass_banner(source, banner.end, stop, runs[-1]))
            runs.append([])
    runs = [run for run in runs if run]
    for number, run in enumerate(runs if len(runs) > 1 else (), start=1):  # as of the parts of a file that is split
        for banner in run:
            banner.phase = f"run {number}"
    return Scan([banner for run in runs for banner in run])


def _last_pass_banner(source: DumpSource, start: int, end: int, banners: list[Banner]) -> Banner:
    """Return the banner of the last pass. A pipeline that ran a clean-up before is assumed to end with it."""
    names = {banner.name for banner in banners[:-1]} - {banners[-1].name}
    name = "canonicalize" if "canonicalize" in names else LAST
    note = "xDSL prints no heading for the last pass"
    if name != LAST:
        note += f"; its name is not in the dump, `{name}` is assumed because the pipeline ran it before"
    banner = Banner(source, "after", name, "builtin.module", "op", name, scope=MODULE, note=note)
    banner.start = banner.body = start
    banner.end = end
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
_OUTPUT = re.compile(r"(?P<plain>Output code):.*")
_GRAPHS = re.compile(rb"graph|bytecode|ir_\w+")  # artifacts with a program and without a heading
_FEW = (
    "the logs show a few snapshots of each graph, not every pass: passlab.recorders.torch.record(function, *args) "
    "records those"
)
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
                banners.append(open_one)
        elif open_one is not None:
            open_one.end = end
        last, previous = (artifact, graph), end
    for banner in banners:
        banner.phase = _program_of(banner)
        if banner.argument in _READABLE:
            banner.language = "torch"
    return Scan(banners, notes=[_FEW])


_SIDES = ("aot_graphs", "aot_joint_graph", "post_grad_graphs", "pre_grad_graphs")
_READABLE = (*_SIDES, "graph_code")  # printed as modules of Python
_AOT_ID = re.compile(rb"# AOT ID: [^\n]*")


def _program_of(banner: Banner) -> str:
    """Return the program of a snapshot: a compilation, and forward or backward, or code of another kind.

    Only graphs of one side of one compilation are states of one program.
    """
    head = banner.source.read(banner.body, min(banner.end, banner.body + 2**20))
    is_back = b"_backward']" in told[0] if (told := _AOT_ID.search(head)) else b" tangents_" in head
    side = "joint" if banner.name.startswith("Joint") else "backward" if is_back else "forward"
    if banner.argument not in _SIDES:
        side = f"{side} code" if banner.argument == "output_code" else banner.argument
    return f"{banner.unit} {side}".strip()


def _title(head: re.Match[str], text: str) -> str:
    groups = head.groupdict()
    return _UUID.sub("", (groups.get("title") or groups.get("plain") or text).strip())


# Several programs in one dump: each is assembled by itself, and their steps follow one another.


def assemble(scan: Scan, traits: Traits, language: Language) -> Assembly:
    """Return the assembly of a dump, whose programs differ by the phases of their banners."""
    runs = [(phase, list(banners)) for phase, banners in groupby(scan.banners, key=lambda banner: banner.phase)]
    if len(runs) < 2:
        whole = Assembly(scan, traits, language)
        whole.run()
        return whole
    combined = Assembly(scan, replace(traits, chains=True), language)
    for phase, banners in runs:
        part = Assembly(Scan(banners), replace(traits, chains=False), language)
        part.run()
        combined.append(part, phase)
    return combined


SAMPLED = 400  # passes that decide whether a dump has all passes or only those that changed something


@dataclass(frozen=True)
class Format:
    """A format: name, language, reader and mark of streams, or reader and test of folders, and what its dumps prove."""

    name: str
    language: Language
    traits: Traits
    stream: Callable[[DumpSource], Scan] | None = None
    mark: bytes = b""
    folder: Callable[[list[Path], Path], Scan] | None = None
    is_folder: Callable[[list[str]], bool] | None = None
    read_stream: Callable[[DumpSource], TextRecording] | None = None  # of formats that are more than a list of passes
    read_folder: Callable[[list[Path], Path], TextRecording] | None = None


def _matches(pattern: re.Pattern[str]) -> Callable[[list[str]], bool]:
    return lambda names: any(pattern.fullmatch(name) for name in names)


FORMATS = (
    Format("llvm", LLVM, Traits(), llvm.scan_stream, llvm.MARK),
    Format("mlir", MLIR, Traits(closed=True, wraps=True), mlir.scan_stream, mlir.MARK),
    Format("tvm", PYTHON, Traits(nested=True), scan_tvm, TVM_MARK),
    Format("torch", PYTHON, Traits(chains=True, snapshots=True), scan_torch, b"] [__"),
    Format("xdsl", MLIR, Traits(), scan_xdsl, XDSL_MARK),
    Format("llvm-directory", LLVM, Traits(), folder=lambda f, _: llvm.scan_folder(f), is_folder=llvm.is_folder),
    Format(
        "llvm-pictures",
        LLVM,
        Traits(says_changes=True),
        folder=lambda f, _: pictures.scan_pictures(f),
        is_folder=pictures.is_folder,
    ),
    Format(
        "xla",
        HLO,
        Traits(chains=True, starts_unchanged=True),
        is_folder=xla.is_folder,
        read_folder=xla.read_folder,
    ),
    Format(
        "rustc",
        RUST,
        Traits(pairs_only=True),
        folder=lambda f, _: folders.scan_rust(f),
        is_folder=_matches(folders.RUST_FILE),
    ),
    Format(
        "gcc", GCC, Traits(closed=True), folder=lambda f, _: folders.scan_gcc(f), is_folder=_matches(folders.GCC_FILE)
    ),
    Format(
        "triton",
        MLIR,
        Traits(),
        is_folder=triton.is_folder,
        read_stream=triton.read_log,
        read_folder=triton.read_folder,
    ),
    Format("iree-phases", MLIR, Traits(), is_folder=iree.is_folder, read_folder=iree.read_folder),
    Format(
        "mlir-tree",
        MLIR,
        Traits(closed=True, assumes_first=True, wraps=True, unordered=True),
        folder=mlir.scan_tree,
        is_folder=mlir.is_tree,
    ),
    Format(
        "tvm-dumpir",
        PYTHON,
        Traits(nested=True),
        folder=lambda f, _: folders.scan_dumpir(f),
        is_folder=_matches(folders.DUMPIR_FILE),
    ),
    Format(
        "torch-trace",
        TORCH,
        Traits(),
        is_folder=torch.is_folder,
        read_stream=torch.read_log,
        read_folder=torch.read_folder,
    ),
    Format("onnx", ONNX, Traits(), folder=lambda f, _: folders.scan_onnx(f), is_folder=_matches(folders.ONNX_FILE)),
)
NAMES = tuple(one.name for one in FORMATS)


@checked
def read(path_or_stream: Any, format: str | None = None, *, every_pass: bool = False) -> TextRecording:
    """Return a recording of the passes in a dump: a file, a folder, an archive, a stream of bytes or text, or bytes.

    `format` is one of `passlab.dumps.NAMES`; by default it is recognised. `every_pass` says that the compiler printed
    all of its passes and no list of them, where a stream does not show that. Raises `DumpError` where nothing can be
    read, and for an unknown format; damaged dumps are read as far as they go.
    """
    chosen = _format_named(format)
    if isinstance(path_or_stream, (str, os.PathLike)):
        path = checked_path(path_or_stream)
        if not os.path.exists(path):  # noqa: PTH110 - `exists` raises for a name that no file can have
            raise DumpError(Diagnostic(f"there is no file or folder {path}"))
        try:
            if path.is_dir():
                return _read_folder(path, chosen)
            if _is_tar(path):
                hint = "unpack it (`tar xf`), and read the folder"
                raise DumpError(Diagnostic(f"{path.name} is an archive", hint=hint))
            return _read_stream(open_file(path), chosen, every_pass)
        except OSError as error:  # a file that is gone since the folder was listed, or that this user may not read
            hint = "a compiler may still write there: read it again"
            raise DumpError(Diagnostic(f"{path.name} cannot be read: {error}", hint=hint)) from error
    if isinstance(path_or_stream, (bytes, bytearray, memoryview)):
        return _read_stream(BytesSource(bytes(path_or_stream)), chosen, every_pass)
    if hasattr(path_or_stream, "read"):
        stream = getattr(path_or_stream, "buffer", path_or_stream)  # the bytes below an open text file
        name = getattr(path_or_stream, "name", "")  # an unnamed file has a number there
        name = name if isinstance(name, str) and name else "0" if name == 0 else "dump"
        source = spool(stream, "standard input" if name in ("<stdin>", "0") else Path(name).name)
        return _read_stream(source, chosen, every_pass)
    hint = "a path, an open file, or bytes; `passlab.dumps.read_text(text)` reads a text"
    raise DumpError(Diagnostic(f"{type_in_words(path_or_stream)} is not a dump", hint=hint))


def _is_tar(path: Path) -> bool:
    try:
        return tarfile.is_tarfile(path)
    except UNPACKING_ERRORS:  # a damaged compressed file; `open_file` says what is wrong with it
        return False


@checked
def read_text(text: str, format: str | None = None, *, every_pass: bool = False) -> TextRecording:
    """Return a recording of the passes in the text of a dump; see `read`. Raises `DumpError` for an unknown format.

    >>> dump = '''*** IR Dump Before InstCombinePass on f ***
    ... define i32 @f(i32 %x) {
    ...   ret i32 %x
    ... }
    ... *** IR Dump After InstCombinePass on f ***
    ... define i32 @f(i32 %x) {
    ...   ret i32 0
    ... }'''
    >>> dumps.read_text(dump).summary()
    '1 pass (llvm): 1 changed'
    """
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise DumpError(Diagnostic("the text contains half of a character, which no file can hold")) from None
    return read(io.BytesIO(data), format, every_pass=every_pass)


def _format_named(name: str | None) -> Format | None:
    if name is None:
        return None
    entry = next((one for one in FORMATS if one.name == name), None)
    if entry is None:
        hint = did_you_mean(name, NAMES) or f"there are {', '.join(NAMES)}"
        raise DumpError(Diagnostic(f"there is no format `{name}`", hint=hint))
    return entry


# ---------------------------------------------------------------- streams
def _read_stream(source: DumpSource, chosen: Format | None, every_pass: bool = False) -> TextRecording:
    limits.check("dump_bytes", source.size, f"reading {source.name}")
    source = plain(unpacked(source))
    if chosen is None:
        chosen = detect(source)
        if chosen is not None and chosen.name in ("llvm", "mlir") and len(runs := _runs(source, chosen.name)) > 1:
            return _read_mixed(source, runs)
    if chosen is not None and chosen.read_stream is not None:
        return chosen.read_stream(source)
    if chosen is None:
        notes = [source.note] if source.note else []
        notes += _why_no_dump(source.name, decode(source.read(0, 4000)))
        scan = Scan([], [Excerpt(source, (0, source.size))] if source.size else [], notes)
        return _recording(Format("text", TEXT, Traits()), scan, source.name, source.size)
    if chosen.stream is None:
        raise DumpError(Diagnostic(f"{chosen.name} is a format of folders", hint="give the folder, not one file"))
    scan = chosen.stream(source)
    if every_pass and scan.is_list:
        scan.is_list = scan.is_partial = False
    scan.other += _other_ranges(source, scan.banners)
    scan.notes += [source.note] if source.note else []
    recording = _recording(chosen, scan, source.name, source.size)
    if source.is_narrow:
        doubt_texts(recording.steps, "the lines of the dump are cut off or wrapped")
    return recording


# What is no dump, by the ending of its name or by its text: what it is, and what records its passes. The lines of an
# IR are a program in a log as well; `import` and `#include` stand in many a message.
_PROGRAMS = (
    ("LLVM IR", (".ll", ".bc"), r"^(?:; ModuleID = |define [^\n]*\{$|target triple = )", "opt -O2 {}"),
    ("Triton's IR", (".ttir", ".ttgir"), r"\btt\.func\b", "triton-opt ... {}"),
    ("MLIR", (".mlir", ".stablehlo"), r"^(?:builtin\.)?module\b[^\n]*\{$|^func\.func ", "mlir-opt --canonicalize {}"),
    ("C or C++", (".c", ".cc", ".cpp", ".cxx"), r"\A#include [<\"]", "clang -O2 -c {}"),
    ("PTX", (".ptx",), r"^\.version \d", "recorders.triton.record(kernel, signature)"),
    ("Python", (".py", ".ipynb"), r"\A(?:import \w|from [\w.]+ import )", "recorders.torch.record(function, *inputs)"),
)
_ABOVE = re.compile(r"(?:[ \t]*(?:(?:;|//|#[! ]|/\*|\*)[^\n]*)?\n)*")  # lines of comments above a program


def _why_no_dump(name: str, head: str) -> list[str]:
    """Return what a text without a heading of a pass is, and what to do."""
    if not head.strip():
        return [
            "it is empty; compilers print their passes to standard error: `2> dump.txt`, or `2>&1 | passlab dump -`"
        ]
    if "\0" in head:
        return ["it has bytes that are not of a text"]
    first = next(line.strip() for line in head.split("\n") if line.strip())
    notes = [f"its first line is: {first[:200]}"]  # perhaps the compiler says why it printed no dump
    above = _ABOVE.match(head)
    begin = above.end() if above is not None else 0
    end = head.find("\n", begin)
    by_name = [one for one in _PROGRAMS if name.endswith(one[1])]
    for what, _, text, command in by_name or _PROGRAMS:
        piece = re.compile(text, re.MULTILINE).search(head if by_name or not text.startswith(r"\A") else head[begin:])
        if not (by_name or piece):
            continue
        call = command.format(name if by_name else "FILE")
        how = f"`passlab host record {call}`, or `passlab.hosts.record` in Python"
        how = f"`passlab.{call}`" if call.startswith("recorders.") else how
        is_program = by_name or text.startswith(r"\A") or (piece is not None and piece.start() < max(end, 1))
        line = 0 if piece is None else head.count("\n", 0, piece.start()) + 1
        it_is = f"it is a program ({what}), not a dump" if is_program else f"a program ({what}) begins in line {line}"
        return [*notes, f"{it_is}; to record its passes: {how}"]
    return notes


def detect(source: DumpSource) -> Format | None:
    """Return the format with the most headings in the first chunk of a stream that has any; None without any."""
    if torch.is_log(source):
        return _format_named("torch-trace")
    if triton.is_log(source):
        return _format_named("triton")
    streams = [one for one in FORMATS if one.stream is not None]
    for _, data in chunks(source):
        counts = {one.name: _headings(one, data) for one in streams}
        best = max(streams, key=lambda one: counts[one.name])
        if counts[best.name]:
            return best
    return None


def _headings(one: Format, data: bytes) -> int:
    if one.mark not in data or one.stream is None:
        return 0
    return len([banner for banner in one.stream(BytesSource(data)).banners if banner.name or banner.when == "start"])


# A compiler that works in MLIR and in LLVM prints the passes of both into one stream, as Triton does.
def _runs(source: DumpSource, first: str) -> list[tuple[str, int]]:
    """Return where the headings of another language begin, with the language; fewer than two for a stream of one.

    `first` is the language of most headings: without any of the other one, these are not looked at.
    """
    heads: list[tuple[int, str]] = []
    for name, reader in sorted((("mlir", mlir), ("llvm", llvm)), key=lambda one: one[0] == first):
        if name == first and not heads:
            return []
        for start, _, line, _ in find_lines(source, reader.MARK):
            found = reader.find_heading(line)
            if found is not None and reader.parse_heading(decode(line[found[0] : found[1]])) is not None:
                heads.append((start + found[0], name))
    heads.sort()
    return [(name, start) for at, (start, name) in enumerate(heads) if not at or heads[at - 1][1] != name]


def _read_mixed(source: DumpSource, runs: list[tuple[str, int]]) -> TextRecording:
    """Return the recording of a stream of MLIR and LLVM: for each program first the passes of MLIR."""
    parts: list[tuple[str, Scan]] = []
    for at, (name, start) in enumerate(runs):
        end = runs[at + 1][1] if at + 1 < len(runs) else source.size
        scan = (mlir if name == "mlir" else llvm).scan_stream(Section(source, start, end))
        for banner in scan.banners:
            banner.source = source
            banner.start, banner.body, banner.end = banner.start + start, banner.body + start, banner.end + start
            banner.phase = banner.phase if name == "llvm" else ""
        parts.append((name, scan))
    upper = mlir.scan_of([banner for name, scan in parts if name == "mlir" for banner in scan.banners])
    programs: dict[str, list[tuple[str, Scan]]] = {}
    last = ""
    for name, scan in parts:
        if name == "llvm":
            programs.setdefault(last, []).append((name, scan))
            continue
        for phase, banners in groupby(scan.banners, key=lambda banner: banner.phase):
            last = phase
            programs.setdefault(phase, []).append((name, replace(upper, banners=list(banners))))
    joined: list[tuple[str, Assembly]] = []
    for program, pieces in programs.items():
        joined += _parts_of_program(program or source.name, pieces)
    whole = stages.join(joined, MLIR)
    whole.other += _other_ranges(source, [banner for _, scan in parts for banner in scan.banners])
    whole.scan.notes = [*whole.scan.notes, *([source.note] if source.note else [])]
    return TextRecording(whole, "mlir", source.name, source.size)


def _parts_of_program(name: str, pieces: list[tuple[str, Scan]]) -> list[tuple[str, Assembly]]:
    """Return the assembly of a program: one, unless it goes on in MLIR after passes of LLVM on parts of it."""
    upper = [scan for language, scan in pieces if language == "mlir"]
    assemblies: list[tuple[str, Assembly]] = []
    if upper:
        banners = [replace(banner, phase="") for scan in upper for banner in scan.banners]
        assemblies.append((name, _assembly(FORMATS[1], replace(upper[0], banners=banners))))
    lower = [_assembly(FORMATS[0], scan) for language, scan in pieces if language == "llvm"]
    if len(lower) == 1 and [language for language, _ in pieces] in (["mlir", "llvm"], ["llvm"]):
        return [(name, stages.assemble_stages([part for _, part in assemblies] + lower, name))]
    return assemblies + [(f"{name}, LLVM", part) for part in lower]


def _other_ranges(source: DumpSource, banners: list[Banner]) -> list[Excerpt]:
    """Return the ranges of a stream before, between and after the dumps."""
    pieces = []
    at = 0
    for banner in sorted(banners, key=lambda one: one.start):
        if banner.start > at:
            pieces.append(Excerpt(source, (at, banner.start)))
        at = max(at, banner.end)
    if at < source.size:
        pieces.append(Excerpt(source, (at, source.size)))
    return pieces


# ---------------------------------------------------------------- folders
MOST_FILES = 100_000  # of one dump: a network of XLA has some thousands


def _files_below(path: Path) -> list[Path]:
    """Return the files in a folder and its folders, without those that this user may not see."""
    files: list[Path] = []
    for folder, _, names in os.walk(path):
        paths = [Path(folder, name) for name in names]
        files += [file for file in paths if os.path.isfile(file)]  # noqa: PTH113 - `is_file` raises where it may not look
        if len(files) > MOST_FILES:
            hint = "give the folder of one dump"
            raise DumpError(Diagnostic(f"the folder {path} has more than {MOST_FILES:,} files", hint=hint))
    return files


def _read_folder(path: Path, chosen: Format | None) -> TextRecording:
    files = sorted(_files_below(path))
    if not files:
        raise DumpError(Diagnostic(f"the folder {path.name} is empty"))
    names = [file.name for file in files]
    if chosen is None:
        kinds = [one for one in FORMATS if one.is_folder is not None and one.is_folder(names)]
        chosen = kinds[0] if kinds else None
    size = sum(file.stat().st_size for file in files)
    limits.check("dump_bytes", size, f"reading {path.name}")
    if chosen is None and len(files) == 1:
        return _read_stream(open_file(files[0]), None)
    if chosen is not None and chosen.read_folder is not None:
        return chosen.read_folder(files, path)
    if chosen is None or chosen.folder is None:
        hint = (
            f"known folders are {', '.join(one.name for one in FORMATS if one.is_folder)}; a stream is read as a file"
        )
        if any(name.endswith(".hlo.pb") for name in names):
            hint = "XLA wrote protocol buffers alone; add --xla_dump_hlo_as_text=true to XLA_FLAGS"
        raise DumpError(Diagnostic(f"the files in {path.name} are not a dump of a known kind", hint=hint))
    scan = chosen.folder(files, path)
    # Files without a program, such as logs, are the other output; pictures in PDF have no text.
    used = {getattr(banner.source, "path", None) for banner in scan.banners}
    left = [FileSource(file) for file in files if file not in used and file.suffix != ".pdf"]
    logs = [Excerpt(source, (0, source.size)) for source in left]
    scan.other += logs
    recording = _recording(chosen, scan, path.name, size)
    _read_logs(recording, logs)
    return recording


_ERROR = re.compile(rb"(?m)^[^\n]*\berror: ")


def _read_logs(recording: TextRecording, logs: list[Excerpt]) -> None:
    """Take from the logs in a folder how the compiler crashed, and what it said of the pass that failed."""
    for log in logs:
        head = log.source.read(0, SAMPLE)
        if not recording.crash and (crash := CRASH.search(head)):
            recording.crash = decode(crash[0])
        if recording.failed is not None and _ERROR.search(head):
            recording.failed.other += (log,)


def _recording(chosen: Format, scan: Scan, name: str, size: int) -> TextRecording:
    return TextRecording(_assembly(chosen, scan), chosen.name, name, size)


def _assembly(chosen: Format, scan: Scan) -> Assembly:
    """Return the steps of a scan, judged by what dumps of its format and options prove."""
    parts = llvm.parts_that_say_less(scan) if scan.says_all and chosen.name == "llvm" else []
    if not parts:
        return _judged(chosen, scan)
    combined = Assembly(scan, replace(chosen.traits, chains=True), chosen.language)
    for phase, part in parts:
        combined.append(_judged(chosen, part), phase)
    return combined


def _judged(chosen: Format, scan: Scan) -> Assembly:
    traits = chosen.traits
    # What a dump proves about passes that it does not show depends on the options it was printed with.
    if scan.says_all:
        traits = Traits(says_changes=True)
    elif chosen.name in ("llvm", "mlir") and not scan.is_list and scan.banners and _whole_programs(scan):
        traits = replace(traits, assumes_first=True)
    elif any(banner.when == "before" for banner in scan.banners):
        begins_only = all(banner.when == "before" for banner in scan.banners)
        traits = replace(traits, nested=traits.nested and begins_only, wraps=False, assumes_first=False)
    if scan.is_partial and not (traits.pairs_only or traits.snapshots):
        traits = replace(traits, partial=True, listed=scan.is_list)
    may_be_quiet = scan.may_be_quiet and not scan.says_all and not (scan.is_list and is_short(scan.banners))
    if may_be_quiet and _is_quiet(scan, traits, chosen.language):
        traits = Traits(says_changes=True)
        scan.notes.append("every pass in it changed something: such a dump does not name the others")
    if traits.partial:
        what = "perhaps only a few chosen passes are in the dump: then a change between two may be the work of another"
        cure = "; if it has every pass, `every_pass=True` or `--every-pass` says so" if scan.is_list else ""
        scan.notes.append(what + cure)
    # A dump may have several programs, each with passes of its own.
    if chosen.name.startswith("llvm") or (chosen.name in ("mlir", "xdsl") and any(b.phase for b in scan.banners)):
        assembly = assemble(scan, traits, chosen.language)
    else:
        assembly = Assembly(scan, traits, chosen.language)
        assembly.run()
    if scan.says_all:
        doubt_repeated(assembly.steps)
    if chosen.name in ("llvm", "mlir") and doubt_mixed(assembly.steps, scan.is_mixed):
        scan.notes.append(
            "the output of several compilers is mixed in it: run one at a time, or `make --output-sync`, or ninja"
        )
    if chosen.name.startswith("llvm"):
        return assembly
    if chosen.name == "mlir" and doubt_left_out(assembly.steps):
        scan.notes.append("MLIR left out the regions (--mlir-print-skip-regions): equal texts prove nothing")
    if scan.may_be_quiet and not traits.says_changes:
        doubt_equal_texts(assembly.steps)
    return assembly


def _is_quiet(scan: Scan, traits: Traits, language: Language) -> bool:
    """Whether all of the first passes of a dump, read as if it had every pass, changed something."""
    # Copies, since an assembly changes its banners.
    sample = [replace(banner) for banner in scan.banners[:SAMPLED]]
    assembly = Assembly(Scan(sample), replace(traits, partial=False, listed=False), language)
    assembly.run()
    return is_only_changes(assembly.steps)


def _whole_programs(scan: Scan) -> bool:
    """Whether a stream of afters has module scope: the bodies of passes on smaller units are whole programs."""
    if any(banner.when == "before" for banner in scan.banners):
        return False
    smaller = [b for b in scan.banners if b.unit not in ("[module]", "") and b.status != "invalidated"]
    whole = sum(banner.scope == "module" for banner in smaller)
    return bool(smaller) and whole == len(smaller)
