"""A dump as its compiler printed it: without the encoding of a console, and what a tool put in front of each line.

    2026-11-28T13:20:52.1234567Z ; *** IR Dump After SROAPass on f ***     a log of continuous integration
    # | ; *** IR Dump After SROAPass on f ***                              LLVM's test runner
    {"log": "; *** IR Dump After SROAPass on f ***", ...}                  the log of a container

PowerShell writes UTF-16 or UTF-32, a browser saves pages, and consoles of Windows end lines with two characters. What
stands in front of a heading is a prefix where it stands in front of nearly all lines, with other digits perhaps.

A terminal wraps lines at its width: then many lines have the greatest length, and go on in the middle of a word.
"""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from passlab.dumps.source import CHUNK, DumpSource, chunks, spool_chunks, text_of_page

SAMPLE = 2**20  # bytes in which prefixes are looked for
_MARK = (
    rb"(?:[;#] )?\*\*\* IR (?:Dump|Pass|Deleted) |// -----// IR Dump |IR after [\w.-]+[:{]"
    rb"|(?:Before|After) Running Pass: "
)
_LOG = rb"[VIDWEC]\d{4} [\d:]+\.\d+ +\d+ [^\s\]]+:\d+\] "  # of torch, and of all that log as Google does
_PASS = re.compile(rb"(?m)^(?P<prefix>[^\n]*?)(?:" + _MARK + rb")")
_HEADING = re.compile(rb"(?m)^(?P<prefix>[^\n]*?)(?:" + _MARK + rb"|" + _LOG + rb")")
_NUMBER = re.compile(rb"(?:\\[ \t])*\d+")  # in an escaped pattern; spaces fill it up to a width
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LONGEST_PREFIX = 300
_COLOUR = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
_PAGE = re.compile(rb"(?i)\s*<(?:!doctype html|html|pre)\b")
# A line that goes on in none, and one that no other goes on in.
_IS_WHOLE = re.compile(
    rb"\s*\Z|  |\}|\t|(?:builtin\.)?module\b|func\.func |; (?:Function Attrs|ModuleID|Preheader|Loop|Exit blocks)"
    rb"|(?:# (?:Machine|End machine) code|Function Live Ins|Frame Objects|Constant Pool|Jump Tables)\b"
    rb"|define |declare |attributes #|[!#][\w.]+ = |\d+B[\t ]|bb\.\d|\d+:\s|" + _MARK
)
_BROKEN = re.compile(
    rb"(?:[;#] )?\*\*\* IR (?!.*\*\*\*:?)|// -----// IR Dump (?!.*// ?-----)|define (?!.*\{\s*\Z)"
    rb"|.*Running Pass: (?!.*\)\s*\Z)"
)
_COMMAND = re.compile(rb"##\[\w+\]\Z")  # what a log of continuous integration puts before some lines
Change = Callable[[bytes], bytes]  # of some whole lines


def plain(source: DumpSource) -> DumpSource:
    """Return a dump in UTF-8 and without prefixes: the source itself where it has neither, else a copy of it."""
    head = source.read(0, SAMPLE)
    if encoding := _wide_encoding(head):
        source = spool_chunks(_decoded(source, encoding), source.name, source.note)
    if any(b"\r" in data for _, data in chunks(source)):  # of some of the tools that wrote here, or of all
        source = spool_chunks((_with_line_ends(data) for _, data in chunks(source)), source.name, source.note)
    for find in (_mark, _page, _objects, _colours, _prefix, _doubled, _padded):
        head = source.read(0, SAMPLE)
        change = find(head)
        if change is not None:
            source = spool_chunks((change(data) for _, data in chunks(source)), source.name, source.note)
    return _unwrapped(source)


def _doubled(head: bytes) -> Change | None:
    """Return how to take out empty lines that stand after every line."""
    lines = head.split(b"\n")[:-1]
    if len(lines) < 8 or any(line.strip() for line in lines[1::2]):
        return None
    return lambda data: data.replace(b"\n\n", b"\n")


def _padded(head: bytes) -> Change | None:
    """Return how to take out the blanks with which a console fills its lines."""
    lines = head.split(b"\n")[:-1]
    is_padded = len(lines) >= 8 and sum(line.endswith(b"  ") for line in lines) * 10 >= len(lines) * 7
    return (lambda data: _BLANKS.sub(b"", data)) if is_padded or _OPENS.search(head) else None


_OPENS = re.compile(rb"\{[ \t]+\n")  # no compiler prints a blank there
_BLANKS = re.compile(rb"(?m)(?<![ \t])[ \t]+$")


# ---------------------------------------------------------------- the width of a terminal
def _unwrapped(source: DumpSource) -> DumpSource:
    """Return a dump with whole lines: the source itself, unless a terminal wrapped its lines or a tool cut them off."""
    lines = source.read(0, SAMPLE).split(b"\n")[:-1]
    width = max(map(len, lines), default=0)
    if not 40 <= width <= 1000 or not any(_PASS.match(line) for line in lines):
        return source
    pairs = {line: following for line, following in pairwise(lines) if len(line) == width}
    goes_on = [line for line, following in pairs.items() if not _IS_WHOLE.match(following)]
    in_word = sum(pairs[line][:1].isalnum() and line[-1:].isalnum() for line in goes_on)
    broken = sum(_BROKEN.match(line) is not None for line in pairs)  # of one line alone nothing else is proof
    # Lines that were wrapped between words end before the width, and may have lost their blanks.
    is_loose = any(_BROKEN.match(line) for line in lines if len(line) < width - 1)
    are_wrapped = 10 * len(goes_on) >= 6 * len(pairs) and 10 * in_word >= len(pairs) > 2
    if goes_on and not is_loose and (are_wrapped or (broken and 10 * in_word >= 3 * len(pairs))):
        note = f"lines that were wrapped at {width} characters are joined"
        return spool_chunks(_joined_lines(source, width), source.name, "; ".join(filter(None, (source.note, note))))
    are_open = sum(map(_is_open, pairs)) * 2 >= len(pairs) if len(pairs) > 2 else goes_on and in_word == len(pairs)
    if broken or are_open:
        source.is_narrow = True
        note = f"its lines seem to end at {width} characters, cut off or wrapped: no verdict rests on its texts"
        source.note = "; ".join(filter(None, (source.note, note)))
    return source


