"""Pictures of the lessons: each is an SVG by itself, says the same as text, and refuses what it cannot show."""

from __future__ import annotations

import base64
import itertools
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from passlab import relay
from passlab.course.pictures import lattice, layouts, shape_function, tape, tiles, unification
from passlab.errors import PasslabError
from passlab.infer.solver import Solver
from tests.display.markup import unreadable_markup
from tests.each import each


def tensor(*shape):
    return relay.TensorType(shape, "float32")


def function(*types):
    return relay.FuncType(list(types[:-1]), types[-1])


PICTURES = {
    "types": unification(
        relay.TupleType([tensor(2), Solver().fresh(), function(tensor(), tensor(3))]),
        relay.TupleType([tensor(2), tensor(5), function(tensor(), tensor(4))]),
    ),
    "tape": tape([("a = x * x", "dx = 2 * x * da"), ("y = <tanh>(a) & more", 'da = "d"')]),
    "layouts": layouts((2, 2, 2, 2), ("NCHW", "NHWC", "CHWN")),
    "shapes": shape_function("concatenate", [(2, 4), (3, 4)], (5, 4)),
    "lattice": lattice(["n", "s", "t"], {"head": [(), ("n",), ("s", "n")], "exit": [(), ("s",)]}),
    "tiles": tiles(7, 3),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_one_svg_without_scripts_or_addresses_and_its_text_is_the_alternative(name):
    picture = PICTURES[name]
    html = picture._repr_html_()
    source = base64.b64decode(re.search(r"base64,([^\"]*)\"", html)[1]).decode("utf-8")
    root = ET.fromstring(source)
    assert not unreadable_markup(re.sub("<style>.*?</style>", "", source))
    assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
        "svg",
        "title",
        "style",
        "rect",
        "text",
        "path",
    }
    assert "http" not in source.replace("http://www.w3.org/2000/svg", "")
    assert "prefers-reduced-motion" in source
    width, height = float(root.get("width")), float(root.get("height"))
    for box in root.iter("{http://www.w3.org/2000/svg}rect"):
        assert 0 <= float(box.get("x")) <= width - float(box.get("width"))
        assert 0 <= float(box.get("y")) <= height - float(box.get("height"))
    image = ET.fromstring(html.replace("src=", "data-src=").removesuffix(">") + "/>")
    assert image.get("alt").split() == repr(picture).split()
    words = " ".join(element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text"))
    assert all(word in words for word in {"types": ["unknown", "differ"], "tape": ["<tanh>(a) & more"]}.get(name, []))


def test_equal_parts_agree_and_an_unknown_takes_the_other():
    results = [line.rpartition("  ->  ")[2] for line in PICTURES["types"].text.splitlines()]
    assert results == ["agree", "agree", "= Tensor[(5), float32]", "agree", "agree", "differ"]


@each("name", ["".join(order) for order in itertools.permutations("NCHW")])
def test_the_places_are_those_of_numpy(name):
    shape = (1, 2, 2, 3)
    marked = np.arange(12).reshape(shape)
    memory = marked.transpose([("NCHW".index(letter)) for letter in name]).ravel().tolist()
    pixels = [[memory.index(marked[0, c, h, w]) for c in range(2)] for h in range(2) for w in range(3)]
    expected = "; ".join(f"pixel {n} at {', '.join(map(str, sorted(at)))}" for n, at in enumerate(pixels))
    assert layouts(shape, [name]).text == f"{name}: {expected}"


def test_each_element_has_the_number_of_its_tile():
    rows = [list(map(int, line.split())) for line in tiles(7, 3).text.splitlines()]
    assert rows == [[row // 3 * 3 + column // 3 for column in range(7)] for row in range(7)]


def test_the_tape_runs_forwards_and_then_from_its_end():
    lines = tape([("a", "da"), ("b", "db"), ("c", "dc")]).text.splitlines()
    assert [line.split(". ")[1] for line in lines] == ["a", "b", "c", "dc", "db", "da"]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: layouts((1, 2, 2, 2), ["NCWW"]),
        lambda: layouts((1, 9, 9, 9)),
        lambda: lattice("abcde", {}),
        lambda: tiles(40, 4),
        lambda: tiles(8, 0),
    ],
)
def test_what_has_no_picture_is_refused(wrong):
    with pytest.raises(PasslabError):
        wrong()
