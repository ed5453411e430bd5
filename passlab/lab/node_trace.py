"""Runs of the graph executor and of the reference evaluator as traces, node by node: the same debugger steps them all.

A node is an instruction that writes the register of its own; a call of a Relay function makes a frame. The code of a
function lists its nodes in the order in which they were first carried out, so what never ran is not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from passlab import limits
from passlab.errors import Diagnostic, PasslabError, RunError
from passlab.evaluate.evaluator import STEPS, Activation, Evaluator, _Return
from passlab.evaluate.values import RefValue, Value
from passlab.executor.building import GraphExecutorFactory, build
from passlab.executor.graph import NOP
from passlab.instrument.recorder import Recorder
from passlab.ir.adt import Constructor, pattern_vars
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar, Let, Match, RefCreate, RefWrite, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.lab.diff import node_name
from passlab.lab.recording import Recording
from passlab.lab.trace import Trace
from passlab.lab.trace_sites import CALL, KERNEL, PLAIN, RETURN, Sites
from passlab.transform import PassContext
from passlab.vm.trace_log import Log, SavedFrame, Segment

_SILENT = (Constant, Var, GlobalVar, Op, Let, Function, Constructor)  # nodes that compute nothing of their own


@dataclass(eq=False)
class NodeInstruction:
    """One node as an instruction: the register it writes (-1 for none), those it reads, its text and its kernel."""

    text: str
    mnemonic: str
    role: int
    writes_to: int
    args: tuple[int, ...]
    node: Expr | None = None
    kernel: Function | None = None
    opcode: None = None

    def reads(self) -> tuple[int, ...]:
        """The registers it reads."""
        return self.args

    def writes(self) -> tuple[int, ...]:
        """The register it writes."""
        return (self.writes_to,) if self.writes_to >= 0 else ()

    def __str__(self) -> str:
        return self.text


@dataclass(eq=False)
class NodeFunction:
    """The nodes of one function in the order they were first carried out."""

    name: str
    params: tuple[str, ...]
    instructions: list[NodeInstruction] = field(default_factory=list)
    register_file_size: int = 0


@dataclass(eq=False)
class NodeProgram:
    """All functions that ran."""

    functions: list[NodeFunction]


class NodeTrace(Trace):
    """A trace by node. `kind` is "graph" or "debug"."""

    def __init__(self, kind: str, sites: Sites, log: Log, args: Sequence[Any], entry: str) -> None:
        super().__init__(sites, log, args, entry)
        self.kind = kind


def record_nodes(program: IRModule | Expr, args: Sequence[Any], entry: str, executor: str) -> Trace:
    """Run a program with the executor "graph" or "debug" and return its trace. Raises `RunError` for another one."""
    mod = program if isinstance(program, IRModule) else IRModule.from_expr(program)
    if executor == "graph":
        return _graph(mod, args, entry)
    if executor == "debug":
        return _Evaluation(mod, args, entry).trace()
    raise RunError(Diagnostic(f"there is no executor `{executor}` that steps", hint="vm, graph or debug"))


# ---------------------------------------------------------------- the graph executor
def _graph(mod: IRModule, args: Sequence[Any], entry: str) -> Trace:
    if entry != "main":
        raise RunError("the graph executor runs @main only")
    recorder, context = Recorder(), PassContext.current()
    instruments = [*context.instruments, recorder]
    with PassContext(context.opt_level, context.required_pass, context.disabled_pass, instruments, context.config):
        built = build(mod)
    assert isinstance(built, GraphExecutorFactory)
    module = built.module(debug=True)
    names = [p.name_hint for p in mod["main"].params]
    if len(args) != len(names):
        raise RunError(f"@main takes {len(names)} arguments and was given {len(args)}")
    for name, value in zip(names, args, strict=True):
        module.set_input(name, value)
    function, slots = _graph_code(built, module.rows)
    log = Log()
    log.add_frame(-1, 0, -1, -1)
    log.switch(0)
    registers: list[Any] = [None] * function.register_file_size
    for argument in built.graph.arg_nodes:
        for row in range(module.rows[argument], module.rows[argument + 1]):
            registers[slots[row]] = module.values[row]
    log.segments.append(Segment(0, SavedFrame(0, 0, 0, tuple(registers), -1, None)))
    trace = NodeTrace("graph", Sites(NodeProgram([function]), recorder.recording), log, list(args), entry)
    values = log.segments[0].values
    assert values is not None
    log.started = perf_counter()
    try:
        with np.errstate(all="ignore"):
            for number, node in enumerate(built.graph.nodes):
                if node.func_name:
                    log.end_pc = len(log.sites)
                    module._run_node(number)
                    for row in range(module.rows[number], module.rows[number + 1]):
                        log.sites.append(len(log.sites))
                        log.clock.append(perf_counter())
                        values.append(module.values[row])
    except PasslabError as error:
        trace.error = error
        return trace
    outputs = tuple(module.get_output(i) for i in range(module.get_num_outputs()))
    trace.result = outputs[0] if len(outputs) == 1 else outputs
    return trace


def _graph_code(built: GraphExecutorFactory, rows: list[int]) -> tuple[NodeFunction, dict[int, int]]:
    """Return the nodes of a graph as code, and the register of each result: inputs first."""
    graph = built.graph
    inputs = [row for i in graph.arg_nodes for row in range(rows[i], rows[i + 1])]
    slots = {row: place for place, row in enumerate(inputs)}
    names = tuple(graph.nodes[i].name for i in graph.arg_nodes for _ in range(rows[i], rows[i + 1]))
    function = NodeFunction("main", names)
    for number, node in enumerate(graph.nodes):
        if not node.func_name:
            continue
        args = tuple(slots[rows[i] + index] for i, index in node.inputs)
        kernel = built.kernels.get(node.func_name)
        for place, row in enumerate(range(rows[number], rows[number + 1])):
            slots[row] = len(slots)
            short = node.name.removeprefix("tvmgen_default_")
            part = f".{place}" if node.num_outputs > 1 else ""
            text = f"{short}{part} ({', '.join(f'${a}' for a in args)}) -> ${slots[row]}"
            mnemonic = "reshape" if node.func_name == NOP else "kernel"
            function.instructions.append(
                NodeInstruction(text, mnemonic, KERNEL if kernel else PLAIN, slots[row], args, None, kernel)
            )
    function.register_file_size = len(slots)
    return function, slots


# ---------------------------------------------------------------- the evaluator
class _Code:
    """The code of one function as it becomes known: registers and instructions by node."""

    def __init__(self, number: int, name: str, function: Function) -> None:
        self.number = number
        self.made = NodeFunction(name, tuple(p.name_hint for p in function.params))
        self.registers: dict[Expr, int] = {p: i for i, p in enumerate(function.params)}
        self.places: dict[tuple[Expr, str], int] = {}
        self.count = len(function.params)

    def register(self, node: Expr) -> int:
        """The register of a node, made when first asked for."""
        if node not in self.registers:
            self.registers[node] = self.count
            self.count += 1
        return self.registers[node]

    def known(self, nodes: Sequence[Expr]) -> tuple[int, ...]:
        """The registers of those nodes that have one."""
        return tuple(self.registers[n] for n in map(_behind, nodes) if n in self.registers)

    def place(self, node: Expr, mnemonic: str, role: int, dst: int, args: tuple[int, ...], text: str) -> int:
        """The place of an instruction, made when first carried out."""
        key = (node, mnemonic)
        if key not in self.places:
            self.places[key] = len(self.made.instructions)
            self.made.instructions.append(NodeInstruction(text, mnemonic, role, dst, args, node))
        return self.places[key]


def _behind(node: Expr) -> Expr:
    """The node whose value a let has."""
    while isinstance(node, Let):
        node = node.body
    return node


class _Evaluation(Evaluator):
    """The evaluator, writing down each node that it finishes."""

    def __init__(self, mod: IRModule, args: Sequence[Any], entry: str) -> None:
        super().__init__(mod)
        self.args, self.entry = args, entry
        self.log = Log()
        self.codes: dict[Function, _Code] = {}
        self.names = {function: name for name, function in mod.items()}
        self.frames: dict[Activation, int] = {}
        self.bound: set[tuple[int, Expr]] = set()
        self.events: list[tuple[int, int]] = []  # function, place: sites are known at the end
        self.values_written: list[Value] = []
        self.running = -1

    def trace(self) -> Trace:
        """Run the program and return what was written down."""
        closure, values = self._prepared(self.entry, self.args)
        act = self._enter(closure, values, 1, None)
        self._frame(act, -1, -1, -1)
        log = self.log
        log.segments.append(Segment(0, SavedFrame(0, 0, 0, tuple(values), -1, None), frozenset(), self.values_written))
        log.started = perf_counter()
        result: Value = None
        error: PasslabError | None = None
        try:
            result = self._loop(closure.function.body, act)
        except PasslabError as raised:
            error = raised
        functions = [code.made for code in self.codes.values()]
        for code in self.codes.values():
            code.made.register_file_size = code.count
        self._returned(act, closure.function.body, result, error)
        sites = Sites(NodeProgram(functions), Recording([], self.mod))
        log.sites.extend(sites.bases[function] + place for function, place in self.events)
        trace = NodeTrace("debug", sites, log, values, self.entry)
        trace.error, trace.result = error, result
        return trace

    def _returned(self, act: Activation, body: Expr, result: Value, error: PasslabError | None) -> None:
        """Write down the end of the entry; after an error, where it stood."""
        if error is None:
            self._return(act, body, result)
            return
        code = (
            self.codes[act.function] if self.running < 0 else list(self.codes.values())[self.log.function[self.running]]
        )
        place = code.place(Var("error", None), "fails", PLAIN, -1, (), f"fails: {error.diagnostics[0].message}")
        self.log.end_pc = place

    # ------------------------------------------------------------ the loop
    def _loop(self, root: Expr, act: Activation) -> Value:
        stack: list[tuple[Expr, Activation]] = [(root, act)]
        most = limits.current().trace_instants
        while stack:
            node, at = stack[-1]
            home = at.home(node)
            if node in home.known:
                stack.pop()
                continue
            missing = STEPS[type(node)](self, node, home)
            if not missing:
                stack.pop()
                self._done(node, home)
                continue
            stack.extend(missing[::-1])
            if type(missing[-1][0]) is _Return:
                self._called(node, home, missing[0][1])
            elif isinstance(node, Match):
                self._bound(node, home)
            elif isinstance(node, Let) and node.var in home.known:
                self._named(node, home)
            if len(self.events) > most:
                raise RunError(f"it was recorded for {most:,} steps, the limit `trace_instants`")
        return act.home(root).known[root]

    def _put(self, act: Activation, place: int, value: Value) -> None:
        frame = self.frames[act]
        if frame != self.running:
            self.log.switched_at.append(len(self.events))
            self.log.switched_to.append(frame)
            self.running = frame
        self.events.append((self.codes[act.function].number, place))
        self.log.clock.append(perf_counter())
        self.values_written.append(value)

    def _frame(self, act: Activation, parent: int, created: int, register: int) -> None:
        function = act.function
        if function not in self.codes:
            name = self.names.get(function) or f"fn{len(self.codes)}"
            self.codes[function] = _Code(len(self.codes), name, function)
        self.frames[act] = self.log.add_frame(parent, self.codes[function].number, created, register)

    def _done(self, node: Expr, act: Activation) -> None:
        if isinstance(node, _Return):
            self._return(act, node.body, node.caller.known[node.call])  # type: ignore[attr-defined]
            return
        code = self.codes.get(act.function)
        if code is None or act not in self.frames:
            return
        if isinstance(node, _SILENT):
            return
        value = act.known[node]
        if isinstance(node, RefWrite):
            dst, value = code.register(node.ref), RefValue(act.home(node.value).known[node.value])
        else:
            dst = code.register(node)
            value = RefValue(value.value) if isinstance(node, RefCreate) else value
        self._put(act, self._place(code, node, PLAIN, dst), value)

    def _place(self, code: _Code, node: Expr, role: int, dst: int) -> int:
        args = code.known(_operands(node))
        shown = ", ".join(f"${r}" for r in args)
        name = node.op.name if isinstance(node, Call) and isinstance(node.op, Op) else node_name(node)
        if isinstance(node, Call) and isinstance(node.op, Constructor):
            name = node.op.name_hint
        if role == CALL:
            name = f"@{node.op.name_hint}" if isinstance(node, Call) and isinstance(node.op, GlobalVar) else "call"
        kind = KERNEL if isinstance(node, Call) and isinstance(node.op, Op) else role
        return code.place(node, "call" if role == CALL else name, kind, dst, args, f"{name} ({shown}) -> ${dst}")

    def _called(self, node: Expr, act: Activation, inner: Activation) -> None:
        code = self.codes[act.function]
        dst = code.register(node)
        args = [inner.known[p] for p in inner.function.params]
        event = len(self.events)
        self._put(act, self._place(code, node, CALL, dst), tuple(args))
        self._frame(inner, self.frames[act], event, dst)

    def _return(self, act: Activation, body: Expr, value: Value) -> None:
        code = self.codes[act.function]
        held = code.known([body])
        text = f"return {', '.join(f'${r}' for r in held)}".rstrip()
        self._put(act, code.place(act.function, "return", RETURN, -1, held, text), value)

    def _named(self, node: Let, act: Activation) -> None:
        """A let has bound its variable, which has the register of its value."""
        code = self.codes[act.function]
        held = code.registers.get(_behind(node.value))
        if held is not None:
            code.registers.setdefault(node.var, held)

    def _bound(self, node: Match, act: Activation) -> None:
        """The arm that fits has just been chosen: its variables have values."""
        code, frame = self.codes[act.function], self.frames[act]
        data = code.known([node.data])
        for clause in node.clauses:
            for var in pattern_vars(clause.lhs):
                if var in act.known and (frame, var) not in self.bound:
                    self.bound.add((frame, var))
                    text = f"bind %{var.name_hint} ({', '.join(f'${r}' for r in data)}) -> ${code.register(var)}"
                    self._put(act, code.place(var, "bind", PLAIN, code.register(var), data, text), act.known[var])


def _operands(node: Expr) -> list[Expr]:
    """The nodes whose values a node is made of."""
    if isinstance(node, Call):
        return list(node.args) if isinstance(node.op, (Op, GlobalVar, Constructor)) else [node.op, *node.args]
    return [
        getattr(node, name) for name in ("tuple_value", "cond", "data", "value", "ref") if hasattr(node, name)
    ] or list(getattr(node, "fields", ()))


__all__ = ["NodeFunction", "NodeInstruction", "NodeProgram", "NodeTrace", "record_nodes"]
