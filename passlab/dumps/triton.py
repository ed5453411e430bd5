"""Triton: the passes of a kernel under the stages of its compilation, and folders with the result of each stage.

A kernel goes through TTIR, TTGIR, LLVM IR and the assembly of its target. `TritonRecording` joins what is known of each
stage into one recording: its passes, then a step for the stage itself, which is the parent of its passes.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from passlab.atomic_file import write_bytes
from passlab.dumps.assembly import Assembly
from passlab.dumps.language import MLIR
from passlab.dumps.recording import TextRecording
from passlab.dumps.source import BytesSource, DumpSource, decode, find_lines, open_file
from passlab.dumps.stages import Stage, Stream, assemble_stages, recording_of

# The texts that a compilation leaves, in order: the ending of the file, what it is, and its language.
STAGES = {
    "source": ("", "mlir"),  # before the first pass
    "glir": ("Gluon IR", "mlir"),
    "ttir": ("TTIR", "mlir"),
    "ttgir": ("TTGIR", "mlir"),
    "llir": ("LLVM IR", "llvm"),
    "ptx": ("PTX", "asm"),
    "amdgcn": ("AMDGCN", "asm"),
    "sass": ("SASS", "sass"),
}
BINARIES = ("cubin", "hsaco")


def stage_of(kind: str, result: DumpSource | None = None, seconds: float | None = None) -> Stage:
    """Return a stage by the ending of its files."""
    title, language = STAGES.get(kind, (kind, "text"))
    return Stage(kind, title, language, result, seconds=seconds)


def is_folder(names: Sequence[str]) -> bool:
    """Whether the names of files belong to Triton's folders of kernels: two stages of one kernel at least."""
    kinds: dict[str, set[str]] = {}
    for name in names:
        stem, _, kind = name.rpartition(".")
        if kind in STAGES:
            kinds.setdefault(stem, set()).add(kind)
    return any(len(found) > 1 and found & {"ttir", "ttgir", "glir"} for found in kinds.values())


def read_folder(files: Sequence[Path], folder: Path) -> TextRecording:
    """Return the stages of all kernels in a folder of `TRITON_KERNEL_DUMP`, or in a cache of Triton."""
    kernels: dict[tuple[Path, str], dict[str, Path]] = {}
    for path in files:
        kernels.setdefault((path.parent, path.stem), {})[path.suffix[1:]] = path
    kernels = {key: kinds for key, kinds in kernels.items() if len(kinds.keys() & STAGES.keys()) > 1}
    used = {path for kinds in kernels.values() for path in kinds.values()}
    notes: list[str] = []
    parts: list[tuple[str, Assembly]] = []
    # Hashes name the folders: the time of the first file tells which kernel was compiled first.
    order = sorted(kernels, key=lambda key: (min(p.stat().st_mtime_ns for p in kernels[key].values()), key))
    for key in order:
        kinds = kernels[key]
        stages = [stage_of(kind, open_file(kinds[kind], keep_open=False)) for kind in STAGES if kind in kinds]
        earlier = sum(other == key[1] for other, _ in parts)
        parts.append((key[1], assemble_stages(stages, key[1])))
        name = f"{key[1]} ({earlier + 1})" if earlier else key[1]
        notes += _about(name, kinds)
    return recording_of(folder, files, used, parts, ("triton", MLIR), notes)


def _about(name: str, kinds: dict[str, Path]) -> Iterator[str]:
    """Yield what Triton writes about a kernel: target, warps, stages, shared memory."""
    binaries = [kind for kind in BINARIES if kind in kinds]
    if binaries and "sass" not in kinds:
        yield f"{name}: {kinds[binaries[0]].name} is a binary, and has no text here"
    try:
        about = json.loads(kinds["json"].read_text("utf-8")) if "json" in kinds else {}
    except (OSError, ValueError) as error:
        yield f"{name}: its metadata cannot be read: {error}"
        return
    if isinstance(about, dict) and about:
        target = about.get("target")
        at = f"{target.get('backend')}:{target.get('arch')}" if isinstance(target, dict) else target
        keys = ("num_warps", "num_stages", "num_ctas", "shared", "triton_version")
        words = [f"target = {at}"] if at else []
        yield f"{name}: " + ", ".join([*words, *[f"{key} = {about[key]}" for key in keys if key in about]])


