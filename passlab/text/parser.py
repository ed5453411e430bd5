"""Parsing of programs: `parse` for modules, `parse_expr` for expressions. The result is untyped.

Accepts everything TVM's parser accepts, with exact spans on every node, and everything TVM's printer writes: bare `let`
and `match` as values, `ref(T)` and generic function types, escapes in strings, special names in quotes (`%"a.b:0"`,
`"odd type"`, `op"add"` for an operator hidden by a constructor), numbers of every dtype (`1u8`, `2bf16`, `nanf`).
Malformed text raises a located `ParseError`, a text over a cap `LimitError`; no other error is raised.

A `ModuleParser` has a `Cursor` (the position in the tokens), the `NameScopes` (the meanings of names) and one parser
for each kind of phrase, which share the two: types, attributes, binders and patterns, flat expressions, expressions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from passlab.errors import Diagnostic, DiagnosticError, ParseError
from passlab.ir.adt import Constructor, TypeData
from passlab.ir.diagnostics import show_diagnostics
from passlab.ir.dtypes import DTYPES
from passlab.ir.expr import Expr, Function, GlobalVar
from passlab.ir.gc_pause import building
from passlab.ir.module import IRModule
from passlab.ir.types import GlobalTypeVar
from passlab.ir.variables import free_vars
from passlab.text.cursor import Cursor, Parse, drive
from passlab.text.expr_parser import ExprParser
from passlab.text.lexer import lex
from passlab.text.metadata import MetaTable
from passlab.text.scopes import NameScopes
from passlab.text.type_parser import TypeParser

VERSION = '"0.0.5"'


def parse(
    source: str,
    source_name: str = "from_string",
    init_module: IRModule | None = None,
    init_meta_table: Mapping[str, Sequence[Any]] | None = None,
) -> IRModule:
    """Return the module that `source` describes, untyped.

    `init_module` holds definitions the text may use; they are part of the result, and are not changed.
    `init_meta_table` provides objects for `meta[key][i]`, counted after those of the text's own metadata section.
    Raises `ParseError`, with its location, for malformed text and `LimitError` for a text over a cap.
    """
    with building(), show_diagnostics():
        parser = ModuleParser(source, source_name, init_module, init_meta_table)
        return parser.module()


def parse_expr(
    source: str,
    source_name: str = "string",
    init_module: IRModule | None = None,
    init_meta_table: Mapping[str, Sequence[Any]] | None = None,
) -> Expr:
    """Return the expression that `source` describes, untyped; raises as `parse` does."""
    with show_diagnostics():
        parser = ModuleParser(source, source_name, init_module, init_meta_table)
        return parser.whole_expression()


class ModuleParser:
    """Parses definitions and whole texts."""

    def __init__(
        self,
        source: str,
        source_name: str,
        init_module: IRModule | None,
        init_meta_table: Mapping[str, Sequence[Any]] | None,
    ) -> None:
        tokens = lex(source, source_name)
        self.cursor = cursor = Cursor(tokens)
        self.texts, self.source = cursor.texts, cursor.source
        self.scopes = NameScopes(cursor, MetaTable(tokens.source, tokens.metadata, init_meta_table))
        self.types = TypeParser(cursor, self.scopes)
        self.expressions = ExprParser(cursor, self.scopes, self.types)
        self.base = init_module if init_module is not None else IRModule()
        self.scopes.globals = {var.name_hint: var for var in self.base.functions}
        self.definitions: dict[str, TypeData] = {}
        for header, data in self.base.type_definitions.items():
            self.types.known_types.add(header.name_hint)
            self.scopes.constructors.update({c.name_hint: c for c in data.constructors})

    # ------------------------------------------------------------ whole texts
    def whole_expression(self) -> Expr:
        """Parse one expression up to the end of the text."""
        self._version()
        result: Expr = drive(self.expressions.body())
        self._end()
        return result

    def module(self) -> IRModule:
        """Parse definitions up to the end of the text."""
        self._version()
        start = self.cursor.i
        definition_ends = self._type_definitions()
        self.cursor.i = start
        functions: dict[str, Function] = {}
        while self.texts[self.cursor.i]:
            word = self.texts[self.cursor.i]
            if self.cursor.i in definition_ends:
                self.cursor.i = definition_ends[self.cursor.i]
            elif word == "def":
                span = self.cursor.token_span(self.cursor.i + 1)
                name, function = drive(self._definition())
                if name in functions:
                    self.cursor.error(f"the function `@{name}` is defined twice", span)
                functions[name] = function
            else:
                self.cursor.error(f"expected a definition found `{word}`", hint=_no_definition(word, bool(functions)))
        self._check_types()
        return self._module(functions)

    def _module(self, functions: dict[str, Function]) -> IRModule:
        mod = self.base.snapshot()
        for data in self.definitions.values():
            try:
                mod.add_type(data)
            except DiagnosticError as error:
                raise ParseError(*error.diagnostics) from None
        mod = mod.with_functions({self.scopes.globals[name]: function for name, function in functions.items()})
        if mod is self.base:
            mod = mod.snapshot()
        mod.source = self.source
        return mod

    def _version(self) -> None:
        word = self.texts[self.cursor.i]
        if not word.startswith("#["):
            return
        inner = word[2:-1].strip()
        if not inner.startswith("version"):
            self.cursor.error(f"unsupported attribute {word}", hint=f"a text begins with `#[version = {VERSION}]`")
        value = inner.removeprefix("version").strip().removeprefix("=").strip()
        if value != VERSION:
            self.cursor.error(f"invalid semantic version `{value}`", hint=f"write `#[version = {VERSION}]`")
        self.cursor.i += 1

    def _end(self) -> None:
        if self.texts[self.cursor.i]:
            self.cursor.fail_expecting("the end of the text")

    # ------------------------------------------------------------ definitions
    def _definition(self) -> Parse:
        first = self.cursor.i
        self.cursor.i += 1
        word = self.texts[self.cursor.i]
        if word[:1] != "@" or len(word) < 2:
            self.cursor.fail_expecting("a global name `@f`")
        var: Any = self.scopes.atom(self.cursor.i)
        self.cursor.i += 1
        self.scopes.next_definition()
        function = yield self.expressions.function(first)
        self.scopes.unbind(0)
        if self.scopes.foreign:
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
            if self.texts[at + 1] != "=" and at >= self.cursor.i:
                self.cursor.i = at
                first = at - 1 if at and self.texts[at - 1] == "extern" else at
                drive(self._type_definition(first != at))
                definition_ends[first] = self.cursor.i
                at = self.cursor.i - 1

    def _type_definition(self, extern: bool) -> Parse:
        self.cursor.i += 1
        span = self.cursor.token_span(self.cursor.i)
        name = self.cursor.name("the name of a type")
        if name in self.definitions or name in self.types.known_types:
            self.cursor.error(f"the type `{name}` is defined twice", span)
        header = GlobalTypeVar(name)
        self.types.known_types.add(name)
        mark, params = self.types.open_type_params()
        constructors: list[Constructor] = []
        if self.texts[self.cursor.i] == "{":
            if extern and self.texts[self.cursor.i + 1] != "}":
                self.cursor.error("an external type may not have any constructors")
            self.cursor.i += 1
            more = not self.cursor.accept("}")
            while more:
                constructors.append((yield self._constructor(header)))
                more = self.cursor.separator("}")
        self.types.close_types(mark)
        self.definitions[name] = TypeData(header, params, constructors, extern)

    def _constructor(self, header: GlobalTypeVar) -> Parse:
        first = self.cursor.i
        name = self.cursor.name("the name of a constructor")
        if name in self.scopes.constructors:
            owner = self.scopes.constructors[name].belong_to.name_hint
            self.cursor.error(
                f"a constructor with the name `{name}` was previously defined",
                self.cursor.token_span(first),
                notes=((f"by the type `{owner}`", self.scopes.constructors[name].span),),
            )
        inputs = (yield self.types.sequence(")")) if self.cursor.accept("(") else []
        result = Constructor(name, inputs, header, span=self.cursor.span_from(first))
        self.scopes.constructors[name] = result
        return result

    def _check_types(self) -> None:
        """Reject undefined types; a definition may follow its uses, so this comes last."""
        for name, index in self.types.undefined_types.items():
            if name not in self.types.known_types:
                names = [*self.types.known_types, *DTYPES, "Tensor"]
                self.cursor.unknown(
                    f"the type `{name}` is undefined",
                    name,
                    names,
                    self.cursor.token_span(index),
                    hint=f"define it: `type {name} {{ ... }}`",
                )


def _no_definition(word: str, after_definition: bool) -> str:
    """Return a hint for a text, or a part after definitions, that begins with something else."""
    if after_definition:
        return "a module is made of `def` and `type`"
    if word.endswith((".relay", ".rly")):
        return f'this is the text to read, not a file: `passlab.parse(open("{word}").read())`'
    return "a program is `def @main(...) { ... }`; an expression by itself is read by `parse_expr`"
