"""`lab.bisect` names the guilty pass, in any pipeline and for every way to search."""

from __future__ import annotations

import re

import numpy as np
import pytest

import passlab
from passlab import lab, relay, transform
from passlab.diffing.diff import count_operators
from passlab.errors import InterruptedPassesError, PassError, RunError
from passlab.infer import infer_module
from passlab.ir import IRModule
from passlab.ir.expr import Call
from passlab.ir.walk import rewrite
from passlab.op.declare import call
from passlab.transform import function_pass
from tests.lab.guarded_passes import bounds_in_another_order, by_node

NET = """
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
  let %h = nn.relu(nn.dense(%x, %w));
  let %d = %h - 0.5f;
  nn.softmax(tanh(%d) + %h)
}
"""


def replacing(name, operator, rule):
    """A pass that puts something else in the place of each call of an operator."""

    def put(pre, post):
        return rule(post) if isinstance(post, Call) and getattr(post.op, "name", "") == operator else post

    @function_pass(opt_level=0, name=name)
    def replace(func, mod, ctx):
        return rewrite(func, put)

    return replace


def idle(name):
    return replacing(name, "nothing", None)


def refusing(name, operator):
    def refuse(node):
        raise RuntimeError(f"{operator} is not supported")

    return replacing(name, operator, refuse)


SWAPS = replacing("Swaps", "subtract", lambda node: call("subtract", node.args[1], node.args[0]))
TO_SIN = replacing("ToSin", "tanh", lambda node: call("sin", node.args[0]))
BACK = replacing("Back", "sin", lambda node: call("tanh", node.args[0]))


@pytest.fixture
def net():
    return passlab.parse(NET)


def calls(operator):
    return lambda mod: f"{operator}(" in mod.astext()


def idles(count, start=0):
    return [replacing(f"Adds{i}", "nn.softmax", lambda n: call("nn.softmax", call("negative", call("negative", n.args[0]))))
            for i in range(start, start + count)]  # fmt: skip


# ---------------------------------------------------------------- a pass that computes something else
@pytest.mark.parametrize("place", [0, 1, 3, 5])
def test_the_pass_that_changes_what_is_computed_is_named_with_the_node(net, place):
    passes = [transform.InferType(), transform.ToGraphNormalForm(), *idles(3)]
    passes.insert(place, SWAPS)
    bisection = lab.bisect(net, passes)
    assert bisection.found
    assert bisection.event is bisection.recording["Swaps"]
    assert bisection.event.id == str(place + 1)
    assert "the first node that went wrong is `subtract`" in bisection.why
    assert bisection.check.outcome == "broken"
    assert bisection.summary().startswith(f"step {place + 1}, Swaps, broke the program: ")
    assert passlab.structural_equal(bisection.before, bisection.recording[place].after)


def test_a_pipeline_that_keeps_its_contracts_has_no_guilty_pass(net):
    bisection = lab.bisect(net, "InferType, ToGraphNormalForm, SimplifyExpr, FuseOps")
    assert (bisection.found, bisection.event, bisection.error, bisection.why) == (False, None, None, "")
    text = "no pass broke the program: 2 of 2 steps that changed it were compared, on inputs of 17 kinds"
    assert bisection.summary() == text
    assert set(bisection.frame()["program"]) == {"good"}
    with pytest.raises(PassError, match="nothing to reduce"):
        bisection.reduce()


def test_inputs_decide_what_is_seen(net):
    clipped = replacing("Clips", "nn.relu", lambda node: call("clip", node.args[0], a_min=0.0, a_max=100.0))
    w = np.ones((4, 3), "float32")
    assert not lab.bisect(net, [clipped], inputs=[np.ones((2, 3), "float32"), w]).found
    far = np.array([[50], [51], [52], [53]], "float32") * w
    assert lab.bisect(net, [clipped], inputs={"x": np.ones((2, 3), "float32"), "w": far}).event.name == "Clips"
    with pytest.raises(RunError, match="no parameter"):
        lab.bisect(net, [SWAPS], inputs={"z": w})


