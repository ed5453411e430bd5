"""Parsing of binders, and of the patterns of `match`."""

from __future__ import annotations

from typing import Any

from passlab.ir.adt import PatternConstructor, PatternTuple, PatternVar, PatternWildcard
from passlab.ir.expr import Var
from passlab.ir.span import Span
from passlab.ir.types import Type
from passlab.text.attr_parser import AttrParser
from passlab.text.cursor import Cursor, Parse, sigil_key
from passlab.text.literals import read_string
from passlab.text.scopes import NameScopes
from passlab.text.type_parser import TypeParser


class PatternParser:
    """Parses binders and patterns."""

    def __init__(self, cursor: Cursor, scopes: NameScopes, types: TypeParser, attrs: AttrParser) -> None:
        self.cursor = cursor
        self.texts, self.starts, self.source = cursor.texts, cursor.starts, cursor.source
        self.scopes, self.types, self.attrs = scopes, types, attrs

    def flat_binder(self) -> Var | None:
        """Parse `%x` or `%x: T` where the type is one token; None for any other binder."""
        first = self.cursor.i
        word = self.texts[first]
        if word[:1] != "%" or not word[1:2].isalpha():
            return None
        annotation: Type | None = None
        self.cursor.i = first + 1
        if self.texts[self.cursor.i] == ":":
            self.cursor.i += 1
            annotation = self.types.flat_type()
            if annotation is None:
                self.cursor.i = first
                return None
        start = self.starts[first]
        return Var(word[1:], annotation, Span(self.source, start, start + len(word)))

    def binder(self, expected: str) -> Parse:
        """Parse `%x`, then the optional `{virtual_device=...}` and `: Type`. The variable is not yet in scope."""
        word = self.texts[self.cursor.i]
        if word[:1] != "%" or word[1:2].isdigit() or len(word) < 2:
            self.cursor.fail_expecting(expected)
        span = self.cursor.token_span(self.cursor.i)
        self.cursor.i += 1
        device: Any = None
        if self.texts[self.cursor.i] == "{":
            self.cursor.i += 1
            if self.texts[self.cursor.i] != "virtual_device":
                self.cursor.fail_expecting("`virtual_device=...`")
            self.cursor.i += 1
            self.cursor.expect("=")
            device = self.attrs.attr_value()
            self.cursor.expect("}")
        annotation: Type | None = None
        if self.texts[self.cursor.i] == ":":
            self.cursor.i += 1
            if not self.cursor.accept("_"):  # `_` is a type to be inferred, like a missing annotation
                annotation = self.types.flat_type() or (yield self.types.type_())
        return Var(read_string(word[1:]) if word[1] == '"' else word[1:], annotation, span, device)

    def free_binding(self, word: str, var: Var) -> None:
        """Declare a free variable: it is visible in all of the following text, and hides locals of its name."""
        self.scopes.free[sigil_key(word)] = var

    def pattern(self) -> Parse:
        """Parse a pattern and bind its variables."""
        first = self.cursor.i
        word = self.texts[first]
        if word == "_":
            self.cursor.i += 1
            return PatternWildcard(self.cursor.token_span(first))
        if word[:1] == "%":
            var = yield self.binder("a pattern")
            self.scopes.bind(word, var)
            return PatternVar(var, self.cursor.span_from(first))
        if word == "(":
            self.cursor.i += 1
            parts = yield self._patterns()
            return PatternTuple(parts, self.cursor.span_from(first))
        if not self.cursor.is_name(first):
            self.cursor.fail_expecting("a pattern")
        name = self.cursor.name("a pattern")
        constructor = self.scopes.constructors.get(name)
        if constructor is None:
            self.cursor.unknown(
                f"undefined constructor name `{name}`",
                name,
                self.scopes.constructors,
                self.cursor.token_span(first),
                hint=f"a pattern variable is written `%{name}`",
            )
        parts = (yield self._patterns()) if self.cursor.accept("(") else []
        return PatternConstructor(constructor, parts, self.cursor.span_from(first))

    def _patterns(self) -> Parse:
        parts: list[Any] = []
        more = not self.cursor.accept(")")
        while more:
            parts.append((yield self.pattern()))
            more = self.cursor.separator(")")
        return parts
