"""Matching: each kind of pattern on what it takes and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.errors import OpNotFoundError, PassTypeError
from passlab.ir import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Op,
    OpPattern,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Var,
)  # fmt: skip
from passlab.pattern import (
    CallPattern,
    DFPattern,
    FunctionPattern,
    dominates,
    explain,
    find_match,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    match,
    wildcard,
)  # fmt: skip
from tests.each import each

F32 = TensorType((10, 10))
x, y, z, w = (Var(n, F32) for n in "xyzw")
one = relay.const(1.0)
K_ELEMWISE, K_BROADCAST = OpPattern.ELEMWISE, OpPattern.BROADCAST


def elemwise() -> CallPattern:
    return wildcard().has_attr({"TOpPattern": K_ELEMWISE})(wildcard())


CASES = [
    # leaves
    (is_expr(x + y), x + y, True),
    (is_expr(x + y), x + z, False),
    (is_var(), x, True),
    (is_var("x"), x, True),
    (is_var("x"), y, False),
    (is_var(), one, False),
    (is_constant(), one, True),
    (is_constant(), x, False),
    (wildcard(), one, True),
    (is_op("add"), Op.get("add"), True),
    (is_op("add"), Op.get("subtract"), False),
    # calls
    (is_op("add")(is_var("x"), is_var("y")), x + y, True),
    (is_op("add")(is_var("x"), is_var("y")), y + x, True),
    (is_op("multiply")(is_var("x"), is_var("y")), y * x, True),
    (is_op("subtract")(is_var("x"), is_var("y")), y - x, False),
    (is_op("subtract")(is_var("x"), is_var("y")), x - y, True),
    (is_op("add")(wildcard()), x + y, False),
    (is_op("add")(None), x + y, True),
    (wildcard()(wildcard(), wildcard()), x - y, True),
    (is_var("x") + is_var("y"), x + y, True),
    (is_var("x") - is_var("y"), x - y, True),
    (is_var("x") * is_var("y"), x * y, True),
    (is_var("x") / is_var("y"), x / y, True),
    # algebra
    ((is_var("x") * is_var("y")) / is_var("z"), (x * y) / z, True),
    ((is_var("x") * is_var("y")) / is_var("z"), x * (y / z), True),
    ((is_var("x") * is_var("y")) / is_var("z"), (x / z) * y, True),
    ((is_var("x") * is_var("y")) / is_var("z"), (x / y) * z, False),
    ((is_var("x") / is_var("z")) * is_var("y"), (x * y) / z, True),
    (is_var("y") * (is_var("x") / is_var("z")), (x * y) / z, True),
    # alternatives and options
    (is_op("add")(wildcard(), wildcard()) | is_op("subtract")(wildcard(), wildcard()), x - y, True),
    (is_op("add")(wildcard(), wildcard()) | is_op("subtract")(wildcard(), wildcard()), x * y, False),
    (is_op("exp")(is_var()).optional(lambda e: is_op("nn.relu")(e)), relay.exp(x), True),
    (is_op("exp")(is_var()).optional(lambda e: is_op("nn.relu")(e)), relay.nn.relu(relay.exp(x)), True),
    (is_op("exp")(is_var()).optional(lambda e: is_op("nn.relu")(e)), relay.nn.relu(x), False),
    # tuples
    (is_tuple([wildcard(), is_var("y")]), Tuple((x, y)), True),
    (is_tuple([wildcard(), is_var("y")]), Tuple((x, x)), False),
    (is_tuple([wildcard()]), Tuple((x, y)), False),
    (is_tuple(None), Tuple((x, y, z)), True),
    (is_tuple_get_item(wildcard(), 1), TupleGetItem(x, 1), True),
    (is_tuple_get_item(wildcard(), 1), TupleGetItem(x, 0), False),
    (is_tuple_get_item(wildcard()), TupleGetItem(x, 7), True),
    # if, let, functions
    (is_if(is_var("x"), is_var(), is_var("z")), If(x, y, z), True),
    (is_if(is_var("x"), is_var(), is_var("y")), If(x, y, z), False),
    (is_let(is_var("x"), is_constant(), wildcard()), Let(x, one, x), True),
    (is_let(is_var("y"), is_constant(), wildcard()), Let(x, one, x), False),
    (FunctionPattern([wildcard(), wildcard()], wildcard() + wildcard()), Function((x, y), x + y), True),
    (FunctionPattern([wildcard()], wildcard() + wildcard()), Function((x, y), x + y), False),
    (FunctionPattern(None, wildcard() + wildcard()), Function((x, y), x + y), True),
    (FunctionPattern([wildcard(), wildcard()], wildcard() * wildcard()), Function((x, y), x + y), False),
    (FunctionPattern(None, wildcard())(None), Call(Function((x,), x), (y,)), True),
    # attributes
    (is_op("add").has_attr({"TOpPattern": K_BROADCAST}), Op.get("add"), True),
    (is_op("add").has_attr({"TOpPattern": K_ELEMWISE}), Op.get("add"), False),
    (is_op("add").has_attr({"NoSuchFact": 1}), Op.get("add"), False),
    (elemwise(), relay.exp(x), True),
    (elemwise(), x + y, False),
    (is_op("nn.dense")(None).has_attr({"units": 4}), relay.nn.dense(x, y, units=4), True),
    (is_op("nn.dense")(None).has_attr({"units": 4.0}), relay.nn.dense(x, y, units=4), True),
    (is_op("nn.dense")(None).has_attr({"units": 5}), relay.nn.dense(x, y, units=4), False),
    (is_op("nn.dense")(None).has_attr({"no_such": 5}), relay.nn.dense(x, y, units=4), False),
    (is_op("add")(None).has_attr({"units": 5}), x + y, False),
    (has_attr({"axes": [1, 0]}), relay.transpose(x, axes=(1, 0)), True),
    (has_attr({"axes": [0, 1]}), relay.transpose(x, axes=(1, 0)), False),
    (wildcard().has_attr({"Composite": "add"}), Function((x,), x, attrs={"Composite": "add"}), True),
    (wildcard().has_attr({"Composite": "mul"}), Function((x,), x, attrs={"Composite": "add"}), False),
    (wildcard().has_attr({"Composite": "mul"}), Function((x,), x), False),
    (has_attr({"a": 1}), x, False),
    # types
    (has_type(F32), x, True),
    (has_type(TensorType((10, 10), "int8")), x, False),
    (has_type(TupleType((F32, F32))), Tuple((x, y)), True),
    (has_dtype("float32"), x + y, True),
    (has_dtype("float16"), x + y, False),
    (has_dtype("float32"), Tuple((x,)), False),
    (has_shape([10, 10]), relay.exp(x), True),
    (has_shape([10]), relay.exp(x), False),
    (has_dtype("float32"), Var("untyped"), False),
    ((is_var() + is_var()).has_shape((10, 10)).has_dtype("float32"), x + y, True),
]  # fmt: skip


@each(("pattern", "expr", "matches"), CASES, ids=[f"{p} {' '.join(str(e).split())}" for p, e, _ in CASES])
def test_match(pattern: DFPattern, expr: Expr, matches: bool) -> None:
    assert pattern.match(expr) == match(pattern, expr) == matches
    if matches:
        assert explain(pattern, expr)


@each(("pattern", "expr", "matches"), CASES, ids=[f"{p} {' '.join(str(e).split())}" for p, e, _ in CASES])
def test_what_is_added_to_a_pattern_matches_only_where_the_pattern_does(
    pattern: DFPattern, expr: Expr, matches: bool
) -> None:
    assert pattern.has_attr({}).match(expr) == matches
    assert (pattern | pattern).match(expr) == (is_expr(w) | pattern).match(expr) == matches


def test_facts_about_a_type_leave_the_pattern_to_match() -> None:
    x_only = is_var("x")
    for pattern in (x_only.has_type(F32), x_only.has_shape((10, 10)), x_only.has_dtype("float32")):
        assert [pattern.match(v) for v in (x, y)] == [True, False]


def test_a_pattern_object_stands_for_one_expression() -> None:
    p = wildcard()
    assert (p + p).match(x + x)
    assert not (p + p).match(x + y)
    assert (wildcard() + wildcard()).match(x + y)


def test_failures_are_taken_back() -> None:
    p, q = wildcard(), wildcard()
    result = find_match((is_op("exp")(p) + q) | (q + p), x + y)
    assert result is not None
    assert result[p] == [y]
    assert result[q] == [x]


def test_patterns_that_repeat() -> None:
    rest, term = wildcard(), is_var("x") | is_op("add")(wildcard(), is_var("x"))
    chain = is_op("exp")(rest) | is_var("x")
    rest.redirect_to(chain)
    assert chain.match(relay.exp(relay.exp(relay.exp(x))))
    assert not chain.match(relay.exp(relay.exp(y)))
    assert term.match((y + x) + x)
    deep: Expr = x
    for _ in range(20_000):
        deep = relay.exp(deep)
    # a pattern object stands for one expression, so only the last link of the chain is kept
    assert not chain.match(relay.nn.relu(deep))


# ---------------------------------------------------------------- dominators
def conv(data: Expr = x) -> Call:
    return relay.nn.dense(data, w)


def diamond() -> DFPattern:
    return dominates(is_op("nn.dense")(wildcard(), wildcard()), elemwise(), is_op("add")(wildcard(), wildcard()))


def test_dominators_match_diamonds() -> None:
    c = conv()
    assert diamond().match(relay.nn.relu(c) + relay.exp(c))
    assert diamond().match(relay.nn.relu(relay.exp(relay.tanh(c))) + relay.exp(c))
    r = relay.nn.relu(c)
    assert diamond().match(relay.exp(r) + relay.tanh(r))
    single = dominates(is_op("nn.dense")(wildcard(), wildcard()), elemwise(), is_op("nn.relu")(wildcard()))
    assert single.match(relay.nn.relu(relay.exp(c)))
    assert single.match(relay.nn.relu(c))


def test_dominators_refuse_what_is_no_diamond() -> None:
    c = conv()
    assert not diamond().match(relay.nn.relu(conv()) + relay.exp(conv()))  # two parents
    r = relay.nn.relu(c)
    assert not diamond().match((r + r) + relay.exp(c))  # add is not elementwise
    assert not diamond().match(relay.nn.relu(x) + relay.exp(c))  # one way misses the parent
    assert not diamond().match(relay.tanh(relay.exp(x)) + relay.exp(x))  # no parent
    below = relay.nn.dense(relay.reshape(c, (1, 4)), x)
    assert not diamond().match(below + relay.exp(c))  # one parent beside a path from another
    assert diamond().match(below + x)


def test_a_parent_used_elsewhere_is_not_dominated() -> None:
    c = conv()
    out = relay.nn.relu(c) + relay.exp(c)
    whole = Tuple((out, c))
    p = is_tuple([diamond(), wildcard()])
    assert not p.match(whole)
    assert is_tuple([diamond(), wildcard()]).match(Tuple((out, x)))


# ---------------------------------------------------------------- misuse, wording
def test_misuse_is_explained() -> None:
    with pytest.raises(OpNotFoundError, match=r"did you mean `nn.dense`"):
        is_op("nn.dens")
    with pytest.raises(PassTypeError, match="a pattern is needed, not Var"):
        is_op("add")(x, y)  # type: ignore[arg-type]
    with pytest.raises(PassTypeError, match="an expression is needed"):
        is_expr(3)  # type: ignore[arg-type]
    with pytest.raises(PassTypeError, match="a type is needed"):
        has_type("float32")  # type: ignore[arg-type]


def test_patterns_print_as_they_are_written() -> None:
    p = is_op("nn.dense")(wildcard(), is_constant()).has_attr({"units": 4}) | is_var("x").has_dtype("int8")
    assert str(
        p
    ) == 'is_op("nn.dense")(*, is_constant()).has_attr({\'units\': 4}) | is_var("x").has_dtype("int8")'.join("()")
    rest = wildcard()
    rest.redirect_to(is_op("exp")(rest))
    assert str(rest) == 'is_op("exp")(...)'


# ---------------------------------------------------------------- explanations
def test_explanations_name_the_condition_that_failed() -> None:
    pattern = is_op("nn.relu")(
        is_op("nn.bias_add")(is_op("nn.dense")(wildcard(), wildcard()).has_attr({"units": 8}), is_constant())
    )
    program = Function((x, w), relay.exp(relay.nn.relu(relay.nn.bias_add(relay.nn.dense(x, w, units=4), one))))
    explanation = explain(pattern, program)
    assert not explanation
    assert explanation.root is program.body.args[0]
    assert explanation.reason == "expected units = 8, found 4"
    assert "nearest at a call of `nn.relu`" in str(explanation)


@pytest.mark.parametrize(
    ("pattern", "expr", "reason"),
    [
        (
            is_op("exp")(is_op("log")(wildcard())),
            relay.exp(relay.tanh(x)),
            "expected the operator `log`, found the operator `tanh`",
        ),
        (is_op("exp")(is_constant()), relay.exp(x), "expected is_constant(), found the variable %x"),
        (is_op("exp")(is_var("y")), relay.exp(x), "expected a variable named `y`, found `x`"),
        (is_op("add")(wildcard()), x + y, "expected 1 arguments, found 2"),
        (is_op("exp")(has_dtype("int8")), relay.exp(x), "expected int8, found float32"),
        (is_op("exp")(has_shape((3,))), relay.exp(x), "expected the shape (3,), found (10, 10)"),
        (is_op("exp")(has_dtype("int8")), relay.exp(Var("v")), "its type is not known: infer types first"),
        (is_op("exp")(wildcard()), x, "there is no call of `exp` in the program"),
    ],
)
def test_reasons(pattern: DFPattern, expr: Expr, reason: str) -> None:
    assert explain(pattern, expr).reason == reason


def test_an_explanation_finds_the_match() -> None:
    explanation = explain(is_op("exp")(wildcard()), Function((x,), relay.log(relay.exp(x))))
    assert explanation
    assert str(explanation) == "matches at a call of `exp`"


def test_constants_of_any_value_match() -> None:
    assert is_op("add")(wildcard(), is_constant()).match(x + Constant(np.ones((10, 10), "float32")))


def test_no_match_names_what_the_program_lacks() -> None:
    body = passlab.parse("def @main(%x: Tensor[(2), float32]) { %x }")["main"].body
    anything = relay.dataflow_pattern.wildcard()
    for pattern, missing in [
        (relay.dataflow_pattern.is_op("nn.dense")(anything, anything), "call of `nn.dense`"),
        (relay.dataflow_pattern.is_tuple([anything]), "tuple"),
    ]:
        explanation = passlab.pattern.explain(pattern, body)
        assert not explanation
        assert explanation.root is None
        assert (explanation.matched, explanation.total) == (0, len(passlab.pattern.groups.pattern_parts(pattern)))
        assert str(explanation) == f"no match: there is no {missing} in the program"


@pytest.mark.parametrize("value", [[1, 2], (1, 2), [np.int64(1), np.int64(2)]])
def test_attributes_of_patterns_compare_with_every_form_of_a_value(value: object) -> None:
    call = passlab.parse_expr('reshape(ones(shape=[2], dtype="float32"), newshape=[1, 2])')
    pattern = relay.dataflow_pattern.wildcard().has_attr({"newshape": value})
    assert pattern.match(call)
    assert pattern.attrs == {
        "newshape": relay.dataflow_pattern.wildcard().has_attr({"newshape": (1, 2)}).attrs["newshape"]
    }


@pytest.mark.parametrize("length", [58, 59, 60, 61, 62])
def test_expressions_in_a_pattern_are_cut_at_sixty_characters(length: int) -> None:
    text = passlab.pattern.pattern_printer.pattern_text(
        relay.dataflow_pattern.is_expr(relay.GlobalVar("v" * (length - 1)))
    )
    shown = text.removeprefix("is_expr(").removesuffix(")")
    whole = "@" + "v" * (length - 1)
    assert shown == (whole if length <= 60 else whole[:57] + "...")
