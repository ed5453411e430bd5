"""One node of a model as its translation sees it: what is known of its inputs, and a way to make Relay.

Calling a node makes the call of a Relay operator under the names and parameters it has in `relay`. Each format of
models derives its own node from it, which adds how that format states attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from passlab.errors import Diagnostic, ModelError
from passlab.frontend.building import Builder, Entry, tensor_type
from passlab.ir.expr import Constant, Expr
from passlab.ir.span import Span
from passlab.ir.types import Dim
from passlab.op.dtypes import Array, guard_size


class ModelNode:
    """A node of the operator `op_type` with a name, translated by a builder."""

    shape_hint = "fix the shapes of the inputs"

    def __init__(self, op_type: str, name: str, builder: Builder) -> None:
        self.op_type = op_type
        self.name = name
        self.builder = builder

    # ------------------------------------------------------------ making Relay
    def __call__(self, operator: str, *args: Any, **attrs: Any) -> Expr:
        return self.builder.call(operator, args, attrs)

    def constant(self, value: Any, like: Expr | str) -> Expr:
        """Return a constant of a dtype, or of that of another tensor."""
        return self.builder.constant(value, like if isinstance(like, str) else self.dtype(like))

    def array(self, array: Array) -> Expr:
        """Return an array as a constant of its own dtype."""
        return self.builder.finish(Constant(array))

    def fields(self, value: Expr, count: int) -> list[Expr]:
        """Return the fields of a tuple of `count`."""
        return [self.builder.field(value, index) for index in range(count)]

    def cast(self, x: Expr, dtype: str) -> Expr:
        """Return `x` in another dtype, `x` itself where it has it."""
        return x if self.dtype(x) == dtype else self("cast", x, dtype=dtype)

    def concat(self, parts: Sequence[Expr], axis: int = 0) -> Expr:
        """Return tensors joined along an axis, one alone as it is."""
        return parts[0] if len(parts) == 1 else self("concatenate", self.builder.tuple(parts), axis=axis)

    # ------------------------------------------------------------ what is known of inputs
    def shape(self, x: Expr) -> tuple[Dim, ...]:
        """The dimensions of a tensor, `relay.Any()` where they are not known."""
        return tensor_type(x).shape

    def rank(self, x: Expr) -> int:
        """The number of dimensions of a tensor."""
        return len(tensor_type(x).shape)

    def dtype(self, x: Expr) -> str:
        """The dtype of a tensor."""
        return tensor_type(x).dtype

    def is_float(self, x: Expr) -> bool:
        """Whether a tensor holds floating-point numbers."""
        return "float" in self.dtype(x)

    def static_shape(self, x: Expr, axes: Sequence[int] | None = None) -> tuple[int, ...]:
        """The dimensions of a tensor, or some of them. Raises `ModelError` where one is not known."""
        shape = self.shape(x)
        dims = shape if axes is None else [shape[axis] for axis in axes]
        if not all(isinstance(dim, int) for dim in dims):
            hint = self.shape_hint
            self.refuse("needs a shape that is known while the model is read", found=str(tensor_type(x)), hint=hint)
        return tuple(int(dim) for dim in dims)  # type: ignore[arg-type]

    def value(self, x: Expr) -> Array | None:
        """What a tensor is known to hold, or None."""
        return self.builder.value(x)

    def constant_of(self, x: Expr, what: str) -> Array:
        """What a tensor holds. Raises `ModelError` where that is only known when the program runs."""
        value = self.value(x)
        if value is None:
            hint = f"make it a constant of the model; or {self.shape_hint}"
            self.refuse(f"needs {what} while the model is read, and it is computed", hint=hint)
        return value

    def known_ints(self, x: Expr, what: str) -> list[int]:
        """The whole numbers in a tensor. Raises `ModelError` where they are only known when the program runs."""
        return [int(entry) for entry in np.asarray(self.constant_of(x, what)).reshape(-1)]

    def entries(self, x: Expr) -> list[Entry] | None:
        """The entries of a partly known shape, None where none is known."""
        return self.builder.entries.get(x)

    def known_entries(self, x: Expr) -> list[Entry] | None:
        """The entries of a vector of whole numbers as far as they are known, None where it is not known how many."""
        value = self.value(x)
        if value is not None:
            return [int(entry) for entry in value.reshape(-1)]
        length = self.shape(x)[0] if self.rank(x) == 1 else None
        return self.entries(x) or ([None] * length if isinstance(length, int) else None)

    def note(self, x: Expr, entries: list[Entry]) -> Expr:
        """Remember the known entries of a shape that the program computes; return it."""
        self.builder.entries[x] = entries
        return x

    def room(self, *shape: int) -> None:
        """Raise `LimitError` before an array of this shape, made while the model is read, would be too large."""
        guard_size(shape, np.dtype(np.int64), f"{self.op_type} `{self.name}`")

    def axis(self, axis: int, rank: int) -> int:
        """Return an axis counted from 0. Raises `ModelError` for one that a tensor of this rank does not have."""
        if not -rank <= axis < max(rank, 1):
            self.refuse("names an axis that its input does not have", f"{-rank} to {rank - 1}", str(axis))
        return axis % max(rank, 1)

    @property
    def span(self) -> Span | None:
        """The place of the node."""
        return self.builder.span

    def refuse(
        self, why: str, expected: str | None = None, found: str | None = None, hint: str | None = None
    ) -> NoReturn:
        """Raise the `ModelError` that says why this node cannot be translated."""
        raise ModelError(Diagnostic(f"{self.op_type} `{self.name}` {why}", self.span, expected, found, hint=hint))
