"""Kernels compared with their definitions: no correct kernel is blamed, on any draw or edge case."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.errors import PasslabError
from passlab.infer import infer_module
from passlab.ir.expr import Function, Var
from passlab.ir.module import IRModule
from passlab.lab.culprits import kernel_search
from passlab.lab.culprits.kernel_search import wrong_kernel
from passlab.op.dtypes import array_dtype, float_info
from passlab.oracle.trial import Trial
from passlab.relay.op import list as list_operators
from passlab.testing.programs.registry import templates

pytestmark = pytest.mark.rotating

NAMES = [row["operator"] for row in list_operators()]
DTYPES = ("float32", "int32", "float16")


def alone(template):
    params: list[Var] = []

    def parameter(ty):
        params.append(Var(f"x{len(params)}", ty))
        return params[-1]

    body = template.fill(parameter)
    return infer_module(IRModule.from_expr(Function(tuple(params), body)))


@pytest.mark.rotating
@pytest.mark.parametrize("name", NAMES)
def test_no_operator_is_blamed_by_itself(name):
    for dtype in DTYPES:
        for template in templates(name, dtype):
            try:
                mod = alone(template)
            except PasslabError:
                continue
            assert wrong_kernel(mod, Trial(), 5.0) is None


def test_an_operator_is_tried_on_edges_that_its_program_does_not_reach(monkeypatch):
    """Of indices 0 and 1, as the program draws them, none is outside."""
    net = infer_module(passlab.parse("def @main(%x: Tensor[(8, 3), float32]) { exp(take(%x, 1, axis=0)) }"))
    assert wrong_kernel(net, Trial(), 5.0, []) is None
    right = kernel_search.defined_value

    def wrong(op, attrs, args):
        value = right(op, attrs, args)
        outside = op.name == "take" and np.any(np.asarray(args[1]) >= args[0].shape[attrs.axis or 0])
        return value + 1 if outside else value

    monkeypatch.setattr(kernel_search, "defined_value", wrong)
    assert wrong_kernel(net, Trial(), 5.0) is None
    kernel = wrong_kernel(net, Trial(), 5.0, [])
    assert kernel is not None
    assert (kernel.operator, kernel.kind) == ("take", "the edge cases of the operator")


@pytest.mark.parametrize("body", ["max(%x, axis=[1])", "nn.softmax(%x)", "sort(%x, is_ascend=False)", "tanh(%x)"])
def test_a_kernel_that_swallows_nan_is_named(body, monkeypatch):
    """Between kernel and definition the NaN of the arguments decides, in whatever order a kernel computes."""
    net = infer_module(passlab.parse(f"def @main(%x: Tensor[(2, 5), float32]) {{ {body} }}"))
    assert wrong_kernel(net, Trial(), 5.0) is None
    checked = kernel_search.kernel_disagreement

    def swallowing(op, attrs, args, value):
        return checked(op, attrs, args, np.nan_to_num(value, nan=0.5, posinf=np.inf, neginf=-np.inf))

    monkeypatch.setattr(kernel_search, "kernel_disagreement", swallowing)
    wrong = wrong_kernel(net, Trial(), 5.0)
    assert wrong is not None
    assert wrong.kind == "NaN, infinities and negative zeros"


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod"])
def test_a_total_that_leaves_the_range_on_its_way_is_no_fault(name, dtype):
    """A sum or a product is computed in its dtype, in some order: what lies between may overflow, or vanish."""
    op, dtype = relay.op.get(name), array_dtype(dtype)
    attrs = op.spec.attrs()
    large, small = (float(x) for x in (float_info(dtype).max, float_info(dtype).smallest_normal))
    for numbers in ([large, large, -large, -large], [large, 4, 4 / large], [small, small, 1 / small, 1 / small]):
        data = np.array(numbers).astype(dtype)
        with np.errstate(all="ignore"):
            assert kernel_search.kernel_disagreement(op, attrs, [data], op.spec.kernel(attrs, data)) is None
    data = np.array([0.5, 2, 1]).astype(dtype)
    value = np.asarray(op.spec.kernel(attrs, data))
    assert kernel_search.kernel_disagreement(op, attrs, [data], value) is None
    wrong = kernel_search.kernel_disagreement(op, attrs, [data], (value * 2).astype(dtype))
    assert wrong is not None or dtype.itemsize == 1  # whose rounding is as large
