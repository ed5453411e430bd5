"""Splitting Relay text into tokens with one compiled regular expression.

A token is only its text and its offset: its first characters determine its kind. White space and comments (`// ...`
and nested `/* ... */`) are skipped. A `Tensor[(1, 3), float32]`, a `meta[relay.Constant][0]` and a dotted name are one
token each, so that typical text has few of them. Characters that start no token become tokens of one character; the
parser reports them in context. This module does not depend on the grammar.
"""

from __future__ import annotations

import re

from passlab import limits
from passlab.errors import Diagnostic, ParseError
from passlab.ir.span import Source, Span

METADATA = "#[metadata]"

_NAME = r"[A-Za-z_]\w*(?:/(?![/*])\w*)*"
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_FLAT_COMMENT = r"/\*[^*/]*(?:(?:\*(?!/)|/(?!\*))[^*/]*)*\*/"  # a block comment without nested ones
_SKIP = rf"(?:[ \n\t]+|{_FLAT_COMMENT}|//[^\n]*|\r\n)*"
_TOKEN = "|".join(
    (
        r"%\d+",
        rf"[%@]{_NAME}(?:(?:\.\w+)*\.{_NAME})?",
        r"Tensor\[\([0-9, ?]*\), ?[a-z]\w*\]",
        r"meta\[[^\[\]]+\]\s*\[\s*\d+\s*\]",
        r"match\?",
        r"-*(?:inf|nan)(?:bf16|f16|f32|f64|f)(?![\w/])",
        rf"{_NAME}(?:\.{_NAME})*",
        r"-*\d[\w.]*(?:(?<=[eE])[+-]\d[\w.]*)?",
        rf"[%@]?{_STRING}",
        r"->|=>|[<>=!]=|/\*|[-+*/<>=!?:;,.()\[\]{}]",
        r"#\[[^\]]*\]",
        r"\Z",
        r".",
    )
)
_PATTERN = re.compile(f"{_SKIP}({_TOKEN})", re.ASCII | re.DOTALL)
_COMMENT_PARTS = re.compile(rf"{_STRING}|//[^\n]*|/\*|\*/", re.DOTALL)
_METADATA_SCAN = re.compile(rf"{_STRING}|//[^\n]*|{_FLAT_COMMENT}|{re.escape(METADATA)}", re.DOTALL)


class Tokens:
    """The tokens of one text: `texts[k]` starts at offset `starts[k]`. Empty tokens at the end serve as look-ahead.

    `metadata` is the offset after `#[metadata]`, or None without that section.
    """

    __slots__ = ("source", "texts", "starts", "metadata")

    def __init__(self, source: Source, texts: list[str], starts: list[int], metadata: int | None) -> None:
        self.source = source
        self.texts = texts
        self.starts = starts
        self.metadata = metadata


def lex(text: str, source_name: str) -> Tokens:
    """Split a text into tokens, in linear time.

    Raises `ParseError` for an unterminated comment, `LimitError` for a text over the cap `text_bytes`.
    """
    if not isinstance(text, str):
        raise ParseError(Diagnostic("the program must be a string", expected="str", found=type(text).__name__))
    limits.check("text_bytes", len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")), "this text")
    source = Source(source_name, text)
    start = 1 if text.startswith("\ufeff") else 0
    program, metadata = _split(text)
    texts, starts = _cut(program, start)
    if "/*" in texts:  # nested comments, which no regular expression matches
        program, metadata = _split(_blank_comments(text, source))
        texts, starts = _cut(program, start)
    return Tokens(source, texts, starts, metadata)


def _cut(text: str, start: int) -> tuple[list[str], list[int]]:
    texts: list[str] = []
    starts: list[int] = []
    add_text, add_start = texts.append, starts.append
    for match in _PATTERN.finditer(text, start):
        add_text(match[1])
        add_start(match.start(1))
    padding = 4 if texts and not texts[-1] else 5
    texts += [""] * padding
    starts += [len(text)] * padding
    return texts, starts


def _split(text: str) -> tuple[str, int | None]:
    """Separate the program from the metadata section, whose mark counts only outside strings and comments."""
    if METADATA in text:
        for match in _METADATA_SCAN.finditer(text):
            if match[0] == METADATA:
                return text[: match.start()], match.end()
    return text, None


def _blank_comments(text: str, source: Source) -> str:
    """Return the text with block comments replaced by spaces, at the same offsets."""
    out: list[str] = []
    depth = comment_start = copied = 0
    for match in _COMMENT_PARTS.finditer(text):
        if depth == 0 and match[0] == "/*":
            out.append(text[copied : match.start()])
            depth, comment_start = 1, match.start()
        elif depth == 0:
            continue
        elif match[0] == "/*":
            depth += 1
        elif match[0] == "*/":
            depth -= 1
            if depth == 0:
                copied = match.end()
                out.append(" " * (copied - comment_start))
    if depth:
        span = Span(source, comment_start, comment_start + 2)
        raise ParseError(Diagnostic("this comment never ends", span, hint="close it with `*/`; comments nest"))
    out.append(text[copied:])
    return "".join(out)
