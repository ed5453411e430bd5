"""Runs of the reference evaluator as traces: every node that it finishes is an instruction, every call a frame.

The evaluator is deterministic, so a fork runs the program again and changes values on the way. What never ran is not in
the code of a function; what ran stands in the order of the program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from passlab import limits
from passlab.debugger.code_map import CALL, KERNEL, PLAIN, RETURN, CodeMap
from passlab.debugger.node_code import NodeFunction, NodeInstruction, NodeProgram
from passlab.debugger.node_trace import NodeEngine, T
from passlab.debugger.trace_data import TraceData
from passlab.diffing.diff import node_name
from passlab.errors import PasslabError
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
from passlab.lab.recording import Recording
from passlab.vm.tracing.log import Log, SavedFrame, Segment

_SILENT = (Constant, Var, GlobalVar, Op, Let, Function, Constructor)  # nodes that compute nothing of their own
Change = tuple[int, int, Mapping[int, Any]]  # an instant, the frame that runs there, and what its registers become


def evaluator_trace(cls: type[T], mod: IRModule, args: Sequence[Any], entry: str) -> T:
    """Run a function of a module on the evaluator and return the trace. Raises `RunError` for wrong arguments."""
    return _Evaluation(mod, args, entry, []).trace(cls)


class _Code:
    """The code of one function as it becomes known: registers and instructions by node."""

    def __init__(self, number: int, name: str, function: Function) -> None:
        self.number = number
        self.function = NodeFunction(name, tuple(p.name_hint for p in function.params))
        self.registers: dict[Expr, int] = {p: i for i, p in enumerate(function.params)}
        self.places: dict[tuple[Expr, str], int] = {}
        self.count = len(function.params)
        self.body = _behind(function.body)
        self.order = post_order(function.body, enter=_is_no_function)

    def register(self, node: Expr) -> int:
        """The register of a node, made when first asked for."""
        if node not in self.registers:
            self.registers[node] = self.count
            self.count += 1
        return self.registers[node]

    def registers_of(self, nodes: Sequence[Expr]) -> tuple[int, ...]:
        """The registers of those nodes that have one."""
        return tuple(self.registers[n] for n in map(_behind, nodes) if n in self.registers)

    def place(
        self,
        node: Expr,
        mnemonic: str,
        role: int,
        dst: int,
        args: tuple[int, ...],
        text: str,
        params: tuple[int, ...] = (),
    ) -> int:
        """The place of an instruction, made when first carried out."""
        key = (node, mnemonic)
        if key not in self.places:
            self.places[key] = len(self.function.instructions)
            self.function.instructions.append(NodeInstruction(text, mnemonic, role, dst, args, node, given=params))
        return self.places[key]

    def functions(self) -> dict[Function, str]:
        """The functions that lets of its body give names to."""
        lets = [node for node in self.order if isinstance(node, Let)]
        return {let.value: let.var.name_hint for let in lets if isinstance(let.value, Function)}

    def shown(self, node: Expr) -> str:
        """An operand in a word: its register, or what it is."""
        node = _behind(node)
        if node in self.registers:
            return f"${self.registers[node]}"
        if isinstance(node, Constant):
            return value_text(node.data, 1) if node.data.ndim == 0 else "const"
        return f"%{node.name_hint}" if isinstance(node, Var) else node_name(node)

    def in_order(self) -> list[int]:
        """Put the instructions into the order of the program; return for each place where it was.

        They were made in the order in which they first ran, which leads through the arms of a branch as they come.
        """
        order = {node: at for at, node in enumerate(self.order)}
        last = {"return": len(order) + 1, "fails": len(order) + 2}
        at = [last.get(mnemonic, order.get(node, len(order))) for node, mnemonic in self.places]
        was = sorted(range(len(at)), key=at.__getitem__)
        self.function.instructions[:] = [self.function.instructions[place] for place in was]
        return was


def _is_no_function(node: Expr) -> bool:
    return not isinstance(node, Function)


def _behind(node: Expr) -> Expr:
    """The node whose value a let has."""
    bound: dict[Expr, Expr] = {}
    while isinstance(node, Let) or node in bound:
        if isinstance(node, Let):
            bound[node.var] = node.value
            node = node.body
        else:
            node = bound.pop(node)
    return node


class _EnoughError(Exception):
    """As many steps as the cap allows were recorded."""


class _Evaluation(Evaluator):
    """The evaluator, writing down each node that it finishes."""

    def __init__(self, mod: IRModule, args: Sequence[Any], entry: str, changes: Sequence[Change]) -> None:
        super().__init__(mod)
        self._steps = {kind: self._watched(step) for kind, step in STEPS.items()}
        self.most = limits.current().trace_instants
        self.changes = list(changes)
        self._next = 0  # of the changes
        self.args, self.entry = args, entry
        self.log = Log()
        self.codes: dict[Function, _Code] = {}
        self.names = {function: name for name, function in mod.items()}
        self.frames: dict[Activation, int] = {}
        self.bound: set[tuple[int, Expr]] = set()
        self.events: list[tuple[int, int]] = []  # function, place: sites are known at the end
        self.taken: Counter[str] = Counter()  # names of functions, and how often each was wanted
        self.stopped = ""
        self.end = (-1, 0)  # function and place where the run failed or recording stopped
        self.values_written: list[Value] = []
        self.running = -1

    def trace(self, cls: type[T]) -> T:
        """Run the program and return what was written down."""
        closure, values = self._start_state(self.entry, self.args)
        act = self._enter(closure, values, 1, None)
        self._frame(act, -1, -1, -1)
        log = self.log
        log.segments.append(Segment(0, SavedFrame(0, 0, 0, tuple(values), -1, None), frozenset(), self.values_written))
        log.started = perf_counter()
        result: Value = None
        error: PasslabError | None = None
        try:
            result = self._loop(closure.function.body, act)
            if self._is_due():  # a change of what is returned
                self._apply_change()
                result = act.home(closure.function.body).values[closure.function.body]
        except _EnoughError:
            self.stopped = f"it was recorded for {len(self.events):,} steps, the cap that was set"
            self.end = self.events[-1]
        except PasslabError as raised:
            error = raised
        if error is not None:
            self._fails(act, error)
        elif not self.stopped:
            self._return(act, result)
        trace = cls(self._code_map(), log, values, self.entry, NodeEngine("debug", self._fork))
        self.whole: TraceData = trace
        trace.error, trace.result, trace.stopped = error, result, self.stopped
        return self._since_last_change(trace) if self.changes else trace

    def _code_map(self) -> CodeMap:
        """The code of all functions in the order of the program, entered into the log."""
        codes = list(self.codes.values())
        moved = []
        for code in codes:
            code.function.register_file_size = code.count
            now = [0] * len(code.function.instructions)
            for place, was in enumerate(code.in_order()):
                now[was] = place
            moved.append(now)
        code_map = CodeMap(NodeProgram([code.function for code in codes]), Recording([], self.mod))
        self.log.sites.extend(code_map.bases[function] + moved[function][place] for function, place in self.events)
        function, place = self.end
        self.log.end_pc = moved[function][place] if function >= 0 else 0
        return code_map

    # ------------------------------------------------------------ forks
    def _fork(self, left: TraceData, instant: int, changes: Mapping[int, Any]) -> TraceData:
        """Run all of it again with one more change; `instant` counts from the last change."""
        at = instant + (self.changes[-1][0] if self.changes else 0)
        change = at, self.whole.current(at)[0], changes
        return _Evaluation(self.mod, self.args, self.entry, [*self.changes, change]).trace(type(left))

    def _since_last_change(self, whole: T) -> T:
        """Return a branch: what came after the last change, over the frames that there were."""
        start, running, changes = self.changes[-1]
        old, log = whole.log, Log()
        top: SavedFrame | None = None
        for frame, pc in reversed(whole.frames_at(start)):
            held = whole.registers(frame, start)
            registers = [changes.get(r, v) for r, v in enumerate(held)] if frame == running else held
            top = SavedFrame(frame, old.function[frame], pc, tuple(registers), old.result_register[frame], top)
        for column in ("parent", "function", "result_register", "depth"):
            getattr(log, column).extend(getattr(old, column))
        log.created.extend(event - start if event >= start else -1 for event in old.created)
        log.sites, log.clock = old.sites[start:], old.clock[start:]
        log.started = old.clock[start - 1] if start else old.started
        switches = zip(old.switched_at, old.switched_to, strict=True)
        for at, to in [(start, running), *((at, to) for at, to in switches if at > start)]:
            log.switched_at.append(at - start)
            log.switched_to.append(to)
        log.end_pc = old.end_pc
        log.segments.append(Segment(0, top, frozenset(), self.values_written[start:]))
        branch = type(whole)(whole.code_map, log, whole.args, self.entry, NodeEngine("debug", self._fork))
        branch.error, branch.result, branch.stopped = whole.error, whole.result, whole.stopped
        return branch

    def _is_due(self) -> bool:
        return self._next < len(self.changes) and len(self.events) >= self.changes[self._next][0]

    def _apply_change(self) -> None:
        """The instant of the next change has come: give the registers of the frame that runs there their values."""
        _, frame, changes = self.changes[self._next]
        self._next += 1
        act = next(a for a, number in self.frames.items() if number == frame)
        for node, register in self.codes[act.function].registers.items():
            if register in changes and node in act.values:
                act.values[node] = changes[register]

    def _fails(self, entry: Activation, error: PasslabError) -> None:
        """Write down where an error stands."""
        codes = list(self.codes.values())
        code = self.codes[entry.function] if self.running < 0 else codes[self.log.function[self.running]]
        text = f"fails: {error.diagnostics[0].message}"
        self.end = code.number, code.place(Var("error", None), "fails", PLAIN, -1, (), text)

    # ------------------------------------------------------------ watching
    def _watched(self, step: Step) -> Step:
        """A step of the evaluator that writes down what it has finished, and the calls it leads to."""

        def watch(evaluator: Evaluator, node: Any, home: Activation) -> Waits:
            if self._is_due():
                self._apply_change()
            missing = step(evaluator, node, home)
            if not missing:
                self._done(node, home)
                return missing
            if type(missing[-1][0]) is Return:
                self._enter_call(node, home, missing[0][1])
            elif isinstance(node, Match):
                self._bound(node, home)
            elif isinstance(node, Let) and node.var in home.values:
                self._named(node, home)
            if len(self.events) >= self.most:
                raise _EnoughError
            return missing

        return watch

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
        self.frames[act] = self.log.add_frame(parent, self._code(act.function).number, created, register)

    def _code(self, function: Function) -> _Code:
        """The code of a function, made and named when first asked for."""
        if function not in self.codes:
            name = self.names.get(function) or f"fn{len(self.codes)}"
            self.taken[name] += 1
            name = name if self.taken[name] == 1 else f"{name}_{self.taken[name] - 1}"
            self.codes[function] = code = _Code(len(self.codes), name, function)
            for inner, called in code.functions().items():
                self.names.setdefault(inner, called)
        return self.codes[function]

    def _done(self, node: Expr | Return, act: Activation) -> None:
        if isinstance(node, Return):
            self._return(act, node.caller.values[node.call])
            return
        code = self.codes.get(act.function)
        if code is None or act not in self.frames:
            return
        if isinstance(node, _SILENT):
            return
        value = act.values[node]
        if isinstance(node, RefWrite):
            dst, value = code.register(node.ref), RefValue(act.home(node.value).values[node.value])
        else:
            dst = code.register(node)
            value = RefValue(value.value) if isinstance(node, RefCreate) else value
        self._put(act, self._place(code, node, PLAIN, dst), value)

    def _place(self, code: _Code, node: Expr, role: int, dst: int) -> int:
        name = _name(node)
        mnemonic = "call" if role == CALL else name
        if (node, mnemonic) in code.places:
            return code.places[node, mnemonic]
        operands, params = _operands(node), tuple[int, ...]()
        args = code.registers_of(operands)
        if role == CALL and isinstance(node, Call):
            name, operands = self._callee(node.op), list(node.args)
            params = tuple([code.registers.get(_behind(a), -1) for a in operands])
            operands = [node.op, *operands] if name == "call" else operands
        kind = KERNEL if is_op_call(node) else role
        text = f"{name}.{node.index}" if isinstance(node, TupleGetItem) else name
        text = f"{text} ({', '.join(map(code.shown, operands))}) -> ${dst}"
        return code.place(node, mnemonic, kind, dst, args, text, params)

    def _callee(self, op: Expr) -> str:
        """A function that is called by its name, or where it stands; others are "call"."""
        if isinstance(op, GlobalVar):
            return f"@{op.name_hint}"
        return f"@{self._code(op).function.name}" if isinstance(op, Function) else "call"

    def _enter_call(self, node: Expr, act: Activation, inner: Activation) -> None:
        code = self.codes[act.function]
        dst = code.register(node)
        args = [inner.values[p] for p in inner.function.params]
        event = len(self.events)
        self._put(act, self._place(code, node, CALL, dst), tuple(args))
        self._frame(inner, self.frames[act], event, dst)

    def _return(self, act: Activation, value: Value) -> None:
        code = self.codes[act.function]
        held = code.registers_of([code.body])
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
        data = code.registers_of([node.data])
        for clause in node.clauses:
            for var in pattern_vars(clause.lhs):
                if var in act.values and (frame, var) not in self.bound:
                    self.bound.add((frame, var))
                    text = f"bind %{var.name_hint} ({', '.join(f'${r}' for r in data)}) -> ${code.register(var)}"
                    self._put(act, code.place(var, "bind", PLAIN, code.register(var), data, text), act.values[var])


def _name(node: Expr) -> str:
    """The operator or constructor of a call, or what kind of node it is."""
    if is_op_call(node):
        return node.op.name
    return node.op.name_hint if isinstance(node, Call) and isinstance(node.op, Constructor) else node_name(node)


def _operands(node: Expr) -> list[Expr]:
    """The nodes whose values a node is made of."""
    if isinstance(node, Call):
        return list(node.args) if isinstance(node.op, (Op, GlobalVar, Constructor)) else [node.op, *node.args]
    return [
        getattr(node, name) for name in ("tuple_value", "cond", "data", "value", "ref") if hasattr(node, name)
    ] or list(getattr(node, "fields", ()))
