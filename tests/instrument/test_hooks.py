"""The order of the hooks of an instrument, also when one raises (pass-infra-semantics, section 6)."""

from __future__ import annotations

import pytest

from passlab.errors import PassTypeError
from passlab.instrument import PassInstrument, pass_instrument
from passlab.ir import IRModule
from passlab.transform import PassContext, Sequential, module_pass
from tests.transform.programs import chain, idle, raising, replacing


class Log:
    """What was called, in order. `boom` names the hook, as in "A.enter", that raises."""

    def __init__(self, *names, boom="", refuse=()):
        self.calls, self.boom, self.refuse = [], boom, refuse
        self.instruments = [Spy(name, self) for name in names]

    def note(self, spy, hook, mod=None, info=None):
        call = f"{spy}.{hook}" + (f" {info.name}" if info else "")
        self.calls.append(call)
        if self.boom and call.startswith(self.boom):
            raise KeyError(self.boom)


class Spy(PassInstrument):
    """Writes every call into a log."""

    def __init__(self, name, log):
        super().__init__()
        self.name, self.log = name, log

    def enter_pass_ctx(self):
        self.log.note(self, "enter")

    def exit_pass_ctx(self):
        self.log.note(self, "exit")

    def should_run(self, mod, info):
        self.log.note(self, "should", mod, info)
        return f"{self.name} {info.name}" not in self.log.refuse

    def run_before_pass(self, mod, info):
        self.log.note(self, "before", mod, info)

    def run_after_pass(self, mod, info):
        self.log.note(self, "after", mod, info)

    def pass_failed(self, mod, info, error):
        self.log.note(self, "failed", mod, info)


def run(log, pass_, **context):
    with PassContext(instruments=log.instruments, **context):
        pass_(IRModule())


ONE = ["A.should P", "B.should P", "A.before P", "B.before P", "A.after P", "B.after P"]


def test_order_of_two_instruments_around_one_pass_exit_is_not_reversed():
    log = Log("A", "B")
    run(log, idle("P"))
    assert log.calls == ["A.enter", "B.enter", *ONE, "A.exit", "B.exit"]


def test_nested_passes_run_the_whole_protocol_inside():
    log = Log("A")
    run(log, Sequential([idle("P")], name="S"))
    inside = ["A.should P", "A.before P", "A.after P"]
    assert log.calls == ["A.enter", "A.should S", "A.before S", *inside, "A.after S", "A.exit"]


def test_every_should_run_is_asked_even_after_a_refusal():
    log = Log("A", "B", refuse={"A P"})
    run(log, idle("P"))
    assert log.calls == ["A.enter", "B.enter", "A.should P", "B.should P", "A.exit", "B.exit"]


def test_a_refused_pass_returns_the_very_input():
    log = Log("A", "B", refuse={"B exp_to_tanh"})
    mod = chain("exp")
    with PassContext(instruments=log.instruments):
        assert replacing("exp", "tanh")(mod) is mod


def test_a_required_pass_of_the_context_runs_without_being_asked_about():
    log = Log("A", refuse={"A P"})
    run(log, idle("P"), required_pass=["P"])
    assert log.calls == ["A.enter", "A.before P", "A.after P", "A.exit"]


def test_a_should_run_without_an_answer_is_an_error_not_a_refusal():
    @pass_instrument
    class Forgot:
        def should_run(self, mod, info):
            pass

    with PassContext(instruments=[Forgot()]), pytest.raises(PassTypeError, match=r"(?s)Forgot.*`P`"):
        idle("P")(IRModule())


def test_after_gets_the_result():
    seen = []

    class Looker(PassInstrument):
        def run_before_pass(self, mod, info):
            seen.append(mod)

        def run_after_pass(self, mod, info):
            seen.append(mod)

    mod = IRModule()
    with PassContext(instruments=[Looker()]):
        new = module_pass(lambda m, ctx: chain("exp"), opt_level=0, name="new")(mod)
    assert seen == [mod, new]


# ---------------------------------------------------------------- exceptions, row by row
@pytest.mark.parametrize(
    ("boom", "calls"),
    [
        ("A.enter", ["A.enter"]),
        ("B.enter", ["A.enter", "B.enter", "A.exit"]),
        ("C.enter", ["A.enter", "B.enter", "C.enter", "B.exit", "A.exit"]),
    ],
)
def test_enter_raises_those_entered_leave_in_reverse_and_the_list_is_cleared(boom, calls):
    log = Log("A", "B", "C", boom=boom)
    context, outer = PassContext(instruments=log.instruments), PassContext.current()
    with pytest.raises(KeyError), context:
        pass
    assert log.calls == calls
    assert context.instruments == []
    assert PassContext.current() is outer


