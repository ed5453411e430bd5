"""The meaning of Relay: call by value, arguments from left to right and then the callee, a shared node evaluated once.

What does a program mean? What this evaluator returns: every other way to run it is compared with this one. The obvious
evaluator is a recursive function of a node, and fails twice: a program nests deeper than Python's stack, and a shared
node has several users. So the evaluator keeps its own stack of *tasks*. A task whose operands have no value yet pushes
these and is tried again after them (`_loop`):

    stack, its top at the right      values
    call                             x                      add(e, e), where e is exp(x) and x a parameter
    call  add  e  e                  x                      the callee `add` is computed last, so it is below
    call  add  e  e  exp             x
    call  add  e  e                  x, exp
    call  add  e                     x, exp, e
    call  add                        x, exp, e              the lower e has its value: it is dropped
    call                             x, exp, e, add
    (empty)                          x, exp, e, add, call

Each call of a function makes an `Activation`, which maps the nodes of its body to their values; a closure remembers the
activation that made it (`Closure.activation`). A call of a closure pushes the body, and below it a `Return` that gives
the value of the body to the call. So the call has its value when it is next on top, and is dropped: tried again, it
would call twice. Calls use the same stack, and programs recurse as deep as `limits.frames`. If the call is the last
thing that a body does, the tasks of that body are dropped first (`_without_caller`), so that a loop holds the values of
one iteration.

    >>> import passlab
    >>> mod = passlab.transform.InferType()(passlab.parse('''
    ...     def @sum(%n: int32) -> int32 { if (%n == 0) { 0 } else { %n + @sum(%n - 1) } }
    ... '''))
    >>> print(Evaluator(mod).run("sum", [20000]))
    200010000

A node that occurs in several nested functions belongs to the innermost one around all its uses and is evaluated there
once, exactly as ToANormalForm would bind it; `schedule` computes these *owners*. If it has effects and is first used in
a branch, it is evaluated before the branch is entered (`early`): it belongs to the scope around the branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from passlab import limits
from passlab.analysis.well_formed import check_well_formed
from passlab.arguments import checked
from passlab.errors import Diagnostic, InterruptedRunError, Interruption, LimitError, RunError, counted
from passlab.evaluate.arguments import check_argument
from passlab.evaluate.memory import MEMORY_OPERATORS
from passlab.evaluate.operators import apply_operator, describe
from passlab.evaluate.schedule import Schedule
from passlab.evaluate.shared_results import shared_result
from passlab.evaluate.values import ADTValue, Closure, RefValue, Value
from passlab.ir.adt import Constructor, Pattern, PatternConstructor, PatternTuple, PatternVar, PatternWildcard
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

CALLABLES = (Closure, Constructor, Op)  # the functions among values
Schedules = WeakKeyDictionary[Function, Schedule]  # evaluators of one program may share one


class Return:
    """A task that is not a node: give the value of a function's body to the call that waits for it."""

    __slots__ = ("body", "call", "caller", "span")

    def __init__(self, call: Call, caller: Activation, body: Expr) -> None:
        self.call = call
        self.caller = caller
        self.body = body
        self.span = call.span


Task = Expr | Return


class Activation:
    """One call of a function: the values of its nodes. `outer` is the activation that created its closure.

    `killed` are the variables whose memory was released: no kernel may be called on them any more.
    """

    __slots__ = ("depth", "early", "function", "schedule", "killed", "values", "outer", "owners")

    def __init__(self, function: Function, outer: Activation | None, schedule: Schedule, depth: int) -> None:
        self.function = function
        self.outer = outer
        self.schedule = schedule
        self.owners = schedule.owners
        self.early = schedule.early
        self.values: dict[Expr, Value] = {}
        self.killed: set[Expr] = set()
        self.depth = depth

    def owner_of(self, node: Task) -> Activation:
        """Return the activation that owns `node`: this one or one around it."""
        if self.owners is None or isinstance(node, Return):  # most functions have no functions inside
            return self
        owner = self.owners.get(node, self.function)
        act = self
        while act.function is not owner and act.outer is not None:
            act = act.outer
        return act


Waits = list[tuple[Task, Activation]]  # the tasks that a step waits for, each with the activation that owns it


