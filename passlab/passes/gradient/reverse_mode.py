"""Reverse-mode derivatives of any function, with references, through closures, branches, data and recursion.

Each tensor becomes a pair of the tensor and a reference to its accumulated derivative. Each operator prepends one step
to the backward run: `bp` is a reference to a function that executes all steps, the latest first; callers pass their
`bp` to the functions they call. Independent of the pass manager.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from passlab.errors import Diagnostic
from passlab.ir.adt import Constructor
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
    set_checked_type,
)
from passlab.ir.op import Op, OpCall, is_op_call
from passlab.ir.span import Span
from passlab.ir.types import FuncType, RefType, TensorType, TupleType, Type, holds, rebuild_type, type_nodes
from passlab.ir.walk import children, let_chain, make_lets, post_order, rebuild
from passlab.op import make
from passlab.passes.gradient.checkpoints import REPEATED
from passlab.rewriting.let_binding import bind_in_scopes, evaluation_children, in_normal_form, is_atom
from passlab.rewriting.tuple_values import fieldwise

_NOTHING = TupleType(())
STEPS = RefType(FuncType((), _NOTHING))  # the type of `bp`


def normal(function: Function) -> Function:
    """Return a function in A-normal form, the input of the derivation."""
    calls = [node for node in post_order(function.body) if type(node) is Call]
    if in_normal_form(function) and all(is_atom(arg) for call in calls for arg in call.args):
        return function
    return bind_in_scopes(function, lambda node, plan: True, flatten=True)


def obstacles(name: str, function: Function) -> list[Diagnostic]:
    """Return the reasons why a function in A-normal form has no derivative, empty if it has one."""
    result = []
    for node in post_order(function.body):
        if type(node) is Function and node.is_primitive:
            result.append(Diagnostic(f"{name} holds a fused function", node.span, hint="run DefuseOps first"))
        callee = node.op if type(node) is Call else None
        if type(callee) is Op and callee.spec.gradient is None:
            result.append(without_gradient(callee, node.span))
        for part in children(node):
            if type(part) is Op and part is not callee:
                result.append(
                    Diagnostic(f"the operator `{part}` is used as a value", node.span, hint="wrap it in `fn`")
                )
            elif type(part) is Constructor:
                result += _constructor_obstacles(part, node, part is callee)
    return result


def without_gradient(op: Op, span: Span | None) -> Diagnostic:
    """Return a diagnostic that says why an operator cannot be differentiated."""
    return Diagnostic(f"the operator `{op}` has no gradient", span, hint=op.spec.no_gradient or None)


def _constructor_obstacles(constructor: Constructor, node: Expr, called: bool) -> list[Diagnostic]:
    if constructor.inputs and not called:
        what = f"the constructor `{constructor}` is used as a value"
        return [Diagnostic(what, node.span, hint="run EtaExpand(expand_constructor=True) first")]
    if any(holds(i, TensorType) or holds(i, FuncType) for i in constructor.inputs):
        what = f"the constructor `{constructor}` holds tensors or functions that are not of a type parameter"
        return [Diagnostic(what, node.span)]
    return []


def reversed_type(ty: Any) -> Any:
    """Return the type that values of `ty` (or None) have in the derived function."""
    if ty is None:
        return None
    memo: dict[Type, Type] = {}
    for node in type_nodes(ty):
        if type(node) is TensorType:
            memo[node] = TupleType([node, RefType(node)])
            continue
        result = rebuild_type(node, memo.__getitem__)
        if isinstance(result, FuncType):
            result = FuncType((*result.arg_types, STEPS), result.ret_type, result.type_params, result.type_constraints)
        memo[node] = result
    return memo[ty]


class Lets:
    """Bindings under construction."""

    def __init__(self) -> None:
        self._bound: list[tuple[Var, Expr]] = []

    def push(self, value: Expr, ty: Type | None = None) -> Var:
        """Bind a value to a new variable of type `ty`, if given."""
        var = Var(f"x_{len(self._bound)}", ty)
        if ty is not None:
            set_checked_type(var, ty)
        self._bound.append((var, value))
        return var

    def bind(self, var: Var, value: Expr) -> None:
        """Bind a value to a variable; if the value is the variable bound last, rename that binding instead."""
        if self._bound and self._bound[-1][0] is value:
            value = self._bound.pop()[1]
        self._bound.append((var, value))

    def over(self, body: Expr) -> Expr:
        """Return `body` under the bindings."""
        return make_lets(self._bound, body)

    def flat(self, expr: Expr, table: dict[Expr, Expr]) -> Expr:
        """Bind all parts of an expression of operators and tuples, except those in `table`; return its atom."""
        now = dict(table)
        for node in post_order(expr, enter=lambda e: e not in table):
            if node not in table and not is_atom(node):
                now[node] = self.push(rebuild(node, lambda e: now.get(e, e)))
        return now.get(expr, expr)

    def each(self, values: Sequence[Expr], ty: Type, leaf: Callable[..., Expr], typed: bool = False) -> Expr:
        """Apply `leaf` to the corresponding tensors of several values of one type; bind the result tuple by tuple.

        `typed` says that the results have that type as well.
        """
        result = fieldwise(
            values,
            [ty],
            lambda now, types: self._leaf(leaf, now, types[0], typed),
            lambda fields, now: self.push(Tuple(fields)),
            lambda value, i: self.push(TupleGetItem(value, i)),
        )
        return self.push(result, ty) if typed and type(ty) is TupleType else result

    def _leaf(self, leaf: Callable[..., Expr], values: Sequence[Expr], ty: Type, typed: bool) -> Var:
        assert type(ty) is TensorType
        return self.push(leaf(*values), ty if typed else None)

    def value(self, pair: Expr, ty: Type) -> Expr:
        """Return the tensors of a value with derivatives."""
        return self.each([pair], ty, lambda p: TupleGetItem(p, 0), typed=True)

    def derivative(self, pair: Expr, ty: Type) -> Expr:
        """Return the accumulated derivatives of a value."""
        return self.each([pair], ty, lambda p: RefRead(self.push(TupleGetItem(p, 1))), typed=True)

    def with_derivative(self, value: Expr, ty: Type) -> Expr:
        """Pair a value with derivatives of zero."""
        return self.each([value], ty, lambda v: Tuple([v, self.push(RefCreate(self.push(make("zeros_like", v))))]))

    def add_to(self, pair: Expr, part: Expr, ty: Type) -> None:
        """Add to the derivatives of a value."""
        self.each([pair, part], ty, self._add_to)

    def move(self, pair: Expr, to: Expr) -> Expr:
        """Give one tensor the derivative of another."""
        derivative = self.push(RefRead(self.push(TupleGetItem(pair, 1))))
        return RefWrite(self.push(TupleGetItem(to, 1)), derivative)

    def _add_to(self, pair: Expr, part: Expr) -> Expr:
        cell = self.push(TupleGetItem(pair, 1))
        return RefWrite(cell, self.push(make("add", self.push(RefRead(cell)), part)))


class ReverseMode:
    """Derives functions. `renamed` maps global functions to the names of their derived forms."""

    def __init__(self, renamed: Mapping[str, GlobalVar]) -> None:
        self._renamed = renamed
        self._made: dict[Expr, Expr] = {}
        self._steps: dict[Function, Var] = {}  # the `bp` of each function literal
        self._repeated: dict[Expr, Function] = {}  # the functions of checkpoints by variable

    def of_global(self, function: Function) -> Function:
        """Return the derived form of a typed global function in A-normal form; it takes `bp` as well."""
        self._steps[function] = Var("bp", STEPS)
        self._inner_bodies(function.body, self._steps[function], itself=True)
        return self._function(function)

    def of_entry(self, function: Function) -> Function:
        """Return the derived form of a typed function of tensors in A-normal form, which returns (value,
        derivatives).
        """
        ty = function.body.checked_type
        lets = Lets()
        steps = Var("bp", STEPS)
        lets.bind(steps, RefCreate(lets.push(Function((), Tuple(()), _NOTHING))))
        for param in function.params:
            self._made[param] = lets.with_derivative(param, param.checked_type)
        self._inner_bodies(function.body, steps, itself=False)
        result = self._chain(function.body, steps, lets)
        self._seed(result, ty, lets)
        lets.push(Call(lets.push(RefRead(steps)), ()))
        inputs = lets.push(Tuple([lets.derivative(self._made[p], p.checked_type) for p in function.params]))
        body = lets.over(lets.push(Tuple([lets.value(result, ty), inputs])))
        types = TupleType([ty, TupleType([p.checked_type for p in function.params])])
        return Function(function.params, body, types, (), function.attrs, function.span)

    def _seed(self, result: Expr, ty: Type, lets: Lets) -> None:
        """Set the derivative of the first tensor of the result to ones."""
        while isinstance(ty, TupleType):
            index = next(i for i, field in enumerate(ty.fields) if holds(field, TensorType))
            result, ty = lets.push(TupleGetItem(result, index)), ty.fields[index]
        cell = lets.push(TupleGetItem(result, 1))
        lets.push(RefWrite(cell, lets.push(make("ones_like", lets.push(TupleGetItem(result, 0))))))

    # ------------------------------------------------------------ bodies
    def _inner_bodies(self, body: Expr, steps: Var, itself: bool) -> None:
        """Derive the bodies of functions, branches and arms inside a body, and with `itself` the body."""
        order = [(body, steps)]
        for at, under in order:
            for let in let_chain(at)[0]:
                value = let.value
                if isinstance(value, Function):
                    own = self._steps[value] = Var("bp", STEPS)
                    order.append((value.body, own))
                elif isinstance(value, (If, Match)):
                    order += [(arm, under) for arm in evaluation_children(value)[1:]]
        for at, under in reversed(order if itself else order[1:]):
            if type(at) is Let:
                lets = Lets()
                result = self._chain(at, under, lets)
                self._made[at] = lets.over(result)

    def _chain(self, body: Expr, steps: Var, lets: Lets) -> Expr:
        """Bind the derived lets of a body, and return the atom it ends in."""
        bindings, last = let_chain(body)
        for let in bindings:
            if type(let.value) is Function and REPEATED in let.value.attrs:
                self._repeated[let.var] = let.value
            var: Any = self._new(let.var)
            lets.bind(var, self._value(let.value, steps, lets))
        return self._new(last)

    def _new(self, node: Expr) -> Expr:
        result = self._made.get(node)
        if result is not None:
            return result
        if isinstance(node, Var):
            result = Var(node.name_hint, reversed_type(node.type_annotation), node.span, node.virtual_device)
            self._made[node] = result
            return result
        return self._renamed[node.name_hint] if isinstance(node, GlobalVar) else node

    def _value(self, node: Expr, steps: Var, lets: Lets) -> Expr:
        """Return the derived form of a bound value."""
        if isinstance(node, Call):
            return self._call(node, steps, lets)
        if isinstance(node, Function):
            return self._function(node)
        if isinstance(node, Constant):
            return lets.with_derivative(lets.push(node), node.checked_type)
        if isinstance(node, If):
            yes, no = self._new(node.true_branch), self._new(node.false_branch)
            return If(lets.push(TupleGetItem(self._new(node.cond), 0)), yes, no, node.span)
        return self._new(node) if is_atom(node) else rebuild(node, self._new)

    def _function(self, function: Function) -> Function:
        params: Any = (*map(self._new, function.params), self._steps[function])
        ret = reversed_type(function.ret_type)
        return Function(params, self._new(function.body), ret, function.type_params, function.attrs, function.span)

    # ------------------------------------------------------------ calls
    def _call(self, call: Call, steps: Var, lets: Lets) -> Expr:
        args = [self._new(a) for a in call.args]
        if call.op in self._repeated:
            return self._checkpoint(call, args, steps, lets)
        if type(call.op) is not Op:
            more = () if type(call.op) is Constructor else (steps,)
            types = [reversed_type(t) for t in call.type_args]
            return Call(self._new(call.op), (*args, *more), call.attrs, types, call.span)
        values = [lets.value(a, b.checked_type) for a, b in zip(args, call.args, strict=True)]
        again = call.with_fields(args=tuple(values))
        set_checked_type(again, call.checked_type)
        assert is_op_call(again)
        result = lets.push(again, call.checked_type)
        output = lets.with_derivative(result, call.checked_type)
        before = lets.push(RefRead(steps))
        lets.push(RefWrite(steps, lets.push(Function((), self._step(again, result, output, args, before), _NOTHING))))
        return output

    def _checkpoint(self, call: Call, args: list[Expr], steps: Var, lets: Lets) -> Expr:
        """Return the value of a checkpoint, whose backward step runs forward once more, then backward."""
        ty = call.checked_type
        values = [lets.value(a, b.checked_type) for a, b in zip(args, call.args, strict=True)]
        result = lets.push(Call(self._repeated[call.op], values), ty)
        output = lets.with_derivative(result, ty)
        before = lets.push(RefRead(steps))
        inner = Lets()
        own = inner.push(RefCreate(inner.push(Function((), Tuple(()), _NOTHING))))
        again = inner.push(Call(self._new(call.op), (*args, own)))
        inner.each([again, output], ty, lambda to, pair: inner.move(pair, to))
        inner.push(Call(inner.push(RefRead(own)), ()))
        step = Function((), inner.over(inner.push(Call(before, ()))), _NOTHING)
        lets.push(RefWrite(steps, lets.push(step)))
        return output

    def _step(self, again: OpCall, result: Var, expr: Expr, args: list[Expr], before: Expr) -> Expr:
        """Return the backward step of one operator, followed by all earlier steps."""
        lets = Lets()
        so_far = lets.derivative(expr, again.checked_type)
        assert again.op.spec.gradient is not None
        parts = again.op.spec.gradient(again, so_far)
        for value, arg, part in zip(again.args, args, parts, strict=True):
            lets.add_to(arg, lets.flat(part, {again: result}), value.checked_type)
        return lets.over(lets.push(Call(before, ())))
