"""Parsing of types: tensors, scalars, tuples, (generic) functions, references, data types, type parameters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from passlab.errors import DiagnosticError
from passlab.ir.dtypes import DTYPES, dtype_name
from passlab.ir.types import (
    ANY,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    SizeVar,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from passlab.text.cursor import Cursor, Parse
from passlab.text.literals import LiteralError, name_text, read_number
from passlab.text.scopes import NameScopes

_DTYPE_LIKE = re.compile(r"(?:u?int|float|bool|bfloat|handle)\w*\Z")
_FLAT_TENSOR = re.compile(r"Tensor\[\(([^)]*)\), ?(\w+)\]")


class TypeParser:
    """Parses types. `type_vars` are the parameters in scope; `undefined_types` the first use of each undefined name."""

    def __init__(self, cursor: Cursor, scopes: NameScopes) -> None:
        self.cursor = cursor
        self.texts = cursor.texts
        self.scopes = scopes
        self.type_vars: dict[str, TypeVar] = {}
        self._type_undo: list[tuple[str, TypeVar | None]] = []
        self.known_types: set[str] = set()
        self.undefined_types: dict[str, int] = {}
        self._flat: dict[str, Type] = {}

    def flat_type(self) -> Type | None:
        """Parse a tensor or scalar type that is one token; return None, and consume nothing, for any other type."""
        word = self.texts[self.cursor.i]
        cached = self._flat.get(word)
        if cached is not None and not (self.type_vars and word in self.type_vars):
            self.cursor.i += 1
            return cached
        if word in self.type_vars:
            self.cursor.i += 1
            return self.type_vars[word]
        match = _FLAT_TENSOR.match(word)
        if match:
            ty = self._tensor(match[1].split(","), match[2])
        elif word[:1].isalpha() and _DTYPE_LIKE.match(word) and is_dtype(word):
            ty = self._tensor([], word)
        else:
            return None
        self._flat[word] = ty
        self.cursor.i += 1
        return ty

    def _tensor(self, dims: list[str], dtype: str) -> Type:
        parts = [d.strip() for d in dims]
        if parts and not parts[-1]:
            parts.pop()
        shape = []
        for part in parts:
            if part != "?" and not part.isdigit():
                self.cursor.error(f"`{part}` is not a dimension", hint="a dimension is an integer or `?`")
            shape.append(ANY if part == "?" else self._dim_number(part))
        return self._tensor_type(shape, dtype)

    def _tensor_type(self, shape: Sequence[object], dtype: str) -> Type:
        try:
            return TensorType(shape, dtype)
        except DiagnosticError as error:
            self.cursor.error(
                error.diagnostics[0].message, hint=error.diagnostics[0].hint or f"the dtypes are {', '.join(DTYPES)}"
            )

    def _dim_number(self, text: str) -> int:
        try:
            value, _ = read_number(text)
        except LiteralError as error:
            self.cursor.error(str(error), hint=error.hint)
        if isinstance(value, float):
            self.cursor.error(f"`{text}` is not a dimension", hint="a dimension is an integer or `?`")
        return value

    # ------------------------------------------------------------ general
    def type_(self) -> Parse:
        """Parse any type."""
        flat = self.flat_type()
        if flat is not None:
            return flat
        word = self.texts[self.cursor.i]
        if word == "(":
            self.cursor.i += 1
            return TupleType((yield self.sequence(")")))
        if word == "fn":
            return (yield self._function_type())
        if word == "_":
            self.cursor.i += 1
            return IncompleteType()
        if word == "ref" and self.texts[self.cursor.i + 1] == "(":
            self.cursor.i += 2
            value = self.flat_type() or (yield self.type_())
            self.cursor.expect(")")
            return RefType(value)
        if word.startswith("meta["):
            return self._meta_type()
        if word == "Tensor" and self.texts[self.cursor.i + 1] == "[":
            return self._general_tensor()
        if not self.cursor.is_name(self.cursor.i):
            self.cursor.fail_expecting("a type")
        return (yield self._name())

    def sequence(self, close: str) -> Parse:
        """Parse types separated by commas up to and including `close`."""
        types: list[Type] = []
        if self.cursor.accept(close):
            return types
        more = True
        while more:
            types.append(self.flat_type() or (yield self.type_()))
            more = self.cursor.separator(close)
        return types

    def _function_type(self) -> Parse:
        self.cursor.i += 1
        mark, params = self.open_type_params()
        self.cursor.expect("(")
        args = yield self.sequence(")")
        self.cursor.expect("->")
        result = self.flat_type() or (yield self.type_())
        self.close_types(mark)
        return FuncType(args, result, params)

    def open_type_params(self) -> tuple[int, list[TypeVar]]:
        """Parse an optional `[A, B]`, and bring it in scope. Returns a mark for `close_types`, and the parameters."""
        mark = len(self._type_undo)
        params: list[TypeVar] = []
        more = self.cursor.accept("[") and not self.cursor.accept("]")
        while more:
            name = self.cursor.name("a type parameter")
            key, var = name_text(name), TypeVar(name)
            params.append(var)
            self._type_undo.append((key, self.type_vars.get(key)))
            self.type_vars[key] = var
            more = self.cursor.separator("]")
        return mark, params

    def close_types(self, mark: int) -> None:
        """Take the type parameters declared since `mark` out of scope."""
        while len(self._type_undo) > mark:
            key, old = self._type_undo.pop()
            if old is None:
                del self.type_vars[key]
            else:
                self.type_vars[key] = old

    def _name(self) -> Parse:
        first = self.cursor.i
        name = self.cursor.name("a type")
        if self.type_vars and name_text(name) in self.type_vars:
            return self.type_vars[name_text(name)]
        if name not in self.known_types:
            self.undefined_types.setdefault(name, first)
        args = (yield self.sequence("]")) if self.cursor.accept("[") else []
        return TypeCall(GlobalTypeVar(name), args)

    def _meta_type(self) -> Type:
        ty = self.scopes.meta(self.cursor.i)
        if not isinstance(ty, Type):
            self.cursor.error(f"`{self.texts[self.cursor.i]}` is not a type", found=type(ty).__name__)
        self.cursor.i += 1
        return ty

    def _general_tensor(self) -> Type:
        """Parse a tensor type of several tokens: with unusual white space, comments, or symbolic dimensions."""
        self.cursor.i += 2
        self.cursor.expect("(")
        shape: list[object] = []
        more = not self.cursor.accept(")")
        while more:
            shape.append(self._dim())
            more = self.cursor.separator(")")
        self.cursor.expect(",")
        dtype = self.texts[self.cursor.i]
        if not dtype[:1].isalpha():
            self.cursor.fail_expecting("a dtype")
        result = self._tensor_type(shape, dtype)
        self.cursor.i += 1
        self.cursor.expect("]")
        return result

    def _dim(self) -> object:
        word = self.texts[self.cursor.i]
        if word == "?":
            dim: object = ANY
        elif word.startswith("meta["):
            dim = self.scopes.meta(self.cursor.i)
            if not isinstance(dim, SizeVar) and dim is not ANY:
                self.cursor.error(f"`{word}` is not a dimension", found=type(dim).__name__)
        elif word.lstrip("-")[:1].isdigit():
            dim = self._dim_number(word)
        else:
            self.cursor.fail_expecting("a dimension")
        self.cursor.i += 1
        return dim


@lru_cache(maxsize=4096)
def is_dtype(name: str) -> bool:
    """Whether `name` is a dtype, and so the name of a scalar type."""
    try:
        return bool(dtype_name(name))
    except DiagnosticError:
        return False