class Evaluator:
    """Evaluates functions and expressions of one module.

    >>> mod = passlab.parse("def @twice(%x: float32) { %x + %x }")
    >>> print(passlab.evaluate.Evaluator(mod).run("twice", [np.float32(4)]))
    8.0
    """

    def __init__(self, mod: IRModule | None = None, schedules: Schedules | None = None) -> None:
        self.mod = mod if mod is not None else IRModule()
        self._schedules = schedules if schedules is not None else WeakKeyDictionary()
        self._globals: dict[str, Closure] = {}
        self._steps = STEPS  # subclasses that observe a run replace steps here, so that other runs pay nothing

    @checked
    def run(self, entry: str | GlobalVar | Function, args: Sequence[Any] = ()) -> Value:
        """Call a function of the module (or a function literal) on `args`: arrays, numbers, tuples, program values.

        Raises `RunError` for wrong arguments, and for errors of the run, located in the program.
        """
        return self.apply(*self._start_state(entry, args))

    @checked
    def values(self, entry: str | GlobalVar | Function, args: Sequence[Any] = ()) -> dict[Expr, Value]:
        """Call a function as `run` does, and return the values of its nodes, its body among them.

        These are the nodes evaluated in this call: without branches not taken and other functions.
        """
        closure, values = self._start_state(entry, args)
        act = self._enter(closure, values, 1, None)
        self._loop(closure.function.body, act)
        return act.values

    def _start_state(self, entry: str | GlobalVar | Function, args: Sequence[Any]) -> tuple[Closure, list[Value]]:
        function = entry if isinstance(entry, Function) else self.mod[entry]
        if len(args) != len(function.params):
            expected = tuple((f"%{p.name_hint}: {p.type_annotation}", None) for p in function.params[:8])
            raise RunError(Diagnostic(_wrong_count(function, args), function.span, notes=expected))
        values = [check_argument(p, a, CALLABLES) for p, a in zip(function.params, args, strict=True)]
        return Closure(function, None, self._schedule_of(function)), values

    def apply(self, callee: Value, args: Sequence[Value]) -> Value:
        """Call a function value on values, unchecked: what a run calls, with values of the run."""
        if isinstance(callee, Op):
            return apply_operator(callee, None, args)
        if isinstance(callee, Constructor):
            return ADTValue(callee, args)
        act = self._enter(callee, args, 1, None)
        return self._loop(callee.function.body, act)

    @checked
    def call_value(self, callee: Closure, args: Sequence[Any]) -> Value:
        """Call a function value on `args`, which are checked as in `run`.

        Raises `RunError` for a wrong number of arguments.
        """
        params = callee.function.params
        if len(args) != len(params):
            raise RunError(_wrong_count(callee.function, args))
        return self.apply(callee, [check_argument(p, a, CALLABLES) for p, a in zip(params, args, strict=True)])

    def evaluate(self, expr: Expr) -> Value:
        """Return the value of an expression without free variables, a `Closure` for a function."""
        if isinstance(expr, GlobalVar):
            return self._global(expr)
        wrapper = Function((), expr)
        return self._loop(expr, Activation(wrapper, None, self._schedule_of(wrapper), 0))

    # ------------------------------------------------------------ the machine
    def _loop(self, root: Expr, act: Activation) -> Value:
        """Evaluate `root` in `act`. A task with missing operands pushes these and is tried again after them."""
        stack: list[tuple[Task, Activation]] = [(root, act)]
        steps = self._steps
        drops_callers = steps is STEPS  # who observes a run sees the value of each node
        try:
            while stack:
                node, at = stack[-1]
                owner = at.owner_of(node)
                # A shared node is on the stack once for each user, and evaluated for the first.
                if node in owner.values:
                    stack.pop()
                    continue
                missing = steps[type(node)](self, node, owner)
                if missing:
                    if drops_callers and type(missing[-1][0]) is Return:
                        missing = _without_caller(stack, missing)
                    stack.extend(missing[::-1])  # reversed, so that the first operand is on top
                else:
                    stack.pop()
        except Interruption:  # a KeyboardInterrupt that has its place already
            raise
        except KeyboardInterrupt as error:
            span = stack[-1][0].span if stack else root.span
            raise InterruptedRunError(Diagnostic("the program was interrupted", span)) from error
        return act.owner_of(root).values[root]

    def _enter(self, closure: Closure, args: Sequence[Value], depth: int, call: Call | None) -> Activation:
        function = closure.function
        if len(args) != len(function.params):
            raise RunError(Diagnostic(_wrong_count(function, args), call.span if call else None))
        if depth > limits.current().frames:
            what = f"calls are nested deeper than the limit `frames` ({limits.current().frames:,})"
            hint = "raise it with `passlab.limits.override(frames=...)`, or look for an endless recursion"
            raise LimitError(Diagnostic(what, call.span if call else None, hint=hint))
        act = Activation(function, closure.activation, closure.schedule, depth)
        act.values.update(zip(function.params, args, strict=True))
        return act

    def _global(self, var: GlobalVar) -> Closure:
        closure = self._globals.get(var.name_hint)
        if closure is None:
            function = self.mod[var]
            closure = self._globals[var.name_hint] = Closure(function, None, self._schedule_of(function))
        return closure

    def _schedule_of(self, function: Function) -> Schedule:
        schedule = self._schedules.get(function)
        if schedule is None:
            check_well_formed(function)
            schedule = self._schedules[function] = Schedule(function)
        return schedule


