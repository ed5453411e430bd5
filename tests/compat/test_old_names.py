"""Names and arguments of TVM that came and went: `ctx=`, steps of quantization and of builds, sessions, timers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import passlab.ir.op

X = np.array([1.0, -2.0, 3.0], "float32")


def test_the_device_may_be_called_ctx() -> None:
    import tvm
    from tvm import relay
    from tvm.contrib import graph_runtime
    from tvm.contrib.debugger import debug_runtime

    x = relay.var("x", shape=(3,))
    mod = tvm.IRModule.from_expr(relay.Function([x], x + x))
    for kind in ("debug", "graph", "vm"):
        run = relay.create_executor(kind, mod=mod, ctx=tvm.context("llvm", 0), target="llvm").evaluate()
        assert run(tvm.nd.array(X, ctx=tvm.cpu())).asnumpy().tolist() == (2 * X).tolist()
    graph, lib, params = relay.build(mod, "llvm")
    for runtime in (graph_runtime, debug_runtime):
        module = runtime.create(graph, lib, ctx=tvm.cpu(0))
        module.set_input("x", X)
        module.set_input(**params)
        module.run()
        out = module.get_output(0, tvm.nd.empty((3,), ctx=tvm.cpu()))
        assert out.asnumpy().tolist() == (2 * X).tolist()
        assert out.ctx == tvm.cpu()


def test_python_of_a_program_gives_arrays() -> None:
    import tvm
    from tvm import relay
    from tvm.relay.testing import run_as_python
    from tvm.runtime.container import ADT

    pair = run_as_python(relay.Tuple([relay.const(1), relay.const(X)]))
    assert isinstance(pair, ADT)
    assert isinstance(pair[0], tvm.nd.NDArray)
    assert pair[1].asnumpy().tolist() == X.tolist()


def test_numbers_of_shapes_have_values() -> None:
    import tvm
    from tvm import relay

    x = relay.var("x", shape=(2, tvm.te.size_var("n")))
    rows, unknown = x.type_annotation.shape
    assert (rows.value, rows, int(rows), rows.dtype) == (2, 2, 2, "int32")
    assert isinstance(rows, tvm.tir.IntImm)
    assert isinstance(unknown, tvm.tir.Var)
    assert x.type_annotation == relay.TensorType((rows, unknown))
    reshaped = relay.transform.InferType()(tvm.IRModule.from_expr(relay.zeros(x.type_annotation.shape[:1], "int8")))
    assert [dim.value for dim in reshaped["main"].checked_type.ret_type.shape] == [2]


def test_a_function_of_a_module_is_timed() -> None:
    import tvm
    from tvm import relay
    from tvm.contrib import graph_executor

    x = relay.var("x", shape=(3,))
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))), "llvm")
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.set_input("x", X)
    timer = module.module.time_evaluator("run", tvm.cpu(), number=2, repeat=3)
    assert len(timer().results) == 3
    assert timer().mean > 0
    assert isinstance(module, tvm.runtime.module.Module)
    with pytest.raises(tvm.TVMError, match="no function `walk`"):
        module.module.time_evaluator("walk", tvm.cpu())


def test_a_graph_is_made_step_by_step() -> None:
    import tvm
    from tvm import relay
    from tvm.contrib import graph_executor
    from tvm.relay.backend import graph_executor_codegen

    a, b = relay.var("A", shape=(3,)), relay.var("B", shape=(3,))
    target, host = tvm.target.Target.canon_target_and_host(tvm.target.Target("llvm"), "llvm")
    mod, params = relay.optimize(tvm.IRModule.from_expr(relay.Function([a, b], a * relay.exp(b))), target)
    graph, lowered, held = graph_executor_codegen.GraphExecutorCodegen(None, target).codegen(mod, mod["main"])
    library = relay.backend._backend.build(lowered, target, host)
    module = graph_executor.create(graph, library, tvm.cpu())
    module.run(A=X, B=X, **params, **held)
    np.testing.assert_allclose(module.get_output(0).numpy(), X * np.exp(X), rtol=1e-6)
    assert [str(t) for t in tvm.target.Target.canon_multi_target_and_host(["llvm", "cuda"], "llvm")] == ["llvm", "cuda"]
    with pytest.raises(tvm.TVMError, match="kernels that"):
        relay.backend._backend.build({}, target)


def test_a_session_is_a_folder_of_this_machine(tmp_path: Path) -> None:
    import tvm
    from tvm import relay, rpc

    x = relay.var("x", shape=(3,))
    path = str(tmp_path / "net.so")
    relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x], x + x)), "llvm").mod.export_library(path)
    server = rpc.Server("127.0.0.1", port=9190)
    for session in (rpc.LocalSession(), rpc.connect(server.host, server.port, session_timeout=10)):
        session.upload(path)
        machine = tvm.runtime.vm.VirtualMachine(session.load_module("net.so"), session.cpu())
        assert machine.invoke("main", tvm.nd.array(X, session.device("cuda"))).numpy().tolist() == (2 * X).tolist()
        assert bytes(session.download("net.so")) == Path(path).read_bytes()
        session.remove("net.so")
        with pytest.raises(tvm.TVMError, match=r"no file `net\.so`"):
            session.download("net.so")
    server.terminate()
    with pytest.raises(tvm.TVMError, match="no server"):
        rpc.connect(server.host, server.port)


def test_timers_forget_and_unknown_options_are_told() -> None:
    import tvm
    from tvm import relay
    from tvm.ir.instrument import PassTimingInstrument

    timing = PassTimingInstrument()
    with tvm.transform.PassContext(instruments=[timing]):
        relay.transform.InferType()(tvm.IRModule.from_expr(relay.const(1)))
        assert "InferType" in timing.render()
    assert timing.render() == ""
    with (
        pytest.warns(RuntimeWarning, match="no option skip_dense_layers"),
        relay.quantize.qconfig(skip_dense_layers=False, global_scale=4.0) as config,
    ):
        assert config.global_scale == 4.0
    assert relay.quantize._annotate.QAnnotateKind.INPUT == 1


def test_unknown_arguments_are_left_out_and_one_name_serves_several_parameters() -> None:
    import tvm
    from tvm import relay

    x, same = relay.var("x", shape=(3,)), relay.var("x", shape=(3,))
    mod = tvm.IRModule.from_expr(relay.Function([x, same], x + same))
    for kind in ("debug", "vm", "graph"):
        run = relay.create_executor(kind, mod).evaluate()
        with pytest.warns(RuntimeWarning, match="no parameters other"):
            assert run(x=X, other=X).numpy().tolist() == (2 * X).tolist()
    with pytest.raises(tvm.TVMError, match="missing"):
        relay.create_executor("debug", mod).evaluate()()


def test_rules_of_quantization_read_a_map_of_types() -> None:
    import tvm
    from tvm import relay
    from tvm.ir import TensorAffineType

    read = []

    @tvm.ir.register_op_attr("ceil", "FTVMFakeQuantizationToInteger")
    def rule(expr: Any, type_map: Any) -> Any:
        (arg,) = expr.args
        read.append((type_map[arg], type_map[expr]))
        ty = type_map[arg]
        return [relay.abs(arg), TensorAffineType(ty.scale, ty.zero_point, ty.dtype, ty.axis)]

    try:
        x = relay.qnn.op.dequantize(relay.var("x", shape=(3,), dtype="int8"), relay.const(2.0), relay.const(0))
        body = relay.qnn.op.quantize(relay.ceil(x), relay.const(0.5), relay.const(1))
        mod = relay.transform.InferType()(tvm.IRModule.from_expr(body))
        ops = relay.testing.count_ops(relay.transform.FakeQuantizationToInteger()(mod)["main"])
    finally:
        relay.op.get("ceil").reset_attr("FTVMFakeQuantizationToInteger")
    assert ops == {"abs": 1, "qnn.requantize": 1}
    ((inner, outer),) = read
    assert (float(inner.scale.data.numpy()), float(outer.scale.data.numpy()), inner.dtype) == (2.0, 0.5, "int8")


def test_passes_may_be_declared_traceable() -> None:
    import tvm
    from tvm import relay

    @tvm.transform.module_pass(opt_level=2, required=[], traceable=True)
    def whole(mod: Any, ctx: Any) -> Any:
        return mod

    @relay.transform.function_pass(opt_level=2, traceable=False)
    def each(func: Any, mod: Any, ctx: Any) -> Any:
        return func

    assert (whole.info.traceable, each.info.traceable) == (True, False)
    pipeline = tvm.transform.Sequential([whole, each], opt_level=1, name="both", required=[], traceable=True)
    assert pipeline.info.traceable
    assert not tvm.transform.PassInfo(opt_level=1, name="xyz").traceable


def test_operators_are_registered_once_and_their_relations_errors_arrive() -> None:
    import tvm
    from tvm import relay
    from tvm.relay.op import op as registry

    def refusing(types: Any, attrs: Any) -> Any:
        assert len(types) == 2, "two inputs are needed"

    operator = registry.register("my_refusing", "Refuses.")
    try:
        operator.set_num_inputs(1)
        operator.add_argument("data", "Tensor", "The input.")
        operator.add_type_rel("my_refusing", refusing)
        call = relay.Call(registry.get("my_refusing"), [relay.var("x", shape=(3,))])
        with pytest.raises(AssertionError, match="two inputs"):
            relay.transform.InferType()(tvm.IRModule.from_expr(call))
        with pytest.raises(tvm.error.TVMError, match="registered before"):
            registry.register("my_refusing")
        assert [(a.name, a.type_info, a.description) for a in operator.arguments] == [("data", "Tensor", "The input.")]
    finally:
        passlab.ir.op.remove_op("my_refusing")


def test_maps_and_numbers_of_scripts() -> None:
    import tvm
    from tvm import relay
    from tvm.script import tir as T

    mod = tvm.relay.fromtext('#[version = "0.0.5"] type Box { Empty, Full(Tensor[(?, 1), uint16]) }')
    (header, data), *rest = mod.type_definitions.items()
    assert (mod.type_definitions.items()[0], header.name_hint, rest) == ((header, data), "Box", [])
    assert len(tvm.ir.make_node("DictAttrs", x=1, y=2).items()) == 2
    assert relay.TensorType([T.int32(2), T.int64(3)]) is relay.TensorType((2, 3))
    assert (T.int64(3).dtype, T.float32(0.5).value) == ("int64", 0.5)
    with pytest.raises(AttributeError, match="TVMScript is not read"):
        T.prim_func(lambda: None)


def test_users_write_rules_of_conversions_with_helpers() -> None:
    import tvm
    from tvm import relay
    from tvm.relay.testing import Prelude
    from tvm.relay.transform import fake_quantization_to_integer as rules
    from tvm.relay.transform import mixed_precision as precision

    assert Prelude is relay.prelude.Prelude
    assert "nn.dense" in precision.DEFAULT_ALWAYS_LIST
    assert "add" in precision.DEFAULT_FOLLOW_LIST
    assert "exp" in precision.DEFAULT_NEVER_LIST

    @precision.register_func_to_op_list(["tan"])
    def short(call: Any, dtype: str) -> list[Any]:
        return [precision.MIXED_PRECISION_ALWAYS, *precision.get_generic_out_dtypes(call, dtype)]

    rules.register_unary_identity("sign")
    x = relay.var("x", shape=(3,))
    try:
        mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.tan(x)))
        assert relay.transform.ToMixedPrecision("float16")(mod)["main"].ret_type.dtype == "float16"
        real = relay.qnn.op.dequantize(relay.var("q", shape=(3,), dtype="int8"), relay.const(2.0), relay.const(0))
        mod = relay.transform.InferType()(
            tvm.IRModule.from_expr(relay.qnn.op.quantize(relay.sign(real), relay.const(0.5), relay.const(1)))
        )
        ops = relay.testing.count_ops(relay.transform.FakeQuantizationToInteger()(mod)["main"])
        assert ops == {"sign": 1, "qnn.requantize": 1}
    finally:
        relay.op.get("tan").reset_attr("FTVMMixedPrecisionConversionType")
        relay.op.get("sign").reset_attr("FTVMFakeQuantizationToInteger")
    assert rules.get_zeros(relay.const(X)).data.numpy().tolist() == [0, 0, 0]
    assert rules.infer_shape(relay.tan(x)) == (3,)
    assert rules.approx_equal(relay.const(1.0) + relay.const(2.0), relay.const(3.0))
    assert not rules.approx_equal(relay.const(1.0), relay.const(2.0))


def test_a_list_and_a_tuple_with_equal_elements_are_structurally_equal() -> None:
    import tvm
    from tvm.relay.dataflow_pattern import has_shape

    assert tvm.ir.structural_equal(has_shape([10, 10]).shape, [10, 10])
    assert not tvm.ir.structural_equal((10, 10), [10, 11])
    assert not tvm.ir.structural_equal((10, 10), 10)


def test_eta_expansion_equals_the_parsed_function() -> None:
    import tvm
    from tvm import relay

    lists = '#[version = "0.0.5"] type List[A] { Cons(A, List[A]), Nil, } def @main[A]() -> fn (A, List[A]) -> List[A]'
    mod = relay.transform.EtaExpand(expand_constructor=True)(tvm.relay.fromtext(lists + "{ Cons }"))
    wrapped = "{ fn [A](%x: A, %xs: List[A]) -> List[A] { Cons(%x, %xs) } }"
    tvm.ir.assert_structural_equal(mod["main"], tvm.relay.fromtext(lists + wrapped)["main"], map_free_vars=True)


def test_templates_of_autotvm_are_registered_without_effect() -> None:
    from tvm import autotvm

    @autotvm.register_topi_compute("conv2d.mine")
    def compute(cfg: object) -> int:
        return 3

    assert compute(None) == 3
    with pytest.raises(AttributeError, match="there is nothing to tune"):
        autotvm.apply_history_best([])


def test_containers_of_values() -> None:
    import tvm

    value = tvm.runtime.container.ADT(2, [tvm.nd.array([1]), ()])
    assert (value.tag, len(value), isinstance(value, tvm.runtime.container.ADT)) == (2, 2, True)
    sizes = tvm.runtime.container.ShapeTuple([3, -1])
    assert sizes == [3, -1] == sizes
    assert sizes == (3, -1)
    assert sizes != [3]
    assert isinstance((1, 2), tvm.runtime.ShapeTuple)
    assert tvm.runtime.convert([1, [2]])[1][0].value == tvm.runtime.convert({"a": 2})["a"].value == 2


def test_a_debugged_graph_tells_its_nodes_and_leaves_unknown_parameters_out() -> None:
    import tvm
    from tvm import relay
    from tvm.contrib.debugger import debug_executor

    x = relay.var("x", shape=(2, 3))
    lib = relay.build(relay.Function([x], relay.exp(x)), target="llvm")
    module = debug_executor.GraphModuleDebug(lib["debug_create"]("default", tvm.cpu()), [tvm.cpu()], "", None)
    nodes = module.debug_datum.get_graph_nodes()
    assert [(node["op"], node["inputs"], node["shape"]) for node in nodes] == [
        ("param", [], [2, 3]),
        ("tvmgen_default_fused_exp", ["x"], [2, 3]),
    ]
    with pytest.warns(RuntimeWarning, match="there are no inputs z"):
        module.load_params(tvm.runtime.save_param_dict({"z": np.ones(1), "x": np.ones((2, 3), "float32")}))
    assert module.get_input("x").numpy().sum() == 6


def test_names_of_generated_code_have_no_empty_parts() -> None:
    from tvm.relay.backend.name_transforms import prefix_generated_name, prefix_name
    from tvm.runtime.name_transforms import sanitize_name

    assert (prefix_name(["a", "b"]), prefix_generated_name("c"), sanitize_name("d:1")) == ("TVM_a_b", "TVMGen_c", "d_1")
    for names, what in (("", "Name is empty"), ([], "Name segments empty"), (["a", ""], "Name segment is empty")):
        with pytest.raises(RuntimeError, match=what):
            prefix_name(names)
