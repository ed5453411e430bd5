"""Reverse-mode derivatives of any function, with references, through closures, branches, data and recursion.

Each tensor becomes a pair of the tensor and a reference to its accumulated derivative. Each operator adds one step to
the backpropagator `bp`, a reference to a function that executes all steps, the latest first; callers pass their `bp` to
the functions they call (Wang et al., "Demystifying differentiable programming", 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from passlab.errors import Diagnostic, DiagnosticError
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
from passlab.rewriting.let_binding import bind_in_scopes, evaluation_children, in_normal_form, is_atom
from passlab.rewriting.tuple_values import fieldwise

_NOTHING = TupleType(())
STEPS = RefType(FuncType((), _NOTHING))  # the type of `bp`


def a_normal_form(function: Function) -> Function:
    """Return a function in A-normal form, as `ReverseMode` needs it."""
    if in_normal_form(function) and all(map(is_atom, _arguments(function))):
        return function
    return bind_in_scopes(function, lambda node, plan: True, flatten=True)


def _arguments(function: Function) -> Iterator[Expr]:
    return (a for node in post_order(function.body) if type(node) is Call for a in node.args)


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
    """Return a diagnostic for an operator without a gradient, with the reason in its hint."""
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
    """A list of bindings that grows."""

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

    def wrap(self, body: Expr) -> Expr:
        """Return `body` inside lets with the bindings."""
        return make_lets(self._bound, body)

    def flatten(self, expr: Expr, table: dict[Expr, Expr]) -> Expr:
        """Bind all nodes of an expression of operators and tuples, except those in `table`; return its atom."""
        atoms = dict(table)
        for node in post_order(expr, enter=lambda e: e not in table):
            if node not in table and not is_atom(node):
                atoms[node] = self.push(rebuild(node, lambda e: atoms.get(e, e)))
        return atoms.get(expr, expr)

    def each(self, values: Sequence[Expr], ty: Type, leaf: Callable[..., Expr], typed: bool = False) -> Expr:
        """Apply `leaf` to the corresponding tensors of several values of one type; bind the result tuple by tuple.

        With `typed`, the results have that type, too.
        """
        result = fieldwise(
            values,
            [ty],
            lambda tensors, types: self._leaf(leaf, tensors, types[0], typed),
            lambda fields, _: self.push(Tuple(fields)),
            lambda value, i: self.push(TupleGetItem(value, i)),
        )
        return self.push(result, ty) if typed and type(ty) is TupleType else result

    def _leaf(self, leaf: Callable[..., Expr], values: Sequence[Expr], ty: Type, typed: bool) -> Var:
        if type(ty) is not TensorType:
            what = f"a value of the type {ty} has no derivative"
            raise DiagnosticError(Diagnostic(what, hint="only (tuples of) tensors have derivatives"))
        return self.push(leaf(*values), ty if typed else None)

    def value(self, pair: Expr, ty: Type) -> Expr:
        """Return the tensors of a value with derivatives."""
        return self.each([pair], ty, lambda p: TupleGetItem(p, 0), typed=True)

    def derivative(self, pair: Expr, ty: Type) -> Expr:
        """Return the accumulated derivatives of a value."""
        return self.each([pair], ty, lambda p: RefRead(self.push(TupleGetItem(p, 1))), typed=True)

    def with_derivative(self, value: Expr, ty: Type) -> Expr:
        """Return pairs of the tensors of a value and derivatives of zero."""
        return self.each([value], ty, lambda v: Tuple([v, self.push(RefCreate(self.push(make("zeros_like", v))))]))

    def add_to(self, pair: Expr, part: Expr, ty: Type) -> None:
        """Add to the derivatives of a value."""
        self.each([pair, part], ty, self._add_to)

    def _add_to(self, pair: Expr, part: Expr) -> Expr:
        cell = self.push(TupleGetItem(pair, 1))
        return RefWrite(cell, self.push(make("add", self.push(RefRead(cell)), part)))


class ReverseMode:
    """Differentiates functions. `renamed` maps global functions to the names of their derived forms."""

    def __init__(self, renamed: Mapping[str, GlobalVar]) -> None:
        self._renamed = renamed
        self._derived: dict[Expr, Expr] = {}
        self._steps: dict[Function, Var] = {}  # the `bp` of each function literal

    def of_global(self, function: Function) -> Function:
        """Return the derived form of a typed global function in A-normal form; it takes `bp`, too."""
        self._steps[function] = Var("bp", STEPS)
        self._derive_bodies(function.body, self._steps[function], including_body=True)
        return self._function(function)

    def of_entry(self, function: Function) -> Function:
        """Return the derived form of a typed function of tensors in A-normal form: it returns (value, derivatives)."""
        ty = function.body.checked_type
        lets = Lets()
        steps = Var("bp", STEPS)
        lets.bind(steps, RefCreate(lets.push(Function((), Tuple(()), _NOTHING))))
        for param in function.params:
            self._derived[param] = lets.with_derivative(param, param.checked_type)
        self._derive_bodies(function.body, steps, including_body=False)
        result = self._derive_chain(function.body, steps, lets)
        self._seed(result, ty, lets)
        lets.push(Call(lets.push(RefRead(steps)), ()))
        inputs = lets.push(Tuple([lets.derivative(self._derived[p], p.checked_type) for p in function.params]))
        body = lets.wrap(lets.push(Tuple([lets.value(result, ty), inputs])))
        types = TupleType([ty, TupleType([p.checked_type for p in function.params])])
        return Function(function.params, body, types, (), function.attrs, function.span)

    def _seed(self, result: Expr, ty: Type, lets: Lets) -> None:
        """Set the derivative of the first tensor of the result to ones."""
        while isinstance(ty, TupleType) and ty.fields:
            result, ty = lets.push(TupleGetItem(result, 0)), ty.fields[0]
        cell = lets.push(TupleGetItem(result, 1))
        lets.push(RefWrite(cell, lets.push(make("ones_like", lets.push(TupleGetItem(result, 0))))))

    # ------------------------------------------------------------ bodies
    def _derive_bodies(self, body: Expr, steps: Var, including_body: bool) -> None:
        """Derive the bodies of functions, branches and arms inside a body, innermost first."""
        order = [(body, steps)]  # grows
        for at, at_steps in order:
            for let in let_chain(at)[0]:
                value = let.value
                if isinstance(value, Function):
                    own = self._steps[value] = Var("bp", STEPS)
                    order.append((value.body, own))
                elif isinstance(value, (If, Match)):
                    order += [(arm, at_steps) for arm in evaluation_children(value)[1:]]
        for at, at_steps in reversed(order if including_body else order[1:]):
            if type(at) is Let:
                lets = Lets()
                result = self._derive_chain(at, at_steps, lets)
                self._derived[at] = lets.wrap(result)

    def _derive_chain(self, body: Expr, steps: Var, lets: Lets) -> Expr:
        """Bind the derived lets of a body, and return the atom it ends in."""
        bindings, last = let_chain(body)
        for let in bindings:
            var: Any = self._new(let.var)
            lets.bind(var, self._value(let.value, steps, lets))
        return self._new(last)

    def _new(self, node: Expr) -> Expr:
        result = self._derived.get(node)
        if result is not None:
            return result
        if isinstance(node, Var):
            result = Var(node.name_hint, reversed_type(node.type_annotation), node.span, node.virtual_device)
            self._derived[node] = result
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
        if type(call.op) is not Op:
            bp_args = () if type(call.op) is Constructor else (steps,)
            types = [reversed_type(t) for t in call.type_args]
            return Call(self._new(call.op), (*args, *bp_args), call.attrs, types, call.span)
        values = [lets.value(a, b.checked_type) for a, b in zip(args, call.args, strict=True)]
        forward = call.with_fields(args=tuple(values))
        set_checked_type(forward, call.checked_type)
        assert is_op_call(forward)
        result = lets.push(forward, call.checked_type)
        output = lets.with_derivative(result, call.checked_type)
        earlier = lets.push(RefRead(steps))
        step = self._step(forward, result, output, args, earlier)
        lets.push(RefWrite(steps, lets.push(Function((), step, _NOTHING))))
        return output

    def _step(self, forward: OpCall, result: Var, output: Expr, args: list[Expr], earlier: Expr) -> Expr:
        """Return the backward step of one operator, followed by all earlier steps."""
        lets = Lets()
        derivative = lets.derivative(output, forward.checked_type)
        assert forward.op.spec.gradient is not None
        parts = forward.op.spec.gradient(forward, derivative)
        for value, arg, part in zip(forward.args, args, parts, strict=True):
            lets.add_to(arg, lets.flatten(part, {forward: result}), value.checked_type)
        return lets.wrap(lets.push(Call(earlier, ())))
