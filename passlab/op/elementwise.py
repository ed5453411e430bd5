"""Operators that work on each element by itself and keep the shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.ir.op import OpPattern, Reporter
from passlab.ir.types import TensorType
from passlab.op.declare import operator
from passlab.op.fields import attrs, dtype
from passlab.op.relations import identity, tensor


@operator("exp", ("data",), relation=identity, pattern=OpPattern.ELEMWISE, level=1, example="exp(%x)")
def exp(attrs: Any, data: Any, *, out: Any = None) -> Any:
    """The exponential of each element."""
    return np.exp(data, out=out)


def _cast_type(types: Any, attrs: Any, reporter: Reporter) -> TensorType | None:
    data = tensor(types, 0, "data")
    return None if data is None else TensorType(data.shape, attrs.dtype)


@operator(
    "cast", ("data",), attrs=attrs("CastAttrs", dtype("dtype", doc="the dtype to convert to")),
    relation=_cast_type, pattern=OpPattern.ELEMWISE, level=3, example='cast(%x, dtype="int32")', out=False,
)  # fmt: skip
def cast(attrs: Any, data: Any) -> Any:
    """Convert each element to another dtype."""
    return np.asarray(data).astype(attrs.dtype)
