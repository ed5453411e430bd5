"""A program exported from PyTorch as plain data, and its JSON file format.

The data comes from `torch.export.ExportedProgram`: a list of nodes in the order of computation, each a call of one
PyTorch operator. So a program can be stored, sent and read where torch is not installed. In a file

    {"format": "passlab exported program", "version": 1, "name": "Net",
     "inputs": [{"name": "x", "type": {"dtype": "float32", "shape": ["batch", 4]}},
                {"name": "p_weight", "weight": "linear.weight"}],
     "nodes": [{"name": "linear", "op": "aten.linear.default", "args": [{"node": "x"}, {"node": "p_weight"}],
                "type": {"dtype": "float32", "shape": ["batch", 3]},
                "module": "linear", "place": ["net.py", 12, "y = self.linear(x)"]}],
     "results": [{"node": "linear"}],
     "weights": {"linear.weight": {"dtype": "float32", "shape": [3, 4], "data": "base64 of its bytes"}}}

a name among the dimensions of a shape is a size known only at run time; a float that JSON cannot express is written as
`{"float": "inf"}`.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from passlab import limits
from passlab.atomic_file import checked_path, write_text
from passlab.errors import Diagnostic, FileAccessError, ModelError, PasslabError
from passlab.ir.dtypes import dtype_name
from passlab.op.dtypes import Array, array_dtype, guard_size

FORMAT, VERSION = "passlab exported program", 1


@dataclass(frozen=True)
class TensorMeta:
    """The type of a tensor; a dimension is a number, or the name of a size known only at run time."""

    dtype: str
    shape: tuple[int | str, ...]


@dataclass(frozen=True)
class NodeRef:
    """An argument that is the result of a node, or an input."""

    node: str


@dataclass(frozen=True)
class CodeLocation:
    """The line of Python that created a node."""

    file: str
    line: int
    code: str


@dataclass(frozen=True)
class InputSpec:
    """An input: a tensor of a type, a whole number (no type), or the weight called `weight`."""

    name: str
    type: TensorMeta | None = None
    weight: str | None = None


@dataclass(frozen=True)
class NodeSpec:
    """The call of an operator in a `module`, given by its path. `type` is None unless the result is a single tensor."""

    name: str
    op: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] | None = None
    type: TensorMeta | None = None
    module: str = ""
    place: CodeLocation | None = None


@dataclass(frozen=True)
class TorchProgram:
    """An exported program: its name, inputs, nodes and results, and its weights by name."""

    name: str
    inputs: tuple[InputSpec, ...]
    nodes: tuple[NodeSpec, ...]
    results: tuple[Any, ...]
    weights: Mapping[str, Array]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the program to a JSON file. Raises `FileAccessError`."""
        write_text(path, json.dumps(to_data(self), indent=1) + "\n")


# ------------------------------------------------------------ writing
def to_data(program: TorchProgram) -> dict[str, Any]:
    """Return a program as data for JSON."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": program.name,
        "inputs": [_input_data(spec) for spec in program.inputs],
        "nodes": [_node_data(spec) for spec in program.nodes],
        "results": [_argument_data(result) for result in program.results],
        "weights": {
            name: {
                "dtype": array.dtype.name,
                "shape": list(array.shape),
                "data": base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii"),
            }
            for name, array in program.weights.items()
        },
    }


def _input_data(spec: InputSpec) -> dict[str, Any]:
    result: dict[str, Any] = {"name": spec.name}
    if spec.type is not None:
        result["type"] = _type_data(spec.type)
    if spec.weight is not None:
        result["weight"] = spec.weight
    return result


def _node_data(spec: NodeSpec) -> dict[str, Any]:
    result: dict[str, Any] = {"name": spec.name, "op": spec.op, "args": [_argument_data(arg) for arg in spec.args]}
    if spec.kwargs:
        result["kwargs"] = {key: _argument_data(arg) for key, arg in spec.kwargs.items()}
    if spec.type is not None:
        result["type"] = _type_data(spec.type)
    if spec.module:
        result["module"] = spec.module
    if spec.place is not None:
        result["place"] = [spec.place.file, spec.place.line, spec.place.code]
    return result


def _type_data(ty: TensorMeta) -> dict[str, Any]:
    return {"dtype": ty.dtype, "shape": list(ty.shape)}


def _argument_data(value: Any) -> object:
    return [_item_data(item) for item in value] if isinstance(value, (list, tuple)) else _item_data(value)


def _item_data(value: Any) -> object:
    if isinstance(value, NodeRef):
        return {"node": value.node}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value


# ------------------------------------------------------------ reading
def load_program(source: Any) -> TorchProgram:
    """Return the program in a JSON file, or in the result of `json.load`. Raises `ModelError` for anything else."""
    if isinstance(source, Mapping):
        return from_data(source)
    path = checked_path(source)
    try:
        limits.check("model_bytes", path.stat().st_size, f"the program {path.name}")
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise FileAccessError(Diagnostic(f"{path} cannot be read: {error.strerror}")) from error
    except (ValueError, RecursionError) as error:
        raise _damage_error("it is not JSON", str(error)) from error
    return from_data(data)


def from_data(data: Any) -> TorchProgram:
    """Return the program that plain data describes. Raises `ModelError` for an invalid field."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise _damage_error(f'it does not say `"format": "{FORMAT}"`')
    if data.get("version") != VERSION:
        raise _damage_error(f"this passlab reads version {VERSION}", str(data.get("version")))
    nodes = tuple(_node(item) for item in _list(data, "nodes"))
    limits.check("model_nodes", len(nodes), "the program")
    weights = data.get("weights", {})
    if not isinstance(weights, Mapping):
        raise _damage_error("`weights` is not an object")
    return TorchProgram(
        _text(data, "name"),
        tuple(_input(item) for item in _list(data, "inputs")),
        nodes,
        tuple(_argument(item) for item in _list(data, "results")),
        {str(name): _weight(str(name), item) for name, item in weights.items()},
    )


