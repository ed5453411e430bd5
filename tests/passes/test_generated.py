"""What holds for every standard pass on random programs: meaning, form, types, an untouched input, and what it says again.

The quick part tries a few programs; `-m slow` tries 2,000 for each pass, and every ordered pair of passes on 50.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from passlab import transform
from passlab.analysis.well_formed import well_formed
from passlab.errors import PasslabError
from passlab.evaluate import Evaluator
from passlab.evaluate.agreement import disagreement
from passlab.infer import infer_module
from passlab.ir import Constant, Expr, IRModule
from passlab.ir.equal import structural_equal, structural_hash
from passlab.ir.walk import post_order, rewrite
from passlab.text.parser import parse
from passlab.transform.promise import Promise, combined
from passlab.transform.registering import register_op_attr, unregister_op_attr
from tests.passes import generated_programs
from tests.passes.generated_programs import Program
from tests.passes.test_laws import CHANGES_TYPES, EVERY_PASS, GROWS, NEEDS_DATAFLOW, REORDERS_EFFECTS, make_pass

TOY = ("add", "multiply", "nn.relu", "nn.dense", "nn.conv2d", "tanh", "concatenate", "split")
PREPARED: dict[str, tuple[str, ...]] = {  # what makes programs that there is something to do in
    "DefuseOps": ("FuseOps",),
    "ManifestLifetimes": ("ToANormalForm",),
    "MergeCompilerRegions": ("AnnotateTarget",),
    "PartitionGraph": ("AnnotateTarget", "MergeCompilerRegions"),
    "ToGraphNormalForm": ("ToANormalForm",),
    "ToBasicBlockNormalForm": ("FuseOps",),
    "UnCPS": ("ToCPS",),
}
UNTYPED_RESULT = CHANGES_TYPES - {"ToCPS"}
RANKED_A = (
    "InferType", "ToANormalForm", "ToBasicBlockNormalForm", "ToGraphNormalForm", "DeadCodeElimination", "EtaExpand",
    "LambdaLift", "Inline", "RemoveUnusedFunctions", "FoldConstant", "EliminateCommonSubexpr", "SimplifyExpr",
    "SimplifyInference", "FastMath", "CanonicalizeOps", "FoldScaleAxis", "BackwardFoldScaleAxis", "ForwardFoldScaleAxis",
    "CombineParallelConv2D", "CombineParallelDense", "DynamicToStatic", "FuseOps", "PartialEvaluate", "ConvertLayout",
    "MergeComposite", "AnnotateTarget", "MergeCompilerRegions", "PartitionGraph",
)  # fmt: skip
PAIRS = list(itertools.permutations(RANKED_A, 2))


@pytest.fixture(autouse=True, scope="module")
def toy_compiler() -> Iterator[None]:
    """A compiler that takes a few operators."""
    for name in TOY:
        register_op_attr(name, "target.toy", lambda call: True)
    yield
    for name in TOY:
        unregister_op_attr(name, "target.toy")


@cache
def program(seed: int, smooth: bool) -> Program:
    return generated_programs.program(seed, smooth)


def run(names: Sequence[str], mod: IRModule) -> IRModule:
    with transform.PassContext(opt_level=4):
        return transform.Sequential([make_pass(name) for name in names])(mod)


def nudged(given: Program, ulps: float) -> Any:
    """Return what a program gives when all its numbers are a little different: what rounding may do to it."""
    signs = np.random.default_rng(1)

    def moved(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(moved, value))
        if value.dtype.kind != "f":
            return value
        by = 1 + ulps * float(np.finfo(value.dtype).eps) * signs.choice((-1.0, 1.0), value.shape)
        return np.asarray(value * by).astype(value.dtype)

    changes: dict[Expr, Expr] = {
        node: Constant(moved(node.data))
        for _, f in given.mod.items()
        for node in post_order(f)
        if type(node) is Constant and node.data.dtype.kind == "f"
    }
    mod = given.mod.with_functions({name: rewrite(f, replace=dict(changes)) for name, f in given.mod.items()})
    return Evaluator(infer_module(mod)).run("main", [moved(arg) for arg in given.args])


def broken(given: Program, value: Any, promise: Promise) -> str:
    """Say where a value breaks a promise; "" where it does not.

    A promise of rounding is about what a pass rewrites. What comes after may enlarge it: by as much as it enlarges a
    change of that size of the inputs.
    """
    found = disagreement(given.value, value, promise.ulps, promise.finite_only)
    if found is None or not promise.ulps or np.isinf(found.ulps):
        return str(found or "")
    spread = disagreement(given.value, nudged(given, 8.0), 0, promise.finite_only)
    return "" if spread is not None and found.ulps <= promise.ulps * max(1.0, spread.ulps) else str(found)


def same_module(a: IRModule, b: IRModule) -> bool:
    return structural_equal(a, b)


def law_breaking(names: Sequence[str], given: Program) -> str:
    """Return which law a pipeline breaks on a program, "" for none."""
    mod, last = given.mod, names[-1]
    functions, before = dict(mod.items()), structural_hash(mod)
    start = run(names[:-1], mod) if len(names) > 1 else mod
    made = run(names[-1:], start)
    if not all(dict(mod.items())[n] is f for n, f in functions.items()) or structural_hash(mod) != before:
        return "the input was changed"
    if made is not start and last != "AnnotateSpans" and same_module(made, start):
        return "nothing changed, and the result is another object"
    made = infer_module(made)
    if not well_formed(made):
        return "the result is not well-formed"
    if not set(names) & UNTYPED_RESULT:
        text = made.astext(show_meta_data=True)
        if not same_module(infer_module(parse(text)), made):
            return "the text of the result means something else"
    return meaning_broken(names, given, made) or ("" if settles(last, made) else "it always finds more to do")


def settles(name: str, mod: IRModule) -> bool:
    """Whether a pass soon has nothing left to do. What it made may have more exact types, which lead to more."""
    if name in GROWS or name in ("PartialEvaluate", "AnnotateSpans"):
        return True
    for _ in range(3):
        mod, before = infer_module(run([name], mod)), mod
        if mod is before:
            return True
    return False


def meaning_broken(names: Sequence[str], given: Program, made: IRModule) -> str:
    changes = set(names) & CHANGES_TYPES and names[-1] != "UnCPS"
    if changes or (given.effects and set(names) & REORDERS_EFFECTS):
        return ""
    promises = [make_pass(name).promise for name in names if name != "ToCPS"]
    promise = combined(promises)
    return "" if promise is None else broken(given, Evaluator(made).run("main", given.args), promise)


def smooth(names: Sequence[str]) -> bool:
    promises = [make_pass(name).promise for name in names]
    return not all(p is not None and p.exact for p in promises)


def hold(names: Sequence[str], seeds: Sequence[int]) -> None:
    """Hold a pipeline to the laws on the programs of some seeds."""
    names = [*PREPARED.get(names[0], ()), *names] if len(names) == 1 else names
    for seed in seeds:
        given = program(seed, smooth(names))
        try:
            why = law_breaking(names, given)
        except PasslabError as error:
            refuses = set(names) & NEEDS_DATAFLOW
            why = "" if refuses else f"{type(error).__name__}: {error}"
        assert not why, f"{' then '.join(names)}, program({seed}, {smooth(names)}): {why}\n\n{given.mod.astext()}"


@pytest.mark.parametrize("name", EVERY_PASS)
def test_a_pass_keeps_the_laws(name: str):
    hold([name], range(4))


@pytest.mark.parametrize("pair", random.Random(3).sample(PAIRS, 60), ids=" then ".join)
def test_two_passes_in_a_row_keep_the_laws(pair: tuple[str, str]):
    hold(pair, [sum(map(ord, "".join(pair))) % 8])


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY_PASS)
def test_a_pass_keeps_the_laws_on_two_thousand_programs(name: str):
    hold([name], range(2000))


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids=" then ".join)
def test_two_passes_in_a_row_keep_the_laws_on_fifty_programs(pair: tuple[str, str]):
    hold(pair, range(50))
