"""Mistakes of users' passes: each is found and named by one call, and reduced to a small program with a script."""

from __future__ import annotations

import numpy as np
import pytest

from passlab import IRModule, lab, parse, relay
from passlab.instrument.statistics import count_module
from tests.lab.everyday_mistakes import MISTAKES as EVERYDAY
from tests.lab.strangers import MISTAKES as STRANGERS

MISTAKES = {**STRANGERS, **EVERYDAY}

QUICK: tuple[str, ...] = (
    "sizes_backwards",
    "round_by_floor",
    "relu_with_a_step_at_three",
    "doubling_undone",
    "maximum_by_where",
)
QUICK += ("changes_its_input", "changes_a_constant", "changes_its_mind")
QUICK += ("guard_dropped", "throws_a_coin", "states_a_wrong_type", "wrong_for_one_row", "left_is_right")
QUICK += ("loses_a_field", "order_of_effects", "heads_and_rests_mixed_up", "scales_a_constant_in_place")
NODES = 12
HANGS = ("never_ends",)
LARGE = {"left_is_right": 20, "tuple_of_the_wrong_call": 22}  # of a match on a tree
LARGE |= {"reads_are_late": 20, "calls_alike_are_one": 20, "writes_hoisted": 16}  # of a counter
LARGE |= {"unrolls_once_too_often": 20, "heads_and_rests_mixed_up": 15, "order_of_effects": 15}
LARGE |= {"throws_a_coin": 30}  # which of its runs is wrong is luck


def program(name: str) -> IRModule:
    text = MISTAKES[name][1]
    if "meta[" not in text:
        return parse(text)
    mod = parse(text.replace("@main(", "@main(%c: Tensor[(4), float32], ").replace("meta[relay.Constant][0]", "%c"))
    bound = relay.build_module.bind_params_by_name(mod["main"], {"c": np.arange(4, dtype="float32")})
    return mod.with_functions({"main": bound})


def shortcomings(name: str) -> str:
    result = lab.culprit(program(name), [MISTAKES[name][0]()])
    if not result.found or result.name != name:
        return result.summary()
    nodes = count_module(result.module)[0]
    if nodes > LARGE.get(name, NODES):
        return f"{nodes} nodes are left"
    if name in HANGS:
        return ""
    exec(compile(result.script(), name, "exec"), {"__name__": name})  # its last line asserts that the fault shows
    return ""


@pytest.mark.rotating
@pytest.mark.parametrize("name", QUICK)
def test_a_mistake_is_found(name: str) -> None:
    assert not shortcomings(name)


def test_no_mistake_has_the_name_of_another() -> None:
    assert len(MISTAKES) == len(STRANGERS) + len(EVERYDAY)


@pytest.mark.nightly
@pytest.mark.parametrize("name", MISTAKES)
def test_every_mistake_is_found(name: str) -> None:
    assert not shortcomings(name)
