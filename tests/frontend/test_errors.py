"""What is wrong with a model is told with its place, its cause and its fix."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import passlab
from passlab import limits
from passlab.errors import FileAccessError, LimitError, MissingPackageError, ModelError, PasslabError
from passlab.frontend import from_onnx
from passlab.frontend.onnx import package
from tests.frontend.onnx_text import model

RELU = "g (float[n, 3] x) => (float y) { y = Relu(x) }"


def finding(proto: Any, **options: Any) -> str:
    with pytest.raises(ModelError) as caught:
        from_onnx(proto, **options)
    return str(caught.value)


def test_all_operators_that_are_missing_are_told_at_once():
    graph = """g (float[2] x, bool c) => (float[2] y) {
        a = Foo(x) b = Foo(a) s = Sequenced(x, b)
        y = If(c)<then_branch = t () => (float p) { p = Baz(x) }, else_branch = e () => (float q) { q = Floo(x) }> }"""
    proto = model(graph)
    proto.graph.node[0].name = "first"
    text = finding(proto)
    for expected in (
        "the ONNX operator `Foo` (ai.onnx, opset 18) is not supported",
        "it is used by `first`, `Foo_0`",
        "the ONNX operator `Sequenced` (ai.onnx, opset 18)",
        "the ONNX operator `Baz` (ai.onnx, opset 18)",
        "the ONNX operator `Floo` (ai.onnx, opset 18)",
        "did you mean `Floor`",
        "1 | a = Foo(x)",
    ):
        assert expected in text


def test_a_definition_from_the_future_is_not_guessed(monkeypatch):
    from passlab.frontend.onnx import entries

    table = entries.entries()
    old = entries.OnnxOperator("Relu", (1, 6), table["Relu"].translate, 1, 1, "")
    monkeypatch.setitem(table, "Shape", entries.OnnxOperator("Shape", (1,), table["Shape"].translate, 1, 1, ""))
    monkeypatch.setitem(table, "Relu", old)
    text = finding(model("g (float[2] x) => (int64[1] y) { y = Shape(x) }"))
    assert "its definition of opset 15 is not known" in text


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "no such input": (RELU, {"shape": {"y": (1, 3)}}, "the model has no input and no size `y`"),
    "another rank": (RELU, {"shape": {"x": (1, 3, 3)}}, "expected: 2 dimensions: (?, 3)"),
    "no shape": (RELU, {"shape": {"x": 3}}, "the value given for the input `x` is not a shape"),
    "negative size": (RELU, {"shape": {"x": (-1, 3)}}, "`relay.Any()` stands for an unknown one"),
    "no dtype": (RELU, {"dtype": {"x": "flaot"}}, "the dtype given for `x` is not a dtype"),
    "no option": (RELU, {"convert_config": {"use_nt_batch_mul": 1}}, "did you mean `use_nt_batch_matmul`?"),
    "no opset": (RELU, {"opset": 0}, "an opset version is a whole number from 1 on"),
    "text": (
        "g (string[2] x) => (string[2] y) { y = Identity(x) }",
        {},
        "the input `x` cannot be read: Relay has no tensors of the ONNX element type `string`",
    ),
    "a sequence": ("g (seq(float[2]) x) => (seq(float[2]) y) { y = Identity(x) }", {}, "is a sequence of a length that is not known"),
    "no such axis": ("g (float[2] x) => (float y) { y = Softmax<axis=7>(x) }", {}, "expected: -1 to 0"),
    "a missing attribute": ("g (float[2] x) => (float y) { y = Cast(x) }", {}, "needs the attribute `to`"),
    "another kind of attribute": ("g (float[2] x) => (float y) { y = Softmax<axis=0.5>(x) }", {}, "of the wrong kind"),
    "shapes that do not fit": ("g (float[2] x, float[3] z) => (float y) { y = Add(x, z) }", {}, "1 | y = Add(x, z)"),
    "a missing input": ("g (float[2] x) => (float y) { y = Add(x) }", {}, "lacks an input"),
    "inputs that come later": ("g (float[2] x) => (float y) { y = Neg(z) z = Exp(x) }", {}, "which nothing before it produces"),
    "two values of a name": ("g (float[2] x) => (float y) { y = Neg(x) y = Exp(x) }", {}, "`y` is given twice"),
    "no output": ("g (float[2] x) => (float z) { y = Neg(x) }", {}, "no node produces the output `z`"),
    "an output that is not there": (
        "g (float[2, 3] x) => (float[2] y, float[2] z) { y, z = Softmax(x) }", {}, "does not give its output `z`"),
    "axes known too late": (
        "g (float[2, 3] x, int64[1] a) => (float y) { y = ReduceSum(x, a) }", {}, "make it a constant of the model"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_model_is_told(name: str) -> None:
    graph, options, expected = WRONG[name]
    assert expected in finding(model(graph), **options)


def test_an_input_of_unknown_rank_asks_for_a_shape():
    proto = model("g (float[2] x) => (float y) { y = Relu(x) }")
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    assert 'from_onnx(model, shape={"x": (1, 3, 224, 224)})' in finding(proto)
    assert from_onnx(proto, shape={"x": (4,)})[0]["main"].params[0].checked_type == passlab.relay.TensorType((4,))


@pytest.mark.parametrize("data", [b"", b"not a model", bytes(range(256))], ids=["nothing", "text", "bytes"])
def test_what_is_no_model_is_told(data, tmp_path):
    (tmp_path / "net.onnx").write_bytes(data)
    assert "cannot be read as an ONNX model" in finding(data)
    assert "net.onnx cannot be read" in finding(tmp_path / "net.onnx")
    assert "net.onnx cannot be read" in finding(str(tmp_path / "net.onnx"))


@pytest.mark.parametrize(("path", "reason"), [("none.onnx", "No such file"), (".", "Is a directory")])
def test_a_path_that_is_no_file_is_an_error_of_passlab_and_of_the_system(path, reason, tmp_path):
    for kind in (FileAccessError, OSError):
        with pytest.raises(kind, match=rf"cannot be read: {reason}"):
            from_onnx(tmp_path / path)
    with pytest.raises(FileAccessError, match="cannot be written: No such file"):
        passlab.relay.to_onnx(passlab.parse("def @main(%x: float32) { %x }"), path=tmp_path / "no folder" / "net.onnx")


@pytest.mark.parametrize(
    ("argument", "message"),
    [({"shape": 3}, "shapes by name of input"), ({"opset": "x"}, "a whole number"), ({"dtype": "float9"}, "`float9`")],
)
def test_an_argument_of_another_kind_is_told(argument, message, tmp_path):
    passlab.relay.to_onnx(passlab.parse("def @main(%x: float32) { %x }"), path=tmp_path / "net.onnx")
    with pytest.raises(PasslabError, match=message):
        from_onnx(tmp_path / "net.onnx", **argument)


def test_something_else_is_told_what_is_expected():
    assert "a path, bytes, or an onnx.ModelProto" in finding(42)


def test_a_path_bytes_and_an_object_are_the_same_model(tmp_path):
    proto = model(RELU)
    onnx.save(proto, tmp_path / "net.onnx")
    expected = from_onnx(proto)[0]
    for other in (tmp_path / "net.onnx", str(tmp_path / "net.onnx"), proto.SerializeToString()):
        passlab.assert_structural_equal(from_onnx(other)[0], expected)


def test_a_missing_package_says_how_to_install_it(monkeypatch):
    def missing(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(package.importlib, "import_module", missing)
    with pytest.raises(MissingPackageError, match=r"pip install onnx"):
        from_onnx(b"")


def tensor(**changes: Any) -> onnx.ModelProto:
    proto = model("g (float[2] x) => (float y) { y = Add(x, w) }", w=np.ones(2, "float32"))
    for name, value in changes.items():
        field = getattr(proto.graph.initializer[0], name)
        if hasattr(field, "extend"):
            del field[:]
            field.extend(value)
        else:
            setattr(proto.graph.initializer[0], name, value)
    return proto


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"dims": [3]}, "expected: 12 bytes"),
        ({"dims": [-1]}, "a negative dimension"),
        ({"raw_data": b"123"}, "found:    3 bytes"),
        ({"data_type": 8}, "the ONNX element type `string`"),
        ({"data_type": 77}, "the ONNX element type `77`"),
    ],
    ids=["shape", "negative", "bytes", "text", "type"],
)
def test_a_tensor_that_contradicts_itself_is_told(changes, expected):
    assert expected in finding(tensor(**changes))


def test_a_tensor_too_large_is_refused_before_it_is_made():
    with pytest.raises(LimitError, match="elements"):
        from_onnx(tensor(dims=[2**40, 2**40]))


def test_what_would_be_too_large_while_the_model_is_read_is_refused():
    graph = (
        """g (float[2] x) => (float y) { p = Constant<value_ints=[0, 1099511627776]>() y = Pad<mode="wrap">(x, p) }"""
    )
    with pytest.raises(LimitError, match="elements"):
        from_onnx(model(graph, 19))


def test_graphs_inside_graphs_end_somewhere():
    inner = "p = Relu(x)"
    for level in range(4):
        inner = (f"p = If(c)<then_branch = t{level} () => (float p) {{ {inner} }}, "
                 f"else_branch = e{level} () => (float q) {{ q = Neg(x) }}>")  # fmt: skip
    proto = model(f"g (float[2] x, bool c) => (float[2] p) {{ {inner} }}")
    from_onnx(proto)
    with limits.override(model_nesting=3), pytest.raises(LimitError, match="model_nesting"):
        from_onnx(proto)


def test_functions_that_double_end_somewhere():
    """Each function calls the one before it twice: 2 ** 40 nodes, written in 80."""
    proto = model("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    helper, previous = onnx.helper, "Relu"
    for level in range(40):
        domain = "" if level == 0 else "local"
        nodes = [
            helper.make_node(previous, ["a"], ["b"], domain=domain),
            helper.make_node(previous, ["b"], ["c"], domain=domain),
        ]
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
        proto.functions.append(helper.make_function("local", f"f{level}", ["a"], ["c"], nodes, opsets))
        previous = f"f{level}"
    proto.opset_import.append(helper.make_opsetid("local", 1))
    proto.graph.node[0].op_type, proto.graph.node[0].domain = previous, "local"
    with limits.override(model_nodes=1000), pytest.raises(LimitError, match="model_nodes"):
        from_onnx(proto)


def test_functions_of_a_model_are_written_out():
    proto = model("g (float[2] x) => (float[2] y) { y = Twice(x) }")
    helper = onnx.helper
    nodes = [helper.make_node("Elu", ["a"], ["b"])]
    nodes[0].attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    nodes.append(helper.make_node("Add", ["b", "b"], ["c"]))
    proto.functions.append(
        helper.make_function("local", "Twice", ["a"], ["c"], nodes, [helper.make_opsetid("", 18)], ["slope"])
    )
    proto.graph.node[0].domain = "local"
    proto.graph.node[0].attribute.append(helper.make_attribute("slope", 0.5))
    proto.opset_import.append(helper.make_opsetid("local", 1))
    plain = model("g (float[2] x) => (float[2] y) { b = Elu<alpha=0.5>(x) y = Add(b, b) }")
    inline = passlab.transform.InlineComposites()
    passlab.assert_structural_equal(inline(from_onnx(proto)[0]), inline(from_onnx(plain)[0]))


def test_onnx_is_loaded_by_the_first_model_and_not_before():
    import subprocess
    import sys

    script = "import sys, passlab; from passlab import relay; relay.frontend.from_onnx; print('onnx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_an_opset_from_the_future_is_told_and_can_be_overruled() -> None:
    future = model("g (float[2] x) => (float[2] y) { y = Relu(x) }", 99)
    with pytest.raises(ModelError, match=r"does not know[\s\S]*found: +99"):
        from_onnx(future)
    assert "nn.relu" in str(from_onnx(future, opset=18)[0])
