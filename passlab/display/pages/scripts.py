"""One script per widget, joined from the small modules in `display/web`: no bundler, no network.

A widget's front-end must be one ES module. `script(name)` puts the imported modules before it, each as a
function that returns its exports, and removes comments and indentation. `inline(name)` returns the same for a page,
which needs no export. Both read only passlab's own JavaScript.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

WEB = Path(__file__).parent.parent / "web"
# Common styles; large views; modes of the explorer, editors, values. Later rules win over earlier ones.
STYLES = ("passlab", "graphs", "pipeline", "stepper", "dumps", "modes", "live", "values")
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function|class|const|let) (\w+)", re.MULTILINE)
_DEFAULT = re.compile(r"^function render\(.*\Z", re.MULTILINE | re.DOTALL)
_DOCS = re.compile(r"^[ \t]*/\*\*(?:(?!\*/).)*\*/\n", re.MULTILINE | re.DOTALL)
_CASTS = re.compile(r"/\*\* @\w+ .*?\*/ ?")
_COMMENT = re.compile(r"^[ \t]*//.*\n|[ \t]+// .*$", re.MULTILINE)


@cache
def style() -> str:
    """Return the style sheets of all widgets, joined."""
    return "".join([(WEB / f"{name}.css").read_text(encoding="utf-8") for name in STYLES])


@cache
def script(name: str) -> str:
    """Return the ES module of a widget."""
    order: list[str] = []
    stack = [(name, False)]
    while stack:
        module, done = stack.pop()
        if done:
            if module not in order:
                order.append(module)
        elif module not in order:
            stack.append((module, True))
            # Post-order: a module comes after those it imports.
            stack.extend((needed, False) for _, needed in reversed(_IMPORT.findall(_source(module))))
    return "\n".join(_body(module, main=module == name) for module in order)


def inline(name: str) -> str:
    """Return the script of a widget as the beginning of a page's own: `render` shows it."""
    code, end = script(name), "export default { render };\n"
    assert code.endswith(end), f"{name}.js ends with its widget"
    return code.removesuffix(end)


def _source(module: str) -> str:
    return (WEB / f"{module}.js").read_text(encoding="utf-8")


def _body(module: str, main: bool) -> str:
    source = _IMPORT.sub("", _source(module))
    names = _EXPORT.findall(source)
    text = _EXPORT.sub(lambda matches: matches[0].removeprefix("export "), source)
    if not main:
        text = _DEFAULT.sub("", text)  # the widget of its own that a module may end with
    text = _COMMENT.sub("", _CASTS.sub("", _DOCS.sub("", text)))
    text = "\n".join(line.strip() for line in text.split("\n") if line.strip())
    if main:
        return f"{text}\n"
    exported = ", ".join(names)
    return f"const {{ {exported} }} = (() => {{\n{text}\nreturn {{ {exported} }};\n}})();\n"
