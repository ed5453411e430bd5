"""The magics, through a real shell: what a person types, what is bound, what is said when it is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from IPython.core.error import UsageError
from IPython.utils.capture import capture_output

from passlab import instrument, parse, structural_equal, transform
from passlab.errors import InterruptedPassesError, ParseError, PassError, PasslabError, TypeInferenceError
from passlab.ir.module import IRModule
from tests.docs.test_life_of_a_program import calls
from tests.dumps import writer

NET = """def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) {
  nn.relu(nn.dense(%x, %w))
}
"""


@pytest.fixture
def shell(running_shell):
    running_shell.run_line_magic(
        "reload_ext" if "passlab" in running_shell.extension_manager.loaded else "load_ext", "passlab"
    )
    running_shell.user_ns["net"] = None
    running_shell.run_cell_magic("relay", "net --show none", NET)
    yield running_shell
    running_shell.run_line_magic("unload_ext", "passlab")


def test_relay_binds_a_typed_module(shell):
    assert isinstance(shell.user_ns["net"], IRModule)
    assert str(shell.user_ns["net"]["main"].checked_type.ret_type) == "Tensor[(1, 4), float32]"


def test_relay_can_leave_the_program_untyped(shell):
    shell.run_cell_magic("relay", "raw --no-infer --show none", NET)
    assert shell.user_ns["raw"]["main"].checked_type_ is None


def test_relay_reads_one_expression(shell):
    shell.run_cell_magic("relay", "e --show none", "1 + 2")
    assert str(shell.user_ns["e"].checked_type) == "int32"


@pytest.mark.parametrize("cell", [NET, "1 + 2"], ids=["module", "expression"])
def test_a_cell_is_split_into_tokens_once(shell, cell):
    made = calls(lambda: shell.run_cell_magic("relay", "e --show none", cell))
    assert made.count(("text/tokens.py", "lex")) == 1


def test_relay_binds_arrays_as_constants(shell):
    shell.user_ns["w"] = np.ones((4, 8), "float32")
    shell.run_cell_magic("relay", "fixed --const w --show none", NET)
    assert [p.name_hint for p in shell.user_ns["fixed"]["main"].params] == ["x"]


def test_relay_shows_text(shell, capsys):
    shell.run_cell_magic("relay", "shown --show text", NET)
    assert "nn.dense(%x, %w" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("cell", "error", "place", "fix"),
    [
        ("def @main(%x: float32) { nn.rleu(%x) }", ParseError, "2:26", "nn.relu"),
        ("def @main(%x: float32) { exp(%y) }", ParseError, "2:30", None),
        ("def @main(%x: float32, %y: int32) { add(%x, %y) }", TypeInferenceError, "2:45", "cast"),
        ("def @main(%x: float32) { exp(%x, axis=1) }", PasslabError, "2:34", None),
        ("def @main(%x: float32 { exp(%x) }", ParseError, "2:23", None),
    ],
)
def test_a_bad_cell_is_told_where_and_the_old_program_stays(shell, cell, error, place, fix):
    before = shell.user_ns["net"]
    with pytest.raises(error) as caught:
        shell.run_cell_magic("relay", "net", cell)
    assert place in str(caught.value), caught.value
    assert fix is None or fix in str(caught.value)
    assert shell.user_ns["net"] is before


def test_passes_binds_the_result_and_the_recording(shell):
    shell.run_line_magic("passes", "net InferType, FuseOps(fuse_opt_level=2) -O 3 -o out -r rec -q")
    assert "Primitive=1" in str(shell.user_ns["out"])
    assert [step.name for step in shell.user_ns["rec"].steps] == ["input", "InferType", "FuseOps"]


def test_passes_reads_a_cell_with_comments(shell):
    rec = shell.run_cell_magic("passes", "net -o out", "InferType   # types first\nFuseOps(fuse_opt_level=2)\n")
    assert [step.name for step in rec.steps] == ["input", "InferType", "FuseOps"]


def test_passes_keeps_quotes_of_options(shell):
    rec = shell.run_line_magic("passes", 'net Sequential(InferType, name="clean up") -q -r rec')
    assert rec is None
    assert "clean up" in shell.user_ns["rec"].runs[0].name


def test_options_may_stand_anywhere(shell):
    rec = shell.run_line_magic("passes", "-O 2 net InferType, FuseOps --disable FuseOps -r rec")
    assert [(step.name, step.status) for step in rec.steps[1:]] == [("InferType", "ran"), ("FuseOps", "skipped")]
    shell.run_line_magic("passes", "net -q -O 2 InferType, FuseOps -o out")
    assert "Primitive=1" in str(shell.user_ns["out"])


def test_passes_can_disable_a_pass(shell):
    rec = shell.run_line_magic("passes", "net InferType, FuseOps --disable FuseOps")
    assert rec["FuseOps"].status == "skipped"


def test_a_pass_is_disabled_by_either_of_its_names(shell):
    for name in ("CombineParallelConv2D", "CombineParallelConv2d"):
        rec = shell.run_line_magic("passes", f"net CombineParallelConv2D -O 4 --disable {name}")
        assert rec.steps[1].status == "skipped"


def test_a_misspelt_pass_is_not_disabled_in_silence(shell):
    with pytest.raises(PassError, match="did you mean `FuseOps`"):
        shell.run_line_magic("passes", "net InferType, FuseOps --disable FuseOp")


def test_a_pass_written_in_the_notebook_can_be_named(shell):
    shell.run_cell(
        "from passlab import transform\n"
        "@transform.function_pass(opt_level=1)\n"
        "def my_pass(func, mod, ctx):\n    return func\n"
    )
    rec = shell.run_line_magic("passes", "net InferType, my_pass")
    assert [step.name for step in rec.steps][-1] == "my_pass"


def test_a_function_that_is_no_pass_is_told_how_it_becomes_one(shell):
    shell.run_cell("def plain(func, mod, ctx):\n    return func\n")
    with pytest.raises(PasslabError, match="decorate it with"):
        shell.run_line_magic("passes", "net plain")


def test_a_function_is_told_how_it_becomes_a_program(shell):
    shell.user_ns["main"] = shell.user_ns["net"]["main"]
    with pytest.raises(UsageError, match=r"IRModule\.from_expr"):
        shell.run_line_magic("passes", "main InferType")


def test_a_list_of_passes_is_a_pipeline(shell):
    shell.user_ns["mine"] = [transform.FoldConstant(), transform.FuseOps()]
    try:
        shell.run_line_magic("passes", "net InferType, mine, FoldConstant -r rec -q")
    finally:
        del shell.user_ns["mine"]
    steps = shell.user_ns["rec"].steps
    assert [event.name for event in steps] == ["input", "InferType", "mine", "FoldConstant"]
    assert [event.name for event in steps[2].children if event.role != "required"] == ["FoldConstant", "FuseOps"]


def test_a_list_of_passes_is_searched_saved_and_followed_as_a_pass_is(shell, tmp_path):
    shell.run_cell(
        "import passlab\n@passlab.transform.module_pass(opt_level=0)\ndef wrong(mod, ctx):\n"
        "    return passlab.parse(passlab.transform.InferType()(mod).astext().replace('nn.relu', 'negative'))\n"
        "steps = [passlab.transform.FoldConstant(), wrong]"
    )
    try:
        for _ in range(2):
            shell.run_line_magic("passes", "net steps, FuseOps -r rec -q")
            shell.run_line_magic("culprit", "net steps, FuseOps --seconds 5 -o found")
            shell.run_line_magic("bisect", "rec -o named")
            assert (shell.user_ns["found"].name, shell.user_ns["named"].event.name) == ("wrong", "wrong")
        shell.user_ns["rec"].save(tmp_path / "rec")
        assert type(shell.user_ns["rec"]).load(tmp_path / "rec").text() == shell.user_ns["rec"].text()
        widget = shell.run_cell_magic("relay", 'living --live "steps"', NET)
        assert "negative" in str(widget.recording.output)
        shell.run_cell("_ = steps.pop()")
        assert "negative" not in str(widget.recording.output)
    finally:
        for name in ("steps", "wrong"):
            del shell.user_ns[name]


def test_a_failing_pass_is_shown_and_raised_and_nothing_is_bound(shell):
    shell.run_cell(
        "from passlab import transform\n"
        "@transform.module_pass(opt_level=1)\n"
        "def broken(mod, ctx):\n    raise ZeroDivisionError('as it happens')\n"
    )
    with pytest.raises(ZeroDivisionError, match="as it happens"):
        shell.run_line_magic("passes", "net InferType, broken -o lost -r rec")
    assert "lost" not in shell.user_ns
    assert shell.user_ns["rec"].failed.name == "broken"


def test_unknown_passes_options_and_programs_are_told(shell):
    with pytest.raises(PassError, match="did you mean `FoldConstant`"):
        shell.run_line_magic("passes", "net FoldConstants")
    with pytest.raises(PasslabError, match="fuse_opt_level"):
        shell.run_line_magic("passes", "net FuseOps(fuse_level=2)")
    with pytest.raises(UsageError, match="did you mean `net`"):
        shell.run_line_magic("passes", "nett FuseOps")
    with pytest.raises(UsageError, match="--opt-levle 2: did you mean `--opt-level`"):
        shell.run_line_magic("passes", "net FuseOps --opt-levle 2")


@pytest.mark.parametrize(
    "line", ["passes net no_such_pass -o 1st", "run net --entry none -o 1st", "vm net --entry none -o 1st"]
)
def test_a_name_that_cannot_be_bound_is_refused_before_anything_runs(shell, line):
    with pytest.raises(UsageError, match="`1st` is not a Python name"):
        shell.run_line_magic(*line.split(maxsplit=1))


def test_graph_draws_a_module_a_function_or_an_expression(shell, capsys):
    shell.run_cell_magic("relay", "e --show none", "1 + 2")
    for part in ("net", "net.main", "e"):
        shell.run_line_magic("graph", part)
        assert "Dataflow" in capsys.readouterr().out
    with pytest.raises(PasslabError, match="did you mean `main`"):
        shell.run_line_magic("graph", "net.mian")


def test_blame_shows_who_made_each_line(shell, capsys):
    shell.run_line_magic("passes", "net InferType, FuseOps(fuse_opt_level=2), ToANormalForm -O 3 -r rec -q")
    shell.run_line_magic("blame", "rec")
    assert "After 3 ToANormalForm" in capsys.readouterr().out
    for step in ("2", "-2", "FuseOps"):
        shell.run_line_magic("blame", f"rec --step {step}")
        out = capsys.readouterr().out
        assert "After 2 FuseOps" in out
        assert "2 FuseOps |" in out


def test_blame_without_a_name_is_about_the_last_passes(shell, capsys):
    with pytest.raises(UsageError, match="no %passes has run yet"):
        shell.run_line_magic("blame", "")
    shell.run_line_magic("passes", "net FuseOps -O 3 -q")
    shell.run_line_magic("blame", "--step 0")
    assert "The input: 3 lines" in capsys.readouterr().out


def test_blame_of_what_is_not_there_is_told(shell):
    shell.run_line_magic("passes", "net FuseOps -O 3 -r rec -q")
    for line, fix in [
        ("recc", "did you mean `rec`"),
        ("net", "`net` is not a recording; its type is IRModule"),
        ("rec --step 7", "steps 0 to 1"),
        ("rec --stp 1", "did you mean `--step`"),
    ]:
        with pytest.raises(UsageError, match=fix):
            shell.run_line_magic("blame", line)
    with pytest.raises(PassError, match="did you mean `FuseOps`"):
        shell.run_line_magic("blame", "rec --step FuseOp")


def test_run_computes(shell):
    shell.user_ns.update(x=np.ones((1, 8), "float32"), w=np.full((4, 8), 0.5, "float32"))
    np.testing.assert_array_equal(shell.run_line_magic("run", "net --args x,w -o y"), np.full((1, 4), 4, "float32"))
    np.testing.assert_array_equal(shell.user_ns["y"], np.full((1, 4), 4, "float32"))
    np.testing.assert_array_equal(
        shell.run_line_magic("run", "net --random 3"), shell.run_line_magic("run", "net --random 3")
    )


def test_run_still_runs_scripts(shell, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("answer = 6 * 7\n")
    shell.run_line_magic("run", str(script))
    assert shell.user_ns["answer"] == 42


def test_run_without_a_program_says_what_it_takes(shell):
    with pytest.raises(UsageError, match="did you mean `net`"):
        shell.run_line_magic("run", "nett --random 0")
    with pytest.raises(UsageError, match="needs a program"):
        shell.run_line_magic("run", "")


@pytest.mark.parametrize("executor", ["debug", "vm", "graph"])
def test_run_watches_the_values_of_every_executor_that_tells_them(shell, executor):
    shell.run_line_magic("run", f"net --random 3 --watch --executor {executor} -o seen")
    seen = shell.user_ns["seen"]
    relu = next(node for node in seen.order if getattr(getattr(node, "op", None), "name", "") == "nn.relu")
    np.testing.assert_array_equal(seen.values[relu], shell.run_line_magic("run", "net --random 3"))
    with pytest.raises(UsageError, match="values are watched on debug, vm and graph, not on `aot`"):
        shell.run_line_magic("run", "net --random 3 --watch --executor aot")


def test_every_magic_has_help(shell):
    for name in ("passes", "graph", "blame", "run", "instruments"):
        assert shell.find_line_magic(name).__doc__
    assert "--const" in shell.find_cell_magic("relay").__doc__


def test_unloading_gives_everything_back(running_shell):
    running_shell.run_line_magic("load_ext", "passlab")
    ours = running_shell.find_line_magic("run")
    running_shell.run_line_magic("unload_ext", "passlab")
    assert running_shell.find_cell_magic("relay") is None
    assert running_shell.find_line_magic("passes") is None
    assert running_shell.find_line_magic("run") not in (None, ours)


# ---------------------------------------------------------------- %vm
def test_vm_opens_at_the_first_breakpoint(shell):
    dbg = shell.run_line_magic("vm", "net --random 0 --break nn.dense -o dbg")
    assert shell.user_ns["dbg"] is dbg
    assert dbg.now.operators == ["nn.dense", "nn.relu"]
    assert dbg.reason == "breakpoint 1: nn.dense"


def test_vm_takes_arrays_of_the_notebook_and_other_executors(shell):
    shell.user_ns.update(x=np.ones((1, 8), "float32"), w=np.ones((4, 8), "float32"))
    results = [
        shell.run_line_magic("vm", f"net --args x,w --executor {kind}").trace.result
        for kind in ("vm", "graph", "debug")
    ]
    assert all(np.array_equal(result, np.full((1, 4), 8, "float32")) for result in results)


@pytest.mark.parametrize("kind", ["graph", "debug"])
def test_vm_steps_through_runs_by_node_that_were_recorded_before(shell, kind):
    dbg = shell.run_line_magic("vm", f"net --random 0 --executor {kind} --break nn.dense -o dbg")
    assert "nn.dense" in dbg.now.operators  # though it may be the first of all
    shell.user_ns["trace"] = dbg.trace
    assert shell.run_line_magic("vm", "trace").trace is dbg.trace


def test_vm_steps_through_what_was_recorded_before(shell):
    dbg = shell.run_line_magic("vm", "net --random 1 -o dbg")
    shell.user_ns.update(trace=dbg.trace, exe=dbg.trace.code_map.program)
    assert shell.run_line_magic("vm", "dbg") is dbg
    assert shell.run_line_magic("vm", "trace").trace is dbg.trace
    again = shell.run_line_magic("vm", "exe --random 1")
    assert np.array_equal(again.trace.result, dbg.trace.result)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nt --random 0", "did you mean `net`"),
        ("net --random 0 --break nn.dens", "did you mean `nn.dense`"),
        ("net --args x,missing", "there is no variable `missing`"),
        (
            "net --args np.ones((2,3)),x",
            r"`np.ones\(\(2,3\)\),x` is not a list of names of variables\n  help: give each",
        ),
        ("net --args ope", "there is no variable `ope` in this notebook\n  help: `--random 0` makes random arguments"),
        ("net --entry mian", "mian"),
        ("net --executor tvm", "invalid choice"),
    ],
)
def test_vm_says_what_is_wrong(shell, line, message):
    shell.user_ns["x"] = np.ones((1, 8), "float32")
    with pytest.raises((UsageError, PasslabError), match=message):
        shell.run_line_magic("vm", line)


def test_a_debugger_shows_itself_as_a_widget_with_a_plain_twin(shell):
    dbg = shell.run_line_magic("vm", "net --random 0 --break nn.dense")
    data, _ = shell.display_formatter.format(dbg)
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"].startswith("@main on the virtual machine: 9 instructions, 1 kernel call\n")
    assert ">     5  @main   5  fused_nn_dense_nn_relu" in data["text/plain"]


def test_passes_without_a_pipeline_tells_which_would_change_the_program(shell):
    shell.run_cell_magic("relay", "net --show none", "def @main(%x: Tensor[(2), float32]) { nn.relu(%x * (2f * 3f)) }")
    shown = shell.run_line_magic("passes", "net")
    assert "FoldConstant" in shown.table.column("pass")
    assert "would change `net`" in shown.html()


def test_an_interrupt_is_told_without_a_traceback(shell):
    shell.run_cell("from passlab.errors import Diagnostic, InterruptedRunError")
    with capture_output() as shown:
        shell.run_cell("raise InterruptedRunError(Diagnostic('the program was interrupted', hint='run it again'))")
    assert "error: the program was interrupted" in shown.stdout
    assert "help: run it again" in shown.stdout
    assert "Traceback" not in shown.stdout


def test_an_error_says_in_bold_what_is_wrong_and_where(shell, monkeypatch):
    monkeypatch.setattr(shell, "colors", "neutral")
    with pytest.raises(PasslabError) as caught:
        parse("def @main() { nn.reluu(1) }")
    lines = caught.value._render_traceback_()
    text, pointed = (line for line in lines if line.startswith("\x1b[1m") and line.endswith("\x1b[0m"))
    assert "error: operator `nn.reluu`" in text
    assert "^^^^^^^^" in pointed
    assert "\n".join(lines).replace("\x1b[1m", "").replace("\x1b[0m", "") == str(caught.value)


def test_an_error_is_plain_where_colours_are_off(shell, monkeypatch):
    with pytest.raises(PasslabError) as caught:
        parse("def @main() { nn.reluu(1) }")
    monkeypatch.setenv("NO_COLOR", "1")
    assert caught.value._render_traceback_() == str(caught.value).split("\n")
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setattr(shell, "colors", "nocolor")
    assert caught.value._render_traceback_() == str(caught.value).split("\n")


def test_an_interrupted_pipeline_keeps_what_was_recorded(shell, capsys):
    @transform.module_pass(opt_level=0)
    def hurry(mod, ctx):
        raise KeyboardInterrupt

    shell.user_ns |= {"hurry": hurry, "out": None}
    with pytest.raises(InterruptedPassesError, match="interrupted in step 2, hurry") as caught:
        shell.run_line_magic("passes", "net InferType, hurry, FuseOps -r rec -o out")
    recording = shell.user_ns["rec"]
    assert recording is caught.value.recording
    assert [event.name for event in recording.steps] == ["input", "InferType", "hurry"]
    assert recording.failed.name == "hurry"
    assert shell.user_ns["out"] is None
    assert "hurry" in capsys.readouterr().out
    shell.run_line_magic("passes", "net InferType -o out -q")
    assert shell.user_ns["out"] is not None


def test_a_pipeline_runs_under_the_context_in_force(shell):
    timing = instrument.PassTimingInstrument()
    options = {"opt_level": 1, "disabled_pass": ["FoldConstant"], "config": {"relay.FuseOps.max_depth": 1}}
    with transform.PassContext(instruments=[timing], **options):
        shell.run_line_magic("passes", "net InferType, FoldConstant, FuseOps -r rec -q")
        assert "FuseOps" in timing.render()
    rec = shell.user_ns["rec"]
    assert rec["FoldConstant"].status == "skipped"
    assert rec.output.astext().count("Primitive=1") == 2


def test_options_of_the_line_go_before_those_of_the_context(shell):
    with transform.PassContext(opt_level=0):
        rec = shell.run_line_magic("passes", "net InferType, FuseOps -O 3 --config relay.FuseOps.max_depth=1")
    assert rec["FuseOps"].context.opt_level == 3
    assert rec["FuseOps"].context.config["relay.FuseOps.max_depth"] == 1


@pytest.mark.parametrize("setting", ["relay.FuseOps.max_depth", "=3"])
def test_a_config_that_is_no_setting_is_told(shell, setting):
    with pytest.raises(UsageError, match="KEY=VALUE"):
        shell.run_line_magic("passes", f"net InferType --config {setting}")


def test_an_unknown_config_is_told(shell):
    with pytest.raises(PasslabError, match="max_depth"):
        shell.run_line_magic("passes", "net InferType --config relay.FuseOps.max_deph=3")


def test_a_keyword_is_no_name_for_a_result(shell):
    with pytest.raises(UsageError, match="keyword"):
        shell.run_line_magic("passes", "net InferType -o class")


def test_a_pass_that_raises_shows_its_error_and_the_frames_of_its_author_once(shell, capsys):
    shell.run_cell(
        "from passlab import transform\n"
        "@transform.function_pass(opt_level=1)\n"
        "def broken(func, mod, ctx):\n    body = func.body\n    raise ValueError('no way')\n",
        store_history=True,
    )
    number = shell.execution_count - 1
    with pytest.raises(ValueError, match="no way") as raised:
        shell.run_line_magic("passes", "net InferType, broken")
    (line,) = raised.value._render_traceback_()
    assert (
        line == f"error: the pass `broken` raised ValueError at cell [{number}], line 5; the recording above shows it"
    )
    shown = capsys.readouterr().out
    assert shown.count("ValueError: no way") == 1
    assert ">    5 |     raise ValueError('no way')" in shown
    assert "passlab/transform" not in shown
    assert "working on: func = function at" in shown


def test_a_program_without_types_is_the_fault_of_the_pass_that_left_it(shell):
    shell.run_cell(
        "from passlab import relay, transform\n"
        "@transform.function_pass(opt_level=1)\n"
        "def misfit(func, mod, ctx):\n    return func.with_fields(body=relay.reshape(func.body, (7, 7, 7)))\n"
    )
    with pytest.raises(PasslabError) as raised:
        shell.run_line_magic("passes", "net InferType, misfit")
    (line,) = raised.value._render_traceback_()
    assert line.startswith("error: `InferType` in the pass `misfit` raised ")


def test_a_pass_that_passlab_refuses_shows_its_error_once(shell, capsys):
    shell.run_cell(
        "from passlab import transform\n@transform.function_pass(opt_level=1)\ndef broken(func, mod, ctx):\n    return 3\n"
    )
    with pytest.raises(PasslabError) as raised:
        shell.run_line_magic("passes", "net InferType, broken")
    (line,) = raised.value._render_traceback_()
    message = str(raised.value).split("\n")[0].removeprefix("error: ")
    assert message not in line
    assert type(raised.value).__name__ in line
    shown = capsys.readouterr().out
    assert shown.count(message) == 1
    assert str(raised.value).split("\n")[-1] in shown


def test_compare_puts_two_recordings_side_by_side_and_names_those_there_are(shell):
    shell.run_line_magic("passes", "net InferType, FuseOps(fuse_opt_level=2) -r one -q")
    shell.run_line_magic("passes", "net InferType, ToANormalForm, FuseOps(fuse_opt_level=2) -r two -q")
    value = shell.run_line_magic("compare", "one two -o found")
    assert value is shell.user_ns["found"]
    assert value.first_divergence.name == "ToANormalForm"
    with pytest.raises(UsageError, match="did you mean `two`"):
        shell.run_line_magic("compare", "one twoo")


@pytest.mark.parametrize(
    "line", ["passes net InferType -o class", "passes net InferType -r None", "bisect net InferType -o is"]
)
def test_a_keyword_of_python_is_no_name_for_a_result(shell, line):
    with pytest.raises(UsageError, match="is a keyword of Python: choose another name"):
        shell.run_line_magic(*line.split(" ", 1))
    with pytest.raises(UsageError, match="`class` is a keyword of Python: choose another name, such as `class_`"):
        shell.run_cell_magic("relay", "class", NET)


def test_compare_takes_recordings_of_other_compilers_and_refuses_one_of_each_kind(shell, tmp_path):
    for name, seed in (("a", 1), ("b", 2)):
        (tmp_path / name).write_text(writer.llvm_dump(writer.run(seed), "both"))
        shell.run_line_magic("dump", f"{tmp_path / name} -o {name}")
    shell.run_line_magic("passes", "net InferType -r relay -q")
    value = shell.run_line_magic("compare", "a b -o found")
    assert value is shell.user_ns["found"]
    assert value.summary() == shell.user_ns["a"].compare(shell.user_ns["b"]).summary()
    assert value.first is not None
    for first, second in (("a", "relay"), ("relay", "a")):
        with pytest.raises(PasslabError, match=r"cannot be compared|not a recording of Relay"):
            shell.run_line_magic("compare", f"{first} {second}")


def test_live_binds_the_program_and_follows_a_pass_that_is_defined_again(shell):
    shell.run_cell("import passlab\n@passlab.transform.module_pass(opt_level=0)\ndef mine(mod, ctx): return mod")
    widget = shell.run_cell_magic("relay", 'living --live "InferType, mine" -O 2', NET)
    assert structural_equal(shell.user_ns["living"], shell.user_ns["net"])
    assert not widget.recording["mine"].changed
    shell.run_cell(
        "@passlab.transform.module_pass(opt_level=0)\ndef mine(mod, ctx): return passlab.transform.ToANormalForm()(mod)"
    )
    assert widget.recording["mine"].changed
    with pytest.raises(ParseError):
        shell.run_cell_magic("relay", 'living --live "InferType"', "def @main(")
    assert widget.recording["mine"].changed


PATHS = ("rec.output", "rec[2].after", "recs[0].last", "recs[-1].input")


@pytest.mark.parametrize("line", ["graph {}", "passes {} FuseOps -o out", "run {} --random 0", "vm {} --random 0"])
@pytest.mark.parametrize("path", PATHS)
def test_a_path_stands_where_a_name_does(shell, line, path):
    space = shell.user_ns
    shell.run_line_magic("passes", "net InferType, FoldConstant -r rec")
    space["recs"] = [space["rec"]]
    magic, _, rest = line.format(path).partition(" ")
    with capture_output():
        shell.run_line_magic(magic, rest)


VALUES = {
    "net": (
        "bisect {} InferType",
        "culprit {} InferType --seconds 1",
        "graph {}",
        "graph net --changed-from {}",
        "passes {} InferType",
        "run_program {}",
        "simplify {}",
        "vm {}",
    ),
    "rec": ("bisect {}", "blame {}", "compare {} rec", "compare rec {}", "culprit {} --seconds 1", "vm {}"),
    "dbg": ("vm {}",),
    "trace": ("vm {}",),
    "watched": ("run_program net --against {}",),
    "good": ("bisect rec --good {}",),
}


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, lines in VALUES.items() for line in lines])
def test_an_item_stands_where_any_name_does(shell, name, line):
    space = shell.user_ns
    shell.run_line_magic("passes", "net InferType, FoldConstant -q -r rec")
    shell.run_line_magic("vm", "net -o dbg")
    with capture_output():
        shell.run_line_magic("run_program", "net --watch -o watched")
        space |= {"trace": space["dbg"].trace, "good": lambda mod: True}
        space["kept"] = [space[name]]
        answers = []
        for subject in (name, "kept[0]"):
            magic, _, rest = line.format(subject).partition(" ")
            answers.append(type(shell.run_line_magic(magic, rest)))
    assert answers[0] is answers[1]


@pytest.mark.parametrize("subject", ["dbg", "dbg.trace"])
@pytest.mark.parametrize("option", ["--args x", "--random 0", "--entry f", "--executor graph"])
def test_a_run_that_is_over_takes_no_option_of_a_run(shell, subject, option):
    shell.run_line_magic("vm", "net -o dbg")
    with pytest.raises(UsageError, match="has run"):
        shell.run_line_magic("vm", f"{subject} {option}")


def test_a_level_without_a_pipeline_is_an_error(shell):
    before = shell.user_ns["net"]
    with pytest.raises(UsageError, match="-O is the level of a pipeline"):
        shell.run_cell_magic("relay", "net -O 2", NET)
    assert shell.user_ns["net"] is before


def test_a_comma_may_end_a_list_of_arguments(shell):
    shell.user_ns |= {"x": np.ones((1, 8), "float32"), "w": np.ones((4, 8), "float32")}
    expected = shell.run_line_magic("run_program", "net --args x,w")
    np.testing.assert_array_equal(expected, np.full((1, 4), 8, "float32"))
    np.testing.assert_array_equal(shell.run_line_magic("run_program", "net --args x,w,"), expected)


@pytest.mark.parametrize("magic", ["bisect", "culprit", "passes", "run", "simplify", "vm"])
def test_a_function_of_a_program_is_run_by_its_entry(shell, magic):
    with pytest.raises(UsageError, match=r"one function of the program `net`: give `net`; .* --entry main"):
        shell.run_line_magic(magic, "net.main")


@pytest.mark.parametrize(
    ("path", "answer"),
    [("rec.outptu", "AttributeError"), ("rec[99].after", "IndexError"), ("rec.steps", "not a program"), ("rec.f()", "no program")],
)  # fmt: skip
def test_a_path_that_leads_nowhere_says_so(shell, path, answer):
    shell.run_line_magic("passes", "net InferType -r rec")
    with pytest.raises(UsageError, match=answer):
        shell.run_line_magic("graph", path)
