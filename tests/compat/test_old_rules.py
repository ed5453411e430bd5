"""Rules and passes that TVM's suites reach by private names: padding for tensor cores, memory in use, local types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from passlab.compat import conversion_rules
from passlab.errors import PasslabError

X = np.linspace(-1, 1, 60, dtype="float32")


def _legalized(op: str, rule: str, expr: Any, target: str = "cuda") -> Any:
    import tvm
    from tvm import relay, topi
    from tvm.relay.testing.temp_op_attr import TempOpAttr

    mod = relay.transform.InferType()(tvm.IRModule.from_expr(expr))
    with TempOpAttr(op, "FTVMLegalize", getattr(topi.nn, rule)), tvm.target.Target(target):
        return mod, relay.transform.Legalize()(mod)


def _values(mod: Any) -> np.ndarray:
    from tvm import relay

    rng = np.random.default_rng(0)
    data = [rng.integers(-3, 3, p.type_annotation.concrete_shape).astype("float16") for p in mod["main"].params]
    result: np.ndarray = relay.create_executor("debug", mod=mod).evaluate()(*data).numpy()
    return result


# ------------------------------------------------------------ padding for tensor cores
@pytest.mark.parametrize(("m", "k", "n"), [(7, 16, 32), (8, 15, 31), (16, 16, 15), (6, 40, 30)])
def test_a_padded_product_has_sizes_of_a_tensor_core_and_the_same_values(m: int, k: int, n: int) -> None:
    from tvm import relay

    x, w = relay.var("x", shape=(m, k), dtype="float16"), relay.var("w", shape=(n, k), dtype="float16")
    before, after = _legalized("nn.dense", "dense_legalize", relay.nn.dense(x, w))
    assert "nn.pad" in after.astext()
    assert _sizes(after, "nn.dense") in {(16, 16, 16), (8, 16, 32), (8, 48, 32)}
    np.testing.assert_array_equal(_values(after), _values(before))


def _sizes(mod: Any, op: str) -> tuple[int, ...]:
    from tvm import relay

    calls: list[Any] = []
    relay.analysis.post_order_visit(mod["main"], lambda e: calls.append(e) if isinstance(e, relay.Call) else None)
    data, weight = next(call.args for call in calls if call.op.name == op)
    (rows, inner), columns = data.checked_type.shape[-2:], weight.checked_type.shape[-2]
    return int(rows), int(inner), int(columns)


def test_a_padded_convolution_has_the_same_values() -> None:
    from tvm import relay

    x, w = relay.var("x", shape=(7, 5, 5, 13), dtype="float16"), relay.var("w", shape=(3, 3, 13, 31), dtype="float16")
    conv = relay.nn.conv2d(
        x, w, channels=31, kernel_size=(3, 3), padding=(1, 1), data_layout="NHWC", kernel_layout="HWIO"
    )
    before, after = _legalized("nn.conv2d", "conv2d_legalize", conv)
    assert "channels=32" in after.astext()
    assert "pad_width=[[0, 1], [0, 0], [0, 0], [0, 3]]" in after.astext()
    np.testing.assert_array_equal(_values(after), _values(before))


@pytest.mark.parametrize(
    ("shape", "target"), [((8, 16), "cuda"), ((1, 16), "cuda"), ((7, 16), "llvm")], ids=["fits", "wasteful", "no core"]
)
def test_a_product_stays_if_padding_is_no_use(shape: tuple[int, int], target: str) -> None:
    from tvm import relay

    x, w = relay.var("x", shape=(4, *shape), dtype="int8"), relay.var("w", shape=(4, 32, 16), dtype="int8")
    product = relay.nn.batch_matmul(x, w)
    before, after = _legalized("nn.batch_matmul", "batch_matmul_legalize", product, target)
    assert after is before


# ------------------------------------------------------------ memory in use
def _primitive(*shape: Any) -> Any:
    from tvm import relay

    x = relay.var("x", shape=shape, dtype="int16")
    return relay.Function([x], relay.nn.relu(x)).with_attr("Primitive", 1)


def test_the_bytes_in_use_are_noted_for_each_call() -> None:
    import tvm
    from tvm import relay

    x = relay.var("x", shape=(2, 3), dtype="int16")  # 12 bytes
    first, twice = _primitive(2, 3), _primitive(2, 3)
    y = relay.Call(first, [x])
    z = relay.Call(twice, [relay.Call(twice, [x])])
    mod = tvm.IRModule.from_expr(relay.concatenate([y, z], axis=0))
    mod = relay.transform.InferType()(relay.transform.ToANormalForm()(relay.transform.InferType()(mod)))
    main = relay.transform._ffi_api.AnnotateUsedMemory()(mod)["main"]
    assert main.attrs["io_used_memory"] == 12 + 24
    bound = []
    body = main.body
    while isinstance(body, relay.Let):
        bound.append(body.value)
        body = body.body
    used = [[int(n) for n in f.attrs["used_memory"]] for f in bound if isinstance(f, relay.Function)]
    assert used == [[24], [36, 36]]  # x is alive after the first call, y during the other two


def test_memory_of_unknown_size_is_refused() -> None:
    import tvm
    from tvm import relay

    mod = tvm.IRModule.from_expr(relay.Call(_primitive(relay.Any(), 3), [relay.var("x", shape=(2, 3), dtype="int16")]))
    mod = relay.transform.InferType()(relay.transform.ToANormalForm()(relay.transform.InferType()(mod)))
    with pytest.raises(tvm.TVMError, match="AnnotateUsedMemory does not support dynamic shapes"):
        tvm.get_global_func("relay._transform.AnnotateUsedMemory")()(mod)


# ------------------------------------------------------------ local types
def test_infer_type_local_gives_a_type_to_the_expression_itself() -> None:
    from tvm import relay

    import passlab.compat
    from passlab.errors import TypeInferenceError

    x = relay.var("x", shape=(2,))
    scope = relay.ScopeBuilder()
    scope.ret(relay.add(scope.let("y", relay.exp(x)), x))
    function = relay.Function([x], scope.get())
    assert relay.transform.InferTypeLocal(function) == relay.FuncType([x.type_annotation], x.type_annotation)
    assert function.checked_type == relay.FuncType([x.type_annotation], x.type_annotation)
    with pytest.raises(TypeInferenceError, match="has no type yet"):
        _ = function.body.checked_type
    passlab.compat.uninstall()
    with pytest.raises(TypeInferenceError, match="has no type yet"):
        _ = function.checked_type


def test_infer_type_local_is_changed_where_it_was_used_before() -> None:
    import passlab.compat
    from passlab import relay

    passlab.compat.uninstall()
    assert relay.transform.InferTypeLocal(relay.const(1)) == relay.TensorType((), "int32")
    passlab.compat.install()
    function = relay.Function([], relay.Tuple([]))
    assert relay.transform.InferTypeLocal(function) == function.checked_type


# ------------------------------------------------------------ rules of quantization
def _quantized(op: Any, count: int) -> Any:
    import tvm
    from tvm import relay

    zero, step = relay.const(0), relay.const(0.5)
    inputs = [relay.qnn.dequantize(relay.var(f"x{i}", shape=(4,), dtype="int8"), step, zero) for i in range(count)]
    mod = tvm.IRModule.from_expr(relay.qnn.quantize(op(*inputs), step, zero, out_dtype="int8"))
    return relay.transform.InferType()(mod)


def test_rules_of_ones_own_are_registered_with_tvms_helpers() -> None:
    from tvm import relay
    from tvm.relay.op import register_optional_fake_quantization_to_integer
    from tvm.relay.transform import fake_quantization_to_integer as rules

    from passlab.passes.precision.integer_rules import OPTIONAL
    from passlab.transform.registering import unregister_op_attr

    convert = relay.transform.FakeQuantizationToInteger
    try:
        rules.register_binary_qnn("power", lambda *args: relay.qnn.add(*args))
        rules.register_binary_identity("floor_mod", relay.maximum)
        rules.register_unary_qnn("cosh", relay.qnn.tanh)
        register_optional_fake_quantization_to_integer("sinh", lambda call, region: [call.args[0], region[call]])
        for op, count, text in ((relay.power, 2, "qnn.add"), (relay.floor_mod, 2, "maximum"), (relay.cosh, 1, "tanh")):
            assert f"  {text}(" in convert(hard_fail=True)(_quantized(op, count)).astext().replace("qnn.tanh", "tanh")
        half = convert()(_quantized(lambda x: relay.floor_mod(x, relay.const(np.float32(1.5))), 1))
        assert "qnn.quantize(1.5f" in half.astext()
        mod = _quantized(relay.sinh, 1)
        assert convert()(mod) is mod
        assert "sinh" not in convert(optional_qnn_ops=["sinh"])(mod).astext()
        with pytest.raises(TypeError, match="neither input is quantized"):
            rules.get_binary_types(relay.add(relay.const(1.0), relay.const(2.0)), _NoRegion())
    finally:
        OPTIONAL.pop("sinh", None)
        for name in ("power", "floor_mod", "cosh"):
            unregister_op_attr(name, "FTVMFakeQuantizationToInteger")


class _NoRegion:
    quantization: dict[Any, Any] = {}


# ------------------------------------------------------------ what is built
def test_the_parts_of_an_executable_have_tvms_kinds_and_names(tmp_path: Path) -> None:
    import tvm
    from tvm import relay
    from tvm.runtime import vm as runtime_vm

    x = relay.var("x", shape=(60,))
    executable = relay.vm.compile(tvm.IRModule.from_expr(relay.exp(x)), "llvm")
    assert executable.primitive_ops == ["vm_mod_fused_exp"]
    code, library = executable.save()
    assert isinstance(library, tvm.runtime.Module)
    library.export_library(tmp_path / "lib.so")
    loaded = runtime_vm.Executable.load_exec(code, tvm.runtime.load_module(tmp_path / "lib.so"))
    result = runtime_vm.VirtualMachine(loaded, tvm.cpu()).run(X).numpy()
    np.testing.assert_allclose(result, np.exp(X), rtol=1e-6)


def test_the_outputs_of_a_graph_have_names_shapes_and_dtypes() -> None:
    import tvm
    from tvm import relay
    from tvm.contrib import graph_executor

    x = relay.var("x", shape=(60,))
    lib = relay.build(tvm.IRModule.from_expr(relay.Tuple([relay.exp(x), relay.cast(x, "int8")])), "llvm")
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    shapes, dtypes = module.get_output_info()
    assert [*shapes.values()] == [(60,), (60,)]
    assert [*dtypes.values()] == ["float32", "int8"]
    assert [module.get_output_index(name) for name in (*shapes, "nothing")] == [0, 1, -1]


def test_limits_of_targets_and_names_of_modules() -> None:
    import tvm
    from tvm.relay.backend.utils import mangle_module_name

    limits = [tvm.target.Target(kind).max_function_args for kind in ("llvm", "cuda", "metal", "opencl")]
    assert limits == [0, 0, 31, 128]
    assert tvm.target.Target("opencl -max-function-args=7").max_function_args == 7
    with pytest.raises(ValueError, match="not a name in ASCII") as raised:
        mangle_module_name("é")
    assert isinstance(raised.value, PasslabError)


def test_values_of_checkpoints_are_computed_again_backward() -> None:
    import tvm
    from tvm import relay
    from tvm.relay import transform
    from tvm.relay.testing import run_infer_type

    x, y = relay.var("x", shape=(1,)), relay.var("y", shape=(1,))
    function = relay.Function([x, y], relay.annotation.checkpoint(relay.exp(x * y)))
    slope = transform.gradient(run_infer_type(function))
    passes = [transform.PartialEvaluate(), transform.DeadCodeElimination(inline_once=True, ignore_impurity=True)]
    with tvm.transform.PassContext(opt_level=3):
        simple = tvm.transform.Sequential(passes)(tvm.IRModule.from_expr(slope))["main"]
    text = simple.astext(show_meta_data=False)
    assert (text.count("exp("), text.count("= multiply(%x, %y)"), text.count("checkpoint")) == (2, 2, 0)
    value, slopes = relay.create_executor("debug", mod=tvm.IRModule.from_expr(simple)).evaluate()(
        np.float32([0]), np.float32([3])
    )
    assert (value.numpy().tolist(), [part.numpy().tolist() for part in slopes]) == ([1], [[3], [0]])


def test_one_rule_is_registered_for_every_operator_of_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    registered = []
    monkeypatch.setattr(
        conversion_rules, "register_mixed_precision_conversion", lambda *entry: registered.append(entry)
    )

    def rule(call: Any, dtype: str) -> list[Any]:
        return [2, "float32", "float32"]

    conversion_rules.register_func_to_op_list(["nn.relu", "exp", "tanh"])(rule)
    assert registered == [("nn.relu", rule), ("exp", rule), ("tanh", rule)]
