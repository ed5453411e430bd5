"""Conversion of JSON of TVM 0.6 to 0.13 to the form of 0.14, like `tvm.ir.json_compact.upgrade_json`.

Types and modules had other names, names of variables were fields of their nodes, and nodes had fewer fields.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from passlab.errors import Diagnostic, ParseError
from passlab.ir.span import Source, Span
from passlab.text.program_objects import KINDS

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
