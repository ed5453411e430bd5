"""`relay.build`: graphs of kernels, Relay's JSON of them, shared memory that is never shared too early."""

from __future__ import annotations

import json

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.devices import cpu, cuda
from passlab.errors import PasslabError, RunError, VerifyError
from passlab.executor import Graph, GraphModuleDebug, create_graph
from passlab.executor.graph import ExecutorNode
from passlab.executor.graph_codegen import plan_memory
from tests.vm.test_devices import two_devices

NET = """
def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32]) {
  %0 = nn.relu(nn.dense(%x, %w)); (sum(%0, axis=[1]), reshape(%0, newshape=[8]))
}
"""


def inputs(rng):
    return rng.random((2, 8), "float32") - 0.5, rng.random((4, 8), "float32") - 0.5


def test_a_graph_runs_and_runs_again(rng):
    module = relay.build(passlab.parse(NET)).module()
    for _ in range(2):
        x, w = inputs(rng)
        module.set_input("x", x)
        module.run(w=w)
        y = np.maximum(x @ w.T, 0)
        np.testing.assert_allclose(module.get_output(0), y.sum(1), rtol=1e-5)
        np.testing.assert_allclose(module.get_output(1), y.reshape(8), rtol=1e-5)
    assert module.get_num_inputs() == module.get_num_outputs() == 2


def test_inputs_are_converted_where_nothing_is_lost(rng):
    module = relay.build(
        passlab.parse("def @main(%x: Tensor[(2), float32], %n: Tensor[(2), uint8]) { (%x + %x, %n) }")
    ).module()
    module.run(x=np.array([3, -4]), n=np.array([7, 255]))
    np.testing.assert_array_equal(module.get_output(0), np.array([6, -8], "float32"))
    np.testing.assert_array_equal(module.get_output(1), np.array([7, 255], "uint8"))
    module.run(x=[0.1, 0.2])
    np.testing.assert_array_equal(module.get_output(0), np.array([0.2, 0.4], "float32"))
    module.run(x=np.array([0.1, 0.2]))
    np.testing.assert_array_equal(module.get_output(0), np.array([0.2, 0.4], "float32"))
    for name, value in (("n", [256, 0]), ("n", [-1, 0]), ("n", [0.5, 0.0]), ("x", [2**25 + 1, 0])):
        with pytest.raises(RunError, match="dtype differs"):
            module.set_input(name, np.array(value))


def test_tuples_in_tuples_are_flat_in_a_graph(rng):
    text = (
        "def @main(%t: ((Tensor[(2), float32], Tensor[(2), float32]), Tensor[(2), float32])) { %t.0.0 - %t.0.1 * %t.1 }"
    )
    a, b, c = rng.random((3, 2), "float32")
    for kind in ("graph", "vm"):
        got = relay.create_executor(kind, passlab.parse(text)).evaluate()([(a, b), c])
        np.testing.assert_allclose(got, a - b * c, rtol=1e-6)


def test_the_json_has_the_documented_form(rng):
    x, w = inputs(rng)
    graph_json, lib, params = relay.build(passlab.parse(NET), params={"w": w})
    data = json.loads(graph_json)
    assert list(data) == ["nodes", "arg_nodes", "heads", "attrs", "node_row_ptr"]
    assert data["nodes"][0] == {"op": "null", "name": "x", "inputs": []}
    assert data["nodes"][1] == {"op": "null", "name": "p0", "inputs": []}
    kernel = data["nodes"][2]
    assert (kernel["op"], kernel["name"]) == ("tvm_op", "tvmgen_default_fused_nn_dense_nn_relu")
    assert kernel["attrs"] == {"num_outputs": "1", "num_inputs": "2", "flatten_data": "0",
                               "func_name": "tvmgen_default_fused_nn_dense_nn_relu"}  # fmt: skip
    assert kernel["inputs"] == [[0, 0, 0], [1, 0, 0]]
    assert data["arg_nodes"] == [0, 1]
    assert data["attrs"]["dltype"] == ["list_str", ["float32"] * len(data["nodes"])]
    assert data["node_row_ptr"] == list(range(len(data["nodes"]) + 1))
    nop = next(n for n in data["nodes"] if n["name"] == "reshape_nop")
    assert nop["attrs"]["func_name"] == "__nop"
    ids = data["attrs"]["storage_id"][1]
    assert ids[data["nodes"].index(nop)] == ids[2]
    assert list(params) == ["p0"]
    np.testing.assert_array_equal(params["p0"], w)
    module = create_graph(graph_json, lib)
    module.set_input(**params)
    module.run(x=x)
    np.testing.assert_allclose(module.get_output(0), np.maximum(x @ w.T, 0).sum(1), rtol=1e-5)


