"""`write_html`: a recording as one HTML file that needs nothing else: no kernel and no network.

The file is the explorer of a notebook, with all it can show inside. Where no script may run, and in the static form,
it is the static form of `RecordingView`, and the program at the end below it. Everything a program can name is escaped
by `html`; this module only puts a page around it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from passlab.display.html import Markup, escape, join, tag
from passlab.display.module import module_view
from passlab.display.page import document
from passlab.display.page_answers import page_answers
from passlab.display.recording import RecordingView
from passlab.lab.recording import Recording

if TYPE_CHECKING:
    import os

# A browser that obeys this runs no script and fetches nothing, whatever the page holds.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = """
:root { color-scheme: light dark }
body { margin: 2rem auto; max-width: 76rem; padding: 0 1rem; font: 14px/1.5 system-ui, sans-serif }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse } @media print { body { margin: 0 } }
"""


def report_html(recording: Recording) -> str:
    """Return a recording as a complete HTML document: what each pass did, the differences, the program at the end."""
    title = escape(f"Recording of {recording.name}" if recording.name else "Recording")
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>'
        f"<style>{_STYLE}</style>"
    )
    body = f"<h1>{title}</h1>\n{_static(recording)}"
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>\n{body}\n</body>\n</html>\n'


def _static(recording: Recording) -> Markup:
    """Return what each pass did, and the program it ended with."""
    last = "The program so far" if recording.error is not None else "The program at the end"
    heading = tag("p", tag("strong", last))
    return join([RecordingView(recording).html(), heading, module_view(recording.last).html()], "\n")


def explorer_html(recording: Recording) -> str:
    """Return a recording as the explorer of a notebook, in one document: every step, difference and program inside."""
    view = RecordingView(recording)
    return document(view, page_answers(view), fallback=_static(recording))


def write_html(recording: Recording, path: str | os.PathLike[str], static: bool = False) -> None:
    """Write a recording to an HTML file, in UTF-8; with `static` one without any script. Raises `OSError`."""
    page = report_html(recording) if static else explorer_html(recording)
    Path(path).write_text(page, encoding="utf-8")


__all__ = ["explorer_html", "report_html", "write_html"]
