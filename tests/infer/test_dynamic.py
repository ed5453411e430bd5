"""Dimensions that are not known, and symbolic ones."""

from __future__ import annotations

import pytest

from passlab.errors import TypeInferenceError
from passlab.infer import infer_expr
from passlab.ir import ANY, Call, Function, FuncType, If, RefCreate, RefRead, RefWrite, SizeVar, TensorType, Tuple, Var
from passlab.ir.walk import make_lets
from tests.infer.programs import LIST, findings, result


def tensor(dims: str) -> str:
    return f"Tensor[({dims}), float32]"


@pytest.mark.parametrize(
    ("x", "y", "sum_"),
    [
        ("3, ?", "3, ?", "3, ?"),
        ("?, 4", "3, 4", "3, 4"),
        ("?, 4", "1, 4", "?, 4"),
        ("?, 4", "4", "?, 4"),
        ("1", "?", "?"),
        ("?", "?", "?"),
    ],
)
def test_a_known_size_wins_in_broadcasting(x, y, sum_):
    assert result(f"def @main(%x: {tensor(x)}, %y: {tensor(y)}) {{ add(%x, %y) }}") == tensor(sum_)
    assert result(f"def @main(%x: {tensor(x)}, %y: {tensor(y)}) {{ add(%y, %x) }}") == tensor(sum_)


@pytest.mark.parametrize(("x", "y"), [("?, 4", "3, 4"), ("3, 4", "?, 4")])
def test_an_unknown_size_wins_where_types_meet(x, y):
    params = f"%c: bool, %x: {tensor(x)}, %y: {tensor(y)}"
    assert result(f"def @main({params}) {{ if (%c) {{ %x }} else {{ %y }} }}") == tensor("?, 4")
    assert (
        result(f"def @main({params}) {{ if (%c) {{ (%x, %y) }} else {{ (%y, %y) }} }}")
        == f"({tensor('?, 4')}, {tensor(y)})"
    )


def test_both_sides_may_be_weaker_than_the_other():
    text = f"def @main(%c: bool, %x: ({tensor('3')}, {tensor('?')}), %y: ({tensor('?')}, {tensor('3')})) {{ if (%c) {{ %x }} else {{ %y }} }}"
    assert result(text) == f"({tensor('?')}, {tensor('?')})"


def test_a_known_size_may_stand_for_an_unknown_one_and_the_other_way_round():
    for param, arg in (("3, 4", "?, 4"), ("?, 4", "3, 4")):
        text = f"def @f(%x: {tensor(param)}) {{ %x }}\ndef @main(%x: {tensor(arg)}) {{ @f(%x) }}"
        assert result(text) == tensor(param)


def test_an_annotation_decides():
    assert result(f"def @main(%x: {tensor('?')}) {{ let %y: {tensor('3')} = %x; %y }}") == tensor("3")
    assert result(f"def @main(%x: {tensor('3')}) {{ let %y: {tensor('?')} = %x; %y }}") == tensor("?")


def test_a_closure_called_with_several_sizes_weakens_to_all_of_them():
    text = f"""def @main(%x: {tensor("3, 4")}, %y: {tensor("?, 4")}, %z: {tensor("3, ?")}) {{
      let %f = fn (%a) {{ exp(%a) }};
      (%f(%x), %f(%y), %f(%z))
    }}"""
    assert result(text) == f"({tensor('?, ?')}, {tensor('?, ?')}, {tensor('?, ?')})"
    assert "dimension 0 conflicts" in str(
        findings(f"def @main(%x: {tensor('3')}, %y: {tensor('4')}) {{ let %f = fn (%a) {{ %a }}; (%f(%x), %f(%y)) }}")
    )


def test_weakening_reaches_what_was_concluded_before():
    text = f"""def @main(%x: {tensor("3, 4")}, %y: {tensor("?, 4")}) {{
      let %f = fn (%a) {{ let %b = exp(%a); let %t = (%b, %a); add(%t.0, %t.1) }};
      (%f(%x), %f(%y))
    }}"""
    assert result(text) == f"({tensor('?, 4')}, {tensor('?, 4')})"


def test_an_argument_is_not_weakened_by_its_parameter():
    text = f"def @main(%y: {tensor('?')}) {{ let %g = fn (%a, %b) {{ %a }}; fn (%x) {{ (%g(%x, %y), add(%x, 1f)) }}(exp(%y)) }}"
    assert result(text) == f"({tensor('?')}, {tensor('?')})"
    fixed = f"def @main(%x: {tensor('3')}, %y: {tensor('?')}) {{ let %g = fn (%a) {{ %a }}; let %u = %g(%x); let %v = %g(%y); (%x, %v) }}"
    assert result(fixed) == f"({tensor('3')}, {tensor('?')})"


def test_a_list_of_different_sizes():
    text = LIST + f"def @main(%x: {tensor('3')}, %y: {tensor('?')}) {{ Cons(%x, Cons(%y, Nil)) }}"
    assert result(text) == f"List[{tensor('?')}]"


def test_a_reference_holds_what_is_written_later():
    x, y, r, u = Var("x", TensorType((3,))), Var("y", TensorType((ANY,))), Var("r"), Var("u")
    program = make_lets([(r, RefCreate(x)), (u, RefWrite(r, y))], RefRead(r))
    assert infer_expr(program).checked_type is TensorType((ANY,))


def test_a_symbolic_size_takes_the_number_it_meets():
    n, c = SizeVar("n"), Var("c", TensorType((), "bool"))
    x, y = Var("x", TensorType((n,))), Var("y", TensorType((3,)))
    assert infer_expr(If(c, x, y)).checked_type is TensorType((3,))
    assert infer_expr(If(c, x, x)).checked_type is TensorType((n,))
    z = Var("z", TensorType((4,)))
    with pytest.raises(TypeInferenceError, match="does not match"):
        infer_expr(Tuple([If(c, x, y), If(c, x, z)]))
    with pytest.raises(TypeInferenceError, match="does not match"):
        infer_expr(If(c, x, Var("m", TensorType((SizeVar("n"),)))))


def test_a_function_type_is_weakened_as_a_whole():
    f, g = (
        Var("f", FuncType([TensorType((3,))], TensorType((3,)))),
        Var("g", FuncType([TensorType((ANY,))], TensorType((3,)))),
    )
    c, h = Var("c", TensorType((), "bool")), Function([p := Var("p")], p)
    both = infer_expr(If(c, f, g))
    assert both.checked_type is FuncType([TensorType((ANY,))], TensorType((3,)))
    assert infer_expr(Call(h, [both])).checked_type is both.checked_type
