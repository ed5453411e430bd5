"""Who made what: the gutter beside a program names the pass that made what each line defines."""

from __future__ import annotations

import json
import re

import pytest

import passlab
from passlab.display import blame_view, module_view, recording_view
from passlab.display.pages.page import document
from passlab.errors import PassError
from passlab.transform import module_pass
from tests.display.programs import HOSTILE, Reader, hostile, network

NET = """
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32], %b: Tensor[(4), float32]) {
  nn.relu(nn.bias_add(nn.dense(%x, %w, units=4), %b))
}
"""
PIPELINE = "InferType, CanonicalizeOps, FuseOps(fuse_opt_level=2)"


def recorded(passes=PIPELINE, program=NET):
    return passlab.record(passlab.parse(program), passes, opt_level=4)


def test_a_pass_is_named_beside_what_it_made():
    assert (
        blame_view(recorded()).text()
        == """\
After 3 FuseOps: 6 lines, 2 by FuseOps, 1 by CanonicalizeOps, 3 from the input.

                    def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32], %b: Tensor[(4), float32]) -> Tensor[(1, 4), float32] {
3 FuseOps         |   %2 = fn (%p0: Tensor[(1, 8), float32], %p1: Tensor[(4, 8), float32], %p2: Tensor[(4), float32], Primitive=1) -> Tensor[(1, 4), float32] {
                        %0 = nn.dense(%p0, %p1, units=4);
2 CanonicalizeOps |     %1 = add(%0, %p2);
                        nn.relu(%1)
                      };
3 FuseOps         |   %2(%x, %w, %b)
                    }"""
    )


def test_the_lines_of_one_pass_are_named_where_they_begin():
    @module_pass(opt_level=0)
    def soften(mod, ctx):
        return passlab.parse("def @main(%x: Tensor[(2), float32]) { exp(tanh(if (True) { sqrt(%x) } else { %x })) }")

    rec = passlab.record(passlab.parse("def @main(%x: Tensor[(2), float32]) { %x }"), [soften])
    lines = [(line[:10].rstrip(), line[11:].strip()) for line in blame_view(rec).text().split("\n")[2:]]
    assert lines == [
        ("", "def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {"), ("1 soften |", "%0 = if (True) {"),
        ("         |", "sqrt(%x)"), ("", "} else {"), ("", "%x"), ("", "};"), ("         |", "%1 = tanh(%0);"),
        ("         |", "exp(%1)"), ("", "}"),
    ]  # fmt: skip


def test_what_no_pass_made_has_no_gutter():
    rec = recorded()
    for step in (0, 1):
        head, _, *lines = blame_view(rec, step).text().split("\n")
        assert head.endswith("4 lines, 4 from the input.")
        assert lines == [line.text for line in module_view(rec[step].after).lines]
        assert "width" not in blame_view(rec, step).html()


@pytest.mark.parametrize("step", [2, -2, "2", "CanonicalizeOps"])
def test_a_step_goes_by_number_id_or_name(step):
    rec = recorded()
    assert blame_view(rec, step).program is rec[2].after


def test_a_step_that_was_not_recorded_is_told():
    with pytest.raises(IndexError, match="steps 0 to 3"):
        blame_view(recorded(), 9)
    with pytest.raises(PassError, match="FuseOps"):
        blame_view(recorded(), "FuseOp")


def test_every_line_agrees_with_the_provenance():
    rec = passlab.record(network(), "SimplifyInference, FuseOps(fuse_opt_level=2), ToANormalForm", opt_level=2)
    for step in rec:
        view = blame_view(rec, step.id)
        rows = view.frame().to_dict("records")
        assert [row["text"] for row in rows] == [line.text for line in view.lines]
        for line, row in zip(view.lines, rows, strict=True):
            assert not any(piece.kind == "constant" for piece in line.tokens)
            maker = None if line.result is None else rec.provenance.maker(line.result)
            value = f"{maker.id} {maker.name}" if maker is not None else "" if line.result is None else "input"
            assert row["made_by"] == value


