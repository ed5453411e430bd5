"""`to_onnx`: a Relay module becomes an ONNX model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from passlab.errors import Diagnostic, FileAccessError, ModelError
from passlab.frontend.onnx.export.combining import NodeGraph, combine
from passlab.frontend.onnx.export.emitter import GraphEmitter
from passlab.frontend.onnx.export.names import NoCounterpartError, element_type, flat, tensor_types
from passlab.frontend.onnx.export.protos import names_read, rename_inputs
from passlab.frontend.onnx.export.tidying import Tidying
from passlab.frontend.onnx.importing import METADATA_ATTR
from passlab.frontend.onnx.package import onnx
from passlab.infer import infer_module
from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.ir.types import TensorType
from passlab.rewriting.parameters import bind_params_by_name

OPSETS = range(18, 24)  # the supported versions of ONNX's operators
PROTOBUF_LIMIT = 2**31 - 1  # bytes of one file; a larger model stores its weights in a second file


def to_onnx(
    relay_ir: IRModule | Function,
    params: Mapping[str, Any] | None = None,
    name: str = "main",
    opset_version: int = 21,
    path: str | PathLike[str] | None = None,
) -> Any:
    """Return a program as an `onnx.ModelProto`; with `path`, write it to a file as well.

    The inputs of the model are the parameters of `main` (`name` names the graph); parameters in `params` become
    weights. Functions are inlined at their calls, branches become `If`, tail-recursive functions become `Loop`. Nodes
    that were imported from an ONNX model keep their names, and the model its metadata. Each unknown dimension gets a
    name. A model of more than 2 GB stores its weights in `PATH.data` beside the file.

    Raises `ModelError` with everything that ONNX cannot express, each with its operator and reason, and for an opset
    outside 18 to 23; `FileAccessError` for a path that cannot be written; `MissingPackageError` without the package
    `onnx`.
    """
    model, _ = write_model(relay_ir, params, name, opset_version)
    if path is not None:
        save_model(model, Path(path))
    return model


def write_model(
    relay_ir: IRModule | Function,
    params: Mapping[str, Any] | None = None,
    name: str = "main",
    opset_version: int = 21,
    skipped_rules: Collection[str] = (),
) -> tuple[Any, Counter[str]]:
    """Return the model of `to_onnx`, and how often each rule of `combining` was applied.

    `skipped_rules` names the rules that are not.
    """
    package = onnx()
    if opset_version not in OPSETS or opset_version > package.defs.onnx_opset_version():
        hint = f"give one from {OPSETS.start} to {OPSETS.stop - 1}"
        raise ModelError(Diagnostic("models are written in some opsets only", found=str(opset_version), hint=hint))
    mod = relay_ir if isinstance(relay_ir, IRModule) else IRModule.from_expr(relay_ir)
    bound = mod.snapshot()
    if params:
        bound["main"] = bind_params_by_name(bound["main"], dict(params))
    mod = infer_module(bound)
    emitter = GraphEmitter(mod, opset_version)
    graph, applied = _graph(emitter, mod["main"], name, skipped_rules)
    if emitter.problems:
        raise ModelError(*emitter.problems.values())
    helper = package.helper
    model = helper.make_model(
        graph,
        producer_name="passlab",
        opset_imports=[helper.make_opsetid("", opset_version)],
        ir_version=helper.find_min_ir_version_for([helper.make_opsetid("", opset_version)]),
    )
    _set_metadata(model, mod.attrs.get(METADATA_ATTR) or {})
    return model, applied


def _set_metadata(model: Any, metadata: Mapping[str, str]) -> None:
    """Copy the metadata of the original model into a model."""
    prefix = "metadata."
    props = {key.removeprefix(prefix): value for key, value in metadata.items() if key.startswith(prefix)}
    if props:
        onnx().helper.set_model_props(model, props)
    model.doc_string, model.domain = metadata.get("doc_string", ""), metadata.get("domain", "")
    if "model_version" in metadata:
        model.model_version = int(metadata["model_version"])


def _graph(
    emitter: GraphEmitter, function: Function, name: str, skipped_rules: Collection[str]
) -> tuple[Any, Counter[str]]:
    """Return the graph of a function, and the rules that combined nodes of it."""
    helper = onnx().helper
    inputs = []
    for param in function.params:
        try:
            leaves = tensor_types(param.checked_type)
            names = [emitter.fresh(param.name_hint) for _ in leaves]
            inputs += [_value_info(emitter, n, ty) for n, ty in zip(names, leaves, strict=True)]
            emitter.shapes.update({n: ty.shape for n, ty in zip(names, leaves, strict=True)})
            emitter.dtypes.update({n: ty.dtype for n, ty in zip(names, leaves, strict=True)})
        except NoCounterpartError as error:
            emitter.problems[param.name_hint] = Diagnostic(f"the parameter %{param.name_hint}: {error}", param.span)
            names = [emitter.fresh(param.name_hint)]
        emitter.values[param] = names[0] if isinstance(param.checked_type, TensorType) else names
    try:
        results = flat(emitter.value(function.body))
        kinds = tensor_types(function.body.checked_type)
    except NoCounterpartError as error:
        emitter.problems.setdefault("result", Diagnostic(f"the result of `main`: {error}", function.body.span))
        return None, Counter()
    outputs = []
    for number, (result, ty) in enumerate(zip(results, kinds, strict=True)):
        out = emitter.fresh("output" if len(results) == 1 else f"output{number}")
        emitter.nodes.append(helper.make_node("Identity", [result], [out], name=emitter.fresh("Identity")))
        outputs.append(_value_info(emitter, out, ty))
        emitter.shapes[out] = ty.shape
    _remove_copies(emitter.nodes, results, {value.name for value in inputs}, emitter)
    names = [value.name for value in outputs]
    nodes, weights = Tidying(emitter.nodes, emitter.initializers, names).run()
    combined = NodeGraph(nodes, {tensor.name: tensor for tensor in weights}, names, emitter.shapes, emitter.opset)
    applied = combine(combined, skipped_rules)
    # Rules leave weights behind that no node reads any more.
    read = {part for node in combined.nodes for part in names_read(node)} | set(names)
    weights = [tensor for part, tensor in combined.weights.items() if part in read]
    return helper.make_graph(combined.nodes, name, inputs, outputs, weights), applied


def _remove_copies(nodes: list[Any], results: list[str], inputs: set[str], emitter: GraphEmitter) -> None:
    """Rename the results of nodes to the outputs of the model instead of copying them, where each has one output."""
    weights = {tensor.name for tensor in emitter.initializers}
    copies = {node.input[0]: node for node in nodes[len(nodes) - len(results) :]}  # the last nodes, one for each result
    for result, copy in copies.items():
        if results.count(result) > 1 or result in inputs or result in weights:
            continue
        producer = next((node for node in nodes if result in node.output), None)
        if producer is None:
            continue
        out = copy.output[0]
        nodes.remove(copy)
        producer.output[list(producer.output).index(result)] = out
        for node in nodes:
            rename_inputs(node, result, out)


def _value_info(emitter: GraphEmitter, name: str, ty: TensorType) -> Any:
    dims = [dim if isinstance(dim, int) else emitter.fresh("d") for dim in ty.shape]
    return onnx().helper.make_tensor_value_info(name, element_type(ty.dtype), dims)


def save_model(model: Any, path: Path) -> None:
    """Write a model; one that is too large for one file stores its weights in a second one."""
    large = model.ByteSize() > PROTOBUF_LIMIT
    external = {"save_as_external_data": True, "location": f"{path.name}.data"} if large else {}
    try:
        onnx().save(model, str(path), **external)
    except OSError as error:
        raise FileAccessError(Diagnostic(f"{path} cannot be written: {error.strerror}")) from error
