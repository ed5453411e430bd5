"""From a fused program without control flow to a graph of kernels, with a memory plan: which results share storage."""

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
from passlab.executor.graph import COPY, NOP, Entry, Graph, GraphNode
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
from passlab.ir.op import Op, is_call_of, is_op_call
from passlab.ir.types import TensorType, TupleType, Type, tensor_types
from passlab.ir.walk import children, post_order
from passlab.op.dtypes import array_dtype
from passlab.vm.executable import device_of

Array = np.ndarray[Any, Any]
MOST_TRIED = 64  # storages that are looked at for one result
INPUT_HINT = (
    "give it a known shape, or call it through `create_executor`: that makes a graph for the shapes it is given"
)
VALUE_HINT = "its shape follows from values that are known only when it runs: use the `vm` executor"
OF_DEVICES = ("on_device", "device_copy")
HOST = VirtualDevice()
IDLE = 2**62  # nodes; a storage that is used no more


class Placement(NamedTuple):
    """What was decided of one result: it needs memory from node `first` to node `last`, and how much.

    `is_new` says that it got a new storage; else it shares one, which would have lain idle for `gap` nodes beside it
    (`IDLE` where nothing else uses it). `storage` is its number in the graph.
    """

    result: int
    size: int
    first: int
    last: int
    is_new: bool
    gap: int
    storage: int = -1


def _pinned_constants(function: Function, nodes: list[Expr]) -> set[Expr]:
    """Return the constants that only `on_device` calls use: these load them where they are needed."""
    pinned = {n.args[0] for n in nodes if isinstance(n, Call) and is_call_of(n, "on_device")}
    others = (n for n in (*nodes, Tuple((function.body,))) if not is_call_of(n, "on_device"))
    pinned -= {part for n in others for part in children(n)}
    return {n for n in pinned if isinstance(n, Constant)}


