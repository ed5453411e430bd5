"""Folders of torch.compile: logs of `TORCH_TRACE`, what tlparse made of one, and the files of `TORCH_COMPILE_DEBUG`.

All that lies below one folder becomes one recording. The debug files of a graph join the graph of a log with the same
output code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from passlab.dumps.source import PAGE, DumpSource, Excerpt, FileSource, open_file
from passlab.dumps.torch.recording import TorchRecording, recording_of
from passlab.dumps.torch.records import CompileId, Log, Record, is_log, scan_log

LOG_FILE = re.compile(r"dedicated_log_torch_trace_(?:rank_(?P<rank>\d{1,9})_)?.*\.log(?:\.gz)?|raw\.log")
_TLPARSE_FILE = re.compile(r"(?P<name>.+?)_(?P<number>\d{1,9})\.(?P<ending>txt|html|json|py)")
_TLPARSE_FOLDER = re.compile(
    r"(?P<autograd>-|\d{1,9})_(?P<frame>-|\d{1,9})_(?P<compile>-|\d{1,9})(?:_(?P<attempt>\d{1,9}))?"
)
_CODE_KEY = re.compile(r"(inductor_output_code)_\w+")
_MODEL = re.compile(r"(?P<model>.+__\d+)_(?P<side>forward|backward|inference|joint)_\d+\.\d+")
DEBUG_FILES = frozenset(
    (
        *("fx_graph_readable.py", "fx_graph_transformed.py", "fx_graph_runnable.py", "ir_pre_fusion.txt"),
        *("ir_post_fusion.txt", "output_code.py", "inductor_provenance_tracking_node_mappings.json"),
    )
)
# What a log calls the texts of these files.
_NAMES = {
    "fx_graph_readable": "before_post_grad_graph",
    "fx_graph_transformed": "inductor_post_grad_graph",
    "output_code": "inductor_output_code",
}
_ORDER = ("fx_graph_runnable", "fx_graph_readable", "fx_graph_transformed", "ir_pre_fusion", "ir_post_fusion")


def is_folder(names: Sequence[str]) -> bool:
    """Whether files are named as in such a folder."""
    return any(LOG_FILE.fullmatch(name) or name in DEBUG_FILES or name == "compile_directory.json" for name in names)


def read_log(source: DumpSource) -> TorchRecording:
    """Return the recording of one log."""
    return recording_of([scan_log(source)], "torch-trace", source.name, source.size)


def read_folder(files: Sequence[Path], folder: Path) -> TorchRecording:
    """Return the recording of all logs, files of tlparse and debug files in a folder."""
    logs: list[Log] = []
    used: set[Path] = set()
    paths = [file for file in files if LOG_FILE.fullmatch(file.name) and file.stat().st_size]
    if any(file.name == "raw.log" for file in paths):  # tlparse copies the log that it reads
        names = {file.name for file in files}
        paths = [file for file in paths if file.name == "raw.log" or "compile_directory.json" not in names]
    ranks = [_rank_of(path) for path in paths]
    for path, rank in zip(paths, ranks, strict=True):
        source = open_file(path, keep_open=len(paths) < _MOST_OPEN)
        if is_log(source):
            first = 1 + sum(len(log.records) for log in logs)
            logs.append(scan_log(source, len(logs), first, rank if len(set(ranks)) > 1 else None))
            used.add(path)
    has_raw = any(path.name == "raw.log" for path in used)
    size = sum(file.stat().st_size for file in files)
    first = 1 + sum(len(log.records) for log in logs)
    products = list(_products(files, folder, first))
    if products and not has_raw:
        logs.append(Log([record for record, _ in products]))
    used.update(path for _, path in products)
    first = 1 + sum(len(log.records) for log in logs)
    models = list(_models([file for file in files if file not in used], first))
    if models:
        logs.append(Log([record for record, _ in models]))
        used.update(path for _, path in models)
    made = {"index.html", "compile_directory.json", "chromium_events.json", "raw.jsonl", "failures_and_restarts.html"}
    left = [] if has_raw else [file for file in files if file not in used and file.suffix != ".svg"]
    other = [FileSource(file) for file in left if file.name not in made or not used]
    recording = recording_of(logs, "torch-trace" if logs and paths else "torch-debug", folder.name, size)
    recording.other += [Excerpt(source, (0, source.size)) for source in other if source.size]
    return recording


_MOST_OPEN = 64  # logs that stay open


def _rank_of(path: Path) -> int | None:
    match = LOG_FILE.fullmatch(path.name)
    return int(match["rank"]) if match is not None and match["rank"] else None


# ---------------------------------------------------------------- tlparse
def _products(files: Iterable[Path], folder: Path, first: int) -> Iterable[tuple[Record, Path]]:
    """Yield the build products that tlparse wrote, each in a folder named by its compile id, in their order."""
    found = []
    for path in files:
        where, what = _TLPARSE_FOLDER.fullmatch(path.parent.name), _TLPARSE_FILE.fullmatch(path.name)
        if where is not None and what is not None:
            found.append((int(what["number"]), path, where, what))
    for count, (_, path, where, what) in enumerate(sorted(found, key=lambda item: (item[0], str(item[1])))):
        frame, version, attempt, autograd = (_number(where[key]) for key in _KEYS)
        code = _CODE_KEY.fullmatch(what["name"])
        name = code[1] if code is not None else what["name"]
        source = FileSource(path, str(path.relative_to(folder)))
        form = PAGE if what["ending"] == "html" else ""
        payload = Excerpt(source, (0, source.size), 0, form)
        compile_id = CompileId(frame, version, attempt, autograd)
        yield Record(first + count, name, name, compile_id, payload), path


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


_KEYS = ("frame", "compile", "attempt", "autograd")


# ---------------------------------------------------------------- debug files
def _models(files: Iterable[Path], first: int) -> Iterable[tuple[Record, Path]]:
    """Yield the files of each model: the files of its stages in their order, then the others."""
    folders: dict[Path, list[Path]] = {}
    for path in files:
        if path.name in DEBUG_FILES or _MODEL.fullmatch(path.parent.name):
            folders.setdefault(path.parent, []).append(path)
    for parent in sorted(folders, key=_model_order):
        match = _MODEL.fullmatch(parent.name)
        model, side = (match["model"], match["side"]) if match is not None else (parent.name, "")
        for path in sorted(folders[parent], key=lambda one: _ORDER.index(one.stem) if one.stem in _ORDER else 9):
            if path.stat().st_size == 0 or path.suffix not in (".py", ".txt", ".json", ".log", ".cpp", ".svg"):
                continue
            source = FileSource(path, f"{parent.name}/{path.name}")
            name = _NAMES.get(path.stem, path.stem if path.suffix != ".log" else path.name)
            record = Record(first, "file", name, CompileId(model=model), Excerpt(source, (0, source.size)))
            record.side = side
            first += 1
            yield record, path


def _model_order(folder: Path) -> tuple[str, int, str]:
    number = re.search(r"__(\d{1,9})_", folder.name)
    side = folder.name.partition("backward")[1]
    return str(folder.parent), int(number[1]) if number else 0, side + folder.name
