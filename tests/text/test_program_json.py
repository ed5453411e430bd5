"""`ir.save_json` and `ir.load_json`: whole programs in TVM's JSON of object graphs."""

from __future__ import annotations

import json
import pickle
from copy import copy, deepcopy
from typing import Any

import pytest

from passlab import ir, relay, testing
from passlab.errors import NodeTypeError, ParseError, PasslabError
from passlab.infer import infer_module
from passlab.ir import IRModule, Op, TensorType, assert_structural_equal
from passlab.ir.walk import post_order
from passlab.op.edge_cases import program, varies_dtype
from passlab.text.parser import parse
from passlab.text.records import MetaObject
from tests.each import each
from tests.op.test_declarations import parse_example
from tests.passes.law_programs import PROGRAMS


def read_back(value: Any) -> Any:
    return ir.load_json(ir.save_json(value))


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_come_back_as_they_were(program: str) -> None:
    mod = parse(PROGRAMS[program])
    assert_structural_equal(read_back(mod), mod)
    typed = infer_module(mod)
    assert_structural_equal(infer_module(read_back(typed)), typed)


@pytest.mark.parametrize("program", PROGRAMS)
def test_pickled_programs_come_back_typed_as_they_were(program: str) -> None:
    typed = infer_module(parse(PROGRAMS[program]))
    for mod in (typed, parse(PROGRAMS[program])):
        back = pickle.loads(pickle.dumps(mod))
        assert_structural_equal(back, mod)
        for name, function in mod.items():
            assert (back[name].checked_type_ is None) == (function.checked_type_ is None)
            for node in [
                *post_order(function),
                function.checked_type_,
            ]:  # each part alone, with variables it does not bind
                assert_structural_equal(pickle.loads(pickle.dumps(node)), node, map_free_vars=True)
                assert copy(node) is deepcopy(node) is node


@each("name", Op.list_op_names())
def test_calls_of_every_operator_come_back_with_their_attributes(name: str) -> None:
    call = parse_example(name).body
    back = read_back(relay.Function(relay.analysis.free_vars(call), call)).body
    assert back.op is call.op
    assert back.attrs == call.attrs


@pytest.mark.rotating
@each("name", Op.list_op_names())
def test_every_edge_case_of_every_operator_comes_back(name: str) -> None:
    """A list of `split` was read as a number: the attributes of examples are not all that an operator has."""
    for edge in Op.get(name).spec.edge_cases:
        for dtype in ("float32", "int8") if varies_dtype(edge) else ("float32",):
            try:
                mod = parse(program(edge, dtype).source)
            except PasslabError:
                continue  # the operator does not take this dtype
            assert_structural_equal(read_back(mod), mod)
            assert_structural_equal(parse(mod.astext(show_meta_data=True)), mod)


@pytest.mark.parametrize("sections", [1, 2, 15, [], [1], [1, 2], [2, 2, 5]])
def test_sections_are_a_number_or_a_list_wherever_the_call_stands(sections: int | list[int]) -> None:
    x = relay.var("x", shape=(30,))
    for before in range(20):  # each number of nodes before the record makes other numbers look like references
        parts = relay.split(x, indices_or_sections=sections, axis=0).tuple_value
        mod = IRModule.from_expr(relay.Tuple([*[relay.const(i) for i in range(before)], parts]))
        assert_structural_equal(read_back(mod), mod)


@pytest.mark.parametrize("before", range(0, 40, 3))
def test_records_of_unknown_types_keep_numbers_and_shared_objects(before: int) -> None:
    """Which fields of such a record are nodes is known to its writer alone, who says so in the file."""
    shared = TensorType((2, 3), "float32")
    records = [MetaObject("my.Record", {"n": n, "t": shared, "f": 0.5, "s": "1"}) for n in range(before, before + 8)]
    axes = [relay.nn.softmax(relay.var("x", shape=[1] * 40), axis=axis).attrs for axis in range(40)]
    value = (*records, shared, *axes, *range(before))
    assert read_back(value) == value


def test_a_network_keeps_its_module_attributes_and_names() -> None:
    mod, _ = testing.mlp.get_workload(1)
    mod = mod.with_attr("model", "mlp")
    back = read_back(mod)
    assert back.get_attr("model") == "mlp"
    assert [p.name_hint for p in back["main"].params] == [p.name_hint for p in mod["main"].params]
    assert_structural_equal(infer_module(back), infer_module(mod))


def test_the_prelude_comes_back_with_its_data_types() -> None:
    mod = relay.Prelude().mod
    back = read_back(mod)
    assert [c.name_hint for c in back.get_type("List")[1:]] == ["Cons", "Nil"]
    assert back.get_constructor("List", "Nil").tag == mod.get_constructor("List", "Nil").tag
    assert infer_module(back).astext() == infer_module(mod).astext()


def test_what_was_one_object_is_one_object() -> None:
    x = relay.var("x", shape=(2,))
    y = relay.exp(x)
    back = read_back((relay.add(y, y), y, {"again": x}))
    assert back[0].args[0] is back[0].args[1] is back[1]
    assert back[2]["again"] is back[1].args[0]


