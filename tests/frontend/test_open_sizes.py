"""Models whose sizes are all open: imported, run, exported and run in onnxruntime, by ONNX's own cases of its operators."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnx
import pytest

from passlab import relay
from passlab.errors import ModelError, PasslabError
from passlab.frontend import from_onnx, to_onnx
from tests.frontend.test_export import NO_COUNTERPART, NOT_IN_RUNTIME, deviates, evaluate, run
from tests.frontend.test_node_cases import array, cases, imported, reason

pytestmark = pytest.mark.rotating

# Operators whose Relay form needs a size while a model is read, with what it is needed for.
NEEDS_SIZES = {
    "AffineGrid": "the positions of the pixels are constants",
    "CenterCropPad": "what is cut and what is padded is decided by the sizes",
    "Col2Im": "the places of the blocks are constants",
    "ConvTranspose": "the pads of a stated output are computed from the sizes",
    "CumProd": "the products are doubled in steps, whose number depends on the length",
    "DFT": "the factors of the transform are constants",
    "DequantizeLinear": "blocks are repeated a constant number of times",
    "Det": "written out for matrices of up to three rows",
    "GroupNormalization": "channels are grouped by a static reshape",
    "MaxUnpool": "the places are counted in a static shape",
    "QuantizeLinear": "blocks are repeated a constant number of times",
    "SpaceToDepth": "the blocks are a static reshape",
    "TensorScatter": "the places of the update are constants",
}
OPEN_CASES = {
    **dict.fromkeys(
        (f"test_resize_{case}" for case in (
            "tf_crop_and_resize", "tf_crop_and_resize_extrapolation_value", "tf_crop_and_resize_axes_2_3",
            "tf_crop_and_resize_axes_3_2", "downsample_scales_linear_antialias", "downsample_sizes_linear_antialias",
            "downsample_scales_cubic_antialias", "downsample_sizes_cubic_antialias")),
        "the reach of the kernel, or the region, is computed from the size",
    ),
}  # fmt: skip


class Opened:
    """A case whose inputs and outputs have open sizes, each with a name of its own."""

    def __init__(self, case: Any) -> None:
        self.name, self.data_sets = case.name, case.data_sets
        self.model = onnx.ModelProto()
        self.model.CopyFrom(case.model)
        for value in (*self.model.graph.input, *self.model.graph.output):
            for axis, dim in enumerate(value.type.tensor_type.shape.dim):
                dim.dim_param = f"{value.name}_{axis}"


def fault(case: Any) -> str | None:
    inputs, outputs = ([array(value) for value in side] for side in case.data_sets[0])
    try:
        mod, left = imported(Opened(case), inputs)
    except ModelError as error:
        return f"import: {error.diagnostics[0].message}"
    ours = evaluate(mod, left)
    for one, other in zip(ours, outputs, strict=True):
        if one.shape != other.shape or not np.allclose(
            one.astype("float64"), other.astype("float64"), 2e-2, 2e-2, equal_nan=True
        ):
            return f"value: {one} instead of {other}"
    try:
        model = to_onnx(mod)
    except PasslabError as error:
        return None if any(words in str(error) for words in NO_COUNTERPART) else f"export: {error}"
    try:
        theirs = run(model, left)
    except Exception as error:  # noqa: BLE001 - of every kind, by what it says
        return None if any(words in str(error) for words in NOT_IN_RUNTIME) else f"runtime: {error}"
    for one, other in zip(theirs, ours, strict=True):
        same = one.dtype != other.dtype or np.allclose(
            np.asarray(one, "float64"), np.asarray(other, "float64"), 2e-2, 2e-2, equal_nan=True
        )
        if one.shape != other.shape or not same:
            return None if deviates(case, theirs) else f"export differs: {one} instead of {other}"
    return None


def faults(step: int) -> dict[str, str]:
    def is_listed(case: Any) -> bool:
        kinds = {node.op_type for node in case.model.graph.node}
        tensors = all(isinstance(v, (onnx.TensorProto, np.ndarray)) for side in case.data_sets[0] for v in side)
        return reason(case) is not None or case.name in OPEN_CASES or bool(kinds & set(NEEDS_SIZES)) or not tensors

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {case.name: fault(case) for case in cases()[::step] if not is_listed(case)}
    return {name: text for name, text in found.items() if text is not None}


def test_cases_of_onnx_with_open_sizes() -> None:
    assert faults(16) == {}


@pytest.mark.nightly
def test_all_cases_of_onnx_with_open_sizes() -> None:
    assert faults(1) == {}


def model(text: str, opset: int = 18) -> Any:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}')


def results_of(proto: Any, *arguments: Any) -> list[Any]:
    mod, _ = from_onnx(proto)
    result = relay.create_executor("vm", mod).evaluate()(*arguments)
    return [np.asarray(part) for part in (result if isinstance(result, (tuple, list)) else (result,))]


def test_a_recurrent_layer_over_an_open_number_of_steps_is_a_loop() -> None:
    runtime = pytest.importorskip("onnxruntime", reason="models are run by onnxruntime: pip install passlab[bench]")
    rng = np.random.default_rng(0)
    for kind, gates, states in (("LSTM", 4, 2), ("GRU", 3, 1), ("RNN", 1, 1)):
        proto = model(
            f"g (float[S, B, 3] x, int32[B] n) => (float[S, 2, B, 4] y{', float[2, B, 4] h'}{', float[2, B, 4] c' * (states > 1)})"
            f"{{ y, h{', c' * (states > 1)} = {kind}<hidden_size = 4, direction = \"bidirectional\">(x, w, r, b, n) }}", 17
        )  # fmt: skip
        for name, shape in (("w", (2, 4 * gates, 3)), ("r", (2, 4 * gates, 4)), ("b", (2, 8 * gates))):
            value = (rng.random(shape) - 0.5).astype("float32")
            proto.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
        session = runtime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        written = to_onnx(from_onnx(proto)[0])
        again = runtime.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])
        for steps in (5, 1, 40):
            x = rng.random((steps, 2, 3), dtype="float32")
            inputs = {"x": x, "n": np.array([steps, max(steps - 2, 1)], "int32")}
            expected = session.run(None, inputs)
            for ours, theirs, exported in zip(
                results_of(proto, *inputs.values()), expected, again.run(None, inputs), strict=True
            ):
                np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
                np.testing.assert_allclose(exported, theirs, rtol=1e-4, atol=1e-5)


def test_branches_whose_ranks_have_nothing_to_do_with_each_other_need_a_stated_rank() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[A,B] x, bool c) => (y) { y = If(c)
        <then_branch = t () => (float r) { r = Flatten<axis = 0>(x) },
         else_branch = e () => (float s) { s = ReduceSum<keepdims = 0>(x) }> }"""
    with pytest.raises(ModelError, match="different ranks") as raised:
        from_onnx(onnx.parser.parse_model(text))
    assert "values=" in str(raised.value)
    x = np.ones((2, 3), "float32")
    for taken, shape in ((True, (1, 6)), (False, ())):
        mod, _ = from_onnx(onnx.parser.parse_model(text), values={"c": taken})
        (y,) = evaluate(mod, [x] if len(mod["main"].params) == 1 else [x, np.array(taken)])
        assert y.shape == shape