def test_a_graph_reads_back_as_it_was():
    graph = relay.build(passlab.parse(NET)).graph
    assert Graph.from_json(graph.to_json()) == graph


def test_the_debug_executor_keeps_every_value(rng):
    text = "def @main(%x: Tensor[(5), float32]) { sort(exp(sort(%x))) }"
    module = relay.build(passlab.parse(text)).module(debug=True)
    assert isinstance(module, GraphModuleDebug)
    x = rng.random(5, "float32")
    module.run(x=x)
    first = module.debug_get_output(1)
    np.testing.assert_array_equal(first, np.sort(x))
    assert next(iter(module.node_values())) == "x"
    with pytest.raises(RunError, match="no node"):
        module.debug_get_output("sort")


def test_results_share_memory_when_their_lives_do_not_meet():
    text = "def @main(%x: Tensor[(1000), float32]) {" + "%0 = sort(%x);" + "".join(
        f"%{i} = sort(%{i - 1});" for i in range(1, 9)
    ) + " sort(%8) }"  # fmt: skip
    graph = relay.build(passlab.parse(text)).graph
    assert len(graph.nodes) == 11
    assert len(set(graph.storage_ids)) == 4  # the input, two that alternate, the output


def test_plans_never_give_memory_that_is_still_read():
    rng = np.random.default_rng(3)
    for _ in range(60):
        nodes, rows = [ExecutorNode("x")], [0, 1]
        for i in range(1, 30):
            sources = tuple(
                (int(j), int(rng.integers(nodes[j].num_outputs))) for j in rng.integers(0, i, rng.integers(1, 4))
            )
            nop = len(sources) == 1 and rng.random() < 0.3
            count = 1 if nop else int(rng.integers(1, 3))
            nodes.append(ExecutorNode(f"n{i}", "__nop" if nop else "k", sources, count))
            rows.append(rows[-1] + count)
        heads = [(int(i), 0) for i in rng.integers(0, 30, 2)]
        storage = plan_memory(nodes, heads, [int(s) for s in rng.integers(0, 5000, rows[-1])])
        holds: dict[int, object] = {}
        value: dict[int, object] = {}
        for i, node in enumerate(nodes):
            for j, index in node.inputs:
                assert holds[storage[rows[j] + index]] == value[rows[j] + index]
            for r in range(rows[i], rows[i + 1]):
                value[r] = value[rows[node.inputs[0][0]] + node.inputs[0][1]] if node.func_name == "__nop" else r
                holds[storage[r]] = value[r]
        for j, index in heads:
            assert holds[storage[rows[j] + index]] == value[rows[j] + index]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def @main(%c: bool) { if (%c) { 1 } else { 2 } }", "control flow"),
        ("def @main(%x: Tensor[(?), float32]) { exp(%x) }", "unknown shape"),
        ("def @f(%x: int32) -> int32 { @f(%x) } def @main(%x: int32) { @f(%x) }", "control flow"),
    ],
)
def test_what_a_graph_cannot_say_is_told(text, why):
    with pytest.raises(VerifyError, match=why):
        relay.build(passlab.parse(text))


@pytest.mark.parametrize(
    ("text", "place", "fix"),
    [
        ("def @main(%c: bool) { if (%c) { 1 } else { 2 } }", "if (%c) { 1 } else { 2 }", "`vm` executor"),
        ("def @main(%x: Tensor[(2, 2), float32]) { exp(argwhere(%x)) }", "argwhere(%x)", "use the `vm` executor"),
        ("def @main(%x: Tensor[(?), float32]) { exp(%x) }", "%x: Tensor[(?), float32]", "create_executor"),
        ("def @main(%x: int32) { ref_read(ref(%x)) }", "ref(%x)", "`debug` executor"),
        ("def @main(%x: int32) { let %l = fn (%i: int32) { if (less(%i, 3)) { %l(%i + 1) } else { %i } }; %l(%x) }",
         "%l", "`vm` executor"),
    ],
)  # fmt: skip
def test_the_error_shows_the_place_and_the_executor_that_runs_it(text, place, fix):
    with pytest.raises(VerifyError) as caught:
        relay.build(passlab.parse(text))
    (finding,) = caught.value.diagnostics
    assert fix in finding.hint
    assert finding.place is not None
    assert text[finding.place.column - 1 :].startswith(place[: len(place)])


