"""Every edge case of every operator that goes to ONNX: the model is one that ONNX accepts, or the operator is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import passlab
from passlab import transform
from passlab.errors import ModelError, PasslabError
from passlab.frontend import to_onnx
from passlab.frontend.onnx.export.table import REASONS, writers
from passlab.ir.op import Op
from passlab.op.dtypes import array_dtype
from passlab.op.edge_cases import Variable, program, varies_dtype
from tests.frontend.test_export import evaluate

DTYPES = ("float32", "float64", "float16", "int64", "int32", "uint8", "bool")


def programs(name: str, dtypes: tuple[str, ...]) -> Iterator[tuple[str, passlab.IRModule, tuple[Variable, ...]]]:
    """The edge cases of an operator as typed programs, in each dtype that it takes."""
    for edge in Op.get(name).spec.edge_cases:
        for dtype in dtypes if varies_dtype(edge) else dtypes[:1]:
            small = program(edge, dtype)
            try:
                yield small.source, transform.InferType()(passlab.parse(small.source)), small.variables
            except PasslabError:
                continue  # a dtype that the operator does not take


def problem(mod: passlab.IRModule) -> str | None:
    """What ONNX says against the model of a program, None when nothing; so, too, for a program that is refused."""
    try:
        model = to_onnx(mod)
    except ModelError as error:
        return None if "`" in str(error) else f"no operator is named: {error}"
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # noqa: BLE001 - of every kind, by what it says
        return str(error)
    return None


@pytest.mark.rotating
@pytest.mark.parametrize("name", writers())
def test_onnx_accepts_the_models_of_all_edge_cases(name: str) -> None:
    problems = {text: problem(mod) for text, mod, _ in programs(name, DTYPES)}
    assert {text: problem for text, problem in problems.items() if problem is not None} == {}


def test_a_reason_for_having_no_counterpart_is_given_for_operators_without_one() -> None:
    assert set(Op.list_op_names()) - set(writers()) >= REASONS.keys()
    for name, reason in REASONS.items():
        for _, mod, _ in programs(name, ("float32",)):
            with pytest.raises(ModelError) as caught:
                to_onnx(mod)
            assert f"`{name}`: {reason}" in str(caught.value)


@pytest.mark.parametrize("name", ["all", "any", "logical_and", "logical_or", "logical_xor", "logical_not"])
def test_what_is_not_zero_is_true(name: str) -> None:
    """Also a fraction, which as a whole number is zero."""
    for text, mod, variables in programs(name, ("float32",)):
        values: list[Any] = []
        for at, variable in enumerate(variables):
            count = int(np.prod(variable.shape))
            cycle = np.resize([[0.5, 0, -0.25, np.nan], [0, 0.5, 0.5, 0]][at], count)
            values.append(cycle.reshape(variable.shape).astype(array_dtype(variable.dtype)))
        model = to_onnx(mod)
        names = [value.name for value in model.graph.input]
        results = ReferenceEvaluator(model).run(None, dict(zip(names, values, strict=True)))
        for ours, theirs in zip(evaluate(mod, values), results, strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(theirs, ours, text)


@pytest.mark.parametrize(("name", "onnx_name"), [("and", "And"), ("or", "Or"), ("xor", "Xor"), ("not", "Not")])
def test_bits_of_bools_are_truths(name: str, onnx_name: str) -> None:
    rows = {"x": np.array([False, False, True, True]), "y": np.array([False, True, False, True])}
    names = ["x"] if name == "not" else ["x", "y"]
    params = ", ".join(f"%{x}: Tensor[(4), bool]" for x in names)
    mod = passlab.parse(f"def @main({params}) {{ bitwise_{name}({', '.join(f'%{x}' for x in names)}) }}")
    model = to_onnx(mod)
    assert [node.op_type for node in model.graph.node] == [onnx_name]
    values = {x: rows[x] for x in names}
    (ours,) = evaluate(mod, list(values.values()))
    np.testing.assert_array_equal(ReferenceEvaluator(model).run(None, values)[0], ours)
