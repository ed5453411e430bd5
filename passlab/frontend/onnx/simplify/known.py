"""Steps that use what the importer knows: constants, equal tensors, known sizes, decided branches."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.errors import PasslabError
from passlab.frontend.onnx.export.protos import attribute_value, rename_inputs
from passlab.frontend.onnx.layers import RANDOM
from passlab.frontend.onnx.package import onnx
from passlab.frontend.onnx.simplify.graph import ModelGraph, attributes_key
from passlab.frontend.onnx.tensors import array_of
from passlab.ir.types import SizeVar
from passlab.op.dtypes import Array

SMALL = 4096  # bytes of a constant that is computed in any case
# Weights are stored in few bits before these operators, which make floats of them.
WIDENING = {"DequantizeLinear", "MatMulNBits", "DequantizeBFP", "Cast"}


def fold_constants(graph: ModelGraph, limit: int) -> bool:
    """Make weights of the tensors that depend on weights only, up to `limit` bytes more than they are computed from.

    Weights that are stored in fewer bits than they are used in stay as they are.
    """
    narrow: set[str] = set()  # computed from weights of fewer bits
    sizes: dict[str, int] = {name: value.nbytes for name, value in graph.weights.items()}
    gone: list[Any] = []
    same: dict[str, str] = {}  # a weight that several layers share is stored once
    first: dict[Any, Any] = {}
    for node in graph.nodes:
        if node.op_type in RANDOM:
            continue
        values = {name: graph.facts.value(name) for name in node.output if name}
        source = sum(sizes.get(name, 0) for name in node.input)
        if any(value is None for value in values.values()) or not values:
            continue
        known: dict[str, Array] = {name: value for name, value in values.items() if value is not None}
        total = sum(value.nbytes for value in known.values())
        grows = node.op_type in WIDENING and total > source
        if grows or not narrow.isdisjoint(node.input):
            narrow.update(known)
        sizes.update({name: max(source, value.nbytes) for name, value in known.items()})
        if graph.is_inner and not graph.outputs.isdisjoint(known):
            continue  # a branch or a body returns what its nodes compute
        is_large = total > SMALL and (total > source + limit or not narrow.isdisjoint(known))
        if is_large and node.op_type != "Constant":
            continue
        other = _known_already(graph, node, same, first)
        same.update({old: new for old, new in zip(node.output, other, strict=True) if old and old != new})
        graph.weights.update({name: value for name, value in known.items() if name not in same})
        gone.append(node)
    graph.remove(gone)
    for node in graph.nodes:
        rename_inputs(node, same)
    graph.reindex()
    return bool(gone)


def _known_already(graph: ModelGraph, node: Any, same: dict[str, str], first: dict[Any, Any]) -> list[str]:
    """Return the weights that are the results of a node, or its own results where no weight has these values yet."""
    own = list(node.output)
    if node.op_type == "Constant" or not graph.outputs.isdisjoint(own):
        return own
    inputs = tuple(same.get(name, name) for name in node.input)
    if node.op_type == "Identity" and inputs[0] in graph.weights:
        return [inputs[0]]
    other = list(first.setdefault((*graph.scale_of(node), inputs, attributes_key(node), len(own)), node).output)
    return other if all(new or not old for old, new in zip(own, other, strict=True)) else own


def merge_equal(graph: ModelGraph) -> bool:
    """Compute once what two nodes compute: the same operator of the same inputs with the same attributes."""
    same: dict[str, str] = {}
    first: dict[Any, Any] = {}
    weights: dict[Any, str] = {}
    for name, value in graph.weights.items():
        if value.size <= 64:
            weights.setdefault((value.dtype.name, value.shape, value.tobytes()), name)
    by_name = {
        name: weights[value.dtype.name, value.shape, value.tobytes()]
        for name, value in graph.weights.items()
        if value.size <= 64
    }
    for node in graph.nodes:
        if node.op_type in RANDOM or any(a.HasField("g") or a.graphs for a in node.attribute):
            continue
        inputs = tuple(same.get(name, by_name.get(name, name)) for name in node.input)
        key = (*graph.scale_of(node), inputs, attributes_key(node), len(node.output))
        other = first.setdefault(key, node)
        if other is not node and all(new or not old for old, new in zip(node.output, other.output, strict=True)):
            same.update({old: new for old, new in zip(node.output, other.output, strict=True) if old})
    if same:
        graph.alias(same)
    return bool(same)


# Read as the tensor that they make maps of, or that may be absent: their results are of another kind all the same.
_OTHER_KINDS = ("ZipMap", "Optional", "OptionalGetElement")


def drop_copies(graph: ModelGraph) -> bool:
    """Read the operand of a node that returns it unchanged: Identity, Dropout, a reshape or cast to what it is."""
    same: dict[str, str] = {}
    for node in graph.nodes:
        if node.op_type in (*RANDOM, *_OTHER_KINDS) or not node.output or _is_read(graph, node.output[1:]):
            continue
        result = node.output[0]
        expr = graph.facts.expr(result)
        for name in node.input:
            is_copy = node.op_type == "Identity" or (expr is not None and graph.facts.expr(name) is expr)
            is_copy = is_copy or _casts_to_own(graph, node, name)
            if (
                name
                and is_copy
                and not (result in graph.outputs and node.op_type == "Identity" and _must_stay(graph, name))
            ):
                same[result] = name
                break
    if same:
        before = len(graph.nodes)
        graph.alias(same)
        return len(graph.nodes) != before
    return False


def _casts_to_own(graph: ModelGraph, node: Any, name: str) -> bool:
    """Whether a cast makes of a tensor the element type that it has."""
    if node.op_type not in ("Cast", "CastLike") or node.domain or name != node.input[0]:
        return False
    other = attribute_value(node, "to") if node.op_type == "Cast" else graph.facts.element(node.input[1])
    return bool(other) and graph.facts.element(name) == other


def _is_read(graph: ModelGraph, names: Any) -> bool:
    return any(graph.readers[name] or name in graph.outputs for name in names if name)


def _must_stay(graph: ModelGraph, name: str) -> bool:
    """Whether an Identity that copies this tensor to an output has to stay: the tensor has a name of its own."""
    return name in graph.outputs or name not in graph.producers


def use_known_sizes(graph: ModelGraph) -> bool:
    """Give a Reshape or Expand whose shape is computed the constant codes of that shape, where they say the same."""
    changed = False
    for node in graph.nodes:
        if node.op_type not in ("Reshape", "Expand") or len(node.input) != 2 or node.input[1] in graph.weights:
            continue
        codes = _codes(graph, node)
        if codes is None:
            continue
        node.input[1] = graph.add_weight(f"{node.output[0]}_shape", np.array(codes, "int64"))
        kept = [_copied(attribute) for attribute in node.attribute if attribute.name != "allowzero"]
        del node.attribute[:]
        node.attribute.extend(kept)
        changed = True
    if changed:
        graph.reindex()
    return changed


def _copied(message: Any) -> Any:
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def _codes(graph: ModelGraph, node: Any) -> list[int] | None:
    """Return the constant shape of a node, None if none is right for all sizes.

    A size of 0 is one of them: with a copied dimension, nothing can be inferred for -1.
    """
    entries, own = graph.facts.entries(node.input[1]), graph.facts.shape(node.input[0])
    if entries is None or own is None or (attribute_value(node, "allowzero", 0) and 0 in entries):
        return None
    if node.op_type == "Expand":
        offset = len(entries) - len(own)
        codes = [
            entry if isinstance(entry, int) else 1 if at >= offset and own[at - offset] is entry else None
            for at, entry in enumerate(entries)
        ]
        return [code for code in codes if code is not None] if None not in codes else None
    shape: list[int] = []
    unknown = 0
    for at, entry in enumerate(entries):
        if isinstance(entry, int):
            shape.append(entry)
        elif isinstance(entry, SizeVar) and at < len(own) and own[at] is entry:
            shape.append(0)
        else:
            shape.append(-1)
            unknown += 1
    if unknown == 0:
        return shape
    return shape if unknown == 1 and shape.count(-1) == 1 and 0 not in shape else None


def decide_branches(graph: ModelGraph) -> bool:
    """Write the nodes of the branch that is taken in place of an If whose condition is known."""
    for node in graph.nodes:
        value = graph.facts.value(node.input[0]) if node.op_type == "If" and node.input else None
        if value is None:
            continue
        branch = attribute_value(node, "then_branch" if value.any() else "else_branch")
        taken = {name for other in graph.nodes for name in other.output} | set(graph.weights) | set(graph.inputs)
        taken |= set(graph.tensors)
        results = dict(zip([v.name for v in branch.output], node.output, strict=False))
        names = _new_names(branch, results, taken, node.name or "If")
        for tensor in branch.initializer:
            name = names.get(tensor.name, tensor.name)
            copy = type(tensor)()
            copy.CopyFrom(tensor)
            copy.name = name
            graph.tensors[name] = copy
            try:
                graph.weights[name] = graph.stored[name] = array_of(copy)
            except PasslabError:
                continue
        inner = []
        for old in branch.node:
            new = type(old)()
            new.CopyFrom(old)
            rename_inputs(new, names)
            for at, name in enumerate(new.output):
                new.output[at] = names.get(name, name)
            inner.append(new)
        made = {name for new in inner for name in new.output}
        for value_info, result in zip(branch.output, node.output, strict=False):
            if result and result not in made:
                source = names.get(value_info.name, value_info.name)
                source = value_info.name if source == result else source
                inner.append(onnx().helper.make_node("Identity", [source], [result], name=f"{result}_copy"))
        graph.replace([], node, *inner)
        return True
    return False


def _new_names(branch: Any, results: dict[str, str], taken: set[str], prefix: str) -> dict[str, str]:
    """Return new names of the tensors of a branch: the names of its If's results, and others if they are taken."""
    names: dict[str, str] = {}
    made = [name for node in branch.node for name in node.output if name]
    for name in made:
        if results.get(name):
            names[name] = results[name]
        elif name in taken:
            names[name] = _free(f"{prefix}/{name}", taken)
        taken.add(names.get(name, name))
    for tensor in branch.initializer:
        if tensor.name in taken:
            names[tensor.name] = _free(f"{prefix}/{tensor.name}", taken)
        taken.add(names.get(tensor.name, tensor.name))
    return names


def _free(name: str, taken: set[str]) -> str:
    number, result = 0, name
    while result in taken:
        number += 1
        result = f"{name}_{number}"
    return result
