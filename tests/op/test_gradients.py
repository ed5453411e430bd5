"""The law of gradients: each operator has one, which is the slope of its value, or there is a reason why not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import passlab
from passlab.errors import DiagnosticError, PasslabError, RelationError
from passlab.evaluate import Evaluator
from passlab.infer import infer_expr
from passlab.ir.expr import Call, Function, Tuple, TupleGetItem, Var, set_checked_type
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import ANY, TensorType
from passlab.op import autodiff as chain
from passlab.op import make
from passlab.op.edge_cases import program, varies_dtype
from passlab.passes.gradient.derivatives import gradient
from tests.each import each
from tests.op.cases_gradient import MORE, REFUSED
from tests.op.gradient_law import backward, cases, check, check_second, typed_program

NAMES = Op.list_op_names()
SLOPED = [name for name in NAMES if Op.get(name).spec.gradient is not None]
# What Relay 0.14 registers gradients for.
RELAY = set((Path(__file__).parent / "relay_gradients.txt").read_text().split())
DTYPES = ("float32", "float16", "bfloat16", "int64", "int8", "uint8", "uint32", "bool")
# Uses that are looked at only here: nothing of their inputs can be moved.
OPAQUE_ARGUMENTS = {"annotation.with_funcid": "its argument is a function", "debug": "calls a Python function"}


@each("name", NAMES)
def test_each_operator_has_a_gradient_or_a_reason(name: str) -> None:
    spec = Op.get(name).spec
    assert (spec.gradient is not None) != bool(spec.no_gradient)


def test_reasons_are_sentences_about_operators() -> None:
    reasons = [Op.get(name).spec.no_gradient for name in NAMES if name not in SLOPED]
    assert all(len(reason) > 30 and not reason.endswith(".") for reason in reasons)


def test_what_relay_differentiates_has_a_gradient() -> None:
    assert RELAY <= set(SLOPED)


def test_every_use_is_of_an_operator_with_a_gradient() -> None:
    assert all(text.partition("(")[0] in SLOPED for text in (*MORE, *REFUSED))
    assert all(cases(name) for name in SLOPED if name not in OPAQUE_ARGUMENTS)


@pytest.mark.rotating
@pytest.mark.parametrize("name", [name for name in SLOPED if name not in OPAQUE_ARGUMENTS])
def test_a_gradient_is_the_slope_at_every_use(name: str) -> None:
    for text in cases(name):
        try:
            check(name, text)
        except Exception as error:
            raise AssertionError(f"{text}\n{error}") from error


@pytest.mark.rotating
@pytest.mark.parametrize("name", [name for name in SLOPED if name not in OPAQUE_ARGUMENTS])
def test_a_gradient_has_the_types_of_its_inputs_in_every_dtype(name: str) -> None:
    for text in filter(varies_dtype, cases(name)):
        for dtype in DTYPES:
            try:
                main = passlab.parse(program(text, dtype).source)["main"]
            except PasslabError:
                continue  # the operator does not take it
            backward(main, main.body.checked_type)


@pytest.mark.rotating
@pytest.mark.parametrize("name", [name for name in SLOPED if name not in OPAQUE_ARGUMENTS])
def test_the_gradient_of_a_gradient_is_its_slope(name: str) -> None:
    for text in cases(name)[:1]:
        check_second(name, text)


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in SLOPED if name not in OPAQUE_ARGUMENTS])
def test_the_gradient_of_a_gradient_is_its_slope_at_every_use(name: str) -> None:
    for text in cases(name)[1:]:
        try:
            check_second(name, text)
        except Exception as error:
            raise AssertionError(f"{text}\n{error}") from error


@pytest.mark.parametrize(("text", "says"), REFUSED.items())
def test_a_use_without_a_gradient_is_refused_with_the_reason(text: str, says: str) -> None:
    mod = typed_program(text)
    assert mod is not None
    with pytest.raises(RelationError, match=says):
        backward(mod[1], mod[1].body.checked_type)


def test_the_reason_is_given_to_who_asks_for_a_gradient() -> None:
    mod = passlab.parse('def @main(%x: Tensor[(4), float32]) { reinterpret(%x, dtype="int32") }')
    with pytest.raises(DiagnosticError, match=r"`reinterpret` has no gradient(.|\n)*reads the bits"):
        gradient(mod["main"])


# ---------------------------------------------------------------- the chain rule
def of_type(name: str, shape: tuple[int, ...], dtype: str = "float64") -> Var:
    var = Var(name, TensorType(shape, dtype))
    set_checked_type(var, TensorType(shape, dtype))
    return var


def test_an_argument_given_twice_gets_both_gradients() -> None:
    """The product x * y along the first axis, as a definition: with x for y the gradient is that of a square."""
    x = of_type("x", (3,))
    times = chain.by_definition(lambda attrs, a, b: make("multiply", a, b))
    call = chain.infer_types(make("multiply", x, x))
    assert isinstance(call, Call)
    parts = times(call, make("ones_like", x))
    whole = infer_expr(Function([x], make("add", *parts)))
    got = Evaluator(IRModule.from_expr(whole)).run("main", [np.array([1.0, 2.0, 3.0])])
    np.testing.assert_array_equal(got, [2.0, 4.0, 6.0])


def test_what_a_value_does_not_depend_on_has_zeros() -> None:
    x, i = of_type("x", (2,)), of_type("i", (3,), "int32")
    parts = chain.pullback(chain.infer_types(make("exp", x)), [x, i], make("ones_like", x))
    assert isinstance(parts[1], Call)
    whole = infer_expr(Function([x, i], Tuple(parts)))
    got = Evaluator(IRModule.from_expr(whole)).run("main", [np.zeros(2), np.ones(3, "int32")])
    np.testing.assert_array_equal(got[0], [1.0, 1.0])
    np.testing.assert_array_equal(got[1], np.zeros(3, "int32"))


def test_fields_of_a_tuple_get_their_own_gradients() -> None:
    x = of_type("x", (4,))
    halves = make("split", x, indices_or_sections=2, axis=0)
    result = chain.infer_types(make("multiply", TupleGetItem(halves, 1), TupleGetItem(halves, 1)))
    part = chain.pullback(result, [x], make("ones_like", result))[0]
    got = Evaluator(IRModule.from_expr(infer_expr(Function([x], part)))).run("main", [np.arange(4.0)])
    np.testing.assert_array_equal(got, [0.0, 0.0, 4.0, 6.0])


def test_a_definition_that_needs_sizes_says_so() -> None:
    main = passlab.parse("def @main(%x: Tensor[(?, 4, 3), float64]) { nn.lrn(%x, axis=0) }")["main"]
    assert ANY in main.params[0].checked_type.shape
    with pytest.raises(RelationError, match=r"the gradient of nn\.lrn needs a known shape"):
        backward(main, main.body.checked_type)
