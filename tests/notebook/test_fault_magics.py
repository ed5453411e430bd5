"""`%bisect` and `%culprit`, through a real shell."""

from __future__ import annotations

import numpy as np
import pytest
from IPython.core.error import UsageError

from passlab import relay, transform
from passlab.display import bisection_view, campaign_view, culprit_view
from passlab.display.html import escape
from passlab.errors import PassError
from passlab.ir.expr import Call
from passlab.ir.walk import rewrite
from passlab.lab.culprits.bisection import Bisection
from passlab.lab.reducer.reduction import Reduction
from passlab.notebook.completion import candidates

NET = """def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) {
  exp(nn.relu(nn.dense(%x, %w)))
}
"""


@transform.function_pass(opt_level=0)
def loses(func, mod, ctx):
    """Loses activations."""

    def rule(before, node):
        return node.args[0] if isinstance(node, Call) and node.op == relay.op.get("nn.relu") else node

    return rewrite(func, rule, only=(Call,))


@pytest.fixture
def shell(running_shell):
    loaded = "passlab" in running_shell.extension_manager.loaded
    running_shell.run_line_magic("reload_ext" if loaded else "load_ext", "passlab")
    running_shell.user_ns["loses"] = loses
    running_shell.run_cell_magic("relay", "net --show none", NET)
    yield running_shell
    running_shell.run_line_magic("unload_ext", "passlab")


def test_it_names_the_pass_of_a_line(shell):
    answer = shell.run_line_magic("bisect", "net InferType, loses, FuseOps(fuse_opt_level=1) -O 2 --random 3 -o kept")
    assert isinstance(answer, Bisection)
    assert answer is shell.user_ns["kept"]
    assert answer.event.name == "loses"
    assert [e.name for e in answer.recording.steps] == ["input", "InferType", "loses", "FuseOps"]
    assert answer.criterion.seed == 3


def test_its_view_gives_the_reason_once_and_unfolds_the_diff(shell):
    answer = shell.run_line_magic("bisect", "net InferType, loses -O 2")
    view = bisection_view(answer)
    assert view.text().count(answer.why) == view.html().count(str(escape(answer.why))) == 1
    assert "<details" in view.html()


def test_it_names_the_pass_of_a_cell(shell):
    assert shell.run_cell_magic("bisect", "net", "InferType   # types\nloses\n").event.name == "loses"


def test_an_interrupt_shows_what_was_examined_and_what_is_left(shell):
    asked = []

    def good(mod):
        if len(asked) == 2:
            raise KeyboardInterrupt
        asked.append(mod)
        return len(asked) == 1

    shell.user_ns["good"] = good
    answer = shell.run_line_magic("bisect", "net ToANormalForm, loses, ToGraphNormalForm --good good -o kept")
    assert shell.user_ns["kept"] is answer
    assert (answer.stopped, len(answer.verdicts)) == ("interrupted", 2)
    text = bisection_view(answer).text()
    assert text.startswith(
        "the search was interrupted; only the 3 passes from step 1, ToANormalForm, to step 3, ToGraph"
    )
    assert "the predicate was asked about 2 programs" in text


def test_a_recording_is_asked_as_it_ran(shell):
    shell.run_line_magic("passes", "net InferType, loses -q -r rec")
    answer = shell.run_line_magic("bisect", "rec")
    assert answer.recording is shell.user_ns["rec"]
    with pytest.raises(UsageError, match="`rec` is a recording, which has its pipeline already"):
        shell.run_line_magic("bisect", "rec FuseOps")


def test_a_function_of_the_notebook_is_asked(shell):
    shell.user_ns["has_exp"] = lambda mod: " exp(" in mod.astext()
    answer = shell.run_line_magic("bisect", "net InferType, loses, FastMath --good has_exp --every -O 4")
    assert answer.event.name == "FastMath"
    assert len(answer.verdicts) > 2


def test_given_arguments_are_used(shell):
    shell.user_ns |= {"x": np.ones((1, 8), "float32"), "w": np.ones((4, 8), "float32")}
    assert not shell.run_line_magic("bisect", "net loses --args x,w").found
    shell.user_ns["w"] = -shell.user_ns["w"]
    assert shell.run_line_magic("bisect", "net loses --args x,w").found


def test_the_smallest_program_is_shown_after_it(shell):
    small = shell.run_line_magic("bisect", "net InferType, loses --reduce -o found")
    assert isinstance(small, Reduction)
    assert small.of is shell.user_ns["found"]
    assert "nn.relu" in small.module.astext()
    assert isinstance(shell.run_line_magic("bisect", "net InferType --reduce"), Bisection)


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ("nett InferType", UsageError, "did you mean `net`"),
        ("net", UsageError, "%bisect needs a pipeline: %bisect net InferType"),
        ("net InferTyp", PassError, "did you mean `InferType`"),
        ("net InferType --good nonsense", UsageError, "no function `nonsense`"),
        ("net InferType --good net", UsageError, "`net` is an IRModule, not a function"),
        ("net InferType -o 1x", UsageError, "`1x` is not a Python name"),
        ("net InferType --randm 1", UsageError, "did you mean `--random`"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_bound(shell, line, error, message):
    shell.user_ns["found"] = before = object()
    with pytest.raises(error, match=message):
        shell.run_line_magic("bisect", f"{line} -o found" if "-o" not in line else line)
    assert shell.user_ns["found"] is before


def test_tab_offers_programs_recordings_passes_and_functions(shell):
    shell.run_line_magic("passes", "net InferType -q -r rec")
    offered = lambda line: [name for name, _ in candidates(line, line, shell.user_ns)[0]]  # noqa: E731
    assert {"net", "rec"} <= set(offered("%bisect "))
    assert offered("%bisect net Fuse") == ["FuseOps"]
    assert "loses" in offered("%bisect net InferType --good lo")


def test_the_culprit_is_named_and_its_view_shows_the_smallest_program(shell):
    result = shell.run_line_magic("culprit", "net InferType, loses, FuseOps(fuse_opt_level=1) --seconds 30 -o kept")
    assert result is shell.user_ns["kept"]
    assert result.event.name == "loses"
    view = culprit_view(result)
    assert result.sentences[0] in view.text()
    assert "the smallest program that shows it" in view.html()


def test_a_culprit_needs_a_pipeline(shell):
    with pytest.raises(UsageError, match="needs a pipeline"):
        shell.run_line_magic("culprit", "net")


def test_a_recording_is_run_and_stepped_through(shell):
    shell.run_line_magic("passes", "net InferType, FuseOps(fuse_opt_level=2) -q -r rec")
    debugger = shell.run_line_magic("vm", "rec --random 0")
    history = "\n".join(str(life) for site in range(len(debugger.trace)) for life in debugger.trace[site].history)
    assert "2 FuseOps" in history


def test_programs_that_a_pass_breaks_are_drawn(shell):
    campaign = shell.run_line_magic("fuzz", "loses --seconds 15 --most 1 -o kept")
    assert campaign is shell.user_ns["kept"]
    assert campaign.found
    assert "as a test" in campaign_view(campaign).html()
