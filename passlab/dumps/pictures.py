"""The folder of LLVM's `-print-changed=dot-cfg`: a list of all passes in `passes.html`, a picture of each change."""

from __future__ import annotations

import re
from pathlib import Path

from passlab.dumps.banner import NONE, Banner, Scan
from passlab.dumps.llvm import is_no_pass, kind_of
from passlab.dumps.source import FileSource, decode
from passlab.errors import Diagnostic, DumpError

INDEX = "passes.html"
# An entry of the list: one for each function that a pass changed, with a second number.
_ENTRY = re.compile(
    rb"<(?:a|button)(?P<attributes>[^>]*)>(?P<number>\d+)(?:\.\d+)?\. (?P<words>[^\n]*?)</(?:a|button)>"
)
_PICTURE = re.compile(rb'href="([^"]+)"')
_ENDS = ((" omitted because no change", "unchanged"), (" filtered out", "filtered"), (" ignored", "ignored"))


def is_folder(names: list[str]) -> bool:
    """Whether files are named as in such a folder."""
    return INDEX in names


def scan_pictures(files: list[Path]) -> Scan:
    """Return the passes that the list names. Raises `DumpError` for a list without any."""
    banners: list[Banner] = []
    for path in files:
        if path.name != INDEX:
            continue
        source, last = FileSource(path), b""
        for match in _ENTRY.finditer(source.read(0, source.size)):
            words = decode(match["words"]).replace("&lt;", "<").replace("&gt;", ">")
            picture = _PICTURE.search(match["attributes"])
            drawn = decode(picture[1]) if picture else ""
            if match["number"] == last:  # one more function that the pass changed
                banners[-1].note += f", {drawn}" if banners and drawn else ""
                continue
            if words.startswith("Initial IR"):
                continue
            last = match["number"]
            banner = _banner(source, words)
            if is_no_pass(banner.name, banner.status):
                continue
            banner.start = match.start()
            banner.body = banner.end = match.end()
            banner.note = f"drawn in {drawn}" if drawn else ""
            banners.append(banner)
    if not banners:
        hint = "LLVM crashes where it draws some programs; -print-changed alone prints them"
        raise DumpError(Diagnostic(f"{INDEX} lists no pass: it is not a dump", hint=hint))
    notes = ["LLVM drew the programs; their text is not here: -print-changed alone prints it"]
    return Scan(banners, notes=notes, says_all=True)


def _banner(source: FileSource, words: str) -> Banner:
    """Return the banner of an entry: pass, unit and verdict."""
    status = "changed"
    words = words.removeprefix("Pass ")
    if words.endswith(" invalidated"):
        return Banner(source, "after", words.removesuffix(" invalidated"), status="invalidated", scope=NONE)
    for end, meaning in _ENDS:
        if words.endswith(end):
            words, status = words.removesuffix(end), meaning
            break
    name, _, unit = words.partition(" on ")
    return Banner(source, "after", name, unit, kind_of(unit), status=status, scope=NONE)
