"""Defunctionalization: programs without functions as values mean what they meant."""

from __future__ import annotations

import numpy as np
import pytest

from passlab import transform
from passlab.analysis.well_formed import well_formed
from passlab.errors import DiagnosticError
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir import Call, Constructor, Function, GlobalVar, IRModule
from passlab.ir.op import Op
from passlab.ir.types import FuncType, type_nodes
from passlab.ir.walk import children, post_order
from passlab.text.parser import parse
from tests.each import each
from tests.passes.law_programs import PROGRAMS, arguments, module
from tests.passes.test_continuations import MORE
from tests.passes.test_laws import flat

OWN = {
    "functions of functions": """
        def @main(%x: int32) -> int32 { @apply(@twice, @inc, %x) }
        def @apply(%t: fn (fn (int32) -> int32, int32) -> int32, %f: fn (int32) -> int32, %x: int32) -> int32 { %t(%f, %x) }
        def @twice(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%f(%x)) }
        def @inc(%x: int32) -> int32 { add(%x, 1) }""",
    "composition": """
        def @main(%x: int32) -> int32 {
          %0 = @compose(fn (%a: int32) -> int32 { add(%a, %x) }, @compose(@inc, @inc));
          %0(1)
        }
        def @compose[A, B, C](%f: fn (B) -> C, %g: fn (A) -> B) -> fn (A) -> C { fn (%a: A) -> C { %f(%g(%a)) } }
        def @inc(%x: int32) -> int32 { add(%x, 1) }""",
    "functions of different types": """
        def @main(%x: int32) -> (int32, bool) {
          let %p = (fn (%a: int32) -> int32 { add(%a, %x) }, fn (%a: int32) -> bool { equal(%a, %x) });
          %0 = %p.0;
          %1 = %p.1;
          (%0(1), %1(%x))
        }""",
    "a closure that calls itself": """
        def @main(%n: int32) -> int32 {
          let %count = fn (%k: int32) -> int32 { if (less(%k, %n)) { %count(add(%k, 1)) } else { %k } };
          @twice(%count, 0)
        }
        def @twice(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%f(%x)) }""",
    "a list of functions that stays empty": """
        type List[A] { Cons(A, List[A]), Nil, }
        def @main(%x: int32) -> int32 { @all(Nil, %x) }
        def @all(%l: List[fn (int32) -> int32], %x: int32) -> int32 {
          match (%l) { Cons(%f, %t) => { @all(%t, %f(%x)) }, Nil => { %x } }
        }""",
    "what is shared with a closure": """
        def @main(%x: Tensor[(3), float32]) {
          %0 = exp(%x);
          %1 = fn (%y: Tensor[(3), float32]) -> Tensor[(3), float32] { add(%0, %y) };
          add(%1(%0), %1(%x))
        }""",
    "a generic function as an argument": """
        def @main(%x: Tensor[(3), float32], %n: int32) { (@apply(@same, %x), @apply(@same, %n), @apply(@inc, %n)) }
        def @apply[A, B](%f: fn (A) -> B, %v: A) -> B { %f(%v) }
        def @same[A](%v: A) -> A { %v }
        def @inc(%n: int32) -> int32 { add(%n, 1) }""",
    "a generic function literal as an argument": """
        def @main(%x: Tensor[(3), float32], %n: int32) {
          %0 = fn [A](%v: A) -> (A, int32) { (%v, add(%n, 1)) };
          (@apply(%0, %x), @apply(%0, %n))
        }
        def @apply[A, B](%f: fn (A) -> B, %v: A) -> B { %f(%v) }""",
    "generic functions with names": """
        def @main(%x: Tensor[(3), float32], %n: int32) {
          let %same = fn [A](%v: A) -> A { %v };
          let %again = %same;
          let %both = fn [B](%v: B) -> (B, B) { (%same(%v), @apply(%again, %v)) };
          (%again(%x), @apply(%both, %n), %both(%x))
        }
        def @apply[A, B](%f: fn (A) -> B, %v: A) -> B { %f(%v) }""",
    "generic functions in a list's function": """
        type List[A] { Cons(A, List[A]), Nil, }
        def @main(%x: int32) -> int32 { @total(@map(@first, Cons((%x, 2f), Cons((3, 4f), Nil)))) }
        def @first[A, B](%p: (A, B)) -> A { %p.0 }
        def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
          match (%l) { Cons(%h, %t) => { Cons(%f(%h), @map(%f, %t)) }, Nil => { Nil } }
        }
        def @total(%l: List[int32]) -> int32 { match (%l) { Cons(%h, %t) => { add(%h, @total(%t)) }, Nil => { 0 } } }""",
    "a kernel in a closure": """
        def @main(%x: Tensor[(3), float32]) {
          let %k = fn (%p: Tensor[(3), float32], Primitive=1) -> Tensor[(3), float32] { exp(%p) };
          let %f = fn (%y: Tensor[(3), float32]) -> Tensor[(3), float32] { %k(%y) };
          %f(%x)
        }""",
    "kernels as values": """
        def @main(%x: float32, %c: bool) -> (float32, float32, float32) {
          let %k = fn (%p: float32, Primitive=1) -> float32 { exp(%p) };
          let %l = %k;
          let %t = (%k, if (%c) { %l } else { fn (%p: float32, Primitive=1) -> float32 { negative(%p) } });
          let %f = fn (%g: fn (float32) -> float32) -> float32 { %g(%x) };
          let %r = ref(%k);
          let %s = ref_read(%r);
          %0 = %t.1;
          (%f(%l), %0(%x), %s(%x))
        }""",
    "data that names functions": """
        type F[A] { F(fn (A) -> A, Rest[A]), G, }
        type Rest[A] { Rest((F[A], A)), End, }
        def @main(%x: int32) -> int32 {
          let %a = F(fn (%y: int32) -> int32 { add(%y, %x) }, End);
          let %b = F(fn (%y: int32) -> int32 { multiply(%y, 3) }, Rest((%a, 5)));
          match (%b) {
            F(%f, Rest((F(%g, End), %n))) => %f(%g(%n)),
            F(%f, _) => %f(1),
            G => 0,
          }
        }""",
    "gradients that are made when asked for": """
        type Cell[T] { Raw(T), One(fn () -> T), }
        def @value[T](%c: Cell[T]) -> T { match (%c) { Raw(%r) => %r, One(%make) => %make() } }
        def @main(%x: float32) -> (float32, int32) {
          let %one = One(fn () -> float32 { exp(%x) });
          let %other = Raw(3);
          (@value(%one), @value(%other))
        }""",
}
ALL = {**dict.fromkeys(PROGRAMS, ""), **MORE, **OWN}


