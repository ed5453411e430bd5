"""Types that rewrites keep or set are those that inference finds, and they stop being valid when it would find others."""

from __future__ import annotations

import pytest

from passlab import parse, relay, transform
from passlab.infer import infer_module
from passlab.infer.type_env import type_dependency_of
from passlab.ir.expr import Call, Expr, Function, GlobalVar, Let, Tuple, Var
from passlab.ir.kept_types import keep_type, kept_type
from passlab.ir.module import IRModule
from passlab.ir.types import FuncType, TensorType
from passlab.ir.walk import children, post_order, rewrite
from passlab.text.parser import parse as parse_untyped
from passlab.vm.compiling.compiler import pipeline

PROGRAMS = {
    "lets": """
        def @main(%x: Tensor[(2), float32]) {
          let %a = add(%x, %x);
          let %b = multiply(%a, 2f);
          (%a, %b)
        }""",
    "branches": """
        def @main(%c: bool, %x: Tensor[(2), float32]) {
          let %y = if (%c) { add(%x, 1f) } else { if (%c) { negative(%x) } else { %x } };
          exp(%y)
        }""",
    "several results": """
        def @main(%x: Tensor[(4, 2), float32]) {
          let %p = split(%x, indices_or_sections=2);
          add(%p.0, %p.1)
        }""",
    "unknown sizes": """
        def @main(%x: Tensor[(?, 2), float32], %y: Tensor[(2, 2), float32]) {
          let %a = concatenate((%x, %x));
          let %b = add(%y, %y);
          (%a, %b)
        }""",
    "functions": """
        def @twice(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { add(%x, %x) }
        def @main(%x: Tensor[(2), float32]) { let %f = fn (%y: Tensor[(2), float32]) { @twice(add(%y, %x)) }; %f(%x) }
        """,
    "data types": """
        type List[A] { Cons(A, List[A]), Nil }
        def @main(%l: List[Tensor[(2), float32]], %x: Tensor[(2), float32]) {
          match (%l) { Cons(%h, _) => Cons(add(%h, %x), Nil), Nil => Nil }
        }""",
}


def typed(text: str) -> IRModule:
    return parse('#[version = "0.0.5"]\n' + text)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("opt_level", [0, 3])
def test_every_step_of_compilation_has_the_types_that_inference_finds(program: str, opt_level: int) -> None:
    mod = typed(program)
    with transform.PassContext(opt_level=opt_level):
        for step in pipeline().passes:
            mod = transform.Sequential([step])(mod)
            actual = infer_module(mod)
            expected = infer_module(parse_untyped(mod.astext()))
            for name, function in actual.items():
                pairs: list[tuple[Expr, Expr]] = [(function, expected[name])]
                for one, other in pairs:  # the text holds a shared constant several times
                    assert type(one) is type(other)
                    assert str(one.checked_type_) == str(other.checked_type_)
                    pairs += zip(children(one), children(other), strict=True)


def test_compilation_infers_nothing_after_allocation_of_known_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    mod = typed(PROGRAMS["branches"])
    *before, allocate, lifetimes, _ = pipeline().passes
    mod = transform.Sequential(before)(mod)

    def refuse(*_: object) -> None:
        raise AssertionError("inference visited the program")

    monkeypatch.setattr("passlab.infer.inference._typed_module", refuse)
    result = transform.Sequential([allocate, lifetimes])(mod)
    assert "memory.kill" in result.astext()


def test_fusion_needs_no_inference(monkeypatch: pytest.MonkeyPatch) -> None:
    mod = typed(PROGRAMS["branches"])
    monkeypatch.setattr("passlab.infer.inference._typed_module", None)
    assert "Primitive=1" in relay.transform.FuseOps()(mod).astext()


def test_a_rebuilt_node_keeps_its_type_only_if_no_child_changes_its_type() -> None:
    body = typed("def @main(%x: Tensor[(2), float32]) { exp(negative(%x)) }")["main"].body
    assert isinstance(body, Call)
    same, other = Var("y", TensorType((2,), "float32")), Var("z", TensorType((3,), "float32"))
    infer_module(IRModule.from_expr(Function([same, other], Tuple([same, other]))))
    for part, kept in ((same, True), (other, False), (Var("w", TensorType((2,), "float32")), False)):
        rebuilt = rewrite(body, replace={body.args[0]: part})
        assert rebuilt is not body
        assert (rebuilt.checked_type_ is body.checked_type) == kept


def test_a_kept_type_depends_on_the_signatures_that_the_new_children_depend_on() -> None:
    mod = typed("""
        def @f(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { exp(%x) }
        def @main(%x: Tensor[(2), float32]) { let %y = @f(%x); negative(%x) }""")
    let = mod["main"].body
    assert isinstance(let, Let)
    assert isinstance(let.body, Call)
    assert type_dependency_of(let.body) is None
    rebuilt = rewrite(let.body, replace={let.body.args[0]: let.value})
    assert rebuilt.checked_type_ is let.body.checked_type
    assert type_dependency_of(rebuilt) is type_dependency_of(let.value)


def test_a_call_of_another_global_function_is_typed_again() -> None:
    mod = typed("""
        def @f(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { exp(%x) }
        def @g(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { negative(%x) }
        def @main(%x: Tensor[(2), float32]) { (@f(%x), @g(%x)) }""")
    names = {n.name_hint: n for n in post_order(mod["main"]) if isinstance(n, GlobalVar)}
    call = next(n for n in post_order(mod["main"]) if isinstance(n, Call) and n.op is names["f"])
    assert isinstance(names["g"].checked_type, FuncType)
    new = Call(names["g"], call.args)
    keep_type(call, new, (call.op, *call.args), (new.op, *call.args))
    assert new.checked_type_ is None


def test_what_depends_on_the_module_is_not_typed_without_it() -> None:
    mod = infer_module(parse("def @f(%x: float32) { exp(%x) } def @main(%x: float32) { abs(@f(tanh(%x))) }"))
    seen = set()
    for node in post_order(mod["main"].body):
        parts = tuple(children(node))
        depends = node._type_dependency is not None
        assert kept_type(node, parts, parts) is (None if depends else node._checked_type)
        seen.add((type(node), depends))
    assert {(Call, True), (Call, False)} <= seen
    absolute = mod["main"].body
    called = absolute.args[0]
    assert kept_type(called.args[0], (called.args[0].args[0],), (called,)) is None, "nor what gets such a child"
