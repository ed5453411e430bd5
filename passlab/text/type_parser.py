"""Types as text to types: tensors, scalars, tuples, (generic) functions, references, data types, type parameters."""

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
from passlab.text.lexer import Tokens
from passlab.text.literals import LiteralError, name_text, read_number

_DTYPE_LIKE = re.compile(r"(?:u?int|float|bool|bfloat|handle)\w*\Z")
_FLAT_TENSOR = re.compile(r"Tensor\[\(([^)]*)\), ?(\w+)\]")


class TypeParser(Cursor):
    """Parses types. `type_vars` are the parameters in scope; `loose_types` where each undefined name first stands."""

    def __init__(self, tokens: Tokens) -> None:
        super().__init__(tokens)
        self.type_vars: dict[str, TypeVar] = {}
        self._type_undo: list[tuple[str, TypeVar | None]] = []
        self.known_types: set[str] = set()
        self.loose_types: dict[str, int] = {}
        self._flat: dict[str, Type] = {}

    def meta(self, index: int) -> object:
        """The object a `meta[...][...]` token stands for."""
        raise NotImplementedError

    def flat_type(self) -> Type | None:
        """Parse a tensor or scalar type that is one token; None, with nothing read, when it is something else."""
        word = self.texts[self.i]
        known = self._flat.get(word)
        if known is not None and not (self.type_vars and word in self.type_vars):
            self.i += 1
            return known
        if word in self.type_vars:
            self.i += 1
            return self.type_vars[word]
        match = _FLAT_TENSOR.match(word)
        if match:
            found = self._tensor(match[1].split(","), match[2])
        elif word[:1].isalpha() and _DTYPE_LIKE.match(word) and is_dtype(word):
            found = self._tensor([], word)
        else:
            return None
        self._flat[word] = found
        self.i += 1
        return found

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

    # ------------------------------------------------------------ general
    def type_(self) -> Parse:
        """Parse any type."""
        flat = self.flat_type()
        if flat is not None:
            return flat
        word = self.texts[self.i]
        if word == "(":
            self.i += 1
            return TupleType((yield self.types(")")))
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
            return self._meta_type()
        if word == "Tensor" and self.texts[self.i + 1] == "[":
            return self._general_tensor()
        if not self.is_name(self.i):
            self.unexpected("a type")
        return (yield self._named())

    def types(self, close: str) -> Parse:
        """Parse types separated by commas up to `close`, which is read too."""
        found: list[Type] = []
        if self.accept(close):
            return found
        more = True
        while more:
            found.append(self.flat_type() or (yield self.type_()))
            more = self.separator(close)
        return found

    def _function_type(self) -> Parse:
        self.i += 1
        mark, params = self.open_type_params()
        self.expect("(")
        args = yield self.types(")")
        self.expect("->")
        result = self.flat_type() or (yield self.type_())
        self.close_types(mark)
        return FuncType(args, result, params)

    def open_type_params(self) -> tuple[int, list[TypeVar]]:
        """Parse `[A, B]` if it stands here, and bring it in scope. Returns a mark for `close_types`, and them."""
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
        """Take the type parameters brought in since `mark` out of scope."""
        while len(self._type_undo) > mark:
            key, old = self._type_undo.pop()
            if old is None:
                del self.type_vars[key]
            else:
                self.type_vars[key] = old

    def _named(self) -> Parse:
        first = self.i
        name = self.name("a type")
        if self.type_vars and name_text(name) in self.type_vars:
            return self.type_vars[name_text(name)]
        if name not in self.known_types:
            self.loose_types.setdefault(name, first)
        args = (yield self.types("]")) if self.accept("[") else []
        return TypeCall(GlobalTypeVar(name), args)

    def _meta_type(self) -> Type:
        found = self.meta(self.i)
        if not isinstance(found, Type):
            self.error(f"`{self.texts[self.i]}` is not a type", found=type(found).__name__)
        self.i += 1
        return found

    def _general_tensor(self) -> Type:
        """Parse a tensor type that is spread over tokens: odd blanks, comments, symbolic dimensions."""
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
            self.unexpected("a dtype")
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
            self.unexpected("a dimension")
        self.i += 1
        return dim


@lru_cache(maxsize=4096)
def is_dtype(name: str) -> bool:
    """Whether `name` is a dtype that stands for a scalar type."""
    try:
        return bool(dtype_name(name))
    except DiagnosticError:
        return False
