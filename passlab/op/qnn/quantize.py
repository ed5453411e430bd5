"""Conversion to quantized integers, from quantized integers, and between scales."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.expr import Constant, Expr
from passlab.ir.op import OpPattern, Relation, Reporter
from passlab.ir.types import TensorType, Type
from passlab.op import layout_rules
from passlab.op.along_axis import reshape_to
from passlab.op.attr_fields import attrs, dtype, integer, text
from passlab.op.autodiff import by_definition, dtype_of, shape_of
from passlab.op.declare import Python, call
from passlab.op.dtypes import Array, array_dtype, as_array, is_float_name, round_half_away
from passlab.op.qnn.declare import quantized_operator
from passlab.op.qnn.scales import (
    INTEGERS,
    along,
    check_length,
    check_parameter,
    integer_input,
    quantize_real,
    real,
    requantize_array,
)
from passlab.op.relations import normal_axis, refuse, tensor

_AXIS = integer("axis", -1, doc="the dimension along which scales vary, if they are vectors")
ROUNDINGS = ("None", "UPWARD", "TONEAREST")
COMPUTE = ("None", "int64", "float32", "float64")


# ---------------------------------------------------------------- quantize
def _quantize_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    if data is None:
        return None
    if not is_float_name(data.dtype):
        refuse("only floats can be quantized", 0, expected="float32 or float16", found=data.dtype)
    if attrs.out_dtype not in INTEGERS:
        refuse("the result of qnn.quantize is a tensor of integers", expected="an integer dtype", found=attrs.out_dtype)
    names = ("output_scale", "output_zero_point")
    parameters = [check_parameter(types, index, name, data, attrs.axis) for index, name in enumerate(names, start=1)]
    return TensorType(data.shape, attrs.out_dtype) if all(parameters) else None


@quantized_operator(
    "qnn.quantize",
    ("data", "output_scale", "output_zero_point"),
    attrs=attrs("QuantizeAttrs", dtype("out_dtype", doc="the integer dtype of the result"), _AXIS),
    relation=_quantize_type,
    pattern=OpPattern.ELEMWISE,
    silenced=True,
    python=Python("data, output_scale, output_zero_point, axis=-1, out_dtype='int8'"),
    shapes="data S, scale and zero point () or (S[axis]) -> S",
    edge_cases=(
        'qnn.quantize(%x: (2, 3) float32, 0.5f, 1, out_dtype="int8")',
        (
            "qnn.quantize(%x: (2, 3) float32, %s: (3) float32 = [0.5, 0.25, 2], %z: (3) int32 = [0, 1, 2], "
            'out_dtype="uint8", axis=-1)'
        ),
        'qnn.quantize(%x: (0, 3) float32, 0.5f, 1, out_dtype="int32")',
        'qnn.quantize(%x: () float32, 0.5f, 1, out_dtype="int16")',
    ),
    layout=layout_rules.along(),
)
def quantize(attrs: Attrs, data: Array, output_scale: Array, output_zero_point: Array) -> Array:
    """Quantize numbers: divide by the scale, round, add the zero point, and saturate to the dtype's range."""
    return quantize_real(data, output_scale, output_zero_point, attrs.out_dtype, attrs.axis)


# ---------------------------------------------------------------- dequantize
def _dequantize_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = integer_input(types, 0)
    if data is None:
        return None
    if not is_float_name(attrs.out_dtype):
        refuse(
            "the result of qnn.dequantize is a tensor of floats", expected="float32 or float16", found=attrs.out_dtype
        )
    names = ("input_scale", "input_zero_point")
    parameters = [check_parameter(types, index, name, data, attrs.axis) for index, name in enumerate(names, start=1)]
    return TensorType(data.shape, attrs.out_dtype) if all(parameters) else None


def _broadcast_along(value: Expr, axis: int, rank: int) -> Expr:
    """Return a scalar or a vector in a shape that broadcasts along `axis`."""
    shape = shape_of(value)
    if shape in ((), (1,)):
        return reshape_to(value, ())
    return reshape_to(value, [-1 if at == axis % rank else 1 for at in range(rank)])


def _define_dequantize(attrs: Attrs, data: Expr, scale: Expr, zero_point: Expr) -> Expr:
    """Define `qnn.dequantize` as `(data - zero_point) * scale` in simpler operators."""
    rank = len(shape_of(data))
    zero = call("cast", _broadcast_along(zero_point, attrs.axis, rank), dtype="int32")
    shifted = call("cast", call("cast", data, dtype="int32") - zero, dtype="float32")
    return call("cast", shifted * _broadcast_along(scale, attrs.axis, rank), dtype=attrs.out_dtype)


