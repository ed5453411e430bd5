"""ONNX models written node by node, with the pieces that exporters make of layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(0)


class Model:
    """A model that is being written, node by node."""

    def __init__(self, **inputs: tuple[Any, ...]) -> None:
        self.inputs = {
            name: helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)) for name, shape in inputs.items()
        }
        self.width = 0  # channels of the last convolution
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def weight(self, *shape: int, value: Any = None) -> str:
        name = f"w{len(self.weights)}"
        data = RNG.standard_normal(shape).astype("float32") * 0.1 if value is None else np.asarray(value)
        self.weights.append(numpy_helper.from_array(data, name))
        return name

    def ints(self, *values: int) -> str:
        return self.weight(value=np.array(values, "int64"))

    def __call__(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        names = [f"t{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def done(self, *outputs: str) -> Any:
        values = [helper.make_empty_tensor_value_info(name) for name in outputs]
        graph = helper.make_graph(self.nodes, "net", list(self.inputs.values()), values, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        inferred = onnx.shape_inference.infer_shapes(model)
        kinds = {v.name: v for v in inferred.graph.value_info} | {v.name: v for v in inferred.graph.output}
        for value in model.graph.output:
            value.CopyFrom(kinds.get(value.name, value))
        return model

    # ------------------------------------------------------------ as exporters write them
    def number(self, value: float) -> str:
        return self.weight(value=np.float32(value))

    def norm(self, x: str, width: int) -> str:
        scale, spread = (self.weight(value=np.full(width, size, "float32")) for size in (1.5, 2.0))
        return self("BatchNormalization", x, scale, self.weight(width), self.weight(width), spread)

    def conv_norm(self, x: str, channels: int, width: int, stride: int = 1, kernel: int = 3) -> str:
        self.width = width
        weight, side = self.weight(width, channels, kernel, kernel), kernel // 2
        return self.norm(
            self("Conv", x, weight, kernel_shape=[kernel] * 2, pads=[side] * 4, strides=[stride] * 2), width
        )

    def linear(self, x: str, size: int, width: int) -> str:
        return self("Add", self("MatMul", x, self.weight(size, width)), self.weight(width))

    def layer_norm(self, x: str, width: int) -> str:
        centred = self("Sub", x, self("ReduceMean", x, axes=[-1]))
        spread = self("ReduceMean", self("Pow", centred, self.number(2.0)), axes=[-1])
        scaled = self("Div", centred, self("Sqrt", self("Add", spread, self.number(1e-5))))
        return self("Add", self("Mul", scaled, self.weight(width)), self.weight(width))

    def gelu(self, x: str) -> str:
        bend = self("Add", self("Erf", self("Div", x, self.number(2**0.5))), self.number(1.0))
        return self("Mul", self("Mul", x, bend), self.number(0.5))

    def heads(self, x: str, count: int, size: int) -> str:
        shape = self("Shape", x)
        parts = [self("Gather", shape, self.weight(value=np.array([axis]))) for axis in (0, 1)]
        split = self("Reshape", x, self("Concat", *parts, self.ints(count, size), axis=0))
        return self("Transpose", split, perm=[0, 2, 1, 3])

    def branch(self, condition: str, yes: str, no: str, x: str, shape: tuple[int, ...]) -> str:
        graphs = [
            helper.make_graph(
                [helper.make_node(op, [x], ["chosen"])],
                op,
                [],
                [helper.make_tensor_value_info("chosen", TensorProto.FLOAT, list(shape))],
            )
            for op in (yes, no)
        ]
        return self("If", condition, then_branch=graphs[0], else_branch=graphs[1])
