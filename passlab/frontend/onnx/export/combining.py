"""Rules that combine several nodes of a finished graph, such as a layer norm or a GELU, into one or a few.

A rule replaces the node it matches and nodes that only this one uses. Values change by rounding only. `skipped_rules`
of `combine` names rules to skip.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from passlab.frontend.onnx.export.protos import attribute_value, names_read, rename_inputs
from passlab.frontend.onnx.package import onnx

Array = np.ndarray[Any, Any]
Shape = tuple[Any, ...]


class NodeGraph:
    """The nodes in the order of computation, the producer and readers of each tensor, and the known shapes."""

    def __init__(
        self,
        nodes: list[Any],
        weights: dict[str, Array],
        outputs: Collection[str],
        shapes: Mapping[str, Shape],
        opset: int,
    ) -> None:
        self.weights = weights
        self.outputs = set(outputs)
        self.shapes = dict(shapes)
        self.opset = opset
        self.taken: Collection[str] = ()  # names of the graphs around this one
        self._index(nodes)

    def _index(self, nodes: list[Any]) -> None:
        self.nodes = nodes
        self.producers = {name: node for node in nodes for name in node.output}
        self.readers: dict[str, list[Any]] = defaultdict(list)
        for node in nodes:
            for name in names_read(node):
                self.readers[name].append(node)

    def reindex(self) -> None:
        """Learn the readers anew, after the inputs of nodes were changed."""
        self._index(self.nodes)

    def producer(self, name: str, *op_types: str) -> Any:
        """Return the node that produces a tensor if it has one of these operators, or None."""
        node = self.producers.get(name)
        return node if node is not None and node.op_type in op_types else None

    def constant(self, name: str) -> Array | None:
        """Return the values of a weight."""
        return self.weights.get(name)

    def scalar(self, name: str) -> float | None:
        """Return the value of a weight of one element."""
        value = self.constant(name)
        return None if value is None or value.size != 1 else float(value.reshape(-1)[0])

    def new_name(self, hint: str) -> str:
        """Return a name that no tensor has."""
        name, number = hint, 0
        while name in self.weights or name in self.producers or name in self.taken:
            number += 1
            name = f"{hint}_{number}"
        return name

    def add_weight(self, hint: str, value: Array) -> str:
        """Add a weight and return its name."""
        name = self.new_name(hint)
        self.weights[name] = value
        return name

    def is_shared(self, name: str) -> bool:
        """Whether a weight belongs to a graph around this one."""
        return False

    def is_private(self, matched: Collection[Any], root: Any) -> bool:
        """Whether only matched nodes use the results of all matched nodes but the last."""
        inside = {id(node) for node in matched}
        return all(
            name not in self.outputs and all(id(reader) in inside for reader in self.readers[name])
            for node in matched
            if node is not root
            for name in node.output
        )

    def same(self, node: Any, source: str) -> bool:
        """Remove a node whose result is the tensor `source`; return whether that was possible."""
        result = node.output[0]
        if result in self.outputs:
            producer = self.producers.get(source)
            if producer is None or source in self.outputs:
                return False
            producer.output[list(producer.output).index(source)] = result
            source, result = result, source
        for other in self.nodes:
            rename_inputs(other, {result: source})
        self._index([other for other in self.nodes if other is not node])
        return True

    def replace(self, matched: Collection[Any], root: Any, *new: Any) -> None:
        """Replace the last matched node by new nodes, and remove the other matched nodes."""
        removed = {id(node) for node in matched}
        # By identity: protobuf compares fields.
        at = next(index for index, node in enumerate(self.nodes) if node is root)
        remaining = [node for node in self.nodes[:at] if id(node) not in removed]
        rest = [node for node in self.nodes[at + 1 :] if id(node) not in removed]
        self._index([*remaining, *new, *rest])


def _operands(node: Any) -> list[tuple[str, str]]:
    """Return the operands of a commutative operator in both orders."""
    first, second = node.input
    return [(first, second), (second, first)]


# ------------------------------------------------------------ layer norms
def normalization(graph: NodeGraph, root: Any) -> bool:
    """Combine the nodes of a layer norm, or of a norm by the root of the mean of squares."""
    return layer_norm(graph, root) or rms_norm(graph, root)


def rms_norm(graph: NodeGraph, root: Any) -> bool:
    """`x / sqrt(mean of squares + e) * scale` along the last axes is RMSNormalization (from opset 23 on)."""
    if root.op_type != "Mul" or graph.opset < 23:
        return False
    for ratio, scale in _operands(root):
        divided = graph.producer(ratio, "Div", "Mul")
        for x, divisor in () if divided is None else [tuple(divided.input), tuple(divided.input)[::-1]]:
            match = _root_of_squares(graph, divided, x, divisor)
            if match is None:
                continue
            axes, epsilon, nodes = match
            sizes = graph.shapes.get(x, ())[-axes:]
            weight = graph.constant(scale)
            own = graph.shapes.get(scale) if weight is None else weight.shape
            if own == sizes and all(isinstance(size, int) for size in sizes) and graph.is_private([root, *nodes], root):
                norm = _node("RMSNormalization", [x, scale], root, axis=-axes, epsilon=epsilon)
                graph.replace([root, *nodes], root, norm)
                return True
    return False


def _root_of_squares(graph: NodeGraph, divided: Any, x: str, divisor: str) -> tuple[int, float, list[Any]] | None:
    """Return the number of last axes, epsilon and the nodes of a division of `x` by the root of its mean of squares."""
    nodes = [divided]
    if divided.op_type == "Mul":
        inverse = graph.producer(divisor, "Reciprocal")
        if inverse is None:
            return None
        nodes.append(inverse)
        divisor = inverse.input[0]
    elif divided.input[0] != x:
        return None
    root = graph.producer(divisor, "Sqrt")
    total = root and graph.producer(root.input[0], "Add")
    for mean, added in _operands(total) if total is not None else ():
        epsilon, spread = graph.constant(added), graph.producer(mean, "ReduceMean")
        square = spread and graph.producer(spread.input[0], "Pow", "Mul")
        # The norm is computed in float32.
        if square is None or epsilon is None or epsilon.size != 1 or epsilon.dtype == np.float64:
            continue
        other = square.input[1]
        is_square = square.input[0] == x and (other == x if square.op_type == "Mul" else graph.scalar(other) == 2)
        axes = _last_axes(graph, spread)
        if is_square and axes:
            return axes, float(epsilon.reshape(-1)[0]), [*nodes, root, total, spread, square]
    return None


def _last_axes(graph: NodeGraph, node: Any) -> int:
    """Return how many axes a mean is along, if they are the last ones and it keeps them; 0 for any other."""
    axes, shape = graph.constant(node.input[1]) if len(node.input) > 1 else None, graph.shapes.get(node.input[0])
    if axes is None or shape is None or attribute_value(node, "keepdims", 1) != 1:
        return 0
    named = sorted(int(axis) % len(shape) for axis in axes.reshape(-1))
    return len(named) if named == [*range(len(shape) - len(named), len(shape))] else 0


def layer_norm(graph: NodeGraph, root: Any) -> bool:
    """`(x - mean) / sqrt(mean of squares + e) * scale + shift` along the last axis is LayerNormalization."""
    if root.op_type != "Add" or graph.opset < 17:
        return False
    for product, shift in _operands(root):
        times = graph.producer(product, "Mul")
        if times is None or shift not in graph.weights:
            continue
        for ratio, scale in _operands(times):
            match = _normalize(graph, ratio) if scale in graph.weights else None
            if match is not None and _is_last(graph, match[0], scale, shift):
                x, epsilon, nodes = match
                matched = [root, times, *nodes]
                if not graph.is_private(matched, root):
                    continue
                norm = _node("LayerNormalization", [x, scale, shift], root, axis=-1, epsilon=epsilon)
                graph.replace(matched, root, norm)
                return True
    return False


def _is_last(graph: NodeGraph, x: str, scale: str, shift: str) -> bool:
    """Whether scale and shift are vectors along the last axis."""
    shape = graph.shapes.get(x)
    sizes = [graph.weights[name].shape for name in (scale, shift)]
    return shape is not None and sizes[0] == sizes[1] == (shape[-1],)


def _normalize(graph: NodeGraph, name: str) -> tuple[str, float, list[Any]] | None:
    """Return the input, epsilon, and nodes of a normalization to mean 0 and deviation 1."""
    ratio = graph.producer(name, "Div", "Mul")
    if ratio is None:
        return None
    for centred, divisor in [tuple(ratio.input)] if ratio.op_type == "Div" else _operands(ratio):
        nodes = [ratio]
        if ratio.op_type == "Mul":
            inverse = graph.producer(divisor, "Reciprocal")
            if inverse is None:
                continue
            nodes.append(inverse)
            divisor = inverse.input[0]
        match = _deviation(graph, divisor, centred)
        if match is not None:
            x, epsilon, others = match
            return x, epsilon, [*nodes, *others]
    return None


def _deviation(graph: NodeGraph, name: str, centred: str) -> tuple[str, float, list[Any]] | None:
    """Return the same for a standard deviation: the root of the mean of squares of a centred tensor."""
    root, subtraction = graph.producer(name, "Sqrt"), graph.producer(centred, "Sub")
    total = root and graph.producer(root.input[0], "Add")
    if total is None or subtraction is None:
        return None
    for mean, added in _operands(total):
        epsilon, spread = graph.scalar(added), graph.producer(mean, "ReduceMean")
        square = spread and graph.producer(spread.input[0], "Pow", "Mul")
        if epsilon is None or square is None or not _along_last(graph, spread):
            continue
        squared = square.input[0] == centred and (
            square.input[1] == centred if square.op_type == "Mul" else graph.scalar(square.input[1]) == 2
        )
        x, average = subtraction.input[0], graph.producer(subtraction.input[1], "ReduceMean")
        if squared and average is not None and average.input[0] == x and _along_last(graph, average):
            return x, epsilon, [root, total, spread, square, subtraction, average]
    return None


def _along_last(graph: NodeGraph, node: Any) -> bool:
    """Whether a mean is along the last axis and keeps that axis."""
    return _last_axes(graph, node) == 1


# ------------------------------------------------------------ GELU
def gelu(graph: NodeGraph, root: Any) -> bool:
    """`x * (erf(x / sqrt(2)) + 1) / 2`, its factors in any order, is Gelu (from opset 20 on)."""
    if graph.opset < 20 or root.op_type != "Mul":
        return False
    factors, matched = _factors(graph, root)
    halves = [name for name in factors if graph.scalar(name) == 0.5]
    for name in factors:
        total = graph.producer(name, "Add")
        if total is None or len(factors) != 3 or len(halves) != 1:
            continue
        (x,) = [factor for factor in factors if factor not in (name, halves[0])] or [""]
        for summand, one in _operands(total):
            error = graph.producer(summand, "Erf") if graph.scalar(one) == 1 else None
            inner = error and graph.producer(error.input[0], "Div", "Mul")
            if inner is None or not _divides_by_root_of_two(graph, inner, x):
                continue
            nodes = [*matched, total, error, inner]
            if graph.is_private(nodes, root):
                graph.replace(nodes, root, _node("Gelu", [x], root))
                return True
    return False


def _factors(graph: NodeGraph, root: Any) -> tuple[list[str], list[Any]]:
    """Return the factors of a product of three, and its nodes."""
    for product, other in _operands(root):
        inner = graph.producer(product, "Mul")
        if inner is not None and len(graph.readers[product]) == 1:
            return [*inner.input, other], [root, inner]
    return list(root.input), [root]


def _divides_by_root_of_two(graph: NodeGraph, node: Any, x: str) -> bool:
    pairs = [tuple(node.input)] if node.op_type == "Div" else _operands(node)
    root = math.sqrt(2) if node.op_type == "Div" else math.sqrt(0.5)
    values = [graph.scalar(factor) for data, factor in pairs if data == x]
    return any(value is not None and math.isclose(value, root, rel_tol=1e-5) for value in values)


# ------------------------------------------------------------ parallel products
def parallel_products(graph: NodeGraph, root: Any) -> bool:
    """Combine products of one input by several matrices, with a vector added to each, into one product and a Split."""
    if root.op_type != "MatMul" or len(graph.shapes.get(root.input[0], ())) < 2 or graph.opset < 13:
        return False
    branches = [branch for node in graph.readers[root.input[0]] if (branch := _branch(graph, root.input[0], node))]
    if len(branches) < 3 or branches[0][0] is not root:
        return False
    sizes = [bias.size for _, _, bias in branches]
    matrix = np.concatenate([graph.constant(product.input[1]) for product, _, _ in branches], axis=1)
    vector = np.concatenate([bias for _, _, bias in branches])
    weight, shift = (
        graph.add_weight(f"{root.name}_{part}", value) for part, value in (("matrix", matrix), ("vector", vector))
    )
    split = graph.add_weight(f"{root.name}_sizes", np.array(sizes, "int64"))
    product = _node("MatMul", [root.input[0], weight], root, [f"{root.name}_joined"])
    total = _node("Add", [product.output[0], shift], branches[0][1], [f"{root.name}_shifted"])
    ends = [addition.output[0] for _, addition, _ in branches]
    parts = onnx().helper.make_node("Split", [total.output[0], split], ends, name=f"{root.name}_split", axis=-1)
    matched = [node for product_, addition, _ in branches for node in (product_, addition)]
    # The new nodes go where the first old one was, before all readers.
    first = min(matched, key=lambda node: next(at for at, other in enumerate(graph.nodes) if other is node))
    graph.replace(matched, first, product, total, parts)
    return True


def _branch(graph: NodeGraph, x: str, node: Any) -> tuple[Any, Any, Array] | None:
    """Return a product by a matrix of weights, the addition after it, and the added vector."""
    if node.op_type != "MatMul" or node.input[0] != x:
        return None
    matrix = graph.weights.get(node.input[1])
    readers = graph.readers[node.output[0]]
    if matrix is None or matrix.ndim != 2 or len(readers) != 1 or node.output[0] in graph.outputs:
        return None
    if readers[0].op_type != "Add":
        return None
    for product, shift in _operands(readers[0]):
        vector = graph.constant(shift)
        if product == node.output[0] and vector is not None and vector.shape == (matrix.shape[1],):
            return node, readers[0], vector
    return None


# ------------------------------------------------------------ sums of products
def added_product(graph: NodeGraph, root: Any) -> bool:
    """Combine a product of two matrices and the addition of a third into one Gemm."""
    if root.op_type != "Add" or graph.opset < 11:
        return False
    for data, other in _operands(root):
        product = graph.producer(data, "Gemm")
        shape, sum_shape = graph.shapes.get(other), graph.shapes.get(root.output[0])
        weight = graph.weights.get(other)
        shape = weight.shape if weight is not None else shape
        if (
            product is None
            or len(product.input) != 2
            or shape is None
            or sum_shape is None
            or len(shape) > len(sum_shape)
        ):
            continue
        fits = all(size in (1, full) for size, full in zip(shape[::-1], sum_shape[::-1], strict=False))
        if fits and all(isinstance(size, int) for size in sum_shape) and graph.is_private([root, product], root):
            gemm = _node("Gemm", [*product.input, other], product, [root.output[0]])
            gemm.attribute.extend(product.attribute)
            graph.replace([root, product], root, gemm)
            return True
    return False


def shared_shift(graph: NodeGraph, root: Any) -> bool:
    """Move a per-channel addition that all readers of a convolution share into its bias."""
    if root.op_type != "Conv" or len(root.input) != 2 or root.output[0] in graph.outputs:
        return False
    weight, readers = graph.weights.get(root.input[1]), graph.readers[root.output[0]]
    if weight is None or len(readers) < 2 or any(reader.op_type != "Add" for reader in readers):
        return False
    form = (weight.shape[0], *[1] * (weight.ndim - 2))
    shifts = []
    for reader in readers:
        name = next((name for name in reader.input if name != root.output[0]), "")
        value = graph.constant(name)
        if value is None or value.shape[-len(form) :] != form or value.size != form[0]:
            return False
        shifts.append(value.reshape(form))
    root.input.append(graph.add_weight(f"{root.name}_shift", shifts[0].reshape(-1)))
    old, new = readers[0].output[0], root.output[0]
    for reader, value in zip(readers[1:], shifts[1:], strict=True):
        del reader.input[:]
        # The difference from the shift that the convolution adds now.
        reader.input.extend([new, graph.add_weight(f"{reader.name}_rest", value - shifts[0])])
    if old in graph.outputs:
        readers[0].op_type = "Identity"
        del readers[0].input[1:]
        readers[0].input[0] = new
        graph.replace([], root, root)
        return True
    for node in graph.nodes:
        rename_inputs(node, {old: new})
    graph.replace([readers[0]], root, root)
    return True


# ------------------------------------------------------------ reshapes
def reshapes(graph: NodeGraph, root: Any) -> bool:
    """Combine two nodes that keep the order of the elements (Reshape, Transpose of axes of size 1) into one Reshape."""
    if not _is_reshape(graph, root) or graph.opset < 5:
        return False
    before = graph.producers.get(root.input[0])
    shape = graph.shapes.get(root.output[0])
    if before is None or not _is_reshape(graph, before) or not graph.is_private([root, before], root):
        return False
    known = [size for size in shape or () if isinstance(size, int)]
    if shape is None or len(known) < len(shape) - 1 or 0 in known:
        return False
    # One open size is inferred, for which no other one may be 0.
    codes = [size if isinstance(size, int) else -1 for size in shape]
    target = graph.add_weight(f"{root.name}_shape", np.array(codes, "int64"))
    graph.replace([root, before], root, _node("Reshape", [before.input[0], target], root))
    return True


def _is_reshape(graph: NodeGraph, node: Any) -> bool:
    """Whether a node keeps the order of the elements."""
    if node.op_type in ("Flatten", "Reshape", "Squeeze", "Unsqueeze"):
        return True
    shape = graph.shapes.get(node.input[0]) if node.op_type == "Transpose" else None
    if shape is None:
        return False
    # Axes of size 1 do not affect the order of the elements.
    order = [axis for axis in attribute_value(node, "perm") or range(len(shape))[::-1] if shape[axis] != 1]
    return order == sorted(order)


def _node(op_type: str, inputs: list[str], old: Any, outputs: list[str] | None = None, **attributes: Any) -> Any:
    """Return a node with the name of the one that it replaces."""
    return onnx().helper.make_node(op_type, inputs, outputs or list(old.output), name=old.name, **attributes)


RULES: dict[str, Callable[[NodeGraph, Any], bool]] = {
    "CombineLayerNorm": normalization,
    "CombineGelu": gelu,
    "CombineParallelProducts": parallel_products,
    "CombineSumOfProducts": added_product,
    "CombineSharedShift": shared_shift,
    "CombineReshapes": reshapes,
}


def combine(graph: NodeGraph, skipped_rules: Collection[str] = ()) -> Counter[str]:
    """Apply each rule until it no longer matches; return the number of applications by name."""
    applied: Counter[str] = Counter()
    for name, rule in RULES.items():
        at = 0
        while name not in skipped_rules and at < len(graph.nodes):
            before = len(graph.nodes)
            if rule(graph, graph.nodes[at]):
                applied[name] += 1
                at = max(at - (before - len(graph.nodes)), 0)  # the removed nodes came before this one
            else:
                at += 1
    return applied
