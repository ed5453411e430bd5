"""`from_onnx` imports an ONNX model as a Relay module."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, DiagnosticError, ModelError, did_you_mean
from passlab.frontend.identifiers import Identifiers
from passlab.frontend.modules import module_of
from passlab.frontend.onnx.graph import GraphContext, GraphScope, Translator, node_names, plain_domain
from passlab.frontend.onnx.inputs import input_type
from passlab.frontend.onnx.model_file import load_model
from passlab.frontend.onnx.package import onnx
from passlab.frontend.onnx.support import check_support
from passlab.frontend.onnx.tensors import array_of
from passlab.ir.dtypes import dtype_name
from passlab.ir.expr import Expr, Var
from passlab.ir.gc_pause import building
from passlab.ir.module import IRModule
from passlab.ir.types import SizeVar, TensorType

Array = np.ndarray[Any, Any]
METADATA_ATTR = "onnx"  # the attribute of a module that holds the metadata of its model
CONFIG = {"use_nt_batch_matmul": True}


def from_onnx(
    model: Any,
    shape: Mapping[str, Any] | None = None,
    dtype: str | Mapping[str, str] = "float32",
    opset: int | None = None,
    freeze_params: bool = True,
    convert_config: Mapping[str, Any] | None = None,
    export_node_renamed_model_path: Any = None,
) -> tuple[IRModule, dict[str, Array]]:
    """Return an ONNX model as a typed module with one function `main`, and its parameters by name.

    `model` is a path, bytes, or an `onnx.ModelProto`. The parameters of `main` are the inputs of the model in their
    order, then, with `freeze_params=False`, the weights that it uses, whose values are the second result; otherwise
    weights are constants of the program. Names are those of the model, converted to identifiers
    (`passlab.frontend.identifiers`). Several outputs form a tuple.

    `shape` gives the shapes of inputs by name, as `{"x": (1, 3, 224, 224)}`; an unknown dimension is `?`. `dtype` gives
    dtypes by name of input, or one for all inputs whose type the model leaves open. `opset` overrides the version of
    ONNX's operators that the model states. `convert_config={"use_nt_batch_matmul": False}` keeps the second operand of
    matrix products instead of transposing it. Unnamed nodes get names; a model with those names is written to
    `export_node_renamed_model_path`. The source of each Relay node is its ONNX node. The module's attribute `onnx`
    holds the model's metadata (documentation, version), for `to_onnx`.

    Raises `ModelError` if `model` is not a model, for unsupported operators (all of them at once) and for wrong shapes;
    `FileAccessError` for a path that cannot be read; `MissingPackageError` without the package `onnx`; `LimitError` for
    a model that is too large.
    """
    proto, external = load_model(model)
    config = _options(convert_config)
    opsets = _opsets(proto, opset)
    functions = {(plain_domain(f.domain), f.name): f for f in getattr(proto, "functions", ())}
    check_support(proto.graph, opsets, functions)
    if export_node_renamed_model_path is not None:
        _export_renamed(proto, Path(export_node_renamed_model_path))

    def import_parts(symbols: dict[str, SizeVar] | None) -> tuple[IRModule, dict[str, Array]]:
        translator = Translator(functions, external)
        translator.builder.config.update(config)
        scope, identifiers = GraphScope(), Identifiers()
        inputs = _inputs(proto.graph, shape or {}, dtype, scope, identifiers, symbols)
        for variable in inputs:
            translator.builder.add_input(variable)
        weights = {} if freeze_params else _weights(proto.graph, translator, scope, identifiers, external)
        outputs = translator.graph(proto.graph, scope, GraphContext(opsets, {}, 0, ""))
        mod, params = module_of(outputs, inputs, weights)
        metadata = _metadata(proto)
        return (mod.with_attr(METADATA_ATTR, metadata) if metadata else mod), params

    with building():
        try:
            return import_parts({})
        except DiagnosticError:
            # Symbols show which unknown sizes are equal. A model may rely on the equality of two with different names.
            return import_parts(None)


def _metadata(proto: Any) -> dict[str, str]:
    """Return the metadata of a model: its properties, its documentation, its domain and its version."""
    metadata = {f"metadata.{entry.key}": entry.value for entry in proto.metadata_props}
    fields = {"doc_string": proto.doc_string, "domain": proto.domain, "model_version": str(proto.model_version or "")}
    return {**metadata, **{key: value for key, value in fields.items() if value}}


def _options(config: Mapping[str, Any] | None) -> dict[str, Any]:
    for name in config or {}:
        if name not in CONFIG:
            hint = did_you_mean(name, CONFIG) or f"there is {', '.join(CONFIG)}"
            raise ModelError(Diagnostic(f"`convert_config` has no option `{name}`", hint=hint))
    return {**CONFIG, **(config or {})}


def _opsets(proto: Any, opset: int | None) -> dict[str, int]:
    """Return the version of each operator domain; a model too old to name any uses the first."""
    result = {plain_domain(entry.domain): entry.version for entry in proto.opset_import}
    result.setdefault("", onnx().defs.onnx_opset_version() if result else 1)
    newest = onnx().defs.onnx_opset_version()
    if opset is not None and not isinstance(opset, int):
        raise ModelError(Diagnostic("an opset version is a whole number", found=type(opset).__name__))
    if opset is not None:
        result[""] = opset
    elif result[""] > newest:
        hint = f"install a newer onnx; or read it as what is known, with `from_onnx(model, opset={newest})`"
        message = "the model uses operators of an opset that the installed package `onnx` does not know"
        raise ModelError(Diagnostic(message, None, f"up to {newest}", str(result[""]), hint=hint))
    if result[""] < 1:
        raise ModelError(Diagnostic("an opset version is a whole number from 1 on", found=str(result[""])))
    return result


def _inputs(
    graph: Any, shape: Any, dtype: Any, scope: GraphScope, identifiers: Identifiers, symbols: dict[str, SizeVar] | None
) -> list[Var]:
    """Create variables for the inputs of the graph that are not weights."""
    if not isinstance(shape, Mapping):
        hint = 'say it of each input: {"x": (1, 3, 224, 224)}'
        raise ModelError(Diagnostic("`shape` gives shapes by name of input", found=type(shape).__name__, hint=hint))
    if not isinstance(dtype, Mapping):
        dtype_name(dtype)  # raises an error for an unknown dtype
    # Models of IR version 3 and earlier list their weights among the inputs, too.
    weights = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in weights]
    names = {value.name for value in inputs}
    for name in (*shape, *(dtype if isinstance(dtype, Mapping) else ())):
        if name not in names:
            hint = did_you_mean(str(name), names) or f"its inputs are {', '.join(sorted(names)) or 'none'}"
            raise ModelError(Diagnostic(f"the model has no input `{name}`", hint=hint))
    variables = []
    for value in inputs:
        if value.name in scope:
            raise ModelError(Diagnostic(f"the model has two inputs `{value.name}`"))
        variable = Var(identifiers.of(value.name), input_type(value, shape.get(value.name), dtype, symbols))
        scope[value.name] = variable
        variables.append(variable)
    return variables


def _weights(
    graph: Any, translator: Translator, scope: GraphScope, identifiers: Identifiers, external: Any
) -> dict[Expr, Array]:
    """Create variables for the weights of the graph; return their values."""
    for tensor in graph.initializer:
        array = array_of(tensor, external)
        variable = Var(identifiers.of(tensor.name), TensorType(array.shape, array.dtype.name))
        scope[tensor.name] = translator.builder.finish(variable)
        translator.builder.weights[variable] = array
    return translator.builder.weights


def _export_renamed(proto: Any, path: Path) -> None:
    """Write the model with a name for every node."""
    renamed = type(proto)()
    renamed.CopyFrom(proto)
    for node, name in zip(renamed.graph.node, node_names(renamed.graph.node), strict=True):
        node.name = name
    path.write_bytes(renamed.SerializeToString())
