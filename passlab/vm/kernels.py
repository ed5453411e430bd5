"""Kernels: a primitive function turned once into a straight line of NumPy calls that writes into given arrays.

A kernel is called with its inputs and its outputs, tuples spread into their fields. A shape function's kernel answers
with the shapes, and sizes in bytes, that the primitive's results will have, by running the type relations on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.evaluate.operators import apply_operator
from passlab.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem, Var
from passlab.ir.op import Op
from passlab.ir.types import IncompleteType, TensorType, TupleType, Type, fold_tuple
from passlab.ir.walk import post_order

Array = np.ndarray[Any, Any]
Kernel = Callable[[Sequence[Array], Sequence[Array]], None]
Step = Callable[[list[Any]], None]
NOTHING = IncompleteType()  # a parameter without annotation: one array


def make_kernel(function: Function) -> Kernel:
    """Return the kernel of a primitive function, or of a shape function when it is marked as one."""
    kind = function.attrs.get("ShapeFunction")
    if kind:
        return _shape_kernel(function, by_data=kind == "data")
    return _Line(function).kernel()


class _Line:
    """A primitive's body as steps over slots: one slot for each node, the parameters first."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.slots: dict[Expr, int] = {}
        self.preset: list[Any] = []
        self.steps: list[tuple[Call | Tuple | TupleGetItem, int]] = []
        for param in function.params:
            self._slot(param)
        for node in post_order(function.body):
            if isinstance(node, (Op, Function)) or node in self.slots:
                continue
            self._node(node)

    def _slot(self, node: Expr, value: Any = None) -> int:
        self.slots[node] = len(self.preset)
        self.preset.append(value)
        return self.slots[node]

    def _node(self, node: Expr) -> None:
        if isinstance(node, Constant):
            self._slot(node, node.data)
        elif (isinstance(node, Call) and isinstance(node.op, Op)) or isinstance(node, (Tuple, TupleGetItem)):
            self.steps.append((node, self._slot(node)))
        else:
            raise RunError(Diagnostic(f"a kernel cannot hold a {type(node).__name__}", node.span))

    def kernel(self) -> Kernel:
        """Return the steps as one function."""
        body = self.function.body
        last = self.slots[body]
        outputs = [self.slots[f] for f in body.fields] if isinstance(body, Tuple) else [last]
        direct = self._direct(outputs)
        steps = [self._step(node, slot, direct.get(slot)) for node, slot in self.steps]
        preset, params = self.preset, self.function.params

        def run(inputs: Sequence[Array], results: Sequence[Array]) -> None:
            values = preset.copy()
            _spread(inputs, params, values)
            values.append(results)
            with np.errstate(all="ignore"):
                for step in steps:
                    step(values)
            _deliver([values[s] for s in outputs], results)

        return run

    def _direct(self, outputs: list[int]) -> dict[int, int]:
        """Return slot -> output for the results that an operator can write into its output itself."""
        calls = {slot for node, slot in self.steps if isinstance(node, Call)}
        spread = [s for s in outputs if s in calls]
        single = len(outputs) == len(spread) == len(set(spread))
        tensors = isinstance(self.function.body, Tuple) or not isinstance(self.function.body.checked_type_, TupleType)
        return {slot: i for i, slot in enumerate(outputs)} if single and tensors else {}

    def _step(self, node: Call | Tuple | TupleGetItem, slot: int, output: int | None) -> Step:
        if isinstance(node, TupleGetItem):
            source, index = self.slots[node.tuple_value], node.index

            def project(values: list[Any]) -> None:
                values[slot] = values[source][index]

            return project
        parts = [self.slots[a] for a in (node.args if isinstance(node, Call) else node.fields)]
        if isinstance(node, Tuple):

            def gather(values: list[Any]) -> None:
                values[slot] = tuple(values[p] for p in parts)

            return gather
        return _operator_step(node, parts, slot, output)


def _operator_step(node: Call, parts: list[int], slot: int, output: int | None) -> Step:
    op, attrs = node.op, node.attrs
    assert isinstance(op, Op)
    kernel = op.spec.raw or op.spec.kernel
    if kernel is None:
        raise RunError(Diagnostic(f"`{op.name}` cannot be run: it only has a meaning to the compiler", node.span))

    def compute(values: list[Any]) -> None:
        args = [values[p] for p in parts]
        try:
            if output is None:
                values[slot] = kernel(attrs, *args)
            else:
                values[slot] = kernel(attrs, *args, out=values[-1][output])
        except Exception:  # the slow way says what went wrong, and where
            apply_operator(op, attrs, args, node.span)
            raise

    return compute


