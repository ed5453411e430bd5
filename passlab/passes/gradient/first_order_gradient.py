"""Reverse-mode derivatives of pure dataflow functions.

before:
    def @main(%x: float32) -> float32 { exp(%x) }
after:
    def @main(%x: float32) -> (float32, (float32,)) {
      let %x_0 = %x;
      let %x_1 = zeros_like(%x_0);
      let %x_2 = exp(%x_0);
      let %x_3 = zeros_like(%x_2);
      %0 = (
        let %x_4 = add(%x_1, multiply(ones_like(%x_2), exp(%x_0)));
        (%x_4,)
      );
      (%x_2, %0)
    }
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from passlab.errors import Diagnostic, DiagnosticError, type_in_words
from passlab.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem, Var
from passlab.ir.kept_types import typed_var
from passlab.ir.module import IRModule
from passlab.ir.new_nodes import new_call, new_op_call
from passlab.ir.op import Op, OpCall, is_op_call
from passlab.ir.types import TensorType, TupleType, Type
from passlab.ir.variables import check_closed
from passlab.ir.walk import make_lets, note_rewrite, post_order
from passlab.op import make
from passlab.op.declare import field_of
from passlab.passes.gradient.reverse_mode import without_gradient
from passlab.rewriting.beta_reduction import beta_reduced
from passlab.rewriting.tuple_values import fieldwise
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass

_log = logging.getLogger("passlab.FirstOrderGradient")
# Like Relay, bind the derivative of a tuple again after each of its projections. The derivative of a wider tuple is
# bound once, after all projections: the program would otherwise grow quadratically in the fields.
WIDE = 16
_ALLOWED = frozenset((Var, Constant, Tuple, TupleGetItem))  # next to calls of operators


@standard_pass(opt_level=0, contract=None)
class FirstOrderGradient(ModulePass):
    """Replace each function f by one that returns (f(args), (derivative by each argument, ...)).

    All outputs are seeded with ones: the derivative belongs to the sum of all elements of the result. Supported are
    variables, constants, tuples, projections, and calls of operators and function literals. Raises `DiagnosticError`,
    which lists everything missing, if an operator has no gradient or a function is generic. Needs types.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        if len(mod) > 1:
            _log.warning("the module has %d functions: each is differentiated by itself", len(mod))
        return mod.with_functions({name: first_order_gradient(f"@{name}", f) for name, f in mod.items()})


def first_order_gradient(name: str, function: Function) -> Function:
    """Return the result of the pass for one typed function, called `name` in its errors."""
    return _Gradient(name, function).gradient()


class _Dual:
    """A value of the program: the variable that it is bound to, and its accumulated derivative.

    The derivative of a wide tuple is in `fields` while projections add to it.
    """

    __slots__ = ("forward", "reverse", "type", "fields")

    def __init__(self, forward: Var, reverse: Expr, ty: Type) -> None:
        self.forward = forward
        self.reverse = reverse
        self.type = ty
        self.fields: list[Expr] | None = None


