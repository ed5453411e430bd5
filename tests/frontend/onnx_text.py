"""ONNX models from ONNX's own text, and what ONNX itself says they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import ModelProto, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

from passlab import relay


def model(graph: str, opset: int = 18, **weights: Any) -> ModelProto:
    """Return the model of a graph in text; `weights` become its initializers."""
    result = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\n{graph}')
    for name, value in weights.items():
        result.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return result


def arrays(value: Any) -> list[Any]:
    """Return a result as the list of its arrays; a sequence in it counts as its tensors."""
    return [a for v in value for a in arrays(v)] if isinstance(value, (tuple, list)) else [np.asarray(value)]


def run(kind: str, mod: Any, *inputs: Any) -> list[Any]:
    return arrays(relay.create_executor(kind, mod).evaluate()(*inputs))


def reference(proto: ModelProto, *inputs: Any) -> list[Any]:
    """Return what ONNX's reference implementation makes of inputs in their order."""
    weights = {tensor.name for tensor in proto.graph.initializer}
    names = [value.name for value in proto.graph.input if value.name not in weights]
    return ReferenceEvaluator(proto).run(None, dict(zip(names, inputs, strict=True)))


def assert_close(result: list[Any], expected: list[Any], rtol: float = 1e-4, atol: float = 1e-5) -> None:
    assert len(result) == len(expected)
    for one, other in zip(result, expected, strict=True):
        other = np.asarray(other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)
