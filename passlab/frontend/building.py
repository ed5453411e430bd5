"""Building typed Relay call by call: each node is inferred when it is created, and constants are folded at once.

So a translation can query the type of any input, and shapes that a model computes with operators become constants.
Folding never enlarges a program: a result is folded if it is small, or no larger than its operands. The cost is linear
in the number of calls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, ModelError
from passlab.infer import infer_expr
from passlab.ir.expr import Call, Constant, Expr, If, Let, Tuple, TupleGetItem, Var, set_span
from passlab.ir.op import Op
from passlab.ir.span import Span
from passlab.ir.tuple_wrapper import TupleWrapper
from passlab.ir.types import Dim, SizeVar, TensorType, TupleType, Type
from passlab.op.dtypes import Array, array_dtype
from passlab.rewriting.constant_values import UNKNOWN, as_constant, operator_value

_SMALL = 1 << 16  # elements of a result that is folded whatever the size of its operands

Shape = tuple[Dim, ...]
ShapeEntry = int | SizeVar | None  # an element of a computed shape: a number, a dimension of an input, or unknown


class CallBuilder:
    """Creates expressions with the source location `span`.

    `weights` has the values of the weights that stay variables, `entries` the known elements of computed shapes.
    `shapes` has the shapes of tensors of which more is known than their types say. `made` has the calls, lets and
    branches in their order, and `config` the options of the importer.
    """

    def __init__(self) -> None:
        self.span: Span | None = None
        self.weights: dict[Expr, Array] = {}
        self.entries: dict[Expr, list[ShapeEntry]] = {}
        self.shapes: dict[Expr, Shape] = {}
        self.made: list[Expr] = []
        self._origins: dict[SizeVar, tuple[Expr, int]] = {}  # the input and the axis of each unknown dimension
        self._sizes: dict[tuple[Expr, int], Expr] = {}
        self.config: dict[str, Any] = {}

    # ------------------------------------------------------------ creating
    def call(self, name: str, args: Sequence[Any], attrs: dict[str, Any]) -> Expr:
        """Return the call of a Relay operator by its Python builder, typed, or its value if constant.

        A number among `args` becomes a scalar of the dtype of the first expression. Raises `TypeInferenceError`.
        """
        op = Op.get(name)
        builder = op.spec.builder
        assert builder is not None, name
        result: Any = builder(*self._expressions(args), **attrs)
        return self.finish(result.astuple() if isinstance(result, TupleWrapper) else result)

    def _expressions(self, args: Sequence[Any]) -> list[Any]:
        first = next((arg for arg in args if isinstance(arg, Expr)), None)
        return [
            self.constant(arg, tensor_type(first).dtype) if isinstance(arg, (int, float)) and first is not None else arg
            for arg in args
        ]

    def finish(self, expr: Expr) -> Expr:
        """Return a new expression with this span and a type, or its value if constant."""
        set_span(expr, self.span)
        if type(expr) is not Call:
            result = infer_expr(expr)
            if isinstance(result, (Let, If)):
                self.made.append(result)
            return result
        for arg in expr.args:
            set_span(arg, self.span)
        typed = infer_expr(expr)
        assert type(typed) is Call
        folded = self._fold(typed) if isinstance(typed.op, Op) else typed
        if folded is typed:
            self.made.append(typed)
        return folded

    def constant(self, value: Any, dtype: str) -> Expr:
        """Return a typed constant."""
        return self.finish(Constant(np.asarray(value, array_dtype(dtype))))

    def tuple(self, fields: Sequence[Expr]) -> Expr:
        """Return a typed tuple."""
        return self.finish(Tuple(list(fields)))

    def field(self, value: Expr, index: int) -> Expr:
        """Return one field of a tuple, typed."""
        return value.fields[index] if isinstance(value, Tuple) else self.finish(TupleGetItem(value, index))

    def add_input(self, variable: Var) -> None:
        """Type an input of the program, and record the axes of its unknown dimensions."""
        self.finish(variable)
        for axis, dim in enumerate(tensor_type(variable).shape):
            if isinstance(dim, SizeVar):
                self._origins.setdefault(dim, (variable, axis))  # the first input with this dimension tells its size

    def shape(self, x: Expr) -> Shape:
        """Return the dimensions of a tensor."""
        return self.shapes.get(x) or tensor_type(x).shape

    def size(self, x: Expr, axis: int) -> int | Expr:
        """Return a dimension of a tensor: an integer, or an int64 vector of one element.

        The same dimension gives the same expression.
        """
        dim = self.shape(x)[axis]
        if isinstance(dim, int):
            return dim
        source = self._origins.get(dim, (x, axis)) if isinstance(dim, SizeVar) else (x, axis)
        if source not in self._sizes:
            shape = self.call("shape_of", [source[0]], {"dtype": "int64"})
            self._sizes[source] = self.call("take", [shape, self.constant([source[1]], "int64")], {"axis": 0})
        return self._sizes[source]

    # ------------------------------------------------------------ folding
    def value(self, expr: Expr) -> Array | None:
        """Return the value of a constant or a weight, None for any other expression."""
        if isinstance(expr, Constant):
            return expr.data
        return self.weights.get(expr)

    def _fold(self, call: Call) -> Expr:
        assert isinstance(call.op, Op)
        values = [self._operand_value(arg) for arg in call.args]
        if any(value is UNKNOWN for value in values) or not _may_fold(call.checked_type, values):
            return call
        folded_value = operator_value(call.op, call.attrs, values)
        folded = None if folded_value is UNKNOWN else as_constant(folded_value)
        if folded is None:
            return call
        for part in (*getattr(folded, "fields", ()), folded):
            set_span(part, self.span)
        return infer_expr(folded)

    def _operand_value(self, arg: Expr) -> Any:
        """Return the value of an operand for folding, `UNKNOWN` if it has none."""
        if isinstance(arg, Tuple):
            fields = tuple(self._tensor_value(field) for field in arg.fields)
            return UNKNOWN if any(field is UNKNOWN for field in fields) else fields
        return self._tensor_value(arg)

    def _tensor_value(self, arg: Expr) -> Any:
        """Return the value of a constant, or of an integer weight: shapes and indices are folded, floats are not."""
        if isinstance(arg, Var):
            weight = self.weights.get(arg)
            return UNKNOWN if weight is None or weight.dtype.kind not in "iub" else weight
        return arg.data if isinstance(arg, Constant) else UNKNOWN


def _may_fold(ty: Type, values: Sequence[Any]) -> bool:
    """Whether a result of this type is small, or no larger than its operands."""
    size = sum(v.size for value in values for v in (value if isinstance(value, tuple) else (value,)))
    tensors = ty.fields if isinstance(ty, TupleType) else (ty,)
    # A result of unknown size counts as small, since it comes from constants.
    sizes = [math.prod(t.concrete_shape) if isinstance(t, TensorType) and not t.dynamic else 0 for t in tensors]
    return bool(sum(sizes) <= max(size, _SMALL))


def tensor_type(expr: Expr) -> TensorType:
    """Return the type of a tensor. Raises `ModelError` for anything else."""
    ty = expr.checked_type
    if not isinstance(ty, TensorType):
        raise ModelError(Diagnostic("a tensor is needed here", found=str(ty)))
    return ty
