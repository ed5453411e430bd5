"""module_pass and function_pass, on functions and classes (pass-infra-semantics, section 5)."""

from __future__ import annotations

import pytest

import passlab
from passlab.errors import PassTypeError, PassValueError
from passlab.ir import IRModule
from passlab.transform import EXACT, FunctionPass, ModulePass, function_pass, module_pass
from tests.transform.programs import chain, operators

BOTH = pytest.mark.parametrize(("decorator", "base"), [(module_pass, ModulePass), (function_pass, FunctionPass)])


@BOTH
def test_opt_level_is_needed(decorator, base):
    with pytest.raises(PassValueError, match=r"Please provide opt_level for the (module|function) pass."):
        decorator(lambda *a: a[0])
    with pytest.raises(ValueError, match="opt_level"):
        decorator()


@BOTH
@pytest.mark.parametrize("required", ["InferType", {"InferType"}, 3])
def test_required_must_be_a_list_or_tuple(decorator, base, required):
    with pytest.raises(PassTypeError, match="Required is expected to be the type of list/tuple"):
        decorator(lambda *a: a[0], opt_level=1, required=required)


@BOTH
@pytest.mark.parametrize("target", [3, "name", object()])
def test_what_cannot_be_called_is_refused(decorator, base, target):
    with pytest.raises(PassTypeError, match=r"pass_func must be a callable for (Module|Function) pass"):
        decorator(target, opt_level=1)


@BOTH
def test_a_function_becomes_a_pass(decorator, base):
    @decorator(opt_level=2, required=["InferType"])
    def mine(*arguments):
        """Say what it does."""
        return arguments[0]

    assert isinstance(mine, base)
    assert (mine.info.opt_level, mine.info.name, mine.info.required) == (2, "mine", ["InferType"])
    assert mine.__doc__ == "Say what it does."


@BOTH
def test_given_directly_the_pass_comes_back_without_a_second_call(decorator, base):
    pass_ = decorator(lambda *a: a[0], 1, "Named", ("InferType",))
    assert isinstance(pass_, base)
    assert (pass_.info.name, pass_.info.required) == ("Named", ["InferType"])


@BOTH
def test_what_has_no_name_has_that_of_its_class(decorator, base):
    class Callable:
        def __call__(self, *arguments):
            return arguments[0]

    assert decorator(Callable(), opt_level=1).info.name == "Callable"
    assert decorator(Callable(), opt_level=1, name="Given").info.name == "Given"


def test_the_function_stays_within_reach():
    def mine(mod, ctx):
        return mod

    assert module_pass(mine, opt_level=1).pass_func is mine


def test_a_contract_may_be_given():
    assert module_pass(lambda m, c: m, opt_level=1, name="A", contract=EXACT).contract == EXACT
    assert module_pass(lambda m, c: m, opt_level=1, name="A").contract is None


# ---------------------------------------------------------------- classes
@function_pass(opt_level=1)
class Replace:
    """Put one function in the place of all."""

    def __init__(self, new_func, times=1):
        self.new_func = new_func
        self.times = times

    def transform_function(self, func, mod, ctx):
        return self.new_func


@module_pass(opt_level=2, name="Adder", required=["InferType"])
class Add:
    """Add a function."""

    def __init__(self, name):
        self.name = name

    def transform_module(self, mod, ctx):
        mod[self.name] = chain("tanh")["main"]
        return mod


def test_a_class_becomes_a_class_of_passes_that_looks_like_it():
    assert isinstance(Replace, type)
    assert issubclass(Replace, FunctionPass)
    assert (Replace.__name__, Replace.__doc__) == ("Replace", "Put one function in the place of all.")
    assert Replace.__module__ == __name__
    assert Replace.__init__.__name__ == "__init__"
    assert list(Replace.__init__.__wrapped__.__code__.co_varnames) == ["self", "new_func", "times"]


def test_an_instance_runs_the_method_of_the_users_object():
    assert operators(Replace(chain("log")["main"])(chain("exp"))) == ["log"]
    assert "other" in Add("other")(IRModule())


def test_all_instances_share_their_info():
    assert Add("a").info is Add("b").info
    assert (Add("a").info.name, Add("a").info.opt_level, Add("a").info.required) == ("Adder", 2, ["InferType"])


def test_unknown_attributes_are_those_of_the_users_object():
    assert Replace(None, times=3).times == 3
    with pytest.raises(AttributeError):
        _ = Replace(None).missing


def test_a_class_without_the_method_is_refused_at_once():
    with pytest.raises(PassTypeError, match="the class Empty has no method `transform_module`"):

        @module_pass(opt_level=1)
        class Empty:
            """Has no transform_module."""

    with pytest.raises(PassTypeError, match="is `transform_func` meant"):

        @function_pass(opt_level=1)
        class Misspelt:
            def transform_func(self, func, mod, ctx):
                return func


def test_a_function_pass_cannot_add_functions():
    @function_pass(opt_level=1)
    def adding(func, mod, ctx):
        mod["other"] = func
        return func

    assert [name for name, _ in adding(passlab.parse("def @main(%x: int32) { %x }")).items()] == ["main"]


def test_the_constructors_own_errors_come_through():
    with pytest.raises(TypeError, match="new_func"):
        Replace()
