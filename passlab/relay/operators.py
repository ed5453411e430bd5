"""Operators as Python functions, found by name: `relay.add`, `relay.nn.conv2d`, `relay.qnn.op.quantize`.

A namespace holds all operators whose names start with one prefix. Its functions are the builders of their declarations,
so a new operator needs no entry here; composite operators, below, are functions that build several calls.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from passlab.arguments import checked
from passlab.errors import Diagnostic, NodeValueError
from passlab.ir.expr import Call, Constant, Expr, Tuple
from passlab.ir.op import Op, find_op
from passlab.ir.tuple_wrapper import TupleWrapper
from passlab.lazy import load, unknown_name
from passlab.op.qnn.quantize import requantize_config
from passlab.table import Table


class OperatorNamespace:
    """The operators under `prefix` as attributes, and the namespaces inside it."""

    def __init__(self, prefix: str, title: str) -> None:
        self._prefix = prefix
        self._title = title
        self.__name__ = title

    def find(self, name: str) -> Callable[..., Any] | OperatorNamespace | None:
        """Return the function of an operator, the namespace of a longer prefix, or None."""
        if name.startswith("_"):
            return None
        full_name = self._prefix + name
        if full_name in COMPOSITIONS:
            return COMPOSITIONS[full_name]
        op = find_op(full_name)
        if op is not None:
            return op.spec.builder
        inner = f"{full_name}."
        if any(operator.startswith(inner) for operator in Op.list_op_names()):
            return OperatorNamespace(inner, f"{self._title}.{name}")
        return None

    def names(self) -> list[str]:
        """Return the names of the functions of this namespace."""
        composed = [n for n in COMPOSITIONS if n.startswith(self._prefix)]
        names = [name for name in Op.list_op_names() if name.startswith(self._prefix)]
        tails = [name[len(self._prefix) :] for name in (*names, *composed)]
        return sorted({tail for tail in tails if "." not in tail})

    def __getattr__(self, name: str) -> Any:
        result = self.find(name)
        if result is None:
            raise unknown_name(self._title, name, [] if name.startswith("__") else self.names())
        return result

    def __dir__(self) -> Iterator[str]:
        return iter(self.names())

    def __repr__(self) -> str:
        return f"<operators {self._prefix}*>"


# Names that Relay's operator modules import, and that programs import from them.
EXPRESSIONS = {
    "Constant": "passlab.ir.expr:Constant",
    "Expr": "passlab.ir.expr:Expr",
    "const": "passlab.relay.var_const:const",
}


def operator_module(
    module: str, prefix: str, files: Sequence[str] = (), names: Mapping[str, str] = MappingProxyType({})
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a module whose names are the operators under `prefix`.

    `files` are submodules in Relay's source: each of these names is the module itself. `names` are further names with
    their targets.
    """
    namespace = OperatorNamespace(prefix, module)

    def get_operator(name: str) -> object:
        if name == "__all__":
            return namespace.names()
        if name in names:
            value = load(names[name])
        else:
            value = sys.modules[module] if name in files else getattr(namespace, name)
        setattr(sys.modules[module], name, value)
        return value

    return get_operator, namespace.names


def operator_table() -> Table:
    """Return a table of all operators: inputs, attributes, fusion pattern and description.

    `relay.op.list().search("pool 3d")` finds those that mention the words.
    """

    def rows() -> Iterator[tuple[Any, ...]]:
        for name in Op.list_op_names():
            spec = Op.get(name).spec
            attrs = ", ".join(field.name for field in spec.attrs.schema) if spec.attrs else ""
            inputs = ", ".join(spec.inputs) + (", ..." if spec.variadic else "")
            yield name, inputs, attrs, spec.pattern.name, spec.level, spec.doc.partition("\n")[0]

    return Table(("operator", "inputs", "attributes", "pattern", "level", "what_it_does"), rows())


def get(name: str) -> Op:
    """Return an operator by name. Raises `OpNotFoundError`, which suggests similar names."""
    return Op.get(name)


# ---------------------------------------------------------------- composite operators
Axis = int | Sequence[int] | None


def _builder(name: str) -> Callable[..., Expr]:
    builder = Op.get(name).spec.builder
    assert builder is not None, name
    return builder


