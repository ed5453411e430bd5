"""Gradients by the chain rule, for operators defined in terms of simpler ones.

    @operator("nn.l2_normalize", ("data",), ..., gradient=by_definition(_defined))

where `_defined(attrs, data)` is the same computation as a Relay expression of `data`. The chain rule turns it into a
Relay program again, so gradients of gradients need nothing more. The definitions contain operators, constants and
tuples, no functions; the operators' relations give their types. Type inference and passes are not used here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from passlab.errors import Diagnostic, RelationError
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Constant, Expr, Tuple, TupleGetItem, Var, set_checked_type
from passlab.ir.op import Op, OpCall, is_op_call
from passlab.ir.types import TensorType, TupleType, Type, type_nodes
from passlab.ir.walk import children, post_order, substitute
from passlab.op.declare import call, field_of
from passlab.op.dtypes import is_float_name
from passlab.op.relations import KNOWN_INPUTS

Gradient = Callable[[OpCall, Expr], list[Expr]]


def infer_types(root: Expr) -> Expr:
    """Set the type of every node of an expression of operators, tuples and constants. Variables must be typed.

    Raises `RelationError` if an operator rejects its arguments.
    """
    for node in post_order(root):
        if node.checked_type_ is None and type(node) is not Op:
            set_checked_type(node, _type_of(node))
    return root


def _type_of(node: Expr) -> Type:
    if is_op_call(node):
        result = node.op.spec.relation([arg.checked_type for arg in node.args], node.attrs, KNOWN_INPUTS)
        if result is not None:
            return result
    if isinstance(node, Constant):
        return node.tensor_type
    if isinstance(node, Tuple):
        return TupleType([field.checked_type for field in node.fields])
    if isinstance(node, TupleGetItem):
        whole = node.tuple_value.checked_type
        assert isinstance(whole, TupleType)
        return whole.fields[node.index]
    raise RelationError(Diagnostic("a definition of operators cannot be typed", found=type(node).__name__))


def zeros_of(expr: Expr) -> Expr:
    """Return zeros of the type of an expression, as a tuple if that is a tuple; only tuples must be typed."""
    ty = expr.checked_type_
    if isinstance(ty, TupleType):
        return Tuple([zeros_of_field(expr, i) for i in range(len(ty.fields))])
    return call("zeros_like", expr)


def zeros_of_field(expr: Expr, index: int) -> Expr:
    """Return zeros of the type of a field of a typed tuple; the field is a tensor."""
    return call("zeros_like", field_of(expr, index))


class _Adjoints:
    """The gradients accumulated for nodes: for the whole value, and for single fields of a tuple."""

    def __init__(self) -> None:
        self._whole: dict[Expr, list[Expr]] = {}
        self._fields: dict[Expr, dict[int, list[Expr]]] = {}

    def add(self, node: Expr, adjoint: Expr) -> None:
        """Add to the gradient of a node."""
        self._whole.setdefault(node, []).append(adjoint)

    def add_field(self, node: Expr, index: int, adjoint: Expr) -> None:
        """Add to the gradient of one field of a tuple."""
        self._fields.setdefault(node, {}).setdefault(index, []).append(adjoint)

    def of(self, node: Expr) -> Expr | None:
        """Return the sum of all gradients of a node, None if none exist."""
        whole, fields = self._whole.get(node, []), self._fields.get(node, {})
        ty = node.checked_type
        if not isinstance(ty, TupleType):
            return _add_all(whole) if whole else None
        if not fields:
            if len(whole) == 1:
                return whole[0]
            if not whole:
                return None
        parts = []
        for i in range(len(ty.fields)):
            terms = [*fields.get(i, ()), *(field_of(w, i) for w in whole)]
            parts.append(_add_all(terms) if terms else zeros_of_field(node, i))
        return Tuple(parts)


def _add_all(terms: Sequence[Expr]) -> Expr:
    total = terms[0]
    for term in terms[1:]:
        total = call("add", total, term)
    return total


def _is_differentiable(ty: Type) -> bool:
    """Whether a value of this type is differentiable: a float, or a tuple that contains one."""
    return any(isinstance(part, TensorType) and is_float_name(part.dtype) for part in type_nodes(ty))


def pullback(result: Expr, inputs: Sequence[Expr], grad: Expr) -> list[Expr]:
    """Return the gradient with respect to each of `inputs`, sub-expressions of `result`, whose gradient is `grad`.

    The gradients of integers, and of inputs that the result does not depend on, are zeros. Linear in the size of the
    expression.
    """
    leaves = set(inputs)
    order = post_order(result, enter=lambda node: node not in leaves)
    # only nodes between a differentiable input and the result get a gradient
    active = {leaf for leaf in inputs if _is_differentiable(leaf.checked_type)}
    for node in order:
        if node not in leaves and type(node) is not Op and _is_differentiable(node.checked_type):
            if any(part in active for part in children(node)):
                active.add(node)
    adjoints = _Adjoints()
    adjoints.add(result, grad)
    for node in reversed(order):
        adjoint = adjoints.of(node) if node in active and node not in leaves else None
        if adjoint is not None:
            _propagate(node, adjoint, active, adjoints)
    return [(adjoints.of(leaf) if leaf in active else None) or zeros_of(leaf) for leaf in inputs]


def _propagate(node: Expr, adjoint: Expr, active: set[Expr], adjoints: _Adjoints) -> None:
    """Propagate the gradient of a node to its operands."""
    if isinstance(node, Tuple):
        for i, field in enumerate(node.fields):
            if field in active:
                adjoints.add(field, field_of(adjoint, i))
    elif isinstance(node, TupleGetItem):
        adjoints.add_field(node.tuple_value, node.index, adjoint)
    elif is_op_call(node):
        gradient = node.op.spec.gradient
        assert gradient is not None, f"a definition uses {node.op}, which has no gradient"
        for arg, part in zip(node.args, gradient(node, adjoint), strict=True):
            if arg in active:
                adjoints.add(arg, part)


def by_definition(define: Callable[..., Expr]) -> Gradient:
    """Derive a gradient from a definition: `define(attrs, *inputs)` is the operator in terms of simpler ones.

    `define` gets typed variables as inputs. It is called for each call of the operator.
    """

    def gradient(orig: OpCall, grad: Expr) -> list[Expr]:
        leaves = [_typed_var(f"x{i}", arg.checked_type) for i, arg in enumerate(orig.args)]
        seed = _typed_var("grad", orig.checked_type)
        result = infer_types(define(orig.attrs, *leaves))
        parts = Tuple(pullback(result, leaves, seed))
        output = substitute(parts, {**dict(zip(leaves, orig.args, strict=True)), seed: grad})
        assert isinstance(output, Tuple)
        return list(output.fields)

    return gradient


def _typed_var(name: str, ty: Type) -> Var:
    var = Var(name, ty)
    set_checked_type(var, ty)
    return var


def zero_gradient(orig: OpCall, grad: Expr) -> list[Expr]:
    """The gradient of a step function: zero for every input."""
    return [zeros_of(arg) for arg in orig.args]


def gradient_by(name: str) -> Gradient:
    """Return the gradient `name(grad, data)` of the first input, `data`; the gradients of the other inputs are
    zeros.
    """

    def gradient(orig: OpCall, grad: Expr) -> list[Expr]:
        data, *others = orig.args
        return [call(name, grad, data), *map(zeros_of, others)]

    return gradient


def attrs_of(orig: OpCall) -> Attrs:
    """Return the attributes of a call of an operator that has some."""
    assert isinstance(orig.attrs, Attrs)
    return orig.attrs


def shape_of(expr: Expr) -> tuple[Any, ...]:
    """Return the dimensions of a typed tensor."""
    ty = expr.checked_type
    assert isinstance(ty, TensorType)
    return ty.shape


def sizes_of(expr: Expr, what: str) -> tuple[int, ...]:
    """Return the sizes of a typed tensor. Raises `RelationError` if one is unknown: `what` needs them."""
    ty = expr.checked_type
    assert isinstance(ty, TensorType)
    if ty.dynamic:
        raise RelationError(
            Diagnostic(f"the gradient of {what} needs a known shape", found=str(ty), hint="bind the shape first"), 0
        )
    return ty.concrete_shape


def dtype_of(expr: Expr) -> str:
    """Return the dtype of a typed tensor."""
    ty = expr.checked_type
    assert isinstance(ty, TensorType)
    return ty.dtype
