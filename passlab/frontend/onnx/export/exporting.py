"""`to_onnx`: a Relay module becomes an ONNX model.

The file begins with simplification of the ONNX graph: constant folding, and biases inside convolutions and products.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from passlab.arguments import checked
from passlab.atomic_file import atomic_files, checked_path
from passlab.errors import Diagnostic, ModelError
from passlab.frontend.onnx.export.combining import NodeGraph, combine
from passlab.frontend.onnx.export.emitter import GraphEmitter
from passlab.frontend.onnx.export.names import NoCounterpartError, element_type, flat, tensor_types
from passlab.frontend.onnx.export.protos import attribute_value, names_read, rename_inputs
from passlab.frontend.onnx.importing import METADATA_ATTR
from passlab.frontend.onnx.origin import ModelSource, Named, value_info
from passlab.frontend.onnx.package import onnx
from passlab.infer import infer_module
from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.ir.types import TensorType
from passlab.rewriting.parameters import bind_params_by_name
from passlab.text.tensor_bytes import enough_memory

Array = np.ndarray[Any, Any]
FOLDED_BYTES = 2**26  # larger results are not folded, to keep the model small


class ExportedNodes:
    """The nodes and weights of one graph, and the readers of each tensor."""

    def __init__(self, nodes: list[Any], weights: dict[str, Array], outputs: list[str]) -> None:
        self.nodes = nodes
        self.weights = weights
        self.outputs = set(outputs)
        self.readers = Counter(name for node in nodes for name in names_read(node))

    def run(self) -> tuple[list[Any], dict[str, Array]]:
        """Return the remaining nodes and weights."""
        remaining: list[Any] = []
        producers: dict[str, Any] = {}
        for node in self.nodes:
            if self._fold(node) or self._bias(node, producers):
                continue
            remaining.append(node)
            producers.update(dict.fromkeys(node.output, node))
        used = set(self.outputs)
        # Backwards, so that all readers of a node are decided before it.
        for node in reversed(remaining):
            if used.intersection(node.output):
                used.update(names_read(node))
        remaining = [node for node in remaining if used.intersection(node.output)]
        return remaining, {name: array for name, array in self.weights.items() if name in used}

    def _fold(self, node: Any) -> bool:
        """Compute a node whose inputs are all weights; return whether its result became a weight."""
        compute = FOLDS.get(node.op_type)
        if compute is None or node.output[0] in self.outputs or not all(name in self.weights for name in node.input):
            return False
        value = compute(node, [self.weights[name] for name in node.input])
        if value is None or value.nbytes > FOLDED_BYTES:
            return False
        self.weights[node.output[0]] = value
        return True

    def _bias(self, node: Any, producers: dict[str, Any]) -> bool:
        """Move the weight of an addition into the convolution or product before it; return whether that succeeded."""
        if node.op_type != "Add" or len(node.input) != 2:
            return False
        for data, bias in (tuple(node.input), tuple(node.input)[::-1]):
            producer = producers.get(data)
            if producer is None or bias not in self.weights or self.readers[data] != 1 or data in self.outputs:
                continue
            vector = self._as_bias(producer, self.weights[bias], producers)
            if vector is None:
                continue
            name = f"{bias}_of_{producer.name}"
            self.weights[name] = vector
            producer.input.append(name)
            producer.output[0] = node.output[0]
            producers[node.output[0]] = producer
            return True
        return False

    def _as_bias(self, producer: Any, value: Array, producers: dict[str, Any]) -> Array | None:
        """Return the value added to the result of a node in the shape of its bias, None if it cannot be one."""
        if len(producer.input) != 2:
            return None
        # The weight may be stored in 8 bits.
        origin = producers.get(producer.input[1])
        stored = origin.input[0] if origin is not None and origin.op_type == "DequantizeLinear" else producer.input[1]
        if stored not in self.weights:
            return None
        weight = self.weights[stored]
        if producer.op_type == "Conv":
            channels, rank = weight.shape[0], weight.ndim
            fits = value.shape[-(rank - 1) :] == (channels, *([1] * (rank - 2))) and value.size == channels
            return value.reshape(channels) if fits else None
        if producer.op_type == "Gemm" and value.ndim == 1:
            columns = weight.shape[0 if attribute_value(producer, "transB") else 1]
            return value if value.shape[0] in (columns, 1) else None
        return None


def _cast(node: Any, values: list[Array]) -> Array | None:
    dtype = onnx().helper.tensor_dtype_to_np_dtype(attribute_value(node, "to"))
    # Casts of floats depend on the runtime: rounding, and numbers that do not fit.
    return values[0].astype(dtype) if values[0].dtype.kind in "iub" else None


def _unsqueeze(node: Any, values: list[Array]) -> Array:
    rank = values[0].ndim + values[1].size
    return np.expand_dims(values[0], tuple(int(axis) % rank for axis in values[1]))


def _reshape(node: Any, values: list[Array]) -> Array | None:
    shape = [int(n) for n in values[1]]
    if attribute_value(node, "allowzero") != 1:
        shape = [values[0].shape[i] if n == 0 else n for i, n in enumerate(shape)]
    return values[0].reshape(shape)


FOLDS: dict[str, Callable[[Any, list[Array]], Array | None]] = {
    "Cast": _cast,
    "Reshape": _reshape,
    "Squeeze": lambda node, values: values[0].squeeze(tuple(int(a) for a in values[1])) if len(values) > 1 else None,
    "Transpose": lambda node, values: values[0].transpose(attribute_value(node, "perm")),
    "Unsqueeze": _unsqueeze,
}


OPSETS = range(18, 24)  # the supported versions of ONNX's operators
APART = 1024  # bytes of a weight that a model may refer to: shapes and other small ones stay in it
PROTOBUF_LIMIT = 2**31 - 1  # bytes of one file; a larger model stores its weights in a second file


@checked
@enough_memory("the ONNX model")
def to_onnx(
    relay_ir: IRModule | Function,
    params: Mapping[str, Any] | None = None,
    name: str | None = None,
    opset_version: int = 21,
    path: str | PathLike[str] | None = None,
) -> Any:
    """Return a program as an `onnx.ModelProto`; with `path`, write it to a file as well.

    The inputs of the model are the parameters of `main`; parameters in `params` become weights. Functions are inlined
    at their calls, branches become `If`, tail-recursive functions become `Loop`. `name` names the graph. An imported
    model keeps the names of its graph, inputs, outputs, nodes, weights and sizes, and its metadata; in other programs
    the graph is `main`, and each unknown dimension gets a name. A model of more than 2 GB stores its weights in
    `PATH.data` next to the file.

    Raises `ModelError` with everything that ONNX cannot express, each with its operator and reason, and for an opset
    outside 18 to 23; `FileAccessError` for a path that cannot be written; `MissingPackageError` without the package
    `onnx`.

    >>> model = frontend.to_onnx(passlab.parse("def @main(%x: Tensor[(1, 4), float32]) { nn.relu(%x) }"))
    >>> [node.op_type for node in model.graph.node]
    ['Relu']
    """
    model, _ = write_model(relay_ir, params, name, opset_version)
    if path is not None:
        save_model(model, checked_path(path))
    return model


def write_model(
    relay_ir: IRModule | Function,
    params: Mapping[str, Any] | None = None,
    name: str | None = None,
    opset_version: int = 21,
    skipped_rules: Collection[str] = (),
    apart: dict[str, Array] | None = None,
) -> tuple[Any, Counter[str]]:
    """Return the model of `to_onnx`, and how often each rule of `combining` was applied.

    `skipped_rules` names the rules that are not. With `apart`, large weights are not copied into the model: it refers
    to them as external data, and `apart` receives the arrays by name, for a runtime in this process. Such a model has
    the random numbers of other executors as weights.
    """
    package = onnx()
    if opset_version not in OPSETS or opset_version > package.defs.onnx_opset_version():
        hint = f"give one from {OPSETS.start} to {OPSETS.stop - 1}"
        raise ModelError(Diagnostic("this opset is not supported", found=str(opset_version), hint=hint))
    mod = relay_ir if isinstance(relay_ir, IRModule) else IRModule.from_expr(relay_ir)
    bound = mod.snapshot()
    if params:
        bound["main"] = bind_params_by_name(bound["main"], dict(params))
    mod = infer_module(bound)
    origin = bound.source if isinstance(bound.source, ModelSource) else None
    emitter = GraphEmitter(mod, opset_version, draws=apart is None)
    graph, applied = _graph(emitter, mod["main"], name, origin, skipped_rules, apart)
    if emitter.problems:
        raise ModelError(*emitter.problems.values())
    helper = package.helper
    opsets = [helper.make_opsetid(*entry) for entry in emitter.opsets.items()]
    model = helper.make_model(
        graph,
        producer_name="passlab",
        opset_imports=opsets,
        ir_version=helper.find_min_ir_version_for(opsets, ignore_unknown=True),
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
    emitter: GraphEmitter,
    function: Function,
    name: str | None,
    origin: ModelSource | None,
    skipped_rules: Collection[str],
    apart: dict[str, Array] | None,
) -> tuple[Any, Counter[str]]:
    """Return the graph of a function, and the rules that combined nodes of it."""
    helper = onnx().helper
    inputs = _inputs(emitter, function, origin)
    try:
        kinds = tensor_types(function.body.checked_type)
        named = origin.outputs if origin is not None and len(origin.outputs) == len(kinds) else None
        for value in named or ():
            emitter.reserve(value.name)
        results = flat(emitter.value(function.body))
    except NoCounterpartError as error:
        emitter.problems.setdefault("result", Diagnostic(f"the result of `main`: {error}", function.body.span))
        return None, Counter()
    names = (
        [value.name for value in named]
        if named is not None
        else [emitter.fresh("output" if len(results) == 1 else f"output{at}") for at in range(len(results))]
    )
    outputs = [
        _value_info(emitter, out, ty, None if named is None else named[at])
        for at, (out, ty) in enumerate(zip(names, kinds, strict=True))
    ]
    emitter.shapes.update({out: ty.shape for out, ty in zip(names, kinds, strict=True)})
    _name_results(emitter, results, names, {value.name for value in inputs})
    nodes, weights = ExportedNodes(emitter.nodes, emitter.weights, names).run()
    combined = NodeGraph(nodes, weights, names, emitter.shapes, emitter.opset)
    applied = combine(combined, skipped_rules)
    # Rules leave weights behind that no node reads any more.
    read = {part for node in combined.nodes for part in names_read(node)} | set(names)
    tensors = [_initializer(part, array, apart) for part, array in combined.weights.items() if part in read]
    graph_name = name or (origin and origin.name) or "main"
    doc_string = origin.doc_string if origin is not None else None
    return helper.make_graph(combined.nodes, graph_name, inputs, outputs, tensors, doc_string), applied


def _inputs(emitter: GraphEmitter, function: Function, origin: ModelSource | None) -> list[Any]:
    """Return the inputs of the graph: the parameters of a function, with their own names if the model was imported."""
    inputs = []
    for param in function.params:
        named = origin.inputs.get(param.name_hint) if origin is not None else None
        hint = param.name_hint if named is None else named.name
        try:
            leaves = tensor_types(param.checked_type)
            names = [emitter.fresh(hint) for _ in leaves]
            inputs += [_value_info(emitter, n, ty, named) for n, ty in zip(names, leaves, strict=True)]
            emitter.shapes.update({n: ty.shape for n, ty in zip(names, leaves, strict=True)})
            emitter.dtypes.update({n: ty.dtype for n, ty in zip(names, leaves, strict=True)})
        except NoCounterpartError as error:
            emitter.problems[param.name_hint] = Diagnostic(f"the parameter %{param.name_hint}: {error}", param.span)
            names = [emitter.fresh(hint)]
        emitter.values[param] = names[0] if isinstance(param.checked_type, TensorType) else names
    return inputs


def _initializer(name: str, array: Array, apart: dict[str, Array] | None) -> Any:
    """Return a weight as a tensor of the model, which only refers to a large one where those are kept `apart`."""
    package = onnx()
    if apart is None or array.nbytes < APART or array.dtype.kind not in "fiu":
        return package.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
    apart[name] = array
    tensor = package.TensorProto(name=name, data_type=element_type(array.dtype.name), dims=array.shape)
    tensor.data_location = package.TensorProto.EXTERNAL
    for key, value in (("location", "memory"), ("offset", "0"), ("length", str(array.nbytes))):
        tensor.external_data.add(key=key, value=value)
    return tensor


def _name_results(emitter: GraphEmitter, results: list[str], outputs: list[str], inputs: set[str]) -> None:
    """Give the results of nodes the names of the outputs; one that has a name already is copied by an Identity."""
    renamed: dict[str, str] = {}
    producers = {name: node for node in emitter.nodes for name in node.output}
    copies: list[tuple[str, str]] = []
    for result, out in zip(results, outputs, strict=True):
        if result == out and result not in renamed:
            continue  # an output that is an input
        if result in producers and result not in renamed and result not in outputs:
            renamed[result] = out
        else:
            copies.append((result, out))
    if renamed:
        for node in emitter.nodes:
            for at, name in enumerate(node.output):
                if name in renamed:
                    node.output[at] = renamed[name]
            rename_inputs(node, renamed)
        emitter.rename(renamed)
    for result, out in copies:
        source = renamed.get(result, result)
        emitter.nodes.append(onnx().helper.make_node("Identity", [source], [out], name=emitter.fresh("Identity")))


def _value_info(emitter: GraphEmitter, name: str, ty: TensorType, named: Named | None) -> Any:
    dims: list[Any] = [dim if isinstance(dim, int) else None for dim in ty.shape]
    if named is None:
        dims = [emitter.fresh("d") if dim is None else dim for dim in dims]
    return value_info(named, name, element_type(ty.dtype), dims)


def save_model(model: Any, path: Path) -> None:
    """Write a model; one that is too large for one file stores its weights in a second one."""
    large = model.ByteSize() > PROTOBUF_LIMIT
    beside = [path.with_name(f"{path.name}.data")] if large else []
    with atomic_files(*beside, path) as unfinished:
        external = {"save_as_external_data": True, "location": unfinished[0].name} if large else {}
        onnx().save(model, str(unfinished[-1]), **external)
