"""One rule of the type system after another: a program, and the same program with all that inference fills in."""

from __future__ import annotations

import pytest

from passlab.infer import infer_expr, infer_module
from passlab.ir import Call, Constant, Op, TensorType, TupleType, Var
from passlab.op import make
from tests.infer.programs import LIST, result, same_program, signature, typed, untyped, untyped_nodes

FILLED = {
    "a result type": (
        "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }",
        "def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { nn.relu(%x) }",
    ),
    "let variables": (
        "def @main(%x: int32) { let %y = (%x, 1f); let %z = %y.1; %z }",
        "def @main(%x: int32) -> float32 { let %y: (int32, float32) = (%x, 1f); let %z: float32 = %y.1; %z }",
    ),
    "a parameter, from its use": (
        "def @main(%x: Tensor[(4, 8), float32], %w) { nn.dense(%x, %w, units=3) }",
        "def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(3, 8), float32]) -> Tensor[(4, 3), float32] { nn.dense(%x, %w, units=3) }",
    ),
    "a closure, from its call": (
        "def @main(%x: int32) { let %f = fn (%a, %b) { (%b, %a) }; %f(%x, True) }",
        """def @main(%x: int32) -> (bool, int32) {
             let %f: fn (int32, bool) -> (bool, int32) = fn (%a: int32, %b: bool) -> (bool, int32) { (%b, %a) };
             %f(%x, True)
           }""",
    ),
    "a local function that calls itself": (
        "def @main(%n: int32) { let %f = fn (%a) { if (less(%a, 1)) { 0f } else { %f(subtract(%a, 1)) } }; %f(%n) }",
        """def @main(%n: int32) -> float32 {
             let %f: fn (int32) -> float32 = fn (%a: int32) -> float32 {
               if (less(%a, 1)) { 0f } else { %f(subtract(%a, 1)) }
             };
             %f(%n)
           }""",
    ),
    "pattern variables": (
        LIST + "def @main(%l: List[(int32, bool)]) { match? (%l) { Cons((%a, _), %t) => (%a, %t) } }",
        LIST
        + """def @main(%l: List[(int32, bool)]) -> (int32, List[(int32, bool)]) {
             match? (%l) { Cons((%a: int32, _), %t: List[(int32, bool)]) => (%a, %t) }
           }""",
    ),
    "references": (
        "def @main(%x: float32) { let %r = ref(%x); let %u = ref_write(%r, 1f); ref_read(%r) }",
        "def @main(%x: float32) -> float32 { let %r: ref(float32) = ref(%x); let %u: () = ref_write(%r, 1f); ref_read(%r) }",
    ),
    "an unknown reference": (
        "def @main(%x: float32) { fn (%r) { ref_read(%r) }(ref(%x)) }",
        "def @main(%x: float32) -> float32 { fn (%r: ref(float32)) -> float32 { ref_read(%r) }(ref(%x)) }",
    ),
    "an unknown tuple": (
        "def @main(%x: float32) { fn (%t) { %t.1 }((1, %x)) }",
        "def @main(%x: float32) -> float32 { fn (%t: (int32, float32)) -> float32 { %t.1 }((1, %x)) }",
    ),
    "an unknown scrutinee": (
        LIST + "def @main() { fn (%l) { match (%l) { Cons(%h, _) => %h, Nil => 1 } }(Cons(2, Nil)) }",
        LIST
        + """def @main() -> int32 {
             fn (%l: List[int32]) -> int32 { match (%l) { Cons(%h: int32, _) => %h, Nil => 1 } }(Cons(2, Nil))
           }""",
    ),
}


@pytest.mark.parametrize("name", FILLED)
def test_inference_fills_in(name):
    before, after = FILLED[name]
    got = typed(before)
    same_program(got, typed(after))
    annotated = untyped(after)  # nothing was left to fill in, save type arguments, which have no text
    assert infer_module(annotated)["main"].ret_type is got["main"].ret_type
    assert not untyped_nodes(got)


@pytest.mark.parametrize(
    ("program", "ty"),
    [
        ("def @main() { (1, 1i64, 1f, 1f64, True, 1f16) }", "(int32, int64, float32, float64, bool, float16)"),
        ("def @main() { () }", "()"),
        ("def @main(%x: Tensor[(2, 1), float32], %y: Tensor[(3), float32]) { less(%x, %y) }", "Tensor[(2, 3), bool]"),
        ("def @main(%c: bool, %x: int32) { if (%c) { (%x, %x) } else { (1, 2) } }", "(int32, int32)"),
        ("def @main(%x: int32) { fn () { %x } }", "fn () -> int32"),
        (LIST + "def @main() { Cons }", "fn [A](A, List[A]) -> List[A]"),
        (LIST + "def @main() { Cons(1f, Nil) }", "List[float32]"),
        ("def @f(%x: int32) -> bool { True }\ndef @main() { @f }", "fn (int32) -> bool"),
        ("type T { C(T), D, }\ndef @main(%t: T) { match (%t) { C(%u) => %u, D => D } }", "T"),
    ],
)
def test_the_type_of(program, ty):
    assert result(program) == ty


def test_operators_are_values():
    text = "def @twice(%f: fn (float32) -> float32, %x: float32) { %f(%f(%x)) }\ndef @main(%x: float32) { @twice(exp, %x) }"
    assert result(text) == "float32"
    assert (
        result("def @main(%x: Tensor[(2), float32]) { let %f = add; (%f(%x, 1f), %f(2, 3)) }")
        == "(Tensor[(2), float32], int32)"
    )


def test_an_operator_that_left_out_its_attributes_gets_the_defaults():
    x, w = Var("x", TensorType((2, 3))), Var("w", TensorType((4, 3)))
    call = infer_expr(Call(Op.get("nn.dense"), [x, w]))
    assert call.checked_type is TensorType((2, 4))
    assert call.attrs == make("nn.dense", x, w).attrs


def test_an_expression_stands_alone():
    x = Var("x", TensorType((2,)))
    assert infer_expr(make("add", x, x)).checked_type is TensorType((2,))
    assert infer_expr(Constant(1.5)).checked_type is TensorType((), "float64")
    assert infer_expr(x) is x
    w = Var("w")
    call = infer_expr(make("nn.dense", Var("x", TensorType((2, 8))), w, units=3))
    assert call.args[1].type_annotation is TensorType((3, 8))
    assert w._checked_type is None


def test_an_expression_may_use_a_module():
    mod = untyped(LIST + "def @f[A](%x: A) { Cons(%x, Nil) }")
    f = mod.get_global_var("f")
    call = infer_expr(Call(f, [Constant(1.5)]), mod)
    assert str(call.checked_type) == "List[float64]"
    assert call.type_args == (TensorType((), "float64"),)
    assert mod["f"]._checked_type is None, "the functions of the module are left alone"


def test_what_nothing_depends_on_is_the_empty_tuple():
    mod = typed(LIST + "def @len[A](%l: List[A]) -> int32 { 0 }\ndef @main() { @len(Nil) }")
    assert mod["main"].body.type_args == (TupleType(()),)


def test_an_annotation_may_leave_a_part_open():
    assert (
        signature(LIST + "def @main(%l: List[_]) -> int32 { match (%l) { Cons(%h, _) => %h, Nil => 0 } }")
        == "fn (List[int32]) -> int32"
    )


def test_type_arguments_of_an_operator_are_the_types_of_its_arguments():
    call = typed("def @main(%x: Tensor[(10, 10), float32], %y: Tensor[(1, 10), float32]) { %x + %y }")["main"].body
    assert call.type_args == tuple(arg.checked_type for arg in call.args)
