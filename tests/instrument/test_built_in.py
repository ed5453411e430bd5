"""The instruments that print, dump, count, limit, trace, show progress and verify."""

from __future__ import annotations

import io
import json
import sys
import time
import tracemalloc

import numpy as np
import pytest

import passlab
from passlab import instrument, relay, transform
from passlab.errors import VerifyError
from passlab.infer import infer_module
from passlab.instrument import (
    DumpIR,
    MemoryInstrument,
    PassLimit,
    PassTimingInstrument,
    PrintIRAfter,
    PrintIRBefore,
    ProgressInstrument,
    Recorder,
    StatisticsInstrument,
    TraceInstrument,
    VerifyInstrument,
)  # fmt: skip
from passlab.instrument import recorder as memory_module
from passlab.instrument.recorder import MemoryMeter
from passlab.ir import Constant, Function, IRModule, Let, TensorType, Var
from passlab.text.parser import parse
from passlab.text.printer import astext
from passlab.transform import PassContext, Sequential, module_pass
from tests.transform.programs import chain, idle, make, raising, replacing

HEADER = '#[version = "0.0.5"]\n'
TWO = """#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) { exp(%x) }
def @other(%x: Tensor[(2), float32]) { tanh(%x) }
"""
TO_LOG = replacing("exp", "log", name="ToLog")


def run(pass_, *instruments, mod=None, **context):
    with PassContext(instruments=list(instruments), **context):
        return pass_(passlab.parse(TWO) if mod is None else mod)


def body(text, name):
    """The one line of a function's body in a printed module."""
    return text.split(f"def @{name}")[1].splitlines()[1].strip()


# ---------------------------------------------------------------- printing
def test_before_all_passes_the_whole_module_is_printed(capsys):
    run(Sequential([TO_LOG], name="all"), PrintIRBefore())
    shown = capsys.readouterr().out
    heads = [line for line in shown.splitlines() if line.startswith("Before Running Pass")]
    assert heads == [f"Before Running Pass: {name}" for name in ("all", "ToLog", "InferType")]
    assert shown.count("def @other") == 3


def test_after_a_named_pass_a_named_function_is_printed(capsys):
    run(Sequential([idle("A"), TO_LOG]), PrintIRAfter(["ToLog"], ["main"]))
    shown = capsys.readouterr().out
    assert shown.startswith("After Running Pass: ToLog\n")
    assert body(shown, "main").startswith("log(%x)")
    assert "@other" not in shown


def test_only_changes_are_printed_when_asked(capsys):
    run(Sequential([idle("A"), TO_LOG]), PrintIRAfter(["A", "ToLog"], only_changed=True))
    shown = capsys.readouterr().out
    assert shown.startswith("After Running Pass: A (no change)\nAfter Running Pass: ToLog\n")
    assert shown.count("def @main") == 1


def test_a_change_in_another_function_is_no_change():
    shown = PrintIRAfter(["ToLog"], ["other"], only_changed=True, file=io.StringIO())
    run(TO_LOG, shown)
    assert shown.text() == "After Running Pass: ToLog (no change)"


def test_the_difference_is_printed_when_asked():
    shown = PrintIRAfter(["ToLog"], diff=True, file=io.StringIO())
    run(TO_LOG, shown)
    lines = [line.strip() for line in shown.text().splitlines() if line[0] in "+-" and line[1] == " "]
    assert [line.split("(")[0] for line in lines] == ["-  exp", "+  log"]


def test_a_failed_pass_is_one_line_with_its_error(capsys):
    with pytest.raises(ZeroDivisionError):
        run(raising("Boom"), PrintIRAfter())
    assert capsys.readouterr().out == "After Running Pass: Boom (failed: ZeroDivisionError)\nboom\n"


def test_a_misspelt_name_is_told_when_the_context_is_left(capsys):
    run(TO_LOG, PrintIRAfter(["ToLg"]))
    assert capsys.readouterr().out == "no pass `ToLg` ran: did you mean `ToLog`?\n"


