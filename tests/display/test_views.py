"""Each view has a complete and stable text, static HTML that says the same, and data a browser can draw from."""

from __future__ import annotations

import json
import re
from inspect import signature
from pathlib import Path

import pytest
import traitlets

import passlab
from passlab import IRModule, limits, relay
from passlab.display import (
    View,
    diff_view,
    failure_view,
    module_view,
    operators_view,
    recording_view,
    timing_view,
)
from passlab.display.lanes import MOST_BARS, Lanes
from passlab.display.rows import Counts, StepOutline
from passlab.display.view_parts import Beside, Drawing, Embedded, Fold, HtmlOnly, TextOnly
from passlab.display.views.timing import flame_bars
from passlab.errors import PassError, PasslabError
from passlab.instrument import PassTimingInstrument
from passlab.transform import InferType, PassContext, module_pass
from tests.display.markup import unreadable_markup
from tests.display.programs import NETWORK, Reader, network
from tests.display.view_examples import CLASSES, EXAMPLES, VIEWS, failed, recorded

ELEMENTS = {
    "a", "b", "code", "defs", "details", "div", "g", "img", "line", "marker", "path", "pre", "rect", "span", "style", "summary",
    "svg", "table", "tbody", "td", "text", "th", "thead", "title", "tr", "tspan",
}  # fmt: skip


def test_every_class_of_views_has_an_example():
    assert set(CLASSES) == set(EXAMPLES)
    for name in VIEWS:
        assert type(EXAMPLES[name]()).__name__ == name


def test_no_view_draws_its_text_or_its_html_by_hand():
    own = [name for name, cls in CLASSES.items() if {"text", "html"} & set(vars(cls))]
    assert not own, f"list what these consist of in `parts`: {', '.join(own)}"


FUNCTIONS = sorted(name for name in dir(passlab.display) if name.endswith("_view") or name == "write_html")


