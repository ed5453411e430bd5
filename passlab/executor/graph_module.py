"""The graph executor: runs the kernels of a graph one after the other, in memory that was planned beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, PasslabError, RunError, VerifyError, did_you_mean
from passlab.evaluate.arguments import check_argument
from passlab.executor.arena import placed
from passlab.executor.graph import NOP, Entry, Graph
from passlab.ir.expr import Constant, Function, Var
from passlab.ir.types import TensorType, TupleType
from passlab.vm.kernels import Kernel
from passlab.vm.objects import Storage
from passlab.vm.shape_kernels import numpy_dtype

Array = np.ndarray[Any, Any]


class GraphModule:
    """Runs a graph. Inputs are set by name or number and stay set; outputs are copies.

    `kernels` are primitive functions by the names that the graph calls them. Raises `VerifyError` when one is missing.
    """

    shares_memory = True

    def __init__(self, graph: Graph, kernels: Mapping[str, Function], params: Mapping[str, Any] | None = None) -> None:
        self.graph = graph
        self.rows = graph.row_ptr
        self.inputs = {graph.nodes[i].name: i for i in graph.arg_nodes}
        self.values: list[Array | None] = [None] * self.rows[-1]
        self.kernels: dict[str, Kernel] = {}
        for node in graph.nodes:
            if node.func_name and node.func_name != NOP and node.func_name not in self.kernels:
                if node.func_name not in kernels:
                    raise VerifyError(f"the library has no kernel `{node.func_name}`")
                self.kernels[node.func_name] = Kernel(kernels[node.func_name])
        self._allocate()
        for name, value in (params or {}).items():
            self.set_input(name, value)

    def _allocate(self) -> None:
        """Make the tensors that kernels write into: in one piece of memory, or each for itself."""
        graph = self.graph
        kinds = [numpy_dtype(d) for d in graph.dtypes]
        lives = graph.lives()
        made = list(lives)
        sizes = [prod(graph.shapes[result]) * kinds[result].itemsize for result in made]
        if self.shares_memory:
            offsets, self.storage_bytes = placed([lives[result] for result in made], sizes)
            arena = Storage(self.storage_bytes)
            places = [(arena, offset) for offset in offsets]
        else:
            self.storage_bytes = sum(sizes)
            places = [(Storage(size), 0) for size in sizes]
        for result, (storage, offset) in zip(made, places, strict=True):
            self.values[result] = storage.tensor(offset, graph.shapes[result], kinds[result])

    def _result(self, entry: Entry) -> int:
        return self.rows[entry[0]] + entry[1]

    # ------------------------------------------------------------ inputs
    def set_input(self, key: str | int | None = None, value: Any = None, **params: Any) -> None:
        """Set an input by name or number, and others by name; arrays are converted to its dtype, as in Relay.

        Raises `RunError` for what does not fit: another shape, or values that the dtype cannot hold.
        """
        if key is not None:
            self._set(self._input_name(key), value)
        for name, array in params.items():
            self._set(self._input_name(name), array)

    def _input_name(self, key: str | int) -> str:
        if isinstance(key, int):
            if not 0 <= key < len(self.inputs):
                raise RunError(f"the graph has {len(self.inputs)} inputs, none of number {key}")
            return list(self.inputs)[key]
        if key not in self.inputs:
            raise RunError(Diagnostic(f"the graph has no input `{key}`", hint=did_you_mean(key, self.inputs)))
        return key

    def _set(self, name: str, value: Any) -> None:
        node = self.inputs[name]
        first, last = self.rows[node], self.rows[node + 1]
        parts = [TensorType(self.graph.shapes[r], self.graph.dtypes[r]) for r in range(first, last)]
        given = _leaves(value)
        if len(parts) == 1 and all(isinstance(leaf, (tuple, list)) for leaf in given):  # rows of numbers
            given = [value]
        if len(given) == len(parts):
            given = [_converted(leaf, part) for leaf, part in zip(given, parts, strict=True)]
        single = len(given) == len(parts) == 1
        fitted = check_argument(Var(name, parts[0] if single else TupleType(parts)), given[0] if single else given)
        self.values[first:last] = [fitted] if single else list(fitted)

    def get_num_inputs(self) -> int:
        """How many inputs there are, parameters among them."""
        return len(self.inputs)

    def get_input(self, key: str | int) -> Any:
        """The value of an input, None before it is set."""
        return self.values[self.rows[self.inputs[self._input_name(key)]]]

    def get_input_index(self, name: str) -> int:
        """The number of an input, -1 when there is none of that name."""
        return list(self.inputs).index(name) if name in self.inputs else -1

    # ------------------------------------------------------------ running
    def run(self, **inputs: Any) -> None:
        """Set the inputs given and run all kernels. Raises `RunError` when an input is missing or a kernel fails."""
        self.set_input(**inputs)
        missing = [
            n for n, i in self.inputs.items() if any(v is None for v in self.values[self.rows[i] : self.rows[i + 1]])
        ]
        if missing:
            raise RunError(f"inputs are not set: {', '.join(missing[:8])}")
        with np.errstate(all="ignore"):
            for i, node in enumerate(self.graph.nodes):
                if node.func_name:
                    self._run_node(i)

    def _run_node(self, number: int) -> None:
        node = self.graph.nodes[number]
        values = self.values
        inputs: list[Any] = [values[self._result(e)] for e in node.inputs]
        first, last = self.rows[number], self.rows[number + 1]
        try:
            if node.func_name == NOP:
                values[first] = inputs[0].reshape(self.graph.shapes[first])
                return
            results: list[Any] = values[first:last]
            if len(results) != 1 or results[0].size:
                self.kernels[node.func_name].into(inputs, results)
        except PasslabError:
            raise
        except Exception as error:
            raise RunError(Diagnostic(f"the kernel {node.name} failed: {type(error).__name__}: {error}")) from error

    # ------------------------------------------------------------ outputs
    def get_num_outputs(self) -> int:
        """How many outputs there are; tuples count by their fields."""
        return len(self.graph.heads)

    def get_output(self, index: int, out: Array | None = None) -> Array:
        """Return a copy of an output of the last run, into `out` if given."""
        if not 0 <= index < len(self.graph.heads):
            raise RunError(f"the graph has {len(self.graph.heads)} outputs, none of number {index}")
        return self._copy(self._result(self.graph.heads[index]), out)

    def _copy(self, result: int, out: Array | None) -> Array:
        value = self.values[result]
        if value is None:
            raise RunError("the graph has not been run yet")
        if out is None:
            return value.copy()
        np.copyto(out, value)
        return out


def _leaves(value: Any) -> list[Any]:
    """Return what a value holds, left to right through tuples: a graph has no tuples. Lists of numbers stay whole."""
    found: list[Any] = []
    todo = [value]
    while todo:
        at = todo.pop()
        if isinstance(at, (tuple, list)) and not all(isinstance(v, (bool, int, float)) for v in at):
            todo.extend(reversed(at))
        else:
            found.append(at.data if isinstance(at, Constant) else at)
    return found


def _converted(value: Any, ty: TensorType) -> Any:
    """Return an array in the dtype of an input: floats are rounded to floats, all else must stay what it is."""
    wanted = numpy_dtype(ty.dtype)
    if not isinstance(value, np.ndarray) or value.dtype == wanted:
        return value
    with np.errstate(all="ignore"):
        made = value.astype(wanted)
    kept = np.can_cast(value.dtype, wanted, "same_kind") if value.dtype.kind == "f" else (made == value).all()
    return made if kept else value


class GraphModuleDebug(GraphModule):
    """A graph executor that keeps the value of every node, at the price of memory."""

    shares_memory = False

    def debug_get_output(self, node: str | int, out: Array | None = None, index: int = 0) -> Array:
        """Return a result of a node, by the node's name or number, after a run."""
        names = [n.name for n in self.graph.nodes]
        if isinstance(node, str):
            if node not in names:
                raise RunError(Diagnostic(f"the graph has no node `{node}`", hint=did_you_mean(node, names)))
            node = names.index(node)
        if not 0 <= node < len(names) or not 0 <= index < self.graph.nodes[node].num_outputs:
            raise RunError(f"the graph has no result {index} of node {node}")
        return self._copy(self.rows[node] + index, out)

    def node_values(self) -> dict[str, tuple[Array | None, ...]]:
        """Return the results of all nodes, by their names, in order of execution."""
        return {n.name: tuple(self.values[self.rows[i] : self.rows[i + 1]]) for i, n in enumerate(self.graph.nodes)}
