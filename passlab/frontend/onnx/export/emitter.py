"""Writes the nodes of a graph in program order.

Every expression becomes the name of a tensor, or a list of names for a tuple. Functions are inlined at their calls; a
tail-recursive function becomes a `Loop`, a branch an `If`. The walk over a body is iterative; subgraphs nest at most
`DEPTH` levels, since the format of ONNX's files nests no deeper.

The file begins with tail-recursive functions, exported as `Loop`.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from passlab.errors import Diagnostic
from passlab.frontend.onnx.entries import schema_of
from passlab.frontend.onnx.export.names import Names, NoCounterpartError, element_type, flat, refill, tensor_types
from passlab.frontend.onnx.export.table import REASONS, writers
from passlab.frontend.onnx.graph import is_body_of
from passlab.frontend.onnx.layers import COMPOSITE, RANDOM, is_unchanged, node_of
from passlab.frontend.onnx.origin import weight_name
from passlab.frontend.onnx.package import onnx
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op, is_op_call
from passlab.ir.span import Span
from passlab.ir.types import TensorType, TupleType, fold_tuple
from passlab.op.dtypes import array_dtype


class TailLoop:
    """A function that ends in an `if` with a recursive call in one branch and a result in the other."""

    def __init__(self, function: Function, branch: If, step: Call, repeats_if: bool) -> None:
        self.function = function
        self.branch = branch
        self.step = step
        self.repeats_if = repeats_if

    @staticmethod
    def of(function: Function, callee: Expr) -> TailLoop | None:
        """Return a function as a loop, or None if it is not tail-recursive; `callee` is how its body calls it."""
        branch = _after_lets(function.body)
        if not isinstance(branch, If):
            return None
        for repeats_if, body in ((True, branch.true_branch), (False, branch.false_branch)):
            step = _after_lets(body)
            if isinstance(step, Call) and step.op == callee:
                return TailLoop(function, branch, step, repeats_if)
        return None

    def _condition(self, e: GraphEmitter) -> str:
        """Emit the condition for another iteration, in terms of the current parameters."""
        name: str = e.value(_emit_lets(e, self.function.body, self.branch.cond))
        return name if self.repeats_if else e.node("Not", [name])

    def write(self, e: GraphEmitter, args: list[Names], label: str) -> Names:
        """Emit the loop under a name, with `args` as initial values, and return the function's result."""
        params = self.function.params
        if any(arg is None for arg in args):
            e.refuse("a loop carries a function")
        with e.scope():  # the condition before the first iteration
            first = self._condition(e)
        shapes = list(args)
        states = flat(shapes)
        helper = onnx().helper
        with e.subgraph() as nodes:
            inner = [e.fresh("state") for _ in states]
            body = self.branch.true_branch if self.repeats_if else self.branch.false_branch
            with e.scope():  # expressions that depend on the parameters are emitted again for other values
                for param, names in zip(params, refill(shapes, iter(inner)), strict=True):
                    e.values[param] = names
                following = [_next_argument(e, self.function.body, body, arg) for arg in self.step.args]
            with e.scope():
                for param, names in zip(params, following, strict=True):
                    e.values[param] = names
                next_condition = self._condition(e)  # a Loop of ONNX tests at the end of its body
            inputs = [helper.make_tensor_value_info(e.fresh("round"), element_type("int64"), [])]
            inputs.append(helper.make_tensor_value_info(e.fresh("again"), element_type("bool"), []))
            kinds = [leaf for param in params for leaf in tensor_types(param.checked_type)]
            inputs += [
                helper.make_tensor_value_info(name, element_type(ty.dtype), [None] * len(ty.shape))
                for name, ty in zip(inner, kinds, strict=True)
            ]
            graph = e.graph(nodes, inputs, [next_condition, *flat(following)], "body")
        # "": no limit of iterations.
        with e.labelled(label):
            results = e.node_with(max(len(states), 1), "Loop", ["", first, *states], body=graph)
        last = refill(shapes, iter(results))
        with e.scope():
            for param, names in zip(params, last, strict=True):
                e.values[param] = names
            rest = self.branch.false_branch if self.repeats_if else self.branch.true_branch
            return e.value(_emit_lets(e, self.function.body, rest))


