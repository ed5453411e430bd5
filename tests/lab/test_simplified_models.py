"""`lab.simplify` on models of every kind: never larger, all names kept, equal values, whatever it is given."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from passlab import cli, lab
from passlab.errors import ModelError, PasslabError
from passlab.frontend.onnx.simplify.node_by_node import simplify_nodes
from passlab.lab import model_runs
from passlab.lab.simplification import nodes_of
from tests.each import each
from tests.frontend.test_names import interface, renamed, subset
from tests.frontend.test_node_cases import cases
from tests.rotation import PARTS, commit_count

pytest.importorskip("onnxruntime", reason="models are run by onnxruntime: pip install passlab[bench]")
TURN = commit_count() % PARTS  # of each five commits in a row, each looks at other cases


def fault(case: Any, is_open: bool) -> str | None:
    """Return what is wrong with a simplified case, None where nothing is."""
    proto = renamed(case.model, is_open)
    try:
        small = lab.simplify(proto)
    except PasslabError as error:
        return f"refused: {error}"
    model = small.model()
    if not nodes_of(model.graph) == small.nodes_after <= small.nodes_before == nodes_of(proto.graph):
        return f"{small.nodes_before} nodes became {small.nodes_after}"
    if not subset(interface(model.graph), interface(proto.graph)):
        return f"{interface(model.graph)} instead of {interface(proto.graph)}"
    if small.compared.is_right is False:
        return small.agreement
    return small.left or None  # a result that had to be thrown away


def faults(chosen: list[Any], is_open: bool) -> dict[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = {case.name: fault(case, is_open) for case in chosen}
    return {name: text for name, text in table.items() if text is not None}


@pytest.mark.rotating  # making all cases, of which these are a few, takes longer than simplifying them
@pytest.mark.parametrize("is_open", [False, True])
def test_cases_of_onnx_never_become_larger_and_keep_their_names(is_open: bool) -> None:
    assert faults(cases()[is_open + 40 * TURN :: 40 * PARTS], is_open) == {}


@pytest.mark.nightly
@pytest.mark.parametrize("is_open", [False, True])
def test_all_cases_of_onnx_never_become_larger_and_keep_their_names(is_open: bool) -> None:
    assert faults(cases(), is_open) == {}


# ---------------------------------------------------------------- models that must keep what they are
def model(text: str, opset: int = 17, domains: str = "", **weights: Any) -> Any:
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}{domains}]> {text}')
    proto.graph.initializer.extend(numpy_helper.from_array(np.asarray(w), name) for name, w in weights.items())
    return proto


def ops(small: Any) -> list[str]:
    return [node.op_type for node in small.model().graph.node]


def test_operators_that_relay_writes_out_stay_one_node() -> None:
    rng = np.random.default_rng(0)
    w, r = rng.random((1, 16, 3), dtype="float32"), rng.random((1, 16, 4), dtype="float32")
    proto = model(
        "g (float[S, B, 3] x, float[B, 4, n, 8] q, float[B, 4, 8, m] k, float[3] s) => (float[S, D, B, 4] y, float[B, 4, n, m] a, float[B, 4, n, m] p)"
        "{ y = LSTM<hidden_size = 4>(x, w, r) a = MatMul(q, k) z = Identity(a) p = PRelu(z, slope) }",
        w=w, r=r, slope=np.float32([0.5]),
    )  # fmt: skip
    small = lab.simplify(proto)
    assert ops(small) == ["LSTM", "MatMul", "PRelu"]
    assert small.compared.is_right
    assert small.model().opset_import[0].version == 17


def test_operators_of_other_domains_are_left_alone_and_the_rest_becomes_smaller() -> None:
    proto = model(
        "g (float[4, 4] x) => (float[4, 4] y) { c = Cast<to = 1>(two) t = Mul(c, c) f = com.microsoft.Inverse(x) "
        "i = Identity(f) m = Mul(i, t) n = Mul(i, t) y = Add(m, n) }",
        domains=', "com.microsoft" : 1', two=np.int64(2),
    )  # fmt: skip
    small = lab.simplify(proto)
    assert ops(small) == ["Inverse", "Mul", "Add"]
    assert small.compared.is_right


def test_weights_of_few_bits_are_not_widened_and_large_constants_not_written() -> None:
    proto = model(
        "g (float[4, 64] x) => (float[4, 64] y, float[2000, 2000] big) {"
        "w = DequantizeLinear(q, scale) t = Transpose<perm = [1, 0]>(w) y = MatMul(x, t) big = ConstantOfShape(shape) }",
        q=np.arange(64 * 64, dtype="int8").reshape(64, 64), scale=np.float32(0.1), shape=np.int64([2000, 2000]),
    )  # fmt: skip
    small = lab.simplify(proto)
    assert sorted(ops(small)) == ["ConstantOfShape", "DequantizeLinear", "MatMul", "Transpose"]
    assert small.model().ByteSize() < 2 * proto.ByteSize()
    assert "ConstantOfShape" not in ops(lab.simplify(proto, fold_limit=2**26))


def test_batch_norms_pads_and_scales_become_weights_in_the_opset_of_the_model() -> None:
    rng = np.random.default_rng(1)
    proto = model(
        "g (float[N, 3, H, W] image) => (float[N, 4, h, w] y) { p = Pad<pads = [0, 0, 1, 1, 0, 0, 1, 1]>(image) c = Conv(p, k)"
        " b = BatchNormalization(c, g, s, m, v) t = Mul(b, f) y = Relu(t) }",
        opset=9, k=rng.random((4, 3, 3, 3), dtype="float32"), g=rng.random(4, dtype="float32"), s=rng.random(4, dtype="float32"),
        m=rng.random(4, dtype="float32"), v=rng.random(4, dtype="float32") + 1, f=rng.random((4, 1, 1), dtype="float32"),
    )  # fmt: skip
    small = lab.simplify(proto)
    assert ops(small) == ["Conv", "Relu"]
    assert small.compared.is_right
    assert small.model().opset_import[0].version == 9
    assert [dim.dim_param for dim in small.model().graph.input[0].type.tensor_type.shape.dim] == ["N", "", "H", "W"]


def test_a_gelu_is_found_before_its_factor_moves_into_the_next_convolution() -> None:
    rng = np.random.default_rng(1)
    u, v = (rng.standard_normal((4, 4, 1, 1)).astype("float32") for _ in range(2))
    text = """g (float[1,4,5,5] x) => (float[1,4,5,5] y) {
        r = Constant<value = float {1.4142135}>() o = Constant<value = float {1}>() h = Constant<value = float {0.5}>()
        a = Conv(x, u) d = Div(a, r) e = Erf(d) s = Add(e, o) m = Mul(a, s) p = Mul(m, h) y = Conv(p, v) }"""
    small = lab.simplify(model(text, 11, u=u, v=v))
    assert ops(small) == ["Conv", "Gelu", "Conv"]
    assert small.compared.is_right


def test_shapes_that_are_computed_from_open_sizes_become_constants() -> None:
    proto = model(
        "g (float[batch, seq, 64] x) => (float[batch, seq, 8, 8] y) { s = Shape(x) b = Gather(s, zero) n = Gather(s, one)"
        " b1 = Unsqueeze(b, axes) n1 = Unsqueeze(n, axes) c = Concat<axis = 0>(b1, n1, heads) y = Reshape(x, c) }",
        zero=np.int64(0), one=np.int64(1), axes=np.int64([0]), heads=np.int64([8, 8]),
    )  # fmt: skip
    small = lab.simplify(proto)
    assert ops(small) == ["Reshape"]
    assert small.compared.is_right
    assert "0" in small.agreement  # a batch of 0 among the draws


def test_sizes_are_joined_by_one_node_and_parts_that_are_empty_are_dropped() -> None:
    proto = model(
        "g (float[N, 2, H, W] x, float[N, 2, P, Q] y) => (float[N, 2, H, W] z, int64[4] s) { s0 = Shape(x) h = Gather(s0, i2) w = Gather(s0, i3)"
        " hw = Concat<axis = 0>(h, w) s1 = Shape(y) nc = Slice(s1, zero, two, zero) e = Slice(nc, zero, zero)"
        " s = Concat<axis = 0>(nc, e, hw) z = Resize<mode = \"nearest\">(y, , , s) }",
        i2=np.int64([2]), i3=np.int64([3]), zero=np.int64([0]), two=np.int64([2]),
    )  # fmt: skip
    small = lab.simplify(proto)
    assert ops(small) == ["Shape", "Gather", "Shape", "Slice", "Concat", "Resize"]
    assert small.compared.is_right


def test_a_transposition_of_an_axis_of_one_is_part_of_a_reshape_whatever_the_other_sizes() -> None:
    proto = model(
        "g (float[T, 6] x) => (float[1, T, 6] y) { r = Reshape(x, c) t = Transpose<perm = [1, 0, 2]>(r) y = Exp(t) }",
        c=np.int64([-1, 1, 6]),
    )
    small = lab.simplify(proto)
    assert ops(small) == ["Reshape", "Exp"]
    assert small.compared.is_right


def test_reshapes_there_and_back_are_dropped_where_no_size_is_copied() -> None:
    text = """g (float[B, 6, 1, S] x) => (float[B, 6, 1, S] y) {{ e = Exp(x) b = Shape<start = 0, end = 1>(x)
        n = Shape<start = 3, end = 4>(x) m = Mul(b, six) there = Concat<axis = 0>(m, one, n) back = Concat<axis = 0>(b, six, one, n)
        r = Reshape{zero}(e, there) t = Reshape{zero}(r, back) y = Sqrt(t) }}"""
    for zero, expected in (("<allowzero = 1>", ["Exp", "Sqrt"]), ("", None)):
        small = lab.simplify(model(text.format(zero=zero), six=np.int64([6]), one=np.int64([1])))
        assert small.compared.is_right
        assert expected is None or ops(small) == expected


def test_constants_that_change_nothing_are_dropped_and_those_that_widen_are_kept() -> None:
    proto = model(
        "g (float[N, 3, K] x, int64 n) => (float[N, 3, K] y, float[N, 3, 4] z, int64[L] t) { a = Mul(x, ones) b = Add(a, zeros) y = Exp(b)"
        " z = Mul(x, wide) s = Shape(x) r = Range(i0, n, i1) t = Reshape(r, minus) }",
        ones=np.ones((3, 1), "float32"), zeros=np.zeros((1, 3, 1), "float32"), wide=np.ones((3, 4), "float32"),
        i0=np.int64(0), i1=np.int64(1), minus=np.int64([-1]),
    )  # fmt: skip
    small = lab.simplify(proto, shape={"K": 1})
    assert sorted(ops(small)) == ["Exp", "Mul", "Range"]
    assert small.compared.is_right
    assert "Mul" in ops(lab.simplify(proto))


@each(
    "body, expected",
    [
        ("p = MatMul(x, A) q = Add(a, p) s = MatMul(q, B) y = Add(s, b)", ["MatMul", "Add"]),
        ("p = MatMul(x, A) s = MatMul(p, B) y = Add(s, b)", ["MatMul", "Add"]),
        ("p = MatMul(x, A) q = Add(p, a) y = MatMul(q, B)", ["MatMul", "Add"]),
        ("p = MatMul(x, A) y = MatMul(p, B)", ["MatMul"]),
        ("p = MatMul(x, N) y = MatMul(p, W)", ["MatMul", "MatMul"]),  # 6 to 1 to 5 is less than 6 to 5
        ("p = MatMul(x, A) q = Relu(p) y = MatMul(q, B)", ["MatMul", "Relu", "MatMul"]),
        ("p = Gemm<transB = 1>(x, T, a) y = Gemm(p, B, b)", ["Gemm"]),
        ("p = Gemm<transB = 1>(x, T, a) y = Gemm<alpha = 0.5>(p, B, b)", ["Gemm", "Gemm"]),
        ("p = Gemm(x, A, a) y = MatMul(p, B)", ["Gemm"]),
        ("p = Add(x, c) q = Add(d, p) m = Mul(q, c) y = Mul(m, d)", ["Add", "Mul"]),
        ("p = Add(x, big) y = Add(p, less)", ["Add", "Add"]),  # that rounds
    ],
)
def test_linear_layers_without_anything_between_are_one(body: str, expected: list[str]) -> None:
    rng = np.random.default_rng(2)
    draw = lambda *shape: np.abs(rng.standard_normal(shape, "float32"))  # noqa: E731
    weights = {
        "A": draw(6, 5), "T": draw(5, 6), "a": draw(5), "B": draw(5, 5), "b": draw(5), "N": draw(6, 1), "W": draw(1, 5),
        "c": draw(6), "d": draw(1, 1), "big": np.float32(2**23), "less": np.float32(-(2**23)),
    }  # fmt: skip
    sizes = "M, 6" if "Gemm" in body else "M, N, 6"
    small = lab.simplify(
        model(f"g (float[{sizes}] x) => (float y) {{ {body} }}", **{k: v for k, v in weights.items() if k in body})
    )
    assert ops(small) == expected
    assert small.compared.is_right


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("s = Mul(x, x) m = ReduceMean(s, last) d = Sqrt(t) t = Add(m, e) n = Div(x, d) y = Mul(w, n)", True),
        ("s = Pow(x, two) m = ReduceMean(s, last) t = Add(e, m) d = Sqrt(t) r = Reciprocal(d) n = Mul(r, x) y = Mul(n, w)", True),
        ("s = Mul(x, x) m = ReduceMean(s, last) t = Add(m, e) d = Sqrt(t) n = Div(d, x) y = Mul(w, n)", False),
        ("s = Mul(x, x) m = ReduceMean(s, first) t = Add(m, e) d = Sqrt(t) n = Div(x, d) y = Mul(w, n)", False),
        ("s = Mul(x, x) m = ReduceSum(s, last) t = Add(m, e) d = Sqrt(t) n = Div(x, d) y = Mul(w, n)", False),
        ("s = Mul(x, x) m = ReduceMean(s, last) t = Add(m, e) d = Sqrt(t) n = Div(x, d) y = Mul(one, n)", False),
    ],
)  # fmt: skip
def test_a_norm_by_the_root_of_the_mean_of_squares_is_one_node(body: str, expected: bool) -> None:
    body = body.replace("d = Sqrt(t) t = Add(m, e)", "t = Add(m, e) d = Sqrt(t)")
    weights = {
        "last": np.array([-1]), "first": np.array([0]), "e": np.float32(1e-3), "two": np.float32(2),
        "w": np.arange(1, 6, dtype="float32"), "one": np.ones((2, 1), "float32"),
    }  # fmt: skip
    used = {
        name: value
        for name, value in weights.items()
        if name in body.replace("(", " ").replace(",", " ").replace(")", " ").split()
    }
    small = lab.simplify(model(f"g (float[2, 5] x) => (float[2, 5] y) {{ {body} }}", opset=23, **used))
    assert small.compared.is_right
    assert ("RMSNormalization" in ops(small)) is expected
    older = lab.simplify(model(f"g (float[2, 5] x) => (float[2, 5] y) {{ {body} }}", opset=18, **used))
    assert older.compared.is_right
    assert "RMSNormalization" not in ops(older)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = Reshape(x, rows) b = Tanh(a) c = Mul(b, half) y = Reshape(c, whole)", ["Tanh", "Mul"]),
        ("a = Flatten(x) b = Tanh(a) c = Mul(b, a) y = Reshape(c, pairs)", ["Tanh", "Mul", "Reshape"]),
        ("a = Reshape(x, rows) b = Add(a, row) y = Reshape(b, whole)", ["Reshape", "Add", "Reshape"]),
        ("a = Reshape(x, rows) b = Softmax(a) y = Reshape(b, whole)", ["Reshape", "Softmax", "Reshape"]),
        ("a = Reshape(x, rows) b = Tanh(a) y = Reshape(b, copied)", ["Tanh", "Reshape"]),
        ("a = Reshape(x, rows) b = Add(a, deep) y = Reshape(b, whole)", ["Reshape", "Add", "Reshape"]),
    ],
)
def test_elementwise_operators_need_no_reshape_before_them(body: str, expected: list[str]) -> None:
    weights = {
        "rows": np.array([-1, 4]), "whole": np.array([2, 3, 4]), "pairs": np.array([3, -1]), "copied": np.array([0, 2, 2]),
        "half": np.float32(0.5), "row": np.arange(4, dtype="float32"), "deep": np.ones((1, 1, 1, 1), "float32"),
    }  # fmt: skip
    small = lab.simplify(
        model(f"g (float[2, 3, 4] x) => (float y) {{ {body} }}", **{k: v for k, v in weights.items() if k in body})
    )
    assert ops(small) == expected
    assert small.compared.is_right


def test_a_loop_that_goes_on_for_ever_where_inputs_are_absent_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_runs, "LONGEST_RUN", 0.5)
    monkeypatch.setattr(model_runs, "SECONDS", 0.2)
    body = """b (int64 i, bool c, float[N] s) => (bool go, float[N] r)
        { r = Mul(s, two) a = Abs(r) m = ReduceMax<keepdims = 0>(a) go = Less(m, hundred) }"""
    text = f"g (float[N] x) => (float[N] y) {{ y = Loop(, yes, x)<body = {body}> }}"
    small = lab.simplify(model(text, two=np.float32(2), hundred=np.float32(100), yes=np.array(True)))
    assert small.compared.is_right
    assert "(several, 1)" in small.agreement


def test_a_cast_to_the_type_that_is_there_is_dropped() -> None:
    proto = model(
        "g (float[2] x, bool[2] t) => (float[2] y) { n = Xor(t, t) b = Cast<to = 9>(n) f = Cast<to = 1>(x) y = Where(b, f, x) }"
    )
    assert ops(lab.simplify(proto)) == ["Xor", "Where"]
    kept = model(
        "g (float[2] x) => (bool[2] y) { f = Cast<to = 11>(x) z = IsNaN(f) c = Cast<to = 6>(z) y = Cast<to = 9>(c) }"
    )
    assert "Cast" in ops(lab.simplify(kept))


def test_no_size_is_below_zero_so_a_choice_by_that_is_decided() -> None:
    proto = model(
        "g (float[N, K] x, float[K] v) => (float[a, b] y) { s = Shape(x) e = Equal(s, minus) w = Where(e, ones, s) y = Expand(v, w) }",
        minus=np.int64([-1, -1]), ones=np.int64([1, 1]),
    )  # fmt: skip
    small = lab.simplify(proto)
    assert ops(small) == ["Shape", "Expand"]
    assert small.compared.is_right


def test_a_branch_that_is_decided_is_written_and_names_inside_do_not_collide() -> None:
    proto = model(
        "g (float[2] x, int64 rate) => (float[2] y, float[2] z) { is = Equal(rate, known) y = If(is) <"
        "then_branch = t () => (float[2] r) { t = Exp(x) r = Neg(t) }, else_branch = e () => (float[2] r) { r = Relu(x) }> "
        "z = If(is) <then_branch = t2 () => (float[2] r) { t = Cos(x) r = Abs(t) },"
        "else_branch = e2 () => (float[2] r) { r = Relu(x) }> }",
        known=np.int64(16000),
    )  # fmt: skip
    small = lab.simplify(proto, values={"rate": 16000})
    assert sorted(ops(small)) == ["Abs", "Cos", "Exp", "Neg"]
    assert small.compared.is_right
    assert [value.name for value in small.model().graph.input] == ["x"]


def test_a_weight_that_branches_scale_belongs_to_the_graph_around_them() -> None:
    rng = np.random.default_rng(3)
    w, b = rng.standard_normal((4, 4), "float32"), rng.standard_normal(4, "float32")
    text = """g (float[N, 4] x, bool c) => (float[N, 4] y) { y = If(c) <then_branch = t () => (float[N, 4] u) {
        p = Gemm(x, w, b) u = Mul(p, two) }, else_branch = e () => (float[N, 4] v) { q = Gemm(x, w, b) v = Mul(q, three) }> }"""
    small = lab.simplify(model(text, w=w, b=b, two=np.float32(2), three=np.float32(3)))
    assert (small.nodes_after, small.left, small.compared.is_right) == (3, "", True)


def test_inputs_without_elements_do_not_end_the_process() -> None:
    # onnxruntime makes one product of the three nodes, which divides by the number of its elements.
    text = """g (float[N, B, 4] q, float[M, B, 4] k) => (float[B, N, M] y) {
        s = Transpose<perm = [1, 0, 2]>(q) t = Transpose<perm = [1, 2, 0]>(k) y = MatMul(s, t) }"""
    small = lab.simplify(model(text))
    assert small.compared.is_right
    assert "(several, 1, 0, 7)" in small.agreement
    # It puts the axes of the results of a Scan in order by the number of their elements.
    body = "b (float[B,H] s, float[B,H] a) => (float[B,H] q, float[B,H] o) { q = Add(s, a) o = Tanh(q) }"
    text = f"""g (float[B,T,H] x, float[B,H] s0) => (float s, float o) {{ s, o = Scan(s0, x)<num_scan_inputs = 1,
        scan_input_axes = [1], scan_output_axes = [1], scan_output_directions = [1], body = {body}> }}"""
    assert lab.simplify(model(text)).compared.is_right


def test_maps_at_the_end_stay_and_what_comes_before_becomes_smaller() -> None:
    rng = np.random.default_rng(4)
    proto = model(
        "g (float[N, 4] x) => (int64[N] label, float maps) { a = ai.onnx.ml.Scaler<offset = [1.0], scale = [2.0]>(x) p = MatMul(a, w)"
        " q = Add(p, b) e = Exp(q) s = Softmax(e) t = Identity(s) label = ArgMax<axis = 1, keepdims = 0>(t)"
        " maps = ai.onnx.ml.ZipMap<classlabels_int64s = [7, 8, 9]>(s) }",
        domains=', "ai.onnx.ml" : 3', w=rng.standard_normal((4, 3), "float32"), b=rng.standard_normal(3, "float32"),
    )  # fmt: skip
    value = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    proto.graph.output[1].type.CopyFrom(helper.make_sequence_type_proto(value))
    small = lab.simplify(proto)
    assert ops(small) == ["Scaler", "Gemm", "Exp", "Softmax", "ArgMax", "ZipMap"]
    assert (small.left, small.compared.is_right) == ("", True)


def test_a_weight_that_layers_share_is_stored_once() -> None:
    layers = " ".join(
        f"w{i} = Identity({f'w{i - 1}' if i else 'w'}) t{i} = Transpose<perm = [1, 0]>(w{i}) p{i} = MatMul(y{i}, t{i}) y{i + 1} = Relu(p{i})"
        for i in range(8)
    )
    proto = model(
        f"g (float[N, 64] y0) => (float[N, 64] y8) {{ {layers} }}",
        w=np.random.default_rng(5).standard_normal((64, 64), "float32"),
    )
    small = lab.simplify(proto)
    assert ops(small) == ["MatMul", "Relu"] * 8
    assert small.model().ByteSize() < proto.ByteSize()
    assert small.compared.is_right


def test_equal_outputs_are_computed_once_and_random_numbers_twice() -> None:
    proto = model("g (float[2] x) => (float[2] a, float[2] b) { a = Exp(x) b = Exp(x) }")
    assert sorted(ops(lab.simplify(proto))) == ["Exp", "Identity"]
    proto = model("g (float[2] x) => (float[2] a, float[2] b) { a = RandomNormalLike(x) b = RandomNormalLike(x) }")
    assert ops(lab.simplify(proto)) == ["RandomNormalLike"] * 2


def test_a_result_that_differs_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    from passlab.frontend.onnx.simplify import rules

    def wrong(graph: Any, root: Any) -> bool:
        if root.op_type != "Exp":
            return False
        root.op_type = "Sin"
        return True

    monkeypatch.setitem(rules.RULES, "SimplifyExpr", (wrong,))
    proto = model("g (float[n] x) => (float[n] y) { i = Identity(x) y = Exp(i) }")
    small = lab.simplify(proto)
    assert "Sin" not in ops(small)
    assert "DIFFER" in small.left
    assert small.compared.is_right


def test_a_model_that_nothing_runs_is_not_written_unless_asked(tmp_path: Path) -> None:
    proto = model("g (float[2] x) => (float[2] y) { i = Identity(x) y = my.own.Thing(i) }", domains=', "my.own" : 1')
    small = lab.simplify(proto)
    assert ops(small) == ["Thing"]
    with pytest.raises(ModelError, match="not written"):
        small.save(tmp_path / "small.onnx")
    assert not (tmp_path / "small.onnx").exists()
    small.save(tmp_path / "small.onnx", unchecked=True)
    assert (tmp_path / "small.onnx").exists()


def damaged(proto: Any, rng: random.Random) -> Any:
    """Return a model with an input, an attribute or an operator that does not fit."""
    result = onnx.ModelProto()
    result.CopyFrom(proto)
    node = rng.choice(list(result.graph.node))
    kind = rng.randrange(4)
    if kind == 0 and node.input:
        del node.input[rng.randrange(len(node.input))]
    elif kind == 1 and node.attribute:
        del node.attribute[rng.randrange(len(node.attribute))]
    elif kind == 2 and node.attribute:
        attribute = rng.choice(list(node.attribute))
        attribute.i, attribute.type = rng.randint(-5, 99), rng.choice([1, 2, 3, 7])
    else:
        node.op_type = rng.choice(
            ["Conv", "Gemm", "Slice", "Pad", "Reshape", "If", "Transpose", "Gather", "Unsqueeze", "LSTM"]
        )
    return result


def test_a_damaged_model_is_left_as_it_is_or_told() -> None:
    rng = random.Random(TURN)
    pool = [case.model for case in cases()[::31] if case.model.graph.node]
    for _ in range(200 // PARTS):
        proto = damaged(rng.choice(pool), rng)
        assert nodes_of(simplify_nodes(proto).model.graph) <= nodes_of(proto.graph)  # raises nothing


# ---------------------------------------------------------------- the command
def test_the_command_takes_files_and_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    good = model("g (float[batch, 3] x, int64 n) => (float[batch, 3] y) { i = Identity(x) y = Exp(i) }")
    onnx.save(good, tmp_path / "in" / "deep" / "good.onnx")
    out = tmp_path / "small.onnx"
    assert (
        cli.main(["simplify", str(tmp_path / "in/deep/good.onnx"), str(out), "--shape", "batch=2", "--value", "n=3"])
        == 0
    )
    assert "2 nodes before, 1 after" in capsys.readouterr().out
    small = onnx.load(out)
    assert [value.name for value in small.graph.input] == ["x"]
    assert small.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 2
    assert cli.main(["simplify", str(tmp_path / "in"), str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "deep" / "good.onnx").exists()
    (tmp_path / "in" / "bad.onnx").write_bytes(b"not a model")
    assert cli.main(["simplify", str(tmp_path / "in"), str(tmp_path / "out")]) == 1
    text = capsys.readouterr().out
    assert "bad.onnx" in text
    assert "cannot be read as an ONNX model" in text
    assert "deep/good.onnx" in text
    assert not (tmp_path / "out" / "bad.onnx").exists()
    (tmp_path / "empty").mkdir()
    for wrong, words in (
        ([str(tmp_path / "nowhere.onnx")], "nowhere.onnx"),
        ([str(tmp_path / "empty")], "no ONNX models"),
        ([str(tmp_path / "in"), "small.onnx"], "to a folder"),
        ([str(tmp_path / "in/deep/good.onnx"), "--value", "n"], "NAME=16000"),
        ([str(tmp_path / "in/deep/good.onnx"), "--shape", "bitch=2"], "batch"),
    ):
        assert cli.main(["simplify", *wrong]) == 1
        assert words in capsys.readouterr().err


def test_models_with_weights_among_the_inputs_or_in_other_files(tmp_path: Path) -> None:
    w = numpy_helper.from_array(np.arange(4096, dtype="float32"), "w")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4096]) for name in "xy")
    nodes = [helper.make_node("Identity", ["w"], ["v"]), helper.make_node("Add", ["x", "v"], ["y"])]
    weight = helper.make_tensor_value_info("w", TensorProto.FLOAT, [4096])
    proto = helper.make_model(
        helper.make_graph(nodes, "g", [x, weight], [y], [w]), opset_imports=[helper.make_opsetid("", 8)]
    )
    proto.ir_version = 3
    small = lab.simplify(proto)
    assert ops(small) == ["Add"]
    assert [value.name for value in small.model().graph.input] == ["x"]
    path = tmp_path / "apart.onnx"
    proto.ir_version = 8
    onnx.save(proto, path, save_as_external_data=True, location="apart.bin", size_threshold=0)
    small = lab.simplify(path)
    small.save(tmp_path / "elsewhere.onnx")
    (tmp_path / "apart.bin").unlink()
    np.testing.assert_array_equal(
        numpy_helper.to_array(onnx.load(tmp_path / "elsewhere.onnx").graph.initializer[0])[:3], [0, 1, 2]
    )
