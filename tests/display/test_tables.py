"""Tables show themselves with numbers to the right, gaps empty, and depth as indentation; the text stays the table's own."""

from __future__ import annotations

import re

import pytest

from passlab.display import table_view
from passlab.display.rows import INDENT, MOST_ROWS
from passlab.errors import PassValueError
from passlab.table import Table


def cells(html: str, name: str) -> list[tuple[str, str]]:
    return re.findall(rf'<{name} style="([^"]*)">(.*?)</{name}>', html)


def test_numbers_stand_to_the_right_with_their_thousands_apart():
    html = table_view(Table(("pass", "peak_bytes", "share"), [("A", 1234567, 0.5), ("B", None, None)])).html()
    assert [text for _, text in cells(html, "th")] == ["pass", "peak bytes", "share"]
    assert [text for _, text in cells(html, "td")] == ["A", "1,234,567", "0.50", "B", "", ""]
    right = ["text-align:right" in style for style, _ in cells(html, "td")]
    assert right == [False, True, True] * 2


def test_yes_and_no_are_words_and_no_numbers():
    html = table_view(Table(("pass", "changed"), [("A", True), ("B", False)])).html()
    assert [text for _, text in cells(html, "td")] == ["A", "yes", "B", "no"]
    assert "text-align:right" not in html


def test_depth_is_indentation():
    html = table_view(Table(("depth", "pass"), [(0, "A"), (2, "B")])).html()
    assert [text for _, text in cells(html, "th")] == ["pass"]
    (outer, _), (inner, _) = cells(html, "td")
    assert f"padding-left:{10 + 2 * INDENT}px" in inner
    assert "padding-left" not in outer


def test_a_long_table_says_how_many_rows_it_does_not_show():
    view = table_view(Table(("number",), [(k,) for k in range(MOST_ROWS + 3)]), "numbers")
    assert len(cells(view.html(), "td")) == MOST_ROWS
    assert "3 more rows" in view.html()
    assert len(view.frame()) == MOST_ROWS + 3


def test_what_a_table_holds_is_text_and_no_markup():
    html = table_view(Table(("<b>",), [("<script>",)]), "<i>").html()
    assert "<script>" not in html
    assert "<b>" not in html
    assert "<i>" not in html


def test_an_empty_table_has_its_columns():
    view = table_view(Table(("pass", "ms"), []))
    assert [text for _, text in cells(view.html(), "th")] == ["pass", "ms"]
    assert view.text() == str(view.table)


def test_a_long_cell_is_wrapped_within_its_column():
    words = " ".join(f"word{at}" for at in range(60))
    lines = str(Table(("pass", "compared_on", "changed"), [("A", words, True), ("Bb", "", False)])).split("\n")
    assert max(map(len, lines)) <= 160
    start = lines[0].index("compared")
    assert " ".join(line[start:].removesuffix("yes").strip() for line in lines[2:-1]) == words
    assert (lines[2][:2], lines[2][-3:]) == ("A ", "yes")
    assert lines[-1].split() == ["Bb", "no"]


def test_a_row_has_one_value_for_each_column_when_the_table_is_made() -> None:
    with pytest.raises(PassValueError, match="a row has 1 values, for 2 columns"):
        Table(("pass", "ms"), [("A", 1), ("B",)])