class GraphCode:
    """Makes the graph of one function whose operators are calls of the module's primitive functions.

    Lets are those around values whose order matters (`nn.dropout`); nodes of a graph run in the order of the program.
    `kernels` are the primitive functions by the names the graph uses, `params` the constants by input name.
    Raises `VerifyError` for what a graph cannot say.
    """

    def __init__(self, mod: IRModule, name: str = "main", prefix: str = "tvmgen_default_") -> None:
        self.mod = mod
        self.prefix = prefix
        self.nodes: list[GraphNode] = []
        self.tensors: list[list[TensorType]] = []
        self.places: list[VirtualDevice] = []  # of each node
        self.kernels: dict[str, Function] = {}
        self.params: dict[str, Array] = {}
        self.entries: dict[Expr, list[Entry]] = {}
        self.names: Counter[str] = Counter()
        self.starts: dict[TupleType, list[int]] = {}  # of each field among the tensors of a tuple, and its end
        function: Function = mod[name]
        for param in function.params:
            self._input(param, param.name_hint, device_of(param.virtual_device))
        nodes = post_order(function.body)
        self.named: dict[Expr, Expr] = {
            n.var: n.value for n in nodes if isinstance(n, Let) and not isinstance(n.value, Function)
        }
        pinned = _pinned_constants(function, nodes)
        for node in nodes:
            if node not in self.entries and node not in pinned and node not in self.named:
                self._node(node)
        self.heads = self._entries(function.body)
        self.graph = self._graph(self.heads)

    def _add(self, node: GraphNode, ty: Type, expr: Expr, place: VirtualDevice) -> None:
        self.nodes.append(node)
        self.places.append(place)
        tensors = tensor_types(ty)
        for tensor in tensors:
            if tensor.dynamic:
                hint = INPUT_HINT if isinstance(expr, Var) else VALUE_HINT
                raise _no(f"a tensor of unknown shape ({tensor})", expr, hint)
        self.tensors.append(tensors)
        self.entries[expr] = [(len(self.nodes) - 1, i) for i in range(len(tensors))]

    def _input(self, expr: Expr, name: str, place: VirtualDevice) -> None:
        ty = expr.checked_type
        if not isinstance(ty, (TensorType, TupleType)):
            raise _no(f"an input of type {ty}", expr)
        self._add(GraphNode(self._unique(name), num_outputs=len(tensor_types(ty))), ty, expr, place)

    def _unique(self, name: str) -> str:
        result = name
        while self.names[result]:
            result = f"{name}_{self.names[name]}"
            self.names[name] += 1
        self.names[result] += 1
        return result

    def _entries(self, expr: Expr) -> list[Entry]:
        while expr in self.named:
            expr = self.named[expr]
        return self.entries[expr]

    def _node(self, node: Expr) -> None:
        if isinstance(node, GlobalVar) and node.name_hint in self.mod and self.mod[node.name_hint].is_primitive:
            self.entries[node] = []
        elif isinstance(node, Constant):
            self._constant(node, node, HOST)
        elif isinstance(node, Tuple):
            fields = [self._entries(f) for f in node.fields]
            limits.check("tuple_fields", sum(map(len, fields)), "the number of tensors in a tuple")
            self.entries[node] = [entry for field in fields for entry in field]
        elif isinstance(node, TupleGetItem):
            self._projection(node)
        elif isinstance(node, Let):
            self.entries[node] = self._entries(node.body)
        elif isinstance(node, Call) and isinstance(node.op, GlobalVar) and node.op in self.entries:
            self._call(node, node.op.name_hint)
        elif isinstance(node, Op) and node.name in OF_DEVICES:
            self.entries[node] = []
        elif is_op_call(node) and node.op in self.entries:
            self._device_call(node, node.op.name)
        elif isinstance(node, Var):
            raise _no(f"a loop (%{node.name_hint} is a function that calls itself)", node)
        elif isinstance(node, (RefCreate, RefRead, RefWrite)):
            raise _no("references", node, "the `debug` executor runs programs with references")
        else:
            name = node.name_hint if isinstance(node, GlobalVar) else type(node).__name__
            raise _no(f"control flow, functions or data types (found {name})", node)

    def _constant(self, expr: Expr, constant: Constant, place: VirtualDevice) -> None:
        name = next(n for n in (f"p{i}" for i in range(len(self.params), 2**62)) if not self.names[n])
        self.params[name] = constant.data
        self._input(expr, name, place)

    def _device_call(self, call: Call, name: str) -> None:
        """Bring a value to a device; a constant is there from the beginning. What lies there stays what it is."""
        (value,) = call.args
        attrs: Any = call.attrs
        if name == "on_device":
            if isinstance(value, Constant) and value not in self.entries:
                self._constant(call, value, device_of(attrs.virtual_device))
            else:
                self.entries[call] = self._entries(value)
            return
        here, there = device_of(attrs.src_virtual_device), device_of(attrs.dst_virtual_device)
        if here == there:
            self.entries[call] = self._entries(value)
            return
        copies: list[Entry] = []
        for tensor, entry in zip(tensor_types(call.checked_type), self._entries(value), strict=True):
            self._add(GraphNode(self._unique("device_copy"), COPY, (entry,)), tensor, call, there)
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
            place = self.places[inputs[0][0]]
            self._add(GraphNode(self._unique("reshape_nop"), NOP, inputs), ty, call, place)
            return
        name = self.prefix + kernel
        self.kernels[name] = primitive
        place = device_of(primitive.virtual_device)
        self._add(GraphNode(self._unique(name), name, inputs, len(tensor_types(ty)), attrs), ty, call, place)

    def placements(self) -> list[Placement]:
        """Return what planning the memory decided, in the order of its decisions. Planned anew when asked."""
        decisions: list[Placement] = []
        storages = self._plan(self.heads, decisions.append)
        return [decision._replace(storage=storages[decision.result]) for decision in decisions]

    def _plan(self, heads: list[Entry], tell: Callable[[Placement], None] | None = None) -> list[int]:
        flat = [t for tensors in self.tensors for t in tensors]
        sizes = [prod(t.concrete_shape) * array_dtype(t.dtype).itemsize for t in flat]
        places = [place for place, tensors in zip(self.places, self.tensors, strict=True) for _ in tensors]
        return plan_memory(self.nodes, heads, sizes, places, tell)

    def _graph(self, heads: list[Entry]) -> Graph:
        flat = [t for tensors in self.tensors for t in tensors]
        places = [place for place, tensors in zip(self.places, self.tensors, strict=True) for _ in tensors]
        storages = self._plan(heads)
        shapes = tuple([t.concrete_shape for t in flat])
        kinds = tuple([place.device.device_type for place in places])
        return Graph(tuple(self.nodes), tuple(heads), shapes, tuple([t.dtype for t in flat]), tuple(storages), kinds)