def test_hovering_tells_the_rule_and_what_was_there_before():
    view = blame_view(recorded())
    data = view.data()
    passes, origins, rows = (data["blame"][part] for part in ("passes", "origins", "rows"))
    origin_of = {}
    for line, number in zip(data["rows"], rows, strict=True):
        if number >= 0:
            maker, text = origins[number]
            origin_of[data["lines"][line][0].strip()] = (passes[maker][0], data["texts"][text])
    assert origin_of["%1 = add(%0, %p2);"] == (
        "2 CanonicalizeOps",
        "rule: bias_add as add\nin place of nn.bias_add (input)",
    )
    assert origin_of["%2(%x, %w, %b)"] == ("3 FuseOps", "FuseOps(fuse_opt_level=2)\nin place of nn.relu (input)")
    titles = [value for name, value in Reader(view.html()).attributes if name == "title"]
    assert any("rule: bias_add as add" in title for title in titles)


def test_a_constant_has_no_line_of_its_own_so_its_line_names_its_maker():
    program = "def @main(%x: Tensor[(2), float32]) { add(%x, multiply(2f, 3f)) }"
    rec = recorded("FoldConstant", program)
    assert "1 FoldConstant |   add(%x, 6f)" in blame_view(rec).text()
    assert "rule: folded\n6f in place of multiply (input)" in blame_view(rec).data()["texts"]
    rec = recorded("FoldConstant", "def @main() { multiply(2f, 3f) }")
    assert "1 FoldConstant |   6f" in blame_view(rec).text()


def test_lines_that_define_nothing_are_told_from_those_of_the_input():
    view = blame_view(recorded())
    assert [row for line, row in zip(view.lines, view.data()["blame"]["rows"], strict=True) if line.text == "}"] == [-2]
    assert view.data()["blame"]["rows"][0] == -1


def test_a_pass_has_one_colour_in_every_program_of_a_recording():
    rec = recorded(f"{PIPELINE}, CanonicalizeOps, ToANormalForm")
    looks = {}
    for step in rec:
        for label, colour, event in blame_view(rec, step.id).data()["blame"]["passes"]:
            name = rec.events[event].name
            assert label.endswith(name)
            assert looks.setdefault(name, colour) == colour
    assert len(set(looks.values())) == len(looks) > 1


def test_the_data_of_the_explorer_has_the_blame_of_every_program():
    rec = recorded()
    data = recording_view(rec).data()
    for step in data["steps"]:
        event = rec[step["id"]]
        alone = blame_view(rec, step["id"]).data()["blame"]
        together = data["blame"]
        numbers = together["programs"][step["after"]]
        assert len(numbers) == len(data["modules"][step["after"]])
        names = [n if n < 0 else together["passes"][together["origins"][n][0]][0] for n in numbers]
        assert names == [n if n < 0 else alone["passes"][alone["origins"][n][0]][0] for n in alone["rows"]], event


def test_the_first_page_of_a_large_recording_does_not_wait_for_blame():
    assert recording_view(recorded()).data(only_start=True)["blame"] is None


def test_it_is_a_program_to_the_widget_and_a_page():
    view = blame_view(recorded())
    assert json.loads(json.dumps(view.data()))["kind"] == "module"
    assert "pl-blame" in document(view)


def test_text_and_html_are_stable_and_say_the_same():
    texts = {blame_view(recorded()).text() for _ in range(2)}
    assert len(texts) == 1
    assert not re.search(r"\d\s?ms|0x[0-9a-f]{6}|[ \t]$", texts.pop(), re.MULTILINE)
    read = Reader(blame_view(recorded()).html()).text
    for words in ("After 3 FuseOps", "2 CanonicalizeOps", "3 FuseOps", "%1 = add(%0, %p2);"):
        assert words in read


def test_hostile_names_are_text():
    @module_pass(opt_level=0, name=HOSTILE)
    def evil(mod, ctx):
        return hostile()

    view = blame_view(passlab.record(network(), [evil]))
    assert not {"script", "img"} & set(Reader(view.html()).elements)
    assert "<script>alert" not in document(view)
    assert "\u202e" not in view.text()
    assert "\u202e" not in json.dumps(view.data(), ensure_ascii=False)
    assert "\x00" not in view.html()
