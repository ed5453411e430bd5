"""The end of a model that Relay does not have: nodes that make sequences and maps of its tensors, such as ZipMap.

body, ends = without_ends(model)        # the body returns the tensors that the last nodes read
with_ends(smaller, model, ends)         # the nodes and the outputs of the model again
"""

from __future__ import annotations

from typing import Any

from passlab.frontend.onnx.package import onnx


def without_ends(model: Any) -> tuple[Any, list[Any]]:
    """Return a model without the nodes that make its outputs of other types than tensors, and these nodes.

    It is the same model if it has none, or if one of them reads another.
    """
    graph = model.graph
    others = {value.name for value in graph.output if value.type.WhichOneof("value") in ("sequence_type", "map_type")}
    ends = [node for node in graph.node if others.intersection(node.output)]
    made = {name for node in ends for name in node.output}
    read = {name for node in graph.node for name in node.input}
    inner = [a for node in ends for a in node.attribute if a.HasField("g")]
    if not ends or inner or not made <= others or made & read:
        return model, []
    body = onnx().ModelProto()
    body.CopyFrom(model)
    for at in reversed(range(len(graph.node))):
        if others.intersection(graph.node[at].output):
            del body.graph.node[at]
    del body.graph.output[:]
    body.graph.output.extend(value for value in graph.output if value.name not in others)
    known = {value.name: value for value in graph.value_info} | {value.name: value for value in graph.output}
    for name in dict.fromkeys(name for node in ends for name in node.input if name):
        if all(value.name != name for value in body.graph.output):
            body.graph.output.append(known.get(name) or onnx().ValueInfoProto(name=name))
    return body, ends


def with_ends(body: Any, model: Any, ends: list[Any]) -> bool:
    """Give a smaller body the last nodes of its model again; return whether no other tensor has their names."""
    graph = body.graph
    names = {name for node in graph.node for name in (*node.input, *node.output)}
    if any(name in names for node in ends for name in node.output):
        return False
    graph.node.extend(ends)
    del graph.output[:]
    graph.output.extend(model.graph.output)
    own = {entry.domain for entry in body.opset_import}
    body.opset_import.extend(entry for entry in model.opset_import if entry.domain not in own)
    return True
