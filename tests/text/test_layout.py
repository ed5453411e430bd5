"""How programs built in Python are laid out: temporaries, tail positions, sharing, names, comments."""

from __future__ import annotations

import numpy as np
import pytest

from passlab.infer import infer_module
from passlab.ir.attrs import DictAttrs
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar, If, Let, RefCreate, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import FuncType, IncompleteType, SizeVar, TensorType, TupleType, TypeVar
from passlab.text.parser import parse, parse_expr
from passlab.text.printer import astext, pretty

SCALAR = TensorType((), "float32")


def add(a: Expr, b: Expr) -> Call:
    return Call(Op.get("add"), [a, b])


def exp(a: Expr) -> Call:
    return Call(Op.get("exp"), [a])


def one() -> Constant:
    return Constant(np.float32(1))


def test_numbers_are_given_when_the_parent_is_formed() -> None:
    x = Var("x", SCALAR)
    a, b = exp(x), exp(x)
    text = pretty(Function([x], add(exp(a), add(b, b))))
    assert text == (
        "fn (%x: float32) {\n  %0 = exp(%x);\n  %1 = exp(%x);\n  %2 = exp(%0);\n  %3 = add(%1, %1);\n  add(%2, %3)\n}"
    )


def test_callees_are_visited_first_and_numbered_last() -> None:
    f, g = Var("f"), Var("g")
    text = pretty(Call(Call(f, [one()]), [Call(g, [one()])]))
    assert text == "free_var %f;\n%0 = %f(1f);\nfree_var %g;\n%1 = %g(1f);\n%1(%0)".replace("%1(%0)", "%0(%1)").replace(
        "%0 = %f(1f);\nfree_var %g;\n%1 = %g(1f);\n%0(%1)", "free_var %g;\n%0 = %g(1f);\n%1 = %f(1f);\n%1(%0)"
    )


def test_a_branch_defines_what_a_later_branch_uses() -> None:
    x, c = Var("x"), Var("c")
    shared = exp(x)
    text = pretty(Function([c, x], If(c, add(shared, one()), shared)))
    assert text == "fn (%c, %x) {\n  if (%c) {\n    %0 = exp(%x);\n    add(%0, 1f)\n  } else {\n    %0\n  }\n}"


def test_a_function_literal_that_defines_what_others_use_stands_before_them() -> None:
    shared = exp(one())
    expr = Call(Function([], shared), [exp(shared)])
    text = pretty(expr)
    assert text == "%1 = fn () {\n  %0 = exp(1f);\n  %0\n};\n%2 = exp(%0);\n%1(%2)"
    assert structural_equal(parse_expr(text), expr)


def test_a_node_shared_by_two_functions_stays_one_node() -> None:
    shared = exp(one())
    mod = IRModule({"f": Function([], shared), "g": Function([], shared)})
    assert pretty(mod) == "def @f() {\n  %0 = exp(1f);\n  %0\n}\n\ndef @g() {\n  %0\n}\n"
    assert structural_equal(parse(pretty(mod)), mod)


def test_lets_in_operands_stand_in_parentheses_and_hoist_their_temporaries() -> None:
    x, y = Var("x"), Var("y")
    text = pretty(Function([y], exp(Let(x, exp(exp(y)), exp(exp(x))))))
    assert text == (
        "fn (%y) {\n  %0 = exp(%y);\n  %2 = (\n    let %x = exp(%0);\n    %1 = exp(%x);\n    exp(%1)\n  );\n  exp(%2)\n}"
    )


def test_a_let_used_twice_is_printed_once() -> None:
    let = Let(Var("x"), one(), one())
    assert pretty(Tuple([let, let])) == "%0 = (\n  let %x = 1f;\n  1f\n);\n(%0, %0)"
    assert pretty(Let(Var("y"), let, let)) == "%0 = (\n  let %x = 1f;\n  1f\n);\nlet %y = %0;\n%0"


def test_clashing_names_get_the_smallest_free_number() -> None:
    names = ["x", "x", "x1", "x1", "x", "y"]
    function = Function([Var(n) for n in names], one())
    assert pretty(function).split(")", maxsplit=1)[0] == "fn (%x, %x1, %x11, %x12, %x2, %y"


def test_many_clashing_names_cost_linear_time() -> None:
    body: Expr = one()
    for _ in range(20_000):
        body = Let(Var("x"), one(), body)
    assert pretty(body).splitlines()[-2] == "let %x19999 = 1f;"


def test_free_variables_are_announced_at_their_first_use_in_the_block() -> None:
    x = Var("x", SCALAR)
    text = pretty(If(Constant(np.bool_(True)), x, exp(x)))
    assert text == "if (True) {\n  free_var %x: float32;\n  %x\n} else {\n  exp(%x)\n}"
    assert structural_equal(parse_expr(text), parse_expr(pretty(parse_expr(text))), map_free_vars=True)


@pytest.mark.parametrize(
    ("types", "shown"),
    [
        (("A", "A"), "fn [A, A1](%x: A, %y: A1) {\n  %x\n}"),
        (("float32",), "fn [float321](%x: float321) {\n  %x\n}"),
        (("a b",), 'fn ["a b"](%x: "a b") {\n  %x\n}'),
    ],
)
def test_type_parameters_are_told_apart(types: tuple[str, ...], shown: str) -> None:
    variables = [TypeVar(name) for name in types]
    params = [Var(name, ty) for name, ty in zip("xy", variables, strict=False)]
    function = Function(params, params[0], None, variables)
    assert pretty(function) == shown
    assert structural_equal(parse_expr(shown), function)


