"""The table of passes by name."""

from __future__ import annotations

import pytest

from passlab import transform
from passlab.errors import PassError, PassTypeError
from passlab.passes import ALIASES, PASSES
from passlab.transform import (
    ModulePass,
    Pass,
    Sequential,
    get_pass,
    list_passes,
    module_pass,
    pass_names,
    register_pass,
    standard_pass,
    unregister_pass,
)  # fmt: skip
from tests.transform.programs import idle


@pytest.fixture(autouse=True)
def clean():
    yield
    for name in ("Mine", "Maker"):
        unregister_pass(name)


def test_a_pass_is_made_by_name_with_options():
    pass_ = get_pass("PrintIR", header="here")
    assert isinstance(pass_, ModulePass)
    assert pass_.header == "here"
    assert get_pass("relay._transform.PrintIR").info.name == "PrintIR"


def test_an_unknown_name_is_an_error_with_the_nearest():
    with pytest.raises(PassError, match=r"(?s)no pass `PrintIr`.*did you mean `PrintIR`"):
        get_pass("PrintIr")


def test_every_standard_pass_is_a_name_of_the_package():
    for name in PASSES:
        factory = getattr(transform, name)
        assert isinstance(factory, type)
        assert issubclass(factory, Pass)
        assert name in dir(transform)


def test_every_alias_leads_to_a_pass_of_that_name():
    for alias, name in ALIASES.items():
        assert getattr(transform, name).info.name.strip() == alias.strip()


def test_every_standard_pass_is_documented_and_has_a_contract():
    for name in PASSES:
        factory = getattr(transform, name)
        assert factory.__doc__, name
        assert factory.info.name in (name, "sequential", *ALIASES, *(f" {a}" for a in PASSES)), name


def test_an_unknown_name_of_the_package_is_an_attribute_error_with_the_nearest():
    with pytest.raises(AttributeError, match="did you mean `PrintIR`"):
        _ = transform.PrintIr


def test_a_registered_pass_is_found_by_name():
    mine = register_pass(idle("Mine"))
    assert get_pass("Mine") is mine
    assert "Mine" in pass_names()
    assert Sequential.from_text("Mine").passes == [mine]
    unregister_pass("Mine")
    assert "Mine" not in pass_names()


def test_a_registered_class_or_function_is_called_each_time():
    @register_pass
    @module_pass(opt_level=1)
    class Mine:
        """Of mine."""

        def transform_module(self, mod, ctx):
            return mod

    register_pass(lambda: idle("Other"), "Maker")
    assert get_pass("Mine") is not get_pass("Mine")
    assert get_pass("Maker").info.name == "Other"


def test_registering_again_replaces():
    register_pass(idle("Mine", opt_level=1))
    register_pass(idle("Mine", opt_level=2))
    assert get_pass("Mine").info.opt_level == 2


def test_names_of_standard_passes_are_refused():
    with pytest.raises(PassError, match="standard pass"):
        register_pass(idle("PrintIR"))


def test_only_what_makes_passes_can_be_registered():
    with pytest.raises(PassTypeError):
        register_pass(3)
    register_pass(lambda: 3, "Maker")
    with pytest.raises(PassTypeError, match="did not return a pass"):
        get_pass("Maker")


def test_the_list_of_passes_is_a_table_with_a_stable_text():
    @register_pass
    @standard_pass(opt_level=3, required=("InferType",))
    class Mine(ModulePass):
        """Say what it does. At length."""

        depth: int = 4

    table = list_passes()
    (row,) = [row for row in table if row["pass"] == "Mine"]
    assert row == {
        "pass": "Mine", "other_name": "", "kind": "module", "opt_level": 3, "required": "InferType", "options": "depth=4",
        "contract": "EXACT", "what_it_does": "Say what it does. At length.",
    }  # fmt: skip
    assert str(table) == str(list_passes())
    assert list(table.frame()["pass"]) == pass_names()
    assert table.query("opt_level == 3 and kind == 'module'").shape[1] == 8
    assert "<table" in table._repr_mimebundle_()[0]["text/html"]


def test_the_pass_and_its_other_name_are_both_shown():
    register_pass(idle("Other"), "Mine")
    assert [row["other_name"] for row in list_passes() if row["pass"] == "Mine"] == ["Other"]


def test_the_table_of_passes_is_searched_by_words_in_any_column():
    assert "FuseOps" in list_passes().search("FUSE").column("pass")
    assert list_passes().search("fold", "padding").column("pass") == ["FoldExplicitPadding"]
    assert not list(list_passes().search("fold no-such-word"))