def test_what_was_printed_is_kept_as_text_and_frame():
    file = io.StringIO()
    shown = PrintIRBefore(["ToLog"], file=file)
    run(TO_LOG, shown)
    assert file.getvalue() == shown.text() + "\n"
    assert list(shown.frame()["pass"]) == ["ToLog"]


def test_hostile_names_are_made_visible():
    shown = PrintIRBefore(file=io.StringIO())
    run(idle("\x1b[31m"), shown)
    assert "\x1b" not in shown.text()


# ---------------------------------------------------------------- dumping
def test_files_are_numbered_in_order_of_ending(tmp_path):
    dump = DumpIR(tmp_path / "new" / "dir")
    run(Sequential([idle("A"), idle("B/../C")]), dump)
    assert [p.name for p in dump.paths] == ["000_A.relay", "001_B_C.relay", "002_sequential.relay"]
    assert all(p.is_file() for p in dump.paths)


def test_a_dumped_file_reads_back_to_the_module(tmp_path):
    dump = DumpIR(tmp_path)
    mod = run(TO_LOG, dump)
    assert passlab.structural_equal(passlab.parse(dump.paths[-1].read_text()), mod)


def test_numbers_start_again_and_refresh_removes_only_dumped_files(tmp_path):
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    dump = DumpIR(tmp_path, refresh=True)
    run(Sequential([idle("A")]), dump)
    run(idle("B"), dump)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["000_B.relay", "notes.txt"]


def test_without_refresh_old_files_stay(tmp_path):
    run(idle("A"), DumpIR(tmp_path))
    run(idle("B"), DumpIR(tmp_path))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["000_A.relay", "000_B.relay"]


def test_only_changes_are_dumped_when_asked_and_failures_always(tmp_path):
    dump = DumpIR(tmp_path, only_changed=True)
    with pytest.raises(ZeroDivisionError):
        run(Sequential([idle("A"), replacing("exp", "log", name="B"), raising("Boom")]), dump)
    assert [row["file"] for row in dump.table()] == ["000_B.relay", "001_Boom.failed.txt", "002_sequential.failed.txt"]
    assert dump.paths[1].read_text() == "ZeroDivisionError: boom\n"


# ---------------------------------------------------------------- counting
def test_statistics_of_each_pass():
    counts = StatisticsInstrument()
    run(Sequential([TO_LOG, idle("A")]), counts)
    rows = {row["pass"]: row for row in counts.table()}
    assert rows["ToLog"]["operators"] == "-1 exp +1 log"
    assert rows["ToLog"]["calls"] == 2
    assert rows["A"]["operators"] == ""
    assert rows["A"]["nodes_change"] == 0
    assert counts.text() == str(counts.table())


def test_statistics_of_size_and_cost_before_and_after():
    text = """
    def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
      add(nn.dense(%x, %w), meta[relay.Constant][0])
    }
    """
    bias = Constant(np.zeros(4, "float32"))
    mod = infer_module(parse(HEADER + text, init_meta_table={"relay.Constant": [bias]}))
    counts = StatisticsInstrument()
    run(module_pass(lambda m, ctx: IRModule(), opt_level=0, name="Empty"), counts, mod=mod)
    row = counts.frame().iloc[0]
    dense, add = 4 * (2 * 3 + 4 * 3 + 2 * 4), 4 * (2 * 4 + 4 + 2 * 4)
    assert [row[f"{name}_before"] for name in ("functions", "calls", "parameters", "macs", "bytes")] == [
        1,
        2,
        4,
        24,
        dense + add,
    ]
    assert [row[name] for name in ("functions", "calls", "parameters", "macs", "bytes")] == [0, 0, 0, 0, 0]


def test_statistics_of_a_failed_pass():
    counts = StatisticsInstrument()
    with pytest.raises(ZeroDivisionError):
        run(raising("Boom"), counts)
    assert list(counts.frame()["operators"]) == ["failed: ZeroDivisionError"]