def _wrong_count(function: Function, args: Sequence[Any]) -> str:
    return f"the function takes {counted(len(function.params), 'argument')}, not {len(args)}"


# ---------------------------------------------------------------- one step per kind of node
# A step returns the tasks it waits for; when there are none, it has put the node's value into `act.values`.
_DONE: Waits = []  # shared by all steps and never changed


def _wait(act: Activation, *nodes: Expr) -> Waits:
    """Return the operands that have no value yet, each with the activation that owns it."""
    waits: Waits = []
    for node in nodes:
        owner = act.owner_of(node)
        if node not in owner.values:
            waits.append((node, owner))
    return waits


def _value(act: Activation, node: Expr) -> Value:
    return act.owner_of(node).values[node]


def _constant(ev: Evaluator, node: Constant, act: Activation) -> Waits:
    act.values[node] = node.data
    return _DONE


def _var(ev: Evaluator, node: Var, act: Activation) -> Waits:
    # A free variable of a closure has its value in an activation around it.
    holder: Activation | None = act
    while holder is not None and node not in holder.values:
        holder = holder.outer
    if holder is None:
        raise RunError(
            Diagnostic(
                f"the variable %{node.name_hint} has no value", node.span, hint="it is free, or used before it is bound"
            )
        )
    act.values[node] = holder.values[node]
    return _DONE


def _itself(ev: Evaluator, node: Expr, act: Activation) -> Waits:
    act.values[node] = node
    return _DONE


def _global_var(ev: Evaluator, node: GlobalVar, act: Activation) -> Waits:
    act.values[node] = ev._global(node)
    return _DONE


def _function(ev: Evaluator, node: Function, act: Activation) -> Waits:
    if node in act.early and (waits := _wait(act, *act.early[node])):
        return waits
    act.values[node] = Closure(node, act, act.schedule)
    return _DONE


def _tuple(ev: Evaluator, node: Tuple, act: Activation) -> Waits:
    waits = _wait(act, *node.fields)
    if not waits:
        act.values[node] = tuple(_value(act, f) for f in node.fields)
    return waits


def _projection(ev: Evaluator, node: TupleGetItem, act: Activation) -> Waits:
    waits = _wait(act, node.tuple_value)
    if not waits:
        whole = _value(act, node.tuple_value)
        if not isinstance(whole, tuple) or not -len(whole) <= node.index < len(whole):
            raise RunError(Diagnostic(f"{describe(whole)} has no element {node.index}", node.span))
        act.values[node] = whole[node.index]
    return waits


def _let(ev: Evaluator, node: Let, act: Activation) -> Waits:
    # The step is tried again after the body, when the variable is bound already.
    if node.var not in act.values:
        waits = _wait(act, node.value)
        if waits:
            return waits
        act.values[node.var] = _value(act, node.value)  # a function bound to it finds itself here when it is called
    return _inner(node, node.body, act)


def _if(ev: Evaluator, node: If, act: Activation) -> Waits:
    waits = _wait(act, node.cond)
    if waits:
        return waits
    value = _value(act, node.cond)
    if not isinstance(value, np.ndarray) or value.ndim != 0:
        raise RunError(
            Diagnostic("a condition must be a scalar", node.cond.span, expected="bool", found=describe(value))
        )
    return _inner(node, node.true_branch if value else node.false_branch, act)


def _inner(node: Expr, part: Expr, act: Activation) -> Waits:
    """Give `node` the value of `part`, which is in a scope that the node opens."""
    if node in act.early and (waits := _wait(act, *act.early[node])):
        return waits
    waits = _wait(act, part)
    if not waits:
        act.values[node] = _value(act, part)
    return waits


def _call(ev: Evaluator, node: Call, act: Activation) -> Waits:
    waits = _wait(act, *node.args, node.op)  # in the order of evaluation: the callee comes last
    if waits:
        return waits
    callee, args = _value(act, node.op), [_value(act, a) for a in node.args]
    if isinstance(callee, Op):
        memory_operator = MEMORY_OPERATORS.get(callee.name)
        if memory_operator is not None:
            act.values[node] = memory_operator(ev, node, act, args)
        else:
            act.values[node] = shared_result(callee, node.attrs, args, node.span)
    elif isinstance(callee, Constructor):
        act.values[node] = ADTValue(callee, args)
    elif isinstance(callee, Closure):
        inner = ev._enter(callee, args, act.depth + 1, node)
        body = callee.function.body
        # The body is evaluated in the activation of the callee; then `Return` copies its value to the caller's.
        return [(body, inner), (Return(node, act, body), inner)]
    else:
        raise RunError(Diagnostic(f"{describe(callee)} cannot be called", node.span))
    return _DONE


