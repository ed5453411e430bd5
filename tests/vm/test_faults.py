"""What goes wrong in a run is told with its place and the machine's stack, and the machine runs again."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import limits
from passlab.errors import InterruptedRunError, LimitError, RunError
from passlab.op.annotation import LISTENERS
from passlab.vm import VirtualMachine, compile

NESTED = """
def @inner(%x: Tensor[(4), float32]) -> Tensor[(4), float32] { debug(sort(%x), debug_func="told") }
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] { exp(@inner(%x)) }
"""
X = np.array([3, 1, 2, 0], "float32")


@pytest.fixture(params=[None, "pooled"])
def vm(request):
    return VirtualMachine(compile(passlab.parse(NESTED)), memory_cfg=request.param)


def fails_with(error):
    def listen(value):
        raise error

    return listen


@pytest.mark.parametrize(
    ("error", "raised", "why"),
    [
        (ValueError("no such thing"), RunError, "no such thing"),
        (MemoryError(), LimitError, "MemoryError"),
        (KeyboardInterrupt(), InterruptedRunError, "the program was interrupted"),
    ],
)
def test_a_kernel_that_raises_is_told_with_place_and_stack(vm, monkeypatch, error, raised, why):
    monkeypatch.setitem(LISTENERS, "told", fails_with(error))
    with pytest.raises(raised) as caught:
        vm.run(X)
    (finding,) = caught.value.diagnostics
    text = finding.render()
    assert why in text
    assert 'debug(sort(%x), debug_func="told")' in text
    assert text.index("in @inner, instruction") < text.index("in @main, instruction")
    monkeypatch.setitem(LISTENERS, "told", lambda value: None)
    np.testing.assert_allclose(vm.run(X), np.exp(np.sort(X)), rtol=1e-6)


def test_an_interrupt_is_no_exception_that_programs_swallow(vm, monkeypatch):
    monkeypatch.setitem(LISTENERS, "told", fails_with(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt) as caught:
        vm.run(X)
    assert not isinstance(caught.value, Exception)


def test_a_shape_that_does_not_fit_is_told_where_it_happens():
    text = "def @main(%x: Tensor[(?), float32], %y: Tensor[(?), float32]) { exp(%x) + %y }"
    vm = VirtualMachine(compile(passlab.parse(text)))
    with pytest.raises(passlab.errors.PasslabError) as caught:
        vm.run(X, np.ones(3, "float32"))
    messages = str(caught.value)
    assert "exp(%x) + %y" in messages
    assert "in @main, instruction" in messages
    assert vm.run(X, X).shape == (4,)


@pytest.mark.parametrize("memory", [None, "naive", "pooled"])
def test_a_tensor_over_the_limit_is_refused_with_its_place(memory):
    text = "def @main(%x: Tensor[(64), float32]) { sort(exp(%x)) }"
    vm = VirtualMachine(compile(passlab.parse(text)), memory_cfg=memory)
    x = np.ones(64, "float32")
    with limits.override(tensor_bytes=100), pytest.raises(LimitError, match="tensor_bytes") as caught:
        vm.run(x)
    assert "in @main, instruction" in str(caught.value)
    np.testing.assert_allclose(vm.run(x), np.exp(x), rtol=1e-6)
