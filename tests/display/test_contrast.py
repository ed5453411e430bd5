"""Inks can be read on every surface they stand on, in light and in dark: WCAG AA asks for a contrast of 4.5.

Pictures without scripts do not know their page: their text stands on surfaces of their own.

It asks for 3 for the ring around what has the focus.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

import pytest

import passlab
from passlab.display import graph_view
from passlab.display.graphs.drawing import FAINT, GROUP, STRONG
from passlab.display.pages.scripts import WEB, style
from passlab.display.palette import HUES, dark, mixed, tint
from passlab.display.views.graph import GraphView
from passlab.ir.expr import Call
from passlab.ir.walk import post_order
from tests.display.large_program import LOOP
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


def between(one: str, other: str) -> float:
    """The contrast of two colours."""
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def contrast(one: str, other: str, theme: str) -> float:
    side = ["light", "dark"].index(theme)
    return between(COLOURS[one][side], COLOURS[other][side])


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


@each("text", HUES)
@each("surface", HUES)
@each("share", [0.0, 0.04, 0.05, FAINT, GROUP, STRONG])
def test_every_text_of_a_picture_can_be_read_on_every_surface(text, surface, share):
    assert between(dark(HUES[text]), tint(HUES[surface], share)) >= 4.5


FAMILIES = """def @main(%x: Tensor[(1, 8, 8, 8), float32], %w: Tensor[(8, 8, 3, 3), float32]) {
  let %a = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);
  let %b = nn.softmax(nn.max_pool2d(%a, pool_size=[2, 2], strides=[2, 2]), axis=1);
  let %c = add(nn.relu(%b), zeros(shape=[1], dtype="float32"));
  (sum(transpose(%c), axis=[0], keepdims=True), %c)
}"""


def pictures() -> dict[str, GraphView]:
    """Graphs with every family of operators, every kind of change, kernels, repeats, and the cards of a program."""
    families = passlab.transform.InferType()(passlab.parse(FAMILIES))
    calls = [node for node in post_order(families["main"]) if isinstance(node, Call)]
    changes = {call: ("added", "changed", "moved")[at % 3] for at, call in enumerate(calls)}
    long = " ".join(f"let %v{n + 1} = add(%v{n}, tanh(exp(sqrt(%v{n}))));" for n in range(12))
    tower = passlab.parse(f"def @main(%v0: Tensor[(8), float32]) {{ {long} %v12 }}")
    return {
        "families": graph_view(families),
        "changes": GraphView(families, changes),
        "kernels": graph_view(passlab.transform.FuseOps(2)(families)),
        "repeats": graph_view(tower),
        "cards": graph_view(passlab.parse(LOOP)),
    }


def texts(element: ET.Element) -> Iterator[tuple[str, str, str]]:
    """Each text of a picture with its colour, and the colour of the last surface below it, "" for the page."""
    surfaces: list[tuple[float, float, float, float, str]] = []
    waiting = [(element, "", "start", 0.0, 0.0)]
    while waiting:  # in the order of the document, which is the order of drawing
        at, fill, anchor, left, top = waiting.pop()
        fill, anchor = at.get("fill", fill), at.get("text-anchor", anchor)
        x, y = left + float(at.get("x", 0)), top + float(at.get("y", 0))
        if at.tag.endswith("rect") and fill != "none" and "fill-opacity" not in at.attrib:
            surfaces.append((x, y, x + float(at.get("width", 0)), y + float(at.get("height", 0)), fill))
        if at.tag.endswith("text") and at.text:
            end = x + (1 if anchor == "start" else 0)
            below = [colour for a, b, c, d, colour in surfaces if a <= end <= c and b <= y <= d]
            yield at.text, fill, below[-1] if below else ""
        inner = (x, y) if at.tag.endswith("svg") and at is not element else (left, top)
        waiting += [(child, fill, anchor, *inner) for child in reversed(at)]


@each("name", ["families", "changes", "kernels", "repeats", "cards"])
def test_text_of_pictures_stands_on_surfaces_of_their_own(name):
    seen = list(texts(ET.fromstring(pictures()[name].svg())))
    assert seen
    for text, ink, surface in seen:
        assert surface, text
        assert between(ink, surface) >= 4.5, text


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_names_can_be_read_on_boxes_coloured_by_numbers(theme):
    (most,) = re.findall(r"STRONGEST = (\d+);", (WEB / "graphcolours.js").read_text())
    side = ["light", "dark"].index(theme)
    strongest = mixed(COLOURS["rust"][side], int(most) / 100, COLOURS["bg"][side])
    assert between(COLOURS["ink"][side], strongest) >= 4.5
