"""Parsing of programs: `parse` for modules, `parse_expr` for expressions. The result is untyped.

Accepts everything TVM's parser accepts, with exact spans on every node, and everything TVM's printer writes. That
includes bare `let` and `match` as values, `ref(T)`, generic function types, escapes in strings, and numbers of every
dtype (`1u8`, `2bf16`, `nanf`). Special names are in quotes: `%"a.b:0"`, `"odd type"`, `op"add"` for an operator hidden
by a constructor. Malformed text raises a located `ParseError`, a text over a limit `LimitError`; no other error is
raised.

Read `tokens` first, then `flat_parser` (names, attributes, and expressions that contain only atoms), then this file:
the grammar of what nests, from whole texts down to types. Each construct is a generator that yields the generators of
its parts, and `tokens.run_nested` runs them. Operators bind as in Relay: projection and call, then `* /`, `+ -`,
`< <= > >=`, `== !=`, all left-associative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from passlab import limits
from passlab.arguments import checked
from passlab.errors import Diagnostic, DiagnosticError, ParseError
from passlab.ir.adt import (
    Clause,
    Constructor,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    TypeData,
)
from passlab.ir.attrs import Attrs
from passlab.ir.diagnostics import show_diagnostics
from passlab.ir.dtypes import DTYPES
from passlab.ir.expr import (
    Call,
    Expr,
    Function,
    GlobalVar,
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
from passlab.ir.gc_pause import building
from passlab.ir.module import IRModule
from passlab.ir.op import find_op
from passlab.ir.span import Span
from passlab.ir.types import (
    ANY,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    SizeVar,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from passlab.ir.variables import free_vars
from passlab.text.flat_parser import ENDS, INDEX, FlatParser
from passlab.text.literals import name_text, read_string
from passlab.text.tokens import Parse, lex, run_nested, sigil_key

VERSION = '"0.0.5"'
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
_DEFINING = frozenset(("def", "type", "extern"))  # the words that begin a definition


@checked
def parse(
    source: str,
    source_name: str = "from_string",
    init_module: IRModule | None = None,
    init_meta_table: Mapping[str, Sequence[Any]] | None = None,
) -> IRModule:
    """Return the module that `source` describes, untyped.

    `init_module` holds definitions the text may use; they are part of the result, and are not changed.
    `init_meta_table` provides objects for `meta[key][i]`, counted after the objects of the text's own metadata section.
    Raises `ParseError`, with its location, for malformed text and `LimitError` for a text over a limit.

    >>> mod = passlab.text.parse("def @main(%x: Tensor[(2), float32]) { exp(%x) }")
    >>> mod["main"].ret_type is None  # `passlab.parse` infers types as well
    True
    """
    with building(), show_diagnostics():
        parser = Parser(source, source_name, init_module, init_meta_table)
        return parser.module()


@checked
def parse_expr(
    source: str,
    source_name: str = "string",
    init_module: IRModule | None = None,
    init_meta_table: Mapping[str, Sequence[Any]] | None = None,
) -> Expr:
    """Return the expression that `source` describes, untyped; raises as `parse` does.

    >>> passlab.text.parse_expr("1f + 2f").op.name
    'add'
    """
    with show_diagnostics():
        parser = Parser(source, source_name, init_module, init_meta_table)
        return parser.whole_expression()


def parse_cell(source: str, source_name: str) -> IRModule | Expr:
    """Return the module that `source` describes, or the expression if it has no definition; raises as `parse` does."""
    with building(), show_diagnostics():
        parser = Parser(source, source_name)
        return parser.whole_expression() if _DEFINING.isdisjoint(parser.texts) else parser.module()


class Parser(FlatParser):
    """Parses definitions and whole texts. `undefined_types` holds the first use of each undefined type."""

    def __init__(
        self,
        source: str,
        source_name: str,
        init_module: IRModule | None = None,
        init_meta_table: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        super().__init__(lex(source, source_name), init_meta_table)
        self.base = init_module if init_module is not None else IRModule()
        self.globals = {var.name_hint: var for var in self.base.functions}
        self.definitions: dict[str, TypeData] = {}
        self.known_types: set[str] = set()
        self.undefined_types: dict[str, int] = {}
        self._type_undo: list[tuple[str, TypeVar | None]] = []
        for header, data in self.base.type_definitions.items():
            self.known_types.add(header.name_hint)
            self.constructors.update({c.name_hint: c for c in data.constructors})
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

    # ------------------------------------------------------------ whole texts
    def whole_expression(self) -> Expr:
        """Parse one expression up to the end of the text."""
        self._version()
        result: Expr = run_nested(self.body())
        if self.texts[self.i]:
            self.fail_expecting("the end of the text")
        return result

    def module(self) -> IRModule:
        """Parse definitions up to the end of the text."""
        self._version()
        start = self.i
        definition_ends = self._type_definitions()
        self.i = start
        functions: dict[str, Function] = {}
        while self.texts[self.i]:
            word = self.texts[self.i]
            if self.i in definition_ends:
                self.i = definition_ends[self.i]
            elif word == "def":
                span = self.token_span(self.i + 1)
                name, function = run_nested(self._definition())
                if name in functions:
                    self.error(f"the function `@{name}` is defined twice", span)
                functions[name] = function
            else:
                self.error(f"expected a definition, found `{word}`", hint=_no_definition(word, bool(functions)))
        self._check_types()
        return self._module(functions)

    def _module(self, functions: dict[str, Function]) -> IRModule:
        mod = self.base.snapshot()
        for data in self.definitions.values():
            try:
                mod.add_type(data)
            except DiagnosticError as error:
                raise ParseError(*error.diagnostics) from None
        mod = mod.with_functions({self.globals[name]: function for name, function in functions.items()})
        for attrs in self.meta_table.module_attrs:
            mod = mod.with_attrs(dict(attrs.items()))
        if mod is self.base:
            mod = mod.snapshot()
        mod.source = self.source
        return mod

    def _version(self) -> None:
        word = self.texts[self.i]
        if not word.startswith("#["):
            return
        inner = word[2:-1].strip()
        if not inner.startswith("version"):
            self.error(f"unsupported attribute {word}", hint=f"a text begins with `#[version = {VERSION}]`")
        value = inner.removeprefix("version").strip().removeprefix("=").strip()
        if value != VERSION:
            self.error(f"invalid semantic version `{value}`", hint=f"write `#[version = {VERSION}]`")
        self.i += 1

    # ------------------------------------------------------------ definitions
    def _definition(self) -> Parse:
        first = self.i
        self.i += 1
        word = self.texts[self.i]
        if word[:1] != "@" or len(word) < 2:
            self.fail_expecting("a global name `@f`")
        var: Any = self.atom(self.i)
        self.i += 1
        self.next_definition()
        function = yield self.function(first)
        self.unbind(0)
        if self.foreign:
            self._check_closed(var, function)
        return var.name_hint, function

    def _check_closed(self, var: GlobalVar, function: Function) -> None:
        free = free_vars(function)
        if free:
            names = ", ".join(f"%{v.name_hint}" for v in free)
            span = free[0].span or function.span
            raise ParseError(
                Diagnostic(f"@{var.name_hint} has free variables: {names}", span, hint="make them parameters")
            )

    def _type_definitions(self) -> dict[int, int]:
        """Parse all type definitions before the functions. Returns the token after each by its first token."""
        definition_ends: dict[int, int] = {}
        at = -1
        while True:
            try:
                at = self.texts.index("type", at + 1)
            except ValueError:
                return definition_ends
            if self.texts[at + 1] != "=" and at >= self.i:
                self.i = at
                first = at - 1 if at and self.texts[at - 1] == "extern" else at
                run_nested(self._type_definition(first != at))
                definition_ends[first] = self.i
                at = self.i - 1

    def _type_definition(self, extern: bool) -> Parse:
        self.i += 1
        span = self.token_span(self.i)
        name = self.name("the name of a type")
        if name in self.definitions or name in self.known_types:
            self.error(f"the type `{name}` is defined twice", span)
        header = GlobalTypeVar(name)
        self.known_types.add(name)
        mark, params = self.open_type_params()
        constructors: list[Constructor] = []
        if self.texts[self.i] == "{":
            if extern and self.texts[self.i + 1] != "}":
                self.error("an external type may not have any constructors")
            self.i += 1
            more = not self.accept("}")
            while more:
                constructors.append((yield self._constructor(header)))
                more = self.separator("}")
        self.close_types(mark)
        self.definitions[name] = TypeData(header, params, constructors, extern)

    def _constructor(self, header: GlobalTypeVar) -> Parse:
        first = self.i
        name = self.name("the name of a constructor")
        if name in self.constructors:
            owner = self.constructors[name].belong_to.name_hint
            self.error(
                f"a constructor with the name `{name}` was previously defined",
                self.token_span(first),
                notes=((f"by the type `{owner}`", self.constructors[name].span),),
            )
        inputs = (yield self.type_list(")")) if self.accept("(") else []
        result = Constructor(name, inputs, header, span=self.span_from(first))
        self.constructors[name] = result
        return result

    def _check_types(self) -> None:
        """Reject undefined types; a definition may follow its uses, so this comes last."""
        for name, index in self.undefined_types.items():
            if name not in self.known_types:
                names = [*self.known_types, *DTYPES, "Tensor"]
                self.unknown(
                    f"the type `{name}` is undefined",
                    name,
                    names,
                    self.token_span(index),
                    hint=f"define it: `type {name} {{ ... }}`",
                )

    # ------------------------------------------------------------ bodies
    def body(self, value: bool = False, head: Head | None = None) -> Parse:
        """Parse bindings and the expression after them, without the token that ends it.

        In the `value` of a binding, which `;` ends, an expression followed by `;` is not a statement. `head` is the
        first operand of the expression, if it is parsed already.
        """
        mark = self.mark()
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
        """Parse the right side of a binding and the `;` after it."""
        first = self.i
        value = self.simple()
        if value is None or self.texts[self.i] != ";":
            self.i = first
            value = yield self.body(value=True)
        self.expect(";")
        return value

    def _let(self) -> Parse:
        first = self.i
        self.i += 1
        word = self.texts[self.i]
        var = yield self.binder("a variable `%x`")
        self.expect("=")
        # A function may call itself through its variable. Elsewhere the name keeps its previous meaning, if any.
        i = self.i
        while self.texts[i] == "(":
            i += 1
        bind_first = self.texts[i] == "fn" or not self.is_declared(word)
        if bind_first:
            self.bind(word, var)
        value = yield self._value()
        if not bind_first:
            self.bind(word, var)
        return var, value, first

    def _graph_binding(self, word: str) -> Parse:
        if not word[1:].isdigit():
            self.error(f"`{word}` is bound without `let`", hint=f"write `let {word} = ...;`")
        self.i += 2
        self.bind_graph(word, (yield self._value()))

    def _free_var(self) -> Parse:
        self.i += 1
        word = self.texts[self.i]
        var = yield self.binder("a variable `%x`")
        self.free[sigil_key(word)] = var  # visible in all of the following text; hides locals of its name
        self.expect(";")

    # ------------------------------------------------------------ operators and calls
    def expression(self, head: Head | None = None) -> Parse:
        """Parse operands joined by operators. `head` is the first of them, if it is parsed already."""
        first = self.i if head is None else head[1]
        operand = yield self._operand(head)
        # left operands, each with its first token, precedence and operator
        left_operands: list[tuple[Expr, int, int, str]] = []
        while True:
            operator = self.texts[self.i]
            is_sign = operator[:1] == "-" and operator[1:2] not in ("", ">")  # `%x -1`: the number's sign is a minus
            if is_sign:
                operator = "-"
            precedence, name = _OPERATORS.get(operator, (0, ""))
            while left_operands and left_operands[-1][2] >= precedence:
                left, first, _, op_name = left_operands.pop()
                op = find_op(op_name) or self.no_callee(op_name, self.i)
                operand = Call(op, (left, operand), None, None, self.span_from(first))
            if not precedence:
                return operand
            left_operands.append((operand, first, precedence, name))
            if is_sign:
                self.texts[self.i] = self.texts[self.i][1:]
                self.starts[self.i] += 1
            else:
                self.i += 1
            first = self.i
            operand = self.simple()
            if operand is None or self.texts[self.i] in ("(", "."):
                self.i = first
                operand = yield self._operand()

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
                self.fail_expecting("the number of a tuple element")
            end += len(part)
            node = TupleGetItem(node, int(part), Span(self.source, start, end))
            end += 1
        self.i += 2
        return node

    def _atomic(self) -> Expr:
        """Parse an atom, an operator, or a constructor; a constructor without inputs is called."""
        first = self.i
        word = self.texts[first]
        node = self.atom(first)
        if node is not None:
            self.i += 1
            return node
        if word.startswith("meta["):
            self.error(f"`{word}` is not an expression", found=type(self.meta(first)).__name__)
        if word == "-":
            self.error("expected an expression, found `-`", hint="there is no unary minus: write `negative(...)`")
        node, end = self.callee(first) if word not in _STATEMENTS else (None, first)
        if node is None:
            self.fail_expecting("an expression")
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
                meta_object = self.meta(start)
                self.i += 1
                if isinstance(meta_object, Attrs):
                    attrs = meta_object
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
        """Parse an expression that begins with parentheses. One loop reads consecutive opening parentheses."""
        open_parentheses: list[int] = []
        while self.texts[self.i] == "(":
            open_parentheses.append(self.i)
            self.i += 1
        limits.check("nesting", len(open_parentheses), "this text")
        inner = open_parentheses.pop()
        node: Expr = yield self._parentheses_from(inner, None)
        while open_parentheses:
            head, inner = (node, inner), open_parentheses.pop()
            if self.accept(")"):
                continue
            node = yield self._parentheses_from(inner, head)
        return node

    def _parentheses_from(self, first: int, head: Head | None) -> Parse:
        """Parse a tuple, or an expression in parentheses, after the parenthesis at token `first`.

        `head` is the first operand of its first part, if it is parsed already.
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
        return Function(tuple(params), body, result, type_params, values, self.span_from(first), device)

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

    def _reference(self, kind: type[RefCreate] | type[RefRead]) -> Parse:
        first = self.i
        self.i += 1
        self.expect("(")
        operand = yield self.body()
        self.expect(")")
        return kind(operand, self.span_from(first))

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
            mark = self.mark()
            pattern = yield self.pattern()
            self.expect("=>")
            arm = yield self.body()
            self.unbind(mark)
            clauses.append(Clause(pattern, arm, self.span_from(start)))
            more = self.separator("}")
        return Match(data, tuple(clauses), complete, self.span_from(first))

    # ------------------------------------------------------------ binders and patterns
    def binder(self, expected: str) -> Parse:
        """Parse `%x`, then the optional `{virtual_device=...}` and `: Type`. The variable is not yet in scope."""
        word = self.texts[self.i]
        if word[:1] != "%" or word[1:2].isdigit() or len(word) < 2:
            self.fail_expecting(expected)
        span = self.token_span(self.i)
        self.i += 1
        device: Any = None
        if self.texts[self.i] == "{":
            self.i += 1
            if self.texts[self.i] != "virtual_device":
                self.fail_expecting("`virtual_device=...`")
            self.i += 1
            self.expect("=")
            device = self.attr_value()
            self.expect("}")
        annotation: Type | None = None
        if self.texts[self.i] == ":":
            self.i += 1
            if not self.accept("_"):  # `_` is a type to be inferred, like a missing annotation
                annotation = self.flat_type() or (yield self.type_())
        return Var(read_string(word[1:]) if word[1] == '"' else word[1:], annotation, span, device)

    def pattern(self) -> Parse:
        """Parse a pattern and bind its variables."""
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
            self.fail_expecting("a pattern")
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

    # ------------------------------------------------------------ types
    def type_(self) -> Parse:
        """Parse any type."""
        flat = self.flat_type()
        if flat is not None:
            return flat
        word = self.texts[self.i]
        if word == "(":
            self.i += 1
            return TupleType((yield self.type_list(")")))
        if word == "fn":
            return (yield self._function_type())
        if word == "_":
            self.i += 1
            return IncompleteType()
        if word == "ref" and self.texts[self.i + 1] == "(":
            self.i += 2
            value = self.flat_type() or (yield self.type_())
            self.expect(")")
            return RefType(value)
        if word.startswith("meta["):
            ty = self.meta(self.i)
            if not isinstance(ty, Type):
                self.error(f"`{self.texts[self.i]}` is not a type", found=type(ty).__name__)
            self.i += 1
            return ty
        if word == "Tensor" and self.texts[self.i + 1] == "[":
            return self._general_tensor()
        if not self.is_name(self.i):
            self.fail_expecting("a type")
        return (yield self._type_name())

    def type_list(self, close: str) -> Parse:
        """Parse types separated by commas up to and including `close`."""
        types: list[Type] = []
        if self.accept(close):
            return types
        more = True
        while more:
            types.append(self.flat_type() or (yield self.type_()))
            more = self.separator(close)
        return types

    def _function_type(self) -> Parse:
        self.i += 1
        mark, params = self.open_type_params()
        self.expect("(")
        args = yield self.type_list(")")
        self.expect("->")
        result = self.flat_type() or (yield self.type_())
        self.close_types(mark)
        return FuncType(args, result, params)

    def open_type_params(self) -> tuple[int, list[TypeVar]]:
        """Parse an optional `[A, B]`, and bring it in scope. Returns a mark for `close_types`, and the parameters."""
        mark = len(self._type_undo)
        params: list[TypeVar] = []
        more = self.accept("[") and not self.accept("]")
        while more:
            name = self.name("a type parameter")
            key, var = name_text(name), TypeVar(name)
            params.append(var)
            self._type_undo.append((key, self.type_vars.get(key)))
            self.type_vars[key] = var
            more = self.separator("]")
        return mark, params

    def close_types(self, mark: int) -> None:
        """Take the type parameters declared since `mark` out of scope."""
        while len(self._type_undo) > mark:
            key, old = self._type_undo.pop()
            if old is None:
                del self.type_vars[key]
            else:
                self.type_vars[key] = old

    def _general_tensor(self) -> Type:
        """Parse a tensor type of several tokens: with unusual white space, comments, or symbolic dimensions."""
        self.i += 2
        self.expect("(")
        shape: list[object] = []
        more = not self.accept(")")
        while more:
            shape.append(self._dim())
            more = self.separator(")")
        self.expect(",")
        dtype = self.texts[self.i]
        if not dtype[:1].isalpha():
            self.fail_expecting("a dtype")
        result = self._tensor_type(shape, dtype)
        self.i += 1
        self.expect("]")
        return result

    def _dim(self) -> object:
        word = self.texts[self.i]
        if word == "?":
            dim: object = ANY
        elif word.startswith("meta["):
            dim = self.meta(self.i)
            if not isinstance(dim, SizeVar) and dim is not ANY:
                self.error(f"`{word}` is not a dimension", found=type(dim).__name__)
        elif word.lstrip("-")[:1].isdigit():
            dim = self._dim_number(word)
        else:
            self.fail_expecting("a dimension")
        self.i += 1
        return dim

    def _type_name(self) -> Parse:
        first = self.i
        name = self.name("a type")
        if self.type_vars and name_text(name) in self.type_vars:
            return self.type_vars[name_text(name)]
        if name not in self.known_types:
            self.undefined_types.setdefault(name, first)
        args = (yield self.type_list("]")) if self.accept("[") else []
        return TypeCall(GlobalTypeVar(name), args)


def _no_definition(word: str, after_definition: bool) -> str:
    """Return a hint for a text, or a part after definitions, that begins with something else."""
    if after_definition:
        return "a module is made of `def` and `type`"
    if word.endswith((".relay", ".rly")):
        return f'this is the text to read, not a file: `passlab.parse(open("{word}").read())`'
    return "a program is `def @main(...) { ... }`; an expression by itself is read by `parse_expr`"