def test_shapes_that_follow_from_constants_become_known(rng):
    text = "def @main(%x: Tensor[(2, 6), float32]) { dyn.reshape(exp(%x), reverse(shape_of(%x), axis=0), newshape=[]) }"
    x = rng.random((2, 6), "float32")
    module = relay.build(passlab.parse(text)).module()
    module.run(x=x)
    np.testing.assert_allclose(module.get_output(0), np.exp(x).reshape(6, 2), rtol=1e-6)


def test_unknown_dimensions_are_those_of_the_call(rng):
    text = """
        def @main(%p: (Tensor[(?, 3), float32], Tensor[(?), float32]), %w: Tensor[(4, 3), float32]) {
          (nn.relu(nn.dense(%p.0, %w)), %p.1)
        }
    """
    run = relay.create_executor("graph", passlab.parse(text)).evaluate()
    w = rng.random((4, 3), "float32")
    for n in (2, 5, 2):
        x, y = rng.random((n, 3), "float32"), rng.random(n + 1, "float32")
        first, second = run((x, y), w)
        np.testing.assert_allclose(first, x @ w.T, rtol=1e-5)
        np.testing.assert_array_equal(second, y)
    with pytest.raises(RunError, match="shape differs"):
        run((rng.random((2, 4), "float32"), y), w)


def test_functions_that_are_not_recursive_are_taken_apart():
    mod = passlab.parse("""
        def @twice(%x: float32) -> float32 { %x + %x }
        def @main(%x: float32) { let %f = fn (%y: float32) { @twice(%y) * 3f }; %f(%f(%x)) }
    """)
    module = relay.build(mod).module()
    module.run(x=np.float32(2))
    assert float(module.get_output(0)) == 72


def test_wrong_inputs_are_told(rng):
    module = relay.build(passlab.parse(NET)).module()
    with pytest.raises(RunError, match="inputs are not set: w"):
        module.run(x=inputs(rng)[0])
    with pytest.raises(RunError, match="no input `y`"):
        module.set_input("y", 1)
    with pytest.raises(RunError, match="shape differs"):
        module.set_input("x", np.zeros((3, 8), "float32"))
    with pytest.raises(RunError, match="none of number 7"):
        module.get_output(7)


def test_damaged_graphs_are_refused():
    graph_json, lib, _ = relay.build(passlab.parse(NET))
    ahead = json.loads(graph_json)
    ahead["nodes"][2]["inputs"][0] = [9, 0, 0]
    for bad in ("", json.dumps(ahead), "[]", "{", "[" * 100_000, graph_json[:-5], graph_json.replace('"list_shape"', "0, 1"),
                graph_json.replace("float32", "float33"),
                graph_json.replace('"num_outputs": "1"', '"num_outputs": "2"')):  # fmt: skip
        with pytest.raises(PasslabError):
            create_graph(bad, lib)
    with pytest.raises(VerifyError, match="no kernel"):
        create_graph(graph_json, "")
    with pytest.raises(TypeError, match="JSON"):
        create_graph(3, lib)


def devices_of(built) -> dict[str, int]:
    """The kind of device of the first result of each node."""
    graph = json.loads(built.graph_json)
    kinds = graph["attrs"]["device_index"][1]
    return {node["name"]: kinds[row] for node, row in zip(graph["nodes"], graph["node_row_ptr"], strict=False)}


