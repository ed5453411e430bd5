"""The fast path of the parser: everything that needs no stack, which is nearly all of a printed program.

Names, types of one token, attributes, and calls, tuples and bindings of atoms. A method for a flat expression returns
None, and consumes nothing, if the expression is not flat; the general grammar (`parser`) then reads it.

`env` maps a token to its node, so that the usual lookup is one dictionary access; bindings are undone when their scope
ends. Graph temporaries (`%0 = ...`) share one flat table per definition, inner functions restore the ones they
redefine, and temporaries of earlier definitions stay readable, since printed modules may share nodes between functions.

Values of attributes are None, booleans, integers, floats (in double precision, whatever their suffix), strings, lists,
maps `{"a"=1}` or `{%x=1}`, and atoms of expressions. The operator's record class checks them; its errors get a source
location here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from passlab.errors import Diagnostic, DiagnosticError, OpNotFoundError, ParseError, did_you_mean
from passlab.ir.adt import Constructor
from passlab.ir.attrs import Attrs, DictAttrs
from passlab.ir.dtypes import DTYPES, dtype_name
from passlab.ir.expr import Call, Constant, Expr, GlobalVar, TupleGetItem, Var
from passlab.ir.op import Op, find_op
from passlab.ir.span import Span
from passlab.ir.types import ANY, TensorType, Type, TypeVar
from passlab.text.literals import (
    FALSE,
    LITERAL_WORD,
    TRUE,
    LiteralError,
    local_text,
    number_array,
    read_integer,
    read_number,
    read_string,
)
from passlab.text.metadata import MetaTable
from passlab.text.records import record_class
from passlab.text.tokens import Cursor, Tokens, sigil_key

COMPOUND = frozenset(("(", "fn", "if", "match", "match?", "ref", "ref_read", "ref_write"))
ENDS = frozenset((";", ",", ")", "}", "]", "", "{", "=>"))
INDEX = re.compile(r"-?\d{1,9}\Z", re.ASCII)

_DTYPE_LIKE = re.compile(r"(?:u?int|float|bool|bfloat|handle)\w*\Z")
_FLAT_TENSOR = re.compile(r"Tensor\[\(([^)]*)\), ?(\w+)\]")
_WORDS = {"True": True, "False": False, "None": None, "nullptr": None, "?": ANY}
_DEPTH = 64  # levels of nested lists: values are compared and hashed by recursion
_OPEN = {"[": "]", "(": ")", "{": "}"}


@lru_cache(maxsize=4096)
def is_dtype(name: str) -> bool:
    """Whether `name` is a dtype, and so the name of a scalar type."""
    try:
        return bool(dtype_name(name))
    except DiagnosticError:
        return False


class FlatParser(Cursor):
    """Resolves names, and parses what is flat.

    `foreign` is set if a definition uses a node from outside, which may contain free variables; `type_vars` are the
    type parameters in scope.
    """

    def __init__(self, tokens: Tokens, init_meta_table: Mapping[str, Sequence[Any]] | None) -> None:
        super().__init__(tokens)
        self.env: dict[str, Expr] = {}
        self.earlier: dict[str, Expr] = {}
        self.globals: dict[str, GlobalVar] = {}
        self.free: dict[str, Var] = {}
        self.constructors: dict[str, Constructor] = {}
        self.callees: dict[str, Expr] = {}
        self.type_vars: dict[str, TypeVar] = {}
        self.meta_table = MetaTable(tokens.source, tokens.metadata, init_meta_table)
        self.foreign = False
        self._undo: list[tuple[str, Expr | None]] = []
        self._graph_undo: list[tuple[str, Expr]] = []
        self._functions = 0
        self._flat_types: dict[str, Type] = {}
        self._records: dict[tuple[Any, ...], Attrs] = {}

    # ------------------------------------------------------------ scopes
    def mark(self) -> int:
        """Return the mark for a later `unbind`."""
        return len(self._undo)

    def bind(self, word: str, var: Var) -> None:
        """Bring a local variable in scope until `unbind`."""
        key = sigil_key(word)
        self._undo.append((key, self.env.get(key)))
        self.env[key] = var

    def unbind(self, mark: int) -> None:
        """Take the locals bound since a `mark()` out of scope."""
        undo, env = self._undo, self.env
        while len(undo) > mark:
            key, old = undo.pop()
            if old is None:
                del env[key]
            else:
                env[key] = old

    def is_declared(self, word: str) -> bool:
        """Whether a local with this name is visible."""
        key = sigil_key(word)
        return key in self.env or key in self.free

    def bind_graph(self, word: str, value: Expr) -> None:
        """Bind a graph temporary to an expression."""
        if word[1] == "0" and len(word) > 2:
            word = sigil_key(word)
        if self._functions and word in self.env:
            self._graph_undo.append((word, self.env[word]))
        self.env[word] = value

    def open_function(self) -> tuple[int, int]:
        """Enter a function literal; returns the marks for `close_function`."""
        self._functions += 1
        return len(self._undo), len(self._graph_undo)

    def close_function(self, marks: tuple[int, int]) -> None:
        """Leave a function literal: its locals end, and graph temporaries it redefined are restored."""
        self._functions -= 1
        self.unbind(marks[0])
        while len(self._graph_undo) > marks[1]:
            key, old = self._graph_undo.pop()
            self.env[key] = old

    def next_definition(self) -> None:
        """Reset for the next definition of a module."""
        self.earlier.update(self.env)
        self.env = {}
        self.foreign = False

    # ------------------------------------------------------------ atoms
    def atom(self, index: int) -> Expr | None:
        """Return the expression of one token; None for a token that is not such an atom."""
        word = self.texts[index]
        node = self.env.get(word)
        if node is not None:
            return node
        first = word[:1]
        if first == "%" and len(word) > 1:
            return self._local(word, index)
        if first == "@" and len(word) > 1:
            name = read_string(word[1:]) if word[1] == '"' else word[1:]
            var = self.globals.get(name)
            if var is None:
                var = self.globals[name] = GlobalVar(name, self.token_span(index))
            self.env[word] = var
            return var
        if first.isdigit() or (first == "-" and word not in ("-", "->")):
            return self._number(index)
        if word in ("True", "False"):
            return Constant(TRUE if word == "True" else FALSE, self.token_span(index))
        if word.startswith("meta["):
            return self._meta_atom(index)
        return self._number(index) if LITERAL_WORD.match(word) else None

    def _number(self, index: int) -> Constant:
        try:
            array = number_array(self.texts[index])
        except LiteralError as error:
            raise ParseError(Diagnostic(str(error), self.token_span(index), hint=error.hint)) from None
        return Constant(array, self.token_span(index))

    def _meta_atom(self, index: int) -> Expr | None:
        node = self.meta(index)
        if not isinstance(node, Expr):
            return None
        if isinstance(node, Constant):
            self.env[self.texts[index]] = node
        else:
            self.foreign = True
        return node

    def meta(self, index: int) -> object:
        """Return the object of a `meta[...][...]` token."""
        return self.meta_table.lookup(self.texts[index], self.token_span(index))

    def meta_value(self, index: int) -> object:
        """Return the object of a `meta` token; for the copy of a variable in scope, as TVM prints it, the variable."""
        value = self.meta(index)
        if isinstance(value, Var) and value in self.meta_table.own_vars:
            local = self.env.get(f"%{local_text(value.name_hint)}")
            if isinstance(local, Var) and local.type_annotation is value.type_annotation:
                return local
        return value

    def _local(self, word: str, index: int) -> Expr:
        key = sigil_key(word)
        node = self.env.get(key)
        if node is None and key in self.earlier and key[1:].isdigit():
            self.foreign = True
            node = self.earlier[key]
        if node is None and key in self.free:
            self.foreign = True
            node = self.free[key]
        if node is not None:
            return node
        span = self.token_span(index)
        if key[1:].isdigit():
            self.error(
                f"the temporary `{word}` has not yet been defined",
                span,
                hint="define it above with `" + word + " = ...;`",
            )
        part = key.find(".")
        if part > 0 and self.is_declared(key[:part]):
            self.i = index
            after = Span(self.source, span.start + part + 1, span.end)
            self.error(f"expected the number of a tuple element, found `{key[part + 1 :]}`", after)
        names = [k for k in (*self.env, *self.free) if k[0] == "%" and not k[1:].isdigit()]
        hint = (
            "put a blank before the `/`"
            if word.endswith("/")
            else "bind it with `let`, as a parameter, or with `free_var`"
        )
        message = f"this local variable has not been previously declared: `{word}`"
        return self.unknown(message, key, names, span, hint=hint)

    def callee(self, index: int) -> tuple[Expr | None, int]:
        """Return the operator or constructor named at token `index` (None if it is not a name), and the index after
        it.
        """
        word = self.texts[index]
        op = self.callees.get(word)
        if op is not None and self.texts[index + 1] != ".":
            return op, index + 1
        if not self.is_key(index):
            return None, index
        if (
            word in ("op", "ctor") and self.texts[index + 1][:1] == '"'
        ):  # op"add" where a constructor is called `add` too
            name = read_string(self.texts[index + 1])
            return (find_op(name) if word == "op" else self.constructors.get(name)) or self.no_callee(
                name, index
            ), index + 2
        end = index + 1
        name = read_string(word) if word[0] == '"' else word
        while self.texts[end] == "." and self.texts[end + 1][:1].isalpha():
            name += "." + self.texts[end + 1]
            end += 2
        op = self.constructors.get(name) or find_op(name) or self.no_callee(name, index)
        if end == index + 1:
            self.callees[word] = op
        return op, end

    def callee_or_none(self, index: int) -> tuple[Expr | None, int]:
        """As `callee`, with None for an undefined name."""
        word = self.texts[index]
        if self.texts[index + 1][:1] == '"' or word in self.constructors or find_op(word) is not None:
            return self.callee(index)
        return None, index

    def no_callee(self, name: str, index: int) -> Expr:
        """Raise `ParseError` for a name that is neither an operator nor a constructor."""
        word, span = self.texts[index], self.token_span(index)
        if word[0] == '"':
            self.error(
                "a string can only be the value of an attribute", span, hint="or the quoted name of a constructor"
            )
        if word == "return":
            self.error("there is no `return`", span, hint="the last expression of a block is its value")
        names = [*self.constructors, *Op.list_op_names()]
        hint = f"a local variable is written `%{name}`, a global one `@{name}`"
        if "." in name:
            hint = "import the module that registers it"
        try:
            self.unknown(
                f"operator `{name}` not found, perhaps you forgot to register it?", name, names, span, hint=hint
            )
        except ParseError as error:
            raise error from OpNotFoundError(f"there is no operator `{name}`")

    # ------------------------------------------------------------ types of one token
    def flat_type(self) -> Type | None:
        """Parse a tensor or scalar type that is one token; return None, and consume nothing, for any other type."""
        word = self.texts[self.i]
        cached = self._flat_types.get(word)
        if cached is not None and not (self.type_vars and word in self.type_vars):
            self.i += 1
            return cached
        if word in self.type_vars:
            self.i += 1
            return self.type_vars[word]
        match = _FLAT_TENSOR.match(word)
        if match:
            ty = self._tensor(match[1].split(","), match[2])
        elif word[:1].isalpha() and _DTYPE_LIKE.match(word) and is_dtype(word):
            ty = self._tensor([], word)
        else:
            return None
        self._flat_types[word] = ty
        self.i += 1
        return ty

    def _tensor(self, dims: list[str], dtype: str) -> Type:
        parts = [d.strip() for d in dims]
        if parts and not parts[-1]:
            parts.pop()
        shape = []
        for part in parts:
            if part != "?" and not part.isdigit():
                self.error(f"`{part}` is not a dimension", hint="a dimension is an integer or `?`")
            shape.append(ANY if part == "?" else self._dim_number(part))
        return self._tensor_type(shape, dtype)

    def _tensor_type(self, shape: Sequence[object], dtype: str) -> Type:
        try:
            return TensorType(shape, dtype)
        except DiagnosticError as error:
            self.error(
                error.diagnostics[0].message, hint=error.diagnostics[0].hint or f"the dtypes are {', '.join(DTYPES)}"
            )

    def _dim_number(self, text: str) -> int:
        try:
            value, _ = read_number(text)
        except LiteralError as error:
            self.error(str(error), hint=error.hint)
        if isinstance(value, float):
            self.error(f"`{text}` is not a dimension", hint="a dimension is an integer or `?`")
        return value

    # ------------------------------------------------------------ attributes
    def attr_key(self) -> str:
        """Consume the name of an attribute and its `=`."""
        word = self.texts[self.i]
        self.i += 2
        return read_string(word) if word[0] == '"' else word

    def at_attr(self) -> bool:
        """Whether an attribute follows: a name and `=`."""
        return self.texts[self.i + 1] == "=" and self.is_key(self.i)

    def attrs_until(self, close: str) -> tuple[dict[str, Any], dict[str, Span]]:
        """Parse `key=value` pairs up to and including `close`. Returns the values and their spans."""
        values: dict[str, Any] = {}
        spans: dict[str, Span] = {}
        more = True
        while more:
            if not self.at_attr():
                self.fail_expecting("an attribute `name=value`")
            first = self.i
            key = self.attr_key()
            values[key] = self.attr_value()
            spans[key] = self.span_from(first)
            more = self.separator(close)
        return values, spans

    def attr_value(self) -> object:
        """Parse one value."""
        stack: list[tuple[str, list[Any]]] = []  # open brackets with their values so far
        while True:
            word = self.texts[self.i]
            if word in _OPEN:
                if len(stack) >= _DEPTH:
                    self.error(f"attribute values nest at most {_DEPTH} deep")
                stack.append((word, []))
                self.i += 1
                if self.texts[self.i] != _OPEN[word]:
                    self._map_key(stack)
                    continue
                self.i += 1
                value = self._close_bracket(*stack.pop())
            else:
                value = self._plain_value()
            while stack:
                bracket, items = stack[-1]
                items.append(value)
                if self.separator(_OPEN[bracket]):
                    self._map_key(stack)
                    break
                value = self._close_bracket(*stack.pop())
            else:
                return value

    def _map_key(self, stack: list[tuple[str, list[Any]]]) -> None:
        bracket, items = stack[-1]
        if bracket != "{":
            return
        node = self.atom(self.i) if self.texts[self.i][:1] == "%" else None
        if self.texts[self.i].startswith("meta["):
            items.append(self.meta_value(self.i))
            self.i += 1
        elif node is not None:
            items.append(node)
            self.i += 1
        else:
            items.append(self.name('a key `"name"=value`'))
        self.expect("=")

    def _close_bracket(self, bracket: str, items: list[Any]) -> object:
        if bracket == "{":
            return dict(zip(items[::2], items[1::2], strict=True))
        if bracket == "[":
            return tuple(items)
        if len(items) != 1:
            self.error("parentheses hold one value", hint="write a list as `[1, 2]`")
        return items[0]

    def _plain_value(self) -> object:
        index, word = self.i, self.texts[self.i]
        if word[:1] == '"' and len(word) > 1:
            self.i += 1
            return read_string(word)
        if word in _WORDS:
            self.i += 1
            return _WORDS[word]
        if word.startswith("meta["):
            self.i += 1
            return self.meta_value(index)
        bare = word.lstrip("-")
        if bare[:1].isdigit() or bare[:3] in ("inf", "nan"):
            try:
                value = read_integer(word) if word.lstrip("-").isdecimal() else read_number(word, wide=True)[0]
            except LiteralError as error:
                self.error(str(error), hint=error.hint)
            self.i += 1
            return value
        sigil = word[:1] in ("%", "@") and len(word) > 1
        node, end = (self.atom(index), index + 1) if sigil else self.callee_or_none(index)
        if node is None:
            self.fail_expecting("an attribute value")
        self.i = end
        return node

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
            self.error(
                "unable to determine the 'attrs_type_key' with which to represent the attributes of this call",
                next(iter(spans.values())),
                hint=f'{why}; write `attrs_type_key="DictAttrs"` to keep them as they are',
            )
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

    # ------------------------------------------------------------ flat expressions
    def simple(self) -> Expr | None:
        """Parse an operand that contains only atoms: an atom, a projection of one, a call or a tuple of atoms.

        Returns None, and consumes nothing, for anything else. The caller handles the tokens after the operand.
        """
        i, texts = self.i, self.texts
        word, after = texts[i], texts[i + 1]
        if after == "(":
            return self._simple_call(i)
        if word in COMPOUND:
            return None
        node = self.env.get(word) or self.atom(i)
        if node is None:
            return None
        if after == ".":
            index = texts[i + 2]
            if not INDEX.match(index) or texts[i + 3] not in ENDS:
                return None
            self.i = i + 3
            end = self.starts[i + 2] + len(index)
            return TupleGetItem(node, int(index), Span(self.source, self.starts[i], end))
        self.i = i + 1
        return node

    def _simple_call(self, i: int) -> Expr | None:
        texts, env = self.texts, self.env
        word = texts[i]
        op = env.get(word) or self.callees.get(word)
        if op is None:
            if word in COMPOUND or word in ("(", "True", "False"):
                return None
            op = self.atom(i) if word[0] in "%@" else self.callee(i)[0]
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
                arg = self.atom(j) if after == "," or after == ")" else None
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
        self.i = j + 1
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
        self.i = j
        values, spans = self.attrs_until(")")
        attrs = self.make_attrs(op, values, spans, self.token_span(first))
        if attrs is None or self.i != end + 1:
            return self.i - 1, attrs
        if not any(word[:1] in ("%", "@") or word.startswith("meta[") for word in words):
            self._records[key] = attrs
        return self.i - 1, attrs

    def default_attrs(self, op: Expr, first: int) -> Attrs | None:
        """Return the attributes of a call that is written without any."""
        if type(op) is not Op or op.spec.attrs is None:
            return None
        key = (op,)
        attrs = self._records.get(key)
        if attrs is None:
            attrs = self.make_attrs(op, {}, {}, self.token_span(first))
            if attrs is not None:
                self._records[key] = attrs
        return attrs

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

    def flat_graph_binding(self, first: int) -> bool:
        """Parse `%0 = value;` of atoms. Returns False, and consumes nothing, for any other binding."""
        word = self.texts[first]
        if word[1:].isdigit():
            self.i = first + 2
            value = self.simple()
            if value is not None and self.texts[self.i] == ";":
                self.i += 1
                self.bind_graph(word, value)
                return True
        self.i = first
        return False

    def flat_let(self, first: int) -> tuple[Var, Expr, int] | None:
        """Parse `let %x: T = value;` of atoms. Returns None, and consumes nothing, for any other binding."""
        self.i = first + 1
        word = self.texts[self.i]
        var = self.flat_binder()
        if var is not None and self.texts[self.i] == "=" and word not in self.env and word not in self.free:
            self.i += 1
            self.bind(word, var)  # a printed name is bound once: the value cannot refer to another variable
            value = self.simple()
            if value is not None and self.texts[self.i] == ";":
                self.i += 1
                return var, value, first
            self.unbind(self.mark() - 1)
        self.i = first
        return None
