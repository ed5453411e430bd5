"""What inference says against a program, and where it points."""

from __future__ import annotations

import pytest

from passlab.errors import Diagnostic, RelationError, TypeInferenceError
from passlab.infer import infer_expr, infer_module
from passlab.ir import Call, GlobalVar, If, IRModule, TensorType, Tuple, TypeCall, Var
from passlab.ir.op import Op, OpSpec, declare_op, remove_op
from passlab.ir.span import Source, Span
from passlab.ir.types import GlobalTypeVar
from passlab.op import make
from tests.each import each
from tests.infer.programs import LIST, findings, marked, untyped

MISMATCH = "The Relay type checker is unable to show the following types match. In particular "

# program: (what is said, the text it points at)
FAULTS = {
    "def @f(%a: int32) { %a }\ndef @main() { @f(1, 2) }": (
        "the function is provided too many arguments expected 1, found 2",
        "@f(1, 2)",
    ),
    "def @f(%a: int32) { %a }\ndef @main() { @f() }": (
        "the function is provided too few arguments expected 1, found 0",
        "@f()",
    ),
    "def @main(%x: int32) { add(%x) }": (
        "the function is provided too few arguments expected 2, found 1",
        "add(%x)",
    ),
    "def @main(%x: int32) { %x(1) }": ("only expressions with function types can be called, found int32", "%x"),
    "def @main(%x: float32) { add(%x, 1) }": ("data types float32 and int32 do not match", "1"),
    "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(4, 5), float32]) { add(%x, %y) }": (
        "Incompatible broadcast type Tensor[(2, 3), float32] and Tensor[(4, 5), float32]",
        "%y",
    ),
    "def @main(%x: int32) { if (%x) { 1 } else { 2 } }": (MISMATCH + "`bool` does not match `int32`", "%x"),
    "def @main(%c: bool) { if (%c) { 1 } else { 2f } }": (MISMATCH + "`int32` does not match `float32`", "2f"),
    "def @main(%c: bool) { if (%c) { (1, 2) } else { (1, 2, 3) } }": (
        MISMATCH + "`(int32, int32)` does not match `(int32, int32, int32)`",
        "(1, 2, 3)",
    ),
    "def @main() -> float32 { 1 }": (MISMATCH + "`float32` does not match `int32`", "1"),
    "def @main() { let %x: float32 = 1; %x }": (MISMATCH + "`float32` does not match `int32`", "1"),
    "def @f(%a: Tensor[(2, 3), int32]) { %a }\ndef @main(%x: Tensor[(2, 4), int32]) { @f(%x) }": (
        MISMATCH + "`Tensor[(2, 3), int32]` does not match `Tensor[(2, 4), int32]`",
        "%x",
    ),
    "def @main(%x: (int32, int32)) { %x.2 }": ("there is no element .2 in a tuple of 2", "%x.2"),
    "def @main(%x: int32) { %x.0 }": ("only a tuple has elements", "%x"),
    "def @main(%x: int32) { ref_read(%x) }": (MISMATCH + "`ref(_)` does not match `int32`", "%x"),
    "def @main() { ref_write(ref(1), 2f) }": (MISMATCH + "`int32` does not match `float32`", "2f"),
    "def @main() { @mian() }": ("there is no function `@mian` in the module", "@mian"),
    LIST + "def @main(%l: List[int32]) { match (%l) { Cons(%h) => 1, Nil => 2 } }": (
        "Not enough inputs for the constructor; expected 2, got 1",
        "Cons(%h)",
    ),
    LIST + "def @main(%l: List[int32]) { match (%l) { Cons(%h, _) => %h } }": (
        "match expression does not handle the following cases: case 0: Nil",
        "match (%l) { Cons(%h, _) => %h }",
    ),
    LIST + "def @main(%l: int32) { match (%l) { Cons(_, _) => 1, Nil => 2 } }": (
        MISMATCH + "`List[_]` does not match `int32`",
        "Cons(_, _)",
    ),
    LIST + "def @main(%l: (int32, int32)) { match (%l) { (%a, %b, %c) => 1 } }": (
        MISMATCH + "`(_, _, _)` does not match `(int32, int32)`",
        "(%a, %b, %c)",
    ),
    LIST + "def @main(%l: List[int32, int32]) { %l }": (
        "Expected 1 arguments for List[int32, int32]; got 2",
        "%l",
    ),
    LIST + "def @main() { Cons(1, Cons(2f, Nil)) }": (
        MISMATCH + "`int32` does not match `float32`",
        "Cons(2f, Nil)",
    ),
    "def @main() { fn (%x) { %x } }": (
        "The type inference pass was unable to infer a type for this expression. This usually occurs when an operator call is under constrained in some way: nothing determines the type of `%x`",
        "%x",
    ),
    "def @main() { fn (%f) { %f(%f) } }": (MISMATCH + "`_` does not match `fn (_) -> _`", "%f(%f)"),
}


@each("program", FAULTS)
def test_a_fault_is_told_where_it_is(program):
    messages = findings(program)
    message, place = FAULTS[program]
    assert messages[0].message == message
    assert marked(messages[0]) == place


