"""What inference leaves alone, and when a type it found before still stands."""

from __future__ import annotations

import pytest

from passlab.errors import TypeInferenceError
from passlab.infer import infer_expr, infer_module
from passlab.ir import Call, Constant, Function, FuncType, GlobalVar, IRModule, Let, Match, TensorType, Tuple, Var
from passlab.ir.adt import Clause, PatternConstructor, TypeData
from passlab.ir.adt import Constructor as Ctor
from passlab.ir.types import GlobalTypeVar, TypeCall
from passlab.ir.walk import observed, post_order
from passlab.op import make
from passlab.text.parser import parse
from tests.infer.programs import LIST, VERSION, typed, untyped, untyped_nodes

F2, F3, INT = TensorType((2,)), TensorType((3,)), TensorType((), "int32")


def test_a_fully_annotated_module_is_typed_in_place():
    mod = untyped("def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { nn.relu(exp(%x)) }")
    main = mod["main"]
    assert infer_module(mod) is mod
    assert mod["main"] is main
    assert main.body.checked_type is F2


def test_a_typed_module_is_returned_as_it_is():
    mod = typed(
        LIST
        + "def @f[A](%l: List[A]) { match (%l) { Cons(_, %t) => @f(%t), Nil => 0 } }\ndef @main() { @f(Cons(1, Nil)) }"
    )
    assert infer_module(mod) is mod
    assert infer_module(mod.snapshot())["main"] is mod["main"]


def test_untouched_parts_stay_the_same_objects():
    x = Var("x", F2)
    shared = make("exp", x)
    fn = Function([x], Let(y := Var("y"), shared, make("add", y, shared)))
    mod = infer_module(IRModule.from_expr(fn))
    new = mod["main"]
    assert new is not fn
    assert new.params == (x,)
    assert new.body.value is shared
    assert new.body.body.args == (new.body.var, shared)
    assert fn.body.body.checked_type_ is None, "what was replaced is left alone"


def test_a_shared_node_is_replaced_once():
    x = Var("x", F2)
    y = Var("y")
    twice = make("exp", y)
    new = infer_expr(Let(y, x, Tuple([twice, twice])))
    assert new.body.fields[0] is new.body.fields[1] is not twice


def test_only_what_is_new_is_visited(monkeypatch):
    mod = typed("def @main(%x: Tensor[(2), float32]) { exp(exp(exp(%x))) }")
    old = mod["main"]
    visited = []
    from passlab.infer.constraints import CallTyper

    call = CallTyper.call
    monkeypatch.setattr(CallTyper, "call", lambda self, node: visited.append(node) or call(self, node))
    new = make("tanh", old.body)
    again = infer_module(mod.with_functions({"main": Function(old.params, new, old.ret_type)}))
    assert visited == [new]
    assert again["main"].body is new


def test_replacements_are_told_to_the_observer():
    replaced_by = {}
    with observed(lambda old, new, rule: replaced_by.setdefault(old, new)):
        mod = untyped("def @main(%x: int32) { let %y = %x; add(%y, 1) }")
        old = mod["main"]
        new = infer_module(mod)["main"]
    assert replaced_by[old] is new
    assert replaced_by[old.body] is new.body
    assert replaced_by[old.body.var] is new.body.var


def test_a_variable_without_annotation_may_belong_to_two_functions():
    y = Var("y")
    mod = IRModule(
        {"f": Function([], Let(y, Constant(1.5), Tuple([y]))), "g": Function([], Let(y, Constant(True), Tuple([y])))}
    )
    new = infer_module(mod)
    assert str(new["f"].ret_type) == "(float64,)"
    assert str(new["g"].ret_type) == "(bool,)"
    assert y._checked_type is None


def test_a_function_may_belong_to_two_modules_that_disagree():
    x, g = Var("x", F2), GlobalVar("g")
    main = Function([x], Tuple([Call(g, [x]), make("exp", x)]))

    def library(op: str, **attrs: object) -> Function:
        y = Var("y", F2)
        return Function([y], make(op, y, **attrs))

    one = infer_module(IRModule({"main": main, g: library("exp")}))
    two = infer_module(IRModule({"main": one["main"].with_fields(ret_type=None), g: library("cast", dtype="int32")}))
    assert str(one["main"].ret_type) == "(Tensor[(2), float32], Tensor[(2), float32])"
    assert str(two["main"].ret_type) == "(Tensor[(2), int32], Tensor[(2), float32])"
    assert one["main"].body.fields[0].checked_type is F2, "the first module keeps its types"
    assert two["main"].body.fields[1] is one["main"].body.fields[1], "what does not depend on @g is shared"
    assert infer_module(one) is one
    assert infer_module(two) is two


