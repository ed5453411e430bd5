"""`HostRecorder`: a compiler reports its passes while it runs, and gets a recording. The protocol of live recorders.

    rec = HostRecorder("mycompiler", text=str)
    rec.start(program)                        # the input, if it is known
    rec.begin("inline", program)              # a pass begins; passes may begin inside it
    rec.end(program)                          # it ended, with this program
    rec.skip("vectorize", "level 2")          # a pass that did not run
    rec.fail(error)                           # the innermost open pass failed
    recording = rec.recording()               # a TextRecording: explorer, diff, blame, search, report

Programs are kept by reference; `text` is called once for each distinct program, when the recording is made. A host
whose programs change in place passes `copy`; one whose texts are incomplete passes `equal`, which compares programs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from passlab.dumps.assembly import Assembly
from passlab.dumps.banner import MODULE, NONE, Banner, Scan
from passlab.dumps.graph_node import GraphNode
from passlab.dumps.language import LANGUAGES, TEXT, Language
from passlab.dumps.recording import TextRecording
from passlab.dumps.source import BytesSource, DumpSource, Excerpt
from passlab.dumps.verdicts import Traits
from passlab.errors import Diagnostic, DumpError, MissingPackageError


def import_host(name: str, passes: str, package: str, fix: str) -> Any:
    """Import a module of another compiler. Raises `MissingPackageError`, with the fix, where its package is absent."""
    try:
        return import_module(name)
    except ImportError as error:
        message = f"recording {passes} passes needs {package}: {error}"
        raise MissingPackageError(Diagnostic(message, hint=fix)) from error


@dataclass
class HostEvent:
    """One pass as the host reported it; `depth` counts the passes around it."""

    name: str
    unit: str
    depth: int
    before: Any = None
    after: Any = None
    status: str = ""
    note: str = ""
    options: str = ""
    seconds: float = 0.0
    begin: float = field(default=0.0, repr=False)


class HostRecorder:
    """Collects the events of one run. Not thread-safe: one recorder per thread.

    `text` returns the text of a program; `language` is its syntax (`llvm`, `mlir`, `python`, `hlo`, `onnx`, `text`).
    `nodes` returns the nodes of a program that is a graph, for `recording.graph`; without it texts are parsed. Raises
    `DumpError` for another language.

    >>> from passlab.recorders import HostRecorder
    >>> recorder = HostRecorder("mine", text=str)
    >>> recorder.start("a = 1 + 2")
    >>> recorder.begin("fold", "a = 1 + 2")
    >>> recorder.end("a = 3")
    >>> recorder.recording().summary()
    '1 pass (live): 1 changed'
    """

    def __init__(
        self,
        name: str,
        *,
        text: Callable[[Any], str] = str,
        equal: Callable[[Any, Any], bool] | None = None,
        copy: Callable[[Any], Any] | None = None,
        language: str = "text",
        nodes: Callable[[Any], Iterable[GraphNode]] | None = None,
    ) -> None:
        if language not in LANGUAGES:
            raise DumpError(Diagnostic(f"no language is called `{language}`", hint=f"there are {', '.join(LANGUAGES)}"))
        self.name, self.text, self.equal, self.copy, self.nodes = name, text, equal, copy, nodes
        self.language: Language = LANGUAGES.get(language, TEXT)
        self.events: list[HostEvent] = []
        self.input: Any = None
        self._open: list[HostEvent] = []

    # ------------------------------------------------------------ the protocol
    def start(self, program: Any) -> None:
        """Note the program before the first pass."""
        self.input = self._copy_of(program)

    def begin(self, name: str, program: Any = None, *, unit: str = "", options: str = "") -> None:
        """Note that a pass begins. Without a program it is the result of the pass before on the same unit."""
        event = HostEvent(name, unit, len(self._open), options=options)
        event.before = self._copy_of(program) if program is not None else self._latest_program(unit)
        if self.input is None and not self.events and not self._open:
            self.input = event.before
        event.begin = time.perf_counter()
        self._open.append(event)

    def end(self, program: Any) -> None:
        """Note that the innermost open pass ended with a program. Raises `DumpError` where none is open."""
        event = self._innermost("ended")
        event.seconds = time.perf_counter() - event.begin
        event.after = self._copy_of(program)
        self.events.append(event)

    def skip(self, name: str, reason: str = "", *, unit: str = "") -> None:
        """Note a pass that did not run, and why."""
        reason = reason or "the pass did not run"
        self.events.append(HostEvent(name, unit, len(self._open), status="filtered", note=reason))

    def fail(self, error: BaseException | str = "") -> None:
        """Note that the innermost open pass failed. Raises `DumpError` where none is open."""
        event = self._innermost("failed")
        event.seconds = time.perf_counter() - event.begin
        event.status = "failed"
        first = str(error).strip().split("\n")[0]
        event.note = f"{type(error).__name__}: {first}" if isinstance(error, BaseException) else first
        self.events.append(event)

    def close(self, error: BaseException | str = "the pass did not end") -> None:
        """Note all passes that are still open as failed, the innermost first: for hosts that report no failure."""
        while self._open:
            self.fail(error)

    @property
    def is_open(self) -> bool:
        """Whether some pass has begun and not ended."""
        return bool(self._open)

    def _innermost(self, what: str) -> HostEvent:
        if not self._open:
            raise DumpError(Diagnostic(f"a pass {what} that never began", hint="call `begin` first"))
        return self._open.pop()

    def _latest_program(self, unit: str) -> Any:
        events = (event for event in reversed(self.events) if event.unit == unit and event.after is not None)
        return next((event.after for event in events), self.input)

    def _copy_of(self, program: Any) -> Any:
        return self.copy(program) if self.copy is not None else program

    # ------------------------------------------------------------ the recording
    def recording(self) -> TextRecording:
        """Return the recording so far: steps in the order in which passes ended; `parent` is the enclosing pass."""
        self.close()
        texts = _ProgramTexts(self)
        banners = []
        # Passes on several units are passes on several programs, each of which is known by the name of its unit.
        are_several = len({event.unit for event in self.events}) > 1
        if self.input is not None:
            first = self.events[0].unit if self.events and are_several else ""
            banners.append(texts.banner(HostEvent("input", first, 0), "start", self.input))
        begun = {banner.unit for banner in banners}
        for event in self.events:
            if are_several and event.unit not in begun and event.before is not None:
                banners.append(texts.banner(HostEvent("input", event.unit, 0), "start", event.before))
            begun.add(event.unit)
            banner = texts.banner(event, "after", event.after)
            banner.inputs = texts.excerpt(event.before)
            banner.status = event.status or self._change_status(event, texts)
            banner.note = event.note
            if event.after is None:
                banner.scope = NONE
            banners.append(banner)
        for banner in banners if are_several else ():
            banner.phase = banner.unit
        assembly = Assembly(Scan(banners, is_live=True), Traits(chains=are_several), self.language)
        assembly.run()
        recording = TextRecording(assembly, "live", self.name, texts.size)
        recording.nodes_of, recording.live_input = self.nodes, self.input
        self._add_details(recording)
        return recording

    def _change_status(self, event: HostEvent, texts: _ProgramTexts) -> str:
        if event.before is None or event.after is None:
            return ""
        if event.before is event.after:
            return "unchanged"
        if self.equal is not None:
            return "unchanged" if self.equal(event.before, event.after) else "changed"
        return "unchanged" if texts.text_of(event.before) == texts.text_of(event.after) else "changed"

    def _add_details(self, recording: TextRecording) -> None:
        """Add what texts do not have: nesting, times, the live programs."""
        children: dict[int, list[int]] = {}
        for step, event in zip(recording.steps, self.events, strict=True):
            step.seconds, step.live, step.since = event.seconds, event.after, step.number
            step.live_before = event.before
            for child in children.pop(event.depth + 1, []):
                recording.steps[child - 1].parent = step.number
            children.setdefault(event.depth, []).append(step.number)


class _ProgramTexts:
    """The texts of the programs of one recording, each different program once."""

    def __init__(self, recorder: HostRecorder) -> None:
        self.recorder = recorder
        self.size = 0
        self._sources: dict[int, DumpSource] = {}
        self._texts: dict[int, str] = {}

    def text_of(self, program: Any) -> str:
        """Return the text of a program; an exception of the host's printer becomes the text."""
        text = self._texts.get(id(program))
        if text is None:
            try:
                text = self.recorder.text(program)
            except Exception as error:
                text = f"(the program cannot be printed: {type(error).__name__}: {error})"
            self._texts[id(program)] = text
        return text

    def _source(self, program: Any) -> DumpSource:
        source = self._sources.get(id(program))
        if source is None:
            data = self.text_of(program).encode("utf-8", "surrogateescape") if program is not None else b""
            source = self._sources[id(program)] = BytesSource(data, self.recorder.name)
            self.size += len(data)
        return source

    def excerpt(self, program: Any) -> Excerpt | None:
        """Return the text of a program as an excerpt."""
        if program is None:
            return None
        source = self._source(program)
        return Excerpt(source, (0, source.size))

    def banner(self, event: HostEvent, when: str, program: Any) -> Banner:
        """Return the banner of one event."""
        source = self._source(program)
        banner = Banner(source, when, event.name, event.unit or "program", "module", event.name, event.options)
        banner.scope, banner.end = MODULE, source.size
        return banner


__all__ = ["GraphNode", "HostEvent", "HostRecorder"]
