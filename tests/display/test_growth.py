"""Drawing a graph is work that grows as the program does, however deep its branches and functions are nested."""

from __future__ import annotations

import pytest

from benchmarks.shapes import SHAPES
from passlab import limits
from passlab.display.graphs.repeats import structure
from passlab.display.graphs.sheet import AROUND, _pieces, parts_of
from passlab.display.views.graph import WHOLE, graph_view
from passlab.infer import infer_module
from passlab.text.parser import parse
from tests.call_counts import calls_of

SMALL, TIMES = 400, 3  # so many branches that the longest period of repeats does not grow with the program
MOST = 1.25 * TIMES


def view_of(shape, n):
    view = graph_view(infer_module(parse(SHAPES[shape](n))), folded=False)
    assert view.is_large
    return view


def blocks_of(view):
    return parts_of(view.graph, structure(view.graph, WHOLE), view.sizes)


def work_of(view):
    """The work of a drawing: the frames of a program, or the blocks of a network."""
    return blocks_of(view) if view.sheet is None else view.sheet.frame_rows(view.sizes)


@pytest.mark.rotating(parts=15)
@pytest.mark.parametrize("shape", ["calls", "lets", "ifs", "choices", "convolutions"])
def test_work_grows_as_the_program_does(shape):
    with limits.override(graph_nodes=100_000):
        work_of(view_of(shape, SMALL))  # fills caches
        small, large = (calls_of(lambda n=n: work_of(view_of(shape, n))) for n in (SMALL, SMALL * TIMES))
    assert large <= MOST * small


def around(groups, group):
    """Return the groups around a group, itself first."""
    result = []
    while group is not None:
        result.append(groups[group])
        group = groups[group].parent
    return result


@pytest.mark.parametrize("shape", ["ifs", "choices", "convolutions"])
def test_a_block_has_the_groups_that_are_inside_it_and_the_innermost_around_these(shape):
    view = view_of(shape, SMALL)
    groups = view.graph.groups
    for piece, (part, _, _) in zip(_pieces(structure(view.graph, WHOLE)), blocks_of(view), strict=True):
        chains = {number: around(groups, view.graph.boxes[number].group) for number in range(len(view.graph.boxes))}
        outside = {group.number for number in chains.keys() - set(piece.boxes) for group in chains[number]}
        expected = set()
        for number in piece.boxes:
            whole = [group for group in chains[number] if group.number not in outside]
            cut = chains[number][len(whole) :][:AROUND]
            expected |= {group.number for group in [*whole, *cut] if group in whole or group.kind != "definition"}
        assert {group.number for group in part.groups} == expected
