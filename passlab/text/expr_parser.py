"""Parsing of expressions: atoms, calls, operators, tuples, functions, branches, references, blocks and lets.

Expressions that contain more than atoms (see `flat_parser`) are parsed by generators that `cursor.drive` runs.
Operators bind as in Relay: projection and call, then `* /`, `+ -`, `< <= > >=`, `== !=`, all left-associative.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from passlab import limits
from passlab.ir.adt import Clause, Constructor
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Call, Expr, Function, If, Let, Match, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem, Var
from passlab.ir.op import find_op
from passlab.ir.span import Span
from passlab.ir.types import Type, TypeVar
from passlab.text.attr_parser import AttrParser
from passlab.text.cursor import Cursor, Parse
from passlab.text.flat_parser import ENDS, INDEX, FlatParser
from passlab.text.pattern_parser import PatternParser
from passlab.text.scopes import NameScopes
from passlab.text.type_parser import TypeParser

_OPERATORS = {
    "*": (12, "multiply"),
    "/": (12, "divide"),
    "+": (10, "add"),
    "-": (10, "subtract"),
    "<": (8, "less"),
    "<=": (8, "less_equal"),
    ">": (8, "greater"),
    ">=": (8, "greater_equal"),
    "==": (7, "equal"),
    "!=": (7, "not_equal"),
}
Head = tuple[Expr, int]  # an operand that is parsed already, and its first token
_STATEMENTS = frozenset(("let", "def", "else", "type", "extern", "free_var", "_"))


class ExprParser:
    """Parses expressions."""

    def __init__(self, cursor: Cursor, scopes: NameScopes, types: TypeParser) -> None:
        self.cursor = cursor
        self.texts, self.starts, self.source = cursor.texts, cursor.starts, cursor.source
        self.scopes, self.types = scopes, types
        self.attrs = AttrParser(cursor, scopes)
        self.patterns = PatternParser(cursor, scopes, types, self.attrs)
        self.flat = FlatParser(cursor, scopes, self.attrs, self.patterns)
        self._primaries: dict[str, Callable[[], Parse]] = {
            "(": self._parentheses,
            "fn": self._function_literal,
            "if": self._if,
            "match": self._match,
            "match?": self._match,
            "ref": partial(self._reference, RefCreate),
            "ref_read": partial(self._reference, RefRead),
            "ref_write": self._ref_write,
        }

    # ------------------------------------------------------------ bodies
    def body(self, value: bool = False, head: Head | None = None) -> Parse:
        """Parse bindings and the expression after them, without the token that ends it.

        In the `value` of a binding, which `;` ends, an expression followed by `;` is not a statement. `head` is the
        first operand of the expression, if it is parsed already.
        """
        mark = self.scopes.mark()
        pending: list[tuple[Var, Expr, int]] = []
        while True:
            first = self.cursor.i
            word = self.texts[first]
            if head is not None:
                first, result = head[1], (yield self.expression(head))
                head = None
                if self.texts[self.cursor.i] != ";" or value:
                    break
                pending.append((Var("_", None, self.cursor.span_from(first)), result, first))
                self.cursor.i += 1
            elif word == "let":
                pending.append(self.flat.flat_let(first) or (yield self._let()))
            elif word[:1] == "%" and self.texts[first + 1] == "=" and (pending or not value):
                self.flat.flat_graph_binding(first) or (yield self._graph_binding(word))
            elif word == "free_var":
                yield self._free_var()
            else:
                result = self.flat.simple()
                if result is None or self.texts[self.cursor.i] not in ENDS:
                    self.cursor.i = first
                    result = yield (self._block() if word == "{" else self.expression())
                if self.texts[self.cursor.i] != ";" or value:
                    break
                pending.append((Var("_", None, self.cursor.span_from(first)), result, first))
                self.cursor.i += 1
        if pending:
            end = self.cursor.span_from(first).end
            for var, bound, start in reversed(pending):
                result = Let(var, bound, result, Span(self.source, self.starts[start], end))
            self.scopes.unbind(mark)
        return result

    def _block(self) -> Parse:
        self.cursor.expect("{")
        result = yield self.body()
        self.cursor.expect("}")
        return result

    def _value(self) -> Parse:
        """Parse the right side of a binding and the `;` after it."""
        first = self.cursor.i
        value = self.flat.simple()
        if value is None or self.texts[self.cursor.i] != ";":
            self.cursor.i = first
            value = yield self.body(value=True)
        self.cursor.expect(";")
        return value

    def _let(self) -> Parse:
        first = self.cursor.i
        self.cursor.i += 1
        word = self.texts[self.cursor.i]
        var = yield self.patterns.binder("a variable `%x`")
        self.cursor.expect("=")
        # A function may call itself through its variable. Elsewhere the name keeps its previous meaning, if any.
        bind_first = self._starts_function() or not self.scopes.is_declared(word)
        if bind_first:
            self.scopes.bind(word, var)
        value = yield self._value()
        if not bind_first:
            self.scopes.bind(word, var)
        return var, value, first

    def _starts_function(self) -> bool:
        i = self.cursor.i
        while self.texts[i] == "(":
            i += 1
        return self.texts[i] == "fn"

    def _graph_binding(self, word: str) -> Parse:
        if not word[1:].isdigit():
            self.cursor.error(f"`{word}` is bound without `let`", hint=f"write `let {word} = ...;`")
        self.cursor.i += 2
        self.scopes.bind_graph(word, (yield self._value()))

    def _free_var(self) -> Parse:
        self.cursor.i += 1
        word = self.texts[self.cursor.i]
        var = yield self.patterns.binder("a variable `%x`")
        self.patterns.free_binding(word, var)
        self.cursor.expect(";")

    # ------------------------------------------------------------ operators and calls
    def expression(self, head: Head | None = None) -> Parse:
        """Parse operands joined by operators. `head` is the first of them, if it is parsed already."""
        first = self.cursor.i if head is None else head[1]
        operand = yield self._operand(head)
        # left operands, each with its first token, precedence and operator
        left_operands: list[tuple[Expr, int, int, str]] = []
        while True:
            operator = self.texts[self.cursor.i]
            is_sign = operator[:1] == "-" and operator[1:2] not in ("", ">")  # `%x -1`: the number's sign is a minus
            if is_sign:
                operator = "-"
            precedence, name = _OPERATORS.get(operator, (0, ""))
            while left_operands and left_operands[-1][2] >= precedence:
                left, first, _, op_name = left_operands.pop()
                operand = Call(self._operator(op_name), (left, operand), None, None, self.cursor.span_from(first))
            if not precedence:
                return operand
            left_operands.append((operand, first, precedence, name))
            if is_sign:
                self.texts[self.cursor.i] = self.texts[self.cursor.i][1:]
                self.starts[self.cursor.i] += 1
            else:
                self.cursor.i += 1
            first = self.cursor.i
            operand = self.flat.simple()
            if operand is None or self.texts[self.cursor.i] in ("(", "."):
                self.cursor.i = first
                operand = yield self._operand()

    def _operator(self, name: str) -> Expr:
        return find_op(name) or self.scopes.no_callee(name, self.cursor.i)

    def _operand(self, head: Head | None = None) -> Parse:
        if head is None:
            first = self.cursor.i
            parse = self._primaries.get(self.texts[first])
            node = (yield parse()) if parse is not None else self._atomic()
        else:
            node, first = head
        while True:
            word = self.texts[self.cursor.i]
            if word == "(":
                node = yield self._call(node, first)
            elif word == ".":
                node = self._projection(node, first)
            else:
                break
        return node

    def _projection(self, node: Expr, first: int) -> Expr:
        """Parse `.0`, or `.0.1`, which is one number to the lexer."""
        start = self.starts[first]
        end = self.starts[self.cursor.i + 1]
        for part in self.texts[self.cursor.i + 1].split("."):
            if not INDEX.match(part):
                self.cursor.i += 1
                self.cursor.fail_expecting("the number of a tuple element")
            end += len(part)
            node = TupleGetItem(node, int(part), Span(self.source, start, end))
            end += 1
        self.cursor.i += 2
        return node

    def _atomic(self) -> Expr:
        """Parse an atom, an operator, or a constructor; a constructor without inputs is called."""
        first = self.cursor.i
        word = self.texts[first]
        node = self.scopes.atom(first)
        if node is not None:
            self.cursor.i += 1
            return node
        if word.startswith("meta["):
            self.cursor.error(f"`{word}` is not an expression", found=type(self.scopes.meta(first)).__name__)
        if word == "-":
            self.cursor.error("expected an expression found `-`", hint="there is no unary minus: write `negative(...)`")
        node, end = self.scopes.callee(first) if word not in _STATEMENTS else (None, first)
        if node is None:
            self.cursor.fail_expecting("an expression")
        self.cursor.i = end
        if isinstance(node, Constructor) and not node.inputs and word != "ctor" and self.texts[end] != "(":
            return Call(node, (), None, None, self.cursor.span_from(first))
        return node

    def _call(self, callee: Expr, first: int) -> Parse:
        """Parse the arguments of a call, from its parenthesis on."""
        self.cursor.i += 1
        args: list[Expr] = []
        attrs: Attrs | None = None
        more = not self.cursor.accept(")")
        while more:
            if self.attrs.at_attr():
                at, attrs = self.flat.simple_attrs(callee, first, self.cursor.i)
                self.cursor.i = at + 1
                break
            word, start = self.texts[self.cursor.i], self.cursor.i
            if word.startswith(("meta[relay.attrs.", "meta[DictAttrs]")):
                meta_object = self.scopes.meta(start)
                self.cursor.i += 1
                if isinstance(meta_object, Attrs):
                    attrs = meta_object
                    self.cursor.accept(",")
                    self.cursor.expect(")")
                    break
                self.cursor.i = start
            arg = self.flat.simple()
            if arg is None or self.texts[self.cursor.i] not in (",", ")"):
                self.cursor.i = start
                arg = yield self.body()
            args.append(arg)
            more = self.cursor.separator(")")
        if attrs is None:
            attrs = self.flat.default_attrs(callee, first)
        return Call(callee, tuple(args), attrs, None, self.cursor.span_from(first))

    # ------------------------------------------------------------ primaries
    def _parentheses(self) -> Parse:
        """Parse an expression that begins with parentheses. One loop reads consecutive opening parentheses."""
        open_parentheses: list[int] = []
        while self.texts[self.cursor.i] == "(":
            open_parentheses.append(self.cursor.i)
            self.cursor.i += 1
        limits.check("nesting", len(open_parentheses), "this text")
        inner = open_parentheses.pop()
        node: Expr = yield self._parentheses_from(inner, None)
        while open_parentheses:
            head, inner = (node, inner), open_parentheses.pop()
            if self.cursor.accept(")"):
                continue
            node = yield self._parentheses_from(inner, head)
        return node

    def _parentheses_from(self, first: int, head: Head | None) -> Parse:
        """Parse a tuple, or an expression in parentheses, after the parenthesis at token `first`.

        `head` is the first operand of its first part, if it is parsed already.
        """
        if head is None and self.cursor.accept(")"):
            return Tuple((), self.cursor.span_from(first))
        fields: list[Expr] = []
        while True:
            start = self.cursor.i
            if head is None:
                node = self.flat.simple()
            else:
                node = head[0] if self.texts[start] in (",", ")") else None
            if node is None or self.texts[self.cursor.i] not in (",", ")"):
                self.cursor.i = start
                node = yield self.body(head=head)
            head = None
            comma = self.texts[self.cursor.i] == ","
            if not fields and not comma:
                self.cursor.expect(")")
                return node
            fields.append(node)
            if not self.cursor.separator(")"):
                return Tuple(tuple(fields), self.cursor.span_from(first))

    def _function_literal(self) -> Parse:
        first = self.cursor.i
        self.cursor.i += 1
        marks = self.scopes.open_function()
        function = yield self.function(first)
        self.scopes.close_function(marks)
        return function

    def function(self, first: int) -> Parse:
        """Parse a function from its type parameters on; it began at token `first`."""
        types, type_params = self.types.open_type_params()
        params, values, device = yield self._params()
        result: Type | None = None
        if self.cursor.accept("->"):
            result = self.types.flat_type() or (yield self.types.type_())
        body = yield self._block()
        self.types.close_types(types)
        return self._make_function(params, body, result, type_params, values, self.cursor.span_from(first), device)

    @staticmethod
    def _make_function(
        params: list[Var],
        body: Expr,
        result: Type | None,
        type_params: list[TypeVar],
        values: dict[str, Any],
        span: Span,
        device: Any,
    ) -> Function:
        return Function(tuple(params), body, result, type_params, values, span, device)

    def _params(self) -> Parse:
        """Parse parameters and function attributes. Returns (variables, attributes, virtual device)."""
        self.cursor.expect("(")
        params: list[Var] = []
        values: dict[str, Any] = {}
        device: Any = None
        more = not self.cursor.accept(")")
        while more:
            start, word = self.cursor.i, self.texts[self.cursor.i]
            if word[:1] == "%" or not self.attrs.at_attr():
                var = self.patterns.flat_binder()
                if var is None or self.texts[self.cursor.i] not in (",", ")"):
                    self.cursor.i = start
                    var = yield self.patterns.binder("a parameter `%x`")
                self.scopes.bind(word, var)
                params.append(var)
            elif word == "virtual_device":
                self.cursor.i += 2
                device = self.attrs.attr_value()
            else:
                key = self.attrs.attr_key()
                values[key] = self.attrs.attr_value()
            more = self.cursor.separator(")")
        return params, values, device

    def _if(self) -> Parse:
        first = self.cursor.i
        self.cursor.i += 1
        self.cursor.expect("(")
        cond = yield self.body()
        self.cursor.expect(")")
        true_branch = yield self._block()
        self.cursor.expect("else")
        false_branch = yield self._block()
        return If(cond, true_branch, false_branch, self.cursor.span_from(first))

    def _reference(self, kind: type[RefCreate] | type[RefRead]) -> Parse:
        first = self.cursor.i
        self.cursor.i += 1
        self.cursor.expect("(")
        operand = yield self.body()
        self.cursor.expect(")")
        return kind(operand, self.cursor.span_from(first))

    def _ref_write(self) -> Parse:
        first = self.cursor.i
        self.cursor.i += 1
        self.cursor.expect("(")
        ref = yield self.body()
        self.cursor.expect(",")
        value = yield self.body()
        self.cursor.expect(")")
        return RefWrite(ref, value, self.cursor.span_from(first))

    def _match(self) -> Parse:
        first = self.cursor.i
        complete = self.texts[first] == "match"
        self.cursor.i += 1
        data = yield self._operand()
        self.cursor.expect("{")
        clauses: list[Clause] = []
        more = not self.cursor.accept("}")
        while more:
            start = self.cursor.i
            mark = self.scopes.mark()
            pattern = yield self.patterns.pattern()
            self.cursor.expect("=>")
            arm = yield self.body()
            self.scopes.unbind(mark)
            clauses.append(Clause(pattern, arm, self.cursor.span_from(start)))
            more = self.cursor.separator("}")
        return Match(data, tuple(clauses), complete, self.cursor.span_from(first))
