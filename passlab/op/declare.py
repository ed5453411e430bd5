"""The declaration of an operator: one block, which every package of passlab reads.

    @operator(
        "nn.relu", ("data",), relation=identity, pattern=OpPattern.ELEMWISE, level=1,
        edge_cases=("nn.relu(%x: (2, 3))", ...), gradient=relu_grad,
    )
    def relu(attrs, data, *, out=None):
        '''Replace negative elements by zero.'''
        return np.maximum(data, data.dtype.type(0), out=out)

The decorated function defines the operator in NumPy; its docstring documents the operator. The decorated name becomes
the `Op`. A declaration says what differs from the defaults of `OpSpec` and `operator`; the first of its edge cases is
its example.

The file begins with copies of arrays whose axes have another order in memory, tile by tile.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import itertools
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial, update_wrapper
from types import CodeType
from typing import Any, TypeAlias

import numpy as np

from passlab.arguments import checked
from passlab.errors import AttrsError, Diagnostic, NodeTypeError, PasslabError, did_you_mean
from passlab.ir.attrs import REQUIRED, Attrs
from passlab.ir.expr import Constant, Expr, Tuple, TupleGetItem, Var
from passlab.ir.new_nodes import new_op_call
from passlab.ir.node_errors import not_a_node_error
from passlab.ir.op import Op, OpCall, OpPattern, OpSpec, Precision, Relation, declare_op, loaded_op
from passlab.ir.tuple_wrapper import TupleWrapper
from passlab.op.dtypes import Array
from passlab.op.edge_cases import example, relation_defaults

_TILE = 256  # elements along both axes
_PADDING = 16  # elements between the rows of a tile: rows a power of two apart would share the same few cache lines
_MIN_LENGTH = 192  # elements along both axes; shorter copies gain nothing
_MIN_BYTES = 1 << 20  # smaller arrays stay in cache anyway


def copy_into(target: Any, source: Any) -> None:
    """Copy `source` into `target`, of the same shape."""
    axis = _transposed_axis(target, source)
    if axis is None:
        np.copyto(target, source)
        return
    tile = np.empty((_TILE, _TILE + _PADDING), source.dtype)
    ranges = [range(n) if a not in (axis, source.ndim - 1) else (slice(None),) for a, n in enumerate(source.shape)]
    for position in itertools.product(*ranges):
        _copy_transposed(target[position], source[position].T, tile)


def _copy_transposed(target: Any, source: Any, tile: Any) -> None:
    """Copy `source` into `target`, which has the opposite order of axes in memory, through a contiguous tile."""
    rows, columns = source.shape
    for i, j in itertools.product(range(0, rows, _TILE), range(0, columns, _TILE)):
        part = source[i : i + _TILE, j : j + _TILE]
        buffer = tile[: part.shape[0], : part.shape[1]]
        np.copyto(buffer, part)
        np.copyto(target[j : j + _TILE, i : i + _TILE], buffer.T)


def _transposed_axis(target: Any, source: Any) -> int | None:
    """Return the axis along which the source is contiguous, None if the target is too or the array is small."""
    if not isinstance(source, np.ndarray) or source.nbytes < _MIN_BYTES or source.shape != target.shape:
        return None
    if target.strides[-1] != target.itemsize or source.strides[-1] == source.itemsize:
        return None
    long = [a for a, n in enumerate(source.shape[:-1]) if source.strides[a] == source.itemsize and n >= _MIN_LENGTH]
    return long[0] if long and source.shape[-1] >= _MIN_LENGTH else None


_set = object.__setattr__


def operator(
    name: str,
    inputs: Sequence[str],
    *,
    relation: Relation,
    attrs: type[Attrs] | None = None,
    pattern: OpPattern = OpPattern.OPAQUE,
    results: int | Callable[[Any], int | None] = 1,
    silenced: bool = False,
    python: Python | None = None,
    **facts: Any,
) -> Callable[[Callable[..., Any]], Op]:
    """Declare the operator `name`; the decorated function is its NumPy kernel `kernel(attrs, *arrays, out=None)`.

    `results` is the number of results of a tuple (or a function of the attributes that returns it, or None if there is
    no tuple). The result of a kernel without the parameter `out` is copied. With `silenced`, NumPy's warnings about
    overflow and NaN in it are off. `python` is Relay's Python signature, where the attributes do not determine it.
    `facts` are the other fields of `OpSpec`.
    """

    def declare(kernel: Callable[..., Any]) -> Op:
        raw = kernel if _takes_out(kernel) else with_out(kernel)
        shapes, edge_cases = relation_defaults(name, inputs, relation)
        facts.setdefault("shapes", shapes)
        edge_cases = facts.setdefault("edge_cases", edge_cases)
        if edge_cases:
            facts.setdefault("example", example(edge_cases[0]))
        facts.setdefault("source", "NumPy")
        doc = facts.pop("doc", None) or kernel.__doc__ or ""
        spec = OpSpec(
            name=name,
            inputs=tuple(inputs),
            relation=relation,
            attrs=attrs,
            pattern=pattern,
            kernel=quiet(raw) if silenced else raw,
            raw=raw,
            doc=doc if "\n" not in doc else inspect.cleandoc(doc),
            **facts,
        )
        _set(spec, "builder", OpBuilder(spec, results, python))
        return declare_op(spec)

    return declare


def documentation(spec: OpSpec, effect: str) -> str:
    """Return the help text of an operator: a sentence on its effect, its attributes, shapes, source and an example."""
    schema = spec.attrs.schema if spec.attrs is not None else ()
    attribute_lines = "\n".join(f"  {field.name}: {field.doc} ({field.kind})" for field in schema if field.doc)
    attributes = f"Attributes:\n{attribute_lines}\n" if attribute_lines else ""
    return f"{effect}\n\n{attributes}Shapes: {spec.shapes}.\nSource: {spec.source}.\nIn Relay text: {spec.example}"


def attrs_record(name: str) -> type[Attrs]:
    """Return the attribute record of the operator `name`, which has one."""
    record = Op.get(name).spec.attrs
    assert record is not None
    return record


def raw_kernel(name: str) -> Callable[..., Any]:
    """Return the kernel of the operator `name`, which has one, with NumPy's warnings on."""
    raw = Op.get(name).spec.raw
    assert raw is not None
    return raw