def plan_memory(
    nodes: list[GraphNode],
    heads: list[Entry],
    sizes: list[int],
    places: Sequence[Hashable] = (),
    tell: Callable[[Placement], None] | None = None,
) -> list[int]:
    """Return the number of the storage of each result.

    The largest results are placed first: each takes a storage that is large enough and free from the node that makes it
    to the last that reads it, the one that would else lie idle for the shortest time; or a new one. Inputs and outputs
    have storages of their own; a reshape has that of its input. `places` says on which device each result lies: results
    on different ones share nothing. Storages are numbered as they come into use. `tell` hears each decision. (Pisarchyk
    and Lee, "Efficient memory management for deep neural net inference", 2020, section 4: shared objects.)
    """
    rows = [0]
    for node in nodes:
        rows.append(rows[-1] + node.num_outputs)
    root = _storage_roots(nodes, rows)
    outputs = {root[rows[i] + index] for i, index in heads}
    last: dict[int, int] = {}
    planned: list[tuple[int, int, int]] = []  # minus the size, the node that makes it, the result
    for i, node in enumerate(nodes):
        last.update((root[rows[j] + index], i) for j, index in node.inputs)
        rows_made = range(rows[i], rows[i + 1]) if node.func_name else ()
        planned += [(-sizes[r], i, r) for r in rows_made if root[r] == r and r not in outputs]
    pools: defaultdict[Hashable, list[tuple[int, list[tuple[int, int]]]]] = defaultdict(list)
    count = 0  # of storages; the pool of a device has its own with their numbers, and the times they are in use
    place: dict[int, int] = {}
    for _, birth, result in sorted(planned):
        life = birth, last.get(result, birth)
        pool = pools[places[result] if places else None]
        newest = range(len(pool) - 1, max(-1, len(pool) - 1 - MOST_TRIED), -1)  # the storages shrink as they come
        free = [(gap, k) for k in newest if (gap := _gap(pool[k][1], life)) is not None]
        slot = min(free)[1] if free else len(pool)
        if tell is not None:
            tell(Placement(result, sizes[result], *life, not free, min(free)[0] if free else 0))
        if slot == len(pool):
            pool.append((count, []))
            count += 1
        insort(pool[slot][1], life)
        place[result] = pool[slot][0]
    numbers: dict[tuple[bool, int], int] = {}
    return [numbers.setdefault((r in place, place.get(r, r)), len(numbers)) for r in root]


def _storage_roots(nodes: list[GraphNode], rows: list[int]) -> list[int]:
    """Return for each result the one whose memory it has: itself, or what a reshape began from."""
    root = list(range(rows[-1]))
    for i, node in enumerate(nodes):
        if node.func_name == NOP:
            j, index = node.inputs[0]
            root[rows[i]] = root[rows[j] + index]
    return root


def _gap(lives: list[tuple[int, int]], life: tuple[int, int]) -> int | None:
    """Return how long a storage would lie idle beside a use for so long; None when it is not free.

    A result may not lie where the inputs of its node do.
    """
    at = bisect_left(lives, life)
    before = life[0] - lives[at - 1][1] if at else IDLE
    after = lives[at][0] - life[1] if at < len(lives) else IDLE
    return min(before, after) if before > 0 and after > 0 else None


def _no(what: str, expr: Expr, hint: str = "the `vm` executor runs it") -> VerifyError:
    return VerifyError(Diagnostic(f"the graph executor does not support {what}", expr.span, hint=hint))
