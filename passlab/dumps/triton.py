"""Triton: the passes of a kernel under the stages of its compilation, and folders with the result of each stage.

A kernel goes through TTIR, TTGIR, LLVM IR and the assembly of its target. `TritonRecording` joins what is known of each
stage into one recording: its passes, then a step for the stage itself, which is the parent of its passes.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from passlab.atomic_file import write_bytes
from passlab.dumps import llvm, mlir
from passlab.dumps.assembly import Assembly
from passlab.dumps.banner import MODULE, Banner, Scan
from passlab.dumps.evidence import Traits
from passlab.dumps.language import LANGUAGES, LLVM, MLIR
from passlab.dumps.recording import TextRecording
from passlab.dumps.source import BytesSource, DumpSource, Excerpt, FileSource, decode, find_lines, open_file
from passlab.dumps.step import Step, Unit

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
TRANSLATION = "translate to LLVM IR"


@dataclass
class Stage:
    """What is known of one stage: the streams of its passes in order, each with the program after it, and its result.

    A stream is of MLIR or of LLVM; `before` is the program at its begin, where the stream does not have that.
    """

    kind: str
    result: DumpSource | None = None
    streams: list[Stream] = field(default_factory=list)
    seconds: float | None = None
    failure: str = ""  # why it did not end


@dataclass
class Stream:
    """The dumps of the passes of one pass manager, in the language of the programs that it works on."""

    language: str
    text: DumpSource
    after: DumpSource | None = None


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
        stages = [Stage(kind, open_file(kinds[kind], keep_open=False)) for kind in STAGES if kind in kinds]
        turn = sum(other == key[1] for other, _ in parts)
        parts.append((key[1], assemble(stages, key[1])))
        name = f"{key[1]} ({turn + 1})" if turn else key[1]
        notes += _about(name, kinds)
    names = [name for name, _ in parts]
    if len(parts) == 1:
        whole = parts[0][1]
    else:
        whole = Assembly(Scan([]), Traits(chains=True), MLIR)
        for at, (name, part) in enumerate(parts):
            turn = names[:at].count(name)
            whole.append(part, f"{name} ({turn + 1})" if turn else name)
    whole.scan.notes = notes
    whole.other += [
        Excerpt(source, (0, source.size))
        for file in files
        if file not in used
        for source in [FileSource(file)]
        if file.suffix in (".txt", ".log")
    ]
    return TextRecording(whole, "triton", folder.name, sum(path.stat().st_size for path in used))


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
        super().__init__(assemble(stages, name), "triton", name, size)
        self.stages = list(stages)
        self.notes += notes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recording to a file, compressed where its name ends with `.gz`. Raises `FileAccessError`."""
        data = b"".join(self._sections())
        write_bytes(Path(path), gzip.compress(data, mtime=0) if os.fspath(path).endswith(".gz") else data)

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
            stages.append(Stage(str(about["stage"]), seconds=seconds if is_number else None))
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


def assemble(stages: Sequence[Stage], kernel: str) -> Assembly:
    """Return the steps of the stages of one kernel: the passes of each stage, then the stage itself."""
    whole = _Chain(kernel)
    for stage in stages:
        title, language = STAGES.get(stage.kind, (stage.kind, "text"))
        if not title:
            whole.start(stage.result, language)
            continue
        for stream in stage.streams:
            whole.passes(stream)
        whole.stage(stage, title, language)
    return whole.assembly


