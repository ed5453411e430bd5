"""The nodes of programs in TVM's object-graph JSON: the references of each kind, and its constructor.

One table for both directions. Fields have TVM's names: those that are nodes, then those that are numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from passlab.errors import type_in_words
from passlab.ir.adt import Clause, Constructor, PatternConstructor, PatternTuple, PatternVar, PatternWildcard, TypeData
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Call, Function, GlobalVar, If, Let, Match, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem
from passlab.ir.module import IRModule
from passlab.ir.node_errors import check_all
from passlab.ir.op import Op
from passlab.ir.types import FuncType, GlobalTypeVar, IncompleteType, RefType, TupleType, Type, TypeCall, TypeVar
from passlab.ir.variables import check_closed


class NodeKind(NamedTuple):
    """One kind of node: its class, its fields, and its constructor."""

    cls: type
    nodes: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    make: Callable[..., Any] | None = None


def _module(functions: Any, type_definitions: Any, attrs: Any) -> IRModule:
    check_all((type_definitions or {}).values(), TypeData, "a type definition")
    mod = IRModule(None, type_definitions, attrs)
    check_all((functions or {}).values(), Function, "a function")
    check_all((functions or {}).keys(), GlobalVar, "a global variable")
    for name, function in (functions or {}).items():
        check_closed(name.name_hint, function)
    return mod.with_functions(functions or {}).snapshot()


def _call(op: Any, args: Any, attrs: Any, type_args: Any) -> Call:
    """Return a call whose attributes have the record class of its operator: several classes share one name."""
    declared = op.spec.attrs if isinstance(op, Op) else None
    if declared is not None and type(attrs) is not declared and isinstance(attrs, Attrs):
        attrs = declared(**dict(attrs.items()))
    return Call(op, args, attrs, check_all(type_args or (), Type, "a type"))


def _function(params: Any, body: Any, ret_type: Any, type_params: Any, attrs: Any) -> Function:
    """Return a function; null lists are empty."""
    return Function(params or (), body, ret_type, type_params or (), attrs)


def _match(data: Any, clauses: Any, complete: int) -> Match:
    return Match(data, check_all(clauses or (), Clause, "a clause"), bool(complete))


KINDS: dict[str, NodeKind] = {
    "relay.Call": NodeKind(Call, ("op", "args", "attrs", "type_args"), (), _call),
    "relay.Function": NodeKind(Function, ("params", "body", "ret_type", "type_params", "attrs"), (), _function),
    "relay.Let": NodeKind(Let, ("var", "value", "body")),
    "relay.If": NodeKind(If, ("cond", "true_branch", "false_branch")),
    "relay.Tuple": NodeKind(Tuple, ("fields",)),
    "relay.TupleGetItem": NodeKind(TupleGetItem, ("tuple_value",), ("index",)),
    "relay.RefCreate": NodeKind(RefCreate, ("value",)),
    "relay.RefRead": NodeKind(RefRead, ("ref",)),
    "relay.RefWrite": NodeKind(RefWrite, ("ref", "value")),
    "relay.Match": NodeKind(Match, ("data", "clauses"), ("complete",), _match),
    "relay.Clause": NodeKind(Clause, ("lhs", "rhs")),
    "relay.PatternWildcard": NodeKind(PatternWildcard, ()),
    "relay.PatternVar": NodeKind(PatternVar, ("var",)),
    "relay.PatternConstructor": NodeKind(PatternConstructor, ("constructor", "patterns")),
    "relay.PatternTuple": NodeKind(PatternTuple, ("patterns",)),
    "relay.Constructor": NodeKind(Constructor, ("name_hint", "inputs", "belong_to"), ("tag",)),
    "GlobalVar": NodeKind(GlobalVar, ("name_hint",)),
    "relay.TypeData": NodeKind(TypeData, ("header", "type_vars", "constructors")),
    "IRModule": NodeKind(IRModule, ("functions", "type_definitions", "attrs"), (), _module),
}


def _function_type(arg_types: Any, ret_type: Any, type_params: Any) -> FuncType:
    return FuncType(arg_types, ret_type, type_params or ())


TYPES: dict[str, NodeKind] = {
    "TupleType": NodeKind(TupleType, ("fields",)),
    "FuncType": NodeKind(FuncType, ("arg_types", "ret_type", "type_params"), (), _function_type),
    "relay.RefType": NodeKind(RefType, ("value",)),
    "TypeCall": NodeKind(TypeCall, ("func", "args")),
    "TypeVar": NodeKind(TypeVar, ("name_hint",), ("kind",)),
    "GlobalTypeVar": NodeKind(GlobalTypeVar, ("name_hint",), ("kind",)),
    "IncompleteType": NodeKind(IncompleteType, (), ("kind",)),
}

_LISTS = (tuple, type(None))
_EXPECTED: dict[str, Any] = {
    "name_hint": str,
    "attrs": (Attrs, type(None)),
    **dict.fromkeys(("args", "params", "fields", "clauses", "patterns", "inputs", "type_vars", "constructors"), _LISTS),
    **dict.fromkeys(("type_args", "type_params"), _LISTS),
    **dict.fromkeys(("functions", "type_definitions"), (dict, type(None))),
}  # the types of fields; the classes of nodes check the rest


def built(kind: NodeKind, attrs: dict[str, Any], get: Callable[[int], Any]) -> Any:
    """Return the object of a node. Missing fields, as in files of other releases, are null or 0."""
    values = {name: get(int(attrs.get(name, 0))) for name in kind.nodes}
    values |= {name: int(attrs.get(name, 0)) for name in kind.numbers}
    for name, part in values.items():
        expected = _EXPECTED.get(name)
        if expected is not None and not isinstance(part, expected):
            raise ValueError(f"`{name}` of a {kind.cls.__name__} cannot be {type_in_words(part)}")
    return (kind.make or kind.cls)(**values)
