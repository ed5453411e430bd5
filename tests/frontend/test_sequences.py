"""Sequences of tensors: tuples of a known length, and packed ones, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

from passlab import relay
from passlab.errors import ModelError
from tests.each import each
from tests.frontend.onnx_text import assert_close, run

runtime = pytest.importorskip("onnxruntime")
RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((5, 3)).astype("float32")
LENGTHS, RAGGED = np.array([2, 0, 3]), np.array([2, 2, 1])
AT, BACK, TWO = np.array(1), np.array(-2), np.array(2)

PROGRAMS: dict[str, tuple[str, dict[str, Any]]] = {
    "split, length and concat": (
        """(float[N,3] x) => (float[M,3] y, int64 l)
        { s = SplitToSequence<axis=0>(x) l = SequenceLength(s) y = ConcatFromSequence<axis=0>(s) }""",
        {"x": ROWS},
    ),
    "an optional value that is there": (
        """(float[N,3] x) => (float[N,3] y, bool b)
        { o = Optional(x) b = OptionalHasElement(o) z = OptionalGetElement(o) y = Neg(z) }""",
        {"x": ROWS},
    ),
    "one part is empty": (
        "(float[N,3] x, int64[K] p) => (float[M,3] y) { s = SplitToSequence(x, p) y = ConcatFromSequence<axis=0>(s) }",
        {"x": ROWS, "p": LENGTHS},
    ),
    "parts of one length": (
        "(float[N,3] x, int64 k) => (float[M,3] y) { s = SplitToSequence(x, k) y = SequenceAt(s, k) }",
        {"x": ROWS, "k": TWO},
    ),
    "erase and insert at a place from the end": (
        """(float[N,3] x, int64[K] p, int64 i) => (float[M,3] y, float[Q,3] z)
        { s = SplitToSequence(x, p) t = SequenceErase(s, i) y = ConcatFromSequence<axis=0>(t)
          u = SequenceInsert(s, x, i) z = ConcatFromSequence<axis=0>(u) }""",
        {"x": ROWS, "p": RAGGED, "i": BACK},
    ),
    "ragged along a later axis": (
        """(float[3,N] x, int64[K] p, int64 i) => (float[3,M] y, float[3,Q] z)
        { s = SplitToSequence<axis=1>(x, p) t = SequenceErase(s) y = ConcatFromSequence<axis=1>(t)
          z = SequenceAt(s, i) }""",
        {"x": ROWS.T.copy(), "p": RAGGED, "i": BACK},
    ),
    "numbers": (
        """(float[N] x, int64 i) => (float[M] y)
        { s = SplitToSequence<axis=0, keepdims=0>(x) t = SequenceErase(s, i) q = SequenceAt(s, i)
          u = SequenceInsert(t, q, i) y = ConcatFromSequence<axis=0, new_axis=1>(u) }""",
        {"x": ROWS[:, 0].copy(), "i": AT},
    ),
    "a computed place in a known length": (
        """(float[N,3] x, int64 i) => (float[M,2] y)
        { s = SplitToSequence<axis=1, keepdims=0>(x) t = SequenceErase(s, i)
          y = ConcatFromSequence<axis=1, new_axis=1>(t) }""",
        {"x": ROWS, "i": AT},
    ),
    "branches of two lengths": (
        """(float[N,3] x, bool c) => (float[M,P] y)
        { s = SequenceConstruct(x, x)
          r = If<then_branch = a () => (seq(float[N,3]) q) { q = SequenceInsert(s, x) },
                 else_branch = b () => (seq(float[N,3]) q) { q = SequenceErase(s) }>(c)
          y = ConcatFromSequence<axis=1>(r) }""",
        {"x": ROWS, "c": np.array(True)},
    ),
    "map": (
        """(float[N,3] x) => (float[M,3] y)
        { s = SplitToSequence(x) r = SequenceMap<body = b (float[1,3] e) => (float[1,3] f) { f = Neg(e) }>(s)
          y = ConcatFromSequence<axis=0>(r) }""",
        {"x": ROWS},
    ),
    "a loop that appends": (
        """(float[N,3] x, int64 n) => (float[M,3] y, float[3] last)
        { e = SequenceEmpty() t = Constant<value = bool {1}>() z = Constant<value = float[3] {0, 0, 0}>()
          last, s = Loop<body = b (int64 i, bool c, float[3] h, seq(float[3]) q) => (bool d, float[3] g, seq(float[3]) r)
            { row = Gather<axis=0>(x, i) g = Add(h, row) r = SequenceInsert(q, g) d = Identity(c) }>(n, t, z, e)
          y = ConcatFromSequence<axis=0, new_axis=1>(s) }""",
        {"x": ROWS, "n": np.array(4)},
    ),
    "bounds whose number is not known": (
        "(float[N,3] x, int64[K] a, int64[K] b) => (float[M,P] y) { y = Slice(x, a, b) }",
        {"x": ROWS, "a": np.array([1]), "b": np.array([-1])},
    ),
    "an index that is a number": (
        "(float[N,3] x, int64 i) => (float[3] y) { y = Gather<axis=0>(x, i) }",
        {"x": ROWS, "i": BACK},
    ),
}


def model_of(text: str) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 9, opset_import: ["": 17]> g {text}')


def results(proto: onnx.ModelProto, inputs: dict[str, Any]) -> list[Any]:
    session = runtime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


@pytest.mark.rotating
@each("kind", ["debug", "vm"])
@each("fixes", [False, True], ids=["open", "fixed"])
@each("name", PROGRAMS)
def test_sequences_have_the_values_of_onnxruntime(name: str, fixes: bool, kind: str) -> None:
    text, inputs = PROGRAMS[name]
    proto = model_of(text)
    mod = relay.frontend.from_onnx(proto, {key: x.shape for key, x in inputs.items()} if fixes else None)[0]
    expected = results(proto, inputs)
    assert_close(run(kind, mod, *inputs.values()), expected, 1e-6, 1e-6)
    assert_close(results(relay.to_onnx(mod), inputs), expected, 1e-6, 1e-6)


@pytest.mark.parametrize("has_lengths", [False, True])
@pytest.mark.parametrize("fixes", [False, True], ids=["open", "fixed"])
def test_the_first_scan_takes_samples_of_several_lengths(has_lengths: bool, fixes: bool) -> None:
    body = parser.parse_graph("b (float[3] s, float[3] e) => (float[3] t, float[3] o) { t = Add(s, e) o = Mul(t, e) }")
    inputs = {"l": np.array([3, 4]), "s": ROWS[:2], "x": RNG.standard_normal((2, 4, 3)).astype("float32")}
    names = ["l" if has_lengths else "", "s", "x"]
    node = onnx.helper.make_node("Scan", names, ["f", "o"], body=body, num_scan_inputs=1, directions=[1])
    types = {"l": (7, ["B"]), "s": (1, ["B", 3]), "x": (1, ["B", "S", 3]), "f": (1, ["B", 3]), "o": (1, ["B", "S", 3])}
    values = {name: onnx.helper.make_tensor_value_info(name, *ty) for name, ty in types.items()}
    graph = onnx.helper.make_graph([node], "g", [values[name] for name in names if name], [values["f"], values["o"]])
    proto = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 8)], ir_version=3)
    given = {name: inputs[name] for name in names if name}
    mod = relay.frontend.from_onnx(proto, {name: x.shape for name, x in given.items()} if fixes else None)[0]
    assert_close(run("vm", mod, *given.values()), results(proto, given), 1e-5, 1e-6)


def test_multinomial_draws_only_what_is_possible() -> None:
    proto = model_of("(float[2,3] x) => (int32[2,50] y) { y = Multinomial<sample_size=50, seed=1.0>(x) }")
    mod = relay.frontend.from_onnx(proto)[0]
    (drawn,) = run("vm", mod, np.array([[0, 100, 0], [0, 0, -100]], "float32"))
    assert (drawn.dtype, drawn.shape) == (np.int32, (2, 50))
    assert set(drawn[0]) == {1}
    assert set(drawn[1]) == {0, 1}


@pytest.mark.parametrize(
    ("text", "shape", "message"),
    [
        ("(seq(float[3]) s) => (int64 l) { l = SequenceLength(s) }", None, "say the shapes of its tensors"),
        ("(seq(float[3]) s) => (int64 l) { l = SequenceLength(s) }", {"s": (2, 3)}, "a list of shapes"),
        ("(float[N,3] x) => (seq(float[1,3]) s) { s = SplitToSequence(x) }", None, "known only at run time"),
        ("(float[3] x) => (float[3] y) { s = SequenceConstruct(x) c = Constant<value_int=2>() y = SequenceAt(s, c) }",
         None, "a place outside its sequence"),
        ("(float[3] x) => (float[3] y) { s = SequenceConstruct(x) y = Neg(s) }", None, "must be a tensor"),
        ("(float[3] x) => (float[3] y) { y = SequenceAt(x, x) }", None, "needs a sequence"),
    ],
)  # fmt: skip
def test_what_is_no_sequence_here_is_said(text: str, shape: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        relay.frontend.from_onnx(model_of(text), shape)
