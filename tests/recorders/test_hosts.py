"""Live recorders with the real compilers, where their packages are installed."""

import pytest

xdsl = pytest.mark.skipif(
    not __import__("importlib.util").util.find_spec("xdsl"), reason="xdsl is not installed: pip install xdsl"
)
onnx = pytest.mark.skipif(
    not __import__("importlib.util").util.find_spec("onnx"), reason="onnx is not installed: pip install onnx"
)
PROGRAM = """
builtin.module {
  func.func @fold(%x: i32) -> i32 {
    %c = arith.constant 3 : i32
    %a = arith.muli %x, %c : i32
    %b = arith.addi %a, %a : i32
    %d = arith.addi %a, %a : i32
    %e = arith.addi %b, %d : i32
    func.return %e : i32
  }
}
"""


@xdsl
def test_xdsl_records_every_pass_with_its_input_and_the_last_one():
    from xdsl.context import Context
    from xdsl.dialects import get_all_dialects
    from xdsl.parser import Parser

    from passlab.recorders import xdsl as recorder

    context = Context()
    for name, load in get_all_dialects().items():
        context.register_dialect(name, load)
    module = Parser(context, PROGRAM).parse_module()
    before = str(module)
    recording = recorder.record(module, "canonicalize,cse,dce", context)
    assert [step.name for step in recording.steps] == ["canonicalize", "cse", "dce"]
    assert recording["cse"].verdict == "changed"
    assert recording[3].verdict == "unchanged"
    assert recording.input == before.strip("\n")
    assert recording[3].live.is_structurally_equivalent(module)
    assert recording["cse"].diff().counts["removed"] >= 1
    assert recording.last("arith.addi") is not None


@onnx
def test_onnx_records_any_functions_on_models():
    from onnx import TensorProto, helper

    from passlab.recorders import onnx as recorder

    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Identity", ["a"], ["y"])]
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [2])], [value("y", TensorProto.FLOAT, [2])])
    model = helper.make_model(graph)

    def drop_identity(m):
        del m.graph.node[1]
        m.graph.node[0].output[0] = "y"

    def fail(m):
        raise RuntimeError("eraseOutput")

    recording = recorder.record(model, [("nop", lambda m: m), drop_identity, fail, ("never", lambda m: m)])
    assert [(s.name, s.verdict) for s in recording.steps] == [
        ("nop", "unchanged"),
        ("drop_identity", "changed"),
        ("fail", "failed"),
    ]
    assert "Identity" in recording[2].before
    assert "Identity" not in recording[2].after


def test_tvm_records_nested_passes_by_reference():
    tvm = pytest.importorskip("tvm", reason="apache-tvm is not installed: pip install apache-tvm", exc_type=ImportError)
    if not hasattr(tvm, "relax"):
        pytest.skip("a TVM with Relax is needed")
    from tvm import relax

    from passlab.recorders import tvm as recorder

    builder = relax.BlockBuilder()
    x = relax.Var(
        "x",
        relax.TensorType((2, 3), "float32")
        if hasattr(relax, "TensorType")
        else relax.TensorStructInfo((2, 3), "float32"),
    )
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(relax.op.nn.relu(relax.op.add(x, x)))
            out = builder.emit_output(y)
        builder.emit_func_output(out)
    mod = builder.get()
    recording = recorder.record(mod, relax.get_pipeline("zero"))
    names = [step.name for step in recording.steps]
    assert "LegalizeOps" in names
    assert recording["LegalizeOps"].verdict == "changed"
    assert any(step.parent for step in recording.steps)
    assert recording.steps[-1].live is not None
    assert recording.failed is None

    @tvm.transform.module_pass(opt_level=0, name="Broken")
    def broken(module, context):
        raise ValueError("broken on purpose")

    failed = recorder.record(mod, broken)
    assert failed.steps[-1].verdict == "failed"
