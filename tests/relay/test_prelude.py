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


def test_types_and_constructors_have_their_names_of_old_releases_too() -> None:
    p = relay.Prelude()
    assert (p.l, p.nil, p.cons) == (p.List, p.Nil, p.Cons)
    assert (p.optional, p.none, p.some) == (p.Option, p.get_ctor("Option", "None"), p.Some)
    assert (p.tree, p.rose) == (p.Tree, p.Rose)


def test_a_function_of_the_module_goes_before_an_old_name() -> None:
    mod = IRModule()
    mod["l"] = relay.Function([], relay.const(1.0))
    assert isinstance(relay.Prelude(mod).l, GlobalVar)
