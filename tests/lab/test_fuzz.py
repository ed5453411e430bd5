"""`lab.fuzz` finds typical mistakes of user passes, blames no correct pass, and saves its failures."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from random import Random
from time import monotonic

import numpy as np
import pytest

from passlab import lab, parse, relay, transform
from passlab.cli import main
from passlab.diffing.diff import count_operators
from passlab.display.views.culprits import write_campaign
from passlab.errors import PassError, PassTypeError
from passlab.ir.expr import Constant
from passlab.ir.walk import rewrite
from passlab.lab.fuzzer import fuzzing
from passlab.lab.fuzzer.constants_in_pass import constants_in_pass
from passlab.lab.fuzzer.fuzzing import failure_signature
from passlab.oracle.deadline import TimeUpError
from passlab.transform import function_pass
from tests.lab.guarded_passes import (
    RIGHT,
    WRONG,
    by_node,
    floor_as_trunc,
    less_or_equal,
    mean_as_sum,
    minus_swapped,
    no_epsilon,
    relu6_as_relu,
    widened_too_late,
)

pytestmark = pytest.mark.rotating

QUICK = (less_or_equal, floor_as_trunc, no_epsilon, minus_swapped)
# Searches here end by a count of programs, never by time, so that a busy machine finds what an idle one finds.
ENOUGH = {"seconds": None, "programs": 50_000}  # for the mistakes of these passes: a search ends where it finds
SOME = {"seconds": None, "programs": 12}
ALL = [rule if rule in QUICK else pytest.param(rule, marks=pytest.mark.nightly) for rule in WRONG]


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.__name__)
def test_a_mistake_of_a_pass_is_found(rule):
    campaign = lab.fuzz(by_node(rule), most=1, **ENOUGH)
    assert campaign.found, campaign.summary()
    failure = campaign.failures[0]
    assert failure.bisection.event.name == rule.__name__
    assert "not reduced" not in campaign.left_out  # the guilty pass breaks its own program again
    assert sum(count_operators(failure.module).values()) <= 4, failure.module


def test_a_pass_that_never_ends_is_found(monkeypatch):
    @function_pass(opt_level=0)
    def endless(func, mod, ctx):
        while True:
            pass

    monkeypatch.setattr(fuzzing, "PASS_SECONDS", 0.2)
    campaign = lab.fuzz(endless, seconds=600, programs=1)
    assert [failure.bisection.event.name for failure in campaign.failures] == ["endless"]
    assert isinstance(campaign.failures[0].bisection.error, TimeUpError)


def test_a_pass_that_the_end_of_a_search_cuts_off_is_not_blamed():
    @function_pass(opt_level=0)
    def slow(func, mod, ctx):
        until = monotonic() + 1.5
        while monotonic() < until:
            pass
        return func

    campaign = lab.fuzz(slow, seconds=0.3)
    assert not campaign.found, campaign.text()


@pytest.mark.parametrize(("rule", "programs"), RIGHT.items(), ids=[rule.__name__ for rule in RIGHT])
def test_a_pass_without_a_mistake_is_not_blamed(rule, programs):
    campaign = lab.fuzz(by_node(rule), seconds=None, programs=programs)
    assert campaign.tried == programs
    assert campaign.fired
    assert not campaign.found, campaign.text()


@pytest.mark.parametrize("pass_", ["SimplifyExpr", "FoldConstant, EliminateCommonSubexpr", transform.ToANormalForm()])
def test_standard_passes_are_not_blamed(pass_):
    campaign = lab.fuzz(pass_, **SOME)
    assert campaign.fired
    assert not campaign.found, campaign.text()


@function_pass(opt_level=0, required=["InferType"])
def without_signs(func, mod, ctx):
    """It speaks of one operator only, which it puts around whatever there is."""
    tensor = isinstance(func.body.checked_type_, relay.TensorType) and "float" in func.body.checked_type_.dtype
    return func.with_fields(body=relay.abs(func.body)) if tensor else func


def test_a_pass_that_speaks_only_of_what_it_makes_is_tried_on_other_operators():
    campaign = lab.fuzz(without_signs, most=1, **ENOUGH)
    assert campaign.found, campaign.summary()
    assert campaign.by_source["calls of any operator"][0]


def doubles_negation(node):
    return isinstance(node, relay.Call) and node.op == relay.op.get("negative")


def test_functions_that_a_local_function_uses_are_read_too():
    def pass_func(func, mod, ctx):
        def rule(before, node):
            return node.args[0] if doubles_negation(node) else node

        return rewrite(func, rule)

    assert "negative" in constants_in_pass(transform.function_pass(pass_func, opt_level=0)).operators


def test_what_a_pass_speaks_of_is_read_from_its_code():
    spoken_of = constants_in_pass(by_node(widened_too_late))
    assert {"add", "cast"} <= set(spoken_of.operators)
    assert "uint8" in spoken_of.dtypes
    assert {0.0, 6.0} <= set(constants_in_pass(by_node(relu6_as_relu)).numbers)


def test_what_is_saved_is_a_test_that_fails_until_the_pass_is_mended(tmp_path):
    first = lab.fuzz(by_node(less_or_equal), most=1, directory=tmp_path, **ENOUGH)
    (path,) = tmp_path.glob("test_*.py")
    text = path.read_text()
    assert f"def test_less_or_equal_{first.failures[0].number}():" in text
    again = lab.fuzz(by_node(less_or_equal), most=1, directory=tmp_path, **SOME)
    assert again.next > first.next
    assert not again.failures, "the same failure is not reported twice"


PLACES = {
    "the body": "less(%x, %y)",
    "a closure": "let %f = fn (%p: float32) { less(%p, %y) }; %f(%x)",
    "a loop": """
  let %loop: fn (int32, float32) -> bool = fn (%n: int32, %p: float32) -> bool {
    if (equal(%n, 0)) { less(%p, %y) } else { %loop(subtract(%n, 1), %p) }
  };
  %loop(2, %x)""",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_failure_is_the_same_one_wherever_its_operator_stands(place):
    program = parse(f"def @main(%x: float32, %y: float32) {{ {PLACES[place]} }}")
    bisection = lab.bisect(program, by_node(less_or_equal), inputs=(np.float32(1), np.float32(1)))
    assert failure_signature(bisection) == "less_or_equal: less to less_equal"


@function_pass(opt_level=0)
def truncating(func, mod, ctx):
    """Floors become truncations."""
    from passlab import relay
    from passlab.ir.walk import rewrite

    return rewrite(
        func,
        lambda old, new: relay.trunc(new.args[0]) if getattr(new.op, "name", "") == "floor" else new,
        only=(relay.Call,),
    )


@pytest.mark.nightly
def test_a_saved_test_runs_under_plain_pytest(tmp_path):
    campaign = lab.fuzz(truncating, most=1, directory=tmp_path, **ENOUGH)
    (path,) = tmp_path.glob("test_*.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", str(path)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "broke the program" in ran.stdout
    path.write_text(campaign.failures[0].test().replace("trunc", "floor"))
    assert subprocess.run(command, check=False, capture_output=True, cwd=tmp_path).returncode == 0


def test_a_campaign_that_is_interrupted_keeps_what_it_has():
    def progress(stage, text, left):
        if text.startswith("program 3,"):
            raise KeyboardInterrupt

    campaign = lab.fuzz("FoldConstant", progress=progress, **SOME)
    assert (campaign.stopped, campaign.tried) == ("interrupted", 2)
    assert "Stopped: interrupted" in campaign.summary()


@function_pass(opt_level=0)
def idle(func, mod, ctx):
    return func


def test_a_pass_that_does_nothing_is_not_called_right():
    campaign = lab.fuzz(idle, **SOME)
    assert not campaign.fired
    assert "It changed none, so the campaign has not tested it" in campaign.summary()


def test_a_search_ends_after_as_many_programs_as_it_may_try():
    tried = [lab.fuzz("FoldConstant", seconds=None, programs=count).tried for count in (0, 1, 7)]
    assert tried == [0, 1, 7]


def test_the_limits_of_a_search_are_what_is_asked_for():
    assert lab.fuzz("FoldConstant", seconds=0).tried == 0
    lefts = []
    lab.fuzz("FoldConstant", seconds=None, programs=1, progress=lambda stage, text, left: lefts.append(left))
    assert lefts == [float("inf")]


def test_misuse_is_a_diagnostic(tmp_path):
    with pytest.raises(PassTypeError):
        lab.fuzz("FoldConstant", seconds="a")
    with pytest.raises(PassTypeError):
        lab.fuzz("FoldConstant", programs=1.5)
    with pytest.raises(PassError):
        lab.fuzz("NoSuchPass", seconds=1)
    (tmp_path / "campaign.json").write_text("[1, 2")
    with pytest.raises(PassError, match="is not a campaign"):
        lab.fuzz("FoldConstant", seconds=1, directory=tmp_path)


def means_and_comparisons(old, new):
    """Two mistakes in one pass."""
    return less_or_equal(old, mean_as_sum(old, new))


def interrupted_after(count):
    """A progress that stands for a user who stops the search after some programs."""
    programs = []

    def progress(stage, text, left):
        programs.append(text)
        if len(programs) > count:
            raise KeyboardInterrupt

    return progress


def test_a_campaign_that_is_stopped_goes_on_where_it_stood_and_reports_everything_once(tmp_path):
    both = by_node(means_and_comparisons)
    whole = lab.fuzz(both, most=2, **ENOUGH)
    assert len(whole.failures) == 2
    first = lab.fuzz(both, most=1, directory=tmp_path, **ENOUGH)
    stopped = lab.fuzz(both, most=2, directory=tmp_path, progress=interrupted_after(0), **ENOUGH)
    assert stopped.stopped == "interrupted"
    assert "broke programs in no new way" in stopped.summary()
    last = lab.fuzz(both, most=1, directory=tmp_path, **ENOUGH)
    assert [record.number for record in last.records] == [failure.number for failure in whole.failures]
    assert first.failures[0].record() in last.records
    assert (sum(tried for tried, _ in last.by_source.values()), last.next) == (whole.tried, whole.next)
    page = write_campaign(last, tmp_path).read_text()
    for failure in whole.failures:
        assert f"program {failure.number:,}" in page
    assert "2 ways" in page
    assert "<script" not in page


@pytest.mark.parametrize("damage", ['{"pass": 1}', "[]", '{"next": "x"}', ""])
def test_a_damaged_campaign_is_refused(tmp_path, damage):
    (tmp_path / "campaign.json").write_text(damage)
    with pytest.raises(PassError, match="is not a campaign"):
        lab.fuzz(truncating, seconds=1, directory=tmp_path)


def test_the_command_line_writes_the_report_of_a_campaign(tmp_path, capsys):
    assert main(["fuzz", "SimplifyExpr", "--programs", "5", "-o", str(tmp_path)]) == 0
    assert (tmp_path / "report.html").is_file()
    value = capsys.readouterr().out
    assert "Report: " in value
    assert "5 programs" in value


def test_operands_become_equal_or_a_number_on_either_side() -> None:
    source = fuzzing.ProgramSource(constants_in_pass(less_or_equal), 0)
    call = parse("def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) { subtract(%x, %y) }")["main"].body
    drawn: Counter[str] = Counter()
    for seed in range(600):
        mutated = source.mutate(call, Random(seed))
        drawn[", ".join("number" if isinstance(arg, Constant) else arg.name_hint for arg in mutated.args)] += 1
    assert set(drawn) == {"x, y", "x, x", "y, y", "number, y", "x, number"}
    assert drawn["x, y"] > 300
    assert min(drawn.values()) > 25
