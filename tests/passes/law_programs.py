"""The programs that the laws of passes are held against: every construct, and some that passes like to get wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.infer import infer_module
from passlab.ir import IRModule, TensorType, TupleType
from passlab.text.parser import parse

PROGRAMS = {
    "nothing to do": "def @main(%x: Tensor[(3), float32]) { %x }",
    "dataflow": """
        def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32], %b: Tensor[(4), float32]) {
          %0 = nn.dense(%x, %w, units=4);
          %1 = nn.bias_add(%0, %b, axis=-1);
          nn.softmax(nn.relu(multiply(%1, 2f)))
        }""",
    "convolutions": """
        def @main(%x: Tensor[(1, 2, 6, 6), float32], %w: Tensor[(2, 2, 3, 3), float32], %v: Tensor[(4, 2, 3, 3), float32],
                  %g: Tensor[(2), float32], %b: Tensor[(2), float32], %m: Tensor[(2), float32], %s: Tensor[(2), float32]) {
          %0 = nn.conv2d(nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]), %w, channels=2, kernel_size=[3, 3]);
          %1 = nn.batch_norm(%0, %g, %b, %m, add(multiply(%s, %s), 1f));
          %2 = nn.relu(%1.0);
          %3 = nn.conv2d(%2, %w, padding=[1, 1], channels=2, kernel_size=[3, 3]);
          %4 = nn.conv2d(%2, %v, padding=[1, 1], channels=4, kernel_size=[3, 3]);
          %5 = nn.conv2d(%2, %w, padding=[1, 1], channels=2, kernel_size=[3, 3]);
          (nn.relu(%3), nn.relu(%4), nn.relu(%5))
        }""",
    "sharing": """
        def @main(%x: Tensor[(2, 3), float32]) {
          %0 = exp(multiply(%x, 0.5f));
          %1 = add(%0, %0);
          %2 = (%1, transpose(transpose(%1, axes=[1, 0]), axes=[1, 0]), reshape(reshape(%0, newshape=[6]), newshape=[2, 3]));
          %3 = concatenate(%2, axis=1);
          (%3, add(exp(multiply(%x, 0.5f)), %2.1))
        }""",
    "lets": """
        def @main(%x: Tensor[(3), float32]) {
          let %a = add(%x, 1f);
          let %unused = exp(%a);
          let %b = { let %c = multiply(%a, %a); add(%c, %x) };
          let %alias = %b;
          subtract(%alias, %a)
        }""",
    "branches": """
        def @main(%c: bool, %x: Tensor[(3), float32]) {
          %0 = exp(%x);
          %1 = if (%c) { add(%0, exp(%x)) } else { if (less(1, 2)) { multiply(%0, exp(%x)) } else { %x } };
          if (True) { add(%1, %0) } else { %x }
        }""",
    "closures": """
        def @main(%x: Tensor[(3), float32]) {
          let %f = fn (%y: Tensor[(3), float32]) { add(%y, %x) };
          let %twice = fn (%g: fn (Tensor[(3), float32]) -> Tensor[(3), float32], %y: Tensor[(3), float32]) { %g(%g(%y)) };
          %0 = fn (%z: Tensor[(3), float32]) { multiply(%z, %x) };
          add(%twice(%f, %x), %0(%f(%x)))
        }""",
    "recursion": """
        def @main(%n: int32) -> int32 {
          let %loop = fn (%i: int32, %s: int32) -> int32 {
            if (less(%i, 1)) { %s } else { %loop(subtract(%i, 1), add(%s, @square(%i))) }
          };
          %loop(%n, 0)
        }
        def @square(%i: int32, Inline=1) -> int32 { multiply(%i, %i) }
        def @unused(%i: int32) -> int32 { @square(%i) }""",
    "references": """
        def @main(%x: Tensor[(3), float32]) {
          let %r = ref(%x);
          let %old = ref_read(%r);
          let %u = ref_write(%r, add(%old, 1f));
          let %set = fn (%v: Tensor[(3), float32]) { let %w = ref_write(%r, %v); ref_read(%r) };
          let %t = %set(multiply(ref_read(%r), 2f));
          (ref_read(%r), %old)
        }""",
    "data": """
        type Option[A] { Some(A), None, }
        def @main(%x: Tensor[(3), float32], %c: bool) {
          let %o = if (%c) { Some(exp(%x)) } else { None };
          let %p = Some(Some(%x));
          %0 = match (%o) { Some(%v) => { add(%v, %x) }, None => { %x } };
          match? (%p) { Some(Some(%v)) => { multiply(%0, %v) } }
        }""",
    "types that only calls tell": """
        type List[A] { Cons(A, List[A]), Nil, }
        type Never { }
        def @main(%x: float32) -> (float32, float32) {
          let %f = fn (%v: Never) -> float32 { let %y = @absurd(%v); add(%y, 1f) };
          (@first(%x, 1), @given(fn (%l: List[float32]) -> float32 { 1f }))
        }
        def @first[R](%x: float32, %z: R) -> float32 {
          let %h = fn (%k: fn (float32) -> R) -> R { %k(%x) };
          %x
        }
        def @given[A](%f: fn (List[A]) -> float32) -> float32 { %f(Nil) }
        def @absurd(%v: Never) -> float32 { match? (%v) { } }""",
    "matches without arms": """
        type Never { }
        type Maybe[A] { Just(A), Nothing }
        def @main(%x: float32, %c: bool) -> float32 {
          let %no: Maybe[Never] = Nothing;
          match (%no) { Just(%v) => { add(@operand(%v), @closure(%v)) }, Nothing => { add(%x, 1f) } }
        }
        def @absurd(%v: Never, Inline=1) -> float32 { match? (%v) { } }
        def @operand(%v: Never) -> float32 { add(@absurd(%v), 1f) }
        def @bound(%v: Never) -> float32 { let %a: float32 = match? (%v) { }; multiply(exp(%a), %a) }
        def @once(%v: Never) -> float32 { let %a: float32 = match? (%v) { }; exp(%a) }
        def @branch(%v: Never, %c: bool) -> float32 { add(if (%c) { match? (%v) { } } else { 2f }, 1f) }
        def @known(%v: Never) -> float32 { add(if (True) { match? (%v) { } } else { 2f }, 1f) }
        def @arm(%v: Never) -> float32 { exp(match (Just(2f)) { Just(%a) => { match? (%v) { } }, Nothing => { 1f } }) }
        def @closure(%v: Never) -> float32 {
          let %f = fn (%w: Never) -> float32 { match? (%w) { } };
          multiply(%f(%v), %f(%v))
        }
        def @literal(%v: Never) -> float32 { exp(fn (%w: Never) -> float32 { match? (%w) { } }(%v)) }
        def @argument(%v: Never) -> float32 { fn (%a: float32) -> float32 { exp(%a) }(match? (%v) { }) }
        def @cell(%v: Never) -> float32 {
          let %r = ref(1f);
          let %u = ref_write(%r, match? (%v) { });
          exp(ref_read(%r))
        }""",
    "integers": """
        def @main(%x: Tensor[(4), int8], %y: Tensor[(4), uint8]) {
          %0 = cast(cast(%x, dtype="uint8"), dtype="int16");
          %1 = clip(cast(%x, dtype="int32"), a_min=-128f, a_max=127f);
          %2 = add(cast(%1, dtype="int8"), 0i8);
          (add(%0, cast(%y, dtype="int16")), divide(%2, 3i8), multiply(add(%x, 100i8), 3i8))
        }""",
    "tuples": """
        def @main(%p: (Tensor[(2), float32], (Tensor[(2), float32], Tensor[(2), float32]))) {
          %0 = (%p.1.0, (%p.0, add(%p.1.1, 1f)));
          (%0.1.0, split(%0.1.1, indices_or_sections=2).1, (1f, 2f).0)
        }""",
    "repeated projections": """
        def @main(%p: (Tensor[(2), float32], (Tensor[(2), float32], Tensor[(2), float32]))) {
          let %a = %p.1.0;
          let %b = add(%p.1.0, %p.0);
          (fn (%x: Tensor[(2), float32]) { multiply(%x, %p.1.0) })(add(multiply(%p.0, %a), %b))
        }""",
    "dynamic shapes": """
        def @main(%x: Tensor[(?, 3), float32], %y: Tensor[(2, 3), float32]) {
          %0 = add(%x, exp(%x));
          (reshape(%0, newshape=[-1]), dyn.reshape(%y, shape_of(%y, dtype="int32"), newshape=[]), ones_like(%0))
        }""",
    "kernels": """
        def @main(%x: Tensor[(3), float32]) {
          %0 = fn (%p0: Tensor[(3), float32], Primitive=1) -> Tensor[(3), float32] { exp(add(%p0, 1f)) };
          %0(%0(%x))
        }""",
}


def module(name: str) -> IRModule:
    """Return one of the programs, parsed and typed."""
    return infer_module(parse(PROGRAMS[name]))


def arguments(mod: IRModule) -> list[Any]:
    """Return values for the parameters of main: numbers of moderate size, from a fixed seed; `?` is 2."""
    rng = np.random.default_rng(7)
    return [value_of(p.type_annotation, rng) for p in mod["main"].params]


def value_of(ty: Any, rng: np.random.Generator) -> Any:
    if isinstance(ty, TupleType):
        return tuple(value_of(f, rng) for f in ty.fields)
    assert isinstance(ty, TensorType)
    shape = [d if type(d) is int else 2 for d in ty.shape]
    if ty.dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if "int" in ty.dtype:
        return np.asarray(rng.integers(0, 6, shape)).astype(ty.dtype)
    return np.asarray(rng.standard_normal(shape)).astype(ty.dtype)
