"""The script of each view, and the style sheet of all.

`make scripts` bundles the modules in `display/web` with esbuild, one file for each view in `web/dist`; only these
are part of a wheel. A bundle sets `view` to the exports of its module; nothing in it is loaded from anywhere.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

WEB = Path(__file__).parent.parent / "web"
# Common styles; large views; modes of the explorer, editors, values. Later rules win over earlier ones.
STYLES = ("passlab", "graphs", "pipeline", "stepper", "dumps", "modes", "live", "values")


@cache
def style() -> str:
    """Return the style sheets of all widgets, joined."""
    return "".join([(WEB / f"{name}.css").read_text(encoding="utf-8") for name in STYLES])


def script(name: str) -> str:
    """Return the script of a widget as an ES module, as anywidget wants it."""
    return f"{_bundle(name)}export default view.default;\n"


def inline(name: str) -> str:
    """Return the script of a widget as the beginning of a page's own: `render` shows it."""
    return f"{_bundle(name)}const {{ render }} = view.default;\n"


@cache
def _bundle(name: str) -> str:
    return (WEB / "dist" / f"{name}.js").read_text(encoding="utf-8")
