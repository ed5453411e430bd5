"""MemoryPlan: tensors share memory, nobody else's, and programs compute what they did."""

from __future__ import annotations

import numpy as np
import pytest

from passlab import transform
from passlab.infer import infer_module
from passlab.ir import IRModule
from passlab.testing import mlp
from passlab.text.parser import parse
from passlab.vm.compiling.compiler import generate, optimize
from passlab.vm.relay_api import VirtualMachine
from tests.passes.law_programs import PROGRAMS, arguments, module
from tests.passes.test_laws import flat

ON_THE_MACHINE = sorted(set(PROGRAMS) - {"references"})  # which the machine has no instructions for


def manifest(mod: IRModule) -> IRModule:
    """Return a program with its allocations explicit, before it is said where values die."""
    with transform.PassContext(disabled_pass=["ManifestLifetimes"]):
        return optimize(mod)


def allocations(mod: IRModule) -> int:
    return mod.astext(show_meta_data=False).count("memory.alloc_storage")


@pytest.mark.parametrize("name", ON_THE_MACHINE)
def test_the_machine_computes_the_same(name: str):
    mod = module(name)
    inputs = manifest(mod)
    planned = transform.Sequential([transform.MemoryPlan(), transform.ManifestLifetimes(), transform.InferType()])(
        inputs
    )
    args = arguments(mod)
    got, want = (VirtualMachine(generate(m, mod)).run(*args) for m in (planned, inputs))
    for a, b in zip(flat(got), flat(want), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_network_takes_one_allocation():
    inputs = manifest(infer_module(mlp.get_workload(batch_size=1)[0]))
    planned = transform.MemoryPlan()(inputs)
    assert allocations(inputs) > 3
    assert allocations(planned) == 1
    assert transform.MemoryPlan()(planned) is planned


def test_branches_and_functions_have_memory_of_their_own():
    mod = infer_module(
        parse("""
        def @main(%c: bool, %x: Tensor[(3), float32]) {
          let %a = if (%c) { nn.softmax(exp(nn.softmax(%x))) } else { nn.softmax(tanh(nn.softmax(%x))) };
          nn.softmax(exp(nn.softmax(%a)))
        }""")
    )
    assert allocations(transform.MemoryPlan()(manifest(mod))) == 3


def test_dtypes_are_kept_apart():
    mod = infer_module(
        parse("""
        def @main(%x: Tensor[(3), float32], %y: Tensor[(5), int8]) {
          (nn.softmax(exp(nn.softmax(%x))), cumsum(cumsum(%y, axis=0), axis=0))
        }""")
    )
    assert allocations(transform.MemoryPlan()(manifest(mod))) == 2