class _Gradient:
    """The gradient of one function under construction."""

    def __init__(self, name: str, function: Function) -> None:
        self.name = name
        self.function = function
        self.lets: list[tuple[Var, Expr]] = []
        self.known: dict[Expr, _Dual] = {}
        self.backward: list[Callable[[], None]] = []
        self.count = 0
        self.add = Op.get("add")

    def gradient(self) -> Function:
        """Return the function that computes value and derivatives."""
        function, order = self.function, post_order(self.function.body)
        if Function in set(map(type, order)):
            function = beta_reduced(function)
            order = post_order(function.body)
        order = [n for n in order if type(n) is not Op]
        self._check(function, order)
        args = [self._tensor(p, p.checked_type) for p in function.params]
        self.known.update(zip(function.params, args, strict=True))
        for node in order:
            if node not in self.known:
                self.known[node] = self._node(node)
        result = self.known[function.body]
        result.reverse = _fill(result.forward, result.type, "ones")
        forward, self.lets = self.lets, []
        for step in reversed(self.backward):
            step()
        derivatives = Tuple([self._derivative(a) for a in args])
        gradients = make_lets(self.lets, derivatives)
        body = make_lets(forward, Tuple([result.forward, gradients]))
        types = TupleType([result.type, TupleType([a.type for a in args])])
        gradient = Function(self.function.params, body, types, span=self.function.span)
        note_rewrite(self.function, gradient)
        return gradient

    def _check(self, function: Function, order: list[Expr]) -> None:
        if not {n for n in order if type(n) is Var}.issubset(function.params):
            check_closed(self.name, function)
        findings = []
        if function.type_params:
            findings.append(
                Diagnostic(f"{self.name} is generic; only functions of a fixed type have a gradient", function.span)
            )
        for node in order:
            if type(node) is Call and type(node.op) is Op:
                if node.op.spec.gradient is None:
                    findings.append(without_gradient(node.op, node.span))
            elif type(node) not in _ALLOWED:
                kind = "a call of something other than an operator" if type(node) is Call else type_in_words(node)
                findings.append(Diagnostic(f"{self.name} has no first-order gradient: it contains {kind}", node.span))
        if findings:
            raise DiagnosticError(*findings)

    # ------------------------------------------------------------ building
    def _bind(self, value: Expr, ty: Type | None) -> Var:
        name = f"x_{self.count}"
        var = Var(name) if ty is None else typed_var(name, ty)
        self.count += 1
        self.lets.append((var, value))
        return var

    def _tensor(self, value: Expr, ty: Type) -> _Dual:
        forward = self._bind(value, ty)
        return _Dual(forward, self._bind(_fill(forward, ty, "zeros"), ty), ty)

    def _node(self, node: Expr) -> _Dual:
        ty = node.checked_type
        if type(node) is Constant:
            return self._tensor(node, ty)
        if is_op_call(node):
            return self._call(node, ty)
        if type(node) is Tuple:
            fields = [self.known[f] for f in node.fields]
            result = self._tensor(node.with_fields(fields=tuple(f.forward for f in fields)), ty)
            self.backward.append(lambda: self._tuple_back(result, fields))
            return result
        assert isinstance(node, TupleGetItem)
        whole = self.known[node.tuple_value]
        field = self._tensor(TupleGetItem(whole.forward, node.index), ty)
        self.backward.append(lambda: self._projection_back(whole, field, node.index))
        return field

    def _call(self, call: OpCall, ty: Type) -> _Dual:
        args = [self.known[a] for a in call.args]
        forward = new_op_call(call.op, tuple([a.forward for a in args]), call.attrs, call._type_args, call.span, ty)
        result = self._tensor(forward, ty)
        gradient = call.op.spec.gradient
        assert gradient is not None

        def accumulate() -> None:
            for arg, derivative in zip(args, gradient(forward, self._derivative(result)), strict=True):
                arg.reverse = self._sum(arg.type, self._derivative(arg), derivative)

        self.backward.append(accumulate)
        return result

    def _tuple_back(self, result: _Dual, fields: list[_Dual]) -> None:
        derivative = self._derivative(result)
        for i, field in enumerate(fields):
            field.reverse = self._sum(field.type, self._derivative(field), field_of(derivative, i))

    def _projection_back(self, whole: _Dual, part: _Dual, index: int) -> None:
        assert isinstance(whole.type, TupleType)
        if whole.fields is None:
            whole.fields = [field_of(whole.reverse, i) for i in range(len(whole.type.fields))]
        whole.fields[index] = self._sum(part.type, whole.fields[index], self._derivative(part))
        if len(whole.fields) <= WIDE:
            self._derivative(whole)

    def _derivative(self, tensor: _Dual) -> Expr:
        """Return the accumulated derivative of a value as one expression."""
        if tensor.fields is not None:
            tensor.reverse, tensor.fields = self._bind(Tuple(tensor.fields), tensor.type), None
        return tensor.reverse

    def _sum(self, ty: Type, a: Expr, b: Expr) -> Expr:
        """Return the sum of two values of a type, field by field."""
        if type(ty) is TensorType:
            return self._bind(new_call(self.add, (a, b)), ty)
        return fieldwise(
            [a, b],
            [ty],
            lambda values, types: self._bind(new_call(self.add, values), types[0]),
            lambda fields, values: self._bind(Tuple(fields), None),
            lambda value, i: self._bind(field_of(value, i), None),
        )


def _fill(like: Expr, ty: Type, op: str) -> Expr:
    """Return zeros or ones of a type: `zeros_like` for a tensor, field by field for a tuple."""
    if type(ty) is TensorType:
        return make("zeros_like" if op == "zeros" else "ones_like", like)
    return fieldwise([], [ty], lambda values, types: _by_shape(types[0], op))


def _by_shape(ty: Type, op: str) -> Expr:
    if type(ty) is TensorType and not ty.dynamic:
        return make(op, shape=list(ty.shape), dtype=ty.dtype)
    raise DiagnosticError(
        Diagnostic(f"there are no {op} of the type {ty}", hint="only (tuples of) tensors have gradients")
    )
