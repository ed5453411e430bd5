"""A widget in a page of its own, without JupyterLab: its script in a real browser, its Python side in the test's process.

What the script sends is answered at once by the widget itself, as a kernel would; what the widget changes comes back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page

from passlab.display.pages.scripts import inline, style
from passlab.display.protocol.widgets import ANSWERS, DATA, REQUESTS, STATES, Done, SelectionState
from tests.display.protocol_shapes import fields_of, problems

OF_JUPYTER = ("layout", "tabbable", "tooltip")  # values of every widget
_PAGE = """<!doctype html><html><head><meta charset="utf-8"><style>{style}
html {{ color-scheme: light dark; background: light-dark(#fff, #101216); }} body {{ margin: 20px; }}</style></head>
<body><div id="host"></div><script type="module">{script}
const state = {state}, heard = {{}}, pending = {{}};
const fire = (name, value) => {{ for (const run of [...(heard[name] || [])]) run(value); }};
const apply = (answers) => {{
  for (const [kind, name, value] of answers) {{
    if (kind === "set") state[name] = value;
    fire(kind === "set" ? `change:${{name}}` : "msg:custom", value);
  }}
}};
const model = {{
  get: (name) => state[name],
  set: (name, value) => {{ state[name] = pending[name] = value; fire(`change:${{name}}`, value); }},
  save_changes: async () => {{
    const changed = {{ ...pending }};
    for (const name in pending) delete pending[name];
    apply(await window.kernel({{ state: changed }}));
  }},
  send: async (content) => apply(await window.kernel({{ content }})),
  on: (name, run) => {{ (heard[name] ||= []).push(run); }},
  off: (name, run) => {{ heard[name] = (heard[name] || []).filter((one) => one !== run); }},
}};
window.told = (answers) => apply(answers);
await render({{ model, el: document.getElementById("host") }});
</script></body></html>"""


class Kernel:
    """The Python side: hears what the page sends, and collects what the widget answers.

    `problems` are differences of either from `passlab.display.protocol`.
    """

    def __init__(self, widget: Any, script: str) -> None:
        self.widget = widget
        self.script = script
        self.problems: list[str] = []
        self.answers: list[list[Any]] = []
        self.sent: list[Any] = []  # what the page has sent
        self.from_page: dict[str, Any] = {}
        widget.send = lambda content, buffers=None: self.answers.append(["message", "", content])
        widget.observe(self._changed, names=list(widget.traits(sync=True)))

    def _changed(self, change: dict[str, Any]) -> None:
        if self.from_page.get(change["name"]) != change["new"]:
            self.answers.append(["set", change["name"], change["new"]])

    def hear(self, message: dict[str, Any]) -> list[list[Any]]:
        """Let the widget answer a message or a change of its state."""
        self.sent.append(message)
        self.from_page = message.get("state", {})
        self._check("set", self.from_page)
        if "content" in message:
            self._check("request", {key: value for key, value in message["content"].items() if key != "ticket"})
        for name, value in self.from_page.items():
            setattr(self.widget, name, value)
        if "content" in message:
            self.widget._on_message(None, message["content"], [])
        return self.take()

    def take(self) -> list[list[Any]]:
        """The answers since the last time."""
        answers, self.answers = json.loads(json.dumps(self.answers)), []
        for kind, name, value in answers:
            if kind == "message" and "done" in value:
                self._check("done", value)
                continue
            self._check("answer" if kind == "message" else kind, {name: value} if kind == "set" else value)
        return answers  # type: ignore[no-any-return]

    def _check(self, kind: str, value: Any) -> None:
        """Compare a request, an answer, or new values of the model with their declaration."""
        if kind == "done":
            self.problems += problems(value, Done, kind)
            return
        if kind != "set":
            declared = (REQUESTS if kind == "request" else ANSWERS).get(self.script)
            self.problems += [f"{kind} {value}"] if declared is None else problems(value, declared, kind)
            return
        for name, item in value.items():
            self.problems += problems(item, trait_of(self.script, name), name)


def trait_of(script: str, name: str) -> Any:
    """The declared type of a value of a widget's model."""
    if script in DATA and name == "data":
        return DATA[script]
    return fields_of(STATES.get(script, SelectionState))[name][0]


@contextmanager
def widget_page(
    widget: Any, chrome: Browser, size: tuple[int, int] = (1400, 800), scheme: Any = "light", kind: str = ""
) -> Iterator[tuple[Page, Kernel]]:
    """A widget, open in a page; an error of its script fails the test."""
    kernel = Kernel(widget, kind or widget.view.script)
    page = chrome.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(f"{error.message}\n{error.stack}"))
    page.expose_function("kernel", kernel.hear)
    names = [name for name in widget.traits(sync=True) if not name.startswith("_") and name not in OF_JUPYTER]
    state = json.dumps({name: getattr(widget, name) for name in names}).replace("<", "\\u003c")
    script = inline(kernel.script)
    for name in names:
        kernel._check("set", {name: json.loads(json.dumps(getattr(widget, name)))})
    page.set_content(_PAGE.format(style=style(), script=script, state=state))
    try:
        page.wait_for_selector(".passlab", timeout=10_000)
        page.locator(".passlab").first.focus()
        yield page, kernel
    finally:
        page.close()
        assert errors == [], "\n".join(errors)
        assert kernel.problems == []


def tell(page: Page, kernel: Kernel) -> None:
    """Bring into the page what was changed on the Python side."""
    page.evaluate("answers => window.told(answers)", kernel.take())
