"""Sequential: what runs, in which order, after which required passes (pass-infra-semantics, sections 4 and 7)."""

from __future__ import annotations

import pytest

from passlab.errors import PassError, PassTypeError
from passlab.instrument import PassInstrument
from passlab.ir import IRModule
from passlab.transform import EXACT, PassContext, Rounds, Sequential, module_pass, register_pass, unregister_pass
from tests.transform.programs import chain, idle, operators, replacing


class Names(PassInstrument):
    """The names of the passes that ran, in order of starting."""

    def __init__(self, *refused):
        super().__init__()
        self.ran, self.refused = [], refused

    def should_run(self, mod, info):
        return info.name not in self.refused

    def run_before_pass(self, mod, info):
        self.ran.append(info.name)


def names_of(pipeline, mod=None, **context):
    names = Names(*context.pop("refused", ()))
    with PassContext(**{"opt_level": 3, **context}, instruments=[names]):
        pipeline(IRModule() if mod is None else mod)
    return names.ran


@pytest.fixture
def registered():
    """Registers passes by name for one test."""
    names = []

    def add(thing, name=None):
        names.append(name or thing.info.name)
        return register_pass(thing, name)

    yield add
    for name in names:
        unregister_pass(name)


def test_defaults():
    pipeline = Sequential()
    assert (pipeline.passes, pipeline.info.opt_level, pipeline.info.name, pipeline.info.required) == (
        [],
        0,
        "sequential",
        [],
    )
    mod = chain("exp")
    assert pipeline(mod) is mod


def test_passes_run_in_the_order_of_the_list():
    mod = Sequential([replacing("exp", "tanh"), replacing("tanh", "log")])(chain("exp"))
    assert operators(mod) == ["log"]
    assert operators(Sequential([replacing("tanh", "log"), replacing("exp", "tanh")])(chain("exp"))) == ["tanh"]


def test_a_pipeline_does_what_its_passes_do_one_by_one():
    a, b = replacing("exp", "tanh"), replacing("tanh", "log")
    together, apart = Sequential([a, b])(chain("exp", "abs")), b(a(chain("exp", "abs")))
    assert operators(together) == operators(apart) == ["log", "abs"]


def test_the_pipeline_itself_is_an_enclosing_event():
    assert names_of(Sequential([idle("A"), Sequential([idle("B")], name="inner")])) == ["sequential", "A", "inner", "B"]


def test_refusing_the_pipeline_skips_all_of_it():
    assert names_of(Sequential([idle("A")], name="mine"), refused=["mine"]) == []


def test_passes_that_are_not_enabled_are_skipped_without_a_word_to_instruments():
    pipeline = Sequential([idle("A"), idle("B", opt_level=4), idle("C")])
    assert names_of(pipeline, disabled_pass=["C"]) == ["sequential", "A"]
    assert names_of(pipeline, opt_level=4) == ["sequential", "A", "B", "C"]
    assert names_of(pipeline, opt_level=0, required_pass=["B"]) == ["sequential", "A", "B", "C"]


def test_an_inner_pipeline_is_enabled_by_its_own_level():
    assert names_of(Sequential([Sequential([idle("A")], opt_level=4, name="inner")])) == ["sequential"]
    assert names_of(Sequential([idle("A")], opt_level=4)) == ["sequential", "A"]


# ---------------------------------------------------------------- required passes
def test_required_passes_run_right_before_each_time_and_unconditionally(registered):
    registered(idle("Need", opt_level=9))
    pipeline = Sequential([idle("A", required=["Need"]), idle("B", required=["Need"]), idle("Need", opt_level=9)])
    assert names_of(pipeline, disabled_pass=["Need"]) == ["sequential", "Need", "A", "Need", "B"]


def test_the_required_passes_of_a_skipped_pass_do_not_run(registered):
    registered(idle("Need"))
    assert names_of(Sequential([idle("A", opt_level=4, required=["Need"])])) == ["sequential"]


def test_a_pass_called_directly_runs_without_its_required_passes(registered):
    registered(idle("Need"))
    assert names_of(idle("A", required=["Need"])) == ["A"]


def test_required_passes_are_not_resolved_further(registered):
    registered(idle("Deep"))
    registered(idle("Need", required=["Deep"]))
    assert names_of(Sequential([idle("A", required=["Need"])])) == ["sequential", "Need", "A"]


