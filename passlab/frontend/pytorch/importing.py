"""`from_pytorch` imports a program exported from PyTorch as a Relay module.

The file begins with conversion of a `torch.export.ExportedProgram` to plain data: the only file that knows torch.
"""

from __future__ import annotations

import importlib
import io
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from passlab.atomic_file import checked_path
from passlab.errors import Diagnostic, LimitError, MissingPackageError, ModelError, PasslabError, did_you_mean
from passlab.frontend.building import CallBuilder
from passlab.frontend.identifiers import Identifiers
from passlab.frontend.modules import module_of
from passlab.frontend.pytorch.archive import readable, safe_archive
from passlab.frontend.pytorch.entries import entries, split_overload
from passlab.frontend.pytorch.node import Symbol, TorchNode
from passlab.frontend.pytorch.program import (
    CodeLocation,
    InputSpec,
    NodeRef,
    NodeSpec,
    TensorMeta,
    TorchProgram,
    load_program,
)
from passlab.ir.dtypes import dtype_name
from passlab.ir.expr import Constant, Expr, Var
from passlab.ir.gc_pause import building
from passlab.ir.module import IRModule
from passlab.ir.span import QuotedLine, Source, Span
from passlab.ir.types import Dim, SizeVar, TensorType
from passlab.op.dtypes import Array, array_dtype

# A frame in a Python traceback: its file, line and code.
_FRAME = re.compile(r'File "([^"]+)", line (\d+)(?:, in [^\n]*)?\n\s*([^\n]*)')
# They say where a tensor is stored, not what it holds.
_IGNORED = frozenset({"layout", "device", "pin_memory", "memory_format", "non_blocking"})
_SCRIPT = "older scripted models are read through ONNX: torch.onnx.export(model, args, 'net.onnx'), then from_onnx"
_WRITTEN = f"such a file is written by torch.export.save; {_SCRIPT}"


def torch_package() -> ModuleType:
    """Return the package `torch`. Raises `MissingPackageError` if it is not installed."""
    try:
        return importlib.import_module("torch")
    except (ImportError, OSError) as error:
        hint = "pip install torch; a stored program (JSON) is read without it"
        raise MissingPackageError(
            Diagnostic("reading an exported PyTorch program needs the package `torch`", found=str(error), hint=hint)
        ) from error


def load_exported(path: Path) -> Any:
    """Return the ExportedProgram of a `.pt2` file, of which nothing is run: see `archive`."""
    archive = safe_archive(path)
    torch = torch_package()
    readable(lambda data: torch.load(io.BytesIO(data), map_location="cpu", weights_only=True), archive, path.name)
    try:
        return torch.export.load(io.BytesIO(archive.data))
    except Exception as error:  # torch lets errors of its readers through: zip, JSON, pickle, assertions
        raise ModelError(
            Diagnostic(f"{path.name} is not an exported program", found=str(error)[:400], hint=_WRITTEN)
        ) from error


def program_of(exported: Any, supported: Collection[str]) -> TorchProgram:
    """Return an ExportedProgram as data; `supported` operators, named without overloads, need no decomposition."""
    if not (hasattr(exported, "graph_signature") and hasattr(exported, "run_decompositions")):
        actual = type(exported).__name__
        hint = _SCRIPT if "Script" in actual else "export it first: torch.export.export(model.eval(), (example,))"
        raise ModelError(
            Diagnostic(
                "this is not an exported PyTorch program", None, "an ExportedProgram, or a path", actual, hint=hint
            )
        )
    name = _module_name(exported)
    decomposed = exported.run_decompositions(_decompositions({*supported} - _unusual_layers(exported)))
    signature = decomposed.graph_signature
    inputs, outputs = {spec.arg.name: spec for spec in signature.input_specs if hasattr(spec.arg, "name")}, []
    specs, nodes = [], []
    for node in decomposed.graph.nodes:
        if node.op == "placeholder":
            spec = _input(node, inputs.get(node.name))
            specs += [] if spec is None else [spec]
        elif node.op == "call_function":
            nodes.append(_node(node))
        elif node.op == "output":
            outputs = _results_first([_argument(value) for value in node.args[0]], signature.output_specs)
        else:
            raise ModelError(Diagnostic(f"the node `{node.name}` of `{name}` is of the kind `{node.op}`"))
    used = {spec.weight for spec in specs if spec.weight is not None}
    return TorchProgram(name, tuple(specs), tuple(nodes), tuple(outputs), _weights(decomposed, used))


