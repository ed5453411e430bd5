"""Fused kernels that compute their elementwise end block by block and in place give what the operators give, bit for
bit, and leave their inputs alone.
"""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.executor import build
from passlab.ir.op import Op, Trait
from passlab.vm import VirtualMachine, compile
from passlab.vm.kernels import primitive as tails
from passlab.vm.kernels.primitive import Kernel
from tests.each import each

RNG = np.random.default_rng(3)
DTYPES = ["float32", "float64", "float16", "int32", "uint8"]


IN_PLACE = [name for name in Op.list_op_names() if Trait.IN_PLACE in Op.get(name).spec.traits]


def numbers(dtype: str, *shape: int) -> np.ndarray:
    return (RNG.random(shape) * 6 + 1).astype(dtype)


@each("name", IN_PLACE)
@each("dtype", DTYPES)
def test_operators_in_place_write_over_their_inputs_without_harm(name, dtype):
    spec = Op.get(name).spec
    attrs = spec.attrs(a_min=2.0, a_max=5.0) if name == "clip" else None
    count = len(spec.inputs)
    for over in range(count):
        inputs = [numbers(dtype, 4, 5) for _ in range(count)]
        expected = spec.kernel(attrs, *[i.copy() for i in inputs])
        assert expected.dtype == dtype
        result = spec.kernel(attrs, *inputs, out=inputs[over])
        assert result is inputs[over]
        np.testing.assert_array_equal(result, expected)
    same = [numbers(dtype, 4, 5)] * count
    expected = spec.kernel(attrs, *[i.copy() for i in same])
    np.testing.assert_array_equal(spec.kernel(attrs, *same, out=same[0]), expected)


PROGRAMS = {
    "residual": """
def @main(%x: Tensor[(1, 4, 9, 7), float32], %w: Tensor[(6, 4, 3, 3), float32], %b: Tensor[(6, 1, 1), float32],
          %r: Tensor[(1, 6, 9, 7), float32]) {
  nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=6, kernel_size=[3, 3]) + %b + %r)
}""",
    "what it starts from is used twice": """
def @main(%x: Tensor[(5, 8), float32], %w: Tensor[(6, 8), float32], %b: Tensor[(6), float32]) {
  let %y = nn.dense(%x, %w, units=6);
  %y * sigmoid(%y + %b)
}""",
    "without a beginning": """
def @main(%x: Tensor[(3, 40), float32], %s: Tensor[(1), float32], %c: Tensor[(3, 1), float32]) {
  %0 = tanh(%x * %s);
  %1 = exp(negative(%x)) + %c;
  %2 = maximum(%0, %1) - minimum(%0, %x);
  %2 * %0 / (abs(%1) + %s)
}""",
    "a smaller tensor on the way": """
def @main(%x: Tensor[(2, 3, 8), float32], %g: Tensor[(3, 1), float32], %v: Tensor[(3, 1), float32]) {
  clip(%x * (%g * rsqrt(%v)) + exp(%g), a_min=0f, a_max=4f)
}""",
    "integers": """
def @main(%x: Tensor[(7, 9), int32], %y: Tensor[(9), int32]) { nn.relu((%x + %y) * %x - %y) }""",
    "a tuple is no tensor": """
def @main(%x: Tensor[(7, 9), float32]) { let %y = exp(%x) + %x; (%y, %y * %x) }""",
}


@pytest.mark.parametrize("block", [1, 64, 1000, 1 << 20])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_blocks_change_no_bit_and_no_input(program, block, monkeypatch):
    monkeypatch.setattr(tails, "SMALLEST", 0)
    monkeypatch.setattr(tails, "BLOCK", block)
    mod = relay.transform.InferType()(passlab.parse(program))
    args = [numbers(p.checked_type.dtype, *p.checked_type.concrete_shape) for p in mod["main"].params]
    kept = [a.copy() for a in args]
    expected = relay.create_executor("debug", mod).evaluate()(*args)
    expected = expected if isinstance(expected, tuple) else (expected,)
    vm = VirtualMachine(compile(mod))
    graph = build(mod).module()
    for i, value in enumerate(args):
        graph.set_input(i, value)
    graph.run()
    result = vm.run(*args)
    for i, want in enumerate(expected):
        np.testing.assert_array_equal(result[i] if isinstance(result, tuple) else result, want)
        np.testing.assert_array_equal(graph.get_output(i), want)
    for before, after in zip(kept, args, strict=True):
        np.testing.assert_array_equal(before, after)


def group(text: str):
    """The kernel of a program as one fused function."""
    mod = relay.transform.InferType()(passlab.parse(text))
    return Kernel(mod["main"])


def test_a_chain_needs_no_memory_besides_its_result(monkeypatch):
    monkeypatch.setattr(tails, "SMALLEST", 0)
    tail = group("def @main(%x: Tensor[(64, 64), float32]) { exp(nn.relu(%x + %x) * %x) }")._program.tail
    assert tail.temporaries == 0
    assert [o.target for o in tail.operations] == [0, 0, 0, 0]


def test_what_is_needed_later_is_kept(monkeypatch):
    monkeypatch.setattr(tails, "SMALLEST", 0)
    tail = group("def @main(%x: Tensor[(8, 8), float32]) { %0 = exp(%x); tanh(%0) + %0 }")._program.tail
    assert tail.temporaries == 1


@pytest.mark.parametrize("text", [
    "def @main(%x: Tensor[(8, 8), float32]) { exp(%x) }",  # one loop of NumPy's
    "def @main(%x: Tensor[(8, ?), float32]) { exp(%x) + %x }",  # nobody knows how large
    "def @main(%x: Tensor[(8, 8), float32]) { transpose(exp(%x) + %x, axes=[1, 0]) }",  # its end is no elementwise one
    "def @main(%x: Tensor[(8, 8), int32]) { %x / %x }",  # it says where a divisor is zero
])  # fmt: skip
def test_other_kernels_have_no_such_end(text, monkeypatch):
    monkeypatch.setattr(tails, "SMALLEST", 0)
    assert group(text)._program.tail is None


def test_small_results_are_computed_as_a_whole():
    assert group("def @main(%x: Tensor[(8, 8), float32]) { exp(%x) + %x }")._program.tail is None
    assert group("def @main(%x: Tensor[(128, 128), float32]) { exp(%x) + %x }")._program.tail is not None
