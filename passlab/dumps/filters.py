"""Filters of noise for the views of a dump: each takes a line and returns it without one kind of noise, or None."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from passlab.errors import Diagnostic, DumpError, did_you_mean

Filter = Callable[[str], "str | None"]

_DEBUG_LINE = re.compile(
    r"^\s*(?:#dbg_|(?:tail )?call void @llvm\.dbg\.|DBG_|!\d+ = (?:distinct )?!DI)|^\s*# File: |^[;/ ]*debug-info"
)
_DEBUG_USE = re.compile(r", !dbg !\d+|,? debug-location !\S+| !dbg !\d+|debug-instr-number \d+,? ?")
_METADATA_LINE = re.compile(r"^(?:!\d+ = |![\w.]+ = !\{)")
_METADATA_USE = re.compile(r",? !(?!dbg)[A-Za-z_][\w.]* !\d+|, metadata=\{[^{}]*\}|,? ?frontend_attributes=\{[^{}]*\}")
_ATTRIBUTE_LINE = re.compile(r"^(?:attributes #\d+ = |; Function Attrs:)")
_ATTRIBUTE_USE = re.compile(r" #\d+(?=\s*(?:\{|$|,| ))|,? ?backend_config=\{.*\}(?=$|,)")
_LOCATION_LINE = re.compile(
    r"^#loc\d* = |^(?:FileNames|FunctionNames|FileLocations|StackFrames)$|^\d+ (?:\"|\{(?:file|function|parent)_)"
)
_LOCATION_USE = re.compile(r" ?loc\((?:[^()]|\([^()]*\))*\)|(?<=\S) ?\[[^\[\]\s:]+:\d+:\d+\](?: discrim \d+)?")
_ALIAS_LINE = re.compile(r"^[#!](?!llvm\.)[A-Za-z_][\w.$-]* = ")
_BLOB = re.compile(r'(dense(?:_resource)?<)("0x[0-9A-Fa-f]{32,}"|[^<>]{120,})(>)')
_COMMENT = re.compile(r"\s+(?:;|//|#) [^\"]*$|^\s*(?:;|//)(?! Machine| (?:Preheader|Loop|Exit)).*$")


_NEVER = re.compile(r"(?!)")  # an empty negative lookahead matches nowhere
# For each filter a pattern of lines that are noise, and one of ranges that are.
_PATTERNS = {
    "debug info": (_DEBUG_LINE, _DEBUG_USE),
    "metadata": (_METADATA_LINE, _METADATA_USE),
    "attributes": (_ATTRIBUTE_LINE, _ATTRIBUTE_USE),
    "locations": (_LOCATION_LINE, _LOCATION_USE),
    "aliases": (_ALIAS_LINE, _NEVER),
    "blobs": (_NEVER, _BLOB),
    "comments": (_NEVER, _COMMENT),
}


def _line_filter(name: str) -> Filter:
    whole, part = _PATTERNS[name]

    def keep(line: str) -> str | None:
        return None if whole.search(line) else part.sub("", line)

    return keep


def _without_blobs(line: str) -> str:
    return _BLOB.sub(lambda m: f"{m[1]}... {len(m[2]):,} characters{m[3]}", line) if "dense" in line else line


def _without_comments(line: str) -> str | None:
    shown = _COMMENT.sub("", line)
    return shown if shown.strip() or not line.strip() else None


FILTERS: dict[str, Filter] = {
    **{name: _line_filter(name) for name in ("debug info", "metadata", "attributes", "locations", "aliases")},
    "blobs": _without_blobs,
    "comments": _without_comments,
}


def noise_of(line: str) -> list[tuple[str, int, int]]:
    """Return the noise in a line: (filter, start, end) of each range."""
    ranges: list[tuple[str, int, int]] = []
    for name, (whole, part) in _PATTERNS.items():
        if whole.search(line):
            ranges.append((name, 0, len(line)))
        elif name == "blobs":
            matches = part.finditer(line) if "dense" in line else ()
            ranges += [(name, match.start(2), match.end(2)) for match in matches]
        else:
            spans = [match.span() for match in part.finditer(line) if match[0]]
            is_all = name == "comments" and bool(spans) and not part.sub("", line).strip()
            ranges += [(name, 0, len(line))] if is_all else [(name, *span) for span in spans]
    return ranges


def filters_named(names: Iterable[str]) -> tuple[Filter, ...]:
    """Return filters by name. Raises `DumpError` for one that does not exist."""
    chosen = []
    for name in (names,) if isinstance(names, str) else names:
        if name not in FILTERS:
            hint = did_you_mean(name, FILTERS) or f"there are {', '.join(FILTERS)}"
            raise DumpError(Diagnostic(f"there is no filter `{name}`", hint=hint))
        chosen.append(FILTERS[name])
    return tuple(chosen)
