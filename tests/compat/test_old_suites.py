"""What suites of tests for TVM lean on: parameters of classes, devices of parts, nodes with other fields, layouts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import passlab.compat
from passlab.errors import PasslabError

SUITE = """
import numpy as np
import tvm, tvm.testing
from tvm import autotvm, relay, te, topi
from tvm.script import tir as T

pytest_plugins = ["tvm.testing.plugin"]
kind = tvm.testing.parameter("graph", "vm")

class TestReduce:
    config = {"sum": (relay.sum, np.sum), "max": (relay.max, np.max)}
    op, reference = tvm.testing.parameters(*config.values(), ids=config.keys())
    axis = tvm.testing.parameter(0, 1)

    @tvm.testing.fixture
    def shape(self, axis):
        return (3, 4 + axis)

    @tvm.testing.fixture(cache_return_value=True)
    def data(self, shape):
        return np.random.default_rng(0).standard_normal(shape).astype("float32")

    def test_values(self, target, dev, kind, op, reference, axis, data):
        assert tvm.target.Target(target).kind.name == "llvm"
        x = relay.var("x", shape=data.shape)
        run = relay.create_executor(kind, device=dev, target=target).evaluate(relay.Function([x], op(x, axis)))
        tvm.testing.assert_allclose(run(data).numpy(), reference(data, axis), rtol=1e-5)

@tvm.testing.requires_cuda
def test_elsewhere():
    assert False

class TestCode:
    @tvm.testing.fixture
    def code(self, target):
        return target + " code"

    @tvm.testing.parametrize_targets("cuda", "llvm -mcpu=core-avx2", "c")
    def test_targets(self, code, kind):
        assert code in ("llvm -mcpu=core-avx2 code", "c code")

    @tvm.testing.parametrize_targets("cuda -libs=cublas")
    def test_libraries(self, target, dev):
        assert False
