"""What holds for every standard pass on random programs: meaning, form, types, an untouched input, and what it says again.

The quick part tries a few programs; five nightly runs in a row try 2,000 for each pass, and every ordered pair of passes on
50. There a test is a shard, all passes on some programs: what is known of a program is found out once for all of them.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pytest

from passlab import transform
from passlab.analysis.well_formed import well_formed
from passlab.errors import PasslabError
from passlab.evaluate import Evaluator
from passlab.evaluate.agreement import disagreement
from passlab.infer import infer_module
from passlab.ir import IRModule
from passlab.ir.equal import structural_equal, structural_hash
from passlab.testing import programs
from passlab.testing.programs import Program
from passlab.text.parser import parse
from passlab.transform.numeric_contract import NumericContract, combine
from passlab.transform.registering import register_op_attr, unregister_op_attr
from tests.each import each
from tests.passes.executor_law import NEEDS_ETA, nudged
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
SPANS = ("AnnotateSpans", "CapturePostDfsIndexInSpans")  # they change nothing else
UNTYPED_RESULT = CHANGES_TYPES - {"ToCPS"}
RANKED_A = (
    "InferType", "ToANormalForm", "ToBasicBlockNormalForm", "ToGraphNormalForm", "DeadCodeElimination", "EtaExpand",
    "LambdaLift", "Inline", "RemoveUnusedFunctions", "FoldConstant", "EliminateCommonSubexpr", "SimplifyExpr",
    "SimplifyInference", "FastMath", "CanonicalizeOps", "FoldScaleAxis", "BackwardFoldScaleAxis", "ForwardFoldScaleAxis",
    "CombineParallelConv2D", "CombineParallelDense", "DynamicToStatic", "FuseOps", "PartialEvaluate", "ConvertLayout",
    "MergeComposite", "AnnotateTarget", "MergeCompilerRegions", "PartitionGraph", "ToMixedPrecision", "ManifestAlloc",
    "FirstOrderGradient", "PrintIR",
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


@dataclass(frozen=True)
class Subject:
    """A program, and what is known of the modules that passes made of it. Many make the same."""

    program: Program
    results: dict[tuple[str, int], list[tuple[IRModule, Any]]] = field(default_factory=dict)

    def of(self, what: str, mod: IRModule, find: Callable[[IRModule], Any]) -> Any:
        """Return what `find` says of a module, or has said of one with the same contents."""
        seen = self.results.setdefault((what, structural_hash(mod)), [])
        for other, answer in seen:
            if same_module(other, mod):
                return answer
        answer = find(mod)
        seen.append((mod, answer))
        return answer

    def value(self, mod: IRModule) -> Any:
        return self.of("value", mod, lambda m: Evaluator(m).run("main", self.program.args))

    def reads_back(self, mod: IRModule) -> bool:
        """Whether the text of a module means that module."""
        return bool(self.of("text", mod, lambda m: same_module(infer_module(parse(m.astext(show_meta_data=True))), m)))

    @cached_property
    def nudged(self) -> Any:
        """What the program gives when all its numbers are a little different: what rounding may do to it."""
        return nudged(self.program, 8.0)


@lru_cache(maxsize=64)
def subject(seed: int, smooth: bool) -> Subject:
    return Subject(programs.program(seed, smooth=smooth, effects=seed % 2 == 0, size=2 + seed % 4))


def run(names: Sequence[str], mod: IRModule) -> IRModule:
    with transform.PassContext(opt_level=4):
        return transform.Sequential([make_pass(name) for name in names])(mod)


def broken(subject: Subject, value: Any, contract: NumericContract) -> str:
    """Say where a value breaks a contract; "" where it does not."""
    expected = subject.program.value
    if disagreement(expected, value, contract.ulps, contract.finite_only) is None:
        return ""
    if not contract.ulps:
        return str(disagreement(expected, value, 0, contract.finite_only))
    if len(leaves(expected)) != len(leaves(value)):
        return str(disagreement(expected, value))
    parts = zip(leaves(expected), leaves(value), leaves(subject.nudged), strict=True)
    return next((why for part in parts if (why := broken_part(*part, contract))), "")


def broken_part(expected: Any, value: Any, near: Any, contract: NumericContract) -> str:
    """Say where a tensor breaks a contract of rounding.

    The contract is about what a pass rewrites. What comes after may enlarge it: by as much as it enlarges a change of
    that size of the inputs.
    """
    difference = disagreement(expected, value, contract.ulps, contract.finite_only)
    if difference is None or np.isinf(difference.ulps):
        return str(difference or "")
    spread = disagreement(expected, near, 0, contract.finite_only)
    return "" if spread is not None and difference.ulps <= contract.ulps * max(1.0, spread.ulps) else str(difference)


def leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


def same_module(a: IRModule, b: IRModule) -> bool:
    return structural_equal(a, b)


def law_breaking(names: Sequence[str], subject: Subject, start: IRModule) -> str:
    """Return which law the last pass of a pipeline breaks on what those before it made, "" for none."""
    last, functions, before = names[-1], dict(start.items()), structural_hash(start)
    result = run(names[-1:], start)
    if not all(dict(start.items())[n] is f for n, f in functions.items()) or structural_hash(start) != before:
        return "the input was changed"
    if result is not start and last not in SPANS and same_module(result, start):
        return "nothing changed, and the result is another object"
    result = infer_module(result)
    if not well_formed(result):
        return "the result is not well-formed"
    if not set(names) & UNTYPED_RESULT and not subject.reads_back(result):
        return "the text of the result means something else"
    return meaning_broken(names, subject, result) or ("" if settles(last, result) else "it always finds more to do")


def settles(name: str, mod: IRModule) -> bool:
    """Whether a pass soon has nothing left to do. What it made may have more exact types, which lead to more."""
    if name in GROWS or name in ("PartialEvaluate", *SPANS):
        return True
    rounds = 30 if name == "ToBasicBlockNormalForm" else 3  # as in Relay, each moves a use on to the next alias
    for _ in range(rounds):
        mod, before = infer_module(run([name], mod)), mod
        if mod is before:
            return True
    return False


def meaning_broken(names: Sequence[str], subject: Subject, result: IRModule) -> str:
    changes = set(names) & CHANGES_TYPES and names[-1] != "UnCPS"
    if changes or (subject.program.effects and set(names) & REORDERS_EFFECTS):
        return ""
    contracts = [make_pass(name).contract for name in names if name != "ToCPS"]
    contract = combine(contracts)
    return "" if contract is None else broken(subject, subject.value(result), contract)


@lru_cache(maxsize=1024)
def smooth(names: tuple[str, ...]) -> bool:
    contracts = [make_pass(name).contract for name in names]
    return not all(p is not None and p.exact for p in contracts)


@lru_cache(maxsize=256)
def prepared(names: tuple[str, ...], seed: int, smooth: bool) -> IRModule:
    """Return what passes make of the program of a seed."""
    mod = subject(seed, smooth).program.mod
    return run(names, mod) if names else mod


def complaint(names: tuple[str, ...], seed: int) -> str:
    """Say what a pipeline does wrong with the program of a seed; "" for nothing."""
    names = (*PREPARED.get(names[0], ()), *names) if len(names) == 1 else names
    kind = smooth(names)
    try:
        why = law_breaking(names, subject(seed, kind), prepared(names[:-1], seed, kind))
    except PasslabError as error:
        kindly = set(names) & NEEDS_DATAFLOW or NEEDS_ETA in str(error)
        why = "" if kindly else f"{type(error).__name__}: {error}"
    return f"{' then '.join(names)}, program({seed}, {kind}): {why}" if why else ""


def hold(pipelines: Sequence[tuple[str, ...]], seeds: Sequence[int]) -> None:
    """Hold pipelines to the laws on the programs of some seeds."""
    broken = [why for seed in seeds for names in pipelines if (why := complaint(names, seed))]
    assert not broken, "\n".join(broken)


@pytest.mark.rotating
@pytest.mark.parametrize("name", EVERY_PASS)
def test_a_pass_keeps_the_laws(name: str):
    hold([(name,)], range(4))


@each("pair", random.Random(3).sample(PAIRS, 60), ids=" then ".join)
def test_two_passes_in_a_row_keep_the_laws(pair: tuple[str, str]):
    hold([pair], [sum(map(ord, "".join(pair))) % 8])


@pytest.mark.nightly
@pytest.mark.in_parts
@pytest.mark.parametrize("first", range(0, 2000, 20))
def test_every_pass_keeps_the_laws_on_the_twenty_programs_from(first: int):
    hold([(name,) for name in EVERY_PASS], range(first, first + 20))


@pytest.mark.nightly
@pytest.mark.in_parts
@pytest.mark.parametrize("seed", range(50))
def test_every_two_passes_in_a_row_keep_the_laws_on_program(seed: int):
    hold(PAIRS, [seed])
