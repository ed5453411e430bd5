"""What the text means: a program read and printed in its normal form. Types are not inferred here."""

from __future__ import annotations

import pytest

from passlab.errors import ParseError
from passlab.ir.equal import structural_equal, structural_hash
from passlab.ir.expr import Call, Function, Let, Tuple, TupleGetItem
from passlab.ir.types import ANY, FuncType, RefType, TensorType, TupleType
from passlab.text.parser import parse, parse_expr
from passlab.text.printer import astext, pretty
from tests.each import each

EXPRESSIONS = {
    # precedence and association
    "1 + 2 * 3": "%0 = multiply(2, 3);\nadd(1, %0)",
    "1 * 2 + 3": "%0 = multiply(1, 2);\nadd(%0, 3)",
    "1 - 2 - 3": "%0 = subtract(1, 2);\nsubtract(%0, 3)",
    "8 / 4 / 2": "%0 = divide(8, 4);\ndivide(%0, 2)",
    "1 + 2 < 3 == True": "%0 = add(1, 2);\n%1 = less(%0, 3);\nequal(%1, True)",
    "(1 + 2) * 3": "%0 = add(1, 2);\nmultiply(%0, 3)",
    "1 <= 2 != 3 >= 4": "%0 = less_equal(1, 2);\n%1 = greater_equal(3, 4);\nnot_equal(%0, %1)",
    "free_var %x; %x -1": "free_var %x;\nsubtract(%x, 1)",
    "free_var %x; %x - -1": "free_var %x;\nsubtract(%x, -1)",
    "free_var %x; %x --1": "free_var %x;\nsubtract(%x, -1)",
    "1+2": "add(1, 2)",
    "if (True) { 1 } else { 2 } + 3": "%0 = if (True) {\n  1\n} else {\n  2\n};\nadd(%0, 3)",
    # calls and projections in any order
    "free_var %f; %f(1)(2)": "free_var %f;\n%0 = %f(1);\n%0(2)",
    "free_var %t; (%t.0).1": "free_var %t;\n%0 = %t.0;\n%0.1",
    "free_var %t; %t.0.1": "free_var %t;\n%0 = %t.0;\n%0.1",
    "free_var %t; %t.0(1).2": "free_var %t;\n%0 = %t.0;\n%1 = %0(1);\n%1.2",
    "exp ( 1f , )": "exp(1f)",
    "nn . relu(1f)": "nn.relu(1f)",
    # tuples and parentheses
    "()": "()",
    "(1)": "1",
    "(1,)": "(1,)",
    "(1, 2,)": "(1, 2)",
    # binding
    "let %x = 1; %x": "let %x = 1;\n%x",
    "let %x: _ = 1; fn (%y: _) { %x }": "let %x = 1;\nfn (%y) {\n  %x\n}",
    "let %x: int32 = 1; (%x, %x)": "let %x: int32 = 1;\n(%x, %x)",
    "let %x = 1; let %x = %x + 1; %x": "let %x = 1;\nlet %x1 = add(%x, 1);\n%x1",
    "fn (%x) { let %x = 1f; %x }": "fn (%x) {\n  let %x1 = 1f;\n  %x1\n}",
    "let %x = 1; ({ let %x = 2; %x }, %x)": "let %x = 1;\n%0 = (\n  let %x1 = 2;\n  %x1\n);\n(%0, %x)",
    "let %f = fn (%n) { %f(%n) }; %f": "let %f = fn (%n) {\n  %f(%n)\n};\n%f",
    "let %f = 1; let %f = (fn (%n) { %f(%n) }); %f": "let %f = 1;\nlet %f1 = fn (%n) {\n  %f1(%n)\n};\n%f1",
    "%0 = exp(1f); %1 = (%0, %0); %1": "%0 = exp(1f);\n(%0, %0)",
    "%7 = 1; %3 = exp(2f); (%3, %7)": "%0 = exp(2f);\n(%0, 1)",
    "1; exp(2f); 3": "let %_ = 1;\nlet %_1 = exp(2f);\n3",
    "let %a = let %b = 1; %b; %a": "let %a = let %b = 1;\n%b;\n%a",
    "let %a = let %b = 1; %0 = exp(2f); add(%0, %b); %1 = exp(3f); add(%1, %a)": (
        "let %a = let %b = 1;\n%0 = exp(2f);\nadd(%0, %b);\n%1 = exp(3f);\nadd(%1, %a)"
    ),
    "let %a = match (1) { _ => 2 }; %a": "let %a = match (1) {\n  _ => {\n    2\n  },\n};\n%a",
    "add(let %x = 1; %x, 2)": "%0 = (\n  let %x = 1;\n  %x\n);\nadd(%0, 2)",
    "add({ 1 }, (2; 3))": "%0 = (\n  let %_ = 2;\n  3\n);\nadd(1, %0)",
    # functions
    "fn () { 1 }": "fn () {\n  1\n}",
    "fn [A, B](%x: A, %y: B, Primitive=1, a.b=[2]) -> A { %x }": "fn [A, B](%x: A, %y: B, Primitive=1, a.b=[2]) -> A {\n  %x\n}",
    "fn (relay.reshape_only=1) { 1 }": "fn (relay.reshape_only=1) {\n  1\n}",
    "fn (%x, a=(3), b=None, c=nullptr, d=-1.5e3f, e={\"k\"=[True]}) { %x }": (
        'fn (%x, a=3, b=None, c=None, d=-1500f, e={"k"=[True]}) {\n  %x\n}'
    ),
    # references, branches, matches
    "ref_write(ref(1), ref_read(ref(2)))": "%0 = ref(1);\n%1 = ref(2);\n%2 = ref_read(%1);\nref_write(%0, %2)",
    "match (1) { }": "match (1) {\n  \n}",
    "free_var %t; match? %t { (%a, _) => %a, _ => 1 }": (
        "free_var %t;\nmatch? (%t) {\n  (%a, _) => {\n    %a\n  },\n  _ => {\n    1\n  },\n}"
    ),
    "match ((1, 2)) { (%a,) => 1, (%b: int32) => 2 } + 3": (
        "%0 = (1, 2);\n%1 = match (%0) {\n  (%a) => {\n    1\n  },\n  (%b: int32) => {\n    2\n  },\n};\nadd(%1, 3)"
    ),
    # operators without a call
    "(add, exp)": "(add, exp)",
    # attributes
    "free_var %x; nn.dense(%x, %x, units=4, out_dtype=\"\")": "free_var %x;\nnn.dense(%x, %x, units=4)",
    "free_var %x; cast(%x, dtype=\"float\")": "free_var %x;\ncast(%x, dtype=\"float32\")",
    "free_var %f; %f(1, a=2, attrs_type_key=\"my.Attrs\")": 'free_var %f;\n%f(1, a=2, attrs_type_key="my.Attrs")',
    "free_var %f; %f(a=2, attrs_type_key=\"DictAttrs\")": 'free_var %f;\n%f(a=2, attrs_type_key="DictAttrs")',
    # comments and blanks
    "/* one /* two */ still one */ 1 // rest\n": "1",
    "// only \"a comment\n1 /* \" */": "1",
    "\ufeff1": "1",
}  # fmt: skip


