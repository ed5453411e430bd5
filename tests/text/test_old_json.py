"""JSON of older versions of TVM in, programs out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from passlab import ir, relay
from passlab.errors import ParseError
from passlab.text.program_json import create_updater, upgrade_json


def stored(root: int, *nodes: dict[str, Any], version: str = "0.6.0") -> str:
    return json.dumps(
        {"root": root, "nodes": [{"type_key": ""}, *nodes], "attrs": {"tvm_version": version}, "b64ndarrays": []}
    )


def test_type_variables_had_their_name_in_a_variable() -> None:
    for key, cls in (("relay.TypeVar", relay.TypeVar), ("relay.GlobalTypeVar", relay.GlobalTypeVar)):
        text = stored(
            1,
            {"type_key": key, "attrs": {"kind": "0", "span": "0", "var": "2"}},
            {"type_key": "Variable", "attrs": {"dtype": "int32", "name": "in0"}},
        )
        value = ir.load_json(text)
        assert isinstance(value, cls)
        assert value.name_hint == "in0"


def test_names_were_written_in_place() -> None:
    value = ir.load_json(
        stored(1, {"type_key": "relay.GlobalVar", "attrs": {"_checked_type_": "0", "name_hint": "x", "span": "0"}})
    )
    assert isinstance(value, relay.GlobalVar)
    assert value.name_hint == "x"
    var = ir.load_json(
        stored(
            2,
            {"type_key": "relay.Id", "attrs": {"name_hint": "a3"}},
            {
                "type_key": "relay.Var",
                "attrs": {"_checked_type_": "0", "span": "0", "type_annotation": "0", "vid": "1"},
            },
        )
    )
    assert var.name_hint == "a3"


def test_operators_and_maps_had_other_keys() -> None:
    assert ir.load_json(stored(1, {"type_key": "relay.Op", "global_key": "nn.conv2d"})) is ir.Op.get("nn.conv2d")
    text = stored(
        1,
        {"type_key": "StrMap", "keys": ["z", "x"], "data": [2, 3]},
        {"type_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": "2"}},
        {"type_key": "runtime.String", "repr_str": "b"},
    )
    assert ir.load_json(text) == {"z": 2, "x": "b"}


def test_types_had_the_prefix_of_relay() -> None:
    text = stored(
        3,
        {"type_key": "relay.TupleType", "attrs": {"fields": "2", "span": "0"}},
        {"type_key": "Array"},
        {
            "type_key": "relay.FuncType",
            "attrs": {"arg_types": "2", "ret_type": "1", "span": "0", "type_constraints": "2", "type_params": "2"},
        },
    )
    assert ir.load_json(text) == relay.FuncType([], relay.TupleType([]))


def test_a_module_without_attributes() -> None:
    nodes = [
        {
            "type_key": "IRModule",
            "attrs": {
                "functions": "2",
                "global_type_var_map_": "2",
                "global_var_map_": "2",
                "source_map": "0",
                "type_definitions": "2",
            },
        },
        {"type_key": "Map"},
    ]
    assert len(ir.load_json(stored(1, *nodes, version="0.7.0")).functions) == 0


def test_what_is_new_stays() -> None:
    text = ir.save_json(relay.const(1))
    assert upgrade_json(text) == text


@pytest.mark.parametrize(
    "text",
    ["[]", '{"nodes": 3, "attrs": {"tvm_version": "0.6.0"}}', '{"nodes": [3], "attrs": {"tvm_version": "0.6.0"}}', "?"],
)
def test_damage_is_told(text: str) -> None:
    with pytest.raises(ParseError, match="malformed JSON"):
        upgrade_json(text)


def test_updaters_change_nodes_by_key() -> None:
    def renamed(node: dict[str, Any], nodes: list[Any]) -> dict[str, Any]:
        return {**node, "type_key": "New"}

    data = json.loads(stored(1, {"type_key": "Old"}))
    result = create_updater({"Old": renamed}, "0.6", "0.7")(data)
    assert result["nodes"][1]["type_key"] == "New"
    assert result["attrs"]["tvm_version"] == "0.7"
    with pytest.raises(ParseError, match="another version"):
        create_updater({}, "0.8", "0.9")(result)
