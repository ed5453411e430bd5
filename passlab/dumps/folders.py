"""Folders with one file per pass: GCC, rustc, TVM's `DumpIR`, ONNX models."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from passlab.dumps.banner import MODULE, UNIT, Banner, Scan
from passlab.dumps.source import FileSource, decode

GCC_FILE = re.compile(r"(?P<stem>.+)\.(?P<number>\d{3})(?P<kind>[tir])\.(?P<name>[\w.-]+)")
RUST_FILE = re.compile(
    r"(?P<function>.+)\.(?P<order>\d+-\d+-\d+)\.(?P<name>[^.]+(?:\.[^.]+)*?)\.(?P<when>before|after)\.mir"
)
DUMPIR_FILE = re.compile(r"(?P<number>\d{3,})_(?P<name>.+)\.py")
ONNX_FILE = re.compile(r"(?:(?P<number>\d+)[._-])?(?P<name>.+)\.onnx")
_GCC_KINDS = {"t": "tree", "i": "ipa", "r": "rtl"}
# The code of a function as a tree: its attributes, its heading and its body.
_GCC_TREE = re.compile(
    rb"(?:^__attribute__[^\n]*\n){0,9}^(?![;{} \t])[^\n]*\([^\n]*\n\{\n(?:.*?\n)?\}$", re.MULTILINE | re.DOTALL
)
_GCC_INSN = re.compile(rb"^\((?:note|insn|jump_insn|call_insn|code_label|barrier|debug_insn)\b", re.MULTILINE)
# The same with -slim; the log of a pass may show instructions as well, before the notes that begin a function.
_GCC_SLIM = re.compile(
    rb"^ +\d+: NOTE_INSN_(?:DELETED|BASIC_BLOCK 2)\b[^\n]*\n(?:(?: +\d+:| {6,}\S)[^\n]*\n|\n(?= +\d+:))*", re.MULTILINE
)
_GCC_FEW = 12  # a folder with fewer dumps, and gaps in their numbers, has selected passes
GCC_FUNCTION = re.compile(rb"^;; Function (.+?) \(([^\n]*)\)[^\n]*\n", re.MULTILINE)


def scan_gcc(files: list[Path]) -> Scan:
    """Return the dumps of `-fdump-tree-all -fdump-rtl-all -fdump-ipa-all`, in order of their static numbers."""
    matches = [(m, path) for path in files if (m := GCC_FILE.fullmatch(path.name))]
    banners = []
    for match, path in sorted(matches, key=lambda item: (item[0]["stem"], int(item[0]["number"]), item[1].name)):
        source = FileSource(path)
        kind = _GCC_KINDS[match["kind"]]
        banner = Banner(source, "after", match["name"], kind, kind, end=source.size, phase=match["stem"])
        banner.scope = UNIT
        banner.language = "gcc " + kind
        banners.append(banner)
    notes = ["files of interprocedural passes are reports, not programs"]
    numbers = sorted({int(match["number"]) for match, _ in matches})
    has_gaps = any(after - before > 1 for before, after in pairwise(numbers))
    return Scan(banners, notes=notes, is_partial=has_gaps and len(banners) < _GCC_FEW)


def split_gcc(data: bytes) -> list[tuple[str, int, int]]:
    """Return name, start and end of each function in a dump of GCC: its code, without the log of a pass.

    A function of C++ has the name of the linker as well, since overloads and destructors share the one in the source.
    """
    heads = list(GCC_FUNCTION.finditer(data))
    ends = [match.start() for match in heads[1:]] + [len(data)] * bool(heads)  # no end without a head
    parts = []
    for head, end in zip(heads, ends, strict=True):
        start, linked = head.end(), head[2].partition(b",")[0]
        name = decode(head[1] if linked == head[1] else b"%s (%s)" % (head[1], linked))
        trees = list(_GCC_TREE.finditer(data, start, end))
        if trees:  # the last one is the function after the pass
            parts.append((name, trees[-1].start(), trees[-1].end()))
            continue
        first = _GCC_INSN.search(data, start, end)
        if first is not None:
            last = data.rfind(b"\n(", first.start(), end)
            stop = data.find(b"\n\n", max(last, first.start()), end)
            parts.append((name, first.start(), end if stop < 0 else stop + 1))
        elif slim := _GCC_SLIM.search(data, start, end):
            parts.append((name, slim.start(), slim.end()))
    return parts


def scan_rust(files: list[Path]) -> Scan:
    """Return the dumps of `-Z dump-mir`, function by function; files without a number are left out."""
    keyed = []
    for path in files:
        if match := RUST_FILE.fullmatch(path.name):
            order = tuple(map(int, match["order"].split("-")))
            keyed.append((match["function"], order, match["name"], match["when"] == "after", path))
    banners = []
    for function, order, name, is_after, path in sorted(keyed):
        source = FileSource(path)
        unit = function.partition(".")[2] or function
        banner = Banner(source, "after" if is_after else "before", name, unit, "function", end=source.size)
        first = source.read(0, 400)
        banner.body = first.find(b"\n") + 1 if first.startswith(b"// MIR for ") else 0
        banner.phase = "-".join(map(str, order[:2]))
        banners.append(banner)
    return Scan(banners)


def scan_dumpir(files: list[Path]) -> Scan:
    """Return the dumps of TVM's `DumpIR`."""
    banners = []
    matches = [(int(m["number"]), path, m) for path in files if (m := DUMPIR_FILE.fullmatch(path.name))]
    for _, path, match in sorted(matches, key=lambda item: (item[0], item[1].name)):
        source = FileSource(path)
        banners.append(Banner(source, "after", match["name"], "IRModule", "module", scope=MODULE, end=source.size))
    return Scan(banners)


def scan_onnx(files: list[Path]) -> Scan:
    """Return a folder of models, one per pass; one called `input`, or number 0, is the model at the start."""
    banners: list[Banner] = []
    matches = [(int(m["number"] or 0), path, m) for path in files if (m := ONNX_FILE.fullmatch(path.name))]
    for number, path, match in sorted(matches, key=lambda item: (item[0], item[1].name)):
        source = FileSource(path)
        is_input = not banners and (match["name"] in ("input", "original", "model") or number == 0)
        banner = Banner(source, "start" if is_input else "after", match["name"], "graph", "module", end=source.size)
        banner.scope, banner.form = MODULE, "onnx"
        banners.append(banner)
    return Scan(banners)
