"""The objects of TVM's object-graph JSON: the references of each kind of node, and its counterpart here.

`KINDS` and `TYPES` have the nodes of programs and the types, for reading and writing; `_REFERENCES` and `BUILDERS` add
all other objects. Records whose type no operator declares are read by what their numbers can mean (`references`).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Set
from typing import Any, NamedTuple

from passlab.devices import DEVICE_KINDS, Device, Target, VirtualDevice
from passlab.errors import type_in_words
from passlab.ir.adt import Clause, Constructor, PatternConstructor, PatternTuple, PatternVar, PatternWildcard, TypeData
from passlab.ir.attrs import Attrs, DictAttrs, Field
from passlab.ir.expr import (
    Call,
    Constant,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from passlab.ir.module import IRModule
from passlab.ir.node_errors import check_all
from passlab.ir.op import Op
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
)
from passlab.ir.variables import check_closed
from passlab.text.records import MetaObject, record_class
from passlab.text.tensor_bytes import decode_tensor

Node = dict[str, Any]
TYPE_KEY = re.compile(r"[\w.:-]+\Z", re.ASCII)
Get = Callable[[int], Any]
Tensor = Callable[[int], Any]


# ---------------------------------------------------------------- nodes of programs and types
# One table for both directions. Fields have TVM's names: those that are nodes, then those that are numbers.
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


# ---------------------------------------------------------------- all other objects
class OpaqueObject:
    """A placeholder in a table for an object without a text form."""


# type keys of arithmetic on symbolic sizes
SIZE_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "tir.Add": operator.add,
    "tir.Sub": operator.sub,
    "tir.Mul": operator.mul,
    "tir.FloorDiv": operator.floordiv,
    "tir.FloorMod": operator.mod,
}

# The fields of a node that are nodes; all other fields of these kinds are numbers or texts.
_REFERENCES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("", "SourceName", "Op", "IntImm", "FloatImm", "runtime.String", "tir.Any", "passlab.Opaque"), ()),
    **dict.fromkeys(("EnvFunc", "runtime.NDArray"), ()), "TypeRelation": ("func", "args", "attrs"),
    "relay.Constant": (), "relay.TensorType": ("shape",), "relay.Id": ("name_hint",), "tir.StringImm": ("value",),
    "relay.Var": ("vid", "type_annotation", "virtual_device_"),
    "tir.SizeVar": ("name",), "tir.Var": ("name",), **dict.fromkeys(SIZE_ARITHMETIC, ("a", "b")),
    "DictAttrs": ("__dict__",), "Span": ("source_name",),
    "VirtualDevice": ("memory_scope", "target"), "TargetKind": ("default_keys", "name"),
    "Target": ("attrs", "features", "host", "keys", "kind", "tag"),
    "Executor": ("attrs", "name"), "Runtime": ("attrs", "name"),
    **{key: kind.nodes for key, kind in {**KINDS, **TYPES}.items()},
}  # fmt: skip
_ALIASED = ("TupleType", "FuncType", "TypeVar", "GlobalTypeVar", "TypeCall", "IncompleteType", "GlobalVar")
_REFERENCES.update({f"relay.{key}": _REFERENCES[key] for key in _ALIASED})
PLAIN_KINDS = ("int", "bool", "float", "dtype")  # fields of all other kinds are always nodes
# The numbers in records of a type that passlab does not declare; their other fields are nodes when `EXACT` says so.
NUMBERS = {"VirtualDevice": ("device_type_int", "virtual_device_id"), "TargetKind": ("default_device_type",)}
EXACT = {"passlab": "exact"}  # among the attributes of a graph: no number of it may be the index of a node instead
# kind of a field -> the nodes that may stand for its number
_TARGETS = {"int": ("IntImm",), "bool": ("IntImm",), "float": ("FloatImm", "IntImm")}


def references(node: Node, nodes: list[Node], owned: Set[int], exact: bool = False) -> Iterator[tuple[int, bool]]:
    """Yield the indices of the nodes that `node` refers to, each with whether the reference is certain.

    In TVM's files a number in a record may be a value or an index. `owned` are the nodes with a certain reference; an
    uncertain number is not the index of one of those. In an `exact` graph every reference is certain.
    """
    key = node.get("type_key", "")
    for index in node.get("data", ()) if key in ("Array", "Map") else ():
        yield int(index), True
    attrs = node.get("attrs", {})
    for name, is_certain in _record_references(key, attrs, nodes, owned, exact).items():
        yield int(attrs[name]), is_certain


def declared_fields(type_key: str) -> set[str]:
    """Return the fields of a record whose place in a file, as a number or a node, is known to every reader."""
    return {*_REFERENCES.get(type_key, ()), *NUMBERS.get(type_key, ())}


def _record_references(key: str, attrs: Node, nodes: list[Node], owned: Set[int], exact: bool) -> dict[str, bool]:
    """Return the fields of a record that are nodes, each with whether that is certain."""
    record = record_class(key, attrs) if key.startswith("relay.attrs.") else None
    fields = {f.name: f for f in record.schema} if record else {}
    if exact and key not in BUILDERS and not fields:
        return {name: True for name in attrs if name not in NUMBERS.get(key, ())}
    if key in _REFERENCES:
        return {name: True for name in _REFERENCES[key] if name in attrs}
    if exact:
        return {name: True for name in attrs if name not in fields or fields[name].kind not in PLAIN_KINDS}
    found = {name: _is_node(fields.get(name), text, nodes, owned) for name, text in attrs.items()}
    return {name: is_certain for name, is_certain in found.items() if is_certain is not None}


def _is_node(field: Field | None, text: Any, nodes: list[Node], owned: Set[int]) -> bool | None:
    """Whether a field's text is the index of a node: True, False for "possibly", None for no."""
    if not str(text).isdigit() or not int(text) < len(nodes):
        return None
    index = int(text)
    if field is None:
        return False if index == 0 or index not in owned else None
    if field.kind not in PLAIN_KINDS:
        return True
    fits = nodes[index].get("type_key") in _TARGETS.get(field.kind, ())
    return False if fits and index not in owned else None