def test_the_dimension_in_conflict_is_named():
    (finding,) = findings(
        "def @main(%c: bool, %x: Tensor[(2, 3, 4), int32], %y: Tensor[(2, 5, 4), int32]) { if (%c) { %x } else { %y } }"
    )
    assert "dimension 1 conflicts: 3 does not match 5." in [text for text, _ in finding.notes]
    (finding,) = findings(
        "def @main(%c: bool, %x: Tensor[(2), int32], %y: Tensor[(2, 5), int32]) { if (%c) { %x } else { %y } }"
    )
    assert "tensor type `Tensor[(2), int32]` has 1 dimensions, while `Tensor[(2, 5), int32]` has 2 dimensions" in str(
        finding.notes
    )


def test_both_sides_tell_where_they_come_from():
    (finding,) = findings("def @f(%a: int32) { %a }\ndef @main(%x: bool) { let %y = (%x, 1); @f(%y) }")
    assert finding.expected == "int32"
    assert finding.found == "(bool, int32)"
    origins = {text: place.text for text, place in finding.notes if place is not None}
    assert origins["parameter `%a` of `@f` is `int32`"] == "%a"
    assert origins["`%y` has type `(bool, int32)`"] == "%y"
    assert origins["`%y` is bound to this value"] == "(%x, 1)"


def test_names_nearby_are_offered():
    (finding,) = findings("def @forward(%x: int32) { %x }\ndef @main() { @forwrd(1) }")
    assert finding.hint == "did you mean `forward`?"


def test_independent_errors_are_told_together():
    messages = findings("def @main(%x: int32, %y: bool) { (add(%x, 1f), if (%x) { 1 } else { 2 }, %y.0) }")
    assert [marked(f) for f in messages] == ["1f", "%x", "%y"]


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"])
def test_of_two_inputs_that_are_wrong_the_first_is_told(name):
    (finding,) = findings(f"def @main(%x: float32, %y: float32) {{ {name}(%x, %y) }}")
    assert marked(finding) == "%x"


def test_an_error_does_not_echo():
    messages = findings("def @main(%x: int32) { let %y = add(%x, 1f); let %z = exp(%y); (%z.0, multiply(%z, %y)) }")
    assert len(messages) == 1


def test_many_errors_are_cut_short():
    x = Var("x", TensorType((), "int32"))
    wrong = [make("add", x, Var(f"y{i}", TensorType((), "float32"))) for i in range(500)]
    with pytest.raises(TypeInferenceError) as caught:
        infer_expr(Tuple(wrong))
    assert len(caught.value.diagnostics) <= 51


def test_an_undefined_type_in_a_hand_made_program():
    x = Var("x", TypeCall(GlobalTypeVar("Lits"), [TensorType(())]))
    mod = untyped(LIST + "def @main() { 1 }")
    with pytest.raises(TypeInferenceError) as caught:
        infer_expr(x, mod)
    assert caught.value.diagnostics[0].message == "the type variable : `Lits` is undefined"
    assert caught.value.diagnostics[0].hint == "did you mean `List`?"
    with pytest.raises(TypeInferenceError, match="is a data type without its arguments"):
        infer_expr(Var("x", GlobalTypeVar("List")), mod)


def test_a_global_needs_its_module():
    with pytest.raises(TypeInferenceError, match="no function `@f`"):
        infer_expr(Call(GlobalVar("f"), []))
    with pytest.raises(TypeInferenceError, match="no function `@f`"):
        infer_module(IRModule({"main": untyped("def @main() { @f() }")["main"]}))


@pytest.fixture
def strange():
    """Operators whose relations go wrong in their own ways."""

    def refuse(types, attrs, reporter):
        raise RelationError(Diagnostic("never", hint="give up"), 7)

    specs = {"strange.refuse": refuse, "strange.crash": lambda types, attrs, reporter: types[0].no_such_thing}
    specs["strange.silent"] = lambda types, attrs, reporter: None
    for name, relation in specs.items():
        declare_op(OpSpec(name, ("data",), relation, None))
    yield
    for name in specs:
        remove_op(name)


@pytest.mark.usefixtures("strange")
@pytest.mark.parametrize(
    ("name", "message"),
    [("refuse", "never"), ("crash", "cannot handle these inputs"), ("silent", "unable to infer a type")],
)
def test_a_relation_that_goes_wrong_is_an_error_of_the_program(name, message):
    with pytest.raises(TypeInferenceError, match=message):
        infer_expr(Call(Op.get(f"strange.{name}"), [Var("x", TensorType(()))]))


@pytest.mark.usefixtures("strange")
def test_a_relation_that_waits_for_ever_is_an_error():
    x = Var("x", TensorType(()))
    silent = Call(Op.get("strange.silent"), [x], span=Span(Source("model.relay"), 0, 1))
    with pytest.raises(TypeInferenceError, match="unable to infer a type") as caught:
        infer_expr(If(Var("c", TensorType((), "bool")), silent, x))
    assert [d.place for d in caught.value.diagnostics] == [silent.span]


def test_a_huge_type_is_told_briefly():
    ty = TensorType(())
    node = Var("x", ty)
    for _ in range(64):
        node = Tuple([node, node])
    with pytest.raises(TypeInferenceError) as caught:
        infer_expr(make("exp", node))
    assert len(str(caught.value)) < 20_000
