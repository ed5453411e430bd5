"""A dump as its compiler printed it: without the encoding of a console, and what a tool put in front of each line.

    2026-11-28T13:20:52.1234567Z ; *** IR Dump After SROAPass on f ***     a log of continuous integration
    # | ; *** IR Dump After SROAPass on f ***                              LLVM's test runner

PowerShell writes UTF-16, and consoles of Windows end lines with two characters. What stands in front of a heading is a
prefix where it stands in front of nearly all lines, with other digits perhaps.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator

from passlab.dumps.source import CHUNK, DumpSource, chunks, spool_chunks

SAMPLE = 2**20  # bytes in which prefixes are looked for
_HEADING = re.compile(
    rb"(?m)^(?P<prefix>[^\n]*?)(?:(?:[;#] )?\*\*\* IR (?:Dump|Pass|Deleted) |// -----// IR Dump |IR after [\w.-]+[:{]"
    rb"|(?:Before|After) Running Pass: |[VIDWEC]\d{4} [\d:]+\.\d+ +\d+ [^\s\]]+:\d+\] )"
)
_DIGITS = re.compile(rb"\d+")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LONGEST_PREFIX = 300


def plain(source: DumpSource) -> DumpSource:
    """Return a dump in UTF-8 and without prefixes: the source itself where it has neither, else a copy of it."""
    head = source.read(0, SAMPLE)
    if encoding := _wide_encoding(head):
        source = spool_chunks(_decoded(source, encoding), source.name, source.note)
        head = source.read(0, SAMPLE)
    if head.startswith(_BYTE_ORDER_MARK):
        source = spool_chunks(_without_mark(source), source.name, source.note)
        head = source.read(0, SAMPLE)
    if head.count(b"\r\n") * 10 > head.count(b"\n") * 9:
        source = spool_chunks(_without_returns(source), source.name, source.note)
        head = source.read(0, SAMPLE)
    prefix = _prefix_of(head)
    return source if prefix is None else spool_chunks(_without_prefix(source, prefix), source.name, source.note)


def _wide_encoding(head: bytes) -> str:
    """Return the name of the encoding of a text in UTF-16; empty for another one."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    sample = head[:4000]
    zeros = sample[1::2].count(0), sample[::2].count(0)
    if len(sample) < 8 or min(zeros) or max(zeros) * 4 < len(sample):  # half of the bytes of a text in English
        return ""
    return "utf-16-le" if zeros[0] else "utf-16-be"


def _decoded(source: DumpSource, encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("ignore")
    for start in range(0, source.size, CHUNK):
        text = decoder.decode(source.read(start, start + CHUNK))
        yield text.removeprefix("\ufeff").encode("utf-8", "surrogateescape").replace(b"\r\n", b"\n")


def _without_mark(source: DumpSource) -> Iterator[bytes]:
    for base, data in chunks(source):
        yield data if base else data.removeprefix(_BYTE_ORDER_MARK)


def _without_returns(source: DumpSource) -> Iterator[bytes]:
    for _, data in chunks(source):
        yield data.replace(b"\r\n", b"\n")


def _prefix_of(head: bytes) -> re.Pattern[bytes] | None:
    """Return the pattern of what stands in front of nearly every line; None for nothing."""
    prefixes = [match["prefix"] for match in _HEADING.finditer(head) if len(match["prefix"]) < LONGEST_PREFIX]
    shapes = Counter(_shape(prefix) for prefix in prefixes)
    if not shapes:
        return None
    (shape, count), *_ = shapes.most_common(1)
    if not shape or count * 10 < len(prefixes) * 9:
        return None
    pattern = re.compile(rb"(?m)^" + shape)
    lines = [line for line in head.split(b"\n")[:-1] if line.strip()]
    return pattern if sum(pattern.match(line) is not None for line in lines) * 10 >= len(lines) * 8 else None


def _shape(prefix: bytes) -> bytes:
    """Return the pattern of a prefix, with any digits in the place of its digits; a blank line may lack its end."""
    begin, end = (re.escape(part) for part in (prefix.rstrip(), prefix[len(prefix.rstrip()) :]))
    return _DIGITS.sub(rb"\\d+", begin) + rb"(?:" + end + rb"|[ \t]*\r?$)" if begin else b""


def _without_prefix(source: DumpSource, pattern: re.Pattern[bytes]) -> Iterator[bytes]:
    for _, data in chunks(source):
        yield pattern.sub(b"", data)
