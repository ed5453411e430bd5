"""What the importer knows of the tensors of a model: their values, types, and which are the same.

The importer translates every node into Relay and computes what is known: the value of a tensor that depends on
weights only, the sizes of a computed shape, an operand that a node returns unchanged. Here, a node that it cannot
translate does not end the translation: its results are unknown tensors of the types that ONNX infers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from passlab.errors import PasslabError
from passlab.frontend.building import ShapeEntry
from passlab.frontend.onnx.attributes import attributes_of
from passlab.frontend.onnx.graph import GraphContext, GraphScope, Translator, node_names, plain_domain
from passlab.frontend.onnx.importing import input_type, opsets_of
from passlab.frontend.onnx.operators.recurrent import DEFAULTS, mode_of
from passlab.frontend.onnx.package import onnx
from passlab.ir.expr import Constant, Expr, Var
from passlab.ir.gc_pause import building
from passlab.ir.types import Dim, SizeVar, TensorType
from passlab.op.dtypes import Array, array_dtype

UNROLLED = {"DynamicQuantizeLSTM", "Loop", "Scan"}
# What a translation raises for a model whose shapes or attributes do not fit.
UNFIT = (PasslabError, ValueError, TypeError, IndexError, ArithmeticError, MemoryError, KeyError)
PEEPHOLES = 7  # the number of that input of an LSTM
LARGE = 1024  # elements of a weight whose values ONNX's inference of shapes does not read


def is_written_out(node: Any) -> bool:
    """Whether the importer writes a node out step by step, which costs time and tells nothing of its results."""
    if node.op_type not in DEFAULTS:
        return node.op_type in UNROLLED
    attributes, _ = attributes_of(node.attribute, {}, None)
    return mode_of(node.op_type, attributes, len(node.input) > PEEPHOLES and bool(node.input[PEEPHOLES])) is None


class Facts:
    """The Relay expressions of the tensors of a graph, by name.

    `model` is a model without its weights; `weights` has those that Relay can hold, as constants with types.
    """

    def __init__(self, model: Any, weights: Mapping[str, Constant]) -> None:
        self._model = model
        self._weights = weights
        self._symbols: dict[str, SizeVar] = {}
        self._inferred: Mapping[str, Any] | None = None
        functions = {(plain_domain(f.domain), f.name): f for f in model.functions}
        self._translator = Translator(functions, None)
        self._translator.builder.config["use_nt_batch_matmul"] = False  # no weight is transposed
        self._scope = GraphScope()
        with building():
            self._read()

    # ------------------------------------------------------------ questions
    def expr(self, name: str) -> Expr | None:
        """Return the expression of a tensor, the same for two tensors that are the same; None for an unknown one."""
        return self._scope.own(name)

    def value(self, name: str) -> Array | None:
        """Return the value of a tensor, None if it is not known."""
        expr = self.expr(name)
        return expr.data if isinstance(expr, Constant) else None

    def shape(self, name: str) -> tuple[Dim, ...] | None:
        """Return the sizes of a tensor: integers, a `SizeVar` for an unknown one, the same for equal ones, or `?`."""
        expr = self.expr(name)
        is_tensor = expr is not None and isinstance(expr.checked_type, TensorType)
        return self._translator.builder.shape(expr) if expr is not None and is_tensor else None

    def element(self, name: str) -> int:
        """Return ONNX's number of the element type of a tensor, 0 if it is not known."""
        ty = None if (expr := self.expr(name)) is None else expr.checked_type
        if isinstance(ty, TensorType):
            return int(onnx().helper.np_dtype_to_tensor_dtype(array_dtype(ty.dtype)))
        value = self._types().get(name)
        return 0 if value is None else int(value.type.tensor_type.elem_type)

    def entries(self, name: str) -> list[ShapeEntry] | None:
        """Return the elements of a computed shape, None for an unknown one."""
        value = self.value(name)
        if value is not None:
            return [int(entry) for entry in value.reshape(-1)] if value.dtype.kind in "iu" else None
        expr = self.expr(name)
        return None if expr is None else self._translator.builder.entries.get(expr)

    # ------------------------------------------------------------ translation
    def _read(self) -> None:
        graph = self._model.graph
        for name, weight in self._weights.items():
            self._scope[name] = weight
        for value in graph.input:
            if value.name not in self._scope:
                try:
                    self._add(value.name, input_type(value, None, "float32", self._symbols, {}))
                except PasslabError:
                    continue
        context = GraphContext(opsets_of(self._model), {}, 0, "")
        nodes = list(graph.node)
        for node, name in zip(nodes, node_names(nodes), strict=True):
            try:
                if any(part and part not in self._scope for part in node.input) or is_written_out(node):
                    self._leave(node)
                    continue
                self._translator.node(node, name, self._scope, context)
            except UNFIT:
                self._leave(node)

    def _add(self, name: str, ty: TensorType) -> None:
        variable = Var("tensor", ty)
        self._translator.builder.add_input(variable)
        self._scope[name] = variable

    def _leave(self, node: Any) -> None:
        """Give the results of a node that is not translated the types that ONNX infers, if it does."""
        for name in node.output:
            value = self._types().get(name)
            if name and value is not None and name not in self._scope:
                try:
                    self._add(name, input_type(value, None, "float32", self._symbols, {}))
                except PasslabError:
                    continue

    def _types(self) -> Mapping[str, Any]:
        """Return the types that ONNX infers, by name; large weights are inputs, since their values do not matter."""
        if self._inferred is None:
            package = onnx()
            model = package.ModelProto()
            model.CopyFrom(self._model)
            graph = model.graph
            known = {value.name for value in graph.input}
            for name, weight in self._weights.items():
                array = weight.data
                if array.size <= LARGE:
                    graph.initializer.append(package.numpy_helper.from_array(np.ascontiguousarray(array), name))
                elif name not in known:
                    element = package.helper.np_dtype_to_tensor_dtype(array.dtype)
                    graph.input.append(package.helper.make_tensor_value_info(name, element, array.shape))
            try:
                self._check_nodes()  # the inference of a damaged node may end the process
                graph = package.shape_inference.infer_shapes(model, data_prop=True).graph
            except (
                RuntimeError,
                ValueError,
                TypeError,
                package.checker.ValidationError,
                package.shape_inference.InferenceError,
            ):
                graph = model.graph
            self._inferred = {value.name: value for value in (*graph.value_info, *graph.output, *graph.input)}
        return self._inferred

    def _check_nodes(self) -> None:
        """Raise `ValidationError` of onnx for a node that does not fit the definition of its operator."""
        package = onnx()
        context = package.checker.C.CheckerContext()
        context.ir_version = max(self._model.ir_version, 4)
        context.opset_imports = {entry.domain: entry.version for entry in self._model.opset_import} or {"": 1}
        for node in self._model.graph.node:
            package.checker.check_node(node, context)
