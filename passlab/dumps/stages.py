"""Stages: the passes of a program under the stages of its compilation, in whatever language each stage is.

A kernel of Triton goes through TTIR, TTGIR, LLVM IR and the assembly of its target. A function of JAX goes through its
jaxpr, StableHLO, HLO and a kernel for each fusion, and a model in IREE through its phases and the code of each
executable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

from passlab.dumps import llvm, mlir
from passlab.dumps.assembly import Assembly
from passlab.dumps.banner import MODULE, Banner, Scan
from passlab.dumps.language import LANGUAGES, LLVM, MLIR, Language
from passlab.dumps.recording import TextRecording
from passlab.dumps.source import BytesSource, DumpSource, Excerpt, FileSource
from passlab.dumps.step import Step, Unit
from passlab.dumps.verdicts import Traits

TRANSLATION = "translate to LLVM IR"


@dataclass
class Stage:
    """What is known of one stage: the streams of its passes in order, each with the program after it, and its result.

    A stream is of MLIR or of LLVM. A stage without a title is the program before the first pass.
    """

    kind: str
    title: str
    language: str
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


def assemble_stages(stages: Sequence[Stage | Assembly], name: str, begins_with_input: bool = False) -> Assembly:
    """Return the steps of the stages of one program: the passes of each stage, then the stage itself.

    An assembly among them has steps that no stage runs. `begins_with_input`: the first of several stages
    is what the second was made from, and no step.
    """
    whole = _Chain(name)
    if begins_with_input and len(stages) > 1 and isinstance(first := stages[0], Stage) and not first.streams:
        whole.start(first.result, first.language)
        stages = stages[1:]
    for stage in stages:
        if isinstance(stage, Assembly):
            whole.append(stage)
            whole.free.clear()
        elif not stage.title:
            whole.start(stage.result, stage.language)
        else:
            for stream in stage.streams:
                whole.passes(stream)
            whole.stage(stage)
    return whole.assembly


def join(parts: Sequence[tuple[str, Assembly]], language: Language) -> Assembly:
    """Return one assembly of several programs, each a phase of its own; equal names are numbered."""
    if len(parts) == 1:
        return parts[0][1]
    whole = Assembly(Scan([]), Traits(chains=True), language)
    for at, (name, part) in enumerate(parts):
        earlier = sum(other == name for other, _ in parts[:at])
        whole.append(part, f"{name} ({earlier + 1})" if earlier else name)
    return whole


_NO_TEXT = (".bc", ".o", ".so", ".pb", ".cubin", ".hsaco", ".spv", ".vmfb")  # endings of files without a text


def recording_of(
    folder: Path,
    files: Sequence[Path],
    used: Set[Path],
    parts: Sequence[tuple[str, Assembly]],
    kind: tuple[str, Language],
    notes: Sequence[str],
) -> TextRecording:
    """Return the recording of a folder: its programs, and the files that belong to none as other output.

    `kind` is the name of the format, and the language of most of its programs.
    """
    whole = join(parts, kind[1])
    whole.scan.notes = list(notes)
    left = [FileSource(path) for path in files if path not in used and path.suffix not in _NO_TEXT]
    whole.other += [Excerpt(source, (0, source.size)) for source in left]
    return TextRecording(whole, kind[0], folder.name, sum(path.stat().st_size for path in files))


class _Chain:
    """Joins assemblies whose programs follow one another, in whatever language each is."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.assembly = Assembly(Scan([], is_live=True), Traits(), MLIR)
        self._program: tuple[DumpSource, str] | None = None  # the program so far, and its language
        self.free: list[Step] = []  # steps of the open stage without a parent

    def start(self, source: DumpSource | None, language: str) -> None:
        """Note the program before the first pass."""
        if source is not None:
            self.append(_assembled([_banner(source, "start", "input", language)], language, is_live=True))
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
        self.append(part)
        if stream.after is not None:
            self._program = stream.after, stream.language

    def _translate(self, source: DumpSource) -> None:
        banner = self._replaced(source, TRANSLATION, "llvm")
        part = _assembled([banner], "llvm", is_live=True)
        part.steps[0].kind = "translation"
        self.append(part)
        self._program = source, "llvm"

    def _replaced(self, source: DumpSource, name: str, language: str) -> Banner:
        """Return the banner of a step from the program so far to another one."""
        banner = _banner(source, "after", name, language)
        banner.unit = self.name
        if self._program is not None:
            before, _ = self._program
            banner.inputs = Excerpt(before, (0, before.size))
            same = before.read(0, before.size).strip() == source.read(0, source.size).strip()
            banner.status = "unchanged" if same else "changed"
        return banner

    def stage(self, stage: Stage) -> None:
        """Append the step of a stage, the parent of its passes."""
        title, language = stage.title, stage.language
        inside, self.free = self.free, []
        if stage.result is None:
            banner = Banner(BytesSource(b"", title), "after", title, self.name, "module", status="failed", scope="none")
            banner.note = stage.failure
        else:
            banner = self._replaced(stage.result, title, language)
        part = _assembled([banner], language, is_live=True)
        part.steps[0].kind = "stage"
        part.steps[0].seconds = stage.seconds
        self.append(part)
        number = len(self.assembly.steps)
        step = self.assembly.steps[-1]
        if inside and stage.result is not None:
            changed = any(other.verdict in ("changed", "unknown") for other in inside)
            step.verdict = "changed" if changed else step.verdict
        if inside and inside[0].before_body is not None:
            step.before_body = inside[0].before_body
        for other in inside:
            other.parent = number
        self.free = []
        if stage.result is not None:
            self._program = stage.result, language

    def append(self, part: Assembly) -> None:
        """Append steps and units; units that the program no longer has end here."""
        whole, shift = self.assembly, len(self.assembly.steps)
        for step in part.steps:
            step.number, step.since = step.number + shift, step.since + shift
            step.parent += shift if step.parent else 0
            if not step.parent:
                self.free.append(step)
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
