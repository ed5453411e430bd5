"""Relay programs as ONNX models: checked by ONNX, run by onnxruntime, read back, and refused with all reasons."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import passlab
from passlab import IRModule, relay
from passlab.errors import ModelError, PasslabError
from passlab.evaluate.samples import random_arguments
from passlab.frontend import from_onnx, to_onnx
from passlab.frontend.onnx.export import exporting
from passlab.frontend.onnx.export.table import writers
from passlab.ir.op import Op
from tests.each import each
from tests.frontend.test_node_cases import array, cases, imported, reason

X = np.linspace(-2, 2, 12, dtype="float32").reshape(3, 4)


def values(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in values(part)]
    return [np.asarray(result)]


def evaluate(mod: IRModule, arguments: list[Any]) -> list[Any]:
    return values(relay.create_executor("debug", mod).evaluate()(*arguments))


def run(model: Any, arguments: list[Any]) -> list[Any]:
    """Return what onnxruntime computes. Skips where it is not installed."""
    runtime = pytest.importorskip("onnxruntime", reason="models are run by onnxruntime: pip install onnxruntime")
    runtime.set_default_logger_severity(4)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {i.name: np.asarray(v) for i, v in zip(session.get_inputs(), arguments, strict=True)})


def check(mod: IRModule, arguments: list[Any], rtol: float = 1e-4, atol: float = 1e-5) -> Any:
    model = to_onnx(mod)
    onnx.checker.check_model(model, full_check=True)
    for ours, theirs in zip(evaluate(mod, arguments), run(model, arguments), strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(theirs, ours, rtol=rtol, atol=atol)
    return model


# ONNX's own cases that are not run: what onnxruntime lacks is no fault of the model.
NOT_IN_RUNTIME = (
    "ai.onnx.preview",
    "Could not find an implementation",
    "Type Error",
    "Numpy",
    "NOT_IMPLEMENTED",
    "unsupported",
    "not supported",
)
NO_COUNTERPART = (
    "reinterpret",
    "multinomial",
    "random",
    "takes no elements of bfloat16",  # in the opset that is written
    "Range takes no elements of float16",
)


def refusal(model: Any) -> str | None:
    """Return what ONNX's checker says against a model, as it does of some of its own cases; None where nothing."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # noqa: BLE001 - of every kind, by what it says
        return f"{type(error).__name__}: {error}"
    return None


def deviates(case: Any, results: list[Any]) -> bool:
    """Whether onnxruntime computes the same of the case's own model, which is not what ONNX says.

    `MaxUnpool` to a larger shape and `Resize` with aligned corners are known.
    """
    inputs, outputs = ([array(value) for value in side] for side in case.data_sets[0])
    try:
        own = run(case.model, inputs)
    except Exception:  # noqa: BLE001 - of every kind: then there is nothing to compare with
        return False
    pairs = [list(zip(own, other, strict=True)) for other in (results, outputs)]
    same, as_stated = (
        all(one.shape == other.shape and np.allclose(one, other, 1e-4, 1e-5, equal_nan=True) for one, other in pair)
        for pair in pairs
    )
    return same and not as_stated


def case_problem(case: Any) -> str | None:
    """Return what is wrong with the model that is written of a case, None when all is right or out of reach."""
    try:
        mod, left = imported(case, [array(value) for value in case.data_sets[0][0]])
        expected = evaluate(mod, left)
    except (PasslabError, IndexError, AttributeError, TypeError, ValueError):
        return None  # the importer's own tests say which cases it reads
    try:
        model = to_onnx(mod)
    except ModelError as error:
        return None if any(word in str(error) for word in NO_COUNTERPART) else f"refused: {error}"
    if (refused := refusal(model)) is not None and refusal(case.model) is None:
        return f"ONNX refuses it: {refused}"
    try:
        results = run(model, left)
    except Exception as error:  # noqa: BLE001 - of every kind, by what it says
        return None if any(words in str(error) for words in NOT_IN_RUNTIME) else f"{type(error).__name__}: {error}"
    for ours, theirs in zip(expected, results, strict=True):
        short = ours.dtype.itemsize < 4
        try:
            assert ours.shape == theirs.shape
            if theirs.dtype == "uint8" and ours.dtype.itemsize == 1:  # onnxruntime shows floats of 8 bits as bytes
                theirs = theirs.view(ours.dtype)
            if ours.dtype.kind in "iub":
                assert (np.asarray(theirs) == ours).all()
            else:
                left_, right = np.asarray(theirs, "float64"), np.asarray(ours, "float64")
                largest = max(1.0, float(np.abs(right[np.isfinite(right)]).max(initial=0)))  # of sums, as in `dft`
                near = (5e-3 if short else 1e-5) * largest
                np.testing.assert_allclose(left_, right, rtol=2e-3 if short else 1e-4, atol=near)
        except AssertionError as error:
            return None if deviates(case, results) else f"differs: {error}"
    return None


