"""Details in which passes follow Relay's: what they leave alone, names of options, functions for one's own rewrites."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from passlab import ir, relay, transform
from passlab.infer import infer_module
from passlab.ir import Function, IRModule
from passlab.passes.external.partition_graph import register_compiler_optimize
from passlab.text.parser import parse
from passlab.transform.registering import register_op_attr, unregister_op_attr


def test_recast_leaves_the_result_type_open():
    x, w = relay.var("x", shape=(1, 1, 4, 4)), relay.var("w", shape=(1, 1, 1, 1))
    assert transform.recast(Function([x, w], relay.nn.conv2d(x, w)), "int8", "int32").ret_type is None


def test_shapes_are_flexible_along_an_axis():
    assert transform.FlexibleShapeDispatch(axis=1, buckets=[1, 4]).options()["axis"] == 1


def test_inference_forms_of_bfloat16():
    params = [relay.var("x", shape=(1, 2, 4, 4), dtype="bfloat16")]
    params += [relay.var(name, shape=(2,), dtype="bfloat16") for name in "gbmv"]
    mod = infer_module(IRModule.from_expr(Function(params, relay.nn.batch_norm(*params)[0])))
    simple = transform.SimplifyInference()(mod)
    assert "batch_norm" not in str(simple)
    assert simple["main"].ret_type is mod["main"].ret_type


@pytest.mark.parametrize(("low", "removed"), [(-128, True), (-127, False)])
def test_legalize_removes_a_clip_to_what_the_dtype_holds(low: int, removed: bool):
    x = relay.var("x", shape=(4,), dtype="int32")
    real, zero = relay.const(1.0), relay.const(0)
    whole = relay.clip(relay.qnn.requantize(x, real, zero, relay.const(0.5), zero, out_dtype="int8"), low, 127)
    assert ("clip" not in str(transform.Legalize()(IRModule.from_expr(whole)))) == removed


@pytest.fixture
def toy() -> Iterator[None]:
    for name in ("nn.relu", "zeros"):
        register_op_attr(name, "target.toy", lambda call: True)
    yield
    for name in ("nn.relu", "zeros"):
        unregister_op_attr(name, "target.toy")


def test_calls_without_arguments_are_for_no_compiler(toy: None):
    text = 'def @main(%x: Tensor[(2), float32]) { nn.relu(%x + zeros(shape=[2], dtype="float32")) }'
    marked = str(transform.AnnotateTarget("toy")(parse(text)))
    assert 'compiler_begin(%x, compiler="default")' in marked
    assert marked.count("compiler_end(") == 2


def test_regions_have_relays_names(toy: None):
    mod = transform.AnnotateTarget("toy")(parse("def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }"))
    region = relay.analysis.AnnotatedRegionSet(mod["main"].body)
    (one,) = [r for r in region if r.target == "toy"]
    assert (one.args, one.rets) == (one.ins, one.outs)
    assert len(one.args) == 1


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_a_lookup_table_is_the_function_of_the_real_values(dtype: str):
    from passlab.relay.qnn.op.canonicalizations import create_integer_lookup_op
    from passlab.relay.qnn.op.legalizations import hardswish_func

    info = np.iinfo(dtype)
    every = np.arange(info.min, info.max + 1).astype(dtype)
    x = relay.var("x", shape=(256,), dtype=dtype)
    scale, zero, out = relay.const(0.05), relay.const(3), relay.const(0.1)
    looked_up = create_integer_lookup_op(x, hardswish_func, scale, zero, out, zero, in_dtype=dtype, out_dtype=dtype)
    value = relay.create_executor("vm", IRModule.from_expr(Function([x], looked_up))).evaluate()(every)
    real = 0.05 * (every.astype("float64") - 3)
    expected = real * np.clip(real + 3, 0, 6) / 6 / 0.1 + 3
    assert np.abs(value - np.clip(expected, info.min, info.max)).max() <= 0.51
    assert ir.Op.get("gather") in {n.op for n in ir.walk.post_order(looked_up) if isinstance(n, ir.Call)}


def test_lookup_tables_are_of_integers():
    from passlab.relay.qnn.op.canonicalizations import create_integer_lookup_table

    one = relay.const(1.0)
    with pytest.raises(ValueError, match="integers of at most 16 bits"):
        create_integer_lookup_table(np.tanh, one, one, one, one, in_dtype="float32")


def test_functions_for_a_compiler_are_optimized_by_what_it_registers(toy: None):
    seen: list[tuple[list[str], dict[str, object]]] = []

    def optimize(mod: IRModule) -> IRModule:
        seen.append(([name for name, _ in mod.items()], dict(mod["main"].attrs or {})))
        return transform.FoldConstant()(mod)

    mod = parse("def @main() { nn.relu(nn.relu(-1f)) }")
    marked = transform.MergeCompilerRegions()(transform.AnnotateTarget("toy")(mod))
    register_compiler_optimize("toy", optimize)
    try:
        result = transform.PartitionGraph()(marked)
    finally:
        register_compiler_optimize("toy", None)
    assert seen == [(["main"], {})]  # attributes would keep FoldConstant off
    function = result["tvmgen_default_toy_main_0"]
    assert isinstance(function.body, ir.Constant)
    assert function.attrs["Compiler"] == "toy"
    register_compiler_optimize("toy", lambda mod: None)  # type: ignore[arg-type, return-value]
    try:
        with pytest.raises(TypeError, match="did not return a module"):
            transform.PartitionGraph()(marked)
    finally:
        register_compiler_optimize("toy", None)


def test_convolutions_in_blocks_are_relays_own_operator():
    x, w = relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(8, 4, 3, 3))
    mod = infer_module(IRModule.from_expr(Function([x, w], relay.nn.conv2d(x, w, channels=8, kernel_size=(3, 3)))))
    convert = transform.ConvertLayout({"nn.conv2d": ["NCHW4c", "OIHW4i4o"]})
    result = convert(mod)
    assert "nn.contrib_conv2d_NCHWc" in str(result)
    assert convert(result) is result
    args = [np.random.default_rng(0).random(p.checked_type.shape).astype("float32") for p in mod["main"].params]
    values = [relay.create_executor(kind, m).evaluate()(*args) for m in (mod, result) for kind in ("debug", "vm")]
    for value in values[1:]:
        np.testing.assert_allclose(value, values[0], rtol=1e-5)


def test_vectors_of_one_number_are_one_scale():
    x, y = (relay.var(name, shape=(1, 3, 2, 2), dtype="int32") for name in "xy")
    scale, zero = relay.const(np.full(3, 0.1, "float32")), relay.const(np.zeros(3, "int32"))
    left = relay.qnn.dequantize(x, scale, zero, axis=1)
    right = relay.qnn.dequantize(y, relay.const(np.float32(0.1)), relay.const(0), axis=1)
    whole = relay.qnn.quantize(left + right, scale, zero, axis=1, out_dtype="int32")
    result = transform.FakeQuantizationToInteger()(infer_module(IRModule.from_expr(Function([x, y], whole))))
    assert [n.op.name for n in ir.walk.post_order(result["main"].body) if isinstance(n, ir.Call)] == ["add"]