def _after_lets(body: Expr) -> Expr:
    while isinstance(body, Let):
        body = body.body
    return body


def _emit_lets(e: GraphEmitter, body: Expr, tail: Expr) -> Expr:
    """Emit the lets before the end of a body; return `tail`, which is emitted in place of that end."""
    while isinstance(body, Let):
        if isinstance(body.value, Function):
            e.functions[body.var] = body.value
        else:
            e.values[body.var] = e.value(body.value)
        body = body.body
    return tail


def _next_argument(e: GraphEmitter, body: Expr, branch: Expr, arg: Expr) -> Names:
    """Return the names of an argument of the next iteration, after the lets of the function and of the branch."""
    _emit_lets(e, body, arg)
    return e.value(_emit_lets(e, branch, arg))


# The element types of ONNX's nodes: the dtypes they accept and return, according to ONNX's schemas.

_SINGLE = {"tensor(bool)": "bool", "tensor(int64)": "int64", "tensor(uint8)": "uint8"}  # fixed result types


def result_dtypes(
    op_type: str, opset: int, dtypes: Sequence[str | None], results: int, domain: str = ""
) -> list[str | None]:
    """Return the dtypes of the results of a node, None for one that the dtypes of its inputs do not determine.

    A dtype of None is unknown. Raises `NoCounterpartError` if ONNX's operator does not accept the dtypes.
    """
    schema = schema_of(op_type, domain, opset) if domain else onnx().defs.get_schema(op_type, opset, "")
    if schema is None:
        return [None] * results  # onnxruntime's own operators
    bound: dict[str, str] = {}
    for index, dtype in enumerate(dtypes):
        formal = schema.inputs[min(index, len(schema.inputs) - 1)] if schema.inputs else None
        if dtype is None or formal is None or not formal.is_homogeneous:
            continue
        if _type_string(dtype) not in formal.types:
            raise NoCounterpartError(f"ONNX's {op_type} takes no elements of {dtype}")
        first = bound.setdefault(formal.type_str, dtype)
        if first != dtype and formal.type_str.isalnum():  # a type variable: one type for all that share it
            raise NoCounterpartError(f"ONNX's {op_type} takes elements of one dtype, not {first} and {dtype}")
    formals = [schema.outputs[min(index, len(schema.outputs) - 1)] for index in range(results)]
    return [
        (bound.get(formal.type_str) or _SINGLE.get("".join(formal.types))) if formal.is_homogeneous else None
        for formal in formals
    ]


@lru_cache(maxsize=64)
def _type_string(dtype: str) -> str:
    """Return a dtype as schemas write it: `tensor(float)` for float32."""
    return f"tensor({onnx().TensorProto.DataType.Name(element_type(dtype)).lower()})"


Array = np.ndarray[Any, Any]
DEPTH = 24  # levels of nested graphs and functions