# ---------------------------------------------------------------- the recording of one kernel
class TritonRecording(TextRecording):
    """The passes of one kernel under the stages of its compilation; `save` writes a file that `read` takes."""

    def __init__(self, stages: Sequence[Stage], name: str, notes: Sequence[str]) -> None:
        sources = [stage.result for stage in stages] + [one.text for stage in stages for one in stage.streams]
        size = sum(one.size for one in sources if one is not None)
        super().__init__(assemble_stages(stages, name), "triton", name, size)
        self.stages = list(stages)
        self.notes += notes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recording to a file, compressed where its name ends with `.gz`. Raises `FileAccessError`."""
        data = b"".join(self._sections())
        write_bytes(path, gzip.compress(data, mtime=0) if os.fspath(path).endswith(".gz") else data)

    def _sections(self) -> Iterator[bytes]:
        yield from _section({"kernel": self.name, "notes": self.notes})
        for file, text in self.source_map.texts.items():
            yield from _section({"file": file}, BytesSource(text.encode("utf-8", "surrogateescape")))
        for stage in self.stages:
            yield from _section({"stage": stage.kind, "seconds": stage.seconds, "failure": stage.failure})
            for stream in stage.streams:
                yield from _section({"stream": stream.language}, stream.text)
                yield from _section({"after": stream.language}, stream.after)
            yield from _section({"result": stage.kind}, stage.result)


_SECTION = b"// -----// passlab: "
_SECTION_END = b" //----- //\n"


def _section(about: dict[str, Any], source: DumpSource | None = None) -> Iterator[bytes]:
    if source is None and about.keys() & {"after", "result"}:
        return
    yield _SECTION + json.dumps(about).encode() + _SECTION_END
    if source is not None:
        data = source.read(0, source.size)
        yield data if data.endswith(b"\n") else data + b"\n"


def is_log(source: DumpSource) -> bool:
    """Whether a file is one that `TritonRecording.save` wrote."""
    return source.read(0, len(_SECTION)) == _SECTION


def read_log(source: DumpSource) -> TritonRecording:
    """Return the recording in a file that `TritonRecording.save` wrote, as far as the file goes."""
    heads: list[tuple[int, int, dict[str, Any]]] = []
    for start, end, line, _ in find_lines(source, _SECTION):
        try:
            about = json.loads(line[len(_SECTION) : -len(_SECTION_END) + 1])
        except ValueError:
            continue
        if isinstance(about, dict):
            heads.append((start, end, about))
    stages: list[Stage] = []
    kernel, notes, files = source.name, [source.note] if source.note else [], {}
    for number, (_, begin, about) in enumerate(heads):
        end = heads[number + 1][0] if number + 1 < len(heads) else source.size
        text = BytesSource(source.read(begin, end), source.name)
        if "kernel" in about:
            kernel, notes = str(about["kernel"]), [*notes, *map(str, about.get("notes") or ())]
        elif "file" in about:
            files[str(about["file"])] = decode(text.read(0, text.size))
        elif "stage" in about:
            seconds = about.get("seconds")
            is_number = isinstance(seconds, (int, float))
            stages.append(stage_of(str(about["stage"]), seconds=seconds if is_number else None))
            stages[-1].failure = str(about.get("failure") or "")
        elif stages and about.get("stream") in ("mlir", "llvm"):
            stages[-1].streams.append(Stream(about["stream"], text))
        elif stages and stages[-1].streams and "after" in about:
            stages[-1].streams[-1].after = text
        elif stages and "result" in about:
            stages[-1].result = text
    recording = TritonRecording(stages, kernel, notes)
    for file, code in files.items():
        recording.add_source(file, code)
    return recording
