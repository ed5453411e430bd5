"""Targets as programs for TVM write and read them, and functions that differ by target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from passlab import parse, relay
from passlab.devices import Target, cuda
from passlab.vm import VirtualMachine


def test_functions_have_an_implementation_for_each_key_of_targets() -> None:
    import tvm

    @tvm.target.generic_func
    def rule(x: int) -> int:
        return x

    rule.register(["gpu"])(lambda x: x + 1)
    rule.register("arm_cpu")(lambda x: x + 2)
    assert rule(0) == rule.get_packed_func()(0) == 0
    with tvm.target.Target("metal"):
        assert rule(0) == rule.get_packed_func()(0) == 1
    with tvm.target.arm_cpu():
        assert rule(0) == 2

    @tvm.target.override_native_generic_func("of_this_test")
    def other(x: int) -> int:
        return x

    named = tvm.target.get_native_generic_func("of_this_test")
    named.register(lambda x: -x, "cpu", allow_override=True)
    named.set_default(lambda x: 9)
    with tvm.target.Target("llvm"):
        assert other(4) == -4
    assert other(4) == 9
    with pytest.raises(AttributeError, match="no generic function `of_this_tests`"):
        tvm.target.get_native_generic_func("of_this_tests")


def test_options_are_lists_numbers_and_targets() -> None:
    target = Target("vulkan -device='a b' -max-threads=7 -libs=x,y --host 'llvm -mcpu=z'")
    assert target.attrs == {"device": "a b", "max-threads": 7, "libs": ["x", "y"]}
    assert (target.host, target.keys) == (Target("llvm -mcpu=z"), ("a b", "vulkan", "gpu"))
    assert Target(str(target)).options == target.options
    assert Target(target, None) == target
    assert Target(target.export()) == target
    assert Target('{"kind": "llvm", "mattr": ["+a", "+b"]}') == Target("llvm -mattr=+a,+b")
    assert Target(target="vulkan -supports_float16=True", host={"kind": "c"}).attrs["supports_float16"] is True
    assert Target.canon_target_map_and_host({"cuda": 1}, "c") == ({Target("cuda", "c"): 1}, Target("c"))
    assert [part.kind for part in Target("composite --devices=cuda,opencl").attrs["devices"]] == ["cuda", "opencl"]
    with pytest.raises(ValueError, match="the option `libs` of a target is a list or one value"):
        Target({"kind": "llvm", "libs": {"a": "b"}})


def test_gpus_are_targets_by_their_names() -> None:
    board = Target("llvm", host="nvidia/jetson-nano").host
    assert board is not None
    assert (board.kind, board.tag, board.arch) == ("cuda", "nvidia/jetson-nano", "sm_53")
    assert board.attrs["registers_per_block"] == board.attrs["max_shared_memory_per_block"] - 16384 == 32768
    assert board.thread_warp_size == Target("nvidia/nvidia-a100").thread_warp_size == 32
    assert {"cuda", "llvm"} <= {*Target.list_kinds()}


@pytest.mark.parametrize(
    ("several", "kind"),
    [
        (["cuda", "llvm"], "llvm"),
        ((Target("llvm"), Target("ext_dev")), "llvm"),
        (["cuda"], "cuda"),
        ({"cuda": "cuda", "cpu": "llvm"}, "llvm"),
        ({cuda(): "cuda"}, "cuda"),
        ({1: "llvm"}, "llvm"),
    ],
)
def test_several_targets_compile_for_the_one_that_no_device_names(several: Any, kind: str) -> None:
    mod = parse("def @main(%x: Tensor[(2), float32]) { add(exp(%x), %x) }")
    assert Target.of(several).kind == kind
    x = np.array([0, 1], "float32")
    assert np.allclose(VirtualMachine(relay.vm.compile(mod, target=several)).run(x), np.exp(x) + x)
    module = relay.create_executor("graph", mod, target=several).evaluate()
    assert np.allclose(module(x), np.exp(x) + x)
    relay.build(mod, target=several)
