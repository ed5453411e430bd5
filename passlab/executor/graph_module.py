"""The graph executor: runs the kernels of a graph one after the other, in memory that was planned beforehand."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from passlab import limits
from passlab.errors import Diagnostic, InterruptedRunError, PasslabError, RunError, RunTypeError, VerifyError
from passlab.evaluate.arguments import check_argument, is_no_number
from passlab.evaluate.operators import failure
from passlab.evaluate.ownership import private_copy
from passlab.executor.arena import position
from passlab.executor.graph import COPY, NOP, Entry, Graph
from passlab.executor.graph_profile import profile
from passlab.executor.outputs import RunsByInputs, index_of, numbers_of, output_number, written
from passlab.executor.param_dict import load_param_dict
from passlab.ir.expr import Constant, Function, Var
from passlab.ir.types import TensorType, TupleType
from passlab.op.dtypes import array_dtype
from passlab.vm.benchmarking import BenchmarkResult, benchmark
from passlab.vm.kernels.primitive import Kernel
from passlab.vm.objects import Storage
from passlab.vm.report import Report

Array = np.ndarray[Any, Any]


class GraphModule(RunsByInputs):
    """Runs a graph. Inputs are set by name or number and stay set; outputs are copies.

    `kernels` are primitive functions by the names that the graph calls them. Raises `VerifyError` when one is missing.
    """

    shares_memory = True
    offered = (*RunsByInputs.offered, "get_input_info", "get_output_index", "get_output_info", "share_params")

    def __init__(self, graph: Graph, kernels: Mapping[str, Function], params: Mapping[str, Any] | None = None) -> None:
        self.graph = graph
        self.rows = graph.row_ptr
        self.inputs = {graph.nodes[i].name: i for i in graph.arg_nodes}
        super().__init__(list(self.inputs))
        self.values: list[Array | None] = [None] * self.rows[-1]
        self.kernels: dict[str, Kernel] = {}
        for node in graph.nodes:
            if node.func_name not in ("", NOP, COPY) and node.func_name not in self.kernels:
                if node.func_name not in kernels:
                    raise VerifyError(f"the library has no kernel `{node.func_name}`")
                self.kernels[node.func_name] = Kernel(kernels[node.func_name])
        self.ran = [i for i, node in enumerate(graph.nodes) if node.func_name]
        self._steps: list[Callable[[], None] | None] = [None] * len(graph.nodes)
        self._allocate()
        self.has_run = False
        self.given = frozenset(params or ())
        for name, value in (params or {}).items():
            self.set_input(name, value)

    def _allocate(self) -> None:
        """Make the tensors that kernels write into: in one piece of memory, or each for itself."""
        graph = self.graph
        kinds = [array_dtype(d) for d in graph.dtypes]
        lives = graph.lives()
        storages = list(lives)
        sizes = [graph.result_bytes(result) for result in storages]
        if self.shares_memory:
            offsets, self.storage_bytes = position([lives[result] for result in storages], sizes)
            limits.check("live_bytes", self.storage_bytes, "the memory of the graph")
            arena = Storage(self.storage_bytes)
            places = [(arena, offset) for offset in offsets]
        else:
            self.storage_bytes = sum(sizes)
            limits.check("live_bytes", self.storage_bytes, "the memory of the graph")
            places = [(Storage(size), 0) for size in sizes]
        for result, (storage, offset) in zip(storages, places, strict=True):
            self.values[result] = storage.tensor(offset, graph.shapes[result], kinds[result])

    def _result(self, entry: Entry) -> int:
        return self.rows[entry[0]] + entry[1]

    # ------------------------------------------------------------ inputs
    def share_params(self, other: GraphModule, params: bytes | bytearray | Mapping[str, Any]) -> None:
        """Use the parameters of another executor of the same graph, without copies: those that `params` names.

        Raises `RunError` when the other has not set one of them.
        """
        if not isinstance(other, GraphModule):
            raise RunTypeError(f"parameters are shared with another graph executor, not with a {type(other).__name__}")
        names = params if isinstance(params, Mapping) else load_param_dict(params)
        for name in names:
            value = other.get_input(name)
            if value is None:
                raise RunError(f"the other executor has not set its input `{name}`")
            self._use(self._input(name), value)

    def use_inputs(self, values: Sequence[Any]) -> None:
        """Set all inputs in order without copies, for a run that follows at once."""
        for number, value in enumerate(values):
            self._use(number, value)

    def get_input_info(self) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        """Return the shapes and the dtypes of the inputs that are no parameters, by name."""
        open_ = {n: self.rows[i] for n, i in self.inputs.items() if n not in self.given}
        return {n: self.graph.shapes[r] for n, r in open_.items()}, {n: self.graph.dtypes[r] for n, r in open_.items()}

    def get_output_info(self) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        """Return the shapes and the dtypes of the outputs, by name; equal names stand for the first of them."""
        names = self._output_names()
        named = {name: self._result(self.graph.heads[names.index(name)]) for name in names}
        return {n: self.graph.shapes[r] for n, r in named.items()}, {n: self.graph.dtypes[r] for n, r in named.items()}

    def get_output_index(self, name: str) -> int:
        """Return the number of the first output with a name, -1 if there is none."""
        names = self._output_names()
        return names.index(name) if name in names else -1

    def _output_names(self) -> list[str]:
        """Return the name of the node that computes each output."""
        return [self.graph.nodes[node].name for node, _ in self.graph.heads]

    def _set(self, number: int, value: Any) -> None:
        """Arrays are copied, as in Relay: what the caller writes into them later does not change the input."""
        self._use(number, private_copy(value))

    def _use(self, number: int, value: Any) -> None:
        """Arrays are converted to the dtype of the input, as in Relay; values that it cannot hold are refused."""
        name = self.names[number]
        node = self.inputs[name]
        first, last = self.rows[node], self.rows[node + 1]
        parts = [TensorType(self.graph.shapes[r], self.graph.dtypes[r]) for r in range(first, last)]
        leaves = _leaves(value)
        if len(parts) > 1 and len(leaves) == 1 and isinstance(leaves[0], list):  # numbers for a tuple of scalars
            leaves = leaves[0]
        if len(leaves) == len(parts):
            leaves = [_convert(leaf, part) for leaf, part in zip(leaves, parts, strict=True)]
        single = len(leaves) == len(parts) == 1
        fitted = check_argument(Var(name, parts[0] if single else TupleType(parts)), leaves[0] if single else leaves)
        self.values[first:last] = [fitted] if single else list(fitted)

    def get_input(self, key: Any, out: Array | None = None) -> Any:
        """The value of an input, written into `out` if given; None before it is set."""
        value = self.values[self.rows[self.inputs[self.names[self._input(key)]]]]
        return value if out is None or value is None else written(value, out)

    # ------------------------------------------------------------ running
    def run(self, **inputs: Any) -> None:
        """Set the inputs given and run all kernels. Raises `RunError` when an input is missing or a kernel fails."""
        self.set_input(**inputs)
        self._check_inputs()
        with np.errstate(all="ignore"):
            for i in self.ran:
                self.run_node(i)
        self.has_run = True

    def _check_inputs(self) -> None:
        missing = [
            n for n, i in self.inputs.items() if any(v is None for v in self.values[self.rows[i] : self.rows[i + 1]])
        ]
        if missing:
            raise RunError(f"inputs are not set: {', '.join(missing[:8])}")

    def inputs_of(self, number: int) -> list[Any]:
        """Return what the inputs of a node hold."""
        return [self.values[self._result(e)] for e in self.graph.nodes[number].inputs]

    def run_node(self, number: int) -> None:
        """Run one node on what its inputs hold. Raises `RunError` when its kernel fails."""
        try:
            (self._steps[number] or self._step(number))()
        except KeyboardInterrupt as error:
            finding = Diagnostic(f"the graph was interrupted in the kernel {self.graph.nodes[number].name}")
            raise InterruptedRunError(finding) from error
        except Exception as error:
            kernel = self.kernels.get(self.graph.nodes[number].func_name)
            if kernel is not None:
                kernel.explain(self.inputs_of(number))  # raises the error of the operator that failed, with its place
            if isinstance(error, PasslabError):
                raise
            raise failure(error, f"the kernel {self.graph.nodes[number].name} failed") from error

    def _step(self, number: int) -> Callable[[], None]:
        """Return, and keep, what running a node does: everything that the graph alone decides is decided here."""
        node, values = self.graph.nodes[number], self.values
        sources = [self._result(e) for e in node.inputs]
        first, last = self.rows[number], self.rows[number + 1]
        shape = self.graph.shapes[first]
        into = None if node.func_name in (NOP, COPY) else self.kernels[node.func_name].into

        def view() -> None:
            values[first] = values[sources[0]].reshape(shape)  # type: ignore[union-attr]

        def copy() -> None:
            np.copyto(values[first], values[sources[0]], casting="no")  # type: ignore[arg-type]

        def nothing() -> None:
            """There is no element to compute."""

        def compute() -> None:
            into([values[s] for s in sources], values[first:last])  # type: ignore[misc, arg-type]

        special = {NOP: view, COPY: copy}.get(node.func_name)
        result = special or (nothing if last - first == 1 and 0 in shape else compute)
        self._steps[number] = result
        return result

    # ------------------------------------------------------------ outputs
    def get_num_outputs(self) -> int:
        """How many outputs there are; tuples count by their fields."""
        return len(self.graph.heads)

    def get_output(self, index: int, out: Array | None = None) -> Array:
        """Return a copy of an output of the last run, into `out` if given."""
        number = output_number(index, len(self.graph.heads))
        return self._copy(self._result(self.graph.heads[number]), out)

    def _copy(self, result: int, out: Array | None) -> Array:
        value = self.values[result]
        if value is None or not self.has_run:
            raise RunError(Diagnostic("the graph has not been run yet", hint="call `run` first"))
        return value.copy() if out is None else written(value, out)


def _leaves(value: Any) -> list[Any]:
    """Return what a value holds, left to right through tuples: a graph has no tuples. Lists of numbers stay whole."""
    leaves: list[Any] = []
    todo = [value]
    while todo:
        at = todo.pop()
        rows = isinstance(at, list) and all(isinstance(v, (bool, int, float, list)) for v in at)
        if isinstance(at, (tuple, list)) and not rows:
            todo.extend(reversed(at))
        else:
            leaves.append(at.data if isinstance(at, Constant) else at)
    return leaves


def _convert(value: Any, ty: TensorType) -> Any:
    """Return an array in the dtype of an input: floats are rounded to floats, all else must stay what it is."""
    expected = array_dtype(ty.dtype)
    if not isinstance(value, np.ndarray) or value.dtype == expected or is_no_number(value.dtype):
        return value
    with np.errstate(all="ignore"):
        result = value.astype(expected)
    kept = np.can_cast(value.dtype, expected, "same_kind") if value.dtype.kind == "f" else (result == value).all()
    return result if kept else value


class GraphModuleDebug(GraphModule):
    """A graph executor that keeps the value of every node, at the price of memory."""

    shares_memory = False
    offered = (
        *GraphModule.offered,
        "debug_get_output",
        "execute_node",
        "profile",
        "run_individual",
        "run_individual_node",
    )

    def debug_get_output(self, node: Any, out: Array | None = None, index: Any = 0) -> Array:
        """Return a result of a node, by the node's name or number, after a run."""
        number = self._node_number(node)
        if not isinstance(index, int) or not 0 <= index < self.graph.nodes[number].num_outputs:
            raise RunError(f"node {number} of the graph has no result {index}")
        return self._copy(self.rows[number] + index, out)

    def _node_number(self, node: Any) -> int:
        return index_of(node, self._node_numbers, len(self.graph.nodes), "node")

    @cached_property
    def _node_numbers(self) -> dict[str, int]:
        return numbers_of(n.name for n in self.graph.nodes)

    def execute_node(self, node: str | int) -> tuple[Array, ...]:
        """Run the graph up to a node, with the inputs that are set; return the node's results."""
        number = self._node_number(node)
        self._check_inputs()
        with np.errstate(all="ignore"):
            for i in self.ran[: bisect_right(self.ran, number)]:
                self.run_node(i)
        values = self.values[self.rows[number] : self.rows[number + 1]]
        return tuple([value.copy() for value in values if value is not None])

    def profile(self, collectors: Any = None, **inputs: Any) -> Report:
        """Set the inputs given, run three times unmeasured and once measured; return what each node took.

        `collectors` is accepted and ignored: there are no hardware counters here.
        """
        self.set_input(**inputs)
        return profile(self)

    def run_individual_node(
        self,
        index: int,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
    ) -> BenchmarkResult:
        """Time one node on what its inputs hold after a run. What only holds a value takes no time."""
        node = self._node_number(index)
        if not self.has_run:
            self.run()

        def run() -> None:
            if self.graph.nodes[node].func_name:
                self.run_node(node)

        with np.errstate(all="ignore"):
            return benchmark(
                run,
                repeat,
                number,
                min_repeat_ms,
                limit_zero_time_iterations,
                cooldown_interval_ms,
                repeats_to_cooldown,
            )

    def run_individual(
        self,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
    ) -> list[list[float]]:
        """Time each node; return for each the seconds of one run, once for each repetition."""
        rest = (number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown)
        return [list(self.run_individual_node(i, *rest).results) for i in range(len(self.graph.nodes))]

    def node_values(self) -> dict[str, tuple[Array | None, ...]]:
        """Return the results of all nodes, by their names, in order of execution."""
        return {n.name: tuple(self.values[self.rows[i] : self.rows[i + 1]]) for i, n in enumerate(self.graph.nodes)}
