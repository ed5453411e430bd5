"""The work of one relation or kernel is bounded, or ends in a `LimitError`."""

from __future__ import annotations

import numpy as np
import pytest

from passlab import parse
from passlab.errors import LimitError, TypeInferenceError
from passlab.ir import Constant, Tuple
from passlab.op import make


def test_a_split_into_a_hundred_million_parts_is_refused() -> None:
    with pytest.raises(TypeInferenceError, match="limit `tuple_fields`"):
        parse('def @main() { split(zeros(shape=[100000000], dtype="int8"), indices_or_sections=100000000) }')


def test_einsum_of_many_operands_contracts_two_at_a_time() -> None:
    letters = "abcdefghijklmnopqrstuvw"
    parts = [np.full((2, 3) if i % 2 else (3, 2), i + 1.0) for i in range(22)]
    equation = ",".join(letters[i : i + 2] for i in range(22)) + "->aw"
    call = make("einsum", Tuple([Constant(p) for p in parts]), equation=equation)
    expected = np.linalg.multi_dot(parts)
    np.testing.assert_allclose(call.op.spec.kernel(call.attrs, tuple(parts)), expected, rtol=1e-12)


def test_endless_sums_of_two_operands_are_refused() -> None:
    wide = np.broadcast_to(np.float32(1), (1_000_000, 1, 1))
    call = make("einsum", Tuple([Constant(np.ones((1, 1, 1)))] * 2), equation="abc,dbc->")
    with pytest.raises(LimitError, match="operations"):
        call.op.spec.kernel(call.attrs, (wide, np.broadcast_to(np.float32(1), (1_000_001, 1, 1))))
