"""The graphs of a model, translated node by node.

A graph is a list of nodes in the order of computation. The body of a loop and the branch of a condition are graphs that
also see the names around them; the body of a function sees its arguments only. How deep graphs and calls stand inside
each other is bounded by `limits.model_nesting`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from passlab import limits
from passlab.errors import Diagnostic, LimitError, ModelError, PasslabError
from passlab.frontend.building import Builder
from passlab.frontend.onnx.attributes import SubGraph, attributes_of
from passlab.frontend.onnx.definitions import definition
from passlab.frontend.onnx.entries import Entry, find_entry
from passlab.frontend.onnx.node import Capture, Node, Subgraph
from passlab.frontend.onnx.node_text import node_span
from passlab.frontend.onnx.tensors import External, array_of
from passlab.ir.expr import Constant, Expr
from passlab.ir.span import Span


class Scope:
    """The values of one graph by name (None: an input that is not given), and those of the graph around it.

    `capture` is applied to what is taken from around: the body of a loop must not compute that again.
    """

    def __init__(self, around: Scope | None = None, capture: Capture | None = None) -> None:
        self._own: dict[str, Expr | None] = {}
        self._around = around
        self._capture = capture

    def __setitem__(self, name: str, value: Expr | None) -> None:
        self._own[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self._own

    def own(self, name: str) -> Expr | None:
        """Return the value of a name of this graph alone, None where it has none."""
        return self._own.get(name)

    def __getitem__(self, name: str) -> Expr | None:
        passed: list[Scope] = []
        scope = self
        while name not in scope._own:
            if scope._around is None:
                raise KeyError(name)
            passed.append(scope)
            scope = scope._around
        value = scope._own[name]
        for inner in reversed(passed):
            value = inner._capture(value) if inner._capture and value is not None else value
        return value


class Frame:
    """What the nodes of one list share: opset versions by domain, attributes of the call around, depth, and a name."""

    def __init__(self, opsets: Mapping[str, int], attributes: Mapping[str, Any], depth: int, name: str) -> None:
        limits.check("model_nesting", depth, "the model, in graphs inside graphs,")
        self.opsets = opsets
        self.attributes = attributes
        self.depth = depth
        self.name = name


class Translator:
    """Translates the graphs of one model. `functions` are those that the model defines, by domain and name."""

    def __init__(self, functions: Mapping[tuple[str, str], Any], external: External | None) -> None:
        self.builder = Builder()
        self._functions = functions
        self._external = external
        self._count = 0

    # ------------------------------------------------------------ graphs
    def graph(self, proto: Any, scope: Scope, frame: Frame) -> list[Expr]:
        """Return the outputs of a graph whose inputs are in `scope`."""
        for tensor in proto.initializer:
            if tensor.name not in scope:
                scope[tensor.name] = self.initializer(tensor)
        if proto.sparse_initializer:
            raise ModelError(Diagnostic("sparse initializers are not supported", hint="store them as dense tensors"))
        self.nodes(proto.node, scope, frame)
        return [self._output(scope, output.name, frame) for output in proto.output]

    def initializer(self, tensor: Any) -> Expr:
        """Return a tensor of the model as a constant."""
        return self.builder.finish(Constant(array_of(tensor, self._external)))

    # recurses: at most limits.model_nesting levels, and not over more than limits.model_nodes nodes
    def nodes(self, nodes: Iterable[Any], scope: Scope, frame: Frame) -> None:
        """Translate nodes in order, entering what they give into `scope`."""
        outer = self.builder.span
        listed = list(nodes)
        for node, name in zip(listed, node_names(listed, frame.name), strict=True):
            self.builder.span = span = node_span(node, name)
            self._count += 1
            limits.check("model_nodes", self._count, "the model, its functions and loops written out,")
            try:
                self._node(node, name, scope, frame)
            except PasslabError as error:
                raise _position(error, span) from error
            except (ValueError, TypeError, IndexError, ArithmeticError, MemoryError) as error:
                message = f"{node.op_type} `{name}` has inputs or attributes that make no sense"
                raise ModelError(Diagnostic(message, span, found=str(error))) from error
        self.builder.span = outer

    def _output(self, scope: Scope, name: str, frame: Frame) -> Expr:
        try:
            value = scope[name]
        except KeyError:
            value = None
        if value is None:
            where = f" of `{frame.name}`" if frame.name else ""
            raise ModelError(Diagnostic(f"no node gives the output `{name}`{where}"))
        return value

    # ------------------------------------------------------------ one node
    def _node(self, proto: Any, name: str, scope: Scope, frame: Frame) -> None:
        inputs = [self._input(proto, name, scope, value) for value in proto.input]
        attributes, problems = attributes_of(proto.attribute, frame.attributes, self._external)
        domain = plain_domain(proto.domain)
        local = self._functions.get((domain, proto.op_type))
        entry = None if local is not None else find_entry(proto.op_type, domain, frame.opsets.get(domain, 1))
        results: Sequence[Expr | None]
        if entry is None:
            body = definition(proto, domain, frame.opsets.get(domain, 1), inputs) if local is None else local
            results = self._expand(body, inputs, attributes, frame, name)
        else:
            node = Node(proto.op_type, name, entry[1], proto.output, attributes, problems, self.builder)
            node.subgraph = self._subgraphs(scope, frame, name)
            results = _apply(entry[0], node, inputs)
        self._enter(proto, results, scope)

    def _input(self, proto: Any, name: str, scope: Scope, value: str) -> Expr | None:
        try:
            return scope[value] if value else None
        except KeyError:
            hint = "the nodes of a graph stand in the order of computation"
            message = f"{proto.op_type} `{name}` reads `{value}`, which nothing before it gives"
            raise ModelError(Diagnostic(message, self.builder.span, hint=hint)) from None

    def _subgraphs(self, scope: Scope, frame: Frame, name: str) -> Subgraph:
        """Return what translates a graph inside a node, its inputs given by position."""

        def subgraph(graph: SubGraph, inputs: Sequence[Expr], capture: Capture | None = None) -> list[Expr]:
            inner = Scope(scope, capture)
            names = [value.name for value in graph.proto.input]
            if len(names) != len(inputs):
                message = f"`{name}` gives {len(inputs)} values to a graph of {len(names)} inputs"
                raise ModelError(Diagnostic(message, self.builder.span))
            for key, value in zip(names, inputs, strict=True):
                inner[key] = value
            return self.graph(graph.proto, inner, Frame(frame.opsets, frame.attributes, frame.depth + 1, name))

        return subgraph

    def _enter(self, proto: Any, results: Sequence[Expr | None], scope: Scope) -> None:
        for index, output in enumerate(proto.output):
            result = results[index] if index < len(results) else None
            if not output:
                continue
            if output in scope:
                raise ModelError(Diagnostic(f"`{output}` is given twice", self.builder.span))
            if result is None:
                message = f"{proto.op_type} does not give its output `{output}` here"
                raise ModelError(Diagnostic(message, self.builder.span, hint="ask for the outputs before it only"))
            scope[output] = result

    def _expand(
        self, body: Any, inputs: Sequence[Expr | None], attributes: Mapping[str, Any], frame: Frame, name: str
    ) -> list[Expr | None]:
        """Return the outputs of a function applied to `inputs`."""
        scope = Scope()
        for index, parameter in enumerate(body.input):
            scope[parameter] = inputs[index] if index < len(inputs) else None
        defaults, _ = attributes_of(body.attribute_proto, {}, self._external)
        opsets = {plain_domain(entry.domain): entry.version for entry in body.opset_import}
        inner = Frame({**frame.opsets, **opsets}, {**defaults, **attributes}, frame.depth + 1, name)
        self.nodes(body.node, scope, inner)
        return [scope.own(output) for output in body.output]


def plain_domain(domain: str) -> str:
    """Return the name of a domain: ONNX's own has two."""
    return "" if domain == "ai.onnx" else domain


