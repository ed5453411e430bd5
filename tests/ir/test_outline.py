"""Outlines: a key that says of two functions that they are equal, and is the same for kernels that fusion makes twice."""

from __future__ import annotations

import itertools

import numpy as np

from passlab.devices import VirtualDevice, cuda
from passlab.ir import Call, Constant, Function, If, TensorType, Tuple, TupleGetItem, Var, structural_equal
from passlab.ir.kernel_key import outline
from passlab.op import make
from passlab.text.parser import parse
from tests.each import each

HEADER = '#[version = "0.0.5"]\n'
KERNELS = """
    fn (%p0: Tensor[(2), float32], Primitive=1) { exp(%p0) }
    fn (%p1: Tensor[(2), float32], Primitive=1) { exp(%p1) }
    fn (%p0: Tensor[(2), float32], Primitive=0) { exp(%p0) }
    fn (%p0: Tensor[(3), float32], Primitive=1) { exp(%p0) }
    fn (%p0: Tensor[(2), float32], Primitive=1) { log(%p0) }
    fn (%p0: Tensor[(2), float32], Primitive=1) -> Tensor[(2), float32] { exp(%p0) }
    fn (%p0: Tensor[(2), float32], %p1: Tensor[(2), float32], Primitive=1) { subtract(%p0, %p1) }
    fn (%p0: Tensor[(2), float32], %p1: Tensor[(2), float32], Primitive=1) { subtract(%p1, %p0) }
    fn (%p1: Tensor[(2), float32], %p0: Tensor[(2), float32], Primitive=1) { subtract(%p1, %p0) }
    fn (%p0: Tensor[(2), float32], Primitive=1) { (%p0, exp(%p0)) }
    fn (%p0: Tensor[(2), float32], Primitive=1) { (exp(%p0), %p0) }
    fn (%p0: (Tensor[(2), float32], Tensor[(2), float32]), Primitive=1) { %p0.0 }
    fn (%p0: (Tensor[(2), float32], Tensor[(2), float32]), Primitive=1) { %p0.1 }
    fn (%p0: Tensor[(2), float32], Primitive=1) { sum(%p0, axis=[0]) }
    fn (%p0: Tensor[(2), float32], Primitive=1) { sum(%p0, axis=[0], keepdims=True) }
    fn (%p0: Tensor[(2), float32], Primitive=1) { add(%p0, 0f) }
    fn (%p0: Tensor[(2), float32], Primitive=1) { add(%p0, -0f) }
    fn (%p0: Tensor[(2), float32], Primitive=1) { add(%p0, 1f) }
    fn (%p0: Tensor[(2), float32], Primitive=1) { %0 = exp(%p0); add(%0, %0) }
    fn (%p0: Tensor[(2), float32], Primitive=1) { %0 = exp(%p0); %1 = exp(%p0); add(%0, %1) }
""".strip().splitlines()


def literal(text):
    return parse(f"{HEADER}def @main() {{ {text} }}")["main"].body


@each(("one", "two"), list(itertools.combinations_with_replacement(KERNELS, 2)))
def test_kernels_have_one_outline_when_they_are_equal(one, two):
    a, b = literal(one.strip()), literal(two.strip())
    assert (outline(a) == outline(b)) == structural_equal(a, b)
    assert outline(a).complete


def test_only_outlines_without_objects_are_complete():
    weights = [Function((), Constant(np.ones(2))) for _ in range(2)]
    assert structural_equal(*weights)
    assert outline(weights[0]) != outline(weights[1])
    assert not outline(weights[0]).complete


def test_a_kernel_on_another_device_has_another_outline():
    kernel = literal(KERNELS[0].strip())
    assert outline(kernel) != outline(kernel.with_fields(virtual_device=VirtualDevice(cuda(0))))


def test_nodes_that_two_functions_share_are_told_apart_by_what_their_parameters_are():
    kind = TensorType((), "bool")
    p, q = Var("p", kind), Var("q", kind)
    for body in (If(p, q, q), TupleGetItem(Tuple((p, q)), 0), Call(make("logical_not", p).op, (p,)), p):
        a, b = Function((p, q), body), Function((q, p), body)
        assert not structural_equal(a, b)
        assert outline(a) != outline(b)


def test_free_variables_are_not_parameters():
    free, bound = Var("x", TensorType((2,))), Var("x", TensorType((2,)))
    open_, closed = Function((), make("exp", free)), Function((bound,), make("exp", bound))
    assert outline(open_) != outline(closed)
    assert outline(open_) != outline(Function((), make("exp", bound)))


def test_a_function_whose_attributes_cannot_be_hashed_has_no_outline():
    x = Var("x", TensorType((2,)))
    assert outline(Function((x,), x, attrs={"table": np.arange(3)})) is None
