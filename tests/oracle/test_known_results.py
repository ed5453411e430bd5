"""Cached results of operators: a run gives the same values, and computes only what a pass changed."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import numpy as np
import pytest

import passlab
from passlab import transform
from passlab.evaluate import shared_results
from passlab.instrument import Validate
from passlab.ir.module import IRModule
from passlab.oracle import known_results
from passlab.oracle.coverage_evaluator import CoverageEvaluator
from passlab.oracle.known_results import KnownResults
from passlab.testing.programs import program
from tests.passes.law_programs import PROGRAMS, arguments, module

PASSES = ("ToANormalForm", "FuseOps", "SimplifyExpr", "SimplifyInference", "FoldConstant", "EliminateCommonSubexpr")
NET = """
def @main(%x: Tensor[(1, 4, 32, 32), float32], %w: Tensor[(4, 4, 3, 3), float32], %b: Tensor[(4), float32]) {
  %0 = nn.bias_add(nn.conv2d(%x, %w, padding=[1, 1], channels=4, kernel_size=[3, 3]), %b);
  %1 = nn.relu(%0);
  nn.conv2d(%1, %w, padding=[1, 1], channels=4, kernel_size=[3, 3])
}
"""


def run_facts(mod: IRModule, values: list[Any], results: KnownResults | None) -> Any:
    """What a run tells: the bits of its value, whether all was finite, how many branches of which kind were taken."""
    watched = CoverageEvaluator(mod, results=results)
    parts = [watched.run("main", values)]
    for part in parts:
        parts += part if isinstance(part, tuple) else ()
    bits = [(p.shape, p.dtype, p.tobytes()) if isinstance(p, np.ndarray) else str(type(p)) for p in parts]
    return bits, watched.finite, watched.branches


def check(mod: IRModule, values: list[Any]) -> None:
    results = KnownResults()
    for after in (mod, *(apply(name, mod) for name in PASSES), mod):
        results.begin_run()
        assert run_facts(after, values, results) == run_facts(after, values, None)


def apply(name: str, mod: IRModule) -> IRModule:
    with transform.PassContext(opt_level=4):
        return transform.Sequential([transform.get_pass(name), transform.InferType()])(mod)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch):
    """Results of small operators are kept as well."""
    monkeypatch.setattr(known_results, "LARGE", 1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_with_known_results_tells_what_one_without_tells(name: str, small: None):
    mod = module(name)
    check(mod, arguments(mod))


@pytest.mark.rotating
@pytest.mark.parametrize("seed", range(25))
def test_generated_programs_run_alike_with_known_results(seed: int, small: None):
    drawn = program(seed)
    check(drawn.mod, drawn.args)


@pytest.fixture
def computations(monkeypatch: pytest.MonkeyPatch):
    """How often each operator was computed."""
    counts: Counter[str] = Counter()
    plain = shared_results.apply_operator

    def counting(op: Any, *rest: Any) -> Any:
        counts[op.name] += 1
        return plain(op, *rest)

    monkeypatch.setattr(shared_results, "apply_operator", counting)
    return counts


def test_validation_computes_again_only_what_has_other_operands(computations: Counter[str]):
    net = passlab.parse(NET)
    passes = [
        transform.ToANormalForm(),
        transform.ToGraphNormalForm(),
        transform.CanonicalizeOps(),
        transform.FuseOps(),
    ]
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(p.type_annotation.concrete_shape).astype("float32") for p in net["main"].params]
    checking = Validate(inputs=inputs)
    with transform.PassContext(opt_level=4, instruments=[checking]):
        transform.Sequential(passes)(net)
    assert [c.outcome for c in checking.checks if c.name in ("CanonicalizeOps", "FuseOps")] == ["kept", "kept"]
    assert computations["nn.conv2d"] == 2  # once for each convolution, however many passes change the program
    assert computations["nn.bias_add"] == 1
    assert computations["add"] == 1  # CanonicalizeOps makes it of bias_add: other operands, but the same numbers


def living_caches() -> list[KnownResults]:
    """Return all caches of results in this process, those of other tests included."""
    return [o for o in gc.get_objects() if type(o) is KnownResults]


def test_validation_gives_its_memory_back():
    earlier = living_caches()
    mod = passlab.parse("def @main(%x: Tensor[(4096), float32]) { exp(add(%x, %x)) }")
    checking = Validate(inputs=[np.ones(4096, "float32")])
    with transform.PassContext(opt_level=4, instruments=[checking]):
        transform.ToANormalForm()(mod)
        assert len(living_caches()) > len(earlier)
    assert len(living_caches()) == len(earlier)


def test_other_bits_are_other_results():
    mod = passlab.parse("def @main(%x: Tensor[(4096), float32]) { negative(%x) }")
    results = KnownResults()
    for first in (0.0, -0.0, np.nan, 1.0):
        array = np.zeros(4096, "float32")
        array[1] = first
        results.begin_run()
        value = CoverageEvaluator(mod, results=results).run("main", [array])
        assert value.tobytes() == np.negative(array).tobytes()


def test_what_the_last_run_did_not_ask_for_is_forgotten(computations: Counter[str]):
    mod = passlab.parse("def @main(%x: Tensor[(4096), float32]) { exp(%x) }")
    results = KnownResults()
    one, other = np.ones(4096, "float32"), np.zeros(4096, "float32")
    for array in (one, other, other, one):
        results.begin_run()
        CoverageEvaluator(mod, results=results).run("main", [array])
    assert computations["exp"] == 3


def test_no_more_is_kept_than_fits(computations: Counter[str]):
    mod = passlab.parse("def @main(%x: Tensor[(4096), float32]) { exp(%x) }")
    results = KnownResults(most=4096)
    for _ in range(3):
        results.begin_run()
        CoverageEvaluator(mod, results=results).run("main", [np.ones(4096, "float32")])
    assert computations["exp"] == 3
