"""A graph fills its window: what is higher than a column is cut where few values pass, and said to go on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

import pytest

import passlab
from passlab.display import graph_view
from passlab.display.graphs.repeats import HIGH, PASSING, GraphPiece, Item, Repeat
from passlab.display.graphs.sheet import pack
from passlab.display.views.graph import GraphView
from tests.each import each
from tests.scripts.node import run

WINDOWS = ((1326, 588), (926, 588), (526, 588))  # inside of panes of pages that are 1400, 1000 and 600 pixels wide

READABLE = 0.6  # the scale of a graph that need not fill more
UNARY = ("exp", "tanh", "sigmoid", "nn.relu", "negative", "sqrt")
NORM = """let %m{n} = subtract({v}, mean({v}, axis=[-1], keepdims=True));
let %b{n} = multiply(%m{n}, rsqrt(add(mean(multiply(%m{n}, %m{n}), axis=[-1], keepdims=True), 1f)));"""


def typed(lines: list[str], result: str) -> passlab.IRModule:
    params = "%x: Tensor[(8, 8), float32], %w: Tensor[(8, 8), float32]"
    return passlab.transform.InferType()(passlab.parse(f"def @main({params}) {{ {' '.join(lines)} {result} }}"))


def transformer(layers: int) -> passlab.IRModule:
    """Layers of attention and a perceptron, each with its norm and around both a residual."""
    lines, value = [], "%x"
    for n in range(layers):
        lines += [
            NORM.format(n=2 * n, v=value),
            *(f"let %{name}{n} = nn.dense(%b{2 * n}, %w);" for name in "qkv"),
            f"let %s{n} = nn.softmax(divide(nn.dense(%q{n}, %k{n}), 8f));",
            f"let %r{n} = add({value}, nn.dense(nn.dense(%s{n}, transpose(%v{n})), %w));",
            NORM.format(n=2 * n + 1, v=f"%r{n}"),
            f"let %h{n} = nn.dense(%b{2 * n + 1}, %w);",
            f"let %y{n} = add(%r{n}, nn.dense(multiply(%h{n}, sigmoid(%h{n})), %w));",
        ]
        value = f"%y{n}"
    return typed(lines, value)


def drawn(seed: int) -> passlab.IRModule:
    """A program of one to six equal bodies of chains, some with a residual around or inside them."""
    chance = random.Random(seed)
    lines, value, number = [], "%x", 0
    steps = [(chance.choice(UNARY), chance.random() < 0.12) for _ in range(chance.randint(5, 45))]
    for _ in range(chance.randint(1, 6)):
        kept = value
        for operator, joins in steps:
            lines.append(f"let %v{number} = {f'add({kept}, {value})' if joins else f'{operator}({value})'};")
            value = f"%v{number}"
            kept = value if joins else kept
            number += 1
    return typed(lines, value)


PROGRAMS = {
    **{f"{n} layers": lambda n=n: transformer(n) for n in (1, 2, 3, 6, 12, 40)},
    **{f"drawn {seed}": lambda seed=seed: drawn(seed) for seed in range(20)},
}


@cache
def view_of(name: str) -> GraphView:
    return graph_view(PROGRAMS[name]())


def pieces(items: list[Item] | tuple[Item, ...]) -> Iterator[GraphPiece]:
    for item in items:
        if isinstance(item, GraphPiece):
            yield item
        else:
            for body in item.bodies:
                yield from pieces(body)


def height(view: GraphView, piece: GraphPiece) -> int:
    """How many boxes of a piece stand one below the other."""
    rows: dict[int, int] = {}
    for number in piece.boxes:
        into = [arrow.source for arrow in view.graph.arrows if arrow.target == number]
        rows[number] = 1 + max((rows.get(source, 0) for source in into), default=0)
    return max(rows.values())


def passing(view: GraphView, piece: GraphPiece) -> int:
    """How many computed values enter a piece from outside, or pass it, where it begins."""
    place = {number: at for at, part in enumerate(pieces(view.items)) for number in part.boxes}
    first = place[piece.boxes[0]]
    kinds = view.graph.boxes
    return len({
        arrow.source
        for arrow in view.graph.arrows
        if place[arrow.source] < first <= place[arrow.target] and kinds[arrow.source].kind not in ("input", "constant")
    })  # fmt: skip


@each("name", PROGRAMS)
def test_no_piece_is_higher_than_a_column_where_few_values_pass(name):
    """These programs have a narrow place in each half of whatever is high."""
    view = view_of(name)
    for piece in pieces(view.items):
        assert height(view, piece) <= HIGH
        assert passing(view, piece) <= PASSING


@each("name", PROGRAMS)
def test_the_bodies_of_a_repeat_are_cut_at_the_same_places(name):
    for item in view_of(name).items:
        if isinstance(item, Repeat):
            cuts = {tuple(len(piece.boxes) for piece in pieces(body)) for body in item.bodies}
            assert len(cuts) == 1


@each("name", PROGRAMS)
def test_a_value_that_skips_the_piece_before_is_named(name):
    view = view_of(name)
    number = {box: at for at, piece in enumerate(pieces(view.items)) for box in piece.boxes}
    for piece, placed in view.layouts.items():
        given = {box.number for box in view.graph.boxes if box.kind in ("input", "constant")}
        for source, target, label in placed.arrows:
            if source >= 0:
                continue
            box = piece.boxes[target]
            sources = {arrow.source for arrow in view.graph.arrows if arrow.target == box} - set(piece.boxes) - given
            latest = max((a.source for a in view.graph.arrows if a.target in piece.boxes and a.source not in piece.boxes and a.source not in given), default=-1)  # fmt: skip
            assert bool(label) == bool(sources and latest not in sources)
            assert all(number[one] < number[box] for one in sources)


def filled(width: float, height: float, window: tuple[int, int]) -> float:
    """The part of a window that a sheet covers, shown as large as fits; 1 where it is not much smaller than it is."""
    scale = min(window[0] / width, window[1] / height)
    return 1.0 if scale >= READABLE else width * height * scale**2 / (window[0] * window[1])


@pytest.mark.rotating
@each("name", PROGRAMS)
@each("window", WINDOWS)
def test_a_graph_fills_its_window(name, window):
    sheet = run("pack_sheet.mjs", {"data": view_of(name).data(), "open": [], "width": window[0], "height": window[1]})
    assert filled(sheet["width"], sheet["height"], window) > 0.5


@each("name", PROGRAMS)
def test_the_picture_without_scripts_fills_its_window(name):
    view, window = view_of(name), (1000, 520)
    sheet = pack(view.items, view.layouts, window)
    assert filled(sheet.width, sheet.height, window) > 0.5


@pytest.mark.rotating
@each("name", PROGRAMS)
@each("window", WINDOWS)
def test_a_body_that_goes_on_in_the_next_column_says_so(name, window):
    sheet = run("pack_sheet.mjs", {"data": view_of(name).data(), "open": [], "width": window[0], "height": window[1]})
    paths = [frame["path"] for frame in sheet["frames"]]
    for frame in sheet["frames"]:
        count = paths.count(frame["path"])
        parts = [other["part"] for other in sheet["frames"] if other["path"] == frame["path"] and "part" in other]
        assert parts == ([f" ({turn}/{count})" for turn in range(1, count + 1)] if count > 1 else [])
