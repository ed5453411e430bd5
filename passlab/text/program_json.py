"""Programs as JSON, in TVM's format: `save_json(mod)`, `load_json(text)`.

The format is the same as in the metadata section (an object graph, see `metadata`), for whole programs: functions,
types, modules and all objects that text can mention. Loaded programs are untyped, as after parsing.

The file begins with conversion of JSON of TVM 0.6 to 0.13 to the form of 0.14, like `tvm.ir.json_compact.upgrade_json`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from passlab.devices import Target, VirtualDevice
from passlab.errors import Diagnostic, NodeTypeError, OpNotFoundError, ParseError, PasslabError, type_in_words
from passlab.ir.attrs import Attrs, DictAttrs
from passlab.ir.expr import NO_ATTRS, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.span import Position, Source, Span
from passlab.ir.types import Any as AnyLength
from passlab.ir.types import SizeVar, Type, TypeRelation
from passlab.ir.walk import post_order
from passlab.lazy import INFERENCE, late
from passlab.text.meta_objects import KINDS, PLAIN_KINDS
from passlab.text.meta_writer import UNCONSTRAINED, ObjectGraph
from passlab.text.metadata import Section
from passlab.text.records import MetaObject
from passlab.text.tensor_bytes import enough_memory
from passlab.text.tokens import Parse, run_nested

Node = dict[str, Any]
RENAMED = {
    "EnvFunc": "EnvFunc",
    "StrMap": "Map",
    "Variable": "tir.Var",
    "SizeVar": "tir.SizeVar",
    "relay.FuncType": "FuncType",
    "relay.GlobalTypeVar": "GlobalTypeVar",
    "relay.GlobalVar": "GlobalVar",
    "relay.IncompleteType": "IncompleteType",
    "relay.Module": "IRModule",
    "relay.Op": "Op",
    "relay.SourceName": "SourceName",
    "relay.Span": "Span",
    "relay.TupleType": "TupleType",
    "relay.TypeCall": "TypeCall",
    "relay.TypeData": "relay.TypeData",
    "relay.TypeRelation": "TypeRelation",
    "relay.TypeVar": "TypeVar",
}
NAMES = {  # type key of a node that contained its name -> the field of the name
    "GlobalTypeVar": "name_hint",
    "GlobalVar": "name_hint",
    "TypeVar": "name_hint",
    "relay.Constructor": "name_hint",
    "relay.Id": "name_hint",
    "tir.SizeVar": "name",
    "tir.Var": "name",
}
NAMED_IN_PLACE = (0, 6)  # the last version with names in nodes
LATEST = (0, 14)


def version_of(graph: Any) -> tuple[int, int]:
    """Return the version of TVM that wrote an object graph; `LATEST` if the graph does not have it."""
    text = graph.get("attrs", {}).get("tvm_version", "") if isinstance(graph, dict) else ""
    parts = str(text).split(".")[:2]
    return (int(parts[0]), int(parts[1])) if len(parts) == 2 and all(p.isdigit() for p in parts) else LATEST


def upgrade_json(json_str: str) -> str:
    """Return JSON of any version from 0.6 on in the form of 0.14. Raises `ParseError` for any other text."""
    try:
        graph = json.loads(json_str)
        nodes = graph["nodes"]
        if version_of(graph) >= LATEST:
            return json_str
        return json.dumps(_upgrade(graph, nodes), indent=2)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        span = Span(Source("json", json_str), 0, 0)
        raise ParseError(Diagnostic(f"malformed JSON of a program: {error}", span)) from None


def create_updater(node_map: dict[str, Any], from_ver: str, to_ver: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a function that applies functions `(node, nodes)` by the key of a node, and sets the version."""

    def update(data: dict[str, Any]) -> dict[str, Any]:
        if not data["attrs"]["tvm_version"].startswith(from_ver):
            raise ParseError(
                Diagnostic("this JSON is of another version", None, from_ver, data["attrs"]["tvm_version"])
            )
        nodes = data["nodes"]
        for at, node in enumerate(nodes):
            change = node_map.get(node["type_key"])
            for one in change if isinstance(change, list) else [change] if change is not None else []:
                nodes[at] = one(nodes[at], nodes)
        data["attrs"]["tvm_version"] = to_ver
        return data

    return update


