"""Running module and function passes (pass-infra-semantics, section 4, and the laws of identity and immutability)."""

from __future__ import annotations

import pytest

from passlab.errors import Diagnostic, DiagnosticError, PassError, PassTypeError
from passlab.instrument import Recorder
from passlab.ir import Function, IRModule, Var
from passlab.transform import PassContext, current_run, function_pass, get_pass, is_optimizable, module_pass
from tests.transform.programs import chain, idle, make, operators, raising, replacing


def typed(mod):
    return get_pass("InferType")(mod)


# ---------------------------------------------------------------- calling
def test_a_pass_takes_exactly_one_argument():
    with pytest.raises(TypeError):
        idle()(chain("exp"), PassContext())


@pytest.mark.parametrize("value", [None, 3, "def @main() {}", chain("exp")["main"]])
def test_anything_but_a_module_is_a_type_error_naming_the_pass(value):
    with pytest.raises(PassTypeError, match="Idle"):
        idle()(value)


def test_called_directly_a_pass_runs_whatever_its_level_and_the_disabled_list_say():
    with PassContext(opt_level=0, disabled_pass=["exp_to_tanh"]):
        assert operators(replacing("exp", "tanh", opt_level=3)(chain("exp"))) == ["tanh"]


def test_the_context_given_to_a_pass_is_the_current_one():
    seen = []
    look = module_pass(lambda mod, ctx: seen.append(ctx) or mod, opt_level=0, name="look")
    with PassContext() as context:
        look(chain("exp"))
    assert seen == [context]


# ---------------------------------------------------------------- identity
def test_a_module_pass_that_changes_nothing_returns_the_same_module():
    mod = chain("exp")
    assert idle()(mod) is mod
    assert module_pass(lambda m, ctx: m.snapshot(), opt_level=0, name="copy")(mod) is mod


def test_a_function_pass_that_changes_nothing_returns_the_same_typed_module():
    mod = typed(chain("exp"))
    assert replacing("tanh", "exp")(mod) is mod


def test_unchanged_functions_stay_the_same_objects():
    mod = chain("exp")
    mod["other"] = chain("tanh")["main"]
    mod = typed(mod)
    new = replacing("exp", "log")(mod)
    assert new["other"] is mod["other"]
    assert new["main"] is not mod["main"]


# ---------------------------------------------------------------- editing in place, the way of TVM
def test_a_pass_may_edit_the_module_it_gets_without_touching_the_input():
    @module_pass(opt_level=0)
    def add_other(mod, ctx):
        mod["other"] = chain("tanh")["main"]
        mod.update_func(mod.get_global_var("main"), chain("log")["main"])
        return mod

    mod = chain("exp")
    new = add_other(mod)
    assert [gv.name_hint for gv in mod.get_global_vars()] == ["main"]
    assert operators(mod) == ["exp"]
    assert [gv.name_hint for gv in new.get_global_vars()] == ["main", "other"]
    assert operators(new) == ["log"]


def test_a_pass_that_edits_and_then_raises_leaves_its_input_alone():
    @module_pass(opt_level=0)
    def half(mod, ctx):
        mod["other"] = chain("tanh")["main"]
        raise ZeroDivisionError

    mod = chain("exp")
    with pytest.raises(ZeroDivisionError):
        half(mod)
    assert "other" not in mod


def test_functions_are_transformed_against_the_module_as_it_was():
    seen = []

    @function_pass(opt_level=0)
    def look(func, mod, ctx):
        seen.append([operators(mod, name) for name, _ in mod.items()])
        return chain("log")["main"]

    mod = chain("exp")
    mod["other"] = chain("tanh")["main"]
    look(mod)
    assert seen == [[["exp"], ["tanh"]], [["exp"], ["tanh"]]]


def test_an_immutable_module_that_was_modified_is_an_error():
    mod = chain("exp")

    @module_pass(opt_level=0)
    def through_the_back_door(_, ctx):
        mod["other"] = chain("tanh")["main"]
        return mod

    expected = "Immutable module has been modified in pass: through_the_back_door"
    with PassContext(config={"testing.immutable_module": True}), pytest.raises(PassError, match=expected):
        through_the_back_door(mod)


def test_an_immutable_module_that_was_not_modified_is_no_error():
    with PassContext(config={"testing.immutable_module": True}):
        assert operators(replacing("exp", "tanh")(chain("exp"))) == ["tanh"]


# ---------------------------------------------------------------- which functions a function pass visits
@pytest.mark.parametrize("attrs", [{"SkipOptimization": 1}, {"Compiler": "dnnl"}, {"Extern": 1}])
def test_marked_functions_are_not_visited(attrs):
    mod = chain("exp")
    mod["main"] = mod["main"].with_attr(attrs)
    assert not is_optimizable(mod["main"])
    assert operators(replacing("exp", "tanh")(mod)) == ["exp"]


