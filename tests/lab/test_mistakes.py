"""Thirty mistakes of users' passes: each is found and named by one call, and reduced to a small program."""

from __future__ import annotations

import numpy as np
import pytest

from passlab import IRModule, lab, parse, relay
from passlab.instrument.statistics import count_module
from tests.lab.mistakes import MISTAKES

QUICK: tuple[str, ...] = (
    "sizes_backwards",
    "round_by_floor",
    "relu_with_a_step_at_three",
    "doubling_undone",
    "maximum_by_where",
)
QUICK += ("changes_its_input", "changes_a_constant", "changes_its_mind")
NODES = 12


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
    return f"{nodes} nodes are left" if nodes > NODES else ""


@pytest.mark.parametrize("name", QUICK)
def test_a_mistake_is_found(name: str) -> None:
    assert not shortcomings(name)


@pytest.mark.nightly
@pytest.mark.parametrize("name", MISTAKES)
def test_every_mistake_is_found(name: str) -> None:
    assert not shortcomings(name)
