"""The metadata section: constants and foreign objects survive, TVM's form of it is read, broken ones are refused."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

from passlab.devices import Device, Target, VirtualDevice
from passlab.errors import AttrsError, ParseError
from passlab.ir.attrs import DictAttrs
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Constant, Function, Tuple, Var
from passlab.ir.op import Op
from passlab.ir.types import ANY, FuncType, GlobalTypeVar, RefType, TensorType, TupleType, TypeVar
from passlab.text.parser import parse, parse_expr
from passlab.text.printer import astext, pretty
from passlab.text.records import MetaObject, make_node, record_class
from passlab.text.tensor_bytes import decode_tensor, encode_tensor

ARRAY = np.arange(6, dtype="float32").reshape(2, 3)


def nodes_of(text: str) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = json.loads(text.partition("#[metadata]")[2])["nodes"]
    return nodes


def test_a_constant_has_one_entry_however_often_it_is_used() -> None:
    shared, other = Constant(ARRAY), Constant(ARRAY)
    text = astext(Tuple([shared, other, shared]))
    assert "(meta[relay.Constant][0], meta[relay.Constant][1], meta[relay.Constant][0])" in text
    back = parse_expr(text)
    assert back.fields[0] is back.fields[2] is not back.fields[1]
    assert back.fields[0].data.tobytes() == ARRAY.tobytes()


def test_the_section_is_the_object_graph_that_relay_writes() -> None:
    nodes = nodes_of(astext(Constant(ARRAY)))
    assert nodes[0] == {"type_key": ""}
    assert nodes[1]["type_key"] == "Map"
    assert nodes[1]["keys"] == ["relay.Constant"]
    (listed,) = nodes[1]["data"]
    assert nodes[listed]["type_key"] == "Array"
    constant = nodes[nodes[listed]["data"][0]]
    assert set(constant["attrs"]) == {"_checked_type_", "data", "span", "virtual_device_"}
    assert nodes[int(constant["attrs"]["virtual_device_"])]["attrs"]["device_type_int"] == "-1"


def test_a_tensor_is_the_binary_form_that_relay_writes() -> None:
    raw = base64.b64decode(encode_tensor(np.array([7], "int32")))
    head = "3fa1b496f0405edd" + "00" * 8 + "01000000" + "00000000" + "01000000" + "00200100"
    assert raw.hex() == head + "0100000000000000" + "0400000000000000" + "07000000"


TVM_STYLE = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  add(%x, meta[relay.Constant][0] /* ty=Tensor[(1), float32] */) /* ty=Tensor[(4), float32] */
}

#[metadata]
{
  "root": 1,
  "nodes": [
    {
      "type_key": ""
    },
    {
      "type_key": "Map",
      "keys": [
        "relay.Constant"
      ],
      "data": [2]
    },
    {
      "type_key": "Array",
      "data": [3]
    },
    {
      "type_key": "relay.Constant",
      "attrs": {
        "_checked_type_": "0",
        "data": "0",
        "span": "0",
        "virtual_device_": "0"
      }
    }
  ],
  "b64ndarrays": [
    "TENSOR"
  ],
  "attrs": {"tvm_version": "0.14.0"}
}
""".replace(",\n", ", \n").replace("TENSOR", encode_tensor(np.array([2.5], "float32")))


def test_relays_own_layout_of_the_section_is_read() -> None:
    constant = parse(TVM_STYLE)["main"].body.args[1]
    assert constant.data.tolist() == [2.5]


def test_without_the_section_a_comment_says_so_and_a_table_replaces_it() -> None:
    function = Function([], Constant(ARRAY))
    text = astext(function, show_meta_data=False)
    assert text.count("\n") >= 7
    assert "show_meta_data=True" in text
    with pytest.raises(ParseError, match=r"no entry in the meta table for `relay.Constant`"):
        parse_expr(text)
    value = Constant(ARRAY)
    assert parse_expr(text, init_meta_table={"relay.Constant": [value]}).body is value
    assert "metadata" not in pretty(function)


def test_given_objects_count_behind_those_of_the_text() -> None:
    text = astext(Constant(ARRAY)).replace(
        "meta[relay.Constant][0]", "(meta[relay.Constant][0], meta[relay.Constant][1])"
    )
    value = Constant(1)
    pair = parse_expr(text, init_meta_table={"relay.Constant": [value]})
    assert pair.fields[0].data.shape == (2, 3)
    assert pair.fields[1] is value


