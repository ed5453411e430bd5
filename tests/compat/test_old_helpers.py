"""Helpers that TVM's suites call: values with TVM's methods, passes that are told a device, machines told their outputs."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest


def test_a_function_is_not_hidden_by_the_module_of_its_name() -> None:
    import tvm
    from tvm import relay

    importlib.import_module("tvm.relay.analysis.count_layers")
    x, w = relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 3, 3))
    mod = tvm.IRModule.from_expr(relay.nn.relu(relay.nn.conv2d(x, w)))
    assert relay.analysis.count_layers(mod, valid_ops=["nn.conv2d"]) == 1


def test_helpers_give_arrays_with_tvms_methods() -> None:
    import tvm
    from tvm import relay

    assert relay.testing.rand("float32", 2, 3).numpy().shape == (2, 3)
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule()
    inner = relay.Function([x], x + x).with_attr("Compiler", "other").with_attr("global_symbol", "part")
    mod["part"] = inner
    y = relay.var("y", shape=(2,))
    mod["main"] = relay.Function([y], mod.get_global_var("part")(y))
    data = relay.analysis.get_calibration_data(relay.transform.InferType()(mod), {"y": np.ones(2, "float32")})
    (flows,) = data.values()
    assert [part.numpy().tolist() for part in flows["outputs"]] == [[2, 2]]


def test_the_first_order_gradient_takes_a_module_and_checks_itself() -> None:
    import tvm
    from tvm import relay

    x = relay.var("x", shape=(3,), dtype="float64")
    sine = relay.Function([x], relay.sin(x))
    relay.testing.check_grad(sine, mode="first_order")
    mod = tvm.IRModule.from_expr(sine)
    with pytest.warns(DeprecationWarning, match="FirstOrderGradient"):
        relay.transform.gradient(mod["main"], mod, mode="first_order")
    assert list(mod.functions) == [mod.get_global_var("main")]


def test_names_of_generated_code_are_checked() -> None:
    import tvm
    from tvm.relay.backend import name_transforms as names

    assert names.to_c_function_style("TVM_Woof_woof") == "TVMWoofWoof"
    for convert, word in ((names.to_c_function_style, "Function"), (names.to_c_constant_style, "Constant")):
        with pytest.raises(tvm.TVMError, match=f"{word} not TVM prefixed"):
            convert("Cake_Bakery")
    for convert in (names.prefix_name, names.prefix_generated_name):
        with pytest.raises(tvm.TVMError, match="Name is empty"):
            convert("")
    with pytest.raises(tvm.TVMError, match="Name is empty"):
        names.sanitize_name("")


def test_executors_are_made_of_what_tvm_gives_them() -> None:
    import tvm
    from tvm import relay
    from tvm.relay.backend import interpreter

    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], x + x))
    lib = relay.build(mod, "llvm", executor=relay.backend.Executor("aot"))
    runner = tvm.runtime.executor.AotModule(lib["default"](tvm.cpu()))
    runner.set_input("x", np.ones(2, "float32"))
    runner.run()
    assert runner.get_output(0).numpy().tolist() == [2, 2]
    run = interpreter.Interpreter(mod, tvm.cpu(), tvm.target.Target("llvm"))
    assert run.evaluate(relay.const(1)).numpy() == 1
    mod = relay.transform.InferType()(relay.transform.ToANormalForm()(mod))
    assert relay.transform.ManifestAlloc(tvm.target.VirtualDevice(tvm.cpu()))(mod)["main"] is mod["main"]
    with pytest.raises(RuntimeError, match="unknown execution strategy"):
        relay.create_executor("no such", mod=mod)
    a, other = relay.var("a", shape=(1,)), relay.var("a", shape=(1,))
    with pytest.raises(ValueError, match="several parameters"):
        relay.build_module.bind_params_by_name(relay.Function([a, other], a + other), {"a": [1.0]})


def test_what_is_saved_are_bytearrays() -> None:
    import tvm
    from tvm import relay, runtime
    from tvm.runtime import vm

    x = relay.var("x", shape=(2,))
    code, library = relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x], x + x)), "llvm").save()
    assert isinstance(code, bytearray)
    machine = vm.VirtualMachine(vm.Executable.load_exec(code, library), tvm.cpu())
    assert machine.run(np.ones(2, "float32")).numpy().tolist() == [2, 2]
    for save, load in (
        (runtime.save_param_dict, runtime.load_param_dict),
        (relay.save_param_dict, relay.load_param_dict),
    ):
        saved = save({"w": np.ones(2, "float32")})
        assert isinstance(saved, bytearray)
        assert load(saved)["w"].tolist() == [1, 1]


def test_programs_in_python_give_tvms_arrays_at_both_addresses() -> None:
    import tvm
    from tvm import relay
    from tvm.relay.testing import py_converter

    for run in (relay.testing.run_as_python, py_converter.run_as_python):
        assert isinstance(run(relay.const(1)), tvm.nd.NDArray)


def test_spans_name_their_text() -> None:
    import tvm
    from tvm import relay

    mod = relay.transform.AnnotateSpans()(tvm.relay.parse('#[version = "0.0.5"]\ndef @main(%y: float32) { exp(%y) }'))
    mod = relay.transform.CapturePostDfsIndexInSpans()(mod)
    assert mod["main"].body.span.source_name.name == "index"
    assert relay.Span(relay.SourceName("f"), 1, 1, 2, 3).source_name.name == "f"
    assert relay.Span(None, 1, 1, 2, 3).source_name is None


def test_simulated_quantization_takes_its_dtype_by_name_and_by_code() -> None:
    from tvm import relay
    from tvm.relay.testing import run_infer_type
    from tvm.topi.nn.qnn import SQNN_DTYPE_TO_CODE

    x = relay.var("x", shape=(2,))
    call = relay.qnn.op.simulated_quantize(x, relay.const(0.5), relay.const(0), out_dtype="uint8")
    assert call.args[1].data.numpy() == SQNN_DTYPE_TO_CODE["uint8"] == 2
    assert run_infer_type(call).checked_type.dtype == "float32"


def test_storage_is_asked_for_as_in_tvm() -> None:
    import tvm
    from tvm import relay

    place = tvm.target.VirtualDevice(tvm.cpu())
    size, shape, alignment = (relay.const(n, "int64") for n in (8, [2], 64))
    attrs = relay.op.memory.alloc_storage(size, shape, alignment, place, "int8").attrs
    assert (attrs.virtual_device.device, attrs.dtype) == (tvm.cpu(), "int8")


def test_importers_find_channels_values_and_operators() -> None:
    import tvm
    from tvm import relay
    from tvm.relay.frontend import common

    x, w = relay.var("x", shape=(2, 3)), common.new_var("w", shape=(8, 4, 1, 1))
    assert (common.infer_channels(w), common.infer_channels(w, transpose=True), common.get_name(w)) == (8, 4, "w")
    assert common.infer_value(relay.add(x, x), {"x": np.ones((2, 3), "float32")}).numpy().tolist() == [[2] * 3] * 2
    assert common.fold_constant(relay.const(1) + relay.const(2)).data.numpy() == 3
    assert common.get_relay_op("conv2d") is not None
    assert common.shape_of(x).data.numpy().tolist() == [2, 3]
    unknown = relay.var("u", shape=(relay.Any(), 3))
    assert common.shape_of(unknown, start=0, end=1).op.name == "strided_slice"
    assert [common.infer_shape(part) for part in common.unbind(x)] == [(3,), (3,)]
    with pytest.raises(tvm.error.TVMError, match="no operator `konv2d`"):
        common.get_relay_op("konv2d")


def test_further_names_of_arrays_files_and_records(tmp_path: Path) -> None:
    import tvm
    from tvm import relay
    from tvm.relay.data_dep_optimization.utils import _run_opt_pass
    from tvm.relay.op.op_attrs import Conv2DAttrs
    from tvm.runtime import profiler_vm

    x, w = relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 1, 1))
    conv = relay.nn.conv2d(x, w)
    assert isinstance(conv.attrs, Conv2DAttrs)
    assert isinstance(conv, relay.expr.ExprWithOp)
    assert relay.analysis.extract_operators(tvm.IRModule.from_expr(conv)) == ["nn.conv2d"]
    assert _run_opt_pass(relay.Function([x, w], conv), relay.transform.InferType()).ret_type.shape == (1, 4, 8, 8)
    assert profiler_vm.enabled()
    array = tvm.nd.from_dlpack(np.arange(3))
    assert tvm.nd.numpyasarray(array).numpy().tolist() == [0, 1, 2]
    tvm.runtime.save_param_dict_to_file({"p": array}, str(tmp_path / "p"))
    assert tvm.runtime.load_param_dict_from_file(str(tmp_path / "p"))["p"].numpy().tolist() == [0, 1, 2]
    with pytest.raises(ImportError):
        from tvm.relay.op.op_attrs import NoSuchAttrs  # noqa: F401


def test_workloads_seed_numpy_and_draw_from_it() -> None:
    from tvm import relay
    from tvm.relay.testing import create_workload

    weight = relay.var("a_weight", shape=(4, 2))
    drawn = []
    for _ in range(2):
        _, params = create_workload(relay.Function([weight], relay.exp(weight)), seed=3)
        drawn.append(np.random.rand(5))  # noqa: NPY002 - the generator that TVM seeds
    old = np.random.RandomState(3)
    np.testing.assert_array_equal(params["a_weight"].numpy(), old.uniform(-1, 1, (4, 2)).astype("float32"))
    np.testing.assert_array_equal(drawn, [old.rand(5)] * 2)


def test_the_text_of_a_module_has_spans() -> None:
    import tvm
    from tvm import relay

    mod = tvm.relay.parse('#[version = "0.0.5"]\ndef @main(%y: float32) { exp(%y) }')
    mod = relay.transform.CapturePostDfsIndexInSpans()(mod)
    assert "span=index:0:2" in str(mod)
    assert "span=index:0:2" in mod.astext()
    assert "#[version" not in str(mod)


def test_sparse_matrices_have_whole_random_blocks() -> None:
    from tvm.topi.sparse.utils import random_bsr_matrix

    matrix = random_bsr_matrix(8, 12, 2, 3, 0.5, "float32")
    assert (matrix.shape, matrix.blocksize, matrix.dtype) == ((8, 12), (2, 3), np.dtype("float32"))
    assert matrix.data.shape == (9, 2, 3)  # 48 of 96 elements are 8 blocks, and one more
    with pytest.raises(ValueError, match="no whole blocks"):
        random_bsr_matrix(9, 12, 2, 3, 0.5, "float32")


def test_types_of_plain_values_are_instances_of_their_class() -> None:
    import tvm

    assert isinstance(tvm.ir.PrimType("int32"), tvm.ir.PrimType)
    assert not isinstance(tvm.ir.TensorType((1,), "int32"), tvm.ir.PrimType)
