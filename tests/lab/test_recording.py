"""Recordings: one event per pass that ran, failed or was skipped, and the queries over them."""

from __future__ import annotations

import asyncio
import logging
import threading

import numpy as np
import pytest

import passlab
from passlab.errors import Diagnostic, DiagnosticError, PassError, PassTypeError
from passlab.instrument import PassTimingInstrument, Recorder
from passlab.ir import Function, IRModule
from passlab.lab.recordings.recording import Recording, record
from passlab.transform import PassContext, Sequential, get_pass, module_pass, register_pass, unregister_pass
from tests.transform.programs import chain, idle, operators, raising, replacing

TO_LOG = replacing("exp", "log", name="ToLog")
TO_SQRT = replacing("log", "sqrt", name="ToSqrt")
NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) { let %y = exp(%x); tanh(add(%y, %y)) }
"""


@pytest.fixture
def need():
    """A pass that others may require by name."""
    yield register_pass(replacing("abs", "exp", name="Need"))
    unregister_pass("Need")


def shape(rec):
    return [(e.id, e.name, e.status, e.role) for e in rec.events]


def test_the_readme_example():
    rec = record(chain("exp"), [TO_LOG, TO_SQRT])
    assert operators(rec[1].before) == ["exp"]
    assert operators(rec["ToLog"].after) == ["log"]
    assert operators(rec.output) == ["sqrt"]


def test_record_is_a_name_of_the_package():
    assert passlab.record is record
    assert passlab.Recording is Recording


# ---------------------------------------------------------------- the tree
def test_steps_are_the_passes_of_the_pipeline_and_step_0_is_the_input():
    rec = record(chain("exp"), [TO_LOG, idle("A"), [TO_SQRT, idle("B")]])
    assert shape(rec) == [
        ("0", "input", "input", "step"),
        ("1", "ToLog", "ran", "step"),
        ("1.1", "InferType", "ran", "nested"),
        ("2", "A", "ran", "step"),
        ("3", "sequential", "ran", "step"),
        ("3.1", "ToSqrt", "ran", "step"),
        ("3.1.1", "InferType", "ran", "nested"),
        ("3.2", "B", "ran", "step"),
    ]
    assert len(rec) == 4
    assert [e.id for e in rec] == ["0", "1", "2", "3"]


def test_a_single_pass_is_one_step():
    assert [e.name for e in record(chain("exp"), TO_LOG)] == ["input", "ToLog"]


def test_skipped_passes_are_events_with_their_reason():
    class NoD(PassTimingInstrument):
        def should_run(self, mod, info):
            return info.name != "D"

    passes = [idle("A"), idle("B", opt_level=4), idle("C"), idle("D")]
    rec = record(chain("exp"), passes, disabled_pass=["C"], instruments=[NoD()])
    assert [(e.name, e.status, e.reason) for e in rec[1:]] == [
        ("A", "ran", ""), ("B", "skipped", "opt_level 3 < 4"), ("C", "skipped", "disabled"),
        ("D", "skipped", "should_run of NoD"),
    ]  # fmt: skip
    assert all(e.before is e.after for e in rec[2:])


def test_plain_instruments_do_not_see_skipped_passes():
    timing = PassTimingInstrument()
    record(chain("exp"), [idle("A"), idle("B", opt_level=4)], instruments=[timing])
    assert timing.text() == "sequential\n  A"


def test_required_passes_belong_to_the_pass_that_requires_them(need):
    rec = record(chain("abs"), [idle("A"), replacing("exp", "log", name="ToLog", required=["Need"])])
    assert shape(rec)[2:] == [
        ("2", "ToLog", "ran", "step"),
        ("2.1", "Need", "ran", "required"),
        ("2.1.1", "InferType", "ran", "nested"),
        ("2.2", "InferType", "ran", "nested"),
    ]
    assert operators(rec["2.1"].before) == ["abs"]
    assert operators(rec[2].before) == ["exp"]


def test_a_required_pass_that_fails_is_an_event_of_the_pipeline():
    register_pass(raising("Breaks"))
    try:
        rec = record(chain("exp"), [idle("A"), idle("B", required=["Breaks"])])
    finally:
        unregister_pass("Breaks")
    assert [(e.name, e.status) for e in rec[1:]] == [("A", "ran"), ("Breaks", "failed")]


def test_passes_called_by_hand_in_one_context_are_steps_too():
    recorder = Recorder()
    with PassContext(instruments=[recorder]):
        mod = TO_LOG(chain("exp"))
        mod = Sequential([TO_SQRT, idle("A")])(mod)
    assert [e.name for e in recorder.recording] == ["input", "ToLog", "ToSqrt", "A"]


def test_a_recorder_that_saw_nothing():
    rec = Recorder().recording
    assert len(rec) == 1
    assert rec.last is rec.input


# ---------------------------------------------------------------- modules are shared, and safe
def test_modules_are_shared_between_events():
    rec = record(get_pass("InferType")(chain("exp")), [idle("A"), TO_LOG, idle("B")])
    assert rec[0].after is rec[1].before is rec[1].after is rec[2].before
    assert rec[2].after is rec[3].before is rec[3].after
    assert [e.changed for e in rec] == [False, False, True, False]


def test_unchanged_functions_are_the_same_objects_in_all_steps():
    mod = chain("exp")
    mod["other"] = chain("tanh")["main"]
    rec = record(get_pass("InferType")(mod), [TO_LOG])
    assert rec[1].after["other"] is rec[0].after["other"]


def test_what_the_user_does_to_modules_later_does_not_change_the_recording():
    mod = chain("exp")
    recorder = Recorder()
    with PassContext(instruments=[recorder]):
        out = TO_LOG(mod)
    mod["main"], out["main"] = chain("cos")["main"], chain("sin")["main"]
    rec = recorder.recording
    assert operators(rec.input) == ["exp"]
    assert operators(rec.last) == ["log"]


# ---------------------------------------------------------------- failures
def test_a_pass_that_raises_is_the_last_event():
    rec = record(chain("exp"), [TO_LOG, raising("Boom"), idle("Never")])
    assert [(e.name, e.status) for e in rec[1:]] == [("ToLog", "ran"), ("Boom", "failed")]
    assert isinstance(rec.error, ZeroDivisionError)
    assert rec.failed is rec[-1]
    assert rec.failed.error is rec.error
    assert operators(rec.last) == ["log"]


def test_the_output_of_a_failed_recording_raises_its_error():
    rec = record(chain("exp"), raising("Boom"))
    with pytest.raises(ZeroDivisionError):
        _ = rec.output


def test_the_partial_state_of_a_failed_module_pass_is_what_it_had_edited():
    @module_pass(opt_level=0)
    def half(mod, ctx):
        mod["other"] = chain("tanh")["main"]
        raise ZeroDivisionError

    rec = record(chain("exp"), half)
    assert "other" in rec.failed.after
    assert "other" not in rec.input


def test_the_partial_state_of_a_failed_function_pass_holds_the_functions_done():
    def rewrite(func, mod, ctx):
        if func is mod["second"]:
            raise ZeroDivisionError
        return chain("log")["main"]

    mod = chain("exp")
    mod["second"] = chain("tanh")["main"]
    rec = record(mod, passlab.transform.function_pass(rewrite, opt_level=0))
    assert operators(rec.failed.after) == ["log"]
    assert operators(rec.failed.after, "second") == ["tanh"]


def test_the_innermost_failure_is_found():
    rec = record(chain("exp"), [[TO_LOG, [raising("Boom")]]])
    assert rec.failed.name == "Boom"
    assert rec.failed.id == "1.2.1"


def test_interrupts_are_not_swallowed():
    with pytest.raises(KeyboardInterrupt, match=r"the pipeline was interrupted in step 2, Stop") as caught:
        record(chain("exp"), [TO_LOG, raising("Stop", KeyboardInterrupt), TO_LOG])
    assert [step.name for step in caught.value.recording.steps] == ["input", "ToLog", "Stop"]


def test_errors_that_are_not_of_a_pass_are_raised():
    with pytest.raises(PassTypeError):
        record(3, idle("A"))
    with pytest.raises(PassError):
        record(chain("exp"), "NoSuchPass")


def test_recordings_go_on_after_a_failure():
    recorder = Recorder()
    with PassContext(instruments=[recorder]):
        with pytest.raises(ZeroDivisionError):
            raising("Boom")(chain("exp"))
        TO_LOG(chain("exp"))
    assert [(e.name, e.status) for e in recorder.recording[1:]] == [("Boom", "failed"), ("ToLog", "ran")]


# ---------------------------------------------------------------- what is noted beside
def test_wall_time_and_memory():
    rec = record(chain("exp"), [TO_LOG], memory=True)
    assert 0 < rec["1.1"].seconds < rec[1].seconds < 60
    assert rec[1].peak_bytes > 0
    assert record(chain("exp"), [TO_LOG])[1].peak_bytes is None


def test_logs_go_to_the_pass_that_wrote_them():
    def talk(mod, ctx):
        logging.getLogger("passlab.mine").warning("about %s", "something")
        return mod

    rec = record(chain("exp"), [idle("A"), module_pass(talk, opt_level=0, name="Talk")])
    assert rec["Talk"].log == ["WARNING: about something"]
    assert rec["A"].log == []
    assert not logging.getLogger("passlab").handlers


def test_diagnostics_are_kept():
    def report(mod, ctx):
        ctx.diag_ctx.emit(Diagnostic("that is wrong"))
        return mod

    rec = record(chain("exp"), module_pass(report, opt_level=0, name="Report"))
    assert [d.message for d in rec[1].diagnostics] == ["that is wrong"]
    assert isinstance(rec.error, DiagnosticError)


def test_rewrites_are_pairs_of_old_and_new_nodes_of_the_pass_that_made_them():
    rec = record(chain("exp", "tanh"), [TO_LOG])
    pairs = list(rec[1].rewrites)
    assert len(rec[1].rewrites) == len(pairs)
    names = [(old.op.name, new.op.name) for old, new in pairs if hasattr(old, "op")]
    assert names == [("exp", "log"), ("tanh", "tanh")]
    assert isinstance(pairs[-1][0], Function)
    assert rec[1].rewrites[-1] == pairs[-1]


def test_options_needed_to_run_a_pass_again():
    rec = record(
        chain("exp"), "PrintIR(header='h')", opt_level=1, disabled_pass=["A"], config={"relay.FuseOps.max_depth": 4}
    )
    (event,) = rec[1:]
    assert event.text == "PrintIR(header='h')"
    options = event.context
    assert (options.opt_level, options.disabled_pass, options.config) == (1, ("A",), {"relay.FuseOps.max_depth": 4})


# ---------------------------------------------------------------- asking
REC = record(chain("exp", "tanh"), [idle("A"), TO_LOG, [idle("B"), TO_SQRT], TO_LOG])


def test_indexing():
    assert REC[2].name == "ToLog"
    assert REC[-1].name == "ToLog"
    assert [e.name for e in REC[1:3]] == ["A", "ToLog"]
    assert REC["3.2"].name == "ToSqrt"
    assert REC["ToSqrt"] is REC["3.2"]
    assert REC["ToLog"] is REC[2]
    assert [e.id for e in REC.all("ToLog")] == ["2", "4"]


def test_an_unknown_index_is_an_error_that_helps():
    with pytest.raises(PassError, match="did you mean `ToSqrt`"):
        _ = REC["ToSqr"]
    with pytest.raises(IndexError, match="steps 0 to 4"):
        _ = REC[9]
    with pytest.raises(TypeError, match=r"(?s)by number or name of a pass.*float"):
        _ = REC[1.5]


def test_where():
    assert [e.id for e in REC.where(op="log")] == ["2", "3", "3.2"]
    assert [e.id for e in REC.where(op="tanh")] == []
    assert [e.id for e in REC.where(name="ToLog", changed=True)] == ["2"]
    assert [e.id for e in REC.where(status="ran", predicate=lambda e: e.kind == "sequential")] == ["3"]


def test_first_and_when():
    has_sqrt = lambda mod: "sqrt" in operators(mod)  # noqa: E731
    assert REC.first(has_sqrt).id == "3.2"
    assert REC.first(lambda mod: True).id == "0"
    assert REC.first(lambda mod: False) is None
    assert [e.id for e in REC.when(has_sqrt)] == ["3", "4"]


def test_predicates_are_asked_once_per_module():
    asked = []
    REC.when(lambda mod: asked.append(mod))
    assert len(asked) == len({id(mod) for mod in asked})


def test_the_difference_of_a_step_and_between_steps():
    assert "log" in str(REC[2].diff())
    assert "sqrt" in str(REC.diff(0, -1))


# ---------------------------------------------------------------- again
def test_rerun_repeats_a_step_on_its_input():
    again = REC[2].rerun()
    assert [e.name for e in again] == ["input", "ToLog"]
    assert again.input.same_contents(REC[2].before)
    assert passlab.structural_equal(again.output, REC[2].after)


def test_rerun_with_another_pass_or_other_options():
    assert operators(REC[2].rerun(replacing("exp", "cos")).output) == ["cos", "tanh"]
    assert REC[2].rerun(opt_level=1)[1].context.opt_level == 1


def test_rerun_keeps_the_options_and_runs_what_was_disabled():
    rec = record(chain("exp"), [TO_LOG], opt_level=1, disabled_pass=["ToLog"])
    again = rec[1].rerun()
    assert again[1].context.opt_level == 1
    assert operators(again.output) == ["log"]


def test_the_input_cannot_be_run_again():
    with pytest.raises(PassError, match="step 0 is the input"):
        REC[0].rerun()


# ---------------------------------------------------------------- showing
def test_the_text_has_no_times_and_is_the_same_each_time():
    passes = [idle("A"), TO_LOG, idle("Off", opt_level=4), [TO_SQRT], raising("Boom")]
    text = record(get_pass("InferType")(chain("exp")), passes, name="net").text()
    assert text == record(get_pass("InferType")(chain("exp")), passes, name="net").text()
    assert text == (
        "recording of net: 3 of 5 passes ran, 2 changed the program, 1 skipped, 1 failed\n"
        "step       pass                outcome                    operators\n"
        "---------  ------------------  -------------------------  --------------\n"
        "0          input\n"
        "1          A                   unchanged\n"
        "2          ToLog               changed                    -1 exp +1 log\n"
        "  2.1      InferType           unchanged\n"
        "3          Off                 skipped: opt_level 3 < 4\n"
        "4          Sequential(ToSqrt)  changed                    -1 log +1 sqrt\n"
        "  4.1      ToSqrt              changed                    -1 log +1 sqrt\n"
        "    4.1.1  InferType           unchanged\n"
        "5          Boom                failed: ZeroDivisionError\n"
        "step 5, Boom, failed: ZeroDivisionError: boom"
    )


def test_the_frame_has_a_row_for_every_event():
    frame = REC.frame()
    assert list(frame["step"]) == [e.id for e in REC.events]
    assert list(frame.query("status == 'ran' and changed and depth == 0")["step"]) == ["2", "3"]
    assert (frame["seconds"] >= 0).all()


def test_hostile_names_are_made_visible():
    assert "\x1b" not in record(chain("exp"), [idle("\x1b[31m")]).text()


# ---------------------------------------------------------------- threads and tasks
def test_one_recorder_in_two_threads_keeps_their_passes_apart():
    recorder = Recorder()
    gate = threading.Barrier(2)

    def wait(mod, ctx):
        gate.wait(5)
        return idle("Inner")(mod)

    def work(name):
        with PassContext(instruments=[recorder]):
            module_pass(wait, opt_level=0, name=name)(chain("exp"))

    threads = [threading.Thread(target=work, args=(name,)) for name in ("One", "Two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rec = recorder.recording
    assert {e.name for e in rec[1:]} == {"One", "Two"}
    assert all([c.name for c in e.children] == ["Inner"] for e in rec[1:])


def test_recording_in_two_tasks():
    async def work(name):
        recorder = Recorder()
        with PassContext(instruments=[recorder]):
            idle(name)(IRModule())
            await asyncio.sleep(0)
            idle(name)(IRModule())
        return [e.name for e in recorder.recording[1:]]

    async def both():
        return await asyncio.gather(work("One"), work("Two"))

    assert asyncio.run(both()) == [["One", "One"], ["Two", "Two"]]


# ---------------------------------------------------------------- real passes
def test_a_real_pipeline():
    rec = record(passlab.parse(NET), "ToANormalForm, DeadCodeElimination, ToGraphNormalForm, FuseOps(fuse_opt_level=2)")
    assert rec.error is None
    assert [e.name for e in rec[1:]] == ["ToANormalForm", "DeadCodeElimination", "ToGraphNormalForm", "FuseOps"]
    assert rec["FuseOps"].children[0].role == "required"
    assert np.sum([len(e.rewrites) for e in rec.events]) > 0
