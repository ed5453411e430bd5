"""Programs that people lower by hand: passes in any order, and damaged forms of what they leave.

Each compiles to what the program means, or is refused with a diagnostic.
"""

from __future__ import annotations

import random
from contextlib import suppress

import numpy as np
import pytest

import passlab
from passlab import relay, transform
from passlab.errors import PasslabError
from passlab.executor import python_source
from passlab.ir.expr import Function
from passlab.ir.walk import post_order, rewrite
from passlab.relay import create_executor
from tests.each import each
from tests.lab.user.programs import PROGRAMS

LOWERING = ("LowerTE", "ManifestAlloc", "MemoryPlan", "ManifestLifetimes", "FuseOps")
FIRST_ORDER = (
    "Defunctionalization",
    "LambdaLift",
    "EtaExpand(expand_global_var=True)",
    "Inline",
    "ToANormalForm",
    "ToGraphNormalForm",
    "DefuseOps",
)
KERNELS = """
def @main(%x: Tensor[(2), float32]) { let %a = tanh(%x); exp(reshape(%a, newshape=[1, 2])) }
"""
DOORS = {
    "vm": lambda mod: relay.vm.compile(mod, "llvm"),
    "aot": python_source,
    "graph": lambda mod: relay.build(mod, "llvm"),
}


def lowered(mod, names):
    with transform.PassContext(opt_level=4):
        return transform.Sequential.from_text(", ".join(names))(transform.InferType()(mod))


@each("last", FIRST_ORDER)
@each("stages", range(1, len(LOWERING)))
def test_a_lowered_program_keeps_its_meaning_under_passes_on_functions(last, stages):
    mod, x = passlab.parse(KERNELS), np.float32([0.5, -1.0])
    result = lowered(mod, [*LOWERING[:stages], last])
    for kind in ("debug", "vm"):
        value = create_executor(kind, result).evaluate()(x)
        np.testing.assert_allclose(value, np.exp(np.tanh(x)).reshape(1, 2), rtol=1e-6)


@pytest.mark.parametrize("seed", [*range(20), *(pytest.param(n, marks=pytest.mark.nightly) for n in range(20, 200))])
def test_passes_in_any_order_compile_or_are_refused(seed):
    draw = random.Random(seed)
    mod = draw.choice([*PROGRAMS.values(), lambda: passlab.parse(KERNELS)])()
    names = [name for name in LOWERING if draw.random() < 0.6] + draw.choices(FIRST_ORDER, k=2)
    if draw.random() < 0.3:
        draw.shuffle(names)
    try:
        mod = lowered(mod, names)
    except PasslabError:
        return
    refused_or_done(mod)


@pytest.mark.parametrize("seed", [*range(40), *(pytest.param(n, marks=pytest.mark.nightly) for n in range(40, 400))])
def test_damaged_programs_compile_or_are_refused(seed):
    draw = random.Random(seed)
    mod = draw.choice(list(PROGRAMS.values()))()
    mod = lowered(mod, LOWERING[: draw.randrange(len(LOWERING))] or ["InferType"])
    name, function = draw.choice(list(mod.items()))
    nodes = [node for node in post_order(function) if type(node) is not Function]
    old, other = draw.choice(nodes), draw.choice(nodes)
    try:
        mod = mod.with_functions({name: rewrite(function, lambda pre, post: other if pre is old else post)})
    except (PasslabError, TypeError):  # a variable of a pattern becomes nothing but a variable
        return
    refused_or_done(mod)


def refused_or_done(mod):
    """No other exception leaves a door."""
    for door in DOORS.values():
        with suppress(PasslabError):
            door(mod)
