"""The checker of prose finds the habits of the style sheet, and nothing in good sentences."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs"))

import style  # noqa: E402 - a script of the manual, which is no package


def names(words: str, kind: str) -> set[str]:
    return {name for name, _, _ in style.findings(style.Text(ROOT / "docs/x.py", 1, kind, words))}


@pytest.mark.parametrize("rule", style.RULES, ids=lambda rule: rule.name)
def test_a_rule_finds_its_bad_sentence_and_not_its_good_one(rule: style.Rule) -> None:
    kind = rule.kinds[0] if rule.kinds else "manual"
    assert rule.name in names(rule.bad, kind)
    assert not names(rule.good, kind)


def test_the_style_sheet_names_every_rule() -> None:
    sheet = (ROOT / "docs/develop/style.md").read_text(encoding="utf-8")
    assert not [rule.name for rule in style.RULES if f"| `{rule.name}` |" not in sheet]


def test_a_sentence_has_at_most_35_words() -> None:
    assert "long" in names("word " * 36 + "end.", "docstring")
    assert "long" not in names("word " * 20 + "end. And " + "word " * 20 + "end.", "docstring")


def test_code_is_not_prose() -> None:
    assert not names("`that of` is a name", "docstring")


@pytest.mark.parametrize(
    "page", ["One. Two.\nThree is long\nand goes on.\n", "- One. Two.\n  Three.\n", "    a. B\n    C. D\n"]
)
def test_pages_get_one_sentence_a_line(page: str) -> None:
    once = style.one_sentence_a_line(page)
    assert once.split() == page.split()
    assert style.one_sentence_a_line(once) == once


def test_programs_keep_their_lines() -> None:
    page = "Text. More.\n\n    import a\n    import b\n\n```text\nOne. Two.\n```\n| a. B | c |\n"
    assert style.one_sentence_a_line(page) == page.replace("Text. More.", "Text.\nMore.")
