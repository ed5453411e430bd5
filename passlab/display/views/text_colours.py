"""Which characters of a line of LLVM, MLIR, HLO, Python, C or Rust are a keyword, a name, a type: Pygments' lexers.

Pygments has no lexer for MLIR and similar formats; a small table of regular expressions colours them, line by line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

KINDS = ("keyword", "op", "name", "global", "constant", "type", "comment", "attribute")
LONGEST = 2000  # characters of a line that are coloured
_MLIR = re.compile(
    r"(?P<comment>//[^\n]*)"
    r'|(?P<string>"(?:[^"\\]|\\.)*")'
    r"|(?P<name>%[-\w.$#:]+|\^[\w$.-]+)"
    r"|(?P<global>@[\w.$-]+)"
    r"|(?P<attribute>#[A-Za-z_][\w.$]*)"
    r"|(?P<type>![A-Za-z_][\w.$]*|\b(?:tensor|memref|vector|index|none|[su]?i\d+|bf16|f\d+|pred|[fsu]\d+)\b)"
    r"|(?P<op>\b[a-z_]\w*(?:\.\w+)+|(?<== )[A-Z]\w*(?=\()|(?<=\s)[a-z][-a-z0-9]*(?=\(%))"
    r"|(?P<keyword>\b(?:module|attributes|to|step|else|return|private|public|dense|true|false|affine_map|ROOT|ENTRY|HloModule|"
    r"input|output|weight|graph)\b)"
    r"|(?P<constant>(?<![\w%@#.])-?\d[\w.+-]*)"
)
_OWN = frozenset(("mlir",))
Mark = tuple[int, int, int]


@cache
def _lexer(name: str) -> Any:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def marks(line: str, lexer: str) -> list[int]:
    """Return start, end and kind (a number of `KINDS`) of each coloured span of a line, one behind the other."""
    text = line[:LONGEST]
    hit = _own(text) if lexer in _OWN else _pygments(text, lexer)
    return [number for mark in hit for number in mark]


def _own(text: str) -> Iterator[Mark]:
    for match in _MLIR.finditer(text):
        kind = match.lastgroup or ""
        yield match.start(), match.end(), KINDS.index("constant" if kind == "string" else kind)


def _pygments(text: str, name: str) -> Iterator[Mark]:
    lexer = _lexer(name)
    if lexer is None:
        return
    for start, token, value in lexer.get_tokens_unprocessed(f"{text}\n"):  # a comment ends with its line
        kind = _kind(str(token))
        if kind is not None and value.strip():
            yield start, min(start + len(value), len(text)), KINDS.index(kind)


_TOKENS = (
    ("Token.Comment", "comment"),
    ("Token.Name.Variable.Global", "global"),
    ("Token.Name.Variable", "name"),
    ("Token.Name.Label", "name"),
    ("Token.Name.Function", "global"),
    ("Token.Name.Builtin", "op"),
    ("Token.Name.Decorator", "attribute"),
    ("Token.Name.Class", "type"),
    ("Token.Keyword.Type", "type"),
    ("Token.Keyword", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Literal", "constant"),
    ("Token.String", "constant"),
    ("Token.Number", "constant"),
)


def _kind(token: str) -> str | None:
    return next((kind for prefix, kind in _TOKENS if token.startswith(prefix)), None)
