"""Views of programs that are longer than anyone reads show, and send, a part: that in which something changed."""

from __future__ import annotations

import pytest

import passlab
from passlab import limits
from passlab.diffing.diff import FunctionDiff
from passlab.display import diff_view, module_view
from passlab.display.pages.report import explorer_html
from passlab.display.text import listing
from passlab.display.text.alignment import align
from passlab.display.views import recording
from passlab.display.views.graph import graph_view
from passlab.display.views.recording import recording_view
from passlab.notebook.widgets import show
from passlab.testing.programs import generate
from passlab.text.printer import LayoutPrinter

HEADER = '#[version = "0.0.5"]\n'


def chain(operators: list[str]) -> passlab.IRModule:
    """A program with one operator a line."""
    lines = (f"  %{at} = {name}(%{at - 1 if at else 'x'});\n" for at, name in enumerate(operators))
    return passlab.parse(f"{HEADER}def @main(%x: Tensor[(2), float32]) {{\n{''.join(lines)}  %{len(operators) - 1}\n}}")


LONG = chain(["exp"] * 300)
CHANGED = chain(["exp"] * 200 + ["tanh"] + ["exp"] * 99)


@pytest.fixture
def short():
    with limits.override(program_lines=100):
        yield


@pytest.mark.usefixtures("short")
def test_a_long_program_is_shown_up_to_a_limit_and_says_how_much_is_left():
    view = module_view(LONG)
    with limits.override(program_lines=1000):
        whole = [line.text for line in module_view(LONG).lines]
    assert [line.text for line in view.lines] == whole[:100]
    assert view.left_out == len(whole) - 100
    assert view.text().endswith(f"... {view.left_out} more lines: str() of the program has all")
    assert view.data()["title"] == f"@main: 300 operators; {view.left_out} more lines are not shown"
    assert len(view.data()["rows"]) == 100


@pytest.mark.usefixtures("short")
def test_the_difference_of_long_programs_begins_a_little_before_the_first_change():
    view = diff_view(passlab.diff(LONG, CHANGED))
    changed = [line.text for line in view.unified_lines() if line.kind in ("-", "+")]
    assert {"  %200 = exp(%199);", "  %200 = tanh(%199);"} <= set(changed)
    assert len(changed) <= 4  # those two, and how the line after them reads what they define
    assert len(view.before) == len(view.after) == 100


@pytest.mark.usefixtures("short")
def test_lines_that_the_excerpt_of_the_other_program_no_longer_holds_are_not_called_removed():
    longer = chain(["exp"] * 10 + ["tanh"] * 40 + ["exp"] * 290)
    view = diff_view(passlab.diff(LONG, longer))
    kinds = [row.kinds for row in view.rows]
    assert kinds.count(" +") == 40
    assert not any("-" in kind for kind in kinds)


def test_a_diff_shows_the_same_as_ever_where_all_lines_have_room():
    texts = []
    for most in (10_000, 400):
        with limits.override(program_lines=most):
            texts.append(diff_view(passlab.diff(LONG, CHANGED)).text())
    assert texts[0] == texts[1]


@pytest.mark.usefixtures("short")
def test_the_explorer_of_a_huge_recording_is_sent_the_steps_that_are_looked_at(monkeypatch):
    monkeypatch.setattr(recording, "HUGE", 1000)
    rec = passlab.record(LONG, "FuseOps(fuse_opt_level=0), ToANormalForm, DefuseOps", opt_level=3)
    widget = show(recording_view(rec))
    last = max(at for at, event in enumerate(rec.events) if event.changed)
    assert widget.data["by_step"]
    assert widget.data["steps"][last]["left_out"] == 0
    assert [diff is None for diff in widget.data["diffs"]] == [False, True, True]
    widget._on_message(None, {"step": last}, None)
    assert [diff is None for diff in widget.data["diffs"]] == [False, True, False]
    assert widget.data["steps"][last]["left_out"] > 0
    assert all(len(lines) <= 100 for lines in widget.data["modules"] if lines is not None)
    sent = widget.data
    widget._on_message(None, {"step": -5}, None)
    assert widget.data is sent


PIPELINES = (
    "InferType, SimplifyExpr, FoldConstant, FuseOps",
    "InferType, ToANormalForm, FuseOps",
    "InferType, EliminateCommonSubexpr, ToGraphNormalForm, DeadCodeElimination",
    "InferType, ToBasicBlockNormalForm, FoldScaleAxis, FuseOps",
)


@pytest.mark.parametrize("seed", range(16))
def test_lines_are_compared_alone_as_they_are_among_all_lines(seed, monkeypatch):
    rec = passlab.record(generate(seed, effects=seed % 2 == 0, size=8), PIPELINES[seed % 4], opt_level=4)
    with limits.override(program_lines=30):
        views = [view for view in map(recording_view(rec).diff, rec.events) if view is not None and view.is_excerpt]
        alone = [view.rows for view in views]
        monkeypatch.setattr(FunctionDiff, "within", lambda self, window: self)
        among_all = [align(view.diff, view.before, view.after) for view in views]
    for rows, others in zip(alone, among_all, strict=True):
        # Whether a line has moved depends on the function around it, whose head may be above the lines.
        kinds = [[row._replace(left_kind="", right_kind="") for row in side] for side in (rows, others)]
        assert kinds[0] == kinds[1]
        assert [row.kinds.replace("~", "=") for row in rows] == [row.kinds.replace("~", "=") for row in others]


@pytest.mark.rotating
@pytest.mark.usefixtures("short")
def test_a_page_of_a_huge_recording_writes_no_line_that_it_does_not_show(monkeypatch):
    monkeypatch.setattr(recording, "HUGE", 1000)
    written = []
    late_text = LayoutPrinter.late_text
    monkeypatch.setattr(LayoutPrinter, "late_text", lambda self, node: written.append(node) or late_text(self, node))
    counts = []
    for length in (1000, 4000):
        rec = passlab.record(
            chain(["exp"] * length), "InferType, FuseOps(fuse_opt_level=0), ToANormalForm", opt_level=3
        )
        explorer_html(rec)
        counts.append(len(written))
        written.clear()
    assert abs(counts[0] - counts[1]) < 10


@pytest.mark.usefixtures("short")
def test_a_page_of_a_huge_recording_prints_each_program_once(monkeypatch):
    monkeypatch.setattr(recording, "HUGE", 1000)
    printed = []
    render = listing.render
    monkeypatch.setattr(
        listing, "render", lambda program, **options: printed.append(program) or render(program, **options)
    )
    rec = passlab.record(chain(["exp"] * 1000), "InferType, FuseOps(fuse_opt_level=0)", opt_level=3)
    explorer_html(rec)
    programs = {id(mod) for event in rec.events for mod in (event.before, event.after)}
    assert sorted(id(program) for program in printed if isinstance(program, passlab.IRModule)) == sorted(programs)


def test_a_graph_of_a_huge_program_reads_its_beginning_and_counts_the_rest():
    with limits.override(graph_nodes=50):
        for program in (chain(["exp"] * 1000), passlab.transform.ToANormalForm()(chain(["exp"] * 1000))):
            graph = graph_view(program, folded=False).graph
            assert sum(box.count for box in graph.boxes if box.kind == "op") + graph.left_out == 1000
            assert len(graph.boxes) <= 50
