"""Passes that rebuild programs report each change by name, and each may be refused without the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from passlab import instrument, transform
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir import IRModule
from passlab.text.parser import parse
from passlab.transform.context import PassContext
from tests.passes.docstring_programs import Case, all_cases

X = "%x: Tensor[(1, 2, 4, 4), float32]"
CONV = 'nn.conv2d({}, ones(shape=[2, 2, 1, 1], dtype="float32"), channels=2, kernel_size=[1, 1])'
S = "%s: Tensor[(2, 1, 1), float32]"
# pass, program, the name of the rewrite, how many there are
CASES: dict[str, tuple[str, str, str, int]] = {
    "CSE": (
        "EliminateCommonSubexpr",
        f"def @main({X}) {{ (exp(%x), exp(%x), exp(%x), tanh(%x), tanh(%x)) }}",
        "common subexpression",
        3,
    ),
    "DCE": (
        "DeadCodeElimination",
        f"def @main({X}) {{ let %a = exp(%x); let %b = tanh(%a); let %c = nn.relu(%x); %x }}",
        "unused let",
        3,
    ),
    "lifting": (
        "LambdaLift",
        f"def @main({X}) {{ let %f = fn (%y: float32) {{ exp(%y) }}; let %g = fn () {{ %x }}; (%f(1f), %g()) }}",
        "lifted function",
        2,
    ),
    "parallel convolutions": (
        "CombineParallelConv2D",
        f"def @main({X}) {{ ({CONV.format('%x')}, {CONV.format('%x')}, {CONV.format('exp(%x)')}) }}",
        "parallel nn.conv2d",
        1,
    ),
    "scales forward": (
        "ForwardFoldScaleAxis",
        f"def @main({X}, {S}) {{ ({CONV.format('multiply(%x, %s)')}, {CONV.format('multiply(nn.relu(%x), %s)')}) }}",
        "scale into the next weight",
        2,
    ),
    "scales backward": (
        "BackwardFoldScaleAxis",
        f"def @main({X}, {S}) {{ (multiply({CONV.format('%x')}, %s), multiply({CONV.format('exp(%x)')}, %s)) }}",
        "scale into the weight before",
        2,
    ),
    "layouts": (
        "ConvertLayout",
        f"def @main({X}) {{ {CONV.format(CONV.format('%x'))} }}",
        "nn.conv2d in another layout",
        2,
    ),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "ConvertLayout": {"desired_layouts": {"nn.conv2d": ["NHWC", "default"]}},
    "CombineParallelConv2D": {"min_num_branches": 2},
}


class Chooser(instrument.PassInstrument):
    """Permits the rewrites of some numbers, and notes all names."""

    def __init__(self, permitted: set[int] | None = None) -> None:
        super().__init__()
        self.permitted = permitted
        self.asked: list[str] = []
        self.seen: list[str] = []

    def rewrite_permit(self, run: Any) -> Any:
        def permit(rule: str) -> bool:
            self.asked.append(rule)
            return self.permitted is None or len(self.asked) - 1 in self.permitted

        return permit

    def rewrite_observer(self, run: Any) -> Any:
        return lambda old, new, rule: self.seen.append(rule)


def run(name: str, mod: IRModule, chooser: Chooser) -> IRModule:
    with PassContext(opt_level=4, instruments=[chooser]):
        return infer_module(transform.get_pass(name, **OPTIONS.get(name, {}))(mod))


@pytest.mark.parametrize("case", CASES)
def test_each_change_is_a_named_application_that_can_be_refused(case: str):
    name, text, rule, count = CASES[case]
    mod = infer_module(parse(text))
    rng = np.random.default_rng(0)
    args = [rng.random(p.checked_type.shape).astype("float32") for p in mod["main"].params]
    expected = Evaluator(mod).run("main", args)
    every = Chooser()
    run(name, mod, every)
    assert every.asked.count(rule) == count
    assert every.seen.count(rule) >= 1
    assert run(name, mod, Chooser(set())) is mod
    for number, asked in enumerate(every.asked):
        if asked == rule:
            one = run(name, mod, Chooser({number}))
            value = Evaluator(one).run("main", args)
            for a, b in zip(leaves(value), leaves(expected), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4)


@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_a_pass_asks_for_the_rewrites_that_it_makes_and_no_others(case: Case):
    """Each further rewrite changes the program: `bisect`, which permits so many, counts none that does nothing."""
    mod = infer_module(parse(case.before))

    def first(count: int) -> tuple[str, list[str]]:
        """The program after so many rewrites, and the rules that asked."""
        chooser = Chooser(set(range(count)))
        with PassContext(opt_level=4, instruments=[chooser]):
            return transform.get_pass(case.factory, **case.options)(mod).astext(), chooser.asked

    text, asked = first(0)
    for count in range(1, len(asked) + 1):
        before, (text, asked) = text, first(count)
        assert text != before, (count, asked[count - 1])
        if count == len(asked):
            break


def leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]
