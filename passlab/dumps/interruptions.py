"""Other output inside bodies: warnings, remarks, a crash report, lines of `-print-pass-numbers`."""

from __future__ import annotations

import re

_LINE = re.compile(
    rb"(?m)^(?:(?:[^\s:%@][^:\n%@]*:)(?:\d+:)*(?:\d+:)? ?(?:fatal )?(?:warning|error|remark|note): [^\n]*"
    rb"|(?:warning|error|remark|note): [^\n]*"
    rb"| Running pass \d+ [^\n]*"
    rb"|\d+ (?:warnings?|errors?)(?: and \d+ errors?)? generated\.)(?:\n|\Z)"
)
_CONTEXT = re.compile(rb"(?:\s*\d* +\| [^\n]*(?:\n|\Z)|\s*[~^|][\s~^|]*(?:\n|\Z))+")
_CRASH = re.compile(
    rb"(?m)^(?:PLEASE (?:submit|ATTACH)|Stack dump|[^\s%@][^\n]*: [^\n]*Assertion [`'\"]|terminate called"
    rb"|Segmentation fault|LLVM ERROR: |fatal error: |Traceback \(most recent call last\))[^\n]*"
)


def find_holes(data: bytes, last: bool, language: str) -> tuple[tuple[int, ...], str]:
    """Return the ranges of other output in a body, as start, end, start, end ..., and the first line of a crash."""
    # Other output contains one of these words: a body without any needs no search by the slow patterns.
    if not (
        b"warning: " in data
        or b"error: " in data
        or b"remark: " in data
        or b"note: " in data
        or b"Stack dump" in data
        or b" Running pass " in data
        or b"PLEASE " in data
        or b"Assertion " in data
        or b" generated." in data
        or (last and (b"rror" in data or b"ault" in data or b"terminate" in data or b"Traceback" in data))
    ):
        return (), ""
    holes: list[int] = []
    crash = ""
    limit = len(data)
    if language != "python" and (match := _CRASH.search(data)):
        crash = match[0].decode("utf-8", "surrogateescape")
        limit = match.start()
    for match in _LINE.finditer(data, 0, limit):
        end = match.end()
        if context := _CONTEXT.match(data, end, limit):
            end = context.end()
        if holes and holes[-1] >= match.start():  # adjacent holes become one
            holes[-1] = max(end, holes[-1])
        else:
            holes += [match.start(), end]
    if limit < len(data):
        holes += [limit, len(data)]
    return tuple(holes), crash