DEVICES = [
    VirtualDevice(Device("cpu", 0)),
    VirtualDevice(Device("cuda", 3), Target("llvm", (("mcpu", "x"), ("keys", ""))), "global"),
    VirtualDevice(Device("vulkan", 1), Target("c", (), Target("llvm"))),
    MetaObject("VirtualDevice", {"device_type_int": 99, "memory_scope": "", "target": None, "virtual_device_id": 1}),
]


@pytest.mark.parametrize("device", DEVICES, ids=str)
def test_devices_of_variables_and_functions_read_back(device: Any) -> None:
    x = Var("x", None, None, device)
    function = Function([x], x, None, None, {"device": device}, None, device)
    text = astext(function)
    assert (
        "fn (%x {virtual_device=meta[VirtualDevice][0]}, device=meta[VirtualDevice][0], virtual_device=meta[VirtualDevice][0])"
        in text
    )
    back = parse_expr(text)
    assert (back.params[0].virtual_device, back.attrs["device"], back.virtual_device) == (device, device, device)
    assert structural_equal(back, function)
    assert astext(back) == text
    assert "passlab" not in text, "a graph of TVM's own records is one of TVM"


def test_a_graph_with_a_record_that_only_its_writer_knows_says_that_its_numbers_are_numbers() -> None:
    text = astext(Function([], Constant(1), None, None, {"own": MetaObject("my.Record", {"size": 1})}))
    assert '"attrs": {"tvm_version": "0.14.0", "passlab": "exact"}' in text
    assert parse_expr(text).attrs["own"].size == 1


def test_objects_of_foreign_types_read_back() -> None:
    runtime = MetaObject("Runtime", {"attrs": DictAttrs({"a": 1, "b": (True, "x", 2.5, None)}), "name": "cpp"})
    function = Function([], Constant(1), None, None, {"runtime": runtime})
    back = parse_expr(astext(function))
    assert back.attrs["runtime"] == runtime
    assert back.attrs["runtime"].name == "cpp"
    assert astext(back) == astext(function)


def test_a_variable_copied_into_the_section_is_the_one_in_scope() -> None:
    x = Var("x", TensorType((), "int8"))
    text = astext(Function([x], x, None, None, {"like": x}))
    assert "like=meta[relay.Var][0]" in text
    back = parse_expr(text)
    assert back.attrs["like"] is back.params[0]
    elsewhere = parse_expr(text.replace("%x: int8", "%x: int16"))
    assert elsewhere.attrs["like"] is not elsewhere.params[0]


def test_types_in_attributes_read_back() -> None:
    a = TypeVar("A")
    scalar = TensorType((), "int8")
    types = [
        TensorType((1, ANY), "int8"),
        TupleType([scalar, RefType(scalar)]),
        FuncType([a], a, [a]),
        GlobalTypeVar("List")(scalar),
    ]
    function = Function([], Constant(1), None, None, {"types": types})
    text = astext(function)
    back = parse_expr(text)
    kept = back.attrs["types"]
    assert kept[0] is types[0]
    assert kept[1] is types[1]
    assert kept[3] is types[3]
    assert kept[2].arg_types == (kept[2].ret_type,) == kept[2].type_params
    assert astext(back) == text


def record(type_key: str, attrs: dict[str, str], *more: dict[str, Any]) -> str:
    nodes = [{"type_key": ""}, {"type_key": "Map", "keys": [type_key], "data": [2]}, {"type_key": "Array", "data": [3]}]
    graph = {"root": 1, "nodes": [*nodes, {"type_key": type_key, "attrs": attrs}, *more], "b64ndarrays": []}
    return f"\n#[metadata]\n{json.dumps(graph)}"


def test_a_call_may_take_its_attributes_from_the_section() -> None:
    text = "free_var %x; cast(%x, meta[relay.attrs.CastAttrs][0])" + record("relay.attrs.CastAttrs", {"dtype": "int8"})
    call = parse_expr(text)
    assert call.attrs.dtype == "int8"
    assert pretty(call).endswith('cast(%x, dtype="int8")')


def test_numbers_in_records_mean_themselves_or_a_node_by_what_they_fit() -> None:
    number = {"type_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": "16"}}
    dense = record("relay.attrs.DenseAttrs", {"units": "4", "out_dtype": "int8"}, number)
    attrs = parse_expr("free_var %x; nn.dense(%x, %x, meta[relay.attrs.DenseAttrs][0])" + dense).attrs
    assert (attrs.units, attrs.out_dtype) == (16, "int8")
    plain = record("relay.attrs.TriluAttrs", {"upper": "1"})
    assert parse_expr("free_var %x; trilu(%x, 2, meta[relay.attrs.TriluAttrs][0])" + plain).attrs.upper is True


