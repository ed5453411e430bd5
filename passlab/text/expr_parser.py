"""Expressions as text to nodes: atoms, calls, operators, tuples, functions, branches, references, blocks and lets.

What is not made of atoms only (see `flat_parser`) goes through generators that `cursor.drive` runs. Operands bind as in
Relay: projection and call, then `* /`, `+ -`, `< <= > >=`, `== !=`, all to the left.
"""

from __future__ import annotations

from typing import Any

from passlab import limits
from passlab.ir.adt import Clause, Constructor
from passlab.ir.attrs import Attrs
from passlab.ir.expr import (
    Call,
    Expr,
    Function,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from passlab.ir.op import find_op
from passlab.ir.span import Span
from passlab.ir.types import Type, TypeVar
from passlab.text.cursor import Parse
from passlab.text.flat_parser import ENDS, INDEX, FlatParser
from passlab.text.lexer import Tokens
from passlab.text.metadata import MetaTable

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
Head = tuple[Expr, int]  # an operand that is read already, and its first token
_STATEMENTS = frozenset(("let", "def", "else", "type", "extern", "free_var", "_"))


class ExprParser(FlatParser):
    """Parses expressions."""

    def __init__(self, tokens: Tokens, meta: MetaTable) -> None:
        super().__init__(tokens, meta)
        self._primaries = {
            "(": self._parentheses,
            "fn": self._function_literal,
            "if": self._if,
            "match": self._match,
            "match?": self._match,
            "ref": self._ref,
            "ref_read": self._ref_read,
            "ref_write": self._ref_write,
        }

    # ------------------------------------------------------------ bodies
    def body(self, value: bool = False, head: Head | None = None) -> Parse:
        """Parse bindings and the expression they lead to, without the token that ends it.

        As the `value` of a binding, where a `;` ends it, an expression followed by `;` is not a statement. `head` is
        the operand that the expression begins with, where that is read already.
        """
        mark = len(self._undo)
        pending: list[tuple[Var, Expr, int]] = []
        while True:
            first = self.i
            word = self.texts[first]
            if head is not None:
                first, result = head[1], (yield self.expression(head))
                head = None
                if self.texts[self.i] != ";" or value:
                    break
                pending.append((Var("_", None, self.span_from(first)), result, first))
                self.i += 1
            elif word == "let":
                pending.append(self.flat_let(first) or (yield self._let()))
            elif word[:1] == "%" and self.texts[first + 1] == "=" and (pending or not value):
                self.flat_graph_binding(first) or (yield self._graph_binding(word))
            elif word == "free_var":
                yield self._free_var()
            else:
                result = self.simple()
                if result is None or self.texts[self.i] not in ENDS:
                    self.i = first
                    result = yield (self._block() if word == "{" else self.expression())
                if self.texts[self.i] != ";" or value:
                    break
                pending.append((Var("_", None, self.span_from(first)), result, first))
                self.i += 1
        if pending:
            end = self.span_from(first).end
            for var, bound, start in reversed(pending):
                result = Let(var, bound, result, Span(self.source, self.starts[start], end))
            self.unbind(mark)
        return result

    def _block(self) -> Parse:
        self.expect("{")
        result = yield self.body()
        self.expect("}")
        return result

    def _value(self) -> Parse:
        """Parse the right side of a binding and the `;` behind it."""
        first = self.i
        found = self.simple()
        if found is None or self.texts[self.i] != ";":
            self.i = first
            found = yield self.body(value=True)
        self.expect(";")
        return found

    def _let(self) -> Parse:
        first = self.i
        self.i += 1
        word = self.texts[self.i]
        var = yield self.binder("a variable `%x`")
        self.expect("=")
        # A function may call itself through its variable. Elsewhere the name means what it meant before, if anything.
        early = self._starts_function() or not self.declared(word)
        if early:
            self.bind(word, var)
        value = yield self._value()
        if not early:
            self.bind(word, var)
        return var, value, first

    def _starts_function(self) -> bool:
        i = self.i
        while self.texts[i] == "(":
            i += 1
        return self.texts[i] == "fn"

    def _graph_binding(self, word: str) -> Parse:
        if not word[1:].isdigit():
            self.error(f"`{word}` is bound without `let`", hint=f"write `let {word} = ...;`")
        self.i += 2
        self.bind_graph(word, (yield self._value()))

    def _free_var(self) -> Parse:
        self.i += 1
        word = self.texts[self.i]
        var = yield self.binder("a variable `%x`")
        self.free_binding(word, var)
        self.expect(";")

    # ------------------------------------------------------------ operators and calls
    def expression(self, head: Head | None = None) -> Parse:
        """Parse operands joined by operators. `head` is the first of them, where it is read already."""
        first = self.i if head is None else head[1]
        operand = yield self._operand(head)
        waiting: list[tuple[Expr, int, int, str]] = []  # left sides, each with its first token, precedence and operator
        while True:
            operator = self.texts[self.i]
            glued = operator[:1] == "-" and operator[1:2] not in ("", ">")  # `%x -1`: the number's sign is a minus
            if glued:
                operator = "-"
            precedence, name = _OPERATORS.get(operator, (0, ""))
            while waiting and waiting[-1][2] >= precedence:
                left, first, _, op_name = waiting.pop()
                operand = Call(self._operator(op_name), (left, operand), None, None, self.span_from(first))
            if not precedence:
                return operand
            waiting.append((operand, first, precedence, name))
            if glued:
                self.texts[self.i] = self.texts[self.i][1:]
                self.starts[self.i] += 1
            else:
                self.i += 1
            first = self.i
            operand = self.simple()
            if operand is None or self.texts[self.i] in ("(", "."):
                self.i = first
                operand = yield self._operand()

    def _operator(self, name: str) -> Expr:
        return find_op(name) or self.no_callee(name, self.i)

    def _operand(self, head: Head | None = None) -> Parse:
        if head is None:
            first = self.i
            parse = self._primaries.get(self.texts[first])
            node = (yield parse()) if parse is not None else self._atomic()
        else:
            node, first = head
        while True:
            word = self.texts[self.i]
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
        end = self.starts[self.i + 1]
        for part in self.texts[self.i + 1].split("."):
            if not INDEX.match(part):
                self.i += 1
                self.unexpected("the number of a tuple element")
            end += len(part)
            node = TupleGetItem(node, int(part), Span(self.source, start, end))
            end += 1
        self.i += 2
        return node

    def _atomic(self) -> Expr:
        """Parse an atom, an operator, or a constructor; one that takes nothing is called."""
        first = self.i
        word = self.texts[first]
        node = self.atom(first)
        if node is not None:
            self.i += 1
            return node
        if word.startswith("meta["):
            self.error(f"`{word}` is not an expression", found=type(self.meta(first)).__name__)
        if word == "-":
            self.error("expected an expression found `-`", hint="there is no unary minus: write `negative(...)`")
        node, end = self.callee(first) if word not in _STATEMENTS else (None, first)
        if node is None:
            self.unexpected("an expression")
        self.i = end
        if isinstance(node, Constructor) and not node.inputs and word != "ctor" and self.texts[end] != "(":
            return Call(node, (), None, None, self.span_from(first))
        return node

    def _call(self, callee: Expr, first: int) -> Parse:
        """Parse the arguments of a call, from its parenthesis on."""
        self.i += 1
        args: list[Expr] = []
        attrs: Attrs | None = None
        more = not self.accept(")")
        while more:
            if self.at_attr():
                at, attrs = self.simple_attrs(callee, first, self.i)
                self.i = at + 1
                break
            word, start = self.texts[self.i], self.i
            if word.startswith(("meta[relay.attrs.", "meta[DictAttrs]")):
                found = self.meta(start)
                self.i += 1
                if isinstance(found, Attrs):
                    attrs = found
                    self.accept(",")
                    self.expect(")")
                    break
                self.i = start
            arg = self.simple()
            if arg is None or self.texts[self.i] not in (",", ")"):
                self.i = start
                arg = yield self.body()
            args.append(arg)
            more = self.separator(")")
        if attrs is None:
            attrs = self.default_attrs(callee, first)
        return Call(callee, tuple(args), attrs, None, self.span_from(first))

    # ------------------------------------------------------------ primaries
    def _parentheses(self) -> Parse:
        """Parse what begins with parentheses. Those that open one behind the other are read in one loop."""
        opened: list[int] = []
        while self.texts[self.i] == "(":
            opened.append(self.i)
            self.i += 1
        limits.check("nesting", len(opened), "this text")
        inner = opened.pop()
        node: Expr = yield self._parenthesized(inner, None)
        while opened:
            head, inner = (node, inner), opened.pop()
            if self.accept(")"):
                continue
            node = yield self._parenthesized(inner, head)
        return node

    def _parenthesized(self, first: int, head: Head | None) -> Parse:
        """Parse a tuple, or an expression in parentheses, from behind the parenthesis at token `first`.

        `head` is the operand that its first part begins with, where that is read already.
        """
        if head is None and self.accept(")"):
            return Tuple((), self.span_from(first))
        fields: list[Expr] = []
        while True:
            start = self.i
            if head is None:
                node = self.simple()
            else:
                node = head[0] if self.texts[start] in (",", ")") else None
            if node is None or self.texts[self.i] not in (",", ")"):
                self.i = start
                node = yield self.body(head=head)
            head = None
            comma = self.texts[self.i] == ","
            if not fields and not comma:
                self.expect(")")
                return node
            fields.append(node)
            if not self.separator(")"):
                return Tuple(tuple(fields), self.span_from(first))

    def _function_literal(self) -> Parse:
        first = self.i
        self.i += 1
        marks = self.open_function()
        function = yield self.function(first)
        self.close_function(marks)
        return function

    def function(self, first: int) -> Parse:
        """Parse a function from its type parameters on; it began at token `first`."""
        types, type_params = self.open_type_params()
        params, values, device = yield self._params()
        result: Type | None = None
        if self.accept("->"):
            result = self.flat_type() or (yield self.type_())
        body = yield self._block()
        self.close_types(types)
        return self._make_function(params, body, result, type_params, values, self.span_from(first), device)

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
        self.expect("(")
        params: list[Var] = []
        values: dict[str, Any] = {}
        device: Any = None
        more = not self.accept(")")
        while more:
            start, word = self.i, self.texts[self.i]
            if word[:1] == "%" or not self.at_attr():
                var = self.flat_binder()
                if var is None or self.texts[self.i] not in (",", ")"):
                    self.i = start
                    var = yield self.binder("a parameter `%x`")
                self.bind(word, var)
                params.append(var)
            elif word == "virtual_device":
                self.i += 2
                device = self.attr_value()
            else:
                key = self.attr_key()
                values[key] = self.attr_value()
            more = self.separator(")")
        return params, values, device

    def _if(self) -> Parse:
        first = self.i
        self.i += 1
        self.expect("(")
        cond = yield self.body()
        self.expect(")")
        true_branch = yield self._block()
        self.expect("else")
        false_branch = yield self._block()
        return If(cond, true_branch, false_branch, self.span_from(first))

    def _ref(self) -> Parse:
        first = self.i
        self.i += 1
        self.expect("(")
        value = yield self.body()
        self.expect(")")
        return RefCreate(value, self.span_from(first))

    def _ref_read(self) -> Parse:
        first = self.i
        self.i += 1
        self.expect("(")
        ref = yield self.body()
        self.expect(")")
        return RefRead(ref, self.span_from(first))

    def _ref_write(self) -> Parse:
        first = self.i
        self.i += 1
        self.expect("(")
        ref = yield self.body()
        self.expect(",")
        value = yield self.body()
        self.expect(")")
        return RefWrite(ref, value, self.span_from(first))

    def _match(self) -> Parse:
        first = self.i
        complete = self.texts[first] == "match"
        self.i += 1
        data = yield self._operand()
        self.expect("{")
        clauses: list[Clause] = []
        more = not self.accept("}")
        while more:
            start = self.i
            mark = len(self._undo)
            pattern = yield self.pattern()
            self.expect("=>")
            arm = yield self.body()
            self.unbind(mark)
            clauses.append(Clause(pattern, arm, self.span_from(start)))
            more = self.separator("}")
        return Match(data, tuple(clauses), complete, self.span_from(first))
