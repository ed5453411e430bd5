"""One ONNX node during its translation: its attributes, the known values of its inputs, and the creation of calls.

    @onnx_operator("Softplus", 1, 22)
    def softplus(n: Node, x: Expr) -> Expr:
        return n("log", n("add", n("exp", x), 1.0))

Calling a node creates the call of a Relay operator, with the names and parameters it has in `relay`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from passlab.frontend.building import CallBuilder
from passlab.frontend.model_node import ModelNode
from passlab.frontend.onnx.attributes import SubGraph, kind_of
from passlab.ir.expr import Expr
from passlab.op.dtypes import Array

_MISSING: Any = object()  # for "no default", since None may be one
D = TypeVar("D")
Capture = Callable[[Expr], Expr]


class SubgraphTranslator(Protocol):
    """Translates a graph in an attribute of a node."""

    def __call__(self, graph: SubGraph, inputs: Sequence[Expr], capture: Capture | None = None) -> list[Expr]: ...


class OnnxNode(ModelNode):
    """A node in translation. `version` is the version of its operator's definition, `outputs` the names of its results.

    `subgraph(graph, inputs, capture)` translates a graph in an attribute and returns its outputs. `problems` has the
    reasons why attributes could not be read, by name.
    """

    subgraph: SubgraphTranslator
    shape_hint = "fix the inputs with `from_onnx(model, shape={...})`"

    def __init__(
        self,
        op_type: str,
        name: str,
        version: int,
        outputs: Sequence[str],
        attributes: dict[str, Any],
        problems: dict[str, str],
        builder: CallBuilder,
    ) -> None:
        super().__init__(op_type, name, builder)
        self.version = version
        self.outputs = outputs
        self.attributes = attributes
        self._problems = problems
        self.stated_ranks: Mapping[str, int] = {}  # by name of a tensor

    # ------------------------------------------------------------ attributes
    def attribute(self, name: str, kind: type | tuple[type, ...], default: Any = _MISSING) -> Any:
        """Return an attribute, or `default` if the node has none. Raises `ModelError` for one of another kind."""
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

    def integer(self, name: str, default: D = _MISSING) -> int | D:
        """Return a whole number attribute."""
        result: int | D = self.attribute(name, int, default)
        return result

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a bool attribute."""
        return bool(self.integer(name, int(default)))

    def number(self, name: str, default: D = _MISSING) -> float | D:
        """Return a number attribute; a default is rounded to float32, as the numbers in a model are."""
        result: float | D = self.attribute(name, (float, int), default)
        return float(np.float32(result)) if result is default and isinstance(result, float) else result

    def text(self, name: str, default: D = _MISSING) -> str | D:
        """Return a text attribute."""
        result: str | D = self.attribute(name, str, default)
        return result

    def choice(self, name: str, default: str, choices: Sequence[str]) -> str:
        """Return a text attribute with one of several values. Raises `ModelError` for any other."""
        result: str = self.text(name, default)
        if result not in choices:
            self.refuse(f"does not know this `{name}`", f"one of {', '.join(choices)}", result)
        return result

    def integers(self, name: str, default: D = _MISSING) -> list[int] | D:
        """Return an attribute that is a list of whole numbers, as a list."""
        result: list[int] | D = self._as_list(name, int, default)
        return result

    def numbers(self, name: str, default: D = _MISSING) -> list[float] | D:
        """Return an attribute that is a list of numbers, as a list."""
        result: list[float] | D = self._as_list(name, float, default)
        return result

    def texts(self, name: str, default: D = _MISSING) -> list[str] | D:
        """Return an attribute that is a list of texts, as a list."""
        result: list[str] | D = self._as_list(name, str, default)
        return result

    def _as_list(self, name: str, kind: type, default: Any) -> Any:
        value = self.attribute(name, tuple, default)
        if value is default:
            return default
        if not all(isinstance(item, kind) for item in value):
            self.refuse(f"has an attribute `{name}` of the wrong kind")
        return list(value)

    def tensor(self, name: str, default: D = _MISSING) -> Array | D:
        """Return an attribute that is a tensor, as an array."""
        result: Array | D = self.attribute(name, np.ndarray, default)
        return result

    def graph(self, name: str) -> SubGraph:
        """Return an attribute that is a graph."""
        result: SubGraph = self.attribute(name, SubGraph)
        return result

    # ------------------------------------------------------------ outputs
    def stated_rank(self, index: int) -> int | None:
        """Return the rank that the model states for an output, None where it states none."""
        return self.stated_ranks.get(self.outputs[index]) if index < len(self.outputs) else None

    def of_stated_length(self, shape: Expr) -> Expr:
        """Return the computed shape of the first output with as many elements as the model states dimensions for it.

        The rank of a tensor is a part of its type. Raises `ModelError` where nothing tells it.
        """
        if isinstance(self.shape(shape)[0], int):
            return shape
        rank = self.stated_rank(0)
        if rank is None:
            hint = "state the dimensions of the output in the model, or make the shape a constant of it"
            self.refuse("needs the length of the shape at import, for it is the rank of the result", hint=hint)
        return self("reshape", shape, newshape=[rank])

    def uses_output(self, index: int) -> bool:
        """Whether output `index` is used."""
        return index < len(self.outputs) and bool(self.outputs[index])