def build_record(node: Node, nodes: list[Node], owned: Set[int], get: Get, exact: bool) -> Attrs | MetaObject:
    """Return an attribute record, or a `MetaObject` for a type that passlab does not have."""
    key = node["type_key"]
    if not TYPE_KEY.match(key):
        raise ValueError(f"`{key}` is not the name of a type")
    attrs = node.get("attrs", {})
    record = record_class(key, attrs) if "attrs." in key else None
    are_nodes = _record_references(key, attrs, nodes, owned, exact)
    values = {name: get(int(text)) if name in are_nodes else _plain(text) for name, text in attrs.items()}
    if record is not None:
        return record(**values)
    if key.startswith("relay.attrs."):
        return DictAttrs({**values, "attrs_type_key": key})
    return MetaObject(key, values)


def _plain(text: Any) -> int | float | str:
    """Return a number or a text, as it is written in a node."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return str(text)


def _int_imm(node: Node, get: Get, tensor: Tensor) -> int:
    value = int(node["attrs"]["value"])
    return bool(value) if node["attrs"].get("dtype") == "bool" else value


def _compute(node: Node, get: Get, tensor: Tensor) -> Any:
    """Return a sum, product or quotient of symbolic sizes and numbers."""
    parts = [get(int(node["attrs"][name])) for name in ("a", "b")]
    for part in parts:
        if not isinstance(part, (int, SizeVar)) and part is not ANY:
            raise TypeError(f"{type_in_words(part)} is not a size")
    return SIZE_ARITHMETIC[node["type_key"]](*parts)


def _map(node: Node, get: Get, tensor: Tensor) -> dict[Any, Any]:
    data = [get(int(i)) for i in node.get("data", ())]
    if "keys" in node:
        return dict(zip(node["keys"], data, strict=True))
    return dict(zip(data[::2], data[1::2], strict=True))


def _var(node: Node, get: Get, tensor: Tensor) -> Var:
    attrs = node["attrs"]
    annotation = get(int(attrs["type_annotation"])) if int(attrs.get("type_annotation", 0)) else None
    device = get(int(attrs["virtual_device_"])) if int(attrs.get("virtual_device_", 0)) else None
    return Var(_text(get(int(attrs["vid"]))), annotation, None, device)


def _text(value: Any) -> str:
    """Return a name. Raises `ValueError` for anything else."""
    if not isinstance(value, str):
        raise ValueError(f"a name is a text, not {type_in_words(value)}")
    return value


def _virtual_device(node: Node, get: Get, tensor: Tensor) -> VirtualDevice | MetaObject | None:
    """Return a virtual device; None for an unconstrained one."""
    attrs = node["attrs"]
    kind, number = int(attrs["device_type_int"]), int(attrs["virtual_device_id"])
    target, scope = get(int(attrs["target"])), get(int(attrs["memory_scope"])) or ""
    if (kind, number, target, scope) == (-1, -1, None, ""):
        return None
    name = next((n for n, k in DEVICE_KINDS.items() if k == kind), None)
    if name is None or number < 0 or not isinstance(target, Target | None):
        fields = {"device_type_int": kind, "memory_scope": scope, "target": target, "virtual_device_id": number}
        return MetaObject("VirtualDevice", fields)
    return VirtualDevice(Device(name, number), target, scope)


def _target(node: Node, get: Get, tensor: Tensor) -> Target:
    attrs = node["attrs"]
    options = {str(name): value for name, value in (get(int(attrs["attrs"])) or {}).items()}
    return Target(target={**options, "kind": get(int(attrs["kind"])).name, "host": get(int(attrs["host"]))})


def _field(name: str) -> Callable[[Node, Get, Tensor], Any]:
    return lambda node, get, tensor: get(int(node["attrs"][name]))


def _relation(node: Node, get: Get, tensor: Tensor) -> TypeRelation:
    func, args, attrs = (get(int(node["attrs"][name])) for name in ("func", "args", "attrs"))
    return TypeRelation(_text(func), args, int(node["attrs"]["num_inputs"]), attrs)


Builder = Callable[[Node, Get, Tensor], Any]
BUILDERS: dict[str, Builder] = {
    "": lambda node, get, tensor: None,
    "runtime.String": lambda node, get, tensor: str(node.get("repr_str", "")),
    "SourceName": lambda node, get, tensor: str(node.get("repr_str", "")),
    "tir.StringImm": _field("value"),
    "IntImm": _int_imm,
    "FloatImm": lambda node, get, tensor: float(node["attrs"]["value"]),
    "Array": lambda node, get, tensor: tuple(get(int(i)) for i in node.get("data", ())),
    "Map": _map,
    "DictAttrs": lambda node, get, tensor: DictAttrs(get(int(node["attrs"]["__dict__"])) or {}),
    "relay.Constant": lambda node, get, tensor: Constant(tensor(int(node["attrs"]["data"]))),
    "relay.Var": _var,
    "relay.Id": _field("name_hint"),
    "VirtualDevice": _virtual_device,
    "Target": _target,
    "Op": lambda node, get, tensor: Op.get(str(node["repr_str"])),
    "relay.TensorType": lambda node, get, tensor: TensorType(get(int(node["attrs"]["shape"])), node["attrs"]["dtype"]),
    "TypeRelation": _relation,
    "EnvFunc": lambda node, get, tensor: str(node.get("repr_str", "")),
    "runtime.NDArray": lambda node, get, tensor: decode_tensor(str(node["repr_b64"])),
    "tir.SizeVar": lambda node, get, tensor: SizeVar(
        str(get(int(node["attrs"]["name"]))), node["attrs"].get("dtype", "int64")
    ),
    "tir.Any": lambda node, get, tensor: ANY,
    **dict.fromkeys(SIZE_ARITHMETIC, _compute),
    "passlab.Opaque": lambda node, get, tensor: OpaqueObject(),
}
BUILDERS["tir.Var"] = BUILDERS["tir.SizeVar"]
for _key, _kind in {**KINDS, **TYPES}.items():
    BUILDERS[_key] = lambda node, get, tensor, kind=_kind: built(kind, node.get("attrs", {}), get)  # type: ignore[misc]
BUILDERS.update({f"relay.{key}": BUILDERS[key] for key in _ALIASED})