def _without_caller(stack: Waits, callee: Waits) -> Waits:
    """Return the tasks of a callee. If the call is the last act of its caller, the caller leaves the stack.

    The call is on top of the stack. Its callee then returns to the caller's caller. The first activation stays,
    for `values` returns its values.
    """
    part, act = stack[-1]
    for at in range(len(stack) - 2, -1, -1):
        node, owner = stack[at]
        if owner is act and isinstance(node, Return):
            body, inner = callee[0]
            assert isinstance(body, Expr)
            del stack[at:]
            return [callee[0], (Return(node.call, node.caller, body), inner)]
        if owner is not act or node in act.early or not _is_last_part(node, part, act):
            break
        part = node
    return callee


def _is_last_part(node: Task, part: Task, act: Activation) -> bool:
    """Whether all that a node still needs for its value is the value of a part."""
    match node:
        case Let():
            return part is node.body and node.var in act.values
        case If():
            is_branch = part is node.true_branch or part is node.false_branch
            return is_branch and node.cond in act.owner_of(node.cond).values
        case Match():
            return any(part is clause.rhs for clause in node.clauses) and node.data in act.owner_of(node.data).values
    return False


def _return(ev: Evaluator, node: Return, act: Activation) -> Waits:
    node.caller.values[node.call] = _value(act, node.body)
    return _DONE


def _ref_create(ev: Evaluator, node: RefCreate, act: Activation) -> Waits:
    waits = _wait(act, node.value)
    if not waits:
        act.values[node] = RefValue(_value(act, node.value))
    return waits


def _ref_read(ev: Evaluator, node: RefRead, act: Activation) -> Waits:
    waits = _wait(act, node.ref)
    if not waits:
        act.values[node] = _value(act, node.ref).value
    return waits


def _ref_write(ev: Evaluator, node: RefWrite, act: Activation) -> Waits:
    waits = _wait(act, node.ref, node.value)
    if not waits:
        _value(act, node.ref).value = _value(act, node.value)
        act.values[node] = ()
    return waits


def _match(ev: Evaluator, node: Match, act: Activation) -> Waits:
    waits = _wait(act, node.data)
    if waits:
        return waits
    data = _value(act, node.data)
    for clause in node.clauses:
        bound = match_pattern(clause.lhs, data)
        if bound is not None:
            act.values.update(bound)  # the step is tried again after the arm, and binds the same values
            return _inner(node, clause.rhs, act)
    raise RunError(
        Diagnostic(
            f"no arm of the match fits {data!r}", node.span, hint="add the missing case, or a last arm `_ => ...`"
        )
    )


def match_pattern(pattern: Pattern, value: Value) -> dict[Expr, Value] | None:
    """Return the variables a pattern binds when it fits a value, else None."""
    bound: dict[Expr, Value] = {}
    stack: list[tuple[Pattern, Value]] = [(pattern, value)]
    while stack:
        at, val = stack.pop()
        match at:
            case PatternVar():
                bound[at.var] = val
            case PatternConstructor():
                # Not by identity: an argument may come from another copy of the type's definition.
                same = val.constructor.name_hint == at.constructor.name_hint and val.tag == at.constructor.tag
                if not same or len(at.patterns) != len(val.fields):
                    return None
                stack.extend(zip(at.patterns, val.fields, strict=True))
            case PatternTuple():
                if len(at.patterns) != len(val):
                    return None
                stack.extend(zip(at.patterns, val, strict=True))
            case PatternWildcard():
                pass  # it fits everything and binds nothing
    return bound


Step = Callable[[Evaluator, Any, Activation], Waits]
STEPS: dict[type, Step] = {
    Constant: _constant, Var: _var, GlobalVar: _global_var, Op: _itself, Constructor: _itself, Function: _function,
    Tuple: _tuple, TupleGetItem: _projection, Let: _let, If: _if, Call: _call, RefCreate: _ref_create,
    RefRead: _ref_read, RefWrite: _ref_write, Match: _match, Return: _return,
}  # fmt: skip


def evaluate_expr(expr: Expr, mod: IRModule | None = None) -> Value:
    """Return the value of an expression without free variables, in the given module.

    >>> print(passlab.evaluate.evaluate_expr(passlab.parse_expr("1f + 2f")))
    3.0
    """
    return Evaluator(mod).evaluate(expr)
