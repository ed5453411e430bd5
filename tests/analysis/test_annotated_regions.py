"""`AnnotatedRegionSet` tells what lies between compiler_begin and compiler_end."""

from __future__ import annotations

import re

import pytest

import passlab
from passlab import relay
from passlab.analysis import AnnotatedRegionSet
from passlab.analysis.regions import Regions
from passlab.analysis.reshape_marks import false_marks
from passlab.errors import NodeValueError, PassError
from passlab.ir import Op


def begin(value: relay.Expr, compiler: str) -> relay.Expr:
    return relay.annotation.compiler_begin(value, compiler)


def end(value: relay.Expr, compiler: str) -> relay.Expr:
    return relay.annotation.compiler_end(value, compiler)


MARKS = Op.get("annotation.compiler_begin"), Op.get("annotation.compiler_end")


def test_regions_have_their_compiler_nodes_and_borders() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    first_in, second_in = begin(x, "one"), begin(y, "one")
    inner = relay.add(first_in, second_in)
    out = end(inner, "one")
    other_in = begin(out, "two")
    other = relay.exp(other_in)
    whole = end(other, "two")
    result = AnnotatedRegionSet(relay.Function([x, y], relay.tanh(whole)), *MARKS)
    assert len(result) == 2
    one, two = result.regions
    assert (one.target, set(one.nodes), one.ins, one.outs) == (
        "one", {first_in, second_in, inner, out}, (first_in, second_in), (out,),
    )  # fmt: skip
    assert (two.target, set(two.nodes), two.ins, two.outs) == ("two", {other_in, other, whole}, (other_in,), (whole,))
    assert result.get_region(inner) is result.get_region(out) is one
    assert result.get_region(other_in) is two
    assert result.get_region(x) is None


def test_programs_without_marks_have_no_regions() -> None:
    x = relay.var("x", shape=(2,))
    assert len(AnnotatedRegionSet(relay.exp(x), *MARKS)) == 0


def test_what_is_no_region_is_told() -> None:
    x = relay.var("x", shape=(2,))
    with pytest.raises(PassError, match="regions for `one` and `two` meet"):
        AnnotatedRegionSet(end(relay.exp(begin(x, "one")), "two"), *MARKS)
    with pytest.raises(NodeValueError, match="regions are marked by"):
        AnnotatedRegionSet(x, Op.get("exp"), MARKS[1])


@pytest.mark.parametrize("depths", [(1, 3), (3, 1), (2, 2)])
def test_joined_regions_have_the_number_of_the_first_whichever_is_larger(depths: tuple[int, int]) -> None:
    values = [begin(relay.var(name, shape=(2,)), "one") for name in "xy"]
    for at, depth in enumerate(depths):
        for _ in range(depth):
            values[at] = relay.exp(values[at])
    (region,) = Regions(end(relay.add(*values), "one")).all
    assert region.number == 0
    assert len(region.begins) == 2


def test_every_false_mark_of_every_function_is_reported() -> None:
    text = """
    def @a(%x: Tensor[(2), float32]) { fn (%y: Tensor[(2), float32], relay.reshape_only=1) { exp(%y) }(%x) }
    def @b(%x: Tensor[(2), float32]) { fn (%y: Tensor[(2), float32], relay.reshape_only=1) { reshape(%y, newshape=[1, 2]) }(%x) }
    def @main(%x: Tensor[(2), float32]) {
      let %f = fn (%y: Tensor[(2), float32], relay.reshape_only=1) { tanh(%y) };
      let %g = fn (%y: Tensor[(2), float32], relay.reshape_only=1) { reshape(negative(%y), newshape=[1, 2]) };
      (%f(%x), %g(%x))
    }
    """
    found = [(mark.message, mark.place.text if mark.place else "") for mark in false_marks(passlab.parse(text))]
    assert [(re.findall("@[a-z]+", message)[0], place) for message, place in found] == [
        ("@a", "exp(%y)"),
        ("@main", "tanh(%y)"),
        ("@main", "negative(%y)"),
    ]
