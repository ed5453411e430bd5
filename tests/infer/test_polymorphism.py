"""Generic functions, type arguments, and groups of functions that are inferred together."""

from __future__ import annotations

import pytest

from passlab.errors import TypeInferenceError
from passlab.infer import infer_expr, infer_module
from passlab.ir import Call, Constant, Function, FuncType, GlobalVar, If, IRModule, TensorType, TypeVar, Var
from passlab.ir.walk import post_order
from tests.infer.programs import LIST, findings, result, signature, typed, untyped

INT = TensorType((), "int32")
ID = "def @id[A](%x: A) -> A { %x }\n"
MAP = (
    LIST
    + """def @map[A, B](%f: fn (A) -> B, %xs: List[A]) {
  match (%xs) { Cons(%h, %t) => Cons(%f(%h), @map(%f, %t)), Nil => Nil }
}
"""
)


def test_a_generic_function_is_instantiated_at_each_call():
    mod = typed(ID + "def @main(%x: bool) { (@id(%x), @id(1f), @id(@id)(2)) }")
    assert str(mod["main"].ret_type) == "(bool, float32, int32)"
    calls = [node for node in post_order(mod["main"]) if isinstance(node, Call) and isinstance(node.op, GlobalVar)]
    assert {str(call.type_args[0]) for call in calls} == {"bool", "float32", "fn [A](A) -> A"}


def test_a_closure_without_type_parameters_is_not_generic():
    (finding,) = findings("def @main() { let %f = fn (%x) { %x }; (%f(1), %f(True)) }")
    assert "`int32` does not match `bool`" in finding.message


def test_a_generic_closure_is():
    assert result("def @main() { let %f = fn [A](%x: A) { %x }; (%f(1), %f(True)) }") == "(int32, bool)"


def test_a_generic_function_is_an_argument():
    assert result(MAP + ID + "def @main(%l: List[bool]) { @map(@id, %l) }") == "List[bool]"
    assert result(MAP + "def @main() { @map(fn (%x) { (%x, %x) }, Cons(1, Nil)) }") == "List[(int32, int32)]"


def test_two_generic_functions_match_by_their_type_parameters():
    text = ID + "def @main(%c: bool) { if (%c) { @id } else { fn [T](%y: T) -> T { %y } } }"
    assert "fn [A](A) -> A" in signature(text)
    (finding,) = findings(
        "def @main(%c: bool, %x: int32) { if (%c) { fn [T](%y: T) { %y } } else { fn [T](%y: T) { %x } } }"
    )
    assert "does not match" in finding.message


def test_explicit_type_arguments_come_first():
    a = TypeVar("A")
    x = Var("x", a)
    generic = Function([x], x, a, [a])
    call = infer_expr(Call(generic, [Constant(1.5)], type_args=[TensorType((), "float64")]))
    assert call.checked_type is TensorType((), "float64")
    with pytest.raises(TypeInferenceError, match="`int32` does not match `float64`"):
        infer_expr(Call(generic, [Constant(1.5)], type_args=[INT]))
    with pytest.raises(TypeInferenceError, match="Incorrect number of type args in"):
        infer_expr(Call(generic, [Constant(1.5)], type_args=[INT, INT]))


def test_type_arguments_are_filled_in_once():
    mod = typed(ID + "def @main() { @id(1) }")
    assert mod["main"].body.type_args == (INT,)
    assert infer_module(mod) is mod


# ---------------------------------------------------------------- groups
def test_a_function_may_be_called_before_it_is_defined_and_needs_no_annotation():
    assert (
        result("def @main(%x: int32) { @b(%x) }\ndef @b(%x: int32) { @c(%x) }\ndef @c(%x: int32) { (%x, 1f) }")
        == "(int32, float32)"
    )