"""


@pytest.mark.rotating
def test_a_suite_with_parameters_of_classes_runs(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE.replace('pytest_plugins = ["tvm.testing.plugin"]\n', ""), "utf-8")
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["tvm.testing.plugin"]\n', "utf-8")
    command = [sys.executable, "-m", "passlab.compat", "-m", "pytest", "-p", "no:randomly", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "12 passed, 2 skipped" in done.stdout, done.stdout + done.stderr


def test_parts_are_found_on_the_devices_where_a_plan_put_them() -> None:
    import tvm
    from tvm import relay

    cpu, gpu = (tvm.target.VirtualDevice(tvm.device(kind), tvm.target.Target(kind)) for kind in ("llvm", "cuda"))
    a, b = (relay.var(name, shape=(2,)) for name in "ab")
    inner = relay.exp(a)
    body = relay.annotation.on_device(inner, tvm.cpu()) + b
    context = tvm.transform.PassContext(config={"relay.fallback_device_type": gpu.device_type_int})
    config = tvm.target.make_compilation_config(context, [tvm.target.Target("llvm"), tvm.target.Target("cuda")])
    assert (config.host_virtual_device.device, config.default_primitive_virtual_device) == (cpu.device, gpu)
    assert config.optional_homogeneous_target is None
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([a, b], body)))
    planned = relay.transform.PlanDevices(config)(mod)["main"]
    places = tvm.get_global_func("relay.transform.RecoverVirtualDeviceMap")(mod, planned)
    kinds = {str(e.op) if isinstance(e, relay.Call) else type(e).__name__: d.device.kind for e, d in places.items()}
    assert [places[p].device.kind for p in planned.params] == ["cpu", "cuda"]
    assert (kinds["exp"], kinds["device_copy"], kinds["add"], kinds["Function"]) == ("cpu", "cuda", "cuda", "cuda")


def test_a_value_without_a_constraint_has_no_device() -> None:
    import tvm
    from tvm import relay

    free = relay.annotation.on_device(relay.var("x"), "cuda", constrain_result=False, constrain_body=False)
    fixed = relay.annotation.on_device(relay.var("x"), "cuda", constrain_result=True)
    place = free.attrs.virtual_device
    assert isinstance(place, tvm.target.VirtualDevice)
    assert (place.device_type_int, place.virtual_device_id, place.target, place.memory_scope) == (-1, -1, None, "")
    assert fixed.attrs.virtual_device.device_type_int == 2
    assert "virtual_device" not in free.astext()
    assert tvm.ir.structural_equal(free, tvm.ir.load_json(tvm.ir.save_json(free)), map_free_vars=True)


def test_operators_and_libraries_under_other_names() -> None:
    from tvm import relay
    from tvm.contrib import cudnn

    assert not cudnn.exists()
    data, updates = relay.const(np.zeros(3, "float32")), relay.const(np.ones(2, "float32"))
    added = relay.op.scatter_add(data, relay.const(np.array([1, 1])), updates, 0)
    assert relay.create_executor("debug").evaluate(added).numpy().tolist() == [0, 2, 0]
    counts = relay.vision.get_valid_counts(relay.var("x", shape=(1, 4, 6)), 0.5)
    assert "score_threshold=None" in counts.astext()


def test_nodes_with_other_fields_and_spans() -> None:
    import tvm
    from tvm import relay
    from tvm.relay import expr

    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    span = relay.Span(relay.SourceName("model"), 3, 3, 1, 9)
    call = expr.CallWithFields(relay.add(x, y), relay.op.get("multiply"), None, None, None, None, span)
    assert (call.op.name, call.args, call.span) == ("multiply", (x, y), span)
    assert x.vid.same_as(call.args[0].vid)
    assert not x.vid.same_as(relay.var("x").vid)
    assert expr.VarWithFields(x, relay.var("z").vid, relay.TensorType((3,))).name_hint == "z"
    assert expr.TupleWithFields(relay.Tuple([x]), [y]).fields == (y,)
    assert expr.TupleGetItemWithFields(relay.TupleGetItem(x, 0), index=2).index == 2
    function = relay.function.FunctionWithFields(relay.Function([x], x), body=y, virtual_device=tvm.cpu())
    assert (function.body, function.virtual_device) == (y, tvm.cpu())
    assert relay.SequentialSpan([span, None, relay.SequentialSpan([span])]).spans == (span, span)
    with pytest.raises(tvm.error.DiagnosticError, match="no span"):
        relay.SpanCheck().visit(call)


def test_values_of_runs_are_tvms_containers() -> None:
    import tvm
    from tvm import relay
    from tvm.relay.prelude import Prelude

    x = relay.var("x", shape=(4,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.split(x, 2).astuple()))
    parts = relay.create_executor("vm", mod=mod).evaluate()(np.zeros(4, "float32"))
    prelude = Prelude(tvm.IRModule())
    one = relay.create_executor("vm", mod=prelude.mod).evaluate(prelude.Cons(relay.const(1), prelude.Nil()))
    container = tvm.runtime.container.ADT
    assert isinstance(parts, container)
    assert isinstance(one, container)
    assert not isinstance(parts[0], container)
    assert container(0, [1, 2]) == (1, 2)


def test_an_executable_is_read_as_a_module(tmp_path: Path) -> None:
    import tvm
    from tvm import relay, runtime

    x, big = relay.var("x", shape=(512,)), np.arange(512, dtype="float32")
    compiled = relay.vm.compile(tvm.IRModule.from_expr(x + relay.const(big)), "llvm")
    constants, library = str(tmp_path / "constants"), str(tmp_path / "lib.so")
    compiled.move_late_bound_consts(constants, byte_limit=256)
    compiled.mod.export_library(library)
    mod = runtime.load_module(library)
    mod["load_late_bound_consts"](constants)
    machine = runtime.vm.VirtualMachine(runtime.vm.Executable(mod), tvm.cpu())
    assert machine.invoke("main", big).numpy().tolist() == (2 * big).tolist()
    with pytest.raises(tvm.error.TVMError, match="no function"):
        mod["nothing"]
    mod = runtime.load_module(library)
    mod["load_late_bound_consts_from_map"]({"const_0": big})
    assert runtime.vm.VirtualMachine(mod, tvm.cpu()).invoke("main", big).numpy().tolist() == (2 * big).tolist()


def test_strictness_gives_way_to_what_tvm_does() -> None:
    import tvm
    from tvm import relay
    from tvm.contrib import graph_executor
    from tvm.relay.prelude import Prelude

    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))
    mod = tvm.IRModule.from_expr(relay.Function([x, y], x + y))
    graph = graph_executor.GraphModule(relay.build(mod, "llvm")["default"](tvm.cpu()))
    graph.set_input("x", np.ones(3, "float32"))
    with pytest.warns(RuntimeWarning, match="read as zeros: y"):
        graph.run()
    assert graph.get_output(0).numpy().tolist() == [1, 1, 1]
    ((name, function),) = mod.functions.items()
    assert mod.functions.items()[0] == (name, function)
    assert (name.name_hint, mod.functions[name]) == ("main", function)
    assert len(Prelude(tvm.IRModule()).mod.get_type("tensor_float32_t")) == 9
    assert len(Prelude(tvm.IRModule()).mod["tensor_concatenate_int64"].params) == 2
    passlab.compat.uninstall()
    with pytest.raises(PasslabError, match="inputs are not set: x"):
        passlab.relay.build(mod, "llvm").module().run()
    assert not isinstance(mod.functions.items(), list)


def test_layouts_have_a_name_and_may_be_unknown() -> None:
    import tvm

    layout = tvm.tir.layout("NCHW16c")
    assert (layout.name, bool(layout), bool(tvm.tir.layout("__undef__"))) == ("NCHW16c", True, False)
    assert passlab.compat.is_installed()


def test_parts_for_the_c_compiler_are_annotated() -> None:
    import tvm
    from tvm import relay
    from tvm.relay.testing import byoc

    x, *w = (relay.var(name, shape=(4,)) for name in "xabcd")
    part = relay.multiply(relay.subtract(relay.add(relay.exp(x), w[0]), w[1]), w[2])
    body = relay.concatenate((part, relay.subtract(relay.add(x, w[3]), w[0])), 0)
    mod = tvm.IRModule.from_expr(byoc.CcompilerAnnotator().visit(relay.Function([x, *w], body)))
    mod = relay.transform.InferType()(relay.transform.PartitionGraph("m")(mod))
    (name,) = {v.name_hint for v in mod.get_global_vars()} - {"main"}
    assert sorted(relay.testing.count_ops(mod[name])) == ["add", "multiply", "subtract"]
    data = [np.full(4, number, "float32") for number in range(1, 6)]
    result = relay.create_executor("vm", mod).evaluate()(*data).numpy()
    expected = [(np.exp(data[0]) + data[1] - data[2]) * data[3], data[0] + data[4] - data[1]]
    np.testing.assert_allclose(result, np.concatenate(expected), rtol=1e-6)


def test_importers_run_with_and_without_spans_and_say_what_is_not_implemented() -> None:
    onnx = pytest.importorskip("onnx", reason="models are read by onnx: pip install onnx")
    import tvm
    from tvm import relay

    def model(operator: str) -> Any:
        return onnx.parser.parse_model(
            f'<ir_version: 8, opset_import: ["" : 18]> net (float[2, 3] x) => (float[2, 3] y) {{ y = {operator}(x) }}'
        )

    with tvm.testing.disable_span_filling():
        bare, _ = relay.frontend.from_onnx(model("Relu"), {"x": (2, 3)}, opset=18, freeze_params=False)
    with tvm.testing.enable_span_filling():
        filled, params = relay.frontend.from_onnx(model("Relu"), {"x": (2, 3)}, convert_config={})
    assert tvm.ir.structural_equal(bare, filled)
    assert params == {}
    with pytest.raises(tvm.error.OpNotImplemented, match="Nope"):
        relay.frontend.from_onnx(model("Nope"))
    assert tvm.testing.get_dtype_range("uint8") == (0, 255)


def test_a_bijective_layout_moves_elements_as_layout_transform_does() -> None:
    import tvm
    from tvm import relay

    for source, target, shape in (("NCHW", "NCHW4c", (1, 8, 2, 3)), ("NCHW4c", "HWNC2c", (1, 2, 2, 3, 4))):
        layout = tvm.tir.bijective_layout(source, target)
        data = np.arange(48, dtype="float32").reshape(shape)
        moved = (
            relay.create_executor("debug").evaluate(relay.layout_transform(relay.const(data), source, target)).numpy()
        )
        assert layout.forward_shape(shape) == moved.shape
        assert layout.backward_shape(moved.shape) == shape
        for index in np.ndindex(*shape):
            assert moved[layout.forward_index(index)] == data[index]
            assert layout.backward_index(layout.forward_index(index)) == index
    unknown = tvm.tir.BijectiveLayout("NCHW", "NHWC").forward_shape((relay.Any(), 32, 7, relay.Any()))
    assert (unknown[0], unknown[1:]) == (relay.Any(), (7, relay.Any(), 32))
    with pytest.raises(tvm.error.TVMError, match="axes"):
        tvm.tir.bijective_layout("NCHW", "NCW")


def test_tvms_strings_in_attributes_equal_pythons() -> None:
    import tvm
    from tvm import relay

    x = relay.var("x", shape=(2,))
    marked = relay.Function([x], x).with_attr("Compiler", tvm.tir.StringImm("a"))
    read = tvm.ir.load_json(tvm.ir.save_json(marked))
    assert marked.attrs["Compiler"].value == "a"
    assert isinstance(read.attrs["Compiler"], tvm.tir.StringImm)
    assert tvm.ir.structural_equal(marked, read)
    assert tvm.ir.structural_hash(marked) == tvm.ir.structural_hash(read)
    assert tvm.ir.structural_equal([tvm.tir.StringImm("a")], ["a"])
    assert not tvm.ir.structural_equal([tvm.tir.StringImm("a")], ["b"])
    assert not tvm.ir.structural_equal(marked, relay.Function([x], x).with_attr("Compiler", "b"))
    assert not tvm.ir.structural_equal(
        relay.Function([x], x).with_attr("n", "1"), relay.Function([x], x).with_attr("n", 1)
    )


def test_literals_equal_their_values_and_read_back_from_json_with_their_dtypes() -> None:
    import tvm

    for value in (tvm.tir.IntImm("int64", 3), tvm.tir.FloatImm("float16", 0.5), tvm.tir.StringImm("s")):
        read = tvm.ir.load_json(tvm.ir.save_json(value))
        assert (type(read), read, read.dtype) == (type(value), value, value.dtype)
        assert tvm.ir.structural_equal(value, value.value)
        assert tvm.ir.structural_hash(value) == tvm.ir.structural_hash(value.value)
        assert not tvm.ir.structural_equal(value, True)


def test_a_program_changes_its_dtype() -> None:
    import tvm
    from tvm import relay
    from tvm.relay.frontend.change_datatype import ChangeDatatype

    x, i = relay.var("x", shape=(2,)), relay.var("i", shape=(2,), dtype="int32")
    mod = relay.transform.InferType()(
        tvm.IRModule.from_expr(relay.Function([x, i], relay.take(x * relay.const(0.1), i)))
    )
    change = ChangeDatatype("float32", "float64")
    changed = relay.transform.InferType()(change(mod))
    assert tvm.ir.structural_equal(
        changed["main"].body,
        relay.transform.InferType()(tvm.IRModule.from_expr(change.visit(mod["main"])))["main"].body,
        map_free_vars=True,
    )
    assert [p.checked_type.dtype for p in changed["main"].params] == ["float64", "int32"]
    data, index = np.array([1.0, 2.0]), np.array([1, 0], "int32")
    result = relay.create_executor("vm", changed).evaluate()(data, index).numpy()
    assert (result.dtype, result.tolist()) == (np.float64, (data * np.float64(np.float32(0.1)))[index].tolist())
