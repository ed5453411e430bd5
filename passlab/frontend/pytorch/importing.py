"""`from_pytorch` imports a program exported from PyTorch as a Relay module."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, LimitError, ModelError, PasslabError, did_you_mean
from passlab.frontend.building import CallBuilder
from passlab.frontend.identifiers import Identifiers
from passlab.frontend.modules import module_of
from passlab.frontend.pytorch.entries import entries, split_overload
from passlab.frontend.pytorch.node import Symbol, TorchNode
from passlab.frontend.pytorch.program import InputSpec, NodeRef, NodeSpec, TensorMeta, TorchProgram, load_program
from passlab.frontend.pytorch.torch_program import load_exported, program_of
from passlab.ir.expr import Constant, Expr, Var
from passlab.ir.gc_pause import building
from passlab.ir.module import IRModule
from passlab.ir.span import QuotedLine, Source, Span
from passlab.ir.types import Dim, SizeVar, TensorType
from passlab.op.dtypes import Array

_SHOWN = 5  # nodes of one operator that a message names


def from_pytorch(exported_program: Any, freeze_params: bool = False) -> tuple[IRModule, dict[str, Array]]:
    """Return a program of `torch.export` as a typed module with one function `main`, and its weights by name.

    `exported_program` is the result of `torch.export.export(model.eval(), args)`, the path of a `.pt2` file, or a
    stored program (`passlab.frontend.pytorch.program`: the path of a `.json` file or its contents), which is read
    without torch. The parameters of `main` are the tensors in the arguments of the model in their order, nested ones
    and keyword arguments flattened, then parameters and buffers that it uses, whose values are the second result;
    `freeze_params=True` makes these constants. Dimensions that were exported as dynamic are `?`. The result is a
    tensor, or a tuple of the tensors in the results in their order, followed by the values that the program writes into
    its buffers. The source of each Relay node is the line of Python that created it.

    Operators without an entry are expanded by PyTorch's own decompositions. Raises `ModelError` if it is not an
    exported program and for unsupported operators (all of them at once); `MissingPackageError` without the package
    `torch` if it is needed; `LimitError` for a program that is too large.
    """
    program = _program(exported_program)
    nodes = _live_nodes(program)
    _check_support(program, nodes)
    with building():
        return _Translation(program, freeze_params).run(nodes)


def _program(source: Any) -> TorchProgram:
    if isinstance(source, TorchProgram):
        return source
    if isinstance(source, Mapping):
        return load_program(source)
    supported = frozenset(entries())
    if isinstance(source, (str, PathLike)):
        path = Path(source)
        return load_program(path) if path.suffix == ".json" else program_of(load_exported(path), supported)
    return program_of(source, supported)


# ------------------------------------------------------------ checks before the translation
def _node_refs(value: Any) -> list[str]:
    """Return the names of the nodes in arguments."""
    names, stack = [], [value]
    while stack:
        item = stack.pop()
        if isinstance(item, NodeRef):
            names.append(item.node)
        elif isinstance(item, (list, tuple)):
            stack.extend(item)
        elif isinstance(item, Mapping):
            stack.extend(item.values())
    return names


def _live_nodes(program: TorchProgram) -> list[NodeSpec]:
    """Return the nodes that the results depend on, which leaves out assertions about sizes, for example."""
    needed = set(_node_refs(program.results))
    live = []
    for spec in reversed(program.nodes):  # users before the nodes that they use
        if spec.name in needed:
            needed.update(_node_refs(spec.args))
            needed.update(_node_refs(spec.kwargs or {}))
            live.append(spec)
    return live[::-1]


def _check_support(program: TorchProgram, nodes: Sequence[NodeSpec]) -> None:
    """Raise a `ModelError` with one diagnostic for each unsupported operator."""
    missing: dict[str, list[NodeSpec]] = {}
    for spec in nodes:
        if split_overload(spec.op)[0] not in entries():
            missing.setdefault(spec.op, []).append(spec)
    if missing:
        raise ModelError(*(_diagnostic(program, op, specs) for op, specs in sorted(missing.items())))


# name of an operator (regular expression) -> why it has no entry
REASONS = {
    "_backward$": "derivatives are not read: export the model for inference",
    "fft": "there are no complex numbers: leave the transform out of the exported part",
    r"\.(rand|randn|randint|randperm|bernoulli|multinomial|normal)": "random numbers are inputs here",
    r"\.sym_(stride|storage_offset)$": "tensors have no strides here",
}


def _diagnostic(program: TorchProgram, op: str, specs: list[NodeSpec]) -> Diagnostic:
    names = ", ".join(f"`{spec.name}`" for spec in specs[:_SHOWN])
    more = f" and {len(specs) - _SHOWN} more" if len(specs) > _SHOWN else ""
    name = split_overload(op)[0]
    reason = next((reason for pattern, reason in REASONS.items() if re.search(pattern, name)), None)
    hint = reason or did_you_mean(name, entries())
    return Diagnostic(
        f"the PyTorch operator `{op}` is not supported",
        span_of(specs[0]),
        notes=((f"it is used by {names}{more} of `{program.name}`", None),),
        hint=hint,
    )


def span_of(spec: NodeSpec) -> Span:
    """Return the line of Python that created a node, with its module and operator; without one, the node as text."""
    inside = f"{spec.module}: " if spec.module else ""
    if spec.place is not None:
        return QuotedLine(spec.place.file, spec.place.line, f"{spec.place.code}  # {inside}{spec.op}, node {spec.name}")
    text = f"{spec.name} = {spec.op}({', '.join(_node_refs(spec.args)[:_SHOWN])})  # {inside}".removesuffix("  # ")
    return Span(Source(spec.name, text), 0, len(text))


# ------------------------------------------------------------ the translation
class _Translation:
    """The translation of one program."""

    def __init__(self, program: TorchProgram, freeze: bool) -> None:
        self.program = program
        self.freeze = freeze
        self.builder = CallBuilder()
        self.values: dict[str, Any] = {}
        self.symbols: dict[str, SizeVar] = {}
        self.inputs: list[Var] = []

    def run(self, nodes: Sequence[NodeSpec]) -> tuple[IRModule, dict[str, Array]]:
        """Return the module and the weights that are its parameters."""
        identifiers = Identifiers()
        for spec in self.program.inputs:
            if spec.name in self.values:
                raise ModelError(Diagnostic(f"`{self.program.name}` has two inputs `{spec.name}`"))
            self.values[spec.name] = self._input(spec, identifiers)
        for node in nodes:
            self._translate(node)
        self.builder.span = None  # results have no line of their own
        results = [leaf for result in self.program.results for leaf in self._leaves(result)]
        if not results:
            raise ModelError(Diagnostic(f"`{self.program.name}` returns no tensor"))
        return module_of(results, self.inputs, {} if self.freeze else self.builder.weights)

    def _input(self, spec: InputSpec, identifiers: Identifiers) -> Expr | Symbol:
        if spec.weight is not None:
            array = self.program.weights.get(spec.weight)
            if array is None:
                message = f"`{self.program.name}` lacks the weight `{spec.weight}`"
                raise ModelError(Diagnostic(message, hint=did_you_mean(spec.weight, self.program.weights)))
            if self.freeze:
                return self.builder.finish(Constant(array))
            weight = Var(identifiers.of(spec.weight), TensorType(array.shape, array.dtype.name))
            self.builder.weights[weight] = array
            return self.builder.finish(weight)
        ty = TensorType((), "int64") if spec.type is None else self._type(spec.type)
        variable = Var(identifiers.of(spec.name), ty)
        self.inputs.append(variable)
        self.builder.add_input(variable)
        if spec.type is None:
            return Symbol(self.builder.call("reshape", [variable], {"newshape": [1]}))
        return variable

    def _type(self, meta: TensorMeta) -> TensorType:
        dims: list[Dim] = []
        for dim in meta.shape:
            dims.append(dim if isinstance(dim, int) else self.symbols.setdefault(dim, SizeVar("size")))
        return TensorType(dims, meta.dtype)

    def _translate(self, spec: NodeSpec) -> None:
        span = self.builder.span = span_of(spec)
        name, overload = split_overload(spec.op)
        node = TorchNode(spec, overload, self.builder)
        try:
            args = [self._argument(arg) for arg in spec.args]
            kwargs = {key: self._argument(arg) for key, arg in (spec.kwargs or {}).items()}
            self.values[spec.name] = _check_result(node, entries()[name](node, *args, **kwargs))
        except PasslabError as error:
            raise self._with_location(error, span) from error
        except (ValueError, TypeError, IndexError, KeyError, AttributeError, ArithmeticError, MemoryError) as error:
            message = f"{spec.op} `{spec.name}` has invalid arguments"
            note = (f"in the model `{self.program.name}`", None)
            finding = Diagnostic(message, span, found=str(error), notes=(note,))
            raise ModelError(finding) from error

    def _argument(self, value: Any) -> Any:
        return [self._item(item) for item in value] if isinstance(value, list) else self._item(value)

    def _item(self, value: Any) -> Any:
        if isinstance(value, NodeRef):
            if value.node not in self.values:
                message = f"a node reads `{value.node}`, which nothing before it produces"
                raise ModelError(Diagnostic(message, hint="the nodes of a program must be in the order of computation"))
            return self.values[value.node]
        return value

    def _leaves(self, result: Any) -> list[Expr]:
        """Return the tensors in a result: sizes and numbers become scalars, None is left out."""
        value = self._argument(result)
        leaves: list[Expr] = []
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(item, Symbol):
                leaves.append(self.builder.call("reshape", [item.vector], {"newshape": []}))
            elif isinstance(item, (bool, int, float)):
                leaves.append(self.builder.finish(Constant(np.asarray(item))))
            elif isinstance(item, Expr):
                leaves.append(item)
        return leaves

    def _with_location(self, error: PasslabError, span: Span) -> PasslabError:
        """Return an error with the location of a node and the name of the model."""
        kind = LimitError if isinstance(error, LimitError) else ModelError
        note = (f"in the model `{self.program.name}`", None)
        return kind(*(replace(d, place=d.place or span, notes=(*d.notes, note)) for d in error.diagnostics))


def _check_result(node: TorchNode, value: Any) -> Any:
    """Return a result cast to the dtype that PyTorch declares. Raises `ModelError` if the shape differs."""
    if node.result is None or not isinstance(value, Expr):
        return value
    result = node.cast(value, node.result.dtype)
    shape, target = node.shape(result), node.result.shape
    # Only sizes that are known on both sides are compared.
    fits = len(shape) == len(target) and all(
        a == b for a, b in zip(shape, target, strict=False) if isinstance(a, int) and isinstance(b, int)
    )
    if not fits:
        node.refuse("has another shape in Relay than in PyTorch", str(target), str(shape))
    return result
