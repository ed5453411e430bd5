"""Each name of `passlab.lab` is a class or function, never a module, whatever was imported before."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import passlab
from passlab import lab
from passlab.errors import UnknownNameError


def test_every_name_is_a_class_or_function_even_when_all_modules_are_loaded():
    for module in pkgutil.walk_packages(lab.__path__, "passlab.lab."):
        importlib.import_module(module.name)
    for name in dir(lab):
        assert callable(getattr(lab, name)), name


def test_two_programs_are_compared():
    before = passlab.parse("def @main(%x: Tensor[(4), float32]) { nn.relu(%x) }")
    after = passlab.parse("def @main(%x: Tensor[(4), float32]) { tanh(%x) }")
    assert "nn.relu" in str(lab.diff(before, after))


def test_a_misspelt_name_is_told():
    with pytest.raises(UnknownNameError, match="did you mean `Trace`"):
        lab.Trance  # noqa: B018 - asking is the test