def test_types_and_records_are_saved_too() -> None:
    ty = relay.FuncType(
        [relay.TensorType((relay.Any(), 2), "int8"), relay.RefType(relay.scalar_type("bool"))], relay.TupleType([])
    )
    assert read_back(ty) == ty
    attrs = relay.nn.softmax(relay.var("x", shape=(2, 3)), axis=0).attrs
    assert read_back(attrs) == attrs
    assert read_back((1, True, 2.5, "text", None)) == (1, True, 2.5, "text", None)


def graph(*nodes: dict[str, Any]) -> str:
    version = {"tvm_version": "0.14.0"}
    return json.dumps({"root": 1, "nodes": [{"type_key": ""}, *nodes], "b64ndarrays": [], "attrs": version})


def fields(type_key: str, **attrs: int | str) -> dict[str, Any]:
    return {"type_key": type_key, "attrs": {name: str(value) for name, value in attrs.items()}}


def text(value: str) -> dict[str, Any]:
    return {"type_key": "runtime.String", "repr_str": value}


DENSE = (
    fields(
        "IRModule", attrs=0, functions=2, global_type_var_map_=0, global_var_map_=3, source_map=0, type_definitions=0
    ),
    {"type_key": "Map", "data": [4, 6]},
    {"type_key": "Map", "keys": ["main"], "data": [4]},
    fields("GlobalVar", _checked_type_=0, name_hint=5, span=0, virtual_device_=0),
    text("main"),
    fields("relay.Function", _checked_type_=0, attrs=0, body=14, params=7, ret_type=0, span=0, type_params=0),
    {"type_key": "Array", "data": [8]},
    fields("relay.Var", _checked_type_=0, span=0, type_annotation=11, vid=9),
    fields("relay.Id", name_hint=10),
    text("x"),
    fields("relay.TensorType", dtype="float32", shape=12, span=0),
    {"type_key": "Array", "data": [13, 13]},
    fields("IntImm", dtype="int32", span=0, value=3),
    fields("relay.Call", _checked_type_=0, args=15, attrs=16, op=17, span=0, type_args=0),
    {"type_key": "Array", "data": [8, 8]},
    fields("relay.attrs.DenseAttrs", auto_scheduler_rewritten_layout=18, out_dtype="float32", units=13),
    {"type_key": "Op", "repr_str": "nn.dense"},
    text(""),
)


def test_a_file_with_fewer_fields_as_older_releases_wrote_it_is_read() -> None:
    mod = ir.load_json(graph(*DENSE[:15], fields("relay.attrs.DenseAttrs", out_dtype="float32", units=13), *DENSE[16:]))
    expected = 'def @main(%x: Tensor[(3, 3), float32]) { nn.dense(%x, %x, units=3, out_dtype="float32") }'
    assert isinstance(mod, IRModule)
    assert_structural_equal(infer_module(mod), infer_module(parse(expected)))


def test_deep_programs_are_written_and_read_without_recursion() -> None:
    body: Any = relay.var("x", shape=(2,))
    for _ in range(5000):
        body = relay.exp(body)
    assert len(post_order(read_back(body))) == 5002


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("{", "malformed JSON"),
        ("[]", "malformed JSON of a program"),
        (graph(fields("relay.If", cond=1, true_branch=0, false_branch=0)), "contain themselves"),
        (graph(fields("relay.Tuple", fields=7)), "there is no node 7"),
        (graph({"type_key": "Op", "repr_str": "nn.dens"}), "nn.dens"),
    ],
)
def test_what_is_no_program_is_told(argument: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        ir.load_json(argument)


def test_objects_that_no_file_can_hold_are_refused() -> None:
    with pytest.raises(NodeTypeError, match="an object cannot be saved"):
        ir.save_json(object())
    with pytest.raises(NodeTypeError, match="JSON is a string, not a bytes"):
        ir.load_json(b"{}")


@pytest.mark.parametrize("name", ["net.py", None])
def test_a_span_comes_back(name: str | None) -> None:
    span = relay.Span(name, 3, 5, 7, 11) if name is None else relay.Span(relay.SourceName(name), 3, 5, 7, 11)
    back = read_back(span)
    assert isinstance(back, ir.Span)
    assert (back.source_name, back.line, back.end_line, back.column, back.end_column) == (name, 3, 5, 7, 11)


def test_a_span_without_its_lines_is_told() -> None:
    damaged = ir.save_json(relay.Span(relay.SourceName("net.py"), 3, 5, 7, 11)).replace('"line": "3", ', "")
    with pytest.raises(ParseError, match="lines and columns"):
        ir.load_json(damaged.replace(', "line": "3"', ""))


def test_the_lists_of_a_function_may_be_null() -> None:
    graph = json.loads(ir.save_json(relay.Function([], relay.const(1.0))))
    (function,) = (node for node in graph["nodes"] if node["type_key"] == "relay.Function")
    function["attrs"].update(params="0", type_params="0", ret_type="0", attrs="0", span="0", virtual_device_="0")
    back = ir.load_json(json.dumps(graph))
    assert_structural_equal(back, relay.Function([], relay.const(1.0)))
