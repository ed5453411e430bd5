"""Small networks, end to end: every executor computes what ONNX's reference implementation does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from passlab.frontend import from_onnx
from tests.each import each
from tests.frontend.onnx_text import assert_close, model, reference, run

Network = tuple[Any, list[Any]]


def draws(seed: int = 0) -> Callable[..., Any]:
    generator = np.random.default_rng(seed)
    return lambda *shape: generator.normal(size=shape).astype("float32")


def convolutions(batch: str = "2") -> Network:
    draw = draws()
    graph = f"""g (float[{batch}, 3, 16, 16] x) => (float[{batch}, 10] y) {{
        a = Conv<kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]>(x, w, wb)
        b = BatchNormalization<epsilon=0.001>(a, scale, shift, mean, variance)
        c = Relu(b)
        d = MaxPool<kernel_shape=[2, 2], strides=[2, 2]>(c)
        e = AveragePool<kernel_shape=[3, 3], pads=[1, 1, 1, 1]>(d)
        f = Flatten(e)
        y = Gemm<transB=1, alpha=0.5>(f, v, vb) }}"""
    weights = {
        "w": draw(8, 3, 3, 3), "wb": draw(8), "scale": draw(8), "shift": draw(8), "mean": draw(8),
        "variance": abs(draw(8)) + 1, "v": draw(10, 128), "vb": draw(10),
    }  # fmt: skip
    return model(graph, **weights), [draw(2, 3, 16, 16)]


def lstm() -> Network:
    draw = draws(1)
    weights = {"w": draw(2, 12, 4), "r": draw(2, 12, 3), "b": draw(2, 24)}
    return model(LSTM.format(more="", lengths="").replace("[t, b, 4] x", "[5, 2, 4] x"), **weights), [draw(5, 2, 4)]


LSTM = """g (float[t, b, 4] x{more}) => (float[t, 2, b, 3] y, float[2, b, 3] h, float[2, b, 3] c) {{
    y, h, c = LSTM<hidden_size=3, direction="bidirectional">(x, w, r, b{lengths}) }}"""


def transformer(batch: str = "2", length: str = "6") -> Network:
    draw = draws(2)
    graph = f"""g (float[{batch}, {length}, 8] x) => (float[{batch}, {length}, 8] y) {{
        n = LayerNormalization<axis=-1>(x, g1, b1)
        qkv0 = MatMul(n, wqkv)
        qkv = Add(qkv0, bqkv)
        q0, k0, v0 = Split<axis=-1, num_outputs=3>(qkv)
        s = Shape(x)
        zero = Constant<value_int=0>()  one = Constant<value_int=1>()  ax = Constant<value_ints=[0]>()
        batch = Gather(s, zero)  length = Gather(s, one)
        batch1 = Unsqueeze(batch, ax)  length1 = Unsqueeze(length, ax)
        heads = Constant<value_ints=[2, 4]>()
        split = Concat<axis=0>(batch1, length1, heads)
        q1 = Reshape(q0, split)  k1 = Reshape(k0, split)  v1 = Reshape(v0, split)
        q = Transpose<perm=[0, 2, 1, 3]>(q1)  k = Transpose<perm=[0, 2, 3, 1]>(k1)  v = Transpose<perm=[0, 2, 1, 3]>(v1)
        scores0 = MatMul(q, k)
        root = Constant<value_float=0.5>()
        scores = Mul(scores0, root)
        p = Softmax<axis=-1>(scores)
        o0 = MatMul(p, v)
        o1 = Transpose<perm=[0, 2, 1, 3]>(o0)
        eight = Constant<value_ints=[8]>()
        join = Concat<axis=0>(batch1, length1, eight)
        o = Reshape(o1, join)
        r = Add(x, o)
        m = LayerNormalization<axis=-1>(r, g1, b1)
        h0 = MatMul(m, w1)
        h = Gelu(h0)
        f = MatMul(h, w2)
        y = Add(r, f) }}"""
    weights = {
        "g1": draw(8), "b1": draw(8), "wqkv": draw(8, 24), "bqkv": draw(24), "w1": draw(8, 16), "w2": draw(16, 8),
    }  # fmt: skip
    return model(graph, 20, **weights), [draw(2, 6, 8)]


STATIC = {"convolutions": convolutions(), "lstm": lstm(), "transformer": transformer()}
DYNAMIC = {
    "convolutions of any batch": convolutions("n"),
    "transformer of any batch": transformer("n", "6"),
    "transformer of any batch and length": transformer("n", "m"),
}


@each("freeze", [True, False], ids=["constants", "parameters"])
@each("name", STATIC)
@each("kind", ["debug", "graph", "vm", "aot"])
def test_a_network_computes_the_same(name: str, kind: str, freeze: bool) -> None:
    proto, inputs = STATIC[name]
    mod, params = from_onnx(proto, freeze_params=freeze)
    assert bool(params) is not freeze
    assert_close(run(kind, mod, *inputs, *params.values()), reference(proto, *inputs))


@pytest.mark.parametrize("name", DYNAMIC)
@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_a_network_of_unknown_shapes_computes_the_same(name: str, kind: str) -> None:
    proto, inputs = DYNAMIC[name]
    assert_close(run(kind, from_onnx(proto)[0], *inputs), reference(proto, *inputs))


@pytest.mark.parametrize("name", DYNAMIC)
def test_unknown_sizes_leave_a_network_static(name: str) -> None:
    text = str(from_onnx(DYNAMIC[name][0])[0])
    assert "dyn." not in text
    assert "shape_of" not in text


def test_sizes_of_different_names_may_be_equal():
    proto = model("g (float[n, 3] x, float[m, 3] z) => (float y) { y = Add(x, z) }")
    x = np.ones((2, 3), "float32")
    assert_close(run("vm", from_onnx(proto)[0], x, x), [x + x])


LOOPS = {
    "states and what is collected": """g (float[2] x, int64 n, bool c) => (float[2] y, float[r, 2] z) {
        y, z = Loop(n, c, x)<body = b (int64 i, bool k, float[2] s) => (bool k2, float[2] s2, float[2] o) {
            f = Cast<to=1>(i) s2 = Add(s, f) o = Mul(s2, x) k2 = Identity(k) }> }""",
    "a state that grows": """g (float[2] x, int64 n, bool c) => (float[m] y) {
        y = Loop(n, c, x)<body = b (int64 i, bool k, float[m] s) => (bool k2, float[m] s2) {
            s2 = Concat<axis=0>(s, x) k2 = Identity(k) }> }""",
    "a condition of its own": """g (float[2] x, int64 n, bool c) => (float[2] y) {
        y = Loop(n, c, x)<body = b (int64 i, bool k, float[2] s) => (bool k2, float[2] s2) {
            s2 = Add(s, s) t = ReduceMax<keepdims=0>(s2) h = Constant<value_float=20.0>() k2 = Less(t, h) }> }""",
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("kind", ["debug", "vm"])
@pytest.mark.parametrize("count", [1, 3, 40])
def test_a_loop_goes_round_as_often(name: str, kind: str, count: int) -> None:
    proto = model(LOOPS[name])
    inputs = [np.array([1, 2], "float32"), np.array(count), np.array(True)]
    assert_close(run(kind, from_onnx(proto)[0], *inputs), reference(proto, *inputs))


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_sequence_ends_where_its_length_says(kind: str) -> None:
    draw = draws(3)
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    weights = {"w": draw(2, 3 * gates, 4), "r": draw(2, 3 * gates, 3), "b": draw(2, 6 * gates)}
    graph = """g (float[5, 2, 4] x, int32[2] n) => (float y, float h) {
        y, h = KIND<hidden_size=3, direction="bidirectional">(x, w, r, b, n) }""".replace("KIND", kind)
    x, lengths = draw(5, 2, 4), [5, 3]
    y, h = run("vm", from_onnx(model(graph, **weights))[0], x, np.array(lengths, "int32"))
    for sample, length in enumerate(lengths):
        short = graph.replace("[5, 2, 4] x, int32[2] n", f"[{length}, 1, 4] x").replace("b, n)", "b)")
        alone = reference(model(short, **weights), x[:length, sample : sample + 1])
        assert_close([y[:length, :, sample : sample + 1], h[:, sample : sample + 1]], alone)
        assert not y[length:, :, sample].any()


def test_a_loop_that_never_goes_round_gives_its_first_states():
    proto = model(LOOPS["a state that grows"])
    mod = from_onnx(proto)[0]
    x = np.array([1, 2], "float32")
    assert_close(run("vm", mod, x, np.array(5), np.array(False)), [x])
