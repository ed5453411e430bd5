"""Partial evaluation, with what nothing uses removed: what is computed, what is left, and that it comes to an end."""

from __future__ import annotations

import numpy as np
import pytest

from passlab import transform
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir import Constant, Function, IRModule, Let, TensorType, Var
from passlab.ir.equal import structural_equal
from passlab.ir.walk import post_order
from passlab.op import make
from passlab.text.parser import parse

LISTS = """
    type List[A] { Cons(A, List[A]), Nil, }
    def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
      match (%l) { Cons(%h, %t) => { Cons(%f(%h), @map(%f, %t)) }, Nil => { Nil } }
    }
    def @sum(%l: List[float32]) -> float32 {
      match (%l) { Cons(%h, %t) => { add(%h, @sum(%t)) }, Nil => { 0f } }
    }
"""


def evaluated(text: str) -> IRModule:
    with transform.PassContext(opt_level=4):
        passes = [
            transform.get_pass("PartialEvaluate"),
            transform.get_pass("InferType"),
            transform.get_pass("DeadCodeElimination", inline_once=True),
        ]
        return infer_module(transform.Sequential(passes)(infer_module(parse(text))))


def leaves(text: str, main: str) -> None:
    got = evaluated(text)["main"]
    want = infer_module(parse(main))["main"]
    assert structural_equal(got, want, map_free_vars=True), f"this is left:\n{got}"


def test_a_recursion_over_a_known_number_is_computed():
    leaves(
        """def @main() { @fib(12) }
        def @fib(%n: int32) -> int32 {
          if (less(%n, 2)) { %n } else { add(@fib(subtract(%n, 1)), @fib(subtract(%n, 2))) }
        }""",
        "def @main() -> int32 { 144 }",
    )


def test_a_recursion_over_known_data_is_unrolled_whatever_the_data_holds():
    leaves(
        "def @main(%x: float32) { @sum(@map(fn (%y: float32) -> float32 { add(%y, %y) }, Cons(%x, Cons(2f, Nil)))) }"
        + LISTS,
        "def @main(%x: float32) -> float32 { add(add(%x, %x), 4f) }",
    )


def test_a_recursion_over_unknown_data_is_left():
    mod = evaluated("def @main(%l: List[float32]) -> float32 { @sum(%l) }" + LISTS)
    assert "@sum(" in mod["main"].astext()


def test_a_recursion_without_end_is_left():
    leaves(
        """def @main() {
          let %loop = fn (%n: int32) -> int32 { %loop(add(%n, 1)) };
          %loop(0)
        }""",
        """def @main() -> int32 {
          let %loop = fn (%n: int32) -> int32 { %loop(add(%n, 1)) };
          %loop(1)
        }""",
    )


def test_a_function_called_by_a_younger_one_of_the_same_text_is_gone_into():
    leaves(
        """def @main(%x: float32) {
          let %then = fn (%g: fn () -> float32) -> fn () -> float32 { fn () -> float32 { add(%g(), 1f) } };
          let %start = fn () -> float32 { %x };
          let %f = %then(%then(%then(%start)));
          %f()
        }""",
        "def @main(%x: float32) -> float32 { add(add(add(%x, 1f), 1f), 1f) }",
    )


@pytest.mark.parametrize(
    ("between", "result"),
    [
        ("()", "%x"),
        ("ref_write(%other, 3f)", "ref_read(%r)"),
        ("%unknown()", "ref_read(%r)"),
        ("if (%c) { ref_write(%r, 1f) } else { () }", "ref_read(%r)"),
        ("if (%c) { () } else { () }", "%x"),
    ],
)
def test_what_a_reference_holds_is_forgotten_where_it_may_be_written(between: str, result: str):
    mod = infer_module(
        parse(f"""
        def @main(%x: float32, %c: bool, %other: ref(float32), %unknown: fn () -> ()) -> float32 {{
          let %r = ref(%x);
          let %u = {between};
          ref_read(%r)
        }}""")
    )
    with transform.PassContext(opt_level=4):
        body = transform.get_pass("PartialEvaluate")(mod)["main"].body
    while isinstance(body, Let):
        last, body = body.value, body.body
    assert (body is mod["main"].params[0]) == (result == "%x")
    if result != "%x":
        assert type(last).__name__ == "RefRead"


def test_what_a_branch_writes_is_not_known_in_the_other():
    leaves(
        """def @main(%c: bool, %x: float32) {
          let %r = ref(1f);
          let %y = if (%c) { let %u = ref_write(%r, 2f); ref_read(%r) } else { ref_read(%r) };
          (%y, %x)
        }""",
        """def @main(%c: bool, %x: float32) -> (float32, float32) {
          let %y = if (%c) { 2f } else { 1f };
          (%y, %x)
        }""",
    )


def test_functions_nested_in_functions_do_not_take_time_without_end():
    body = "add(%y40, %y40)"
    for i in reversed(range(41)):
        body = f"let %f{i} = fn (%y{i}: float32) -> float32 {{ {body} }}; %f{i}(%y{i - 1})"
    text = "def @main(%y: float32) -> float32 { " + body.replace("%y-1", "%y") + " }"
    mod = infer_module(parse(text))
    with transform.PassContext(opt_level=4):
        module = infer_module(transform.get_pass("PartialEvaluate")(mod))
    assert len(post_order(module["main"])) < 200_000
    value = Evaluator(module).run("main", [np.float32(2)])
    assert np.asarray(value) == 4


def test_a_shared_expression_is_evaluated_once():
    x = Var("x", TensorType((), "float32"))
    body = make("exp", x)
    for _ in range(60):
        body = make("add", body, body)
    with transform.PassContext(opt_level=4):
        pass_ = transform.get_pass("PartialEvaluate")(infer_module(IRModule.from_expr(Function([x], body))))
    assert len(post_order(pass_["main"])) < 300


def test_a_loop_of_ten_thousand_known_steps_is_computed():
    leaves(
        """def @main() {
          let %loop = fn (%n: int32, %s: int32) -> int32 {
            if (equal(%n, 0)) { %s } else { %loop(subtract(%n, 1), add(%s, 2)) }
          };
          %loop(2000, 0)
        }""",
        "def @main() -> int32 { 4000 }",
    )


def test_a_function_that_is_gone_into_twice_binds_its_variables_anew():
    mod = evaluated("""
        def @main(%x: float32, %h: fn (fn (float32) -> float32) -> float32) {
          let %f = fn (%y: float32) -> float32 { %h(fn (%z: float32) -> float32 { add(%y, %z) }) };
          add(%f(%x), %f(2f))
        }""")
    bound = [p for n in post_order(mod["main"]) if isinstance(n, Function) for p in n.params]
    assert len(bound) == len(set(bound))


def test_constants_are_one_object_where_one_was():
    mod = infer_module(parse("def @main(%x: float32) { let %c = 2f; let %y = add(%x, %c); %y }"))
    with transform.PassContext(opt_level=4):
        assert transform.get_pass("PartialEvaluate")(mod) is mod
    assert any(isinstance(n, Constant) for n in post_order(mod["main"]))