def _unusual_layers(exported: Any) -> set[str]:
    """Return the recurrent layers that PyTorch expands: packed sequences and projected states have no operator."""
    found = set()
    for node in exported.graph.nodes:
        name, _, overload = str(node.target).rpartition(".")
        if name in ("aten.lstm", "aten.gru", "aten.rnn_tanh", "aten.rnn_relu"):
            params, has_biases, layers, _, _, is_bidirectional = node.args[2:8]
            if overload != "input" or len(params) != layers * (2 if is_bidirectional else 1) * (4 if has_biases else 2):
                found.add(name)
    return found


def _results_first(outputs: list[Any], specs: Any) -> list[Any]:
    """Return the results of the model in their order, followed by the values written into its buffers and inputs."""
    pairs = list(zip(outputs, specs, strict=True))
    results = [output for output, spec in pairs if spec.kind.name == "USER_OUTPUT"]
    return results + [output for output, spec in pairs if spec.kind.name != "USER_OUTPUT"]


def _module_name(exported: Any) -> str:
    for node in exported.graph.nodes:
        for path, kind in (node.meta.get("nn_module_stack") or {}).values():
            if path == "":  # the model itself
                return str(getattr(kind, "__name__", kind)).rpartition(".")[2]
    return "model"


def _decompositions(supported: Collection[str]) -> Any:
    """Return PyTorch's decompositions of unknown operators. Old versions of torch decompose all."""
    torch = torch_package()
    table = getattr(torch.export, "default_decompositions", None)
    if table is None:
        return None
    decompositions = table()
    for operator in list(decompositions):
        if str(operator).rpartition(".")[0] in supported:
            decompositions.pop(operator, None)
    return decompositions


def _input(node: Any, spec: Any) -> InputSpec | None:
    """Return an input, or None for an argument that is not a tensor and was fixed at export."""
    kind = "" if spec is None else spec.kind.name
    if kind in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
        return InputSpec(node.name, None, str(spec.target))
    value = node.meta.get("val")
    if value is None or isinstance(value, (bool, int, float, str)):
        return None
    return InputSpec(node.name, _type(value, f"the input `{node.name}`"))


def _node(node: Any) -> NodeSpec:
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    module = str(stack[-1][0]) if stack and not str(stack[-1][0]).startswith("_empty") else ""
    return NodeSpec(
        node.name,
        _operator(node.target),
        tuple(_argument(arg) for arg in node.args),
        {key: _argument(arg) for key, arg in node.kwargs.items() if key not in _IGNORED},
        _result_type(node.meta.get("val")),
        module,
        _code_location(node.meta.get("stack_trace") or ""),
    )


def _used_parts(nodes: Sequence[NodeSpec]) -> dict[str, int]:
    """Return for each node with several results how many of them, from the first on, the program reads."""
    counts: dict[str, int] = {}
    for spec in nodes:
        if spec.op.endswith("operator.getitem") and len(spec.args) == 2:
            whole, index = spec.args
            if isinstance(whole, NodeRef) and type(index) is int:
                counts[whole.node] = max(counts.get(whole.node, 1), index + 1)
    return counts


def _operator(target: Any) -> str:
    name = str(target)
    if hasattr(target, "_schema"):
        return name
    # `operator.mul` says that it belongs to `_operator`.
    return f"{getattr(target, '__module__', '')}.{getattr(target, '__name__', name)}".replace("_operator.", "operator.")


def _code_location(trace: str) -> CodeLocation | None:
    """Return the innermost line of a stack trace outside PyTorch."""
    torch_folder = Path(torch_package().__file__ or "").parent
    for file, line, code in reversed(_FRAME.findall(trace)):  # the innermost frame is the last one
        if not file.startswith(("torch/", "<")) and not Path(file).is_relative_to(torch_folder):
            return CodeLocation(_display_path(file), int(line), code)
    return None


def _display_path(file: str) -> str:
    """Return a path relative to the current directory if it is inside, or else its name."""
    path = Path(file)
    return path.relative_to(Path.cwd()).as_posix() if path.is_relative_to(Path.cwd()) else path.name


def _type(value: Any, what: str) -> TensorMeta | None:
    if not hasattr(value, "dtype") or not hasattr(value, "shape"):
        return None
    return TensorMeta(_dtype(value.dtype, what), tuple(_dim(size) for size in value.shape))


def _dim(size: Any) -> int | str:
    """Return a dimension: its size, also where it was exported as open and the network fixes it, or its symbol."""
    symbol = str(size)
    return int(symbol) if symbol.isdecimal() else symbol


def _result_type(value: Any) -> TensorMeta | None:
    """Return the type of a result; None for elements that Relay lacks, for then the operator itself is refused."""
    try:
        return _type(value, "a result")
    except ModelError:
        return None


def _dtype(dtype: Any, what: str) -> str:
    name = str(dtype).removeprefix("torch.")
    try:
        return dtype_name(name)
    except Exception as error:
        raise ModelError(Diagnostic(f"Relay has no tensors of the dtype of {what}", found=name)) from error


