"""Relay functions as Python functions: lets become assignments, branches `if`, matches `match`, closures `def`.

A function whose tail call is itself becomes a loop. A function with calls of unbounded depth is a generator that yields
them to the driver (see `prelude.run`); all others are plain functions. Programs are in A-normal form with their
operators in primitive functions. A value that is used once, later in the same block, is inlined into that expression.

The file begins with the Python source of primitive functions: an expression for a single operator, a function for
several. It ends with the search for blocks that are nested too deeply for one Python function.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

from passlab.analysis.well_formed import outside_scope
from passlab.errors import Diagnostic, VerifyError, type_in_words
from passlab.executor.aot import prelude
from passlab.executor.aot.constants import Constants
from passlab.executor.aot.kernel_source import VendoredDefinitions
from passlab.ir.adt import Constructor, Pattern, PatternConstructor, PatternTuple, PatternVar, pattern_vars
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
from passlab.ir.op import Op, is_op_call
from passlab.ir.span import Span
from passlab.ir.trampoline import run_trampoline
from passlab.ir.variables import free_vars
from passlab.ir.walk import LEAVES, children, post_order, rewrite
from passlab.op.user_kernels import typed_kernel
from passlab.vm.kernels.kernel_text import SHORT, KernelText, Names, PyExpr, operator_text, width, wrap


class Kernels:
    """Writes the primitive functions of one module; `blocks` are the functions among them.

    It is the `Binder` of their text: it puts constants into the module and copies kernels into it.
    """

    def __init__(self, names: Names, constants: Constants, library: VendoredDefinitions) -> None:
        self.names = names
        self.constants = constants
        self.library = library
        self.blocks: list[str] = []
        self.function_names: dict[str, str] = {}  # by the name of the primitive function
        self.spans: dict[str, Span | None] = {}  # by line of text: the source location of its operator

    def call(self, name: str, function: Function, args: Sequence[str]) -> PyExpr:
        """Return the call of a primitive function on arguments that are names."""
        body = function.body
        if is_op_call(body):
            names: dict[Expr, str] = dict(zip(function.params, args, strict=True))
            if all(a in names or isinstance(a, Constant) for a in body.args):
                names |= {node: self.array(node.data) for node in body.args if isinstance(node, Constant)}
                return operator_text(body, tuple([names[a] for a in body.args]), self)
        if name not in self.function_names:
            self.function_names[name] = self.names.make(name)
            writer = KernelText(function, self.names, self)
            self.blocks.append(writer.text(self.function_names[name]))
            self.spans = writer.spans | self.spans
        return PyExpr(f"{self.function_names[name]}({', '.join(args)})")

    def scalar(self, dtype: str, value: Any) -> str:
        """Return the name of a number of a standard dtype."""
        return self.constants.scalar(dtype, value)

    def array(self, value: Any) -> str:
        """Return the name of a constant array."""
        return self.constants.array(value)

    def replaces(self, call: Call) -> bool:
        """Return False: a module computes with NumPy alone."""
        return False

    def kernel(self, call: Call, args: Sequence[str]) -> str:
        """Return the call of an operator's kernel, copied into the module."""
        assert isinstance(call.op, Op)
        spec = call.op.spec
        kernel = typed_kernel(call) or spec.raw or spec.kernel
        if kernel is None or (spec.stateful and spec.non_computational):  # an instruction of the virtual machine
            raise VerifyError(Diagnostic(f"`{call.op.name}` cannot be written in Python", call.span))
        hint = call.op.name.replace(".", "_")
        name = self.library.kernel(kernel, hint)
        return f"{name}({', '.join([self.constants.record(call.attrs, hint), *args])})"


# Decides which functions of a program are called directly by Python, and which become loops.

HIGHEST = 100  # nested direct calls; Python's default recursion limit is 1,000


