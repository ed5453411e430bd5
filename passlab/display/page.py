"""A view as one HTML file that works on its own: the widget, its data and a host for it; no kernel, no network.

`write(recording_view(rec), "report.html")` makes a report.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from passlab.display.html import Markup, div, escape, span
from passlab.display.scripts import inline, style
from passlab.display.view import View
from passlab.errors import Diagnostic, PasslabError

SCRIPTS = (
    "module",
    "diff",
    "graph",
    "pipeline",
    "stepper",
    "dump",
    "comparison",
    "values",
    "timing",
    "solving",
    "instrument",
    "printer",
)
# The frame and the title are painted before the script, which takes their place, does anything.
_HOST = """{
const host = document.getElementById("host"), shell = host.firstElementChild;
if (shell && !document.hidden) await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
const state = JSON.parse(document.getElementById("state").textContent);
const heard = {};
const model = {
  get: (key) => state[key],
  set: (key, value) => { state[key] = value; for (const run of heard["change:" + key] || []) run(); },
  save_changes() {}, on: (name, run) => { (heard[name] ||= []).push(run); }, off() {},
};
await render({ model, el: host });
if (shell) shell.remove();
const here = document.activeElement === document.body && host.querySelector("[tabindex='0']");
if (here) here.focus({ preventScroll: true, focusVisible: false }); // the page is the view: keys are meant for it
}"""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<title>{title}</title><style>{style}
html {{ color-scheme: light dark; background: light-dark(#fff, #101216); }} body {{ margin: 20px; }}
.pl-pipeline, .pl-stepper, .pl-shell {{ height: calc(100vh - 48px); }}
.passlab > .pl-graph {{ height: calc(100vh - 92px); }}
.passlab > .pl-pane > .pl-scroll {{ max-height: calc(100vh - 132px); }}</style></head>
<body><noscript><style>#host {{ display: none }}</style>{fallback}</noscript><div id="host">{shell}</div>
<script type="application/json" id="state">{state}</script>
<script type="module">{script}{host}</script></body></html>
"""


Answers = Callable[[dict[str, Any]], dict[str, Any]]  # from the data of a view what else a page's state holds


def document(view: View, answers: Answers | None = None, fallback: Markup | None = None) -> str:
    """Return a view as a page. `answers` makes what a kernel would be asked for, such as the graphs of a recording.

    `fallback` stands there where no script may run; the static form of the view, unless given.
    Raises `PasslabError` for views without a widget.
    """
    if view.kind not in SCRIPTS:
        raise PasslabError(Diagnostic(f"a {type(view).__name__} is a table: write its html() or frame() instead"))
    data = view.data()
    state = json.dumps(
        {
            "data": data,
            "selected": -1,
            "nodes": [],
            "graphs": {},
            "at": data.get("at", 0),
            **(answers(data) if answers else {}),
        },
        separators=(",", ":"),
    )
    code = inline(view.kind)
    assert not re.search("<(?:/?script|!--)", code, re.IGNORECASE)
    return _PAGE.format(
        title=escape(data["title"]),
        style=style(),
        state=state.replace("<", "\\u003c"),
        script=code,
        host=_HOST,
        fallback=view.html() if fallback is None else fallback,
        shell=div("passlab pl-shell", div("pl-bar", span("pl-title", data["title"]))),
    )


def write(view: View, path: str | os.PathLike[str], answers: Answers | None = None) -> None:
    """Write a view as a page. Raises `OSError`, and `PasslabError` for views without a widget."""
    Path(path).write_text(document(view, answers), encoding="utf-8")


__all__ = ["document", "write"]
