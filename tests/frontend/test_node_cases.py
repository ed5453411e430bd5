"""ONNX's own cases of its operators: models with inputs and what they compute.

Every case is imported and run, by the evaluator and by the virtual machine. What does not agree is listed here with the
reason, and what is listed must not agree: a reason that is no longer one fails the test.

Inputs that say an axis, a shape or a scale are inputs of the model in these cases, and constants in real models. Where a
model needs them while it is read, they are made constants.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from passlab.errors import ModelError
from passlab.frontend import from_onnx
from passlab.frontend.onnx.tensors import DTYPES
from tests.frontend.onnx_text import run

TEXT = "Relay has no tensors of text"
OPTIONAL, TRAINING = "Relay has no values that may be absent", "trains, and is not in ONNX's own domain"
RANDOM = "draws random numbers, which differ from one implementation to the next"

OPERATORS: dict[str, str] = {
    "StringConcat": TEXT, "StringNormalizer": TEXT, "StringSplit": TEXT, "RegexFullMatch": TEXT, "TfIdfVectorizer": TEXT,
    "ImageDecoder": "decodes pictures, which is no arithmetic",
    "Adagrad": TRAINING, "Adam": TRAINING, "Momentum": TRAINING,
    "LabelEncoder": TEXT,
    "Bernoulli": RANDOM, "RandomUniformLike": RANDOM,
}  # fmt: skip
CASES: dict[str, str] = {
    **dict.fromkeys(
        (f"test_training_dropout{suffix}" for suffix in ("", "_default", "_default_mask", "_mask")), RANDOM
    ),
    **dict.fromkeys(
        (f"test_unique_{suffix}" for suffix in
         ("sorted_with_axis", "sorted_with_axis_3d", "sorted_with_negative_axis")),
        "compares slices, and Relay's `unique` single elements",
    ),
    "test_deform_conv_with_mask_bias": "Relay's deformable convolution has no mask",
}  # fmt: skip


@cache
def cases() -> list[Any]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(collect_testcases(None))


def graphs(graph: Any) -> Iterator[Any]:
    todo = [graph]
    while todo:
        yield (current := todo.pop())
        todo += [a.g for node in current.node for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]


def reason(case: Any) -> str | None:
    """Why a case is not expected to agree, None when it is."""
    for node in (node for graph in graphs(case.model.graph) for node in graph.node):
        if node.op_type in OPERATORS:
            return OPERATORS[node.op_type]
    for value in (*case.model.graph.input, *case.model.graph.output):
        kind = value.type.WhichOneof("value")
        if kind == "sequence_type":
            continue
        if kind != "tensor_type":
            if value in case.model.graph.output:  # absent or not, it is known when the program is read
                continue
            return OPTIONAL
        if value.type.tensor_type.elem_type not in DTYPES:
            return "Relay has no tensors of this element type"
    return CASES.get(case.name)


def array(value: Any) -> Any:
    """Return the value of a case as an array, that of a sequence as a list."""
    if isinstance(value, list):
        return [array(part) for part in value]
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def leaves(values: list[Any]) -> list[Any]:
    return [leaf for value in values for leaf in (value if isinstance(value, list) else [value])]


def imported(case: Any, inputs: list[Any]) -> tuple[Any, list[Any]]:
    """Return the module of a case and what is left of its inputs."""
    pairs = dict(zip([value.name for value in case.model.graph.input], inputs, strict=False))
    if sequences := {name: [x.shape for x in s] for name, s in pairs.items() if isinstance(s, list)}:
        numbers = {name: x for name, x in pairs.items() if not isinstance(x, list) and not x.ndim}
        mod = from_onnx(case.model, sequences, values=numbers)[0]
        return mod, leaves([x for name, x in pairs.items() if name not in numbers])
    try:
        return from_onnx(case.model)[0], inputs
    except ModelError:
        proto = onnx.ModelProto()
        proto.CopyFrom(case.model)
        left = []
        for number, (value, arguments) in enumerate(zip(proto.graph.input, inputs, strict=True)):
            if (number == 0 and arguments.ndim) or (arguments.size > 64 and arguments.dtype.kind == "f"):
                left.append(arguments)
            else:
                proto.graph.initializer.append(numpy_helper.from_array(arguments, value.name))
        return from_onnx(proto)[0], left


# Of the shorter floats, one in the last place of a result, and of the largest of what was summed up.
COARSE = {"bfloat16": (1 / 64, 1 / 256), "float16": (1 / 512, 1 / 1024)}


def disagreement(kind: str, case: Any) -> str | None:
    """What a case says against us, None when all agrees."""
    for inputs, outputs in case.data_sets:
        if any(value is None for value in (*inputs, *outputs)):
            return "no tensors"
        try:
            mod, left = imported(case, [array(value) for value in inputs])
        except ModelError as error:
            return str(error)
        result, expected = run(kind, mod, *left), leaves([array(value) for value in outputs])
        if len(result) != len(expected):
            return f"{len(result)} outputs"
        for one, other in zip(result, expected, strict=True):
            if (one.dtype, one.shape) != (other.dtype, other.shape):
                return f"{one.dtype}{one.shape} instead of {other.dtype}{other.shape}"
            if not _equal(one, other, case):
                return f"{one} instead of {other}"
    return None


def _equal(one: Any, other: Any, case: Any) -> bool:
    if other.dtype.kind in "biu":
        return bool((one == other).all())
    relative, unit = COARSE.get(other.dtype.name, (0.0, 1e-7))
    one, other = one.astype("float64"), other.astype("float64")
    largest = np.abs(other[np.isfinite(other)]).max(initial=0.0)
    return np.allclose(one, other, max(case.rtol, relative), max(case.atol, unit * largest), equal_nan=True)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_every_case_of_onnx_agrees_or_is_listed_with_a_reason(kind: str) -> None:
    assert len(cases()) > 1000
    wrong, rotten = [], []
    for case in cases():
        listed, problem = reason(case), disagreement(kind, case)
        if problem is not None and listed is None:
            wrong.append(f"{case.name}: {problem}")
        if problem is None and listed is not None:
            rotten.append(f"{case.name} agrees, and is listed: {listed}")
    assert not wrong
    assert not rotten


@pytest.mark.nightly
def test_every_listed_case_and_operator_is_there():
    met = {node.op_type for case in cases() for graph in graphs(case.model.graph) for node in graph.node}
    assert set(OPERATORS) <= met
    assert set(CASES) <= {case.name for case in cases()}