def test_memory_peaks_and_what_is_kept():
    kept = []

    def work(mod, ctx):
        bytearray(5_000_000)
        kept.append(bytearray(1_000_000))
        return mod

    memory = MemoryInstrument()
    run(Sequential([module_pass(work, opt_level=0, name="Greedy"), idle("Frugal")]), memory)
    rows = {row["pass"]: row for row in memory.table()}
    assert 4_999_000 <= rows["Greedy"]["peak_bytes"] < 7_000_000  # Python frees a few bytes of its own meanwhile
    assert 1_000_000 <= rows["Greedy"]["kept_bytes"] < 2_000_000
    assert rows["Frugal"]["peak_bytes"] < 1_000_000
    assert rows["sequential"]["peak_bytes"] >= rows["Greedy"]["peak_bytes"]
    assert not tracemalloc.is_tracing()
    assert memory.text() == "sequential\n  Greedy\n  Frugal"


def meter_once(meter):
    meter.end(meter.begin())
    meter.close()


def test_no_interrupt_leaves_the_tracing_of_memory_on():
    interrupted = 0
    for last in range(1, 60):
        lines = 0

        def interrupt(frame, event, arg, last=last):
            nonlocal lines
            if frame.f_code.co_filename != memory_module.__file__:
                return None
            lines += event == "line"
            if event == "line" and lines == last:
                raise KeyboardInterrupt
            return interrupt

        meter, before = MemoryMeter(), sys.gettrace()
        sys.settrace(interrupt)
        try:
            meter_once(meter)
        except KeyboardInterrupt:
            interrupted += 1
        finally:
            sys.settrace(before)
        meter_once(meter)  # the next use of the meter, as in the next context
        assert not tracemalloc.is_tracing(), last
    assert 15 < interrupted < 59  # at every line, and past the last one


# ---------------------------------------------------------------- limiting
PASSES = Sequential([idle("A"), TO_LOG, Sequential([idle("B"), idle("C")])])


@pytest.mark.parametrize(("limit", "ran"), [(0, []), (1, ["A"]), (2, ["A", "ToLog"]), (9, ["A", "ToLog", "B", "C"])])
def test_only_the_first_passes_run(limit, ran):
    limited = PassLimit(limit)
    mod = run(PASSES, limited)
    assert limited.ran == ran
    assert limited.ran + limited.skipped == ["A", "ToLog", "B", "C"]
    assert ("log" in str(mod)) is (limit >= 2)


@pytest.mark.parametrize("limit", range(4))
def test_only_the_first_rewrites_are_made(limit):
    text = "def @main(%x: int32) -> int32 { add(multiply(%x, 1), multiply(add(%x, 0), 1)) }"
    limited, recorder = PassLimit(rewrites=limit), Recorder()
    mod = run(transform.SimplifyExpr(), limited, recorder, mod=passlab.parse(HEADER + text))
    table = limited.rewrite_table()
    assert table.column("made")[:limit] == [True] * limit
    assert not any(table.column("made")[limit:])
    assert sum(recorder.recording[1].rewrites.rules.values()) == limit
    assert relay.create_executor("debug", mod).evaluate()(5) == 10


@pytest.mark.parametrize(
    ("name", "body", "plain"),
    [
        ("FoldConstant", "add(%x, add(multiply(2f, 3f), exp(0f)))", "multiply(2f, 3f)"),
        ("CanonicalizeOps", "nn.bias_add(%x, %x, axis=0)", "nn.bias_add"),
        ("SimplifyInference", "%0 = nn.dropout(%x); %0.0", "nn.dropout"),
        ("DivToMul", "divide(%x, 4f)", "divide"),
        ("FastMath", "exp(%x)", "  exp(%x)"),
    ],
)
def test_no_rewrites_may_be_made_by_passes_that_name_them(name, body, plain):
    mod = passlab.parse(f"{HEADER}def @main(%x: Tensor[(2), float32]) {{ {body} }}")
    with PassContext(opt_level=4, instruments=[limited := PassLimit(rewrites=0)]):
        kept = transform.get_pass(name)(mod)
    assert kept is mod
    assert plain in astext(kept, annotate=lambda node: "")
    assert limited.rewrite_table().column("made").count(False) >= 1
    assert plain not in astext(transform.get_pass(name)(mod), annotate=lambda node: "")


def test_numbering_without_a_limit():
    limited = PassLimit()
    run(PASSES, limited)
    assert limited.table().column("step") == [1, 2, 3, 4]