@quantized_operator(
    "qnn.dequantize",
    ("data", "input_scale", "input_zero_point"),
    attrs=attrs("DequantizeAttrs", dtype("out_dtype", doc="the dtype of the result"), _AXIS),
    relation=_dequantize_type,
    pattern=OpPattern.ELEMWISE,
    silenced=True,
    python=Python("data, input_scale, input_zero_point, axis=-1, out_dtype='float32'"),
    gradient=by_definition(_define_dequantize),
    shapes="data S, scale and zero point () or (S[axis]) -> S",
    edge_cases=(
        'qnn.dequantize(%q: (2, 3) int8, 0.5f, 1, out_dtype="float32")',
        (
            "qnn.dequantize(%q: (2, 3) uint8, %s: (3) float32 = [0.5, 0.25, 2], %z: (3) int32 = [0, 1, 2], "
            'out_dtype="float32", axis=-1)'
        ),
        'qnn.dequantize(%q: (0, 3) int32, 0.5f, 1, out_dtype="float32")',
        'qnn.dequantize(%q: () int16, 0.5f, 1, out_dtype="float16")',
    ),
    layout=layout_rules.along(),
)
def dequantize(attrs: Attrs, data: Array, input_scale: Array, input_zero_point: Array) -> Array:
    """The real numbers that integers represent: minus the zero point, times the scale."""
    return real(data, input_scale, input_zero_point, attrs.axis).astype(array_dtype(attrs.out_dtype), copy=False)


# ---------------------------------------------------------------- requantize
def _requantize_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = integer_input(types, 0)
    if data is None:
        return None
    names = ("input_scale", "input_zero_point", "output_scale", "output_zero_point")
    parameters = [check_parameter(types, index, name, data, attrs.axis) for index, name in enumerate(names, start=1)]
    result_dtype = attrs.out_dtype or data.dtype
    if result_dtype not in INTEGERS:
        refuse("the result of qnn.requantize is a tensor of integers", expected="an integer dtype", found=result_dtype)
    return TensorType(data.shape, result_dtype) if all(parameters) else None


_config: ContextVar[tuple[str, str]] = ContextVar("requantize_config", default=("None", "None"))


@contextmanager
def requantize_config(rounding: str = "UPWARD", compute_dtype: str = "int64") -> Iterator[None]:
    """Set the rounding and the computation of the calls of `requantize` created inside, unless these state their own.

    Raises `ValueError` for an unknown rounding or computation.
    """
    if rounding not in ROUNDINGS or compute_dtype not in COMPUTE:
        raise ValueError(f"rounding is one of {', '.join(ROUNDINGS)}, and compute_dtype one of {', '.join(COMPUTE)}")
    token = _config.set((rounding, compute_dtype))
    try:
        yield
    finally:
        _config.reset(token)


def current_rounding() -> tuple[str, str]:
    """Return the rounding and the computation that `requantize_config` has set."""
    return _config.get()


@quantized_operator(
    "qnn.requantize",
    ("data", "input_scale", "input_zero_point", "output_scale", "output_zero_point"),
    attrs=attrs(
        "RequantizeAttrs",
        _AXIS,
        text("rounding", "None", doc='the rounding of halves; "None" is "UPWARD"', choices=ROUNDINGS),
        text(
            "compute_dtype",
            "None",
            doc='the dtype of the computation; "None" is "int64", in fixed point',
            choices=COMPUTE,
        ),
        dtype("out_dtype", "", doc="the dtype of the result, by default the dtype of the data"),
    ),
    relation=_requantize_type,
    pattern=OpPattern.ELEMWISE,
    silenced=True,
    python=Python(
        "data, input_scale, input_zero_point, output_scale, output_zero_point, axis=-1, rounding='None', "
        "compute_dtype='None', out_dtype='int8'",
        rounding=lambda own: current_rounding()[0] if own == "None" else own,
        compute_dtype=lambda own: current_rounding()[1] if own == "None" else own,
    ),
    shapes="data S, scales and zero points () or (S[axis]) -> S",
    edge_cases=(
        'qnn.requantize(%q: (2, 3) int32, 0.5f, 1, 0.25f, 2, out_dtype="int8")',
        'qnn.requantize(%q: (2, 3) int8, 0.5f, 1, 0.75f, 2, rounding="TONEAREST", out_dtype="uint8")',
        'qnn.requantize(%q: (0, 3) int32, 0.5f, 1, 0.25f, 2, out_dtype="int8")',
    ),
    layout=layout_rules.along(),
)
def requantize(
    attrs: Attrs,
    data: Array,
    input_scale: Array,
    input_zero_point: Array,
    output_scale: Array,
    output_zero_point: Array,
) -> Array:
    """Convert integers to another scale and zero point, in integer arithmetic."""
    rounding = "UPWARD" if attrs.rounding == "None" else attrs.rounding
    compute = "int64" if attrs.compute_dtype == "None" else attrs.compute_dtype
    source, target = (input_scale, input_zero_point), (output_scale, output_zero_point)
    return requantize_array(data, source, target, attrs.out_dtype or data.dtype.name, attrs.axis, rounding, compute)