def test_a_pass_that_changes_a_signature_gets_its_callers_inferred_again():
    mod = typed("def @f(%x: int32) -> int32 { %x }\ndef @main() { (@f(1), 2f) }")
    main = mod["main"]
    x = Var("x", INT)
    changed = mod.with_functions({"f": Function([x], Tuple([x, x])), "main": main.with_fields(ret_type=None)})
    new = infer_module(changed)
    assert str(new["main"].ret_type) == "((int32, int32), float32)"
    assert infer_module(new) is new
    assert main.body.fields[0].checked_type is INT


def test_a_global_variable_has_the_type_of_its_function_in_every_module():
    mod = typed("def @f(%x: int32) -> int32 { %x }\ndef @main() { @f(1) }")
    old = mod.get_global_var("f")
    x = Var("x", INT)
    changed = infer_module(
        mod.with_functions({"f": Function([x], Tuple([x])), "main": mod["main"].with_fields(ret_type=None)})
    )
    new = changed.get_global_var("f")
    assert str(old.checked_type) == "fn (int32) -> int32"
    assert str(new.checked_type) == "fn (int32) -> (int32,)"
    assert changed["main"].body.op is new
    assert mod["main"].body.op is old
    assert mod.get_global_var("f") is old


def test_a_type_definition_that_changed_is_noticed():
    head = GlobalTypeVar("Colour")
    two = TypeData(head, [], [Ctor("Red", [], head), Ctor("Green", [], head)])
    c = Var("c", TypeCall(head, []))
    red, green = two.constructors
    body = Match(c, [Clause(PatternConstructor(red), Constant(1)), Clause(PatternConstructor(green), Constant(2))])
    mod = infer_module(IRModule({"main": Function([c], body)}, {head: two}))
    assert infer_module(mod) is mod
    three = TypeData(head, [], [Ctor("Red", [], head), Ctor("Green", [], head), Ctor("Blue", [], head)])
    other = IRModule({"main": mod["main"]}, {head: three})
    with pytest.raises(TypeInferenceError, match="does not handle the following cases: case 0: Blue"):
        infer_module(other)
    assert infer_module(mod) is mod


def test_every_node_of_a_program_has_a_type():
    mod = typed(
        LIST
        + """
    def @f[A](%l: List[A], %g: fn (A) -> float32) -> float32 {
      match (%l) { Cons(%h, %t) => add(%g(%h), @f(%t, %g)), Nil => 0f }
    }
    def @main(%c: bool, %x) {
      let %r = ref(%x);
      let %u = ref_write(%r, 2f);
      let %k = fn (%y) { if (%c) { (%y, 1) } else { (3f, 2) } };
      (@f(Cons(ref_read(%r), Nil), negative), %k(%x).0)
    }
    """.replace("%k(%x).0", "%k(%x)")
    )
    assert not untyped_nodes(mod)
    assert mod["main"].params[1].type_annotation is TensorType(())


def test_a_typed_program_reads_back_typed_alike():
    mod = typed(
        LIST + "def @main(%n: int32) { let %f = fn (%a) { if (less(%a, 1)) { Nil } else { Cons(%a, Nil) } }; %f(%n) }"
    )
    back = infer_module(parse(VERSION + str(mod)))
    assert back["main"].checked_type is not None
    assert [str(n.checked_type) for n in post_order(back["main"])] == [
        str(n.checked_type) for n in post_order(mod["main"])
    ]


def test_a_fused_function_is_an_ordinary_one():
    text = """def @main(%x: Tensor[(2), float32]) {
      %0 = fn (%p0: Tensor[(2), float32], Primitive=1) { nn.relu(exp(%p0)) };
      %0(%x)
    }"""
    new = typed(text)["main"].body.op
    assert new.checked_type is FuncType([F2], F2)
    assert new.attrs["Primitive"] == 1