def test_functions_that_call_each_other_are_inferred_together():
    text = """
    def @even(%n: int32) { if (equal(%n, 0)) { True } else { @odd(subtract(%n, 1)) } }
    def @odd(%n: int32) { if (equal(%n, 0)) { False } else { @even(subtract(%n, 1)) } }
    """
    assert signature(text, "even") == signature(text, "odd") == "fn (int32) -> bool"


def test_unannotated_parameters_of_a_global_are_determined_inside_its_group_only():
    text = "def @f(%c: bool, %n) { if (%c) { %n } else { @g(3) } }\ndef @g(%n) { @f(True, %n) }"
    assert signature(text, "f") == "fn (bool, int32) -> int32"
    assert signature(text, "g") == "fn (int32) -> int32"
    lonely = findings("def @id(%x) { %x }\ndef @main() { @id(1) }")
    assert "nothing determines the type of `%x`" in lonely[0].message


def test_a_generic_function_without_a_result_type_may_call_itself():
    assert signature(MAP, "map") == "fn [A, B](fn (A) -> B, List[A]) -> List[B]"
    rev = LIST + "def @f[A](%x: A, %n: int32) { if (less(%n, 0)) { Nil } else { Cons(%x, @f(%x, subtract(%n, 1))) } }"
    assert signature(rev, "f") == "fn [A](A, int32) -> List[A]"


def test_generic_functions_may_call_each_other():
    text = """
    def @f[A](%x: A, %n: int32) { if (less(%n, 0)) { (%x, %n) } else { @g(%x, subtract(%n, 1)) } }
    def @g[B](%y: B, %n: int32) { @f(%y, %n) }
    def @main() { (@g(1f, 2), @f(True, 3)) }
    """
    assert signature(text, "g") == "fn [B](B, int32) -> (B, int32)"
    assert result(text) == "((float32, int32), (bool, int32))"


def test_annotated_generic_functions_may_call_themselves_at_another_type():
    text = (
        LIST
        + "def @deep[A](%x: A, %n: int32) -> int32 { if (less(%n, 1)) { 0 } else { @deep((%x, %x), subtract(%n, 1)) } }"
    )
    assert signature(text, "deep") == "fn [A](A, int32) -> int32"


def test_nothing_but_itself_is_no_type():
    assert "unable to infer a type" in findings("def @f(%x: int32) { @f(%x) }")[0].message


def test_a_long_chain_of_functions_without_annotations():
    count = 1500
    names = [GlobalVar(f"f{i}") for i in range(count)]
    functions = {}
    for i, name in enumerate(names):
        x = Var("x", INT)
        functions[name] = Function([x], Call(names[i + 1], [x]) if i + 1 < count else x)
    mod = infer_module(IRModule(functions))
    assert mod["f0"].checked_type is FuncType([INT], INT)


def test_a_large_ring_of_functions():
    count = 1500
    names = [GlobalVar(f"f{i}") for i in range(count)]
    functions = {}
    for i, name in enumerate(names):
        x, c = Var("x", INT), Var("c", TensorType((), "bool"))
        functions[name] = Function([c, x], If(c, x, Call(names[(i + 1) % count], [c, x])))
    mod = infer_module(IRModule(functions))
    assert all(fn.ret_type is INT for _, fn in mod.items())


def test_one_wrong_function_does_not_hide_or_multiply_errors():
    text = "def @bad(%x: int32) { add(%x, 1f) }\ndef @user(%x: int32) { @bad(%x) }\ndef @other(%x: int32) { %x.0 }"
    messages = findings(text)
    assert len(messages) == 2
    assert "data types int32 and float32 do not match" in messages[0].message
    assert "only a tuple has elements" in messages[1].message


def test_a_module_that_fails_is_left_as_it_was():
    mod = untyped("def @a(%x: int32) { add(%x, 1f) }\ndef @b(%x: int32) { %x }")
    before = dict(mod.items())
    with pytest.raises(TypeInferenceError):
        infer_module(mod)
    assert dict(mod.items()) == before
    assert mod["a"].checked_type_ is None
