"""What a page of a recording shows before its script runs: the passes, and what the chosen one did."""

from __future__ import annotations

import re

import passlab
from passlab.display.page import document
from passlab.display.recording import recording_view
from passlab.display.recording_shell import spent
from passlab.errors import PasslabError
from passlab.transform import module_pass

PROGRAM = """def @main(%x: Tensor[(4), float32]) {
  let %dead = exp(%x);
  add(%x, multiply(2f, 3f))
}"""
PASSES = "InferType, DeadCodeElimination, FoldConstant, DeadCodeElimination, FuseOps"


def first_picture(rec: passlab.Recording) -> str:
    view = recording_view(rec)
    return view.shell(view.data())


def named(markup: str, look: str) -> list[str]:
    names = re.findall(rf'<span class="{look}"[^>]*>(.*?)</span>', markup)
    return [re.sub("</?b>", "", name) for name in names]


def test_it_names_the_passes_that_are_not_inside_others():
    rec = passlab.record(passlab.parse(PROGRAM), PASSES)
    assert any(event.depth for event in rec.events)
    assert named(first_picture(rec), "pl-pass-name") == ["input", *PASSES.split(", ")]


def test_the_chosen_pass_is_the_first_that_changed_something():
    markup = first_picture(passlab.record(passlab.parse(PROGRAM), "DeadCodeElimination, FoldConstant"))
    assert named(markup, "pl-step-name") == ["DeadCodeElimination"]
    assert 'pl-chip"><span class="pl-op">exp</span> 1 → <b class="pl-less-of">0</b>' in markup


def test_a_pass_that_failed_inside_another_is_named():
    @module_pass(opt_level=0, name="Stumble")
    def stumble(mod, ctx):
        raise PasslabError("no <b>way</b>")

    rec = passlab.record(passlab.parse(PROGRAM), [passlab.transform.Sequential([stumble], name="Both")])
    markup = first_picture(rec)
    assert "Stumble" in named(markup, "pl-pass-name")
    assert "no &lt;b&gt;way&lt;/b&gt;" in markup
    assert "<b>way" not in markup


def test_times_are_those_that_the_script_shows():
    assert [spent(ms) for ms in (0.04, 0.1, 2.25, 2.75, 99.94, 100, 100.5, 999.4, 1234, 1125)] == [
        "<0.1 ms", "0.1 ms", "2.3 ms", "2.8 ms", "99.9 ms", "100 ms", "101 ms", "999 ms", "1.23 s", "1.13 s"
    ]  # fmt: skip


def test_it_stands_before_the_data_and_the_script():
    page = document(recording_view(passlab.record(passlab.parse(PROGRAM), PASSES)))
    assert page.index("passlab pl-shell") < page.index('id="state"') < page.index('<script type="module">')
