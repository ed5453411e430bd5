"""Layers stay what they were: a node that Relay says in several calls is one composite function, there and back."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import passlab
from passlab import lab, relay, transform
from passlab.display.views.graph import GraphView
from passlab.errors import PasslabError
from passlab.frontend import from_onnx
from passlab.frontend.onnx.simplify.facts import is_written_out
from passlab.ir.expr import Call, Function
from passlab.ir.walk import post_order
from tests.each import each
from tests.frontend import contrib_cases
from tests.frontend import test_learning as learning
from tests.frontend.onnx_text import assert_close, model, reference, run
from tests.frontend.test_node_cases import array, cases, imported

STANDARD = """InferType, SimplifyInference, FoldConstant, FoldScaleAxis, EliminateCommonSubexpr, CanonicalizeOps,
    FoldConstant, DeadCodeElimination, FuseOps"""

# Each is one layer; sizes are open where they can be.
GRAPHS: dict[str, tuple[str, tuple[tuple[int, ...], ...]]] = {
    "MatMul": ("g (float[B,4,S,8] x, float[B,4,8,T] w) => (float[B,4,S,T] y) { y = MatMul(x, w) }",
               ((2, 4, 3, 8), (2, 4, 8, 5))),
    "Gemm": ("g (float[N,3] x, float[3,4] w, float[4] c) => (float[N,4] y) { y = Gemm<alpha=0.5>(x, w, c) }",
             ((2, 3), (3, 4), (4,))),
    "PRelu": ("g (float[N,3,4] x, float[3,1] s) => (float[N,3,4] y) { y = PRelu(x, s) }", ((2, 3, 4), (3, 1))),
    "Gelu": ("g (float[N,3] x) => (float[N,3] y) { y = Gelu(x) }", ((2, 3),)),
    "LayerNormalization": ("""g (float[N,3,4] x, float[3,4] s, float[3,4] b) => (float[N,3,4] y) {
        y = LayerNormalization<axis=1>(x, s, b) }""", ((2, 3, 4), (3, 4), (3, 4))),
    "Mish": ("g (float[N,3] x) => (float[N,3] y) { y = Mish(x) }", ((2, 3),)),
    "HardSwish": ("g (float[N,3] x) => (float[N,3] y) { y = HardSwish(x) }", ((2, 3),)),
    "LpPool": ("g (float[1,2,6,6] x) => (float[1,2,5,5] y) { y = LpPool<kernel_shape=[2,2]>(x) }", ((1, 2, 6, 6),)),
    "Resize": ("""g (float[1,2,4,4] x) => (float[1,2,8,6] y) {
        n = Constant<value = int64[4] {1, 2, 8, 6}>() y = Resize<mode="linear", antialias=1>(x, , , n) }""", ((1, 2, 4, 4),)),
    "OneHot": ("""g (int64[N] i) => (float[N,4] y) {
        d = Constant<value = int64 {4}>() v = Constant<value = float[2] {0, 1}>() y = OneHot(i, d, v) }""", ()),
}  # fmt: skip


def layers(mod: Any) -> Counter[str]:
    """How many composite functions `main` calls, by name."""
    calls = [n for n in post_order(mod["main"].body, enter=lambda n: type(n) is not Function) if isinstance(n, Call)]
    return Counter(str(c.op.attrs["Composite"]) for c in calls if isinstance(c.op, Function))


def counts(proto: Any) -> Counter[str]:
    return Counter(node.op_type for node in proto.graph.node if node.op_type not in ("Constant", "Identity"))


def values(shapes: tuple[tuple[int, ...], ...]) -> list[Any]:
    rng = np.random.default_rng(3)
    return [rng.standard_normal(shape).astype("float32") for shape in shapes]


@pytest.mark.parametrize("name", GRAPHS)
def test_a_layer_is_one_call_there_and_back(name: str) -> None:
    text, shapes = GRAPHS[name]
    proto = model(text, 20)
    mod, _ = from_onnx(proto)
    assert layers(mod) == {f"onnx.{name}": 1}
    assert counts(relay.to_onnx(mod)) == {name: 1}
    # Its text says all of it, and what passes do to its body does not hide what it is.
    assert counts(relay.to_onnx(passlab.parse(mod.astext()))) == {name: 1}
    after = transform.Sequential(transform.parse_pipeline(STANDARD).passes)(mod)
    assert counts(relay.to_onnx(after)) == {name: 1}
    inputs = values(shapes) if shapes else [np.array([3, 0], "int64")]
    expected = reference(proto, *inputs)
    for kind in ("debug", "graph", "vm", "aot", "onnxruntime"):
        assert_close(run(kind, mod, *inputs), expected)
    flat = transform.InlineComposites()(mod)
    assert not layers(flat)
    assert_close(run("debug", flat, *inputs), expected)


def recurrent(kind: str, length: int | str, direction: str, optional: bool) -> tuple[Any, list[Any]]:
    """A model of one recurrent layer with weights of its own, and the values of its inputs."""
    gates, batch, size, hidden = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind], 2, 3, 4
    directions = 2 if direction == "bidirectional" else 1
    rng = np.random.default_rng(5)
    arrays = {
        "W": rng.standard_normal((directions, gates * hidden, size)),
        "R": rng.standard_normal((directions, gates * hidden, hidden)),
        "B": rng.standard_normal((directions, 2 * gates * hidden)),
    }
    weights = [numpy_helper.from_array(value.astype("float32"), name) for name, value in arrays.items()]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [length, batch, size])]
    given = [rng.standard_normal((6, batch, size)).astype("float32")]
    names = ["x", "W", "R", "B"]
    if optional:
        names += ["", "h"]
        inputs.append(helper.make_tensor_value_info("h", TensorProto.FLOAT, [directions, batch, hidden]))
        given.append(rng.standard_normal((directions, batch, hidden)).astype("float32"))
    node = helper.make_node(kind, names, ["", "last"] if optional else ["y", "last"], "layer",
                            hidden_size=hidden, direction=direction)  # fmt: skip
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in node.output if name]
    graph = helper.make_graph([node], "g", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), given


def clipped(proto: Any) -> Any:
    """The model with gates that are cut off, which no operator of Relay has."""
    proto.graph.node[0].attribute.append(helper.make_attribute("clip", 2.5))
    return proto


@pytest.mark.rotating
@each("kind", ["LSTM", "GRU", "RNN"])
@each("length", [6, "T"])
@each("direction", ["forward", "reverse", "bidirectional"])
@each("optional", [False, True])
def test_a_recurrent_layer_of_an_unusual_cell_is_one_call(
    kind: str, length: Any, direction: str, optional: bool
) -> None:
    proto, given = recurrent(kind, length, direction, optional)
    proto = clipped(proto)
    mod, _ = from_onnx(proto)
    assert layers(mod) == {f"onnx.{kind}": 1}
    exported = relay.to_onnx(mod)
    assert counts(exported) == {kind: 1}
    onnx.checker.check_model(exported, full_check=True)
    expected = run("onnxruntime", mod, *given)
    for executor in ("debug", "vm", "aot", *(["graph"] if length == 6 else [])):
        assert_close(run(executor, mod, *given), expected)


@pytest.mark.parametrize(
    "name", ["RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli"]
)
def test_a_model_that_draws_still_draws_after_export(name: str) -> None:
    call = f"{name}(s)" if name in ("RandomNormalLike", "RandomUniformLike", "Bernoulli") else f"{name}<shape=[2,3]>()"
    mod, _ = from_onnx(model(f"g (float[2,3] x) => (float[2,3] y) {{ s = Sigmoid(x) z = {call} y = Add(s, z) }}", 20))
    assert counts(relay.to_onnx(mod))[name] == 1
    x = values(((2, 3),))
    assert_close(run("onnxruntime", mod, *x), run("vm", mod, *x))  # executors draw the same numbers


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("length", [6, "T"])
def test_simplify_reads_through_a_recurrent_layer(kind: str, length: Any) -> None:
    proto, _ = recurrent(kind, length, "bidirectional", False)
    assert not is_written_out(proto.graph.node[0])
    small = lab.simplify(proto)
    assert small.compared.is_right
    assert counts(small.after) == {kind: 1}
    assert is_written_out(clipped(proto).graph.node[0])


def test_a_changed_body_is_written_as_what_it_computes() -> None:
    """A fault inside a layer does not disappear behind the name of the layer."""
    mod, _ = from_onnx(model("g (float[2,3] x) => (float[2,3] y) { y = HardSwish(x) }", 20))
    broken = passlab.parse(mod.astext().replace("6f", "5f"))
    assert layers(broken) == {"onnx.HardSwish": 1}
    x = values(((2, 3),))
    assert_close(run("onnxruntime", broken, *x), run("debug", broken, *x))
    assert np.abs(run("debug", broken, *x)[0] - run("debug", mod, *x)[0]).max() > 0.01


def test_computed_shapes_and_single_calls_have_no_layers() -> None:
    text = """g (float[N,4,6] x, float[4,6] w, float[4] b) => (float y) {
        s = Shape(x) i = Constant<value = int64[1] {0}>() n = Gather(s, i) m = Constant<value = int64[1] {-1}>()
        t = Concat<axis=0>(n, m) r = Reshape(x, t) y = Relu(r) }"""
    assert not layers(from_onnx(model(text))[0])
    assert not layers(from_onnx(model("g (float[2,3] x) => (float y) { y = HardSwish(x) }"),
                                convert_config={"composites": False})[0])  # fmt: skip


def law(case: Any) -> str | None:
    """What a case of ONNX says against the law: exported, an imported model has its own operators, or fewer."""
    try:
        mod, _ = imported(case, [array(value) for value in case.data_sets[0][0]])
        exported = relay.to_onnx(mod, opset_version=21)
    except (PasslabError, ValueError, NotImplementedError):
        return None  # tests of each say why
    own, more = counts(case.model), counts(exported)
    opsets = {"ai.onnx": 1, **{entry.domain or "ai.onnx": entry.version for entry in case.model.opset_import}}
    kinds = {(node.domain or "ai.onnx", node.op_type) for node in case.model.graph.node}
    if not all(defined_as(name, domain, opsets[domain]) for domain, name in kinds if domain != "com.microsoft"):
        return None  # another definition in this opset
    return f"{dict(own)} became {dict(more)}" if sum(more.values()) > sum(own.values()) else None


def defined_as(name: str, domain: str, opset: int) -> bool:
    """Whether `to_onnx` writes an operator by the definition that it has in an opset."""
    if domain != "ai.onnx":
        return onnx.defs.has(name, domain)
    newest = onnx.defs.get_schema(name, 21).since_version if onnx.defs.has(name, 21) else None
    return newest == onnx.defs.get_schema(name, opset).since_version


# Operators of Relay that `to_onnx` says in several nodes.
REASONS: dict[str, str] = {
    **dict.fromkeys(
        ("test_group_normalization_example", "test_group_normalization_epsilon"),
        "one call in Relay, which is written by its formula",
    ),
    **dict.fromkeys(
        (
            "test_sequence_insert_at_front",
            "test_sequence_map_add_1_sequence_1_tensor",
            "test_sequence_map_add_2_sequences",
        ),
        "a sequence is its tensors, and an operator on it what it does with each",
    ),
    **dict.fromkeys(
        ("test_reduce_max_bool_inputs", "test_reduce_max_empty_set_bool", "test_reduce_min_bool_inputs"),
        "one call in Relay, which runtimes of ONNX do not take for truth values",
    ),
    **dict.fromkeys(
        (f"test_flexattention_{kind}" for kind in
         ("score_mod", "prob_mod", "causal_mask", "soft_cap", "relative_positional")),
        "a preview, whose own graphs change the scores: it is imported as its formula",
    ),
}  # fmt: skip


@pytest.mark.nightly
def test_every_case_of_onnx_keeps_its_operators() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {case.name: problem for case in cases() if (problem := law(case)) is not None}
    wrong = {name: problem for name, problem in found.items() if name not in REASONS}
    assert not wrong
    assert set(REASONS) <= set(found)


@pytest.mark.rotating
@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("name", contrib_cases.CASES)
def test_an_operator_of_onnxruntime_stays_one_node(name: str, is_open: bool) -> None:
    proto = contrib_cases.model(name, is_open)[0]
    if proto.graph.node[0].domain == "":
        pytest.skip("ONNX's own domain has no such operator yet, or Relay has it as one operator")
    mod = from_onnx(proto)[0]
    after = transform.Sequential(transform.parse_pipeline(STANDARD).passes)(mod)
    # The bounds of an arange stand in its attributes again, where passes leave them as they were.
    for program in (mod,) if name == "Attention/lengths" else (mod, after, passlab.parse(mod.astext())):
        assert counts(relay.to_onnx(program)) == counts(proto)


def test_a_node_keeps_attributes_that_are_too_long_for_text() -> None:
    proto = learning.model("TreeEnsembleRegressor", [TensorProto.FLOAT], n_targets=2, **learning.trees(1, "target", 2))
    mod = from_onnx(proto)[0]
    assert len(mod["main"].body.op.attrs.keys()) < 8
    x = learning.X
    for program in (mod, passlab.parse(mod.astext())):
        exported = relay.to_onnx(program)
        assert counts(exported) == {"TreeEnsembleRegressor": 1}
        onnx.checker.check_model(exported, full_check=True)
        assert_close(run("onnxruntime", program, x), run("debug", mod, x))
    damaged = passlab.parse(mod.astext().replace("n_targets=2", "n_targets=1"))
    assert counts(relay.to_onnx(damaged)) != {"TreeEnsembleRegressor": 1}


def test_a_folded_graph_shows_layers() -> None:
    proto, _ = recurrent("LSTM", 64, "bidirectional", False)
    graph = GraphView(from_onnx(clipped(proto))[0]["main"])
    assert [box.name for box in graph.graph.boxes if box.kind == "fused"] == ["onnx.LSTM"]
    assert graph.is_folded
    assert len(graph.graph.boxes) < 8
    assert len(graph.with_folding(False).graph.boxes) > 500


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_a_layer_of_an_old_opset_says_modes_as_the_new_one_does(mode: str) -> None:
    """Opset 20 renamed two modes of GridSample; onnxruntime refuses the old names there."""
    runtime = pytest.importorskip("onnxruntime")
    proto = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 16]> g (float[N,2,4,5] x, float[N,3,3,2] p) => (float[N,2,3,3] y)
        {{ y = GridSample<mode = "{mode}">(x, p) }}"""
    )
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(-1, 1, shape).astype("float32") for shape in ((2, 2, 4, 5), (2, 3, 3, 2))]
    written = relay.to_onnx(from_onnx(proto)[0])
    results = [
        runtime.InferenceSession(each.SerializeToString(), providers=["CPUExecutionProvider"]).run(
            None, dict(zip("xp", inputs, strict=True))
        )
        for each in (proto, written)
    ]
    assert [node.op_type for node in written.graph.node] == ["GridSample"]
    assert_close(results[1], results[0])


