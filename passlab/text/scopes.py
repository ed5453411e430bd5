"""What the atoms of an expression stand for: locals, graph temporaries, globals, metadata, operators, constructors.

`env` maps a token to its node, so that the usual lookup is one dictionary access; bindings are undone when their scope
ends. Graph temporaries (`%0 = ...`) live in one flat table for a definition, inner functions give back what they
redefine, and temporaries of earlier definitions stay readable, since printed modules may share nodes between functions.
"""

from __future__ import annotations

from typing import Any

from passlab.ir.adt import Constructor
from passlab.ir.expr import Constant, Expr, GlobalVar, Var
from passlab.ir.op import Op, find_op
from passlab.ir.span import Span
from passlab.text.attr_parser import AttrParser
from passlab.text.cursor import sigil_key
from passlab.text.lexer import Tokens
from passlab.text.literals import FALSE, TRUE, LiteralError, number_array, read_string
from passlab.text.metadata import MetaTable


class Scopes(AttrParser):
    """Resolves names. `foreign` is set when a definition uses something that may leave it with free variables."""

    def __init__(self, tokens: Tokens, meta: MetaTable) -> None:
        super().__init__(tokens)
        self.env: dict[str, Expr] = {}
        self.earlier: dict[str, Expr] = {}
        self.globals: dict[str, GlobalVar] = {}
        self.free: dict[str, Var] = {}
        self.constructors: dict[str, Constructor] = {}
        self.meta_table = meta
        self.foreign = False
        self._callees: dict[str, Expr] = {}
        self._undo: list[tuple[str, Expr | None]] = []
        self._graph_undo: list[tuple[str, Expr]] = []
        self._functions = 0

    # ------------------------------------------------------------ scopes
    def bind(self, token: str, var: Var) -> None:
        """Bring a local variable in scope until `unbind`."""
        key = sigil_key(token)
        self._undo.append((key, self.env.get(key)))
        self.env[key] = var

    def unbind(self, mark: int) -> None:
        """Take the locals bound since `mark` (an earlier `len(self._undo)`) out of scope."""
        undo, env = self._undo, self.env
        while len(undo) > mark:
            key, old = undo.pop()
            if old is None:
                del env[key]
            else:
                env[key] = old

    def bind_graph(self, token: str, value: Expr) -> None:
        """Let a graph temporary stand for an expression."""
        if token[1] == "0" and len(token) > 2:
            token = sigil_key(token)
        if self._functions and token in self.env:
            self._graph_undo.append((token, self.env[token]))
        self.env[token] = value

    def open_function(self) -> tuple[int, int]:
        """Enter a function literal; returns the marks that `close_function` needs."""
        self._functions += 1
        return len(self._undo), len(self._graph_undo)

    def close_function(self, marks: tuple[int, int]) -> None:
        """Leave a function literal: its locals end, and graph temporaries it redefined are what they were."""
        self._functions -= 1
        self.unbind(marks[0])
        while len(self._graph_undo) > marks[1]:
            key, old = self._graph_undo.pop()
            self.env[key] = old

    def next_definition(self) -> None:
        """Start anew for the next definition of a module."""
        self.earlier.update(self.env)
        self.env = {}
        self.foreign = False

    # ------------------------------------------------------------ atoms
    def atom(self, index: int) -> Expr | None:
        """The expression that one token stands for; None for a token that is no such atom."""
        token = self.texts[index]
        node = self.env.get(token)
        if node is not None:
            return node
        first = token[:1]
        if first == "%" and len(token) > 1:
            return self._local(token, index)
        if first == "@" and len(token) > 1:
            return self._global(token, index)
        if first.isdigit() or first == "-" and token not in ("-", "->"):
            return self._number(index)
        if token in ("True", "False"):
            return Constant(TRUE if token == "True" else FALSE, self.token_span(index))
        if token.startswith("meta["):
            return self._meta_atom(index)
        if token[-1:] == "f" or token[-2:] in ("16", "32", "64"):
            return self._number(index) if token.lstrip("-")[:3] in ("inf", "nan") else None
        return None

    def _number(self, index: int) -> Constant | None:
        token = self.texts[index]
        try:
            return Constant(number_array(token), self.token_span(index))
        except LiteralError as error:
            if token[:1] in "in":  # an ordinary name that looks a little like `inff`
                return None
            self.error(str(error), self.token_span(index), hint=error.hint)

    def _meta_atom(self, index: int) -> Expr | None:
        found = self.meta(index)
        if not isinstance(found, Expr):
            return None
        if isinstance(found, Constant):
            self.env[self.texts[index]] = found
        else:
            self.foreign = True
        return found

    def meta(self, index: int) -> Any:
        """The object a `meta[...][...]` token stands for."""
        return self.meta_table.lookup(self.texts[index], self.token_span(index))

    def _local(self, token: str, index: int) -> Expr:
        key = sigil_key(token)
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
            self.error(f"the temporary `{token}` has not yet been defined", span, hint="define it above with `" + token + " = ...;`")
        names = [k for k in (*self.env, *self.free) if k[0] == "%" and not k[1:].isdigit()]
        hint = "put a blank before the `/`" if token.endswith("/") else "bind it with `let`, as a parameter, or with `free_var`"
        self.unknown(f"this local variable has not been previously declared: `{token}`", key, names, span, hint=hint)

    def _global(self, token: str, index: int) -> GlobalVar:
        name = read_string(token[1:]) if token[1] == '"' else token[1:]
        var = self.globals.get(name)
        if var is None:
            var = self.globals[name] = GlobalVar(name, self.token_span(index))
        self.env[token] = var
        return var

    def callee(self, index: int) -> tuple[Expr | None, int]:
        """The operator or constructor named by tokens from `index` on, and the index behind them; None for no name."""
        token = self.texts[index]
        found = self._callees.get(token)
        if found is not None and self.texts[index + 1] != ".":
            return found, index + 1
        if not self.is_key(index):
            return None, index
        if token in ("op", "ctor") and self.texts[index + 1][:1] == '"':  # op"add" where a constructor is called `add` too
            name = read_string(self.texts[index + 1])
            return (find_op(name) if token == "op" else self.constructors.get(name)) or self.no_callee(name, index), index + 2
        end = index + 1
        name = read_string(token) if token[0] == '"' else token
        while self.texts[end] == "." and self.texts[end + 1][:1].isalpha():
            name += "." + self.texts[end + 1]
            end += 2
        found = self.constructors.get(name) or find_op(name) or self.no_callee(name, index)
        if end == index + 1:
            self._callees[token] = found
        return found, end

    def named(self, index: int) -> tuple[Expr | None, int]:
        """As `callee`, with None for a name that stands for nothing."""
        token = self.texts[index]
        if self.texts[index + 1][:1] == '"' or token in self.constructors or find_op(token) is not None:
            return self.callee(index)
        return None, index

    def no_callee(self, name: str, index: int) -> Expr:
        """Raise `ParseError` for a name that is neither operator nor constructor."""
        token, span = self.texts[index], self.token_span(index)
        if token[0] == '"':
            self.error("a string can only be the value of an attribute", span, hint="or the quoted name of a constructor")
        known = [*self.constructors, *Op.list_op_names()]
        self.unknown(
            f"operator `{name}` not found, perhaps you forgot to register it?", name, known, span,
            hint=f"a local variable is written `%{name}`, a global one `@{name}`",
        )  # fmt: skip
