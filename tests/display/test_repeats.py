"""Large graphs are cut into blocks, and the blocks that repeat are found without the help of names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

import pytest

import passlab
from passlab.display import graph_view
from passlab.display.graphs.dataflow import Dataflow, dataflow, fold_groups
from passlab.display.graphs.drawing import box_size
from passlab.display.graphs.repeats import GraphPiece, Item, Repeat, body_name, boxes_of, structure
from passlab.display.graphs.sheet import pack, parts_of, place
from passlab.testing import densenet, lstm, resnet, squeezenet

WHOLE = 24


def fused_modules() -> passlab.IRModule:
    """Two alike functions of kernels that are fused, which makes groups inside them."""
    text = "def @{} (%x: Tensor[(4, 4), float32]) {{ nn.relu(tanh(exp(nn.dense(%x, sigmoid(add(%x, 2f)))))) }}"
    both = passlab.parse("\n".join(text.format(name) for name in ("first", "main")))
    return passlab.transform.FuseOps(2)(passlab.transform.InferType()(both))


def shape(items: list[Item]) -> list[object]:
    """How many boxes each piece has, and each repeat as (count, boxes of a body, similar)."""
    return [
        len(item.boxes)
        if isinstance(item, GraphPiece)
        else (len(item.bodies), len(boxes_of(item.bodies[0])), item.similar)
        for item in items
    ]


def repeats(mod: passlab.IRModule) -> list[object]:
    return [part for part in shape(structure(graph(mod), WHOLE)) if isinstance(part, tuple)]


def graph(mod: passlab.IRModule) -> Dataflow:
    return fold_groups(dataflow(mod))


def tower(body: str, count: int) -> passlab.IRModule:
    """A body of operators, `count` times; `{v}` is the value before it."""
    lines, value = [], "%x"
    for number in range(count):
        lines.append(f"let %v{number} = {body.format(v=value)};")
        value = f"%v{number}"
    return passlab.parse(f"def @main(%x: Tensor[(8, 8), float32]) {{ {' '.join(lines)} {value} }}")


@cache
def resnet50() -> passlab.IRModule:
    return resnet.get_workload(num_layers=50)[0]


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (resnet50, [(2, 10, False), (3, 10, False), (5, 10, False), (2, 10, False)]),
        (lambda: squeezenet.get_workload()[0], [(3, 11, False), (4, 11, False)]),
        (lambda: densenet.get_workload()[0], [(5, 6, True), (11, 6, True), (23, 6, True), (15, 6, True)]),
        (lambda: lstm.get_workload(iterations=16, num_hidden=16)[0], [(16, 18, False)]),
    ],
    ids=["resnet", "squeezenet", "densenet", "lstm"],
)
def test_the_blocks_of_networks_are_found(network, expected):
    assert repeats(network()) == expected


@pytest.mark.parametrize("count", [9, 30, 70])
def test_residual_bodies_are_one_repeat(count):
    mod = tower("add({v}, tanh(exp(multiply({v}, 2f))))", count)
    assert [part for part in shape(structure(graph(mod), 8)) if isinstance(part, tuple)] == [(count, 4, False)]


def test_a_body_that_differs_falls_out_of_its_fold():
    body = "add({v}, tanh(exp(multiply({v}, 2f))))"
    sixth = tower(body, 12).astext().replace("exp", "log", 6).replace("log", "exp", 5)
    changed = passlab.parse(sixth)
    parts = [part for part in shape(structure(graph(changed), 8)) if isinstance(part, tuple)]
    assert [count for count, *_ in parts] == [5, 6]


@pytest.mark.parametrize(
    "network", [resnet50, lambda: lstm.get_workload(iterations=9, num_hidden=4)[0]], ids=["resnet", "lstm"]
)
def test_every_box_stands_in_exactly_one_piece(network):
    lines = graph(network())
    assert sorted(boxes_of(structure(lines, WHOLE))) == [box.number for box in lines.boxes]


def test_a_body_is_named_by_what_it_does():
    lines = graph(resnet50())
    first = next(item for item in structure(lines, WHOLE) if isinstance(item, Repeat))
    assert body_name(lines, first.bodies[0]) == "conv2d ×3 + batch_norm ×3"


def sheet_of(mod: passlab.IRModule):
    lines = graph(mod)
    items = structure(lines, WHOLE)
    placed = place(lines, items, parts_of(lines, items, [box_size((box.name,)) for box in lines.boxes]))
    return pack(items, placed, (1400, 800))


def test_pieces_on_a_sheet_do_not_overlap():
    sheet = sheet_of(resnet50())
    boxes = [(x, y, x + p.layout.width, y + p.layout.height) for p, x, y in sheet.pieces]
    for at, (x0, y0, x1, y1) in enumerate(boxes):
        assert not any(x0 < c and a < x1 and y0 < d and b < y1 for a, b, c, d in boxes[at + 1 :])
        assert x1 <= sheet.width
        assert y1 <= sheet.height


def test_a_network_fits_a_window_so_that_its_names_can_be_read():
    sheet = sheet_of(resnet50())
    assert min(1400 / sheet.width, 800 / sheet.height) > 0.5


def test_equal_pieces_are_laid_out_once():
    data = graph_view(resnet50()).data()
    pieces = sum(len(item["bodies"]) if isinstance(item, dict) else 1 for item in data["items"])
    assert len(data["layouts"]) < pieces


def pieces(items: Iterable[Item]) -> Iterator[GraphPiece]:
    for item in items:
        if isinstance(item, GraphPiece):
            yield item
        else:
            for body in item.bodies:
                yield from pieces(body)


TREES = """
type Bag[A] { Empty, Both(A, Bag[A], Bag[A]) }
def @put(%t: Bag[float32], %v: float32) -> Bag[float32] {
  match (%t) {
    Empty => Both(%v, Empty, Empty),
    Both(%x, %l, %r) => if (%v < %x) { Both(%x, @put(%l, %v), %r) } else { Both(%x, %l, @put(%r, %v)) }
  }
}
def @sum(%t: Bag[float32]) -> float32 {
  match (%t) { Empty => 0f, Both(%x, Empty, _) => %x, Both(%x, %l, %r) => %x + @sum(%l) + @sum(%r) }
}
def @main(%a: float32, %b: float32) { @sum(@put(@put(@put(Empty, %a), %b), tanh(%b))) }
"""


@pytest.mark.parametrize("mod", [passlab.parse(TREES), fused_modules()], ids=["match", "kernels"])
def test_pieces_hold_whole_functions_or_parts_of_one_and_cut_no_branch(mod):
    whole = dataflow(mod)
    parents = {group.number: group for group in whole.groups}

    def around(number):
        group = whole.boxes[number].group
        while group is not None:
            yield parents[group]
            group = parents[group].parent

    functions: dict[str, int] = {}
    for piece in pieces(structure(whole, 8)):
        homes = {group.name for number in piece.boxes for group in around(number) if group.kind == "definition"}
        assert len(homes) == 1
        functions[homes.pop()] = 1
        for group in whole.groups:
            if group.kind != "definition":
                inside = {box.number for box in whole.boxes if group in around(box.number)}
                assert inside <= set(piece.boxes) or not inside & set(piece.boxes)
    assert set(functions) == {f"@{name}" for name, _ in mod.items()}
