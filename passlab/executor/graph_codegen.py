"""From a fused program without control flow to a graph of kernels, with a plan of which results share memory."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import prod
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, VerifyError
from passlab.executor.graph import NOP, Entry, Graph, GraphNode
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.types import TensorType, TupleType, Type
from passlab.ir.walk import post_order
from passlab.transform.passes.manifest_alloc import tensor_types
from passlab.vm.shape_kernels import numpy_dtype

Array = np.ndarray[Any, Any]


class GraphCode:
    """Makes the graph of one function without lets whose operators are calls of the module's primitive functions.

    `kernels` are the primitive functions by the names the graph uses, `params` the constants by input name.
    Raises `VerifyError` for what a graph cannot say.
    """

    def __init__(self, mod: IRModule, name: str = "main", prefix: str = "tvmgen_default_") -> None:
        self.mod = mod
        self.prefix = prefix
        self.nodes: list[GraphNode] = []
        self.tensors: list[list[TensorType]] = []
        self.kernels: dict[str, Function] = {}
        self.params: dict[str, Array] = {}
        self.entries: dict[Expr, list[Entry]] = {}
        self.names: Counter[str] = Counter()
        function: Function = mod[name]
        for param in function.params:
            self._input(param, param.name_hint)
        for node in post_order(function.body):
            if node not in self.entries:
                self._node(node)
        self.graph = self._graph(self.entries[function.body])

    def _add(self, node: GraphNode, ty: Type, expr: Expr) -> None:
        self.nodes.append(node)
        tensors = tensor_types(ty)
        for tensor in tensors:
            if tensor.dynamic:
                raise _no(f"a tensor of unknown shape ({tensor})", expr)
        self.tensors.append(tensors)
        self.entries[expr] = [(len(self.nodes) - 1, i) for i in range(len(tensors))]

    def _input(self, expr: Expr, name: str) -> None:
        ty = expr.checked_type
        if not isinstance(ty, (TensorType, TupleType)):
            raise _no(f"an input of type {ty}", expr)
        self._add(GraphNode(self._unique(name), num_outputs=len(tensor_types(ty))), ty, expr)

    def _unique(self, name: str) -> str:
        made = name
        while self.names[made]:
            made = f"{name}_{self.names[name]}"
            self.names[name] += 1
        self.names[made] += 1
        return made

    def _node(self, node: Expr) -> None:
        if isinstance(node, GlobalVar) and node.name_hint in self.mod and self.mod[node.name_hint].is_primitive:
            self.entries[node] = []
        elif isinstance(node, Constant):
            name = next(n for n in (f"p{i}" for i in range(len(self.params), 2**62)) if not self.names[n])
            self.params[name] = node.data
            self._input(node, name)
        elif isinstance(node, Tuple):
            self.entries[node] = [e for f in node.fields for e in self.entries[f]]
        elif isinstance(node, TupleGetItem):
            self._projection(node)
        elif isinstance(node, Call) and isinstance(node.op, GlobalVar) and node.op in self.entries:
            self._call(node, node.op.name_hint)
        elif isinstance(node, Var):
            raise _no(f"the variable %{node.name_hint} before its value", node)
        else:
            name = node.name_hint if isinstance(node, GlobalVar) else type(node).__name__
            raise _no(f"control flow, functions or data types (found {name})", node)

    def _projection(self, node: TupleGetItem) -> None:
        ty = node.tuple_value.checked_type
        assert isinstance(ty, TupleType)
        start = sum(len(tensor_types(f)) for f in ty.fields[: node.index])
        count = len(tensor_types(ty.fields[node.index]))
        self.entries[node] = self.entries[node.tuple_value][start : start + count]

    def _call(self, call: Call, kernel: str) -> None:
        primitive: Function = self.mod[kernel]
        inputs = tuple([e for a in call.args for e in self.entries[a]])
        ty = call.checked_type
        attrs = tuple(sorted((k, v) for k, v in primitive.attrs.items() if isinstance(v, str)))
        if primitive.attrs.get("relay.reshape_only") and len(inputs) == 1 and isinstance(ty, TensorType):
            self._add(GraphNode(self._unique("reshape_nop"), NOP, inputs), ty, call)
            return
        name = self.prefix + kernel
        self.kernels[name] = primitive
        self._add(GraphNode(self._unique(name), name, inputs, len(tensor_types(ty)), attrs), ty, call)

    def _graph(self, heads: list[Entry]) -> Graph:
        flat = [t for tensors in self.tensors for t in tensors]
        sizes = [prod(t.concrete_shape) * numpy_dtype(t.dtype).itemsize for t in flat]
        storages = plan_memory(self.nodes, heads, sizes)
        shapes = tuple([t.concrete_shape for t in flat])
        return Graph(tuple(self.nodes), tuple(heads), shapes, tuple([t.dtype for t in flat]), tuple(storages))


def plan_memory(nodes: list[GraphNode], heads: list[Entry], sizes: list[int]) -> list[int]:
    """Return the number of the storage of each result.

    In order of execution, a result takes a free storage whose size is within 16 times its own, if possible one that
    holds it, which otherwise grows; else a new one. A storage is free once all nodes that read it have run. Inputs and
    outputs keep theirs; a reshape has that of its input. (Chen et al., "Training deep nets with sublinear memory
    cost", 2016, section 3.)
    """
    rows = [0]
    for node in nodes:
        rows.append(rows[-1] + node.num_outputs)
    uses: Counter[int] = Counter()
    storage = [-1] * rows[-1]
    capacity: list[int] = []
    for node in nodes:
        uses.update(rows[i] + index for i, index in node.inputs)
    pending: Counter[int] = Counter()  # by storage: reads to come
    kept: set[int] = set()
    free: defaultdict[int, list[int]] = defaultdict(list)  # by the bits of the capacity
    root = _storage_roots(nodes, rows)
    reads: Counter[int] = Counter()
    for result, count in uses.items():
        reads[root[result]] += count
    outputs = {root[rows[i] + index] for i, index in heads}
    for i, node in enumerate(nodes):
        for result in range(rows[i], rows[i + 1]):
            if root[result] != result:
                storage[result] = storage[root[result]]
                continue
            found = None if not node.func_name or result in outputs else _take(free, capacity, sizes[result])
            if found is None:
                capacity.append(sizes[result])
                found = len(capacity) - 1
            storage[result] = found
            pending[found] = reads[result]
            if not node.func_name or result in outputs:
                kept.add(found)
            elif not reads[result]:
                free[capacity[found].bit_length()].append(found)
        for j, index in node.inputs:
            number = storage[rows[j] + index]
            pending[number] -= 1
            if not pending[number] and number not in kept:
                free[capacity[number].bit_length()].append(number)
    return storage


def _storage_roots(nodes: list[GraphNode], rows: list[int]) -> list[int]:
    """Return for each result the one whose memory it has: itself, or what a reshape began from."""
    root = list(range(rows[-1]))
    for i, node in enumerate(nodes):
        if node.func_name == NOP:
            j, index = node.inputs[0]
            root[rows[i]] = root[rows[j] + index]
    return root


def _take(free: dict[int, list[int]], capacity: list[int], size: int) -> int | None:
    """Take a free storage for `size` bytes out of the size classes near it, or None."""
    bits = size.bit_length()
    for at in (*range(bits, bits + 5), *range(bits - 1, bits - 5, -1)):
        if free.get(at):
            found = free[at].pop()
            capacity[found] = max(capacity[found], size)
            return found
    return None


def _no(what: str, expr: Expr) -> VerifyError:
    return VerifyError(
        Diagnostic(f"the graph executor does not support {what}", expr.span, hint="the `vm` executor runs any program")
    )
