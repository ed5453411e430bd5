"""Name resolution: locals, graph temporaries, globals, metadata, operators, constructors.

`env` maps a token to its node, so that the usual lookup is one dictionary access; bindings are undone when their scope
ends. Graph temporaries (`%0 = ...`) share one flat table per definition, inner functions restore the ones they
redefine, and temporaries of earlier definitions stay readable, since printed modules may share nodes between functions.
"""

from __future__ import annotations

from passlab.errors import Diagnostic, ParseError
from passlab.ir.adt import Constructor
from passlab.ir.expr import Constant, Expr, GlobalVar, Var
from passlab.ir.op import Op, find_op
from passlab.ir.span import Span
from passlab.text.cursor import Cursor, sigil_key
from passlab.text.literals import FALSE, LITERAL_WORD, TRUE, LiteralError, local_text, number_array, read_string
from passlab.text.metadata import MetaTable


class NameScopes:
    """Resolves names. `foreign` is set if a definition uses a node from outside, which may contain free variables."""

    def __init__(self, cursor: Cursor, meta: MetaTable) -> None:
        self.cursor = cursor
        self.texts = cursor.texts
        self.env: dict[str, Expr] = {}
        self.earlier: dict[str, Expr] = {}
        self.globals: dict[str, GlobalVar] = {}
        self.free: dict[str, Var] = {}
        self.constructors: dict[str, Constructor] = {}
        self.meta_table = meta
        self.foreign = False
        self.callees: dict[str, Expr] = {}
        self._undo: list[tuple[str, Expr | None]] = []
        self._graph_undo: list[tuple[str, Expr]] = []
        self._functions = 0

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
            return self._global(word, index)
        if first.isdigit() or (first == "-" and word not in ("-", "->")):
            return self._number(index)
        if word in ("True", "False"):
            return Constant(TRUE if word == "True" else FALSE, self.cursor.token_span(index))
        if word.startswith("meta["):
            return self._meta_atom(index)
        return self._number(index) if LITERAL_WORD.match(word) else None

    def _number(self, index: int) -> Constant:
        try:
            array = number_array(self.texts[index])
        except LiteralError as error:
            raise ParseError(Diagnostic(str(error), self.cursor.token_span(index), hint=error.hint)) from None
        return Constant(array, self.cursor.token_span(index))

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
        return self.meta_table.lookup(self.texts[index], self.cursor.token_span(index))

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
        span = self.cursor.token_span(index)
        if key[1:].isdigit():
            self.cursor.error(
                f"the temporary `{word}` has not yet been defined",
                span,
                hint="define it above with `" + word + " = ...;`",
            )
        part = key.find(".")
        if part > 0 and self.is_declared(key[:part]):
            self.cursor.i = index
            after = Span(self.cursor.source, span.start + part + 1, span.end)
            self.cursor.error(f"expected the number of a tuple element found `{key[part + 1 :]}`", after)
        names = [k for k in (*self.env, *self.free) if k[0] == "%" and not k[1:].isdigit()]
        hint = (
            "put a blank before the `/`"
            if word.endswith("/")
            else "bind it with `let`, as a parameter, or with `free_var`"
        )
        message = f"this local variable has not been previously declared: `{word}`"
        return self.cursor.unknown(message, key, names, span, hint=hint)

    def _global(self, word: str, index: int) -> GlobalVar:
        name = read_string(word[1:]) if word[1] == '"' else word[1:]
        var = self.globals.get(name)
        if var is None:
            var = self.globals[name] = GlobalVar(name, self.cursor.token_span(index))
        self.env[word] = var
        return var

    def callee(self, index: int) -> tuple[Expr | None, int]:
        """Return the operator or constructor named at token `index` (None if it is no name), and the index after it."""
        word = self.texts[index]
        op = self.callees.get(word)
        if op is not None and self.texts[index + 1] != ".":
            return op, index + 1
        if not self.cursor.is_key(index):
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
        word, span = self.texts[index], self.cursor.token_span(index)
        if word[0] == '"':
            self.cursor.error(
                "a string can only be the value of an attribute", span, hint="or the quoted name of a constructor"
            )
        if word == "return":
            self.cursor.error("there is no `return`", span, hint="the last expression of a block is its value")
        names = [*self.constructors, *Op.list_op_names()]
        self.cursor.unknown(
            f"operator `{name}` not found, perhaps you forgot to register it?",
            name,
            names,
            span,
            hint=f"a local variable is written `%{name}`, a global one `@{name}`",
        )
