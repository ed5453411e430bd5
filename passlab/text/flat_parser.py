"""Fast parsing of expressions that contain only atoms: nearly all of a printed program.

`simple` and `flat_let` return None, and consume nothing, for any other expression; the general parser then reads it.
"""

from __future__ import annotations

import re
from typing import Any

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Call, Expr, TupleGetItem, Var
from passlab.ir.op import Op
from passlab.ir.span import Span
from passlab.text.attr_parser import AttrParser
from passlab.text.cursor import Cursor
from passlab.text.pattern_parser import PatternParser
from passlab.text.scopes import NameScopes

COMPOUND = frozenset(("(", "fn", "if", "match", "match?", "ref", "ref_read", "ref_write"))
ENDS = frozenset((";", ",", ")", "}", "]", "", "{", "=>"))
INDEX = re.compile(r"-?\d{1,9}\Z", re.ASCII)


class FlatParser:
    """Parses flat expressions."""

    def __init__(self, cursor: Cursor, scopes: NameScopes, attrs: AttrParser, patterns: PatternParser) -> None:
        self.cursor = cursor
        self.texts, self.starts, self.source = cursor.texts, cursor.starts, cursor.source
        self.scopes, self.attrs, self.patterns = scopes, attrs, patterns
        self._records: dict[tuple[Any, ...], Attrs] = {}

    def simple(self) -> Expr | None:
        """Parse an operand that contains only atoms: an atom, a projection of one, a call or a tuple of atoms.

        Returns None, and consumes nothing, for anything else. The caller handles the tokens after the operand.
        """
        i, texts = self.cursor.i, self.texts
        word, after = texts[i], texts[i + 1]
        if after == "(":
            return self._simple_call(i)
        if word in COMPOUND:
            return None
        node = self.scopes.env.get(word) or self.scopes.atom(i)
        if node is None:
            return None
        if after == ".":
            index = texts[i + 2]
            if not INDEX.match(index) or texts[i + 3] not in ENDS:
                return None
            self.cursor.i = i + 3
            end = self.starts[i + 2] + len(index)
            return TupleGetItem(node, int(index), Span(self.source, self.starts[i], end))
        self.cursor.i = i + 1
        return node

    def _simple_call(self, i: int) -> Expr | None:
        texts, env = self.texts, self.scopes.env
        word = texts[i]
        op = env.get(word) or self.scopes.callees.get(word)
        if op is None:
            if word in COMPOUND or word in ("(", "True", "False"):
                return None
            op = self.scopes.atom(i) if word[0] in "%@" else self.scopes.callee(i)[0]
            if op is None or texts[i + 1] != "(":
                return None
        j = i + 2
        args: list[Expr] = []
        attrs: Attrs | None = None
        word = texts[j]
        while word != ")":
            after = texts[j + 1]
            arg = env.get(word)
            if arg is None:
                if after == "=":
                    j, attrs = self.simple_attrs(op, i, j)
                    break
                arg = self.scopes.atom(j) if after == "," or after == ")" else None
                if arg is None:
                    return None
            if after == ",":
                j += 2
            elif after == ")":
                j += 1
            else:
                return None
            args.append(arg)
            word = texts[j]
        if texts[j + 1] == "(" or texts[j + 1] == ".":
            return None
        if attrs is None:
            attrs = self.default_attrs(op, i)
        self.cursor.i = j + 1
        return Call(op, tuple(args), attrs, None, Span(self.source, self.starts[i], self.starts[j] + 1))

    def simple_attrs(self, op: Expr, first: int, j: int) -> tuple[int, Attrs | None]:
        """Parse attributes from token `j` on. Returns the index of the closing parenthesis, and the record.

        Equal texts have equal records, so one record is created for each text that mentions no expression.
        """
        try:
            end = self.texts.index(")", j)
        except ValueError:
            end = len(self.texts) - 1
        words = self.texts[j:end]
        key = (op, *words)
        cached = self._records.get(key)
        if cached is not None:
            return end, cached
        self.cursor.i = j
        values, spans = self.attrs.attrs_until(")")
        attrs = self.attrs.make_attrs(op, values, spans, self.cursor.token_span(first))
        if attrs is None or self.cursor.i != end + 1:
            return self.cursor.i - 1, attrs
        if not any(word[:1] in ("%", "@") or word.startswith("meta[") for word in words):
            self._records[key] = attrs
        return self.cursor.i - 1, attrs

    def default_attrs(self, op: Expr, first: int) -> Attrs | None:
        """Return the attributes of a call that is written without any."""
        if type(op) is not Op or op.spec.attrs is None:
            return None
        key = (op,)
        attrs = self._records.get(key)
        if attrs is None:
            attrs = self.attrs.make_attrs(op, {}, {}, self.cursor.token_span(first))
            if attrs is not None:
                self._records[key] = attrs
        return attrs

    def flat_graph_binding(self, first: int) -> bool:
        """Parse `%0 = value;` of atoms. Returns False, and consumes nothing, for any other binding."""
        word = self.texts[first]
        if word[1:].isdigit():
            self.cursor.i = first + 2
            value = self.simple()
            if value is not None and self.texts[self.cursor.i] == ";":
                self.cursor.i += 1
                self.scopes.bind_graph(word, value)
                return True
        self.cursor.i = first
        return False

    def flat_let(self, first: int) -> tuple[Var, Expr, int] | None:
        """Parse `let %x: T = value;` of atoms. Returns None, and consumes nothing, for any other binding."""
        cursor, scopes = self.cursor, self.scopes
        cursor.i = first + 1
        word = self.texts[cursor.i]
        var = self.patterns.flat_binder()
        if var is not None and self.texts[cursor.i] == "=" and word not in scopes.env and word not in scopes.free:
            cursor.i += 1
            scopes.bind(word, var)  # a printed name is bound once: the value cannot refer to another variable
            value = self.simple()
            if value is not None and self.texts[cursor.i] == ";":
                cursor.i += 1
                return var, value, first
            scopes.unbind(scopes.mark() - 1)
        cursor.i = first
        return None
