"""`relay.Prelude` offers the standard library by name."""

from __future__ import annotations

import pytest

from passlab import relay
from passlab.errors import UnknownNameError
from passlab.ir import Constructor, GlobalTypeVar, GlobalVar, IRModule


def test_functions_types_and_constructors_are_attributes() -> None:
    p = relay.Prelude()
    assert isinstance(p.map, GlobalVar)
    assert isinstance(p.Cons, Constructor)
    assert isinstance(p.List, GlobalTypeVar)
    assert p.map is p.get_global_var("map")
    assert p.get_type("List") == (p.List, p.get_ctor("List", "Cons"), p.get_ctor("List", "Nil"))
    assert {"map", "foldl", "Cons", "List", "mod"} <= set(dir(p))


def test_a_module_gets_the_library_once() -> None:
    mod = IRModule()
    p = relay.Prelude(mod)
    before = mod.snapshot()
    assert p.mod is mod
    relay.Prelude(mod)
    assert mod.same_contents(before)


def test_misspelt_names_are_explained() -> None:
    with pytest.raises(UnknownNameError, match="did you mean `foldl`"):
        relay.Prelude().foldll  # noqa: B018
