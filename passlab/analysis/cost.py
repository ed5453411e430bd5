"""The cost of operators by their types: multiply-accumulates, bytes read and written, parameters.

Costs need inferred types with known sizes. Otherwise a cost is None, and totals omit it with a warning.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from passlab.analysis.census import functions_of, operator_calls
from passlab.arguments import checked
from passlab.ir.expr import Call, Constant, Expr, Var
from passlab.ir.module import IRModule
from passlab.ir.types import TensorType, TupleType, Type
from passlab.op.dtypes import array_dtype


@dataclass(frozen=True)
class OpCost:
    """The cost of one call. Counts are None where sizes are unknown.

    `macs` are multiply-accumulates of convolutions and matrix products, 0 for other operators. `parameters` counts the
    elements of constant arguments.
    """

    call: Call
    operator: str
    macs: int | None
    bytes_read: int | None
    bytes_written: int | None
    parameters: int


def costs(program: IRModule | Expr) -> list[OpCost]:
    """Return the cost of every operator call, in evaluation order.

    >>> text = "def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) { nn.dense(%x, %w) }"
    >>> [(cost.operator, cost.macs) for cost in relay.analysis.costs(passlab.parse(text))]
    [('nn.dense', 32)]
    """
    return [call_cost(call) for call in operator_calls(*functions_of(program))]


@checked
def call_cost(call: Call) -> OpCost:
    """Return the cost of one operator call.

    >>> text = "def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) { nn.dense(%x, %w) }"
    >>> relay.analysis.call_cost(passlab.parse(text)["main"].body).macs
    32
    """
    reads = [type_bytes(known_type(arg)) for arg in call.args]
    return OpCost(
        call=call,
        operator=str(call.op),
        macs=macs(call),
        bytes_read=None if None in reads else sum(r for r in reads if r is not None),
        bytes_written=type_bytes(known_type(call)),
        parameters=sum(arg.data.size for arg in call.args if isinstance(arg, Constant)),
    )


def known_type(expr: Expr) -> Type | None:
    """Return the type of an expression that is known without inference, or None."""
    if expr.checked_type_ is not None:
        return expr.checked_type_
    if isinstance(expr, Constant):
        return expr.tensor_type
    return expr.type_annotation if isinstance(expr, Var) else None


def type_bytes(ty: Type | None) -> int | None:
    """Return the size of a value of a type in bytes; None if it is unknown or contains more than tensors."""
    stack = [ty]
    total = 0
    while stack:
        part = stack.pop()
        if isinstance(part, TupleType):
            stack += part.fields
        elif isinstance(part, TensorType) and not part.dynamic:
            total += math.prod(part.concrete_shape) * array_dtype(part.dtype).itemsize
        else:
            return None
    return total


# ---------------------------------------------------------------- multiply-accumulates
def macs(call: Call) -> int | None:
    """Return the multiply-accumulates of a call: 0 for operators without any, None if sizes are unknown."""
    rule = _RULES.get(str(call.op))
    if rule is None:
        return 0
    shapes = [_shape(arg) for arg in call.args[:2]]
    out = _shape(call)
    if out is None or None in shapes:
        return None
    return rule(call, [shape for shape in shapes if shape is not None], out)


def _shape(expr: Expr) -> tuple[int, ...] | None:
    ty = known_type(expr)
    if isinstance(ty, TupleType) and ty.fields:
        ty = ty.fields[0]
    return ty.concrete_shape if isinstance(ty, TensorType) and not ty.dynamic else None


def _attr(call: Call, name: str, default: object = None) -> object:
    return call.attrs.get(name, default) if call.attrs is not None else default


def _conv(call: Call, shapes: list[tuple[int, ...]], out: tuple[int, ...]) -> int:
    """Each output element takes one step per weight of its channel. O and o in the layout are the output channels."""
    weight = shapes[1]
    layout = str(_attr(call, "kernel_layout") or "")
    axes = [c for c in layout if c.isalpha()]
    if len(axes) != len(weight):
        axes = ["O", *"-" * (len(weight) - 1)]
    return math.prod(out) * math.prod(size for size, axis in zip(weight, axes, strict=True) if axis not in "Oo")


def _conv_transpose(call: Call, shapes: list[tuple[int, ...]], out: tuple[int, ...]) -> int:
    """As in Relay, each output element takes one step per tap and per input channel of its group."""
    data, weight = shapes
    layout = str(_attr(call, "data_layout") or "")
    axes = [c for c in layout if c.isalpha()]
    channels = data[axes.index("C")] if "C" in axes else data[1]
    size = _attr(call, "kernel_size")
    taps = math.prod(size if isinstance(size, tuple) and size else weight[2:])
    return math.prod(out) * taps * channels // int(_attr(call, "groups", 1))  # type: ignore[call-overload,no-any-return]


def _dense(call: Call, shapes: list[tuple[int, ...]], out: tuple[int, ...]) -> int:
    return math.prod(out) * shapes[0][-1]


def _matmul(call: Call, shapes: list[tuple[int, ...]], out: tuple[int, ...]) -> int:
    reduced = -2 if _attr(call, "transpose_a") or _attr(call, "tensor_a_transposed") else -1
    return math.prod(out) * shapes[0][reduced]


Rule = Callable[[Call, list[tuple[int, ...]], tuple[int, ...]], int]
_RULES: dict[str, Rule] = {
    **dict.fromkeys(("nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.deformable_conv2d", "qnn.conv2d"), _conv),
    **dict.fromkeys(("nn.contrib_conv2d_NCHWc", "nn.contrib_depthwise_conv2d_NCHWc"), _conv),
    **dict.fromkeys(("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose"), _conv_transpose),
    **dict.fromkeys(("nn.dense", "nn.contrib_dense_pack", "qnn.dense"), _dense),
    **dict.fromkeys(("nn.batch_matmul", "nn.matmul", "qnn.batch_matmul"), _matmul),
}


def get_total_mac_number(expr: IRModule | Expr) -> int:
    """Return the multiply-accumulates of convolutions and matrix products; calls of unknown size give a warning.

    >>> text = "def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) { nn.dense(%x, %w) }"
    >>> relay.analysis.get_total_mac_number(passlab.parse(text)["main"])
    32
    """
    counts = [macs(call) for call in operator_calls(*functions_of(expr))]
    unknown = counts.count(None)
    if unknown:
        warnings.warn(
            f"{unknown} calls have no known sizes and are not counted; run `relay.transform.InferType()` first",
            stacklevel=2,
        )
    return sum(count for count in counts if count is not None)