class FunctionFacts:
    """The calls of one function, and the facts that decide whether it becomes a loop.

    `nesting` is the depth of nested branches; `makes_functions` rules out a loop: closures would share its variables.
    """

    def __init__(self, name: str, function: Function, functions: Mapping[str, Function]) -> None:
        self.callees: set[str] = set()
        self.calls_values = False
        self.calls_itself_last = False
        self.makes_functions = False
        self.nesting = 0
        stack: list[tuple[Expr, bool, int]] = [(function.body, True, 2)]  # 2: inside the loop that it may become
        while stack:
            at, last, depth = stack.pop()
            if depth > self.nesting:
                self.nesting = depth
            if type(at) is Let:
                if at.body is at.var:  # `let x = v; x` is v, so v is in tail position
                    stack.append((at.value, last, depth))
                else:
                    stack += ((at.value, False, depth), (at.body, last, depth))
            elif isinstance(at, If):
                stack += ((at.true_branch, last, depth + 1), (at.false_branch, last, depth + 1))
            elif isinstance(at, Match):
                stack += [(c.rhs, last, depth + 2) for c in at.clauses]  # `match` and `case` each indent the text
            elif isinstance(at, Function):
                self.makes_functions = True
                stack.append((at.body, False, depth + 1))
            elif isinstance(at, Call) and isinstance(at.op, GlobalVar) and at.op.name_hint in functions:
                if at.op.name_hint == name and last:
                    self.calls_itself_last = True
                else:
                    self.callees.add(at.op.name_hint)
            elif isinstance(at, Call) and not isinstance(at.op, (Op, GlobalVar, Constructor)):
                self.calls_values = True


class CallPlan:
    """The functions that become loops, and those that Python calls directly.

    `deepest` is the deepest nesting of branches in one Python function.
    """

    def __init__(self, functions: Mapping[str, Function], deepest: int) -> None:
        self.facts = {name: FunctionFacts(name, f, functions) for name, f in functions.items()}
        self.loops = {
            name
            for name, f in self.facts.items()
            if f.calls_itself_last and not f.makes_functions and f.nesting <= deepest
        }
        self.direct = self._direct(deepest)

    def _direct(self, deepest: int) -> set[str]:
        """Return the functions that Python may call directly, in a topological order from the leaves upwards.

        A function on a cycle of calls never has all its callees done, so it is not in the result.
        """
        callers: defaultdict[str, list[str]] = defaultdict(list)
        pending: dict[str, int] = {}  # the number of callees that are not done
        height: dict[str, int] = {}
        for name, f in self.facts.items():
            pending[name] = len(f.callees)
            for callee in f.callees:
                callers[callee].append(name)
        result: set[str] = set()
        # Kahn's algorithm for a topological order.
        worklist = [name for name, count in pending.items() if not count]
        while worklist:
            name = worklist.pop()
            f = self.facts[name]
            height[name] = 1 + max([height[c] for c in f.callees], default=0)
            is_bounded = name in self.loops or not f.calls_itself_last
            # Its callers keep a pending callee, so they are not called directly either.
            if f.calls_values or not is_bounded or f.nesting > deepest or height[name] > HIGHEST:
                continue
            result.add(name)
            for caller in callers[name]:
                pending[caller] -= 1
                if not pending[caller]:
                    worklist.append(caller)
        return result


def _without_aliases(function: Function) -> Function:
    """Return a function whose variables have one name each: `let x = y; b` is `b` with y for x.

    Normal form leaves these where a `let` was inside another; they would hide calls in tail position.
    """
    aliases: dict[Expr, Expr] = {}
    for node in reversed(post_order(function)):  # outer lets come first
        if type(node) is Let and type(node.value) is Var:
            aliases[node.var] = aliases.get(node.value, node.value)
    if not aliases:
        return function
    return rewrite(
        function, lambda pre, post: post.body if pre.var in aliases else post, only=(Let,), replace=dict(aliases)
    )


Work = Generator[Any, None, None]  # yields generators that write parts, which the trampoline runs first
DEEPEST = 14  # nested branches in one function: Python allows 100 levels, but deeply indented text is hard to read


