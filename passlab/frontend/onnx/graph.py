"""Translation of the graphs of a model, node by node.

A graph is a list of nodes in the order of computation. The bodies of loops and the branches of conditions are graphs
that also see the names of the enclosing graph; the body of a function sees its arguments only. `limits.model_nesting`
bounds the nesting of graphs and calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from passlab import limits
from passlab.errors import Diagnostic, LimitError, ModelError, PasslabError
from passlab.frontend.building import CallBuilder
from passlab.frontend.onnx.attributes import SubGraph, attributes_of
from passlab.frontend.onnx.definitions import definition
from passlab.frontend.onnx.entries import OnnxOperator, find_entry
from passlab.frontend.onnx.layers import COMPOSITE, PLAIN, RANDOM, Results, is_layer, layer_of, symbolic_types
from passlab.frontend.onnx.node import Capture, OnnxNode, SubgraphTranslator
from passlab.frontend.onnx.node_text import node_span
from passlab.frontend.onnx.origin import weight_span
from passlab.frontend.onnx.sequences import captured, is_sequence
from passlab.frontend.onnx.tensors import External, array_of
from passlab.infer import infer_expr
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Call, Constant, Expr, Function, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.span import Span
from passlab.rewriting.beta_reduction import beta_reduced
from passlab.transform import PassContext, Sequential, parse_pipeline

NORMAL = """ToGraphNormalForm, SimplifyInference, FoldScaleAxis, CanonicalizeOps, FoldConstant, SimplifyExpr,
    FoldConstant, EliminateCommonSubexpr, DeadCodeElimination"""
WRITTEN_OUT = frozenset({"GRU", "LSTM", "Loop", "RNN", "Scan"})  # operators that are programs of their own


class GraphScope:
    """The values of one graph by name (None: a missing input), and the values of the enclosing graphs.

    `capture` is applied to values of an enclosing graph, so that the body of a loop does not recompute them.
    """

    def __init__(self, around: GraphScope | None = None, capture: Capture | None = None) -> None:
        self._own: dict[str, Expr | None] = {}
        self._around = around
        self._capture = capture
        self._makers: dict[str, Callable[[], Expr]] = {}
        self._made: WeakValueDictionary[str, Expr] = WeakValueDictionary()

    def add_weight(self, name: str, is_apart: bool, make: Callable[[], Expr]) -> None:
        """Add a weight. One from another file is read where it is used, and again after its last user is gone."""
        if is_apart:
            self._makers[name] = make
            self._own[name] = None
        else:
            self._own[name] = make()

    def _value(self, name: str) -> Expr | None:
        """Return the value of a name of this graph."""
        if name not in self._makers:
            return self._own[name]
        value = self._made.get(name)
        if value is None:
            value = self._made[name] = self._makers[name]()
        return value

    def __setitem__(self, name: str, value: Expr | None) -> None:
        self._own[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self._own

    def own(self, name: str) -> Expr | None:
        """Return the value of a name in this graph alone, None if it has none."""
        return self._value(name) if name in self._own else None

    def __getitem__(self, name: str) -> Expr | None:
        inner_scopes: list[GraphScope] = []
        scope = self
        while name not in scope._own:
            if scope._around is None:
                raise KeyError(name)
            inner_scopes.append(scope)
            scope = scope._around
        value = scope._value(name)
        # From the outermost graph inwards: each loop captures the variable of the loop around it.
        for inner in reversed(inner_scopes):
            value = captured(value, inner._capture) if inner._capture and value is not None else value
        return value


class GraphContext:
    """What the nodes of a graph share: opset versions by domain, attributes of the call, nesting depth, and a name.

    Raises `LimitError` beyond `limits.model_nesting`.
    """

    def __init__(self, opsets: Mapping[str, int], attributes: Mapping[str, Any], depth: int, name: str) -> None:
        limits.check("model_nesting", depth, "the model, in graphs inside graphs,")
        self.opsets = opsets
        self.attributes = attributes
        self.depth = depth
        self.name = name


class Translator:
    """Translates the graphs of one model. `functions` has those that the model defines, by domain and name."""

    def __init__(self, functions: Mapping[tuple[str, str], Any], external: External | None) -> None:
        self.builder = CallBuilder()
        self._functions = functions
        self._external = external
        self._count = 0
        self.stated_ranks: Mapping[str, int] = {}  # that the model states for its tensors, by name

    # ------------------------------------------------------------ graphs
    def graph(self, proto: Any, scope: GraphScope, context: GraphContext) -> list[Expr]:
        """Return the outputs of a graph whose inputs are in `scope`."""
        for tensor in proto.initializer:
            if tensor.name not in scope:
                scope.add_weight(tensor.name, tensor.data_location == 1, partial(self.initializer, tensor))
        if proto.sparse_initializer:
            raise ModelError(Diagnostic("sparse initializers are not supported", hint="store them as dense tensors"))
        self.nodes(proto.node, scope, context)
        return [self._output(scope, output.name, context) for output in proto.output]

    def initializer(self, tensor: Any) -> Expr:
        """Return a tensor of the model as a constant."""
        array = array_of(tensor, self._external)
        return self.builder.finish(Constant(array, weight_span(tensor.name, array.dtype.name, array.shape)))

    # recurses: at most limits.model_nesting levels, and over at most limits.model_nodes nodes
    def nodes(self, nodes: Iterable[Any], scope: GraphScope, context: GraphContext) -> None:
        """Translate nodes in order, and store their results in `scope`."""
        outer = self.builder.span
        node_list = list(nodes)
        for node, name in zip(node_list, node_names(node_list, context.name), strict=True):
            self.builder.span = span = node_span(node, name)
            # Counted after expansion: functions that call functions may grow exponentially.
            self._count += 1
            limits.check("model_nodes", self._count, "the model, with its functions and loops expanded,")
            try:
                self.node(node, name, scope, context)
            except PasslabError as error:
                raise _with_location(error, span) from error
            except (ValueError, TypeError, IndexError, ArithmeticError, MemoryError) as error:
                message = f"{node.op_type} `{name}` has invalid inputs or attributes"
                raise ModelError(Diagnostic(message, span, found=str(error))) from error
        self.builder.span = outer  # the nodes inside may have set another

    def _output(self, scope: GraphScope, name: str, context: GraphContext) -> Expr:
        try:
            value = scope[name]
        except KeyError:
            value = None
        if value is None:
            where = f" of `{context.name}`" if context.name else ""
            raise ModelError(Diagnostic(f"no node produces the output `{name}`{where}"))
        return value

    # ------------------------------------------------------------ one node
    def node(self, proto: Any, name: str, scope: GraphScope, context: GraphContext) -> None:
        """Translate one node, and store its results in `scope`."""
        inputs = [self._input(proto, name, scope, value) for value in proto.input]
        attributes, problems = attributes_of(proto.attribute, context.attributes, self._external)
        domain = plain_domain(proto.domain)
        local = self._functions.get((domain, proto.op_type))
        opset = context.opsets.get(domain, 1)
        # A function of the model comes before ONNX's operator of that name.
        entry = None if local is not None else find_entry(proto.op_type, domain, opset)
        body = local if local is not None or entry is not None else definition(proto, domain, opset, inputs)

        def translate(builder: CallBuilder, values: list[Expr | None], capture: Capture | None = None) -> Results:
            outer, self.builder = self.builder, builder
            try:
                if entry is None:
                    return self._expand(body, values, attributes, context, name)
                node = OnnxNode(proto.op_type, name, entry[1], proto.output, attributes, problems, builder)
                node.subgraph = self._subgraphs(GraphScope(scope, capture), context, name)
                node.stated_ranks = self.stated_ranks
                return _apply(entry[0], node, values)
            finally:
                self.builder = outer

        kind = f"{domain or ('onnx' if local is None else 'function')}.{proto.op_type}"
        keep = self.builder.config.get("composites", False) and proto.op_type not in PLAIN
        keep = keep and not any(map(is_sequence, inputs))

        def layer(expected: Results | None) -> Results | None:
            version = opset if local is None else None
            return layer_of(self.builder, kind, proto, version, attributes, inputs, translate, expected)

        # What is a program of its own is translated as one; other nodes may turn out to be a single call.
        written_out = entry is None or entry[0].name in WRITTEN_OUT | RANDOM
        results = layer(None) if keep and written_out else None
        if results is None:
            first = len(self.builder.made)
            results = translate(self.builder, list(inputs))
            if keep and not written_out and is_layer(inputs, results, self.builder.made[first:], self.builder):
                results = layer(results) or results
        self._bind_outputs(proto, results, scope)

    def _input(self, proto: Any, name: str, scope: GraphScope, value: str) -> Expr | None:
        try:
            return scope[value] if value else None
        except KeyError:
            hint = "the nodes of a graph must be in the order of computation"
            message = f"{proto.op_type} `{name}` reads `{value}`, which nothing before it produces"
            raise ModelError(Diagnostic(message, self.builder.span, hint=hint)) from None

    def _subgraphs(self, scope: GraphScope, context: GraphContext, name: str) -> SubgraphTranslator:
        """Return a function that translates a graph inside a node; its inputs are passed by position."""

        def subgraph(graph: SubGraph, inputs: Sequence[Expr], capture: Capture | None = None) -> list[Expr]:
            inner = GraphScope(scope, capture)
            names = [value.name for value in graph.proto.input]
            if len(names) != len(inputs):
                message = f"`{name}` gives {len(inputs)} values to a graph of {len(names)} inputs"
                raise ModelError(Diagnostic(message, self.builder.span))
            for key, value in zip(names, inputs, strict=True):
                inner[key] = value
            return self.graph(
                graph.proto, inner, GraphContext(context.opsets, context.attributes, context.depth + 1, name)
            )

        return subgraph

    def _bind_outputs(self, proto: Any, results: Sequence[Expr | None], scope: GraphScope) -> None:
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
        self, body: Any, inputs: Sequence[Expr | None], attributes: Mapping[str, Any], context: GraphContext, name: str
    ) -> list[Expr | None]:
        """Return the outputs of a function applied to `inputs`."""
        scope = GraphScope()  # a function does not see the names around its call
        for index, parameter in enumerate(body.input):
            scope[parameter] = inputs[index] if index < len(inputs) else None
        defaults, _ = attributes_of(body.attribute_proto, {}, self._external)
        opsets = {plain_domain(entry.domain): entry.version for entry in body.opset_import}
        inner = GraphContext({**context.opsets, **opsets}, {**defaults, **attributes}, context.depth + 1, name)
        self.nodes(body.node, scope, inner)
        return [scope.own(output) for output in body.output]


def plain_domain(domain: str) -> str:
    """Return the name of a domain, "" for ONNX's own, which has two names."""
    return "" if domain == "ai.onnx" else domain


