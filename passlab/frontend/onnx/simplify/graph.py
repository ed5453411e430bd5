"""The graph of a model while it is made smaller: nodes, weights, and what the importer knows of its tensors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from passlab.errors import PasslabError
from passlab.frontend.onnx.export.combining import NodeGraph
from passlab.frontend.onnx.export.protos import names_read, rename_inputs
from passlab.frontend.onnx.graph import plain_domain
from passlab.frontend.onnx.importing import opsets_of
from passlab.frontend.onnx.package import onnx
from passlab.frontend.onnx.simplify.facts import Facts
from passlab.frontend.onnx.tensors import array_of
from passlab.infer import infer_expr
from passlab.ir.expr import Constant
from passlab.ir.types import SizeVar, TensorType
from passlab.op.dtypes import Array, array_dtype


class ModelGraph(NodeGraph):
    """The nodes of the main graph in order, its weights as arrays, and its facts.

    `weights` has the weights whose values Relay can hold; `tensors` has all, as they are stored in the model.
    """

    facts: Facts

    def __init__(self, model: Any, around: Mapping[str, Array] | None = None) -> None:
        """Read a model. For the body of a loop or a branch, `around` has the weights that it reads from outside."""
        graph = model.graph
        self.model = model
        self.is_inner = around is not None
        self.around = dict(around or {})
        self.tensors = {tensor.name: tensor for tensor in graph.initializer}
        self.inputs = [value.name for value in graph.input]
        self._constants: dict[str, Constant] = {}
        weights: dict[str, Array] = {}
        for name, tensor in self.tensors.items():
            try:
                weights[name] = self._constant(name, array_of(tensor)).data
            except PasslabError:  # of text, or of another element type that Relay does not have
                continue
        self.stored = dict(weights)
        weights.update(self.around)
        nodes = [_copy(node) for node in graph.node]
        outputs = [value.name for value in graph.output]
        super().__init__(nodes, weights, outputs, {}, opsets_of(model).get("", 1))
        self.learn()

    def _constant(self, name: str, value: Array) -> Constant:
        """Return a weight as a typed constant, the same for the same array."""
        constant = self._constants.get(name)
        if constant is None or constant.data is not value:
            constant = self._constants[name] = infer_expr(Constant(value))
        return constant

    def learn(self) -> None:
        """Ask the importer about the tensors of the graph as it is now."""
        light = self._light_model()
        light.graph.node.extend(self.nodes)
        self.facts = Facts(light, {name: self._constant(name, value) for name, value in self.weights.items()})
        for name, constant in self._constants.items():
            if name in self.weights:
                if self.weights[name] is self.stored.get(name):
                    self.stored[name] = constant.data
                self.weights[name] = constant.data
        names = {name for node in self.nodes for name in (*node.input, *node.output)} | set(self.inputs)
        self.shapes = {name: shape for name in names if (shape := self.facts.shape(name)) is not None}

    def names(self) -> set[str]:
        """Return all names of tensors."""
        return set(self.weights) | set(self.tensors) | set(self.inputs) | set(self.producers)

    def described(self, name: str) -> Any:
        """Return a tensor as the input of a graph inside, with what is known of its type."""
        package = onnx()
        expr = self.facts.expr(name)
        ty = expr.checked_type if expr is not None else None
        if not isinstance(ty, TensorType):
            element = self.facts.element(name)
            return (
                package.helper.make_tensor_value_info(name, element, None)
                if element
                else package.ValueInfoProto(name=name)
            )
        element = package.helper.np_dtype_to_tensor_dtype(array_dtype(ty.dtype))
        sizes = [
            dim if isinstance(dim, int) else f"size {id(dim)}" if isinstance(dim, SizeVar) else None for dim in ty.shape
        ]
        return package.helper.make_tensor_value_info(name, element, sizes)

    def _light_model(self) -> Any:
        """Return the model without nodes and weights."""
        package = onnx()
        result = package.ModelProto()
        _copy_fields(self.model, result, {"graph"})
        source, graph = self.model.graph, result.graph
        _copy_fields(source, graph, {"node", "initializer", "value_info", "input"})
        # A weight that may be given as an input has its value in all that was computed from it.
        graph.input.extend(value for value in source.input if value.name not in self.tensors)
        made = {name for node in self.nodes for name in node.output}
        graph.value_info.extend(value for value in source.value_info if value.name in made)
        result.ir_version = max(result.ir_version, 4)  # before, each weight is an input as well
        return result

    def is_shared(self, name: str) -> bool:
        """Whether a weight belongs to a graph around this one."""
        return name in self.around

    # ------------------------------------------------------------ changes
    def remove(self, nodes: Collection[Any]) -> None:
        """Remove nodes, by identity."""
        gone = {id(node) for node in nodes}
        self._index([node for node in self.nodes if id(node) not in gone])

    def alias(self, same: Mapping[str, str]) -> None:
        """Let all readers of some tensors read others, which have the same value, and remove nodes without readers.

        An output of the model keeps its name: the node that computes the value takes it, or an Identity copies it.
        """
        same = {name: _last(same, name) for name in same}
        for node in self.nodes:
            rename_inputs(node, same)
        taken: dict[str, str] = {}
        copies = []
        for name, target in same.items():
            if name not in self.outputs:
                continue
            target = taken.get(target, target)
            if target in self.producers and target not in self.outputs:
                taken[target] = name
            else:
                copies.append(onnx().helper.make_node("Identity", [target], [name], name=f"{name}_copy"))
        gone = [self.producers[name] for name in same if name in self.producers]
        removed = {id(node) for node in gone if all(not out or out in same for out in node.output)}
        kept = [node for node in self.nodes if id(node) not in removed]
        for node in kept:
            for at, name in enumerate(node.output):
                if name in same:
                    node.output[at] = f"{name}_unused" if name in self.outputs else name
                elif name in taken:
                    node.output[at] = taken[name]
            rename_inputs(node, taken)
        self._index([*kept, *copies])

    def drop_unused(self) -> bool:
        """Remove the nodes whose results nobody reads; return whether there were any."""
        used = set(self.outputs)
        kept = []
        for node in reversed(self.nodes):
            if used.intersection(node.output):
                used.update(names_read(node))
                kept.append(node)
        changed = len(kept) != len(self.nodes)
        if changed:
            self._index(kept[::-1])
        return changed

    def counts(self) -> Counter[str]:
        """Return how often each operator is in the graph and in the graphs inside it; constants do not count."""
        return operator_counts(self.nodes)

    def scale_of(self, node: Any) -> tuple[str, str]:
        """Return the domain and the name of the operator of a node."""
        return plain_domain(node.domain), node.op_type

    # ------------------------------------------------------------ the model again
    def to_model(self) -> Any:
        """Return the model with these nodes and weights, and everything else as it was."""
        package = onnx()
        result = self._light_model()
        graph = result.graph
        graph.node.extend(self.nodes)
        read = {name for node in self.nodes for name in names_read(node)} | set(self.outputs)
        for name in self.tensors | self.weights:
            if name not in read or name in self.around:
                continue
            value = self.weights.get(name)
            if name in self.tensors and (value is None or value is self.stored.get(name)):
                graph.initializer.append(self.tensors[name])
            else:
                assert value is not None
                array = np.ascontiguousarray(value).reshape(value.shape)
                graph.initializer.append(package.numpy_helper.from_array(array, name))
        return result


def _copy(node: Any) -> Any:
    copy = onnx().NodeProto()
    copy.CopyFrom(node)
    return copy


def _last(same: Mapping[str, str], name: str) -> str:
    while name in same:
        name = same[name]
    return name


def _copy_fields(source: Any, target: Any, left_out: Collection[str]) -> None:
    for descriptor, value in source.ListFields():
        if descriptor.name in left_out:
            continue
        field = getattr(target, descriptor.name)
        if descriptor.message_type is not None:
            field.MergeFrom(value)
        elif hasattr(field, "extend"):
            field.extend(value)
        else:
            setattr(target, descriptor.name, value)


def operator_counts(nodes: Any) -> Counter[str]:
    """Return how often each operator is among nodes and in the graphs inside them; constants do not count."""
    counts, stack = Counter[str](), [nodes]
    while stack:
        for node in stack.pop():
            counts[node.op_type] += node.op_type != "Constant"
            stack += [a.g.node for a in node.attribute if a.HasField("g")]
            stack += [graph.node for a in node.attribute for graph in a.graphs]
    return +counts  # the unary plus drops counts of 0


def attributes_key(node: Any) -> bytes:
    """Return the attributes of a node as bytes, equal for equal attributes."""
    parts = sorted((a.name, a.SerializeToString(deterministic=True)) for a in node.attribute)
    return b"".join(part for _, part in parts)
