"""What a browser can read of markup: attributes and styles that it would pass over in silence are found here."""

from __future__ import annotations

import base64
import re

from tests.display.programs import Reader

_NUMBER = r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)"
_PROPERTY = re.compile(
    "align-items|background|border(-bottom|-collapse|-left|-radius|-right)?|box-sizing|color|cursor|display|flex(-wrap)?"
    "|font-(family|size|variant-numeric|weight)|gap|height|left|line-height|margin(-bottom|-left|-right)?|max-height"
    "|max-width|min-width|overflow(-wrap)?|padding(-left)?|position|table-layout|text-(align|indent|overflow)|top"
    "|vertical-align|white-space|width"
)
_VALUE = re.compile(  # of a property: its parts, in any order
    rf"({_NUMBER}(px|ch|%|deg|s)?|#[0-9a-f]{{3,8}}|absolute|anywhere|auto|border-box|center|collapse|color-mix|calc|currentColor"
    "|ellipsis|fit-content|flex(-end)?|hidden|inline-block|in|left|linear-gradient|none|nowrap|pointer|pre(-wrap)?|relative|rgba"
    "|right|solid|srgb|tabular-nums|top|transparent|wrap|system-ui|-apple-system|'Segoe UI'|sans-serif|ui-monospace"
    r"|SFMono-Regular|Menlo|Consolas|monospace|[ ,()+-])+"
)
_READABLE = {
    **dict.fromkeys(
        ["width", "height", "x", "y", "rx", "font-size", "font-weight", "fill-opacity", "stroke-opacity"],
        rf"{_NUMBER}%?",
    ),
    **dict.fromkeys(["fill", "stroke"], "#[0-9a-f]{3,6}|none|currentColor"),
    "d": rf"([MLHVCQSTAZ]( ?,?{_NUMBER})* ?)+",
    "viewbox": rf"{_NUMBER}( {_NUMBER}){{3}}",
    "text-anchor": "start|middle|end",
}


def unreadable_markup(markup: str) -> list[str]:
    """Numbers, paths, colours and styles that a browser cannot read, also in the images of the markup."""
    result = []
    for name, value in Reader(markup).attributes:
        if name == "src":
            result += unreadable_markup(base64.b64decode(value.partition("base64,")[2]).decode("utf-8"))
        elif name == "style":
            parts = [declaration.partition(":") for declaration in value.removesuffix(";").split(";")]
            result += [f"{p}:{v}" for p, _, v in parts if not (_PROPERTY.fullmatch(p) and _VALUE.fullmatch(v))]
        elif not re.fullmatch(_READABLE.get(name, ".*"), value, re.DOTALL):
            result.append(f'{name}="{value}"')
    return result