def _is_open(line: bytes) -> bool:
    """Whether a bracket is not closed in a line, which does not say that it goes on."""
    return line.count(b"(") > line.count(b")") and not line.rstrip().endswith((b"(", b",", b"({"))


def _joined_lines(source: DumpSource, width: int) -> Iterator[bytes]:
    """Yield chunks of lines; a line of the whole width goes on in the next one, unless that is a line of its own."""
    is_open = False
    for _, data in chunks(source):
        out: list[bytes] = []
        for line in data.splitlines(keepends=True):
            if is_open and not _IS_WHOLE.match(line) and out:
                out[-1] = out[-1].removesuffix(b"\n")
            out.append(line)
            is_open = len(line.rstrip(b"\n")) == width
        yield b"".join(out)


def _wide_encoding(head: bytes) -> str:
    """Return the name of the encoding of a text in UTF-16 or UTF-32; empty for another one."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):  # the first begins with the mark of UTF-16
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    sample = head[:4000]
    high = [not any(sample[at::4]) for at in range(4)]  # of UTF-32, where all but one of four bytes are mostly 0
    if len(sample) >= 8 and (high == [True, True, *high[2:]] or high[2:] == [True, True]):
        return "utf-32-be" if high[0] else "utf-32-le"
    zeros = sample[1::2].count(0), sample[::2].count(0)
    if len(sample) < 8 or min(zeros) or max(zeros) * 4 < len(sample):  # half of the bytes of a text in English
        return ""
    return "utf-16-le" if zeros[0] else "utf-16-be"


def _decoded(source: DumpSource, encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("ignore")
    for start in range(0, source.size, CHUNK):
        text = decoder.decode(source.read(start, start + CHUNK))
        yield text.removeprefix("\ufeff").encode("utf-8", "surrogateescape").replace(b"\r\n", b"\n")


def _mark(head: bytes) -> Change | None:
    """Return how to take out the mark of UTF-8 in front of a text."""
    is_marked = head.startswith(_BYTE_ORDER_MARK)
    return (lambda data: data.removeprefix(_BYTE_ORDER_MARK)) if is_marked else None


def _with_line_ends(data: bytes) -> bytes:
    """Return lines that end in one character, in place of two or three of them, or of the other one."""
    while b"\r\r\n" in data:
        data = data.replace(b"\r\r\n", b"\r\n")
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _page(head: bytes) -> Change | None:
    """Return how to take the text out of a page, such as the log that a browser saved."""
    return text_of_page if _PAGE.match(head) else None


def _objects(head: bytes) -> Change | None:
    """Return how to take the text out of a log of JSON objects, one a line, as Docker writes it."""
    about = [_object(line) for line in head.split(b"\n", 40)[:40]]
    texts = [(key, one[key]) for one in about if one for key in one if isinstance(one[key], str)]
    keys = [key for key, text in texts if _HEADING.search(text.encode("utf-8", "surrogateescape"))]
    if not keys or sum(one is not None for one in about) * 2 < len(about):
        return None
    key = keys[0]
    end = "" if any(text.endswith("\n") for name, text in texts if name == key) else "\n"

    def text_of(line: bytes) -> bytes:
        one = _object(line)
        text = one.get(key) if one is not None else None
        return line + b"\n" if not isinstance(text, str) else (text + end).encode("utf-8", "surrogateescape")

    return lambda data: b"".join([text_of(line) for line in data.removesuffix(b"\n").split(b"\n")])


def _object(line: bytes) -> dict[str, Any] | None:
    if not line.startswith(b"{"):
        return None
    try:
        one = json.loads(line)
    except ValueError:
        return None
    return one if isinstance(one, dict) else None


def _colours(head: bytes) -> Change | None:
    """Return how to take out what a terminal shows as colours."""
    return (lambda data: _COLOUR.sub(b"", data)) if _COLOUR.search(head) else None


def _prefix(head: bytes) -> Change | None:
    """Return how to take out what stands in front of nearly every line."""
    heads = [*_PASS.finditer(head)] or [*_HEADING.finditer(head)]
    prefixes = [_COMMAND.sub(b"", match["prefix"]) for match in heads if len(match["prefix"]) < LONGEST_PREFIX]
    shapes = Counter(_shape(prefix) for prefix in prefixes)
    if not shapes:
        return None
    (shape, count), *_ = shapes.most_common(1)
    if not shape or count * 10 < len(prefixes) * 9:
        return None
    pattern = re.compile(rb"(?m)^" + shape)
    lines = [line for line in head.split(b"\n")[:-1] if line.strip()]
    is_prefix = sum(pattern.match(line) is not None for line in lines) * 10 >= len(lines) * 8
    return (lambda data: pattern.sub(b"", data)) if is_prefix else None


def _shape(prefix: bytes) -> bytes:
    """Return the pattern of a prefix, with any digits in the place of its digits; a blank line may lack its end."""
    begin, end = (re.escape(part) for part in (prefix.rstrip(), prefix[len(prefix.rstrip()) :]))
    return _NUMBER.sub(rb"[ \\t]*\\d+", begin) + rb"(?:" + end + rb"(?:##\[\w+\])?|[ \t]*\r?$)" if prefix else b""
