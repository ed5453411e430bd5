"""Definitions of the operators that only change the shape of data; see `elements`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.definitions.elements import MEANING, definition_of


def _newshape(shape: Sequence[int], codes: Sequence[int], allowzero: bool) -> list[int]:
    """Decode the attribute `newshape` of `reshape`: the documentation of the operator has the codes."""
    result: list[int] = []
    at = 0
    rest = list(codes)
    while rest:
        code = rest.pop(0)
        if code == -2:
            result, at = result + list(shape[at:]), len(shape)
        elif code == -3:
            result, at = [*result, shape[at] * shape[at + 1]], at + 2
        elif code == -4:
            parts, at = [rest.pop(0), rest.pop(0)], at + 1
            result += [shape[at - 1] // (parts[1 - n] or 1) if part == -1 else part for n, part in enumerate(parts)]
        else:
            result, at = [*result, shape[at] if code == 0 and not allowzero else code], at + 1
    others = math.prod(size for size in result if size != -1)
    return [math.prod(shape) // others if size == -1 else size for size in result]


@definition_of("reshape")
def reshape(attrs: Any, x: Any) -> Any:
    """Define `reshape`."""
    return x.reshape(_newshape(x.shape, attrs.newshape, attrs.allowzero))


MEANING["dyn.reshape"] = lambda attrs, x, codes: x.reshape(_newshape(x.shape, codes.tolist(), attrs.allowzero))
MEANING["vm.reshape_tensor"] = lambda attrs, x, shape: x.reshape(shape)


@definition_of("contrib_reverse_reshape")
def reverse_reshape(attrs: Any, x: Any) -> Any:
    """Define `contrib_reverse_reshape`: codes are read from the right."""
    return x.reshape(_newshape(x.shape[::-1], attrs.newshape[::-1], attrs.allowzero)[::-1])


@definition_of("reshape_like")
def reshape_like(attrs: Any, x: Any, like: Any) -> Any:
    """Define `reshape_like`: a range of dimensions is replaced by a range of another shape."""
    shape = list(x.shape)
    shape[attrs.lhs_begin : attrs.lhs_end] = like.shape[attrs.rhs_begin : attrs.rhs_end]
    return x.reshape(shape)


@definition_of("expand_dims")
def expand_dims(attrs: Any, x: Any, *axis: Any) -> Any:
    """Define `expand_dims`: `num_newaxis` new dimensions from `axis` on."""
    first = int(axis[0]) if axis else attrs.axis
    for _ in range(attrs.num_newaxis):
        x = np.expand_dims(x, first)
    return x


MEANING["dyn.expand_dims"] = expand_dims
MEANING["dyn.squeeze"] = lambda attrs, x, axes: np.squeeze(x, tuple(axes.tolist()))

MEANING["squeeze"] = lambda attrs, x: np.squeeze(x, None if attrs.axis is None else tuple(attrs.axis))
MEANING["nn.batch_flatten"] = lambda attrs, x: (
    np.stack([sample.ravel() for sample in x]) if len(x) else x.reshape(0, math.prod(x.shape[1:]))
)
