"""One ONNX node as its translation sees it: its attributes, what is known of its inputs, and a way to make Relay.

    @onnx_operator("Softplus", 1, 22)
    def softplus(n: Node, x: Expr) -> Expr:
        return n("log", n("add", n("exp", x), 1.0))

Calling a node makes the call of a Relay operator under the names and parameters it has in `relay`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np

from passlab.errors import Diagnostic, ModelError
from passlab.frontend.onnx.attributes import SubGraph, kind_of
from passlab.frontend.onnx.building import Builder, Entry, tensor_type
from passlab.ir.expr import Constant, Expr
from passlab.ir.span import Span
from passlab.ir.types import Dim
from passlab.op.dtypes import Array, guard_size

_MISSING: Any = object()
Capture = Callable[[Expr], Expr]


class Subgraph(Protocol):
    """What translates a graph that is an attribute of a node."""

    def __call__(self, graph: SubGraph, inputs: Sequence[Expr], capture: Capture | None = None) -> list[Expr]: ...


class Node:
    """A node that is translated. `version` is that of its operator's definition, `outputs` the names it gives.

    `subgraph(graph, inputs, capture)` translates a graph inside it: expressions in, expressions out. `problems` are the
    attributes that could not be read, with the reasons.
    """

    subgraph: Subgraph

    def __init__(
        self,
        op_type: str,
        name: str,
        version: int,
        outputs: Sequence[str],
        attributes: dict[str, Any],
        problems: dict[str, str],
        builder: Builder,
    ) -> None:
        self.op_type = op_type
        self.name = name
        self.version = version
        self.outputs = outputs
        self.attributes = attributes
        self.builder = builder
        self._problems = problems

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
            hint = "fix the inputs with `from_onnx(model, shape={...})`"
            self.refuse("needs a shape that is known while the model is read", found=str(tensor_type(x)), hint=hint)
        return tuple(int(dim) for dim in dims)  # type: ignore[arg-type]

    def value(self, x: Expr) -> Array | None:
        """What a tensor is known to hold, or None."""
        return self.builder.value(x)

    def known(self, x: Expr, what: str) -> Array:
        """What a tensor holds. Raises `ModelError` where that is only known when the program runs."""
        value = self.value(x)
        if value is None:
            hint = "make it a constant of the model, or fix the shapes of the inputs with `shape=`"
            self.refuse(f"needs {what} while the model is read, and it is computed", hint=hint)
        return value

    def known_ints(self, x: Expr, what: str) -> list[int]:
        """The whole numbers in a tensor. Raises `ModelError` where they are only known when the program runs."""
        return [int(entry) for entry in np.asarray(self.known(x, what)).reshape(-1)]

    def entries(self, x: Expr) -> list[Entry] | None:
        """The entries of a shape of which some are known, None where nothing is."""
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

    # ------------------------------------------------------------ attributes
    def attribute(self, name: str, kind: type | tuple[type, ...], default: Any = _MISSING) -> Any:
        """Return an attribute, `default` where the node has none. Raises `ModelError` for one of another kind."""
        if name in self._problems:
            self.refuse(self._problems[name])
        value = self.attributes.get(name, _MISSING)
        if value is _MISSING:
            if default is _MISSING:
                self.refuse(f"needs the attribute `{name}`")
            return default
        if not isinstance(value, kind):
            self.refuse(f"has an attribute `{name}` of the wrong kind", found=kind_of(value))
        return value

    def has(self, name: str) -> bool:
        """Whether the node has an attribute."""
        return name in self.attributes or name in self._problems

    def integer(self, name: str, default: Any = _MISSING) -> Any:
        """Return an attribute that is a whole number."""
        return self.attribute(name, int, default)

    def flag(self, name: str, default: bool = False) -> bool:
        """Return an attribute that is yes or no."""
        return bool(self.integer(name, int(default)))

    def number(self, name: str, default: Any = _MISSING) -> Any:
        """Return an attribute that is a number."""
        return self.attribute(name, (float, int), default)

    def text(self, name: str, default: Any = _MISSING) -> Any:
        """Return an attribute that is text."""
        return self.attribute(name, str, default)

    def choice(self, name: str, default: str, choices: Sequence[str]) -> str:
        """Return an attribute that is one of some words. Raises `ModelError` for another."""
        found: str = self.text(name, default)
        if found not in choices:
            self.refuse(f"does not know this `{name}`", f"one of {', '.join(choices)}", found)
        return found

    def integers(self, name: str, default: Any = _MISSING) -> Any:
        """Return an attribute that is a list of whole numbers, as a list."""
        return self._listed(name, int, default)

    def numbers(self, name: str, default: Any = _MISSING) -> Any:
        """Return an attribute that is a list of numbers, as a list."""
        return self._listed(name, float, default)

    def texts(self, name: str, default: Any = _MISSING) -> Any:
        """Return an attribute that is a list of texts, as a list."""
        return self._listed(name, str, default)

    def _listed(self, name: str, kind: type, default: Any) -> Any:
        found = self.attribute(name, tuple, default)
        if found is default:
            return default
        if not all(isinstance(item, kind) for item in found):
            self.refuse(f"has an attribute `{name}` of the wrong kind")
        return list(found)

    def tensor(self, name: str, default: Any = _MISSING) -> Any:
        """Return an attribute that is a tensor, as an array."""
        return self.attribute(name, np.ndarray, default)

    def graph(self, name: str) -> SubGraph:
        """Return an attribute that is a graph."""
        found: SubGraph = self.attribute(name, SubGraph)
        return found

    # ------------------------------------------------------------ outputs
    def wants(self, index: int) -> bool:
        """Whether something asks for output `index`."""
        return index < len(self.outputs) and bool(self.outputs[index])

    @property
    def span(self) -> Span | None:
        """The place of the node."""
        return self.builder.span

    def refuse(
        self, why: str, expected: str | None = None, found: str | None = None, hint: str | None = None
    ) -> NoReturn:
        """Raise the `ModelError` that says why this node cannot be translated."""
        raise ModelError(Diagnostic(f"{self.op_type} `{self.name}` {why}", self.span, expected, found, hint=hint))
