"""Parsing of attributes: `axis=1, kind="same", shape=[1, ?]` becomes the record that an operator declares.

Values are None, booleans, integers, floats (in double precision, whatever their suffix), strings, lists, maps `{"a"=1}`
or `{%x=1}`, and atoms of expressions. The operator's record class checks them; its errors get a source location here.
"""

from __future__ import annotations

from typing import Any

from passlab.errors import Diagnostic, DiagnosticError, ParseError, did_you_mean
from passlab.ir.attrs import Attrs, DictAttrs
from passlab.ir.expr import Expr
from passlab.ir.op import Op
from passlab.ir.span import Span
from passlab.ir.types import ANY
from passlab.text.cursor import Cursor
from passlab.text.literals import LiteralError, read_integer, read_number, read_string
from passlab.text.records import record_class
from passlab.text.scopes import NameScopes

_WORDS = {"True": True, "False": False, "None": None, "nullptr": None, "?": ANY}
_DEPTH = 64  # levels of nested lists: values are compared and hashed by recursion
_OPEN = {"[": "]", "(": ")", "{": "}"}


class AttrParser:
    """Parses attributes."""

    def __init__(self, cursor: Cursor, scopes: NameScopes) -> None:
        self.cursor = cursor
        self.texts = cursor.texts
        self.scopes = scopes

    def attr_key(self) -> str:
        """Consume the name of an attribute and its `=`."""
        word = self.texts[self.cursor.i]
        self.cursor.i += 2
        return read_string(word) if word[0] == '"' else word

    def at_attr(self) -> bool:
        """Whether an attribute follows: a name and `=`."""
        return self.texts[self.cursor.i + 1] == "=" and self.cursor.is_key(self.cursor.i)

    def attrs_until(self, close: str) -> tuple[dict[str, Any], dict[str, Span]]:
        """Parse `key=value` pairs up to and including `close`. Returns the values and their spans."""
        values: dict[str, Any] = {}
        spans: dict[str, Span] = {}
        more = True
        while more:
            if not self.at_attr():
                self.cursor.fail_expecting("an attribute `name=value`")
            first = self.cursor.i
            key = self.attr_key()
            values[key] = self.attr_value()
            spans[key] = self.cursor.span_from(first)
            more = self.cursor.separator(close)
        return values, spans

    def attr_value(self) -> object:
        """Parse one value."""
        stack: list[tuple[str, list[Any]]] = []  # open brackets with their values so far
        while True:
            word = self.texts[self.cursor.i]
            if word in _OPEN:
                if len(stack) >= _DEPTH:
                    self.cursor.error(f"attribute values nest at most {_DEPTH} deep")
                stack.append((word, []))
                self.cursor.i += 1
                if self.texts[self.cursor.i] != _OPEN[word]:
                    self._map_key(stack)
                    continue
                self.cursor.i += 1
                value = self._close_bracket(*stack.pop())
            else:
                value = self._plain_value()
            while stack:
                bracket, items = stack[-1]
                items.append(value)
                if self.cursor.separator(_OPEN[bracket]):
                    self._map_key(stack)
                    break
                value = self._close_bracket(*stack.pop())
            else:
                return value

    def _map_key(self, stack: list[tuple[str, list[Any]]]) -> None:
        bracket, items = stack[-1]
        if bracket != "{":
            return
        node = self.scopes.atom(self.cursor.i) if self.texts[self.cursor.i][:1] == "%" else None
        if self.texts[self.cursor.i].startswith("meta["):
            items.append(self.scopes.meta_value(self.cursor.i))
            self.cursor.i += 1
        elif node is not None:
            items.append(node)
            self.cursor.i += 1
        else:
            items.append(self.cursor.name('a key `"name"=value`'))
        self.cursor.expect("=")

    def _close_bracket(self, bracket: str, items: list[Any]) -> object:
        if bracket == "{":
            return dict(zip(items[::2], items[1::2], strict=True))
        if bracket == "[":
            return tuple(items)
        if len(items) != 1:
            self.cursor.error("parentheses hold one value", hint="write a list as `[1, 2]`")
        return items[0]

    def _plain_value(self) -> object:
        index, word = self.cursor.i, self.texts[self.cursor.i]
        if word[:1] == '"' and len(word) > 1:
            self.cursor.i += 1
            return read_string(word)
        if word in _WORDS:
            self.cursor.i += 1
            return _WORDS[word]
        if word.startswith("meta["):
            self.cursor.i += 1
            return self.scopes.meta_value(index)
        bare = word.lstrip("-")
        if bare[:1].isdigit() or bare[:3] in ("inf", "nan"):
            return self._number_value(word)
        sigil = word[:1] in ("%", "@") and len(word) > 1
        node, end = (self.scopes.atom(index), index + 1) if sigil else self.scopes.callee_or_none(index)
        if node is None:
            self.cursor.fail_expecting("an attribute value")
        self.cursor.i = end
        return node

    def _number_value(self, word: str) -> int | float:
        try:
            value = read_integer(word) if word.lstrip("-").isdecimal() else read_number(word, wide=True)[0]
        except LiteralError as error:
            self.cursor.error(str(error), hint=error.hint)
        self.cursor.i += 1
        return value

    # ------------------------------------------------------------ records
    def make_attrs(
        self, callee: Expr, values: dict[str, Any], spans: dict[str, Span], callee_span: Span
    ) -> Attrs | None:
        """Return the record of a call's attributes. `callee_span` locates errors of the record."""
        declared = callee.spec.attrs if isinstance(callee, Op) else None
        type_key = values.pop("attrs_type_key", None) if "attrs_type_key" in spans else None
        if type_key is not None:
            declared = record_class(str(type_key)) or None
            if declared is None or declared is DictAttrs:
                return (
                    DictAttrs(values) if type_key == "DictAttrs" else DictAttrs({**values, "attrs_type_key": type_key})
                )
        elif declared is None:
            operator = isinstance(callee, Op)
            why = f"`{callee}` takes no attributes" if operator else "only operators have attributes of their own"
            self.cursor.error(
                "unable to determine the 'attrs_type_key' with which to represent the attributes of this call",
                next(iter(spans.values())),
                hint=f'{why}; write `attrs_type_key="DictAttrs"` to keep them as they are',
            )
        return self._record(declared, values, spans, callee_span)

    def _record(
        self, declared: type[Attrs], values: dict[str, Any], spans: dict[str, Span], callee_span: Span
    ) -> Attrs:
        try:
            return declared(**values)
        except DiagnosticError as error:
            raise self._locate(declared, error, values, spans, callee_span) from None

    def _locate(
        self,
        declared: type[Attrs],
        error: DiagnosticError,
        values: dict[str, Any],
        spans: dict[str, Span],
        callee_span: Span,
    ) -> ParseError:
        """Return the error of a record class, located at the attribute it concerns."""
        fields = {f.name: f for f in declared.schema}
        finding = error.diagnostics[0]
        for key, value in values.items():
            if key not in fields:
                hint = did_you_mean(key, fields) or f"its attributes are {', '.join(fields) or 'none'}"
                return ParseError(Diagnostic(f"{declared.type_key} has no attribute `{key}`", spans[key], hint=hint))
            try:
                fields[key].convert(value)
            except (TypeError, ValueError, OverflowError, DiagnosticError):
                return ParseError(
                    Diagnostic(finding.message, spans[key], finding.expected, finding.found, hint=finding.hint)
                )
        return ParseError(Diagnostic(finding.message, callee_span, finding.expected, finding.found, hint=finding.hint))
