"""Loops of ONNX that go round thousands of times: the same values on every executor, and neither memory nor time squared."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

from passlab import relay, transform
from tests.each import each

EXECUTORS = ("debug", "vm", "aot")
WIDTH = 16


def counting(size: str = str(WIDTH), condition: str = "go") -> Any:
    """A loop that adds 1 to a row as often as it is told, and collects the rows, while a condition holds."""
    model = parser.parse_model(f"""
        <ir_version: 8, opset_import: ["" : 18]>
        net (int64 count, float[{size}] x) => (float[{size}] last, float[times, {size}] rows) {{
            yes = Constant <value = bool {{1}}> ()
            last, rows = Loop (count, yes, x) <body = b (int64 i, bool go, float[{size}] s)
                    => (bool again, float[{size}] t, float[{size}] row) {{
                one = Constant <value = float {{1}}> ()
                most = Constant <value = int64 {{150}}> ()
                t = Add(s, one)
                row = Identity(t)
                again = {"Identity(go)" if condition == "go" else "Less(i, most)"}
            }}>
        }}""")
    onnx.checker.check_model(model)
    return model


def expected(count: int, x: Any) -> tuple[Any, Any]:
    rows = np.stack([x + 1 + at for at in range(count)]) if count else np.zeros((0, WIDTH), "float32")
    return x + np.float32(count), rows


@pytest.mark.parametrize("size", [str(WIDTH), "m"], ids=["known rows", "open rows"])
@each("kind", EXECUTORS)
def test_blocks_of_iterations_collect_what_single_ones_do(kind: str, size: str) -> None:
    mod = relay.frontend.from_onnx(counting(size))[0]
    run = relay.create_executor(kind, mod).evaluate()
    x = np.arange(WIDTH, dtype="float32")
    for count in (0, 1, 63, 64, 65, 128, 129, 300):
        last, rows = run(np.int64(count), x)
        assert np.array_equal(last, expected(count, x)[0])
        if count or size != "m":  # without an iteration, the width of an open row is not known
            assert np.array_equal(rows, expected(count, x)[1])


@each("kind", EXECUTORS)
def test_a_condition_ends_a_loop_inside_a_block(kind: str) -> None:
    run = relay.create_executor(kind, relay.frontend.from_onnx(counting(condition="less"))[0]).evaluate()
    x = np.zeros(WIDTH, "float32")
    for count in (100, 151, 400):
        last, rows = run(np.int64(count), x)
        assert np.array_equal(last, expected(min(count, 151), x)[0])
        assert np.array_equal(rows, expected(min(count, 151), x)[1])


def test_a_loop_that_is_written_out_is_a_loop_in_onnx_again() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    mod = transform.InlineComposites()(relay.frontend.from_onnx(counting())[0])
    written = relay.to_onnx(mod)
    assert "Loop" in {node.op_type for node in written.graph.node}
    session = onnxruntime.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])
    x = np.arange(WIDTH, dtype="float32")
    for count in (0, 64, 300):
        results = session.run(["last", "rows"], {"count": np.array(count), "x": x})
        for ours, theirs in zip(results, expected(count, x), strict=True):
            assert np.array_equal(ours, theirs)


@each("kind", EXECUTORS)
def test_the_memory_of_a_long_loop_is_that_of_its_results(kind: str) -> None:
    run = relay.create_executor(kind, relay.frontend.from_onnx(counting())[0]).evaluate()
    run(np.int64(5), np.zeros(WIDTH, "float32"))
    tracemalloc.start()
    try:
        _, rows = run(np.int64(4000), np.zeros(WIDTH, "float32"))
        assert tracemalloc.get_traced_memory()[1] < 8 * rows.nbytes
    finally:
        tracemalloc.stop()


def test_a_long_loop_copies_less_than_its_square(monkeypatch: pytest.MonkeyPatch) -> None:
    copied, concatenate = 0, np.concatenate

    def counted(parts: Any, *args: Any, **options: Any) -> Any:
        nonlocal copied
        result = concatenate(parts, *args, **options)
        copied += len(result) if result.ndim > 1 else 0
        return result

    run = relay.create_executor("debug", relay.frontend.from_onnx(counting())[0]).evaluate()
    monkeypatch.setattr(np, "concatenate", counted)
    run(np.int64(4000), np.zeros(WIDTH, "float32"))
    assert 4000 <= copied < 2 * 4000**1.5


def test_a_tail_call_leaves_its_caller() -> None:
    """Without a list: each iteration makes a new state, and the evaluator holds that of one iteration."""
    text = """
    def @loop(%i: int32, %x: Tensor[(1000), float32]) -> Tensor[(1000), float32] {
      let %next = %x + 1f;
      if (%i == 0) { %x } else { if (%i > 100000) { %x } else { @loop(%i - 1, %next) } }
    }
    def @main(%n: int32, %x: Tensor[(1000), float32]) { @loop(%n, %x) * 1f }
    """
    run = relay.create_executor("debug", relay.fromtext(text)).evaluate()
    tracemalloc.start()
    try:
        assert run(np.int32(2000), np.zeros(1000, "float32"))[0] == 2000
        assert tracemalloc.get_traced_memory()[1] < 400_000
    finally:
        tracemalloc.stop()
