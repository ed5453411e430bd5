"""Devices and targets are values that are kept and printed back."""

from __future__ import annotations

import pytest

import passlab
from passlab.devices import Target
from passlab.errors import DiagnosticError


def test_devices() -> None:
    assert passlab.cpu() == passlab.device("cpu", 0) == passlab.device(1) == passlab.device("llvm")
    assert str(passlab.device("cuda:1")) == "cuda(1)"
    assert passlab.device("gpu") == passlab.cuda(0) == passlab.gpu()
    assert passlab.cpu().device_type == 1
    with pytest.raises(DiagnosticError, match="did you mean `cuda`"):
        passlab.device("cudda")


def test_targets() -> None:
    target = Target.of("llvm -mcpu=core-avx2 -opt-level=3 -link-params")
    assert str(target) == "llvm -mcpu=core-avx2 -opt-level=3 -link-params"
    assert target.attrs["mcpu"] == "core-avx2"
    assert Target.of(None) == Target.of("llvm") == Target.of({"kind": "llvm"})
    assert Target.of("cuda", "llvm").host == Target.of("llvm")
    for bad in ("", "llvm mcpu", 3):
        with pytest.raises(DiagnosticError, match="target"):
            Target.of(bad)