def node_names(nodes: Iterable[Any], inside: str = "") -> list[str]:
    """Return the names of nodes; an unnamed one gets the name of its operator and a number."""
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


def _apply(entry: OnnxOperator, node: OnnxNode, inputs: list[Expr | None]) -> Sequence[Expr | None]:
    """Return the results of a translation, after checking the number of inputs."""
    # Trailing empty names mean the same as no inputs.
    while inputs and inputs[-1] is None:
        inputs.pop()
    if entry.most is not None and len(inputs) > entry.most:
        node.refuse("has too many inputs", f"at most {entry.most}", str(len(inputs)))
    if len(inputs) < entry.needed or any(value is None for value in inputs[: entry.needed]):
        count = sum(value is not None for value in inputs)
        node.refuse("lacks an input", f"{entry.needed} or more", str(count))
    result = entry.translate(node, *inputs)
    return [result] if isinstance(result, Expr) else list(result)


def _with_location(error: PasslabError, span: Span) -> PasslabError:
    """Return an error with the location of a node, unless it has a location already."""
    kind = LimitError if isinstance(error, LimitError) else ModelError
    if type(error) is kind and all(d.place for d in error.diagnostics):
        return error
    return kind(*(replace(d, place=d.place or span) for d in error.diagnostics))


def normal(function: Function) -> Function:
    """Return a function after passes that undo, or do once more, what others do to the body of a layer."""
    with PassContext(opt_level=4):
        mod = Sequential(parse_pipeline(NORMAL).passes)(IRModule.from_expr(function))
    result = mod["main"]
    assert isinstance(result, Function)
    return result


