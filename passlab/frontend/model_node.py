"""One node of a model during its translation: the known values of its inputs, and the creation of Relay calls.

Calling a node creates the call of a Relay operator, with the names and parameters it has in `relay`. Each format
derives its own node class, which adds the attributes of that format.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from passlab.errors import Diagnostic, ModelError
from passlab.frontend.building import CallBuilder, ShapeEntry, tensor_type
from passlab.ir.expr import Constant, Expr
from passlab.ir.span import Span
from passlab.ir.types import Dim
from passlab.op.dtypes import Array, guard_size


class ModelNode:
    """A named node of the operator `op_type`, translated with a builder."""

    shape_hint = "fix the shapes of the inputs"

    def __init__(self, op_type: str, name: str, builder: CallBuilder) -> None:
        self.op_type = op_type
        self.name = name
        self.builder = builder

    # ------------------------------------------------------------ creating expressions
    def __call__(self, operator: str, *args: Any, **attrs: Any) -> Expr:
        return self.builder.call(operator, args, attrs)

    def constant(self, value: Any, like: Expr | str) -> Expr:
        """Return a constant of a dtype, or in the dtype of another tensor."""
        return self.builder.constant(value, like if isinstance(like, str) else self.dtype(like))

    def array(self, array: Array) -> Expr:
        """Return an array as a constant of its own dtype."""
        return self.builder.finish(Constant(array))

    def fields(self, value: Expr, count: int) -> list[Expr]:
        """Return the fields of a tuple of `count`."""
        return [self.builder.field(value, index) for index in range(count)]

    def cast(self, x: Expr, dtype: str) -> Expr:
        """Return `x` cast to a dtype; `x` itself if it has that dtype."""
        return x if self.dtype(x) == dtype else self("cast", x, dtype=dtype)

    def scalar(self, x: Expr) -> Expr:
        """Return a tensor of one element as a scalar."""
        return self("reshape", x, newshape=[]) if self.rank(x) else x

    def concat(self, parts: Sequence[Expr], axis: int = 0) -> Expr:
        """Return tensors concatenated along an axis; a single one is returned unchanged."""
        return parts[0] if len(parts) == 1 else self("concatenate", self.builder.tuple(parts), axis=axis)

    # ------------------------------------------------------------ types and values of inputs
    def shape(self, x: Expr) -> tuple[Dim, ...]:
        """Return the dimensions of a tensor; an unknown one is `relay.Any()` or a `SizeVar`."""
        return self.builder.shape(x)

    def rank(self, x: Expr) -> int:
        """Return the number of dimensions of a tensor."""
        return len(tensor_type(x).shape)

    def dtype(self, x: Expr) -> str:
        """Return the dtype of a tensor."""
        return tensor_type(x).dtype

    def is_float(self, x: Expr) -> bool:
        """Whether a tensor holds floating-point numbers."""
        return "float" in self.dtype(x)

    def static_shape(self, x: Expr, axes: Sequence[int] | None = None) -> tuple[int, ...]:
        """Return the dimensions of a tensor, or its dimensions at `axes`. Raises `ModelError` if one is unknown."""
        shape = self.shape(x)
        dims = shape if axes is None else [shape[axis] for axis in axes]
        if not all(isinstance(dim, int) for dim in dims):
            hint = self.shape_hint
            self.refuse("needs a shape that is known at import", found=str(tensor_type(x)), hint=hint)
        return tuple(int(dim) for dim in dims)  # type: ignore[arg-type]

    def value(self, x: Expr) -> Array | None:
        """Return the value of a constant or a weight, None for any other tensor."""
        return self.builder.value(x)

    def constant_value(self, x: Expr, what: str) -> Array:
        """Return the value of a tensor; `what` names it in the `ModelError` for one computed at run time."""
        value = self.value(x)
        if value is None:
            hint = f"make it a constant of the model; or {self.shape_hint}"
            self.refuse(f"needs {what} at import, but it is computed", hint=hint)
        return value

    def constant_ints(self, x: Expr, what: str) -> list[int]:
        """Return the elements of an integer tensor. Raises `ModelError` if they are computed at run time."""
        return [int(entry) for entry in np.asarray(self.constant_value(x, what)).reshape(-1)]

    def entries(self, x: Expr) -> list[ShapeEntry] | None:
        """Return the elements of a computed shape, None if none is known."""
        return self.builder.entries.get(x)

    def known_entries(self, x: Expr) -> list[ShapeEntry] | None:
        """Return the elements of an integer vector, None for an unknown one; None if its length is unknown."""
        value = self.value(x)
        if value is not None:
            return [int(entry) for entry in value.reshape(-1)]
        length = self.shape(x)[0] if self.rank(x) == 1 else None
        return self.entries(x) or ([None] * length if isinstance(length, int) else None)

    def record_entries(self, x: Expr, entries: list[ShapeEntry]) -> Expr:
        """Record the known elements of the computed shape `x`; return `x`."""
        self.builder.entries[x] = entries
        return x

    def check_size(self, *shape: int) -> None:
        """Raise `LimitError` if an array of this shape, created at import, would be too large."""
        guard_size(shape, np.dtype(np.int64), f"{self.op_type} `{self.name}`")

    def axis(self, axis: int, rank: int) -> int:
        """Return an axis of a tensor of this rank counted from 0. Raises `ModelError` for one outside the rank."""
        if not -rank <= axis < max(rank, 1):
            self.refuse("names an axis that its input does not have", f"{-rank} to {rank - 1}", str(axis))
        return axis % max(rank, 1)

    @property
    def span(self) -> Span | None:
        """The source location of the node."""
        return self.builder.span

    def refuse(
        self, why: str, expected: str | None = None, found: str | None = None, hint: str | None = None
    ) -> NoReturn:
        """Raise the `ModelError` that explains why this node cannot be translated."""
        raise ModelError(Diagnostic(f"{self.op_type} `{self.name}` {why}", self.span, expected, found, hint=hint))
