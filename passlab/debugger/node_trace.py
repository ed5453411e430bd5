"""Traces by node: runs of the graph executor and the reference evaluator, for the debugger of the virtual machine.

A trace by node is a `Trace` of another `kind`. It keeps all its values. Its engine runs forks: from any of its
instants, with other values in registers. `evaluator_trace` records runs of the evaluator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from passlab.debugger.code_map import KERNEL, PLAIN, CodeMap
from passlab.debugger.node_code import NodeFunction, NodeInstruction, NodeProgram
from passlab.debugger.replay import ENDED, copy_array, fit, no_such_register
from passlab.debugger.trace_data import TraceData
from passlab.errors import PasslabError, RunError, counted
from passlab.executor import GraphExecutorFactory, build
from passlab.executor.graph import COPY, NOP
from passlab.ir.module import IRModule
from passlab.lab.recordings.recording import Recorder, Recording
from passlab.transform import PassContext
from passlab.vm.tracing.log import Log, SavedFrame, Segment

if TYPE_CHECKING:
    from passlab.executor.graph_module import GraphModule

T = TypeVar("T", bound=TraceData)
ForkRunner = Callable[[TraceData, int, Mapping[int, Any]], TraceData]


class NodeEngine:
    """An executor as the engine of a trace by node. `kind` is "graph" or "debug".

    `run_fork` runs on from an instant of a trace with other values in registers of its frame.
    """

    def __init__(self, kind: str, run_fork: ForkRunner) -> None:
        self.kind = kind
        self._run_fork = run_fork

    def replay(self, trace: TraceData, segment: Segment, end: int) -> tuple[Segment, Log]:
        """Return the segment as it is: the log of a trace by node keeps every value."""
        return segment, trace.log

    def refine(self, trace: TraceData, segment: Segment, end: int) -> list[Segment]:
        """Return the segment unsplit."""
        return [segment]

    def run_on(self, trace: TraceData, instant: int, changes: Mapping[int, Any]) -> TraceData:
        """Return the branch of a trace at an instant with other values in registers of its frame.

        Raises `RunError` after the end, for unknown registers, and for values that do not fit.
        """
        frame, _ = trace.current(instant)
        if frame < 0:
            raise RunError(ENDED)
        held, name = trace.registers(frame, instant), trace.code_map.functions[trace.log.function[frame]].name
        for register in changes:
            if not 0 <= register < len(held):
                raise no_such_register(name, len(held), register)
            if held[register] is None:
                raise RunError(f"${register} holds nothing at instant {instant:,}, so it cannot be replaced")
        fitting = {r: fit(r, held[r], value) for r, value in changes.items()}
        branch = self._run_fork(trace, instant, fitting)
        branch.parent, branch.changes = (trace, instant), {r: copy_array(value) for r, value in fitting.items()}
        return branch


# ---------------------------------------------------------------- the graph executor
def graph_trace(cls: type[T], mod: IRModule, args: Sequence[Any], entry: str) -> T:
    """Run a program on the graph executor and return the trace. Raises `RunError` for wrong arguments."""
    recorder = Recorder()
    with PassContext.current().derived(instruments=[recorder]):
        built = build(mod, entry=entry)
    assert isinstance(built, GraphExecutorFactory)
    count = len(mod[entry].params)
    if len(args) != count:
        raise RunError(f"@{entry} takes {counted(count, 'argument')}, not {len(args)}")
    plan = _GraphRun(built, recorder.recording_of(mod), args)
    module = built.module(debug=True)
    for number, value in enumerate(args):
        module.set_input(number, value)
    registers: list[Any] = [None] * plan.function.register_file_size
    for argument in built.graph.arg_nodes:
        for row in range(plan.rows[argument], plan.rows[argument + 1]):
            registers[plan.slots[row]] = module.values[row]
    return plan.trace(cls, registers, 0)


class _GraphRun:
    """A graph as code that can run on from any of its nodes."""

    def __init__(self, built: GraphExecutorFactory, recording: Recording, args: Sequence[Any]) -> None:
        self.built = built
        self.args = list(args)
        self.rows = built.graph.row_ptr
        self.function, self.slots = _graph_code(built, self.rows)
        self.code_map = CodeMap(NodeProgram([self.function]), recording)
        nodes = [n for n, node in enumerate(built.graph.nodes) if node.func_name]
        self.steps = [(n, row) for n in nodes for row in range(self.rows[n], self.rows[n + 1])]

    def trace(self, cls: type[T], registers: Sequence[Any], start: int) -> T:
        """Run on from a step with these registers and return the trace."""
        log = Log()
        log.add_frame(-1, 0, -1, -1)
        log.switch(0)
        log.segments.append(Segment(0, SavedFrame(0, 0, start, tuple(registers), -1, None)))
        trace = cls(self.code_map, log, self.args, "main", NodeEngine("graph", self._run_fork))
        module = self.built.module(debug=True)
        log.started = perf_counter()
        try:
            with np.errstate(all="ignore"):
                self._run(module, registers, start, log)
            module.has_run = True
        except PasslabError as error:
            trace.error = error
            return trace
        outputs = tuple(module.get_output(i) for i in range(module.get_num_outputs()))
        trace.result = outputs[0] if len(outputs) == 1 else outputs
        return trace

    def _run_fork(self, original: TraceData, instant: int, changes: Mapping[int, Any]) -> TraceData:
        registers = [changes.get(r, held) for r, held in enumerate(original.registers(0, instant))]
        top = original.log.segments[0].top
        assert top is not None
        return self.trace(type(original), registers, top.pc + instant)

    def _run(self, module: GraphModule, registers: Sequence[Any], start: int, log: Log) -> None:
        """Run kernels from a step on. A kernel some of whose results come before that step keeps these."""
        values, empty = log.segments[0].values, list(module.values)
        assert values is not None
        for row, slot in self.slots.items():
            if registers[slot] is not None:
                module.values[row] = registers[slot]
        ran = -1
        for step, (number, row) in enumerate(self.steps[start:], start):
            log.end_pc = step
            # Each result of a kernel is a step, and the kernel runs once for all of them.
            if number != ran:
                first, last = self.rows[number], self.rows[number + 1]
                # Results belong into the memory of the executor, not into arrays that a fork put in its place.
                module.values[first:last] = empty[first:last]
                module.run_node(number)
                ran = number
            for earlier in range(self.rows[number], row if step == start else 0):
                module.values[earlier] = registers[self.slots[earlier]]
            log.points.append(step)
            log.clock.append(perf_counter())
            values.append(module.values[row])


def _graph_code(built: GraphExecutorFactory, rows: list[int]) -> tuple[NodeFunction, dict[int, int]]:
    """Return the nodes of a graph as code, and the register of each row of results, inputs first."""
    graph = built.graph
    inputs = [row for i in graph.arg_nodes for row in range(rows[i], rows[i + 1])]
    slots = {row: register for register, row in enumerate(inputs)}
    names = tuple(graph.nodes[i].name for i in graph.arg_nodes for _ in range(rows[i], rows[i + 1]))
    function = NodeFunction("main", names)
    for number, node in enumerate(graph.nodes):
        if not node.func_name:
            continue
        args = tuple(slots[rows[i] + index] for i, index in node.inputs)
        kernel = built.kernels.get(node.func_name)
        for output, row in enumerate(range(rows[number], rows[number + 1])):
            slots[row] = len(slots)
            short = node.name.removeprefix("tvmgen_default_")
            part = f".{output}" if node.num_outputs > 1 else ""
            text = f"{short}{part} ({', '.join(f'${a}' for a in args)}) -> ${slots[row]}"
            mnemonic = {NOP: "reshape", COPY: "copy"}.get(node.func_name, "kernel")
            function.instructions.append(
                NodeInstruction(text, mnemonic, KERNEL if kernel else PLAIN, slots[row], args, None, kernel)
            )
    function.register_file_size = len(slots)
    return function, slots
