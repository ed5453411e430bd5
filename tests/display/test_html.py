"""Markup is built in one place, and nothing hostile comes through it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import passlab
from passlab.display import (
    diff_view,
    graph_view,
    module_view,
    operators_view,
    profile_view,
    recording_view,
    timing_view,
)
from passlab.display.html import Markup, escape, join, picture, tag
from passlab.errors import visible
from passlab.vm import Report
from tests.display.programs import HOSTILE, Reader, hostile

SAFE_ATTRIBUTES = {"style", "title", "alt", "src", "colspan", "open"}


@given(st.text())
def test_any_text_is_shown_as_it_is_and_makes_no_element(text):
    read = Reader(tag("div", text, title=text))
    assert read.elements == ["div"]
    assert read.text in (visible(text), visible(text).replace("\r", "\n"))
    assert [name for name, _ in read.attributes] == ["title"]


def test_markup_is_not_escaped_twice():
    assert tag("p", tag("span", "a < b")) == "<p><span>a &lt; b</span></p>"
    assert join(["<", Markup("<span></span>")]) == "&lt;<span></span>"


def test_odd_characters_become_visible():
    assert escape("a\u202eb\x00") == "a\\u202eb\\x00"


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("script", {}),
        ("a", {}),
        ("iframe", {}),
        ("div", {"onclick": "f()"}),
        ("div", {"id": "x"}),
        ("div", {"class": "x"}),
        ("div", {"style": 'color:red"'}),
        ("div", {"style": "background:url(x)"}),
        ("div", {"style": "a\nb<"}),
        ("img", {"src": "javascript:alert(1)"}),
        ("img", {"src": "https://example.org/x.png"}),
        ("td", {"colspan": "4"}),
        ("path", {"d": "M0 0<script>"}),
        ("rect", {"fill": "url(#x)"}),
    ],
)
def test_elements_and_attributes_that_could_do_harm_are_refused(name, attributes):
    with pytest.raises(ValueError, match="passlab writes no"):
        tag(name, **attributes)


def test_numbers_are_short():
    assert tag("rect", x=1.0, y=2.25, width=1 / 3) == '<rect x="1" y="2.25" width="0.33"/>'


def test_a_drawing_is_an_image_in_which_nothing_runs():
    read = Reader(picture(tag("svg", xmlns="http://www.w3.org/2000/svg"), alt='a "graph"'))
    assert read.elements == ["img"]
    assert dict(read.attributes)["src"].startswith("data:image/svg+xml;base64,")
    assert dict(read.attributes)["alt"] == 'a "graph"'


def hostile_views():
    mod = hostile()
    rec = passlab.record(mod, "InferType, FoldConstant, FuseOps", name=HOSTILE)
    return [
        module_view(mod),
        diff_view(passlab.diff(mod, rec.last)),
        recording_view(rec),
        timing_view(rec),
        graph_view(mod),
        operators_view(mod),
        profile_view(Report(({"Name": HOSTILE, "Duration (us)": 1.0, "Device": HOSTILE, "Argument Shapes": HOSTILE},))),
    ]


@pytest.mark.parametrize(
    "number", range(7), ids=["module", "diff", "recording", "timing", "graph", "operators", "profile"]
)
def test_hostile_names_stay_text_in_every_view(number):
    view = hostile_views()[number]
    read = Reader(view.html())
    assert not {"script", "iframe", "a", "svg"} & set(read.elements)
    assert {name for name, _ in read.attributes} <= SAFE_ATTRIBUTES
    assert not [value for name, value in read.attributes if name in ("style", "src") and "alert" in value]
    assert "\u202e" not in read.text + view.text()
    assert "\x00" not in read.text + view.text()


def test_a_hostile_name_is_shown_in_full():
    assert visible(HOSTILE).split(" ")[0].replace('"', '\\"') in Reader(module_view(hostile()).html()).text


def test_the_drawing_inside_an_image_holds_only_shapes_and_text():
    import base64

    (source,) = [value for name, value in Reader(graph_view(hostile()).html()).attributes if name == "src"]
    drawing = base64.b64decode(source.partition(",")[2]).decode()
    read = Reader(drawing)
    assert set(read.elements) <= {"svg", "g", "rect", "path", "polygon", "text", "style"}
    for sheet in re.findall("<style>(.*?)</style>", drawing, re.DOTALL):
        assert re.fullmatch(r"(\.p\w+\{[-a-z0-9:;#. ]+\})+", sheet)  # nothing that fetches
    assert not [name for name, _ in read.attributes if name.startswith("on") or "href" in name]