# ---------------------------------------------------------------- a pass that raises
@pytest.mark.parametrize("good", [None, calls("nn.dense")])
def test_a_pass_that_raises_is_named(net, good):
    bisection = lab.bisect(net, [*idles(2), refusing("Refuses", "tanh"), SWAPS], good)
    assert bisection.event is bisection.recording.failed
    assert (bisection.event.name, bisection.event.id) == ("Refuses", "3")
    assert isinstance(bisection.error, RuntimeError)
    assert bisection.why == "RuntimeError: tanh is not supported"
    assert bisection.summary() == "step 3, Refuses, failed: RuntimeError: tanh is not supported"


@pytest.mark.parametrize("good", [None, calls("tanh")])
def test_what_broke_the_program_before_another_pass_raised_is_named(net, good):
    bisection = lab.bisect(net, [*idles(1), TO_SIN, refusing("Refuses", "sin")], good)
    assert bisection.event.name == "ToSin"
    assert bisection.recording.failed.name == "Refuses"


# ---------------------------------------------------------------- a predicate
@pytest.mark.parametrize("place", range(12))
def test_a_predicate_is_asked_about_few_programs(net, place):
    asked = []

    def good(mod):
        asked.append(mod)
        return "tanh" in mod.astext()

    passes = idles(11)
    passes.insert(place, TO_SIN)
    bisection = lab.bisect(net, passes, good)
    assert bisection.event.name == "ToSin"
    assert len(asked) == len({id(mod) for mod in asked}) <= 6
    assert [row[0] for row in bisection.table().rows] == sorted((a.event.id for a in bisection.verdicts), key=int)


def test_passes_that_change_nothing_are_not_asked_about(net):
    bisection = lab.bisect(net, [idle(f"Idle{i}") for i in range(20)], calls("tanh"))
    assert not bisection.found
    assert [answer.event.id for answer in bisection.verdicts] == ["0"]


def test_every_finds_what_a_later_pass_mends(net):
    passes = [*idles(2), TO_SIN, *idles(2, 2), BACK]
    assert not lab.bisect(net, passes, calls("tanh")).found
    assert lab.bisect(net, passes, calls("tanh"), every=True).event.name == "ToSin"


def test_the_pass_inside_a_pass_is_found(net):
    @transform.module_pass(opt_level=0, name="Outer")
    def outer(mod, ctx):
        return transform.Sequential([idles(1)[0], TO_SIN, *idles(1, 1)])(mod)

    bisection = lab.bisect(net, [transform.InferType(), outer], calls("tanh"))
    assert bisection.event.name == "ToSin"
    assert bisection.event.id.startswith("2.")


def test_a_predicate_that_raises_says_that_the_program_is_bad(net):
    def runs(mod):
        if "sin(" in mod.astext():
            raise ValueError("no sine here")
        return True

    bisection = lab.bisect(net, [*idles(1), TO_SIN], runs)
    assert (bisection.event.name, bisection.why) == ("ToSin", "ValueError: no sine here")


def test_a_program_that_is_bad_from_the_start_is_told(net):
    with pytest.raises(PassError, match="bad before any pass"):
        lab.bisect(net, [TO_SIN], calls("conv2d"))
    with pytest.raises(PassError, match="NameError") as caught:
        lab.bisect(net, [TO_SIN], lambda mod: nothing(mod))  # noqa: F821
    assert isinstance(caught.value.__cause__, NameError)


LOGS = [replacing(f"Log{number}", "tanh", lambda node: call("tanh", *node.args)) for number in range(6)]


def interrupted_after(count):
    """A predicate that holds, and that an interrupt ends at the question after `count` others."""
    asked = []

    def good(mod):
        if len(asked) == count:
            raise KeyboardInterrupt
        asked.append(mod)
        return len(asked) != 2  # of the last program it does not hold

    return good


