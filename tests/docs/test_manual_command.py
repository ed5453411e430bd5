"""`passlab docs` prints the pages of the manual, and finds the part that answers a question."""

from __future__ import annotations

import functools
import re
import sys

import pytest

from passlab import manual
from passlab.cli import main
from passlab.errors import PasslabError
from tests.architecture.sources import ROOT
from tests.docs.test_built_manual import QUESTIONS

sys.path.append(str(ROOT / "docs"))

import reference_pages  # a script of the manual, which is no package
import relay_pages

from tests.each import each

PAGES = manual.pages()


@each("page", PAGES)
def test_a_page_is_printed_without_marks_of_the_build(page: str) -> None:
    text = manual.document([page])
    source = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    (title,) = re.findall(r"^# .*", source)[:1]
    assert title in text
    assert not re.search(r"<!--|\{toctree\}", text)
    programs = re.findall(r"^```python\n.*?^```", source, re.DOTALL | re.MULTILINE)
    assert not [program for program in programs if program not in text]


def test_pages_that_the_build_completes_say_where_the_rest_is() -> None:
    assert {*reference_pages.GENERATED, *relay_pages.PAGES} == set(manual.WRITTEN)
    assert all(PAGES[page].endswith(where) for page, where in manual.WRITTEN.items())


def test_a_link_whose_title_the_build_writes_names_its_page() -> None:
    assert "`passlab docs writing-an-exercise` builds an exercise step by step" in PAGES["how-to/course"]
    assert not [page for page, text in PAGES.items() if "[](" in text]


def test_the_page_of_the_magics_names_them_all():
    headings = re.findall(r"^## (.*)", "\n".join(reference_pages.magics()), re.MULTILINE)
    assert {name.strip("%") for name in manual.MAGICS.split()} == {re.findall(r"\w+", line)[0] for line in headings}
    assert "`help(passlab.vm)`" in PAGES["api/vm"]


def test_without_words_it_lists_the_pages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(PAGES)


def test_sections_are_the_whole_page_and_no_program_is_cut() -> None:
    page = "# A\n\none\n\n```python\n# no heading\n```\n\n## B\n\ntwo"
    parts = manual.sections("x", page)
    assert [part.heading for part in parts] == ["A", "B"]
    assert "# no heading" in parts[0].text


@pytest.mark.parametrize(
    ("question", "heading"),
    [
        ("which pass broke my program", "Find the pass that broke a program"),
        ("print ir after each pass", "Print the program after a pass"),
        ("out of memory", "The kernel died, or memory runs out"),
        ("uninstall", "Uninstall passlab"),
        ("quantise a network", "Quantise a network"),
        ("write my own pass", "Write a pass"),
    ],
)
def test_a_question_gets_the_section_that_answers(question: str, heading: str) -> None:
    assert manual.answers(question.split())[0].heading == heading


def test_most_questions_find_their_page_among_the_first_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    for part in (manual.pages, manual.sections, manual._stems):  # of the same manual for all questions
        monkeypatch.setattr(manual, part.__name__, functools.cache(part))
    asked = [(question, page) for question, page in QUESTIONS if page in PAGES]
    missed = [
        question
        for question, page in asked
        if page not in [section.page for section in manual.answers([question])[: 2 * manual.SHOWN]]
    ]
    assert len(asked) > 100
    assert len(missed) < len(asked) / 4, missed


def test_words_that_no_page_holds_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PasslabError, match="no page of the manual holds `xyzzy`"):
        manual.document(["xyzzy"])
    assert main(["docs", "xyzzy"]) == 1
    assert "`passlab docs` lists the pages" in capsys.readouterr().err
