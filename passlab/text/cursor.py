"""What all parts of the parser share: the position in the tokens, expectations, located errors, and the driver.

A generator parses each nested construct: it yields the generators of its parts and receives their results. `drive` runs
them on an explicit stack, so memory limits the depth of a text, not Python's recursion. This module depends on tokens
only, not on Relay's grammar.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from typing import Any, NoReturn

from passlab import limits
from passlab.errors import Diagnostic, LimitError, ParseError, did_you_mean
from passlab.ir.span import Source, Span
from passlab.text.hints import malformation, syntax_hint, unclosed_opener
from passlab.text.lexer import Tokens
from passlab.text.literals import local_text, read_string

Parse = Generator[Any, Any, Any]

_NAME = re.compile(r"[A-Za-z_][\w/]*\Z", re.ASCII)
_KEY = re.compile(r"[A-Za-z_][\w/]*(?:\.[A-Za-z_][\w/]*)*\Z", re.ASCII)


def drive(root: Parse) -> Any:
    """Run a parsing generator and those it yields; return its result. Raises `LimitError` over the cap `nesting`."""
    cap = limits.current().nesting
    stack = [root]
    value: Any = None
    while stack:
        try:
            child = stack[-1].send(value)
        except StopIteration as done:
            stack.pop()
            value = done.value
        else:
            stack.append(child)
            value = None
            if len(stack) > cap:
                raise LimitError(f"this text nests more than {cap:,} constructs (the limit `nesting`)")
    return value


class Cursor:
    """A position `i` in the tokens `texts`, with operations for every part of the parser."""

    def __init__(self, tokens: Tokens) -> None:
        self.texts = tokens.texts
        self.starts = tokens.starts
        self.source: Source = tokens.source
        self.i = 0

    # ------------------------------------------------------------ spans
    def token_span(self, index: int) -> Span:
        """Return the span of one token."""
        start = self.starts[index]
        return Span(self.source, start, start + len(self.texts[index]))

    def span_from(self, first: int) -> Span:
        """Return the span from token `first` to the last token read."""
        last = self.i - 1
        return Span(self.source, self.starts[first], self.starts[last] + len(self.texts[last]))

    # ------------------------------------------------------------ expectations
    def expect(self, text: str) -> None:
        """Consume the token `text`. Raises `ParseError` if another token follows."""
        if self.texts[self.i] != text:
            self.fail_expecting(f"an `{text}`" if text == "else" else f"a `{text}`")
        self.i += 1

    def accept(self, text: str) -> bool:
        """Consume the token `text` if it follows."""
        if self.texts[self.i] == text:
            self.i += 1
            return True
        return False

    def separator(self, close: str) -> bool:
        """After an element of a list: consume `,` (return True if another element follows) or `close`."""
        word = self.texts[self.i]
        if word == ",":
            self.i += 1
            if self.texts[self.i] != close:
                return True
        elif word != close:
            self.fail_expecting(f"a `{close}`")
        self.i += 1
        return False

    def is_name(self, index: int) -> bool:
        """Whether the token is a bare or quoted name."""
        word = self.texts[index]
        return (word[:1] == '"' and len(word) > 1) or _NAME.match(word) is not None

    def is_key(self, index: int) -> bool:
        """Whether the token can be the name of an attribute: a name, dotted or quoted."""
        word = self.texts[index]
        return (word[:1] == '"' and len(word) > 1) or _KEY.match(word) is not None

    def name(self, what: str) -> str:
        """Consume a bare or quoted name and return it. `what` is the kind of name."""
        word = self.texts[self.i]
        if not self.is_name(self.i):
            self.fail_expecting(what)
        self.i += 1
        return read_string(word) if word[0] == '"' else word

    # ------------------------------------------------------------ errors
    def error(self, message: str, place: Span | None = None, **more: Any) -> NoReturn:
        """Raise a `ParseError` at `place`, or at the current token."""
        raise ParseError(Diagnostic(message, place or self.token_span(min(self.i, len(self.texts) - 1)), **more))

    def unknown(self, what: str, name: str, candidates: Iterable[str], place: Span, **more: Any) -> NoReturn:
        """Raise a `ParseError` for an undefined name; its hint suggests similar names."""
        more["hint"] = did_you_mean(name, candidates) or more.get("hint")
        raise ParseError(Diagnostic(what, place, **more))

    def fail_expecting(self, expected: str) -> NoReturn:
        """Raise a `ParseError` for the current token, with the expected one and a hint."""
        word = self.texts[self.i]
        end = self.starts[self.i] + len(word)
        problem = malformation(word, (self.source.text or "")[end : end + 1])
        if problem is not None:
            self.error(problem[0], hint=problem[1])
        opener = unclosed_opener(self.texts, self.i, expected)
        notes = () if opener is None else ((f"the `{self.texts[opener]}` is here", self.token_span(opener)),)
        self.error(
            f"expected {expected} found {describe(word)}", notes=notes, hint=syntax_hint(self.texts, self.i, expected)
        )


def describe(word: str) -> str:
    """Return the description of a token in messages."""
    if not word:
        return "the end of the text"
    return f"`{word if len(word) <= 40 else word[:37] + '...'}`"


def sigil_key(word: str) -> str:
    """Return the canonical spelling of a local or global name: `%"x"` is `%x`, `%007` is `%7`."""
    if word[1:2] == '"':
        return word[0] + local_text(read_string(word[1:]))
    return "%" + (word[1:].lstrip("0") or "0") if word[1:].isdigit() else word
