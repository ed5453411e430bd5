"""PassContext: scopes, threads, tasks, and which passes a pipeline runs (pass-infra-semantics, section 2)."""

from __future__ import annotations

import asyncio
import threading
import warnings

import pytest

from passlab.errors import PassError, PassTypeError
from passlab.instrument import PassInstrument
from passlab.transform import PassContext, PassInfo, get_pass
from passlab.transform.registry import pass_names


def test_defaults():
    context = PassContext()
    assert context.opt_level == 2
    assert (context.required_pass, context.disabled_pass, context.instruments, context.config) == ([], [], [], {})
    assert context.diag_ctx is None


def test_lists_are_copied():
    names = ["A"]
    context = PassContext(required_pass=names, disabled_pass=("B",))
    names.append("C")
    assert (context.required_pass, context.disabled_pass) == (["A"], ["B"])


@pytest.mark.parametrize("arguments", [{"required_pass": "FoldConstant"}, {"disabled_pass": 3}, {"opt_level": 2.5},
                                       {"opt_level": "3"}, {"instruments": 3}, {"instruments": [3]},
                                       {"instruments": [PassInstrument]}])  # fmt: skip
def test_wrong_arguments_are_type_errors_not_split_into_characters(arguments):
    with pytest.raises(PassTypeError):
        PassContext(**arguments)


def test_enter_returns_the_context_and_current_is_the_innermost():
    outer = PassContext(opt_level=1)
    with outer as entered:
        assert entered is outer is PassContext.current()
        with PassContext(opt_level=3) as inner:
            assert PassContext.current() is inner
        assert PassContext.current() is outer


def test_nested_contexts_inherit_nothing():
    with PassContext(opt_level=4, disabled_pass=["A"], config={"relay.FuseOps.max_depth": 3}), PassContext():
        inner = PassContext.current()
        assert (inner.opt_level, inner.disabled_pass, inner.config) == (2, [], {})


def test_one_context_may_be_entered_twice():
    context = PassContext()
    with context, context:
        assert PassContext.current() is context
    assert PassContext.current() is not context


def test_errors_of_the_body_are_not_swallowed_and_the_context_is_left():
    before = PassContext.current()
    with pytest.raises(ZeroDivisionError), PassContext():
        raise ZeroDivisionError
    assert PassContext.current() is before


def test_leaving_a_context_that_is_not_the_innermost_raises():
    outer, inner = PassContext(), PassContext()
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(PassError, match="not the innermost"):
        outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    outer.__exit__(None, None, None)


def test_current_inside_enter_and_exit_hooks_is_the_outer_context():
    seen = []

    class Looker(PassInstrument):
        def enter_pass_ctx(self):
            seen.append(PassContext.current())

        def exit_pass_ctx(self):
            seen.append(PassContext.current())

    with PassContext() as outer, PassContext(instruments=[Looker()]):
        pass
    assert seen == [outer, outer]


def in_thread(work):
    results = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results[0]


def test_each_thread_has_its_own_stack_and_default_context():
    with PassContext(opt_level=4):
        assert in_thread(lambda: PassContext.current().opt_level) == 2
    assert in_thread(PassContext.current) is not PassContext.current()


def test_the_default_context_of_a_thread_persists():
    def work():
        PassContext.current().opt_level = 7
        with PassContext(opt_level=1):
            pass
        return PassContext.current().opt_level

    assert in_thread(work) == 7
    assert PassContext.current() is PassContext.current()
    assert PassContext.current().opt_level == 2


def test_tasks_do_not_see_each_others_contexts():
    async def task(level, entered, leave):
        with PassContext(opt_level=level):
            entered.set()
            await leave.wait()
            return PassContext.current().opt_level

    async def both():
        events = [asyncio.Event() for _ in range(3)]
        first = asyncio.create_task(task(1, events[0], events[2]))
        second = asyncio.create_task(task(4, events[1], events[2]))
        await events[0].wait()
        await events[1].wait()
        outside = PassContext.current().opt_level
        events[2].set()
        return await first, await second, outside

    assert asyncio.run(both()) == (1, 4, 2)


# ---------------------------------------------------------------- PassEnabled, in its three steps
def test_disabled_beats_required():
    assert not PassContext(required_pass=["A"], disabled_pass=["A"]).pass_enabled(PassInfo(0, "A"))


def test_required_beats_the_level():
    assert PassContext(opt_level=0, required_pass=["A"]).pass_enabled(PassInfo(3, "A"))


@pytest.mark.parametrize(("level", "needed", "enabled"), [(2, 2, True), (2, 3, False), (3, 0, True), (0, 0, True)])
def test_otherwise_the_level_decides(level, needed, enabled):
    assert PassContext(opt_level=level).pass_enabled(PassInfo(needed, "A")) is enabled


def test_names_are_compared_as_they_are():
    assert PassContext(disabled_pass=["FoldExplicitPadding"]).pass_enabled(PassInfo(0, " FoldExplicitPadding"))


def test_why_a_pass_is_not_enabled():
    assert PassContext(disabled_pass=["A"]).why_disabled(PassInfo(0, "A")) == "disabled"
    assert PassContext(1).why_disabled(PassInfo(3, "A")) == "opt_level 1 < 3"
    assert PassContext(3).why_disabled(PassInfo(3, "A")) is None


@pytest.mark.parametrize("option", ["required_pass", "disabled_pass"])
def test_a_misspelled_pass_is_named_with_the_one_that_was_meant(option: str) -> None:
    for name in pass_names():
        if len(name) < 8:
            continue
        slip = name[0] + name[2] + name[1] + name[3:] if name[1] != name[2] else name[0] + name[2:]
        with pytest.warns(
            UserWarning, match=f"^{option}: there is no pass `{slip}`; did you mean `{name}`\\?$"
        ) as said:
            PassContext(**{option: [slip]})
        assert said[0].filename == __file__


def test_names_of_passes_and_of_users_passes_are_taken_as_they_are() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        names = [*pass_names(), *(get_pass(name).info.name for name in ("InferType", "FoldConstant", "FuseOps"))]
        context = PassContext(required_pass=[*names, "my_pass"], disabled_pass=["relay._transform.FoldConstant", "A"])
    assert context.required_pass == [*names, "my_pass"]
