"""Functions of quantized tensors as lookup tables, with one entry for each value of the input's dtype.

`relay.qnn.op.canonicalizations` and `relay.qnn.op.legalizations` export them for rewrites that users register.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, PassValueError
from passlab.evaluate import Evaluator
from passlab.infer import infer_expr
from passlab.ir.expr import Constant, Expr
from passlab.op import make

Array = np.ndarray[Any, Any]


def run_const_expr(expr: Expr) -> Array:
    """Return the value of an expression without free variables as an array."""
    return np.asarray(Evaluator().evaluate(infer_expr(expr)))


def create_integer_lookup_table(
    floating_point_func: Callable[[Array], Array],
    input_scale: Expr,
    input_zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
    in_axis: int = -1,
    out_axis: int = -1,
    in_dtype: str = "uint8",
    out_dtype: str = "uint8",
) -> Array:
    """Return the quantized results of a function of floats for all values of `in_dtype`, in the order of their bits.

    Raises `PassValueError` unless `in_dtype` is an integer dtype of at most 16 bits.
    """
    for dtype in (in_dtype, out_dtype):
        if not np.issubdtype(np.dtype(dtype), np.integer) or np.iinfo(dtype).bits > 16:
            what = "lookup tables are indexed by integers of at most 16 bits"
            raise PassValueError(Diagnostic(what, found=dtype))
    bits = np.iinfo(in_dtype).bits
    patterns = Constant(np.arange(2**bits, dtype=f"uint{bits}").view(in_dtype))
    real = run_const_expr(
        make("qnn.dequantize", patterns, input_scale, input_zero_point, axis=in_axis, out_dtype="float32")
    )
    results = Constant(np.asarray(floating_point_func(real), real.dtype))
    quantized = make("qnn.quantize", results, output_scale, output_zero_point, axis=out_axis, out_dtype=out_dtype)
    return run_const_expr(quantized)


def create_integer_lookup_op(
    input_arg: Expr,
    floating_point_func: Callable[[Array], Array],
    in_scale: Expr,
    in_zero_point: Expr,
    out_scale: Expr,
    out_zero_point: Expr,
    in_axis: int = -1,
    out_axis: int = -1,
    in_dtype: str = "uint8",
    out_dtype: str = "uint8",
) -> Expr:
    """Return an expression that applies a function of floats to a quantized tensor by a lookup table.

    Scales and zero points are constants, one for the whole tensor. Raises as `create_integer_lookup_table` does.
    """
    table = create_integer_lookup_table(
        floating_point_func, in_scale, in_zero_point, out_scale, out_zero_point, in_axis, out_axis, in_dtype, out_dtype
    )
    flat = make("reshape", input_arg, newshape=[-1])
    index = make("reinterpret", flat, dtype=f"uint{np.iinfo(in_dtype).bits}")
    return make("reshape_like", make("gather", Constant(table), index, axis=-1), input_arg)


def hardswish_func(x: Array) -> Array:
    """Return x times relu6(x + 3) / 6."""
    return np.asarray(x * np.clip(x + 3.0, 0.0, 6.0) / 6.0, x.dtype)
