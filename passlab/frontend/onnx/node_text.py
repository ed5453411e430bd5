"""One ONNX node as a line of text, which its Relay nodes show as their source location.

y = Conv[strides=[2, 2]](x, w)
"""

from __future__ import annotations

from typing import Any

from passlab.ir.span import Source, Span

LONGEST = 400  # characters of one line
_LISTED = 8  # elements of one list


def node_span(node: Any, name: str) -> Span:
    """Return a span whose source has the name of the node, and whose text is the node."""
    text = text_of(node)
    return Span(Source(name, text), 0, len(text))


def text_of(node: Any) -> str:
    """Return a node as one line; long parts are shortened."""
    attributes = ", ".join(f"{proto.name}={_attribute(proto)}" for proto in node.attribute)
    marks = f"[{attributes}]" if attributes else ""
    text = f"{_names(node.output)} = {node.op_type}{marks}({', '.join(node.input)})"
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."


def _names(outputs: Any) -> str:
    """Return the names of the outputs; of many long ones the first, so that the operator is seen."""
    text = ", ".join(outputs)
    return text if len(text) <= LONGEST // 2 else f"{text[: LONGEST // 2]}..."


def _attribute(proto: Any) -> str:
    if proto.ref_attr_name:
        return f"@{proto.ref_attr_name}"
    single = {1: "f", 2: "i"}.get(proto.type)
    if single:
        return f"{getattr(proto, single):g}" if single == "f" else str(proto.i)
    if proto.type == 3:
        return repr(proto.s[:40].decode("utf-8", "replace"))
    if proto.type in (6, 7):
        # One more than is shown, to see whether there are others.
        shown = [
            f"{item:g}"
            for item, _ in zip(proto.floats if proto.type == 6 else proto.ints, range(_LISTED + 1), strict=False)
        ]
        return f"[{', '.join([*shown[:_LISTED], '...'] if len(shown) > _LISTED else shown)}]"
    return "..."