BROKEN = {
    "not JSON": "{",
    "a list": "[]",
    "no nodes": '{"root": 1}',
    "nodes of numbers": '{"root": 1, "nodes": [1, 2]}',
    "a root that is missing": '{"root": 7, "nodes": [{"type_key": ""}]}',
    "a root that is no map": '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Array", "data": []}]}',
    "a node that is missing": '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["a"], "data": [9]}]}',
    "a node that holds itself": '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["a"], "data": [2]}, {"type_key": "Array", "data": [2]}]}',
    "deep lists": "[" * 100_000,
    "keys without data": '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["a", "b"], "data": [0]}]}',
    "an odd kind": '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["a"], "data": [2]}, {"type_key": "a b", "attrs": {}}]}',
    "two sections": '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map"}]}\n#[metadata]\n{}',
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_section_is_refused(name: str) -> None:
    with pytest.raises(ParseError, match="malformed metadata section"):
        parse(f"def @f() {{ 1 }}\n#[metadata]\n{BROKEN[name]}")


def broken_tensors() -> dict[str, str]:
    raw = base64.b64decode(encode_tensor(ARRAY))

    def changed(at: int, value: bytes) -> str:
        return base64.b64encode(raw[:at] + value + raw[at + len(value) :]).decode()

    return {
        "not base64": "???", "empty": "", "cut off": base64.b64encode(raw[:-1]).decode(), "too long": base64.b64encode(raw + b"x").decode(),
        "wrong magic": changed(0, b"\0"), "negative rank": changed(24, b"\xff\xff\xff\xff"), "huge rank": changed(24, b"\xff\xff\xff\x7f"),
        "unknown dtype": changed(28, b"\x09"), "odd width": changed(29, b"\x07"), "lanes": changed(30, b"\x02"), "negative shape": changed(32, b"\xff" * 8),
        "huge shape": changed(32, b"\xff" * 7 + b"\x7f"), "wrong count": changed(48, b"\x01"),
    }  # fmt: skip


@pytest.mark.parametrize("name", broken_tensors())
def test_a_broken_tensor_is_refused(name: str) -> None:
    data = broken_tensors()[name]
    with pytest.raises(ValueError, match="this"):
        decode_tensor(data)
    text = TVM_STYLE.replace(encode_tensor(np.array([2.5], "float32")), data)
    with pytest.raises(ParseError, match="malformed metadata section: this"):
        parse(text)


def test_an_index_out_of_bounds_is_refused_at_its_place() -> None:
    with pytest.raises(ParseError, match=r"index `1` is out of bounds for `relay\.Constant`") as caught:
        parse(TVM_STYLE.replace("meta[relay.Constant][0] /*", "meta[relay.Constant][1] /*"))
    place = caught.value.diagnostics[0].place
    assert place is not None
    assert (place.line, place.column) == (3, 11)


def test_a_python_object_in_an_attribute_prints_but_does_not_read_back() -> None:
    text = astext(Function([], Constant(1), None, None, {"a": object()}))
    assert "a=meta[python.object][0]" in text
    with pytest.raises(ParseError, match="stood for a Python object"):
        parse_expr(text)


def test_the_mark_of_the_section_counts_only_outside_strings_and_comments() -> None:
    expr = parse_expr('fn (a="#[metadata]") { /* #[metadata] /* #[metadata] */ */ 1 } // #[metadata]')
    assert expr.attrs["a"] == "#[metadata]"


def test_records_are_made_by_the_name_of_their_type() -> None:
    declared = {spec.type_key: spec for name in Op.list_op_names() if (spec := Op.get(name).spec.attrs) is not None}
    for key in declared:
        assert record_class(key) is not None
        assert record_class(key).type_key == key
    with pytest.raises(AttrsError, match="SoftmaxAttrs has no attribute `axes`"):
        make_node("relay.attrs.SoftmaxAttrs", axes=1)
    assert make_node("relay.attrs.SoftmaxAttrs", axis=1)["axis"] == 1
    undeclared = make_node("test.UndeclaredAttrs", axis=1)
    assert isinstance(undeclared, DictAttrs)
    assert dict(undeclared.items()) == {"axis": 1, "attrs_type_key": "test.UndeclaredAttrs"}
    assert make_node("test.Thing", axis=1) == MetaObject("test.Thing", {"axis": 1})
