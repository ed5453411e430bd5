"""The graph of a program without control flow: its kernel calls in order. It is written to and read from Relay's JSON.

The constructor of `Graph` verifies it, so a graph from a file that was tampered with never reaches an executor.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import Any

from passlab import limits
from passlab.arguments import checked
from passlab.errors import Diagnostic, VerifyError
from passlab.op.dtypes import array_dtype

Entry = tuple[int, int]  # the number of a node, and which of its results
NOP = "__nop"  # the function of a node that only reshapes its input
COPY = "__copy"  # the function of a node that copies its input to another device
MOST_RESULTS = 10**6  # of one node
CPU = 1  # `kDLCPU` of DLPack


@dataclass(frozen=True)
class ExecutorNode:
    """One node: an input or parameter (`func_name` empty), or the call of a kernel."""

    name: str
    func_name: str = ""
    inputs: tuple[Entry, ...] = ()
    num_outputs: int = 1
    attrs: tuple[tuple[str, str], ...] = ()


def row_pointers(nodes: Sequence[ExecutorNode]) -> list[int]:
    """Return for each node the number of results of the nodes before it, and at the end the number of all results."""
    return list(accumulate([node.num_outputs for node in nodes], initial=0))


def storage_roots(nodes: Sequence[ExecutorNode], rows: list[int]) -> list[int]:
    """Return for each result the one whose memory it uses: itself, or the input of a chain of reshapes."""
    root = list(range(rows[-1]))
    for i, node in enumerate(nodes):
        if node.func_name == NOP and node.inputs:
            j, index = node.inputs[0]
            root[rows[i]] = root[rows[j] + index]
    return root


@checked
@dataclass(frozen=True)
class Graph:
    """Nodes in topological order; `shapes`, `dtypes`, `storage_ids` and `device_types` have one entry per result.

    `device_types` are DLPack's numbers (by default the CPU). Raises `VerifyError` for references to later nodes,
    unknown dtypes and shapes beyond the limits.
    """

    nodes: tuple[ExecutorNode, ...]
    heads: tuple[Entry, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    storage_ids: tuple[int, ...]
    device_types: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        rows = self.row_ptr
        if not self.device_types:
            # The dataclass is frozen, so the default is set past its guard.
            object.__setattr__(self, "device_types", (CPU,) * rows[-1])
        if not len(self.shapes) == len(self.dtypes) == len(self.storage_ids) == len(self.device_types) == rows[-1]:
            raise VerifyError("the graph does not describe each of its results once")
        for i, node in enumerate(self.nodes):
            for entry in node.inputs:
                self._check_entry(entry, i, f"node {i} ({node.name})")
        for entry in self.heads:
            self._check_entry(entry, len(self.nodes), "an output")
        for i, (shape, dtype) in enumerate(zip(self.shapes, self.dtypes, strict=True)):
            _check_tensor(shape, dtype, self.storage_ids[i], rows[-1])

    def _check_entry(self, entry: Entry, before: int, what: str) -> None:
        node, index = entry
        if not 0 <= node < before or not 0 <= index < self.nodes[node].num_outputs:
            raise VerifyError(f"{what} reads result {index} of node {node}, which does not exist before it")

    @property
    def row_ptr(self) -> list[int]:
        """For each node the number of results of the nodes before it, and at the end the number of all results."""
        return row_pointers(self.nodes)

    @property
    def arg_nodes(self) -> list[int]:
        """The numbers of the nodes that are inputs or parameters."""
        return [i for i, node in enumerate(self.nodes) if not node.func_name]

    def lives(self) -> dict[int, tuple[int, int]]:
        """Return the live range of each result of a kernel: the node that computes it and the last that reads it.

        Outputs are alive to the end: the range ends at the number of nodes. A reshape has no range of its own: reading
        it reads the memory of its input.
        """
        rows = self.row_ptr
        root = storage_roots(self.nodes, rows)
        last: dict[int, tuple[int, int]] = {}
        for i, node in enumerate(self.nodes):
            for j, index in node.inputs:
                source = root[rows[j] + index]
                if source in last:
                    last[source] = last[source][0], i
            if node.func_name:
                last.update((result, (i, i)) for result in range(rows[i], rows[i + 1]) if root[result] == result)
        for i, index in self.heads:
            if root[rows[i] + index] in last:
                last[root[rows[i] + index]] = last[root[rows[i] + index]][0], len(self.nodes)
        return last

    def result_bytes(self, result: int) -> int:
        """Return the size of a result in bytes."""
        return prod(self.shapes[result]) * array_dtype(self.dtypes[result]).itemsize

    def to_json(self) -> str:
        """Return Relay's JSON of the graph."""
        attrs = {
            "shape": ["list_shape", [list(s) for s in self.shapes]],
            "dltype": ["list_str", list(self.dtypes)],
            "storage_id": ["list_int", list(self.storage_ids)],
            "device_index": ["list_int", list(self.device_types)],
        }
        data = {
            "nodes": [_node_json(n) for n in self.nodes],
            "arg_nodes": self.arg_nodes,
            # The third number is the version of an entry, 0 in Relay.
            "heads": [[node, index, 0] for node, index in self.heads],
            "attrs": attrs,
            "node_row_ptr": self.row_ptr,
        }
        return json.dumps(data, indent=2)

    @staticmethod
    def from_json(text: str) -> Graph:
        """Read Relay's JSON. Raises `VerifyError` for text that is not such JSON, or that is inconsistent."""
        try:
            data = json.loads(text)
            attrs, rows = data["attrs"], [_natural(r) for r in data["node_row_ptr"]]
            graph = Graph(
                tuple([_node_of(n, rows[i + 1] - rows[i]) for i, n in enumerate(data["nodes"])]),
                tuple([_entry(h) for h in data["heads"]]),
                tuple([tuple([_natural(d) for d in s]) for s in attrs["shape"][1]]),
                tuple([_string(d) for d in attrs["dltype"][1]]),
                tuple([_natural(s) for s in attrs["storage_id"][1]]),
                tuple([_natural(d) for d in attrs["device_index"][1]]) if "device_index" in attrs else (),
            )
            fits = data["arg_nodes"] == graph.arg_nodes and rows == graph.row_ptr
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
            raise VerifyError(Diagnostic(f"this is not a graph: {type(error).__name__}: {error}")) from None
        if not fits:
            raise VerifyError("arg_nodes or node_row_ptr of the graph do not fit its nodes")
        return graph