def _spread(inputs: Sequence[Array], params: Sequence[Var], values: list[Any]) -> None:
    """Put flat inputs into the parameter slots, gathered into tuples where a parameter is one."""
    if len(inputs) == len(params) and not any(isinstance(p.type_annotation, TupleType) for p in params):
        values[: len(params)] = inputs
        return
    flat = iter(inputs)
    for slot, param in enumerate(params):
        values[slot] = fold_tuple(param.type_annotation or NOTHING, lambda _: next(flat), tuple)


def _deliver(values: Sequence[Any], results: Sequence[Array]) -> None:
    """Copy what was not written in place into the results."""
    flat: list[Any] = []
    stack = [*reversed(values)]
    while stack:
        value = stack.pop()
        if isinstance(value, tuple):
            stack.extend(reversed(value))
        else:
            flat.append(value)
    for value, result in zip(flat, results, strict=True):
        if value is not result:
            if np.shape(value) != result.shape:
                raise RunError(f"a kernel gave a result of shape {np.shape(value)} for {result.shape}")
            np.copyto(result, value, casting="unsafe")


# ---------------------------------------------------------------- shape functions
class _Concrete:
    """The reporter of a relation that runs on concrete shapes: there is nothing left to find out."""

    def assign(self, index: int, ty: Type) -> None:
        """Accept what is known."""


def _shape_kernel(function: Function, by_data: bool) -> Kernel:
    order = [n for n in post_order(function.body) if not isinstance(n, Op)]
    params = function.params

    def run(inputs: Sequence[Array], results: Sequence[Array]) -> None:
        flat = iter(inputs)
        arrays: dict[Expr, Any] = {}
        types: dict[Expr, Type] = {}
        for param in params:
            types[param], arrays[param] = _known(param.type_annotation, flat, by_data)
        for node in order:
            if node not in types:
                types[node] = _type_of(node, types, arrays)
        _write_shapes(types[function.body], results)

    return run


def _known(ty: Type | None, flat: Iterator[Array], by_data: bool) -> tuple[Type, Any]:
    """Return the concrete type of a parameter, and its value when values are given, from flat inputs."""

    def leaf(part: Type) -> tuple[Type, Any]:
        value = next(flat)
        dtype = part.dtype if isinstance(part, TensorType) else value.dtype
        return (TensorType(value.shape, dtype), value) if by_data else (TensorType(tuple(value.tolist()), dtype), None)

    def gather(parts: list[tuple[Type, Any]]) -> tuple[Type, Any]:
        return TupleType([t for t, _ in parts]), tuple(v for _, v in parts)

    known: tuple[Type, Any] = fold_tuple(ty or NOTHING, leaf, gather)
    return known


def _type_of(node: Expr, types: dict[Expr, Type], arrays: dict[Expr, Any]) -> Type:
    if isinstance(node, Constant):
        arrays[node] = node.data
        return node.tensor_type
    if isinstance(node, Tuple):
        arrays[node] = tuple(arrays.get(f) for f in node.fields)
        return TupleType([types[f] for f in node.fields])
    if isinstance(node, TupleGetItem):
        whole = types[node.tuple_value]
        assert isinstance(whole, TupleType)
        return whole.fields[node.index]
    if not (isinstance(node, Call) and isinstance(node.op, Op)):
        raise RunError(Diagnostic(f"a shape function cannot hold a {type(node).__name__}", node.span))
    spec = node.op.spec
    if spec.shape_function is not None:
        return spec.shape_function(node.attrs, *(arrays[a] for a in node.args))
    found = spec.relation([types[a] for a in node.args], node.attrs, _Concrete())
    if found is None:
        raise RunError(Diagnostic(f"the shape of `{spec.name}` could not be found from those of its inputs", node.span))
    return found


def _write_shapes(ty: Type, results: Sequence[Array]) -> None:
    """Write the shapes of the results, then their sizes in bytes."""
    tensors: list[TensorType] = []
    stack = [ty]
    while stack:
        at = stack.pop()
        if isinstance(at, TupleType):
            stack.extend(reversed(at.fields))
        elif isinstance(at, TensorType):
            tensors.append(at)
    for i, tensor in enumerate(tensors):
        results[i][...] = tensor.concrete_shape
        results[len(tensors) + i][...] = prod(tensor.concrete_shape) * numpy_dtype(tensor.dtype).itemsize


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return NumPy's dtype of a Relay dtype."""
    if name.startswith(("bfloat", "float8")):
        import ml_dtypes

        narrow: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return narrow
    return np.dtype(name)
