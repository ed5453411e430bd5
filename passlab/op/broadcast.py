"""Operators on two tensors that broadcast against each other by NumPy's rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.ir.op import OpPattern
from passlab.op.declare import operator
from passlab.op.relations import broadcast, broadcast_compare


@operator("add", ("lhs", "rhs"), relation=broadcast, pattern=OpPattern.BROADCAST, level=1, example="add(%x, %y)")
def add(attrs: Any, lhs: Any, rhs: Any, *, out: Any = None) -> Any:
    """Add element by element; integers wrap."""
    return np.add(lhs, rhs, out=out)


@operator("multiply", ("lhs", "rhs"), relation=broadcast, pattern=OpPattern.BROADCAST, level=1, example="multiply(%x, %y)")
def multiply(attrs: Any, lhs: Any, rhs: Any, *, out: Any = None) -> Any:
    """Multiply element by element; integers wrap."""
    return np.multiply(lhs, rhs, out=out)


@operator("less", ("lhs", "rhs"), relation=broadcast_compare, pattern=OpPattern.BROADCAST, level=4, example="less(%x, %y)")
def less(attrs: Any, lhs: Any, rhs: Any, *, out: Any = None) -> Any:
    """Whether each element of `lhs` is less than that of `rhs`."""
    return np.less(lhs, rhs, out=out)