@pytest.mark.parametrize("attrs", [{"SkipOptimization": 0}, {"Primitive": 1}, {"Extern": 0}, {"Inline": 1}])
def test_other_attributes_do_not_keep_a_function_from_being_visited(attrs):
    mod = chain("exp")
    mod["main"] = mod["main"].with_attr(attrs)
    assert operators(replacing("exp", "tanh")(mod)) == ["tanh"]


# ---------------------------------------------------------------- types after a function pass
def test_a_function_pass_leaves_a_typed_module():
    assert replacing("exp", "tanh")(chain("exp"))["main"].body.checked_type_ is not None


def test_a_module_pass_does_not_infer_types():
    mod = chain("exp")
    assert idle()(mod)["main"].body.checked_type_ is None


def test_types_are_inferred_by_a_complete_pass_inside_the_function_pass():
    recorder = Recorder()
    with PassContext(instruments=[recorder]):
        replacing("exp", "tanh")(chain("exp"))
    (event,) = recorder.recording.steps[1:]
    assert [child.name for child in event.children] == ["InferType"]


def test_an_instrument_that_refuses_infer_type_leaves_the_result_untyped():
    class NoTypes(Recorder):
        def should_run(self, mod, info):
            return info.name != "InferType"

    with PassContext(instruments=[NoTypes()]):
        assert replacing("exp", "tanh")(chain("exp"))["main"].body.checked_type_ is None


# ---------------------------------------------------------------- wrong results
@pytest.mark.parametrize("result", [None, 3, "text"])
def test_a_module_pass_with_a_wrong_result_is_a_type_error_naming_it(result):
    wrong = module_pass(lambda mod, ctx: result, opt_level=0, name="Wrong")
    with pytest.raises(PassTypeError, match="Wrong"):
        wrong(chain("exp"))


@pytest.mark.parametrize("result", [None, 3, Var("x")])
def test_a_function_pass_with_a_wrong_result_is_a_type_error_naming_it_and_the_function(result):
    wrong = function_pass(lambda func, mod, ctx: result, opt_level=0, name="Wrong")
    with pytest.raises(PassTypeError, match=r"(?s)Wrong.*@main"):
        wrong(chain("exp"))


def test_a_forgotten_return_is_named():
    with pytest.raises(PassTypeError, match="without a `return`"):
        module_pass(lambda mod, ctx: None, opt_level=0, name="Wrong")(chain("exp"))


def test_a_function_left_with_free_variables_is_refused():
    loose = function_pass(lambda f, mod, ctx: Function([], make("exp", Var("y"))), opt_level=0, name="Loose")
    with pytest.raises(DiagnosticError, match=r"(?s)Loose.*free variables: %y"):
        loose(chain("exp"))


def test_errors_of_user_code_keep_their_type_and_say_where_they_came_from():
    with pytest.raises(ZeroDivisionError) as caught:
        raising("Boom")(chain("exp"))
    assert getattr(caught.value, "__notes__", ["raised in the pass Boom"]) == ["raised in the pass Boom"]


# ---------------------------------------------------------------- diagnostics
def test_a_pass_reports_into_the_diagnostic_context_which_is_there_while_it_runs():
    seen = []

    @module_pass(opt_level=0)
    def report(mod, ctx):
        seen.append(ctx.diag_ctx)
        ctx.diag_ctx.emit(Diagnostic("only a remark", severity="warning"))
        return mod

    with PassContext() as context:
        report(chain("exp"))
        assert context.diag_ctx is None
    assert [d.message for d in seen[0].diagnostics] == ["only a remark"]


@pytest.mark.parametrize("make_pass", [module_pass, function_pass])
def test_one_error_among_the_diagnostics_raises_them_all_when_the_pass_has_ended(make_pass):
    def report(*arguments):
        diagnostics = arguments[-1].diag_ctx
        diagnostics.emit(Diagnostic("first"))
        diagnostics.emit(Diagnostic("second", severity="warning"))
        return arguments[0]

    with pytest.raises(DiagnosticError) as caught:
        make_pass(report, opt_level=0)(chain("exp"))
    assert [d.message for d in caught.value.diagnostics] == ["first", "second"]


def test_the_diagnostic_context_of_the_outer_pass_is_back_after_an_inner_one_even_if_that_raised():
    seen = []

    @module_pass(opt_level=0)
    def outer(mod, ctx):
        mine = ctx.diag_ctx
        with pytest.raises(ZeroDivisionError):
            raising()(mod)
        seen.append(ctx.diag_ctx is mine)
        return mod

    outer(chain("exp"))
    assert seen == [True]


def test_the_running_passes_are_known_while_they_run():
    seen = []
    look = module_pass(lambda mod, ctx: seen.append(current_run().path()) or mod, opt_level=0, name="look")
    outer = module_pass(lambda mod, ctx: look(mod), opt_level=0, name="outer")
    outer(IRModule())
    assert seen == ["outer > look"]
    assert current_run() is None
