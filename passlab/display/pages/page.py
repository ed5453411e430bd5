"""A view as one HTML file that needs neither kernel nor network: the widget, its data and a host for it.

`write(recording_view(rec), "report.html")` makes a report.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from passlab.atomic_file import write_text
from passlab.display.html import Markup, div, escape, join, with_shared_styles
from passlab.display.pages.scripts import inline, style
from passlab.display.view import View
from passlab.display.view_parts import html_of
from passlab.errors import Diagnostic, PasslabError, type_in_words

# The static form of the view is painted first; the script replaces it when the widget is drawn.
_HOST = """{
const host = document.getElementById("host"), first = host.firstElementChild;
if (!document.hidden) await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
const state = JSON.parse(document.getElementById("state").textContent);
const heard = {};
let own = location.hash;
// Where the reader is stands in the address, so that a link leads there: #pass=4&tab=diff&line=31
const { pass: step, ...rest } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
if (location.hash.length > 1) {
  state.place = step === undefined ? rest : { step, ...rest };
  state.at = Number(rest.at ?? state.at);
}
const keep = () => {
  const { step: pass, top, ...others } = { ...state.place, ...(state.at ? { at: state.at } : {}) };
  const words = Object.entries({ pass, ...others });
  own = "#" + new URLSearchParams(words.filter(([, value]) => value !== undefined && value !== "" && value !== false));
  try { history.replaceState(null, "", own); } catch { location.hash = own; } // a file, or a page inside another
};
addEventListener("hashchange", () => { if (location.hash !== own) location.reload(); });
const model = {
  get: (key) => state[key],
  set: (key, value) => {
    state[key] = value;
    if (key === "place" || key === "at") keep();
    for (const run of heard["change:" + key] || []) run();
  },
  save_changes() {}, on: (name, run) => { (heard[name] ||= []).push(run); }, off() {},
};
await render({ model, el: host });
first.remove();
// On paper the view is its static form: all of it, with every fold open.
addEventListener("beforeprint", () => {
  const paper = document.createElement("div");
  const rest = new DOMParser().parseFromString(document.querySelector("noscript").textContent, "text/html");
  paper.className = "pl-paper";
  paper.append(first.cloneNode(true), ...rest.body.childNodes);
  for (const fold of paper.querySelectorAll("details")) fold.open = true;
  document.body.append(paper);
});
addEventListener("afterprint", () => document.querySelector(".pl-paper")?.remove());
const here = document.activeElement === document.body && host.querySelector("[tabindex='0']");
if (here) here.focus({ preventScroll: true, focusVisible: false }); // the page is the view: keys are meant for it
// A page of something that still runs asks its server for the next data, until there is no more.
for (let version = state.live; version; ) {
  try {
    const answer = await (await fetch("data?since=" + version)).json();
    if (answer.data) model.set("data", answer.data);
    version = answer.ended ? 0 : answer.version;
    if (answer.ended) await navigator.serviceWorker?.register("keep.js"); // it shows the page after the server has gone
  } catch { version = 0; } // the server has gone: what is here stays
}
}"""
# Paper has no colour scheme and scrolls nothing: boxes are as long as their content, long lines wrap, pictures shrink.
_PAPER = """@media print {
html { color-scheme: light; } body { margin: 0; max-width: none; padding: 0; }
* { max-height: none !important; overflow: visible !important; }
pre, pre * { white-space: pre-wrap !important; overflow-wrap: anywhere; }
img, svg { max-width: 100% !important; height: auto; }
details::details-content { content-visibility: visible; block-size: auto; }
summary, strong { break-after: avoid; }
body:has(> .pl-paper) > #host { display: none; }
}
@media screen { .pl-paper { display: none; } }"""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none';{connect} style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<title>{title}</title><style>{style}
html {{ color-scheme: light dark; background: light-dark(#fff, #101216); }} body {{ margin: 20px; }}
.pl-first {{ max-height: calc(100vh - 48px); overflow: hidden; }}
.pl-pipeline, .pl-stepper {{ height: calc(100vh - 48px); }}
.passlab > .pl-graph {{ height: calc(100vh - 92px); }}
.passlab:has(> .pl-pane > .pl-scroll) {{ display: flex; flex-direction: column; max-height: calc(100vh - 48px); }}
.passlab:has(> .pl-pane > .pl-scroll) > * {{ flex: none; }}
.passlab > .pl-pane:has(> .pl-scroll) {{ flex: 0 1 auto; display: flex; flex-direction: column; min-height: 0; }}
.passlab > .pl-pane > .pl-scroll {{ min-height: 0; max-height: none; }}
{paper}</style></head>
<body><div id="host">{first}</div><noscript><style>.pl-first {{ max-height: none }}</style>{rest}</noscript>
<script type="application/json" id="state">{state}</script>
<script type="module">{script}{host}</script></body></html>
"""


# A browser that obeys this runs no script and fetches nothing, whatever the page holds.
_STATIC = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title><style>
:root {{ color-scheme: light dark }}
body {{ margin: 2rem auto; max-width: 76rem; padding: 0 1rem; font: 14px/1.5 system-ui, sans-serif }}
h1 {{ font-size: 1.5rem }} table {{ border-collapse: collapse }}
{paper}</style></head>
<body><h1>{title}</h1>
{body}
</body></html>
"""
# From the data of a view and the length of its JSON to the additional state of a page, each value as JSON.
Answers = Callable[[Any, int], Mapping[str, str]]


def compact_json(value: Any) -> str:
    """Return a value as JSON without blanks."""
    return json.dumps(value, separators=(",", ":"))


def document(view: View, answers: Answers | None = None, more: Iterable[Markup] = (), live: int = 0) -> str:
    """Return a view as a page. `answers` adds data that a kernel would send on demand, such as graphs.

    Before the script runs, the page shows the static form of the view up to its first fold. Where scripts are disabled,
    it shows the whole static form, then `more`. With `live`, the number of its data, it asks its server for newer data.
    Raises `PasslabError` for views without a widget.
    """
    if not view.script:
        raise PasslabError(Diagnostic(f"{type_in_words(view)} is a table: write its html() or frame() instead"))
    data = view.data()
    text = compact_json(data)
    values = {
        "data": text,
        "selected": "-1",
        "nodes": "[]",
        "graphs": "{}",
        "at": compact_json(data.get("at", 0)),
        **({"live": str(live)} if live else {}),
        **(answers(data, len(text)) if answers else {}),
    }
    state = "{" + ",".join(f'"{name}":{value}' for name, value in values.items()) + "}"
    code = inline(view.script)
    parts = list(view.parts())
    first = next((at for at, part in enumerate(parts) if at and not part.first), len(parts))
    assert not re.search("<(?:/?script|!--)", code, re.IGNORECASE)  # these would end the script element early
    return _PAGE.format(
        title=escape(view.page_title),
        paper=_PAPER,
        connect=" connect-src 'self'; worker-src 'self';" if live else "",
        style=style(),
        state=state.replace("<", "\\u003c"),  # a name with `</script>` would end the element
        script=code,
        host=_HOST,
        first=div("pl-first", html_of(parts[:first])),
        rest=join([html_of(parts[first:]), *more]),
    )


def static_document(title: str, *body: Markup) -> str:
    """Return static HTML as a page without any script."""
    return _STATIC.format(title=escape(title), paper=_PAPER, body=with_shared_styles(join(body, "\n")))


def write(view: View, path: str | os.PathLike[str], answers: Answers | None = None) -> None:
    """Write a view as a page. Raises `FileAccessError`, and `PasslabError` for views without a widget."""
    write_text(path, document(view, answers), "backslashreplace")
