"""Matrix products with a weight."""

from __future__ import annotations

from collections.abc import Sequence

from passlab.errors import Diagnostic, RelationError
from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Precision, Reporter
from passlab.ir.types import TensorType, Type
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array
from passlab.op.fields import attrs, dtype, integer
from passlab.op.nn import gradients
from passlab.op.nn.arithmetic import matmul, result_dtype
from passlab.op.nn.matmul import check_inner, check_units
from passlab.op.relations import tensor


def _dense_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, weight = tensor(types, 0, "data"), tensor(types, 1, "weight")
    if data is None:
        return None
    if not data.shape:
        raise RelationError(Diagnostic("data must have at least one dimension", found=str(data)), 0)
    units = attrs.units
    check_units("nn.dense", units)
    if weight is None:
        if units is None:
            return None
        weight = TensorType((units, data.shape[-1]), data.dtype)
        reporter.assign(1, weight)
    if len(weight.shape) != 2:
        raise RelationError(Diagnostic("weight must have two dimensions", found=str(weight)), 1)
    check_inner("nn.dense", data, weight, data.shape[-1], weight.shape[1])
    rows = weight.shape[0]
    if units is not None and isinstance(rows, int) and units != rows:
        raise RelationError(Diagnostic(f"units is {units} and the weight has {rows} rows"), 1)
    return TensorType((*data.shape[:-1], units if units is not None else rows), attrs.out_dtype or data.dtype)


@operator(
    "nn.dense",
    ("data", "weight"),
    attrs=attrs(
        "DenseAttrs",
        integer("units", optional=True, doc="rows of the weight, None to read them off"),
        dtype("out_dtype", ""),
    ),
    relation=_dense_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    precision=Precision.ALWAYS,
    level=1,
    warns=True,
    python=Python("data, weight, units=None, out_dtype=''"),
    gradient=gradients.dense,
    shapes="data (..., k), weight (units, k) -> (..., units)",
    source="a matrix product in BLAS",
    edge_cases=(
        "nn.dense(%x: (2, 3), %w: (4, 3), units=None)",
        "nn.dense(%x: (2, 2, 3), %w: (4, 3), units=4)",
        "nn.dense(%x: (0, 3), %w: (4, 3), units=None)",
        "nn.dense(%x: (2, 0), %w: (4, 0), units=None)",
        'nn.dense(%x: (2, 3) int8, %w: (4, 3) int8, units=None, out_dtype="int32")',
    ),
    example="nn.dense(%x, %w, units=16)",
)
def dense(attrs: Attrs, data: Array, weight: Array, *, out: Array | None = None) -> Array:
    """Multiply `data` (..., k) by the transpose of `weight` (units, k), giving (..., units)."""
    return matmul(data, weight.T, result_dtype(attrs.out_dtype, data.dtype), out)
