"""TVM's direct interfaces to compilation, and the labels and findings that its tests read."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

X = np.array([1.0, -2.0, 3.0], "float32")


def _exp() -> Any:
    import tvm
    from tvm import relay

    x = relay.var("x", shape=(3,))
    return tvm.IRModule.from_expr(relay.Function([x], relay.exp(x)))


def test_a_build_in_steps() -> None:
    import tvm
    from tvm import relay
    from tvm.contrib import graph_executor

    builder = relay.build_module.BuildModule()
    with pytest.raises(tvm.TVMError, match="nothing is built"):
        builder.get_module()
    graph, library, params = builder.build(_exp(), "llvm", params={})
    assert (graph, library, params) == (builder.get_graph_json(), builder.get_module(), builder.get_params())
    module = graph_executor.create(graph, library, tvm.cpu())
    module.run(x=X)
    np.testing.assert_allclose(module.get_output(0).numpy(), np.exp(X), rtol=1e-6)
    assert builder.get_function_metadata().keys() == relay.build(_exp(), "llvm").function_metadata.keys()


@pytest.mark.parametrize("executor", ["graph", "aot"])
def test_sizes_of_functions_are_told_in_bytes(executor: str) -> None:
    import tvm
    from tvm import relay
    from tvm.relay.backend import Executor

    x, y = relay.var("x", shape=(3, 4)), relay.var("y", shape=(5, 4))
    mod = tvm.IRModule.from_expr(relay.Function([x, y], relay.exp(relay.nn.dense(relay.tanh(x), y))))
    facts = relay.build(
        mod, "llvm", executor=Executor(executor), params={"y": np.ones((5, 4), "float32")}
    ).function_metadata
    main = facts.pop("__tvm_main__")
    if executor == "graph":
        assert [*main.constant_sizes.values()] == [5 * 4 * 4]
        assert [*main.io_sizes.values()] == [(3 * 4 + 5 * 4 + 3 * 5) * 4]
    for kernel in facts.values():
        (function,) = kernel.relay_primfuncs.values()
        assert function.attrs["Primitive"].value == 1
        assert next(iter(kernel.io_sizes.values())) >= 3 * 4 * 4


def test_equal_functions_have_one_kernel() -> None:
    from tvm import relay
    from tvm.relay.backend import te_compiler

    compiler = te_compiler.get()
    first, second = compiler.lower(_exp()["main"], "llvm"), compiler.lower(_exp()["main"], "llvm")
    assert first.same_as(second)
    assert not first.same_as(compiler.lower(relay.Function([], relay.const(1)), "llvm"))
    out = np.zeros(3, "float32")
    compiler.jit(_exp()["main"], "llvm")(X, out)
    np.testing.assert_allclose(out, np.exp(X), rtol=1e-6)
    assert compiler.items()
    compiler.clear()
    assert not compiler.items()


def test_functions_are_labelled_with_their_hash() -> None:
    import tvm
    from tvm import relay

    optimized, _ = relay.vm.VMCompiler().optimize(_exp(), target="llvm")
    assert all("hash" in function.attrs for function in optimized.functions.values())
    labels = [
        relay.transform.LabelOps()(mod)["main"].attrs["hash"]
        for mod in (_exp(), _exp(), tvm.IRModule.from_expr(relay.const(1)))
    ]
    assert labels[0] == labels[1] != labels[2]


def test_memory_plans_are_maps_as_in_older_versions() -> None:
    import tvm
    from tvm import relay

    x = relay.var("x", shape=(10,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(relay.exp(relay.exp(x)))))
    mod = relay.transform.FuseOps(0)(relay.transform.InferType()(mod))
    plan = relay.backend._backend.GraphPlanMemory(relay.transform.InferType()(mod)["main"])
    rows = plan.items()
    assert {kind.value for _, row in rows for kind in row[1]} == {1}
    assert {size.value for _, row in rows for size in row[2]} == {40}
    assert len({storage.value for _, row in rows for storage in row[0]}) == len(rows) - 1


def test_tuples_as_lists_of_their_parts() -> None:
    from tvm import relay

    one, two = relay.TensorType((1,)), relay.TensorType((2,), "int8")
    ty = relay.TupleType([one, relay.TupleType([two, one])])
    assert relay.op.memory.flatten_tuple_type(ty) == [one, two, one]
    x = relay.Var("x", ty)
    parts = relay.op.memory.from_tuple_type(ty, x)
    assert str(parts[0]).endswith("%x.0")
    assert [part.index for part in parts] == [0, 0, 1]
    whole = relay.op.memory.to_tuple_type(ty, parts)
    assert whole.fields[0] is parts[0]
    assert whole.fields[1].fields == tuple(parts[1:])
    assert relay.op.memory.to_tuple_type(one, [x]) is x


def test_a_time_evaluator_that_a_program_replaces_is_used() -> None:
    import tvm
    from tvm import relay
    from tvm.contrib import graph_executor

    result = tvm.runtime.module.BenchmarkResult([1, 2, 2, 5])
    graph = graph_executor.GraphModule(relay.build(_exp(), "llvm")["default"](tvm.cpu()))
    machine = tvm.runtime.vm.VirtualMachine(relay.vm.compile(_exp(), "llvm"), tvm.cpu())
    assert len(machine.benchmark(tvm.cpu(), X, repeat=2, number=1).results) == 2
    assert machine.benchmark(tvm.cpu(), x=X, repeat=2, number=1, end_to_end=True, func_name="main").mean > 0
    with patch.object(tvm.runtime.module.Module, "time_evaluator", return_value=lambda *_: result):
        assert graph.benchmark(tvm.cpu(), x=X, func_name="run", repeat=2, number=1) is result
        assert machine.benchmark(tvm.cpu(), X, func_name="main", repeat=2, number=1) is result
    assert (result.mean, result.median, result.max, result.min, result.std) == (2.5, 2.0, 5, 1, 1.5)


def test_a_renderer_reads_tvms_message_and_gets_tvms_error() -> None:
    import tvm
    from tvm import relay
    from tvm.ir.diagnostics import get_renderer, override_renderer

    x = relay.var("x", shape=(2,))
    text = "def @f(%x: Tensor[(1), float32]) { %x } def @main(%y: Tensor[(2), float32]) { @f(%y) }"
    findings: list[Any] = []
    override_renderer(lambda context: findings.extend(context.diagnostics))
    try:
        with pytest.raises(tvm.error.DiagnosticError) as caught:
            relay.transform.InferType()(relay.fromtext(text))
        assert caught.type is tvm.error.DiagnosticError
        with pytest.raises(tvm.error.DiagnosticError):
            relay.transform.InferType()(tvm.IRModule.from_expr(relay.nn.dense(x, x)))
    finally:
        override_renderer(None)
    assert "dimension 0 conflicts: 2 does not match 1" in findings[0].message
    assert len(findings) == 2
    assert get_renderer() is not None


def test_records_have_the_interface_of_attributes() -> None:
    import tvm

    record = tvm.ir.make_node("attrs.TestAttrs", name="xx", padding=(3, 4))
    assert (record.name, record.axis, [size.value for size in record.padding]) == ("xx", 10, [3, 4])
    for wrong in ({"unknown_key": 1, "name": "xx"}, {"axis": 100, "name": "xx"}, {}):
        with pytest.raises(AttributeError):
            tvm.ir.make_node("attrs.TestAttrs", **wrong)
    attrs = tvm.ir.make_node("relay.attrs.Conv2DAttrs", channels=8, kernel_layout="HWIO", padding=(0, 1, 2, 3))
    assert (attrs.get_int("channels"), attrs.get_str("kernel_layout")) == (8, "HWIO")
    assert attrs.get_int_tuple("padding") == (0, 1, 2, 3)
    assert "channels" in [field.name for field in attrs.list_field_info()]
    numbers = tvm.ir.make_node("DictAttrs", x=1, padding=(0, 2))
    assert (numbers.x.value, numbers["padding"][1].value) == (1, 2)


def test_records_are_read_from_text_and_hold_numbers_of_any_class() -> None:
    import tvm
    from tvm import relay

    text = '#[version = "0.0.5"]\ndef @main() { (fn () { 1 })(name="a", attrs_type_key="attrs.TestAttrs") }'
    call = relay.parse(text)["main"].body
    assert call.attrs == tvm.ir.make_node("attrs.TestAttrs", name="a")
    x = relay.var("x", shape=(2,))
    function = relay.Function([x], x)
    for number, same in ((tvm.tir.IntImm("int32", 1), 1), (tvm.tir.FloatImm("float32", 0.5), 0.5)):
        assert tvm.ir.structural_equal(function.with_attr("key", number), function.with_attr("key", same))


def test_operators_tell_their_arguments() -> None:
    from tvm import relay

    conv = relay.op.get("nn.conv2d")
    assert ([a.name for a in conv.arguments], conv.attrs_type_key) == (["data", "weight"], "relay.attrs.Conv2DAttrs")
    assert "windows" in conv.description


def test_a_target_is_exported() -> None:
    import tvm

    target = tvm.target.Target({"kind": "llvm", "keys": ["arm_cpu", "cpu"], "mcpu": "x"}, host="c")
    assert target.export() == {"kind": "llvm", "keys": ["arm_cpu", "cpu"], "mcpu": "x", "host": {"kind": "c"}}
    assert tvm.target.Target(target.export()) == target