@pytest.mark.parametrize(
    "value",
    [7, None, "a text", b"", {}, {1}, object(), View()],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_object_of_another_kind_is_a_diagnostic_that_names_what_is_viewed(name, value):
    if name == "tree_view" and value == {}:
        return  # the tree without nodes
    function = getattr(passlab.display, name)
    others = [p for p in signature(function).parameters.values() if p.default is p.empty and p.kind != p.KEYWORD_ONLY]
    with pytest.raises(PasslabError) as raised:
        function(value, *others[1:])
    (finding,) = raised.value.diagnostics
    assert isinstance(raised.value, TypeError)
    shown = finding.found or finding.message
    assert type(value).__name__ in shown or (value is None and "None" in shown)
    assert finding.hint


def pieces(parts):
    """The parts that render themselves, out of those that hold others."""
    for part in parts:
        if isinstance(part, Embedded):
            yield from pieces(part.view.parts())
        elif isinstance(part, Beside | Fold | HtmlOnly):
            yield from pieces(part.inside if isinstance(part, Fold) else part.parts)
        else:
            yield part


def words(text):
    return set(re.findall(r"[\w@%$.]*\w", re.sub(r"/\*.*?\*/", "", text).replace(",", "")))


@pytest.mark.parametrize("kind", VIEWS)
def test_what_a_part_says_in_text_stands_in_its_html_too(kind):
    own = {Counts: {"operator", "before", "after", "change"}, StepOutline: {"on"}, Lanes: set("0123456789")}
    compared = 0
    for part in pieces(EXAMPLES[kind]().parts()):
        if isinstance(part, TextOnly | Drawing):  # HTML shows other parts for these, or draws
            continue
        apart = re.sub(r"<span style=\"display:|<(?!/?span)", lambda match: f" {match[0]}", part.html())
        missing = words("\n".join(part.lines())) - words(Reader(apart).text) - own.get(type(part), set())
        if isinstance(part, Counts):
            missing -= {str(abs(new - old)) for _, old, new in part.counts}
        assert not missing, (type(part).__name__, missing)
        compared += 1
    assert compared


@pytest.mark.parametrize("kind", VIEWS)
def test_a_view_says_in_every_run_what_its_file_expects(kind, expect):
    """Its title, its text, and what its HTML says beyond that, numbers left out: some are times."""
    view = EXAMPLES[kind]()
    text, html = view.text(), Reader(view.html())
    words = [value for name, value in html.attributes if name in ("alt", "title", "aria-label")]
    pieces = [piece for piece in [*html.pieces, *words] if "Traceback" not in piece]  # of this machine
    more = [line for piece in pieces for line in piece.split("\n") if line.strip() not in text]
    said = "\n".join(
        dict.fromkeys(re.sub(r"\d[\d.,]*(?: ?(?:[mµu]?s\b|%|[KM]?B\b))?", "#", line.strip()) for line in more)
    )
    expect(Path(__file__).parent / "expected" / f"{kind}.txt", f"{view.title}\n\n{text}\n\n{said}")


@pytest.mark.parametrize("kind", VIEWS)
def test_the_text_holds_no_times_addresses_or_paths(kind):
    text = EXAMPLES[kind]().text()
    assert not re.search(r"\d\s?ms|\d\s?us|0x[0-9a-f]{6}|/tmp|<passlab", text)
    assert not any(line != line.rstrip() for line in text.split("\n"))


@pytest.mark.parametrize("kind", VIEWS)
def test_the_data_is_plain_and_names_the_widget(kind):
    view = EXAMPLES[kind]()
    assert isinstance(view, View)
    assert json.loads(json.dumps(view.data()))["kind"] == view.kind


@pytest.mark.parametrize("kind", VIEWS)
def test_static_html_is_well_formed_and_says_something(kind):
    html = EXAMPLES[kind]().html()
    read = Reader(html)
    assert read.text.strip()
    assert not unreadable_markup(html)
    assert set(read.elements) <= ELEMENTS, "of what browsers know"


@pytest.mark.parametrize("kind", VIEWS)
def test_a_view_is_a_table_too_or_says_that_it_is_none(kind):
    view = EXAMPLES[kind]()
    if type(view).source is View.source:
        with pytest.raises(TypeError, match="is not a table"):
            view.frame()
    else:
        assert len(view.frame())


def test_a_program_as_text_reads_back():
    text = module_view(network()).text()
    assert passlab.structural_equal(passlab.parse(text), network())


def test_a_program_as_text():
    assert (
        module_view(network()).text()
        == """\
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32], %b: Tensor[(4), float32]) -> Tensor[(1, 4), float32] {
  %0 = nn.dense(%x, %w, units=4);  /* ty=Tensor[(1, 4), float32] */
  %1 = nn.bias_add(%0, %b);  /* ty=Tensor[(1, 4), float32] */
  %2 = nn.relu(%1);  /* ty=Tensor[(1, 4), float32] */
  nn.softmax(%2)  /* ty=Tensor[(1, 4), float32] */
}"""
    )


def test_a_program_as_html_folds_long_lists_of_parameters():
    params = ", ".join(f"%p{i}: Tensor[(1, 2), float32]" for i in range(30))
    read = Reader(module_view(passlab.parse(f"def @main({params}) {{ %p0 }}")).html())
    assert "details" in read.elements
    assert "30 parameters" in read.text
    assert "%p29" in read.text


def test_a_diff_as_text():
    assert (
        diff_view(recorded()[3].diff()).text()
        == """\
Fused nn.dense, nn.bias_add and nn.relu into one function; put nn.softmax into its own function; nothing else changed.

  def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32], %b: Tensor[(4), float32]) -> Tensor[(1, 4), float32] {
+   %2 = fn (%p01: Tensor[(1, 8), float32], %p1: Tensor[(4, 8), float32], %p2: Tensor[(4), float32], Primitive=1) -> Tensor[(1, 4), float32] {
~     %0 = nn.dense(%p01, %p1, units=4);
~     %1 = nn.bias_add(%0, %p2);
~     nn.relu(%1)
+   };
+   %3 = %2(%x, %w, %b);
+   %4 = fn (%p0: Tensor[(1, 4), float32], Primitive=1) -> Tensor[(1, 4), float32] {
~     nn.softmax(%p0)
+   };
+   %4(%3)
  }

~ moved into or out of a function"""
    )


def test_a_diff_counts_the_operators_that_changed():
    before, after = passlab.parse(NETWORK), passlab.parse(NETWORK.replace("nn.relu(%1)", "tanh(%1)"))
    text = diff_view(passlab.diff(before, after)).text()
    assert "nn.relu        1      0      -1" in text
    assert "tanh           0      1       1" in text
    assert "nn.dense  " not in text


def test_long_runs_of_unchanged_lines_are_folded():
    lines = "".join(f"%{i + 1} = abs(%{i});" for i in range(40))
    program = f"def @main(%x: Tensor[(2), float32]) {{ %0 = exp(%x); {lines} sqrt(%40) }}"
    text = diff_view(
        passlab.diff(passlab.parse(program), passlab.parse(program.replace("sqrt(%40)", "tanh(%40)")))
    ).text()
    assert "... 39 unchanged lines" in text
    assert text.count("abs") == 3


def test_no_change_is_a_sentence():
    assert diff_view(passlab.diff(network(), network())).text() == "Nothing changed."


def test_a_recording_as_text():
    assert (
        recording_view(recorded(disabled_pass=["SimplifyInference"])).text()
        == """\
Recording: 2 of 3 passes ran, 1 changed the program, 1 skipped.

0 ▸ input
    4 operators, 12 nodes.
1 ○ InferType
2 – SimplifyInference
    Skipped: disabled.
3 ● FuseOps(fuse_opt_level=2)
    Fused nn.dense, nn.bias_add and nn.relu into one function; put nn.softmax into its own function; nothing else changed."""
    )


def test_a_recording_that_failed_says_where_and_starts_there():
    @module_pass(opt_level=0)
    def broken(mod, ctx):
        raise PassError("no such thing")

    rec = passlab.record(network(), [passlab.transform.InferType(), broken])
    view = recording_view(rec)
    assert "2 ✕ broken" in view.text()
    assert "PassError: no such thing" in view.text()
    assert view.events[view.start].name == "broken"
    assert view.data()["steps"][view.start]["error"] == "error: no such thing"


def test_programs_and_lines_of_a_recording_are_sent_once():
    data = recording_view(recorded()).data()
    assert len(data["modules"]) == 2
    assert len(data["diffs"]) == 1
    assert len({json.dumps(line) for line in data["lines"]}) == len(data["lines"])


def test_the_first_page_of_a_recording_holds_one_diff_and_the_steps_of_the_whole():
    view = recording_view(passlab.record(network(), "FuseOps(fuse_opt_level=2), ToANormalForm", opt_level=2))
    first, whole = view.data(only_start=True), view.data()
    assert first["partial"]
    results = [step["sentence"] for step in first["steps"]]
    assert [item for item in results if item] == [whole["steps"][view.start]["sentence"]]
    assert [d is not None for d in first["diffs"]] == [True, False]
    assert all(d is not None for d in whole["diffs"])
    assert all(m is not None for m in whole["modules"])


def test_times_of_an_instrument_and_of_a_recording_are_shown_alike():
    timing = PassTimingInstrument()
    with PassContext(opt_level=2, instruments=[timing]):
        passlab.transform.Sequential([passlab.transform.InferType(), passlab.transform.SimplifyInference()])(network())
    lines = timing_view(timing).text().split("\n")
    assert lines[0] == "sequential"
    assert "  SimplifyInference" in lines
    assert timing_view(recorded()).text().split("\n")[0] == "InferType"
    read = Reader(timing_view(timing).html())
    assert "passsecondsown secondspercent" in read.text
    assert [value for name, value in read.attributes if name == "style" and "linear-gradient" in value]


def test_nothing_timed_is_no_error():
    assert timing_view(PassTimingInstrument()).text() == "no passes were timed"
    assert Reader(timing_view(PassTimingInstrument()).html()).text


def test_text_beyond_the_limit_ends_in_a_hint():
    with limits.override(output_bytes=200):
        text = module_view(network()).text()
    assert len(text.encode()) < 300
    assert text.split("\n")[-1].startswith("... 4 more lines")


def test_operators_are_counted_most_frequent_first():
    mod = passlab.parse("def @main(%x: Tensor[(2), float32]) { abs(exp(abs(%x))) }")
    assert list(operators_view(mod).frame()["operator"]) == ["abs", "exp"]


def test_expressions_types_and_modules_can_all_be_looked_at():
    function = network()["main"]
    for thing in (network(), function, function.body, function.checked_type, passlab.parse_expr("1 + 2")):
        assert module_view(thing).text()
        assert module_view(thing).data()["title"]


def test_a_flame_chart_stands_what_runs_inside_below_and_side_by_side():
    rows = [(0, "all", 4.0, ""), (1, "a", 1.0, ""), (2, "deep", 0.5, "failed"), (1, "b", 3.0, ""), (0, "next", 4.0, "")]
    drawn = flame_bars(rows)
    assert [(b.name, b.lane, b.left, b.width) for b in drawn] == [
        ("all", 0, 0, 50), ("a", 1, 0, 12.5), ("deep", 2, 0, 6.25), ("b", 1, 12.5, 37.5), ("next", 0, 50, 50),
    ]  # fmt: skip
    read = Reader(Lanes(drawn).html())
    assert "deep (failed): 500.00 ms, 6.2%" in [value for name, value in read.attributes if name == "title"]
    assert Lanes(flame_bars([(0, "nothing", 0.0, "")])).html() == ""


def test_the_shortest_pass_has_a_bar_however_long_the_others_are():
    read = Reader(Lanes(flame_bars([(0, "long", 1e3, ""), (0, "short", 1e-6, "")])).html())
    assert [value.split(":")[0] for name, value in read.attributes if name == "title"] == ["long", "short"]


def test_of_too_many_bars_the_widest_are_drawn():
    rows = [(0, f"p{n}", seconds, "") for n, seconds in enumerate([1.0] * MOST_BARS + [2.0])]
    read = Reader(Lanes(flame_bars(rows)).html())
    names = [value.split(":")[0] for name, value in read.attributes if name == "title"]
    assert len(names) == MOST_BARS
    assert f"p{MOST_BARS}" in names


def with_bias():
    return passlab.record(
        passlab.parse("""def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32], %b: Tensor[(4), float32]) {
          nn.relu(nn.bias_add(nn.dense(%x, %w), %b))
        }"""),
        "CanonicalizeOps, FuseOps",
        opt_level=4,
    )


def test_a_let_is_made_by_who_made_its_value():
    @module_pass(opt_level=0)
    def soften(mod, ctx):
        return passlab.parse("def @main(%x: Tensor[(2), float32]) { let %y = tanh(%x); %y }")

    rec = passlab.record(passlab.parse("def @main(%x: Tensor[(2), float32]) { let %y = nn.relu(%x); %y }"), [soften])
    view = recording_view(rec)
    (line,) = [line for line in view.lines(rec.last) if "let %y" in line.text]
    assert rec.provenance.maker(line.result).name == "soften"


def test_a_step_names_the_operators_it_touched():
    steps = recording_view(with_bias()).data()["steps"]
    assert [step["operators"] for step in steps if not step["depth"]] == [[], ["add", "nn.bias_add"], []]


def test_the_widget_of_a_program_without_types_says_what_finds_them():
    x = relay.var("x", shape=(2, 3))
    untyped = IRModule.from_expr(relay.Function([x], relay.exp(x)))
    assert module_view(untyped).data()["title"] == "@main: 1 operator, no types yet: InferType finds them"
    assert module_view(InferType()(untyped)).data()["title"] == "@main: 1 operator"


def test_each_row_of_a_comparison_has_the_steps_of_its_own_side() -> None:
    net = passlab.parse("def @main(%x: Tensor[(2), float32]) { nn.relu(nn.relu(%x)) }")
    a = passlab.record(net, ["InferType", "SimplifyExpr", "FoldConstant"])
    b = passlab.record(net, ["InferType", "FoldConstant"])
    rows = passlab.display.views.comparisons.comparison_view(passlab.lab.compare(a, b)).data()["rows"]
    pairs = [(row["name"], *row["at"]) for row in rows]
    for name, left, right in pairs:
        assert name in (a.steps[left].name, b.steps[right].name)
    assert {right for *_, right in pairs} == set(range(len(b.steps)))
    assert {left for _, left, _ in pairs} == set(range(len(a.steps)))


def test_a_failure_is_shown_alike_before_and_after_its_error_is_raised():
    recording = failed()
    before = failure_view(recording.failed)
    text, frames = before.text(), before.data()["frames"]
    with pytest.raises(ValueError, match="no way"):
        raise recording.error
    after = failure_view(recording.failed)
    assert (after.text(), after.data()["frames"]) == (text, frames)
    assert len(frames) == 1


def test_a_failure_shows_no_frame_of_a_library_that_calls_the_pass_back():
    class Watched(traitlets.HasTraits):
        value = traitlets.Int()

    @module_pass(opt_level=0, name="Watching")
    def watching(mod, ctx):
        def look(change):
            raise ValueError("no way")

        watched = Watched()
        watched.observe(look)
        watched.value = 1

    failure = failure_view(passlab.record(network(), [watching]).failed)
    assert [frame.function for frame in failure.frames] == ["watching", "look"]


def test_the_title_of_a_failure_is_what_was_raised_and_by_which_pass():
    assert EXAMPLES["FailureView"]().title == "the pass `Broken` raised ValueError: no way"