def test_the_required_passes_of_a_pipeline_run_when_it_is_in_another(registered):
    registered(idle("Need"))
    inner = Sequential([idle("A")], name="inner", required=["Need"])
    assert names_of(inner) == ["inner", "A"]
    assert names_of(Sequential([inner])) == ["sequential", "Need", "inner", "A"]


def test_a_required_pass_may_be_named_with_options_as_in_text():
    """In TVM factories with arguments cannot be named, which breaks several of its own lists."""
    pipeline = Sequential([idle("A", required=["PrintIR(header='', show_meta_data=False)"])])
    names = Names("PrintIR")
    with PassContext(instruments=[names]):
        pipeline(IRModule())
    assert names.ran == ["sequential", "A"]


def test_a_required_pass_may_be_named_as_in_relays_registry(registered):
    registered(idle("Need"))
    assert names_of(Sequential([idle("A", required=["relay._transform.Need"])])) == ["sequential", "Need", "A"]


def test_an_unknown_required_pass_is_an_error_that_says_whose_it_is():
    with pytest.raises(PassError, match=r"(?s)`FuseOp`.*required passes of `A`.*did you mean `FuseOps`"):
        Sequential([idle("A", required=["FuseOp"])])(IRModule())


@pytest.mark.parametrize("through", [[], ["B"], ["B", "C"]])
def test_passes_that_require_each_other_in_a_cycle_are_reported(registered, through):
    cycle = ["A", *through]
    for name, needed in zip(cycle, [*through, "A"], strict=True):
        registered(idle(name, required=[needed]))
    expected = " -> ".join([*cycle, "A"])
    with pytest.raises(PassError, match=f"in a cycle: {expected}"):
        Sequential([idle("A", required=[[*through, "A"][0]])])(IRModule())


def test_a_cycle_through_a_required_pipeline_is_reported(registered):
    registered(Sequential([idle("A", required=["Group"])], name="Group"))
    with pytest.raises(PassError, match="in a cycle: A -> Group -> A"):
        Sequential([idle("A", required=["Group"])])(IRModule())


# ---------------------------------------------------------------- wrong lists
@pytest.mark.parametrize("passes", ["FoldConstant", 3, idle(), {"a": idle()}])
def test_passes_must_be_a_list(passes):
    with pytest.raises(PassTypeError, match="must be a list"):
        Sequential(passes)


@pytest.mark.parametrize("child", [None, 3, len, Sequential])
def test_what_is_not_a_pass_is_named_with_its_place(child):
    with pytest.raises(PassTypeError, match="element 2 of the pipeline `mine`"):
        Sequential([idle(), child], name="mine")


def test_a_class_in_the_list_is_told_to_be_made():
    with pytest.raises(PassTypeError, match=r"write `Sequential\(\)`"):
        Sequential([Sequential])


def test_the_list_of_passes_cannot_be_changed_from_outside():
    pipeline = Sequential([idle("A")])
    pipeline.passes.append(idle("B"))
    assert [p.info.name for p in pipeline.passes] == ["A"]


def test_after_an_error_the_context_and_the_input_are_as_before():
    mod = chain("exp")
    boom = module_pass(lambda m, ctx: 1 // 0, opt_level=0, name="boom")
    context = PassContext.current()
    with pytest.raises(ZeroDivisionError):
        Sequential([replacing("exp", "tanh"), boom])(mod)
    assert PassContext.current() is context
    assert operators(mod) == ["exp"]


def test_the_contract_of_a_pipeline_combines_those_of_its_passes():
    exact, rounds = idle("A"), idle("B")
    exact.contract, rounds.contract = EXACT, Rounds(2)
    assert Sequential([exact, rounds, rounds]).contract == Rounds(4)
    assert Sequential([exact]).contract == EXACT
    assert Sequential([exact, idle("C")]).contract is None


# ---------------------------------------------------------------- section 7: how many events
def test_event_counts_of_tvm():
    pipeline = Sequential.from_text("InferType, FoldConstant, DeadCodeElimination")
    expected = ["sequential", "InferType", "FoldConstant", "InferType", "InferType", "DeadCodeElimination"]
    assert names_of(pipeline, chain("exp")) == expected


def test_a_single_module_pass_is_one_event_and_a_function_pass_two():
    assert names_of(idle("A"), chain("exp")) == ["A"]
    assert names_of(replacing("exp", "tanh", name="B"), chain("exp")) == ["B", "InferType"]
