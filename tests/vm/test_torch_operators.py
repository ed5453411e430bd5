"""The law of PyTorch's operators: where there is a rule, its values are those of the NumPy kernel, on every edge case."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest

from passlab import IRModule, relay
from passlab.devices import cuda
from passlab.errors import PasslabError
from passlab.infer import infer_module
from passlab.ir.op import Op
from passlab.op.edge_cases import varies_dtype
from tests.op.test_edges import DTYPES, FILLS, FLOAT_FILLS, TOLERANCE, arguments, overflows, parsed
from tests.op_nn.running import run_call

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch", exc_type=ImportError)
operators = importlib.import_module("passlab.vm.kernels.torch_operators")
provider = importlib.import_module("passlab.vm.kernels.torch_provider").TorchProvider(cuda())
NAMES = sorted({*operators.PLAIN, *operators.RULES} - {*operators.DIVISIONS} | {"divide"})
# Where NumPy's kernel multiplies the padding, PyTorch leaves it out: no number times 0 is then not seen.
PADDED = ("nn.conv1d", "nn.conv2d", "nn.conv3d")
# PyTorch has the mean of squares minus the square of the mean, and infinities then cancel.
CANCELS = ("nn.group_norm",)
pytestmark = pytest.mark.nightly


def is_left_to_order(name: str, fill: str) -> bool:
    """Whether the order of a sum decides what becomes of infinities and of what is not a number."""
    return (name in PADDED and fill in ("nan", "infinite", "mixed")) or (name in CANCELS and fill == "mixed")


def tensors(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(tensors, value))
    return provider.tensor(np.array(value, order="C"))


def arrays_of(value: Any) -> list[np.ndarray]:
    return [a for v in value for a in arrays_of(v)] if isinstance(value, (tuple, list)) else [provider.to_host(value)]


def flat(value: Any) -> list[np.ndarray]:
    return [a for v in value for a in flat(v)] if isinstance(value, (tuple, list)) else [np.asarray(value)]


def check(name: str, call: Any, variables: Any, fill: str) -> bool:
    """Compare one case; return whether there is a rule for it."""
    compute = operators.operation(call)
    inputs = arguments(call, variables, fill)
    if compute is None or overflows(name, fill, inputs) or is_left_to_order(name, fill):
        return compute is not None
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            want = flat(run_call(call, inputs))
        except (PasslabError, ValueError, IndexError):
            return True  # there is no value
        got = arrays_of(compute(*map(tensors, inputs)))
    assert [(a.shape, a.dtype) for a in got] == [(a.shape, a.dtype) for a in want]
    for ours, theirs in zip(got, want, strict=True):
        tolerance = 2 * TOLERANCE.get(theirs.dtype.name, 0.0)
        wide = [a.astype("float64") if a.dtype.kind in "fV" else a for a in (ours, theirs)]
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance)
    return True


@pytest.mark.parametrize("name", NAMES)
def test_every_rule_gives_the_values_of_numpy(name: str) -> None:
    tried = 0
    for edge in Op.get(name).spec.edge_cases:
        for dtype in DTYPES if varies_dtype(edge) else DTYPES[:1]:
            case = parsed(edge, dtype)
            fills = FLOAT_FILLS if case and any("float" in v.dtype for v in case[1]) else FILLS
            for fill in fills if case else ():
                try:
                    tried += check(name, case[0], case[1], fill)
                except Exception as error:
                    raise AssertionError(f"{edge} on {dtype}, {fill}\n{error}") from error
    assert tried, "no edge case has a rule"


@pytest.mark.parametrize("name", operators.DIVISIONS)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
@pytest.mark.parametrize("divisor", [3, 100, -7])
def test_integers_are_divided_by_a_constant_as_numpy_does(name: str, dtype: str, divisor: int) -> None:
    if dtype == "uint8" and divisor < 0:
        return
    x = np.array([-100, -7, -1, 0, 1, 7, 100, 127]).astype(dtype)
    call = relay.Call(Op.get(name), [relay.var("x", shape=(8,), dtype=dtype), relay.const(divisor, dtype)])
    typed = infer_module(IRModule.from_expr(call))["main"].body
    compute = operators.operation(typed)
    got = provider.to_host(compute(tensors(x), tensors(np.asarray(divisor, dtype))))
    want = run_call(typed, [x, np.asarray(divisor, dtype)])
    np.testing.assert_array_equal(got, want)
    assert got.dtype == want.dtype


@pytest.mark.parametrize("divisor", [0, -1])
def test_a_division_that_pytorch_refuses_stays_with_numpy(divisor: int) -> None:
    call = relay.Call(
        Op.get("floor_divide"), [relay.var("x", shape=(8,), dtype="int32"), relay.const(divisor, "int32")]
    )
    assert operators.operation(infer_module(IRModule.from_expr(call))["main"].body) is None
