"""The one place where text becomes markup: `tag` builds elements, and escapes everything that is not its own markup.

Names, strings and messages of programs are hostile. They may become text between tags, and the `title`, `alt` and
`aria-label` of an element. Every other attribute takes only what this module checks: styles without addresses, names of
classes, numbers, paths of numbers, and encoded pictures. Control and bidirectional characters become visible escapes.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections import Counter
from collections.abc import Iterable

from passlab.errors import visible


class Markup(str):
    """Text that is markup already. Only this module makes it."""

    __slots__ = ()


_TAGS = frozenset(
    ("b", "details", "div", "img", "p", "pre", "span", "strong", "summary", "table", "tbody", "td", "th", "thead", "tr",
     "svg", "g", "rect", "path", "text", "title", "polygon")
)  # fmt: skip
_VOID = frozenset(("img",))
_SHAPES = frozenset(("rect", "path", "polygon"))
_WORDS = frozenset(("title", "alt", "aria_label"))  # may hold any text
# `\Z`, since `$` also matches before a newline at the end.
_CHECKED = {
    "style": re.compile(r"[-+*/\w:;,.%#() !']*\Z", re.ASCII),
    "class_": re.compile(r"[-a-z0-9 ]+\Z"),
    "open": re.compile(r"open\Z"),
    "role": re.compile(r"[a-z]+\Z"),
    "scope": re.compile(r"[a-z]+\Z"),
    "xmlns": re.compile(r"http://www\.w3\.org/2000/svg\Z"),
    "d": re.compile(r"[MLCHVZmlchvz0-9 .,-]*\Z"),
    "points": re.compile(r"[0-9 .,-]*\Z"),
    "viewBox": re.compile(r"[0-9 .-]*\Z"),
    "fill": re.compile(r"[a-z]+\Z|#[0-9a-f]{3,8}\Z"),
    "stroke": re.compile(r"[a-z]+\Z|#[0-9a-f]{3,8}\Z"),
    "stroke_dasharray": re.compile(r"[0-9 ]+\Z"),
    "font_family": re.compile(r"[-\w, ]+\Z", re.ASCII),
    "font_weight": re.compile(r"[a-z0-9]+\Z"),
    "text_anchor": re.compile(r"[a-z]+\Z"),
    "paint_order": re.compile(r"[a-z]+\Z"),
    "src": re.compile(r"data:image/svg\+xml;base64,[A-Za-z0-9+/=]*\Z"),
}
_NUMBERS = frozenset(
    ("colspan", "x", "y", "rx", "width", "height", "font_size", "stroke_width", "fill_opacity", "stroke_opacity")
) | {"aria_valuenow"}


def escape(text: object) -> Markup:
    """Return text as markup that shows exactly this text, control characters as visible escapes."""
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(visible(str(text)), quote=True))


def join(parts: Iterable[str], between: str = "") -> Markup:
    """Return the parts joined; those that are not markup are escaped."""
    return Markup(escape(between).join([escape(part) for part in parts]))


def tag(name: str, *children: str, **attributes: object) -> Markup:
    """Return an element. Children that are not markup are escaped; attributes that are None or False are left out.

    Raises `ValueError` for an element, an attribute or a value that passlab does not write: a bug in the caller.
    """
    if name not in _TAGS:
        raise ValueError(f"passlab writes no <{name}> elements")
    written = [
        f" {_attribute(key, value)}" for key, value in attributes.items() if value is not None and value is not False
    ]
    head = f"<{name}{''.join(written)}>"
    if name in _SHAPES and not children:
        return Markup(f"{head[:-1]}/>")
    return Markup(head if name in _VOID else f"{head}{join(children)}</{name}>")


def div(look: str, *children: str, **attributes: object) -> Markup:
    """Return a `<div>` with class names."""
    return tag("div", *children, class_=look, **attributes)


def span(look: str, *children: str, **attributes: object) -> Markup:
    """Return a `<span>` with class names."""
    return tag("span", *children, class_=look, **attributes)


def _attribute(key: str, value: object) -> str:
    name = key if key == "viewBox" else key.rstrip("_").replace("_", "-")
    if value is True and key == "open":
        return name
    if key in _WORDS:
        return f'{name}="{escape(value)}"'
    if key in _NUMBERS and isinstance(value, (int, float)):
        return f'{name}="{_number(value)}"'
    check = _CHECKED.get(key)
    # An address in a style would be fetched from the network.
    if check is None or not check.match(str(value)) or "url(" in str(value):
        raise ValueError(f"passlab writes no attribute {key}={value!r}")
    return f'{name}="{value}"'


def _number(value: float) -> str:
    text = f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_STYLE = re.compile(r' style="([^"]*)"')
_ENDS = re.compile("</t[dhr]>")


def with_shared_styles(markup: Markup) -> Markup:
    """Return static HTML that looks the same and is much shorter: styles that occur twice become classes, and ends of
    cells and rows, which HTML does not ask for, are left out.

    Classes count inside this markup only, so that several outputs on one page do not disturb each other, and as much as
    the style of an element, which the host page does not overrule. A host that drops style sheets shows plain HTML.
    """
    written = Counter(_STYLE.findall(markup))
    single = Counter(one for style in written for one in set(style.split(";")))
    split: dict[str, tuple[str, str]] = {}  # for each style the part that becomes a class, and the rest

    for style, count in written.items():
        shared, own = style.split(";"), list[str]()
        if "linear-gradient(" in style:  # the bar of a measured time: classes are the same whenever a cell runs
            own = [one for one in shared if "linear-gradient(" in one]
            shared = [one for one in shared if one not in own]
        while count == 1 and shared and single[shared[-1]] == 1:  # the last ones overrule, as those of an element do
            own.insert(0, shared.pop())
        split[style] = (";".join(shared), ";".join(own))
    uses = Counter[str]()
    for style, count in written.items():
        uses[split[style][0]] += count
    names = _class_names(uses)
    markup = Markup(_ENDS.sub("", markup))
    if not names:
        return markup

    def attribute(found: re.Match[str]) -> str:
        look, own = split[found[1]]
        return f" class={names[look]}" + (f' style="{own}"' if own else "") if look in names else found[0]

    scope = f"p{hashlib.blake2b(';'.join(names).encode(), digest_size=4).hexdigest()}"
    sheet = "".join(f".{scope} .{name}:not(#_){{{_last_of_each(look)}}}" for look, name in names.items())
    return Markup(f"<style>{sheet}</style><div class={scope}>{_STYLE.sub(attribute, markup)}</div>")


def _last_of_each(style: str) -> str:
    """A style without the declarations that a later one of the same property overrules."""
    kept: dict[str, str] = {}
    for one in style.split(";"):
        name = one.partition(":")[0]
        kept.pop(name, None)
        kept[name] = one
    return ";".join(kept.values())


def _class_names(uses: Counter[str]) -> dict[str, str]:
    """The names of classes for looks that occur twice; the most frequent ones have the shortest."""
    return {look: f"p{place:x}" for place, (look, count) in enumerate(uses.most_common()) if look and count > 1}


_TAG = re.compile(r"<([a-z]+)([^<>]*?)(/?)>")
_LOOK = re.compile(
    r' (fill|fill-opacity|font-weight|stroke|stroke-dasharray|stroke-opacity|stroke-width|text-anchor)="([^"]*)"'
)


def _with_shared_looks(svg: str) -> str:
    """A drawing that looks the same and is shorter: colours and weights that occur twice become classes."""
    uses = Counter(";".join(f"{key}:{value}" for key, value in _LOOK.findall(found[2])) for found in _TAG.finditer(svg))
    shared = _class_names(uses)

    def element(found: re.Match[str]) -> str:
        look = ";".join(f"{key}:{value}" for key, value in _LOOK.findall(found[2]))
        if look not in shared:
            return found[0]
        return f'<{found[1]} class="{shared[look]}"{_LOOK.sub("", found[2])}{found[3]}>'

    sheet = "".join(f".{name}{{{look}}}" for look, name in shared.items())
    return _TAG.sub(element, svg).replace(">", f"><style>{sheet}</style>", 1) if shared else svg


def picture(svg: Markup, alt: str, style: str = "") -> Markup:
    """Return a drawing as an `<img>`, in which no script can run and which untrusted notebooks show too."""
    encoded = base64.b64encode(_with_shared_looks(svg).encode()).decode("ascii")
    return tag("img", src=f"data:image/svg+xml;base64,{encoded}", alt=alt, style=style or None)
