"""Declaring standard passes: level, requirements, contract and options on one class."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from passlab import transform
from passlab.errors import PassTypeError, PassValueError
from passlab.ir import IRModule
from passlab.passes.simplify.simplify_expr import RULES
from passlab.transform import (
    EXACT,
    FINITE,
    ModulePass,
    PassContext,
    Rounds,
    Sequential,
    find_factory,
    list_passes,
    standard_pass,
)
from tests.transform.programs import idle


@standard_pass(opt_level=2, required=("InferType",), contract=Rounds(2), name="Named")
class Sample(ModulePass):
    """A pass with options of every kind."""

    depth: int = 3
    flag: bool = False
    rate: float = 0.5
    title: str | None = None
    skip: Callable[..., bool] | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self):
        if self.depth < 0:
            raise ValueError("depth must not be negative")

    def transform_module(self, mod, ctx):
        return mod


@standard_pass(opt_level=0)
class Group(Sequential):
    """A pipeline with an option."""

    twice: bool = False

    def make_passes(self):
        return [idle("A")] * (2 if self.twice else 1)


def test_the_declaration_is_what_the_pass_manager_reads():
    info = Sample.info
    assert (info.name, info.opt_level, info.required) == ("Named", 2, ["InferType"])
    assert Sample().info is info
    assert Sample.contract == Rounds(2)


def test_options_by_position_and_by_keyword():
    assert (Sample(5, True).depth, Sample(5, True).flag) == (5, True)
    assert Sample(depth=7).depth == 7
    assert Sample().depth == 3


def test_options_never_change():
    result = Sample()
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.depth = 4


def test_only_what_differs_from_the_default_is_shown():
    assert Sample().options() == {}
    assert repr(Sample(5, title="t", names=("a",))) == "Sample(depth=5, title='t', names=('a',))"
    assert repr(Sample()) == "Sample"
    assert str(Sample()) == "Run Module pass: Named at the optimization level 2"


def test_an_unknown_option_is_an_error_with_the_nearest():
    with pytest.raises(PassTypeError, match=r"(?s)no option `dept`.*did you mean `depth`"):
        Sample(dept=3)


@pytest.mark.parametrize("options", [{"depth": "3"}, {"depth": 3.5}, {"flag": 2}, {"rate": "fast"}, {"title": 3},
                                     {"depth": None}])  # fmt: skip
def test_an_ill_typed_option_is_an_error_that_names_it(options):
    with pytest.raises(PassTypeError, match=f"bad value for the option `{next(iter(options))}`"):
        Sample(**options)


def test_numbers_of_the_neighbouring_kind_are_taken():
    assert Sample(flag=1).flag is True
    assert Sample(rate=2).rate == 2.0
    assert Sample(depth=True).depth == 1


def test_too_many_options_are_an_error():
    with pytest.raises(PassTypeError, match="takes 6 options"):
        Sample(1, True, 0.5, None, None, (), 7)


def test_a_missing_option_is_named():
    @standard_pass(opt_level=0)
    class Needs(ModulePass):
        """Needs an option."""

        count: int

    with pytest.raises(PassTypeError, match="`count` is missing; it has no default"):
        Needs()


def test_a_refused_value_is_a_value_error():
    with pytest.raises(PassValueError, match="Sample: depth must not be negative"):
        Sample(-1)


def test_a_declared_pipeline_makes_its_passes_from_its_options():
    assert [p.info.name for p in Group(twice=True).passes] == ["A", "A"]
    assert Group(True)(IRModule()) is not None
    assert Group(True).as_text() == "Group(twice=True)"
    assert str(Group()).endswith("[A ]")


def test_a_declared_pass_runs_without_options_of_a_context():
    mod = IRModule()
    with PassContext(opt_level=0):
        assert Sample()(mod) is mod


def test_what_is_no_pass_class_cannot_be_declared():
    with pytest.raises(PassTypeError):
        standard_pass(opt_level=0)(dict)


def test_contracts_add_up_and_print_as_they_are_written():
    assert [str(p) for p in (EXACT, FINITE, Rounds(2), FINITE + Rounds(1))] == [
        "EXACT", "FINITE", "Rounds(2)", "Rounds(1) + FINITE",
    ]  # fmt: skip
    assert EXACT.exact
    assert not FINITE.exact
    assert Rounds(1) + Rounds(2) == Rounds(3)
    assert EXACT + FINITE == FINITE


def test_every_printed_contract_can_be_typed():
    printed = {row["contract"]: find_factory(row["pass"]).contract for row in list_passes().frame().to_dict("records")}
    printed |= {str(rule.contract): rule.contract for rule in RULES}
    unusual = (Rounds(0.5), Rounds(1048577), Rounds(0, approximates=True), Rounds(3, approximates=True) + FINITE)
    printed |= {repr(contract): contract for contract in unusual}
    assert len(printed) > 10
    for text, contract in printed.items():
        assert (eval(text, {}, vars(transform)) if text else None) == contract, text
