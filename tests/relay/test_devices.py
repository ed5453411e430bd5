"""Devices and targets are values that are kept and printed back."""

from __future__ import annotations

import pytest

import passlab
from passlab import relay
from passlab.devices import Target
from passlab.errors import DiagnosticError, NodeValueError


def test_devices() -> None:
    assert passlab.cpu() == passlab.device("cpu", 0) == passlab.device(1) == passlab.device("llvm")
    assert str(passlab.device("cuda:1")) == "cuda(1)"
    assert passlab.device("gpu") == passlab.cuda(0) == passlab.gpu()
    assert passlab.cpu().device_type == 1
    assert passlab.cpu().exist is passlab.cuda(1).exist is True  # code for every device runs on this processor
    with pytest.raises(DiagnosticError, match="did you mean `cuda`"):
        passlab.device("cudda")


def test_targets() -> None:
    target = Target.of("llvm -mcpu=core-avx2 -opt-level=3 -fast-math")
    assert str(target) == "llvm -mcpu=core-avx2 -opt-level=3 -fast-math"
    assert target.attrs["mcpu"] == "core-avx2"
    assert Target.of(None) == Target.of("llvm") == Target.of({"kind": "llvm"})
    assert Target.of("cuda", "llvm").host == Target.of("llvm")
    for bad in ("", "llvm mcpu", 3):
        with pytest.raises(DiagnosticError, match="target"):
            Target.of(bad)


def test_a_function_is_told_where_its_parameters_and_result_live() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    func = relay.Function([x, y], relay.add(relay.on_device(relay.exp(x), "cuda"), y))
    placed = relay.annotation.function_on_device(func, ["cuda", passlab.cpu()], passlab.cpu())
    assert [p.virtual_device.device for p in placed.params] == [passlab.cuda(), passlab.cpu()]
    assert placed.virtual_device.device == passlab.cpu()
    assert [p.virtual_device for p in func.params] == [None, None]
    planned = relay.transform.PlanDevices()(relay.transform.InferType()(relay.IRModule.from_expr(placed)))
    assert relay.testing.count_ops(planned)["device_copy"] == 1
    with pytest.raises(NodeValueError, match="a device for each parameter"):
        relay.annotation.function_on_device(func, ["cpu"], "cpu")


@pytest.mark.parametrize("option", ["runtime=c", "system-lib=1", "executor=aot", "interface-api=c", "link-params=1"])
def test_options_of_builds_are_no_options_of_targets(option: str) -> None:
    with pytest.raises(ValueError, match=f"Cannot recognize '-{option}'"):
        Target(f"c -{option}")


def test_a_target_has_a_kind_with_a_name_and_a_host() -> None:
    target = Target("cuda -model=a").with_host("llvm -mcpu=b")
    assert (target.kind.name, target.kind, str(target), str(target.host)) == (
        "cuda",
        "cuda",
        "cuda -model=a",
        "llvm -mcpu=b",
    )
