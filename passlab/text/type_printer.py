"""Types as Relay text, with names that parse back to the same types.

Type parameters print their own name; one that would be confused with an enclosing one of the same name, with a dtype or
with a defined type gets a number. Unknown types and symbolic dimensions print as references to the metadata section,
and so do types whose text would be long: a type is a graph, and its text repeats shared parts, possibly 2^60 times.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from passlab import limits
from passlab.ir.type_text import brief_type_text, commas
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
    TypeRelation,
    TypeVar,
    holds,
)
from passlab.text.flat_parser import is_dtype
from passlab.text.literals import name_text
from passlab.text.meta_writer import MetaWriter

LONGEST = 10_000  # parts of a printed type; a longer one is in the metadata, where parts are shared
LONGEST_COMMENT = 2_000  # parts of a type that a comment shows in full
SHOWN = 200  # parts of a longer type that a comment shows
_RESERVED = ("Tensor", "fn", "ref", "meta")


class TypePrinter:
    """Prints types for one text. `taken` are names that no type parameter may have, such as those of defined types."""

    def __init__(self, meta: MetaWriter, taken: Iterable[str] = ()) -> None:
        self._meta = meta
        self._taken = {*taken, *_RESERVED}
        self._names: dict[TypeVar, str] = {}
        self._active: dict[str, TypeVar] = {}
        self._numbers: dict[str, int] = {}  # by hint: the next number to try
        self._ground: dict[Type, str] = {}  # types without type parameters: their text never depends on the scope

    # ------------------------------------------------------------ type parameters
    def open(self, params: Iterable[TypeVar]) -> list[tuple[str, TypeVar | None]]:
        """Bring type parameters in scope. Returns the argument for `close`; `name` returns their names."""
        undo = []
        for var in params:
            name = self._names.get(var)
            if name is None or self._active.get(name, var) is not var:
                name = self._names[var] = self._fresh(var.name_hint)
            undo.append((name, self._active.get(name)))
            self._active[name] = var
        return undo

    def close(self, undo: list[tuple[str, TypeVar | None]]) -> None:
        """Close the scope that `open` opened."""
        for name, old in reversed(undo):
            if old is None:
                self._active.pop(name, None)
            else:
                self._active[name] = old

    def _fresh(self, hint: str) -> str:
        name, number = hint, self._numbers.get(hint, 1)
        while name in self._active or name in self._taken or is_dtype(name):
            name = f"{hint}{number}"
            number += 1
            self._numbers[hint] = number
        return name

    def name(self, var: TypeVar) -> str:
        """Return the text of a type parameter."""
        return name_text(self._names.get(var, var.name_hint))

    # ------------------------------------------------------------ types
    def text(self, root: Type) -> str:
        """Return a type as text."""
        cached = self._ground.get(root)
        if cached is not None:
            return cached
        if type(root) is TensorType:
            return self._tensor(root)
        if root.parts > LONGEST:
            if not holds(root, TypeVar):
                return self._meta.reference(self._meta.type_key(root), root)
            limits.check("type_parts", root.parts, "the text of a type")
        out: list[str] = []
        ground = True
        stack: list[Any] = [root]
        while stack:
            item = stack.pop()
            kind = type(item)
            if kind is str:
                out.append(item)
            elif kind is TensorType:
                out.append(self._ground.get(item) or self._tensor(item))
            elif kind is TypeVar:
                ground = False
                out.append(self.name(item))
            elif kind is list:
                self.close(item)
            elif kind is FuncType and item.type_params:
                ground = False
                undo = self.open(item.type_params)
                stack.append(undo)
                stack.extend(reversed(_function_parts(item, f"[{', '.join(map(self.name, item.type_params))}]")))
            else:
                stack.extend(reversed(self._parts(item)))
        text = "".join(out)
        if ground:
            self._ground[root] = text
        return text

    def comment(self, root: Type) -> str:
        """Return a type as text for comments; a long one is shortened."""
        return self.text(root) if root.parts <= LONGEST_COMMENT else brief_type_text(root, SHOWN)

    def _tensor(self, ty: TensorType) -> str:
        dims = (
            str(d) if type(d) is int else "?" if d is ANY else self._meta.reference("tir.SizeVar", d) for d in ty.shape
        )
        text = self._ground[ty] = f"Tensor[({', '.join(dims)}), {ty.dtype}]" if ty.shape else ty.dtype
        return text

    def _parts(self, ty: Type) -> list[Any]:
        """Split one type into text and child types."""
        if isinstance(ty, TupleType):
            return ["(", *commas(ty.fields), ",)" if len(ty.fields) == 1 else ")"]
        if isinstance(ty, FuncType):
            return _function_parts(ty, "")
        if isinstance(ty, TypeCall):
            return [ty.func, "[", *commas(ty.args), "]"]
        if isinstance(ty, RefType):
            return ["ref(", ty.value, ")"]
        if isinstance(ty, GlobalTypeVar):
            name = ty.name_hint
            return [f'"{name}"' if name in _RESERVED or is_dtype(name) else name_text(name)]
        if isinstance(ty, IncompleteType):
            return [self._meta.reference("IncompleteType", ty)]
        if isinstance(ty, TypeRelation):
            return [f"{ty.name}(", *commas(ty.args), ")"]
        return [f"meta[{type(ty).__name__}][0]"]


def _function_parts(ty: FuncType, generic: str) -> list[Any]:
    return [f"fn {generic}(", *commas(ty.arg_types), ") -> ", ty.ret_type]


__all__ = ["SizeVar", "TypePrinter"]