def test_type_parameters_shadow_only_by_another_name() -> None:
    outer, inner = TypeVar("A"), TypeVar("A")
    ty = FuncType([FuncType([inner, outer], inner, [inner])], outer, [outer])
    function = Function([Var("f", ty)], one())
    assert pretty(function).startswith("fn (%f: fn [A](fn [A1](A1, A) -> A1) -> A)")
    assert structural_equal(parse_expr(pretty(function)), function)


def test_unknown_types_and_symbolic_dimensions_keep_their_identity() -> None:
    n, unknown = SizeVar("n"), IncompleteType()
    types = [TensorType((n, n), "float32"), TensorType((n,), "int8"), TupleType([unknown, unknown]), IncompleteType()]
    function = Function([Var("x", ty) for ty in types], one())
    back = parse_expr(astext(function))
    a, b, c, d = (p.type_annotation for p in back.params)
    assert a.shape[0] is a.shape[1] is b.shape[0]
    assert a.shape[0].name == "n"
    assert c.fields[0] is c.fields[1] is not d
    assert astext(back) == astext(function)


def test_types_follow_typed_nodes_once_as_comments() -> None:
    mod = infer_module(parse("def @f(%x: float32) { let %y = exp(%x); %0 = (%y, 1f); add(%0.0, %y) }"))
    assert pretty(mod) == (
        "def @f(%x: float32 /* ty=float32 */) -> float32 {\n"
        "  let %y: float32 /* ty=float32 */ = exp(%x) /* ty=float32 */;\n"
        "  %0 = (%y, 1f /* ty=float32 */) /* ty=(float32, float32) */;\n"
        "  %1 = %0.0 /* ty=float32 */;\n"
        "  add(%1, %y) /* ty=float32 */\n}\n"
    )


def test_a_constant_used_twice_tells_its_type_twice() -> None:
    shared = one()
    mod = infer_module(IRModule.from_expr(add(shared, shared)))
    assert "add(1f /* ty=float32 */, 1f /* ty=float32 */) /* ty=float32 */" in pretty(mod)


def test_a_comment_cannot_be_closed_by_a_name() -> None:
    mod = infer_module(parse('type "*/ evil" { E } def @f() { E }'))
    assert '/* ty="*\\/ evil" */' in pretty(mod)
    assert structural_equal(infer_module(parse(pretty(mod))), mod)


def test_annotate_writes_behind_every_expression_once() -> None:
    seen: list[Expr] = []

    def note(expr: Expr) -> str:
        seen.append(expr)
        return f" /* {type(expr).__name__} */"

    x = Var("x")
    expr = add(exp(x), x)
    assert astext(expr, annotate=note).split("\n", 1)[1] == (
        "free_var %x /* Var */;\n%0 = exp /* Op */(%x) /* Call */;\nadd /* Op */(%0, %x) /* Call */"
    )
    assert len(seen) == len(set(map(id, seen)))


def test_attributes_print_in_declared_order_and_only_when_they_differ_from_the_default() -> None:
    x = Var("x")
    attrs = Op.get("nn.dense").spec.attrs
    assert attrs is not None
    assert pretty(Call(Op.get("nn.dense"), [x, x], attrs(units=3, out_dtype=""))).endswith("nn.dense(%x, %x, units=3)")
    assert pretty(Call(Op.get("nn.dense"), [x, x], attrs(out_dtype="int8"))).endswith(
        '(%x, %x, units=None, out_dtype="int8")'
    )


def test_attributes_of_other_callees_name_their_record() -> None:
    call = Call(GlobalVar("f"), [], DictAttrs({"a": 1}))
    assert pretty(call) == '@f(a=1, attrs_type_key="DictAttrs")'
    assert structural_equal(parse_expr(pretty(call)), call, map_free_vars=True)


def test_expressions_in_attributes_are_shared_with_the_program() -> None:
    x = exp(one())
    call = Call(GlobalVar("f"), [x], DictAttrs({"like": (x, Constant(np.float32(2)))}))
    text = astext(call)
    assert "%0 = exp(1f);\n@f(%0, like=[%0, meta[relay.Constant][0]]" in text
    back = parse_expr(text)
    assert back.attrs["like"][0] is back.args[0]


def test_indentation_stops_growing() -> None:
    lines = pretty(parse_expr("fn () { " * 300 + "1" + " }" * 300)).split("\n")
    assert max(len(line) for line in lines) < 120


def test_a_number_is_not_projected_bare() -> None:
    expr = TupleGetItem(one(), 0)
    assert pretty(expr) == "(1f).0"
    assert structural_equal(parse_expr(pretty(expr)), expr)


def test_patterns_types_and_definitions_print_too() -> None:
    mod = parse("type T[A] { C(A), D } def @f(%t: T[int32]) { match (%t) { C(%x) => %x, D => 1 } }")
    assert pretty(mod.type_data("T")) == "type T[A] {\n  C(A),\n  D,\n}"
    assert pretty(mod["f"].body.clauses[0].lhs) == "C(%x)"
    assert pretty(mod["f"].params[0].type_annotation) == "T[int32]"
    assert str(RefCreate(one())) == "ref(1f)"
    with pytest.raises(TypeError, match="has a Relay text, not int"):
        pretty(3)
