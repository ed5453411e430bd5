"""Failures of runs are the same on all executors: what is too large is a `LimitError`, and errors know their place."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import limits, relay
from passlab.errors import LimitError, RunError
from tests.each import each

KINDS = ("debug", "graph", "vm", "aot")
ENORMOUS = (
    'zeros(shape=[4294967296, 4294967296], dtype="float32")',
    'zeros(shape=[1000000000, 1000000000], dtype="float32")',
    'full(1f, shape=[500000000], dtype="float32")',
    "tile(1f, reps=[4294967296, 4294967296])",
    'one_hot(1, 1f, 0f, depth=2147483647000, axis=0, dtype="float32")',
    'repeat(zeros(shape=[4], dtype="float32"), repeats=4611686018427387904, axis=0)',
    'nn.pad(zeros(shape=[4], dtype="float32"), 0f, pad_width=[[4611686018427387904, 4]])',
    'zeros(shape=[9223372036854775808], dtype="bool")',
)


@each("kind", KINDS)
@each("body", ENORMOUS)
def test_what_no_memory_holds_is_over_a_limit(kind, body):
    with limits.override(tensor_bytes=10**9, live_bytes=10**9), pytest.raises(LimitError):
        relay.create_executor(kind, passlab.parse(f"def @main() {{ {body} }}")).evaluate()()


@pytest.mark.parametrize("kind", KINDS)
def test_a_division_by_zero_is_told_where_it_stands(kind):
    text = "def @main(%x: int32) {\n  let %y = %x + 1;\n  let %z = divide(%y, 0);\n  %z\n}"
    with pytest.raises(RunError) as caught:
        relay.create_executor(kind, passlab.parse(text)).evaluate()(np.int32(1))
    place = caught.value.diagnostics[0].place
    assert place is not None, kind
    assert place.line == 3, kind
