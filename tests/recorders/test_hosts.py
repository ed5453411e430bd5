"""Live recorders with the real compilers, where their packages are installed."""

import pytest

from passlab.errors import DumpError

xdsl = pytest.mark.skipif(
    not __import__("importlib.util").util.find_spec("xdsl"), reason="xdsl is not installed: pip install xdsl"
)
onnx = pytest.mark.skipif(
    not __import__("importlib.util").util.find_spec("onnx"), reason="onnx is not installed: pip install onnx"
)
pytestmark = pytest.mark.nightly
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


@xdsl
def test_xdsl_takes_a_text_and_says_what_is_not_a_module():
    from passlab.recorders import xdsl as recorder

    assert recorder.record(PROGRAM, "cse")["cse"].verdict == "changed"
    for wrong, said in (
        ("builtin.module {", "does not take the program"),
        (3, "not a module of xDSL, but of type int"),
    ):
        with pytest.raises(DumpError, match=said):
            recorder.record(wrong, "cse")


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
    graph = recording.graph(step="nop")
    assert [(box.name, caption.change) for box, caption in zip(graph.graph.boxes, graph.captions, strict=True)] == [
        ("input", ""),
        ("Relu", ""),
        ("Identity", ""),
    ]
    assert [(arrow.source, arrow.target) for arrow in graph.graph.arrows] == [(0, 1), (1, 2)]
    assert [caption.change for caption in recording.graph(step="drop_identity").captions] == ["", "changed"]
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
    before, after = (recording.graph(step=recording["LegalizeOps"].number - back) for back in (1, 0))
    assert {"relax.add", "relax.nn.relu"} <= {box.name for box in before.graph.boxes}
    assert "PrimFunc" in {box.name for box in after.graph.boxes}
    assert {"added", "changed"} <= {caption.change for caption in after.captions}
    operands = {after.graph.boxes[arrow.source].name for arrow in after.graph.arrows}
    assert {"parameter", "PrimFunc"} <= operands

    @tvm.transform.module_pass(opt_level=0, name="Broken")
    def broken(module, context):
        raise ValueError("broken on purpose")

    failed = recorder.record(mod, broken)
    assert failed.steps[-1].verdict == "failed"


MODULE = """
module {
  func.func @f(%x: i32) -> i32 {
    %c = arith.constant 3 : i32
    %a = arith.muli %x, %c : i32
    %b = arith.muli %x, %c : i32
    %d = arith.addi %a, %b : i32
    return %d : i32
  }
}
"""


def test_mlir_records_through_the_bindings_that_are_installed():
    ir = pytest.importorskip(
        "iree.compiler.ir", reason="no bindings of MLIR: pip install iree-base-compiler", exc_type=ImportError
    )
    from passlab.recorders import mlir as recorder

    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(MODULE)
        recording = recorder.record(module, "builtin.module(func.func(canonicalize,cse))")
        with pytest.raises(DumpError, match="does not take this pipeline"):
            recorder.record(module, "builtin.module(no-such-pass)")
    assert [step.verdict for step in recording.steps] == ["unchanged", "changed"]
    assert recording[2].before.count("arith.muli") == 2
    assert recording[2].after.count("arith.muli") == 1
    assert recording[2].diff().counts["removed"] == 1
    assert str(module).count("arith.muli") == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torch_records_the_passes_of_inductor():
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch", exc_type=ImportError)
    from passlab.recorders import torch as recorder

    def function(x, w):
        return torch.relu(x @ w) + torch.zeros(4, 16)

    x, w = torch.randn(4, 8, requires_grad=True), torch.randn(8, 16, requires_grad=True)
    recording = recorder.record(function, x, w)
    passes = [step for stage, step in zip(recording.stages, recording.steps, strict=True) if stage.is_pass]
    assert len(passes) > 5
    assert recording.changed
    assert all(step.before and step.after for step in passes)
    assert recording.operations("torch.ops.aten.mm.default").rows
    for step in recording.changed:
        assert step.diff()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:The .grad attribute:UserWarning")
def test_torch_keeps_graphs_apart_and_reads_its_own_log(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch", exc_type=ImportError)
    from passlab import dumps
    from passlab.recorders import torch as recorder

    def function(x, w):
        h = torch.relu(x @ w)
        torch._dynamo.graph_break()
        return torch.softmax(h, -1)

    x, w = torch.randn(4, 8), torch.randn(8, 16, requires_grad=True)
    torch._dynamo.reset()
    with recorder.recording() as live, torch._inductor.config.patch(fx_graph_cache=False):
        torch.compile(function)(x, w).sum().backward()
    recording = live.recording()
    frames = {step.phase.partition("/")[0] for step in recording if step.kind == "graph"}
    sides = {(step.phase.partition("/")[0], step.unit.partition(" ")[2]) for step in recording if step.kind == "graph"}
    assert len(frames) == 2
    assert sides == {(frame, side) for frame in frames for side in ("", "forward", "backward")}
    assert [row["detail"] for row in recording.graph_breaks()] == ["Call to `torch._dynamo.graph_break()`"]
    nested = [step for step in recording if step.parent]
    assert {recording.step(step.parent).name for step in nested} == {"pre-grad passes", "post-grad passes"}
    assert all(recording.step(step.parent).unit == step.unit for step in nested)
    live.save(tmp_path / "live.log")
    assert dumps.read(tmp_path / "live.log").tree() == recording.tree()
    assert not dumps.read(tmp_path / "live.log").notes


@xdsl
def test_xdsl_takes_names_of_passes_and_says_what_is_not_a_pass():
    from passlab.recorders import xdsl as recorder

    program = "builtin.module {}"
    assert [step.name for step in recorder.record(program, ["canonicalize", "dce"])] == ["canonicalize", "dce"]
    with pytest.raises(DumpError, match="not a pass of xDSL"):
        recorder.record(program, [3])