def _argument(value: Any) -> object:
    """Return an argument as data."""
    return [_item(item) for item in value] if isinstance(value, (list, tuple)) else _item(value)


def _item(value: Any) -> object:
    """Return an argument that is not a list; None for devices, layouts and memory formats."""
    torch = torch_package()
    if isinstance(value, torch.fx.Node):
        return NodeRef(value.name)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value).removeprefix("torch.") if isinstance(value, torch.dtype) else None


def _weights(exported: Any, used: Collection[str]) -> dict[str, Array]:
    # Buffers that are not persistent are missing in the `state_dict`.
    tensors = {**dict(exported.constants), **dict(exported.state_dict), **dict(exported.named_buffers())}
    return {name: _array(tensor, name) for name, tensor in tensors.items() if name in used}


def _array(tensor: Any, weight: str) -> Array:
    torch = torch_package()
    tensor = tensor.detach().cpu().contiguous()
    name = _dtype(tensor.dtype, f"the weight `{weight}`")
    try:
        array: Array = tensor.numpy()
    except TypeError:  # torch cannot convert bfloat16, which NumPy itself lacks
        array = tensor.reshape(-1).view(torch.uint8).numpy().view(array_dtype(name)).reshape(tuple(tensor.shape))
    return np.array(array)


_SHOWN = 5  # nodes of one operator that a message names


def from_pytorch(exported_program: Any, freeze_params: bool = False) -> tuple[IRModule, dict[str, Array]]:
    """Return a program of `torch.export` as a typed module with one function `main`, and its weights by name.

    `exported_program` is the result of `torch.export.export(model.eval(), args)`, the path of a `.pt2` file, or a
    stored program (`passlab.frontend.pytorch.program`: the path of a `.json` file or its contents), which is read
    without torch. The parameters of `main` are the tensors in the arguments of the model in their order, nested ones
    and keyword arguments flattened. After them come the parameters and buffers that it uses, whose values are the
    second result; `freeze_params=True` makes these constants. Dimensions that were exported as dynamic are `?`. The
    result is a tensor, or a tuple of the tensors in the results in their order, followed by the values that the program
    writes into its parameters, buffers and inputs. The source of each Relay node is the line of Python that created it.

    Operators without an entry are expanded by PyTorch's own decompositions. Raises `ModelError` if it is not an
    exported program and for unsupported operators (all of them at once); `MissingPackageError` without the package
    `torch` if it is needed; `LimitError` for a program that is too large.
    """
    program = _program(exported_program)
    nodes = _live_nodes(program)
    # Raise a `ModelError` with one diagnostic for each unsupported operator.
    missing: dict[str, list[NodeSpec]] = {}
    for spec in nodes:
        if split_overload(spec.op)[0] not in entries():
            missing.setdefault(spec.op, []).append(spec)
    if missing:
        raise ModelError(*(_diagnostic(program, op, specs) for op, specs in sorted(missing.items())))
    with building():
        return _Translation(program, freeze_params).run(nodes)


def _program(source: Any) -> TorchProgram:
    if isinstance(source, TorchProgram):
        return source
    if isinstance(source, Mapping):
        return load_program(source)
    supported = frozenset(entries())
    if isinstance(source, (str, PathLike)):
        path = checked_path(source)
        if path.suffix == ".json":
            return load_program(path)
        exported = load_exported(path)
        try:
            return program_of(exported, supported)
        except PasslabError:
            raise
        # A file may hold a program whose nodes make no sense, and torch raises what it likes.
        except Exception as error:
            found = f"{type(error).__name__}: {error}"[:400]
            raise ModelError(
                Diagnostic(f"{path.name} has a program that PyTorch cannot decompose", found=found, hint=_WRITTEN)
            ) from error
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


# name of an operator (regular expression) -> why it has no entry
REASONS = {
    "_backward$": "derivatives are not read: export the model for inference",
    r"fft|complex|as_real|\.polar": "there are no complex numbers: leave what computes them out of the exported part",
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
        self.parts: dict[str, int] = {}

    def run(self, nodes: Sequence[NodeSpec]) -> tuple[IRModule, dict[str, Array]]:
        """Return the module and the weights that are its parameters."""
        identifiers, self.parts = Identifiers(), _used_parts(nodes)
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
        node = TorchNode(spec, overload, self.builder, self.parts.get(spec.name, 1))
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
    if not all(isinstance(size, int) for size in shape):  # a reshape by computed sizes forgets those that are known
        known = (b if isinstance(b, int) else a for a, b in zip(shape, target, strict=True))
        node.builder.shapes[result] = tuple(known)
    return result