def mean_variance(
    data: Expr, axis: Axis = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> TupleWrapper:
    """Return the mean and the variance of `data` over `axis`."""
    mean = _builder("mean")(data, axis, True, exclude)
    var = _variance(data, mean, axis, keepdims, exclude, unbiased)
    return TupleWrapper(Tuple((mean if keepdims else _builder("mean")(data, axis, keepdims, exclude), var)), 2)


def _variance(data: Expr, mean: Expr, axis: Axis, keepdims: bool, exclude: bool, unbiased: bool) -> Expr:
    op = Op.get("variance")
    assert op.spec.attrs is not None
    record = op.spec.attrs(axis=axis, keepdims=keepdims, exclude=exclude, unbiased=unbiased)
    return Call(op, (data, mean), record)


def std(data: Expr, axis: Axis = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False) -> Expr:
    """Return the standard deviation of `data` over `axis`; `unbiased` divides by one less than the count."""
    mean = _builder("mean")(data, axis, True, exclude)
    return _builder("sqrt")(_variance(data, mean, axis, keepdims, exclude, unbiased))


def mean_std(data: Expr, axis: Axis = None, keepdims: bool = False, exclude: bool = False) -> TupleWrapper:
    """Return the mean and the standard deviation of `data` over `axis`."""
    mean, var = mean_variance(data, axis, keepdims, exclude)
    return TupleWrapper(Tuple((mean, _builder("sqrt")(var))), 2)


@checked
def logsumexp(data: Expr, axis: Axis = None, keepdims: bool = False) -> Expr:
    """Return log(sum(exp(data))) over `axis`, without overflow: the maximum is subtracted first."""
    maximum = _builder("max")(data, axis, True)
    total = _builder("sum")(_builder("exp")(_builder("subtract")(data, maximum)), axis, True)
    out: Expr = _builder("add")(_builder("log")(total), maximum)
    return out if keepdims else _builder("squeeze")(out, axis)


def reverse_reshape(data: Expr, newshape: int | Sequence[int]) -> Expr:
    """Return `data` in a new shape whose special values (0, -1, ...) are read from the last axis to the first."""
    result: Expr = _builder("contrib_reverse_reshape")(data, newshape)
    return result


@checked
def segment_sum(data: Expr, segment_ids: Expr, num_segments: int | Expr | None = None) -> Expr:
    """Return, for each segment, the sum of its slices of `data` along the first axis.

    `segment_ids` (as long as `data`, or shorter) is the segment of each slice. There are `num_segments` segments (a
    number, or an expression whose value is a vector of one); by default, one more than the largest of `segment_ids`.
    Raises `NodeValueError` for a negative number.
    """
    one = _builder("cast_like")(Constant(np.array([1], np.int32)), segment_ids)
    if num_segments is None:
        largest = _builder("reshape")(_builder("max")(segment_ids, [0]), [-1])
        count = _builder("add")(largest, one)
    else:
        if not isinstance(num_segments, Expr):
            if not 0 <= num_segments < 2**31:
                finding = Diagnostic("`num_segments` of `segment_sum` is a number from 0 on", found=repr(num_segments))
                raise NodeValueError(finding)
            num_segments = Constant(np.array([num_segments], np.int32))
        count = _builder("cast_like")(num_segments, segment_ids)
    rest = _builder("strided_slice")(_builder("shape_of")(data, "int32"), [1], [-1], [1], slice_mode="size")
    rest = _builder("cast_like")(rest, count)
    zeros = _builder("zeros")(_builder("concatenate")((count, rest), 0), "float64")
    repeats = _builder("concatenate")((_builder("reverse")(rest, 0), one), 0)
    indices = _builder("transpose")(_builder("tile")(segment_ids, repeats))
    result: Expr = _builder("scatter_elements")(_builder("cast_like")(zeros, data), indices, data, 0, "add")
    return result


def global_max_pool1d(data: Expr, layout: str = "NCW", out_layout: str = "") -> Expr:
    """Return the maximum over the one spatial axis, which is kept with size 1."""
    return _builder("nn.adaptive_max_pool1d")(data, (1,), layout, out_layout)


def global_avg_pool1d(data: Expr, layout: str = "NCW", out_layout: str = "") -> Expr:
    """Return the mean over the one spatial axis, which is kept with size 1."""
    return _builder("nn.adaptive_avg_pool1d")(data, (1,), layout, out_layout)


def global_max_pool3d(data: Expr, layout: str = "NCDHW", out_layout: str = "") -> Expr:
    """Return the maximum over the three spatial axes, which are kept with size 1."""
    return _builder("nn.adaptive_max_pool3d")(data, (1, 1, 1), layout, out_layout)


def global_avg_pool3d(data: Expr, layout: str = "NCDHW", out_layout: str = "") -> Expr:
    """Return the mean over the three spatial axes, which are kept with size 1."""
    return _builder("nn.adaptive_avg_pool3d")(data, (1, 1, 1), layout, out_layout)


def dropout_raw(data: Expr, rate: float = 0.5) -> TupleWrapper:
    """Return both results of `nn.dropout`: the data and the mask."""
    op = Op.get("nn.dropout")
    assert op.spec.attrs is not None
    return TupleWrapper(Call(op, (data,), op.spec.attrs(rate=rate)), 2)


@checked
def threefry_key(seed: int) -> Constant:
    """Return a new key of the random generator: a constant of ten uint64 with the words of `seed`."""
    state = np.zeros(10, "uint64")
    mask = 2**64 - 1
    state[0:4] = [(seed >> (64 * word)) & mask for word in range(4)]
    state[5:10] = [0, 0, 0, 1 << 63, 0]
    return Constant(state)


# name in `relay` -> function
COMPOSITIONS: dict[str, Callable[..., Any]] = {
    "std": std,
    "mean_std": mean_std,
    "mean_variance": mean_variance,
    "logsumexp": logsumexp,
    "reverse_reshape": reverse_reshape,
    "segment_sum": segment_sum,
    "nn.contrib_conv2d_nchwc": _builder("nn.contrib_conv2d_NCHWc"),
    "nn.contrib_depthwise_conv2d_nchwc": _builder("nn.contrib_depthwise_conv2d_NCHWc"),
    "nn.global_max_pool1d": global_max_pool1d,
    "nn.global_max_pool3d": global_max_pool3d,
    "nn.global_avg_pool1d": global_avg_pool1d,
    "nn.global_avg_pool3d": global_avg_pool3d,
    "nn.dropout_raw": dropout_raw,
    "qnn.requantize_config": requantize_config,
    "random.threefry_key": threefry_key,
}
