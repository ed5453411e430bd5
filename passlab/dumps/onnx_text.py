"""ONNX models as text, read without the `onnx` package: inputs, nodes, weights, outputs.

A small reader of the protobuf wire format. Readable fields become text, everything else of a node a digest, so that two
texts are equal only where the graphs are.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from typing import Any

from passlab.dumps.graph_node import GraphNode
from passlab.errors import Diagnostic, DumpError

_DTYPES = (
    "undefined float uint8 int8 uint16 int16 int32 int64 string bool float16 double uint32 uint64 complex64 complex128 "
    "bfloat16"
)
_ATTRIBUTE_FIELDS = {2: "f", 3: "i", 4: "s", 7: "floats", 8: "ints", 9: "strings"}
MOST_SHOWN = 16  # numbers of one attribute that are written out


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield number and value of each field of a message: integers for varints, bytes for everything else."""
    at, size = 0, len(data)
    while at < size:
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7  # a key is the number of the field, then three bits for the wire type
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire == 2:
            length, at = _varint(data, at)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
        else:
            raise DumpError(Diagnostic("this is not an ONNX model: a field has no known wire type"))
        if at + length > size:
            raise DumpError(Diagnostic("the ONNX model is cut off"))
        yield number, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise DumpError(Diagnostic("the ONNX model is cut off"))
        byte = data[at]
        at += 1
        # Seven bits of each byte, the lowest ones first; the eighth says that more bytes follow.
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _field_values(data: bytes, number: int) -> list[Any]:
    return [value for n, value in fields(data) if n == number]


def _decode_text(value: Any) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def _first_field(data: bytes, number: int, default: Any = b"") -> Any:
    return next((value for n, value in fields(data) if n == number), default)


def model_text(data: bytes) -> str:
    """Return the main graph of a model, one line per input, weight, node and output. Raises `DumpError`."""
    try:
        return _model_text(data)
    except (struct.error, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, DumpError):
            raise
        raise DumpError(Diagnostic(f"this is not an ONNX model: {error}")) from error


def _model_text(data: bytes) -> str:
    graph = _first_field(data, 7)  # 7: ModelProto.graph
    if not isinstance(graph, bytes) or not graph:
        raise DumpError(Diagnostic("this is not an ONNX model: it has no graph"))
    lines = [f"graph {_decode_text(_first_field(graph, 2))} {{"]
    # Fields of GraphProto: 1 nodes, 2 name, 5 initializers, 11 inputs, 12 outputs.
    for value in _bytes(_field_values(graph, 11)):
        lines.append(f"  input %{_value_text(value)}")
    for value in _bytes(_field_values(graph, 5)):
        lines.append(f"  weight %{_tensor_text(value)}")
    for node in _bytes(_field_values(graph, 1)):
        lines.append(f"  {_node_text(node)}")
    for value in _bytes(_field_values(graph, 12)):
        lines.append(f"  output %{_value_text(value)}")
    return "\n".join([*lines, "}"]) + "\n"


def model_nodes(data: bytes) -> list[GraphNode]:
    """Return the inputs, weights and nodes of the main graph of a model; a node is called by its first output."""
    graph = _first_field(data, 7)
    graph = graph if isinstance(graph, bytes) else b""
    values = {_value_text(value): "input" for value in _bytes(_field_values(graph, 11))}
    values |= {_tensor_text(value): "weight" for value in _bytes(_field_values(graph, 5))}
    nodes = {name: GraphNode(name, kind, text) for text, kind in values.items() for name in [text.partition(":")[0]]}
    maker = {name: name for name in nodes}
    for node in _bytes(_field_values(graph, 1)):
        outputs = [_decode_text(value) for value in _field_values(node, 2)]
        operands = [maker.get(name, name) for value in _field_values(node, 1) if (name := _decode_text(value))]
        if outputs:
            kind = _decode_text(_first_field(node, 4))
            nodes[outputs[0]] = GraphNode(outputs[0], kind, _node_text(node), tuple(operands))
            maker.update(dict.fromkeys(outputs, outputs[0]))
    return list(nodes.values())


