"""Names and arguments of TVM that came and went: `ctx=`, steps of quantization and of builds, sessions, timers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

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
