"""What passes leave runs on every executor with the same value: known hard cases, and generated programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from passlab import relay, transform
from passlab.infer import infer_module
from passlab.ir import Function, IRModule
from passlab.ir.walk import post_order, substitute
from passlab.text.parser import parse
from tests.passes import executor_law
from tests.passes.test_laws import make_pass

ONE, TWO, THREE = np.float32(1), np.float32(2), np.float32(3)
# program, passes, arguments, result, executors
CASES: dict[str, tuple[str, str, list[Any], Any, str]] = {
    "fusion keeps the order of operands with effects": (
        "def @main(%p: float32) { let %r = ref(5f); multiply(ref_read(%r), add(1f, (%p, ref_write(%r, %p)).0)) }",
        "FuseOps",
        [TWO],
        15.0,
        "debug aot",
    ),
    "partial evaluation reads again": (
        """def @main(%c: bool) { let %r = ref(0f); let %get = fn () { ref_read(%r) };
           let %u = if (%c) { ref_write(%r, 1f) } else { () }; let %a = %get();
           let %v = if (%c) { ref_write(%r, 2f) } else { () }; let %b = %get(); (%a, %b) }""",
        "PartialEvaluate",
        [np.bool_(True)],
        (1.0, 2.0),
        "debug aot",
    ),
    "sums of constants that cancel are left alone": (
        "def @main(%x: float32) { add(add(%x, 100000000f), -100000000f) }",
        "SimplifyExpr",
        [ONE],
        0.0,
        "debug vm aot graph",
    ),
    "graph normal form keeps writes": (
        "def @main(%x: float32) { let %r = ref(%x); let %u = ref_write(%r, 3f); ref_read(%r) }",
        "ToGraphNormalForm",
        [ONE],
        3.0,
        "debug aot",
    ),
    "a lifted closure is lifted again": (
        "def @main(%p: float32, %q: float32) { let %f = fn (%a: float32) { subtract(%a, %q) }; %f(%p) }",
        "LambdaLift",
        [ONE, THREE],
        -2.0,
        "debug vm aot graph",
    ),
    "a lifted closure without parameters": (
        "def @main(%p: float32, %q: float32) { let %f = fn () { add(%p, %q) }; %f() }",
        "LambdaLift, InferType, ToANormalForm, LambdaLift",
        [ONE, TWO],
        3.0,
        "debug vm aot graph",
    ),
    "a lifted closure as data": (
        "def @main(%p: float32, %q: float32) { let %f = fn (%a: float32) { add(%a, %q) }; %f(%p) }",
        "LambdaLift, InferType, Defunctionalization",
        [ONE, TWO],
        3.0,
        "debug vm aot",
    ),
    "a graph has no random numbers of a training to keep in order": (
        "def @main(%x: float32) { nn.dropout(%x, rate=0.4f).0 }",
        "ToANormalForm",
        [TWO],
        2.0,
        "debug vm aot graph",
    ),
    "a graph keeps no loop that only a dropout was thought to need": (
        """def @main(%x: float32, %n: int32) {
          let %loop = fn (%i: int32, %y: float32) { if (%i < 1) { %y } else { %loop(%i - 1, %y) } };
          let %dead = nn.dropout(%loop(%n, %x)); %x }""",
        "ToANormalForm",
        [TWO, np.int32(3)],
        2.0,
        "debug vm aot graph",
    ),
    "gradients leave marks on references alone": (
        "def @main(%x: float32) { let %r = ref(%x); let %u = ref_write(%r, add(%x, ones_like(%x))); ref_read(%r) }",
        "AnnotateTarget, LazyGradientInit",
        [TWO],
        3.0,
        "debug aot",
    ),
    "what a literal shares with what is around it is read before the literal is entered": (
        """def @main(%x: float32) { %0 = ref(4f); %1 = ref_read(%0);
           %2 = fn (%k: float32) { %3 = { let %u = ref_write(%0, 3f); %k }; subtract(%3, %1) };
           subtract(%2(%x), %1) }""",
        "DefuseOps",
        [TWO],
        -6.0,
        "debug aot",
    ),
    "a lifted closure shares an effect with what is around it": (
        """def @main(%x: float32) { let %r = ref(1f); %0 = ref_read(%r); let %f = fn () { multiply(%0, 10f) };
           let %u = ref_write(%r, %x); add(%f(), %0) }""",
        "LambdaLift",
        [TWO],
        11.0,
        "debug aot",
    ),
    "regions are found behind variables": (
        "def @main(%x: float32) { add(exp(%x), tanh(multiply(%x, %x))) }",
        "AnnotateTarget, ToANormalForm, MergeCompilerRegions, PartitionGraph",
        [np.float32(0)],
        1.0,
        "debug vm aot graph",
    ),
    "regions are found behind variables, and operators without arguments": (
        'def @main(%x: float32) { add(%x, if (less(%x, 1f)) { zeros(shape=[], dtype="float32") } else { tanh(%x) }) }',
        "AnnotateTarget, PartialEvaluate, InferType, PartitionGraph",
        [np.float32(0.5)],
        0.5,
        "debug vm aot",
    ),
    "a value that turns out to be a name for another lives longer": (
        "def @main(%x: float32) { let %v = nn.dropout(%x, rate=0.4f).0; let %w = add(%v, 1f); %v }",
        "ManifestLifetimes",
        [TWO],
        2.0,
        "debug vm aot",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_pass_leaves_runs(name: str):
    text, passes, args, expected, kinds = CASES[name]
    mod = infer_module(parse(text))
    with executor_law.toy_compiler(), transform.PassContext(opt_level=4):
        result = infer_module(transform.Sequential([make_pass(p) for p in passes.split(", ")])(mod))
    for kind in ("debug", *kinds.split()):
        value = relay.create_executor(kind, result).evaluate()(*args)
        np.testing.assert_array_equal(np.asarray(value, "float32"), np.asarray(expected, "float32"), err_msg=kind)


def test_a_function_for_no_compiler_is_inlined():
    mod = infer_module(parse("def @f(%x: float32, Inline=1) { exp(%x) } def @main(%p: float32) { @f(%p) }"))
    none: Function = mod["f"].with_attr("Compiler", None)
    result = transform.Inline()(mod.with_functions({"f": none}))
    assert [name for name, _ in result.items()] == ["main"]


@pytest.mark.parametrize("effects", [True, False], ids=["with effects", "without"])
@pytest.mark.parametrize("seed", range(2))
def test_every_pass_leaves_what_every_executor_runs(seed: int, effects: bool):
    assert not executor_law.held(seed, effects)


@pytest.mark.nightly
@pytest.mark.in_parts
@pytest.mark.parametrize("effects", [True, False], ids=["with effects", "without"])
@pytest.mark.parametrize("first", range(0, 1000, 20))
def test_every_pass_leaves_what_every_executor_runs_on_twenty_programs_from(first: int, effects: bool):
    assert not [f for seed in range(first, first + 20) for f in executor_law.held(seed, effects)]


def test_the_law_finds_a_pass_that_loses_effects(monkeypatch: pytest.MonkeyPatch):
    @transform.module_pass(opt_level=0, contract=transform.EXACT)
    def without_writes(mod: IRModule, ctx: Any) -> IRModule:
        unit = relay.Tuple([])
        drop = {n: unit for n in post_order(mod["main"]) if isinstance(n, relay.RefWrite)}
        return mod.with_functions({"main": substitute(mod["main"], drop)})

    monkeypatch.setattr(executor_law, "make_pass", lambda name: without_writes)
    subjects = [executor_law.subject_of(seed, True) for seed in range(6)]
    assert any(executor_law.problems(subject, ("WithoutWrites",), ["debug"]) for subject in subjects)
