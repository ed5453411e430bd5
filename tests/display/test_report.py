"""A recording as one HTML file: complete, self-contained, and never more markup than passlab wrote."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

import passlab
from passlab.display.pages.report import explorer_html, report_html, write_html
from passlab.errors import FileAccessError
from tests.display.hostile import MARKUP, hostile_recording

VOID = {"meta", "img"}


ENDED_BY = {
    "td": ("td", "th"),
    "th": ("td", "th"),
    "tr": ("td", "th", "tr"),
}  # what a tag ends without an end of its own


class Page(HTMLParser):
    """Every element with its attributes, all text outside style sheets, and whether elements nest."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self._end(ENDED_BY.get(tag, ()))
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        self._end(ENDED_BY["tr"] if tag in ("table", "thead", "tbody") else ())
        assert self.open.pop() == tag

    def _end(self, tags):
        """End open cells and rows, as browsers do."""
        while self.open and self.open[-1] in tags:
            self.open.pop()

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.texts.append(data)


@pytest.fixture(scope="module")
def hostile():
    return Page(report_html(hostile_recording()))


def test_names_and_messages_are_text_and_make_no_elements(hostile):
    assert not hostile.open
    assert {tag for tag, _ in hostile.elements} <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "div", "pre", "span", "strong", "table", "thead",
        "tbody", "tr", "th", "td", "details", "summary", "p", "svg", "g", "rect",
    }  # fmt: skip
    shown = "".join(hostile.texts)
    assert MARKUP.replace("\u202e", "\\u202e") in shown
    assert "\u202e" not in shown


def test_no_attribute_carries_a_script_or_an_address(hostile):
    for _, attrs in hostile.elements:
        assert not {name for name in attrs if name.startswith("on") or name in ("href", "src", "action")}
        assert all("url(" not in (value or "") for value in attrs.values())


def test_a_page_forbids_itself_scripts_and_requests(hostile):
    policy = next(attrs["content"] for _, attrs in hostile.elements if "http-equiv" in attrs)
    assert policy.startswith("default-src 'none';")
    assert "script" not in policy


def test_a_report_tells_passes_differences_and_the_last_program(tmp_path):
    mod = passlab.parse("def @main(%x: Tensor[(2), float32]) { add(exp(%x), multiply(2f, 3f)) }")
    rec = passlab.record(mod, "InferType, FoldConstant", name="net")
    rec.to_html(tmp_path / "report.html", static=True)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    shown = "".join(page.texts)
    for part in (
        "net: InferType, FoldConstant",
        "2 of 2 passes ran, 1 changed",
        "2 FoldConstant",
        "multiply",
        "add(%0, 6f",
    ):
        assert part in shown, part


def test_a_failed_recording_ends_with_the_program_so_far(hostile):
    assert "The program so far" in "".join(hostile.texts)


def test_the_explorer_holds_every_program_and_says_all_without_scripts_too():
    mod = passlab.parse("def @main(%x: Tensor[(2), float32]) { add(exp(%x), multiply(2f, 3f)) }")
    page = explorer_html(passlab.record(mod, "InferType, FoldConstant", name="net"))
    state = json.loads(re.search(r'<script type="application/json" id="state">(.*?)</script>', page, re.DOTALL)[1])
    assert not state["data"]["partial"]
    assert all(program is not None for program in state["data"]["modules"])
    static = re.search(
        r'<div class="pl-first">(.*)</div></div><noscript><style>.*</style>(.*)</noscript>', page, re.DOTALL
    )
    shown = "".join(Page("".join(static.groups())).texts)
    for part in ("2 of 2 passes ran, 1 changed", "2 FoldConstant", "The program at the end", "add(%0, 6f"):
        assert part in shown, part


def test_an_empty_recording_is_a_page_too():
    assert "0 of 0 passes ran" in "".join(Page(report_html(passlab.Recording([]))).texts)


def test_a_place_that_cannot_be_written_is_said(tmp_path):
    with pytest.raises(FileAccessError, match="create the folder first"):
        write_html(passlab.Recording([]), tmp_path / "nowhere" / "report.html")
