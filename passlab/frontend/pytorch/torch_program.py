"""Conversion of a `torch.export.ExportedProgram` to plain data: the only file that knows torch.

Operators without an entry are first expanded by PyTorch's own decompositions. That also removes the remaining in-place
operators.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Collection
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, MissingPackageError, ModelError
from passlab.frontend.pytorch.program import CodeLocation, InputSpec, NodeRef, NodeSpec, TensorMeta, TorchProgram
from passlab.ir.dtypes import dtype_name
from passlab.op.dtypes import Array, array_dtype

# A frame in a Python traceback: its file, line and code.
_FRAME = re.compile(r'File "([^"]+)", line (\d+)(?:, in [^\n]*)?\n\s*([^\n]*)')
# They say where a tensor is stored, not what it holds.
_IGNORED = frozenset({"layout", "device", "pin_memory", "memory_format", "non_blocking"})
_SCRIPT = "older scripted models are read through ONNX: torch.onnx.export(model, args, 'net.onnx'), then from_onnx"


def torch_package() -> ModuleType:
    """Return the package `torch`. Raises `MissingPackageError` where it is not installed."""
    try:
        return importlib.import_module("torch")
    except (ImportError, OSError) as error:
        hint = "pip install passlab[torch]; a stored program (JSON) is read without it"
        raise MissingPackageError(
            Diagnostic("reading an exported PyTorch program needs the package `torch`", found=str(error), hint=hint)
        ) from error


def load_exported(path: Path) -> Any:
    """Return the ExportedProgram of a `.pt2` file."""
    torch = torch_package()
    try:
        return torch.export.load(str(path))
    except OSError:
        raise
    except Exception as error:  # torch lets errors of its readers through: zip, JSON, pickle, assertions
        hint = f"such a file is written by torch.export.save; {_SCRIPT}"
        raise ModelError(
            Diagnostic(f"{path.name} is not an exported program", found=str(error)[:400], hint=hint)
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
    decomposed = exported.run_decompositions(_decompositions(supported))
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
    return InputSpec(node.name, _type(value))


def _node(node: Any) -> NodeSpec:
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    module = str(stack[-1][0]) if stack and not str(stack[-1][0]).startswith("_empty") else ""
    return NodeSpec(
        node.name,
        _operator(node.target),
        tuple(_argument(arg) for arg in node.args),
        {key: _argument(arg) for key, arg in node.kwargs.items() if key not in _IGNORED},
        _type(node.meta.get("val")),
        module,
        _code_location(node.meta.get("stack_trace") or ""),
    )


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


def _type(value: Any) -> TensorMeta | None:
    if not hasattr(value, "dtype") or not hasattr(value, "shape"):
        return None
    return TensorMeta(_dtype(value.dtype), tuple(dim if isinstance(dim, int) else str(dim) for dim in value.shape))


def _dtype(dtype: Any) -> str:
    name = str(dtype).removeprefix("torch.")
    try:
        return dtype_name(name)
    except Exception as error:
        raise ModelError(Diagnostic("Relay has no tensors of this dtype", found=name)) from error


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
    return _dtype(value) if isinstance(value, torch.dtype) else None


def _weights(exported: Any, used: Collection[str]) -> dict[str, Array]:
    # Buffers that are not persistent are missing in the `state_dict`.
    tensors = {**dict(exported.constants), **dict(exported.state_dict), **dict(exported.named_buffers())}
    return {name: _array(tensor) for name, tensor in tensors.items() if name in used}


def _array(tensor: Any) -> Array:
    torch = torch_package()
    tensor = tensor.detach().cpu().contiguous()
    name = _dtype(tensor.dtype)
    try:
        array: Array = tensor.numpy()
    except TypeError:  # torch cannot convert bfloat16, which NumPy itself lacks
        array = tensor.reshape(-1).view(torch.uint8).numpy().view(array_dtype(name)).reshape(tuple(tensor.shape))
    return np.array(array)