@pytest.mark.parametrize("by_columns", [0, 1])
@pytest.mark.parametrize("batch", [2, "N"])
def test_places_of_maxima_are_found_and_used_with_an_open_batch(batch: int | str, by_columns: int) -> None:
    runtime = pytest.importorskip("onnxruntime")
    proto = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17]> g (float[{batch},3,6,8] x) => (float[A,B,C,D] u, int64[E,F,G,H] i)
        {{ p, i = MaxPool<kernel_shape = [2, 2], strides = [2, 2], storage_order = {by_columns}>(x)
           u = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(p, i) }}"""
    )
    x = np.random.default_rng(0).standard_normal((2, 3, 6, 8)).astype("float32")
    mod = from_onnx(proto)[0]
    session = runtime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, {"x": x})
    assert_close(run("vm", mod, x), expected)
    written = runtime.InferenceSession(relay.to_onnx(mod).SerializeToString(), providers=["CPUExecutionProvider"])
    assert_close(written.run(None, {"x": x}), expected)


@pytest.mark.parametrize(
    ("opset", "graph"),
    [
        (9, "g (float[N,3] x, int64[N,3] i, float[N,3] u) => (float[N,3] y) { y = Scatter<axis=1>(x, i, u) }"),
        (9, "g (float[N,1,2,2] x) => (float[A,B,C,D] y) { s = Constant<value = float[4] {1, 1, 2, 3}>() y = Upsample(x, s) }"),
    ],
    ids=["Scatter", "Upsample"],
)  # fmt: skip
def test_an_operator_that_the_newer_opset_dropped_is_written_as_what_it_computes(opset: int, graph: str) -> None:
    written = relay.to_onnx(from_onnx(model(graph, opset))[0])
    onnx.checker.check_model(written)
    (version,) = (entry.version for entry in written.opset_import if not entry.domain)
    assert not [n for n in written.graph.node if onnx.defs.get_schema(n.op_type, version, n.domain).deprecated]
