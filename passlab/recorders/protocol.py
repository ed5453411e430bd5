"""`Recorder`: what a compiler says while it runs, as a recording of text. The protocol behind all live recorders.

    rec = Recorder("mycompiler", text=str)
    rec.start(program)                        # the input, where it is at hand
    rec.begin("inline", program)              # a pass begins; passes may begin inside it
    rec.end(program)                          # it ended, with this program
    rec.skipped("vectorize", "level 2")       # a pass that did not run
    rec.failed(error)                         # the innermost open pass failed
    recording = rec.recording()               # a TextRecording: explorer, diff, blame, search, report

Programs are kept by reference; `text` is asked once for each different program, when the recording is made. A host
whose programs change in place says so with `copy`, and one whose texts leave things out compares programs with `equal`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from passlab.dumps.assembly import Assembly
from passlab.dumps.banner import MODULE, NONE, Banner, Scan
from passlab.dumps.evidence import Traits
from passlab.dumps.graph_node import GraphNode
from passlab.dumps.language import LANGUAGES, TEXT, Language
from passlab.dumps.recording import TextRecording
from passlab.dumps.source import BytesSource, Piece, Source
from passlab.errors import Diagnostic, DumpError


@dataclass
class Event:
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


class Recorder:
    """Collects the events of one run. Not thread-safe: one recorder per thread.

    `text` turns a program into text; `language` names how it reads (`llvm`, `mlir`, `python`, `hlo`, `onnx`, `text`).
    `nodes` gives the nodes of a program that is a graph, for `recording.graph`; without it graphs are read from texts.
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
        self.events: list[Event] = []
        self.input: Any = None
        self._open: list[Event] = []

    # ------------------------------------------------------------ the protocol
    def start(self, program: Any) -> None:
        """Note the program before the first pass."""
        self.input = self._kept(program)

    def begin(self, name: str, program: Any = None, *, unit: str = "", options: str = "") -> None:
        """Note that a pass begins. Without a program it is the one that the pass before left."""
        event = Event(name, unit, len(self._open), options=options)
        event.before = self._kept(program) if program is not None else self._latest()
        if self.input is None and not self.events and not self._open:
            self.input = event.before
        event.begin = time.perf_counter()
        self._open.append(event)

    def end(self, program: Any) -> None:
        """Note that the innermost open pass ended with a program. Raises `DumpError` where none is open."""
        event = self._innermost("ended")
        event.seconds = time.perf_counter() - event.begin
        event.after = self._kept(program)
        self.events.append(event)

    def skipped(self, name: str, reason: str = "", *, unit: str = "") -> None:
        """Note a pass that did not run, and why."""
        self.events.append(Event(name, unit, len(self._open), status="filtered", note=reason or "the pass did not run"))

    def failed(self, error: BaseException | str = "") -> None:
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
            self.failed(error)

    @property
    def is_open(self) -> bool:
        """Whether some pass has begun and not ended."""
        return bool(self._open)

    def _innermost(self, what: str) -> Event:
        if not self._open:
            raise DumpError(Diagnostic(f"a pass {what} that never began", hint="call `begin` first"))
        return self._open.pop()

    def _latest(self) -> Any:
        return next((event.after for event in reversed(self.events) if event.after is not None), self.input)

    def _kept(self, program: Any) -> Any:
        return self.copy(program) if self.copy is not None else program

    # ------------------------------------------------------------ the recording
    def recording(self) -> TextRecording:
        """Return what was recorded so far. Steps are in the order in which passes ended, `parent` is the pass
        around.
        """
        self.close()
        writer = _Texts(self)
        banners = []
        if self.input is not None:
            banners.append(writer.banner(Event("input", "", 0), "start", self.input))
        for event in self.events:
            banner = writer.banner(event, "after", event.after)
            banner.inputs = writer.piece(event.before)
            banner.status = event.status or self._verdict(event, writer)
            banner.note = event.note
            if event.after is None:
                banner.scope = NONE
            banners.append(banner)
        assembly = Assembly(Scan(banners), Traits(), self.language)
        assembly.run()
        recording = TextRecording(assembly, "live", self.name, writer.size)
        recording.nodes_of, recording.live_input = self.nodes, self.input
        self._finish(recording)
        return recording

    def _verdict(self, event: Event, writer: _Texts) -> str:
        if event.before is None or event.after is None:
            return ""
        if event.before is event.after:
            return "unchanged"
        if self.equal is not None:
            return "unchanged" if self.equal(event.before, event.after) else "changed"
        return "unchanged" if writer.text_of(event.before) == writer.text_of(event.after) else "changed"

    def _finish(self, recording: TextRecording) -> None:
        """Add what a text does not have: nesting, times, the live programs."""
        around: dict[int, list[int]] = {}
        for step, event in zip(recording.steps, self.events, strict=True):
            step.seconds, step.live, step.since = event.seconds, event.after, step.number
            step.live_before = event.before
            for child in around.pop(event.depth + 1, []):
                recording.steps[child - 1].parent = step.number
            around.setdefault(event.depth, []).append(step.number)


class _Texts:
    """The texts of the programs of one recording, each different program once."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.size = 0
        self._sources: dict[int, Source] = {}
        self._texts: dict[int, str] = {}

    def text_of(self, program: Any) -> str:
        """Return the text of a program; what the host raises while printing is shown in its place."""
        text = self._texts.get(id(program))
        if text is None:
            try:
                text = self.recorder.text(program)
            except Exception as error:
                text = f"(the program cannot be printed: {type(error).__name__}: {error})"
            self._texts[id(program)] = text
        return text

    def _source(self, program: Any) -> Source:
        source = self._sources.get(id(program))
        if source is None:
            data = self.text_of(program).encode("utf-8", "surrogateescape") if program is not None else b""
            source = self._sources[id(program)] = BytesSource(data, self.recorder.name)
            self.size += len(data)
        return source

    def piece(self, program: Any) -> Piece | None:
        """Return the text of a program as a piece of its own."""
        if program is None:
            return None
        source = self._source(program)
        return Piece(source, (0, source.size))

    def banner(self, event: Event, when: str, program: Any) -> Banner:
        """Return the heading of one event."""
        source = self._source(program)
        banner = Banner(source, when, event.name, event.unit or "program", "module", event.name, event.options)
        banner.scope, banner.end = MODULE, source.size
        return banner


__all__ = ["Event", "GraphNode", "Recorder"]
