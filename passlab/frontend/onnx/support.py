"""Checks that all operators of a model are supported, before anything is translated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passlab.errors import Diagnostic, ModelError, did_you_mean
from passlab.frontend.onnx.definitions import has_definition
from passlab.frontend.onnx.entries import entries, find_entry, schema_of
from passlab.frontend.onnx.graph import node_names, plain_domain
from passlab.frontend.onnx.node_text import node_span
from passlab.ir.span import Span

_SHOWN = 5  # nodes of one operator that a message names
Key = tuple[str, str, int]  # domain, operator, opset version


def check_support(graph: Any, opsets: Mapping[str, int], functions: Mapping[tuple[str, str], Any]) -> None:
    """Raise a `ModelError` with one diagnostic for each unsupported operator of the model.

    Subgraphs and the functions that the model defines and calls are checked as well.
    """
    missing: dict[Key, list[tuple[str, Span]]] = {}
    seen: set[tuple[str, str]] = set()
    todo: list[tuple[Any, Mapping[str, int], str]] = [(graph, opsets, "")]
    while todo:
        current, versions, inside = todo.pop()
        for node, name in zip(current.node, node_names(current.node, inside), strict=True):
            todo += [(a.g, versions, name) for a in node.attribute if a.type == 5]  # 5: a graph
            domain = plain_domain(node.domain)
            key, opset = (domain, node.op_type), versions.get(domain, 1)
            if key in functions:
                if key not in seen:  # once, since functions may be called often
                    seen.add(key)
                    own = {plain_domain(entry.domain): entry.version for entry in functions[key].opset_import}
                    todo.append((functions[key], own or versions, name))
            elif not find_entry(node.op_type, domain, opset) and not has_definition(node.op_type, domain, opset):
                missing.setdefault((*key, opset), []).append((name, node_span(node, name)))
    if missing:
        raise ModelError(*(_diagnostic(key, nodes) for key, nodes in sorted(missing.items())))


def _diagnostic(key: Key, nodes: list[tuple[str, Span]]) -> Diagnostic:
    domain, op_type, opset = key
    where = f"{domain or 'ai.onnx'}, opset {opset}"
    names = ", ".join(f"`{name}`" for name, _ in nodes[:_SHOWN])
    more = f" and {len(nodes) - _SHOWN} more" if len(nodes) > _SHOWN else ""
    used = f"it is used by {names}{more}"
    return Diagnostic(
        f"the ONNX operator `{op_type}` ({where}) is not supported",
        nodes[0][1],
        notes=((used, None),),
        hint=_hint(domain, op_type, opset),
    )


def _hint(domain: str, op_type: str, opset: int) -> str | None:
    entry = entries().get(op_type) if domain == "" else None
    schema = schema_of(op_type, domain, opset)
    if entry is not None and schema is not None:
        return f"its definition of opset {schema.since_version} is not known; those of {entry.versions} are"
    if schema is None and domain == "":
        return did_you_mean(op_type, entries()) or "ONNX has no such operator in this opset"
    return None
