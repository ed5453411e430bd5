"""Compiles a fused program without control flow to a graph of kernels, and plans which results share a storage."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

import numpy as np

from passlab import limits
from passlab.devices import VirtualDevice
from passlab.errors import Diagnostic, VerifyError
from passlab.executor.graph import COPY, NOP, Entry, ExecutorNode, Graph, row_pointers, storage_roots
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from passlab.ir.module import IRModule
from passlab.ir.op import Op, is_call_of
from passlab.ir.types import TensorType, TupleType, Type, tensor_types
from passlab.ir.walk import children, post_order
from passlab.op.dtypes import array_dtype
from passlab.vm.executable import device_of

Array = np.ndarray[Any, Any]
MOST_TRIED = 64  # storages that are compared for one result, so that planning is linear in the number of results
INPUT_HINT = (
    "give it a known shape, or call it through `create_executor`, which compiles for the shapes of the arguments"
)
VALUE_HINT = "its shape follows from values that are known only when it runs: use the `vm` executor"
DEVICE_OPS = ("on_device", "device_copy")
HOST = VirtualDevice()
IDLE = 2**62  # nodes: the gap before the first use or after the last use of a storage


class Placement(NamedTuple):
    """The decision of the memory planner on one result of `size` bytes that is alive from node `first` to node `last`.

    `is_new` means that it got a new storage; otherwise it shares one, which then is idle for `gap` nodes before or
    after it (`IDLE`: nothing else uses it there). `storage` is the number of the storage in the graph.
    """

    result: int
    size: int
    first: int
    last: int
    is_new: bool
    gap: int
    storage: int = -1


def _placed_constants(function: Function, nodes: list[Expr]) -> set[Expr]:
    """Return the constants that only `on_device` calls use: they become inputs on that device."""
    placed = {n.args[0] for n in nodes if isinstance(n, Call) and is_call_of(n, "on_device")}
    # The tuple stands for the caller: being the function's result is another use.
    others = (n for n in (*nodes, Tuple((function.body,))) if not is_call_of(n, "on_device"))
    placed -= {part for n in others for part in children(n)}
    return {n for n in placed if isinstance(n, Constant)}


class GraphCode:
    """The graph of one function whose operators are calls of the primitive functions of the module.

    Only values whose order matters (`nn.dropout`) are bound by lets; the nodes of the graph run in the order of the
    program. `kernels` are the primitive functions by their names in the graph, `params` the constants by input name.
    Raises `VerifyError` for what a graph cannot represent: control flow, functions, references, unknown shapes.
    """

    def __init__(self, mod: IRModule, name: str = "main", prefix: str = "tvmgen_default_") -> None:
        self.mod = mod
        self.prefix = prefix
        self.nodes: list[ExecutorNode] = []
        self.tensors: list[list[TensorType]] = []
        self.devices: list[VirtualDevice] = []  # of each node
        self.kernels: dict[str, Function] = {}
        self.params: dict[str, Array] = {}
        self.entries: dict[Expr, list[Entry]] = {}
        self.names: Counter[str] = Counter()
        self.starts: dict[TupleType, list[int]] = {}  # the index of each field's first tensor in the flattened tuple
        function: Function = mod[name]
        for param in function.params:
            self._input(param, param.name_hint, device_of(param.virtual_device))
        nodes = post_order(function.body)
        self.named: dict[Expr, Expr] = {
            n.var: n.value for n in nodes if isinstance(n, Let) and not isinstance(n.value, Function)
        }
        placed = _placed_constants(function, nodes)
        for node in nodes:
            if node not in self.entries and node not in placed and node not in self.named:
                self._node(node)
        self.heads = self._entries(function.body)
        flat = [t for tensors in self.tensors for t in tensors]
        shapes, dtypes = tuple([t.concrete_shape for t in flat]), tuple([t.dtype for t in flat])
        device_types = tuple([device.device.device_type for device in self._result_devices()])
        self.graph = Graph(tuple(self.nodes), tuple(self.heads), shapes, dtypes, tuple(self._plan()), device_types)

    def _add(self, node: ExecutorNode, ty: Type, expr: Expr, device: VirtualDevice) -> None:
        self.nodes.append(node)
        self.devices.append(device)
        tensors = tensor_types(ty)
        for tensor in tensors:
            if tensor.dynamic:
                hint = INPUT_HINT if isinstance(expr, Var) else VALUE_HINT
                raise _unsupported_error(f"a tensor of unknown shape ({tensor})", expr, hint)
        self.tensors.append(tensors)
        self.entries[expr] = [(len(self.nodes) - 1, i) for i in range(len(tensors))]

    def _input(self, expr: Expr, name: str, device: VirtualDevice) -> None:
        ty = expr.checked_type
        if not isinstance(ty, (TensorType, TupleType)):
            raise _unsupported_error(f"an input of type {ty}", expr)
        self._add(ExecutorNode(self._unique_name(name), num_outputs=len(tensor_types(ty))), ty, expr, device)

    def _unique_name(self, name: str) -> str:
        result = name
        while self.names[result]:
            result = f"{name}_{self.names[name]}"
            self.names[name] += 1
        self.names[result] += 1
        return result

    def _entries(self, expr: Expr) -> list[Entry]:
        while expr in self.named:  # a variable may be bound to another variable
            expr = self.named[expr]
        return self.entries[expr]

    def _node(self, node: Expr) -> None:
        match node:
            case GlobalVar(name_hint=name) if name in self.mod and self.mod[name].is_primitive:
                self.entries[node] = []
            case Constant():
                self._constant(node, node, HOST)
            case Tuple():
                fields = [self._entries(f) for f in node.fields]
                limits.check("tuple_fields", sum(map(len, fields)), "the number of tensors in a tuple")
                self.entries[node] = [entry for field in fields for entry in field]
            case TupleGetItem():
                self._projection(node)
            case Let(body=body):
                self.entries[node] = self._entries(body)
            case Call(op=GlobalVar(name_hint=name) as kernel) if kernel in self.entries:
                self._call(node, name)
            case Call(op=Op(name=name) as op) if op in self.entries:
                self._device_call(node, name)
            case Op(name=name) if name in DEVICE_OPS:
                self.entries[node] = []
            case Var(name_hint=name):
                raise _unsupported_error(f"a loop (%{name} is a function that calls itself)", node)
            case RefCreate() | RefRead() | RefWrite():
                raise _unsupported_error("references", node, "the `debug` executor runs programs with references")
            case _:
                name = node.name_hint if isinstance(node, GlobalVar) else type(node).__name__
                raise _unsupported_error(f"control flow, functions or data types (found {name})", node)

    def _constant(self, expr: Expr, constant: Constant, device: VirtualDevice) -> None:
        name = next(n for n in (f"p{i}" for i in range(len(self.params), 2**62)) if not self.names[n])
        self.params[name] = constant.data
        self._input(expr, name, device)

    def _device_call(self, call: Call, name: str) -> None:
        """Add the copies of `device_copy` between different devices. `on_device` adds none: it states a device."""
        (value,) = call.args
        attrs: Any = call.attrs
        if name == "on_device":
            if isinstance(value, Constant) and value not in self.entries:
                self._constant(call, value, device_of(attrs.virtual_device))
            else:
                self.entries[call] = self._entries(value)
            return
        source, destination = device_of(attrs.src_virtual_device), device_of(attrs.dst_virtual_device)
        if source == destination:
            self.entries[call] = self._entries(value)
            return
        copies: list[Entry] = []
        for tensor, entry in zip(tensor_types(call.checked_type), self._entries(value), strict=True):
            self._add(ExecutorNode(self._unique_name("device_copy"), COPY, (entry,)), tensor, call, destination)
            copies += self.entries[call]
        self.entries[call] = copies

    def _projection(self, node: TupleGetItem) -> None:
        ty = node.tuple_value.checked_type
        assert isinstance(ty, TupleType)
        starts = self.starts.get(ty)
        if starts is None:
            starts = self.starts[ty] = [0, *accumulate(len(tensor_types(f)) for f in ty.fields)]
        self.entries[node] = self._entries(node.tuple_value)[starts[node.index] : starts[node.index + 1]]

    def _call(self, call: Call, kernel: str) -> None:
        primitive: Function = self.mod[kernel]
        inputs = tuple([e for a in call.args for e in self._entries(a)])
        ty = call.checked_type
        attrs = tuple(sorted((k, v) for k, v in primitive.attrs.items() if isinstance(v, str)))
        if primitive.attrs.get("relay.reshape_only") and len(inputs) == 1 and isinstance(ty, TensorType):
            self._add(ExecutorNode(self._unique_name("reshape_nop"), NOP, inputs), ty, call, self.devices[inputs[0][0]])
            return
        name = self.prefix + kernel
        self.kernels[name] = primitive
        device = device_of(primitive.virtual_device)
        self._add(ExecutorNode(self._unique_name(name), name, inputs, len(tensor_types(ty)), attrs), ty, call, device)

    def placements(self) -> list[Placement]:
        """Plan the memory again and return the decisions in their order."""
        decisions: list[Placement] = []
        storages = self._plan(decisions.append)
        return [decision._replace(storage=storages[decision.result]) for decision in decisions]

    def _result_devices(self) -> list[VirtualDevice]:
        return [device for device, tensors in zip(self.devices, self.tensors, strict=True) for _ in tensors]

    def _plan(self, observe: Callable[[Placement], None] | None = None) -> list[int]:
        flat = [t for tensors in self.tensors for t in tensors]
        sizes = [prod(t.concrete_shape) * array_dtype(t.dtype).itemsize for t in flat]
        return plan_memory(self.nodes, self.heads, sizes, self._result_devices(), observe)


def plan_memory(
    nodes: list[ExecutorNode],
    heads: list[Entry],
    sizes: list[int],
    devices: Sequence[Hashable] = (),
    observe: Callable[[Placement], None] | None = None,
) -> list[int]:
    """Return the number of the storage of each result; `sizes` are in bytes.

    Results are placed largest first. Each takes, of the storages that are large enough and free during its live range,
    the one that is idle for the shortest time next to it, or a new one. Inputs and outputs have their own storage; a
    reshape shares its input's. Results on different `devices` share nothing. Storages are numbered in order of first
    use. `observe` is called with each decision. (Pisarchyk and Lee, "Efficient memory management for deep neural net
    inference", 2020, section 4: shared objects.)
    """
    rows = row_pointers(nodes)
    root = storage_roots(nodes, rows)
    outputs = {root[rows[i] + index] for i, index in heads}
    last: dict[int, int] = {}  # by result: the last node that reads it
    by_size: list[tuple[int, int, int]] = []  # minus the size, the node that computes it, the result
    for i, node in enumerate(nodes):
        last.update((root[rows[j] + index], i) for j, index in node.inputs)
        results = range(rows[i], rows[i + 1]) if node.func_name else ()
        by_size += [(-sizes[r], i, r) for r in results if root[r] == r and r not in outputs]
    # The storages of each device: their numbers, and the live ranges of the results in them.
    pools: defaultdict[Hashable, list[tuple[int, list[tuple[int, int]]]]] = defaultdict(list)
    count = 0  # of storages on all devices
    storage_of: dict[int, int] = {}
    for _, birth, result in sorted(by_size):
        life = birth, last.get(result, birth)
        pool = pools[devices[result] if devices else None]
        # The newest storages are the smallest, as results come largest first: any of them is large enough.
        newest = range(len(pool) - 1, max(-1, len(pool) - 1 - MOST_TRIED), -1)
        free = [(gap, k) for k in newest if (gap := _gap(pool[k][1], life)) is not None]
        slot = min(free)[1] if free else len(pool)
        if observe is not None:
            observe(Placement(result, sizes[result], *life, not free, min(free)[0] if free else 0))
        if slot == len(pool):
            pool.append((count, []))
            count += 1
        insort(pool[slot][1], life)
        storage_of[result] = pool[slot][0]
    # The keys are numbers of planned storages (True) and of results with memory of their own (False).
    numbers: dict[tuple[bool, int], int] = {}
    return [numbers.setdefault((r in storage_of, storage_of.get(r, r)), len(numbers)) for r in root]


def _gap(lives: list[tuple[int, int]], life: tuple[int, int]) -> int | None:
    """Return for how many nodes a storage is idle before or after a live range (the smaller); None if it is not free.

    Live ranges that only touch overlap: a kernel must not write its result over its inputs.
    """
    at = bisect_left(lives, life)
    before = life[0] - lives[at - 1][1] if at else IDLE
    after = lives[at][0] - life[1] if at < len(lives) else IDLE
    return min(before, after) if before > 0 and after > 0 else None


def _unsupported_error(what: str, expr: Expr, hint: str = "the `vm` executor runs it") -> VerifyError:
    return VerifyError(Diagnostic(f"the graph executor does not support {what}", expr.span, hint=hint))