class ProgramText:
    """Writes all functions of one module; holds the names, constants and kernels that they share."""

    def __init__(self, mod: IRModule, names: Names, library: VendoredDefinitions, entry: str) -> None:
        self.mod = mod
        self.names = names
        self.library = library
        self.constants = Constants(names, library.reserve(prelude.Attributes))
        self.kernels = Kernels(names, self.constants, library)
        self.functions = {name: _without_aliases(f) for name, f in mod.items() if not f.is_primitive}
        self.primitives = {name: f for name, f in mod.items() if f.is_primitive}
        self.calls = CallPlan(self.functions, DEEPEST)
        self.worklist: list[tuple[str, Function, str | None, Counter[Expr], dict[Expr, tuple[Var, ...]]]] = []
        self.uses = {name: _use_counts(f) for name, f in self.functions.items()}
        called = {n.name_hint for uses in self.uses.values() for n in uses if type(n) is GlobalVar}
        # The checked entry replaces the plain function of that name, so calls inside the program need another name.
        self.globals = {n: entry if n == entry and n not in called else names.make(n) for n in self.functions}
        self.constructors: dict[Constructor, str] = {}
        self.blocks: list[str] = []
        self.spans: dict[str, Span | None] = {}  # by line of text: its location in the Relay program

    def write(self) -> None:
        """Write all functions."""
        self.worklist = [
            (self.globals[n], f, n, self.uses[n], self._deep_blocks(n, f)) for n, f in reversed(self.functions.items())
        ]
        while self.worklist:  # grows: a block that is nested too deeply becomes a function of its own
            name, function, own, uses, deep_blocks = self.worklist.pop()
            text = FunctionText(self, Names(self.names), own, uses, deep_blocks)
            run_trampoline(text.function(name, function, 0))
            self.blocks.append("\n".join(text.lines) + "\n")

    def _deep_blocks(self, name: str, function: Function) -> dict[Expr, tuple[Var, ...]]:
        if self.calls.facts[name].nesting <= DEEPEST:
            return {}
        return DeepBlocks(function, 2 if name in self.calls.loops else 1, DEEPEST).free_vars

    def constructor(self, constructor: Constructor) -> str:
        """Return the name of the class of a constructor."""
        if constructor not in self.constructors:
            self.constructors[constructor] = self.names.make(constructor.name_hint)
        return self.constructors[constructor]


class Sink:
    """The destination of the value of a block: a variable, or the result of the function (None)."""

    def __init__(self, variable: str | None = None) -> None:
        self.variable = variable