@pytest.mark.parametrize(
    ("count", "left"),
    [(0, "123456"), (1, "123456"), (2, "123456"), (3, "456"), (4, "56")],
)
def test_an_interrupt_leaves_the_verdicts_so_far_and_the_passes_that_may_be_guilty(net, count, left):
    bisection = lab.bisect(net, LOGS, interrupted_after(count))
    assert (bisection.found, bisection.stopped, bisection.event) == (False, "interrupted", None)
    assert "".join(event.id for event in bisection.candidates) == left
    assert len(bisection.verdicts) == count
    examined = "the predicate was asked about" if count else "no program was examined"
    assert f"only the {len(left)} passes from step {left[0]}, Log" in bisection.summary()
    assert examined in bisection.summary()
    assert str(bisection).startswith("the search was interrupted; only the")


def test_an_interrupt_in_order_leaves_the_passes_from_there_on(net):
    def good(mod):
        if mod is bisected[3].after:
            raise KeyboardInterrupt
        return True

    bisected = passlab.record(net, LOGS)
    bisection = bisected.bisect(good, every=True)
    assert [event.id for event in bisection.candidates] == list("3456")
    assert [verdict.event.id for verdict in bisection.verdicts] == list("012")


@pytest.mark.parametrize("step", [1, 3, 6])
def test_an_interrupt_between_comparisons_leaves_those_before_it(net, step):
    def looking(event):
        if event.id == str(step):
            raise KeyboardInterrupt

    bisection = lab.bisect(net, LOGS, looking=looking)
    assert not bisection.found
    assert [verdict.event.id for verdict in bisection.verdicts] == [str(n) for n in range(1, step)]
    assert [event.id for event in bisection.candidates] == [str(n) for n in range(step, 7)]
    last = "only step 6, Log5, can have broken" if step == 6 else f"the {7 - step} passes from step {step}, Log"
    assert last in bisection.summary()
    assert str(len(bisection.verdicts) or "no program was examined") in bisection.summary()


def test_an_interrupt_while_the_pipeline_runs_leaves_its_recording(net):
    @function_pass(opt_level=0, name="Stop")
    def stop(func, mod, ctx):
        raise KeyboardInterrupt

    with pytest.raises(InterruptedPassesError, match="in step 2, Stop") as caught:
        lab.bisect(net, [TO_SIN, stop])
    assert [event.name for event in caught.value.recording.steps] == ["input", "ToSin", "Stop"]


# ---------------------------------------------------------------- recordings
def test_a_recording_is_bisected_without_running_it_again(net):
    rec = passlab.record(net, [*idles(2), TO_SIN, SWAPS])
    assert rec.bisect(calls("tanh")).event is rec["ToSin"]
    assert rec.bisect().recording is rec
    assert rec.bisect().event is rec["ToSin"]
    with pytest.raises(PassError, match="has its pipeline"):
        lab.bisect(rec, "FuseOps")


def test_a_saved_recording_is_bisected(net, tmp_path):
    rec = passlab.record(net, [*idles(2), TO_SIN])
    rec.save(tmp_path / "rec")
    assert passlab.Recording.load(tmp_path / "rec").bisect(calls("tanh")).event.id == "3"


# ---------------------------------------------------------------- on to the rewrite
MANY = f"""
def @main(%x: Tensor[(3), float32]) {{
  %0 = tanh(%x * 2f);
  {" ".join(f"%{i} = %{i - 1} + tanh(%x * {i + 2}f);" for i in range(1, 9))}
  %8
}}
"""


@pytest.mark.parametrize("factor", range(2, 11))
@pytest.mark.parametrize("good", [None, lambda mod: "sin(" not in mod.astext().replace("asin(", "")])
def test_the_rewrite_that_broke_the_program_is_found(factor, good):
    @function_pass(opt_level=0, name="Mixed")
    def mixed(func, mod, ctx):
        def rule(pre, post):
            if not isinstance(post, Call) or post.op.name != "tanh":
                return post
            wrong = float(post.args[0].args[1].data) == factor
            return call("sin" if wrong else "tanh", post.args[0])

        return rewrite(func, rule, name="careless")

    value = lab.bisect(passlab.parse(MANY), [mixed], good).rewrite
    assert (value.number, value.count, value.rule) == (factor - 1, 9, "careless")
    assert str(value) == f"rewrite {factor - 1} of 9, by the rule `careless`"
    assert "sin(" in value.after.astext()
    assert "sin(" not in value.before.astext()
    assert "tanh" in str(value.diff())


