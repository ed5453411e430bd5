"""Types as Relay text. This file does not use modules: the caller provides the names of leaves."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any as PyAny

from passlab.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
    TypeVar,
)


def type_text(root: Type, name: Callable[[Type], str | None] = lambda ty: None) -> str:
    """Return a type as Relay text. `name` may return the text of leaves without a text of their own."""
    out: list[str] = []
    stack: list[Type | str] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        leaf_text = name(item)
        if leaf_text is not None:
            out.append(leaf_text)
            continue
        if type(item) is TensorType:
            out.append(_tensor_text(item, name))
        elif isinstance(item, (TypeVar, GlobalTypeVar)):
            out.append(item.name_hint)
        elif type(item) is IncompleteType:
            out.append("_")
        else:
            stack.extend(reversed(_type_parts(item)))
    return "".join(out)


_ELLIPSES = re.compile(r"\.\.\.(?:, \.\.\.)+")


def brief_type_text(root: Type, parts: int) -> str:
    """Return a type as text, with `...` after `parts` parts: types share parts, so the full text may be exponential."""
    remaining = parts

    def name(part: object) -> str | None:
        nonlocal remaining
        remaining -= isinstance(part, Type)
        return None if remaining >= 0 or not isinstance(part, Type) else "..."

    return _ELLIPSES.sub("...", type_text(root, name))


def _tensor_text(ty: TensorType, name: Callable[[PyAny], str | None]) -> str:
    if not ty.shape:
        return ty.dtype
    return f"Tensor[({', '.join(str(d) if type(d) is int else name(d) or repr(d) for d in ty.shape)}), {ty.dtype}]"


def _type_parts(ty: Type) -> list[Type | str]:
    """Split one structured type into text and child types."""
    match ty:
        case TupleType(fields=fields):
            return ["(", *commas(fields), ",)" if len(fields) == 1 else ")"]
        case FuncType(type_params=params, arg_types=args, ret_type=result):
            generic = ["[", *commas(params), "]"] if params else []
            return ["fn ", *generic, "(", *commas(args), ") -> ", result]
        case RefType(value=value):
            return ["ref(", value, ")"]
        case TypeCall(func=func, args=args):
            return [func, "[", *commas(args), "]"] if args else [func]
        case TypeRelation(name=name, args=args):
            return [f"{name}(", *commas(args), ")"]
        case _:
            return [f"<{type(ty).__name__}>"]


def commas(types: Sequence[Type]) -> list[Type | str]:
    """Return types with a comma between any two."""
    out: list[Type | str] = []
    for ty in types:
        out += [", ", ty] if out else [ty]
    return out