# ---------------------------------------------------------------- time line and progress
def test_the_trace_is_what_browsers_open(tmp_path):
    trace = TraceInstrument()
    with pytest.raises(ZeroDivisionError):
        run(Sequential([TO_LOG, raising("Boom")]), trace)
    trace.save(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [e["name"] for e in events] == ["sequential", "ToLog", "InferType", "Boom"]
    assert all(e["ph"] == "X" and e["dur"] >= 0 and isinstance(e["tid"], int) for e in events)
    whole, *inner = events
    assert all(whole["ts"] <= e["ts"] and e["ts"] + e["dur"] <= whole["ts"] + whole["dur"] for e in inner)
    assert [e["args"].get("error") for e in events] == ["ZeroDivisionError", None, None, "ZeroDivisionError"]
    assert trace.text().splitlines()[2] == "sequential > ToLog > InferType"
    assert list(trace.frame()["pass"]) == ["sequential", "ToLog", "InferType", "Boom"]


def test_progress_counts_the_passes_of_the_outermost_pipeline():
    file = io.StringIO()
    progress = ProgressInstrument(file, after=0)
    pipeline = Sequential([idle("A"), idle("Off", opt_level=9), idle("A"), Sequential([idle("B")]), TO_LOG])
    run(pipeline, progress)
    assert file.getvalue() == "[1/5] A\n[3/5] A\n[5/5] ToLog\n"
    assert progress.text() == file.getvalue().strip()


def test_progress_of_a_short_pipeline_stays_silent_when_asked():
    file = io.StringIO()
    run(idle("A"), progress := ProgressInstrument(file, after=60))
    assert (file.getvalue(), progress.text()) == ("", "[1/1] A")


@pytest.mark.parametrize("shown", [True, None])
def test_progress_is_a_bar_where_the_output_can_go_back(shown):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    file = Terminal() if shown is None else io.StringIO()
    run(Sequential([idle("First"), idle("B")]), ProgressInstrument(file, after=0, bar=shown))
    first, second, gone, end = file.getvalue().split("\r")[1:]
    assert first == "░" * 24 + " [1/2] First"
    assert second == ("█" * 12 + "░" * 12 + " [2/2] B").ljust(len(first))
    assert (gone.strip(), len(gone), end) == ("", len(second.rstrip()), "")


def test_progress_of_a_first_pass_that_takes_long_shows_while_it_runs():
    file = io.StringIO()

    def slow(mod, ctx):
        for _ in range(500):
            if file.getvalue():
                break
            time.sleep(0.01)
        return mod

    run(module_pass(slow, opt_level=0, name="Slow"), ProgressInstrument(file, after=0.01))
    assert file.getvalue() == "[1/1] Slow\n"


# ---------------------------------------------------------------- verifying
X = Var("x", TensorType((2,), "float32"))


def leaving(function, name="Bad"):
    return module_pass(lambda mod, ctx: IRModule({"main": function}), opt_level=0, name=name)


def test_good_passes_are_verified():
    verify = VerifyInstrument()
    run(Sequential([TO_LOG, idle("A")]), verify)
    assert verify.table().column("outcome") == ["verified"] * 3
    assert verify.failures == []


def test_a_program_that_is_not_well_formed_is_refused():
    twice = Function([X], Let(X, make("exp", X), X))
    expected = r"(?s)the pass `Bad` left a program that is not well-formed.*`%x` is bound twice in @main"
    with pytest.raises(VerifyError, match=expected):
        run(leaving(twice), VerifyInstrument())


def test_a_program_without_a_type_is_refused():
    wide = Var("y", TensorType((3,), "float32"))
    with pytest.raises(VerifyError, match="the pass `Bad` left a program without a type"):
        run(leaving(Function([X, wide], make("add", X, wide))), VerifyInstrument())


def test_a_pass_that_changes_the_module_it_was_given_is_refused():
    mod = passlab.parse(TWO)

    def through_the_back_door(_, ctx):
        mod["main"] = chain("log")["main"]
        return mod

    bad = module_pass(through_the_back_door, opt_level=0, name="Bad")
    with pytest.raises(VerifyError, match="the pass `Bad` changed the module it was given"):
        run(bad, VerifyInstrument(), mod=mod)


def test_a_pass_that_gives_another_result_the_second_time_is_refused():
    names = iter(["exp", "log", "exp"])
    moody = module_pass(lambda mod, ctx: chain(next(names), "tanh"), opt_level=0, name="Moody")
    with pytest.raises(VerifyError, match="the pass `Moody` gave another result when it ran a second time"):
        run(moody, VerifyInstrument())
    names = iter(["exp"])
    run(moody, VerifyInstrument(deterministic=False))


def test_without_stopping_all_failures_are_listed():
    twice = Function([X], Let(X, make("exp", X), X))
    verify = VerifyInstrument(stop=False)
    run(Sequential([leaving(twice, "Bad"), idle("A"), leaving(chain("exp")["main"], "Good")]), verify)
    assert verify.table().column("outcome") == ["failed", "verified", "verified"]
    assert verify.table().column("pass") == ["Bad", "A", "Good"]
    assert len(verify.failures) == 1
    assert "not well-formed" in verify.text()


def test_a_recorder_behind_a_verifier_holds_the_refused_program():
    recorder = Recorder()
    with pytest.raises(VerifyError):
        run(leaving(Function([X], Let(X, make("exp", X), X))), VerifyInstrument(), recorder)
    failed = recorder.recording.failed
    assert isinstance(failed.error, VerifyError)
    assert isinstance(failed.after["main"].body, Let)


# ---------------------------------------------------------------- together
def quiet():
    """One of each, writing nowhere."""
    nowhere = io.StringIO()
    return [
        PassTimingInstrument(), MemoryInstrument(), StatisticsInstrument(), VerifyInstrument(), PassLimit(),
        TraceInstrument(), ProgressInstrument(nowhere), Recorder(), PrintIRBefore(file=nowhere),
        PrintIRAfter(file=nowhere),
    ]  # fmt: skip


@pytest.mark.parametrize("shift", range(10))
def test_instruments_compose_in_any_order(shift):
    def texts(order):
        return {i.name: i.text() if hasattr(i, "text") else i.recording.text() for i in order}

    order = quiet()
    shifted = quiet()
    shifted = shifted[shift:] + shifted[:shift]
    if shift % 2:
        shifted.reverse()
    pipeline = Sequential([idle("A"), TO_LOG, Sequential([idle("B")])])
    results = [run(pipeline, *order), run(pipeline, *shifted)]
    assert passlab.structural_equal(*results)
    assert texts(order) == texts(shifted)


@pytest.mark.parametrize("shift", range(10))
def test_a_raising_pass_leaves_every_instrument_usable(shift):
    order = quiet()
    order = order[shift:] + order[:shift]
    with PassContext(instruments=order):
        with pytest.raises(ZeroDivisionError):
            Sequential([TO_LOG, raising("Boom")])(passlab.parse(TWO))
        TO_LOG(passlab.parse(TWO))
    shown = {i.name: i.text() if hasattr(i, "text") else i.recording.text() for i in order}
    assert all("ToLog" in text for text in shown.values())
    assert all(len(i.frame()) > 0 for i in order if hasattr(i, "frame"))


def test_every_instrument_of_the_room_prints_as_its_name():
    for name in instrument.__all__:
        result = getattr(instrument, name)
        if isinstance(result, type) and issubclass(result, instrument.PassInstrument):
            assert result.name == name


def test_every_instrument_has_a_frame_and_a_stable_text():
    classes = [getattr(instrument, name) for name in instrument.__all__]
    results = [c for c in classes if isinstance(c, type) and issubclass(c, instrument.PassInstrument)]
    without = [c.__name__ for c in results if not (hasattr(c, "frame") and hasattr(c, "text"))]
    assert without == ["PassInstrument"]


def test_texts_are_the_same_for_every_run(tmp_path):
    def texts():
        used = [*quiet(), DumpIR(tmp_path / "dump", refresh=True), instrument.Validate(default_contract=None)]
        run(Sequential([TO_LOG, transform.FoldConstant(), Sequential([idle("B")])]), *used)
        return [(i.name, i.text()) for i in used]

    assert texts() == texts()