@each("text", EXPRESSIONS)
def test_expression_reads_as(text: str) -> None:
    expr = parse_expr(text)
    printed = pretty(expr)
    assert printed == EXPRESSIONS[text]
    assert structural_equal(parse_expr(printed), expr, map_free_vars=True)


TYPES = {
    "Tensor[(3, ?, 4i64), float32]": "Tensor[(3, ?, 4), float32]",
    "Tensor [ ( 3 , ) , float32 ]": "Tensor[(3), float32]",
    "Tensor[(), float32]": "float32",
    "float": "float32",
    "uint1": "bool",
    "bfloat16": "bfloat16",
    "(int32)": "(int32,)",
    "()": "()",
    "(int32, bool)": "(int32, bool)",
    "fn () -> ()": "fn () -> ()",
    "fn [A](A, ref(A)) -> fn (A) -> A": "fn [A](A, ref(A)) -> fn (A) -> A",
    "Box": "Box",
    "Box[]": "Box",
    "Pair[int32, Box]": "Pair[int32, Box]",
    "Pair[int32, Box[]]": "Pair[int32, Box]",
}


@pytest.mark.parametrize("text", TYPES)
def test_type_reads_as(text: str) -> None:
    mod = parse(f"def @f(%x: {text}) {{ %x }} type Box {{ B }} type Pair[A, B] {{ P(A, B) }}")
    assert pretty(mod["f"].params[0].type_annotation) == TYPES[text]


def test_types_are_the_objects_that_python_builds() -> None:
    mod = parse("def @f(%a: Tensor[(1, ?), int8], %b: (bool,), %c: ref(float32), %d: fn (int32) -> bool) { %a }")
    scalar = {name: TensorType((), name) for name in ("bool", "float32", "int32")}
    a, b, c, d = (p.type_annotation for p in mod["f"].params)
    assert a is TensorType((1, ANY), "int8")
    assert b is TupleType([scalar["bool"]])
    assert c is RefType(scalar["float32"])
    assert d is FuncType([scalar["int32"]], scalar["bool"])


def test_a_graph_temporary_is_one_node_and_a_let_is_a_binding() -> None:
    shared = parse_expr("%0 = exp(1f); (%0, %0)")
    assert isinstance(shared, Tuple)
    assert shared.fields[0] is shared.fields[1]
    apart = parse_expr("(exp(1f), exp(1f))")
    assert apart.fields[0] is not apart.fields[1]
    assert isinstance(parse_expr("let %x = exp(1f); (%x, %x)"), Let)


MODULE = """\
type Color {
  Blue,
  Red(int32, Color),
}

extern type Handle

type Nothing {
  <blank>
}

def @a(%x: int32) -> int32 {
  %0 = add(%x, 1);
  @b(%0)
}

def @b(%x1: int32) -> int32 {
  %1 = Blue;
  match (%1) {
    Blue => {
      @a(%x1)
    },
    Red(%n, _) => {
      %n
    },
  }
}
""".replace("<blank>", "")