def _upgrade(graph: Node, nodes: list[Node]) -> Node:
    in_place = version_of(graph) <= NAMED_IN_PLACE
    for node in list(nodes):
        old = str(node.get("type_key", ""))
        node["type_key"] = key = RENAMED.get(old, old)
        if "global_key" in node:
            node["repr_str"] = node.pop("global_key")
        fields = node.get("attrs")
        if isinstance(fields, dict):
            if in_place:
                _name_as_node(fields, key, nodes)
            for name in KINDS[key].nodes if key in KINDS else ():
                fields.setdefault(name, "0")
            if key == "tir.Var":
                fields.setdefault("type_annotation", "0")
    graph["attrs"] = {**graph.get("attrs", {}), "tvm_version": "0.14.0"}
    return graph


def _name_as_node(fields: dict[str, Any], key: str, nodes: list[Node]) -> None:
    """Move a name stored in a node into a separate node."""
    if "var" in fields and key in ("TypeVar", "GlobalTypeVar"):
        named = nodes[int(fields.pop("var"))]["attrs"]
        fields["name_hint"] = named.get("name", named.get("name_hint", ""))
        if str(fields["name_hint"]).isdigit():  # the variable with that name was converted before
            return
    field = NAMES.get(key)
    if field is None or field not in fields:
        return
    nodes.append({"type_key": "runtime.String", "repr_str": str(fields[field])})
    fields[field] = str(len(nodes) - 1)


def save_json(node: Any) -> str:
    """Return a module, expression, type, attribute record, span or array, or a tuple or dict of such, as TVM's JSON.

    Inferred types and source locations of nodes are not saved. Raises `NodeTypeError` for other objects, and
    `LimitError` where memory is short.
    """
    with enough_memory("the JSON of this program"):
        return ProgramGraph(node).json()


def load_json(json_str: str) -> Any:
    """Return the object that `save_json` of TVM (0.6 or newer) or passlab wrote; programs are untyped as after parsing.

    Raises `ParseError` for any other text, and for operators and objects that passlab does not know.
    """
    if not isinstance(json_str, str):
        raise NodeTypeError(f"JSON is a string, not {type_in_words(json_str)}")
    if '"tvm_version"' in json_str and '"tvm_version": "0.14' not in json_str:
        json_str = upgrade_json(json_str)
    source = Source("json", json_str)
    try:
        section = Section(source, 0, deepest=None)
        value = section.build(section.root)
        return _as_span(value) if isinstance(value, MetaObject) and value.type_key == "Span" else value
    except PasslabError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        if isinstance(missing := error.__cause__, OpNotFoundError):
            hint = missing.diagnostics[0].hint or "import the module that registers it"
            raise ParseError(Diagnostic(str(error), Span(source, 0, 0), hint=hint)) from missing
        what = f"no node {error}" if isinstance(error, KeyError) else str(error)
        raise ParseError(Diagnostic(f"malformed JSON of a program: {what}", Span(source, 0, 0))) from None


def pickled(value: Any) -> tuple[Callable[[str, bool], Any], tuple[str, bool]]:
    """Return how `pickle` makes an object again: the JSON of it, and whether it had types, as `__reduce__` does."""
    functions = value.functions.values() if isinstance(value, IRModule) else [value] if isinstance(value, Expr) else []
    typed = bool(functions) and all(function.checked_type_ is not None for function in functions)
    return unpickled, (save_json(value), typed)


def unpickled(json_str: str, typed: bool) -> Any:
    """Return the object of a pickle, typed where it was. An expression that needs a module stays untyped."""
    value = load_json(json_str)
    if not typed:
        return value
    if isinstance(value, IRModule):
        return late(INFERENCE, "infer_module")(value)
    try:
        return late(INFERENCE, "infer_expr")(value)
    except PasslabError:  # it was typed in a module, which is not in the pickle
        return value


def _as_span(record: MetaObject) -> Span:
    """Return a span in a source that is not available. Raises `ValueError` for an invalid record."""
    fields = dict(record.items())
    name = fields.get("source_name")
    values = (fields.get(part) for part in ("line", "end_line", "column", "end_column"))
    numbers = [value for value in values if isinstance(value, int)]
    if not isinstance(name, str | None) or len(numbers) != 4:
        raise ValueError("a span has the name of a text, and lines and columns")
    return Position(name, *numbers)


