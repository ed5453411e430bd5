"""The graph executor: runs the kernels of a graph one after the other, in one arena of planned memory.

The file begins with profiling of a graph: the time of each node, and the memory alive over time, as a `Report`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from time import perf_counter
from typing import Any

import numpy as np

from passlab import limits
from passlab.arguments import checked
from passlab.errors import (
    Diagnostic,
    InterruptedRunError,
    PasslabError,
    RunError,
    RunTypeError,
    VerifyError,
    type_in_words,
)
from passlab.evaluate.arguments import check_argument, is_no_number
from passlab.evaluate.operators import failure
from passlab.evaluate.ownership import private_copy
from passlab.executor.graph import COPY, NOP, Entry, Graph
from passlab.executor.outputs import RunsByInputs, index_of, numbers_of, output_number, write_output
from passlab.executor.param_dict import load_param_dict
from passlab.ir.expr import Constant, Function, Var
from passlab.ir.types import TensorType, TupleType
from passlab.op.dtypes import array_dtype
from passlab.vm.benchmarking import BenchmarkResult, benchmark
from passlab.vm.kernels.primitive import Kernel
from passlab.vm.objects import Storage
from passlab.vm.report import Report, Row, describe, marks

WARM_UPS = 3
DEVICES = {1: "cpu0", 2: "cuda0"}  # by DLPack's numbers of devices
NAMES = {NOP: "reshape_nop", COPY: "device_copy"}


def profile(module: GraphModuleDebug) -> Report:
    """Run a graph, whose inputs are set, three times unmeasured and once measured; one event for each kernel node.

    The memory follows from the live ranges: the bytes of the results that are alive after each node.
    """
    for _ in range(WARM_UPS):
        module.run()
    numbers = module.kernel_nodes
    durations: list[float] = []
    start = perf_counter()
    with np.errstate(all="ignore"):
        for i in numbers:
            before = perf_counter()
            module.run_node(i)
            durations.append((perf_counter() - before) * 1e6)
    total = (perf_counter() - start) * 1e6
    calls = [_event(module, i, microseconds) for i, microseconds in zip(numbers, durations, strict=True)]
    memory, allocated = _memory(module.graph, numbers)
    devices = {c["Device"] for c in calls} or {DEVICES[1]}
    sums = {d: sum(c["Duration (us)"] for c in calls if c["Device"] == d) for d in sorted(devices)}
    if len(sums) == 1:  # the time between the nodes counts too, where one device has it
        sums = dict.fromkeys(sums, total)
    whole = sum(sums.values()) or 1.0
    metrics = {d: {"Duration (us)": t, "Percent": 100 * t / whole, "Count": 1} for d, t in sums.items()}
    config = {"Executor": "Graph", "Number of threads": 1, "NumPy": np.__version__}
    return Report(tuple(calls), metrics, config, memory, allocated)


def _event(module: GraphModuleDebug, number: int, microseconds: float) -> Row:
    node, rows = module.graph.nodes[number], module.rows
    arrays = [*module.inputs_of(number), *module.values[rows[number] : rows[number + 1]]]
    kind = module.graph.device_types[rows[number]] if node.num_outputs else 1
    event: Row = {
        "Name": NAMES.get(node.func_name, node.func_name),
        "Duration (us)": microseconds,
        "Device": DEVICES.get(kind, f"device {kind}"),
        "Argument Shapes": ", ".join(map(describe, arrays)),
        "Bytes": sum(a.nbytes for a in arrays if a is not None),
        "Node": node.name,
    }
    event.update(marks(node.attrs))
    return event


def _memory(graph: Graph, kernel_nodes: list[int]) -> tuple[tuple[tuple[int, int], ...], int]:
    """Return (event, bytes alive after it) wherever the bytes change, and the bytes of all results together."""
    lives = graph.lives()
    sizes = {result: graph.result_bytes(result) for result in lives}
    change = [0] * (len(graph.nodes) + 2)
    for result, (birth, death) in lives.items():
        change[birth] += sizes[result]
        change[death + 1] -= sizes[result]
    live, over_time, last = 0, [], 0
    events = {node: event for event, node in enumerate(kernel_nodes)}
    for node, difference in enumerate(change[: len(graph.nodes)]):
        live += difference
        if node in events and live != last:
            over_time.append((events[node], live))
            last = live
    return tuple(over_time), sum(sizes.values())


# Memory planning by offset: byte offsets in one arena such that results with overlapping live ranges do not
# overlap.

ALIGNMENT = 64  # bytes; a power of two
MOST_COMPARED = 2_000  # results; larger graphs only get the plan by time, which does not compare all pairs
TRIES = 50

Life = tuple[int, int]  # a live range: the first and the last node that uses a result, both included


def position(lives: Sequence[Life], sizes: Sequence[int]) -> tuple[list[int], int]:
    """Return the byte offset of each result, and the size of the arena in bytes.

    Results are placed largest first. While some end above the lower bound (the most bytes alive at once), the plan is
    repeated with these first. O(n²) for each of a few tries with up to `MOST_COMPARED` results, else one plan by time:
    O(n log n) apart from the results alive at once.
    """
    rounded = [-(-size // ALIGNMENT) * ALIGNMENT for size in sizes]  # rounded up
    best = _by_time(lives, rounded)
    least = _extent(best, sizes)
    if len(lives) > MOST_COMPARED:
        return best, least
    bound = _most_alive(lives, rounded)
    order = sorted(range(len(sizes)), key=lambda n: (-rounded[n], lives[n]))
    # Each try is quadratic, so larger graphs get fewer: all tries compare a bounded number of pairs.
    for _ in range(min(TRIES, 1 + (MOST_COMPARED // max(1, len(lives))) ** 2)):
        if least <= bound:
            break
        plan = _in_order(order, lives, rounded)
        if _extent(plan, sizes) < least:
            best, least = plan, _extent(plan, sizes)
        beyond = [n for n in order if plan[n] + rounded[n] > bound]
        order = list(dict.fromkeys(beyond + order))  # `dict.fromkeys` drops repetitions and keeps the order
    return best, least


def _most_alive(lives: Sequence[Life], sizes: Sequence[int]) -> int:
    """Return the most bytes that are alive at one node: a lower bound for every plan."""
    change = [0] * (max((death for _, death in lives), default=0) + 2)
    for (birth, death), size in zip(lives, sizes, strict=True):
        change[birth] += size
        change[death + 1] -= size  # a live range includes its last node
    return max(accumulate(change))


def _extent(offsets: Sequence[int], sizes: Sequence[int]) -> int:
    return max((offset + size for offset, size in zip(offsets, sizes, strict=True)), default=0)


def _in_order(order: Sequence[int], lives: Sequence[Life], sizes: Sequence[int]) -> list[int]:
    """Place results in an order, each into the smallest gap that it fits between placed results with overlapping lives.

    (With the largest first: Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020,
    section 5.)
    """
    offsets = [0] * len(sizes)
    placements: list[tuple[int, int]] = []  # offset and number of each placed result, by offset
    for number in order:
        birth, death = lives[number]
        occupied = [(at, at + sizes[k]) for at, k in placements if lives[k][0] <= death and birth <= lives[k][1]]
        offsets[number] = _gap(occupied, sizes[number])
        insort(placements, (offsets[number], number))
    return offsets


def _by_time(lives: Sequence[Life], sizes: Sequence[int]) -> list[int]:
    """Place results in the order of their births, each into the smallest gap that it fits between those alive then."""
    offsets = [0] * len(sizes)
    alive: list[tuple[int, int]] = []  # first byte and end of each, by offset
    ends: list[tuple[int, int]] = []  # last node and number of each
    for number in sorted(range(len(sizes)), key=lambda n: (lives[n][0], -sizes[n])):
        while ends and ends[0][0] < lives[number][0]:
            _, dead = ends.pop(0)
            del alive[bisect_left(alive, (offsets[dead], offsets[dead] + sizes[dead]))]
        offsets[number] = _gap(alive, sizes[number])
        insort(alive, (offsets[number], offsets[number] + sizes[number]))
        insort(ends, (lives[number][1], number))
    return offsets


def _gap(occupied: Sequence[tuple[int, int]], size: int) -> int:
    """Return the offset of the smallest gap of at least `size` bytes; without one, the end of the last interval."""
    end = 0
    best, least_waste = -1, 0
    for first, last in occupied:
        waste = first - end - size
        if waste >= 0 and (best < 0 or waste < least_waste):
            best, least_waste = end, waste
        end = max(end, last)  # intervals may overlap: two lives that overlap a third one need not meet
    return best if best >= 0 else end


Array = np.ndarray[Any, Any]


@checked
class GraphModule(RunsByInputs):
    """Runs a graph. Inputs are set by name or number and stay set; outputs are copies.

    `kernels` are the primitive functions by their names in the graph. Raises `VerifyError` if one is missing.

    >>> mod = passlab.parse("def @main(%x: Tensor[(2), float32]) { %x + 1f }")
    >>> module = relay.build(mod)["default"](passlab.cpu())
    >>> module.set_input("x", np.float32([1, 2]))
    >>> module.run()
    >>> print(module.get_output(0), module.get_num_outputs())
    [2. 3.] 1
    """

    shares_memory = True
    function_names = (
        *RunsByInputs.function_names,
        "get_input_info",
        "get_output_index",
        "get_output_info",
        "share_params",
    )

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
        self.kernel_nodes = [i for i, node in enumerate(graph.nodes) if node.func_name]
        self._steps: list[Callable[[], None] | None] = [None] * len(graph.nodes)
        self._allocate()
        self.has_run = False
        self.param_names = frozenset(params or ())
        for name, value in (params or {}).items():
            self.set_input(name, value)

    def _allocate(self) -> None:
        """Allocate the tensors that kernels write into: in one arena, or each in a storage of its own."""
        graph = self.graph
        dtypes = [array_dtype(d) for d in graph.dtypes]
        lives = graph.lives()
        sizes = [graph.result_bytes(result) for result in lives]
        if self.shares_memory:
            offsets, self.storage_bytes = position(list(lives.values()), sizes)
            limits.check("live_bytes", self.storage_bytes, "the memory of the graph")
            arena = Storage(self.storage_bytes)
            addresses = [(arena, offset) for offset in offsets]
        else:
            self.storage_bytes = sum(sizes)
            limits.check("live_bytes", self.storage_bytes, "the memory of the graph")
            addresses = [(Storage(size), 0) for size in sizes]
        for result, (storage, offset) in zip(lives, addresses, strict=True):
            self.values[result] = storage.tensor(offset, graph.shapes[result], dtypes[result])

    def _result_number(self, entry: Entry) -> int:
        return self.rows[entry[0]] + entry[1]

    # ------------------------------------------------------------ inputs
    def share_params(self, other: GraphModule, params: bytes | bytearray | Mapping[str, Any]) -> None:
        """Use the parameters named in `params` of another executor of the same graph, without copies.

        Raises `RunError` if the other executor has not set one of them. Raises `RunTypeError` if `other` is not a graph
        executor.
        """
        if not isinstance(other, GraphModule):
            raise RunTypeError(f"parameters are shared with another graph executor, not with {type_in_words(other)}")
        names = params if isinstance(params, Mapping) else load_param_dict(params)
        for name in names:
            value = other.get_input(name)
            if value is None:
                raise RunError(f"the other executor has not set its input `{name}`")
            self._use(self._input_number(name), value)

    def use_inputs(self, values: Sequence[Any]) -> None:
        """Set all inputs in order without copies: the caller must not write into them before the next run ends."""
        for number, value in enumerate(values):
            self._use(number, value)

    def get_input_info(self) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        """Return the shapes and the dtypes of the inputs that are not parameters, by name."""
        return self._info({n: self.rows[i] for n, i in self.inputs.items() if n not in self.param_names})

    def get_output_info(self) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        """Return the shapes and the dtypes of the outputs, by name; a repeated name refers to its first output."""
        names = self._output_names()
        return self._info({name: self._result_number(self.graph.heads[names.index(name)]) for name in names})

    def _info(self, results: Mapping[str, int]) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        """Return the shapes and the dtypes of results, by name."""
        shapes, dtypes = self.graph.shapes, self.graph.dtypes
        return {n: shapes[r] for n, r in results.items()}, {n: dtypes[r] for n, r in results.items()}

    def get_output_index(self, name: str) -> int:
        """Return the number of the first output with a name, or -1 if no output has it."""
        names = self._output_names()
        return names.index(name) if name in names else -1

    def _output_names(self) -> list[str]:
        """Return the name of the node that computes each output."""
        return [self.graph.nodes[node].name for node, _ in self.graph.heads]

    def _set(self, number: int, value: Any) -> None:
        # Relay copies too: what the caller writes into an array later does not change the input.
        self._use(number, private_copy(value))

    def _use(self, number: int, value: Any) -> None:
        """Set an input without a copy, converted to its dtype as in Relay. Raises `RunError` if it does not fit."""
        name = self.names[number]
        node = self.inputs[name]
        first, last = self.rows[node], self.rows[node + 1]
        types = [TensorType(self.graph.shapes[r], self.graph.dtypes[r]) for r in range(first, last)]
        leaves = _leaves(value)
        if len(types) > 1 and len(leaves) == 1 and isinstance(leaves[0], list):  # numbers for a tuple of scalars
            leaves = leaves[0]
        if len(leaves) == len(types):
            leaves = [_convert(leaf, ty) for leaf, ty in zip(leaves, types, strict=True)]
        single = len(leaves) == len(types) == 1
        array = check_argument(Var(name, types[0] if single else TupleType(types)), leaves[0] if single else leaves)
        self.values[first:last] = [array] if single else list(array)

    def get_input(self, key: Any, out: Array | None = None) -> Any:
        """Return the value of an input, written into `out` if given; None before it is set."""
        value = self.values[self.rows[self.inputs[self.names[self._input_number(key)]]]]
        return value if out is None or value is None else write_output(value, out)

    # ------------------------------------------------------------ running
    def run(self, **inputs: Any) -> None:
        """Set `inputs` and run all kernels. Raises `RunError` if an input is missing or a kernel fails."""
        self.set_input(**inputs)
        self._check_inputs()
        with np.errstate(all="ignore"):
            for i in self.kernel_nodes:
                self.run_node(i)
        self.has_run = True

    def _check_inputs(self) -> None:
        missing = [
            n for n, i in self.inputs.items() if any(v is None for v in self.values[self.rows[i] : self.rows[i + 1]])
        ]
        if missing:
            raise RunError(f"inputs are not set: {', '.join(missing[:8])}")

    def inputs_of(self, number: int) -> list[Any]:
        """Return the current values of the inputs of a node."""
        return [self.values[self._result_number(e)] for e in self.graph.nodes[number].inputs]

    def run_node(self, number: int) -> None:
        """Run one node on the current values of its inputs. Raises `RunError` if its kernel fails."""
        try:
            (self._steps[number] or self._step(number))()
        except KeyboardInterrupt as error:
            finding = Diagnostic(f"the graph was interrupted in the kernel {self.graph.nodes[number].name}")
            raise InterruptedRunError(finding) from error
        except Exception as error:
            kernel = self.kernels.get(self.graph.nodes[number].func_name)
            if kernel is not None:
                kernel.explain(self.inputs_of(number))  # raises the error of the failed operator, with its source line
            if isinstance(error, PasslabError):
                raise
            raise failure(error, f"the kernel {self.graph.nodes[number].name} failed") from error

    def _step(self, number: int) -> Callable[[], None]:
        """Return the closure that runs a node, and cache it: lookups that depend on the graph alone happen once."""
        # The closures below hold this list, which is changed in place and never replaced.
        node, values = self.graph.nodes[number], self.values
        sources = [self._result_number(e) for e in node.inputs]
        first, last = self.rows[number], self.rows[number + 1]
        shape = self.graph.shapes[first]
        into = None if node.func_name in (NOP, COPY) else self.kernels[node.func_name].into

        def view() -> None:
            values[first] = values[sources[0]].reshape(shape)  # type: ignore[union-attr]

        def copy() -> None:
            np.copyto(values[first], values[sources[0]], casting="no")  # type: ignore[arg-type]

        def nothing() -> None:
            """Do nothing: the result has no elements."""

        def compute() -> None:
            into([values[s] for s in sources], values[first:last])  # type: ignore[misc, arg-type]

        special = {NOP: view, COPY: copy}.get(node.func_name)
        result = special or (nothing if last - first == 1 and 0 in shape else compute)
        self._steps[number] = result
        return result

    # ------------------------------------------------------------ outputs
    def get_num_outputs(self) -> int:
        """Return the number of outputs; a tuple counts as its fields."""
        return len(self.graph.heads)

    def get_output(self, index: int, out: Array | None = None) -> Array:
        """Return a copy of an output of the last run, written into `out` if given."""
        number = output_number(index, len(self.graph.heads))
        return self._copy(self._result_number(self.graph.heads[number]), out)

    def _copy(self, result: int, out: Array | None) -> Array:
        value = self.values[result]
        if value is None or not self.has_run:
            raise RunError(Diagnostic("the graph has not been run yet", hint="call `run` first"))
        return value.copy() if out is None else write_output(value, out)


def _leaves(value: Any) -> list[Any]:
    """Return the leaves of nested tuples from left to right: a graph has no tuples. A list of numbers is one leaf."""
    leaves: list[Any] = []
    todo = [value]
    while todo:
        at = todo.pop()
        is_array = isinstance(at, list) and all(isinstance(v, (bool, int, float, list)) for v in at)
        if isinstance(at, (tuple, list)) and not is_array:
            todo.extend(reversed(at))
        else:
            leaves.append(at.data if isinstance(at, Constant) else at)
    return leaves


def _convert(value: Any, ty: TensorType) -> Any:
    """Return an array in the dtype of an input. Floats are rounded; other values are converted only if exact."""
    expected = array_dtype(ty.dtype)
    if not isinstance(value, np.ndarray) or value.dtype == expected or is_no_number(value.dtype):
        return value
    with np.errstate(all="ignore"):
        result = value.astype(expected)
    fits = np.can_cast(value.dtype, expected, "same_kind") if value.dtype.kind == "f" else (result == value).all()
    return result if fits else value  # `check_argument` then reports the dtype


class GraphModuleDebug(GraphModule):
    """A graph executor that keeps the value of every node, so results share no memory."""

    shares_memory = False
    function_names = (
        *GraphModule.function_names,
        "debug_get_output",
        "execute_node",
        "profile",
        "run_individual",
        "run_individual_node",
    )

    def debug_get_output(self, node: Any, out: Array | None = None, index: Any = 0) -> Array:
        """Return result `index` of a node, by its name or number, after a run.

        The result is an array of the node's shape and dtype. Raises `RunError` if the node has no such result.
        """
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
        """Run the graph up to a node, with the inputs that are set; return the node's results.

        They are arrays of the node's shapes and dtypes.
        """
        number = self._node_number(node)
        self._check_inputs()
        with np.errstate(all="ignore"):
            for i in self.kernel_nodes[: bisect_right(self.kernel_nodes, number)]:
                self.run_node(i)
        values = self.values[self.rows[number] : self.rows[number + 1]]
        return tuple([value.copy() for value in values if value is not None])

    def profile(self, collectors: Any = None, **inputs: Any) -> Report:
        """Set `inputs`, run three times unmeasured and once measured; return the time of each node.

        `collectors` is accepted and ignored: hardware counters are not supported.
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
        """Time one node on the values of its inputs after a run.

        An input or parameter takes no time. Parameters are as for `run_individual`.
        """
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
        """Time each node; return for each the seconds of one run, one number for each repetition.

        Parameters are as for `benchmark` of `passlab.vm.benchmarking`; `min_repeat_ms` and `cooldown_interval_ms` are
        milliseconds.
        """
        options = (number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown)
        return [list(self.run_individual_node(i, *options).results) for i in range(len(self.graph.nodes))]

    def node_values(self) -> dict[str, tuple[Array | None, ...]]:
        """Return the results of all nodes, by their names, in order of execution.

        They are arrays of the node's shapes and dtypes, or None before a run.
        """
        return {n.name: tuple(self.values[self.rows[i] : self.rows[i + 1]]) for i, n in enumerate(self.graph.nodes)}
