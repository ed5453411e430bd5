"""Traces by node: runs on the graph executor or the evaluator.

The file begins with runs of the reference evaluator as traces: each node that it finishes is an instruction, each call
a frame.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from passlab import limits
from passlab.debugger.code_map import CALL, KERNEL, PLAIN, RETURN, CodeMap
from passlab.debugger.node_code import NodeFunction, NodeInstruction, NodeProgram
from passlab.debugger.node_trace import NodeEngine, T, graph_trace
from passlab.debugger.replay import copy_arrays
from passlab.debugger.trace_data import TraceData
from passlab.diffing.diff import node_name
from passlab.errors import Diagnostic, PasslabError, RunError
from passlab.evaluate.evaluator import STEPS, Activation, Evaluator, Return, Step, Waits
from passlab.evaluate.values import RefValue, Value, value_text
from passlab.ir.adt import Constructor, pattern_vars
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Let,
    Match,
    RefCreate,
    RefWrite,
    TupleGetItem,
    Var,
)
from passlab.ir.module import IRModule
from passlab.ir.op import Op, is_op_call
from passlab.ir.walk import post_order
from passlab.lab.recordings.recording import Recording, module_of
from passlab.vm.tracing.log import Log, SavedFrame, Segment

_NO_INSTRUCTION = (Constant, Var, GlobalVar, Op, Let, Function, Constructor)  # nodes that compute nothing
Change = tuple[int, int, Mapping[int, Any]]  # an instant, its frame, and the new values of registers


def evaluator_trace(cls: type[T], mod: IRModule, args: Sequence[Any], entry: str) -> T:
    """Run a function of a module on the evaluator and return the trace. Raises `RunError` for wrong arguments."""
    return _TracingEvaluator(mod, args, entry, []).trace(cls)


class _FunctionCode:
    """The code of one function, built while it runs: registers and instructions by node."""

    def __init__(self, number: int, name: str, function: Function) -> None:
        self.number = number
        self.function = NodeFunction(name, tuple(p.name_hint for p in function.params))
        self.registers: dict[Expr, int] = {p: i for i, p in enumerate(function.params)}
        self.pcs: dict[tuple[Expr, str], int] = {}
        self.count = len(function.params)
        self.body = _result_of(function.body)
        self.order = post_order(function.body, enter=_is_no_function)

    def register(self, node: Expr) -> int:
        """Return the register of a node, allocated on first use."""
        if node not in self.registers:
            self.registers[node] = self.count
            self.count += 1
        return self.registers[node]

    def registers_of(self, nodes: Sequence[Expr]) -> tuple[int, ...]:
        """Return the registers of the nodes that have one."""
        return tuple(self.registers[n] for n in map(_result_of, nodes) if n in self.registers)

    def pc_of(
        self,
        node: Expr,
        mnemonic: str,
        role: int,
        dst: int,
        args: tuple[int, ...],
        text: str,
        params: tuple[int, ...] = (),
    ) -> int:
        """Return the pc of an instruction, which is appended when it first runs."""
        key = (node, mnemonic)
        if key not in self.pcs:
            self.pcs[key] = len(self.function.instructions)
            self.function.instructions.append(
                NodeInstruction(text, mnemonic, role, dst, args, node, params_from=params)
            )
        return self.pcs[key]

    def functions(self) -> dict[Function, str]:
        """Return the functions that are bound by `let` in the body, with the names of the variables."""
        lets = [node for node in self.order if isinstance(node, Let)]
        return {let.value: let.var.name_hint for let in lets if isinstance(let.value, Function)}

    def operand_text(self, node: Expr) -> str:
        """Return an operand as text: its register, or its constant, variable or kind."""
        node = _result_of(node)
        if node in self.registers:
            return f"${self.registers[node]}"
        if isinstance(node, Constant):
            return value_text(node.data, 1) if node.data.ndim == 0 else "const"
        return f"%{node.name_hint}" if isinstance(node, Var) else node_name(node)

    def in_order(self) -> list[int]:
        """Sort the instructions into the order of the program; return the old pc of each.

        They were appended in the order in which they first ran, which interleaves the branches of an `if`.
        """
        order = {node: index for index, node in enumerate(self.order)}
        last = {"return": len(order) + 1, "fails": len(order) + 2}
        keys = [last.get(mnemonic, order.get(node, len(order))) for node, mnemonic in self.pcs]
        old_pcs = sorted(range(len(keys)), key=keys.__getitem__)
        self.function.instructions[:] = [self.function.instructions[pc] for pc in old_pcs]
        return old_pcs


def _is_no_function(node: Expr) -> bool:
    return not isinstance(node, Function)


def _result_of(node: Expr) -> Expr:
    """Return the node that computes the value of a node: for a `let` it is the last node of its body."""
    bound: dict[Expr, Expr] = {}
    while isinstance(node, Let) or node in bound:
        if isinstance(node, Let):
            bound[node.var] = node.value
            node = node.body
        else:
            node = bound.pop(node)
    return node


class _LogFullError(Exception):
    """The limit on the number of recorded steps was reached."""


class _TracingEvaluator(Evaluator):
    """The evaluator, recording each node that it finishes."""

    def __init__(self, mod: IRModule, args: Sequence[Any], entry: str, changes: Sequence[Change]) -> None:
        super().__init__(mod)
        # Only this evaluator records: all others keep the plain steps.
        self._steps = {kind: self._recording_step(step) for kind, step in STEPS.items()}
        self.most = limits.current().trace_instants
        self.changes = list(changes)
        self._next_change = 0  # index into `changes`
        self.args, self.entry = args, entry
        self.log = Log()
        self.codes: dict[Function, _FunctionCode] = {}
        self.names = {function: name for name, function in mod.items()}
        self.frames: dict[Activation, int] = {}
        self.bound: set[tuple[int, Expr]] = set()
        self.events: list[tuple[int, int]] = []  # (function, pc): program points are known at the end
        self.name_counts: Counter[str] = Counter()  # the functions of each name, so that names become unique
        self.stopped = ""
        self.end = (-1, 0)  # (function, pc) where the run failed or recording stopped
        self.values_written: list[Value] = []
        self.current = -1

    def trace(self, cls: type[T]) -> T:
        """Run the program and return its trace."""
        closure, values = self._start_state(self.entry, self.args)
        act = self._enter(closure, values, 1, None)
        self._add_frame(act, -1, -1, -1)
        log = self.log
        log.segments.append(Segment(0, SavedFrame(0, 0, 0, tuple(values), -1, None), frozenset(), self.values_written))
        log.started = perf_counter()
        result: Value = None
        error: PasslabError | None = None
        try:
            result = self._loop(closure.function.body, act)
            if self._is_change_due():  # a change of the result
                self._apply_change()
                result = act.owner_of(closure.function.body).values[closure.function.body]
        except _LogFullError:
            self.stopped = f"the limit of {len(self.events):,} recorded steps was reached"
            self.end = self.events[-1]
        except PasslabError as raised:
            error = raised
        if error is not None:
            # An instruction that stands for the error is appended, and the trace ends before it.
            codes = list(self.codes.values())
            code = self.codes[act.function] if self.current < 0 else codes[self.log.function[self.current]]
            text = f"fails: {error.diagnostics[0].message}"
            # A new node, so that the instruction is none of those that ran.
            self.end = code.number, code.pc_of(Var("error", None), "fails", PLAIN, -1, (), text)
        elif not self.stopped:
            self._record_return(act, result)
        trace = cls(self._code_map(), log, values, self.entry, NodeEngine("debug", self._fork))
        self.whole: TraceData = trace
        trace.error, trace.result, trace.stopped = error, result, self.stopped
        return self._since_last_change(trace) if self.changes else trace

    def _code_map(self) -> CodeMap:
        """Return the code of all functions in the order of the program, and fill the points of the log."""
        codes = list(self.codes.values())
        new_pcs = []
        for code in codes:
            code.function.register_file_size = code.count
            new_pc = [0] * len(code.function.instructions)
            for pc, old_pc in enumerate(code.in_order()):
                new_pc[old_pc] = pc
            new_pcs.append(new_pc)
        code_map = CodeMap(NodeProgram([code.function for code in codes]), Recording([], self.mod))
        self.log.points.extend(code_map.offsets[function] + new_pcs[function][pc] for function, pc in self.events)
        function, pc = self.end
        self.log.end_pc = new_pcs[function][pc] if function >= 0 else 0
        return code_map

    # ------------------------------------------------------------ forks
    def _fork(self, original: TraceData, instant: int, changes: Mapping[int, Any]) -> TraceData:
        """Run the program again with one more change; `instant` counts from the last change."""
        start = instant + (self.changes[-1][0] if self.changes else 0)
        change = start, self.whole.current(start)[0], changes
        return _TracingEvaluator(self.mod, self.args, self.entry, [*self.changes, change]).trace(type(original))

    def _since_last_change(self, whole: T) -> T:
        """Return the part of a trace after the last change as a branch, with the frames of that instant."""
        start, current, changes = self.changes[-1]
        old, log = whole.log, Log()
        top: SavedFrame | None = None
        for frame, pc in reversed(whole.frames_at(start)):
            held = whole.registers(frame, start)
            registers = [changes.get(r, v) for r, v in enumerate(held)] if frame == current else held
            top = SavedFrame(frame, old.function[frame], pc, tuple(registers), old.result_register[frame], top)
        for column in ("parent", "function", "result_register", "depth"):
            getattr(log, column).extend(getattr(old, column))
        log.created.extend(event - start if event >= start else -1 for event in old.created)  # -1: before the branch
        log.points, log.clock = old.points[start:], old.clock[start:]
        log.started = old.clock[start - 1] if start else old.started
        switches = zip(old.switched_at, old.switched_to, strict=True)
        for event, frame in [(start, current), *((event, frame) for event, frame in switches if event > start)]:
            log.switched_at.append(event - start)
            log.switched_to.append(frame)
        log.end_pc = old.end_pc
        log.segments.append(Segment(0, top, frozenset(), self.values_written[start:]))
        branch = type(whole)(whole.code_map, log, whole.args, self.entry, NodeEngine("debug", self._fork))
        branch.error, branch.result, branch.stopped = whole.error, whole.result, whole.stopped
        return branch

    def _is_change_due(self) -> bool:
        return self._next_change < len(self.changes) and len(self.events) >= self.changes[self._next_change][0]

    def _apply_change(self) -> None:
        """Apply the next change, whose instant was reached, to the values of its frame."""
        _, frame, changes = self.changes[self._next_change]
        self._next_change += 1
        act = next(a for a, number in self.frames.items() if number == frame)
        for node, register in self.codes[act.function].registers.items():
            if register in changes and node in act.values:
                act.values[node] = changes[register]

    # ------------------------------------------------------------ recording
    def _recording_step(self, step: Step) -> Step:
        """Return a step of the evaluator that also records the node that it finished, or the call that it entered."""

        def record(evaluator: Evaluator, node: Any, owner: Activation) -> Waits:
            if self._is_change_due():
                self._apply_change()
            missing = step(evaluator, node, owner)
            if not missing:
                self._record_node(node, owner)
                return missing
            # The step of a call that enters a function waits for the body, then for the `Return`.
            if type(missing[-1][0]) is Return:
                self._record_call(node, owner, missing[0][1])
            elif isinstance(node, Match):
                self._record_bindings(node, owner)
            elif isinstance(node, Let) and node.var in owner.values:
                self._share_register(node, owner)
            if len(self.events) >= self.most:
                raise _LogFullError
            return missing

        return record

    def _append_event(self, act: Activation, pc: int, value: Value) -> None:
        frame = self.frames[act]
        if frame != self.current:
            self.log.switched_at.append(len(self.events))
            self.log.switched_to.append(frame)
            self.current = frame
        self.events.append((self.codes[act.function].number, pc))
        self.log.clock.append(perf_counter())
        self.values_written.append(value)

    def _add_frame(self, act: Activation, parent: int, created: int, register: int) -> None:
        self.frames[act] = self.log.add_frame(parent, self._code(act.function).number, created, register)

    def _code(self, function: Function) -> _FunctionCode:
        """Return the code of a function, created and named on first use."""
        if function not in self.codes:
            name = self.names.get(function) or f"fn{len(self.codes)}"
            self.name_counts[name] += 1
            name = name if self.name_counts[name] == 1 else f"{name}_{self.name_counts[name] - 1}"
            self.codes[function] = code = _FunctionCode(len(self.codes), name, function)
            for inner, inner_name in code.functions().items():
                self.names.setdefault(inner, inner_name)
        return self.codes[function]

    def _record_node(self, node: Expr | Return, act: Activation) -> None:
        if isinstance(node, Return):
            self._record_return(act, node.caller.values[node.call])
            return
        code = self.codes.get(act.function)
        if code is None or act not in self.frames:
            return
        if isinstance(node, _NO_INSTRUCTION):
            return
        value = act.values[node]
        if isinstance(node, RefWrite):
            # The log needs a copy of the cell: the cell itself changes with later writes.
            dst, value = code.register(node.ref), RefValue(act.owner_of(node.value).values[node.value])
        else:
            dst = code.register(node)
            value = RefValue(value.value) if isinstance(node, RefCreate) else value
        self._append_event(act, self._node_pc(code, node, PLAIN, dst), value)

    def _node_pc(self, code: _FunctionCode, node: Expr, role: int, dst: int) -> int:
        name = _display_name(node)
        mnemonic = "call" if role == CALL else name
        if (node, mnemonic) in code.pcs:
            return code.pcs[node, mnemonic]
        operands, params = _operands(node), tuple[int, ...]()
        args = code.registers_of(operands)
        if role == CALL and isinstance(node, Call):
            name, operands = self._callee_name(node.op), list(node.args)
            params = tuple([code.registers.get(_result_of(a), -1) for a in operands])
            operands = [node.op, *operands] if name == "call" else operands
        kind = KERNEL if is_op_call(node) else role
        text = f"{name}.{node.index}" if isinstance(node, TupleGetItem) else name
        text = f"{text} ({', '.join(map(code.operand_text, operands))}) -> ${dst}"
        return code.pc_of(node, mnemonic, kind, dst, args, text, params)

    def _callee_name(self, op: Expr) -> str:
        """Return the name of a callee that is a global variable or a function literal, `call` for others."""
        if isinstance(op, GlobalVar):
            return f"@{op.name_hint}"
        return f"@{self._code(op).function.name}" if isinstance(op, Function) else "call"

    def _record_call(self, node: Expr, act: Activation, inner: Activation) -> None:
        code = self.codes[act.function]
        dst = code.register(node)
        args = [inner.values[p] for p in inner.function.params]
        event = len(self.events)
        self._append_event(act, self._node_pc(code, node, CALL, dst), tuple(args))
        self._add_frame(inner, self.frames[act], event, dst)

    def _record_return(self, act: Activation, value: Value) -> None:
        code = self.codes[act.function]
        held = code.registers_of([code.body])
        text = f"return {', '.join(f'${r}' for r in held)}".rstrip()
        self._append_event(act, code.pc_of(act.function, "return", RETURN, -1, held, text), value)

    def _share_register(self, node: Let, act: Activation) -> None:
        """Give the variable of a `let` the register of its value."""
        code = self.codes[act.function]
        held = code.registers.get(_result_of(node.value))
        if held is not None:
            code.registers.setdefault(node.var, held)

    def _record_bindings(self, node: Match, act: Activation) -> None:
        """Record the variables that the chosen clause of a `match` has bound."""
        code, frame = self.codes[act.function], self.frames[act]
        data = code.registers_of([node.data])
        for clause in node.clauses:
            for var in pattern_vars(clause.lhs):
                # A match is tried again after its arm was evaluated, and its variables are recorded once.
                if var in act.values and (frame, var) not in self.bound:
                    self.bound.add((frame, var))
                    text = f"bind %{var.name_hint} ({', '.join(f'${r}' for r in data)}) -> ${code.register(var)}"
                    pc = code.pc_of(var, "bind", PLAIN, code.register(var), data, text)
                    self._append_event(act, pc, act.values[var])


def _display_name(node: Expr) -> str:
    """Return the operator or constructor of a call, or the kind of the node."""
    if is_op_call(node):
        return node.op.name
    return node.op.name_hint if isinstance(node, Call) and isinstance(node.op, Constructor) else node_name(node)


def _operands(node: Expr) -> list[Expr]:
    """Return the nodes whose values a node is computed from."""
    if isinstance(node, Call):
        return list(node.args) if isinstance(node.op, (Op, GlobalVar, Constructor)) else [node.op, *node.args]
    return [
        getattr(node, name) for name in ("tuple_value", "cond", "data", "value", "ref") if hasattr(node, name)
    ] or list(getattr(node, "fields", ()))


def record_nodes(
    cls: type[T], program: IRModule | Expr | Recording, args: Sequence[Any], entry: str, executor: str
) -> T:
    """Run a program with the executor "graph" or "debug" and return its trace, which is a `cls`.

    Raises `RunError` for another executor.
    """
    source: IRModule | Expr = module_of(program)
    mod = source if isinstance(source, IRModule) else IRModule.from_expr(source)
    recorders = {"graph": graph_trace, "debug": evaluator_trace}
    if executor not in recorders:
        raise RunError(Diagnostic(f"the debugger has no executor `{executor}`", hint="vm, graph or debug"))
    return recorders[executor](cls, mod, [copy_arrays(value) for value in args], entry)