def quiet(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel with NumPy's floating-point warnings off: NaN and infinity are ordinary values here."""

    def run(attrs: Attrs, *arrays: Any, out: Array | None = None) -> Any:
        with np.errstate(all="ignore"):
            return kernel(attrs, *arrays, out=out)

    return update_wrapper(run, kernel)


def _takes_out(kernel: Any) -> bool:
    """Whether a kernel has the parameter `out`, as NumPy's functions have."""
    while isinstance(kernel, partial):
        kernel = kernel.func
    code: CodeType | None = getattr(kernel, "__code__", None)  # functions written in C have none
    return code is None or "out" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def with_out(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Add the parameter `out` to a kernel that allocates its results. NumPy scalars become arrays."""

    def run(attrs: Attrs, *arrays: Any, out: Array | None = None) -> Any:
        result = kernel(attrs, *arrays)
        if out is not None:
            return deliver(result, out)
        return np.asarray(result) if isinstance(result, np.generic) else result

    return update_wrapper(run, kernel)


def deliver(result: Any, out: Any) -> Any:
    """Copy a result (an array or a tuple of arrays) into `out` and return that."""
    if isinstance(result, tuple):
        for target, value in zip(out, result, strict=True):
            copy_into(target, value)
    else:
        copy_into(out, result)
    return out


# What Python functions of operators take for an input. Lists may nest deeper; none of Relay's operators needs it.
Operand: TypeAlias = Expr | TupleWrapper | Sequence[Expr | TupleWrapper | Sequence[Expr | TupleWrapper]]


# recurses: lists of expressions in one Python call, nested as its author typed them
def as_expr(value: Any) -> Expr:
    """Return a Python value as an expression: an expression, a wrapped tuple, or a list of expressions as a tuple.

    Raises `NodeTypeError` for other values.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, TupleWrapper):
        return value.astuple()
    if isinstance(value, (list, tuple)):
        return Tuple([as_expr(v) for v in value])
    raise not_a_node_error(value)


def _operand(spec: OpSpec, at: int, value: Any) -> Expr:
    try:
        return as_expr(value)
    except NodeTypeError:
        where = f"as `{spec.inputs[at]}` of" if at < len(spec.inputs) else "as operand of"
        raise not_a_node_error(value, f"an expression {where} `{spec.name}`") from None


def field_of(value: Expr, index: int) -> Expr:
    """Return one field of a tuple-valued expression; the field itself if the expression is a tuple literal."""
    return value.fields[index] if isinstance(value, Tuple) else TupleGetItem(value, index)


def make_call(op: Op, args: Sequence[Any], values: dict[str, Any]) -> OpCall:
    """Return a call of an operator with attributes by name. Raises `AttrsError` for wrong names."""
    spec = op.spec
    operands = tuple([arg if isinstance(arg, Expr) else _operand(spec, at, arg) for at, arg in enumerate(args)])
    if spec.attrs is not None:
        return new_op_call(op, operands, spec.attrs(**values))
    if values:
        raise AttrsError(
            Diagnostic(f"`{spec.name}` has no attribute `{next(iter(values))}`", hint="it takes no attributes")
        )
    return OpCall(op, operands)


@checked
def call(name: str, *args: Any, **attrs: Any) -> OpCall:
    """Return a call of the operator `name` on `args` with attributes by name.

    >>> print(passlab.op.make("nn.leaky_relu", relay.var("x", shape=(2,)), alpha=0.1).attrs.alpha)
    0.1
    """
    op = loaded_op(name) or Op.get(name)
    if attrs or op.spec.attrs is not None:
        return make_call(op, args, attrs)
    for arg in args:
        if not isinstance(arg, Expr):
            return make_call(op, args, attrs)
    return new_op_call(op, args)


class Dynamic:
    """The operator to use if an attribute is given as an expression: it takes that attribute as an input.

    `constants` are the dtypes of the constants that plain values become, and `names` the parameters of inputs with
    another name.
    """

    def __init__(self, name: str, names: Mapping[str, str] | None = None, **constants: str) -> None:
        self.name = name
        self._names = dict(names or {})
        self._constants = constants

    def call(self, values: dict[str, Any], inputs: Sequence[str]) -> Expr | None:
        """Return the call for parameters by name, None if no attribute is an expression.

        `inputs` are the inputs of the operator that takes attributes.
        """
        spec = Op.get(self.name).spec
        added = {name: values[self._names.get(name, name)] for name in spec.inputs if name not in inputs}
        if not any(isinstance(value, Expr) for value in added.values()):
            return None
        for name, dtype in self._constants.items():
            added[name] = constant(dtype)(added[name])
        rest = {name: value for name, value in values.items() if name not in added.keys() | self._names.values()}
        assert spec.builder is not None
        return spec.builder(**rest, **added)


def constant(dtype: str | np.dtype[Any] | None = None) -> Callable[[Any], Expr]:
    """Return a converter of numbers and lists to constants, for a Python signature; it leaves expressions as they are.

    Without a dtype the constant has 32 bits where Python has 64, as in Relay.
    """

    def convert(value: Any) -> Expr:
        if isinstance(value, Expr):
            return value
        array = np.asarray(value, dtype)
        return Constant(array if dtype is not None else array.astype(_NARROW.get(array.dtype, array.dtype)))

    return convert


_NARROW = {np.dtype("int64"): np.dtype("int32"), np.dtype("float64"): np.dtype("float32")}


def constant_list(value: Any) -> Any:
    """Return a constant or a single number as a tuple of numbers, for a Python signature; other values as they are."""
    if isinstance(value, Constant):
        return tuple(value.data.reshape(-1).tolist())
    return value if isinstance(value, Expr) or value is None or hasattr(value, "__iter__") else (value,)


def constant_integer(value: Any) -> int:
    """Return a scalar constant as an integer, for a Python signature; other values as they are."""
    return int(value.data) if isinstance(value, Constant) else value


class Python:
    """What Relay's Python function of an operator does besides filling inputs and attributes in declared order.

    `signature` is given where it is another one, as in Python: `"data, axis=-1, is_sorted=True"`. `convert` maps
    parameters to functions that convert the caller's value to the attribute's value (such as one number for all axes).
    `names` maps parameters to the attribute or input of another name (several names receive the elements of the
    value). `fixed` are attributes without parameters, and `dynamic` is the operator for attributes known only at run
    time. `prepare` changes values that depend on one another, and returns the attributes that share the name of an
    input. `finish(call)` builds the value that the function returns.
    """

    def __init__(
        self,
        signature: str = "",
        names: Mapping[str, str | tuple[str, ...]] | None = None,
        *,
        fixed: Mapping[str, Any] | None = None,
        dynamic: Dynamic | None = None,
        prepare: Callable[[dict[str, Any]], Mapping[str, Any] | None] | None = None,
        finish: Callable[[OpCall], Any] | None = None,
        **convert: Callable[[Any], Any],
    ) -> None:
        self._text = signature
        self.names = dict(names or {})
        self.fixed = dict(fixed or {})
        self.dynamic = dynamic
        self.prepare = prepare
        self.finish = finish
        self.convert = convert

    @cached_property
    def signature(self) -> inspect.Signature | None:
        """The signature as an object of `inspect`; None for inputs and attributes in declared order."""
        if not self._text:
            return None
        function = ast.parse(f"def f({self._text}): 0").body[0]
        assert isinstance(function, ast.FunctionDef)
        names = [arg.arg for arg in function.args.args]
        defaults = [ast.literal_eval(value) for value in function.args.defaults]
        needed = len(names) - len(defaults)
        return _signature(names[:needed], dict(zip(names[needed:], defaults, strict=True)))


def _signature(required: Sequence[str], defaults: Mapping[str, Any]) -> inspect.Signature:
    """Return the signature with the required parameters first, then those with defaults."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    optional = [inspect.Parameter(name, kind, default=value) for name, value in defaults.items()]
    return inspect.Signature([*(inspect.Parameter(name, kind) for name in required), *optional])


class OpBuilder:
    """The Python function of an operator: its inputs, then its attributes in declared order with their defaults.

    An attribute with the name of an input replaces that input in a related operator (`reshape` and `dyn.reshape` share
    a record); it is not a parameter and is left empty. `python` gives another signature.
    """

    def __init__(self, spec: OpSpec, results: int | Callable[[Any], int | None], python: Python | None = None) -> None:
        self._spec = spec
        self._results = results
        self._python = python
        self.__name__ = self.__qualname__ = spec.name.rpartition(".")[2]
        self.__doc__ = documentation(spec, spec.doc)

    @cached_property
    def __signature__(self) -> inspect.Signature:
        if self._python is not None and self._python.signature is not None:
            return self._python.signature
        schema = [f for f in (self._spec.attrs.schema if self._spec.attrs else ()) if f.name not in self._spec.inputs]
        needed = [f.name for f in schema if f.default is REQUIRED and f.fallback is REQUIRED]
        defaults = {
            f.name: f.default if f.default is not REQUIRED else f.fallback for f in schema if f.name not in needed
        }
        return _signature([*self._spec.inputs, *needed], defaults)

    @cached_property
    def _replaced_attributes(self) -> dict[str, Any]:
        """Empty values for the attributes that inputs replace, where the record has no default for them."""
        schema = self._spec.attrs.schema if self._spec.attrs else ()
        shared = [f for f in schema if f.name in self._spec.inputs]
        needed = [f for f in shared if f.default is REQUIRED and f.fallback is REQUIRED]
        return {f.name: 0 if f.kind in ("int", "float") else () for f in needed}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        spec, python = self._spec, self._python
        shared = self._replaced_attributes
        if python is not None:
            given = self._bind(args, kwargs)
            try:
                kwargs, more = self._converted(python, given)
                shared = {**shared, **more}
                if python.dynamic is not None and (result := python.dynamic.call(kwargs, spec.inputs)) is not None:
                    return result
            except Exception as error:
                raise self._misfit(python, given, error) from error
            args = tuple([kwargs.pop(n) for n in spec.inputs])
        elif kwargs or len(args) != len(spec.inputs):
            kwargs = self._bind(args, kwargs)
            args = tuple([kwargs.pop(n) for n in spec.inputs])
        kwargs.update(shared)
        result = make_call(Op.get(spec.name), args, kwargs)
        if python is not None and python.finish is not None:
            return python.finish(result)
        results = self._results
        count = results(result.attrs) if callable(results) else results if results != 1 else None
        return result if count is None else TupleWrapper(result, count)

    def _converted(self, python: Python, given: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, Any]]:
        """Return the inputs and attributes by name, and further attributes that share the name of an input."""
        values, more = dict(given), None
        for name, parameter in self.__signature__.parameters.items():
            values.setdefault(name, parameter.default)
        for name, convert in python.convert.items():
            values[name] = convert(values[name])
        if python.prepare is not None:  # before the renaming: it uses the names of the signature
            more = python.prepare(values)
        for name, target in python.names.items():
            value = values.pop(name)
            values.update(zip(target, value, strict=True) if isinstance(target, tuple) else {target: value})
        return {**values, **python.fixed}, more or {}

    def _misfit(self, python: Python, given: dict[str, Any], error: Exception) -> PasslabError:
        """Return the error that names the argument that could not be converted, with what the operator takes.

        It is one whose own conversion fails, or the first without which the conversion succeeds: its default, or a
        variable, stands for it.
        """
        parameters, found = self.__signature__.parameters, next(iter(given))
        for name in given:
            default = parameters[name].default
            try:
                python.convert.get(name, id)(given[name])
            except Exception:  # noqa: BLE001 - any error means that it does not fit
                found = name
                break
            with contextlib.suppress(Exception):
                self._converted(
                    python, {**given, name: Var(name, None) if default is inspect.Parameter.empty else default}
                )
                found = name
                break
        if isinstance(error, PasslabError) and re.search(rf"\b{found}\b", str(error)):
            return error
        schema = {field.name: field for field in (self._spec.attrs.schema if self._spec.attrs else ())}
        target, default = python.names.get(found, found), parameters[found].default
        if isinstance(target, tuple):
            expected = f"{len(target)} values: {', '.join(target)}"
        elif target in self._spec.inputs:
            expected = "an expression, a number or a list of numbers"
        else:
            expected = (target in schema and schema[target].kind) or f"a value like {default!r}"
        reason = error.diagnostics[0].message if isinstance(error, PasslabError) else error
        message = f"`{self._spec.name}`: bad value for `{found}`: {reason}"
        return NodeTypeError(Diagnostic(message, expected=expected, found=reprlib.repr(given[found])))

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name. Raises `AttrsError` for a name that the operator does not have."""
        names = self.__signature__.parameters
        for name in kwargs:
            if name not in names:
                hint = did_you_mean(name, names) or f"it takes {', '.join(names)}"
                raise AttrsError(Diagnostic(f"`{self._spec.name}` has no attribute `{name}`", hint=hint))
        try:
            return self.__signature__.bind(*args, **kwargs).arguments
        except TypeError as error:
            diagnostic = Diagnostic(f"`{self._spec.name}`: {error}", hint=f"it takes {', '.join(names)}")
            raise NodeTypeError(diagnostic) from None

    def __repr__(self) -> str:
        return f"<operator {self._spec.name}{self.__signature__}>"


__all__ = [
    "Dynamic",
    "Op",
    "OpBuilder",
    "OpPattern",
    "Precision",
    "Python",
    "TupleWrapper",
    "as_expr",
    "attrs_record",
    "call",
    "constant",
    "constant_integer",
    "constant_list",
    "deliver",
    "field_of",
    "make_call",
    "operator",
    "quiet",
    "raw_kernel",
    "with_out",
]
