"""ONNX text in, Relay text out."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import relay, transform
from passlab.frontend import from_onnx
from tests.frontend.onnx_text import assert_close, model, reference, run

CASES: dict[str, tuple[str, str]] = {
    "an operator under another name": (
        "g (float[2, 3] x) => (float[2, 3] y) { y = Relu(x) }",
        "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }",
    ),
    "named dimensions are unknown ones": (
        "g (float[batch, 3] x) => (float[batch, 3] y) { y = Tanh(x) }",
        "def @main(%x: Tensor[(?, 3), float32]) { tanh(%x) }",
    ),
    "several outputs are a tuple": (
        "g (float[2] x) => (float[2] y, float[2] z) { y = Exp(x) z = Neg(y) }",
        "def @main(%x: Tensor[(2), float32]) { %0 = exp(%x); (%0, negative(%0)) }",
    ),
    "an attribute of several meanings": (
        'g (float[1, 1, 4, 4] x) => (float y) { y = MaxPool<kernel_shape=[3, 3], auto_pad="SAME_UPPER", strides=[2, 2]>(x) }',
        """def @main(%x: Tensor[(1, 1, 4, 4), float32]) {
            nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[0, 0, 1, 1]) }""",
    ),
    "bounds that are constants are attributes": (
        "g (float[2] x) => (float[2] y) { a = Constant<value_float=0.0>() b = Constant<value_float=6.0>() y = Clip(x, a, b) }",
        "def @main(%x: Tensor[(2), float32]) { clip(%x, a_min=0f, a_max=6f) }",
    ),
    "bounds that are computed are operands": (
        "g (float[2] x, float b) => (float[2] y) { y = Clip(x, b) }",
        "def @main(%x: Tensor[(2), float32], %b: float32) { maximum(%x, %b) }",
    ),
    "a shape that is computed from a known one is known": (
        """g (float[2, 3, 4] x) => (float y) {
            s = Shape(x) i = Constant<value_ints=[0]>() n = Gather(s, i) rest = Constant<value_ints=[-1]>()
            t = Concat<axis=0>(n, rest) y = Reshape(x, t) }""",
        "def @main(%x: Tensor[(2, 3, 4), float32]) { reshape(%x, newshape=[2, -1]) }",
    ),
    "an entry that is a size of the input is copied": (
        """g (float[n, 12, 64] x) => (float y) {
            s = Shape(x) i = Constant<value_ints=[0]>() n0 = Gather(s, i) rest = Constant<value_ints=[8, 96]>()
            t = Concat<axis=0>(n0, rest) y = Reshape(x, t) }""",
        "def @main(%x: Tensor[(?, 12, 64), float32]) { reshape(%x, newshape=[0, 8, 96]) }",
    ),
    "one unknown entry of a shape is worked out": (
        """g (float[n, 12, 64] x, float[m] z) => (float y) {
            s = Shape(z) rest = Constant<value_ints=[8, 96]>() t = Concat<axis=0>(s, rest) y = Reshape(x, t) }""",
        "def @main(%x: Tensor[(?, 12, 64), float32], %z: Tensor[(?), float32]) { reshape(%x, newshape=[-1, 8, 96]) }",
    ),
    "a shape that comes from outside makes it dynamic": (
        "g (float[2, 3] x, int64[2] s) => (float y) { y = Reshape(x, s) }",
        "def @main(%x: Tensor[(2, 3), float32], %s: Tensor[(2), int64]) { dyn.reshape(%x, %s, newshape=[]) }",
    ),
    "a condition": (
        """g (float[2] x, bool c) => (float[2] y) {
            y = If(c)<then_branch = t () => (float a) { a = Relu(x) }, else_branch = e () => (float b) { b = Neg(x) }> }""",
        "def @main(%x: Tensor[(2), float32], %c: bool) { if (%c) { nn.relu(%x) } else { negative(%x) } }",
    ),
    "a condition that is known": (
        """g (float[2] x) => (float[2] y) { c = Constant<value=bool {1}>()
            y = If(c)<then_branch = t () => (float a) { a = Relu(x) }, else_branch = e () => (float b) { b = Neg(x) }> }""",
        "def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }",
    ),
    "branches of different shapes": (
        """g (float[2] x, bool c) => (float[n] y) {
            y = If(c)<then_branch = t () => (float a) { a = Identity(x) },
                      else_branch = e () => (float b) { b = Concat<axis=0>(x, x) }> }""",
        """def @main(%x: Tensor[(2), float32], %c: bool) {
            if (%c) { let %a: Tensor[(?), float32] = %x; %a }
            else { let %b: Tensor[(?), float32] = concatenate((%x, %x)); %b } }""",
    ),
    "a loop calls itself, and computes what is around it once": (
        """g (float[2] x, int64 n, bool c) => (float[2] y) {
            z = Exp(x)
            y = Loop(n, c, x)<body = b (int64 i, bool k, float[2] s) => (bool k2, float[2] s2) {
                s2 = Add(s, z) k2 = Identity(k) }> }""",
        """def @main(%x: Tensor[(2), float32], %n: int64, %c: bool) {
            %9 = (
              let %z: Tensor[(2), float32] = exp(%x);
              let %loop: fn (int64, bool, Tensor[(2), float32]) -> (Tensor[(2), float32],) =
              fn (%i: int64, %k: bool, %s: Tensor[(2), float32]) -> (Tensor[(2), float32],) {
                %0 = less(%i, %n);
                if (logical_and(%0, %k)) { %loop(add(%i, 1i64), %k, add(%s, %z)) } else { (%s,) }
              };
              %loop(0i64, %c, %x)
            );
            %9.0 }""",
    ),
    "rounds that are known and few are written out": (
        """g (float[2] x) => (float[2] y) { n = Constant<value_int=2>() c = Constant<value=bool {1}>()
            y = Loop(n, c, x)<body = b (int64 i, bool k, float[2] s) => (bool k2, float[2] s2) {
                s2 = Exp(s) k2 = Identity(k) }> }""",
        "def @main(%x: Tensor[(2), float32]) { exp(exp(%x)) }",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_graph_becomes(name: str) -> None:
    graph, expected = CASES[name]
    mod, params = from_onnx(model(graph), convert_config={"composites": False})
    assert params == {}
    passlab.assert_structural_equal(mod, passlab.parse(expected))


OLD: dict[str, tuple[str, int, str]] = {
    "axes as an attribute": ("g (float[1, 2] x) => (float y) { y = Squeeze<axes=[0]>(x) }", 11, "squeeze(%x, axis=[0])"),
    "bounds as attributes": ("g (float[1, 2] x) => (float y) { y = Clip<min=0.0, max=6.0>(x) }", 6,
                             "clip(%x, a_min=0f, a_max=6f)"),
    "a slice as attributes": ("g (float[4, 2] x) => (float y) { y = Slice<starts=[1], ends=[3], axes=[0]>(x) }", 9,
                              "strided_slice(%x, begin=[1], end=[3], strides=[1], axes=[0])"),
    "softmax of all that follows": (
        "g (float[2, 3, 4] x) => (float y) { y = Softmax<axis=1>(x) }", 12,
        "reshape_like(nn.softmax(reshape(%x, newshape=[2, 12]), axis=1), %x)"),
    "softmax of the last axis": ("g (float[2, 3] x) => (float y) { y = Softmax(x) }", 12, "nn.softmax(%x, axis=1)"),
    "broadcasting from an axis on": (
        "g (float[2, 3, 4] x, float[3] b) => (float y) { y = Add<broadcast=1, axis=1>(x, b) }", 6,
        "add(%x, expand_dims(%b, axis=1))"),
    "sums over an attribute": ("g (float[2, 3] x) => (float y) { y = ReduceSum<axes=[1], keepdims=0>(x) }", 11,
                               "sum(%x, axis=[1])"),
    "padding as an attribute": ("g (float[2] x) => (float y) { y = Pad<pads=[1, 2], value=1.5>(x) }", 10,
                                "nn.pad(%x, 1.5f, pad_width=[[1, 2]])"),
    "upsampling": ("g (float[1, 1, 2, 2] x) => (float y) { y = Upsample<scales=[1.0, 1.0, 2.0, 2.0]>(x) }", 7,
                   """image.resize2d(%x, size=[4, 4], roi=[0f, 0f, 0f, 0f], method="nearest_neighbor",
                   coordinate_transformation_mode="asymmetric", rounding_method="floor", cubic_alpha=-0.75f)"""),
    "dropout outside training": ("g (float[2] x) => (float y) { y = Dropout<ratio=0.5>(x) }", 7, "%x"),
}  # fmt: skip


@pytest.mark.parametrize("name", OLD)
def test_an_older_definition_says_it_otherwise(name: str) -> None:
    graph, opset, body = OLD[name]
    value = transform.InlineComposites()(from_onnx(model(graph, opset))[0])
    params = ", ".join(f"%{v.name_hint}: {v.checked_type}" for v in value["main"].params)
    passlab.assert_structural_equal(value, passlab.parse(f"def @main({params}) {{ {body} }}"))


QUANTIZED = """g (float[1, 3, 8, 8] x) => (float y) {
    q = QuantizeLinear(x, s, z)  d = DequantizeLinear(q, s, z)  v = DequantizeLinear<axis=0>(w, ws, wz)
    c = Conv(d, v)  e = QuantizeLinear(c, s, z)  y = DequantizeLinear(e, s, z) }"""
SCALES = {
    "s": np.float32(0.5), "z": np.uint8(128), "ws": np.array([0.5, 0.25], "float32"), "wz": np.zeros(2, "int8"),
    "w": np.arange(54, dtype="int8").reshape(2, 3, 3, 3),
}  # fmt: skip


def test_known_scales_become_quantized_operators_that_passes_know():
    mod = from_onnx(model(QUANTIZED, **SCALES))[0]
    assert (str(mod).count("qnn.quantize("), str(mod).count("qnn.dequantize(")) == (2, 3)
    text = str(passlab.transform.FakeQuantizationToInteger()(mod))
    assert "qnn.conv2d(" in text
    assert "qnn.requantize(" in text


GEMM = "g (float[2, 3] x) => (float y) { y = Gemm<transB=1>(x, w, b) }"
WEIGHTS = {"w": np.ones((4, 3), "float32"), "b": np.arange(4, dtype="float32")}


def test_weights_are_constants():
    mod, params = from_onnx(model(GEMM, **WEIGHTS))
    assert [var.name_hint for var in mod["main"].params] == ["x"]
    assert params == {}


def test_weights_that_are_not_frozen_are_parameters_under_legal_names():
    proto = model(GEMM, **WEIGHTS)
    proto.graph.initializer[0].name = proto.graph.node[0].input[1] = "fc.weight"
    mod, params = from_onnx(proto, freeze_params=False)
    expected = """def @main(%x: Tensor[(2, 3), float32], %fc_weight: Tensor[(4, 3), float32], %b: Tensor[(4), float32]) {
        nn.bias_add(nn.dense(%x, %fc_weight), %b) }"""
    passlab.assert_structural_equal(mod, passlab.parse(expected))
    assert {name: value.tolist() for name, value in params.items()} == {
        "fc_weight": WEIGHTS["w"].tolist(), "b": WEIGHTS["b"].tolist(),
    }  # fmt: skip


def test_weights_that_say_shapes_are_no_parameters():
    graph = "g (float[2, 3] x, int64[1] s) => (float y) { y = Reshape(x, s) }"
    mod, params = from_onnx(model(graph, s=np.array([-1])), freeze_params=False)
    passlab.assert_structural_equal(
        mod, passlab.parse("def @main(%x: Tensor[(2, 3), float32]) { reshape(%x, newshape=[-1]) }")
    )
    assert params == {}


def test_shapes_and_dtypes_of_inputs_may_be_given():
    graph = "g (float[n, m] x) => (float y) { y = Relu(x) }"
    value = from_onnx(model(graph), shape={"x": (2, passlab.relay.Any())}, dtype={"x": "float16"})[0]
    passlab.assert_structural_equal(value, passlab.parse("def @main(%x: Tensor[(2, ?), float16]) { nn.relu(%x) }"))


def test_the_opset_may_be_given():
    old = "g (float[2, 3, 4] x) => (float y) { y = Softmax(x) }"
    expected = passlab.parse("def @main(%x: Tensor[(2, 3, 4), float32]) { nn.softmax(%x, axis=2) }")
    passlab.assert_structural_equal(from_onnx(model(old, 12), opset=13)[0], expected)
    assert not passlab.structural_equal(from_onnx(model(old, 12))[0], expected)


def test_matrices_may_be_left_untransposed():
    graph = "g (float[2, 3] x, float[3, 4] w) => (float y) { y = MatMul(x, w) }"
    usual, plain = "nn.dense(%x, transpose(%w, axes=[1, 0]))", "nn.matmul(%x, %w)"
    for config, body in ((None, usual), ({"use_nt_batch_matmul": False}, plain)):
        expected = passlab.parse(f"def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(3, 4), float32]) {{ {body} }}")
        mod = transform.InlineComposites()(from_onnx(model(graph), convert_config=config)[0])
        passlab.assert_structural_equal(mod, expected)


@pytest.mark.parametrize(("attributes", "begin", "end", "axes"), [
    ("starts=[1, 0], ends=[3, 1]", [1, 0], [3, 1], [0, 1]),
    ("starts=[1, 0], ends=[3, 1], axes=[1, 0]", [1, 0], [3, 1], [1, 0]),
])  # fmt: skip
def test_old_slices_go_along_their_axes_or_the_first_ones(
    attributes: str, begin: list[int], end: list[int], axes: list[int]
) -> None:
    mod, _ = from_onnx(model(f"g (float[4, 5] x) => (float y) {{ y = Slice<{attributes}>(x) }}", 9))
    x = np.arange(20, dtype="float32").reshape(4, 5)
    bounds = {axis: slice(b, e) for b, e, axis in zip(begin, end, axes, strict=True)}
    found = passlab.relay.create_executor("debug", mod).evaluate()(x)
    assert found.tolist() == x[bounds[0], bounds[1]].tolist()


@pytest.mark.parametrize("mode", ["half_pixel", "output_half_pixel"])
@pytest.mark.parametrize("ratio", [0, 2])
def test_regions_smaller_than_a_pixel_are_aligned_as_onnx_says(mode: str, ratio: int) -> None:
    """Only `output_half_pixel` enlarges them to one pixel; a region without area has no samples."""
    rng = np.random.default_rng(0)
    x, number = rng.standard_normal((2, 3, 8, 9)).astype("float32"), np.array([0, 1, 0, 1, 1, 0, 0])
    regions = np.array(
        [[1, 1, 1.3, 1.4], [2, 2, 6, 7], [3, 3, 3, 3], [5, 4, 4.5, 3], [0, 0, 0.1, 8], [-3, -3, 2, 2], [7, 6, 12, 12]],
        "float32",
    )
    proto = model(
        f"""g (float[N,3,8,9] x, float[R,4] r, int64[R] b) => (float[R,3,3,2] y) {{
        y = RoiAlign<output_height=3, output_width=2, sampling_ratio={ratio}, spatial_scale=0.7,
                     coordinate_transformation_mode="{mode}">(x, r, b) }}"""
    )
    mod, _ = from_onnx(proto)
    expected = reference(proto, x, regions, number)
    assert_close(run("vm", mod, x, regions, number), expected)
    written = relay.to_onnx(mod)
    assert [node.op_type for node in written.graph.node].count("RoiAlign") == 1
    assert_close(reference(written, x, regions, number), expected)
