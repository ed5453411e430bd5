"""Operator fusion: groups the nodes of a dataflow graph into kernels.

Each operator has a pattern (element-wise, broadcast, injective, reduction, ...). A node may join the group of its
immediate post-dominator if the patterns of all nodes on the paths between them permit it, so that diamonds fuse whole.
There are three phases: groups that end in element-wise operators (a convolution with its epilogue), then injective
operators and tuples, then the injective producers of tuples that joined a group in the second phase. This is the
algorithm of the graph partitioner in TVM's FuseOps. It needs types, and time linear in the size of the graph: a search
visits at most `max_nodes` nodes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from passlab.analysis.dominators import NONE, PostDominators
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
)
from passlab.ir.op import Op, OpPattern
from passlab.ir.types import TensorType, TupleType, Type, is_dynamic
from passlab.ir.walk import CHILDREN, post_order

ELEMWISE, BROADCAST, INJECTIVE, COMM_REDUCE, ANCHOR, TUPLE, OPAQUE = (int(p) for p in OpPattern)
_SIMPLE_DTYPES = frozenset(map(np.dtype, ("int32", "int64", "float32", "float64", "bool")))


class FusionGraph:
    """The dataflow of a function: `nodes` in topological order, `index` their numbers.

    `pattern[n]` is the fusion pattern of node n, `outputs[n]` its users as (number, pattern of the edge), and
    `outside[n]` whether it has a use that cannot be fused: the result of a function, a let, a branch.
    """

    def __init__(self, root: Expr) -> None:
        self.nodes = post_order(root)
        self.index = {node: i for i, node in enumerate(self.nodes)}
        size = len(self.nodes)
        self.pattern = [OPAQUE] * size
        self.outputs: list[list[tuple[int, int]]] = [[] for _ in range(size)]
        self.outside = [False] * size
        self.outside[-1] = True
        self._is_tensor_tuple: dict[Type, bool] = {}  # cached, as a tuple may have many projections
        for number, node in enumerate(self.nodes):
            rule = _RULES.get(type(node))
            if rule is not None:
                rule(self, number, node)

    def _use(self, node: Expr, user: int, pattern: int) -> None:
        self.outputs[self.index[node]].append((user, pattern))

    def _all_outside(self, number: int, node: Expr) -> None:
        for child in CHILDREN[type(node)](node):
            self.outside[self.index[child]] = True

    def _let(self, number: int, node: Let) -> None:
        outside, index = self.outside, self.index
        outside[index[node.var]] = outside[index[node.value]] = outside[index[node.body]] = True

    def _constant(self, number: int, node: Constant) -> None:
        data = node.data
        if data.ndim == 0 and data.dtype in _SIMPLE_DTYPES:
            self.pattern[number] = ELEMWISE

    def _call(self, number: int, node: Call) -> None:
        index, outputs = self.index, self.outputs
        self.outside[index[node.op]] = True
        pattern = OPAQUE
        if type(node.op) is Op:
            spec = node.op.spec
            unknown = spec.shape_function is not None and is_dynamic(node.checked_type)
            pattern = OPAQUE if unknown or spec.non_computational else int(spec.pattern)
        self.pattern[number] = pattern
        result = node.checked_type
        broadcast = result if pattern == BROADCAST and type(result) is TensorType else None
        for arg in node.args:
            edge = pattern
            if broadcast is not None:
                ty = arg.checked_type
                if ty is broadcast or (type(ty) is TensorType and ty.shape == broadcast.shape):
                    edge = ELEMWISE
            outputs[index[arg]].append((number, edge))

    def _tuple(self, number: int, node: Tuple) -> None:
        self.pattern[number] = TUPLE
        for field in node.fields:
            if type(field.checked_type) is TensorType:
                self._use(field, number, INJECTIVE)
            else:
                self.outside[self.index[field]] = True

    def _projection(self, number: int, node: TupleGetItem) -> None:
        ty = node.tuple_value.checked_type
        if ty not in self._is_tensor_tuple:
            self._is_tensor_tuple[ty] = type(ty) is TupleType and all(type(f) is TensorType for f in ty.fields)
        if self._is_tensor_tuple[ty]:
            self.pattern[number] = INJECTIVE
            self._use(node.tuple_value, number, INJECTIVE)
        else:  # kernels take tensors and tuples of tensors only
            self.outside[self.index[node.tuple_value]] = True


_RULES: dict[type, Callable[..., None]] = {
    Constant: FusionGraph._constant,
    Call: FusionGraph._call,
    Tuple: FusionGraph._tuple,
    TupleGetItem: FusionGraph._projection,
    Let: FusionGraph._let,
    **dict.fromkeys((Function, If, Match, RefCreate, RefRead, RefWrite), FusionGraph._all_outside),
}


class FusionGroups:
    """The nodes of a graph in groups, each of which becomes a kernel. `root(n)` is the last node of the group of n.

    With `fuse` False every node is a group of its own. No group has more than `max_nodes` nodes.
    """

    def __init__(self, graph: FusionGraph, max_nodes: int, fuse: bool = True) -> None:
        size = len(graph.nodes)
        self._graph = graph
        self._max = max_nodes
        self._parent = list(range(size))
        self._size = [1] * size
        self._kind = list(graph.pattern)
        self._anchored = [p == ANCHOR for p in graph.pattern]
        if fuse:
            self._tree = PostDominators(graph.outputs, graph.outside, OPAQUE)
            pairs = zip(graph.pattern, self._tree.parent, strict=True)
            self._candidates = [n for n, (p, sink) in enumerate(pairs) if p != OPAQUE and sink != NONE]
            for phase in range(3 if TUPLE in graph.pattern else 2):  # the last one is about tuples
                self._run(phase)

    def root(self, node: int) -> int:
        """Return the last node of the group of a node."""
        parent = self._parent
        top = node
        while parent[top] != top:
            top = parent[top]
        while parent[node] != top:
            parent[node], node = top, parent[node]
        return top

    def _run(self, phase: int) -> None:
        dominator = self._tree.parent
        for node in self._candidates:
            sink = dominator[node]
            if phase == 2:
                if self._kind[node] <= INJECTIVE and self._within_limit(node, sink):
                    self._fuse_into_tuple(node, sink)
            elif self._kind[sink] != TUPLE and self.root(node) != self.root(sink) and self._within_limit(node, sink):
                self._try_fuse(node, sink, phase)

    def _try_fuse(self, node: int, sink: int, phase: int) -> None:
        kind, relation = self._kind[node], self._tree.relation[node]
        if kind == ANCHOR:
            if phase == 0 and relation == ELEMWISE and self._check_path(node, sink, BROADCAST, _at_most_broadcast):
                self._merge(node, sink)
        elif kind <= BROADCAST:
            fusable = relation <= INJECTIVE or relation == COMM_REDUCE
            if fusable and self._check_path(node, sink, INJECTIVE, _accepts_broadcast):
                self._merge(node, sink)
        elif kind in (INJECTIVE, TUPLE) and phase == 1 and self._check_path(node, sink, INJECTIVE, _at_most_injective):
            self._merge(node, sink)

    def _fuse_into_tuple(self, node: int, sink: int) -> None:
        """Fuse an injective producer into a tuple that was itself fused into an injective operator."""
        root_kind = self._kind[self.root(sink)]
        is_fused_tuple = self._kind[sink] == TUPLE and root_kind <= INJECTIVE
        if is_fused_tuple and self._check_path(node, sink, INJECTIVE, _at_most_injective):
            self._merge(node, sink)

    def _is_only_user(self, user: int, node: int) -> bool:
        """Return True if no path from a node leads around a user: then no search for paths is needed."""
        edges = self._graph.outputs[node]
        return len(edges) == 1 and edges[0][0] == user

    def _within_limit(self, node: int, sink: int) -> bool:
        """Return True if the merged group would have at most `max_nodes` nodes; stop counting once it has more."""
        total = self._size[self.root(sink)]
        if self._is_only_user(sink, node):
            return total + self._size[node] <= self._max
        seen = {sink}
        stack = [node]
        while stack:
            at = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            total += self._size[at]
            if total > self._max:
                return False
            stack += [user for user, _ in self._graph.outputs[at]]
        return True

    def _check_path(self, node: int, sink: int, between: int, at_sink: Callable[[int], bool]) -> bool:
        """Return True if all groups on paths to `sink` are of kind `between` or less, and `at_sink` accepts its own."""
        if self._is_only_user(sink, node):
            return at_sink(self._kind[self.root(sink)])
        seen = {node}
        stack = [user for user, _ in self._graph.outputs[node]]
        while stack:
            at = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            kind = self._kind[self.root(at)]
            if at == sink:
                if not at_sink(kind):
                    return False
                continue
            if kind > between:
                return False
            stack += [user for user, _ in self._graph.outputs[at]]
        return True

    def _merge(self, node: int, sink: int) -> None:
        """Merge the groups of all nodes on the paths from a node to its post-dominator."""
        if self._is_only_user(sink, node):
            self._join(self.root(node), self.root(sink))
            return
        seen = {sink}
        stack = [node]
        while stack:
            at = stack.pop()
            if at not in seen:
                seen.add(at)
                self._join(self.root(at), self.root(sink))
                stack += [user for user, _ in self._graph.outputs[at]]

    def _join(self, child: int, parent: int) -> None:
        if child == parent:
            return
        self._size[parent] += self._size[child]
        self._parent[child] = parent
        if self._anchored[child]:
            self._anchored[parent] = True
            self._kind[parent] = max(self._kind[child], self._kind[parent])


def _at_most_broadcast(kind: int) -> bool:
    return kind <= BROADCAST


def _at_most_injective(kind: int) -> bool:
    return kind <= INJECTIVE


def _accepts_broadcast(kind: int) -> bool:
    return kind <= COMM_REDUCE or kind == ANCHOR
