"""`tvm.relay.op.contrib.dnnl`: which parts of a program the library DNNL computes, for programs that are partitioned by
it. Its code is not here: the parts run like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps

from passlab.ir.expr import Call
from passlab.ir.op import is_call_of, is_op_call
from passlab.ir.types import TensorType
from passlab.pattern.language import DFPattern, is_op, wildcard

DNNL = "dnnl"
_CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "conv2d_transpose", "conv3d_transpose")
_POOLS = ("nn.max_pool2d", "nn.avg_pool2d", "nn.global_avg_pool2d", "nn.max_pool3d", "nn.avg_pool3d")
OPERATORS = (
    *(f"nn.{name}" for name in (*_CONVOLUTIONS, "dense", "batch_norm", "layer_norm", "softmax", "relu", "leaky_relu")),
    *_POOLS,
    *("abs", "add", "clip", "exp", "log", "multiply", "round", "sigmoid", "sqrt", "tanh"),
)
_AFTERWARDS = ("nn.relu", "tanh", "sigmoid", "")  # what one kernel computes after a sum of products


def _sums_of_products(name: str) -> Iterator[tuple[str, DFPattern]]:
    """Yield the patterns of an operator, longest first: a bias added, another tensor added, a function of one argument.

    A bias is an `add`: CanonicalizeOps makes one of each `nn.bias_add`.
    """
    product = is_op(f"nn.{name}")(wildcard(), wildcard())
    biased = is_op("add")(product, wildcard())
    for kind, value in (("_bias_sum", is_op("add")(biased, wildcard())), ("_bias", biased), ("", product)):
        for after in _AFTERWARDS:
            if kind or after:
                end = after.rpartition(".")[2]
                yield f"{DNNL}.{name}{kind}{'_' * bool(end)}{end}", is_op(after)(value) if after else value


def pattern_table() -> list[tuple[str, DFPattern]]:
    """Return the composites that DNNL computes as one kernel, as pairs of a name and a pattern."""
    return [row for name in (*_CONVOLUTIONS, "dense") for row in _sums_of_products(name)]


def supports(call: Call) -> bool:
    """Whether DNNL computes the call of an operator: none with int64, no pool that rounds its size up."""
    if not is_call_of(call, *OPERATORS) or getattr(call.attrs, "ceil_mode", False):
        return False
    types = (arg.checked_type for arg in call.args)
    return not any(isinstance(ty, TensorType) and ty.dtype == "int64" for ty in types)


def with_dnnl(compiler_for: Callable[[Call, Sequence[str]], str]) -> Callable[[Call, Sequence[str]], str]:
    """Return the search for the compiler of a call that also knows DNNL, unless the program says what it supports."""

    @wraps(compiler_for)
    def extended(call: Call, targets: Sequence[str]) -> str:
        compiler = compiler_for(call, targets)
        if compiler != "default" or DNNL not in targets or not is_op_call(call):
            return compiler
        return DNNL if f"target.{DNNL}" not in call.op.spec.extra and supports(call) else compiler

    return extended