def test_branches_of_two_ranks_go_on_with_the_rank_that_the_model_states() -> None:
    def squeezed(stated: str, rest: str) -> Any:
        return model(
            f"g (float[B, S] x) => (float[{rest}] y) <float[{stated}] v> {{ s = Shape(x) n = Gather<axis = 0>(s, one) is = Equal(n, one)"
            "v = If(is) <then_branch = t () => (float[B] p) { p = Squeeze(x, axes) }, else_branch = e () => (float[B, S] q)"
            " { q = Identity(x) }> y = Exp(v) }"
        )  # fmt: skip

    for proto, good, bad in ((squeezed("B", "B"), (3, 1), (3, 2)), (squeezed("B, S", "B, S"), (3, 2), (3, 1))):
        for name, value in (("one", np.int64(1)), ("axes", np.int64([1]))):
            proto.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value), name))
        x = np.zeros(good, "float32")
        (y,) = results_of(proto, x)
        assert y.ndim == len(proto.graph.output[0].type.tensor_type.shape.dim)
        with pytest.raises(PasslabError):
            results_of(proto, np.zeros(bad, "float32"))


@pytest.mark.parametrize("scale", [0.6, 1.7, 2.0])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"])
def test_resizing_by_a_scale_is_the_same_whether_the_sizes_are_open_or_fixed(
    scale: float, mode: str, coordinates: str
) -> None:
    text = 'g (float[N, 2, H, W] x) => (float[N, 2, h, w] y) { y = Resize<mode = "%s", coordinate_transformation_mode = "%s">(x, , s) }'
    proto = model(text % (mode, coordinates))
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.float32([1, 1, scale, scale]), "s"))
    fixed = [dim.dim_param for dim in proto.graph.input[0].type.tensor_type.shape.dim]
    for height, width in ((5, 7), (4, 9)):
        x = np.random.default_rng(height).random((2, 2, height, width), dtype="float32")
        sizes = {name: size for name, size in zip(fixed, x.shape, strict=True) if name}
        mod, _ = from_onnx(proto, shape=sizes)
        (expected,) = evaluate(mod, [x])  # by matrices that NumPy computes at import
        (open_result,) = results_of(proto, x)
        np.testing.assert_allclose(open_result, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool", "AveragePool counting", "places", "Conv", "ConvInteger"])
def test_windows_over_an_image_of_open_size_are_those_over_an_image_of_that_size(kind: str) -> None:
    rng, integers = np.random.default_rng(len(kind)), kind == "ConvInteger"
    for auto in ("NOTSET", "SAME_UPPER", "SAME_LOWER") if kind != "places" else ("NOTSET",):
        for _ in range(6):
            kernel, strides, dilations = (rng.integers(1, limit, 2).tolist() for limit in (4, 4, 3))
            pads = [int(rng.integers(0, size)) for size in kernel * 2]
            marks = f"kernel_shape = {kernel}, strides = {strides}, dilations = {dilations}, "
            marks += f"pads = {pads}" if auto == "NOTSET" else f'auto_pad = "{auto}"'
            if not kind.startswith("Conv"):
                marks += f", ceil_mode = {rng.integers(2) if auto == 'NOTSET' else 0}"
            if kind == "places":
                marks += f", storage_order = {rng.integers(2)}"
            if kind == "AveragePool counting":
                marks += ", count_include_pad = 1"
            ty, given = ("uint8", "x, w, z") if integers else ("float", "x, w" if kind == "Conv" else "x")
            op, results = kind.partition(" ")[0].replace("places", "MaxPool"), "y, at" if kind == "places" else "y"
            more = ", int64[N, C, P, Q] at" if kind == "places" else ""
            channels = 2 if kind.startswith("Conv") else "C"
            proto = model(f"g ({ty}[N, {channels}, H, W] x) => ({'int32' if integers else ty}[N, K, P, Q] y{more})"
                          f" {{ {results} = {op}<{marks}>({given}) }}", 19)  # fmt: skip
            weight = rng.integers(0, 9, (3, 2, *kernel)).astype("uint8" if integers else "float32")
            for name, value in (("w", weight), ("z", np.uint8(7))) if kind.startswith("Conv") else ():
                proto.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value), name))
            x = (rng.random((2, 2, 7, 8)) * 9).astype("uint8" if integers else "float32")
            mod, _ = from_onnx(proto, shape={"x": x.shape})
            for ours, expected in zip(results_of(proto, x), evaluate(mod, [x]), strict=True):
                assert ours.shape == expected.shape, marks
                np.testing.assert_allclose(ours, expected, rtol=1e-5, err_msg=marks)


