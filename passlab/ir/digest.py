"""Structural hashing: numbers that agree with structural equality and are the same in every process.

`structural_hash` is precise: it numbers the nodes and variables of a whole program in evaluation order, so it
distinguishes `x - y` from `y - x` and a shared node from two equal ones. `node_digest` is the number of a single node,
stored on the node: all digests of a program together cost one walk, and a digest does not depend on the position of the
node. It treats all variables with one annotation as equal, so nodes with one digest may still differ.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from passlab.arguments import checked
from passlab.errors import Diagnostic, NodeTypeError
from passlab.ir.adt import (
    Clause,
    Constructor,
    Pattern,
    PatternConstructor,
    PatternTuple,
    TypeData,
    pattern_nodes,
    pattern_vars,
)
from passlab.ir.attrs import Attrs
from passlab.ir.canonical_forms import attrs_token, bytes_token, text_token, type_form, value_token
from passlab.ir.expr import Call, Constant, Expr, Function, Match, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import TupleType, Type
from passlab.ir.variables import free_vars
from passlab.ir.walk import CHILDREN, post_order

_set = object.__setattr__
TypeToken = Callable[[Type | None], int]
_KIND = {kind: text_token(kind.__name__) for kind in CHILDREN}


def array_token(data: np.ndarray[Any, Any]) -> int:
    """Return a number for the shape, dtype and bits of an array."""
    if data.dtype.hasobject:
        raise NodeTypeError(Diagnostic("an array of numbers is needed, not one of Python objects"))
    contiguous = np.ascontiguousarray(data)
    return hash((text_token(f"{data.dtype.name}{data.shape}"), bytes_token(contiguous.reshape(-1).view(np.uint8))))


def _type_token(ty: Type | None) -> int:
    return 0 if ty is None else type_form(ty).token


def _object_token(value: Any) -> int:
    """Return the token of an attribute value that is an expression, a type or an array."""
    if isinstance(value, Expr):
        return node_digest(value)
    if isinstance(value, Type):
        return _type_token(value)
    if isinstance(value, np.ndarray):
        return array_token(value)
    return text_token(type(value).__name__)


def _constructor_token(node: Constructor) -> int:
    return hash((_KIND[Constructor], text_token(node.name_hint), type_form(TupleType(node.inputs)).token))


def _leaf(node: Any) -> int:
    """Return the digest of a node without children that is not a variable."""
    kind = type(node)
    if kind is Constant:
        return hash((_KIND[kind], array_token(node.data)))
    if kind is Constructor:
        return _constructor_token(node)
    name = node.name if kind is Op else node.name_hint
    return hash((_KIND[kind], text_token(name)))


def _payload(node: Any, type_token: TypeToken, exact: bool = True) -> tuple[int, ...]:
    """Return the numbers that describe a node without its children."""
    kind = type(node)
    if kind is Call:
        types = () if type(node.op) is Op else map(type_token, node.type_args)
        return (_KIND[kind], attrs_token(node.attrs, _object_token, exact), len(node.args), *types)
    if kind is TupleGetItem:
        return (_KIND[kind], text_token(str(node.index)))
    if kind is Function:
        return (
            _KIND[kind],
            len(node.params),
            attrs_token(node.attrs, _object_token, exact),
            type_token(node.ret_type),
            *map(type_token, node.type_params),
        )
    if kind is Match:
        return (_KIND[kind], int(node.complete), *(pattern_token(c.lhs) for c in node.clauses))
    return (_KIND[kind],)


def pattern_token(root: Pattern) -> int:
    """Return a number for the form of a match pattern, without its variables."""
    parts: list[int] = []
    for p in pattern_nodes(root):
        parts.append(text_token(type(p).__name__))
        if isinstance(p, (PatternConstructor, PatternTuple)):
            parts.append(len(p.patterns))
        if isinstance(p, PatternConstructor):
            parts.append(_constructor_token(p.constructor))
    return hash(tuple(parts))


# ---------------------------------------------------------------- digests of single nodes
def node_digest(root: Expr) -> int:
    """Return the digest of a node, stored on it and on all nodes below. Linear the first time, then free."""
    try:
        return root._digest
    except AttributeError:
        pass
    for node in post_order(root, enter=lambda n: not hasattr(n, "_digest")):
        if hasattr(node, "_digest"):
            continue
        kids = CHILDREN[type(node)](node)
        if type(node) is Var:
            digest = hash((_KIND[Var], _type_token(node.type_annotation)))
        elif kids or type(node) is Tuple or type(node) is Function:
            digest = hash((*_payload(node, _type_token), *[kid._digest for kid in kids]))
        else:
            digest = _leaf(node)
        _set(node, "_digest", digest)
    return root._digest


# ---------------------------------------------------------------- hashes of whole programs
_Mode = tuple[bool, bool]  # map_free_vars, exact
_hashes: WeakKeyDictionary[Any, dict[_Mode, int]] = WeakKeyDictionary()
_free_numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
_count = itertools.count()


def _free_number(var: Any) -> int:
    """Return the number of a free variable, type variable or symbolic dimension in this process."""
    return _free_numbers.setdefault(var, next(_count))


class _Numbering:
    """The walk behind `structural_hash`: it numbers nodes, and variables by their first occurrence.

    The variables in `free` are compared by identity: the record of each is a unique number in this process.
    """

    def __init__(self, free: Iterable[Var], exact: bool) -> None:
        self.free = frozenset(free)
        self.exact = exact
        self.numbers: dict[Any, int] = {}
        self.merged: dict[tuple[int, ...], int] = {}  # of constants, projections, ...: equal ones share a number
        self.records: list[int] = []

    def variable(self, item: Any) -> int:
        """Return the number of a type variable or symbolic dimension."""
        if item not in self.numbers:
            self.numbers[item] = len(self.records)
            self.records.append(0)
        return self.numbers[item]

    def type_token(self, ty: Type | None) -> int:
        """Return the token of a type with its free variables numbered."""
        if ty is None:
            return 0
        form = type_form(ty)
        return hash((form.token, *map(self.variable, form.free))) if form.free else form.token

    def walk(self, root: Expr) -> None:
        """Number every node under `root`, in evaluation order."""
        numbers, merged, records = self.numbers, self.merged, self.records
        for node in post_order(root):
            if node in numbers:
                continue
            kind = type(node)
            kids = [numbers[kid] for kid in CHILDREN[kind](node)]
            if kind is Var:
                identity = (_free_number(node),) if node in self.free else ()
                record = hash((_KIND[Var], self.type_token(node.type_annotation), *identity))  # type: ignore[attr-defined]
            elif kids and kind is not TupleGetItem:
                record = hash((*_payload(node, self.type_token, self.exact), *kids))
            else:
                key = (*_payload(node, self.type_token), *kids) if kids else (node_digest(node),)
                cached = merged.get(key)
                if cached is not None:
                    numbers[node] = cached
                    continue
                merged[key] = len(records)
                record = hash(key)
            numbers[node] = len(records)
            records.append(record)
        records.append(numbers[root])


@checked
def structural_hash(node: Any, map_free_vars: bool = False, *, exact: bool = False) -> int:
    """Return a hash of a module, expression, type, attribute record or pattern: equal structures have equal hashes.

    Cached for earlier arguments. A node without free variables has the same hash in every process. A free variable is
    hashed by identity, or by its order of occurrence with `map_free_vars`. Finite floats in attributes are ignored,
    since close ones are equal, except with `exact`.

    >>> f, g = passlab.parse_expr("fn (%x: float32) { exp(%x) }"), passlab.parse_expr("fn (%y: float32) { exp(%y) }")
    >>> passlab.structural_hash(f) == passlab.structural_hash(g)
    True
    """
    mode = (bool(map_free_vars), bool(exact))
    if isinstance(node, IRModule):
        parts = [hash((text_token(name), _one_hash(f, mode))) for name, f in node.items()]
        types = [_one_hash(data, mode) for data in node.type_definitions.values()]
        return hash((len(parts), *sorted(parts), *sorted(types), attrs_token(node.attrs, _object_token, exact)))
    if isinstance(node, (list, tuple)):
        return value_token(tuple(node), lambda part: _one_hash(part, mode), exact)
    return _one_hash(node, mode)


def _one_hash(node: Any, mode: _Mode) -> int:
    """Return the hash of anything except a module."""
    if isinstance(node, (Expr, Clause, Pattern)):
        hashes = _hashes.setdefault(node, {})
        if mode not in hashes:
            hashes[mode] = _program_hash(node, *mode)
        return hashes[mode]
    if isinstance(node, TypeData):
        return hash((text_token(node.header.name_hint), *map(_constructor_token, node.constructors)))
    if isinstance(node, Type):
        form = type_form(node)
        return hash((form.token, *map(_free_number, form.free))) if form.free and not mode[0] else form.token
    if isinstance(node, Attrs):
        return attrs_token(node, _object_token, mode[1])
    return value_token(node, _object_token, mode[1])


def _program_hash(node: Expr | Clause | Pattern, map_free_vars: bool, exact: bool) -> int:
    root = node if isinstance(node, Expr) else node.rhs if isinstance(node, Clause) else None
    free = [] if map_free_vars or root is None else free_vars(root)
    if isinstance(node, Clause):
        bound = set(pattern_vars(node.lhs))
        free = [var for var in free if var not in bound]
    numbering = _Numbering(free, exact)
    if isinstance(node, Expr):
        numbering.walk(node)
    else:
        pattern = node.lhs if isinstance(node, Clause) else node
        numbering.records.append(pattern_token(pattern))
        for var in pattern_vars(pattern):
            numbering.walk(var)
        if isinstance(node, Clause):
            numbering.walk(node.rhs)
    return hash(tuple(numbering.records))