def _bytes(values: list[Any]) -> list[bytes]:
    return [value for value in values if isinstance(value, bytes)]


def _node_text(node: bytes) -> str:
    # Fields of NodeProto: 1 inputs, 2 outputs, 4 operator, 5 attributes, 7 domain.
    inputs = ", ".join(f"%{_decode_text(v)}" if v else "none" for v in _field_values(node, 1))
    outputs = ", ".join(f"%{_decode_text(v)}" for v in _field_values(node, 2))
    domain = _decode_text(_first_field(node, 7))
    attributes = ", ".join(_attribute_text(a) for a in sorted(_bytes(_field_values(node, 5))))
    name = _decode_text(_first_field(node, 4))
    op = f"{domain}.{name}" if domain else name
    return f"{outputs} = {op}({inputs})" + (f" {{{attributes}}}" if attributes else "")


def _attribute_text(data: bytes) -> str:
    name, shown = _decode_text(_first_field(data, 1)), []
    for number, value in fields(data):
        kind = _ATTRIBUTE_FIELDS.get(number)
        if kind == "f":
            shown.append(f"{struct.unpack('<f', value)[0]:g}")
        elif kind in ("i", "ints"):
            shown += [str(v) for v in _ints(value)]
        elif kind in ("s", "strings"):
            shown.append(repr(_decode_text(value)))
        elif kind == "floats":
            shown += [f"{v:g}" for (v,) in struct.iter_unpack("<f", value[: len(value) // 4 * 4])]
        elif number in (5, 6) and isinstance(value, bytes):
            shown.append(f"<{hashlib.blake2b(value, digest_size=6).hexdigest()}>")
    if len(shown) > MOST_SHOWN:
        digest = hashlib.blake2b("".join(shown).encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()
        shown = [*shown[:MOST_SHOWN], f"... {digest}"]
    return f"{name}={shown[0] if len(shown) == 1 else '[' + ', '.join(shown) + ']'}"


def _ints(value: Any) -> list[int]:
    if isinstance(value, int):
        return [value - (1 << 64) if value >> 63 else value]  # two's complement
    numbers, at = [], 0
    while at < len(value):
        number, at = _varint(value, at)
        numbers.append(number - (1 << 64) if number >> 63 else number)
    return numbers


def _dtype(code: Any) -> str:
    names = _DTYPES.split()
    return names[code] if isinstance(code, int) and code < len(names) else f"type{code}"


def _value_text(data: bytes) -> str:
    kind = _first_field(_first_field(data, 2), 1) if _first_field(data, 2) else b""
    if not isinstance(kind, bytes) or not kind:
        return _decode_text(_first_field(data, 1))
    dims = []
    for dim in _bytes(_field_values(_first_field(kind, 2), 1)) if isinstance(_first_field(kind, 2), bytes) else []:
        dims.append(next((_decode_text(value) for _, value in fields(dim)), "?"))
    return f"{_decode_text(_first_field(data, 1))}: {_dtype(_first_field(kind, 1, 0))}[{', '.join(dims)}]"


def _tensor_text(data: bytes) -> str:
    dims: list[int] = []
    for value in _field_values(data, 1):
        dims += _ints(value)
    # Not its name and its documentation.
    shown = [(number, value) for number, value in fields(data) if number not in (8, 12)]
    content = b"".join([b"%d" % n + (v if isinstance(v, bytes) else b"%d" % v) for n, v in shown])
    digest = hashlib.blake2b(content, digest_size=6).hexdigest()
    name, dtype = _decode_text(_first_field(data, 8)), _dtype(_first_field(data, 2, 0))
    return f"{name}: {dtype}[{', '.join(map(str, dims))}] <{digest}>"
