"""A module as a table of functions: what is put in, taken out, and refused."""

from __future__ import annotations

import pytest

import passlab
from passlab.errors import PasslabError


def test_a_function_is_deleted_by_its_name() -> None:
    mod = passlab.parse("def @f() { 1 } def @g() { 2 } def @main() { @f() }")
    del mod["g"]
    assert [var.name_hint for var in mod.get_global_vars()] == ["f", "main"]
    del mod[mod.get_global_var("f")]
    assert [var.name_hint for var in mod.get_global_vars()] == ["main"]
    with pytest.raises(PasslabError, match="no function `f`"):
        del mod["f"]