@pytest.mark.parametrize("op", ["Upsample", "Resize"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_scales_may_be_computed(op: str, mode: str) -> None:
    settings = ', coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"' if op == "Resize" else ""
    operands, opset = ("x, , s", 13) if op == "Resize" else ("x, s", 9)
    text = 'g (float[N, C, H, W] x%s) => (float[n, c, h, w] y) { y = %s<mode = "%s"%s>(%s) }'
    for height, width, scale in ((3, 4, 5 / 3), (5, 6, 2.0), (12, 7, 0.5)):
        x, scales = (
            np.random.default_rng(0).random((2, 3, height, width), dtype="float32"),
            np.float32([1, 1, scale, 1.5]),
        )
        known = model(text % ("", op, mode, settings, operands), opset)
        known.graph.initializer.append(onnx.numpy_helper.from_array(scales, "s"))
        (expected,) = evaluate(from_onnx(known, shape={"x": x.shape})[0], [x])
        # As in onnxruntime, the product of a size and a scale is a float32.
        assert expected.shape[2:] == tuple(np.floor(np.float32([height, width]) * scales[2:]).astype(int))
        (y,) = results_of(model(text % (", float[4] s", op, mode, settings, operands), opset), x, scales)
        np.testing.assert_allclose(y, expected, rtol=1e-5)


def test_ones_on_a_diagonal_of_a_matrix_of_open_size() -> None:
    for offset in (0, -1, 2):
        proto = model(f"g (float[N, M] x) => (int32[n, m] y) {{ y = EyeLike<k = {offset}, dtype = 6>(x) }}")
        np.testing.assert_array_equal(results_of(proto, np.zeros((3, 4), "float32"))[0], np.eye(3, 4, offset))


def test_padding_round_an_axis_of_open_length_by_widths_known_or_computed() -> None:
    text = 'g (float[A, B] x%s) => (float[a, b] y) { y = Pad<mode = "wrap">(x, widths) }'
    x, widths = np.arange(12, dtype="float32").reshape(3, 4), np.int64([2, 1, 0, 5])
    known = model(text % "")
    known.graph.initializer.append(onnx.numpy_helper.from_array(widths, "widths"))
    expected = np.pad(x, [(2, 0), (1, 5)], mode="wrap")
    np.testing.assert_array_equal(results_of(known, x)[0], expected)
    np.testing.assert_array_equal(results_of(model(text % ", int64[4] widths"), x, widths)[0], expected)


def test_a_shape_of_open_length_has_the_length_that_the_model_states() -> None:
    x = np.zeros((2, 3), "float32")
    for text, rest in (("y = ConstantOfShape(s)", ()), ("y = Reshape(x, s)", (x,)), ("y = Expand(x, s)", (x,))):
        own = "float[A, B] x, " if rest else ""
        (y,) = results_of(model(f"g ({own}int64[n] s) => (float[a, b] y) {{ {text} }}"), *rest, np.int64([2, 3]))
        np.testing.assert_array_equal(y, np.zeros((2, 3)))
    with pytest.raises(ModelError, match="the rank of the result"):
        from_onnx(model("g (int64[n] s) => (float[a] z) { y = ConstantOfShape(s) z = Identity(y) }"))


def test_parts_and_pads_of_computed_sizes() -> None:
    proto = model("g (float[N, 3] x, int64[2] sizes, int64[2] widths) => (float[a, 3] p, float[b, 3] q, float[N, m] z)"
                  "{ p, q = Split<axis = 0>(x, sizes) z = Pad(x, widths, , axes) }")  # fmt: skip
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.int64([1]), "axes"))
    x = np.arange(15, dtype="float32").reshape(5, 3)
    p, q, z = results_of(proto, x, np.int64([2, 3]), np.int64([1, 2]))
    np.testing.assert_array_equal(p, x[:2])
    np.testing.assert_array_equal(q, x[2:])
    np.testing.assert_array_equal(z, np.pad(x, [(0, 0), (1, 2)]))
    proto = model("g (float[N] x) => (float[a] p, float[b] q, float[c] r) { p, q, r = Split<num_outputs = 3>(x) }")
    for length in (7, 6, 3):
        x = np.arange(length, dtype="float32")
        size = -(-length // 3)
        for number, part in enumerate(results_of(proto, x)):
            np.testing.assert_array_equal(part, x[number * size : (number + 1) * size])
