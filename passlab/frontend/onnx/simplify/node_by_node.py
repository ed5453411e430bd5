"""`simplify_nodes`: a model made smaller node by node, with every change told by the name of the pass that makes it.

Whatever a step does not improve stays as it was: the node, its name, the opset, the model's functions and operators of
other domains. The result never has more nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

from passlab.frontend.onnx.export.combining import RULES as COMBINATIONS
from passlab.frontend.onnx.export.combining import combine
from passlab.frontend.onnx.export.protos import attribute_value, names_read
from passlab.frontend.onnx.package import onnx
from passlab.frontend.onnx.simplify.facts import UNFIT
from passlab.frontend.onnx.simplify.graph import ModelGraph
from passlab.frontend.onnx.simplify.known import (
    decide_branches,
    drop_copies,
    fold_constants,
    merge_equal,
    use_known_sizes,
)
from passlab.frontend.onnx.simplify.rules import RULES, apply_rules

LIMIT = 2**20  # bytes that folding one node may add
ROUNDS = 8  # of all steps, each with what the importer knows of the result of the one before
BRANCHES = "FoldBranches"
Step = Callable[[ModelGraph], bool]


@dataclass(frozen=True)
class SimplifiedNodes:
    """A smaller model, and what each pass removed and added, as operators of ONNX with their numbers."""

    model: Any
    changes: dict[str, tuple[Counter[str], Counter[str]]]


def steps(limit: int) -> dict[str, tuple[Step, ...]]:
    """Return the steps in their order, by the name of the pass that does the same in Relay."""
    table: dict[str, tuple[Step, ...]] = {
        "DeadCodeElimination": (ModelGraph.drop_unused,),
        BRANCHES: (decide_branches,),
        "FoldConstant": (partial(fold_constants, limit=limit),),
        "DynamicToStatic": (use_known_sizes,),
        "SimplifyInference": (drop_copies,),
        "EliminateCommonSubexpr": (merge_equal,),
    }
    for name, rules in RULES.items():
        table[name] = (*table.get(name, ()), partial(apply_rules, rules=rules))
    for name in COMBINATIONS:
        others = tuple(other for other in COMBINATIONS if other != name)
        step: Step = lambda graph, others=others: bool(combine(graph, others))  # type: ignore[misc]  # noqa: E731
        table[name] = (*table.get(name, ()), step)
    return table


def simplify_nodes(model: Any, disabled: Collection[str] = (), limit: int = LIMIT) -> SimplifiedNodes:
    """Return a model that computes the same with fewer nodes; `disabled` names steps to leave out.

    A damaged model, whose nodes have not the inputs, attributes or shapes of their operators, is returned as it is.

    `limit` is the number of bytes that folding a node into a weight may add. The model given is not changed. Raises
    nothing: what the importer cannot read stays as it is.
    """
    try:
        return _simplified(model, disabled, limit)
    except (*UNFIT, AttributeError):
        return SimplifiedNodes(model, {})


def _simplified(model: Any, disabled: Collection[str], limit: int) -> SimplifiedNodes:
    changes: dict[str, tuple[Counter[str], Counter[str]]] = {}

    def until_done(graph: ModelGraph) -> None:
        for _ in range(ROUNDS):
            if not _round(graph, disabled, limit, changes):
                break
            graph.learn()

    graph = ModelGraph(model)
    until_done(graph)
    # Graphs whose nodes have graphs inside, with these nodes, and all names that those may not take.
    todo: list[tuple[ModelGraph, Any, set[str]]] = [(graph, graph.nodes, graph.names())]
    while todo:
        outer, nodes, names = todo.pop()
        bodies = [(node, attribute.g) for node in nodes for attribute in node.attribute if attribute.HasField("g")]
        for node, body in bodies:
            inner = _inside(outer, node, body, names)
            until_done(inner)
            small = inner.to_model().graph
            for field in ("node", "initializer", "value_info"):
                body.ClearField(field)
                getattr(body, field).extend(getattr(small, field))
            todo.append((inner, body.node, names | inner.names()))
    return SimplifiedNodes(graph.to_model(), changes)


def _inside(outer: ModelGraph, node: Any, body: Any, names: set[str]) -> ModelGraph:
    """Return a branch, or the body of a loop, as a graph of its own, whose inputs are the tensors that it reads."""
    model = onnx().ModelProto()
    model.opset_import.extend(outer.model.opset_import)
    model.functions.extend(outer.model.functions)
    model.ir_version = outer.model.ir_version
    model.graph.CopyFrom(body)
    _describe_inputs(outer, node, model.graph)
    own = {name for node in body.node for name in node.output}
    own.update(value.name for value in (*body.input, *body.initializer))
    read = dict.fromkeys(name for node in body.node for name in names_read(node) if name and name not in own)
    weights = {name: outer.weights[name] for name in read if name in outer.weights}
    model.graph.input.extend(outer.described(name) for name in read if name not in weights)
    inner = ModelGraph(model, weights)
    inner.taken = names
    return inner


def _describe_inputs(outer: ModelGraph, node: Any, body: Any) -> None:
    """Give the inputs of a body without a type what is known of the tensors that they are, or are parts of."""
    given = list(node.input)
    states = len(given)
    if node.op_type == "Scan":
        states -= attribute_value(node, "num_scan_inputs", 0)
    if node.op_type not in ("Loop", "Scan") or outer.opset < 9 or len(given) != len(body.input):
        return
    axes = attribute_value(node, "scan_input_axes") or [0] * (len(given) - states)
    for at, (name, value) in enumerate(zip(given, body.input, strict=True)):
        if value.type.WhichOneof("value") or not name:
            continue
        known = outer.described(name)
        tensor = known.type.tensor_type
        if node.op_type == "Loop" and at > 1:
            tensor.ClearField("shape")  # a state may be larger after each step
        elif at >= states and tensor.HasField("shape"):
            del tensor.shape.dim[axes[at - states]]
        value.type.CopyFrom(known.type)


def _round(graph: ModelGraph, disabled: Collection[str], limit: int, changes: dict[str, Any]) -> bool:
    changed = False
    for name, parts in steps(limit).items():
        if name in disabled:
            continue
        before = graph.counts()
        done = [part(graph) for part in parts]
        if any(done):
            changed = True
            graph.drop_unused()
        after = graph.counts()
        if before != after:
            removed, added = changes.setdefault(name, (Counter(), Counter()))
            removed.update(before - after)
            added.update(after - before)
        if any(done) and name == BRANCHES:
            return True  # the nodes of the branch are not known yet
    return changed
