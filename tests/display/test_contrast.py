"""Inks can be read on every surface they stand on, in light and in dark: WCAG AA asks for a contrast of 4.5.

It asks for 3 for the ring around what has the focus.
"""

from __future__ import annotations

import re

import pytest

from passlab.display.pages.scripts import style
from tests.each import each

PAIR = re.compile(r"--pl-([\w-]+): (?:var\([^,]+, )?light-dark\((#\w{6}), (#\w{6})\)")
COLOURS = {name: pair for name, *pair in PAIR.findall(style())}
INKS = ("ink", "dim", "faint", "blue", "violet", "green", "teal", "amber", "red", "rust", "olive", "nonfinite-ink")
WORD_INKS = ("ink", *(f"{hue}-word" for hue in ("dim", "blue", "violet", "green", "teal", "amber", "red", "rust")))
WORDS = ("added-word", "removed-word", "changed-word")  # of a line that has changed
SURFACES = ("bg", "veil", "select", "added", "removed", "changed", "moved")


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str, theme: str) -> float:
    side = ["light", "dark"].index(theme)
    darker, lighter = sorted(luminance(COLOURS[name][side]) for name in (one, other))
    return (lighter + 0.05) / (darker + 0.05)


@each("theme", ["light", "dark"])
@each("surface", SURFACES)
@each("ink", INKS)
def test_inks_can_be_read(ink, surface, theme):
    assert contrast(ink, surface, theme) >= 4.5


@each("theme", ["light", "dark"])
@each("surface", WORDS)
@each("ink", WORD_INKS)
def test_changed_words_can_be_read(ink, surface, theme):
    assert contrast(ink, surface, theme) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("surface", ["bg", "veil", "select"])
def test_what_has_the_focus_can_be_seen(surface, theme):
    assert contrast("focus", surface, theme) >= 3
