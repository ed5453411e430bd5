"""Relay functions as Python functions: lets become assignments, branches `if`, matches `match`, closures `def`.

A function that calls itself last becomes a loop. A function that makes other calls whose depth a program decides is a
generator that yields them to the driver (see `prelude.run`); all others are plain functions. Programs come in A-normal
form with their operators in primitive functions. Values that are used once, by a later expression of the same block,
are written into it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from typing import Any

from passlab.analysis.well_formed import outside_scope
from passlab.errors import Diagnostic, VerifyError
from passlab.executor.aot import prelude
from passlab.executor.aot.call_graph import CallGraph
from passlab.executor.aot.constants import Constants
from passlab.executor.aot.deep_blocks import DeepBlocks
from passlab.executor.aot.kernel_source import Kernels
from passlab.executor.aot.vendor import Library
from passlab.ir.adt import Constructor, Pattern, PatternConstructor, PatternTuple, PatternVar
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.span import Span
from passlab.ir.trampoline import drive
from passlab.ir.variables import free_vars
from passlab.ir.walk import children, post_order
from passlab.vm.kernels.kernel_text import SHORT, operator_text
from passlab.vm.kernels.numpy_emitter import wrap
from passlab.vm.kernels.python_text import Names, width

Work = Generator[Any, None, None]  # yields the parts to be written before it goes on
DEEPEST = 14  # branches inside branches in one function; Python's own limit is 100 levels, indentation tires earlier


class Program:
    """What the functions of one module share."""

    def __init__(self, mod: IRModule, names: Names, library: Library, entry: str) -> None:
        self.mod = mod
        self.names = names
        self.library = library
        self.constants = Constants(names, library.reserve(prelude.Attributes))
        self.kernels = Kernels(names, self.constants, library)
        self.functions = {name: f for name, f in mod.items() if not f.is_primitive}
        self.calls = CallGraph(self.functions, DEEPEST)
        self.waiting: list[tuple[str, Function, str | None, Counter[Expr], dict[Expr, tuple[Var, ...]]]] = []
        called = {n.name_hint for f in self.functions.values() for n in post_order(f) if isinstance(n, GlobalVar)}
        self.globals = {n: entry if n == entry and n not in called else names.make(n) for n in self.functions}
        self.constructors: dict[Constructor, str] = {}
        self.blocks: list[str] = []
        self.spans: dict[str, Span | None] = {}  # by line of text: where in the program it comes from

    def write(self) -> None:
        """Write all functions."""
        self.waiting = [
            (self.globals[n], f, n, _uses(f), self._outlying(n, f)) for n, f in reversed(self.functions.items())
        ]
        while self.waiting:  # a function may need others for the blocks that stand too deep in it
            name, function, own, uses, deep_blocks = self.waiting.pop()
            text = FunctionText(self, Names(self.names), own, uses, deep_blocks)
            drive(text.function(name, function, 0))
            self.blocks.append("\n".join(text.lines) + "\n")

    def _outlying(self, name: str, function: Function) -> dict[Expr, tuple[Var, ...]]:
        if self.calls.facts[name].nesting <= DEEPEST:
            return {}
        return DeepBlocks(function, 2 if name in self.calls.loops else 1, DEEPEST).found

    def constructor(self, constructor: Constructor) -> str:
        """Return the class of a constructor."""
        if constructor not in self.constructors:
            self.constructors[constructor] = self.names.make(constructor.name_hint)
        return self.constructors[constructor]


class Sink:
    """Where the value of a block goes: it is returned, or a variable gets it."""

    def __init__(self, variable: str | None = None) -> None:
        self.variable = variable


class FunctionText:
    """The text of one function of the module, with the functions inside it."""

    def __init__(
        self,
        program: Program,
        names: Names,
        own: str | None,
        uses: Counter[Expr],
        deep_blocks: dict[Expr, tuple[Var, ...]],
    ) -> None:
        self.program = program
        self.names = names
        self.texts: dict[Var, str] = {}
        self.own = own
        self.lines: list[str] = []
        self.uses = uses
        self.deep_blocks = deep_blocks  # blocks that stand too deep, with the variables they need
        self.pending: dict[Var, str] = {}
        self.spans: dict[Expr, Span | None] = {}  # where the values of variables that were written elsewhere stand
        self.loop: list[str] | None = None

    def _line(self, depth: int, text: str, span: Span | None = None) -> None:
        self.lines.append("    " * depth + text)
        if span is not None:
            self.program.spans.setdefault(text, span)

    # ------------------------------------------------------------ functions
    def function(self, name: str, function: Function, depth: int) -> Work:
        """Write a definition."""
        params = [self.names.make(p.name_hint) for p in function.params]
        self.texts.update(zip(function.params, params, strict=True))
        outer = self.loop, self.pending
        self.pending = {}
        self._line(depth, f"def {name}({', '.join(params)}):")
        self.loop = params if depth == 0 and self.own in self.program.calls.loops else None
        if self.loop is not None:
            depth += 1
            self._line(depth, "while True:")
        yield self.block(function.body, Sink(), depth + 1)
        self.loop, self.pending = outer

    # ------------------------------------------------------------ blocks
    def block(self, expr: Expr, sink: Sink, depth: int) -> Work:
        """Write the statements that give `sink` the value of an expression."""
        if depth > DEEPEST and isinstance(expr, (Let, If, Match)):
            self._elsewhere(expr, sink, depth)
            return
        while isinstance(expr, Let):
            if expr.body is expr.var:  # the last value of a block is its result
                expr = expr.value
                continue
            yield self._bind(expr.var, expr.value, depth)
            expr = expr.body
        yield self._finish(expr, sink, depth)

    def _elsewhere(self, expr: Expr, sink: Sink, depth: int) -> None:
        """Write a block that stands too deep as a function of its own."""
        free = self.deep_blocks.get(expr)
        if free is None:
            free = tuple(free_vars(expr))
        self._flush(depth)
        name = self.program.names.make("rest")
        self.program.waiting.append((name, Function(free, expr), None, self.uses, self.deep_blocks))
        args = [self.texts[v] for v in free]
        if sink.variable is None:
            self._line(depth, f"return {self._driver('Call')}({', '.join([name, *args])})")
        else:
            self._line(depth, f"{sink.variable} = yield {name}({', '.join(args)})")

    def _driver(self, name: str) -> str:
        return self.program.library.value(getattr(prelude, name), name)

    def _bind(self, var: Var, value: Expr, depth: int) -> Work:
        if isinstance(value, Var) and value in self.pending:
            self.pending[var] = self.pending.pop(value)
            self.spans[var] = self.spans[value]
            if self.uses[var] > 1:
                self._flush(depth)
            return
        if isinstance(value, (Var, Constant, GlobalVar)):
            self.texts[var] = self._atom(value)
            return
        if isinstance(value, Function):
            self._flush(depth)
            self.texts[var] = name = self.names.make(var.name_hint)
            yield self.function(name, value, depth)
            return
        if isinstance(value, (If, Match, Let)):
            name = self.names.make(var.name_hint)
            yield self._branches(value, Sink(name), depth)
            self.texts[var] = name
            return
        text, movable = self._expression(value)
        if movable and self.uses[var] == 1 and width(text) <= SHORT:
            self.pending[var] = text
            self.spans[var] = value.span
            return
        if text.startswith("(yield "):
            text = text[1:-1]
        self.texts[var] = name = self.names.make(var.name_hint)
        self._line(depth, f"{name} = {text}", value.span)

    def _finish(self, expr: Expr, sink: Sink, depth: int) -> Work:
        if isinstance(expr, (If, Match)):
            yield self._branches(expr, sink, depth)
            return
        if isinstance(expr, Function):
            self._flush(depth)
            name = self.names.make("function")
            yield self.function(name, expr, depth)
            text = name
        elif isinstance(expr, Call) and sink.variable is None and self._tail(expr, depth):
            return
        else:
            text, _ = self._expression(expr)
        self._flush(depth)
        if text.startswith("(yield "):
            text = text[1:-1]
        span = expr.span if isinstance(expr, Call) else self.spans.get(expr)
        self._line(depth, f"return {text}" if sink.variable is None else f"{sink.variable} = {text}", span)

    def _tail(self, call: Call, depth: int) -> bool:
        """Write a call whose result the function returns, if it is one that the driver or a loop makes."""
        callee = call.op
        if self.loop is not None and isinstance(callee, GlobalVar) and callee.name_hint == self.own:
            args = [self._atom(a) for a in call.args]
            changed = [(p, a) for p, a in zip(self.loop, args, strict=True) if p != a]
            self._flush(depth)
            if changed:
                self._line(depth, f"{', '.join(p for p, _ in changed)} = {', '.join(a for _, a in changed)}")
            else:
                self._line(depth, "continue")
            return True
        if isinstance(callee, (Op, Constructor)) or self._is_direct(callee):
            return False
        function = self._atom(callee)
        args = [self._atom(a) for a in call.args]
        self._flush(depth)
        self._line(depth, f"return {self._driver('Call')}({', '.join([function, *args])})")
        return True

    def _is_direct(self, callee: Expr) -> bool:
        """Whether Python may call a function itself: it never calls back."""
        if not isinstance(callee, GlobalVar):
            return False
        return callee.name_hint in self.program.calls.direct or self.program.mod[callee.name_hint].is_primitive

    # ------------------------------------------------------------ control
    def _branches(self, expr: Expr, sink: Sink, depth: int) -> Work:
        if isinstance(expr, Let):
            yield self.block(expr, sink, depth)
            return
        if isinstance(expr, If):
            cond = self._atom(expr.cond)
            self._flush(depth)
            self._line(depth, f"if {cond}:")
            yield self.block(expr.true_branch, sink, depth + 1)
            self._line(depth, "else:")
            yield self.block(expr.false_branch, sink, depth + 1)
            return
        assert isinstance(expr, Match)
        data = self._atom(expr.data)
        self._flush(depth)
        self._line(depth, f"match {data}:")
        total = False
        for clause in expr.clauses:
            if total:
                break
            pattern = self._pattern(clause.lhs)
            total = not isinstance(clause.lhs, (PatternConstructor, PatternTuple))
            self._line(depth + 1, f"case {pattern}:")
            yield self.block(clause.rhs, sink, depth + 2)
        if not total:
            error = self._driver("RunError")
            self._line(depth + 1, "case _:")
            self._line(depth + 2, f'raise {error}("no arm of the match fits")')

    def _pattern(self, root: Pattern) -> str:
        """Return a pattern as Python's; its variables get names."""
        out: list[str] = []
        stack: list[Pattern | str] = [root]
        while stack:
            at = stack.pop()
            if isinstance(at, str):
                out.append(at)
            elif isinstance(at, PatternVar) and self.uses[at.var]:
                self.texts[at.var] = name = self.names.make(at.var.name_hint)
                out.append(name)
            elif isinstance(at, (PatternConstructor, PatternTuple)):
                head = self.program.constructor(at.constructor) if isinstance(at, PatternConstructor) else ""
                end = ",)" if not head and len(at.patterns) == 1 else ")"
                inner = [part for p in at.patterns for part in (", ", p)][1:]
                stack.extend(reversed([f"{head}(", *inner, end]))
            else:
                out.append("_")
        return "".join(out)

    def _flush(self, depth: int) -> None:
        """Write the values that wait to be written into another expression."""
        for var, text in self.pending.items():
            self.texts[var] = name = self.names.make(var.name_hint)
            self._line(depth, f"{name} = {text}", self.spans[var])
        self.pending = {}

    # ------------------------------------------------------------ expressions
    def _atom(self, expr: Expr) -> str:
        """Return an argument as text; a value that waited for this is written here."""
        if isinstance(expr, Var):
            text = self.pending.pop(expr, None) or self.texts.get(expr)
            if text is None:
                raise outside_scope(expr)
            return text
        if isinstance(expr, Constant):
            return self.program.constants.array(expr.data)
        if isinstance(expr, GlobalVar):
            return self._global(expr)
        if isinstance(expr, Constructor):
            return self.program.constructor(expr)
        raise VerifyError(Diagnostic(f"a {type(expr).__name__} stands where a variable should", expr.span))

    def _global(self, var: GlobalVar) -> str:
        name = self.program.globals.get(var.name_hint)
        if name is not None:
            return name
        function = self.program.mod[var.name_hint]
        params = [f"p{i}" for i in range(len(function.params))]
        return f"(lambda {', '.join(params)}: {self.program.kernels.call(var.name_hint, function, params).text})"

    def _expression(self, expr: Expr) -> tuple[str, bool]:
        """Return an expression as text, and whether it may be computed later than where it stands."""
        if isinstance(expr, (Var, Constant, GlobalVar, Constructor)):
            return self._atom(expr), True
        if isinstance(expr, Tuple):
            return f"({''.join(f'{self._atom(f)}, ' for f in expr.fields).rstrip(' ')})", True
        if isinstance(expr, TupleGetItem):
            return f"{wrap(self._atom(expr.tuple_value))}[{expr.index}]", True
        if isinstance(expr, Call):
            return self._call(expr)
        if isinstance(expr, RefCreate):
            return f"{self._driver('Ref')}({self._atom(expr.value)})", False
        if isinstance(expr, RefRead):
            return f"{wrap(self._atom(expr.ref))}.value", False
        if isinstance(expr, RefWrite):
            return f"{wrap(self._atom(expr.ref))}.write({self._atom(expr.value)})", False
        raise VerifyError(Diagnostic(f"a {type(expr).__name__} cannot be written in Python here", expr.span))

    def _call(self, call: Call) -> tuple[str, bool]:
        callee = call.op
        args = [self._atom(a) for a in call.args]
        if isinstance(callee, Op):
            return self._machine_operator(call, callee, args), True
        if isinstance(callee, Constructor):
            return f"{self.program.constructor(callee)}({', '.join(args)})", True
        if isinstance(callee, GlobalVar) and self.program.mod[callee.name_hint].is_primitive:
            return self.program.kernels.call(callee.name_hint, self.program.mod[callee.name_hint], args).text, True
        text = f"{wrap(self._atom(callee))}({', '.join(args)})"
        return (text, False) if self._is_direct(callee) else (f"(yield {text})", False)

    def _machine_operator(self, call: Call, op: Op, args: Sequence[str]) -> str:
        if op.name in ("device_copy", "on_device", "annotation.stop_fusion", "memory.copy"):
            return args[0]
        return operator_text(call, tuple(args), self.program.kernels).text


def _uses(function: Function) -> Counter[Expr]:
    """How often each variable is read."""
    return Counter(n for e in post_order(function) for n in _read(e) if isinstance(n, Var))


def _read(node: Expr) -> Sequence[Expr]:
    """The parts of a node that it reads, without the variables it binds."""
    if isinstance(node, Let):
        return node.value, node.body
    return (node.body,) if isinstance(node, Function) else tuple(children(node))