class GraphEmitter:
    """The graph that is being written, and the names of the values of expressions."""

    def __init__(self, mod: IRModule, opset: int, draws: bool = True) -> None:
        self.mod = mod
        self._draws = draws  # whether nodes may draw random numbers, other ones in each run
        self.opset = opset
        self.opsets = {"": opset}  # of each domain that nodes are of
        self.problems: dict[str, Diagnostic] = {}
        self.dtypes: dict[str, str] = {}
        self.shapes: dict[str, tuple[Any, ...]] = {}
        self.nodes: list[Any] = []
        self.weights: dict[str, Array] = {}  # the arrays of constants: exported, they become initializers
        self.values: ChainMap[Expr, Names] = ChainMap()
        self.functions: ChainMap[Expr, Function] = ChainMap()
        self._used: dict[str, int] = {}
        self._constants: dict[Any, str] = {}
        self._keyed: list[Any] = []  # keeps the values alive whose ids are keys: the id of a freed one may be reused
        self._transposed: dict[str, tuple[str, Sequence[int]]] = {}
        self._reshaped: dict[str, tuple[str, tuple[Any, ...]]] = {}
        self._depth = 0
        self._label = ""

    # ------------------------------------------------------------ names and nodes
    def fresh(self, hint: str) -> str:
        """Return an unused name: the hint, with a number if it is taken."""
        count = self._used.get(hint, 0)
        self._used[hint] = count + 1
        return hint if count == 0 else self._numbered(hint, count)

    def reserve(self, name: str) -> None:
        """Keep a name for an output, so that no node and no tensor gets it."""
        self._used.setdefault(name, 1)

    def rename(self, names: Mapping[str, str]) -> None:
        """Know tensors by their new names."""
        self.shapes.update({new: self.shapes[old] for old, new in names.items() if old in self.shapes})
        self.dtypes.update({new: self.dtypes[old] for old, new in names.items() if old in self.dtypes})

    def _numbered(self, hint: str, count: int) -> str:
        """Return the hint with the first number from `count` on that makes it unique."""
        while f"{hint}_{count}" in self._used:
            count += 1
        self._used[hint] = count + 1
        self._used[f"{hint}_{count}"] = 1
        return f"{hint}_{count}"

    def node(self, op_type: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Emit a node with one result and return its name. Raises what `node_with` raises."""
        return self.node_with(1, op_type, inputs, **attributes)[0]

    def node_with(self, outputs: int, op_type: str, inputs: Sequence[str], **attributes: Any) -> list[str]:
        """Emit a node with so many results and return their names.

        Raises `NoCounterpartError` if ONNX's operator does not accept elements of these dtypes.
        """
        attributes = {key: value for key, value in attributes.items() if value is not None}
        return self.emit(onnx().helper.make_node(op_type, list(inputs), [], **attributes), outputs)

    def emit(self, node: Any, outputs: int) -> list[str]:
        """Emit a node that has its inputs and attributes; return the names of its results. Raises as `node_with`."""
        opset = self.opsets.get(node.domain, 1)
        known = [self.dtypes.get(name) for name in node.input]
        dtypes = result_dtypes(node.op_type, opset, known, outputs, node.domain)
        node.name = self.fresh(self._label or node.op_type)
        results = [self.fresh(f"{node.name}_out" if i == 0 else f"{node.name}_out{i}") for i in range(outputs)]
        self.dtypes.update({name: dtype for name, dtype in zip(results, dtypes, strict=True) if dtype is not None})
        node.output[:] = results
        self.nodes.append(node)
        return results

    def constant(self, value: Any, dtype: str | None = None, hint: str = "const") -> str:
        """Return the name of a constant tensor; equal small ones share a name."""
        array = np.asarray(value) if dtype is None else np.asarray(value).astype(array_dtype(dtype))
        # Large arrays are known by identity: hashing their bytes would take too long.
        key = (array.dtype.name, array.shape, array.tobytes()) if array.size <= 64 else (array.dtype.name, id(value))
        if key not in self._constants:
            name = self.fresh(hint)
            self.weights[name] = array
            self._constants[key] = name
            self._keyed.append(value)
            self.dtypes[name] = "bool" if array.dtype.kind == "b" else array.dtype.name
        return self._constants[key]

    def ints(self, *values: int) -> str:
        """Return the name of a constant vector of int64."""
        return self.constant(np.array(values, "int64"), hint="shape")

    def refuse(self, reason: str) -> NoReturn:
        """Report that ONNX cannot express the current construct. Raises `NoCounterpartError`."""
        raise NoCounterpartError(reason)

    @staticmethod
    def type(expr: Expr) -> TensorType:
        """Return the type of a tensor."""
        ty = expr.checked_type
        if not isinstance(ty, TensorType):
            raise NoCounterpartError(f"a tensor is needed, not {ty}")
        return ty

    def rank(self, expr: Expr) -> int:
        """Return the rank of a tensor."""
        return len(self.type(expr).shape)

    def shape(self, expr: Expr) -> tuple[int, ...]:
        """Return the shape of a tensor, which must be known."""
        ty = self.type(expr)
        if ty.dynamic:
            self.refuse(f"the shape must be known, not {ty}")
        return ty.concrete_shape

    def cast(self, name: str, dtype: str) -> str:
        """Emit a cast and return its name."""
        if self.dtypes.get(name) == dtype:
            return name
        # values beyond the range of an 8-bit float become NaN or infinity, as in Relay
        saturate = 0 if dtype.startswith("float8") else None
        result: str = self.node("Cast", [name], to=element_type(dtype), saturate=saturate)
        self.dtypes[result] = dtype
        return result

    def transpose(self, name: str, perm: Sequence[int]) -> str:
        """Return a tensor with its axes permuted: several transposes are merged, inverse ones cancel."""
        source, order = self._transposed.get(name, (name, range(len(perm))))
        merged = [order[axis] for axis in perm]
        if merged == list(range(len(merged))):
            return source
        result: str = self.node("Transpose", [source], perm=merged)
        self._transposed[result] = (source, merged)
        return result

    def reshape(self, name: str, shape: Sequence[int], before: Sequence[Any]) -> str:
        """Return a tensor reshaped to a known shape; `before` is its own. Several reshapes are merged into one."""
        source, first = self._reshaped.get(name, (name, tuple(before)))
        if first == tuple(shape):
            return source
        zeros = 1 if 0 in shape else None
        result: str = self.node("Reshape", [source, self.ints(*shape)], allowzero=zeros)
        self._reshaped[result] = (source, first)
        return result

    def before_reshape(self, name: str) -> tuple[str, tuple[Any, ...]]:
        """Return the operand of a reshape with its shape; for any other tensor, the tensor and the shape ()."""
        return self._reshaped.get(name, (name, ()))

    # ------------------------------------------------------------ expressions
    # recurses: at most DEPTH levels of functions and graphs, see `deeper`
    def value(self, root: Expr) -> Names:
        """Return the names of an expression, after emitting all of it."""
        stack: list[tuple[Expr, int]] = [(root, 0)]
        while stack:
            node, visits = stack.pop()
            if node in self.values or node in self.functions:
                continue
            if isinstance(node, Let):
                self._let(node, visits, stack)
            elif visits:
                self._record(node)
            else:
                stack.append((node, 1))
                # Reversed, so that the first operand is emitted first.
                stack.extend((child, 0) for child in reversed(_operands(node)))
        if root not in self.values:
            self.refuse("a model has no functions as values")
        return self.values[root]

    def _let(self, node: Let, visits: int, stack: list[tuple[Expr, int]]) -> None:
        if isinstance(node.value, Function) or node.value in self.functions:
            function = node.value if isinstance(node.value, Function) else self.functions[node.value]
            self.functions[node.var] = function
        elif visits == 0:
            stack += [(node, 1), (node.value, 0)]
            return
        else:
            self.values[node.var] = self.values[node.value]
        if node.body in self.values:
            self.values[node] = self.values[node.body]
        elif visits < 2:
            stack += [(node, 2), (node.body, 0)]
        elif node.body in self.functions:
            self.functions[node] = self.functions[node.body]

    def _record(self, node: Expr) -> None:
        """Record the names of one node whose operands have been emitted."""
        if isinstance(node, Function):
            self.functions[node] = node
            return
        try:
            self.values[node] = names = self._emit(node)
            if isinstance(names, str) and isinstance(node.checked_type, TensorType):
                self.dtypes[names] = node.checked_type.dtype
                self.shapes[names] = node.checked_type.shape
        except NoCounterpartError as error:
            what = node.op.name if is_op_call(node) else type(node).__name__
            text = f"`{what}`: {error}"
            self.problems.setdefault(text, Diagnostic(text, node.span))
            # Names for a construct without an ONNX counterpart, so that the rest is checked as well.
            self.values[node] = fold_tuple(node.checked_type, lambda _: self.fresh("missing"), list)

    def _emit(self, node: Expr) -> Names:
        if isinstance(node, Constant):
            return self.constant(node.data, hint=weight_name(node.span) or "const")
        if isinstance(node, Tuple):
            if not all(field in self.values for field in node.fields):
                self.refuse("a model has no functions as values")
            return [self.values[field] for field in node.fields]
        if isinstance(node, TupleGetItem):
            if node.tuple_value not in self.values:
                self.refuse("a model has no functions as values")
            return self.values[node.tuple_value][node.index]
        if isinstance(node, If):
            return self._branch(node)
        if isinstance(node, Call):
            return self._call(node)
        hint = f"the variable %{node.name_hint} has no value" if isinstance(node, Var) else None
        return self.refuse(hint or "models have tensors, tuples, branches and loops only")

    def _call(self, call: Call) -> Names:
        args = [self.values.get(arg) for arg in call.args]
        if isinstance(call.op, Op):
            writer = writers().get(call.op.name)
            if writer is None:
                self.refuse(REASONS.get(call.op.name, "ONNX has no operator for it"))
            if any(arg is None for arg in args):
                self.refuse("it takes a function")
            with self.labelled(label_of(call)):
                return self._cast_results(writer(self, call, *args), call)
        return self._apply(call, args)

    def _cast_results(self, names: Names, call: Call) -> Names:
        """Return the results of a call, cast to the dtypes of its type where they differ."""
        kinds = tensor_types(call.checked_type)
        cast = [
            self.cast(name, ty.dtype) if name in self.dtypes else name
            for name, ty in zip(flat(names), kinds, strict=True)
        ]
        return refill(names, iter(cast))

    def _apply(self, call: Call, args: list[Names]) -> Names:
        """Write the body of a function at its call."""
        callee = call.op
        function = self.mod[callee] if isinstance(callee, GlobalVar) else self.functions.get(callee)
        if not isinstance(function, Function):
            self.refuse("it calls a function that is not known here")
        if COMPOSITE in function.attrs and (names := self._layer(call, function, args)) is not None:
            return names
        with self.deeper(), self.scope():
            for param, arg, expr in zip(function.params, args, call.args, strict=True):
                if arg is not None:
                    self.values[param] = arg
                else:
                    self.functions[param] = self.functions[expr]
            loop = TailLoop.of(function, callee)
            return self.value(function.body) if loop is None else loop.write(self, args, label_of(call))

    def _layer(self, call: Call, function: Function, args: list[Names]) -> Names | None:
        """Emit the node that a composite function stands for; return None where its body is to be written."""
        if not all(isinstance(arg, str) for arg in args):
            return None
        found = node_of(function, args, self.opset)
        if found is None or self.opsets.get(found[0].domain, found[1]) != found[1]:
            return None
        node, version = found
        if node.op_type in RANDOM and not self._draws:
            return None
        opsets = {**self.opsets, node.domain: version}
        if not is_unchanged(function, node, version) and not is_body_of(node, opsets, function, call.args):
            return None
        if not node.domain and not fits_definition(node, self.opset, function, self.weights):
            return None
        self.opsets[node.domain] = version
        used = [at for at, output in enumerate(node.output) if output]
        try:
            with self.labelled(label_of(call)):
                results = self.emit(node, len(node.output))
        except NoCounterpartError:  # a newer definition may take other elements
            return None
        return [results[at] for at in used] if isinstance(call.checked_type, TupleType) else results[used[0]]

    # ------------------------------------------------------------ graphs inside graphs
    @contextmanager
    def deeper(self) -> Iterator[None]:
        """Limit the nesting of functions and graphs. Raises `NoCounterpartError` beyond `DEPTH`."""
        if self._depth >= DEPTH:
            self.refuse(f"functions or branches nest more than {DEPTH} levels deep")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    @contextmanager
    def labelled(self, label: str) -> Iterator[None]:
        """Give the nodes that are emitted inside a name; with "", each is named after its operator."""
        self._label = label
        try:
            yield
        finally:
            self._label = ""

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Open a scope: names recorded inside are dropped at its end."""
        values, functions = self.values, self.functions
        self.values, self.functions = values.new_child(), functions.new_child()
        try:
            yield
        finally:
            self.values, self.functions = values, functions

    @contextmanager
    def subgraph(self) -> Iterator[list[Any]]:
        """Emit nodes into a separate list, for a subgraph."""
        outer = self.nodes
        self.nodes = []
        try:
            with self.deeper(), self.scope():
                yield self.nodes
        finally:
            self.nodes = outer

    def graph(self, nodes: list[Any], inputs: Sequence[Any], outputs: Sequence[str], hint: str) -> Any:
        """Return nodes as a graph for an attribute; its outputs have unique names."""
        helper = onnx().helper
        results = []
        own = {name for node in nodes for name in node.output}
        for name in outputs:
            if name in own:
                own.remove(name)
                results.append(helper.make_empty_tensor_value_info(name))
                continue
            result = self.fresh(f"{hint}_result")
            nodes.append(helper.make_node("Identity", [name], [result], name=self.fresh("Identity")))
            results.append(helper.make_empty_tensor_value_info(result))
        return helper.make_graph(nodes, self.fresh(hint), list(inputs), results)

    def _branch(self, node: If) -> Names:
        condition = self.values[node.cond]
        graphs, shapes = [], []
        for hint, branch in (("then", node.true_branch), ("else", node.false_branch)):
            with self.subgraph() as nodes:
                names = self.value(branch)
                shapes.append(names)
                graphs.append(self.graph(nodes, (), flat(names), hint))
        count = len(flat(shapes[0]))
        with self.labelled(label_of(node)):
            results = self.node_with(count, "If", [condition], then_branch=graphs[0], else_branch=graphs[1])
        return refill(shapes[0], iter(results))


def fits_definition(node: Any, opset: int, function: Function, weights: Mapping[str, np.ndarray[Any, Any]]) -> bool:
    """Whether ONNX infers the sizes for a node that the results of its function have; also where it infers none.

    `weights` has the values of inputs that are known. Where ONNX's inference reads a default as another number than its
    definition says, the node gets the number.
    """
    package, schema = onnx(), schema_of(node.op_type, "", opset)
    given = [name for name in node.input if name]
    params = dict(zip(given, (tensor_types(param.checked_type)[0] for param in function.params), strict=True))
    results = dict(zip((name for name in node.output if name), tensor_types(function.body.checked_type), strict=True))
    tensor = package.helper.make_tensor_type_proto
    types = {
        name: tensor(element_type(ty.dtype), [dim if isinstance(dim, int) else None for dim in ty.shape])
        for name, ty in params.items()
    }
    known = {name: package.numpy_helper.from_array(weights[name], name) for name in given if name in weights}

    def agrees() -> bool:
        try:
            found = package.shape_inference.infer_node_outputs(schema, node, types, known)
        except (package.shape_inference.InferenceError, package.checker.ValidationError):
            return (
                True  # elements that `node_with` refuses, or a definition by a function that ONNX cannot infer itself
            )
        return all(
            dim.dim_value == size
            for name, ty in results.items()
            if name in found
            for dim, size in zip(found[name].tensor_type.shape.dim, ty.shape, strict=False)
            if dim.HasField("dim_value") and isinstance(size, int)
        )

    if agrees():
        return True
    present = {attribute.name for attribute in node.attribute}
    defaults = [attribute.default_value for name, attribute in schema.attributes.items() if name not in present]
    node.attribute.extend(default for default in defaults if default.name)
    return agrees()


def _operands(node: Expr) -> list[Expr]:
    """Return the operands to emit before a node; branches and function bodies are emitted separately."""
    if isinstance(node, Call):
        callee = [] if isinstance(node.op, (Op, GlobalVar)) else [node.op]
        return [*callee, *node.args]
    if isinstance(node, Tuple):
        return list(node.fields)
    if isinstance(node, TupleGetItem):
        return [node.tuple_value]
    if isinstance(node, If):
        return [node.cond]
    return []


def op_name(call: Call) -> str:
    """Return the name of the operator of a call."""
    assert isinstance(call.op, Op)
    return call.op.name


def label_of(expr: Expr) -> str:
    """Return the name of the ONNX node that an expression was imported from, or "" for others.

    The importer gives such an expression its own source: the name of the node, and the node as one line of text.
    """
    span = expr.span
    text = span.source.text if isinstance(span, Span) else None
    if text is None or " = " not in text or "\n" in text or not isinstance(span, Span):
        return ""
    return span.source.name or ""
