"""ToCPS and UnCPS: programs that never return mean what they meant."""

from __future__ import annotations

import numpy as np
import pytest

from passlab import transform
from passlab.analysis.well_formed import well_formed
from passlab.errors import DiagnosticError
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir import Call, Function, IRModule
from passlab.ir.equal import structural_equal
from passlab.ir.op import Op
from passlab.ir.walk import post_order
from passlab.text.parser import parse
from tests.each import each
from tests.passes.law_programs import PROGRAMS, arguments, module
from tests.passes.test_laws import flat

MORE = {
    "a global function as a value": """
        def @main(%x: int32) -> int32 { @twice(@inc, %x) }
        def @inc(%x: int32) -> int32 { add(%x, 1) }
        def @twice(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%f(%x)) }""",
    "a generic global function": """
        type List[A] { Cons(A, List[A]), Nil, }
        def @main(%x: int32) -> int32 { @sum(@map(fn (%y: int32) -> int32 { add(%y, %x) }, Cons(1, Cons(2, Nil)))) }
        def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
          match (%l) { Cons(%h, %t) => { Cons(%f(%h), @map(%f, %t)) }, Nil => { Nil } }
        }
        def @sum(%l: List[int32]) -> int32 { match (%l) { Cons(%h, %t) => { add(%h, @sum(%t)) }, Nil => { 0 } } }""",
    "functions in data": """
        type Option[A] { Some(A), None, }
        def @main(%x: int32) -> int32 {
          let %o = Some((fn (%y: int32) -> int32 { multiply(%y, %x) }, 2));
          match (%o) { Some(%p) => { %0 = %p.0; %0(%p.1) }, None => { 0 } }
        }""",
    "a function in a reference": """
        def @main(%x: int32) -> int32 {
          let %r = ref(fn (%y: int32) -> int32 { add(%y, 1) });
          let %u = ref_write(%r, fn (%y: int32) -> int32 { add(%y, %x) });
          %0 = ref_read(%r);
          %0(10)
        }""",
    "functions that call each other": """
        def @main(%n: int32) -> bool { @even(%n) }
        def @even(%n: int32) -> bool { if (equal(%n, 0)) { True } else { @odd(subtract(%n, 1)) } }
        def @odd(%n: int32) -> bool { if (equal(%n, 0)) { False } else { @even(subtract(%n, 1)) } }""",
    "effects in their order": """
        def @main(%x: int32) -> (int32, int32) {
          let %r = ref(%x);
          let %next = fn () -> int32 { let %u = ref_write(%r, multiply(ref_read(%r), 3)); ref_read(%r) };
          let %a = %next();
          let %b = subtract(%next(), %a);
          (%b, ref_read(%r))
        }""",
    "a function made by a function": """
        def @main(%x: int32) -> int32 {
          let %adder = fn (%a: int32) -> fn (int32) -> int32 { fn (%b: int32) -> int32 { add(%a, %b) } };
          %0 = %adder(%x);
          %0(5)
        }""",
}


def program(name: str) -> IRModule:
    return infer_module(parse(MORE[name])) if name in MORE else module(name)


def converted(name: str, mod: IRModule) -> IRModule:
    with transform.PassContext(opt_level=4):
        return transform.get_pass(name)(mod)


@each("name", [*PROGRAMS, *MORE])
def test_there_and_back_means_the_same(name: str):
    mod = program(name)
    there = converted("ToCPS", mod)
    back = converted("UnCPS", there)
    assert well_formed(there)
    assert well_formed(back)
    assert back["main"].checked_type is mod["main"].checked_type
    values = [flat(Evaluator(m).run("main", arguments(mod))) for m in (mod, back)]
    for want, got in zip(*values, strict=True):
        np.testing.assert_array_equal(got, want)


@each("name", [*PROGRAMS, *MORE])
def test_every_call_of_a_function_hands_on_and_comes_last(name: str):
    for function in dict(converted("ToCPS", program(name)).items()).values():
        bodies = [n.body for n in post_order(function) if isinstance(n, Function) and not n.is_primitive]
        ends = set(bodies)
        for node in reversed(post_order(*bodies)):
            if node in ends and not isinstance(node, Call):
                ends.update(_last(node))
        calls = [n for n in post_order(function) if isinstance(n, Call) and _is_converted(n)]
        assert all(c in ends for c in calls)


def _last(node: object) -> list[object]:
    if hasattr(node, "true_branch"):
        return [node.true_branch, node.false_branch]
    if hasattr(node, "clauses"):
        return [c.rhs for c in node.clauses]
    return [node.body] if hasattr(node, "body") else []


def _is_converted(call: Call) -> bool:
    answer = call.checked_type
    return type(answer).__name__ == "TypeVar" and not isinstance(call.op, Op)


def test_the_tail_of_a_loop_stays_a_tail():
    mod = converted("ToCPS", module("recursion"))
    loops = [n for n in post_order(mod["main"]) if isinstance(n, Call) and getattr(n.op, "name_hint", "") == "loop"]
    assert all(c.args[-1].name_hint == "k" for c in loops[:1])


def test_a_function_alone_is_converted_with_a_module_that_is_added_to():
    mod = infer_module(parse("def @f(%x: int32) -> int32 { add(%x, 1) } def @main(%x: int32) -> int32 { @f(@f(%x)) }"))
    result = transform.to_cps(mod["main"], mod)
    assert len(result.type_params) == 1
    assert "f_cps" in mod
    again = transform.to_cps(mod["main"], mod)
    assert structural_equal(result, again)
    assert len(mod) == 3


def test_a_name_that_is_taken_by_something_else_is_left_alone():
    text = """def @main(%x: int32) -> int32 { add(@f(%x), @f_cps(%x)) }
      def @f(%x: int32) -> int32 { add(%x, 1) }
      def @f_cps(%x: int32) -> int32 { multiply(%x, 10) }"""
    mod = infer_module(parse(text))
    back = converted("UnCPS", converted("ToCPS", mod))
    assert int(Evaluator(back).run("main", [np.int32(2)])) == 23


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "type B { B(int32), } def @main() -> B { let %f = fn (%g: fn (int32) -> B) -> B { %g(1) }; %f(B) }",
            "EtaExpand",
        ),
        (
            "type F { F(fn (int32) -> int32), } def @main() -> F { F(fn (%x: int32) -> int32 { %x }) }",
            "holds functions",
        ),
    ],
)
def test_what_has_no_such_form_is_said(text: str, says: str):
    mod = infer_module(parse(text))
    with pytest.raises(DiagnosticError, match=says):
        converted("ToCPS", mod)


def test_only_functions_in_this_style_have_their_continuation_taken():
    mod = infer_module(parse("def @main(%x: int32) -> int32 { %x }"))
    with pytest.raises(DiagnosticError, match="continuation-passing"):
        transform.un_cps(mod["main"])