def test_exit_raises_later_ones_do_not_leave_and_the_list_is_cleared():
    log = Log("A", "B", "C", boom="B.exit")
    context, outer = PassContext(instruments=log.instruments), PassContext.current()
    with pytest.raises(KeyError), context:
        pass
    assert log.calls == ["A.enter", "B.enter", "C.enter", "A.exit", "B.exit"]
    assert context.instruments == []
    assert PassContext.current() is outer


def test_should_run_raises_later_ones_are_not_asked_and_nothing_runs():
    log = Log("A", "B", boom="A.should")
    with pytest.raises(KeyError):
        run(log, idle("P"))
    assert log.calls == ["A.enter", "B.enter", "A.should P", "A.exit", "B.exit"]


def test_before_raises_later_ones_and_the_pass_do_not_run():
    log = Log("A", "B", "C", boom="B.before")
    with pytest.raises(KeyError):
        run(log, idle("P"))
    after_asking = log.calls[6:]
    assert after_asking == ["A.before P", "B.before P", "A.failed P", "A.exit", "B.exit", "C.exit"]


def test_the_pass_raises_no_after_is_called_at_all():
    log = Log("A", "B")
    with pytest.raises(ZeroDivisionError):
        run(log, raising("P"))
    assert log.calls[4:] == ["A.before P", "B.before P", "A.failed P", "B.failed P", "A.exit", "B.exit"]


def test_after_raises_later_ones_are_not_called_and_the_result_is_lost():
    log = Log("A", "B", "C", boom="B.after")
    with pytest.raises(KeyError):
        run(log, idle("P"))
    assert log.calls[-6:] == ["A.after P", "B.after P", "C.failed P", "A.exit", "B.exit", "C.exit"]


@pytest.mark.parametrize("boom", ["", "A.before", "B.before", "A.after", "B.after", "C.after", "B.should"])
@pytest.mark.parametrize("inner", [idle("P"), raising("P")])
def test_every_before_is_answered_by_exactly_one_after_or_failed(boom, inner):
    log = Log("A", "B", "C", boom=boom)
    with PassContext(instruments=log.instruments):
        try:
            Sequential([inner, idle("Q")], name="S")(IRModule())
        except (KeyError, ZeroDivisionError):
            log.calls.append("raised")
    for name in "ABC":
        for pass_ in "SPQ":
            begun = log.calls.count(f"{name}.before {pass_}") - (boom == f"{name}.before" and pass_ == "S")
            ended = log.calls.count(f"{name}.after {pass_}") + log.calls.count(f"{name}.failed {pass_}")
            assert begun == ended


def test_an_error_of_pass_failed_does_not_hide_the_first_one(caplog):
    log = Log("A", "B", boom="A.failed")
    with pytest.raises(ZeroDivisionError):
        run(log, raising("P"))
    assert "B.failed P" in log.calls
    assert "pass_failed raised" in caplog.text


def test_an_error_of_exit_while_entering_fails_does_not_hide_the_first_one(caplog):
    class Stubborn(PassInstrument):
        def exit_pass_ctx(self):
            raise ValueError

    log = Log("A", boom="A.enter")
    with pytest.raises(KeyError), PassContext(instruments=[Stubborn(), *log.instruments]):
        pass
    assert "exit_pass_ctx raised" in caplog.text


def test_disabled_instrumentation_is_logged(caplog):
    caplog.set_level("INFO", "passlab.transform")
    with pytest.raises(KeyError), PassContext(instruments=Log("A", boom="A.enter").instruments):
        pass
    with pytest.raises(KeyError), PassContext(instruments=Log("A", boom="A.exit").instruments):
        pass
    assert caplog.text.count("instrumentation is disabled") == 2


def test_pass_failed_gets_the_input_and_the_error():
    seen = []

    class Looker(PassInstrument):
        def pass_failed(self, mod, info, error):
            seen.append((mod, info.name, type(error)))

    mod = chain("exp")
    with PassContext(instruments=[Looker()]), pytest.raises(KeyboardInterrupt):
        raising("P", KeyboardInterrupt)(mod)
    assert seen == [(mod, "P", KeyboardInterrupt)]


# ---------------------------------------------------------------- override_instruments
def test_override_leaves_the_old_then_enters_the_new():
    log = Log("A", "B")
    a, b = log.instruments
    with PassContext(instruments=[a]) as context:
        context.override_instruments([b])
        assert context.instruments == [b]
    assert log.calls == ["A.enter", "A.exit", "B.enter", "B.exit"]


def test_override_with_none_removes_all():
    log = Log("A")
    with PassContext(instruments=log.instruments) as context:
        context.override_instruments(None)
        idle("P")(IRModule())
    assert log.calls == ["A.enter", "A.exit"]


