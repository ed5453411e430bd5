"""How an operator is declared: once, in one block, from which every room of passlab reads.

    @operator(
        "nn.relu", ("data",), relation=identity, pattern=OpPattern.ELEMWISE, level=1,
        example="nn.relu(%x)", edges=(...), gradient=relu_grad,
    )
    def relu(attrs, data, *, out=None):
        '''Replace negative elements by zero.'''
        return np.maximum(data, data.dtype.type(0), out=out)

The decorated function is the operator's meaning in NumPy, its docstring the operator's documentation. The name in the
module becomes the `Op`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.errors import AttrsError, Diagnostic
from passlab.ir.attrs import REQUIRED, Attrs
from passlab.ir.expr import Call, Expr, Tuple, TupleGetItem
from passlab.ir.op import Op, OpPattern, OpSpec, Precision, Relation, declare_op


def operator(
    name: str,
    inputs: Sequence[str],
    *,
    relation: Relation,
    attrs: type[Attrs] | None = None,
    pattern: OpPattern = OpPattern.OPAQUE,
    results: int | Callable[[Any], int] = 1,
    out: bool = True,
    **facts: Any,
) -> Callable[[Callable[..., Any]], Op]:
    """Declare the operator `name`; the decorated function is its NumPy kernel `kernel(attrs, *arrays, out=None)`.

    `results` is the number of results when it returns a tuple (or a function of the attributes giving it); `out=False`
    says that the kernel itself takes no `out`, and a copy is made into it. `facts` are the other fields of `OpSpec`.
    """

    def declared(kernel: Callable[..., Any]) -> Op:
        facts.setdefault("doc", inspect.getdoc(kernel) or "")
        spec = OpSpec(
            name=name, inputs=tuple(inputs), relation=relation, attrs=attrs, pattern=pattern,
            kernel=kernel if out else _with_out(kernel), **facts,
        )  # fmt: skip
        if spec.face is None:
            object.__setattr__(spec, "face", _default_face(spec, results))
        return declare_op(spec)

    return declared


def _with_out(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Give a kernel that makes its own arrays the `out` parameter."""

    def run(attrs: Any, *arrays: Any, out: Any = None) -> Any:
        made = kernel(attrs, *arrays)
        if out is None:
            return made
        for target, value in zip(out, made, strict=True) if isinstance(made, tuple) else [(out, made)]:
            np.copyto(target, value)
        return out

    run.__doc__ = kernel.__doc__
    return run


class TupleWrapper:
    """What Python code gets from an operator with several results: indexable, iterable, `.astuple()` is the call."""

    def __init__(self, tuple_value: Expr, size: int) -> None:
        self.tuple_value = tuple_value
        self.size = size

    def astuple(self) -> Expr:
        """The tuple as one expression."""
        return self.tuple_value

    def __getitem__(self, index: int) -> Expr:
        if not -self.size <= index < self.size:
            raise IndexError(f"element {index} of a tuple of {self.size}")
        return TupleGetItem(self.tuple_value, index % self.size)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Any:
        return (self[i] for i in range(self.size))

    def __repr__(self) -> str:
        return f"TupleWrapper({self.tuple_value}, {self.size})"


def as_expr(value: Any) -> Expr:
    """Return a Python value as an expression: an expression, a wrapped tuple, or a list of expressions as a tuple."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, TupleWrapper):
        return value.astuple()
    if isinstance(value, (list, tuple)):
        return Tuple([as_expr(v) for v in value])
    raise TypeError(f"an expression is needed, not {type(value).__name__}: {value!r}")


def make_call(op: Op, args: Sequence[Any], values: dict[str, Any]) -> Call:
    """Return the call of an operator on expressions with attributes by name. Raises `AttrsError` for wrong names."""
    spec = op.spec
    if spec.attrs is None:
        if values:
            raise AttrsError(Diagnostic(f"`{spec.name}` has no attribute `{next(iter(values))}`", hint="it takes no attributes"))
        return Call(op, tuple(as_expr(a) for a in args))
    return Call(op, tuple(as_expr(a) for a in args), spec.attrs(**values))


def _default_face(spec: OpSpec, results: int | Callable[[Any], int]) -> Callable[..., Any]:
    """Return the Python function of an operator: its inputs, then its attributes in declared order with their defaults."""
    kinds = inspect.Parameter
    schema = spec.attrs.schema if spec.attrs else ()
    head = [kinds(n, kinds.POSITIONAL_OR_KEYWORD) for n in spec.inputs]
    needed = [kinds(f.name, kinds.POSITIONAL_OR_KEYWORD) for f in schema if f.default is REQUIRED]
    given = [kinds(f.name, kinds.POSITIONAL_OR_KEYWORD, default=f.default) for f in schema if f.default is not REQUIRED]
    signature = inspect.Signature(head + needed + given)

    def face(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs).arguments
        call = make_call(Op.get(spec.name), [bound.pop(n) for n in spec.inputs], bound)
        count = results(call.attrs) if callable(results) else results
        return TupleWrapper(call, count) if count != 1 or callable(results) else call

    face.__name__ = face.__qualname__ = spec.name.rpartition(".")[2]
    face.__doc__ = spec.doc
    face.__signature__ = signature  # type: ignore[attr-defined]
    return face


__all__ = ["Op", "OpPattern", "Precision", "TupleWrapper", "as_expr", "make_call", "operator"]
