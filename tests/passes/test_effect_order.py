"""Effects keep their order, whatever a pass does around them: written as arguments, where no let says the order.

`%n(k)` writes to a cell and returns what it wrote, which tells all calls so far, so that a call that is moved, dropped
or made twice changes the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from passlab import transform
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir import IRModule
from passlab.text.parser import parse
from tests.passes.test_laws import CHANGES_TYPES, EVERY_PASS, NEEDS_DATAFLOW, REORDERS_EFFECTS, make_pass

COUNTER = """
  let %r = ref(1f);
  let %n = fn (%k: float32) -> float32 {
    let %u = ref_write(%r, add(multiply(ref_read(%r), 2f), %k));
    ref_read(%r)
  };
  let %c = fn (%k: float32, %like: Tensor[(3), float32]) -> Tensor[(3), float32] { add(zeros_like(%like), %n(%k)) };
  let %m = fn (%k: float32) -> Tensor[(2, 3), float32] { full(%n(%k), shape=[2, 3], dtype="float32") };
"""
INLINE = """
def @swapped(%a: float32, %b: float32, Inline=1) -> float32 { subtract(%b, %a) }
def @chosen(%c: bool, %a: float32, %b: float32, Inline=1) -> float32 { if (%c) { %a } else { %b } }
def @last(%a: float32, %b: float32, Inline=1) -> float32 { %b }
def @later(%a: float32, Inline=1) -> (fn () -> float32,) { (fn () -> float32 { %a },) }
def @after(%q: ref(float32), %v: float32, Inline=1) -> float32 { let %u = ref_write(%q, 100f); add(%v, ref_read(%q)) }
"""
RESULTS = {
    "inlined": "@swapped(%n(1f), %n(2f)), @chosen(True, %n(3f), %n(4f)), @last(%n(5f), 3f), @after(%r, ref_read(%r))",
    "a closure over an argument": "{ let %g = @later(%n(6f)); let %h = %g.0; add(%h(), %h()) }",
    "literals": """
      (fn (%a: float32, %b: float32) { subtract(%b, %a) })(%n(1f), %n(2f)),
      (fn (%a: float32, %b: float32) { if (True) { %a } else { %b } })(%n(3f), %n(4f)),
      (fn (%a: float32, %b: float32) { %b })(%n(5f), 3f),
      (fn (%q: ref(float32), %v: float32) { let %u = ref_write(%q, 7f); add(%v, ref_read(%q)) })(%r, ref_read(%r)),
      (fn (%f: fn (float32, float32) -> float32) { %f(%n(1f), %n(2f)) })(
        fn (%a: float32, %b: float32) -> float32 { subtract(%b, %a) })""",
    "a cell as an argument": """
      { let %g = (fn (%q: ref(float32)) { (fn () { let %u = ref_write(%q, add(ref_read(%q), 1f)); ref_read(%q) },) })(
          ref(5f));
        let %h = %g.0; (%h(), %h()) }""",
    "shapes": """shape_of(%m(1f), dtype="int32"), ndarray_size(%m(2f), dtype="int32"), (%n(3f), 1f).1,
      dyn.zeros(shape_of(%m(1f), dtype="int32"), shape=[], dtype="float32"), zeros_like(%m(1f)),
      reshape_like(%x, %m(2f)), add(%x, zeros_like(%m(3f)))""",
    "parallel products": """nn.dense(%x, %m(1f)), %n(2f), nn.dense(%x, %m(3f)), %n(4f), nn.dense(%x, %m(5f)),
      add(nn.dense(%x, %x), %n(6f)), %n(7f), add(nn.dense(%x, ones(shape=[2, 3], dtype="float32")), %n(8f))""",
    "scales": """multiply(nn.bias_add(nn.dense(%x, ones(shape=[3, 3], dtype="float32")), %c(1f, %v)), %c(2f, %v)),
      nn.dense(multiply(%c(1f, %v), %x), nn.relu(%m(2f)))""",
    "normalisation": """nn.batch_norm(%x, %c(1f, %v), %c(2f, %v), %c(3f, %v), %c(4f, %v)).0,
      nn.layer_norm(%x, %c(1f, %v), %c(2f, %v), scale=False), nn.dropout(%m(1f)).0""",
    "a value that an inner let names, used again behind it": """
      { %90 = %n(1f); let %y = (%n(2f), { let %z = %90; %z }); (%y.0, %y.1, %90) }""",
    "a function called beside and inside of one that is called twice": """
      { %91 = fn (%k: float32) -> float32 { let %u = ref_write(%r, add(ref_read(%r), %k)); ref_read(%r) };
        let %p = %91(1f);
        %92 = fn (%q: float32) -> float32 { let %w = (if (less(%q, 0f)) { %91 } else { %91 })(2f); add(%q, %w) };
        let %s = %92(%p);
        let %t = %92(%s);
        (%p, %s, %t) }""",
    "what a branch shares that is never taken": """
      { %93 = ref_read(%r); if (True) { let %w = ref_write(%r, 9f); add(%93, 1f) } else { %93 } },
      { %94 = ref_read(%r); let %p = if (False) { %94 } else { 0f }; let %w = ref_write(%r, 7f); add(%94, %p) }""",
    "a part of a let and of what is around it": """
      { %0 = { let %u = %n(1f); add(%u, ref_read(%r)) }; %1 = { let %w = %n(2f); multiply(%0, %w) };
        (subtract(%1, %0), ref_read(%r)) }""",
    "an argument inside another": """
      { %0 = %n(1f); %1 = { let %w = %n(2f); let %v2 = %w; subtract(%0, 3f) }; subtract(exp(%1), tanh(%0)) }""",
    "the value of a let inside an operand, and what is behind it": """
      { %0 = %n(1f); %1 = (%n(2f), { let %w = %0; %w }); (%1, %0) }""",
    "a function that two others hold": """
      { %0 = fn (%k: float32) -> float32 { let %u = ref_write(%r, add(multiply(ref_read(%r), 2f), %k)); ref_read(%r) };
        %1 = fn (%p: float32) -> float32 {
          let %w = (if (less(ref_read(%r), 0f)) { %0 } else { %0 })(1f); add(%p, %w)
        };
        (%0(3f), %1(%1(2f)), %0(1f)) }""",
    "sharing": "{ %0 = %n(1f); (tanh(%v), %n(4f), subtract(%0, %0), %0) }",
    "branches": "if (less(%n(1f), 0f)) { %n(2f) } else { %n(3f) }, (if (True) { (1f, %n(4f)) } else { (2f, 3f) }).0",
}
EXACTLY = (0.5, 0.25, 2.0)  # numbers that all of this is exact for, or nearly


def program(results: str) -> IRModule:
    text = f"def @main(%x: Tensor[(2, 3), float32], %v: Tensor[(3), float32]) {{ {COUNTER} ({results}, ref_read(%r)) }}"
    return infer_module(parse(INLINE + text))


def value(mod: IRModule) -> list[Any]:
    args = [np.asarray([EXACTLY, EXACTLY[::-1]], "float32"), np.asarray(EXACTLY, "float32")]
    results: list[Any] = []
    stack = [Evaluator(mod).run("main", args)]
    while stack:
        part = stack.pop()
        if isinstance(part, tuple):
            stack += part[::-1]
        else:
            results.append(part)
    return results


@pytest.mark.rotating
@pytest.mark.parametrize("results", RESULTS)
@pytest.mark.parametrize("name", sorted(set(EVERY_PASS) - NEEDS_DATAFLOW - CHANGES_TYPES - REORDERS_EFFECTS))
def test_effects_keep_their_order(name: str, results: str):
    mod = program(RESULTS[results])
    with transform.PassContext(opt_level=4):
        module = infer_module(transform.Sequential([make_pass(name)])(mod))
    got, want = value(module), value(mod)
    assert [(a.shape, a.dtype) for a in got] == [(a.shape, a.dtype) for a in want]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-2 if name == "FastMath" else 1e-5)


def test_the_programs_have_effects_that_tell():
    assert value(program(RESULTS["sharing"]))[-1] == 13.0
    assert value(program("%n(1f), %n(2f)"))[-1] == 8.0
    assert value(program("%n(2f), %n(1f)"))[-1] == 9.0


def test_no_branch_is_dropped_that_decides_when_an_effect_happens():
    mod = program(RESULTS["what a branch shares that is never taken"])
    with transform.PassContext(opt_level=4):
        folded = infer_module(transform.FoldConstant()(mod))
    assert value(mod) == [2.0, 9.0, 7.0]
    assert value(folded) == value(mod)
