"""Elementwise operators as one compiled loop over arrays: the source of a scalar function becomes a NumPy ufunc.

The elementwise tail of a kernel runs such a loop over each of its blocks (`elementwise_tail`). Needs the package numba.
"""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numba
import numpy as np

from passlab.ir.expr import Call, Constant, Expr, Function
from passlab.ir.op import op_name
from passlab.vm.kernels.elementwise_tail import Tail, find_tail
from passlab.vm.kernels.fused_product import is_float32, shape_of

# operator -> its expression on scalars. NumPy's loops for exp, tanh and similar functions are vectorised by hand and
# faster than Numba's, so groups with one of them run on NumPy.
EXPRESSIONS: dict[str, str] = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "negative": "-{0}",
    "maximum": "np.maximum({0}, {1})",
    "minimum": "np.minimum({0}, {1})",
    "nn.relu": "np.maximum({0}, zero)",
    "sqrt": "np.sqrt({0})",
    "abs": "np.abs({0})",
    "floor": "np.floor({0})",
    "ceil": "np.ceil({0})",
}
FEWEST = 3  # operators of a compiled tail; for fewer, NumPy is fast enough on a block that is in cache
# erf(x) = x * P(x * x) / Q(x * x) on [-4, 4], a minimax fit of the relative error, which is at most 4e-7 with rounding.
# Outside, erf rounds to -1 or 1 in float32. The comparisons let NaN through.
ERF_SOURCE = """import numba
import numpy as np

zero = np.float32(0)
P = [np.float32(p) for p in (
    1.9099446e-08, -1.922068e-06, 1.4338793e-04, 3.8406921e-03, 5.1059487e-02, 0.20371233, 1.1283791)]
Q = [np.float32(q) for q in (9.8378236e-04, 1.465797e-02, 0.11654733, 0.5138674, 1.0)]
P0, P1, P2, P3, P4, P5, P6 = P
Q0, Q1, Q2, Q3, Q4 = Q
end, one = np.float32(4), np.float32(1)


@numba.njit
def erf(number):
    x = -end if number < -end else end if number > end else number
    y = x * x
    above = ((((((P0 * y + P1) * y + P2) * y + P3) * y + P4) * y + P5) * y + P6) * x
    ratio = above / ((((Q0 * y + Q1) * y + Q2) * y + Q3) * y + Q4)
    return -one if ratio < -one else one if ratio > one else ratio


"""
_numbers = itertools.count()


@lru_cache(maxsize=64)  # networks repeat their kernels with other shapes
def compiled_loop(source: str, dtype: str, inputs: int) -> Callable[..., Any]:
    """Return the function `kernel` of a Python source, with so many scalar parameters, as a NumPy ufunc."""
    scalar_type = getattr(numba, dtype)
    vectorize: Any = numba.vectorize  # Numba's functions have no type annotations
    compiled: Callable[..., Any] = vectorize([scalar_type(*[scalar_type] * inputs)])(load_function(source))
    return compiled


@dataclass(frozen=True)
class CompiledTail(Tail):
    """A tail computed by `loop` from the block of the result (the value of its anchor, if any) and from slots."""

    loop: Callable[..., Any]
    inputs: tuple[int, ...]

    def _run_block(self, slots: dict[int, Any], block: Any, temporaries: list[Any]) -> None:
        anchor = [] if self.anchor is None else [block]
        self.loop(*anchor, *[slots[number] for number in self.inputs], out=block)


def find_compiled_tail(function: Function, order: Sequence[Expr], slots: dict[Expr, int]) -> Tail | None:
    """Return the elementwise tail of a primitive function, compiled if it has scalar expressions for all operators."""
    tail = find_tail(function, order, slots)
    if tail is None:
        return None
    calls = [node for node in order if node in tail.nodes and isinstance(node, Call)]
    has_expressions = all(op_name(c) in EXPRESSIONS or op_name(c) == "erf" for c in calls)
    if len(calls) < FEWEST or not has_expressions or not all(is_float32(c, *c.args) for c in calls):
        return tail
    outside = {a: None for c in calls for a in c.args if a not in tail.nodes and a is not tail.anchor}
    operands: list[Expr] = [*([] if tail.anchor is None else [tail.anchor]), *outside]
    literals: dict[Expr, str] = {
        n: f"np.float32({n.data.item()!r})" for n in operands if isinstance(n, Constant) and _has_literal(n)
    }
    operands = [node for node in operands if node not in literals]
    if any(shape_of(node)[-1:] != tail.shape[-1:] for node in operands):
        return tail  # an input that is broadcast along rows would keep the loop from being vectorised
    names: dict[Expr, str] = {node: f"p{i}" for i, node in enumerate(operands)}
    lines = [f"{ERF_SOURCE}def kernel({', '.join(names.values())}):"]
    names |= literals
    for call in calls:
        expression = EXPRESSIONS.get(op_name(call), "erf({0})").format(*[names[a] for a in call.args])
        names[call] = f"v{len(names)}"
        lines.append(f"    {names[call]} = np.float32({expression})")
    source = "\n".join([*lines, f"    return {names[function.body]}", ""])
    plain = replace(tail, temporaries=0)
    inputs = tuple([slots[node] for node in operands if node is not tail.anchor])
    return CompiledTail(**vars(plain), loop=compiled_loop(source, "float32", len(operands)), inputs=inputs)


def _has_literal(constant: Constant) -> bool:
    """Whether a constant is one finite number, which has a literal."""
    return constant.data.size == 1 and bool(np.isfinite(constant.data).all())


def load_function(source: str) -> Callable[..., Any]:
    """Return the function `kernel` of a Python source. Numba needs the source in a file."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "kernel.py")
        path.write_text(source, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(f"passlab_kernel_{next(_numbers)}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    result: Callable[..., Any] = module.kernel
    return result
