"""ONNX models whose parts contradict each other, which protobuf reads all the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import onnx
from onnx import AttributeProto, TensorProto, TypeProto, helper

Change = Callable[[onnx.ModelProto, random.Random], None]
COUNTS = (0, 1, -1, 3, 2**31, 2**40, -(2**63), 2**63 - 1)
NAMES = ("", "x", "\0", "\u202e", "a b", "../x", "n" * 5000, '"', "%0", "main")
PLACES = ("", "x", "/etc/hostname", "../../etc/hostname", "C:\\x", "\\\\host\\x", ".", "a/../../b", "\0", "y" * 5000)


def remade(proto: onnx.ModelProto, rng: random.Random) -> onnx.ModelProto:
    """Return a copy of a model with one to three changes of `CHANGES`."""
    result = onnx.ModelProto()
    result.CopyFrom(proto)
    for _ in range(rng.randint(1, 3)):
        rng.choice(CHANGES)(result, rng)
    return result


def _attribute_of_another_type(model: onnx.ModelProto, rng: random.Random) -> None:
    node = rng.choice(model.graph.node)
    if not node.attribute:
        node.attribute.append(helper.make_attribute("axis", 1))
    attribute = rng.choice(node.attribute)
    graph = onnx.GraphProto(node=[helper.make_node("Relu", ["x"], ["y"])], name="g")
    tensor = TensorProto(data_type=rng.choice((1, 7, 8)), dims=[2], raw_data=b"12345678")
    values: tuple[Any, ...] = (
        1,
        1.5,
        "text",
        b"\xff\xfe",
        [1, 2],
        [1.5],
        ["a", "b"],
        graph,
        [graph],
        tensor,
        [tensor],
        [-(2**63)],
    )
    other = helper.make_attribute(attribute.name, rng.choice(values))
    if rng.random() < 0.3:
        other.type = rng.choice(list(AttributeProto.AttributeType.values()))
    if rng.random() < 0.1:
        other.ref_attr_name = "other"
    attribute.CopyFrom(other)


def _cycle(model: onnx.ModelProto, rng: random.Random) -> None:
    node, other = rng.choice(model.graph.node), rng.choice(model.graph.node)
    if node.input and other.output:
        node.input[rng.randrange(len(node.input))] = rng.choice(other.output)


def _name_twice(model: onnx.ModelProto, rng: random.Random) -> None:
    graph = model.graph
    match rng.randrange(6):
        case 0:
            graph.node.append(rng.choice(graph.node))
        case 1 if graph.input:
            graph.input.append(rng.choice(graph.input))
        case 2 if graph.output:
            graph.output.append(rng.choice(graph.output))
        case 3 if graph.initializer:
            graph.initializer.append(rng.choice(graph.initializer))
        case 4 if graph.initializer and graph.node:
            rng.choice(graph.initializer).name = rng.choice(rng.choice(graph.node).output or [""])
        case _:
            for node in graph.node:
                node.name = "same"


def _another_name(model: onnx.ModelProto, rng: random.Random) -> None:
    name, node = rng.choice(NAMES), rng.choice(model.graph.node)
    match rng.randrange(7):
        case 0:
            node.op_type = name
        case 1:
            node.domain = name
        case 2 if node.input:
            node.input[0] = name
        case 3 if node.output:
            node.output[0] = name
        case 4 if model.graph.input:
            model.graph.input[0].name = name
        case 5 if model.graph.output:
            model.graph.output[0].name = name
        case _:
            node.name = name


def _tensor(model: onnx.ModelProto, rng: random.Random) -> TensorProto:
    if not model.graph.initializer:
        value = helper.make_tensor("weight", 1, [2], [1.0, 2.0])
        model.graph.initializer.append(value)
        rng.choice(model.graph.node).input.append("weight")
    return rng.choice(model.graph.initializer)


def _data_outside(model: onnx.ModelProto, rng: random.Random) -> None:
    tensor = _tensor(model, rng)
    tensor.data_location = rng.choice((0, 1, 1, 1))
    if rng.random() < 0.7:
        tensor.ClearField("raw_data")
    entries = {
        "location": rng.choice(PLACES),
        "offset": str(rng.choice(COUNTS)),
        "length": rng.choice(("8", "-1", "1e9", "x", "9" * 40)),
    }
    for key, value in entries.items():
        if rng.random() < 0.8:
            tensor.external_data.add(key=key, value=value)


def _another_length(model: onnx.ModelProto, rng: random.Random) -> None:
    tensor = _tensor(model, rng)
    match rng.randrange(5):
        case 0:
            tensor.raw_data = tensor.raw_data[: rng.randrange(len(tensor.raw_data) + 1)]
        case 1:
            tensor.raw_data += b"abc"
        case 2:
            tensor.float_data.extend([1.0, 2.0])
        case 3:
            tensor.int64_data.append(2**62)
        case _:
            tensor.string_data.append(b"\xff")


def _another_shape(model: onnx.ModelProto, rng: random.Random) -> None:
    tensor = _tensor(model, rng)
    if tensor.dims and rng.random() < 0.6:
        tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(COUNTS)
    else:
        tensor.dims.extend([rng.choice(COUNTS)] * rng.choice((1, 2, 70)))


def _another_enumeration(model: onnx.ModelProto, rng: random.Random) -> None:
    code = rng.choice((0, 8, 14, 15, 16, 17, 21, 22, 23, 24, 25, 26, 99, 2**31 - 1, -1))
    match rng.randrange(3):
        case 0:
            _tensor(model, rng).data_type = code
        case 1 if model.graph.input:
            rng.choice(model.graph.input).type.tensor_type.elem_type = code
        case _:
            node = rng.choice(model.graph.node)
            for attribute in node.attribute:
                attribute.i = code


def _deep_graphs(model: onnx.ModelProto, rng: random.Random) -> None:
    kind = rng.choice(("If", "Loop", "Scan"))
    graph = onnx.GraphProto(name="g", node=[helper.make_node("Relu", ["x"], ["y"])])
    graph.output.add(name="y")
    for _ in range(rng.choice((3, 12, 25))):
        parts = ["then_branch", "else_branch"] if kind == "If" else ["body"]
        if graph.ByteSize() > 10**5:  # two copies at each level
            del parts[1:]
        node = helper.make_node(kind, ["c"], ["y"], **dict.fromkeys(parts, graph))
        graph = onnx.GraphProto(name="g", node=[node])
        graph.output.add(name="y")
    model.graph.node.append(node)


def _opsets(model: onnx.ModelProto, rng: random.Random) -> None:
    match rng.randrange(5):
        case 0:
            del model.opset_import[:]
        case 1:
            model.opset_import.add(domain="", version=rng.choice(COUNTS))
        case 2:
            model.opset_import.add(domain=rng.choice(NAMES), version=1)
        case 3 if model.opset_import:
            model.opset_import[0].version = rng.choice((*COUNTS, 5, 13, 27, 1000))
        case _:
            model.ir_version = rng.choice(COUNTS)


def _another_kind_of_value(model: onnx.ModelProto, rng: random.Random) -> None:
    tensor = TypeProto(tensor_type=TypeProto.Tensor(elem_type=1))
    kinds = (
        TypeProto(), tensor, TypeProto(sequence_type=TypeProto.Sequence(elem_type=tensor)),
        TypeProto(optional_type=TypeProto.Optional(elem_type=tensor)),
        TypeProto(map_type=TypeProto.Map(key_type=7, value_type=tensor)),
        TypeProto(sparse_tensor_type=TypeProto.SparseTensor(elem_type=1)),
    )  # fmt: skip
    for part in (model.graph.input, model.graph.output, model.graph.value_info):
        if part and rng.random() < 0.5:
            rng.choice(part).type.CopyFrom(rng.choice(kinds))


def _missing_part(model: onnx.ModelProto, rng: random.Random) -> None:
    graph = model.graph
    parts = [part for part in (graph.input, graph.output, graph.initializer) if part]
    match rng.randrange(4):
        case 0 if parts:
            part = rng.choice(parts)
            del part[rng.randrange(len(part))]
        case 1 if len(graph.node) > 1:
            del graph.node[rng.randrange(len(graph.node))]
        case 2 if graph.node[-1].output:
            del graph.node[-1].output[:]
        case _:
            del graph.node[0].input[:]


def _functions(model: onnx.ModelProto, rng: random.Random) -> None:
    node = rng.choice(model.graph.node)
    inner = rng.choice((node.op_type, "Relu", "Other"))
    body = [helper.make_node(inner, [rng.choice(("a", "b", "y"))], ["y"], domain=rng.choice(("", "own")))]
    function = helper.make_function("own", node.op_type, ["a"], ["y"], body, [helper.make_opsetid("", 18)])
    for _ in range(rng.choice((1, 1, 2))):
        model.functions.append(function)
    node.domain = "own"
    model.opset_import.add(domain="own", version=1)


def _sparse(model: onnx.ModelProto, rng: random.Random) -> None:
    tensor = _tensor(model, rng)
    indices = helper.make_tensor("i", 7, [2], [0, rng.choice((1, 10**6, -5))])
    sparse = model.graph.sparse_initializer.add(dims=[rng.choice(COUNTS)])
    sparse.values.CopyFrom(tensor)
    sparse.indices.CopyFrom(indices)


CHANGES: tuple[Change, ...] = (
    _attribute_of_another_type, _attribute_of_another_type, _cycle, _name_twice, _another_name, _data_outside,
    _another_length, _another_shape, _another_enumeration, _deep_graphs, _opsets, _another_kind_of_value,
    _missing_part, _functions, _sparse,
)  # fmt: skip
