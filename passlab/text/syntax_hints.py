"""What to say of a token that the parser did not expect: a hint for common slips, and the bracket that is still open.

>>> syntax_hint(["if", "%c", "{"], 1, "a `(`")
'a condition stands in parentheses: `if (%c) { ... } else { ... }`'
>>> unclosed_opener(["exp", "(", "%x", ";", ""], 3, "a `)`")
1
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_OPENER_OF = {")": "(", "]": "[", "}": "{"}
# tokens that end a list before its bracket
_LIST_ENDS = frozenset(("", ";", "=>", "else", "def", "type", "extern", *_OPENER_OF))

_WORD = r"[A-Za-z_][\w.]* "
_TENSOR = "a tensor type is written `Tensor[(1, 8), float32]`, the type of a scalar `float32`"
_ELEMENTS = "a field of a tuple is `.0`; elements of a tensor are taken by `take` or `strided_slice`"


class _Slip(NamedTuple):
    """A common syntax error and its hint.

    `expected` is the token that the parser expected. `before` and `actual` are regular expressions: for the three
    tokens before, and for the actual token and the next.
    """

    expected: str
    before: str
    actual: str
    hint: str


_SLIPS = (
    _Slip("a global name `@f`", "", _WORD, "write `@{word}`"),
    _Slip("a parameter `%x`", "", _WORD, "write `%{word}`"),
    _Slip("a variable `%x`", "", _WORD, "write `%{word}`"),
    _Slip("a `(`", r"Tensor \[$", "", _TENSOR),
    _Slip("a `,`", r"\)$", r"\] ", _TENSOR),
    _Slip("a `)`", r"Tensor$", r"\( ", _TENSOR),
    _Slip("a type", r"(?i)tensor \[( \()?$", "", _TENSOR),
    _Slip("a dtype", "", '"', "a dtype in a type is written without quotes"),
    _Slip("a dimension", "", "", "a dimension is a number, or `?` if it is known only at run time"),
    _Slip("a `(`", r"\bif$", "", "a condition stands in parentheses: `if (%c) { ... } else { ... }`"),
    _Slip("an `else`", "", "", "an `if` has two branches: `if (%c) { ... } else { ... }`"),
    _Slip("a `{`", "", "", "a body stands in braces: `{ ... }`"),
    _Slip("an attribute value", "", "true ", "write `True`"),
    _Slip("an attribute value", "", "false ", "write `False`"),
    _Slip("an attribute value", "", "(none|null|nil) ", "write `None`"),
    _Slip("an attribute value", "", _WORD, 'a string stands in quotes: `"{word}"`'),
    _Slip("an expression", ";$", r"\} ", "a block ends in an expression, with no `;` behind it"),
    _Slip("an expression", r"\{$", r"\} ", "a block holds an expression, which is its value"),
    _Slip("an expression", "", r"\[ ", "a list is the value of an attribute, which is given by name: `axis=[0, 1]`"),
    _Slip("an expression", r"\*$", r"\* ", "a power is written `power(%x, %y)`"),
    _Slip("a `)`", "", f"{_WORD}=", "put a `,` before it"),
    *(_Slip(f"a `{close}`", "", r"\[ ", _ELEMENTS) for close in ")};"),
    _Slip("a `;`", "", "", "end the binding with `;`, then write the expression that uses it"),
    _Slip("the number of a tuple element", "", _WORD, "an operator stands before its arguments: `{word}(...)`"),
)


def syntax_hint(texts: Sequence[str], at: int, expected: str) -> str | None:
    """Return a hint for the token `at` if `expected` should be there, or None. Linear in the tokens."""
    word = texts[at]
    opened = [texts[i] for i in _unclosed_brackets(texts, at)]
    if word in _OPENER_OF and _OPENER_OF[word] not in opened:
        return f"nothing is open that this `{word}` could close"
    before, actual = " ".join(texts[max(0, at - 3) : at]), f"{word} {texts[at + 1]}"
    for slip in _SLIPS:
        if slip.expected == expected and re.search(slip.before, before) and re.match(slip.actual, actual):
            return slip.hint.replace("{word}", word)
    return None


def unclosed_opener(texts: Sequence[str], at: int, expected: str) -> int | None:
    """Return the token that opened the bracket missing at token `at`, if `at` ends its contents."""
    opened = _unclosed_brackets(texts, at)
    close = expected[3:4]
    opens = opened and close in _OPENER_OF and texts[opened[-1]] == _OPENER_OF[close] and texts[at] in _LIST_ENDS
    return opened[-1] if opens else None


def _unclosed_brackets(texts: Sequence[str], at: int) -> list[int]:
    """Return the unclosed brackets before token `at`, outermost first."""
    opened: list[int] = []
    for index in range(at):
        word = texts[index]
        if word in _OPENER_OF.values():
            opened.append(index)
        elif word in _OPENER_OF and opened:
            opened.pop()
    return opened


_NEVER_TOKENS = frozenset("$&'\\^`|~")


def malformation(word: str, after: str) -> tuple[str, str | None] | None:
    """Return the message and the hint for a token that is never valid. `after` is the character after it."""
    if word == '"':
        return "this string never ends", 'close it with `"`'
    if word in ("%", "@"):
        return f"`{word}` must touch the name behind it", f'write `{word}x`, or `{word}"odd name"`'
    if word == "\r":
        return "a carriage return without a line feed", "end lines with a line feed"
    if word == "#":
        if after == "[":
            return "this `#[` never ends", "close it with `]`"
        return "`#` begins `#[version = ...]` only", "a comment is `// ...` or `/* ... */`"
    if word and (word in _NEVER_TOKENS or not (word[0].isascii() and word[0].isprintable())):
        return f"unexpected character {word[0]!r}", None
    return None