def _damage_error(why: str, detail: str | None = None) -> ModelError:
    return ModelError(Diagnostic(f"this is not a stored PyTorch program: {why}", found=detail))


def _list(data: Mapping[str, Any], name: str) -> list[Any]:
    value = data.get(name, [])
    if not isinstance(value, list):
        raise _damage_error(f"`{name}` is not a list", repr(value)[:80])
    return value


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str):
        raise _damage_error(f"`{name}` is not a text", repr(value)[:80])
    return value


def _input(data: Any) -> InputSpec:
    if not isinstance(data, Mapping):
        raise _damage_error("an input is not an object", repr(data)[:80])
    ty = None if data.get("type") is None else _type(data["type"])
    return InputSpec(_text(data, "name"), ty, None if data.get("weight") is None else _text(data, "weight"))


def _node(data: Any) -> NodeSpec:
    if not isinstance(data, Mapping):
        raise _damage_error("a node is not an object", repr(data)[:80])
    kwargs = data.get("kwargs", {})
    if not isinstance(kwargs, Mapping):
        raise _damage_error("`kwargs` is not an object", repr(kwargs)[:80])
    place = None
    if data.get("place") is not None:
        parts = _list(data, "place")
        if [type(part) for part in parts] != [str, int, str] or parts[1] < 1:
            raise _damage_error("a place is a file, a line and its text", repr(parts)[:80])
        place = CodeLocation(*parts)
    return NodeSpec(
        _text(data, "name"),
        _text(data, "op"),
        tuple(_argument(item) for item in _list(data, "args")),
        {str(key): _argument(item) for key, item in kwargs.items()},
        None if data.get("type") is None else _type(data["type"]),
        str(data.get("module", "")),
        place,
    )


def _type(data: Any) -> TensorMeta:
    if not isinstance(data, Mapping):
        raise _damage_error("a type is not an object", repr(data)[:80])
    shape = _list(data, "shape")
    for dim in shape:
        if isinstance(dim, bool) or not isinstance(dim, (int, str)) or (isinstance(dim, int) and dim < 0):
            raise _damage_error("a dimension is a number from 0 on, or a name", repr(dim)[:80])
    limits.check("rank", len(shape), "a tensor")
    return TensorMeta(_dtype(_text(data, "dtype")), tuple(shape))


def _dtype(name: str) -> str:
    try:
        return dtype_name(name)
    except (PasslabError, TypeError) as error:
        raise ModelError(Diagnostic("Relay has no tensors of this dtype", found=name)) from error


def _argument(data: Any) -> object:
    """Return an argument: an item, or a list of items."""
    return [_item(item) for item in data] if isinstance(data, list) else _item(data)


def _item(data: Any) -> object:
    if data is None or isinstance(data, (bool, int, float, str)):
        return data
    if isinstance(data, Mapping) and len(data) == 1:
        if isinstance(data.get("node"), str):
            return NodeRef(data["node"])
        if data.get("float") in ("inf", "-inf", "nan"):
            return float(data["float"])
    raise _damage_error("this is not an argument", repr(data)[:80])


def _weight(name: str, data: Any) -> Array:
    """Return a weight, whose size is checked before anything is allocated."""
    meta = _type(data)
    if not all(isinstance(dim, int) for dim in meta.shape):
        raise _damage_error(f"the shape of the weight `{name}` is not known")
    shape, dtype = tuple(int(dim) for dim in meta.shape), array_dtype(meta.dtype)
    guard_size(shape, dtype, f"the weight `{name}`")
    try:
        raw = base64.b64decode(_text(data, "data"), validate=True)
    except binascii.Error as error:
        raise _damage_error(f"the weight `{name}` is not in base64", str(error)) from error
    if len(raw) != math.prod(shape) * dtype.itemsize:
        raise _damage_error(f"the weight `{name}` does not have the bytes of its shape", f"{len(raw)} bytes")
    return np.frombuffer(raw, dtype).reshape(shape)
