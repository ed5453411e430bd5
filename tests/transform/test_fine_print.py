"""The rows of the fine print that no other test of this room names: old names, what a pass may leave, the machine room."""

from __future__ import annotations

import warnings

import pytest

import passlab
from passlab import relay, transform
from passlab.errors import DiagnosticError, PasslabError, PassTypeError
from passlab.ir import Function, IRModule, TypeVar, Var
from passlab.transform import PassContext, Sequential, function_pass, get_pass, module_pass
from tests.transform.programs import chain, idle


def test_build_config_is_an_old_name_of_the_context_and_says_so():
    with pytest.warns(DeprecationWarning, match="PassContext"):
        context = relay.build_config(3, ["A"], ["B"])
    assert (context.opt_level, context.required_pass, context.disabled_pass) == (3, ["A"], ["B"])
    assert context.instruments == []


def test_the_trace_of_build_config_does_not_land_among_the_instruments():
    with (
        pytest.warns(DeprecationWarning, match="deprecated"),
        pytest.raises(PassTypeError, match="not traced by a callback"),
    ):
        relay.build_config(trace=print)


def test_booleans_are_listed_with_the_type_of_integers():
    assert PassContext.list_configs()["relay.backend.use_auto_scheduler"]["type"] == "IntImm"


def test_a_function_pass_must_not_leave_free_type_variables():
    a = TypeVar("A")
    x = Var("x", a)
    loose = function_pass(lambda func, mod, ctx: Function([x], x), opt_level=0, name="Loose")
    with pytest.raises(DiagnosticError, match="`Loose` returned @main, which contains free type variables: A"):
        loose(chain("exp"))
    bound = function_pass(lambda func, mod, ctx: Function([x], x, None, [a]), opt_level=0, name="Bound")
    assert bound(chain("exp"))["main"].type_params == (a,)


@pytest.mark.parametrize("value", [idle("P"), Sequential([idle("P")], name="P"), get_pass("InferType")])
def test_every_kind_of_pass_refuses_a_function(value):
    with pytest.raises(PassTypeError, match=f"the pass `{value.info.name}` runs on a module"):
        value(chain("exp")["main"])


def test_a_module_pass_may_return_another_module_and_its_types_are_left_alone():
    other = chain("log")
    assert module_pass(lambda mod, ctx: other, opt_level=0, name="P")(chain("exp")) is other
    assert other["main"].checked_type_ is None


def test_a_pass_with_an_undefined_child_is_refused_when_the_pipeline_is_made():
    with pytest.raises(PassTypeError, match="element 2 of the pipeline"):
        Sequential([idle("A"), None])


@pytest.mark.parametrize("name", ["FoldConstant", "DeadCodeElimination"])
def test_passes_with_options_can_be_required_by_name(name):
    """Where the original calls a factory without the options it needs."""
    ran = []
    needy = module_pass(lambda mod, ctx: mod, opt_level=0, name="Needy", required=[name])

    class Names(passlab.instrument.PassInstrument):
        def run_before_pass(self, mod, info):
            ran.append(info.name)

    with PassContext(instruments=[Names()]):
        Sequential([needy])(chain("exp"))
    assert ran[1] == name
    assert ran[-1] == "Needy"


def test_functions_of_the_manager_are_found_at_both_addresses():
    for name in ("module_pass", "function_pass", "PassContext", "Sequential", "PassInfo", "get_pass", "list_passes"):
        assert getattr(relay.transform, name) is getattr(transform, name)


def test_config_that_does_not_fit_is_refused_before_any_instrument_is_entered():
    entered = []

    class Enters(passlab.instrument.PassInstrument):
        def enter_pass_ctx(self):
            entered.append(1)

    with pytest.raises(PasslabError), PassContext(instruments=[Enters()], config={"no.such": 1}):
        entered.append(2)
    assert entered == []


def test_a_run_of_a_pipeline_raises_no_warning_of_its_own():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with PassContext(opt_level=3):
            Sequential([get_pass("InferType"), get_pass("FoldConstant")])(IRModule())
