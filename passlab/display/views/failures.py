"""The view of a pass that failed: the message, the frames of the pass author's code, and the node it was working on.

Frames of passlab and of IPython are left out; a fold shows the full traceback. Errors of passlab are diagnostics with
a source location and need no frames.
"""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import NamedTuple

import passlab
from passlab.diffing.diff import node_name
from passlab.display.parts import Code, Fold, HtmlOnly, Part, Sentence
from passlab.display.protocol.recordings import Failure
from passlab.display.view import HasFrame, View, checked_view
from passlab.errors import PasslabError, visible
from passlab.instrument.events import Event
from passlab.ir.expr import Expr
from passlab.table import Table

AROUND = 2  # lines of source shown above and below the one at fault
_OWN = str(Path(passlab.__file__).parent)
_HOSTS = ("IPython", "ipykernel", "traitlets", "decorator.py", "nbclient")


class UserFrame(NamedTuple):
    """A frame of the user's own code: its file and line, its source, and its node."""

    file: str
    line: int
    function: str
    source: str
    node: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}, in {self.function}"


class FailureView(View):
    """Why a pass failed."""

    kind = "failure"

    def __init__(self, event: Event) -> None:
        self.event = event
        self.error = event.error

    @property
    def title(self) -> str:
        """The error and the pass that raised it."""
        if isinstance(self.error, PasslabError) or self.error is None:
            return visible(str(self.error or "").split("\n")[0])
        return f"the pass `{visible(self.event.name)}` raised {type(self.error).__name__}: {visible(str(self.error))}"

    @property
    def frames(self) -> list[UserFrame]:
        """The frames of the user's own code, outermost first; none for a diagnostic of passlab."""
        if self.error is None or isinstance(self.error, PasslabError):
            return []
        return list(_user_frames(self.error.__traceback__))

    @property
    def node(self) -> str:
        """The node that the innermost frame was working on, "" if no frame has one."""
        return next((frame.node for frame in reversed(self.frames) if frame.node), "")

    @property
    def traceback(self) -> str:
        """All frames, as Python prints them; the message alone for an error without any."""
        if self.error is None:
            return ""
        return visible("".join(traceback.format_exception(type(self.error), self.error, self.error.__traceback__)))

    def parts(self) -> Iterable[Part]:
        if isinstance(self.error, PasslabError):
            yield Code(visible(str(self.error)))
            return
        yield Sentence(f"error: {self.title}", "bad")
        for frame in self.frames:
            yield Sentence(f" --> {frame}")
            yield Code(frame.source)
        if self.node:
            yield Sentence(f"working on: {self.node}")
        if self.frames:
            yield HtmlOnly(Fold("the full traceback", [Code(self.traceback)], tone="muted"))

    def data(self) -> Failure:
        return {
            "kind": self.kind,
            "title": self.title,
            "text": visible(str(self.error or "")),
            "frames": [(str(frame), frame.source) for frame in self.frames],
            "node": self.node,
            "traceback": self.traceback if self.frames else "",
        }

    def source(self) -> HasFrame:
        """Return one row per frame of the user's code."""
        return Table(UserFrame._fields, self.frames)


@checked_view(Event, hint="`failed` of a recording is the event of the pass that raised")
def failure_view(event: Event) -> FailureView:
    """Return the view of the error of an event."""
    return FailureView(event)


def _user_frames(trace: TracebackType | None) -> Iterator[UserFrame]:
    while trace is not None:
        frame, line = trace.tb_frame, trace.tb_lineno
        file = frame.f_code.co_filename
        if not file.startswith(_OWN) and not any(host in Path(file).parts or file.endswith(host) for host in _HOSTS):
            yield UserFrame(_file_name(file), line, frame.f_code.co_name, _source(file, line, frame), _node_of(frame))
        trace = trace.tb_next


def _file_name(file: str) -> str:
    """A short name of a file; the paths of cells say nothing to a reader."""
    name = Path(file).name
    return "cell" if "ipython-input" in file or "ipykernel_" in file else visible(name)


def _source(file: str, line: int, frame: FrameType) -> str:
    """The line that raised, marked, with context lines, which end with the function."""
    linecache.lazycache(file, frame.f_globals)
    code, rows = frame.f_code, []
    end = max((number for *_, number in code.co_lines() if number), default=line)
    last = line + AROUND if code.co_name == "<module>" else max(line, min(line + AROUND, end))
    for number in range(max(1, line - AROUND), last + 1):
        text = linecache.getline(file, number, frame.f_globals).rstrip("\n")
        if text or number == line:
            rows.append(f"{'>' if number == line else ' '} {number:>4} | {visible(text)}")
    return "\n".join(rows)


def _node_of(frame: FrameType) -> str:
    """The first argument or local variable that is a node of a program, by its name."""
    code = frame.f_code
    names = [*code.co_varnames[: code.co_argcount], *code.co_varnames[code.co_argcount :]]
    nodes = [(name, frame.f_locals[name]) for name in names if isinstance(frame.f_locals.get(name), Expr)]
    if not nodes:
        return ""
    name, node = nodes[0]
    place = f" at {node.span}" if node.span is not None else ""
    return visible(f"{name} = {node_name(node)}{place}")