def case_problems(step: int) -> dict[str, str]:
    chosen = [case for case in cases() if reason(case) is None][::step]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = {case.name: case_problem(case) for case in chosen}
    return {name: problem for name, problem in table.items() if problem is not None}


@pytest.mark.nightly
def test_cases_of_onnx_agree_after_the_way_through_relay() -> None:
    assert case_problems(9) == {}


@pytest.mark.nightly
def test_all_cases_of_onnx_agree_after_the_way_through_relay() -> None:
    assert case_problems(1) == {}


NETWORKS = {
    "mlp": lambda: passlab.testing.mlp.get_workload(1),
    "dqn": lambda: passlab.testing.dqn.get_workload(1, image_shape=(4, 84, 84)),
    "dcgan": lambda: passlab.testing.dcgan.get_workload(1),
    "lstm": lambda: passlab.testing.lstm.get_workload(2, 4),
    "resnet": lambda: passlab.testing.resnet.get_workload(1, num_layers=8, image_shape=(3, 28, 28), num_classes=10),
    "squeezenet": lambda: passlab.testing.squeezenet.get_workload(1, image_shape=(3, 96, 96)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_run_in_onnxruntime(name: str) -> None:
    mod, params = NETWORKS[name]()
    model = to_onnx(mod, params)
    onnx.checker.check_model(model, full_check=True)
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    mod = passlab.infer.infer_module(mod)
    arguments = random_arguments(mod["main"], 0, "")
    for ours, theirs in zip(evaluate(mod, arguments), run(model, arguments), strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-3, atol=1e-4)


def test_branches_and_loops() -> None:
    text = """
    def @main(%n: int32, %x: Tensor[(3, 4), float32]) {
      let %scale = 2f;
      let %loop = fn (%i: int32, %acc: Tensor[(3, 4), float32]) -> (int32, Tensor[(3, 4), float32]) {
        let %more = less(%i, %n);
        if (%more) { let %next = multiply(%acc, %scale); %loop(add(%i, 1), %next) } else { (%i, negative(%acc)) }
      };
      let %r = %loop(0, %x);
      if (greater(%n, 2)) { (%r.1, %r.0) } else { (add(%r.1, 1f), %n) }
    }
    """
    mod = passlab.parse(text)
    for count in (0, 1, 5):
        model = check(mod, [np.int32(count), X])
    kinds = {node.op_type for node in model.graph.node}
    assert {"Loop", "If"} <= kinds


def test_functions_are_written_out_and_shared_values_once() -> None:
    text = """
    def @twice(%x: Tensor[(3, 4), float32]) { add(%x, %x) }
    def @main(%x: Tensor[(3, 4), float32]) {
      let %f = fn (%a: Tensor[(3, 4), float32]) { exp(@twice(%a)) };
      let %y = %f(%x);
      (%f(%y), (%y, %x))
    }
    """
    model = check(passlab.parse(text), [X])
    assert sum(node.op_type == "Exp" for node in model.graph.node) == 2


def test_long_programs_are_no_recursion() -> None:
    body = relay.var("x", shape=(3, 4))
    mod = IRModule.from_expr(relay.Function([body], _chain(body, 5000)))
    assert len(to_onnx(mod).graph.node) == 5000


def _chain(body: Any, count: int) -> Any:
    for _ in range(count):
        body = relay.nn.relu(body)
    return body


def test_dimensions_that_are_not_known_have_names() -> None:
    x = relay.var("x", shape=(relay.Any(), 4, relay.Any()))
    mod = IRModule.from_expr(relay.Function([x], relay.nn.batch_flatten(relay.reshape(relay.exp(x), (0, -1, 2, 2)))))
    model = to_onnx(mod)
    dims = [dim.dim_param for dim in model.graph.input[0].type.tensor_type.shape.dim]
    assert dims[0]
    assert dims[0] != dims[2]
    data = np.ones((2, 4, 6), "float32")
    assert run(model, [data])[0].shape == evaluate(passlab.infer.infer_module(mod), [data])[0].shape


@pytest.mark.parametrize(
    ("codes", "shape"),
    [
        ((0, -2), (2, 4, 6)), ((-3, -2), (8, 6)), ((0, -3), (2, 24)), ((0, 4, -2), (2, 4, 6)),
        ((0, -4, -1, 2, -2), (2, 2, 2, 6)), ((-4, 1, -1, 0, -2), (1, 2, 4, 6)), ((0, 0, -4, -1, 3), (2, 4, 2, 3)),
    ],
)  # fmt: skip
def test_codes_of_dimensions_mean_the_same_where_sizes_are_open(codes: tuple[int, ...], shape: tuple[int, ...]) -> None:
    x, data = relay.var("x", shape=(relay.Any(), 4, relay.Any())), np.arange(48, dtype="float32").reshape(2, 4, 6)
    model = to_onnx(IRModule.from_expr(relay.Function([x], relay.reshape(relay.exp(x), codes))))
    (result,) = run(model, [data])
    np.testing.assert_allclose(result, np.exp(data).reshape(shape), rtol=1e-5)


def test_names_of_nodes_survive() -> None:
    proto = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> net (float[3, 4] data) => (float[3, 4] y) { h = Relu(data) y = Exp(h) }'
    )
    for node, name in zip(proto.graph.node, ("first", "second"), strict=True):
        node.name = name
    model = to_onnx(from_onnx(proto)[0])
    assert [(node.op_type, node.name) for node in model.graph.node] == [("Relu", "first"), ("Exp", "second")]
    assert [value.name for value in model.graph.input] == ["data"]


def test_everything_without_a_counterpart_is_named_at_once() -> None:
    x, image = relay.var("x", shape=(3, 4)), relay.var("image", shape=(1, 4, 4, 1))
    crops = relay.image.crop_and_resize(image, x, relay.const([0, 0, 0]), (2, 2), "NHWC")
    body = relay.Tuple([relay.reinterpret(x, "int32"), crops, relay.RefRead(relay.RefCreate(x))])
    with pytest.raises(ModelError) as caught:
        to_onnx(IRModule.from_expr(relay.Function([x, image], body)))
    text = str(caught.value)
    assert "`reinterpret`: ONNX has an operator for it, BitCast, from opset 26 on" in text
    assert "`image.crop_and_resize`" in text
    assert "RefRead" in text or "RefCreate" in text


@each("coordinates", ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"])
@each("rounding", ["", "round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
@each("size", [(5, 7), (6, 8), (2, 3), (1, 1), (6, 5)])
def test_the_nearest_elements_are_those_of_relay(coordinates: str, rounding: str, size: tuple[int, int]) -> None:
    x = relay.var("x", shape=(1, 2, 3, 4))
    body = relay.image.resize2d(x, size, None, "NCHW", "nearest_neighbor", coordinates, rounding)
    mod = IRModule.from_expr(relay.Function([x], body))
    data = np.arange(24, dtype="float32").reshape(1, 2, 3, 4)
    if coordinates == "asymmetric" and rounding not in ("", "floor") and size == (6, 5):
        with pytest.raises(ModelError, match="along some axes only"):
            to_onnx(mod)
        return
    model, expected = to_onnx(mod), evaluate(mod, [data])[0]
    np.testing.assert_array_equal(evaluate(from_onnx(model)[0], [data])[0], expected)
    np.testing.assert_array_equal(run(model, [data])[0], expected)


CODES = np.array([3, 1, 1, 4, 3, 0, 1], "int64")


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("is_sorted", [False, True])
def test_different_elements_are_padded_with_zeros(is_sorted: bool, counted: bool) -> None:
    x = relay.var("x", shape=(7,), dtype="int64")
    model = check(IRModule.from_expr(relay.Function([x], relay.unique(x, is_sorted, counted).astuple())), [CODES])
    assert [node.op_type for node in model.graph.node].count("Unique") == 1


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_blocks_move_into_channels_and_back(layout: str) -> None:
    shape = (2, 4, 4, 6) if layout == "NCHW" else (2, 4, 6, 4)
    x, data = relay.var("x", shape=shape), np.arange(192, dtype="float32").reshape(shape)
    for block in (relay.nn.space_to_depth(x, 2, layout=layout), relay.nn.depth_to_space(x, 2, layout=layout)):
        check(IRModule.from_expr(relay.Function([x], block)), [data])


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_volumes_are_sampled(method: str) -> None:
    x, grid = relay.var("x", shape=(1, 2, 3, 4, 5)), relay.var("grid", shape=(1, 3, 2, 3, 4))
    body = relay.image.grid_sample(x, grid, method=method, layout="NCDHW")
    mod, draw = IRModule.from_expr(relay.Function([x, grid], body)), np.random.default_rng(1)
    places = draw.uniform(-1.2, 1.2, (1, 3, 2, 3, 4)).astype("float32")
    check(mod, [draw.random((1, 2, 3, 4, 5), "float32"), places])
    with pytest.raises(ModelError, match="from opset 20 on"):
        to_onnx(mod, opset_version=18)


@pytest.mark.parametrize("layout", ["first", "last"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_means_over_windows_of_several_sizes_are_products(rank: int, layout: str) -> None:
    image, sizes = (7, 5, 4)[:rank], (3, 2, 3)[:rank]
    shape = (2, 3, *image) if layout == "first" else (2, *image, 3)
    name = {"first": ("NCW", "NCHW", "NCDHW"), "last": ("NWC", "NHWC", "NDHWC")}[layout][rank - 1]
    x = relay.var("x", shape=shape)
    pool = getattr(relay.nn, f"adaptive_avg_pool{rank}d")(x, sizes, name)
    check(IRModule.from_expr(relay.Function([x], pool)), [np.random.default_rng(rank).random(shape, "float32")])
    most = getattr(relay.nn, f"adaptive_max_pool{rank}d")(x, sizes, name)
    with pytest.raises(ModelError, match="windows of several sizes"):
        to_onnx(IRModule.from_expr(relay.Function([x], most)))


def test_layers_and_sorts_of_open_sizes() -> None:
    n, data = relay.Any(), np.random.default_rng(0).random((2, 4, 3, 5), "float32")
    x, scale = relay.var("x", shape=(n, 4, n, n)), relay.const(np.arange(4, dtype="float32"))
    results = [
        relay.nn.group_norm(x, scale, scale, 2),
        relay.sort(x, axis=-1),
        relay.argsort(x, axis=2, is_ascend=False, dtype="int64"),
    ]
    check(IRModule.from_expr(relay.Function([x], relay.Tuple(results))), [data])


@pytest.mark.parametrize("right", [False, True])
def test_places_in_a_sorted_sequence_are_counted(right: bool) -> None:
    rows, places = np.float32([[1, 2, 2, 5], [0, 0, 3, 9]]), np.float32([[2, 0, np.nan], [9, 10, 3]])
    for sequence, values_ in ((rows, places), (rows[0], places), (rows[0][:0], places), (rows[0], places[0, 0])):
        s, v = relay.var("s", shape=sequence.shape), relay.var("v", shape=values_.shape)
        found = relay.searchsorted(s, v, right=right, dtype="int64")
        check(IRModule.from_expr(relay.Function([s, v], found)), [sequence, values_])


def boxes_and_scores() -> tuple[Any, list[Any]]:
    boxes, scores = relay.var("boxes", shape=(2, 12, 4)), relay.var("scores", shape=(2, 3, 12))
    draw = np.random.default_rng(0)
    corners = draw.uniform(0, 10, (2, 12, 2))
    inputs = [np.concatenate([corners, corners + draw.uniform(1, 5, (2, 12, 2))], 2), draw.random((2, 3, 12))]
    return (boxes, scores), [array.astype("float32") for array in inputs]


def test_boxes_that_overlap_are_suppressed() -> None:
    (boxes, scores), inputs = boxes_and_scores()
    limits = relay.const(4, "int64"), relay.const(0.5), relay.const(0.2)
    body = relay.vision.all_class_non_max_suppression(boxes, scores, *limits).astuple()
    model = check(IRModule.from_expr(relay.Function([boxes, scores], body)), inputs)
    assert "NonMaxSuppression" in [node.op_type for node in model.graph.node]
    for overlap, form, why in ((0.0, "onnx", "constant above 0"), (0.5, "tensorflow", "ONNX's form")):
        limits = relay.const(4, "int64"), relay.const(overlap), relay.const(0.2)
        kept = relay.vision.all_class_non_max_suppression(boxes, scores, *limits, output_format=form)
        with pytest.raises(ModelError, match=why):
            to_onnx(IRModule.from_expr(relay.Function([boxes, scores], relay.TupleGetItem(kept.astuple(), 0))))


def test_what_a_model_says_of_itself_comes_back() -> None:
    source = to_onnx(passlab.parse("def @main(%x: Tensor[(3), float32]) { exp(negative(negative(%x))) }"))
    onnx.helper.set_model_props(source, {"author": "me", "labels": '["a", "b"]'})
    source.doc_string, source.domain, source.model_version = "Two lines\nof text", "org.example", 7
    mod, _ = from_onnx(source)
    for model in (to_onnx(passlab.transform.SimplifyExpr()(mod)), passlab.lab.simplify(source).model()):
        assert {entry.key: entry.value for entry in model.metadata_props} == {"author": "me", "labels": '["a", "b"]'}
        assert (model.doc_string, model.domain, model.model_version) == ("Two lines\nof text", "org.example", 7)
    assert "onnx" not in from_onnx(to_onnx(passlab.parse("def @main(%x: float32) { exp(%x) }")))[0].attrs


@pytest.mark.parametrize("opset", [1, 17, 99])
def test_opsets_that_are_not_written_are_refused(opset: int) -> None:
    with pytest.raises(ModelError, match="opset is not supported"):
        to_onnx(passlab.parse("def @main(%x: float32) { exp(%x) }"), opset_version=opset)


@pytest.mark.parametrize(
    "dtype", ["bool", "int4", "uint4", "int8", "uint8", "int16", "int64", "float16", "bfloat16", "float64"]
)
def test_weights_of_every_dtype_come_back(dtype: str) -> None:
    weight = passlab.evaluate.Evaluator(IRModule()).evaluate(relay.cast(relay.const(np.array([0.0, 1.0, 3.0])), dtype))
    mod = IRModule.from_expr(relay.Function([], relay.Tuple([relay.Constant(np.asarray(weight))])))
    model = to_onnx(mod)
    onnx.checker.check_model(model)
    tensor = model.graph.initializer[0]
    assert (numpy_helper.to_array(tensor) == np.asarray(weight)).all()


def test_large_models_keep_their_weights_beside_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "PROTOBUF_LIMIT", 1000)
    x = relay.var("x", shape=(3, 4))
    weight = np.arange(4000, dtype="float32").reshape(1000, 4)
    mod = IRModule.from_expr(relay.Function([x], relay.nn.dense(x, relay.const(weight))))
    to_onnx(mod, path=tmp_path / "net.onnx")
    assert (tmp_path / "net.onnx").stat().st_size < 2000 < (tmp_path / "net.onnx.data").stat().st_size
    back = from_onnx(tmp_path / "net.onnx")[0]
    np.testing.assert_allclose(evaluate(back, [X])[0], X @ weight.T, rtol=1e-5)


def test_parameters_become_weights() -> None:
    mod = passlab.parse("def @main(%x: Tensor[(3, 4), float32], %w: Tensor[(4), float32]) { multiply(%x, %w) }")
    model = to_onnx(mod, {"w": np.arange(4, dtype="float32")})
    assert [value.name for value in model.graph.input] == ["x"]
    np.testing.assert_allclose(run(model, [X])[0], X * np.arange(4))


def test_every_entry_is_an_operator_and_says_what_it_becomes() -> None:
    for name, writer in writers().items():
        assert Op.get(name).name == name
        assert writer.__doc__