# ---------------------------------------------------------------- simulated
CODES = {"disable": 0, "int8": 1, "uint8": 2, "int32": 3}
_RANGES = {code: np.iinfo(name) for name, code in CODES.items() if code}


def _simulated_type(names: tuple[str, str, str]) -> Relation:
    def relation(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
        data, code = tensor(types, 0, "data"), tensor(types, 1, names[0])
        if data is not None and not is_float_name(data.dtype):
            refuse("a simulation works on floats", 0, expected="float32", found=data.dtype)
        if code is not None and (code.shape or "int" not in code.dtype):
            refuse(f"{names[0]} must be an integer scalar, the code of a dtype", 1, found=code)
        for index, name in enumerate(names[1:], start=2):
            ty = tensor(types, index, name)
            if ty is not None:
                check_length(ty, index, name, data, attrs.axis)
        if data is not None and data.shape:
            normal_axis(attrs.axis, len(data.shape))
        return data

    return relation


def _dtype_code(dtype: Any) -> Any:
    return Constant(np.array(CODES[dtype], np.int32)) if isinstance(dtype, str) else dtype


@quantized_operator(
    "qnn.simulated_quantize",
    ("data", "out_dtype", "output_scale", "output_zero_point"),
    attrs=attrs("SimulatedQuantizeAttrs", _AXIS),
    relation=_simulated_type(("out_dtype", "output_scale", "output_zero_point")),
    pattern=OpPattern.ELEMWISE,
    non_computational=False,
    silenced=True,
    python=Python("data, output_scale, output_zero_point, axis=-1, out_dtype='int8'", out_dtype=_dtype_code),
    shapes="data S, out_dtype (), scale and zero point () or (S[axis]) -> S",
    edge_cases=(
        "qnn.simulated_quantize(%x: (2, 3) float32, 2, 0.5f, 1)",
        "qnn.simulated_quantize(%x: () float32, 0, 0.5f, 1)",
        "qnn.simulated_quantize(%x: (0, 3) float32, 1, 0.5f, 1)",
    ),
)
def simulated_quantize(
    attrs: Attrs, data: Array, out_dtype: Array, output_scale: Array, output_zero_point: Array
) -> Array:
    """The integers that numbers would become, as floats; the dtype is a code: 0 none, 1 int8, 2 uint8, 3 int32."""
    bounds = _RANGES.get(int(out_dtype.item()))
    if bounds is None:
        return data
    scale, zero_point = (along(v, attrs.axis, data.ndim) for v in (output_scale, output_zero_point))
    result: Array = round_half_away(as_array(data / scale)) + zero_point
    return np.clip(result, bounds.min, bounds.max).astype(data.dtype)


def _define_simulated_dequantize(attrs: Attrs, data: Expr, in_dtype: Expr, scale: Expr, zero_point: Expr) -> Expr:
    """Define `qnn.simulated_dequantize`: `(data - zero_point) * scale`, or the data if the code is 0."""
    rank, dtype = len(shape_of(data)), dtype_of(data)
    factor, zero = (call("cast", _broadcast_along(v, attrs.axis, rank), dtype=dtype) for v in (scale, zero_point))
    disabled = call("equal", in_dtype, call("zeros_like", in_dtype))
    return call("where", disabled, data, (data - zero) * factor)


@quantized_operator(
    "qnn.simulated_dequantize",
    ("data", "in_dtype", "input_scale", "input_zero_point"),
    attrs=dequantize.spec.attrs,
    relation=_simulated_type(("in_dtype", "input_scale", "input_zero_point")),
    pattern=OpPattern.ELEMWISE,
    non_computational=False,
    silenced=True,
    python=Python(
        "data, input_scale, input_zero_point, axis=-1, in_dtype='int8'",
        fixed={"out_dtype": "float32"},
        in_dtype=_dtype_code,
    ),
    gradient=by_definition(_define_simulated_dequantize),
    shapes="data S, in_dtype (), scale and zero point () or (S[axis]) -> S",
    edge_cases=(
        'qnn.simulated_dequantize(%x: (2, 3) float32, 2, 0.5f, 1, out_dtype="float32")',
        'qnn.simulated_dequantize(%x: () float32, 0, 0.5f, 1, out_dtype="float32")',
        'qnn.simulated_dequantize(%x: (0, 3) float32, 1, 0.5f, 1, out_dtype="float32")',
    ),
)
def simulated_dequantize(
    attrs: Attrs, data: Array, in_dtype: Array, input_scale: Array, input_zero_point: Array
) -> Array:
    """The real numbers that simulated integers represent; code 0 leaves the data as it is."""
    if int(in_dtype.item()) == 0:
        return data
    scale, zero_point = (along(v, attrs.axis, data.ndim) for v in (input_scale, input_zero_point))
    return np.asarray((data - zero_point) * scale).astype(data.dtype)
