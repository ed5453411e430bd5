"""What an imported module remembers of its model: the names that a Relay program does not hold.

A variable of Relay is an identifier, a result has no name, and an unknown size is `?`. `from_onnx` keeps the names of
the graph, of its inputs and outputs, and of their sizes as the source of the module, which passes leave alone;
`to_onnx` writes them again. A weight has its name as the source of its constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from passlab.frontend.onnx.package import onnx
from passlab.ir.span import Source, Span


@dataclass(frozen=True)
class Named:
    """An input or output of a model: its name, the names of its sizes ("" for one without), its documentation."""

    name: str
    sizes: tuple[str, ...]
    doc_string: str

    @staticmethod
    def of(value: Any) -> Named:
        """Return what is named in a ValueInfoProto."""
        dims = value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ()
        return Named(value.name, tuple(dim.dim_param for dim in dims), value.doc_string)

    def size(self, axis: int, rank: int) -> str:
        """Return the name of the size of an axis, "" for one without a name."""
        return self.sizes[axis] if len(self.sizes) == rank else ""


class ModelSource(Source):
    """The source of an imported module: `inputs` by the name of their parameter, and `outputs` in order."""

    __slots__ = ("doc_string", "inputs", "outputs")

    def __init__(self, graph: Any, identifiers: Mapping[str, str]) -> None:
        super().__init__(graph.name)
        self.doc_string: str = graph.doc_string
        values = {value.name: Named.of(value) for value in graph.input}
        # Weights are parameters as well, where the importer does not make them constants.
        self.inputs = {identifier: values.get(name, Named(name, (), "")) for name, identifier in identifiers.items()}
        self.outputs: Sequence[Named] = tuple(map(Named.of, graph.output))


def size_name(dim: Any) -> str:
    """Return the name of a size, "" for one without. Two sizes called `?` need not be equal."""
    return "" if dim.dim_param == "?" else str(dim.dim_param)


def weight_span(name: str, dtype: str, shape: Sequence[int]) -> Span | None:
    """Return the source of a weight: its name and type. None for a weight without a name."""
    if not name:
        return None
    text = f"{name}: {dtype}{list(shape)}"
    return Span(Source(name, text), 0, len(text))


def weight_name(span: Any) -> str:
    """Return the name of the weight whose source this is, "" for any other source."""
    source = span.source if isinstance(span, Span) else None
    if source is None or not source.name or source.text is None or not source.text.startswith(f"{source.name}: "):
        return ""
    return source.name


def value_info(named: Named | None, name: str, element: int, dims: Sequence[int | None]) -> Any:
    """Return an input or output of a model; None is an unknown size, which has its name of the original model."""
    sizes = [
        dim if dim is not None or named is None else named.size(axis, len(dims)) or None
        for axis, dim in enumerate(dims)
    ]
    value = onnx().helper.make_tensor_value_info(name, element, sizes)
    if named is not None:
        value.doc_string = named.doc_string
    return value
