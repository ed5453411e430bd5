"""`lab.culprit`: from a broken program to the pass, the rewrite, the operator and a script, in one call."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import passlab
from passlab import lab, relay, transform
from passlab.diffing.diff import count_operators
from passlab.display import culprit_view
from passlab.errors import PassError, PasslabError, PassTypeError, RunError
from passlab.instrument.statistics import count_module
from passlab.ir.expr import Call
from passlab.ir.walk import rewrite
from passlab.lab.culprits import executors, value_search
from passlab.testing import mlp, squeezenet

NET = """
def @main(%x: Tensor[(3, 5), float32], %w: Tensor[(4, 5), float32]) {
  let %a = tanh(%x);
  let %b = nn.relu(nn.dense(%a, %w));
  (exp(%b), nn.softmax(%a) * meta[relay.Constant][0])
}
"""


NORMALISED = """
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %gamma: Tensor[(4), float32],
    %beta: Tensor[(4), float32], %mean: Tensor[(4), float32], %var: Tensor[(4), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
  %1 = nn.batch_norm(%0, %gamma, %beta, %mean, %var);
  nn.relu(%1.0)
}
"""


@transform.function_pass(opt_level=0)
def slopes(func, mod, ctx):
    """Make every relu leaky: wrong below zero."""

    def leaky(before, node):
        if isinstance(node, Call) and getattr(node.op, "name", "") == "nn.relu":
            return relay.nn.leaky_relu(node.args[0], alpha=0.125)
        return node

    return rewrite(func, leaky, only=(Call,))


@transform.function_pass(opt_level=0)
def refuses(func, mod, ctx):
    """Refuse programs with a softmax."""
    if "nn.softmax" in func.astext():
        raise NotImplementedError("no softmax, please")
    return func


def net():
    scale = relay.const(np.linspace(-1, 1, 15, dtype="float32").reshape(3, 5))
    plain = passlab.parse(
        NET.replace("meta[relay.Constant][0]", "%c").replace("%w:", "%c: Tensor[(3, 5), float32], %w:")
    )
    return plain.with_functions({"main": relay.build_module.bind_params_by_name(plain["main"], {"c": scale})})


def test_one_call_names_pass_rewrite_operator_and_inputs():
    culprit = lab.culprit(net(), ["InferType, FoldConstant", slopes, "FuseOps"])
    assert culprit.event.name == "slopes"
    assert (culprit.rewrite.number, culprit.rewrite.count) == (1, 1)
    assert culprit.node.old.op.name == "nn.relu"
    assert count_operators(culprit.module) == {"nn.relu": 1}
    assert count_module(culprit.module)[0] < 12
    what, since, rule, where, missed = culprit.sentences
    assert what.startswith("Step 2, slopes, broke the program")
    assert "the fault occurs without" in since
    assert "rewrite 1 of 1" in rule
    assert "typical numbers" in where
    assert missed == "Not examined: step 3, FuseOps, which came after."


@pytest.mark.parametrize("bad", [slopes, refuses])
def test_the_script_runs_elsewhere_and_fails_once_the_pass_is_mended(bad, tmp_path):
    culprit = lab.culprit(net(), ["InferType", bad])
    path = tmp_path / "bug.py"
    text = culprit.script(path)
    assert len(text.splitlines()) < 25
    assert subprocess.run([sys.executable, path], check=False, capture_output=True).returncode == 0
    mended = text.replace("alpha=0.125", "alpha=0.0").replace("raise NotImplementedError", "str")
    path.write_text(mended)
    ran = subprocess.run([sys.executable, path], check=False, capture_output=True, text=True)
    assert ran.returncode == 1
    assert "no pass breaks the program any more" in ran.stderr


def test_the_notebook_has_no_bytes_that_nobody_can_read(tmp_path):
    culprit = lab.culprit(net(), ["InferType", slopes])
    cells = json.loads(culprit.notebook(tmp_path / "bug.ipynb").read_text())["cells"]
    assert "base64" not in json.dumps(cells)


def test_without_a_fault_the_answer_says_what_was_looked_at():
    culprit = lab.culprit(mlp.get_workload(2)[0], "InferType, SimplifyInference, FoldConstant, FuseOps")
    assert not culprit.found
    assert culprit.sentences[0].startswith("No fault was found: 1 of 1 step that changed it was compared")
    with pytest.raises(PassError, match="nothing to reproduce"):
        culprit.script()


def test_a_recording_is_searched_as_it_is():
    rec = passlab.record(net(), ["InferType", slopes])
    culprit = lab.culprit(rec)
    assert culprit.recording is rec
    assert culprit.event is rec[2]
    with pytest.raises(PassError, match="has its pipeline already"):
        lab.culprit(rec, "InferType")


def test_progress_is_told_and_the_budget_is_kept():
    results = []
    culprit = lab.culprit(net(), ["InferType", slopes], seconds=600, progress=lambda *args: results.append(args))
    assert next(stage for stage, _, _ in results) == "record"
    assert {"compare", "reduce", "rewrite", "needed"} <= {stage for stage, _, _ in results}
    lefts = [left for _, _, left in results]
    assert lefts == sorted(lefts, reverse=True)
    assert culprit.seconds < 600


def test_an_interrupt_leaves_the_best_answer_so_far():
    def progress(stage, text, left):
        if stage == "reduce":
            raise KeyboardInterrupt

    culprit = lab.culprit(net(), ["InferType", slopes], progress=progress)
    assert culprit.event.name == "slopes"
    assert culprit.stopped == "interrupted"
    assert "the search was interrupted" in culprit.summary()


def test_an_interrupt_between_comparisons_leaves_the_passes_that_may_be_guilty():
    def progress(stage, text, left):
        if stage == "compare" and "slopes" in text:
            raise KeyboardInterrupt

    culprit = lab.culprit(net(), ["InferType", slopes, "FoldConstant"], progress=progress)
    assert not culprit.found
    assert culprit.stopped == culprit.bisection.stopped == "interrupted"
    assert [event.name for event in culprit.bisection.candidates] == ["slopes"]
    assert f"only step {culprit.bisection.candidates[0].id}, slopes, can have broken the program" in culprit.summary()


def test_an_interrupt_while_the_pipeline_runs_leaves_its_recording():
    @transform.function_pass(opt_level=0, name="Stop")
    def stop(func, mod, ctx):
        raise KeyboardInterrupt

    culprit = lab.culprit(net(), ["InferType", stop])
    assert [event.name for event in culprit.recording.steps] == ["input", "InferType", "Stop"]
    assert culprit.summary() == (
        "The search was interrupted before it found a fault: no step was compared. "
        "Not examined: the search was interrupted."
    )
    assert str(culprit) == "\n".join(culprit.sentences)
    assert "no step was compared" in culprit_view(culprit).text()


def test_without_memory_the_answer_so_far_is_given():
    def progress(stage, text, left):
        if stage == "rewrite":
            raise MemoryError

    culprit = lab.culprit(net(), ["InferType", slopes], progress=progress)
    assert culprit.event.name == "slopes"
    assert "the search was stopped for lack of memory" in culprit.summary()


def test_no_time_at_all_is_said():
    culprit = lab.culprit(squeezenet.get_workload(1)[0], ["InferType", slopes], seconds=0)
    assert culprit.stopped
    assert "stopped" in culprit.summary()


@pytest.mark.parametrize("kind", ["graph", "vm", "aot"])
def test_executors_that_agree_are_not_blamed(kind):
    culprit = lab.culprit(net(), "InferType", executors=("debug", kind))
    assert not culprit.found, culprit.summary()


def test_executors_are_compared_where_no_pass_is_at_fault(monkeypatch):
    real = executors.create_executor

    class Wrong:
        def __init__(self, kind, mod):
            self.inner = real(kind, mod)
            self.wrong = "tanh" in mod.astext()

        def evaluate(self):
            run = self.inner.evaluate()
            return lambda *args: (
                tuple(-v for v in out) if isinstance(out := run(*args), tuple) else -out if self.wrong else out
            )

    monkeypatch.setattr(executors, "create_executor", Wrong)
    culprit = lab.culprit(
        passlab.parse(
            "def @main(%x: Tensor[(3), float32]) { (nn.dense(tanh(expand_dims(%x, axis=0)), expand_dims(exp(%x), axis=0)), %x) }"
        ),
        "InferType",
        executors=["vm"],
    )
    assert culprit.fault.executor == "vm"
    assert "tanh" in culprit.where
    assert 'executors=["vm"]' in culprit.script()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"seconds": "a"}, PassTypeError),
        ({"executors": ["gpu"]}, RunError),
        ({"inputs": 7}, PassTypeError),
        ({"entry": "zz"}, RunError),
    ],
)
def test_misuse_is_a_diagnostic(options, error):
    with pytest.raises(error):
        lab.culprit(net(), "InferType", **options)
    with pytest.raises(PasslabError):
        lab.culprit("text", "InferType")


def test_an_interrupt_leaves_the_executor_that_is_wrong(monkeypatch):
    def interrupted(fault, options):
        raise KeyboardInterrupt

    monkeypatch.setattr(executors, "_with_location", interrupted)
    monkeypatch.setattr(executors, "_runner", lambda kind, mod: lambda *arguments: np.zeros((3, 4), "float32"))
    culprit = lab.culprit(passlab.parse("def @main(%x: Tensor[(3, 4), float32]) { exp(%x) }"), "InferType")
    assert culprit.stopped == "interrupted"
    assert culprit.name == "vm"
    assert "no time" in culprit.where


@transform.function_pass(opt_level=0, required=["InferType"])
def swaps_differences(func, mod, ctx):
    """Exchange operands that have the same shape, of a difference or a sum."""

    def rule(before, node):
        name = getattr(getattr(node, "op", None), "name", "")
        if name in ("add", "subtract") and before.args[0].checked_type == before.args[1].checked_type:
            return node.with_fields(args=node.args[::-1])
        return node

    return rewrite(func, rule, only=(Call,))


@pytest.mark.rotating
def test_before_it_finds_no_fault_it_asks_the_fuzzer():
    mod = passlab.parse("def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) { add(%x, %y) }")
    culprit = lab.culprit(mod, [swaps_differences])
    assert (culprit.name, culprit.elsewhere) == ("swaps_differences", True)
    assert culprit.sentences[0].startswith("The program itself shows no fault: 1 of 1 step")
    assert "subtract" in count_operators(culprit.module)
    exec(culprit.script(), {})


def test_that_every_step_was_compared_is_said_only_where_a_step_was():
    same = lab.culprit(passlab.parse("def @main(%x: float32) { exp(%x) }"), "FoldConstant")
    assert same.sentences[-1].startswith("No step changed the program, so there was nothing to compare.")
    assert not len(same.coverage.reached())
    integers = passlab.parse("def @main(%x: int32) { add(%x, 0) }")
    other = lab.culprit(integers, "InferType, SimplifyExpr")
    assert other.sentences[-1].startswith("Every step that changed the program was compared on inputs of"), other
    assert "add" in other.coverage.reached().column("operator")


def test_a_fault_that_every_draw_shows_is_seen_before_earlier_steps_get_much_time(monkeypatch):
    """Where a step has no time for all inputs, one look at the later ones says how much time the others get."""
    monkeypatch.setattr(value_search, "SECONDS", 0.0)
    asked = []
    plain = value_search.examine_part
    monkeypatch.setattr(
        value_search, "examine_part", lambda event, *rest: asked.append(event.name) or plain(event, *rest)
    )
    passes = ["InferType", "SimplifyInference", "FoldScaleAxis", slopes, "FuseOps"]
    culprit = lab.culprit(passlab.parse(NORMALISED), passes, opt_level=3, executors=())
    assert culprit.event.name == "slopes"
    assert asked.count("SimplifyInference") == asked.count("slopes") == 1
    assert "FuseOps" not in asked
    assert [check.outcome for _, check in culprit.coverage.checks if check.compared] == ["kept"] * 2


def test_a_pass_that_is_wrong_when_it_runs_again_is_bad_in_the_table_and_later_steps_are_not_before_it():
    runs = []

    @transform.function_pass(opt_level=0, name="Growing")
    def growing(func, mod, ctx):
        runs.append(func)
        return func if len(runs) % 3 else relay.Function(func.params, relay.add(func.body, relay.const(1.0)))

    net = passlab.parse("def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { tanh(%x) }")
    found = lab.culprit(net, ["InferType", growing, "DeadCodeElimination", "InferType"])
    assert "wrong when it runs again" in found.sentences[0]
    assert found.sentences[1] == "The step before it kept its contract."
    rows = [(row["pass"], row["program"]) for row in found.bisection.table()]
    assert rows[:2] == [("InferType", "good"), ("Growing", "bad")]
