"""Variables where they are bound, and the patterns of `match`."""

from __future__ import annotations

from typing import Any

from passlab.ir.adt import PatternConstructor, PatternTuple, PatternVar, PatternWildcard
from passlab.ir.expr import Var
from passlab.ir.span import Span
from passlab.ir.types import Type
from passlab.text.cursor import Parse, sigil_key
from passlab.text.literals import read_string
from passlab.text.scopes import Scopes


class PatternParser(Scopes):
    """Parses binders and patterns."""

    def flat_binder(self) -> Var | None:
        """Parse `%x` or `%x: T` where the type is one token; None for any other binder."""
        first = self.i
        word = self.texts[first]
        if word[:1] != "%" or not word[1:2].isalpha():
            return None
        annotation: Type | None = None
        self.i = first + 1
        if self.texts[self.i] == ":":
            self.i += 1
            annotation = self.flat_type()
            if annotation is None:
                self.i = first
                return None
        start = self.starts[first]
        return Var(word[1:], annotation, Span(self.source, start, start + len(word)))

    def binder(self, wanted: str) -> Parse:
        """Parse `%x`, then `{virtual_device=...}` and `: Type` where they stand. The variable is not yet in scope."""
        word = self.texts[self.i]
        if word[:1] != "%" or word[1:2].isdigit() or len(word) < 2:
            self.unexpected(wanted)
        span = self.token_span(self.i)
        self.i += 1
        device: Any = None
        if self.texts[self.i] == "{":
            self.i += 1
            if self.texts[self.i] != "virtual_device":
                self.unexpected("`virtual_device=...`")
            self.i += 1
            self.expect("=")
            device = self.attr_value()
            self.expect("}")
        annotation: Type | None = None
        if self.texts[self.i] == ":":
            self.i += 1
            if not self.accept("_"):  # a type that is to be inferred: as if none were written
                annotation = self.flat_type() or (yield self.type_())
        return Var(read_string(word[1:]) if word[1] == '"' else word[1:], annotation, span, device)

    def free_binding(self, word: str, var: Var) -> None:
        """Declare a free variable: it is seen everywhere behind, and by locals of its name first."""
        self.free[sigil_key(word)] = var

    def pattern(self) -> Parse:
        """Parse a pattern and bring its variables in scope."""
        first = self.i
        word = self.texts[first]
        if word == "_":
            self.i += 1
            return PatternWildcard(self.token_span(first))
        if word[:1] == "%":
            var = yield self.binder("a pattern")
            self.bind(word, var)
            return PatternVar(var, self.span_from(first))
        if word == "(":
            self.i += 1
            parts = yield self._patterns()
            return PatternTuple(parts, self.span_from(first))
        if not self.is_name(first):
            self.unexpected("a pattern")
        name = self.name("a pattern")
        constructor = self.constructors.get(name)
        if constructor is None:
            self.unknown(
                f"undefined constructor name `{name}`",
                name,
                self.constructors,
                self.token_span(first),
                hint=f"a pattern variable is written `%{name}`",
            )
        parts = (yield self._patterns()) if self.accept("(") else []
        return PatternConstructor(constructor, parts, self.span_from(first))

    def _patterns(self) -> Parse:
        parts: list[Any] = []
        more = not self.accept(")")
        while more:
            parts.append((yield self.pattern()))
            more = self.separator(")")
        return parts