def test_the_rewrites_of_a_users_pass_have_no_rule_and_are_found_too(net):
    assert str(lab.bisect(net, [SWAPS]).rewrite) == "rewrite 1 of 1, changed both operands of 1 subtract"
    raising = lab.bisect(net, [refusing("Refuses", "tanh")]).rewrite
    assert str(raising) == "the rewrite of `tanh`, which raised"
    assert lab.bisect(net, "InferType").rewrite is None


# ---------------------------------------------------------------- on to the smallest program
@pytest.mark.parametrize(
    ("bad", "good", "operator"),
    [(SWAPS, None, "subtract"), (TO_SIN, calls("tanh"), "tanh"), (refusing("Refuses", "nn.relu"), None, "nn.relu")],
)
def test_what_was_found_is_reduced_to_the_one_operator(net, bad, good, operator):
    small = lab.bisect(net, [transform.InferType(), bad], good).reduce()
    nodes = [n for n in passlab.ir.walk.post_order(small.module["main"].body) if isinstance(n, Call)]
    assert [node.op.name for node in nodes] == [operator]
    again = lab.bisect(small.module, [bad], good)
    assert again.event.name == bad.info.name


def test_the_wrong_operator_of_exchanged_operators_is_the_same_when_the_pass_runs_again():
    """Both operators are in both programs: only the rewrites tell that the outer one came from the outer one."""
    x, bound = relay.var("x", shape=(2, 3)), relay.const(np.array([[0.5, -1, 2], [3, -4, 1]], "float32"))
    net = infer_module(IRModule.from_expr(relay.minimum(relay.maximum(x, relay.const(np.float32(0))), bound)))
    bisection = lab.bisect(net, [by_node(bounds_in_another_order)])
    assert bisection.check.node.node.op.name == "maximum"
    assert bisection.check_of(bisection.before).node.node.op.name == "maximum"
    assert count_operators(bisection.reduce().module) == {"maximum": 1, "minimum": 1}


def test_a_pass_is_not_taken_for_the_inference_that_runs_after_it(net):
    no_half = lambda mod: "float16" not in mod.astext()  # noqa: E731
    for every in (False, True):
        bisection = lab.bisect(
            net, "InferType, FoldConstant, ToMixedPrecision, FastMath", no_half, opt_level=4, every=every
        )
        assert (bisection.event.name, bisection.event.id) == ("ToMixedPrecision", "3")


# ---------------------------------------------------------------- which passes it takes
DOUBLE = replacing("Doubles", "nn.relu", lambda node: call("negative", call("negative", node)))
TWISTS = replacing("Twists", "negative", lambda node: node.args[0] if is_call(node.args[0], "negative") else node)
NOISE = [
    transform.InferType(),
    replacing("Turns", "tanh", lambda node: call("tanh", node.args[0])),
    transform.FoldConstant(),
]


def is_call(node, operator):
    return isinstance(node, Call) and node.op.name == operator


def names(events):
    return [event.name for event in events]


@pytest.mark.parametrize("good", [None, lambda mod: mod.astext().count("negative(") != 1])
def test_a_pass_that_is_wrong_about_what_another_leaves_makes_a_pair(net, good):
    bisection = lab.bisect(net, [*NOISE, DOUBLE, *NOISE, TWISTS, transform.FoldConstant()], good)
    assert bisection.event.name == "Twists"
    assert names(bisection.needed) == ["Doubles", "Twists"]
    assert not lab.bisect(net, [TWISTS], good).found


def test_a_pass_that_is_wrong_by_itself_needs_no_other(net):
    bisection = lab.bisect(net, [transform.InferType(), *idles(2), TO_SIN, SWAPS])
    assert names(bisection.needed) == ["ToSin"]
    assert names(lab.bisect(net, [*idles(3), refusing("Refuses", "tanh")]).needed) == ["Refuses"]
    assert lab.bisect(net, "InferType").needed == ()