def test_override_works_on_the_default_context():
    log = Log("A")
    context = PassContext.current()
    context.override_instruments(log.instruments)
    idle("P")(IRModule())
    context.override_instruments(None)
    assert log.calls == ["A.enter", "A.should P", "A.before P", "A.after P", "A.exit"]


def test_override_when_leaving_the_old_raises_installs_nothing():
    log = Log("A", "B", boom="A.exit")
    a, b = log.instruments
    with PassContext(instruments=[a]) as context:
        with pytest.raises(KeyError):
            context.override_instruments([b])
        assert context.instruments == []
    assert log.calls == ["A.enter", "A.exit"]


def test_override_when_entering_the_new_raises_leaves_none():
    log = Log("A", "B", "C", boom="C.enter")
    a, b, c = log.instruments
    with PassContext(instruments=[a]) as context:
        with pytest.raises(KeyError):
            context.override_instruments([b, c])
        assert context.instruments == []
    assert log.calls == ["A.enter", "A.exit", "B.enter", "C.enter", "B.exit"]


def test_override_with_what_is_no_instrument_changes_nothing():
    log = Log("A")
    with PassContext(instruments=log.instruments) as context:
        with pytest.raises(PassTypeError):
            context.override_instruments([3])
        assert context.instruments == log.instruments


def test_instruments_put_in_while_a_pass_runs_see_no_after_without_a_before():
    log = Log("A", "B")
    a, b = log.instruments
    swap = module_pass(lambda m, ctx: ctx.override_instruments([b]) or m, opt_level=0, name="P")
    with PassContext(instruments=[a]):
        swap(IRModule())
    assert log.calls == ["A.enter", "A.should P", "A.before P", "A.exit", "B.enter", "B.exit"]


# ---------------------------------------------------------------- making instruments
def test_a_decorated_class_is_an_instrument_that_looks_like_it():
    @pass_instrument
    class Mine:
        """Counts."""

        def __init__(self, start, step=1):
            self.count, self.step = start, step

        def run_after_pass(self, mod, info):
            self.count += self.step

    result = Mine(3, step=2)
    assert isinstance(result, PassInstrument)
    assert (Mine.__name__, Mine.__doc__, Mine.__module__) == ("Mine", "Counts.", __name__)
    assert str(result) == result.name == "Mine"
    with PassContext(instruments=[result]):
        Sequential([idle("P"), idle("Q")])(IRModule())
    assert result.count == 9


def test_the_decorator_may_be_called_first():
    @pass_instrument()
    class Mine:
        """Does nothing."""

    assert issubclass(Mine, PassInstrument)


def test_an_instrument_class_is_returned_unchanged():
    assert pass_instrument(Spy) is Spy


@pytest.mark.parametrize("target", [3, len, "Mine"])
def test_only_classes_can_be_decorated(target):
    with pytest.raises(PassTypeError, match="pi_cls must be a class"):
        pass_instrument(target)


def test_a_method_that_is_not_defined_is_absent():
    @pass_instrument
    class Empty:
        """Defines nothing."""

    mod = chain("exp")
    with PassContext(instruments=[Empty()]):
        assert idle("P")(mod) is mod


def test_an_instrument_shows_as_its_name_in_a_context():
    assert "instruments: [A, Spy2]" in str(PassContext(instruments=Log("A", "Spy2").instruments))


def test_a_class_that_forgets_to_call_the_base_still_has_its_name():
    class Forgetful(PassInstrument):
        def __init__(self):
            self.count = 0

    assert str(Forgetful()) == "Forgetful"


# ---------------------------------------------------------------- derived contexts
def test_a_derived_context_calls_inherited_instruments_and_enters_only_its_own():
    outside, inside = Log("A"), Log("B")
    with PassContext(1, disabled_pass=["X"], instruments=outside.instruments) as outer:
        options = {"disabled_pass": ["Y"], "config": {"testing.immutable_module": True}}
        with outer.derived(3, instruments=inside.instruments, **options) as inner:
            idle("P")(IRModule())
            assert (inner.opt_level, inner.disabled_pass) == (3, ["X", "Y"])
            assert inner.config == {"testing.immutable_module": True}
        assert PassContext.current() is outer
    assert outside.calls == ["A.enter", "A.should P", "A.before P", "A.after P", "A.exit"]
    assert inside.calls == ["B.enter", "B.should P", "B.before P", "B.after P", "B.exit"]


def test_instruments_that_override_those_of_a_derived_context_are_entered_and_the_inherited_ones_not_left():
    outside, later = Log("A"), Log("C")
    with PassContext(instruments=outside.instruments) as outer:
        with outer.derived() as inner:
            inner.override_instruments(later.instruments)
        assert outside.calls == ["A.enter"]
    assert (outside.calls, later.calls) == (["A.enter", "A.exit"], ["C.enter", "C.exit"])
