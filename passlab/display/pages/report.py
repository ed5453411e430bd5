"""`write_html` and `write_trace`: a recording, or a run, as one HTML file that needs neither kernel nor network.

The file is the explorer of a notebook with all its data. Without scripts, and in the static form,
it shows the static form of `RecordingView`, with the last program below it. `html` escapes everything that a program
names; this module only adds a page around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from passlab.atomic_file import write_text
from passlab.display.html import Markup, tag
from passlab.display.nodes import own_numbers
from passlab.display.pages.page import document, static_document, write
from passlab.display.pages.page_answers import page_answers
from passlab.display.palette import PROSE
from passlab.display.view import checked_view
from passlab.display.views.module import module_view
from passlab.display.views.recording import RecordingView
from passlab.display.views.stepper import stepper_view
from passlab.ir.gc_pause import building
from passlab.lab.recordings.recording import Recording

if TYPE_CHECKING:
    import os

    from passlab.debugger.trace import Trace


@own_numbers()
def report_html(recording: Recording) -> str:
    """Return a recording as a complete HTML document: what each pass did, the differences, the program at the end."""
    view = RecordingView(recording)
    return static_document(view.page_title, view.html(), *_at_the_end(view))


def _at_the_end(shown: RecordingView) -> Iterator[Markup]:
    """Yield the program that a recording ended with, under its heading: with the lines that its view has printed."""
    recording = shown.recording
    last = "The program so far" if recording.error is not None else "The program at the end"
    yield tag("div", tag("strong", last), style=f"{PROSE};margin:16px 0 4px")
    program = module_view(recording.last)
    program.lines = shown.lines(recording.last)
    yield program.html()


@building()
@own_numbers()
def explorer_html(recording: Recording) -> str:
    """Return a recording as the explorer of a notebook, in one document: every step, difference and program inside."""
    view = RecordingView(recording)
    return document(view, page_answers(view), _at_the_end(view))


@checked_view(Recording, hint="passlab.record(mod, passes) returns one")
def write_html(recording: Recording, path: str | os.PathLike[str], static: bool = False) -> None:
    """Write a recording to an HTML file, in UTF-8; with `static` one without any script. Raises `FileAccessError`.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "report.html")
    >>> rec = passlab.record(passlab.parse("def @main(%x: float32) { %x * (1f + 1f) }"), "FoldConstant")
    >>> _ = display.write_html(rec, path)
    >>> path.exists()
    True
    """
    page = report_html(recording) if static else explorer_html(recording)
    write_text(path, page, "backslashreplace")


def write_trace(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a trace to an HTML file, in UTF-8, as its stepper. Raises `FileAccessError`."""
    with own_numbers():
        write(stepper_view(trace), path)
