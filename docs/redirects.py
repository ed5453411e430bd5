"""Keeps old addresses: for each line of `redirects.txt`, the page that was there leads to the one that is now.

A line holds the old page and the new one, or a heading of the old page (`how-to#save-a-recording`) and where it is now.
"""

from __future__ import annotations

import json
import posixpath
from collections import defaultdict
from html import escape
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parent / "redirects.txt"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>This page has moved</title>
<noscript><meta http-equiv="refresh" content="0; url={target}"></noscript>
<script>
const headings = {headings};
const heading = decodeURIComponent(location.hash.slice(1));
location.replace(headings[heading] ?? {script_target} + location.hash);
</script></head>
<body><p>This page has moved to <a href="{target}">{target}</a>.</p></body></html>
"""


def table() -> dict[str, str]:
    """Return the new place of each old page, and of each heading that has moved elsewhere."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return dict(line.split() for line in lines if line and not line.startswith("#"))


def pages() -> dict[str, str]:
    """Return the text of the page at each old address, by its name without `.html`."""
    headings: dict[str, dict[str, str]] = defaultdict(dict)
    whole = {}
    for old, new in table().items():
        page, _, heading = old.partition("#")
        target, _, anchor = new.partition("#")
        address = posixpath.relpath(f"{target}.html", posixpath.dirname(page) or ".") + (anchor and f"#{anchor}")
        if heading:
            headings[page][heading] = address
        else:
            whole[page] = address
    return {
        page: PAGE.format(
            target=escape(address), script_target=json.dumps(address), headings=json.dumps(headings.get(page, {}))
        )
        for page, address in whole.items()
    }


def write(app: Any, exception: Exception | None) -> None:
    """Write the pages at the old addresses, once the manual is built."""
    if exception is None and app.builder.format == "html":
        for page, text in pages().items():
            path = Path(app.outdir) / f"{page}.html"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Join the build."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
