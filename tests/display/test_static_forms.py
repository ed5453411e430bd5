"""The static form that a saved notebook holds: as small as it can be, the same to look at, and readable without styles."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import passlab
import passlab.display.html as html_module
from passlab import display
from passlab.display.code_lines import Listing
from passlab.display.html import tag, with_shared_styles
from passlab.testing import resnet
from tests.display.test_views import pieces
from tests.display.view_examples import EXAMPLES, VIEWS
from tests.each import each

_RULE = re.compile(r"\.\w+ \.(\w+):not\(#_\)\{([^}]*)\}")
FEW = "InferType, SimplifyInference, FoldConstant, FuseOps"
_BLOCKS = {"div", "pre", "p", "tr", "table", "details", "summary", "li", "h1", "h2"}


class Styles(HTMLParser):
    """The elements of a page with their texts, each with what its styles come to, in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: list[object] = []
        self.rules: dict[str, str] = {}
        head, end, body = html.partition("</style>")
        self.rules.update(_RULE.findall(head) if end else ())
        self.feed(body if end else html)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        look = ";".join(filter(None, (self.rules.get(given.pop("class", "")), given.pop("style", None))))
        self.seen.append((tag, sorted(given.items()), dict(one.split(":", 1) for one in look.split(";") if one)))

    def handle_data(self, data):
        self.seen.append(data)


class Lines(HTMLParser):
    """The lines of a page in a host that drops styles and classes: blocks begin and end lines."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.feed(html)
        self.lines = [line.rstrip() for line in self.text.split("\n")]

    def handle_starttag(self, tag, attrs):
        self.text += "\n" * (tag in _BLOCKS)

    handle_endtag = lambda self, tag: self.handle_starttag(tag, ())  # noqa: E731

    def handle_data(self, data):
        self.text += data


@each("kind", VIEWS)
def test_shared_styles_come_to_the_styles_of_each_element(kind):
    html = EXAMPLES[kind]().html()
    short = with_shared_styles(html)
    before, after = Styles(html).seen, Styles(short).seen
    if short != html:
        assert after.pop(0)[0] == "div"  # the box within which the classes count
    assert after == before


def _look(svg):
    """The elements of a drawing with what they look like, by attributes or by classes."""
    sheet, classes = re.search("<style>(.*?)</style>", svg), {}
    for name, look in re.findall(r"\.(\w+)\{([^}]*)\}", sheet[1] if sheet else ""):
        classes[name] = dict(one.split(":", 1) for one in look.split(";"))
    elements = ET.fromstring(svg.replace(sheet[0], "") if sheet else svg).iter()
    return [
        (e.tag, e.text, {**classes.get(e.get("class"), {}), **{k: v for k, v in e.items() if k != "class"}})
        for e in elements
    ]


@each("kind", VIEWS)
def test_shared_looks_of_a_drawing_are_those_of_each_element(kind, monkeypatch):
    drawings = []
    monkeypatch.setattr(html_module, "_with_shared_looks", lambda svg: drawings.append(svg) or svg)
    EXAMPLES[kind]().html()
    monkeypatch.undo()
    for svg in drawings:
        assert _look(html_module._with_shared_looks(svg)) == _look(svg)


@each("kind", VIEWS)
def test_cells_and_rows_end_where_html_ends_them_itself(kind):
    for behind in re.findall("</t[dhr]>(.{0,8})", EXAMPLES[kind]().html(), re.DOTALL):
        assert re.match("</?t(able|body|d|h|head|r)[ >]", behind)


def test_a_drawing_is_smaller_by_its_shared_looks():
    svg = html_module.tag("svg", *[html_module.tag("rect", x=k, fill="#2577d4", stroke="#2577d4") for k in range(9)])
    short = html_module._with_shared_looks(svg)
    assert len(short) < 0.7 * len(svg)
    assert _look(short) == _look(svg)


@each("kind", VIEWS)
def test_lines_of_code_are_lines_where_a_host_drops_all_styles(kind):
    for part in pieces(EXAMPLES[kind]().parts()):
        if isinstance(part, Listing):
            lines = Lines(part.html()).lines
            for line in part.code[: part.most]:
                text = line.text.replace("...", "⋯") if line.kind == "." else line.text
                assert any(shown.partition("   ")[0].endswith(text.strip()) or text in shown for shown in lines)


def test_styles_of_two_outputs_do_not_meet():
    red, blue = (with_shared_styles(tag("div", *[tag("p", "x", style=f"color:{c}")] * 2)) for c in ("red", "blue"))
    names = [set(re.findall(r"\.(\w+) \.", html)) for html in (red, blue)]
    assert names[0]
    assert not names[0] & names[1]


def test_what_a_later_declaration_overrules_is_not_written():
    html = with_shared_styles(tag("div", *[tag("p", "x", style="color:red;margin:0;color:blue")] * 2))
    assert "{margin:0;color:blue}" in html


def test_a_style_that_occurs_once_stays_where_it_is():
    html = tag("p", "x", style="color:red")
    assert with_shared_styles(html) == html


def test_shared_styles_halve_a_saved_form():
    html = display.recording_view(
        passlab.record(resnet.get_workload(num_layers=8, image_shape=(3, 16, 16))[0], FEW)
    ).html()
    assert len(with_shared_styles(html)) < 0.52 * len(html)