class _Chain:
    """Joins assemblies whose programs follow one another, in whatever language each is."""

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.assembly = Assembly(Scan([], is_live=True), Traits(), MLIR)
        self._program: tuple[DumpSource, str] | None = None  # the program so far, and its language
        self._free: list[Step] = []  # steps of the open stage without a parent

    def start(self, source: DumpSource | None, language: str) -> None:
        """Note the program before the first pass."""
        if source is not None:
            self._append(_assembled([_banner(source, "start", "input", language)], language, is_live=True))
            self._program = source, language

    def passes(self, stream: Stream) -> None:
        """Append the passes of a stream; where its language is another one, a translation comes first."""
        language = LANGUAGES[stream.language]
        if stream.language == "llvm":
            banners = llvm.scan_stream(stream.text).banners
            first = next((banner for banner in banners if banner.language != "mir" and banner.scope == MODULE), None)
            if self._program is not None and self._program[1] != "llvm" and first is not None:
                text = BytesSource(first.source.read(first.body, first.end), stream.text.name)
                self._translate(text)
        else:
            banners = mlir.scan_stream(stream.text).banners
            for banner in banners:
                banner.phase = ""  # there is one program alone
        if not banners:
            return
        before_only = all(banner.when == "before" for banner in banners)
        if before_only and stream.after is not None:
            banners.append(_banner(stream.after, "before", "", stream.language))
        part = _assembled(banners, stream.language, closed=language is MLIR)
        if before_only and stream.after is not None:
            _drop_last(part)
        self._append(part)
        if stream.after is not None:
            self._program = stream.after, stream.language

    def _translate(self, source: DumpSource) -> None:
        banner = self._replaced(source, TRANSLATION, "llvm")
        self._append(_assembled([banner], "llvm", is_live=True))
        self._program = source, "llvm"

    def _replaced(self, source: DumpSource, name: str, language: str) -> Banner:
        """Return the banner of a step from the program so far to another one."""
        banner = _banner(source, "after", name, language)
        banner.unit = self.kernel
        if self._program is not None:
            before, _ = self._program
            banner.inputs = Excerpt(before, (0, before.size))
            same = before.read(0, before.size).strip() == source.read(0, source.size).strip()
            banner.status = "unchanged" if same else "changed"
        return banner

    def stage(self, stage: Stage, title: str, language: str) -> None:
        """Append the step of a stage, the parent of its passes."""
        inside, self._free = self._free, []
        if stage.result is None:
            banner = Banner(
                BytesSource(b"", title), "after", title, self.kernel, "module", status="failed", scope="none"
            )
            banner.note = stage.failure
        else:
            banner = self._replaced(stage.result, title, language)
        part = _assembled([banner], language, is_live=True)
        part.steps[0].kind = "stage"
        part.steps[0].seconds = stage.seconds
        self._append(part)
        number = len(self.assembly.steps)
        step = self.assembly.steps[-1]
        if inside and stage.result is not None:
            changed = any(other.verdict in ("changed", "unknown") for other in inside)
            step.verdict = "changed" if changed else step.verdict
        if inside and inside[0].before_body is not None:
            step.before_body = inside[0].before_body
        for other in inside:
            other.parent = number
        self._free = []
        if stage.result is not None:
            self._program = stage.result, language

    def _append(self, part: Assembly) -> None:
        """Append steps and units; units that the program no longer has end here."""
        whole, shift = self.assembly, len(self.assembly.steps)
        for step in part.steps:
            step.number, step.since = step.number + shift, step.since + shift
            step.parent += shift if step.parent else 0
            if not step.parent:
                self._free.append(step)
        first = 1 if len(part.steps) == 1 and part.steps[0].before_body is not None and not part.input else 0
        for name, unit in whole.units.items():
            if unit.alive and name not in part.units and part.units:
                unit.put(shift + first, None, shift + first)
        for name, unit in part.units.items():
            target = whole.units.setdefault(name, Unit(name, unit.language))
            for number, piece, since in zip(unit.steps, unit.pieces, unit.since, strict=True):
                target.put(number + shift, piece, since + shift)
        whole.prints += [(number + shift, path, piece) for number, path, piece in part.prints]
        whole.steps += part.steps
        whole.other += part.other
        whole.input = whole.input or part.input
        whole.crash = whole.crash or part.crash


def _banner(source: DumpSource, when: str, name: str, language: str) -> Banner:
    banner = Banner(source, when, name, "builtin.module" if language == "mlir" else "program", "module")
    banner.scope, banner.end, banner.language = MODULE, source.size, language
    return banner


def _assembled(banners: Iterable[Banner], language: str, is_live: bool = False, closed: bool = False) -> Assembly:
    traits = Traits(closed=closed, wraps=closed)
    part = Assembly(Scan(list(banners), is_live=is_live), traits, LANGUAGES.get(language, LLVM))
    part.run()
    return part


def _drop_last(part: Assembly) -> None:
    """Drop the step that stands for the end of a stream of begins: it only has the program after the last pass."""
    if part.steps and not part.steps[-1].name:
        part.steps.pop()
