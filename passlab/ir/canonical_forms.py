"""Canonical forms of types and attribute values, the basis of structural equality and hashing.

A type without variables is its own form, since equal types are one object. The form of a type with variables numbers
them by first occurrence, so that `fn[A](A) -> A` and `fn[B](B) -> B` have one form. Tokens are 64-bit integers that are
the same in every process. Nothing here knows expressions, except through `token_of`, which the caller passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from hashlib import blake2b
from typing import Any as PyAny
from typing import NamedTuple
from weakref import WeakValueDictionary

from passlab.ir.attrs import Attrs, value_kind
from passlab.ir.types import (
    ANY,
    FuncType,
    IncompleteType,
    SizeExpr,
    SizeVar,
    TensorType,
    Type,
    TypeRelation,
    TypeVar,
    type_children,
    type_nodes,
)  # fmt: skip

_set = object.__setattr__
_texts: dict[str, int] = {}


def text_token(text: str) -> int:
    """Return a 64-bit number for a text, the same in every process."""
    token = _texts.get(text)
    if token is None:
        token = int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
        if len(_texts) > 100_000:
            _texts.clear()
        _texts[text] = token
    return token


def bytes_token(data: PyAny) -> int:
    """Return a 64-bit number for the bytes of a C-contiguous buffer."""
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


class TypeForm(NamedTuple):
    """`skeleton` is equal for types equal up to their variables, `free` the variables to pair, in order.

    `token` is a number that types with equal skeletons share.
    """

    token: int
    skeleton: PyAny
    free: tuple[PyAny, ...]


def type_form(ty: Type) -> TypeForm:
    """Return the form of a type, which is stored on the type. Linear in the distinct parts of the type."""
    try:
        form: TypeForm = ty._form
        return form
    except AttributeError:
        pass
    nodes = type_nodes(ty)
    for node in nodes:
        if not hasattr(node, "_token"):
            _set(node, "_token", _token(node))
    open_ids: set[int] = set()  # ids of the types that contain variables
    for node in nodes:
        if _own_variables(node) or any(id(kid) in open_ids for kid in type_children(node)):
            open_ids.add(id(node))
    if id(ty) not in open_ids:
        form = TypeForm(ty._token, ty, ())
    else:
        closed: dict[int, _Closed] = {}
        for node in nodes:  # inner types come first
            if type(node) is FuncType and node.type_params and node is not ty:
                _close(node, open_ids, closed)
        form = _variable_form(ty, _open_nodes(ty, closed), open_ids, closed)
    _set(ty, "_form", form)
    return form


def same_type_form(a: Type, b: Type) -> bool:
    """Whether two types differ only in the names of type parameters. Free variables must be the same objects."""
    one, two = type_form(a), type_form(b)
    if len(one.free) != len(two.free) or any(x is not y for x, y in zip(one.free, two.free, strict=True)):
        return False
    return one.skeleton is two.skeleton or bool(one.skeleton == two.skeleton)


class _Closed:
    """The representative of closed generic function types that differ only in names of type parameters."""

    __slots__ = ("__weakref__",)


_closed_types: WeakValueDictionary[PyAny, _Closed] = WeakValueDictionary()  # by skeleton


def _close(ty: FuncType, open_ids: set[int], closed: dict[int, _Closed]) -> None:
    """Record the representative of a generic function type, unless it has free variables.

    Such a type means the same everywhere, so two positions with one object equal two positions with two objects.
    """
    nodes = _open_nodes(ty, closed, _LARGEST)
    form = _variable_form(ty, nodes, open_ids, closed) if nodes else None
    if form is not None and not form.free:
        closed[id(ty)] = _closed_types.setdefault(form.skeleton, _Closed())


_LARGEST = 1000  # parts of a generic function type that are searched for free variables: this keeps hashing linear


def _open_nodes(ty: Type, closed: dict[int, _Closed], limit: float = math.inf) -> list[Type]:
    """Return the parts of a type, inner ones first, without entering closed ones; [] if there are more than `limit`."""
    order: list[Type] = []
    seen: set[int] = set()
    stack: list[tuple[Type, bool]] = [(ty, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            if len(seen) > limit:
                return []
            stack.append((node, True))
            if id(node) not in closed:
                stack += [(kid, False) for kid in reversed(type_children(node))]
    return order


def _own_variables(ty: Type) -> bool:
    if type(ty) is TensorType:
        return ty.dynamic and any(isinstance(dim, SizeVar) for dim in ty.shape)
    return type(ty) in (TypeVar, IncompleteType)


def _dim_text(dim: PyAny) -> str:
    return "?" if dim is ANY else "v" if isinstance(dim, SizeVar) else str(dim)


def _dim_form(dim: SizeVar, numbers: dict[PyAny, int]) -> PyAny:
    """Return a symbolic dimension in terms of the numbers of its variables, in the order in which they occur.

    A quotient counts as a variable of its own.
    """
    if type(dim) is not SizeExpr:
        return ("v", numbers.setdefault(dim, len(numbers)))
    terms = [(sorted(numbers.setdefault(a, len(numbers)) for a in atoms), factor) for atoms, factor in dim.terms]
    return ("+", *((tuple(atoms), factor) for atoms, factor in sorted(terms)))


def _token(ty: Type) -> int:
    """Return the token of a type whose children have tokens; variables of one kind share one token."""
    kind = type(ty)
    if type(ty) is TensorType:
        return text_token(f"{ty.dtype}[{','.join(map(_dim_text, ty.shape))}]")
    name = getattr(ty, "name_hint", "") if type(ty) is not TypeVar else ""
    if type(ty) is TypeRelation:
        name = f"{ty.name} {ty.num_inputs}"
    head = text_token(f"{kind.__name__} {name} {int(getattr(ty, 'kind', 0))} {len(getattr(ty, 'type_params', ()))}")
    return hash((head, *(kid._token for kid in type_children(ty))))


def _variable_form(ty: Type, nodes: list[Type], open_ids: set[int], closed: dict[int, _Closed]) -> TypeForm:
    numbers: dict[PyAny, int] = {}
    parts: dict[int, PyAny] = {}  # the record of each type, by id
    bound: set[Type] = set()
    records: list[PyAny] = []
    for node in nodes:
        if id(node) not in open_ids:
            parts[id(node)] = node
            continue
        if id(node) in closed:
            parts[id(node)] = closed[id(node)]
            continue
        kind = type(node)
        if kind in (TypeVar, IncompleteType):
            record: PyAny = (kind, node.kind, numbers.setdefault(node, len(numbers)))  # type: ignore[attr-defined]
        elif type(node) is TensorType:
            record = (kind, node.dtype, *(
                _dim_form(d, numbers) if isinstance(d, SizeVar) else d for d in node.shape
            ))  # fmt: skip
        else:
            own: tuple[PyAny, ...] = ()
            if type(node) is FuncType:
                bound.update(node.type_params)
                own = (len(node.type_params), len(node.arg_types))
            elif type(node) is TypeRelation:
                own = (node.name, node.num_inputs, node.attrs)
            record = (kind, own, *(parts[id(kid)] for kid in type_children(node)))
        parts[id(node)] = len(records)
        records.append(record)
    free = tuple(v for v in numbers if v not in bound)
    return TypeForm(ty._token, tuple(records), free)


# ---------------------------------------------------------------- attribute values
# recurses: at most attrs.VALUE_DEPTH levels
def value_token(value: PyAny, token_of: Callable[[PyAny], int], exact: bool = True) -> int:
    """Return a token of an attribute value that agrees with `attrs.same_values`.

    `token_of` returns the token of an expression. Without `exact` all finite floats have one token, since close ones
    are equal. Attribute values nest only a few levels, so this may recurse.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return text_token(f"{value_kind(value).__name__} {value!r}")
    if isinstance(value, float):
        return text_token(f"float {'nan' if math.isnan(value) else value.hex()}") if exact else _close_token(value)
    if isinstance(value, tuple):
        return hash((1, *(value_token(v, token_of, exact) for v in value)))
    if isinstance(value, dict):
        keys = [text_token(k) if isinstance(k, str) else 3 for k in value]  # variables as keys are not distinguished
        values = [value_token(v, token_of, exact) for v in value.values()]
        return hash((2, *sorted(map(hash, zip(keys, values, strict=True)))))
    return token_of(value)


def _close_token(value: float) -> int:
    """Return one token for all finite floats: equality within a tolerance is not transitive, so none are told apart."""
    return text_token("float" if math.isfinite(value) else f"float {'nan' if math.isnan(value) else value}")


def attrs_token(attrs: Attrs | None, token_of: Callable[[PyAny], int], exact: bool = True) -> int:
    """Return the token of a record of attributes, stored on the record if `exact`; 0 for none.

    Without `exact`, records that are equal up to small differences of floats have one token.
    """
    if attrs is None:
        return 0
    if not exact:
        return _attrs_token(attrs, token_of, exact)
    try:
        token: int = attrs._token
        return token
    except AttributeError:
        pass
    token = _attrs_token(attrs, token_of, exact)
    _set(attrs, "_token", token)
    return token


def _attrs_token(attrs: Attrs, token_of: Callable[[PyAny], int], exact: bool) -> int:
    parts = [hash((text_token(k), value_token(v, token_of, exact))) for k, v in attrs.items()]
    return hash((text_token(attrs.type_key), *sorted(parts)))
