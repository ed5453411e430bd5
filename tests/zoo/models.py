"""Where the models of `zoo.toml` come from: files in installed packages, and networks that packages make.

Nothing is downloaded and no model is stored here. A model whose package is absent is `Absent`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from passlab import IRModule, relay

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover - the same module, from a package of the development environment
    import tomli as tomllib

TABLE = Path(__file__).parent / "zoo.toml"
Array = np.ndarray[Any, Any]


class Absent(Exception):
    """A package of a model is not installed."""


@dataclass(frozen=True)
class Model:
    """One entry of the table: `entry` has its fields as written there."""

    name: str
    kind: str  # "onnx" or "torch"
    entry: Mapping[str, Any] = field(repr=False)

    @cached_property
    def source(self) -> OnnxFile | TorchNetwork:
        """The model itself. Raises `Absent`."""
        return OnnxFile(self.entry) if self.kind == "onnx" else TorchNetwork(self.entry)


def models() -> list[Model]:
    """Return the entries of the table, in its order."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return [Model(entry["name"], kind, entry) for kind in ("onnx", "torch") for entry in table[kind]]


def draw(shape: Sequence[int], dtype: Any, high: int | None, rng: np.random.Generator) -> Array:
    """Return random values: numbers about 0, whole numbers from 0 to `high`, or truths."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.ones(shape, bool) if high is None else rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0, 2 if high is None else high, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


class OnnxFile:
    """A file in a package. `shapes` has the sizes of open inputs, `high` a limit of whole numbers, `values` given inputs."""

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self.entry = entry
        found = [Path(folder) / entry["file"] for folder in sys.path if (Path(folder) / entry["file"]).is_file()]
        if not found:
            raise Absent(f"pip install --no-deps {entry['package']}")
        self.path = found[0]

    @cached_property
    def proto(self) -> Any:
        import onnx

        return onnx.load(self.path)

    @cached_property
    def inputs(self) -> dict[str, Array]:
        """The values of the inputs by name."""
        from onnx.helper import tensor_dtype_to_np_dtype

        rng, result = np.random.default_rng(0), dict[str, Array]()
        shapes, high, values = (self.entry.get(key, {}) for key in ("shapes", "high", "values"))
        weights = {weight.name for weight in self.proto.graph.initializer}
        for value in self.proto.graph.input:
            if value.name in weights:
                continue
            ty = value.type.tensor_type
            shape = shapes.get(value.name, [d.dim_value for d in ty.shape.dim])
            dtype = tensor_dtype_to_np_dtype(ty.elem_type)
            given = values.get(value.name)
            drawn = draw(shape, dtype, high.get(value.name), rng) if given is None else np.full(shape, given, dtype)
            result[value.name] = np.abs(drawn) if value.name in self.entry.get("positive", ()) else drawn
        return result

    def fixed(self) -> IRModule:
        """Return the program with all sizes known."""
        given = {name: self.inputs[name] for name in self.entry.get("values", {})}
        shape = {name: array.shape for name, array in self.inputs.items() if name not in given}
        return relay.frontend.from_onnx(str(self.path), shape, values=given)[0]

    def open(self) -> IRModule:
        """Return the program as the file is."""
        return relay.frontend.from_onnx(str(self.path))[0]

    def arguments(self, mod: IRModule) -> list[Array]:
        """Return the arguments of the program: an input that is fixed is no parameter."""
        given = [
            name
            for name in self.inputs
            if len(mod["main"].params) == len(self.inputs) or name not in self.entry.get("values", {})
        ]
        return [self.inputs[name] for name in given]

    @cached_property
    def expected(self) -> list[Array]:
        """What onnxruntime makes of the inputs."""
        return session_results(self.proto.SerializeToString(), list(self.inputs.values()), self.path)

    def rival(self) -> Callable[[], Any]:
        """Return a run of the model in onnxruntime on one thread."""
        session = make_session(self.proto.SerializeToString())
        return lambda: session.run(None, self.inputs)


class TorchNetwork:
    """A network that a package makes: `call` is its class or function, `config` a configuration that it takes."""

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self.entry = entry
        package = entry["call"].partition(".")[0]
        if any(find_spec(name) is None for name in ("torch", package)):
            raise Absent(f"pip install torch {package}")

    @cached_property
    def network(self) -> Any:
        """The network with random weights; none of them is zero, which would hide whatever feeds it."""
        import torch

        torch.manual_seed(0)
        options = {k: None if v == "None" else v for k, v in self.entry.get("options", {}).items()}
        made = _named(self.entry["call"])
        if "config" in self.entry:
            model = made(_named(self.entry["config"])(**options))
        else:
            model = made(*self.entry.get("args", []), **options)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.is_floating_point() and parameter.numel() > 1 and float(parameter.std()) < 1e-3:
                    parameter.add_(torch.randn_like(parameter) * 0.1)
        return model.eval()

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """The tensors by the name of the argument."""
        import torch

        rng, result = np.random.default_rng(0), dict[str, Any]()
        for name, written in self.entry["inputs"].items():
            dtype = written.get("dtype", "int64" if "high" in written else "float32")
            result[name] = torch.from_numpy(draw(written["shape"], dtype, written.get("high"), rng))
        return result

    def exported(self, is_open: bool) -> Any:
        """Return the ExportedProgram, its first dimension open where that is asked for."""
        import torch

        inputs, sizes = self.inputs, None
        if is_open:
            inputs = {name: torch.cat([value, value]) for name, value in inputs.items()}
            sizes = {name: {0: torch.export.Dim.AUTO} for name in inputs}
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            if self.entry.get("by_name", True):
                return torch.export.export(self.network, (), inputs, dynamic_shapes=sizes, strict=False)
            values, given = tuple(inputs.values()), None if sizes is None else tuple(sizes.values())
            return torch.export.export(self.network, values, dynamic_shapes=given, strict=False)

    def fixed(self) -> IRModule:
        return relay.frontend.from_pytorch(self.exported(False), freeze_params=True)[0]

    def open(self) -> IRModule:
        return relay.frontend.from_pytorch(self.exported(True), freeze_params=True)[0]

    def arguments(self, mod: IRModule) -> list[Array]:
        return [value.numpy() for value in self.inputs.values()]

    @cached_property
    def expected(self) -> list[Array]:
        """What PyTorch makes of the inputs: its tensors in order, as `from_pytorch` returns them."""
        import torch
        from torch.utils._pytree import tree_leaves

        with torch.no_grad():
            result = self.exported(False).module()(*self._positional(), **self._by_name())
        return [np.asarray(leaf) for leaf in tree_leaves(result) if leaf is not None]

    def _by_name(self) -> dict[str, Any]:
        return self.inputs if self.entry.get("by_name", True) else {}

    def _positional(self) -> list[Any]:
        return [] if self.entry.get("by_name", True) else list(self.inputs.values())

    def rival(self) -> Callable[[], Any]:
        """Return a run of the network in PyTorch on one thread."""
        import torch

        torch.set_num_threads(1)

        def run() -> Any:
            with torch.no_grad():
                return self.network(*self._positional(), **self._by_name())

        return run


def _named(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def make_session(model: bytes, threads: int = 1) -> Any:
    """Return a session of onnxruntime on a model in bytes."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def session_results(model: bytes, arguments: list[Array], path: Path | None = None) -> list[Array]:
    """Return what onnxruntime makes of a model; arguments are in the order of its inputs."""
    session = make_session(model)
    names = [value.name for value in session.get_inputs()]
    results = session.run(None, dict(zip(names, arguments, strict=True)))
    # ZipMap gives a dictionary for each sample, which the importer reads as a row of a matrix.
    return [np.array([list(row.values()) for row in r]) if isinstance(r, list) else r for r in results]