class ProgramGraph(ObjectGraph):
    """The object graph of one program while it is written; children are written before their users."""

    def __init__(self, root: Any) -> None:
        super().__init__({})
        self.nodes = [{"type_key": ""}]
        self.root = run_nested(self._value(root))

    def _program_object(self, value: Any) -> Parse | None:
        if isinstance(value, IRModule):
            return self._module(value)
        key = _KEYS.get(type(value))
        if key is not None:
            return self._deep(key, value) if isinstance(value, Expr) else self._kind(key, value)
        if isinstance(value, TypeRelation):
            return self._relation(value)
        if isinstance(value, Attrs) and not isinstance(value, DictAttrs):
            return self._attrs(value)
        if not isinstance(value, (Expr, Type, Span, MetaObject, DictAttrs, *_RECORDS)):
            raise NodeTypeError(f"{type_in_words(value)} cannot be saved as JSON")
        return self._leaf(value)

    def _leaf(self, value: Any) -> Parse | None:
        if isinstance(value, Op):
            return self._op(value)
        return self._span(value) if isinstance(value, Span) else super()._program_object(value)

    def _span(self, value: Span) -> Parse:
        yield from ()
        name = 0 if value.source_name is None else self._add("SourceName", repr_str=str(value.source_name))
        numbers = {part: getattr(value, part) for part in ("column", "end_column", "end_line", "line")}
        return self._add("Span", {**numbers, "source_name": name})

    def _deep(self, key: str, value: Expr) -> Parse:
        """Write an expression bottom-up, so that few generators are suspended at a time."""
        for node in post_order(value)[:-1]:
            if node not in self._shared:
                kind = _KEYS.get(type(node))
                self._shared[node] = yield (self._kind(kind, node) if kind else self._leaf(node))
        return (yield self._kind(key, value))

    def _kind(self, key: str, value: Any) -> Parse:
        attrs: dict[str, Any] = {"span": 0}
        for name in KINDS[key].nodes:
            field = getattr(value, name)
            is_empty = isinstance(value, Function) and name == "attrs" and field is NO_ATTRS
            attrs[name] = 0 if is_empty else (yield self._value(field))
        attrs |= {name: int(getattr(value, name)) for name in KINDS[key].numbers}
        if isinstance(value, Expr):
            device = getattr(value, "virtual_device", None)
            attrs |= {
                "_checked_type_": 0,
                "virtual_device_": (yield self._value(UNCONSTRAINED if device is None else device)),
            }
        return self._add(key, dict(sorted(attrs.items())))

    def _relation(self, value: TypeRelation) -> Parse:
        func = self._add("EnvFunc", repr_str=str(value.name))
        args, attrs = (yield self._value(value.args)), (yield self._value(value.attrs))
        return self._add("TypeRelation", {"func": func, "args": args, "attrs": attrs, "num_inputs": value.num_inputs})

    def _op(self, value: Op) -> Parse:
        yield from ()
        return self._add("Op", repr_str=value.name)

    def _module(self, mod: IRModule) -> Parse:
        functions: list[Any] = [part for pair in mod.functions.items() for part in pair]
        types: list[Any] = [part for pair in mod.type_definitions.items() for part in pair]
        attrs = {
            "functions": self._add("Map", data=(yield self._values(functions))),
            "type_definitions": self._add("Map", data=(yield self._values(types))),
        }
        attrs["global_var_map_"] = yield self._value({var.name_hint: var for var in mod.functions})
        attrs["global_type_var_map_"] = yield self._value({t.name_hint: t for t in mod.type_definitions})
        attrs["attrs"] = yield self._value(mod.attrs if mod.attrs is not NO_ATTRS else None)
        return self._add("IRModule", {**attrs, "global_infos": self._add("Map"), "source_map": 0})

    def _attrs(self, value: Attrs) -> Parse:
        """Write an attribute record: dtypes and numbers of TVM's records as text, everything else as nodes."""
        attrs = {}
        for field in value.schema:
            field_value = getattr(value, field.name)
            if field.kind in PLAIN_KINDS and field_value is not None:
                attrs[field.name] = int(field_value) if isinstance(field_value, bool) else field_value
            else:
                attrs[field.name] = yield self._value(field_value)
        return self._add(value.type_key, attrs)


_KEYS: dict[type, str] = {kind.cls: key for key, kind in KINDS.items() if kind.cls is not IRModule}
_RECORDS = (VirtualDevice, Target, AnyLength, SizeVar)