def test_a_module_prints_sorted_with_types_first_and_numbers_run_on() -> None:
    shuffled = """
    def @b(%x: int32) -> int32 { %0 = @a(%x); match Blue { Blue => %0, Red(%n, _) => %n } }
    extern type Handle
    def @a(%x: int32) -> int32 { %0 = %x + 1; @b(%0) }
    type Nothing
    type Color { Blue, Red(int32, Color) }
    """
    printed = pretty(parse(shuffled))
    assert printed == MODULE
    assert pretty(parse(printed)) == printed


def test_numbers_may_start_anew_or_run_on_in_each_function() -> None:
    anew = parse("def @f(%x: int32) { %0 = %x + 1; (%0, %0) } def @g(%y: int32) { %0 = %y + 2; (%0, %0) }")
    run_on = parse("def @f(%x: int32) { %0 = %x + 1; (%0, %0) } def @g(%y: int32) { %1 = %y + 2; (%1, %1) }")
    assert structural_equal(anew, run_on)


def test_a_function_literal_gives_back_the_numbers_it_redefines_and_leaves_the_others() -> None:
    inner = parse_expr("%0 = exp(1f); %1 = fn () { %0 = exp(2f); %2 = exp(%0); %2 }; (%0, %1, %2)")
    assert inner.fields[0].args[0].data == 1
    assert inner.fields[2] is inner.fields[1].body


def test_a_number_of_an_earlier_definition_or_branch_is_the_same_node() -> None:
    mod = parse("def @f() { %0 = exp(1f); (%0, %0) } def @g() { (%0, %0) }")
    assert mod["f"].body.fields[0] is mod["g"].body.fields[1]
    branches = parse_expr("if (True) { %0 = exp(1f); (%0,) } else { (%0, %0) }")
    assert branches.true_branch.fields[0] is branches.false_branch.fields[1]


def test_a_second_definition_of_a_name_is_refused_at_its_place() -> None:
    with pytest.raises(ParseError, match="the function `@f` is defined twice") as caught:
        parse("def @f() { 1 } def @f() { 2 }")
    assert caught.value.diagnostics[0].place.column == 20


def test_a_constructor_wins_over_an_operator_of_its_name() -> None:
    mod = parse('type T { add(int32), exp } def @f() { (add(1), op"add"(1f, 2f), exp, ctor"exp") }')
    result, called, nullary, bare = mod["f"].body.fields
    assert (str(result.op), str(called.op), type(nullary), type(bare).__name__) == ("add", "add", Call, "Constructor")
    assert (type(result.op).__name__, type(called.op).__name__) == ("Constructor", "Op")
    assert pretty(parse(pretty(mod))) == pretty(mod)


def test_an_operator_with_attributes_gets_its_defaults() -> None:
    bare = parse_expr("free_var %x; nn.dense(%x, %x)").attrs
    assert (bare.units, bare.out_dtype) == (None, "")


def test_equal_attribute_texts_share_one_record() -> None:
    pair = parse_expr('free_var %x; (cast(%x, dtype="int8"), cast(%x, dtype="int8"))')
    assert pair.fields[0].attrs is pair.fields[1].attrs


def test_a_later_attribute_of_the_same_name_wins() -> None:
    assert parse_expr("fn (a=1, a=2) { 1 }").attrs["a"] == 2


def test_text_may_use_the_definitions_of_another_module() -> None:
    base = parse("type Box { Wrap(int32) } def @unwrap(%b: Box) -> int32 { match (%b) { Wrap(%n) => %n } }")
    mod = parse("def @main() { @unwrap(Wrap(1)) }", init_module=base)
    assert sorted(name for name, _ in mod.items()) == ["main", "unwrap"]
    assert mod["main"].body.op is mod.get_global_var("unwrap") is base.get_global_var("unwrap")
    assert len(base) == 1
    assert parse_expr("Wrap(2)", init_module=base).op is base.get_constructor("Box", "Wrap")


def test_the_version_line_is_optional() -> None:
    assert structural_equal(parse('#[version = "0.0.5"]\ndef @f() { 1 }'), parse("def @f() { 1 }"))
    assert astext(parse_expr("1")) == '#[version = "0.0.5"]\n1'
    assert isinstance(parse_expr('#[version = "0.0.5"] fn () { 1 }'), Function)


def test_a_variable_that_nobody_bound_before_names_itself_in_its_value() -> None:
    let = parse_expr("let %x = %x; 1")
    assert let.value is let.var


def test_negative_projections_are_kept() -> None:
    picked = parse_expr("free_var %t; %t.-1")
    assert isinstance(picked, TupleGetItem)
    assert picked.index == -1
    assert pretty(picked).endswith("%t.-1")


def test_an_external_type_equals_one_without_constructors() -> None:
    extern, empty = parse("extern type T[A]"), parse("type T[A] { }")
    assert structural_equal(extern, empty)
    assert structural_hash(extern) == structural_hash(empty)
    assert pretty(extern).startswith("extern")