def is_body_of(node: Any, opsets: Mapping[str, int], function: Function, arguments: Sequence[Expr]) -> bool:
    """Whether a composite function computes what this node does: whether importing the node makes the same body.

    `opsets` has the version of each domain. `arguments` belong to a call, of which constants are values that the
    importer knows. Kernels in the body, and other calls of function literals, count as what they compute. Both bodies
    are also compared after passes, since passes may have been at work on this one.
    """
    own = beta_reduced(function.without_attr(*function.attrs.keys()))
    for is_transposed in (True, False):
        translator = Translator({}, None)
        translator.builder.config.update({"use_nt_batch_matmul": is_transposed, "composites": True})
        scope = GraphScope()
        given = [name for name in node.input if name]
        for name, ty, argument in zip(given, symbolic_types(function), arguments, strict=True):
            if isinstance(argument, Constant):
                scope[name] = translator.builder.finish(argument)
            else:
                variable = Var("x", ty)
                translator.builder.add_input(variable)
                scope[name] = variable
        try:
            translator.node(node, node.op_type, scope, GraphContext(opsets, {}, 0, ""))
        except PasslabError:
            continue
        made = scope.own(next(name for name in node.output if name))
        call = made.tuple_value if isinstance(made, TupleGetItem) else made
        if isinstance(call, Call) and isinstance(call.op, Function) and COMPOSITE in call.op.attrs:
            other = beta_reduced(call.op.without_attr(*call.op.attrs.keys()))
            if structural_equal(infer_expr(own), infer_expr(other)) or structural_equal(normal(own), normal(other)):
                return True
    return False