def node_names(nodes: Iterable[Any], inside: str = "") -> list[str]:
    """Return the names of nodes; one without is called after its operator and how many of that came before it."""
    counts: dict[str, int] = {}
    names = []
    for node in nodes:
        name = node.name
        if not name:
            count = counts.get(node.op_type, 0)
            counts[node.op_type] = count + 1
            name = f"{inside}/{node.op_type}_{count}" if inside else f"{node.op_type}_{count}"
        names.append(name)
    return names


def _apply(entry: Entry, node: Node, inputs: list[Expr | None]) -> Sequence[Expr | None]:
    """Return what a translation makes of a node, after looking at the number of its inputs."""
    while inputs and inputs[-1] is None:
        inputs.pop()
    if entry.most is not None and len(inputs) > entry.most:
        node.refuse("has too many inputs", f"at most {entry.most}", str(len(inputs)))
    if len(inputs) < entry.needed or any(value is None for value in inputs[: entry.needed]):
        count = sum(value is not None for value in inputs)
        node.refuse("lacks an input", f"{entry.needed} or more", str(count))
    result = entry.translate(node, *inputs)
    return [result] if isinstance(result, Expr) else list(result)


def _position(error: PasslabError, span: Span) -> PasslabError:
    """Return an error that stands at a node, unless it stands somewhere already."""
    kind = LimitError if isinstance(error, LimitError) else ModelError
    if type(error) is kind and all(d.place for d in error.diagnostics):
        return error
    return kind(*(replace(d, place=d.place or span) for d in error.diagnostics))