def program(name: str) -> IRModule:
    return infer_module(parse(ALL[name])) if ALL[name] else module(name)


def converted(mod: IRModule) -> IRModule:
    with transform.PassContext(opt_level=4):
        passes = [transform.Defunctionalization(), transform.RemoveUnusedFunctions()]
        return infer_module(transform.Sequential(passes)(mod))


@each("name", ALL)
def test_programs_mean_the_same(name: str):
    mod = program(name)
    result = converted(mod)
    assert well_formed(result)
    values = [flat(Evaluator(m).run("main", arguments(mod))) for m in (mod, result)]
    for want, got in zip(*values, strict=True):
        np.testing.assert_array_equal(got, want)


@each("name", ALL)
def test_no_function_is_a_value(name: str):
    mod = converted(program(name))
    for function in dict(mod.items()).values():
        for node in post_order(function):
            called = node.op if isinstance(node, Call) else None
            for part in children(node):
                if part is called or isinstance(part, (Op, Constructor, GlobalVar)) or _is_kernel(part):
                    assert part is called or not isinstance(part, GlobalVar)
                    continue
                if getattr(part, "name_hint", "") != "k":  # bound to the kernel, and no longer used
                    assert not any(isinstance(t, FuncType) for t in type_nodes(part.checked_type))


def _is_kernel(node: object) -> bool:
    return isinstance(node, Function) and node.is_primitive


@each("name", ALL)
def test_a_second_run_has_nothing_to_do(name: str):
    mod = converted(program(name))
    if "kernel" not in name:  # what a let binds to a kernel has the type of a function
        assert converted(mod) is mod


def test_the_names_say_which_types_they_stand_for():
    mod = converted(program("functions of different types"))
    assert {t.name_hint for t in mod.get_global_type_vars()} == {"Defunc_fn_int32_int32", "Defunc_fn_int32_bool"}


def test_a_function_alone_adds_to_its_module():
    mod = program("composition")
    result = transform.Defunctionalization(mod["main"], mod)
    assert isinstance(result, Function)
    assert "apply_fn_int32_int32" in mod
    assert int(Evaluator(mod.with_functions({"main": result})).run("main", [np.int32(5)])) == 8


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def @main(%f: fn (int32) -> int32) -> int32 { %f(1) }", "takes or returns functions"),
        ("def @main[A](%x: A) -> A { let %f = fn (%y: A) -> A { %y }; %f(%x) }", "generic"),
        (
            "type B { B(int32), } def @main() -> B { let %f = fn (%g: fn (int32) -> B) -> B { %g(1) }; %f(B) }",
            "EtaExpand",
        ),
        ("def @main() -> int32 { let %p = (fn [A](%x: A) -> A { %x }, 1); %p.1 }", "generic"),
    ],
)
def test_what_has_no_such_form_is_said_and_nothing_is_added(text: str, says: str):
    mod = infer_module(parse(text))
    names = set(dict(mod.items()))
    with pytest.raises(DiagnosticError, match=says):
        transform.Defunctionalization(mod["main"], mod)
    assert set(dict(mod.items())) == names


def test_types_without_end_are_refused():
    mod = infer_module(
        parse("""
        def @main(%x: int32) -> int32 { @f(%x, 3, fn (%y: int32) -> int32 { %y }) }
        def @f[A](%x: A, %n: int32, %g: fn (int32) -> int32) -> int32 {
          if (equal(%n, 0)) { %g(%n) } else { @f((%x, %x), subtract(%n, 1), %g) }
        }""")
    )
    with pytest.raises(DiagnosticError, match="without end"):
        transform.Defunctionalization(mod["main"], mod)
