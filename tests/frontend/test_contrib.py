"""Operators of onnxruntime's own domain, beside onnxruntime: imported, run by the evaluator, exported as they were and as ONNX's own."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from passlab.errors import ModelError
from passlab.evaluate import Evaluator
from passlab.evaluate.ownership import arrays_in
from passlab.frontend import from_onnx, to_onnx
from passlab.frontend.onnx.contrib import DEFINITIONS
from passlab.ir.expr import Constant
from passlab.transform import InlineComposites
from tests.each import each
from tests.frontend.contrib_cases import CASES, model
from tests.frontend.test_export import evaluate, run

pytest.importorskip("onnxruntime", reason="models are run by onnxruntime: pip install passlab[bench]")


@pytest.mark.rotating
@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_operators_of_onnxruntime_agree_with_it(name: str, is_open: bool) -> None:
    proto, arguments = model(name, is_open)
    expected = run(proto, arguments)
    mod, _ = from_onnx(proto)
    tolerance = CASES[name][3]
    kept, written_out = (run(to_onnx(program), arguments) for program in (mod, InlineComposites()(mod)))
    for ours, exported, flat, theirs in zip(evaluate(mod, arguments), kept, written_out, expected, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        for one in (ours, exported, flat):
            np.testing.assert_allclose(one.astype("float64"), theirs.astype("float64"), rtol=0, atol=tolerance)


@each("name", CASES)
def test_all_numbers_on_the_way_are_finite_if_the_inputs_are_zeros(name: str) -> None:
    """A search for a fault compares no run with others: of a quantized layer, whose first state is zero, it found nothing."""
    proto, arguments = model(name, False)
    mod = InlineComposites()(from_onnx(proto)[0])
    zeros = [np.zeros_like(value) if value.dtype.kind == "f" else value for value in arguments]
    values = Evaluator(mod).values("main", zeros)
    odd = [
        node
        for node, value in values.items()
        if not all(np.isfinite(a).all() for a in arrays_in([value]) if a.dtype.kind == "f")
    ]
    assert all(isinstance(node, Constant) for node in odd), str(odd[0])


def test_the_scale_of_zeros_is_that_of_onnxruntime() -> None:
    text = """<ir_version: 8, opset_import: ["" : 18]> g (float[3] x) => (uint8[3] q, float s, uint8 z)
        { q, s, z = DynamicQuantizeLinear(x) }"""
    proto, zeros = onnx.parser.parse_model(text), [np.zeros(3, "float32")]
    for ours, theirs in zip(evaluate(from_onnx(proto)[0], zeros), run(proto, zeros), strict=True):
        assert np.array_equal(ours, theirs)


def test_every_operator_has_a_case_and_what_is_not_supported_is_told() -> None:
    assert {name.partition("/")[0] for name in CASES} == set(DEFINITIONS)
    proto, _ = model("FusedConv", False)
    proto.graph.node[0].attribute[0].s = b"Swish"
    with pytest.raises(ModelError, match="activation"):
        from_onnx(proto)
    proto, _ = model("Gelu", False)
    proto.graph.node[0].op_type = "Glue"
    with pytest.raises(ModelError, match=r"`Glue` \(com\.microsoft"):
        from_onnx(proto)
    text = """<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]> g (float[3] x, float[3,2] z) => (float y)
        { y = com.microsoft.FusedMatMul<transA = 1>(x, z) }"""
    with pytest.raises(ModelError, match="not known to be a matrix"):
        from_onnx(onnx.parser.parse_model(text))


def test_parts_of_models_that_tools_write_loosely() -> None:
    """A condition of one element, a scale of one element beside another axis, sizes named `?`, computed shapes."""
    text = """<ir_version: 8, opset_import: ["" : 17]> g (bool c, uint8[3] x, float[?,?] z) => (float y, float d, float[?,?] e) {
        y = If(c) <then_branch = t () => (float p) { p = Constant<value_float = 1.0>() },
                   else_branch = f () => (float q) { q = Constant<value_float = 2.0>() }>
        s = Constant<value = float[1] {0.5}>()  n = Constant<value = uint8[1] {2}>()
        d = DequantizeLinear(x, s, n)  e = EyeLike(z) }"""
    proto = onnx.parser.parse_model(text.replace("?,?", "N,N"))
    for value in (proto.graph.input[2], proto.graph.output[2]):
        for dim in value.type.tensor_type.shape.dim:
            dim.dim_param = "?"
    mod, _ = from_onnx(proto, shape={"c": (1,)})
    assert [len(p.type_annotation.shape) for p in mod["main"].params] == [1, 1, 2]
    y, d, e = evaluate(mod, [np.array([True]), np.array([2, 3, 4], "uint8"), np.zeros((2, 3), "float32")])
    assert (float(y), d.tolist(), e.tolist()) == (1.0, [0.0, 0.5, 1.0], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    with pytest.raises(ModelError, match="another rank"):
        from_onnx(proto, shape={"c": (1, 1)})