def _check_tensor(shape: tuple[int, ...], dtype: str, storage: int, count: int) -> None:
    try:
        size = prod(shape) * array_dtype(dtype).itemsize
    except (TypeError, AttributeError):
        raise VerifyError(f"the graph has a tensor of the unknown dtype {dtype[:40]!r}") from None
    limits.check("tensor_bytes", size, "a tensor of the graph")
    limits.check("rank", len(shape), "a tensor of the graph")
    if not 0 <= storage < max(count, 1):
        raise VerifyError(f"the graph has no storage {storage}")


def _node_json(node: ExecutorNode) -> dict[str, Any]:
    inputs = [[i, index, 0] for i, index in node.inputs]
    if not node.func_name:
        return {"op": "null", "name": node.name, "inputs": inputs}
    attrs = {
        "num_outputs": str(node.num_outputs),
        "num_inputs": str(len(inputs)),
        "flatten_data": "0",
        "func_name": node.func_name,
        **dict(node.attrs),
    }
    return {"op": "tvm_op", "name": node.name, "attrs": attrs, "inputs": inputs}


_JSON_ATTRS = ("num_outputs", "num_inputs", "flatten_data", "func_name")  # of every kernel call; the rest are Relay's


def _node_of(data: dict[str, Any], count: int) -> ExecutorNode:
    """Return a node of `count` results (an input in JSON has no field for it, and a tuple has several)."""
    inputs = tuple([_entry(e) for e in data["inputs"]])
    if not 0 <= count <= MOST_RESULTS:
        raise ValueError(f"the node {data['name']!r} has {count} results")
    if data["op"] == "null":
        if inputs:
            raise ValueError("an input has inputs")
        return ExecutorNode(_string(data["name"]), num_outputs=count)
    attrs = {_string(k): _string(v) for k, v in data["attrs"].items()}
    if data["op"] != "tvm_op" or not attrs["func_name"] or attrs["num_inputs"] != str(len(inputs)):
        raise ValueError(f"the node {data['name']!r} is neither an input nor the call of a kernel")
    if attrs["num_outputs"] != str(count):
        raise ValueError(f"the node {data['name']!r} has {count} results, but `num_outputs` is {attrs['num_outputs']}")
    rest = tuple([(k, v) for k, v in attrs.items() if k not in _JSON_ATTRS])
    return ExecutorNode(_string(data["name"]), attrs["func_name"], inputs, count, rest)


def _entry(value: Any) -> Entry:
    node, index, *_ = value
    return _natural(node), _natural(index)


def _natural(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a number")
    return value


def _string(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(f"{value!r} is not a string")
    return value