def test_a_program_on_two_devices_copies_between_them(rng):
    mod, expected = two_devices(cuda(0))
    built = relay.build(mod)
    assert devices_of(built) == {
        "x": 2, "y": 1, "p0": 2, "tvmgen_default_fused_exp_multiply": 2, "device_copy": 1,
        "tvmgen_default_fused_multiply_add": 1,
    }  # fmt: skip
    graph = json.loads(built.graph_json)
    (copy,) = [n for n in graph["nodes"] if n["name"] == "device_copy"]
    assert copy["op"] == "tvm_op"
    assert copy["attrs"]["func_name"] == "__copy"
    assert len(copy["inputs"]) == 1
    x, y = rng.random(2, "float32"), rng.random(2, "float32")
    for module in (built.module(), built.module(debug=True), create_graph(built.graph_json, built.lib)):
        module.set_input(**built.params)
        module.run(x=x, y=y)
        np.testing.assert_allclose(module.get_output(0), expected(x, y), rtol=1e-6)


@pytest.mark.parametrize("kind", ["debug", "vm", "graph", "aot"])
def test_every_executor_runs_programs_on_two_devices(kind, rng):
    mod, expected = two_devices(cpu(1))
    x, y = rng.random(2, "float32"), rng.random(2, "float32")
    np.testing.assert_allclose(relay.create_executor(kind, mod).evaluate()(x, y), expected(x, y), rtol=1e-6)
    a = relay.var("a", shape=(2,))
    there = relay.exp(relay.device_copy(relay.sort(a), cpu(0), cpu(1)))
    back = relay.device_copy(there, cpu(1), cpu(0))
    both = relay.Tuple([back, relay.split(back, 2)[1]])
    first, second = relay.create_executor(kind, passlab.IRModule.from_expr(relay.Function([a], both))).evaluate()(x)
    np.testing.assert_allclose(first, np.exp(np.sort(x)), rtol=1e-6)
    np.testing.assert_allclose(second, np.exp(np.sort(x)[1:]), rtol=1e-6)


def test_memory_of_two_devices_is_never_shared():
    x = relay.var("x", shape=(1000,))
    value = x
    for i in range(8):
        value = relay.annotation.on_device(relay.sort(value), cuda(0) if i % 2 else cpu(0))
    graph = relay.build(passlab.IRModule.from_expr(relay.Function([x], relay.sort(value)))).graph
    places = set(zip(graph.storage_ids, graph.device_types, strict=True))
    assert len(places) == len(set(graph.storage_ids))
    assert len({p for p, kind in places if kind == 2}) < sum(kind == 2 for kind in graph.device_types)


def test_the_device_of_the_target_is_that_of_all_results():
    assert set(devices_of(relay.build(passlab.parse(NET), target="cuda")).values()) == {2}
    assert set(devices_of(relay.build(passlab.parse(NET), target="llvm -mcpu=native")).values()) == {1}


def test_a_copy_in_a_file_that_changes_shape_or_dtype_is_an_error():
    built = relay.build(two_devices(cuda(0))[0])
    for damage in (lambda a: a["shape"][1].__setitem__(4, [3]), lambda a: a["dltype"][1].__setitem__(4, "float64")):
        data = json.loads(built.graph_json)
        damage(data["attrs"])
        with pytest.raises(VerifyError, match="device_copy is not a copy"):
            create_graph(json.dumps(data), built.lib)


def test_a_tuple_of_scalars_is_given_as_numbers_or_arrays() -> None:
    pair = relay.var("pair", relay.TupleType([relay.TensorType((), "int64")] * 2))
    rows = relay.var("rows", relay.TensorType((1, 2), "int64"))
    body = relay.add(relay.TupleGetItem(pair, 1), rows)
    run = relay.create_executor("graph", passlab.IRModule.from_expr(relay.Function([pair, rows], body))).evaluate()
    for item in ((10, 8), [10, 8], (np.int64(10), np.array(8)), [np.array(10), np.array(8)]):
        assert run(item, [[1, 2]]).tolist() == [[9, 10]]


def test_functions_of_other_compilers_are_computed_here():
    mod = passlab.parse("""
        def @main(%x: int32) { %0 = @f(%x); (%0, @g(%0)) }
        def @f(%a: int32, Extern=1) -> int32 { multiply(%a, 2) }
        def @g(%a: int32, Compiler="toy", Primitive=1, global_symbol="g") -> int32 { add(%a, 1) }
    """)
    run = relay.create_executor("graph", mod).evaluate()
    assert [int(part) for part in run(np.int32(3))] == [6, 7]
