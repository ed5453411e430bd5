"""Simplification of the ONNX graph: constant folding, and biases inside convolutions and products.

Works on the nodes of a finished graph. Every rewrite preserves the values, and the tensors that other nodes read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.frontend.onnx.export.protos import attribute_value, names_read
from passlab.frontend.onnx.package import onnx

Array = np.ndarray[Any, Any]
FOLDED_BYTES = 2**26  # larger results are not folded, to keep the model small


class Tidying:
    """The nodes and weights of one graph, and the readers of each tensor."""

    def __init__(self, nodes: list[Any], initializers: list[Any], outputs: list[str]) -> None:
        self.nodes = nodes
        self.weights = {tensor.name: tensor for tensor in initializers}
        self.outputs = set(outputs)
        self.readers = Counter(name for node in nodes for name in names_read(node))

    def run(self) -> tuple[list[Any], list[Any]]:
        """Return the remaining nodes and weights."""
        remaining: list[Any] = []
        producers: dict[str, Any] = {}
        for node in self.nodes:
            if self._fold(node) or self._bias(node, producers):
                continue
            remaining.append(node)
            producers.update(dict.fromkeys(node.output, node))
        used = set(self.outputs)
        # Backwards, so that all readers of a node are decided before it.
        for node in reversed(remaining):
            if used.intersection(node.output):
                used.update(names_read(node))
        remaining = [node for node in remaining if used.intersection(node.output)]
        return remaining, [tensor for name, tensor in self.weights.items() if name in used]

    def array(self, name: str) -> Array:
        """Return the values of a weight."""
        result: Array = onnx().numpy_helper.to_array(self.weights[name])
        return result

    def _fold(self, node: Any) -> bool:
        """Compute a node whose inputs are all weights; return whether its result became a weight."""
        compute = FOLDS.get(node.op_type)
        if compute is None or node.output[0] in self.outputs or not all(name in self.weights for name in node.input):
            return False
        value = compute(node, [self.array(name) for name in node.input])
        if value is None or value.nbytes > FOLDED_BYTES:
            return False
        name = node.output[0]
        self.weights[name] = onnx().numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), name)
        return True

    def _bias(self, node: Any, producers: dict[str, Any]) -> bool:
        """Move the weight of an addition into the convolution or product before it; return whether that succeeded."""
        if node.op_type != "Add" or len(node.input) != 2:
            return False
        for data, bias in (tuple(node.input), tuple(node.input)[::-1]):
            producer = producers.get(data)
            if producer is None or bias not in self.weights or self.readers[data] != 1 or data in self.outputs:
                continue
            vector = self._as_bias(producer, self.array(bias), producers)
            if vector is None:
                continue
            name = f"{bias}_of_{producer.name}"
            self.weights[name] = onnx().numpy_helper.from_array(vector, name)
            producer.input.append(name)
            producer.output[0] = node.output[0]
            producers[node.output[0]] = producer
            return True
        return False

    def _as_bias(self, producer: Any, value: Array, producers: dict[str, Any]) -> Array | None:
        """Return the value added to the result of a node in the shape of its bias, None if it cannot be one."""
        if len(producer.input) != 2:
            return None
        # The weight may be stored in 8 bits.
        origin = producers.get(producer.input[1])
        stored = origin.input[0] if origin is not None and origin.op_type == "DequantizeLinear" else producer.input[1]
        if stored not in self.weights:
            return None
        weight = self.weights[stored]
        if producer.op_type == "Conv":
            channels, rank = weight.dims[0], len(weight.dims)
            fits = value.shape[-(rank - 1) :] == (channels, *([1] * (rank - 2))) and value.size == channels
            return value.reshape(channels) if fits else None
        if producer.op_type == "Gemm" and value.ndim == 1:
            columns = weight.dims[0 if attribute_value(producer, "transB") else 1]
            return value if value.shape[0] in (columns, 1) else None
        return None


def _cast(node: Any, values: list[Array]) -> Array | None:
    dtype = onnx().helper.tensor_dtype_to_np_dtype(attribute_value(node, "to"))
    # Casts of floats depend on the runtime: rounding, and numbers that do not fit.
    return values[0].astype(dtype) if values[0].dtype.kind in "iub" else None


def _unsqueeze(node: Any, values: list[Array]) -> Array:
    rank = values[0].ndim + values[1].size
    return np.expand_dims(values[0], tuple(int(axis) % rank for axis in values[1]))


def _reshape(node: Any, values: list[Array]) -> Array | None:
    shape = [int(n) for n in values[1]]
    if attribute_value(node, "allowzero") != 1:
        shape = [values[0].shape[i] if n == 0 else n for i, n in enumerate(shape)]
    return values[0].reshape(shape)


FOLDS: dict[str, Callable[[Any, list[Array]], Array | None]] = {
    "Cast": _cast,
    "Reshape": _reshape,
    "Squeeze": lambda node, values: values[0].squeeze(tuple(int(a) for a in values[1])) if len(values) > 1 else None,
    "Transpose": lambda node, values: values[0].transpose(attribute_value(node, "perm")),
    "Unsqueeze": _unsqueeze,
}