class FunctionText:
    """The text of one function of the module, with the functions inside it."""

    def __init__(
        self,
        program: ProgramText,
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
        self.deep_blocks = deep_blocks  # blocks that are nested too deeply, with their free variables
        self.pending: dict[Var, str] = {}  # values that are inlined where their variable is used
        self.spans: dict[Expr, Span | None] = {}  # the source locations of inlined values
        self.loop: list[str] | None = None  # the parameters of the current function, if it is a loop

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
        """Write the statements that compute an expression and store it in `sink`."""
        rest = self.straight(expr, sink, depth)
        while isinstance(rest, Let):
            yield self._bind_block(rest.var, rest.value, depth)
            rest = self.straight(rest.body, sink, depth)
        if isinstance(rest, Function):
            yield self._finish_function(rest, sink, depth)
        elif rest is not None:
            yield self._branches(rest, sink, depth)

    def straight(self, expr: Expr, sink: Sink, depth: int) -> Expr | None:
        """Write a block up to a part with blocks of its own, for which a generator is needed.

        Return that part, or the let that binds it; None where nothing is left.
        """
        if depth > DEEPEST and isinstance(expr, (Let, If, Match)):
            self._outline(expr, sink, depth)
            return None
        while isinstance(expr, Let):
            if expr.body is expr.var:  # `let x = value; x` is the value
                expr = expr.value
                continue
            if isinstance(expr.value, (Function, If, Match, Let)):
                return expr
            self._bind(expr.var, expr.value, depth)
            expr = expr.body
        if isinstance(expr, (Function, If, Match)):
            return expr
        self._finish(expr, sink, depth)
        return None

    def _outline(self, expr: Expr, sink: Sink, depth: int) -> None:
        """Replace a block that is nested too deeply by the call of a new function with its text."""
        free = self.deep_blocks.get(expr)
        if free is None:
            free = tuple(free_vars(expr))
        self._flush(depth)
        name = self.program.names.make("rest")
        self.program.worklist.append((name, Function(free, expr), None, self.uses, self.deep_blocks))
        args = [self.texts[v] for v in free]
        if sink.variable is None:
            self._line(depth, f"return {self._prelude_name('TailCall')}({', '.join([name, *args])})")
        else:
            self._line(depth, f"{sink.variable} = yield {name}({', '.join(args)})")

    def _prelude_name(self, name: str) -> str:
        """Return the name in the module of a definition of the prelude."""
        return self.program.library.value(getattr(prelude, name), name)

    def _bind(self, var: Var, value: Expr, depth: int) -> None:
        if isinstance(value, (Constant, GlobalVar)):
            self.texts[var] = self._atom(value)
            return
        text, movable = self._expression(value)
        if movable and self.uses[var] == 1 and width(text) <= SHORT:
            self.pending[var] = text
            self.spans[var] = value.span
            return
        if text.startswith("(yield "):  # an assignment needs no parentheses around it
            text = text[1:-1]
        self.texts[var] = name = self.names.make(var.name_hint)
        self._line(depth, f"{name} = {text}", value.span)

    def _bind_block(self, var: Var, value: Expr, depth: int) -> Work:
        if isinstance(value, Function):
            self._flush(depth)
            self.texts[var] = name = self.names.make(var.name_hint)
            yield self.function(name, value, depth)
            return
        name = self.names.make(var.name_hint)
        yield self._branches(value, Sink(name), depth)
        self.texts[var] = name

    def _finish(self, expr: Expr, sink: Sink, depth: int) -> None:
        if isinstance(expr, Call) and sink.variable is None and self._tail(expr, depth):
            return
        text, _ = self._expression(expr)
        self._flush(depth)
        if text.startswith("(yield "):
            text = text[1:-1]
        self._store(text, sink, depth, expr.span if isinstance(expr, Call) else self.spans.get(expr))

    def _finish_function(self, expr: Function, sink: Sink, depth: int) -> Work:
        self._flush(depth)
        name = self.names.make("function")
        yield self.function(name, expr, depth)
        self._flush(depth)
        self._store(name, sink, depth, self.spans.get(expr))

    def _store(self, text: str, sink: Sink, depth: int, span: Span | None) -> None:
        self._line(depth, f"return {text}" if sink.variable is None else f"{sink.variable} = {text}", span)

    def _tail(self, call: Call, depth: int) -> bool:
        """Write a tail call that becomes an iteration or goes to the driver. Return False for any other call."""
        callee = call.op
        if self.loop is not None and isinstance(callee, GlobalVar) and callee.name_hint == self.own:
            args = [self._atom(a) for a in call.args]
            # All parameters are assigned at once, since an argument may be a parameter that changes.
            changed = [(p, a) for p, a in zip(self.loop, args, strict=True) if p != a]
            self._flush(depth)
            if changed:
                self._line(depth, f"{', '.join(p for p, _ in changed)} = {', '.join(a for _, a in changed)}")
            else:
                self._line(depth, "continue")  # a block needs a statement; the loop goes on by itself
            return True
        if isinstance(callee, (Op, Constructor)) or self._is_direct(callee):
            return False
        function = self._atom(callee)
        args = [self._atom(a) for a in call.args]
        self._flush(depth)
        self._line(depth, f"return {self._prelude_name('TailCall')}({', '.join([function, *args])})")
        return True

    def _is_direct(self, callee: Expr) -> bool:
        """Return True if Python calls the function directly, False if the driver does."""
        if not isinstance(callee, GlobalVar):
            return False
        return callee.name_hint in self.program.calls.direct or callee.name_hint in self.program.primitives

    # ------------------------------------------------------------ control
    def _branches(self, expr: Expr, sink: Sink, depth: int) -> Work:
        if isinstance(expr, Let):
            yield self.block(expr, sink, depth)
            return
        if isinstance(expr, If):
            cond = self._atom(expr.cond)
            self._flush(depth)
            self._line(depth, f"if {cond}:")
            if (rest := self.straight(expr.true_branch, sink, depth + 1)) is not None:
                yield self.block(rest, sink, depth + 1)
            self._line(depth, "else:")
            if (rest := self.straight(expr.false_branch, sink, depth + 1)) is not None:
                yield self.block(rest, sink, depth + 1)
            return
        assert isinstance(expr, Match)
        data = self._atom(expr.data)
        self._flush(depth)
        self._line(depth, f"match {data}:")
        total = False  # Python rejects a clause after one that matches everything
        for clause in expr.clauses:
            if total:
                break
            pattern = self._pattern(clause.lhs)
            total = not isinstance(clause.lhs, (PatternConstructor, PatternTuple))
            self._line(depth + 1, f"case {pattern}:")
            yield self.block(clause.rhs, sink, depth + 2)
        if not total:
            error = self._prelude_name("ProgramError")
            self._line(depth + 1, "case _:")
            self._line(depth + 2, f'raise {error}("no arm of the match fits")')

    def _pattern(self, root: Pattern) -> str:
        """Return a pattern as a Python pattern, and name its variables."""
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
        """Assign the pending values to variables: the next statement may change what they read."""
        for var, text in self.pending.items():
            self.texts[var] = name = self.names.make(var.name_hint)
            self._line(depth, f"{name} = {text}", self.spans[var])
        self.pending = {}

    # ------------------------------------------------------------ expressions
    def _atom(self, expr: Expr) -> str:
        """Return an argument as text, the text of its value if that is pending."""
        if isinstance(expr, Var):
            text = self.pending.pop(expr, None) or self.texts.get(expr)
            if text is None:
                raise outside_scope(expr)
            return text
        if isinstance(expr, Constant):
            return self.program.constants.array(expr.data)
        if isinstance(expr, GlobalVar):
            name = self.program.globals.get(expr.name_hint)
            if name is not None:
                return name
            function = self.program.primitives[expr.name_hint]
            params = [f"p{i}" for i in range(len(function.params))]
            return f"(lambda {', '.join(params)}: {self.program.kernels.call(expr.name_hint, function, params).text})"
        if isinstance(expr, Constructor):
            return self.program.constructor(expr)
        if isinstance(expr, Op):
            raise _operator_value_error(expr)
        raise VerifyError(
            Diagnostic(f"an operand in A-normal form is a variable, not {type_in_words(expr)}", expr.span)
        )

    def _expression(self, expr: Expr) -> tuple[str, bool]:
        """Return an expression as text, and whether its evaluation may be moved later in the block."""
        match expr:
            case Var() | Constant() | GlobalVar() | Constructor():
                return self._atom(expr), True
            case Tuple(fields=fields):
                return f"({''.join(f'{self._atom(f)}, ' for f in fields).rstrip(' ')})", True
            case TupleGetItem(tuple_value=value, index=index):
                return f"{wrap(self._atom(value))}[{index}]", True
            case Call():
                return self._call(expr)
            case RefCreate(value=value):
                return f"{self._prelude_name('Ref')}({self._atom(value)})", False
            case RefRead(ref=ref):
                return f"{wrap(self._atom(ref))}.value", False
            case RefWrite(ref=ref, value=value):
                return f"{wrap(self._atom(ref))}.write({self._atom(value)})", False
            case Op():
                raise _operator_value_error(expr)
            case _:
                raise VerifyError(Diagnostic(f"{type_in_words(expr)} cannot be written in Python here", expr.span))

    def _call(self, call: Call) -> tuple[str, bool]:
        callee = call.op
        args = [self._atom(a) for a in call.args]
        if isinstance(callee, Op):
            return self._operator(call, callee, args), True
        if isinstance(callee, Constructor):
            return f"{self.program.constructor(callee)}({', '.join(args)})", True
        if isinstance(callee, GlobalVar) and (primitive := self.program.primitives.get(callee.name_hint)) is not None:
            return self.program.kernels.call(callee.name_hint, primitive, args).text, True
        text = f"{wrap(self._atom(callee))}({', '.join(args)})"
        return (text, False) if self._is_direct(callee) else (f"(yield {text})", False)

    def _operator(self, call: Call, op: Op, args: Sequence[str]) -> str:
        # All devices are this CPU, so copies between them are the value itself.
        if op.name in ("device_copy", "on_device", "annotation.stop_fusion", "memory.copy"):
            return args[0]
        return operator_text(call, tuple(args), self.program.kernels).text


def _use_counts(function: Function) -> Counter[Expr]:
    """Return how often each variable and global variable is used."""
    inner = [node for node in post_order(function) if type(node) not in LEAVES]
    return Counter([part for node in inner for part in _operands(node) if type(part) is Var or type(part) is GlobalVar])


def _operands(node: Expr) -> Sequence[Expr]:
    """Return the children of a node without the variables that it binds."""
    if type(node) is Let:
        return node.value, node.body
    return (node.body,) if type(node) is Function else children(node)


# ---------------------------------------------------------------- blocks that are too deep for Python
# Blocks that are nested too deeply for one Python function, with the free variables that become their parameters. One
# pass over a function computes all of them and merges smaller sets into larger ones: computing the free variables of
# each block alone would be quadratic in the nesting.
Set = dict[Var, None]  # ordered, so that the text is the same in every run
Search = Generator[Any, Set, Set]  # yields a generator for a part, is sent its free variables, returns its own


class DeepBlocks:
    """The free variables of the blocks in `function` that are nested deeper than `deepest`, counted from `depth`."""

    def __init__(self, function: Function, depth: int, deepest: int) -> None:
        self.deepest = deepest
        self.free_vars: dict[Expr, tuple[Var, ...]] = {}
        run_trampoline(self._block(function.body, depth))

    def _block(self, block: Expr, depth: int) -> Search:
        is_deep = depth > self.deepest and isinstance(block, (Let, If, Match))
        inner = 1 if is_deep else depth  # the block becomes a function, whose nesting begins again
        bound: list[tuple[Var, Set]] = []
        expr = block
        while isinstance(expr, Let):
            if expr.body is expr.var:
                expr = expr.value
                continue
            bound.append((expr.var, _operand_vars(expr.value) or (yield self._value(expr.value, inner))))
            expr = expr.body
        result: Set = _operand_vars(expr) or (yield self._value(expr, inner))
        for var, free in reversed(bound):
            result = _merge(result, free)
            result.pop(var, None)  # after the merge: a recursive function has its own variable free
        if is_deep:
            self.free_vars[block] = tuple(result)
        return result

    def _value(self, expr: Expr, depth: int) -> Search:
        match expr:
            case Let():
                return (yield self._block(expr, depth))
            case Function(params=params, body=body):
                return _without((yield self._block(body, depth + 1)), params)
            case If(cond=cond, true_branch=yes, false_branch=no):
                result = _operand_vars(cond) or dict.fromkeys(free_vars(cond))
                result = _merge((yield self._block(yes, depth + 1)), result)
                return _merge(result, (yield self._block(no, depth + 1)))
            case Match(data=data, clauses=clauses):
                result = dict.fromkeys(free_vars(data))
                for clause in clauses:
                    arm = yield self._block(clause.rhs, depth + 2)
                    result = _merge(result, _without(arm, pattern_vars(clause.lhs)))
                return result
            case _:
                return dict.fromkeys(free_vars(expr))


def _operand_vars(expr: Expr) -> Set | None:
    """Return the free variables of a variable and of a call on variables and constants; None for any other value."""
    if type(expr) is Var:
        return {expr: None}
    if type(expr) is not Call or any(type(part) not in LEAVES for part in (expr.op, *expr.args)):
        return None
    return {part: None for part in (expr.op, *expr.args) if type(part) is Var}


def _merge(a: Set, b: Set) -> Set:
    """Return the union, built in place in the larger of the two sets, which have no other owner."""
    if len(a) < len(b):
        a, b = b, a
    a.update(b)
    return a


def _without(variables: Set, bound: Iterable[Var]) -> Set:
    for var in bound:
        variables.pop(var, None)
    return variables


def _operator_value_error(op: Op) -> VerifyError:
    message = f"the operator `{op.name}` cannot be written in Python as a value here"
    return VerifyError(Diagnostic(message, op.span, hint="wrap it in a function, `fn`"))