def test_passes_inside_passes_are_looked_at_by_themselves(net):
    inner = transform.Sequential([DOUBLE, transform.Sequential([*NOISE, TWISTS], name="Inner")], name="Outer")
    bisection = lab.bisect(net, [transform.InferType(), inner])
    assert bisection.event.name == "Twists"
    assert names(bisection.needed) == ["Doubles", "Twists"]


def test_three_passes_may_be_needed(net):
    again = replacing("Again", "negative", lambda node: call("negative", call("copy", node.args[0])))
    late = replacing("Late", "copy", lambda node: call("abs", node.args[0]))
    bisection = lab.bisect(net, [*NOISE, DOUBLE, again, *NOISE, late])
    assert names(bisection.needed) == ["Doubles", "Again", "Late"]


def test_what_does_not_happen_again_needs_nothing(net):
    calls_made = []

    @function_pass(opt_level=0)
    def moody(func, mod, ctx):
        calls_made.append(1)
        return func.with_fields(body=call("negative", func.body), ret_type=None) if len(calls_made) == 1 else func

    assert lab.bisect(net, [moody]).needed == ()
    calls_made.clear()
    said = " ".join(lab.culprit(net, [moody]).sentences)
    assert "a smaller program (moody did not break this one when it ran again)" in said


# ---------------------------------------------------------------- what an answer says was examined
RAISES = refusing("Refusing", "tanh")
SKIPPED = "DeadCodeElimination"
QUESTIONS = {
    "nothing is wrong": ["FoldConstant", "ToGraphNormalForm"],
    "the last is wrong": ["FoldConstant", "ToGraphNormalForm", SWAPS],
    "one in the middle is wrong": ["FoldConstant", SWAPS, "ToGraphNormalForm", "ToANormalForm"],
    "one raises": ["FoldConstant", RAISES],
    "one has no contract": ["FoldConstant", "FirstOrderGradient"],
    "one is disabled": ["FoldConstant", SKIPPED, SWAPS],
    "one is disabled and none is wrong": [SKIPPED, "FoldConstant"],
    "nothing changes": ["InferType"],
}


@pytest.mark.parametrize("drawn", [True, False])
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_answer_says_on_how_many_inputs_and_which_steps_were_not_compared(net, question, drawn):
    value = None if drawn else [np.ones((2, 3), "float32"), np.ones((4, 3), "float32")]
    with transform.PassContext(opt_level=4, disabled_pass=[SKIPPED]):
        if question == "one has no contract":
            net, value = (
                passlab.parse("def @main(%x: Tensor[(3), float32]) { exp(%x) }"),
                value and [np.ones(3, "float32")],
            )
        bisection = lab.bisect(net, ["InferType", *QUESTIONS[question]], inputs=value)
    shown = bisection.text()
    compared = {event.id for event, _ in bisection.coverage.comparisons}
    if compared:
        kinds = len(bisection.coverage.kinds)
        assert (f"on inputs of {kinds} kind" if drawn else "on the inputs given") in shown
        assert f"{len(compared)} of " in shown
    later = re.search(r"not step (.+), which came after", shown)
    after = later[1].split(", ") if later else []
    for step in bisection.recording.steps[1:]:
        looked_at = any(event.id in compared for event in step.walk()) or step is bisection.event
        if not looked_at and (step.changed or step.status != "ran"):
            assert step.id in after or re.search(rf"step {step.id}, {step.name}, .+ \(.+\)", shown), shown


@pytest.mark.parametrize(("pipeline", "asked"), [(["FoldConstant", TO_SIN], 2), (["FoldConstant"], 1)])
def test_an_answer_to_a_predicate_says_how_many_programs_were_asked_about(net, pipeline, asked):
    bisection = lab.bisect(net, pipeline, calls("tanh"))
    assert f"the predicate was asked about {asked} program" in bisection.text()
    assert len(bisection.verdicts) == asked


def test_steps_after_the_wrong_one_are_named_as_not_looked_at(net):
    bisection = lab.bisect(net, [SWAPS, "ToGraphNormalForm", "FoldConstant"])
    assert "not step 2, 3, which came after" in bisection.text()
